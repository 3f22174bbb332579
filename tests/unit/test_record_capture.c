/* Reading what a recording left: spool and rings that overlap, lack something, or are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/export/capture.h"
#include "record/export/slots.h"
#include "support/record_slots.h"
#include "support/scratch.h"

static const char *const dir = scratch_dir;

static ps_capture *read_files(void) {
    char raw[SCRATCH_BYTES + 32];
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    (void)snprintf(raw, sizeof raw, "%s/FRAMEWORK", dir);
    if (ps_capture_read(raw, &c, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    return c;
}

static ps_capture *read_memory(made_recording *r) {
    ps_capture *c = NULL;
    spool_all(r);
    assert_int_equal(ps_capture_read_memory(r->spool, r->spool_bytes, &c, NULL), PS_OK);
    return c;
}

static const char *message(const ps_capture *c, size_t event) {
    return ps_capture_text(c, ps_capture_events(c)->message[event], NULL);
}

static uint64_t damaged(const ps_capture *c, const char *where) {
    char place[256];
    uint64_t n = ps_capture_damaged_bytes(c, place, sizeof place);
    if (where != NULL && strstr(place, where) == NULL) {
        fail_msg("'%s' is not in '%s'", where, place);
    }
    return n;
}

/* Half of the slots were taken into the spool, half are in the rings still: as after kill -9. */
static void put_two_ranges(made_recording *r) {
    recording_begin(r, 0);
    put_thread(r, 1, 5, "main");
    put_text(r, 1, 1, "first");
    put_event(r, 1, PS_REC_RANGE_START, 2000, 1, 0, 1, 0);
    spool_all(r);
    put_event(r, 1, PS_REC_RANGE_END, 2100, 1, 0, 0, 0);
    put_text(r, 1, 2, "a second text that needs more than one slot behind its own");
    put_event(r, 1, PS_REC_RANGE_START, 2200, 2, 0, 2, 0);
    put_event(r, 1, PS_REC_RANGE_END, 2300, 2, 0, 0, 0);
}

static void check_two_ranges(const ps_capture *c) {
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->n, 2);
    assert_string_equal(message(c, 0), "first");
    assert_int_equal(v->start_ns[0] - SLOTS_BASE, 2000);
    assert_int_equal(v->end_ns[0] - SLOTS_BASE, 2100);
    assert_string_equal(message(c, 1),
                        "a second text that needs more than one slot behind its own");
    assert_int_equal(v->end_ns[1] - SLOTS_BASE, 2300);
    assert_int_equal(v->tid[1], 5);
    assert_int_equal(damaged(c, NULL), 0);
}

static void test_spool_and_ring(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    write_recording(&r, dir);
    ps_capture *c = read_files();
    check_two_ranges(c);
    bool ended = true;
    int64_t start_ns, end_ns;
    ps_capture_span(c, &start_ns, &end_ns, &ended);
    assert_int_equal(start_ns - SLOTS_BASE, 1000);
    assert_int_equal(end_ns - SLOTS_BASE, 2300);
    assert_false(ended);
    ps_capture_free(c);
    recording_end(&r);
}

/* More different texts than are kept: further events have none, known texts go on. */
static void test_most_texts(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main");
    for (uint32_t i = 1; i <= 6; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "text %u", i);
        put_text(&r, 1, i, text);
        put_event(&r, 1, PS_REC_MARK, 2000 + 10 * i, 2 * i, 0, i, 0);
    }
    put_event(&r, 1, PS_REC_MARK, 3000, 20, 0, 1, 0);
    spool_all(&r);
    ps_capture *all = read_memory(&r);
    uint32_t n_texts = ps_capture_text_count(all);
    assert_int_equal(ps_capture_drops(all, PS_DROP_STRING_TABLE_FULL), 0);
    ps_capture_free(all);
    size_t before = ps_capture_most_texts;
    ps_capture_most_texts = n_texts - 3;
    ps_capture *c = read_memory(&r);
    ps_capture_most_texts = before;
    assert_int_equal(ps_capture_text_count(c), n_texts - 3);
    assert_int_equal(ps_capture_drops(c, PS_DROP_STRING_TABLE_FULL), 3);
    assert_string_equal(message(c, 0), "text 1");
    assert_string_equal(message(c, 5), "<dropped>");
    assert_string_equal(message(c, 6), "text 1");
    assert_int_equal(damaged(c, NULL), 0);
    ps_capture_free(c);
    recording_end(&r);
}

/* The writer died between its write and moving the ring's tail: slots stand in both. */
static void test_overlap(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    size_t taken = r.rings[1].in_spool;
    spool_all(&r);
    r.rings[1].in_spool = taken;
    write_recording(&r, dir);
    ps_capture *c = read_files();
    check_two_ranges(c);
    ps_capture_free(c);
    recording_end(&r);
}

/* Slots 5 and on are neither in the spool nor in the ring. */
static void test_gap(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    size_t before = r.rings[1].in_spool;
    r.rings[1].in_spool = before + 1; /* the first range's end is lost: one slot of 32 bytes */
    write_recording(&r, dir);
    ps_capture *c = read_files();
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->n, 2);
    assert_int_equal(v->end_ns[0], PS_STILL_OPEN);
    assert_int_equal(v->end_ns[1] - SLOTS_BASE, 2300);
    assert_int_equal(damaged(c, "ring 1, slots 5 to 6"), 32);
    ps_capture_free(c);
    recording_end(&r);
}

/* The process was killed in the middle of the last block: the ring has what is missing, and a record that lies in both, so that
 * nothing is damaged. Without the rings something is. */
static void test_torn_block(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    size_t taken = r.rings[1].in_spool;
    spool_all(&r);
    r.rings[1].in_spool = taken + 2; /* in the middle of the long text */
    r.spool_bytes -= 2 * sizeof(ps_slot) + 7;
    write_recording(&r, dir);
    ps_capture *c = read_files();
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->n, 2);
    assert_string_equal(message(c, 1),
                        "a second text that needs more than one slot behind its own");
    assert_int_equal(ps_capture_damaged_bytes(c, NULL, 0), 0);
    ps_capture_free(c);
    assert_int_equal(ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL), PS_OK);
    assert_true(damaged(c, "the last block is cut off") > 0);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_damaged_block(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    spool_all(&r);
    ps_block_header b;
    memcpy(&b, r.spool + sizeof(ps_spool_header), sizeof b);
    b.magic = 1; /* ring 0's block; the next one is found */
    memcpy(r.spool + sizeof(ps_spool_header), &b, sizeof b);
    ps_capture *c = NULL;
    assert_int_equal(ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL), PS_OK);
    assert_int_equal(ps_capture_events(c)->n, 2);
    assert_true(damaged(c, "events.spool, byte 72") >= sizeof b);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_foreign_ring(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    r.header.session = 78; /* of the rings; the spool says 77 */
    write_recording(&r, dir);
    ps_capture *c = read_files();
    assert_int_equal(ps_capture_events(c)->n, 1); /* what is in the spool */
    assert_true(damaged(c, "of another recording") > 0);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_nothing_there(void **state) {
    (void)state;
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_capture_read("/nowhere/at/all", &c, &err), PS_NOT_FOUND);
    assert_null(c);
    assert_int_equal(ps_capture_read(dir, &c, &err), PS_NOT_FOUND);
    assert_int_equal(ps_capture_read_memory("short", 5, &c, &err), PS_SYNTAX);
}

/* Bytes that are no UTF-8 are replaced; backslashes go from messages that begin with '{', and from nothing else. */
static void test_texts(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_text(&r, 1, 1,
             "a\xff"
             "b\xc3\xa9");
    put_text(&r, 1, 2, "{\\\"a\\\"}");
    put_text(&r, 1, 3, "a\\b");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, 1, 0);
    put_event(&r, 1, PS_REC_MARK, 2001, 2, 0, 2, 0);
    put_event(&r, 1, PS_REC_MARK, 2002, 3, 0, 3, 0);
    put_event(&r, 1, PS_REC_MARK, 2003, 4, 0, 0, 0);  /* no text: it found no room */
    put_event(&r, 1, PS_REC_MARK, 2004, 5, 0, 99, 0); /* its definition was lost */
    put_text(&r, 1, 1, "anew");                       /* of the thread that got the ring next */
    put_event(&r, 1, PS_REC_MARK, 2005, 6, 0, 1, 0);
    ps_capture *c = read_memory(&r);
    assert_string_equal(message(c, 0), "a\xEF\xBF\xBD"
                                       "b\xc3\xa9");
    assert_string_equal(message(c, 1), "{\"a\"}");
    assert_string_equal(message(c, 2), "a\\b");
    assert_string_equal(message(c, 3), "<dropped>");
    assert_string_equal(message(c, 4), "<lost>");
    assert_string_equal(message(c, 5), "anew");
    assert_int_equal(ps_capture_drops(c, PS_DROP_BAD_UTF8), 1);
    assert_int_equal(damaged(c, "a text that is not defined"), 32);
    ps_capture_free(c);
    recording_end(&r);
}

/* Numbers of texts that damage made high take no memory by their height, and keep no other text from being read. */
static void test_numbers_of_texts(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_text(&r, 1, 1, "one");
    put_text(&r, 1, 0x7fffffff, "the last there can be");
    put_text(&r, 1, 257, "257"); /* at the place of 1 while there are few */
    put_text(&r, 1, 0x80000000, "of no ring");
    put_text(&r, 1, 2, "two");
    for (uint32_t i = 0; i < 500; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "more %u", i);
        put_text(&r, 1, 1000 + i, text);
    }
    const uint32_t used[] = {1, 0x7fffffff, 257, 2, 1000, 1499, 3, 1500};
    const char *const wanted[] = {
        "one", "the last there can be", "257", "two", "more 0", "more 499", "<lost>", "<lost>"};
    for (size_t i = 0; i < 8; i++) {
        put_event(&r, 1, PS_REC_MARK, 2000 + i, i + 1, 0, used[i], 0);
    }
    ps_capture *c = read_memory(&r);
    assert_int_equal(ps_capture_events(c)->n, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(message(c, i), wanted[i]);
    }
    assert_int_equal(damaged(c, "a text with an impossible number"), 3 * 32);
    ps_capture_free(c);
    recording_end(&r);
}

/* Shared texts and domains stand in ring 0, whoever uses them; facts and metadata: the last one counts. */
static void test_shared(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_named(&r, PS_REC_SHARED_TEXT, 3, "registered");
    put_named(&r, PS_REC_DOMAIN, 2, "NCCL");
    put_named(&r, PS_REC_STREAM, 0x7f00, "copies");
    put_named(&r, PS_REC_THREAD_NAME, 5, "loader");
    put_pair(&r, PS_REC_META, 0, "pp_info", "{}");
    put_pair(&r, PS_REC_META, 0, "pp_info", "{\"pp_type\": \"1f1b\"}");
    put_pair(&r, PS_REC_INFO, 0, "backend", "host");
    put_pair(&r, PS_REC_INFO, 0, "backend", "cuda_event");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, PS_TEXT_SHARED | 3, 2);
    put_event(&r, 1, PS_REC_MARK, 2001, 2, 0, PS_TEXT_SHARED | 4, 9);
    ps_capture *c = read_memory(&r);
    const ps_named *domains = ps_capture_domains(c);
    assert_int_equal(domains->n, 10); /* the second mark says 9 */
    assert_string_equal(ps_capture_text(c, domains->value[0], NULL), "default");
    assert_string_equal(ps_capture_text(c, domains->value[2], NULL), "NCCL");
    assert_string_equal(ps_capture_text(c, domains->value[9], NULL), "<lost>");
    assert_string_equal(message(c, 0), "registered");
    assert_string_equal(message(c, 1), "<lost>");
    assert_string_equal(ps_capture_fact(c, "backend"), "cuda_event");
    assert_string_equal(ps_capture_fact(c, "nothing"), "");
    const ps_named *meta = ps_capture_metadata(c);
    assert_int_equal(meta->n, 1);
    assert_string_equal(ps_capture_text(c, meta->value[0], NULL), "{\"pp_type\": \"1f1b\"}");
    assert_int_equal(ps_capture_streams(c)->key[0], 0x7f00);
    assert_int_equal(ps_capture_threads(c)->key[0], 5);
    ps_capture_free(c);
    recording_end(&r);
}

/* Ticks of 0.5 ns: two anchors, 1,000 ticks and 500 ns apart. The wall clock jumps by a second, which moves nothing. */
static void test_clock(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    r.header.clock = PS_CLOCK_TSC;
    memcpy(r.spool, &r.header, sizeof r.header);
    ps_slot anchor = {.kind = PS_REC_ANCHOR,
                      .ticks = 2000,
                      .id = (uint64_t)SLOTS_BASE + 1000 + 500 + 1000000000,
                      .aux = 1500};
    put_slot(&r, 0, anchor, NULL, 0);
    put_event(&r, 1, PS_REC_MARK, 5000, 1, 0, 0, 0);
    put_event(&r, 1, PS_REC_MARK, 200, 2, 0, 0, 0);
    ps_capture *c = read_memory(&r);
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->start_ns[0] - SLOTS_BASE, 1000 - 400); /* (200 - 1000) * 0.5 */
    assert_int_equal(v->start_ns[1] - SLOTS_BASE, 1000 + 2000);
    assert_int_equal(ps_capture_drops(c, PS_DROP_CLOCK_STEP), 1);
    size_t n = 0;
    const ps_captured_anchor *a = ps_capture_anchors(c, &n);
    assert_int_equal(n, 2);
    assert_int_equal(a[0].half_width_ns, 25);
    ps_capture_free(c);
    recording_end(&r);
}

/* NTP slews CLOCK_MONOTONIC by 500 ppm from the first second on: ticks of 1 ns, an anchor each second. What lay between two of them
 * lies where the device's rows, which are in CLOCK_MONOTONIC, say it did: 3.5 s after the first anchor, 2.5 s of them slewed. The straight line
 * from the first to the last anchor says 1.4 ms in place of 1.25. */
static void test_slewed_clock(void **state) {
    (void)state;
    enum { SECOND = 1000000000, SLEW_NS = 500000 };
    made_recording r;
    recording_begin(&r, 0);
    r.header.clock = PS_CLOCK_TSC;
    memcpy(r.spool, &r.header, sizeof r.header);
    for (int64_t k = 1; k <= 5; k++) {
        int64_t mono = 1000 + k * SECOND + (k - 1) * SLEW_NS;
        ps_slot anchor = {.kind = PS_REC_ANCHOR,
                          .ticks = (uint64_t)(1000 + k * SECOND),
                          .id = (uint64_t)(SLOTS_BASE + mono),
                          .aux = (uint64_t)mono,
                          .text = 25};
        put_slot(&r, 0, anchor, NULL, 0);
    }
    const int64_t at = 1000 + (int64_t)SECOND * 7 / 2;
    put_event(&r, 1, PS_REC_MARK, (uint64_t)at, 1, 0, 0, 0);
    ps_capture *c = read_memory(&r);
    assert_int_equal(ps_capture_events(c)->start_ns[0] - SLOTS_BASE, at + SLEW_NS * 5 / 2);
    assert_int_equal(ps_line_unix_of_mono(ps_capture_clock(c), at + SLEW_NS * 5 / 2) - SLOTS_BASE,
                     at + SLEW_NS * 5 / 2);
    assert_int_equal(ps_capture_clock(c)->n_knots, 3); /* it bends once */
    ps_capture_free(c);
    recording_end(&r);
}

static void change_byte(const char *name, uint64_t random) {
    char path[SCRATCH_BYTES + 64];
    (void)snprintf(path, sizeof path, "%s/FRAMEWORK/%s", dir, name);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    (void)fseek(f, 0, SEEK_END);
    long size = ftell(f);
    /* Half of them among the first 256 bytes, where the headers are. */
    long at = (long)(random >> 16) % (random & 1 ? 256 : size);
    (void)fseek(f, at < size ? at : 0, SEEK_SET);
    (void)fputc((int)(random >> 8 & 255), f);
    (void)fclose(f);
}

/* Whatever bytes are changed: it is read or refused. */
static void test_any_damage(void **state) {
    (void)state;
    static const char *const FILES[] = {"events.spool", "0.ring", "1.ring"};
    uint64_t random = 88172645463325252u;
    made_recording r;
    put_two_ranges(&r);
    for (int i = 0; i < 400; i++) {
        write_recording(&r, dir);
        for (int k = 0; k <= i % 4; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            change_byte(FILES[random % 3], random >> 2 & UINT32_MAX);
        }
        char raw[SCRATCH_BYTES + 32];
        ps_capture *c = NULL;
        (void)snprintf(raw, sizeof raw, "%s/FRAMEWORK", dir);
        ps_code code = ps_capture_read(raw, &c, NULL);
        assert_true(code == PS_OK || code == PS_SYNTAX);
        if (code == PS_OK) {
            assert_true(ps_capture_events(c)->n <= 8);
        }
        ps_capture_free(c);
    }
    recording_end(&r);
}

/* Every allocation that fails gives PS_NOMEM, and nothing leaks. */
static void test_memory(void **state) {
    (void)state;
    made_recording r;
    put_two_ranges(&r);
    put_event(&r, 1, PS_REC_STEP_BEGIN, 2400, 1, 0, 0, 0);
    put_pair(&r, PS_REC_META, 0, "key", "1");
    put_device(&r, PS_REC_KERNEL, 3, 2000, 2050, 0, (ps_device_more){.device = 0});
    spool_all(&r);
    for (int64_t i = 0;; i++) {
        ps_capture *c = NULL;
        (void)ps_alloc_fail_at(i);
        ps_code code = ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL);
        int64_t made = ps_alloc_fail_at(-1);
        ps_capture_free(c);
        if (made <= i) {
            assert_int_equal(code, PS_OK);
            break;
        }
        assert_int_equal(code, PS_NOMEM);
    }
    recording_end(&r);
}

/* Somebody cuts the spool short after it was opened: what is gone is damage, and no signal ends the program. */
static void test_shorter_meanwhile(void **state) {
    (void)state;
    enum { EVENTS = 20000 };
    char path[SCRATCH_BYTES + 32];
    made_recording r;
    ps_slot_files f;
    ps_err err = PS_ERR_INIT;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "mark");
    for (uint64_t i = 0; i < EVENTS; i++) {
        put_event(&r, 1, PS_REC_MARK, 2000 + i, i + 1, 0, 1, 0);
    }
    spool_all(&r);
    write_recording(&r, dir);
    (void)snprintf(path, sizeof path, "%s/FRAMEWORK", dir);
    assert_int_equal(ps_slot_files_open(&f, path, NULL, 0, &err), PS_OK);
    (void)snprintf(path, sizeof path, "%s/FRAMEWORK/events.spool", dir);
    assert_int_equal(truncate(path, (off_t)r.spool_bytes / 2), 0);
    ps_slot_walk *w = ps_alloc(sizeof *w);
    assert_non_null(w);
    ps_slot_walk_begin(w, &f, 1);
    size_t n = 0;
    while (ps_slot_walk_next(w) != NULL) {
        n++;
    }
    assert_true(n > EVENTS / 4 && n < EVENTS * 3 / 4);
    assert_true(f.damaged_bytes > 0);
    assert_non_null(strstr(f.place, "became shorter while it was read"));
    ps_free(w);
    ps_slot_files_close(&f);
    recording_end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spool_and_ring, scratch_setup, scratch_teardown),
        cmocka_unit_test(test_most_texts),
        cmocka_unit_test_setup_teardown(test_overlap, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_gap, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_torn_block, scratch_setup, scratch_teardown),
        cmocka_unit_test(test_damaged_block),
        cmocka_unit_test_setup_teardown(test_shorter_meanwhile, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_ring, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_there, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_any_damage, scratch_setup, scratch_teardown),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers_of_texts),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_slewed_clock),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("record_capture", tests, NULL, NULL);
}
