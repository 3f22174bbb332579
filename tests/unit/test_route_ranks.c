/* Session, ranks, wishes and lanes, as functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/views/capture_parts.h"
#include "base/literal.h"
#include "serve/rank/loaded.h"
#include "support/asks.h"
#include "support/profile.h"
#include "support/small_runs.h"
#include "support/trace_samples.h"

static const ps_literal *parsed(ps_arena *arena, const char *text) {
    ps_err err = PS_ERR_INIT;
    const ps_literal *v = ps_literal_parse(arena, text, strlen(text), &err);
    if (v == NULL) {
        fail_msg("%s: %s", err.msg, text);
    }
    return v;
}

static size_t n_children(const ps_literal *v) {
    size_t n = 0;
    for (const ps_literal *c = v != NULL ? v->child : NULL; c != NULL; c = c->next) {
        n++;
    }
    return n;
}

static void session(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, sample_of_everything());
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *v = parsed(&arena, ask(&a, "/api/session"));
    assert_non_null(ps_literal_str(ps_literal_get(v, "version")));
    assert_non_null(ps_literal_str(ps_literal_get(v, "title")));
    static const char *const THEMES[] = {"light", "dark"};
    for (size_t i = 0; i < 2; i++) {
        const ps_literal *theme = ps_literal_get(ps_literal_get(v, "theme"), THEMES[i]);
        assert_int_equal(strlen(ps_literal_str(ps_literal_get(theme, "page"))), 7);
        assert_int_equal(n_children(ps_literal_get(theme, "lanes")), 4);
        assert_int_equal(n_children(ps_literal_get(theme, "tints")), 12);
        assert_int_equal(n_children(ps_literal_get(theme, "kinds")), 9);
        assert_int_equal(n_children(ps_literal_get(theme, "phases")), 7);
    }
    assert_int_equal(n_children(ps_literal_get(v, "kinds")), 9);
    assert_int_equal(n_children(ps_literal_get(v, "causes")), 3);
    assert_int_equal(n_children(ps_literal_get(v, "sources")), 6);
    assert_int_equal(n_children(ps_literal_get(v, "clusters")), 1);
    assert_true(n_children(ps_literal_get(v, "schedules")) > 5);
    ps_arena_fini(&arena);
    asks_end(&a);
}

static void one_rank(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, sample_of_everything());
    ps_arena arena;
    ps_arena_init(&arena);
    const char *text = ask(&a, "/api/ranks");
    const ps_literal *v = parsed(&arena, text);
    const ps_literal *rank = ps_literal_get(v, "ranks")->child;
    assert_string_equal(ps_literal_str(ps_literal_get(rank, "key")), "r0");
    assert_string_equal(ps_literal_str(ps_literal_get(rank, "label")), "rank 0");
    assert_string_equal(ps_literal_str(ps_literal_get(rank, "state")), "ready");
    assert_string_equal(ps_literal_str(ps_literal_get(rank, "error")), "");
    assert_string_equal(ps_literal_str(ps_literal_get(rank, "origin_ns")),
                        ps_literal_str(ps_literal_get(v, "origin_ns")));
    int64_t start = -1;
    int64_t end = -1;
    assert_true(ps_literal_int(ps_literal_get(rank, "start"), &start));
    assert_true(ps_literal_int(ps_literal_get(rank, "end"), &end));
    assert_true(start == 0 && end > 0);
    assert_true(n_children(ps_literal_get(rank, "steps")) > 0);
    assert_int_equal(n_children(ps_literal_get(rank, "steps")->child), 3);
    assert_int_equal(n_children(ps_literal_get(rank, "devices")), 2);
    assert_int_equal(n_children(ps_literal_get(rank, "bytes")), 7);
    expect_in(text, "\"python\"");
    ps_arena_fini(&arena);
    asks_end(&a);
}

static ps_captured captured(const ps_loaded *l) {
    return (ps_captured){ps_loaded_layer(l, PS_LAYER_PROFILE)->trace,
                         ps_loaded_facts_of(l)->n_of_kind};
}

/* A job of one rank has no communication; one of 64 has. */
static void several_ranks_communicate(void **state) {
    (void)state;
    static const struct {
        const char *key, *value;
        bool several;
    } CASES[] = {{"world_size", "64", true},
                 {"world_size", "1", false},
                 {"world_size", "many", false},
                 {"distributed_args", "{\"world_size\": 8}", true},
                 {"distributedInfo", "{\"rank\": 0, \"world_size\": 8}", true},
                 {"collector.world_size", "8", true}, /* what the launcher told the recorder */
                 {"distributed_args", "{\"rank\": 8", false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_builder *b = ps_builder_new();
        ps_builder_meta(b, CASES[i].key, CASES[i].value);
        small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "mm", 0, 4);
        asks a;
        asks_of_trace(&a, small_seal(b));
        ps_loaded *l = NULL;
        assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
        ps_missing m;
        assert_true(ps_capture_misses(captured(l), "kineto", PS_CAPTURE_COMMUNICATION, &m));
        expect_in(m.remedy.in[PS_ENGLISH],
                  CASES[i].several ? "so it communicates" : "one device has none");
        assert_string_equal(m.id, CASES[i].several ? "several.torch" : "communication.torch");
        ps_loaded_release(l);
        asks_end(&a);
    }
}

/* A sentence, in each language. */
static void is_a_remedy(const ps_missing *m) {
    const char *english = m->remedy.in[PS_ENGLISH];
    assert_true(english[strlen(english) - 1] == '.');
    assert_non_null(strstr(m->remedy.in[PS_CHINESE], "。"));
    assert_string_not_equal(m->what.in[PS_ENGLISH], m->what.in[PS_CHINESE]);
}

/* Nothing but operators of the host: what is missing depends on who could have written it. */
static void what_is_missing(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "mm", 0, 4);
    asks a;
    asks_of_trace(&a, small_seal(b));
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
    ps_missing m;
    assert_true(ps_capture_misses(captured(l), "kineto", PS_CAPTURE_PYTHON, &m));
    expect_in(m.remedy.in[PS_ENGLISH], "with_stack=True in torch.profiler");
    assert_true(ps_capture_misses(captured(l), "ascend-db", PS_CAPTURE_PYTHON, &m));
    expect_in(m.remedy.in[PS_ENGLISH], "torch_npu");
    assert_string_equal(m.id, "python.ascend");
    assert_true(ps_capture_misses(captured(l), "nsight", PS_CAPTURE_MEMORY, &m));
    expect_in(m.remedy.in[PS_ENGLISH], "--cuda-memory-usage=true");
    assert_false(
        ps_capture_misses(captured(l), "paddle-log", PS_CAPTURE_PYTHON, &m));    /* has never any */
    assert_false(ps_capture_misses(captured(l), "kineto", PS_CAPTURE_HOST, &m)); /* is there */
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        assert_true(ps_capture_has(captured(l), (ps_part_of_capture)i) == (i == PS_CAPTURE_HOST));
        assert_true(ps_capture_name((ps_part_of_capture)i)[0] != '\0');
        if (ps_capture_misses(captured(l), "kineto", (ps_part_of_capture)i, &m)) {
            is_a_remedy(&m);
        }
    }
    ps_loaded_release(l);
    asks_end(&a);
    b = ps_builder_new();
    ps_builder_meta(b, "collector.version", "0.1.0");
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "mm", 0, 4);
    asks_of_trace(&a, small_seal(b));
    assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
    assert_false(ps_capture_misses(captured(l), "ascend-db", PS_CAPTURE_PYTHON,
                                   &m)); /* recordings have none */
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        if (ps_capture_misses(captured(l), "ascend-db", (ps_part_of_capture)i, &m)) {
            is_a_remedy(&m);
            assert_null(strstr(m.remedy.in[PS_ENGLISH], "torch_npu"));
        }
    }
    assert_true(ps_capture_misses(captured(l), "ascend-db", PS_CAPTURE_COMMUNICATION, &m));
    expect_in(m.remedy.in[PS_ENGLISH], "domain communication");
    assert_true(ps_capture_misses(captured(l), "ascend-db", PS_CAPTURE_FLOWS, &m));
    expect_in(m.remedy.in[PS_ENGLISH], "--backend cupti --level 1");
    ps_loaded_release(l);
    asks_end(&a);
    asks_of_trace(&a, sample_of_everything());
    assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
    assert_true(ps_capture_has(captured(l), PS_CAPTURE_PYTHON) &&
                ps_capture_has(captured(l), PS_CAPTURE_FLOWS));
    assert_true(ps_capture_has(captured(l), PS_CAPTURE_COUNTERS) &&
                ps_capture_has(captured(l), PS_CAPTURE_STEPS));
    ps_loaded_release(l);
    asks_end(&a);
}

static void write_rank(const place *p, int i, const char *events) {
    char text[512];
    (void)snprintf(text, sizeof text, "{\"traceEvents\":[%s]}", events);
    write_text(place_path(p, "rank_%d.json", i), text);
}

#define EVENT "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1}"

/* One rank that cannot be read, and what was odd in another. */
static void states(void **state) {
    place *p = *state;
    write_rank(p, 0, EVENT);
    write_rank(p, 1,
               EVENT ",{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":\"x\",\"dur\":1}");
    write_rank(p, 2, EVENT);
    asks a;
    asks_of_path(&a, p->dir);
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *v = parsed(&arena, ask(&a, "/api/ranks"));
    assert_int_equal(n_children(ps_literal_get(v, "ranks")), 3);
    const ps_literal *second = ps_literal_get(v, "ranks")->child->next;
    assert_string_equal(ps_literal_str(ps_literal_get(second, "format")), "chrome");
    assert_string_equal(ps_literal_str(ps_literal_get(second, "file")), "rank_1.json");
    const ps_literal *odd = ps_literal_get(second, "oddities")->child;
    assert_non_null(odd);
    assert_string_equal(ps_literal_str(ps_literal_get(odd, "severity")), "loss");
    assert_true(ps_literal_str(ps_literal_get(odd, "id"))[0] != '\0');
    int64_t n = 0;
    assert_true(ps_literal_int(ps_literal_get(odd, "n"), &n));
    assert_int_equal(n, 1);
    ps_arena_fini(&arena);
    asks_end(&a);
}

static void wishes(void **state) {
    place *p = *state;
    for (int i = 0; i < PS_STORE_AUTO + 3; i++) {
        write_rank(p, i, EVENT);
    }
    asks a = {0};
    const char *path = p->dir;
    a.store = ps_store_new(&path, 1, NULL, NULL);
    assert_non_null(a.store);
    ps_reply_init(&a.reply);
    assert_int_equal(count_in(ask(&a, "/api/ranks"), "\"state\":\"waiting\""), 3);
    char body[128];
    (void)snprintf(body, sizeof body, "{\"keys\":[\"%s\"]}", asks_key(&a, PS_STORE_AUTO));
    assert_string_equal(ask_post(&a, 200, "/api/load", body), "{\"queued\":1}");
    expect_in(ask_post(&a, 404, "/api/load", "{\"keys\":[\"nobody\"]}"), "no rank has the key");
    expect_in(ask_post(&a, 400, "/api/load", "{\"keys\":[7]}"), "as texts");
    expect_in(ask_post(&a, 400, "/api/load", "{\"all\":1}"), "say which ranks");
    expect_in(ask_post(&a, 400, "/api/load", "}"), "say which ranks");
    expect_in(ask_post(&a, 200, "/api/load", "{\"all\":true}"), "{\"queued\":");
    for (size_t i = 0; i < PS_STORE_AUTO + 3; i++) {
        while (ps_store_status(a.store, i).state != PS_STATE_READY) {
            assert_int_not_equal(ps_store_status(a.store, i).state, PS_STATE_FAILED);
            (void)usleep(1000);
        }
    }
    assert_string_equal(ask_post(&a, 200, "/api/load", "{\"all\":true}"), "{\"queued\":0}");
    ps_reply_fini(&a.reply);
    ps_store_free(a.store);
}

/* --- lanes ------------------------------------------------------------------------------------------------------------ */

/* "name(lane)" of each node, deeper ones further in. */
static void expect_nodes(asks *a, const char *wanted) {
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *nodes = ps_literal_get(parsed(&arena, ask(a, "/api/lanes?rank=r0")), "nodes");
    ps_buf got;
    ps_buf_init(&got, 0);
    size_t depth[256];
    size_t i = 0;
    for (const ps_literal *node = nodes->child; node != NULL; node = node->next, i++) {
        int64_t parent = 0;
        int64_t lane = 0;
        int64_t slices = 0;
        assert_true(ps_literal_int(ps_literal_get(node, "parent"), &parent) && parent < (int64_t)i);
        assert_true(ps_literal_int(ps_literal_get(node, "lane"), &lane));
        assert_true(ps_literal_int(ps_literal_get(node, "slices"), &slices));
        depth[i] = parent < 0 ? 0 : depth[parent] + 1;
        ps_buf_add_fill(&got, ' ', 2 * depth[i]);
        ps_buf_addf(&got, "%s", ps_literal_str(ps_literal_get(node, "name")));
        if (lane >= 0) {
            ps_buf_addf(&got, " %lld:%lld", (long long)lane, (long long)slices);
        }
        ps_buf_add_char(&got, '\n');
    }
    assert_string_equal(ps_buf_str(&got), wanted);
    ps_buf_fini(&got);
    ps_arena_fini(&arena);
}

/* Derived lanes stand below the device, before its counters. */
static void derived_of_a_device(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "mm", 0, 4);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_KERNEL, stream, "a", 0, 10);
    small_slice(b, PS_SLICE_KERNEL, stream, "b", 20, 30);
    uint32_t counter = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                                      .pid = -1,
                                                      .tid = -1,
                                                      .device = 0,
                                                      .name = ps_builder_str(b, "Freq", 4)});
    assert_true(ps_builder_counter(b, counter, SMALL_EPOCH_NS + 3, 7));
    asks a;
    asks_of_trace(&a, small_seal(b));
    expect_nodes(&a, "Process 1\n"
                     "  Thread 1 (main) 0:1\n"
                     "GPU 0\n"
                     "  Stream 7 1:2\n"
                     "  Overlap Analysis\n"
                     "    Computing 3:2\n"
                     "    Free 4:1\n"
                     "  Counters\n"
                     "    Freq 2:1\n");
    assert_true(a.reply.is_immutable);
    assert_non_null(strstr(ask(&a, "/api/lanes?rank=r0"), "\"derived\":true"));
    /* Its slices say that they stand where the tree shows them. */
    assert_non_null(
        strstr(ask(&a, "/api/slice?rank=r0&slice=3"), "\"process\":\"GPU 0 / Overlap Analysis\""));
    asks_end(&a);
}

/* A profile that has them keeps its own, and gets below them what profilers do not write. */
static void derived_beside_the_profile(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    small_step(b, 1, 0, 40);
    small_slice(b, PS_SLICE_KERNEL, stream, "a", 5, 10);
    small_slice(b, PS_SLICE_KERNEL, stream, "b", 20, 30);
    uint32_t idle = ps_builder_track(b, (ps_track){.kind = PS_TRACK_DERIVED,
                                                   .pid = -1,
                                                   .tid = -1,
                                                   .device = 0,
                                                   .name = ps_builder_str(b, "Free", 4)});
    small_slice(b, PS_SLICE_DERIVED, idle, "Free", 10, 20);
    asks a;
    asks_of_trace(&a, small_seal(b));
    expect_nodes(&a, "GPU 0\n"
                     "  Stream 7 0:2\n"
                     "  Overlap Analysis\n"
                     "    Free 1:1\n"
                     "    Before and After Work 2:2\n");
    asks_end(&a);
}

static void name_process(ps_builder *b, int64_t pid, const char *name, const char *labels) {
    ps_builder_process(b, (ps_process){.pid = pid,
                                       .name = ps_builder_str(b, name, strlen(name)),
                                       .labels = ps_builder_str(b, labels, strlen(labels)),
                                       .order = pid});
}

/* Where the file names the process of a device, they stand in it; where it names several, behind them. */
static void derived_of_a_process(void **state) {
    (void)state;
    for (int several = 0; several < 2; several++) {
        ps_builder *b = ps_builder_new();
        name_process(b, 2, "python", "GPU 0");
        uint32_t stream = small_stream(b, 7);
        small_slice(b, PS_SLICE_KERNEL, stream, "a", 0, 10);
        if (several) {
            name_process(b, 3, "Counts", "GPU 0");
            uint32_t counter =
                ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER,
                                               .pid = 3,
                                               .tid = -1,
                                               .device = 0,
                                               .name = ps_builder_str(b, "Freq", 4)});
            assert_true(ps_builder_counter(b, counter, SMALL_EPOCH_NS + 3, 7));
        }
        asks a;
        asks_of_trace(&a, small_seal(b));
        expect_nodes(&a, several ? "python (GPU 0)\n"
                                   "  Stream 7 0:1\n"
                                   "Counts (GPU 0)\n"
                                   "  Freq 1:1\n"
                                   "Overlap Analysis\n"
                                   "  Computing 2:1\n"
                                 : "python (GPU 0)\n"
                                   "  Stream 7 0:1\n"
                                   "  Overlap Analysis\n"
                                   "    Computing 1:1\n");
        asks_end(&a);
    }
}

/* Over every sample: each lane of both layers stands once, parents first. */
static void check_lanes(asks *a, const char *key) {
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *nodes =
        ps_literal_get(parsed(&arena, ask(a, "/api/lanes?rank=%s", key)), "nodes");
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a->store, ps_store_find(a->store, key, strlen(key)), &l, NULL),
                     PS_OK);
    uint32_t n_lanes = ps_loaded_n_lanes(l);
    bool *seen = calloc((size_t)n_lanes + 1, sizeof *seen);
    uint32_t n_seen = 0;
    int64_t i = 0;
    int64_t n_slices = 0;
    for (const ps_literal *node = nodes->child; node != NULL; node = node->next, i++) {
        int64_t parent = 0;
        int64_t lane = 0;
        int64_t slices = 0;
        assert_true(ps_literal_int(ps_literal_get(node, "parent"), &parent) && parent < i);
        assert_true(ps_literal_int(ps_literal_get(node, "lane"), &lane) && lane < n_lanes);
        assert_true(ps_literal_int(ps_literal_get(node, "slices"), &slices));
        if (lane >= 0) {
            assert_false(seen[lane]);
            seen[lane] = true;
            n_seen++;
            bool counts = strcmp(ps_literal_str(ps_literal_get(node, "kind")), "counter") != 0;
            n_slices += counts ? slices : 0;
        }
    }
    assert_int_equal(n_seen, n_lanes);
    assert_int_equal(n_slices, ps_loaded_n_slices(l));
    free(seen);
    ps_loaded_release(l);
    ps_arena_fini(&arena);
}

static void samples(void **state) {
    (void)state;
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    static const char *const PATHS[] = {"tests/data/ascend_text",
                                        "tests/data/convert",
                                        "ascend",
                                        "kineto",
                                        "cluster/pp2_dp4/input",
                                        "module_statistic",
                                        "paddle_logs/pp4_1f1b_2x2"};
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        char path[512];
        bool is_own = strncmp(PATHS[i], "tests", 5) == 0;
        (void)snprintf(path, sizeof path, "%s%s%s", is_own || shared == NULL ? "" : shared,
                       is_own ? "" : "/", PATHS[i]);
        if (access(path, R_OK) != 0) {
            continue;
        }
        asks a = {0};
        const char *one = path;
        a.store = ps_store_new(&one, 1, NULL, NULL);
        assert_non_null(a.store);
        ps_reply_init(&a.reply);
        (void)ask_post(&a, 200, "/api/load", "{\"all\":true}");
        for (size_t r = 0; r < ps_store_n_ranks(a.store); r++) {
            ps_rank_state now = ps_store_status(a.store, r).state;
            while (now != PS_STATE_READY && now != PS_STATE_FAILED) {
                (void)usleep(1000);
                now = ps_store_status(a.store, r).state;
            }
            if (now == PS_STATE_READY) {
                check_lanes(&a, asks_key(&a, r));
            }
        }
        ps_arena arena;
        ps_arena_init(&arena);
        (void)parsed(&arena, ask(&a, "/api/ranks"));
        ps_arena_fini(&arena);
        ps_reply_fini(&a.reply);
        ps_store_free(a.store);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session),
        cmocka_unit_test(one_rank),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(several_ranks_communicate),
        IN_PLACE(states),
        IN_PLACE(wishes),
        cmocka_unit_test(derived_of_a_device),
        cmocka_unit_test(derived_beside_the_profile),
        cmocka_unit_test(derived_of_a_process),
        cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
