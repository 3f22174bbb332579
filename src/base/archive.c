#include "base/archive.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

#define MAGIC "PSarch1\n"
#define MAX_SHARED ((size_t)1 << 20)
#define MAX_TEXTS ((size_t)UINT32_MAX - 1)
enum { MAX_DEPTH = 96 };

typedef enum archive_way { WRITES, READS, SHAPES } archive_way;

/* A text that was met while reading, and where it went last: `copy` in the arena, `id` in the pool that were used in round `round`. */
typedef struct read_text {
    const char *bytes;
    size_t n;
    const char *copy;
    ps_str id;
    uint32_t copy_round, id_round;
} read_text;

/* The number of a text of the pool that was used in round `round`. */
typedef struct written_text {
    uint32_t number, round;
} written_text;

/* The size tells objects of two types apart. */
typedef struct shared_object {
    void *at;
    size_t size_bytes;
} shared_object;

struct ps_archive {
    archive_way way;
    ps_code code;
    const char *field; /* in which it failed */
    size_t depth;
    ps_buf *out;                     /* of WRITES */
    const unsigned char *at, *end;   /* of READS */
    uint64_t shape;                  /* of SHAPES */
    size_t least_bytes;              /* that such a value takes */
    ps_archive_visit *in[MAX_DEPTH]; /* of SHAPES: whose elements are being visited */
    ps_arena scratch;                /* elements that are no values */
    ps_arena *arena;
    ps_strpool *pool;
    bool pool_is_known; /* nothing is added to it */
    uint32_t arena_round, pool_round;
    ps_strpool texts;      /* of WRITES: a text's number is its id */
    written_text *of_pool; /* [cap_of_pool] by the ids of the pool */
    size_t cap_of_pool;
    read_text *known; /* of READS: text n is known[n - 1] */
    size_t n_known, cap_known;
    shared_object *shared; /* in the order in which they were met */
    size_t n_shared, cap_shared;
};

static void archive_fail(ps_archive *a, ps_code code, const char *field) {
    if (a->code == PS_OK) {
        a->code = code;
        a->field = field;
    }
    a->at = a->end;
}

void ps_archive_refuse(ps_archive *a, const char *field) {
    archive_fail(a, PS_SYNTAX, field);
}

void ps_archive_nomem(ps_archive *a) {
    archive_fail(a, PS_NOMEM, NULL);
}

bool ps_archive_ok(const ps_archive *a) {
    return a->code == PS_OK;
}

bool ps_archive_is_reading(const ps_archive *a) {
    return a->way == READS && a->code == PS_OK;
}

bool ps_archive_is_writing(const ps_archive *a) {
    return a->way == WRITES && a->code == PS_OK;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static void put_longer(ps_archive *a, uint64_t value) {
    char *at = ps_buf_room(a->out, 10);
    size_t n = 0;
    if (at == NULL) {
        ps_archive_nomem(a);
        return;
    }
    for (; value > 0x7F; value >>= 7) {
        at[n++] = (char)(value | 0x80);
    }
    at[n++] = (char)value;
    ps_buf_wrote(a->out, n);
}

/* Most are short. */
static inline void put_unsigned(ps_archive *a, uint64_t value) {
    ps_buf *out = a->out;
    if (value <= 0x7F && out->cap - out->len > 1 && !out->failed) {
        out->data[out->len] = (char)value;
        ps_buf_wrote(out, 1);
    } else {
        put_longer(a, value);
    }
}

static uint64_t get_longer(ps_archive *a, const char *field) {
    const unsigned char *at = a->at;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at != a->end; shift += 7) {
        uint64_t byte = *at++;
        value |= (byte & 0x7F) << shift;
        if (byte <= 0x7F) {
            bool is_shortest = (byte > 0 || shift == 0) && (shift < 63 || byte <= 1);
            a->at = at;
            if (is_shortest) {
                return value;
            }
            break;
        }
    }
    ps_archive_refuse(a, field);
    return 0;
}

static inline uint64_t get_unsigned(ps_archive *a, const char *field) {
    return a->at != a->end && *a->at <= 0x7F ? *a->at++ : get_longer(a, field);
}

static void visit_count(ps_archive *a, const char *field, uint64_t *value) {
    if (a->way == WRITES) {
        put_unsigned(a, *value);
    } else {
        *value = get_unsigned(a, field);
    }
}

static void put_real(ps_archive *a, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    char *at = ps_buf_room(a->out, sizeof bits);
    if (at == NULL) {
        ps_archive_nomem(a);
        return;
    }
    for (size_t i = 0; i < sizeof bits; i++) {
        at[i] = (char)(bits >> 8 * i & 0xFF);
    }
    ps_buf_wrote(a->out, sizeof bits);
}

static double get_real(ps_archive *a, const char *field) {
    uint64_t bits = 0;
    double value = 0;
    if ((size_t)(a->end - a->at) < sizeof bits) {
        ps_archive_refuse(a, field);
        return 0;
    }
    for (size_t i = 0; i < sizeof bits; i++) {
        bits |= (uint64_t)*a->at++ << 8 * i;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of an integer of any size, as the widest one; one without a sign by its bits. */
static int64_t load_int(const void *at, size_t size_bytes, bool has_sign) {
    switch (size_bytes) {
    case sizeof(int8_t):
        return has_sign ? (int64_t) * (const int8_t *)at : (int64_t) * (const uint8_t *)at;
    case sizeof(int16_t):
        return has_sign ? (int64_t) * (const int16_t *)at : (int64_t) * (const uint16_t *)at;
    case sizeof(int32_t):
        return has_sign ? (int64_t) * (const int32_t *)at : (int64_t) * (const uint32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

static void store_int(ps_archive *a, const char *field, void *at, size_t size_bytes, bool has_sign,
                      int64_t value) {
    switch (size_bytes) {
    case sizeof(uint8_t):
        *(uint8_t *)at = (uint8_t)value;
        break;
    case sizeof(uint16_t):
        *(uint16_t *)at = (uint16_t)value;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)at = (uint32_t)value;
        break;
    default:
        *(uint64_t *)at = (uint64_t)value;
        break;
    }
    if (load_int(at, size_bytes, has_sign) != value) {
        memset(at, 0, size_bytes);
        ps_archive_refuse(a, field);
    }
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* 0 is no text; a number beyond those that were met is the next one, and its bytes follow. */
static uint32_t put_text(ps_archive *a, const char *text, size_t n) {
    size_t n_met = a->texts.n;
    uint32_t number = ps_strpool_add(&a->texts, text, n).id;
    if (number == 0) {
        ps_archive_nomem(a);
        return 0;
    }
    put_unsigned(a, number);
    if (number >= n_met) {
        put_unsigned(a, n);
        ps_buf_add(a->out, text, n);
    }
    return number;
}

/* An empty pool has a place for none: texts are numbered from 1 there, too. */
static read_text *get_text(ps_archive *a, const char *field) {
    uint64_t number = get_unsigned(a, field);
    if (number == 0 || a->code != PS_OK) {
        return NULL;
    }
    if (number > a->n_known + 1) {
        ps_archive_refuse(a, field);
        return NULL;
    }
    if (number <= a->n_known) {
        return &a->known[number - 1];
    }
    uint64_t n = get_unsigned(a, field);
    if (n > (uint64_t)(a->end - a->at) || memchr(a->at, '\0', (size_t)n) != NULL) {
        ps_archive_refuse(a, field);
        return NULL;
    }
    if (!PS_ADD(a->known, a->n_known, a->cap_known, MAX_TEXTS,
                (read_text){.bytes = (const char *)a->at, .n = (size_t)n})) {
        ps_archive_nomem(a);
        return NULL;
    }
    a->at += n;
    return &a->known[a->n_known - 1];
}

static void read_into_arena(ps_archive *a, const char *field, const char **out) {
    read_text *text = get_text(a, field);
    if (text != NULL && text->copy_round != a->arena_round) {
        text->copy = a->arena != NULL ? ps_arena_strndup(a->arena, text->bytes, text->n) : NULL;
        text->copy_round = a->arena_round;
    }
    *out = text != NULL ? text->copy : NULL;
    if (text != NULL && text->copy == NULL) {
        ps_archive_nomem(a);
    }
}

static void read_into_chars(ps_archive *a, const char *field, char *out, size_t size) {
    const read_text *text = get_text(a, field);
    if (text == NULL || text->n >= size) {
        ps_archive_refuse(a, field);
        return;
    }
    memcpy(out, text->bytes, text->n);
    memset(out + text->n, 0, size - text->n);
}

static void write_id(ps_archive *a, ps_str id) {
    if (ps_str_is_none(id)) {
        put_unsigned(a, 0);
        return;
    }
    size_t cap = a->cap_of_pool;
    if (!ps_grow(&a->of_pool, &a->cap_of_pool, (size_t)id.id + 1, MAX_TEXTS, sizeof *a->of_pool)) {
        ps_archive_nomem(a);
        return;
    }
    memset(a->of_pool + cap, 0, (a->cap_of_pool - cap) * sizeof *a->of_pool);
    written_text *written = &a->of_pool[id.id];
    if (written->round == a->pool_round) {
        put_unsigned(a, written->number);
        return;
    }
    written->number = put_text(a, ps_strpool_get(a->pool, id), ps_strpool_len(a->pool, id));
    written->round = a->pool_round;
}

static ps_str id_in_pool(ps_archive *a, const char *field, const read_text *text) {
    if (!a->pool_is_known) {
        return a->pool != NULL ? ps_strpool_add(a->pool, text->bytes, text->n) : PS_STR_NONE;
    }
    ps_str id =
        a->pool->slots != NULL ? ps_strpool_find(a->pool, text->bytes, text->n) : PS_STR_NONE;
    if (ps_str_is_none(id)) {
        ps_archive_refuse(a, field);
    }
    return id;
}

static void read_id(ps_archive *a, const char *field, ps_str *out) {
    read_text *text = get_text(a, field);
    if (text != NULL && text->id_round != a->pool_round) {
        text->id = id_in_pool(a, field, text);
        text->id_round = a->pool_round;
    }
    *out = text != NULL ? text->id : PS_STR_NONE;
    if (text != NULL && ps_str_is_none(text->id)) {
        ps_archive_nomem(a); /* where nothing was refused */
    }
}

ps_arena *ps_archive_use_arena(ps_archive *a, ps_arena *arena) {
    ps_arena *before = a->arena;
    a->arena = arena;
    a->arena_round++;
    return before;
}

ps_strpool *ps_archive_use_pool(ps_archive *a, ps_strpool *pool) {
    ps_strpool *before = a->pool;
    a->pool = pool;
    a->pool_is_known = false;
    a->pool_round++;
    if (ps_archive_is_reading(a) && pool != NULL && pool->slots == NULL && !ps_strpool_init(pool)) {
        ps_archive_nomem(a);
    }
    return before;
}

ps_strpool *ps_archive_use_known_pool(ps_archive *a, ps_strpool *pool) {
    ps_strpool *before = a->pool;
    a->pool = pool;
    a->pool_is_known = true;
    a->pool_round++;
    return before;
}

/* --- members ------------------------------------------------------------------------------------------------------ */

static void mix_shape(ps_archive *a, char kind, const char *name, size_t least_bytes) {
    size_t n = strlen(name);
    a->shape = ps_hash_u64(a->shape ^ ps_hash64(name, n)) + (unsigned char)kind;
    a->shape = ps_hash_u64(a->shape * 31 + n);
    a->least_bytes += least_bytes;
}

static void write_member(ps_archive *a, ps_archive_kind kind, const void *at, size_t size_bytes) {
    const char *text = at;
    int64_t value = 0;
    switch (kind) {
    case PS_ARCHIVE_BOOL:
        put_unsigned(a, *(const bool *)at);
        break;
    case PS_ARCHIVE_INT:
        value = load_int(at, size_bytes, true);
        put_unsigned(a, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
        break;
    case PS_ARCHIVE_UNSIGNED:
        put_unsigned(a, (uint64_t)load_int(at, size_bytes, false));
        break;
    case PS_ARCHIVE_REAL:
        put_real(a, *(const double *)at);
        break;
    case PS_ARCHIVE_TEXT:
        text = *(const char *const *)at;
        if (text == NULL) {
            put_unsigned(a, 0);
            break;
        }
        (void)put_text(a, text, strlen(text));
        break;
    case PS_ARCHIVE_CHARS:
        (void)put_text(a, text, strnlen(text, size_bytes - 1));
        break;
    case PS_ARCHIVE_ID:
        write_id(a, *(const ps_str *)at);
        break;
    }
}

static void read_member(ps_archive *a, ps_archive_kind kind, const char *name, void *at,
                        size_t size_bytes) {
    uint64_t value = 0;
    switch (kind) {
    case PS_ARCHIVE_BOOL:
        value = get_unsigned(a, name);
        *(bool *)at = value == 1;
        if (value > 1) {
            ps_archive_refuse(a, name);
        }
        break;
    case PS_ARCHIVE_INT:
        value = get_unsigned(a, name);
        store_int(a, name, at, size_bytes, true, (int64_t)(value >> 1 ^ (0 - (value & 1))));
        break;
    case PS_ARCHIVE_UNSIGNED:
        store_int(a, name, at, size_bytes, false, (int64_t)get_unsigned(a, name));
        break;
    case PS_ARCHIVE_REAL:
        *(double *)at = get_real(a, name);
        break;
    case PS_ARCHIVE_TEXT:
        read_into_arena(a, name, at);
        break;
    case PS_ARCHIVE_CHARS:
        read_into_chars(a, name, at, size_bytes);
        break;
    case PS_ARCHIVE_ID:
        read_id(a, name, at);
        break;
    }
}

void ps_archive_member(ps_archive *a, ps_archive_kind kind, const char *name, void *at,
                       size_t size_bytes) {
    static const char LETTERS[] = {
        [PS_ARCHIVE_BOOL] = 'b', [PS_ARCHIVE_INT] = 'i',  [PS_ARCHIVE_UNSIGNED] = 'u',
        [PS_ARCHIVE_REAL] = 'r', [PS_ARCHIVE_TEXT] = 't', [PS_ARCHIVE_CHARS] = 'c',
        [PS_ARCHIVE_ID] = 's'};
    if (a->code != PS_OK) {
        return;
    }
    if (a->way == SHAPES) {
        mix_shape(a, LETTERS[kind], name, kind == PS_ARCHIVE_REAL ? sizeof(double) : 1);
    } else if (a->way == WRITES) {
        write_member(a, kind, at, size_bytes);
    } else {
        read_member(a, kind, name, at, size_bytes);
    }
}

void ps_err_archive(ps_archive *a, ps_err *x) {
    PS_ARCHIVE(a, x, line, offset, file, msg, chinese);
    PS_ARCHIVE_BELOW(a, x, code, PS_NO_ROOM + 1);
}

void ps_archive_i64(ps_archive *a, void *at) {
    ps_archive_member(a, PS_ARCHIVE_INT, "", at, sizeof(int64_t));
}

void ps_archive_u32(ps_archive *a, void *at) {
    ps_archive_member(a, PS_ARCHIVE_UNSIGNED, "", at, sizeof(uint32_t));
}

void ps_archive_u8(ps_archive *a, void *at) {
    ps_archive_member(a, PS_ARCHIVE_UNSIGNED, "", at, sizeof(uint8_t));
}

void ps_archive_text(ps_archive *a, void *at) {
    ps_archive_member(a, PS_ARCHIVE_TEXT, "", at, sizeof(const char *));
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

/* What a type is like never changes, and each array of each rank asks for it, so that each thread remembers it. */
typedef struct known_shape {
    ps_archive_visit *visit;
    uint64_t shape;
    size_t least_bytes;
} known_shape;

enum { KNOWN_SHAPES = 512 }; /* more types than there are; one beyond is visited each time */
static _Thread_local known_shape known_shapes[KNOWN_SHAPES];

/* Its place, or a free one; NULL where all around it are taken. */
static known_shape *known_shape_of(ps_archive_visit *visit) {
    size_t home = (size_t)ps_hash_u64((uint64_t)(uintptr_t)visit);
    for (size_t i = 0; i < 16; i++) {
        known_shape *k = &known_shapes[(home + i) % KNOWN_SHAPES];
        if (k->visit == visit || k->visit == NULL) {
            return k;
        }
    }
    return NULL;
}

/* Of one element that is none, by itself, whatever holds it. */
static known_shape visit_element(ps_archive *a, size_t size_bytes, ps_archive_visit *visit) {
    uint64_t shape = a->shape;
    size_t least_bytes = a->least_bytes;
    a->shape = 0;
    a->least_bytes = 0;
    void *element = a->depth < MAX_DEPTH ? ps_arena_alloc(&a->scratch, size_bytes) : NULL;
    if (element == NULL) {
        ps_archive_nomem(a);
    } else {
        memset(element, 0, size_bytes);
        a->in[a->depth++] = visit;
        visit(a, element);
        a->depth--;
    }
    known_shape made = {visit, a->shape, a->least_bytes};
    a->shape = shape;
    a->least_bytes = least_bytes;
    return made;
}

/* Adds the shape of an element. A type that holds itself ends where it comes again; two that hold one another would have the shape of whoever
 * is asked first, and there are none. */
static void visit_shape(ps_archive *a, size_t size_bytes, ps_archive_visit *visit) {
    for (size_t i = 0; i < a->depth; i++) {
        if (a->in[i] == visit) {
            assert(i + 1 == a->depth);
            return;
        }
    }
    known_shape *known = known_shape_of(visit);
    bool is_known = known != NULL && known->visit == visit;
    known_shape made = is_known ? *known : visit_element(a, size_bytes, visit);
    a->shape = ps_hash_u64(a->shape ^ made.shape);
    a->least_bytes += made.least_bytes;
    known =
        is_known || a->code != PS_OK ? NULL : known_shape_of(visit); /* others came in between */
    if (known != NULL) {
        *known = made;
    }
}

static void shape_elements(ps_archive *a, const char *name, size_t size_bytes,
                           ps_archive_visit *visit) {
    size_t least = a->least_bytes + 1;
    mix_shape(a, '[', name, 1);
    visit_shape(a, size_bytes, visit);
    mix_shape(a, ']', "", 0);
    a->least_bytes = least; /* there may be no elements */
}

/* How many bytes an element takes at least. */
static size_t least_bytes_of(ps_archive *a, size_t size_bytes, ps_archive_visit *visit) {
    ps_archive shape = {.way = SHAPES};
    ps_arena_init(&shape.scratch);
    visit_shape(&shape, size_bytes, visit);
    ps_arena_fini(&shape.scratch);
    if (shape.code != PS_OK) {
        archive_fail(a, shape.code, NULL);
    }
    return shape.least_bytes > 0 ? shape.least_bytes : 1;
}

/* An array of which the pointer is `array_at`, and how many it has. */
typedef struct elements {
    const char *name;
    void *array_at;
    size_t *own_n; /* where the count goes, NULL: it is known, and `n` */
    size_t n, size_bytes;
    ps_archive_visit *visit;
    bool in_arena;
} elements;

/* Zeroed; n elements of the least size have to be there still. */
static char *new_elements(ps_archive *a, const elements *e, uint64_t n) {
    uint64_t most = (uint64_t)(a->end - a->at) / least_bytes_of(a, e->size_bytes, e->visit);
    if (n > most || (e->own_n == NULL && n != e->n)) {
        ps_archive_refuse(a, e->name);
    }
    if (a->code != PS_OK) {
        return NULL;
    }
    size_t bytes = ((size_t)n + (n == 0)) * e->size_bytes;
    char *at = !e->in_arena       ? ps_calloc((size_t)n, e->size_bytes)
               : a->arena != NULL ? ps_arena_alloc(a->arena, bytes)
                                  : NULL;
    if (at == NULL) {
        ps_archive_nomem(a);
    } else if (e->in_arena) {
        memset(at, 0, bytes);
    }
    return at;
}

/* The pointer and the count are those of its owner before the first element is visited. */
static void visit_array(ps_archive *a, elements e) {
    if (a->code != PS_OK) {
        return;
    }
    if (a->way == SHAPES) {
        shape_elements(a, e.name, e.size_bytes, e.visit);
        return;
    }
    char *at = NULL;
    memcpy(&at, e.array_at, sizeof at);
    uint64_t count = at != NULL ? (uint64_t)e.n + 1 : 0; /* 0: there is none */
    visit_count(a, e.name, &count);
    if (a->way == READS) {
        at = count > 0 ? new_elements(a, &e, count - 1) : NULL;
        e.n = at != NULL ? (size_t)(count - 1) : 0;
        memcpy(e.array_at, &at, sizeof at);
        if (e.own_n != NULL) {
            *e.own_n = e.n;
        }
    }
    if (++a->depth > MAX_DEPTH) {
        ps_archive_refuse(a, e.name);
    }
    for (size_t i = 0; at != NULL && i < e.n && a->code == PS_OK; i++) {
        e.visit(a, at + i * e.size_bytes);
    }
    a->depth--;
}

void ps_archive_array(ps_archive *a, const char *name, void *array_at, size_t *n, size_t size_bytes,
                      ps_archive_visit *visit) {
    visit_array(a, (elements){name, array_at, n, *n, size_bytes, visit, false});
}

void ps_archive_array_of(ps_archive *a, const char *name, void *array_at, size_t n,
                         size_t size_bytes, ps_archive_visit *visit) {
    visit_array(a, (elements){name, array_at, NULL, n, size_bytes, visit, false});
}

void ps_archive_in_arena(ps_archive *a, const char *name, void *array_at, size_t *n,
                         size_t size_bytes, ps_archive_visit *visit) {
    visit_array(a, (elements){name, array_at, n, *n, size_bytes, visit, true});
}

/* --- what pointers own -------------------------------------------------------------------------------------------- */

static void *new_object(ps_archive *a, void **at, size_t size_bytes, bool in_arena) {
    *at = !in_arena          ? ps_calloc(1, size_bytes)
          : a->arena != NULL ? ps_arena_alloc(a->arena, size_bytes)
                             : NULL;
    if (*at == NULL) {
        ps_archive_nomem(a);
        return NULL;
    }
    memset(*at, 0, size_bytes);
    return *at;
}

static void *shape_object(ps_archive *a, char kind, size_t size_bytes) {
    mix_shape(a, kind, "", 1);
    void *x = ps_arena_alloc(&a->scratch, size_bytes);
    if (x == NULL) {
        ps_archive_nomem(a);
        return NULL;
    }
    return memset(x, 0, size_bytes);
}

static void *visit_object(ps_archive *a, void **at, size_t size_bytes, bool in_arena) {
    if (a->code != PS_OK) {
        return NULL;
    }
    if (a->way == SHAPES) {
        return shape_object(a, '*', size_bytes);
    }
    uint64_t there = *at != NULL;
    visit_count(a, "object", &there);
    if (there > 1) {
        ps_archive_refuse(a, "object");
    }
    if (there != 1 || a->code != PS_OK) {
        return NULL;
    }
    return a->way == WRITES ? *at : new_object(a, at, size_bytes, in_arena);
}

void *ps_archive_object(ps_archive *a, void **at, size_t size_bytes) {
    return visit_object(a, at, size_bytes, false);
}

void *ps_archive_object_in_arena(ps_archive *a, void **at, size_t size_bytes) {
    return visit_object(a, at, size_bytes, true);
}

static bool know_shared(ps_archive *a, void *object, size_t size_bytes) {
    if (PS_ADD(a->shared, a->n_shared, a->cap_shared, MAX_SHARED,
               (shared_object){object, size_bytes})) {
        return true;
    }
    ps_archive_nomem(a);
    return false;
}

void *ps_archive_shared(ps_archive *a, void **at, size_t size_bytes, bool *is_first) {
    *is_first = a->way == SHAPES;
    if (a->code != PS_OK) {
        return NULL;
    }
    if (a->way == SHAPES) {
        return shape_object(a, '&', size_bytes);
    }
    uint64_t number = 0; /* none; else its place among those that were met, from 1 */
    for (size_t i = 0; a->way == WRITES && *at != NULL && i <= a->n_shared && number == 0; i++) {
        number = i == a->n_shared || a->shared[i].at == *at ? i + 1 : 0;
    }
    visit_count(a, "shared", &number);
    if (number == 0 || a->code != PS_OK) {
        return NULL;
    }
    *is_first = number == a->n_shared + 1;
    if (!*is_first && (number > a->n_shared || a->shared[number - 1].size_bytes != size_bytes)) {
        ps_archive_refuse(a, "shared");
        return NULL;
    }
    if (!*is_first) {
        *at = a->shared[number - 1].at;
        return *at;
    }
    void *x = a->way == WRITES ? *at : new_object(a, at, size_bytes, false);
    if (x != NULL && !know_shared(a, x, size_bytes)) {
        if (a->way == READS) {
            ps_free(x);
            *at = NULL;
        }
        return NULL;
    }
    return x;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* A struct, or a value behind a pointer. */
typedef struct subject {
    ps_archive_visit *visit;
    void *x;
    ps_archive_value *visit_value;
    void **value;
} subject;

static void visit_subject(ps_archive *a, const subject *s) {
    if (s->visit != NULL) {
        s->visit(a, s->x);
    } else {
        s->visit_value(a, s->value);
    }
}

static void archive_fini(ps_archive *a) {
    ps_arena_fini(&a->scratch);
    ps_strpool_fini(&a->texts);
    ps_free(a->of_pool);
    ps_free(a->known);
    ps_free(a->shared);
}

static ps_code archive_code(const ps_archive *a, ps_err *err) {
    return a->code == PS_OK      ? PS_OK
           : a->code == PS_NOMEM ? ps_fail_nomem(err)
           : a->field[0] == '\0'
               ? ps_fail(err, a->code, "its content makes no sense")
               : ps_fail(err, a->code, "its content makes no sense at \"%s\"", a->field);
}

static ps_code shape_of(const subject *s, uint64_t *out, ps_err *err) {
    ps_archive a = {.way = SHAPES};
    ps_arena_init(&a.scratch);
    visit_subject(&a, s);
    *out = a.shape;
    ps_code code = archive_code(&a, err);
    archive_fini(&a);
    return code;
}

static void store_u64(char *at, uint64_t value) {
    for (size_t i = 0; i < 8; i++) {
        at[i] = (char)(value >> 8 * i & 0xFF);
    }
}

static uint64_t load_u64(const char *at) {
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++) {
        value |= (uint64_t)(unsigned char)at[i] << 8 * i;
    }
    return value;
}

/* Word, checksum of what follows it, shape, bytes behind the header. */
enum { AT_CHECKSUM = 8, AT_SHAPE = 16, AT_LENGTH = 24 };

size_t ps_archive_first(const void *bytes, size_t n) {
    const char *header = bytes;
    if (n < PS_ARCHIVE_HEADER_BYTES || memcmp(header, MAGIC, AT_CHECKSUM) != 0) {
        return n;
    }
    uint64_t length = load_u64(header + AT_LENGTH);
    return length <= n - PS_ARCHIVE_HEADER_BYTES ? (size_t)length + PS_ARCHIVE_HEADER_BYTES : n;
}

static ps_code write_subject(const subject *s, ps_buf *out, ps_err *err) {
    static const char EMPTY[PS_ARCHIVE_HEADER_BYTES] = MAGIC;
    uint64_t shape = 0;
    ps_code code = shape_of(s, &shape, err);
    if (code != PS_OK) {
        return code;
    }
    size_t begin = out->len;
    ps_archive a = {.way = WRITES, .out = out, .arena_round = 1, .pool_round = 1};
    ps_arena_init(&a.scratch);
    if (!ps_strpool_init(&a.texts)) {
        ps_archive_nomem(&a);
    }
    ps_buf_add(out, EMPTY, sizeof EMPTY);
    visit_subject(&a, s);
    if (!ps_buf_ok(out)) {
        ps_archive_nomem(&a);
    }
    code = archive_code(&a, err);
    archive_fini(&a);
    if (code == PS_OK) {
        char *header = out->data + begin;
        size_t n = out->len - begin;
        store_u64(header + AT_SHAPE, shape);
        store_u64(header + AT_LENGTH, n - PS_ARCHIVE_HEADER_BYTES);
        store_u64(header + AT_CHECKSUM, ps_hash64(header + AT_SHAPE, n - AT_SHAPE));
    }
    return code;
}

static ps_code read_bare(const subject *s, const void *bytes, size_t n, ps_err *err) {
    ps_archive a = {.way = READS, .at = bytes, .arena_round = 1, .pool_round = 1};
    a.end = a.at + n;
    ps_arena_init(&a.scratch);
    visit_subject(&a, s);
    if (a.code == PS_OK && a.at != a.end) {
        ps_archive_refuse(&a, "");
    }
    ps_code code = archive_code(&a, err);
    archive_fini(&a);
    return code;
}

static ps_code read_subject(const subject *s, const void *bytes, size_t n, ps_err *err) {
    const char *header = bytes;
    if (n < PS_ARCHIVE_HEADER_BYTES || memcmp(header, MAGIC, AT_CHECKSUM) != 0) {
        return ps_fail(err, PS_SYNTAX, "it is none of pipescope's, or cut");
    }
    if (load_u64(header + AT_LENGTH) != n - PS_ARCHIVE_HEADER_BYTES) {
        return ps_fail(err, PS_SYNTAX, "it is cut, or goes on behind its end");
    }
    if (load_u64(header + AT_CHECKSUM) != ps_hash64(header + AT_SHAPE, n - AT_SHAPE)) {
        return ps_fail(err, PS_SYNTAX, "it is damaged: its checksum is another one");
    }
    uint64_t shape = 0;
    ps_code code = shape_of(s, &shape, err);
    if (code != PS_OK) {
        return code;
    }
    if (load_u64(header + AT_SHAPE) != shape) {
        return ps_fail(err, PS_UNSUPPORTED, "another version of pipescope wrote it");
    }
    return read_bare(s, header + PS_ARCHIVE_HEADER_BYTES, n - PS_ARCHIVE_HEADER_BYTES, err);
}

ps_code ps_archive_write(ps_archive_visit *visit, void *x, ps_buf *out, ps_err *err) {
    return write_subject(&(subject){.visit = visit, .x = x}, out, err);
}

ps_code ps_archive_read(ps_archive_visit *visit, void *x, const void *bytes, size_t n,
                        ps_err *err) {
    return read_subject(&(subject){.visit = visit, .x = x}, bytes, n, err);
}

ps_code ps_archive_read_bare(ps_archive_visit *visit, void *x, const void *bytes, size_t n,
                             ps_err *err) {
    return read_bare(&(subject){.visit = visit, .x = x}, bytes, n, err);
}

ps_code ps_archive_write_value(ps_archive_value *visit, void *value, ps_buf *out, ps_err *err) {
    return write_subject(&(subject){.visit_value = visit, .value = &value}, out, err);
}

ps_code ps_archive_read_value(ps_archive_value *visit, void **value, const void *bytes, size_t n,
                              ps_err *err) {
    return read_subject(&(subject){.visit_value = visit, .value = value}, bytes, n, err);
}

ps_code ps_archive_read_bare_value(ps_archive_value *visit, void **value, const void *bytes,
                                   size_t n, ps_err *err) {
    return read_bare(&(subject){.visit_value = visit, .value = value}, bytes, n, err);
}
