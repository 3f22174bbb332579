/* Starts and ends, steps, device times: in order, and what does not fit is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "record/export/capture.h"
#include "record/export/order.h"
#include "support/record_slots.h"

static ps_capture *read_memory(made_recording *r) {
    ps_capture *c = NULL;
    spool_all(r);
    assert_int_equal(ps_capture_read_memory(r->spool, r->spool_bytes, &c, NULL), PS_OK);
    return c;
}

static void start(made_recording *r, unsigned ring, uint64_t ticks, uint64_t id) {
    put_event(r, ring, PS_REC_RANGE_START, ticks, id, 0, 0, 0);
}

static void end(made_recording *r, unsigned ring, uint64_t ticks, uint64_t id, uint16_t domain) {
    put_event(r, ring, PS_REC_RANGE_END, ticks, id, 0, 0, domain);
}

/* By start time; equal times as the rings and positions say. */
static void test_order(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 11, "");
    put_thread(&r, 2, 22, "");
    start(&r, 2, 2000, 20);
    start(&r, 2, 1500, 21); /* a clock of another processor */
    start(&r, 1, 2000, 10);
    start(&r, 1, 2000, 12);
    end(&r, 1, 2600, 21, 0);
    end(&r, 2, 1990, 10, 0); /* before its start: of no length */
    ps_capture *c = read_memory(&r);
    const ps_events *v = ps_capture_events(c);
    const uint64_t ids[] = {21, 10, 12, 20};
    assert_int_equal(v->n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(v->id[i], ids[i]);
    }
    assert_int_equal(v->end_ns[0] - SLOTS_BASE, 2600);
    assert_int_equal(v->tid[0], 22);
    assert_int_equal(v->end_tid[0], 11);
    assert_int_equal(v->end_ns[1], v->start_ns[1]);
    assert_int_equal(v->end_ns[2], PS_STILL_OPEN);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_ends(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    start(&r, 1, 2000, 600);
    end(&r, 1, 2100, 5, PS_DOMAIN_ANY);   /* of an earlier recording */
    end(&r, 1, 2100, 700, PS_DOMAIN_ANY); /* never started */
    end(&r, 1, 2200, 600, 3);             /* another domain: does not end it */
    end(&r, 1, 2300, 600, 0);
    end(&r, 1, 2400, 600, 0); /* twice: the first one counts */
    put_event(&r, 1, PS_REC_MARK, 2500, 601, 0, 0, 0);
    end(&r, 1, 2600, 601, 0); /* of a mark */
    ps_capture *c = read_memory(&r);
    assert_int_equal(ps_capture_events(c)->end_ns[0] - SLOTS_BASE, 2300);
    assert_int_equal(ps_capture_drops(c, PS_DROP_EARLIER_RANGE), 1);
    assert_int_equal(ps_capture_drops(c, PS_DROP_UNKNOWN_RANGE), 3);
    assert_int_equal(ps_capture_drops(c, PS_DROP_DOMAIN_MISMATCH), 1);
    ps_capture_free(c);
    recording_end(&r);
}

/* Ids far apart, as a damaged file may have them, with and without the bit for the device. */
static void test_wide_ids(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    start(&r, 1, 2000, UINT64_C(1) << 60);
    start(&r, 1, 2001, PS_RANGE_ON_DEVICE | 7);
    start(&r, 1, 2002, 7);
    start(&r, 1, 2003, UINT64_MAX);
    start(&r, 1, 2004, UINT64_MAX); /* a second one of the same number */
    end(&r, 1, 3000, UINT64_C(1) << 60, 0);
    end(&r, 1, 3001, PS_RANGE_ON_DEVICE | 7, 0);
    end(&r, 1, 3003, UINT64_MAX, 0);
    ps_capture *c = read_memory(&r);
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->n, 5);
    assert_int_equal(v->end_ns[0] - SLOTS_BASE, 3000);
    assert_int_equal(v->end_ns[1] - SLOTS_BASE, 3001);
    assert_int_equal(v->end_ns[2], PS_STILL_OPEN);
    assert_int_equal(v->end_ns[3] - SLOTS_BASE, 3003);
    assert_int_equal(v->end_ns[4], PS_STILL_OPEN);
    assert_int_equal(ps_capture_damaged_bytes(c, NULL, 0), 32);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_steps(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 11, "");
    put_event(&r, 1, PS_REC_STEP_BEGIN, 2000, 4, 1, 0, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2100, 4, 0, 0, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2150, 4, 0, 0, 0); /* nothing is open */
    put_event(&r, 1, PS_REC_STEP_BEGIN, 2200, 5, 0, 0, 0);
    put_event(&r, 1, PS_REC_STEP_BEGIN, 2300, 6, 0, 0, 0); /* ends step 5 */
    put_pair(&r, PS_REC_INFO, 0, "stop", "{\"monotonic_ns\": 2450}");
    ps_capture *c = read_memory(&r);
    const ps_steps *s = ps_capture_steps(c);
    const int64_t expected[3][3] = {{4, 2000, 2100}, {5, 2200, 2300}, {6, 2300, 2450}};
    assert_int_equal(s->n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s->number[i], expected[i][0]);
        assert_int_equal(s->start_ns[i] - SLOTS_BASE, expected[i][1]);
        assert_int_equal(s->end_ns[i] - SLOTS_BASE, expected[i][2]);
    }
    assert_int_equal(s->tid[0], 11);
    assert_int_equal(s->stream[0], 1);
    ps_capture_free(c);
    recording_end(&r);
}

/* The id of a step's device times stands behind its begin. */
static void test_step_device_times(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    const ps_slot id = {.id = PS_RANGE_ON_DEVICE | 7};
    const ps_slot step = {.kind = PS_REC_STEP_BEGIN, .ticks = 2000, .id = 4, .aux = 0x70};
    put_slot(&r, 1, step, &id, sizeof id);
    start(&r, 1, 2010, PS_RANGE_ON_DEVICE | 8);
    end(&r, 1, 2020, PS_RANGE_ON_DEVICE | 8, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2100, 4, 0, 0, 0);
    put_event(&r, 1, PS_REC_STEP_BEGIN, 2200, 5, 0x70, 0, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2300, 5, 0, 0, 0);
    ps_device_more more = {.device = 3, .context = 9, .stream = 0x70};
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 7, 2050, 2150, 0, more);
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 8, 2060, 2070, 0, more);
    ps_capture *c = read_memory(&r);
    const ps_steps *s = ps_capture_steps(c);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->device_start_ns[0] - SLOTS_BASE, 2050);
    assert_int_equal(s->device_end_ns[0] - SLOTS_BASE, 2150);
    assert_int_equal(s->device[0], 3);
    assert_int_equal(s->context[0], 9);
    assert_int_equal(s->device_start_ns[1], PS_STILL_OPEN);
    assert_int_equal(ps_capture_events(c)->device_start_ns[0] - SLOTS_BASE, 2060);
    assert_int_equal(ps_capture_damaged_bytes(c, NULL, 0), 0);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_device_times(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    start(&r, 1, 2000, PS_RANGE_ON_DEVICE | 1);
    end(&r, 1, 2100, PS_RANGE_ON_DEVICE | 1, 0);
    start(&r, 1, 2200, PS_RANGE_ON_DEVICE | 2);
    ps_device_more more = {.device = 3, .context = 9, .stream = 0x7f};
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 1, 2050, 2150, 0, more);
    put_device(&r, PS_REC_DEVICE, 99, 2050, 2150, 0, more); /* of nothing we know */
    ps_capture *c = read_memory(&r);
    const ps_events *v = ps_capture_events(c);
    assert_int_equal(v->device_start_ns[0] - SLOTS_BASE, 2050);
    assert_int_equal(v->device_end_ns[0] - SLOTS_BASE, 2150);
    assert_int_equal(v->device[0], 3);
    assert_int_equal(v->context[0], 9);
    assert_int_equal(v->device_start_ns[1], PS_STILL_OPEN);
    ps_capture_free(c);
    recording_end(&r);
}

static void test_sorting(void **state) {
    (void)state;
    for (size_t n = 0; n < 200; n += 7) {
        ps_order_key *keys = ps_order_keys(n);
        assert_non_null(keys);
        uint32_t x = 12345;
        for (size_t i = 0; i < n; i++) {
            x = x * 1103515245 + 12345;
            keys[i] = (ps_order_key){(x >> 16) % 10, (uint32_t)i};
        }
        assert_true(ps_order_sort(&keys, n));
        for (size_t i = 1; i < n; i++) {
            assert_true(keys[i - 1].at < keys[i].at ||
                        (keys[i - 1].at == keys[i].at && keys[i - 1].index < keys[i].index));
        }
        ps_free(keys);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_wide_ids),     cmocka_unit_test(test_steps),
        cmocka_unit_test(test_device_times), cmocka_unit_test(test_step_device_times),
        cmocka_unit_test(test_sorting),
    };
    return cmocka_run_group_tests_name("record_pairing", tests, NULL, NULL);
}
