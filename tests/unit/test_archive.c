/* Values as bytes: what goes in comes out, the bytes are those of the description in archive.h, and whatever is not what was written
 * is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/diag.h"
#include "base/literal.h"
#include "model/table.h"

/* --- a type that has everything -------------------------------------------------------------------------------------- */

typedef enum colour { RED, GREEN, BLUE, N_COLOURS } colour;

typedef struct leaf {
    const char *text;
    ps_str id;
    int64_t *numbers;
    size_t n_numbers;
} leaf;

typedef struct tree {
    ps_arena arena;
    ps_strpool strings;
    bool is_tall;
    int8_t low;
    int32_t middle;
    int64_t high;
    uint8_t small;
    uint32_t wide;
    uint64_t wider;
    double real;
    double reals[3];
    char name[12];
    const char *none;
    colour colour;
    leaf *leaves;
    size_t n_leaves;
    struct trunk *trunk, *same;
} tree;

typedef struct trunk {
    size_t n_users;
    int64_t years;
} trunk;

static void leaf_archive(ps_archive *a, void *at) {
    leaf *x = at;
    PS_ARCHIVE(a, x, text, id);
    PS_ARCHIVE_IN_ARENA(a, x, numbers, n_numbers, ps_archive_i64);
}

static void trunk_archive(ps_archive *a, trunk **at) {
    bool is_first = false;
    void *shared = *at;
    trunk *x = ps_archive_shared(a, &shared, sizeof *x, &is_first);
    *at = shared;
    if (x != NULL && ps_archive_is_reading(a)) {
        x->n_users++;
    }
    if (x != NULL && is_first) {
        PS_ARCHIVE(a, x, years);
    }
}

static void tree_archive(ps_archive *a, void **at) {
    tree *x = ps_archive_object(a, at, sizeof *x);
    if (x == NULL) {
        return;
    }
    (void)ps_archive_use_arena(a, &x->arena);
    (void)ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE(a, x, is_tall, low, middle, high, small, wide, wider, real, name, none);
    PS_ARCHIVE_EACH(a, x, reals);
    PS_ARCHIVE_BELOW(a, x, colour, N_COLOURS);
    PS_ARCHIVE_ARRAY(a, x, leaves, n_leaves, leaf_archive);
    trunk_archive(a, &x->trunk);
    trunk_archive(a, &x->same);
}

static void free_trunk(trunk *t) {
    if (t != NULL && --t->n_users == 0) {
        ps_free(t);
    }
}

static void free_tree(tree *x) {
    if (x != NULL) {
        ps_free(x->leaves);
        free_trunk(x->trunk);
        free_trunk(x->same);
        ps_strpool_fini(&x->strings);
        ps_arena_fini(&x->arena);
        ps_free(x);
    }
}

static ps_str keep(tree *x, const char *text) {
    return ps_strpool_add(&x->strings, text, strlen(text));
}

/* `first`: a text that is in the pool before all others, and in no leaf. */
static tree *new_tree(const char *first) {
    tree *x = ps_calloc(1, sizeof *x);
    ps_arena_init(&x->arena);
    assert_true(ps_strpool_init(&x->strings));
    (void)keep(x, first);
    x->is_tall = true;
    x->low = -128;
    x->middle = INT32_MIN;
    x->high = INT64_MIN;
    x->small = 255;
    x->wide = UINT32_MAX;
    x->wider = UINT64_MAX;
    x->real = NAN;
    x->reals[0] = -0.0;
    x->reals[1] = INFINITY;
    x->reals[2] = 0.1;
    strcpy(x->name, "eleven char");
    x->colour = BLUE;
    x->n_leaves = 3;
    x->leaves = ps_calloc(x->n_leaves, sizeof *x->leaves);
    static int64_t numbers[] = {INT64_MAX, 0, -1};
    x->leaves[0] = (leaf){"oak", keep(x, "pine"), numbers, 3};
    x->leaves[1] = (leaf){"pine", keep(x, "oak"), NULL, 0};
    x->leaves[2] = (leaf){"", keep(x, ""), numbers, 0};
    x->trunk = ps_calloc(1, sizeof *x->trunk);
    x->trunk->n_users = 2;
    x->trunk->years = 300;
    x->same = x->trunk;
    return x;
}

static void write_tree(const tree *x, ps_buf *out) {
    ps_buf_init(out, 0);
    assert_int_equal(ps_archive_write_value(tree_archive, (void *)(uintptr_t)x, out, NULL), PS_OK);
}

static void what_goes_in_comes_out(void **state) {
    (void)state;
    tree *x = new_tree("birch");
    tree *y = NULL;
    ps_buf bytes;
    write_tree(x, &bytes);
    void *at = NULL;
    assert_int_equal(ps_archive_read_value(tree_archive, &at, bytes.data, bytes.len, NULL), PS_OK);
    y = at;
    assert_true(y->is_tall && y->low == -128 && y->middle == INT32_MIN && y->high == INT64_MIN);
    assert_true(y->small == 255 && y->wide == UINT32_MAX && y->wider == UINT64_MAX);
    assert_true(isnan(y->real) && signbit(y->reals[0]) && isinf(y->reals[1]) && y->reals[2] == 0.1);
    assert_string_equal(y->name, "eleven char");
    assert_null(y->none);
    assert_int_equal(y->colour, BLUE);
    assert_int_equal(y->n_leaves, 3);
    assert_string_equal(y->leaves[0].text, "oak");
    assert_string_equal(ps_strpool_get(&y->strings, y->leaves[0].id), "pine");
    assert_int_equal(y->leaves[0].n_numbers, 3);
    assert_true(y->leaves[0].numbers[0] == INT64_MAX && y->leaves[0].numbers[2] == -1);
    assert_null(y->leaves[1].numbers);     /* none, */
    assert_non_null(y->leaves[2].numbers); /* and an empty one */
    assert_string_equal(y->leaves[2].text, "");
    assert_false(ps_str_is_none(y->leaves[2].id));
    assert_ptr_equal(y->trunk, y->same);
    assert_int_equal(y->trunk->years, 300);
    assert_int_equal(y->trunk->n_users, 2);
    ps_buf_fini(&bytes);
    free_tree(x);
    free_tree(y);
}

/* Ids come in the order in which a pool met its texts: they are not what is written. */
static void ids_do_not_travel(void **state) {
    (void)state;
    tree *x = new_tree("birch");
    tree *y = new_tree("oak");
    assert_int_not_equal(x->leaves[1].id.id, y->leaves[1].id.id);
    ps_buf a;
    ps_buf b;
    write_tree(x, &a);
    write_tree(y, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    ps_buf_fini(&a);
    ps_buf_fini(&b);
    free_tree(x);
    free_tree(y);
}

/* --- the bytes, by hand ---------------------------------------------------------------------------------------------- */

typedef struct pair {
    int32_t a;
    uint16_t b;
    double c;
    char d[4];
    char e[4];
} pair;

static void pair_archive(ps_archive *a, void *at) {
    pair *x = at;
    PS_ARCHIVE(a, x, a, b, c, d, e);
}

static void bytes_are_those_that_are_told(void **state) {
    (void)state;
    pair x = {.a = -3, .b = 300, .c = 1.0, .d = "xy", .e = "xy"};
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_archive_write(pair_archive, &x, &out, NULL), PS_OK);
    static const unsigned char EXPECTED[] = {
        5,                                      /* -3: folded */
        0xAC, 0x02,                             /* 300 = 2 * 128 + 44 */
        0,    0,    0,   0,   0, 0, 0xF0, 0x3F, /* 1.0 */
        1,    2,    'x', 'y',                   /* text 1, met for the first time, of two bytes */
        1,                                      /* text 1 */
    };
    assert_int_equal(out.len, PS_ARCHIVE_HEADER_BYTES + sizeof EXPECTED);
    assert_memory_equal(out.data + PS_ARCHIVE_HEADER_BYTES, EXPECTED, sizeof EXPECTED);
    ps_buf_fini(&out);
}

static ps_code read_pair(const void *bytes, size_t n) {
    pair x = {0};
    return ps_archive_read_bare(pair_archive, &x, bytes, n, NULL);
}

static void numbers_that_do_not_fit_are_refused(void **state) {
    (void)state;
    /* The last one is as it is written. */
    static const unsigned char TOO_WIDE[] = {5, 0x80, 0x80, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
    static const unsigned char TOO_LONG[] = {5, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
    static const unsigned char NO_SUCH_TEXT[] = {5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1};
    static const unsigned char LONG_TEXT[] = {5, 1, 0, 0,   0,   0,   0,   0, 0,
                                              0, 1, 4, 'a', 'b', 'c', 'd', 1};
    static const unsigned char ZERO_IN_TEXT[] = {5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 'a', 0, 1};
    static const unsigned char GOES_ON[] = {5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 9};
    static const unsigned char WELL[] = {5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
    assert_int_equal(read_pair(TOO_WIDE, sizeof TOO_WIDE), PS_SYNTAX);
    assert_int_equal(read_pair(TOO_LONG, sizeof TOO_LONG), PS_SYNTAX);
    assert_int_equal(read_pair(NO_SUCH_TEXT, sizeof NO_SUCH_TEXT), PS_SYNTAX);
    assert_int_equal(read_pair(LONG_TEXT, sizeof LONG_TEXT), PS_SYNTAX);
    assert_int_equal(read_pair(ZERO_IN_TEXT, sizeof ZERO_IN_TEXT), PS_SYNTAX);
    assert_int_equal(read_pair(GOES_ON, sizeof GOES_ON), PS_SYNTAX);
    assert_int_equal(read_pair(WELL, sizeof WELL), PS_OK);
}

/* A count says nothing yet: 2^40 elements of three bytes each want bytes that are not there. */
typedef struct long_list {
    leaf *leaves;
    size_t n;
} long_list;

static void long_list_archive(ps_archive *a, void *at) {
    long_list *x = at;
    PS_ARCHIVE_ARRAY(a, x, leaves, n, leaf_archive);
}

static void counts_are_bounded_by_what_is_left(void **state) {
    (void)state;
    static const unsigned char MANY[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 0, 0, 0};
    static const unsigned char THREE[] = {4, 0, 0, 0, 0, 0, 0, 0, 0}; /* 3 elements, bytes for 2 */
    long_list x = {0};
    assert_int_equal(ps_archive_read_bare(long_list_archive, &x, MANY, sizeof MANY, NULL),
                     PS_SYNTAX);
    assert_null(x.leaves);
    assert_int_equal(ps_archive_read_bare(long_list_archive, &x, THREE, sizeof THREE, NULL),
                     PS_SYNTAX);
    assert_null(x.leaves);
}

/* --- what is not what was written ------------------------------------------------------------------------------------ */

static ps_code read_tree(const char *bytes, size_t n, bool is_bare) {
    void *at = NULL;
    ps_code code = is_bare ? ps_archive_read_bare_value(tree_archive, &at, bytes, n, NULL)
                           : ps_archive_read_value(tree_archive, &at, bytes, n, NULL);
    free_tree(at);
    return code;
}

static void cut_and_changed_bytes_are_refused(void **state) {
    (void)state;
    tree *x = new_tree("birch");
    ps_buf bytes;
    write_tree(x, &bytes);
    for (size_t n = 0; n < bytes.len; n++) {
        assert_int_equal(read_tree(bytes.data, n, false), PS_SYNTAX);
        if (n >= PS_ARCHIVE_HEADER_BYTES) {
            assert_int_equal(
                read_tree(bytes.data + PS_ARCHIVE_HEADER_BYTES, n - PS_ARCHIVE_HEADER_BYTES, true),
                PS_SYNTAX);
        }
    }
    for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        assert_int_equal(read_tree(bytes.data, bytes.len, false), PS_SYNTAX);
        if (bit / 8 >= PS_ARCHIVE_HEADER_BYTES) { /* whatever it is now, nothing breaks */
            (void)read_tree(bytes.data + PS_ARCHIVE_HEADER_BYTES,
                            bytes.len - PS_ARCHIVE_HEADER_BYTES, true);
        }
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    assert_int_equal(read_tree(bytes.data, bytes.len, false), PS_OK);
    ps_buf_fini(&bytes);
    free_tree(x);
}

typedef struct pair_again {
    int32_t a;
    uint16_t b;
    double c;
    char d[4];
    char f[4];
} pair_again;

static void pair_again_archive(ps_archive *a, void *at) {
    pair_again *x = at;
    PS_ARCHIVE(a, x, a, b, c, d, f);
}

static void swapped_archive(ps_archive *a, void *at) {
    pair *x = at;
    PS_ARCHIVE(a, x, b, a, c, d, e);
}

static void another_shape_is_refused(void **state) {
    (void)state;
    pair x = {.d = "x", .e = "y"};
    pair_again y = {0};
    ps_err err = PS_ERR_INIT;
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_archive_write(pair_archive, &x, &out, NULL), PS_OK);
    assert_int_equal(ps_archive_read(pair_again_archive, &y, out.data, out.len, &err),
                     PS_UNSUPPORTED);
    assert_string_equal(err.msg, "another version of pipescope wrote it");
    assert_int_equal(ps_archive_read(swapped_archive, &x, out.data, out.len, NULL), PS_UNSUPPORTED);
    assert_int_equal(ps_archive_read(pair_archive, &x, out.data, out.len, NULL), PS_OK);
    ps_buf_fini(&out);
}

static void memory_may_run_out(void **state) {
    (void)state;
    tree *x = new_tree("birch");
    ps_buf bytes;
    write_tree(x, &bytes);
    int64_t n_made = 0;
    for (int64_t i = 0; i <= n_made; i++) {
        ps_buf out;
        void *at = NULL;
        ps_buf_init(&out, 0);
        (void)ps_alloc_fail_at(i);
        ps_code code = ps_archive_write_value(tree_archive, x, &out, NULL);
        code = code == PS_OK ? ps_archive_read_value(tree_archive, &at, bytes.data, bytes.len, NULL)
                             : code;
        n_made = ps_alloc_fail_at(-1);
        assert_int_equal(code, i < n_made ? PS_NOMEM : PS_OK);
        free_tree(at);
        ps_buf_fini(&out);
    }
    ps_buf_fini(&bytes);
    free_tree(x);
}

/* --- types of the base and the model --------------------------------------------------------------------------------- */

static void oddities_travel(void **state) {
    (void)state;
    ps_diag *x = ps_calloc(1, sizeof *x);
    ps_diag *y = ps_calloc(1, sizeof *y);
    ps_diag_add(x, PS_ODD_NUMBER, "row %d", 7);
    ps_diag_count(x, PS_ODD_FILE, UINT64_C(1) << 40);
    ps_diag_repeat(x, PS_ODD_NUMBER, 2);
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_archive_write(ps_diag_archive, x, &out, NULL), PS_OK);
    assert_int_equal(ps_archive_read(ps_diag_archive, y, out.data, out.len, NULL), PS_OK);
    assert_memory_equal(x, y, sizeof *x);
    ps_buf_fini(&out);
    ps_free(x);
    ps_free(y);
}

typedef struct document {
    ps_arena arena;
    const ps_literal *root;
} document;

static void document_archive(ps_archive *a, void *at) {
    document *x = at;
    (void)ps_archive_use_arena(a, &x->arena);
    ps_literal_archive(a, &x->root);
}

static void documents_travel(void **state) {
    (void)state;
    static const char TEXT[] = "{\"a\": [1, 2.5, \"t\", null, true], \"b\": {\"c\": \"d\"}}";
    document x = {0};
    document y = {0};
    x.root = ps_literal_parse(&x.arena, TEXT, strlen(TEXT), NULL);
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_archive_write(document_archive, &x, &out, NULL), PS_OK);
    assert_int_equal(ps_archive_read(document_archive, &y, out.data, out.len, NULL), PS_OK);
    const ps_literal *list = ps_literal_get(y.root, "a");
    assert_int_equal(list->child->integer, 1);
    assert_string_equal(list->child->next->text, "2.5");
    assert_string_equal(ps_literal_str(list->child->next->next), "t");
    assert_int_equal(list->child->next->next->next->kind, PS_LITERAL_NULL);
    assert_true(list->child->next->next->next->next->boolean);
    assert_null(list->child->next->next->next->next->next);
    assert_string_equal(ps_literal_str(ps_literal_get(ps_literal_get(y.root, "b"), "c")), "d");
    ps_buf_fini(&out);
    ps_arena_fini(&x.arena);
    ps_arena_fini(&y.arena);
}

typedef struct late_row {
    int64_t rank;
    const char *group;
    double late_us;
} late_row;

static const ps_column LATE[] = {
    {.name = "rank", PS_FIELD(late_row, rank), .is_key = true},
    {.name = "group", PS_FIELD(late_row, group)},
    {.name = "late", PS_FIELD(late_row, late_us), .unit = PS_UNIT_US, .shown = "µs"}};

typedef struct held_table {
    ps_table *table;
} held_table;

static void held_archive(ps_archive *a, void *at) {
    held_table *x = at;
    ps_table_archive(a, &x->table);
}

static void tables_travel(void **state) {
    (void)state;
    held_table x = {ps_table_new("Late", "who came last", PS_COLUMNS(LATE))};
    held_table y = {NULL};
    ps_table_put(x.table, &(late_row){.rank = 3, .group = "dp", .late_us = NAN});
    ps_table_put(x.table, &(late_row){.rank = PS_UNKNOWN_INT, .group = NULL, .late_us = 1.5});
    x.table->home = PS_HOME_RANK;
    x.table->rank_index = 9;
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_archive_write(held_archive, &x, &out, NULL), PS_OK);
    assert_int_equal(ps_archive_read(held_archive, &y, out.data, out.len, NULL), PS_OK);
    assert_string_equal(y.table->name, "Late");
    assert_int_equal(y.table->rank_index, 9);
    assert_int_equal(y.table->n_columns, 3);
    assert_true(y.table->columns[0].is_key);
    assert_string_equal(y.table->columns[2].shown, "µs");
    assert_int_equal(y.table->n_rows, 2);
    assert_int_equal(ps_table_cell(y.table, 0, 0)->u.i, 3);
    assert_string_equal(ps_table_cell(y.table, 0, 1)->u.text, "dp");
    assert_true(ps_table_cell(y.table, 0, 2)->is_null);
    assert_true(ps_table_cell(y.table, 1, 0)->is_null && ps_table_cell(y.table, 1, 1)->is_null);
    assert_true(ps_table_cell(y.table, 1, 2)->u.r == 1.5);
    ps_buf_fini(&out);
    ps_table_free(x.table);
    ps_table_free(y.table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(ids_do_not_travel),
        cmocka_unit_test(bytes_are_those_that_are_told),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(counts_are_bounded_by_what_is_left),
        cmocka_unit_test(cut_and_changed_bytes_are_refused),
        cmocka_unit_test(another_shape_is_refused),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(oddities_travel),
        cmocka_unit_test(documents_travel),
        cmocka_unit_test(tables_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
