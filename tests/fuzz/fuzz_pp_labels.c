/* The input is a small job in text, one event a line; each '%' line begins another rank. The chart is made of it with
 * pp_labels, and what is handed out must be in order.
 *
 *   a 100 50 1 PP:0F0      a range on thread 1 from 100 to 150
 *   c 110 2 1 x            a call; k 900 40 7 gemm: a kernel on stream 7 that the last call launched
 *   o 10 5 1 mm            an operator; w: a flow of autograd between the last two operators
 *   n 900 40 7 send 1      a kernel of NCCL to (or from) a rank; s 7 0 1000: step 7
 *   j 0 10 0 forward 3     a job with its microbatch */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "model/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_RANKS = 6, MAX_EVENTS = 2000 };

typedef struct rank {
    ps_builder *b;
    uint32_t call, op, op_before;
} rank;

static uint32_t put(rank *r, ps_slice_kind kind, long track, const char *name, long start,
                    long dur) {
    bool device = kind >= PS_SLICE_KERNEL;
    ps_track t = {.kind = device ? PS_TRACK_STREAM : PS_TRACK_HOST_THREAD,
                  .tid = track,
                  .device = device ? 0 : -1};
    return ps_builder_slice(r->b, kind, ps_builder_track(r->b, t),
                            ps_builder_str(r->b, name, strlen(name)), start, start + dur, 0);
}

static void flow(rank *r, uint32_t from, uint32_t to, const char *kind) {
    if (from != PS_NONE && to != PS_NONE) {
        ps_builder_flow_of(r->b, from, to, ps_builder_str(r->b, kind, strlen(kind)));
    }
}

static void add_line(rank *r, const char *line) {
    char name[128] = "";
    long start = 0;
    long dur = 0;
    long track = 0;
    long number = 0;
    int n = sscanf(line + 1, "%9ld %9ld %9ld %127[^\n]", &start, &dur, &track, name);
    const char *last = strrchr(name, ' ');
    number = last != NULL ? strtol(last, NULL, 10) : 0;
    if (line[0] == 'w') {
        flow(r, r->op_before, r->op, "fwdbwd");
    }
    if (n < 3) {
        return;
    }
    switch (line[0]) {
    case 'a':
        (void)put(r, PS_SLICE_ANNOTATION, track, name, start, dur);
        break;
    case 'c':
        r->call = put(r, PS_SLICE_CALL, track, name, start, dur);
        break;
    case 'k':
        flow(r, r->call, put(r, PS_SLICE_KERNEL, track, name, start, dur), "ac2g");
        break;
    case 'o':
        r->op_before = r->op;
        r->op = put(r, PS_SLICE_HOST_OP, track, name, start, dur);
        break;
    case 's':
        ps_builder_step(r->b, start, dur, dur + (track > 0 ? track : 0));
        break;
    case 'n': {
        uint32_t slice = put(r, PS_SLICE_COMM_KERNEL, track, name, start, dur);
        bool is_send = name[0] == 's';
        if (slice != PS_NONE) {
            ps_builder_arg_str(r->b, slice, "Collective name",
                               ps_builder_str(r->b, is_send ? "send" : "recv", 4));
            ps_builder_arg_int(r->b, slice, is_send ? "Dst Rank" : "Src Rank", number);
        }
        break;
    }
    case 'j': {
        uint32_t slice = put(r, PS_SLICE_JOB, track, name, start, dur);
        if (slice != PS_NONE) {
            ps_builder_arg_int(r->b, slice, "microbatch", number);
        }
        break;
    }
    default:
        break;
    }
}

static size_t read_job(const uint8_t *data, size_t size, ps_trace **traces) {
    rank r = {.b = NULL};
    size_t n = 0;
    size_t n_events = 0;
    for (size_t at = 0; at <= size;) {
        const uint8_t *end = at < size ? memchr(data + at, '\n', size - at) : NULL;
        size_t len = end != NULL ? (size_t)(end - (data + at)) : size - at;
        char line[200] = "";
        memcpy(line, data + at, len < sizeof line - 1 ? len : sizeof line - 1);
        at += len + 1;
        bool over = at > size || line[0] == '%' || n_events++ == MAX_EVENTS;
        if (r.b == NULL) {
            r = (rank){ps_builder_new(), PS_NONE, PS_NONE, PS_NONE};
        }
        add_line(&r, line);
        if (over && n < MAX_RANKS) {
            char host[16];
            (void)snprintf(host, sizeof host, "node%zu", n / 2);
            ps_builder_meta(r.b, "host_name", host);
            traces[n++] = ps_builder_seal(r.b, NULL);
            r.b = NULL;
        }
        if (n == MAX_RANKS || n_events > MAX_EVENTS) {
            break;
        }
    }
    ps_builder_free(r.b);
    return n;
}

static void check(const ps_chart *c) {
    for (size_t i = 0; i < c->n_ops; i++) {
        const ps_op *op = &c->ops[i];
        if (op->rank >= c->n_ranks || op->end_ns < op->start_ns ||
            (i > 0 && op->rank < c->ops[i - 1].rank)) {
            __builtin_trap();
        }
    }
    for (size_t i = 0; i < c->n_links; i++) {
        if (c->links[i].from >= c->n_ops || c->links[i].to >= c->n_ops) {
            __builtin_trap();
        }
    }
}

static void chart_of(ps_trace *const *traces, size_t n, const ps_analysis_opts *opts) {
    const ps_analysis *analysis = ps_analysis_find("pp_labels");
    ps_rank_info infos[MAX_RANKS];
    void *partials[MAX_RANKS] = {NULL};
    static ps_diag rank_diags[MAX_RANKS];
    ps_diag *diags[MAX_RANKS];
    ps_result result = {0};
    void *shared = NULL;
    for (size_t r = 0; r < n; r++) {
        infos[r] = (ps_rank_info){.rank = (int64_t)r, .machine = -1, .profiler = "x"};
        diags[r] = &rank_diags[r];
        ps_map_input in = {.trace = traces[r], .rank = &infos[r], .opts = opts, .diag = diags[r]};
        (void)ps_round_map(&analysis->rounds[0], &in, &partials[r], NULL);
    }
    ps_reduce_input in = {.ranks = infos,
                          .partials = partials,
                          .diags = diags,
                          .n_ranks = n,
                          .opts = opts,
                          .result = &result};
    (void)analysis->rounds[1].reduce(&in, &shared, NULL);
    if (result.chart != NULL) {
        check(result.chart);
    }
    ps_result_fini(&result);
    for (size_t r = 0; r < n; r++) {
        analysis->free_partial(partials[r]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_trace *traces[MAX_RANKS] = {NULL};
    size_t n = read_job(data, size, traces);
    const ps_analysis_opts plain = {.step_id = -1, .in_full = true};
    const ps_analysis_opts aligned = {.step_id = -1, .pp = 2, .clocks = PS_CLOCKS_ALL};
    const ps_analysis_opts rules = {
        .step_id = -1, .forward_re = "f([0-9]+)", .backward_re = "b([0-9]*)"};
    chart_of(traces, n, &plain);
    chart_of(traces, n, &aligned);
    chart_of(traces, n, &rules);
    for (size_t r = 0; r < n; r++) {
        ps_trace_free(traces[r]);
    }
    return 0;
}
