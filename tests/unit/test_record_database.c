/* From slots to rows: each table of the database is compared with what the slots say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "record/export/export.h"
#include "support/record_slots.h"

typedef struct place {
    char dir[64]; /* the profile folder */
    ps_export_result result;
    sqlite3 *db;
} place;

static void make_place(place *p) {
    *p = (place){.db = NULL};
    (void)snprintf(p->dir, sizeof p->dir, "/tmp/ps_export_XXXXXX");
    assert_non_null(mkdtemp(p->dir));
}

static void remove_place(place *p) {
    char command[128];
    (void)sqlite3_close(p->db);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", p->dir);
    assert_int_equal(system(command), 0);
}

static void export_to(place *p, made_recording *r, const ps_export_options *options) {
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    spool_all(r);
    assert_int_equal(ps_capture_read_memory(r->spool, r->spool_bytes, &c, &err), PS_OK);
    ps_code code = ps_export_capture(c, p->dir, options, &p->result, &err);
    if (code != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_capture_free(c);
    assert_int_equal(sqlite3_open_v2(p->result.database, &p->db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
}

/* All rows as text: columns with commas, rows with line ends. */
static void expect_rows(place *p, const char *sql, const char *expected) {
    static char got[65536];
    size_t n = 0;
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(p->db));
    }
    got[0] = '\0';
    while (sqlite3_step(s) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *cell = (const char *)sqlite3_column_text(s, i);
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", i > 0 ? "," : "",
                                  cell != NULL ? cell : "NULL");
        }
        n += (size_t)snprintf(got + n, sizeof got - n, "\n");
    }
    (void)sqlite3_finalize(s);
    assert_string_equal(got, expected);
}

#define MARKS                                                                                      \
    "SELECT startNs - 1000000000000000000, endNs - 1000000000000000000, eventType, rangeId, "      \
    "category, m.value, globalTid, endGlobalTid, d.value, connectionId FROM MSTX_EVENTS JOIN "     \
    "STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId ORDER BY MSTX_EVENTS.rowid"
#define TASKS                                                                                      \
    "SELECT startNs - 1000000000000000000, endNs - 1000000000000000000, deviceId, connectionId, "  \
    "globalTaskId, globalPid, value, contextId, streamId, taskId, modelId FROM TASK JOIN "         \
    "STRING_IDS ON id = taskType ORDER BY TASK.rowid"

/* globalTid of thread 5 of process 4242 is 4242 << 32 | 5 = 18219251269637. */
static void test_marks(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 3);
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "{'name': 'forward_step'}");
    put_text(&r, 1, 2, "{\\\"a\\\": 1}");
    put_named(&r, PS_REC_DOMAIN, 1, "mine");
    put_event(&r, 1, PS_REC_STEP_BEGIN, 1500, 7, 1, 0, 0);
    put_event(&r, 1, PS_REC_RANGE_START, 2000, 1 | PS_RANGE_ON_DEVICE, 1, 1, 0);
    put_event(&r, 1, PS_REC_MARK, 2100, 2, 0, 2, 1);
    put_event(&r, 1, PS_REC_PUSH, 2200, 3, 0, 1, 1);
    put_event(&r, 1, PS_REC_RANGE_END, 2300, 3, 0, 0, 1);
    put_thread(&r, 2, 6, "other");
    put_event(&r, 2, PS_REC_RANGE_END, 2400, 1 | PS_RANGE_ON_DEVICE, 0, 0, PS_DOMAIN_ANY);
    put_text(&r, 2, 1, "open");
    put_event(&r, 2, PS_REC_RANGE_START, 2450, 4, 0, 1, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2500, 7, 0, 0, 0);
    put_pair(&r, PS_REC_INFO, 0, "stop", "{\"monotonic_ns\": 2600}");
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    /* In the order of starts: step, forward_step (ended by thread 6), mark, push, and the open one, which has number 4 but
     * no row. */
    expect_rows(&p, MARKS,
                "1500,2500,2,4294967295,4294967295,ProfilerStep#7,18219251269637,18219251269637,"
                "default,4000000001\n"
                "2000,2400,2,4294967295,4294967295,{'name': 'forward_step'},18219251269637,"
                "18219251269638,default,4000000002\n"
                "2100,2100,3,4294967295,4294967295,{\"a\": 1},18219251269637,18219251269637,mine,"
                "4000000003\n"
                "2200,2300,2,4294967295,4294967295,{'name': 'forward_step'},18219251269637,"
                "18219251269637,mine,4000000004\n");
    /* Those with a stream, with the host's times; the legacy stream is 0. */
    expect_rows(&p, TASKS,
                "1500,2500,0,4000000001,0,4242,MsTx,4294967295,0,0,4294967295\n"
                "2000,2400,0,4000000002,1,4242,MsTx,4294967295,0,1,4294967295\n");
    expect_rows(&p,
                "SELECT connectionId, startNs - 1000000000000000000, m.value, d.value, globalTid "
                "FROM PIPESCOPE_OPEN_RANGES JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d "
                "ON d.id = domainId",
                "4000000005,2450,open,default,18219251269638\n");
    expect_rows(&p, "SELECT * FROM STEP_TIME", "7,1000000000000001500,1000000000000002500\n");
    expect_rows(&p, "SELECT * FROM SESSION_TIME_INFO", "1000000000000001000,1000000000000002600\n");
    expect_rows(&p, "SELECT * FROM RANK_DEVICE_MAP", "3,0\n");
    expect_rows(&p, "SELECT * FROM NPU_INFO", "-1,CPU\n");
    assert_int_equal(p.result.n_ranges, 2);
    assert_int_equal(p.result.n_marks, 1);
    assert_int_equal(p.result.n_open, 1);
    assert_int_equal(p.result.n_steps, 1);
    remove_place(&p);
    recording_end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks)};
    return cmocka_run_group_tests_name("record_database", tests, NULL, NULL);
}
