#include "analyze/pipeline/recognise.h"

#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/label.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "model/chart_groups.h"

#define MAX_CHUNKS 8 /* more model pieces per device are tried for no schedule */

typedef struct looking {
    const ps_chart *chart;
    ps_chart_groups groups;
    uint32_t *rank_of_stage; /* [n_stages] row in ranks, of the pipeline looked at */
    int32_t n_stages;
    size_t step;       /* index of the step looked at */
    ps_mark *marks;    /* scratch for one group */
    size_t n_forwards; /* on stage 0 */
    bool is_exact;     /* chart->labels_are_exact */
    bool has_pairs;
    int32_t n_chunks, n_microbatches; /* of exact labels: as many as they name */
} looking;

static bool runs_forward(const ps_op *op) {
    return op->kind == PS_OP_F || op->kind == PS_OP_FB;
}

/* An op with exact labels as one number, so that alignment compares all of it: 2 bits of kind, 7 + 6 of chunks, 16 of
 * microbatch. The backward of a pair follows from the rest. */
static int32_t code_of(ps_op_kind kind, int32_t chunk, int32_t chunk2, int32_t microbatch) {
    uint32_t of_kind = kind == PS_OP_B ? 1 : kind == PS_OP_BI ? 2 : 0;
    return (int32_t)(of_kind << 29 | ((uint32_t)(chunk2 + 1) & 0x7f) << 22 |
                     ((uint32_t)chunk & 0x3f) << 16 | ((uint32_t)microbatch & 0xffff));
}

static bool is_compared(const looking *l, const ps_op *op) {
    return !l->is_exact || op->kind != PS_OP_OTHER;
}

/* The kinds of one group as marks without microbatches, exact labels as their codes; returns how many. */
static size_t fill_marks(const looking *l, size_t group) {
    size_t n = 0;
    for (size_t i = l->groups.first[group]; i < l->groups.first[group + 1]; i++) {
        const ps_op *op = &l->chart->ops[l->groups.order[i]];
        if (!is_compared(l, op)) {
            continue;
        }
        if (l->is_exact) {
            uint8_t plain = op->kind == PS_OP_BI ? PS_OP_B : op->kind;
            l->marks[n++] = (ps_mark){
                .start_ns = op->start_ns,
                .end_ns = op->end_ns,
                .microbatch = code_of((ps_op_kind)op->kind, op->chunk, op->chunk2, op->microbatch),
                .kind = plain};
            continue;
        }
        uint8_t kind = op->kind == PS_OP_BI || op->kind == PS_OP_LOGITS ? PS_OP_B : op->kind;
        l->marks[n++] = (ps_mark){
            .start_ns = op->start_ns, .end_ns = op->end_ns, .microbatch = -1, .kind = kind};
    }
    return n;
}

/* --- the step to look at --------------------------------------------------------------------------------------- */

static bool find_stages(looking *l, int32_t n_stages) {
    const ps_chart *c = l->chart;
    int32_t n = n_stages < PS_MAX_STAGES ? n_stages : PS_MAX_STAGES;
    for (size_t r = 0; r < c->n_ranks; r++) {
        n = c->ranks[r].stage >= n && c->ranks[r].stage < PS_MAX_STAGES ? c->ranks[r].stage + 1 : n;
    }
    l->n_stages = n;
    l->rank_of_stage = ps_calloc((size_t)n, sizeof *l->rank_of_stage);
    if (l->rank_of_stage == NULL) {
        return false;
    }
    for (int32_t s = 0; s < n; s++) {
        l->rank_of_stage[s] = PS_NO_INDEX;
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_chart_rank *rank = &c->ranks[r];
        bool on_stage =
            rank->stage >= 0 && rank->stage < n && rank->pipeline == c->ranks[0].pipeline;
        if (on_stage && l->rank_of_stage[rank->stage] == PS_NO_INDEX) {
            l->rank_of_stage[rank->stage] = (uint32_t)r;
        }
    }
    return true;
}

/* The step to look at. False when memory is out. */
static bool find_usual_step(looking *l) {
    if (!ps_chart_usual_group(&l->groups, l->chart, l->rank_of_stage, (size_t)l->n_stages,
                              &l->step)) {
        return false;
    }
    for (int32_t s = 0; s < l->n_stages && l->n_forwards == 0; s++) {
        if (l->rank_of_stage[s] != PS_NO_INDEX) {
            size_t g = ps_chart_group(&l->groups, l->rank_of_stage[s], l->step);
            for (size_t i = l->groups.first[g]; i < l->groups.first[g + 1]; i++) {
                l->n_forwards += runs_forward(&l->chart->ops[l->groups.order[i]]);
            }
        }
    }
    return true;
}

/* What exact labels say of the schedule's size. */
static void count_labels(looking *l) {
    l->is_exact = l->chart->labels_are_exact;
    for (size_t i = 0; l->is_exact && i < l->chart->n_ops; i++) {
        const ps_op *op = &l->chart->ops[i];
        if (!ps_op_is_computation(op) || op->kind == PS_OP_OTHER) {
            continue;
        }
        l->has_pairs = l->has_pairs || op->kind == PS_OP_FB;
        l->n_chunks = op->chunk >= l->n_chunks ? op->chunk + 1 : l->n_chunks;
        l->n_microbatches =
            op->microbatch >= l->n_microbatches ? op->microbatch + 1 : l->n_microbatches;
    }
}

/* `n_stages` may say that the pipeline has more stages than the chart shows. */
static bool start_candidate(looking *l, const ps_chart *chart, int32_t n_stages) {
    *l = (looking){.chart = chart};
    l->marks = ps_calloc(chart->n_ops, sizeof *l->marks);
    if (l->marks == NULL || !ps_chart_groups_init(&l->groups, chart) || !find_stages(l, n_stages)) {
        return false;
    }
    if (l->groups.n_steps > 0 && !find_usual_step(l)) {
        return false;
    }
    count_labels(l);
    return true;
}

static void finish_candidate(looking *l) {
    ps_chart_groups_fini(&l->groups);
    ps_free(l->rank_of_stage);
    ps_free(l->marks);
}

/* --- candidates -------------------------------------------------------------------------------------------------- */

/* Lists that differ by more are of another schedule. */
#define MAX_DIFFERENCES 64

/* A few stages tell schedules apart: the first, the last, and up to two between. */
static bool is_looked_at(const looking *l, int32_t stage) {
    int32_t last = l->n_stages - 1;
    return l->rank_of_stage[stage] != PS_NO_INDEX &&
           (last < 4 || stage == 0 || stage == last || stage == last / 3 || stage == last * 2 / 3);
}

#define MAX_LOOKED_AT 4

typedef struct stage_list {
    ps_op_list list;
    size_t group;
} stage_list;

/* The list of a device; of exact labels the kinds and codes that fill_marks() gives. */
static ps_code candidate_order_of(const looking *l, const ps_schedule *schedule,
                                  const ps_schedule_params *params, int32_t device,
                                  ps_op_list *list, ps_err *err) {
    ps_code code = ps_schedule_order(schedule, params, device, list, err);
    for (size_t i = 0; code == PS_OK && l->is_exact && i < list->n; i++) {
        ps_sched_op *op = &list->ops[i];
        op->microbatch = code_of(op->kind, op->chunk, op->chunk2, op->microbatch);
        op->kind = op->kind == PS_OP_BI ? PS_OP_B : op->kind;
    }
    return code;
}

static ps_code make_lists(const looking *l, const ps_schedule *schedule,
                          const ps_schedule_params *params, stage_list *lists, size_t *n,
                          ps_err *err) {
    ps_code code = PS_OK;
    for (int32_t s = 0; code == PS_OK && s < l->n_stages; s++) {
        if (is_looked_at(l, s)) {
            stage_list *stage = &lists[(*n)++];
            stage->group = ps_chart_group(&l->groups, l->rank_of_stage[s], l->step);
            code = candidate_order_of(l, schedule, params, s, &stage->list, err);
        }
    }
    return code;
}

/* Lists of such lengths leave too few pairs to agree: nothing needs to be aligned. */
static bool lengths_differ(const looking *l, const stage_list *lists, size_t n) {
    size_t at_most = 0; /* that can agree */
    size_t of = 0;
    for (size_t i = 0; i < n; i++) {
        size_t marks = l->groups.first[lists[i].group + 1] - l->groups.first[lists[i].group];
        at_most += marks < lists[i].list.n ? marks : lists[i].list.n;
        of += marks > lists[i].list.n ? marks : lists[i].list.n;
    }
    return (double)at_most < PS_MIN_AGREEMENT * (double)of;
}

/* How many ops of the step agree with the schedule's lists; none when the lengths tell that it is another. */
static ps_code count_agreeing(looking *l, const ps_schedule *schedule,
                              const ps_schedule_params *params, ps_recognised *out, ps_err *err) {
    stage_list lists[MAX_LOOKED_AT] = {0};
    size_t n_lists = 0;
    *out = (ps_recognised){.schedule = schedule, .params = *params};
    ps_code code = make_lists(l, schedule, params, lists, &n_lists, err);
    bool aligning = code == PS_OK && !lengths_differ(l, lists, n_lists);
    for (size_t i = 0; i < n_lists; i++) {
        ps_alignment alignment = {0};
        if (aligning && code == PS_OK) {
            size_t n = fill_marks(l, lists[i].group);
            code = ps_align_within(l->marks, n, &lists[i].list, MAX_DIFFERENCES, &alignment, err);
            out->n_agreeing += alignment.n_agreeing;
            out->n_ops += n + alignment.n_missing;
        }
        ps_op_list_fini(&lists[i].list);
        ps_alignment_fini(&alignment);
    }
    return code;
}

static bool better(const ps_recognised *a, const ps_recognised *b) {
    if (b->schedule == NULL || a->n_agreeing == 0) {
        return a->n_agreeing > 0;
    }
    return (double)a->n_agreeing * (double)b->n_ops > (double)b->n_agreeing * (double)a->n_ops;
}

static ps_code try_params(looking *l, const ps_schedule *schedule, const ps_schedule_params *params,
                          ps_recognised *best, ps_err *err) {
    ps_recognised candidate;
    if (params->n_microbatches < 1 || schedule->check(params, NULL) != PS_OK) {
        return PS_OK;
    }
    ps_code code = count_agreeing(l, schedule, params, &candidate, err);
    if (code == PS_OK && better(&candidate, best)) {
        *best = candidate;
    }
    return code;
}

/* Exact labels give the size away, and tell variants apart: the group that PyTorch takes where the microbatches are no
 * multiple of the stages, overlapped pairs, a tail of whole backwards. */
static ps_code try_exact(looking *l, const ps_schedule *schedule, ps_recognised *best,
                         ps_err *err) {
    bool any_chunks = (schedule->takes & PS_TAKES_CHUNKS) != 0;
    int32_t chains = schedule->n_chains > 0 ? schedule->n_chains : 1;
    if (l->n_microbatches > PS_MAX_MICROBATCHES / chains ||
        (any_chunks ? l->n_chunks < 2 : l->n_chunks != schedule->n_chunks)) {
        return PS_OK;
    }
    ps_schedule_params params = {.n_stages = l->n_stages,
                                 .n_microbatches = l->n_microbatches * chains,
                                 .n_chunks = any_chunks ? l->n_chunks : 0};
    params.overlap = (schedule->takes & PS_TAKES_OVERLAP) != 0 && l->has_pairs;
    params.pairs_apart =
        !l->has_pairs; /* newer PyTorch runs what DualPipeV overlaps one after the other */
    ps_code code = try_params(l, schedule, &params, best, err);
    int32_t rounds = l->n_microbatches / l->n_stages > 1 ? l->n_microbatches / l->n_stages : 1;
    if (code == PS_OK && (schedule->takes & PS_TAKES_GROUP) != 0) {
        params.group = l->n_microbatches / rounds;
        code = try_params(l, schedule, &params, best, err);
    }
    if (code == PS_OK && (schedule->takes & PS_TAKES_TAIL) != 0) {
        params.tail_full = true;
        code = try_params(l, schedule, &params, best, err);
    }
    return code;
}

/* Tries one schedule; where it lets one choose, with each number of chunks that divides the forwards. */
static ps_code try_schedule(looking *l, const ps_schedule *schedule, int32_t n_microbatches,
                            ps_recognised *best, ps_err *err) {
    if (l->is_exact) {
        return try_exact(l, schedule, best, err);
    }
    bool any_chunks = (schedule->takes & PS_TAKES_CHUNKS) != 0;
    int32_t from = any_chunks ? 2 : schedule->n_chunks;
    int32_t to = any_chunks ? MAX_CHUNKS : schedule->n_chunks;
    int32_t chains = schedule->n_chains > 0 ? schedule->n_chains : 1;
    ps_code code = PS_OK;
    for (int32_t v = from; code == PS_OK && v <= to; v++) {
        int64_t forwards = (int64_t)l->n_forwards * chains;
        int64_t m = n_microbatches > 0 ? n_microbatches : forwards / v;
        if (any_chunks && n_microbatches == 0 && forwards % v != 0) {
            continue;
        }
        ps_schedule_params params = {
            .n_stages = l->n_stages,
            .n_microbatches = (int32_t)(m < PS_MAX_MICROBATCHES ? m : PS_MAX_MICROBATCHES),
            .n_chunks = any_chunks ? v : 0};
        code = try_params(l, schedule, &params, best, err);
    }
    return code;
}

ps_code ps_recognise(const ps_chart *chart, const char *name, int32_t n_stages,
                     int32_t n_microbatches, ps_recognised *out, ps_err *err) {
    *out = (ps_recognised){0};
    const ps_schedule *named = name != NULL && name[0] != '\0' ? ps_schedule_find(name) : NULL;
    looking l;
    ps_code code = start_candidate(&l, chart, n_stages) ? PS_OK : ps_fail_nomem(err);
    bool something = code == PS_OK && l.n_stages > 0 && l.n_forwards > 0;
    for (const ps_schedule *const *s = ps_schedules(); code == PS_OK && something && *s != NULL;
         s++) {
        if (named == NULL || named == *s) {
            code = try_schedule(&l, *s, n_microbatches, out, err);
        }
    }
    finish_candidate(&l);
    return code;
}

double ps_recognised_agreement(const ps_recognised *r) {
    return r->schedule != NULL && r->n_ops > 0 ? (double)r->n_agreeing / (double)r->n_ops : -1.0;
}

const char *ps_unrecognised_text(ps_lang lang, const ps_schedule *nearest, double agreement,
                                 char out[PS_UNRECOGNISED_TEXT]) {
    if (nearest != NULL && agreement > 0) {
        (void)snprintf(
            out, PS_UNRECOGNISED_TEXT,
            PS_SAY(lang,
                   "the schedule was not recognised (%s comes nearest: %.1f %% of the ops agree, "
                   "%.0f %% are needed)",
                   "未识别出调度（%s 最接近：%.1f %% 的算子吻合，需要 %.0f %%）"),
            nearest->name, 100.0 * agreement, 100.0 * PS_MIN_AGREEMENT);
    } else {
        (void)snprintf(
            out, PS_UNRECOGNISED_TEXT,
            PS_SAY(lang,
                   "the schedule was not recognised (none has nearly as many ops on each stage)",
                   "未识别出调度（没有任何调度在各阶段的算子数相近）"));
    }
    return out;
}

/* --- applying ------------------------------------------------------------------------------------------------------ */

static uint64_t candidate_key_of(uint8_t kind, int32_t code) {
    return (uint64_t)kind << 32 | (uint32_t)code;
}

/* The op with exact labels as the schedule shows it: some write a lone forward in another way. */
static bool name_exact(ps_chart *chart, ps_op *op, int32_t per_chunk, int32_t phase) {
    ps_sched_op own = {.kind = (ps_op_kind)op->kind,
                       .chunk = op->chunk,
                       .microbatch = op->microbatch,
                       .chunk2 = op->chunk2,
                       .microbatch2 = op->microbatch2,
                       .phase = phase};
    char label[64];
    ps_op_label(per_chunk, &own, label, sizeof label);
    op->name = ps_arena_strndup(&chart->arena, label, strlen(label));
    return op->name != NULL;
}

/* Exact labels stay; what is missing are ops of the list that no op of the group is, wherever it stands. */
static ps_code apply_exact(looking *l, ps_chart *chart, const ps_recognised *r, size_t group,
                           const ps_op_list *list, size_t *n_missing, ps_err *err) {
    size_t n = fill_marks(l, group);
    size_t n_found = 0;
    ps_idmap listed; /* op -> index in the list */
    ps_idmap_init(&listed);
    int32_t per_chunk = ps_schedule_microbatches(r->schedule, &r->params);
    uint8_t *seen = ps_calloc(list->n, sizeof *seen);
    bool ok = seen != NULL;
    for (size_t i = 0; ok && n > 0 && i < list->n; i++) {
        ok = ps_idmap_put(&listed,
                          candidate_key_of((uint8_t)list->ops[i].kind, list->ops[i].microbatch),
                          (uint32_t)i);
    }
    size_t mark = 0;
    for (size_t i = l->groups.first[group]; ok && n > 0 && i < l->groups.first[group + 1]; i++) {
        ps_op *op = &chart->ops[l->groups.order[i]];
        if (!is_compared(l, op)) {
            continue;
        }
        uint32_t at =
            ps_idmap_get(&listed, candidate_key_of(l->marks[mark].kind, l->marks[mark].microbatch));
        mark++;
        if (at != PS_IDMAP_NONE) {
            n_found += seen[at] == 0;
            seen[at] = 1;
            ok = name_exact(chart, op, per_chunk, list->ops[at].phase);
        }
    }
    *n_missing += n > 0 ? list->n - n_found : 0;
    ps_free(seen);
    ps_idmap_fini(&listed);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* What agrees with nothing is named by its kind alone: its own count may be the name of another op by now. */
static bool name_by_kind(ps_chart *chart, ps_op *op) {
    if (op->microbatch < 0 || (op->kind != PS_OP_F && op->kind != PS_OP_B)) {
        return true;
    }
    op->name = ps_arena_strndup(&chart->arena, op->kind == PS_OP_F ? "FP" : "BP", 2);
    op->microbatch = -1;
    return op->name != NULL;
}

/* Pairs that flows tell: the backward of a forward is known, whatever the order of the list says. */
typedef struct pairs {
    uint32_t *forward_of; /* [n] number of the pair -> forward in the list, PS_NO_INDEX */
    size_t n;
    ps_idmap backwards; /* chunk, microbatch -> backward in the list */
} pairs;

static bool is_forward(ps_op_kind kind) {
    return kind == PS_OP_F || kind == PS_OP_FB;
}

static uint64_t half_key(int32_t chunk, int32_t microbatch) {
    return (uint64_t)(uint32_t)chunk << 32 | (uint32_t)microbatch;
}

/* The k-th forward is the k-th of the list, where none is lost or there is one chunk; else the order tells. */
static ps_code find_forwards(looking *l, size_t group, size_t n_marks, const ps_recognised *r,
                             const ps_op_list *list, pairs *p, ps_err *err) {
    const uint32_t *order = &l->groups.order[l->groups.first[group]];
    size_t n_listed = 0;
    size_t n_forwards = 0;
    for (size_t i = 0; i < list->n; i++) {
        n_listed += is_forward(list->ops[i].kind);
    }
    for (size_t i = 0; i < n_marks; i++) {
        n_forwards += l->chart->ops[order[i]].kind == PS_OP_F;
    }
    if (r->schedule->n_chunks == 1 || n_listed == n_forwards) {
        size_t number = 0;
        for (size_t i = 0; i < list->n && number < p->n; i++) {
            if (is_forward(list->ops[i].kind)) {
                p->forward_of[number++] = (uint32_t)i;
            }
        }
        return PS_OK;
    }
    ps_alignment alignment;
    ps_code code = ps_align(l->marks, n_marks, list, &alignment, err);
    for (size_t i = 0; code == PS_OK && i < n_marks; i++) {
        const ps_op *op = &l->chart->ops[order[i]];
        uint32_t at = alignment.op_of_mark[i];
        if (op->kind == PS_OP_F && op->microbatch >= 0 && at != PS_UNLABELLED) {
            p->forward_of[op->microbatch] = at;
        }
    }
    ps_alignment_fini(&alignment);
    return code;
}

static ps_code pairs_init(pairs *p, looking *l, size_t group, size_t n_marks,
                          const ps_recognised *r, const ps_op_list *list, ps_err *err) {
    const uint32_t *order = &l->groups.order[l->groups.first[group]];
    *p = (pairs){0};
    ps_idmap_init(&p->backwards);
    for (size_t i = 0; i < n_marks; i++) {
        int32_t number = l->chart->ops[order[i]].microbatch;
        p->n = number >= 0 && (size_t)number >= p->n ? (size_t)number + 1 : p->n;
    }
    p->forward_of = ps_calloc(p->n, sizeof *p->forward_of);
    bool ok = p->forward_of != NULL;
    for (size_t i = 0; ok && i < p->n; i++) {
        p->forward_of[i] = PS_NO_INDEX;
    }
    for (size_t i = 0; ok && i < list->n; i++) {
        const ps_sched_op *op = &list->ops[i];
        bool pair = op->kind == PS_OP_FB;
        bool backward = pair || op->kind == PS_OP_B || op->kind == PS_OP_BI;
        uint64_t key =
            half_key(pair ? op->chunk2 : op->chunk, pair ? op->microbatch2 : op->microbatch);
        ok = !backward || ps_idmap_put(&p->backwards, key, (uint32_t)i);
    }
    return ok ? find_forwards(l, group, n_marks, r, list, p, err) : ps_fail_nomem(err);
}

static void pairs_fini(pairs *p) {
    ps_free(p->forward_of);
    ps_idmap_fini(&p->backwards);
}

/* Takes chunk, microbatch and phase; the kind is what flows tell, but for a backward that leaves its weights to later. */
static bool name_pair_half(ps_chart *chart, ps_op *op, int32_t per_chunk, const pairs *p,
                           const ps_op_list *list, uint32_t *at) {
    bool known = op->microbatch >= 0 && (size_t)op->microbatch < p->n;
    uint32_t forward = known ? p->forward_of[op->microbatch] : PS_NO_INDEX;
    *at = forward;
    if (forward != PS_NO_INDEX && op->kind != PS_OP_F) {
        const ps_sched_op *f = &list->ops[forward];
        *at = ps_idmap_get(&p->backwards, half_key(f->chunk, f->microbatch));
        *at = *at == PS_IDMAP_NONE ? PS_NO_INDEX : *at;
    }
    if (*at == PS_NO_INDEX) {
        return name_by_kind(chart, op);
    }
    const ps_sched_op *f = &list->ops[forward];
    op->kind = list->ops[*at].kind == PS_OP_BI ? (uint8_t)PS_OP_BI : op->kind;
    op->chunk = (int8_t)f->chunk;
    op->microbatch = f->microbatch;
    return name_exact(chart, op, per_chunk, list->ops[*at].phase);
}

static ps_code apply_inferred(looking *l, ps_chart *chart, const ps_recognised *r, size_t group,
                              const ps_op_list *list, size_t *n_missing, ps_err *err) {
    size_t n = fill_marks(l, group);
    int32_t per_chunk = ps_schedule_microbatches(r->schedule, &r->params);
    size_t n_found = 0;
    pairs p;
    ps_code code = pairs_init(&p, l, group, n, r, list, err);
    uint8_t *seen = ps_calloc(list->n, sizeof *seen);
    bool ok = code == PS_OK && seen != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t at = PS_NO_INDEX;
        ps_op *op = &chart->ops[l->groups.order[l->groups.first[group] + i]];
        ok = name_pair_half(chart, op, per_chunk, &p, list, &at);
        if (at != PS_NO_INDEX) {
            n_found += seen[at] == 0;
            seen[at] = 1;
        }
    }
    *n_missing += ok ? list->n - n_found : 0;
    ps_free(seen);
    pairs_fini(&p);
    return ok || code != PS_OK ? code : ps_fail_nomem(err);
}

static bool name_aligned(ps_chart *chart, ps_op *op, const ps_sched_op *theory, int32_t per_chunk,
                         bool agrees) {
    char label[64];
    ps_op_label(per_chunk, theory, label, sizeof label);
    op->name = ps_arena_strndup(&chart->arena, label, strlen(label));
    op->kind = (uint8_t)theory->kind;
    op->chunk = (int8_t)theory->chunk;
    op->microbatch = theory->microbatch;
    op->chunk2 = (int8_t)theory->chunk2;
    op->microbatch2 = theory->microbatch2;
    op->source = agrees ? PS_SOURCE_MARK : PS_SOURCE_ALIGNED;
    return op->name != NULL;
}

static ps_code apply_aligned(looking *l, ps_chart *chart, const ps_recognised *r, size_t group,
                             const ps_op_list *list, size_t *n_missing, ps_err *err) {
    size_t n = fill_marks(l, group);
    ps_alignment alignment;
    ps_code code = ps_align(l->marks, n, list, &alignment, err);
    int32_t per_chunk = ps_schedule_microbatches(r->schedule, &r->params);
    bool ok = true;
    *n_missing += code == PS_OK && n > 0 ? alignment.n_missing : 0;
    for (size_t i = 0; code == PS_OK && ok && i < n; i++) {
        ps_op *op = &chart->ops[l->groups.order[l->groups.first[group] + i]];
        uint32_t at = alignment.op_of_mark[i];
        ok = at == PS_UNLABELLED
                 ? name_by_kind(chart, op)
                 : name_aligned(chart, op, &list->ops[at], per_chunk, alignment.cost == 0);
    }
    ps_alignment_fini(&alignment);
    return ok ? code : ps_fail_nomem(err);
}

static ps_code apply_group(looking *l, ps_chart *chart, const ps_recognised *r, size_t group,
                           const ps_op_list *list, size_t *n_missing, ps_err *err) {
    size_t first = l->groups.first[group];
    bool any = first < l->groups.first[group + 1];
    if (l->is_exact) {
        return apply_exact(l, chart, r, group, list, n_missing, err);
    }
    return any && chart->ops[l->groups.order[first]].source == PS_SOURCE_INFERRED
               ? apply_inferred(l, chart, r, group, list, n_missing, err)
               : apply_aligned(l, chart, r, group, list, n_missing, err);
}

static ps_code apply_rank(looking *l, ps_chart *chart, const ps_recognised *r, uint32_t rank,
                          size_t *n_missing, ps_err *err) {
    ps_op_list list = {0};
    int32_t stage = chart->ranks[rank].stage;
    if (stage < 0 || stage >= r->params.n_stages) {
        return PS_OK;
    }
    ps_code code = candidate_order_of(l, r->schedule, &r->params, stage, &list, err);
    for (size_t step = 0; code == PS_OK && step < l->groups.n_steps; step++) {
        code =
            apply_group(l, chart, r, ps_chart_group(&l->groups, rank, step), &list, n_missing, err);
    }
    ps_op_list_fini(&list);
    return code;
}

ps_code ps_apply_schedule(ps_chart *chart, const ps_recognised *r, const char *how,
                          size_t *n_missing, ps_err *err) {
    looking l;
    *n_missing = 0;
    ps_code code = start_candidate(&l, chart, r->params.n_stages) ? PS_OK : ps_fail_nomem(err);
    for (uint32_t rank = 0; code == PS_OK && rank < chart->n_ranks; rank++) {
        code = apply_rank(&l, chart, r, rank, n_missing, err);
    }
    finish_candidate(&l);
    char text[96];
    (void)snprintf(
        text, sizeof text,
        PS_SAY(chart->lang, "recognised, %.1f %% of ops agree", "自动识别，%.1f %% 的算子吻合"),
        r->n_ops > 0 ? 100.0 * (double)r->n_agreeing / (double)r->n_ops : 0.0);
    if (code == PS_OK && (!ps_chart_set_text(chart, chart->title, r->schedule->name) ||
                          !ps_chart_set_how(chart, how[0] != '\0' ? how : text))) {
        code = ps_fail_nomem(err);
    }
    return code;
}
