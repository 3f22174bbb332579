/* Names and collection; the pairing itself is in p2p_pair.c. */
#include "analyze/comm/p2p.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

#define MAX_LOCAL_RANK (1 << 20)

bool ps_p2p_list_init(ps_p2p_list *list) {
    *list = (ps_p2p_list){0};
    return ps_strpool_init(&list->strings);
}

void ps_p2p_list_fini(ps_p2p_list *list) {
    ps_free(list->ops);
    ps_strpool_fini(&list->strings);
    *list = (ps_p2p_list){0};
}

bool ps_p2p_add(ps_p2p_list *list, ps_p2p_op op) {
    if (ps_str_is_none(op.group) || ps_str_is_none(op.tag) ||
        !ps_grow(&list->ops, &list->cap, list->n + 1, PS_MAX_P2P_OPS, sizeof *list->ops)) {
        return false;
    }
    op.peer_rank = PS_NO_PEER;
    op.peer_op = 0;
    list->ops[list->n++] = op;
    return true;
}

/* Digits at *p, then `end`; moves *p behind both. */
static bool take_digits(const char **p, char end, const char **digits, size_t *n) {
    const char *s = *p;
    while (isdigit((unsigned char)*s)) {
        s++;
    }
    *digits = *p;
    *n = (size_t)(s - *p);
    if (*n == 0 || *s != end) {
        return false;
    }
    *p = end != '\0' ? s + 1 : s;
    return true;
}

bool ps_p2p_parse_name(const char *name, bool *is_send, const char **tag, size_t *tag_len,
                       int64_t *sequence, int64_t *iteration) {
    static const struct {
        const char *rest;
        bool is_send;
    } TYPES[] = {{"end__", true}, {"ecv__", false}, {"eceive__", false}};
    if (strncmp(name, "hcom_", 5) != 0) {
        return false;
    }
    char first = (char)(name[5] | 0x20);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        size_t n = strlen(TYPES[i].rest);
        if (first != (TYPES[i].is_send ? 's' : 'r') || strncmp(name + 6, TYPES[i].rest, n) != 0) {
            continue;
        }
        const char *p = name + 6 + n;
        const char *digits = NULL;
        size_t n_digits = 0;
        *is_send = TYPES[i].is_send;
        return take_digits(&p, '_', tag, tag_len) && take_digits(&p, '_', &digits, &n_digits) &&
               ps_parse_i64(digits, n_digits, sequence) &&
               take_digits(&p, '\0', &digits, &n_digits) &&
               ps_parse_i64(digits, n_digits, iteration);
    }
    return false;
}

/* The window of the wanted step, empty when it is not recorded; everything when there is no filter. */
static void step_window(const ps_trace *trace, int64_t step_id, int64_t *start, int64_t *end) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    *start = INT64_MIN;
    *end = step_id < 0 ? INT64_MAX : INT64_MIN;
    for (size_t i = 0; step_id >= 0 && i < n; i++) {
        if (steps[i].id == step_id) {
            *start = steps[i].start_ns;
            *end = steps[i].end_ns;
        }
    }
}

/* Adds one operator when it is a send or receive with a known peer. False when memory is out. */
static bool collect_op(const ps_trace *trace, uint32_t row, ps_p2p_list *out, ps_diag *diag) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *name = ps_trace_text(trace, s->name[row]);
    const char *tag = NULL;
    size_t tag_len = 0;
    ps_p2p_op op = {.source_row = s->source_row[row]};
    bool is_send = false;
    if (!ps_p2p_parse_name(name, &is_send, &tag, &tag_len, &op.sequence, &op.iteration)) {
        return true;
    }
    op.is_send = is_send;
    int64_t own = -1;
    int64_t peer = -1;
    int64_t differs = 0;
    if (ps_trace_arg_int(trace, row, "groupDiffers", &differs)) {
        ps_diag_add(diag, PS_ODD_P2P_GROUP, "%.100s", name);
        return true;
    }
    if (!ps_trace_arg_int(trace, row, "srcRank", &own) ||
        !ps_trace_arg_int(trace, row, "dstRank", &peer) || own < 0 || peer < 0 ||
        own >= MAX_LOCAL_RANK || peer >= MAX_LOCAL_RANK) {
        ps_diag_add(diag, PS_ODD_P2P_PEER, "%.100s", name);
        return true;
    }
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n_tracks);
    const char *group = ps_trace_text(trace, tracks[s->track[row]].name);
    op.sender = (int32_t)(op.is_send ? own : peer);
    op.receiver = (int32_t)(op.is_send ? peer : own);
    op.start_ns = ps_trace_origin_ns(trace) + s->start_ns[row];
    op.end_ns = op.start_ns + s->dur_ns[row];
    op.group = ps_strpool_add(&out->strings, group, strlen(group));
    op.tag = ps_strpool_add(&out->strings, tag, tag_len);
    return ps_p2p_add(out, op);
}

ps_code ps_p2p_collect(const ps_trace *trace, const ps_analysis_opts *opts, ps_p2p_list *out,
                       ps_diag *diag, ps_err *err) {
    if (!ps_p2p_list_init(out)) {
        return ps_fail_nomem(err);
    }
    int64_t start = 0;
    int64_t end = 0;
    step_window(trace, opts->step_id, &start, &end);
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t row = 0; row < s->n; row++) {
        if (s->kind[row] != PS_SLICE_COMM_OP) {
            continue;
        }
        out->n_operators++;
        int64_t host = s->start_ns[row];
        if (opts->step_id >= 0) {
            (void)ps_trace_arg_int(trace, row, "hostStart", &host);
        }
        if (host >= start && host < end && !collect_op(trace, row, out, diag)) {
            return ps_fail_nomem(err);
        }
    }
    ps_shrink(&out->ops, &out->cap, out->n, sizeof *out->ops);
    return PS_OK;
}

static void p2p_op_archive(ps_archive *a, void *op) {
    ps_p2p_op *x = op;
    struct {
        uint32_t peer_op;
        bool is_send;
    } bits = {x->peer_op, x->is_send};
    PS_ARCHIVE(a, x, start_ns, end_ns, source_row, sequence, iteration, sender, receiver, group,
               tag, peer_rank);
    PS_ARCHIVE(a, &bits, peer_op, is_send);
    x->peer_op = bits.peer_op & PS_MAX_P2P_OPS;
    x->is_send = bits.is_send;
}

void ps_p2p_list_archive(ps_archive *a, void *list) {
    ps_p2p_list *x = list;
    ps_strpool *before = ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE_ARRAY(a, x, ops, n, p2p_op_archive);
    (void)ps_archive_use_pool(a, before);
    PS_ARCHIVE(a, x, n_operators);
}
