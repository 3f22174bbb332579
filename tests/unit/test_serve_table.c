/* Tables as replies: pages, order, filters, files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "serve/rank/cache.h"
#include "support/asks.h"
#include "support/small_runs.h"

typedef struct desk {
    ps_store *store;
    ps_cache *cache;
    ps_table *table;
    ps_reply reply;
} desk;

static const ps_column COLUMNS[] = {
    {.name = "n", .type = PS_COL_INT, .exact = true},
    {.name = "text", .type = PS_COL_TEXT},
    {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

static void add_row(ps_table *t, int64_t n, const char *text, int64_t time, double share) {
    assert_true(ps_table_add_row(t));
    ps_table_set_int(t, 0, n);
    assert_true(ps_table_set_text(t, 1, text));
    if (time >= 0) {
        ps_table_set_int(t, 2, time);
    }
    ps_table_set_real(t, 3, share);
}

static void desk_open(desk *d) {
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "x", 0, 1);
    d->store = ps_store_of_trace(small_seal(b), "r0", NULL);
    assert_non_null(d->store);
    d->cache = ps_cache_new(1 << 20);
    d->table = ps_table_new("a/table", "A \"title\"", COLUMNS, 4);
    add_row(d->table, 0, "beta", 300, 0.5);
    add_row(d->table, 1, "Alpha, \"x\"", 100, NAN);
    add_row(d->table, 2, NULL, -1, -2);
    add_row(d->table, 3, "alpha", 100, 1e300);
    add_row(d->table, 4, "", 9007199254740993, INFINITY);
    ps_reply_init(&d->reply);
}

static void desk_close(desk *d) {
    ps_reply_fini(&d->reply);
    ps_table_free(d->table);
    ps_cache_free(d->cache);
    ps_store_free(d->store);
}

/* The reply to a query about the table. */
static const char *get(desk *d, const char *query) {
    char text[512];
    (void)snprintf(text, sizeof text, "%s", query);
    ps_reply_fini(&d->reply);
    ps_reply_init(&d->reply);
    ps_request q = {.path = "/api/test", .store = d->store, .cache = d->cache};
    assert_true(ps_request_parse(&q, &d->reply, text));
    ps_put_table(&q, &d->reply, d->table);
    return ps_buf_str(&d->reply.body);
}

/* The first column of the rows of a reply: "[3,...]\n[0,..." gives "30". */
static const char *numbers(desk *d, const char *query) {
    static char out[64];
    size_t n = 0;
    const char *at = get(d, query);
    assert_int_equal(d->reply.status, 200);
    while ((at = strstr(at, "\n[")) != NULL && n < sizeof out - 1) {
        out[n++] = at[2];
        at++;
    }
    out[n] = '\0';
    return out;
}

static void as_json(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    assert_string_equal(
        get(&d, ""),
        "{\"name\":\"a/table\",\"title\":\"A \\\"title\\\"\",\"columns\":[[\"n\",\"int\",\"\",true],"
        "[\"text\",\"text\",\"\",false],[\"time\",\"int\",\"ns\",false],[\"share\",\"real\",\"%\","
        "false]],\"total\":5,\"offset\":0,\"rows\":[\n"
        "[0,\"beta\",300,0.5],\n[1,\"Alpha, \\\"x\\\"\",100,null],\n[2,null,null,-2],\n"
        "[3,\"alpha\",100,1e+300],\n[4,\"\",\"9007199254740993\",null]],\"notes\":[]}");
    expect_in(get(&d, "offset=3&limit=1"), "\"total\":5,\"offset\":3,\"rows\":[\n[3,");
    expect_in(get(&d, "offset=9"), "\"total\":5,\"offset\":9,\"rows\":[],");
    expect_in(get(&d, "limit=0"), "\"total\":5,\"offset\":0,\"rows\":[],");
    desk_close(&d);
}

static void sorted(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    /* Equal ones in the order of the table, empty ones last both ways. */
    assert_string_equal(numbers(&d, "sort=time"), "13042");
    assert_string_equal(numbers(&d, "sort=time&desc=1"), "40132");
    assert_string_equal(numbers(&d, "sort=text"), "43102");
    assert_string_equal(numbers(&d, "sort=text&desc=1"), "01342");
    assert_string_equal(numbers(&d, "sort=share"), "20341");
    assert_string_equal(numbers(&d, "sort=share&desc=1"), "43021");
    assert_string_equal(numbers(&d, "sort=time&offset=1&limit=2"), "30"); /* from the cache */
    (void)get(&d, "sort=nothing");
    assert_int_equal(d.reply.status, 400);
    expect_in(ps_buf_str(&d.reply.body), "no column 'nothing'");
    desk_close(&d);
}

static void filtered(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    assert_string_equal(numbers(&d, "filter={\"text\":\"ALPHA\"}"), "13");
    assert_string_equal(numbers(&d, "filter={\"text\":\"\"}"), "01234");
    assert_string_equal(numbers(&d, "filter={\"text\":\"%3Dalpha\"}"), "3");
    assert_string_equal(numbers(&d, "filter={\"text\":\"%3Dalph\"}"), "");
    assert_string_equal(numbers(&d, "filter={\"text\":\"%3D\"}"), "24");
    assert_string_equal(numbers(&d, "filter={\"text\":\"!ALPHA\"}"), "024");
    assert_string_equal(numbers(&d, "filter={\"text\":\"!%3Dalpha\"}"), "0124");
    assert_string_equal(numbers(&d, "filter={\"text\":\"!%3D\"}"), "013");
    assert_string_equal(numbers(&d, "filter={\"text\":\"!\"}"), "01234");
    assert_string_equal(numbers(&d, "filter={\"time\":[100,300]}"), "013");
    assert_string_equal(numbers(&d, "filter={\"time\":[null,100],\"text\":\"x\"}"), "1");
    assert_string_equal(numbers(&d, "filter={\"share\":[-2.5,null]}&sort=share&desc=1"), "4302");
    assert_string_equal(numbers(&d, "filter={\"time\":\"00\"}"), "013"
                                                                 "4"); /* ...7199254740993 */
    assert_string_equal(numbers(&d, "filter={}"), "01234");
    static const char *const BAD[] = {"filter=x",
                                      "filter=[]",
                                      "filter={\"text\":[1,2]}",
                                      "filter={\"time\":[1]}",
                                      "filter={\"time\":[1,2,3]}",
                                      "filter={\"time\":5}",
                                      "filter={\"time\":[\"1\",2]}",
                                      "filter={\"no\":\"1\"}",
                                      "desc=x",
                                      "limit=5001",
                                      "offset=-1",
                                      "format=xml"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        (void)get(&d, BAD[i]);
        assert_int_equal(d.reply.status, 400);
    }
    desk_close(&d);
}

static void as_files(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    assert_string_equal(get(&d, "format=csv&limit=1&sort=time&filter={\"time\":[0,300]}"),
                        "n,text,time_ns,share_percent\r\n1,\"Alpha, \"\"x\"\"\",100,nan\r\n"
                        "3,alpha,100,1e+300\r\n0,beta,300,0.5\r\n");
    assert_string_equal(d.reply.content_type, "text/csv; charset=utf-8");
    assert_string_equal(d.reply.file_name, "a_table.csv");
    assert_string_equal(
        get(&d, "format=records&filter={\"n\":[2,2]}"),
        "[\n {\"n\": 2, \"text\": null, \"time_ns\": null, \"share_percent\": -2}\n]\n");
    assert_string_equal(d.reply.file_name, "a_table.json");
    expect_in(get(&d, "format=records"), "{\"n\": 4, ");
    desk_close(&d);
}

/* --- rows on demand ---------------------------------------------------------------------------------- */

typedef struct counted {
    size_t n_made;
} counted;

static void make_row(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    ((counted *)(uintptr_t)context)->n_made++;
    (void)snprintf(room, PS_ROW_ROOM, "name %zu", row % 10);
    cells[0] = (ps_value){.u.i = (int64_t)row};
    cells[1] = (ps_value){.u.text = room};
    cells[2] = (ps_value){.u.i = (int64_t)((row * 7919) % 1000)};
}

static void free_nothing(void *context) {
    (void)context;
}

static void only_what_is_shown_is_made(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    ps_table_free(d.table);
    counted c = {0};
    d.table = ps_table_new_made(
        "made", "", COLUMNS, 4, 100000,
        (ps_row_maker){.make = make_row, .context = &c, .free_context = free_nothing});
    expect_in(get(&d, "offset=99998"), "\"rows\":[\n[99998,\"name 8\",162,null],\n[99999,");
    assert_true(c.n_made <= 2);
    c.n_made = 0;
    assert_string_equal(numbers(&d, "sort=time&desc=1&limit=3&filter={\"n\":[0,9]}"), "123");
    assert_true(c.n_made <= 100000 + 3 + 3);
    c.n_made = 0;
    expect_in(get(&d, "sort=time&desc=1&limit=2&offset=2&filter={\"n\":[0,9]}"),
              "\"total\":10,\"offset\":2");
    assert_true(c.n_made <= 2); /* the order is kept */
    c.n_made = 0;
    const char *csv = get(&d, "sort=text&desc=1&format=csv");
    assert_int_equal(count_in(csv, "\r\n"), 100001);
    expect_in(csv, "n,text,time_ns,share_percent\r\n9,name 9,271,\r\n19,name 9,");
    desk_close(&d);
}

static void several(void **state) {
    (void)state;
    desk d;
    desk_open(&d);
    ps_table *other = ps_table_new("other", "", COLUMNS, 4);
    const ps_table *const tables[] = {d.table, NULL, other};
    const char *const notes[] = {"a note"};
    const ps_table_extra extra = {.notes = notes, .n_notes = 1, .members = "\"more\":{\"x\":1}"};
    ps_reply r;
    ps_reply_init(&r);
    ps_request q = {.path = "/api/test", .store = d.store, .cache = d.cache};
    ps_put_tables(&q, &r, tables, 3, &extra);
    expect_in(ps_buf_str(&r.body), "{\"tables\":[{\"name\":\"a/table\"");
    expect_in(ps_buf_str(&r.body), "{\"name\":\"other\"");
    expect_in(ps_buf_str(&r.body), "],\"notes\":[\"a note\"],\"more\":{\"x\":1}}");
    ps_reply_fini(&r);
    ps_reply_init(&r);
    char text[] = "table=a/table&sort=time&limit=1";
    assert_true(ps_request_parse(&q, &r, text));
    ps_put_tables(&q, &r, tables, 3, &extra);
    expect_in(ps_buf_str(&r.body), "{\"name\":\"a/table\"");
    expect_in(ps_buf_str(&r.body), "\"rows\":[\n[1,");
    ps_reply_fini(&r);
    ps_table_free(other);
    desk_close(&d);
}

/* Wherever memory ends: an error that says so, and nothing is lost. */
static void without_memory(void **state) {
    (void)state;
    static const char *const QUERIES[] = {"", "sort=text&desc=1&filter={\"n\":[0,3]}",
                                          "sort=time&format=csv", "format=records"};
    for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++) {
        unsigned status = 0;
        for (int64_t n = 0; status != 200; n++) {
            desk d;
            desk_open(&d);
            char text[128];
            (void)snprintf(text, sizeof text, "%s", QUERIES[i]);
            ps_request q = {.path = "/api/test", .store = d.store, .cache = d.cache};
            assert_true(ps_request_parse(&q, &d.reply, text));
            (void)ps_alloc_fail_at(n);
            ps_put_table(&q, &d.reply, d.table);
            (void)ps_alloc_fail_at(-1);
            status = ps_buf_ok(&d.reply.body) ? d.reply.status : 507;
            assert_true(status == 200 || status == 507);
            assert_true(n < 1000);
            desk_close(&d);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_json),
        cmocka_unit_test(sorted),
        cmocka_unit_test(filtered),
        cmocka_unit_test(as_files),
        cmocka_unit_test(only_what_is_shown_is_made),
        cmocka_unit_test(several),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
