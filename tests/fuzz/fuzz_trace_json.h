/* What fuzz_chrome and fuzz_kineto share: one input read whole, and the promises of a sealed trace. */
#ifndef TESTS_FUZZ_TRACE_JSON_H
#define TESTS_FUZZ_TRACE_JSON_H

#include <stdint.h>
#include <string.h>

#include "base/input.h"
#include "model/trace.h"
#include "read/events/trace_head.h"

typedef ps_code fuzz_read_fn(ps_input *in, const char *path, uint32_t needs, size_t n_threads,
                             ps_builder *b, ps_err *err);

static void require(bool holds) {
    if (!holds) {
        __builtin_trap();
    }
}

static void check_slices(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n_tracks = 0;
    (void)ps_trace_tracks(t, &n_tracks);
    for (uint32_t i = 0; i < s->n; i++) {
        require(s->dur_ns[i] >= 0 && s->track[i] < n_tracks && s->kind[i] < PS_N_SLICE_KINDS);
        require(i == 0 || s->start_ns[i - 1] <= s->start_ns[i]);
        require(strlen(ps_trace_text(t, s->name[i])) <= ps_trace_text_len(t, s->name[i]));
        ps_arg_iter iter = ps_trace_args(t, i);
        for (ps_arg arg; ps_arg_next(&iter, &arg);) {
            require(arg.key.id != 0);
        }
    }
}

static void check_trace(const ps_trace *t) {
    check_slices(t);
    size_t n = 0;
    size_t n_tracks = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        require(flows[i].from < ps_trace_slices(t)->n && flows[i].to < ps_trace_slices(t)->n);
        require(flows[i].from != flows[i].to);
    }
    const ps_counters *c = ps_trace_counters(t);
    const ps_track *tracks = ps_trace_tracks(t, &n_tracks);
    for (uint32_t i = 0; i < c->n; i++) {
        require(c->track[i] < n_tracks && tracks[c->track[i]].kind == PS_TRACK_COUNTER);
    }
}

/* The trace, or NULL when the input is none. */
static ps_trace *fuzz_read(fuzz_read_fn *read, const uint8_t *data, size_t size, uint32_t needs) {
    ps_err err = PS_ERR_INIT;
    ps_builder *b = ps_builder_new();
    ps_input *in = ps_input_of_memory(data, size, &err);
    ps_code code = read(in, "rank-1.json", needs, 1, b, &err);
    ps_input_close(in);
    if (code != PS_OK) {
        require(code == PS_SYNTAX || code == PS_RANGE);
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, &err);
}

/* What is skipped is not looked into: malformed text may mislead one reading and not the other. */
static bool is_clean(const ps_trace *t) {
    const ps_diag *d = ps_trace_diag(t);
    return d->counts[PS_ODD_JSON] == 0 && d->counts[PS_ODD_TRUNCATED] == 0;
}

/* All of it, then the projection: the same slices and flows. */
static int fuzz_input(fuzz_read_fn *read, const uint8_t *data, size_t size) {
    (void)ps_trace_head_look(data, size);
    ps_trace *all = fuzz_read(read, data, size, UINT32_MAX);
    ps_trace *some = fuzz_read(read, data, size, PS_NEED_SLICES | PS_NEED_FLOWS);
    if (all != NULL) {
        check_trace(all);
    }
    if (some != NULL) {
        check_trace(some);
    }
    if (all != NULL && some != NULL && is_clean(all) && is_clean(some)) {
        size_t n_all = 0;
        size_t n_some = 0;
        (void)ps_trace_flows(all, &n_all);
        (void)ps_trace_flows(some, &n_some);
        require(ps_trace_slices(all)->n == ps_trace_slices(some)->n && n_all == n_some);
    }
    ps_trace_free(all);
    ps_trace_free(some);
    return 0;
}

#endif
