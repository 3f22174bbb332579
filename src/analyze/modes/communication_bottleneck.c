/* communication_bottleneck: the longest communication operators of one rank (--rank_id), who was late to each of them, and
 * why. Two rounds: the operators of all ranks tell who was late; then those ranks are read for what they did before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"
#include "analyze/modes/bottleneck_cause.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/sort.h"

#define DEFAULT_TOP 10
/* Durations that differ by less say nothing. */
#define LEAST_SHARE 0.05

/* What is kept of an operator: its rank may be gone by the second round. */
typedef struct late_op {
    int64_t start_ns, end_ns;
    uint32_t slice;
    bool is_p2p, has_group;
} late_op;

/* One of the longest operators. */
typedef struct bottleneck {
    late_op op; /* of the rank looked at */
    ps_str name;
    size_t index; /* in that rank's list */
    bool is_matched, is_late;
    uint32_t slow, fast; /* indices of ranks */
    late_op slow_op, fast_op;
    int64_t shift_ns; /* clock of the fast one minus that of the slow one */
    double share;     /* of the wait in the longest duration */
} bottleneck;

typedef struct bottlenecks {
    bottleneck *all;
    size_t n;
    uint32_t rank; /* looked at */
    ps_strpool names;
} bottlenecks;

typedef struct partial {
    ps_comm_part *comm;
    uint32_t index;
    ps_way *slow, *fast; /* [n of the bottlenecks], or NULL */
    size_t n_ways;
} partial;

static void free_bottleneck_partial(void *p) {
    partial *part = p;
    if (part == NULL) {
        return;
    }
    for (size_t i = 0; part->slow != NULL && i < part->n_ways; i++) {
        ps_way_fini(&part->slow[i]);
    }
    for (size_t i = 0; part->fast != NULL && i < part->n_ways; i++) {
        ps_way_fini(&part->fast[i]);
    }
    ps_free(part->slow);
    ps_free(part->fast);
    ps_comm_part_free(part->comm);
    ps_free(part);
}

static void free_bottleneck_shared(void *shared) {
    bottlenecks *b = shared;
    if (b != NULL) {
        ps_free(b->all);
        ps_strpool_fini(&b->names);
        ps_free(b);
    }
}

/* --- first round: who was late ---------------------------------------------------------------------------------- */

static ps_code map_operators(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_comm_part_read(in, 0, &part->comm, err);
    if (code != PS_OK) {
        free_bottleneck_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

static late_op late_op_of(const ps_comm_op *op) {
    return (late_op){.start_ns = op->start_ns,
                     .end_ns = op->end_ns,
                     .slice = op->slice,
                     .is_p2p = op->look->is_p2p,
                     .has_group = !ps_str_is_none(op->look->group)};
}

static int64_t late_op_ns(const late_op *op) {
    return op->end_ns - op->start_ns;
}

static int by_duration(const void *a, const void *b) {
    const bottleneck *x = a;
    const bottleneck *y = b;
    int64_t s = late_op_ns(&x->op);
    int64_t t = late_op_ns(&y->op);
    if (s != t) {
        return s > t ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool find_longest(const ps_comm_list *list, int64_t top, bottlenecks *out) {
    out->all = ps_calloc(list->n + 1, sizeof *out->all);
    if (out->all == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        out->all[i] = (bottleneck){.op = late_op_of(&list->ops[i]), .index = i};
    }
    ps_sort(out->all, list->n, sizeof *out->all, by_duration);
    out->n = (uint64_t)top < list->n ? (size_t)top : list->n;
    bool ok = true;
    for (size_t i = 0; ok && i < out->n; i++) {
        const char *name = ps_comm_text(list, list->ops[out->all[i].index].name);
        out->all[i].name = ps_strpool_add(&out->names, name, strlen(name));
        ok = !ps_str_is_none(out->all[i].name);
    }
    return ok;
}

/* By the clocks of the job. Where nothing connects the two, all leave a collective together. */
static void set_shift(bottleneck *b, const ps_skew *skew) {
    const ps_rank_clock *slow = &skew->clocks[b->slow];
    const ps_rank_clock *fast = &skew->clocks[b->fast];
    if (slow->reference == fast->reference) {
        b->shift_ns = ps_i64_minus(fast->offset_ns, slow->offset_ns);
    } else if (!b->fast_op.is_p2p) {
        b->shift_ns = ps_i64_minus(b->fast_op.end_ns, b->slow_op.end_ns);
    }
}

/* The one that waited longest, and the one that everybody waited for. */
static void take_bottleneck_collective(bottleneck *b, const ps_skew *skew,
                                       const ps_matched_collective *m, ps_comm_part *const *parts) {
    b->is_matched = true;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const ps_collective_part *p = &skew->parts[i];
        const ps_comm_op *op = &parts[p->rank]->list.ops[p->op];
        if (i == m->first || ps_comm_op_ns(op) > late_op_ns(&b->fast_op)) {
            b->fast_op = late_op_of(op);
            b->fast = p->rank;
        }
        if (i == m->first || ps_comm_op_ns(op) < late_op_ns(&b->slow_op)) {
            b->slow_op = late_op_of(op);
            b->slow = p->rank;
        }
    }
    int64_t longest = late_op_ns(&b->fast_op);
    b->share = longest > 0 ? (double)(longest - late_op_ns(&b->slow_op)) / (double)longest : 0;
    b->is_late = b->share >= LEAST_SHARE;
    set_shift(b, skew);
}

static void take_receive(bottleneck *b, const ps_skew *skew, const ps_skew_receive *r,
                         ps_comm_part *const *parts) {
    b->is_matched = true;
    b->slow = r->sender;
    b->fast = r->receiver;
    b->slow_op = late_op_of(&parts[r->sender]->list.ops[r->send_op]);
    b->fast_op = late_op_of(&parts[r->receiver]->list.ops[r->receive_op]);
    int64_t duration = late_op_ns(&b->fast_op);
    b->share = duration > 0 ? (double)r->waited_ns / (double)duration : 0;
    b->is_late = b->share >= LEAST_SHARE;
    set_shift(b, skew);
}

/* of_op[operator of the rank] = bottleneck. */
static void take_all_bottleneck(bottlenecks *b, const ps_skew *skew, ps_comm_part *const *parts,
                                bottleneck **of_op) {
    for (size_t i = 0; i < b->n; i++) {
        of_op[b->all[i].index] = &b->all[i];
    }
    for (size_t i = 0; i < skew->n_collectives; i++) {
        const ps_matched_collective *m = &skew->collectives[i];
        for (uint32_t p = m->first; p < m->first + m->n; p++) {
            if (skew->parts[p].rank == b->rank && of_op[skew->parts[p].op] != NULL) {
                take_bottleneck_collective(of_op[skew->parts[p].op], skew, m, parts);
            }
        }
    }
    for (size_t i = 0; i < skew->n_receives; i++) {
        const ps_skew_receive *r = &skew->receives[i];
        uint32_t op = r->receiver == b->rank ? r->receive_op : r->send_op;
        bool is_own = r->receiver == b->rank || r->sender == b->rank;
        if (is_own && of_op[op] != NULL) {
            take_receive(of_op[op], skew, r, parts);
        }
    }
}

static ps_comm_part **bottleneck_parts(const ps_reduce_input *in) {
    ps_comm_part **parts = ps_calloc(in->n_ranks + 1, sizeof(ps_comm_part *));
    for (uint32_t r = 0; parts != NULL && r < in->n_ranks; r++) {
        partial *part = in->partials[r];
        if (part != NULL) {
            part->index = r;
            parts[r] = part->comm;
        }
    }
    return parts;
}

static ps_code find_late(const ps_reduce_input *in, ps_comm_part *const *parts, bottlenecks *out,
                         ps_err *err) {
    int64_t top = in->opts->top_num > 0 ? in->opts->top_num : DEFAULT_TOP;
    bottleneck **of_op = ps_calloc(parts[out->rank]->list.n + 1, sizeof(bottleneck *));
    const ps_skew *skew = NULL;
    ps_code code = of_op != NULL && find_longest(&parts[out->rank]->list, top, out)
                       ? PS_OK
                       : ps_fail_nomem(err);
    if (code == PS_OK) {
        code = ps_job_skew_of(in, parts, -1, &skew, err);
    }
    if (code == PS_OK) {
        take_all_bottleneck(out, skew, parts, of_op);
    }
    ps_free(of_op);
    return code;
}

static ps_code reduce_operators(const ps_reduce_input *in, void **shared, ps_err *err) {
    bottlenecks *b = ps_calloc(1, sizeof *b);
    ps_comm_part **parts = bottleneck_parts(in);
    *shared = b;
    bool ok = b != NULL && ps_strpool_init(&b->names) && parts != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        b->rank = PS_NONE;
        for (uint32_t r = 0; r < in->n_ranks; r++) {
            bool is_it = parts[r] != NULL && in->ranks[r].rank == in->opts->rank_id;
            b->rank = b->rank == PS_NONE && is_it ? r : b->rank;
        }
        code = b->rank != PS_NONE
                   ? find_late(in, parts, b, err)
                   : ps_fail_said(
                         err, PS_NOTHING,
                         "rank %lld is not among the ranks with communication: --rank_id names "
                         "the one to look at",
                         "rank %lld 不在有通信的 rank 之中：用 --rank_id 指定要查看的 rank",
                         (long long)in->opts->rank_id);
    }
    ps_free(parts);
    return code;
}

/* --- second round: why ------------------------------------------------------------------------------------------ */

static ps_code map_ways(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = in->partial;
    const bottlenecks *b = in->shared;
    *out = part;
    if (part == NULL || b == NULL) {
        return PS_OK;
    }
    part->slow = ps_calloc(b->n + 1, sizeof *part->slow);
    part->fast = ps_calloc(b->n + 1, sizeof *part->fast);
    if (part->slow == NULL || part->fast == NULL) {
        return ps_fail_nomem(err);
    }
    part->n_ways = b->n;
    const ps_links *links = ps_derived_links(in->derived, err);
    ps_code code = links != NULL ? PS_OK : PS_NOMEM;
    for (size_t i = 0; code == PS_OK && i < b->n; i++) {
        const bottleneck *one = &b->all[i];
        if (one->is_late && one->slow == part->index) {
            code = ps_way_collect(links, one->slow_op.slice, &part->slow[i], err);
        }
        if (code == PS_OK && one->is_late && one->fast == part->index) {
            code = ps_way_collect(links, one->fast_op.slice, &part->fast[i], err);
        }
    }
    return code;
}

/* Only ranks that were late, and those that they are held against, are read again. */
static bool wants_ways(const ps_map_input *in) {
    const partial *part = in->partial;
    const bottlenecks *b = in->shared;
    bool any = false;
    for (size_t i = 0; part != NULL && b != NULL && i < b->n; i++) {
        const bottleneck *one = &b->all[i];
        any = any || (one->is_late && (one->slow == part->index || one->fast == part->index));
    }
    return any;
}

typedef struct bottleneck_row {
    char start_us[40], end_us[40];
    double us;
    const char *op, *reason;
    int64_t slow_rank, fast_rank;
} bottleneck_row;

static const ps_column COLUMNS[] = {
    {.name = "startTime(us)", PS_FIELD(bottleneck_row, start_us)},
    {.name = "endTime(us)", PS_FIELD(bottleneck_row, end_us)},
    {.name = "duration(us)", PS_FIELD(bottleneck_row, us)},
    {.name = "communicationOp", PS_FIELD(bottleneck_row, op)},
    {.name = "slowRankId", PS_FIELD(bottleneck_row, slow_rank)},
    {.name = "fastRankId", PS_FIELD(bottleneck_row, fast_rank)},
    {.name = "reason", PS_FIELD(bottleneck_row, reason)},
};

/* "1760000000005408.6" */
static void print_bottleneck_us(char *text, size_t size, int64_t ns) {
    int n = snprintf(text, size, "%lld.%03d", (long long)(ns / 1000), abs((int)(ns % 1000)));
    while (n > 0 && text[n - 1] == '0') {
        text[--n] = '\0';
    }
    if (n > 0 && text[n - 1] == '.') {
        text[n - 1] = '\0';
    }
}

static const ps_way *way_of(const ps_reduce_input *in, uint32_t rank, size_t i, bool slow) {
    const partial *part = in->partials[rank];
    if (part == NULL || part->n_ways <= i) {
        return NULL;
    }
    return slow ? &part->slow[i] : &part->fast[i];
}

static void explain(const ps_reduce_input *in, const bottleneck *b, size_t i, ps_buf *out) {
    if (!b->is_matched) {
        ps_buf_add_str(
            out,
            !b->op.has_group
                ? PS_SAY(
                      in->opts->lang,
                      "[Failed] not matched: nothing names its group, and no such "
                      "operator of another rank ran and ended with it",
                      "[Failed] 未匹配：没有写明通信域，也没有其他 rank 的同名算子与其同时运行并结束")
                : PS_SAY(in->opts->lang, "[Failed] no other rank of the input has this operator",
                         "[Failed] 输入的其他 rank 没有该算子"));
        return;
    }
    if (!b->is_late) {
        ps_buf_addf(out,
                    PS_SAY(in->opts->lang,
                           "[Completed] no slow rank: the wait is %.1f%% of the duration",
                           "[Completed] 没有慢 rank：等待占耗时的 %.1f%%"),
                    b->share * 100);
        return;
    }
    ps_lateness l = {.slow = way_of(in, b->slow, i, true),
                     .fast = way_of(in, b->fast, i, false),
                     .slow_rank = in->ranks[b->slow].rank,
                     .fast_rank = in->ranks[b->fast].rank,
                     .slow_start_ns = b->slow_op.start_ns,
                     .fast_start_ns = b->fast_op.start_ns,
                     .shift_ns = b->shift_ns};
    ps_buf_addf(out, "[Completed] ");
    ps_lateness_explain(in->opts->lang, &l, out);
}

static void put_bottleneck(ps_table *t, const ps_reduce_input *in, const bottlenecks *b, size_t i) {
    const bottleneck *one = &b->all[i];
    ps_buf reason;
    ps_buf_init(&reason, 0);
    explain(in, one, i, &reason);
    bottleneck_row row = {.us = (double)late_op_ns(&one->op) / 1e3,
                          .op = ps_strpool_get(&b->names, one->name),
                          .reason = ps_buf_ok(&reason) ? ps_buf_str(&reason) : NULL,
                          .slow_rank = one->is_matched ? in->ranks[one->slow].rank : PS_UNKNOWN_INT,
                          .fast_rank =
                              one->is_matched ? in->ranks[one->fast].rank : PS_UNKNOWN_INT};
    print_bottleneck_us(row.start_us, sizeof row.start_us, one->op.start_ns);
    print_bottleneck_us(row.end_us, sizeof row.end_us, one->op.end_ns);
    ps_table_put(t, &row);
    if (!ps_buf_ok(&reason)) {
        ps_table_fail(t);
    }
    ps_buf_fini(&reason);
}

static ps_code reduce_ways(const ps_reduce_input *in, void **shared, ps_err *err) {
    const bottlenecks *b = in->shared;
    *shared = in->shared;
    ps_table *t = ps_table_new("CommunicationBottleneck", "longest communication, and who was late",
                               PS_COLUMNS(COLUMNS));
    for (size_t i = 0; b != NULL && i < b->n; i++) {
        put_bottleneck(t, in, b, i);
    }
    ps_result_finish_table(in->result, t, "communication_bottleneck", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static void archive_bottleneck_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        void *comm = x->comm;
        ps_comm_part_archive(a, &comm);
        x->comm = comm;
        PS_ARCHIVE(a, x, index, n_ways);
        PS_ARCHIVE_ARRAY_OF(a, x, slow, x->n_ways, ps_way_archive);
        PS_ARCHIVE_ARRAY_OF(a, x, fast, x->n_ways, ps_way_archive);
        if (ps_archive_is_reading(a) && x->n_ways > 0 && (x->slow == NULL || x->fast == NULL)) {
            ps_archive_refuse(a, "ways");
        }
    }
}

static void late_op_archive(ps_archive *a, late_op *x) {
    PS_ARCHIVE(a, x, start_ns, end_ns, slice, is_p2p, has_group);
}

static void bottleneck_archive(ps_archive *a, void *b) {
    bottleneck *x = b;
    late_op_archive(a, &x->op);
    late_op_archive(a, &x->slow_op);
    late_op_archive(a, &x->fast_op);
    PS_ARCHIVE(a, x, name, index, is_matched, is_late, slow, fast, shift_ns, share);
}

static void archive_bottleneck_shared(ps_archive *a, void **shared) {
    bottlenecks *x = ps_archive_object(a, shared, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_pool(a, &x->names);
        PS_ARCHIVE_ARRAY(a, x, all, n, bottleneck_archive);
        PS_ARCHIVE(a, x, rank);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_COMM_PART_NEEDS, .map = map_operators, .reduce = reduce_operators},
    {.needs = PS_COMM_PART_NEEDS, .wants = wants_ways, .map = map_ways, .reduce = reduce_ways}};

const ps_analysis ps_analysis_communication_bottleneck = {
    .name = "communication_bottleneck",
    .folder = "CommunicationBottleneck",
    .summary = "the longest communication of a rank (--rank_id): who was late, and why",
    .sets = PS_IN_EVERY,
    .writes = PS_WRITES_CLUSTER,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_bottleneck_partial,
    .archive = archive_bottleneck_partial,
    .archive_shared = archive_bottleneck_shared,
    .free_shared = free_bottleneck_shared,
};
