/* Communication operators made from marks when a capture is read: names, times, peers, and what is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/skew.h"
#include "analyze/rank/overlap.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "model/comm_marks.h"
#include "model/recording.h"
#include "read/comm_from_marks.h"

#define GROUPS "{\"a\": {\"group_name\": \"pp\", \"group_rank\": %d, \"global_ranks\": [0, 1]}}"

/* Last digits of the hashes: a 97 * 2^32 + 97 = 416611827809, b 98 * 2^32 + 98 = 420906795106. */
#define JSON(op, group, more)                                                                      \
    "{\"opName\": \"" op "\", \"groupName\": \"" group                                             \
    "\", \"dataType\": \"fp16\", \"count\": \"8\", \"streamId\": \"5\"" more "}"
#define FROM_0_TO_1 ", \"srcRank\": \"0\", \"destRank\": \"1\""

typedef struct maker {
    ps_builder *b;
    uint32_t thread, stream;
} maker;

static maker begin(void) {
    maker m = {.b = ps_builder_new()};
    assert_non_null(m.b);
    m.thread = ps_builder_track(
        m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 7, .tid = 1, .device = -1});
    m.stream =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 7, .tid = 5, .device = 3});
    return m;
}

static uint32_t add(const maker *m, ps_slice_kind kind, uint32_t track, const char *name,
                    int64_t start, int64_t end) {
    return ps_builder_slice(m->b, kind, track, ps_builder_str(m->b, name, strlen(name)), start, end,
                            11);
}

/* A range of the host, and its device side. */
static void mark(const maker *m, const char *message, int64_t host, int64_t start, int64_t end) {
    uint32_t from = add(m, PS_SLICE_MARK_HOST, m->thread, message, host, host + 1);
    ps_builder_flow(m->b, from, add(m, PS_SLICE_MARK_DEVICE, m->stream, message, start, end));
}

static ps_trace *make(maker *m, uint32_t needs) {
    assert_int_equal(ps_comm_from_marks(m->b, needs, NULL), PS_OK);
    ps_trace *t = ps_builder_seal(m->b, NULL);
    assert_non_null(t);
    return t;
}

/* "name group start+duration type count source>destination" of each operator; times as given to the builder. */
static void expect(const ps_trace *t, const char *wanted) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n_tracks);
    ps_buf text;
    ps_buf_init(&text, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_COMM_OP) {
            continue;
        }
        int64_t source = -1;
        int64_t destination = -1;
        int64_t count = -1;
        (void)ps_trace_arg_int(t, i, "srcRank", &source);
        (void)ps_trace_arg_int(t, i, "dstRank", &destination);
        (void)ps_trace_arg_int(t, i, "count", &count);
        assert_int_equal(tracks[s->track[i]].kind, PS_TRACK_COMM_GROUP);
        assert_int_equal(tracks[s->track[i]].device, 3);
        assert_int_equal(tracks[s->track[i]].pid, 7);
        ps_buf_addf(&text, "%s %s %lld+%lld %s %lld %lld>%lld\n", ps_trace_text(t, s->name[i]),
                    ps_trace_text(t, tracks[s->track[i]].name),
                    (long long)(ps_trace_origin_ns(t) + s->start_ns[i]), (long long)s->dur_ns[i],
                    ps_trace_arg_text(t, i, "dataType"), (long long)count, (long long)source,
                    (long long)destination);
    }
    assert_string_equal(ps_buf_str(&text), wanted);
    ps_buf_fini(&text);
}

/* Each group numbers each type for itself, by the times of the device. */
static void names_times_and_peers(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_meta(m.b, "parallel_group_info",
                    "{\"a\": {\"group_name\": \"pp\", \"group_rank\": 1}}");
    mark(&m, JSON("HcclBroadcast", "a", ""), 10, 500, 510);
    mark(&m, JSON("HcclBroadcast", "a", ""), 20, 100, 110);
    mark(&m, JSON("HcclBroadcast", "b", ""), 30, 200, 240);
    mark(&m, JSON("HcclRecv", "a", FROM_0_TO_1), 40, 300, 310);
    mark(&m, JSON("HcclSend", "a", ", \"dstRank\": 0"), 50, 400, 410);
    mark(&m, "comm:HcclAllReduce,b,float9,x", 60, 600, 600);
    mark(&m, "{'name': 'forward_step'}", 70, 700, 710);
    ps_trace *t = make(&m, PS_NEED_SLICES);
    expect(t, "HcclBroadcast__809_0_1 a 100+10 FP16 8 -1>-1\n"
              "HcclBroadcast__106_0_1 b 200+40 FP16 8 -1>-1\n"
              "hcom_receive__809_0_1 a 300+10 FP16 8 1>0\n"
              "hcom_send__809_0_1 a 400+10 FP16 8 1>0\n"
              "HcclBroadcast__809_1_1 a 500+10 FP16 8 -1>-1\n"
              "hcom_AllReduce__106_0_1 b 600+0 float9 -1 -1>-1\n");
    assert_string_equal(ps_trace_comm_from_marks(t), "stream");
    size_t n = 0;
    size_t n_to_ops = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    for (size_t i = 0; i < n; i++) {
        n_to_ops += s->kind[flows[i].from] == PS_SLICE_MARK_HOST &&
                    s->kind[flows[i].to] == PS_SLICE_COMM_OP;
    }
    assert_int_equal(n_to_ops, 6); /* each from its mark */
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t i = 0; i < n; i++) {
        bool is_a = strcmp(ps_trace_text(t, tracks[i].name), "a") == 0;
        assert_string_equal(ps_trace_text(t, tracks[i].label), is_a ? "pp" : "");
    }
    ps_trace_free(t);
}

/* Whoever has operators, kernels or tasks of communication keeps them as they are. */
static void what_the_profiler_saw_counts(void **state) {
    (void)state;
    static const ps_slice_kind OWN[] = {PS_SLICE_COMM_OP, PS_SLICE_COMM_KERNEL, PS_SLICE_COMM_TASK};
    for (size_t k = 0; k < sizeof OWN / sizeof *OWN; k++) {
        maker m = begin();
        mark(&m, JSON("HcclBroadcast", "a", ""), 10, 500, 510);
        (void)add(&m, OWN[k], m.stream, "own", 500, 505);
        ps_trace *t = make(&m, PS_NEED_SLICES);
        assert_int_equal(ps_trace_slices(t)->n, 3);
        assert_null(ps_trace_comm_from_marks(t));
        ps_trace_free(t);
    }
    maker m = begin(); /* nothing but marks was asked for */
    mark(&m, JSON("HcclBroadcast", "a", ""), 10, 500, 510);
    ps_trace *t = make(&m, PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_MARKS);
    assert_int_equal(ps_trace_slices(t)->n, 2);
    ps_trace_free(t);
}

/* Two marks without a device side wait for stream 5: the first task from the call on, each for one mark. The third finds
 * none, the fourth names no stream. */
static void marks_without_a_device_side_take_tasks_of_their_stream(void **state) {
    (void)state;
    maker m = begin();
    uint32_t other =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 7, .tid = 6, .device = 3});
    (void)add(&m, PS_SLICE_MARK_HOST, m.thread, JSON("HcclBroadcast", "a", ""), 20, 21);
    (void)add(&m, PS_SLICE_MARK_HOST, m.thread, JSON("HcclBroadcast", "a", ""), 10, 11);
    (void)add(&m, PS_SLICE_MARK_HOST, m.thread, JSON("HcclBroadcast", "a", ""), 30, 31);
    (void)add(&m, PS_SLICE_MARK_HOST, m.thread, "comm:HcclAllReduce,a,fp16,8", 30, 31);
    (void)add(&m, PS_SLICE_TASK, m.stream, "early", 5, 9);
    (void)add(&m, PS_SLICE_TASK, other, "elsewhere", 12, 13);
    (void)add(&m, PS_SLICE_TASK, m.stream, "first", 15, 19);
    (void)add(&m, PS_SLICE_TASK, m.stream, "second", 22, 30);
    ps_trace *t = make(&m, PS_NEED_SLICES);
    expect(t, "HcclBroadcast__809_0_1 a 15+4 FP16 8 -1>-1\n"
              "HcclBroadcast__809_1_1 a 22+8 FP16 8 -1>-1\n");
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_COMM_MARK], 1);
    ps_trace_free(t);
}

/* Moments count as ranges do, whether there is a range beside them or not. */
static void moments_alone(void **state) {
    (void)state;
    for (int with_range = 0; with_range < 2; with_range++) {
        maker m = begin();
        uint32_t from = add(&m, PS_SLICE_INSTANT, m.thread, JSON("HcclBroadcast", "a", ""), 10, 10);
        ps_builder_flow(m.b, from,
                        add(&m, PS_SLICE_MARK_DEVICE, m.stream, "its device side", 20, 25));
        if (with_range) {
            (void)add(&m, PS_SLICE_MARK_HOST, m.thread, "another", 12, 13);
        }
        ps_trace *t = make(&m, PS_NEED_SLICES);
        expect(t, "HcclBroadcast__809_0_1 a 20+5 FP16 8 -1>-1\n");
        ps_trace_free(t);
    }
}

/* Some writers store messages with their quotes escaped: the stream stands there all the same. */
static void escaped_messages_name_their_stream(void **state) {
    (void)state;
    maker m = begin();
    (void)add(
        &m, PS_SLICE_MARK_HOST, m.thread,
        "{\\\"opName\\\": \\\"HcclBroadcast\\\", \\\"groupName\\\": \\\"a\\\", \\\"dataType\\\": "
        "\\\"fp16\\\", \\\"count\\\": \\\"8\\\", \\\"streamId\\\": \\\"5\\\"}",
        10, 11);
    (void)add(&m, PS_SLICE_TASK, m.stream, "task", 15, 19);
    ps_trace *t = make(&m, PS_NEED_SLICES);
    expect(t, "HcclBroadcast__809_0_1 a 15+4 FP16 8 -1>-1\n");
    ps_trace_free(t);
}

/* A task that another mark has already is not to be had again: neither the row of that mark itself, nor the one whose times its
 * device side was given by the reader. */
static void tasks_of_other_marks_are_taken(void **state) {
    (void)state;
    static const char ALONE[] = JSON("HcclBroadcast", "a", "");
    for (int free_task = 0; free_task < 2; free_task++) {
        maker m = begin();
        mark(&m, JSON("HcclAllReduce", "a", ""), 10, 20, 30);
        mark(&m, "{'name': 'forward_step'}", 11, 12, 18);
        (void)add(&m, PS_SLICE_TASK, m.stream, "of the first mark", 20, 30);
        (void)add(&m, PS_SLICE_MARK_HOST, m.thread, ALONE, 11, 12);
        if (free_task) {
            (void)add(&m, PS_SLICE_TASK, m.stream, "free", 40, 45);
        }
        ps_trace *t = make(&m, PS_NEED_SLICES);
        expect(t, free_task ? "HcclAllReduce__809_0_1 a 20+10 FP16 8 -1>-1\n"
                              "HcclBroadcast__809_0_1 a 40+5 FP16 8 -1>-1\n"
                            : "HcclAllReduce__809_0_1 a 20+10 FP16 8 -1>-1\n");
        assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_COMM_MARK], !free_task);
        ps_trace_free(t);
    }
}

/* What cannot be read is counted, once: by who asked for the marks, else here. */
static void bad_marks_are_counted_once(void **state) {
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        maker m = begin();
        mark(&m, "{\"opName\": \"HcclBroadcast\", \"groupName\": \"a\"}", 10, 500, 510);
        ps_trace *t = make(&m, PS_NEED_SLICES | (asked ? PS_NEED_COMM_MARKS : 0));
        expect(t, "");
        assert_null(ps_trace_comm_from_marks(t));
        assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_COMM_MARK], !asked);
        ps_trace_free(t);
    }
}

/* A recorder that saw only the calls of NCCL says so: nobody knows how long these transfers lasted. */
static void times_of_enqueueing_are_no_durations(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_meta(m.b, "collector.comm_time_source", "host_enqueue");
    ps_builder_meta(m.b, "collector.device_time_source", "host");
    mark(&m, JSON("ncclAllReduce", "a", ""), 10, 100, 101);
    mark(&m, JSON("HcclBroadcast", "b", ""), 20, 200, 210); /* the program's own range */
    ps_trace *t = make(&m, PS_NEED_SLICES);
    expect(t, "HcclBroadcast__106_0_1 b 200+10 FP16 8 -1>-1\n");
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_COMM_ENQUEUE], 1);
    assert_string_equal(ps_trace_comm_from_marks(t), "host");
    ps_trace_free(t);
}

/* Where the device is the host a mark without a stream has its own times, whatever ran on the stream that it names. */
static void marks_of_the_host_have_their_own_times(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_meta(m.b, "collector.device_time_source", "host");
    (void)add(&m, PS_SLICE_MARK_HOST, m.thread, JSON("HcclBroadcast", "a", ""), 20, 29);
    mark(&m, JSON("HcclBroadcast", "a", ""), 10, 11, 14);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 30, 90);
    ps_trace *t = make(&m, PS_NEED_SLICES);
    expect(t, "HcclBroadcast__809_0_1 a 11+3 FP16 8 -1>-1\n"
              "HcclBroadcast__809_1_1 a 20+9 FP16 8 -1>-1\n");
    ps_trace_free(t);
}

/*   0    10   20   30   40   50
 *   |    CCCCCCCCC |    CCCC      computing 10-30, 40-50
 *   |    |    MMMMMMMM  |         communication 20-38: 8 of it alone; free 2 */
static void overlap_counts_beside_computing_only(void **state) {
    (void)state;
    for (int computes = 0; computes < 2; computes++) {
        maker m = begin();
        mark(&m, JSON("HcclBroadcast", "a", ""), 0, 20, 38);
        (void)add(&m, computes ? PS_SLICE_KERNEL : PS_SLICE_TASK, m.stream, "k", 10, 30);
        (void)add(&m, computes ? PS_SLICE_KERNEL : PS_SLICE_TASK, m.stream, "k", 40, 50);
        ps_trace *t = make(&m, PS_NEED_SLICES);
        ps_links links;
        ps_overlaps o;
        assert_int_equal(ps_links_init(&links, t, NULL), PS_OK);
        assert_int_equal(ps_overlaps_measure(&links, -1, false, &o, NULL), PS_OK);
        assert_int_equal(o.n, computes); /* else all but communication would be Free */
        if (computes) {
            assert_int_equal(o.at[0].device, 3);
            assert_int_equal(o.at[0].computing_ns, 30);
            assert_int_equal(o.at[0].communication_ns, 18);
            assert_int_equal(o.at[0].not_overlapped_ns, 8);
            assert_int_equal(o.at[0].free_ns, 2);
        }
        ps_overlaps_fini(&o);
        ps_links_fini(&links);
        ps_trace_free(t);
    }
}

static ps_trace *rank_of_two(int rank, const char *message, int64_t start, int64_t end) {
    maker m = begin();
    char groups[256];
    (void)snprintf(groups, sizeof groups, GROUPS, rank);
    ps_builder_meta(m.b, "parallel_group_info", groups);
    mark(&m, message, start, start, end);
    return make(&m, PS_NEED_SLICES);
}

/* Rank 1 receives from 100 to 180, rank 0 sends from 160 to 175: they belong together, and 60 of the 80 are waiting. */
static void a_receive_waits_for_its_send(void **state) {
    (void)state;
    ps_trace *t[2] = {rank_of_two(0, JSON("HcclSend", "a", FROM_0_TO_1), 160, 175),
                      rank_of_two(1, JSON("HcclRecv", "a", FROM_0_TO_1), 100, 180)};
    ps_comm_list lists[2];
    ps_diag diag = {0};
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ps_comm_list_collect(t[r], NULL, NULL, &lists[r], &diag, NULL), PS_OK);
        assert_int_equal(lists[r].n, 1);
        assert_int_equal(lists[r].ops[0].look->own, r);
        assert_int_equal(lists[r].ops[0].look->peer, 1 - r);
        assert_int_equal(lists[r].ops[0].look->size_bytes, 16);
    }
    const ps_comm_list *both[2] = {&lists[0], &lists[1]};
    const ps_rank_info ranks[2] = {{.rank = 0}, {.rank = 1}}; /* of one machine */
    ps_skew_input in = {.lists = both, .ranks = ranks, .n_ranks = 2, .step = -1};
    ps_skew skew;
    assert_int_equal(ps_skew_measure(&in, &skew, NULL), PS_OK);
    assert_int_equal(skew.n_receives, 1);
    assert_int_equal(skew.receives[0].sender, 0);
    assert_int_equal(skew.receives[0].receiver, 1);
    assert_int_equal(skew.receives[0].waited_ns, 60);
    ps_skew_fini(&skew);
    for (int r = 0; r < 2; r++) {
        ps_comm_list_fini(&lists[r]);
        ps_trace_free(t[r]);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        maker m = begin();
        ps_builder_meta(m.b, "parallel_group_info", "{\"a\": {\"group_name\": \"pp\"}}");
        mark(&m, JSON("HcclSend", "a", FROM_0_TO_1), 10, 100, 110);
        (void)add(&m, PS_SLICE_MARK_HOST, m.thread, JSON("HcclBroadcast", "a", ""), 20, 21);
        (void)add(&m, PS_SLICE_TASK, m.stream, "task", 25, 30);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_comm_from_marks(m.b, PS_NEED_SLICES, NULL);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        assert_true(!done || ps_builder_n_slices(m.b) == 6);
        ps_builder_free(m.b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_times_and_peers),
        cmocka_unit_test(what_the_profiler_saw_counts),
        cmocka_unit_test(marks_without_a_device_side_take_tasks_of_their_stream),
        cmocka_unit_test(moments_alone),
        cmocka_unit_test(escaped_messages_name_their_stream),
        cmocka_unit_test(tasks_of_other_marks_are_taken),
        cmocka_unit_test(bad_marks_are_counted_once),
        cmocka_unit_test(times_of_enqueueing_are_no_durations),
        cmocka_unit_test(marks_of_the_host_have_their_own_times),
        cmocka_unit_test(overlap_counts_beside_computing_only),
        cmocka_unit_test(a_receive_waits_for_its_send),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
