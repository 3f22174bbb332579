/* Events as they arrive in the rings: ranges, marks, stacks, texts, domains, full rings. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/core/device.h"
#include "record/core/threads_shared.h"
#include "support/record_double.h"

static ps_text text_of(const char *s) {
    return (ps_text){.bytes = s, .length = strlen(s), .check = true};
}

static const ps_record_domain *none(void) {
    return ps_domain_check(NULL);
}

static const ps_double_record *find(uint8_t kind, unsigned which) {
    size_t n;
    const ps_double_record *r = ps_double_records(&n);
    for (size_t i = 0; i < n; i++) {
        if (r[i].slot.kind == kind && which-- == 0) {
            return &r[i];
        }
    }
    return NULL;
}

static int teardown(void **state) {
    (void)state;
    (void)ps_double_stop();
    ps_double_reset();
    ps_domain_filter(NULL, NULL);
    ps_domain_ask(NULL);
    atomic_store(&ps_mstx_strict, false);
    return 0;
}

static void test_off(void **state) {
    (void)state;
    assert_int_equal(ps_event_start(none(), text_of("a"), NULL, NULL), 0);
    ps_event_end(NULL, 1);
    ps_event_mark(none(), text_of("a"), NULL, NULL);
    assert_int_equal(ps_event_push(none(), text_of("a"), NULL, NULL), -1);
    assert_int_equal(ps_event_pop(none()), -1);
    assert_null(ps_this_thread);
}

static void test_range_and_mark(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1024);
    ps_record_domain *domain = ps_domain_named("comm", 4);
    uint64_t id = ps_event_start(domain, text_of("forward"), NULL, NULL);
    ps_event_mark(none(), text_of("here"), (void *)9, NULL);
    ps_event_end(domain, id);
    assert_int_equal(ps_double_stop(), 0);

    const ps_double_record *start = find(PS_REC_RANGE_START, 0);
    assert_string_equal(start->text, "forward");
    assert_int_equal(start->slot.id, id);
    assert_int_equal(start->slot.domain, domain->id);
    ps_double_record start_copy = *start;
    const ps_double_record *end = find(PS_REC_RANGE_END, 0);
    assert_int_equal(end->slot.id, id);
    assert_true(end->slot.ticks >= start_copy.slot.ticks);
    const ps_double_record *mark = find(PS_REC_MARK, 0);
    assert_string_equal(mark->text, "here");
    assert_int_equal(mark->slot.aux, 9);
    assert_true((mark->slot.id & PS_RANGE_ON_DEVICE) != 0);
    assert_string_equal(find(PS_REC_DOMAIN, 0)->text, "comm");
    assert_int_equal(ps_double_count(PS_REC_THREAD), 1);
    assert_int_equal(ps_threads_count(), 1);
}

static void test_texts_are_defined_once(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1024);
    char buffer[32];
    for (int i = 0; i < 10; i++) { /* the same buffer, two texts */
        (void)snprintf(buffer, sizeof buffer, "text %d", i % 2);
        ps_event_mark(none(), text_of(buffer), NULL, NULL);
    }
    char longer[200];
    memset(longer, 'x', sizeof longer);
    ps_text t = {.bytes = longer, .length = 120, .check = true};
    ps_event_mark(none(), t, NULL, NULL);
    ps_event_mark(none(), t, NULL, NULL);
    (void)ps_double_stop();
    assert_int_equal(ps_double_count(PS_REC_TEXT), 4);
    assert_int_equal(ps_double_count(PS_REC_MARK), 12);
    assert_string_equal(find(PS_REC_MARK, 3)->text, "text 1");
}

static void test_messages(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 4096);
    char longer[PS_RECORD_MAX_TEXT + 2];
    memset(longer, 'y', sizeof longer);
    ps_event_mark(none(), text_of(""), NULL, NULL);
    ps_event_mark(none(), text_of("=1"), NULL, NULL);
    ps_event_mark(none(), text_of("@1"), NULL, NULL);
    ps_event_mark(none(), (ps_text){.check = true}, NULL, NULL);
    ps_event_mark(none(),
                  (ps_text){.bytes = longer, .length = PS_RECORD_MAX_TEXT + 1, .check = true}, NULL,
                  NULL);
    assert_int_equal(ps_event_start(none(), text_of("+"), NULL, NULL), 0);
    ps_event_mark(none(), (ps_text){.bytes = longer, .length = PS_RECORD_MAX_TEXT, .check = true},
                  NULL, NULL);
    ps_event_mark(none(), (ps_text){.bytes = longer, .length = 156, .check = true}, NULL, NULL);
    atomic_store(&ps_mstx_strict, true);
    ps_event_mark(none(), (ps_text){.bytes = longer, .length = 157, .check = true}, NULL, NULL);
    /* Not of mstx: anything goes but nothing, too long is cut. */
    ps_event_mark(none(), (ps_text){.bytes = "=", .length = 1}, NULL, NULL);
    ps_event_mark(none(), (ps_text){.bytes = NULL}, NULL, NULL);
    assert_int_equal(ps_event_op_begin((ps_text){.bytes = ""}, (ps_text){0}, NULL, 0), 0);
    ps_event_mark(none(), (ps_text){.bytes = longer, .length = sizeof longer}, NULL, NULL);
    (void)ps_double_stop();
    assert_int_equal(ps_double_count(PS_REC_MARK), 4);
    assert_int_equal(ps_double_drops(PS_DROP_BAD_MESSAGE), 9);
    assert_int_equal(ps_double_drops(PS_DROP_LONG_MESSAGE), 2);
}

static void test_shared_text(void **state) {
    (void)state;
    uint32_t id = ps_shared_text("registered", 10);
    for (int i = 0; i < 2; i++) { /* each recording defines it anew */
        (void)ps_double_start(NULL, 1024);
        ps_event_mark(none(), (ps_text){.shared = id}, NULL, NULL);
        ps_event_mark(none(), (ps_text){.shared = id}, NULL, NULL);
        (void)ps_double_stop();
        assert_int_equal(ps_double_count(PS_REC_SHARED_TEXT), 1);
        assert_string_equal(find(PS_REC_SHARED_TEXT, 0)->text, "registered");
        assert_string_equal(find(PS_REC_MARK, 1)->text, "registered");
        ps_double_reset();
    }
}

static void test_op(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1024);
    uint64_t op = ps_event_op_begin(text_of("aten::mm"), text_of("64,128;128,32"), (void *)1, 0);
    ps_event_op_end(op);
    ps_event_op_end(ps_event_op_begin(text_of("aten::mm"), (ps_text){0}, (void *)1, op));
    ps_event_op_end(ps_event_op_begin_host(text_of("MmBackward0"), (ps_text){0}, op));
    (void)ps_double_stop();
    assert_int_equal(find(PS_REC_OP_BEGIN, 1)->more->id, op);
    assert_int_equal(find(PS_REC_OP_BEGIN, 1)->more->aux, 0);
    assert_int_equal(find(PS_REC_OP_BEGIN, 2)->more->id, op);
    assert_int_equal(find(PS_REC_OP_BEGIN, 2)->more->aux, 1); /* no kernel */
    assert_int_equal(find(PS_REC_OP_BEGIN, 2)->slot.aux, 0);
    ps_double_record begin = *find(PS_REC_OP_BEGIN, 0);
    assert_int_equal(begin.more->id, 0);
    assert_string_equal(begin.text, "aten::mm");
    assert_int_equal(begin.slot.n_more, 1);
    assert_int_equal(find(PS_REC_TEXT, 0)->slot.id, begin.more->text);
    assert_string_equal(find(PS_REC_TEXT, 0)->text, "64,128;128,32");
    assert_int_equal(find(PS_REC_RANGE_END, 0)->slot.id, op);
}

static void test_nvtx_extra(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1024);
    ps_nvtx_extra extra = {.category = 3,
                           .colour = 0xff00ff00,
                           .payload_type = 2,
                           .form = 1,
                           .payload = "{\"bytes\":8}",
                           .payload_length = 11};
    ps_event_mark(none(), (ps_text){.bytes = "m", .length = 1}, NULL, &extra);
    (void)ps_double_stop();
    const ps_double_record *r = find(PS_REC_NVTX, 0);
    assert_int_equal((uint32_t)r->slot.id, 3);
    assert_int_equal(r->slot.id >> 32, 0xff00ff00);
    assert_int_equal((uint32_t)r->slot.aux, 2);
    assert_string_equal(r->text, "{\"bytes\":8}");
    uint64_t position = r->position;
    assert_int_equal(find(PS_REC_MARK, 0)->position, position + 1); /* directly before it */
}

static void test_push_and_pop(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 8192);
    const ps_record_domain *a = ps_domain_named("A", 1);
    const ps_record_domain *b = ps_domain_named("B", 1);
    assert_int_equal(ps_event_pop(a), -1);
    assert_int_equal(ps_event_push(a, text_of("a0"), NULL, NULL), 0);
    assert_int_equal(ps_event_push(b, text_of("b0"), NULL, NULL), 0);
    assert_int_equal(ps_event_push(a, text_of("a1"), NULL, NULL), 1);
    assert_int_equal(ps_event_push(a, text_of(""), NULL, NULL), -1); /* refused, but it has a pop */
    assert_int_equal(ps_event_pop(a), -1);
    assert_int_equal(ps_event_pop(b), 0);
    assert_int_equal(ps_event_pop(a), 1);
    assert_int_equal(ps_event_pop(a), 0);
    assert_int_equal(ps_event_pop(a), -1);
    for (int i = 0; i < PS_STACK_DEPTH; i++) {
        assert_int_equal(ps_event_push(a, text_of("deep"), NULL, NULL), i);
    }
    assert_int_equal(ps_event_push(a, text_of("deep"), NULL, NULL), -1);
    assert_int_equal(ps_event_push(b, text_of("deep"), NULL, NULL), -1);
    assert_int_equal(ps_event_pop(a), -1);
    assert_int_equal(ps_event_pop(b), -1);
    for (int i = PS_STACK_DEPTH; i-- > 0;) {
        assert_int_equal(ps_event_pop(a), i);
    }
    (void)ps_double_stop();
    assert_int_equal(ps_double_count(PS_REC_PUSH), 3 + PS_STACK_DEPTH);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), 3 + PS_STACK_DEPTH);
    assert_int_equal(ps_double_drops(PS_DROP_DEEP_STACK), 2);
    assert_int_equal(ps_double_drops(PS_DROP_UNBALANCED_POP), 3);
    /* b0 ended before a1: ends are of the range they belong to. */
    uint64_t b0 = find(PS_REC_PUSH, 1)->slot.id;
    assert_int_equal(find(PS_REC_RANGE_END, 0)->slot.id, b0);
}

static void test_stack_is_of_one_recording(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 1024);
    (void)ps_event_push(none(), text_of("open"), NULL, NULL);
    uint64_t old = ps_event_start(none(), text_of("open"), NULL, NULL);
    (void)ps_double_stop();
    ps_double_reset();
    (void)ps_double_start(NULL, 1024);
    assert_int_equal(ps_event_pop(none()), -1);
    ps_event_end(none(), old);
    uint64_t next = ps_event_start(none(), text_of("next"), NULL, NULL);
    assert_true(next > old);
    ps_event_end(none(), next + 100000);
    (void)ps_double_stop();
    assert_int_equal(ps_double_drops(PS_DROP_UNBALANCED_POP), 1);
    assert_int_equal(ps_double_drops(PS_DROP_EARLIER_RANGE), 1);
    assert_int_equal(ps_double_drops(PS_DROP_UNKNOWN_RANGE), 1);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), 0);
}

static void test_filter(void **state) {
    (void)state;
    ps_domain_filter("wanted, other", NULL);
    (void)ps_double_start(NULL, 1024);
    const ps_record_domain *wanted = ps_domain_named("wanted", 6);
    const ps_record_domain *rest = ps_domain_named("rest", 4);
    ps_event_mark(wanted, text_of("1"), NULL, NULL);
    ps_event_mark(rest, text_of("2"), NULL, NULL);
    ps_event_mark(none(), text_of("3"), NULL, NULL);
    assert_int_equal(ps_event_push(rest, text_of("4"), NULL, NULL), -1);
    assert_int_equal(ps_event_pop(rest), -1);
    (void)ps_double_stop();
    assert_int_equal(ps_double_count(PS_REC_MARK), 1);
    assert_int_equal(ps_double_drops(PS_DROP_UNBALANCED_POP), 0);
}

/* A full ring refuses what is new and takes the ends of what it took. */
static void test_full_ring(void **state) {
    (void)state;
    (void)ps_double_start(NULL, 64);
    uint64_t ids[64];
    int n = 0;
    for (uint64_t id; (id = ps_event_start(none(), text_of("r"), NULL, NULL)) != 0; n++) {
        ids[n] = id;
    }
    assert_true(n > 20 && n < 32);
    ps_event_mark(none(), text_of("r"), NULL, NULL);
    assert_true(ps_double_wakes() > 0);
    for (int i = 0; i < n; i++) {
        ps_event_end(none(), ids[i]);
    }
    ps_double_take(); /* room again */
    uint64_t id = ps_event_start(none(), text_of("again"), NULL, NULL);
    assert_int_not_equal(id, 0);
    ps_event_end(none(), id);
    (void)ps_double_stop();
    assert_int_equal(ps_double_count(PS_REC_RANGE_START), (size_t)n + 1);
    assert_int_equal(ps_double_count(PS_REC_RANGE_END), (size_t)n + 1);
    assert_int_equal(ps_double_drops(PS_DROP_END_LOST), 0);
    assert_true(ps_double_drops(PS_DROP_RING_FULL) >= 1);
}

static volatile sig_atomic_t handled;
static void on_signal(int sig) {
    (void)sig;
    handled++;
    ps_event_mark(none(), (ps_text){.bytes = "in handler", .length = 10, .check = true}, NULL,
                  NULL);
}

/* An event of a handler is recorded, unless it interrupted another event. */
static void test_signal(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    (void)sigaction(SIGUSR1, &action, &before);
    (void)ps_double_start(NULL, 1024);
    (void)raise(SIGUSR1);
    atomic_store(&ps_this_thread->busy, 1);
    (void)raise(SIGUSR1);
    atomic_store(&ps_this_thread->busy, 0);
    ps_lane *lane;
    assert_true(ps_lane_shared_lock(&lane)); /* in the middle of a definition */
    ps_record_domain *fresh = ps_domain_named("fresh", 5);
    ps_event_mark(fresh, text_of("kept"), NULL, NULL);
    ps_lane_shared_unlock();
    ps_event_mark(fresh, text_of("kept"), NULL, NULL);
    (void)ps_double_stop();
    (void)sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(handled, 2);
    assert_int_equal(ps_double_count(PS_REC_MARK), 3);
    assert_int_equal(ps_double_drops(PS_DROP_NESTED), 1);
    assert_int_equal(ps_double_count(PS_REC_DOMAIN), 1); /* at its second use */
}

static void test_shared_records(void **state) {
    (void)state;
    ps_shared_pair(PS_REC_INFO, "session", "{}", 2); /* waits for the ring */
    ps_shared_drop(PS_DROP_CUPTI_BUSY, 1);           /* this too */
    (void)ps_double_start(NULL, 1024);
    ps_shared_anchor(1, 2, 3, 4);
    ps_event_mark(none(), text_of("first"), NULL, NULL);
    ps_shared_define(PS_REC_STREAM, 7, "compute", 7);
    ps_device_more more = {.device = 1, .stream = 7};
    ps_shared_device(PS_REC_KERNEL, 5, 100, 200, "gemm", &more);
    ps_shared_device(PS_REC_DEVICE, 6, 100, 200, NULL, &more);
    atomic_store(ps_recording, 0); /* the device comes late */
    ps_shared_device(PS_REC_KERNEL, 5, 100, 200, "gemm", &more);
    ps_shared_drop(PS_DROP_UNRESOLVED, 3);
    (void)ps_double_stop();
    const ps_double_record *info = find(PS_REC_INFO, 0);
    assert_int_equal(info->slot.id, 7);
    assert_int_equal(info->slot.aux, 9);
    assert_string_equal(info->text, "session{}");
    const ps_double_record *anchor = find(PS_REC_ANCHOR, 0);
    assert_int_equal(anchor->slot.ticks, 1);
    assert_int_equal(anchor->slot.id, 2);
    assert_int_equal(anchor->slot.aux, 3);
    assert_int_equal(anchor->slot.text, 4);
    assert_string_equal(find(PS_REC_STREAM, 0)->text, "compute");
    const ps_double_record *kernel = find(PS_REC_KERNEL, 1);
    assert_string_equal(kernel->text, "gemm");
    assert_int_equal(kernel->slot.ticks, 100);
    assert_memory_equal(kernel->more, &more, sizeof more);
    assert_int_equal(ps_double_count(PS_REC_TEXT), 2); /* "first" and "gemm" */
    assert_int_equal(ps_double_drops(PS_DROP_UNRESOLVED), 3);
    assert_int_equal(ps_double_drops(PS_DROP_CUPTI_BUSY), 1);
}

/* --- the device ------------------------------------------------------------------------------------------------------ */

static struct {
    unsigned n_marks, n_starts, n_ends, n_steps;
    uint64_t id;
    void *stream;
} calls;

static void device_mark(uint64_t id, void *stream) {
    calls.n_marks++;
    calls.id = id;
    calls.stream = stream;
    ps_event_drop(PS_DROP_CAPTURING); /* inside of the event */
    errno = EINVAL;
}

static void device_start(uint64_t id, void *stream) {
    calls.n_starts++;
    calls.id = id;
    calls.stream = stream;
    (void)raise(SIGUSR1); /* its handler records: not now */
}

static void device_end(uint64_t id) {
    calls.n_ends++;
    calls.id = id;
}

static void device_step(void) {
    calls.n_steps++;
}

static void test_device(void **state) {
    (void)state;
    static const ps_rec_device device = {.name = "test",
                                         .mark = device_mark,
                                         .start = device_start,
                                         .end = device_end,
                                         .step = device_step};
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    (void)sigaction(SIGUSR1, &action, &before);
    memset(&calls, 0, sizeof calls);
    (void)ps_double_start(NULL, 1024);
    atomic_store(&ps_device, &device);
    ps_event_mark(none(), text_of("no stream"), NULL, NULL);
    ps_event_end(NULL, ps_event_start(none(), text_of("no stream"), NULL, NULL));
    assert_int_equal(calls.n_marks + calls.n_starts + calls.n_ends, 0);

    errno = 0;
    ps_event_mark(none(), text_of("m"), (void *)5, NULL);
    assert_int_equal(errno, 0);
    assert_int_equal(calls.n_marks, 1);
    assert_ptr_equal(calls.stream, (void *)5);
    uint64_t id = ps_event_start(none(), text_of("r"), (void *)6, NULL);
    assert_int_equal(calls.id, id);
    assert_ptr_equal(calls.stream, (void *)6);
    ps_event_end(NULL, id);
    assert_int_equal(ps_event_push(none(), text_of("p"), (void *)7, NULL), 0);
    assert_int_equal(ps_event_pop(none()), 0);
    ps_event_op_end(ps_event_op_begin(text_of("op"), (ps_text){0}, (void *)8, 0));
    assert_int_equal(calls.n_starts, 3);
    assert_int_equal(calls.n_ends, 3);
    (void)ps_event_start(none(), text_of(""), (void *)9,
                         NULL); /* refused: the device hears nothing */
    assert_int_equal(calls.n_starts, 3);
    assert_int_equal(ps_event_step_begin(2, NULL), 0); /* of the host alone */
    ps_event_step_end(2, 0, false);
    assert_int_equal(calls.n_starts, 3);
    assert_int_equal(calls.n_ends, 3);
    assert_int_equal(calls.n_steps, 1);
    uint64_t step = ps_event_step_begin(3, (void *)1);
    assert_int_equal(calls.n_starts, 4);
    assert_int_equal(calls.id, step);
    assert_int_equal(calls.n_steps, 1);
    ps_event_step_end(3, step, false);
    assert_int_equal(calls.n_ends, 4);
    assert_int_equal(calls.n_steps, 2);
    atomic_store(&ps_device, &ps_device_host);
    (void)sigaction(SIGUSR1, &before, NULL);
    (void)ps_double_stop();
    assert_int_equal(ps_double_drops(PS_DROP_CAPTURING), 1);
    assert_int_equal(ps_double_drops(PS_DROP_NESTED), 4);
    assert_int_equal(find(PS_REC_STEP_BEGIN, 0)->slot.n_more, 0);
    assert_int_equal(find(PS_REC_STEP_BEGIN, 1)->slot.id, 3);
    assert_int_equal(find(PS_REC_STEP_BEGIN, 1)->slot.aux, 1);
    assert_int_equal(find(PS_REC_STEP_BEGIN, 1)->slot.n_more, 1);
    assert_int_equal(find(PS_REC_STEP_END, 1)->slot.id, 3);
}

static uint64_t entered;
static void device_enter(uint64_t id) {
    entered = id;
}

/* The option correlate: the device hears of ranges of these domains, with a stream or not. */
static void test_asking_domains(void **state) {
    (void)state;
    static const ps_rec_device device = {
        .name = "test", .start = device_start, .enter = device_enter, .end = device_end};
    struct sigaction before;
    struct sigaction nothing = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGUSR1, &nothing, &before);
    const ps_record_domain *early = ps_domain_named("early", 5);
    ps_domain_ask("early, late");
    const ps_record_domain *late = ps_domain_named("late", 4);
    memset(&calls, 0, sizeof calls);
    (void)ps_double_start(NULL, 1024);
    atomic_store(&ps_device, &device);
    uint64_t id = ps_event_start(early, text_of("r"), NULL, NULL);
    assert_int_equal(entered, id);
    assert_int_equal(calls.n_starts, 0);
    assert_int_not_equal(id & PS_RANGE_ON_DEVICE, 0);
    ps_event_end(early, id);
    assert_int_equal(calls.id, id);
    assert_int_equal(ps_event_push(late, text_of("p"), (void *)7, NULL), 0);
    assert_int_equal(entered, calls.id);
    assert_int_equal(calls.n_starts, 1);
    assert_int_equal(ps_event_pop(late), 0);
    assert_int_equal(calls.n_ends, 2);
    entered = 0;
    ps_event_mark(early, text_of("m"), NULL, NULL); /* launches nothing */
    ps_event_end(NULL, ps_event_start(none(), text_of("r"), (void *)7, NULL));
    ps_event_op_end(ps_event_op_begin(text_of("op"), (ps_text){0}, NULL, 0));
    ps_event_end(early, ps_event_start(early, text_of(""), NULL, NULL)); /* refused */
    assert_int_equal(entered, 0);
    assert_int_equal(calls.n_ends, 3);
    ps_domain_ask("*");
    id = ps_event_op_begin(text_of("op"), (ps_text){0}, NULL, 0);
    assert_int_equal(entered, id);
    ps_event_op_end(id);
    ps_domain_ask(NULL);
    id = ps_event_start(early, text_of("r"), NULL, NULL);
    assert_int_equal(id & PS_RANGE_ON_DEVICE, 0);
    ps_event_end(early, id);
    assert_int_equal(calls.n_ends, 4);
    atomic_store(&ps_device, &ps_device_host);
    (void)sigaction(SIGUSR1, &before, NULL);
    (void)ps_double_stop();
}

static void test_range_ids(void **state) {
    (void)state;
    uint64_t limit = UINT64_C(1) << 30;
    uint64_t numbers[] = {1, 2, limit - 1, limit, limit + 1, 2 * limit, 5 * limit + 3};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        for (int device = 0; device < 2; device++) {
            uint64_t id = ps_range_id(numbers[i], device);
            assert_int_equal((id & PS_RANGE_ON_DEVICE) != 0, device);
            assert_int_equal(ps_range_number(id), numbers[i]);
            assert_true(numbers[i] >= limit || id < UINT64_C(1) << 31);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),
        cmocka_unit_test_teardown(test_range_and_mark, teardown),
        cmocka_unit_test_teardown(test_texts_are_defined_once, teardown),
        cmocka_unit_test_teardown(test_messages, teardown),
        cmocka_unit_test_teardown(test_shared_text, teardown),
        cmocka_unit_test_teardown(test_op, teardown),
        cmocka_unit_test_teardown(test_nvtx_extra, teardown),
        cmocka_unit_test_teardown(test_push_and_pop, teardown),
        cmocka_unit_test_teardown(test_stack_is_of_one_recording, teardown),
        cmocka_unit_test_teardown(test_filter, teardown),
        cmocka_unit_test_teardown(test_full_ring, teardown),
        cmocka_unit_test_teardown(test_signal, teardown),
        cmocka_unit_test_teardown(test_shared_records, teardown),
        cmocka_unit_test_teardown(test_device, teardown),
        cmocka_unit_test_teardown(test_asking_domains, teardown),
        cmocka_unit_test(test_range_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
