/* pp_labels: the pipeline chart of traces whose ops were named by anything but marks in an Ascend database: labels of
 * frameworks, rules of the user, jobs, or the flows of autograd. Only the chart command uses it.
 *
 * Round 1, map: the ops of a rank, its transfers, what its metadata says. Reduce: one source for the whole job, stages
 * and chunks, then the chart as from marks (measured_chart.h, pipeline.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/recorded_clock.h"
#include "analyze/comm/skew.h"
#include "analyze/comm/topology.h"
#include "analyze/comm/transfers.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/pipeline/device_work.h"
#include "analyze/pipeline/infer_flows.h"
#include "analyze/pipeline/job_places.h"
#include "analyze/pipeline/label_reasons.h"
#include "analyze/pipeline/measured_chart.h"
#include "analyze/pipeline/pipeline.h"
#include "analyze/pipeline/rank_labels.h"
#include "analyze/rank/thinned.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "schedule/schedule.h"

typedef struct partial {
    ps_arena arena;
    ps_rank_facts facts;
    ps_rank_labels labels;
    ps_transfers transfers;
    ps_comm_part *comm; /* shared with other analyses of the run */
    ps_intervals rest;  /* work of the device in no op */
    bool has_work;      /* what the device did is known */
    ps_thinned thinned;
    const char *host; /* name of the machine, "" unknown */
} partial;

static void free_labelled_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_rank_labels_fini(&part->labels);
        ps_transfers_fini(&part->transfers);
        ps_comm_part_free(part->comm);
        ps_intervals_fini(&part->rest);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

/* --- map --------------------------------------------------------------------------------------------------------- */

static bool read_host(const ps_trace *trace, partial *part) {
    static const char *const KEYS[] = {"host_name", "hostname", "hostName"};
    part->host = "";
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const char *name = ps_trace_meta(trace, KEYS[i]);
        if (name != NULL && name[0] != '\0' && part->host[0] == '\0') {
            part->host = ps_arena_strndup(&part->arena, name, strlen(name));
        }
    }
    return part->host != NULL;
}

/* Jobs are all that the logs of an executor tell of a device, but for timelines that show communication, too. */
static ps_code explain_labelled_work(const ps_trace *trace, partial *part, ps_err *err) {
    ps_rank_labels *labels = &part->labels;
    if (labels->n == 0 || labels->host_times ||
        (labels->source == PS_LABELS_JOB && part->comm->list.n == 0)) {
        return PS_OK;
    }
    ps_intervals work = {0};
    ps_explaining e;
    ps_code code = ps_device_work_collect(trace, &work, err);
    ps_explaining_init(&e, &work);
    bool ok = code == PS_OK;
    for (size_t i = 0; ok && i < labels->n; i++) {
        ps_labelled *op = &labels->ops[i];
        ok = ps_explain_op(&e, op->mark.start_ns, op->mark.end_ns, &op->work_ns);
    }
    ok = ps_explaining_rest(&e, &part->rest) && ok;
    part->has_work = work.n > 0;
    ps_intervals_fini(&work);
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

static ps_code collect_labelled(const ps_map_input *in, partial *part, ps_err *err) {
    ps_code code = ps_rank_facts_keep(in, &part->arena, &part->facts, err);
    if (code == PS_OK) {
        code = read_host(in->trace, part) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        code = ps_rank_labels_read(in, &part->labels, err);
    }
    if (code == PS_OK) {
        code = ps_transfers_collect(in->trace, in->opts, in->rank->rank, &part->transfers, in->diag,
                                    err);
    }
    if (code == PS_OK) {
        const ps_links *links = ps_derived_links(in->derived, err);
        code = links != NULL ? ps_comm_part_whole(in, &part->comm, err) : PS_NOMEM;
        code = code == PS_OK ? ps_thinned_measure(links, &part->thinned, err) : code;
    }
    if (code == PS_OK) {
        code = explain_labelled_work(in->trace, part, err);
    }
    if (code == PS_OK && part->labels.n == 0) {
        code = ps_fail(err, PS_NOTHING, "%s", ps_why_no_labels(in->opts, &part->labels));
    }
    return code;
}

static ps_code map_labelled(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_arena_init(&part->labels.arena);
    ps_code code = collect_labelled(in, part, err);
    if (code != PS_OK && code != PS_NOTHING) {
        free_labelled_partial(part);
        return code;
    }
    *out = part;
    return code;
}

/* --- the job as a whole ------------------------------------------------------------------------------------------ */

typedef struct job {
    const ps_reduce_input *in;
    ps_label_source source;
    bool is_exact; /* every op is named in full */
    bool any_host_times;
    bool is_tried;          /* nothing says that the ranks are a pipeline */
    int32_t n_microbatches; /* in each chunk, as the labels name them */
    ps_job job;
    ps_rank_place_facts *ranks; /* [n_ranks] */
    ps_places places;
    ps_mark_list *marks;     /* [n_ranks] */
    ps_given_label **labels; /* [n_ranks] */
    ps_measured_rank *measured;
    uint32_t *row_of;    /* [n_ranks] in the chart's ranks, PS_NO_INDEX */
    int32_t *pipelines;  /* [n_ranks] */
    ps_p2p_list **lists; /* [n_ranks] */
    ps_arena arena;      /* labels */
    ps_diag *diag;       /* of the first rank in the chart */
} job;

static const partial *part_of(const job *j, size_t r) {
    return j->in->partials[r];
}

static bool job_init(job *j) {
    size_t n = j->in->n_ranks;
    ps_arena_init(&j->arena);
    j->ranks = ps_calloc(n, sizeof *j->ranks);
    j->marks = ps_calloc(n, sizeof *j->marks);
    j->labels = ps_calloc(n, sizeof *j->labels);
    j->measured = ps_calloc(n, sizeof *j->measured);
    j->row_of = ps_calloc(n, sizeof *j->row_of);
    j->pipelines = ps_calloc(n, sizeof *j->pipelines);
    j->lists = ps_calloc(n, sizeof *j->lists);
    return j->ranks != NULL && j->marks != NULL && j->labels != NULL && j->measured != NULL &&
           j->row_of != NULL && j->pipelines != NULL && j->lists != NULL;
}

static void job_fini(job *j) {
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        if (j->marks != NULL) {
            ps_mark_list_fini(&j->marks[r]);
        }
        if (j->labels != NULL) {
            ps_free(j->labels[r]);
        }
    }
    ps_free(j->ranks);
    ps_free(j->marks);
    ps_free(j->labels);
    ps_free(j->measured);
    ps_free(j->row_of);
    ps_free(j->pipelines);
    ps_free(j->lists);
    ps_places_fini(&j->places);
    ps_arena_fini(&j->arena);
}

/* One source for all ranks: the best that any of them has. */
static void choose_source(job *j) {
    bool any_exact = false;
    j->source = PS_LABELS_NONE;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const partial *part = part_of(j, r);
        bool better = part != NULL && part->labels.n > 0 && part->labels.source < j->source;
        j->source = better ? part->labels.source : j->source;
        any_exact = any_exact || (part != NULL && part->labels.n > 0 && part->labels.are_marks);
    }
    j->source = any_exact && j->source == PS_LABELS_MARKS ? PS_LABELS_ACTION : j->source;
    bool named = j->source == PS_LABELS_USER || j->source == PS_LABELS_ACTION ||
                 j->source == PS_LABELS_MICROBATCH || j->source == PS_LABELS_JOB;
    j->is_exact = named;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const partial *part = part_of(j, r);
        if (part == NULL || part->labels.n == 0) {
            continue;
        }
        j->ranks[r].is_in = part->labels.source == j->source;
        if (j->ranks[r].is_in) {
            j->is_exact = j->is_exact && part->labels.is_numbered;
            j->any_host_times = j->any_host_times || part->labels.host_times;
        } else {
            ps_diag_count(j->in->diags[r], PS_ODD_OTHER_LABELS, 1);
        }
    }
}

/* Late 2024 PyTorch called the input gradient B and the whole backward BW. */
static void resolve_revision(job *j) {
    bool has_i = false;
    bool has_w = false;
    bool has_bw = false;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const partial *part = part_of(j, r);
        has_i = has_i || (j->ranks[r].is_in && part->labels.has_i);
        has_w = has_w || (j->ranks[r].is_in && part->labels.has_w);
        has_bw = has_bw || (j->ranks[r].is_in && part->labels.has_bw);
    }
    bool old = j->source == PS_LABELS_ACTION && (has_bw || (has_w && !has_i));
    for (size_t r = 0; old && r < j->in->n_ranks; r++) {
        partial *part = j->in->partials[r];
        for (size_t i = 0; j->ranks[r].is_in && i < part->labels.n; i++) {
            ps_host_label *l = &part->labels.ops[i].label;
            if (l->kind == PS_OP_B && l->action == PS_ACTION_B) {
                l->kind = PS_OP_BI;
            }
        }
    }
}

/* Windows that hold several steps each, on every rank, are none of the pipeline's; else they stay, and labels that stand
 * twice in one are counted. False when memory is out. */
static bool resolve_windows(job *j) {
    bool split = j->source != PS_LABELS_JOB;
    bool ok = true;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const partial *part = part_of(j, r);
        split = split && (!j->ranks[r].is_in || part->labels.is_always_twice);
    }
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        partial *part = j->in->partials[r];
        if (j->ranks[r].is_in) {
            ok = !split || ps_rank_labels_split(&part->labels);
            ps_diag_count(j->in->diags[r], PS_ODD_LABEL_TWICE, part->labels.n_twice);
        }
    }
    return ok;
}

/* --- stages ------------------------------------------------------------------------------------------------------ */

static bool has_stage(const ps_rank_place_facts *f, int32_t stage) {
    size_t low = 0; /* stages[0..low) are smaller */
    while (low < f->n_stages && f->stages[low] < stage) {
        low++;
    }
    return low < f->n_stages && f->stages[low] == stage;
}

/* Adds a stage to the ascending list of the rank; too many are left out, and their ops with them. */
static void add_stage(ps_rank_place_facts *f, int32_t stage) {
    size_t at = 0;
    while (at < f->n_stages && f->stages[at] < stage) {
        at++;
    }
    if (stage < 0 || has_stage(f, stage) || f->n_stages == PS_MAX_RANK_CHUNKS) {
        return;
    }
    memmove(&f->stages[at + 1], &f->stages[at], (f->n_stages - at) * sizeof *f->stages);
    f->stages[at] = stage;
    f->n_stages++;
}

static void describe_rank(job *j, size_t r) {
    const partial *part = part_of(j, r);
    ps_rank_place_facts *f = &j->ranks[r];
    f->rank = j->in->ranks[r].rank;
    f->facts = part != NULL ? &part->facts : NULL;
    for (size_t i = 0; f->is_in && i < part->labels.n; i++) {
        const ps_host_label *l = &part->labels.ops[i].label;
        if (!ps_label_is_op(l->kind)) {
            continue;
        }
        if (j->source == PS_LABELS_ACTION) {
            add_stage(f, l->stage);
            add_stage(f, l->stage2);
        }
        j->n_microbatches =
            l->microbatch >= j->n_microbatches ? l->microbatch + 1 : j->n_microbatches;
        j->n_microbatches =
            l->microbatch2 >= j->n_microbatches ? l->microbatch2 + 1 : j->n_microbatches;
    }
}

/* Pairs of ranks that exchange transfers; global rank numbers only. False when memory is out. */
static bool find_exchange(const job *j, ps_rank_pair **pairs, size_t *n) {
    size_t cap = 0;
    ps_idmap rows; /* global rank -> row */
    ps_idmap seen;
    ps_idmap_init(&rows);
    ps_idmap_init(&seen);
    bool ok = true;
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        ok = j->in->ranks[r].rank < 0 || !j->ranks[r].is_in ||
             ps_idmap_put(&rows, (uint64_t)j->in->ranks[r].rank, (uint32_t)r);
    }
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        const partial *part = part_of(j, r);
        bool usable = part != NULL && j->ranks[r].is_in && part->transfers.p2p_is_global;
        for (size_t i = 0; ok && usable && i < part->transfers.p2p.n; i++) {
            const ps_p2p_op *op = &part->transfers.p2p.ops[i];
            uint32_t a = ps_idmap_get(&rows, (uint64_t)op->sender);
            uint32_t b = ps_idmap_get(&rows, (uint64_t)op->receiver);
            uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
            if (a == PS_IDMAP_NONE || b == PS_IDMAP_NONE || a == b ||
                ps_idmap_get(&seen, key) != PS_IDMAP_NONE) {
                continue;
            }
            ok = ps_idmap_put(&seen, key, 0) &&
                 ps_grow(pairs, &cap, *n + 1, UINT32_MAX, sizeof **pairs);
            if (ok) {
                (*pairs)[(*n)++] = (ps_rank_pair){a, b};
            }
        }
    }
    ps_idmap_fini(&rows);
    ps_idmap_fini(&seen);
    return ok;
}

static const char *const HOW_TRIED[PS_N_LANGS] = {
    "as many stages as ranks, in their order: tried, for nothing says how many there are (--pp)",
    "阶段数等于 rank 数，按 rank 顺序：此为尝试，没有信息说明阶段数（--pp）"};

static bool any_p2p(const job *j) {
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        if (j->ranks[r].is_in && part_of(j, r)->transfers.p2p.n > 0) {
            return true;
        }
    }
    return false;
}

/* Of every rank and step. NULL when memory is out. */
static ps_inferred_count *count_inferred(const job *j, size_t *n_counts) {
    size_t n_ops = 0;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        n_ops += j->ranks[r].is_in ? part_of(j, r)->labels.n : 0;
    }
    ps_inferred_count *counts = ps_calloc(n_ops, sizeof *counts);
    ps_idmap rows; /* step -> row in counts, of the rank looked at */
    ps_idmap_init(&rows);
    bool ok = counts != NULL;
    *n_counts = 0;
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        ps_place place = j->places.places[r];
        ps_idmap_fini(&rows);
        ps_idmap_init(&rows);
        for (size_t i = 0; ok && j->ranks[r].is_in && i < part_of(j, r)->labels.n; i++) {
            const ps_labelled *op = &part_of(j, r)->labels.ops[i];
            uint32_t row = ps_idmap_get(&rows, (uint64_t)op->mark.step);
            if (row == PS_IDMAP_NONE) {
                row = (uint32_t)(*n_counts)++;
                counts[row] = (ps_inferred_count){.step = op->mark.step,
                                                  .rank = j->in->ranks[r].rank,
                                                  .pipeline = place.pipeline,
                                                  .stage = place.stage,
                                                  .n_twice = part_of(j, r)->labels.n_twice_run};
                ok = ps_idmap_put(&rows, (uint64_t)op->mark.step, row);
            }
            counts[row].n_forwards += op->label.kind == PS_OP_F;
        }
    }
    ps_idmap_fini(&rows);
    if (!ok) {
        ps_free(counts);
    }
    return ok ? counts : NULL;
}

/* Whether every rank holds the whole model, as far as it can be told. */
static bool are_replicas(const job *j) {
    size_t n = 0;
    bool all = true;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        n += j->ranks[r].is_in;
        all = all && (!j->ranks[r].is_in || part_of(j, r)->labels.is_replica);
    }
    return all && n > 0;
}

static ps_code check_inferred(const job *j, ps_err *err) {
    size_t n = 0;
    ps_inferred_count *counts = count_inferred(j, &n);
    if (counts == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_inferred_check(counts, n, err);
    ps_free(counts);
    return code;
}

static ps_code resolve_places(job *j, ps_err *err) {
    const ps_rank_facts **facts = ps_calloc(j->in->n_ranks, sizeof *facts);
    ps_rank_pair *pairs = NULL;
    size_t n_pairs = 0;
    if (facts == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        describe_rank(j, r);
        facts[r] = j->ranks[r].facts;
    }
    j->job = ps_job_from(facts, j->in->diags, j->in->n_ranks, j->in->opts);
    ps_free(facts);
    ps_code code = ps_job_check(&j->job, err);
    if (code == PS_OK) {
        code =
            find_exchange(j, &pairs, &n_pairs)
                ? ps_places_find(j->ranks, j->in->n_ranks, &j->job, pairs, n_pairs, &j->places, err)
                : ps_fail_nomem(err);
    }
    ps_free(pairs);
    bool is_pipeline = j->places.n_stages > 1 && !j->places.is_guess;
    if (code == PS_OK && j->source == PS_LABELS_FLOWS && !is_pipeline && j->in->opts->pp == 0 &&
        are_replicas(j)) {
        return ps_fail_replicas(err);
    }
    if (code == PS_OK && j->source == PS_LABELS_FLOWS && j->places.n_stages < 2) {
        return ps_fail_one_stage(j->in->opts, j->job.n_stages == 1, err);
    }
    j->is_tried = j->source == PS_LABELS_FLOWS && j->places.is_guess && !any_p2p(j);
    if (j->is_tried) {
        j->places.how = HOW_TRIED;
    }
    return code == PS_OK && j->source == PS_LABELS_FLOWS ? check_inferred(j, err) : code;
}

/* --- ops --------------------------------------------------------------------------------------------------------- */

/* Chunk = order of the stage among those of the rank. */
static int32_t chunk_of(const job *j, size_t r, int32_t stage) {
    const ps_rank_place_facts *f = &j->ranks[r];
    for (size_t c = 0; j->source == PS_LABELS_ACTION && c < f->n_stages; c++) {
        if (f->stages[c] == stage) {
            return (int32_t)c;
        }
    }
    bool is_chunk = j->source == PS_LABELS_JOB || j->source == PS_LABELS_USER;
    return is_chunk && stage >= 0 ? stage : 0;
}

/* False when memory is out. */
static bool name_exact(job *j, size_t r, const ps_labelled *op, ps_given_label *out) {
    const ps_host_label *l = &op->label;
    bool pair = l->kind == PS_OP_FB;
    *out = (ps_given_label){.name = op->name != NULL ? op->name : "",
                            .type = -1,
                            .source = PS_SOURCE_MARK,
                            .has_op = true,
                            .op = {.kind = l->kind,
                                   .chunk = chunk_of(j, r, l->stage),
                                   .microbatch = l->microbatch,
                                   .chunk2 = pair ? chunk_of(j, r, l->stage2) : -1,
                                   .microbatch2 = pair ? l->microbatch2 : -1,
                                   .phase = -1}};
    if (l->kind != PS_OP_OTHER) {
        char text[64];
        ps_op_label(j->n_microbatches, &out->op, text, sizeof text);
        out->name = ps_arena_strndup(&j->arena, text, strlen(text));
    }
    return out->name != NULL;
}

static bool name_by_kind(job *j, const ps_labelled *op, ps_given_label *out) {
    ps_op_kind kind = op->label.kind;
    bool inferred = j->source == PS_LABELS_FLOWS;
    *out = (ps_given_label){.name = op->name != NULL   ? op->name
                                    : kind == PS_OP_F  ? "FP"
                                    : kind == PS_OP_FB ? "F+B"
                                    : kind == PS_OP_BW ? "W"
                                                       : "BP",
                            .source = inferred ? PS_SOURCE_INFERRED : PS_SOURCE_MESSAGE};
    if (inferred) {
        char text[32];
        (void)snprintf(text, sizeof text, kind == PS_OP_F ? "%d" : "%dB", (int)op->mark.microbatch);
        out->name = ps_arena_strndup(&j->arena, text, strlen(text));
    }
    return out->name != NULL;
}

/* Only so many stages of a rank are told apart. */
static bool is_placed(const job *j, size_t r, const ps_host_label *l) {
    const ps_rank_place_facts *f = &j->ranks[r];
    return j->source != PS_LABELS_ACTION || !ps_label_is_op(l->kind) ||
           (has_stage(f, l->stage) && (l->kind != PS_OP_FB || has_stage(f, l->stage2)));
}

static bool make_marks(job *j, size_t r) {
    const partial *part = part_of(j, r);
    ps_mark_list *list = &j->marks[r];
    if (!ps_grow(&list->marks, &list->cap, part->labels.n, UINT32_MAX, sizeof *list->marks)) {
        return false;
    }
    j->labels[r] = ps_calloc(part->labels.n, sizeof **j->labels);
    bool ok = j->labels[r] != NULL;
    size_t n = 0;
    for (size_t i = 0; ok && i < part->labels.n; i++) {
        const ps_labelled *op = &part->labels.ops[i];
        if (!is_placed(j, r, &op->label)) {
            ps_diag_add(j->in->diags[r], PS_ODD_RANK_STAGES, "stage %d", (int)op->label.stage);
            continue;
        }
        list->marks[n] = op->mark;
        list->marks[n].kind = (uint8_t)op->label.kind;
        ok = j->is_exact ? name_exact(j, r, op, &j->labels[r][n])
                         : name_by_kind(j, op, &j->labels[r][n]);
        j->labels[r][n].work_ns = op->work_ns;
        j->labels[r][n].parts = op->n_parts > 0 ? &part->labels.parts[op->first_part] : NULL;
        j->labels[r][n].n_parts = op->n_parts;
        n++;
    }
    list->n = ok ? n : 0;
    list->n_selected = list->n;
    if (j->source == PS_LABELS_FLOWS) {
        ps_diag_count(j->in->diags[r], PS_ODD_INFERRED, list->n);
    }
    return ok;
}

static bool recorded_machines(const job *j, int32_t *machines) {
    const ps_recorded_clock **clocks = ps_calloc(j->in->n_ranks, sizeof *clocks);
    for (size_t r = 0; clocks != NULL && r < j->in->n_ranks; r++) {
        clocks[r] = part_of(j, r) != NULL ? &part_of(j, r)->facts.clock : NULL;
    }
    bool ok = clocks != NULL && ps_recorded_machines(clocks, j->in->n_ranks, machines);
    ps_free(clocks);
    return ok;
}

/* Machines by the names that the traces carry, else by where the files were found. False when memory is out. */
static bool number_labelled_machines(const job *j, int32_t *machines) {
    ps_strpool hosts;
    if (!ps_strpool_init(&hosts)) {
        return false;
    }
    bool any = false;
    bool ok = true;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        any = any || (part_of(j, r) != NULL && part_of(j, r)->host[0] != '\0');
    }
    ps_idmap numbers; /* text id -> number */
    ps_idmap_init(&numbers);
    uint32_t n = 0;
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        const char *host = part_of(j, r) != NULL ? part_of(j, r)->host : "";
        machines[r] = any ? -1 : j->in->ranks[r].machine;
        if (!any || host[0] == '\0') {
            continue;
        }
        ps_str id = ps_strpool_add(&hosts, host, strlen(host));
        uint32_t number = ps_idmap_get(&numbers, id.id);
        if (number == PS_IDMAP_NONE) {
            number = n++;
            ok = !ps_str_is_none(id) && ps_idmap_put(&numbers, id.id, number);
        }
        machines[r] = (int32_t)number;
    }
    ps_idmap_fini(&numbers);
    ps_strpool_fini(&hosts);
    return ok && (any || recorded_machines(j, machines));
}

static ps_code measure_ranks(job *j, ps_err *err) {
    int32_t *machines = ps_calloc(j->in->n_ranks, sizeof *machines);
    bool ok = machines != NULL && number_labelled_machines(j, machines);
    uint32_t n_rows = 0;
    for (size_t r = 0; ok && r < j->in->n_ranks; r++) {
        partial *part = j->in->partials[r];
        ps_place place = j->places.places[r];
        bool in = j->ranks[r].is_in && place.stage >= 0;
        j->row_of[r] = in ? n_rows++ : PS_NO_INDEX;
        j->pipelines[r] = place.pipeline;
        j->lists[r] = part != NULL ? &part->transfers.p2p : NULL;
        j->measured[r] = (ps_measured_rank){.rank = j->in->ranks[r].rank, .place = place};
        if (j->ranks[r].is_in && !in) {
            ps_diag_count(j->in->diags[r], PS_ODD_STAGE_UNKNOWN, 1);
        }
        if (in) {
            ok = make_marks(j, r);
            j->diag = j->diag == NULL ? j->in->diags[r] : j->diag;
            j->measured[r].marks = &j->marks[r];
            j->measured[r].labels = j->labels[r];
            j->measured[r].no_host = j->source == PS_LABELS_JOB;
            j->measured[r].machine = machines[r];
            j->measured[r].clock = part->facts.clock;
            j->measured[r].rest = part->has_work ? &part->rest : NULL;
            j->measured[r].p2p = &part->transfers.p2p;
        }
    }
    ps_free(machines);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- clocks ------------------------------------------------------------------------------------------------------ */

/* Collectives of the ranks in the chart, as the job's matcher finds them; rows of the chart, times from its origin. */
static ps_code find_collectives(const job *j, int64_t origin, ps_clock_collective **out, size_t *n,
                                ps_err *err) {
    const ps_comm_list **lists = ps_calloc(j->in->n_ranks + 1, sizeof(ps_comm_list *));
    ps_rank_info *infos = ps_calloc(j->in->n_ranks + 1, sizeof *infos);
    ps_skew skew = {0};
    ps_skew_input in = {.lists = lists, .ranks = infos, .n_ranks = j->in->n_ranks, .step = -1};
    ps_code code = lists != NULL && infos != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < j->in->n_ranks; r++) {
        const ps_comm_part *comm = j->row_of[r] != PS_NO_INDEX ? part_of(j, r)->comm : NULL;
        lists[r] = comm != NULL ? &comm->list : NULL;
        infos[r] = j->in->ranks[r];
        infos[r].machine = j->measured[r].machine;
    }
    code = code == PS_OK ? ps_skew_measure(&in, &skew, err) : code;
    if (code == PS_OK && !ps_skew_clock_collectives(&in, &skew, out, n)) {
        code = ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < *n; i++) {
        ps_clock_collective *m = &(*out)[i];
        *m = (ps_clock_collective){.a = j->row_of[m->a],
                                   .b = j->row_of[m->b],
                                   .a_start_ns = ps_i64_minus(m->a_start_ns, origin),
                                   .a_end_ns = ps_i64_minus(m->a_end_ns, origin),
                                   .b_start_ns = ps_i64_minus(m->b_start_ns, origin),
                                   .b_end_ns = ps_i64_minus(m->b_end_ns, origin)};
    }
    ps_skew_fini(&skew);
    ps_free(lists);
    ps_free(infos);
    return code;
}

/* --- the chart --------------------------------------------------------------------------------------------------- */

/* "; labels cut ..." of labels that hold more than computing, or of ops that hold less than what was done for them, into out. */
static void describe_trimmed(const job *j, ps_chart *chart, char *out, size_t size) {
    ps_chart_trimmed *sum = &chart->trimmed;
    size_t n_untrimmed = 0;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        if (j->row_of[r] == PS_NO_INDEX) {
            continue;
        }
        const ps_rank_labels *labels = &part_of(j, r)->labels;
        sum->n_labels += labels->trimmed.n_labels;
        sum->labelled_ns = ps_i64_plus(sum->labelled_ns, labels->trimmed.labelled_ns);
        sum->trimmed_ns = ps_i64_plus(sum->trimmed_ns, labels->trimmed.trimmed_ns);
        n_untrimmed += labels->n_untrimmed;
        chart->is_at_most = chart->is_at_most || labels->n_narrow > 0;
    }
    int n = 0;
    if (sum->labelled_ns > 0) {
        n = snprintf(out, size,
                     PS_SAY(chart->lang,
                            "; labels cut to the computing inside: %.1f %% of their time was "
                            "receiving, waiting and sending",
                            "；标签仅保留其中的计算：%.1f %% 的时间是接收、等待与发送"),
                     100.0 * (double)sum->trimmed_ns / (double)sum->labelled_ns);
    }
    if (n_untrimmed > 0 && n >= 0 && (size_t)n < size) {
        (void)snprintf(out + n, size - (size_t)n,
                       PS_SAY(chart->lang,
                              "; %zu labels hold their waits, which count as busy: no operator in "
                              "the trace tells them apart",
                              "；%zu 个标签包含等待，按忙计：数据中没有算子可将其区分"),
                       n_untrimmed);
    } else if (chart->is_at_most) {
        (void)snprintf(
            out, size, "%s",
            PS_SAY(chart->lang,
                   "; the trace does not say how long transfers took: what the host did outside of "
                   "operators counts as bubble, which is less than that, by an unknown part",
                   "；数据未说明传输耗时：主机在算子之外的时间计为空泡，实际空泡更少，少多少未知"));
    }
}

static bool describe_labelled(const job *j, ps_chart *chart) {
    char text[768];
    char trimmed[256] = "";
    describe_trimmed(j, chart, trimmed, sizeof trimmed);
    const ps_lang lang = chart->lang;
    (void)snprintf(
        text, sizeof text, PS_SAY(lang, "%s; %s%s; %s", "%s；%s%s；%s"),
        ps_label_source_text(lang, j->source),
        j->source == PS_LABELS_JOB ? PS_SAY(lang, "device times as logged", "设备时间取自日志")
        : j->source == PS_LABELS_MARKS
            ? PS_SAY(lang, "device times of the marks", "设备时间取自打点")
        : j->any_host_times
            ? PS_SAY(lang, "host times: no device in the trace", "主机时间：数据中没有设备")
            : PS_SAY(lang, "device times of the kernels launched inside",
                     "设备时间取自区间内下发的核函数"),
        trimmed, j->places.how[lang]);
    return ps_chart_set_labels(chart, text);
}

/* Where each piece of the model lies, as far as labels say so: actions name stages of the whole model, jobs and rules of
 * one chunk are of a plain pipeline. False when memory is out. */
static bool find_pieces(const job *j, ps_model_places *out, int32_t **table) {
    int32_t n_stages = j->places.n_stages;
    int32_t n_chunks = j->source == PS_LABELS_ACTION ? j->places.n_chunks : 1;
    bool known = true; /* chunks of a user may lie in any way */
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        known = known && (!j->ranks[r].is_in || part_of(j, r)->labels.n_chunks <= 1);
    }
    size_t n = (size_t)n_stages * (size_t)n_chunks;
    *out = (ps_model_places){0};
    if (!known || !j->is_exact || n_stages <= 0 || n_stages > PS_MAX_STAGES) {
        return true;
    }
    *table = ps_calloc(n, sizeof **table);
    for (size_t i = 0; *table != NULL && i < n; i++) {
        (*table)[i] = j->source == PS_LABELS_ACTION ? -1 : (int32_t)i;
        out->n_logical = (int32_t)n_stages;
    }
    for (size_t r = 0; *table != NULL && r < j->in->n_ranks; r++) {
        int32_t stage = j->places.places[r].stage;
        const ps_rank_place_facts *f = &j->ranks[r];
        for (size_t c = 0; stage >= 0 && stage < n_stages && c < f->n_stages; c++) {
            (*table)[(size_t)stage * (size_t)n_chunks + c] = f->stages[c];
            out->n_logical = f->stages[c] >= out->n_logical ? f->stages[c] + 1 : out->n_logical;
        }
    }
    out->logical = *table;
    out->n_stages = n_stages;
    out->n_chunks = n_chunks;
    return *table != NULL;
}

/* The rank of whose capture most is missing, where that is too much: what ran in between is unknown. */
static void describe_thinned(const job *j, char *out, size_t size) {
    double most = PS_THINNED_MOST;
    for (size_t r = 0; r < j->in->n_ranks; r++) {
        const ps_thinned *t =
            j->row_of[r] != PS_NO_INDEX ? &part_of(j, r)->thinned : &(ps_thinned){0};
        double missing = ps_thinned_percent(t);
        if (missing > most) {
            char parts[256];
            ps_thinned_say(j->in->opts->lang, t, PS_THINNED_MOST, parts, sizeof parts);
            (void)snprintf(
                out, size,
                PS_SAY(j->in->opts->lang,
                       "the capture of rank %s holds only %s, and what ran in between is unknown",
                       "rank %s 的采集数据只有 %s，其间运行了什么未知"),
                PS_RANK(j->in->ranks[r].rank), parts);
            most = missing;
        }
    }
}

static ps_code report_labelled(job *j, ps_err *err) {
    char thinned[384] = "";
    describe_thinned(j, thinned, sizeof thinned);
    ps_chart *chart = j->in->result->chart;
    const char *pp_type = j->job.pp_type;
    const ps_lang lang = j->in->opts->lang;
    ps_clock_collective *collectives = NULL;
    size_t n_collectives = 0;
    ps_model_places places;
    int32_t *table = NULL;
    bool clocks = ps_chart_has_machines(chart) || j->in->opts->clocks == PS_CLOCKS_ALL;
    ps_code code = find_pieces(j, &places, &table) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK && clocks) {
        code = find_collectives(j, chart->origin_ns, &collectives, &n_collectives, err);
    }
    ps_pipeline_opts opts = {.pp_type = pp_type,
                             .how = pp_type[0] == '\0' ? ""
                                    : j->in->opts->pp_type != NULL
                                        ? PS_SAY(lang, "as given", "按指定")
                                        : PS_SAY(lang, "from metadata", "来自元数据"),
                             .n_stages = j->places.n_stages,
                             .n_stages_guessed = j->places.is_guess,
                             .is_tried = j->is_tried,
                             .has_named_stages = j->source == PS_LABELS_ACTION,
                             .n_microbatches = (int32_t)j->job.n_microbatches,
                             .unexplained_percent = (double)j->in->opts->unexplained,
                             .why_no_bubble = thinned,
                             .in_full = j->in->opts->in_full,
                             .places = places,
                             .clocks = {.collectives = collectives,
                                        .n_collectives = n_collectives,
                                        .ends_only = j->any_host_times,
                                        .each_rank = j->in->opts->clocks == PS_CLOCKS_ALL,
                                        .use = j->in->opts->clocks},
                             .replay = {.max_activations = j->in->opts->max_activations}};
    ps_pipeline_notes notes;
    code = code == PS_OK ? ps_pipeline_report(chart, &opts, j->in->result, &notes, err) : code;
    ps_free(collectives);
    ps_free(table);
    if (code == PS_NOTHING && j->is_tried) {
        ps_chart_free(chart);
        j->in->result->chart = NULL;
        ps_say_stages_tried(j->in->opts->lang, err);
    }
    if (code == PS_OK && j->diag != NULL) {
        ps_pipeline_notes_count(j->in->opts->lang, &notes, j->diag);
    }
    return code;
}

static ps_code add_labelled_chart(job *j, ps_err *err) {
    ps_code code = measure_ranks(j, err);
    if (code == PS_OK && j->diag != NULL) {
        code = ps_p2p_pair(j->lists, j->pipelines, j->in, err);
    }
    if (code != PS_OK || j->diag == NULL) {
        return code;
    }
    /* What holds parts may be any piece of a microbatch: counting them would make numbers up. */
    bool classic = !j->is_exact && j->source != PS_LABELS_FLOWS && j->source != PS_LABELS_PART;
    ps_chart *chart =
        ps_measured_chart(j->measured, j->in->n_ranks, classic, j->in->opts->lang, err);
    j->in->result->chart = chart;
    if (chart == NULL) {
        return err != NULL ? err->code : PS_NOMEM;
    }
    chart->labels_are_exact = j->is_exact;
    if (!describe_labelled(j, chart) || !ps_chart_set_text(chart, "", j->job.pp_type)) {
        return ps_fail_nomem(err);
    }
    return report_labelled(j, err);
}

static ps_code reduce_labelled(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    if (ps_result_charted(in) != NULL) {
        return PS_OK; /* marks have told all */
    }
    job j = {.in = in};
    ps_code code = job_init(&j) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        choose_source(&j);
    }
    if (code == PS_OK && j.source != PS_LABELS_NONE) {
        resolve_revision(&j);
        code = resolve_windows(&j) ? resolve_places(&j, err) : ps_fail_nomem(err);
        code = code == PS_OK ? add_labelled_chart(&j, err) : code;
    }
    job_fini(&j);
    return code;
}

static void archive_labelled_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        ps_rank_facts_archive(a, &x->facts);
        PS_ARCHIVE(a, x, has_work, host);
        ps_rank_labels_archive(a, &x->labels);
        ps_transfers_archive(a, &x->transfers);
        void *comm = x->comm;
        ps_comm_part_archive(a, &comm);
        x->comm = comm;
        ps_intervals_archive(a, &x->rest);
        ps_thinned_archive(a, &x->thinned);
    }
}

/* pp_chart, which may come before, has its chart after the second round. */
static const ps_round ROUNDS[] = {{.needs = PS_COMM_PART_NEEDS, .map = map_labelled},
                                  {.map = ps_map_nothing, .reduce = reduce_labelled}};

const ps_analysis ps_analysis_pp_labels = {
    .name = "pp_labels",
    .folder = "PPLabels",
    .summary = "the chart from labels of frameworks, rules, jobs or flows",
    .hidden = true,
    .writes = PS_WRITES_RANK_DB,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_labelled_partial,
    .archive = archive_labelled_partial,
};
