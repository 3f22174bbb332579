#include "analyze/whatif/plan_memory.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "schedule/lists.h"

/* One stage, the lower median of its ranks. */
typedef struct stage_memory {
    int64_t peak_bytes, low_bytes;
    int64_t held; /* microbatches whose activations it keeps at most */
    size_t n_ranks;
    const char *from;
} stage_memory;

typedef struct finding_sizes {
    const ps_job_steps *js;
    const ps_split_plan *split;
    const ps_table *facts;
    stage_memory *stages; /* [n_stages] */
    int64_t *values;      /* [n_workers + n_stages] scratch */
} finding_sizes;

static size_t facts_row_of(const ps_table *facts, int64_t rank) {
    for (size_t r = 0; r < facts->n_rows; r++) {
        if (ps_table_cell(facts, r, ps_table_column(facts, "rank"))->u.i == rank) {
            return r;
        }
    }
    return SIZE_MAX;
}

/* The lower median of a column over the ranks of the stage. */
static int64_t median_of_ranks(finding_sizes *k, int32_t stage, const char *column) {
    size_t at = ps_table_column(k->facts, column);
    size_t n = 0;
    for (size_t w = 0; w < k->js->n_workers; w++) {
        size_t row = k->js->workers[w].stage == stage
                         ? facts_row_of(k->facts, k->js->workers[w].rank)
                         : SIZE_MAX;
        if (row != SIZE_MAX) {
            k->values[n++] = ps_table_cell(k->facts, row, at)->u.i;
            k->stages[stage].from =
                ps_table_cell(k->facts, row, ps_table_column(k->facts, "from"))->u.text;
        }
    }
    k->stages[stage].n_ranks = n;
    return n > 0 ? ps_median_i64(k->values, n) : 0;
}

static ps_code look_at_stages(finding_sizes *k, const ps_recognised *r, ps_err *err) {
    ps_lists lists;
    ps_code code = ps_lists_make(&lists, r->schedule, &r->params, err);
    for (int32_t s = 0; code == PS_OK && s < k->js->n_stages; s++) {
        k->stages[s].peak_bytes = median_of_ranks(k, s, "peak");
        k->stages[s].low_bytes = median_of_ranks(k, s, "lowest");
        k->stages[s].held = (int64_t)ps_lists_peak(&lists, s);
        if (k->stages[s].n_ranks == 0 || k->split->now[s] == 0) {
            code =
                k->split->now[s] == 0
                    ? ps_fail_said(
                          err, PS_USAGE,
                          "--memory needs --activation-bytes and --layer-bytes: stage %d has no layer",
                          "--memory 需要 --activation-bytes 与 --layer-bytes：阶段 %d 没有层",
                          (int)s)
                    : ps_fail_said(
                          err, PS_USAGE,
                          "--memory needs --activation-bytes and --layer-bytes: stage %d does not tell what it held",
                          "--memory 需要 --activation-bytes 与 --layer-bytes：阶段 %d 没有说明其保有量",
                          (int)s);
        }
    }
    ps_lists_fini(&lists);
    return code;
}

static bool is_end(const finding_sizes *k, int32_t s) {
    return s == 0 || s == k->js->n_stages - 1;
}

static int64_t layer_of(const finding_sizes *k, int32_t s) {
    return k->stages[s].low_bytes / k->split->now[s];
}

static int64_t activation_of(const finding_sizes *k, int32_t s) {
    const stage_memory *m = &k->stages[s];
    int64_t held = k->split->now[s] * m->held;
    return held > 0 ? (m->peak_bytes - m->low_bytes) / held : 0;
}

/* Stages in between have layers alone: their median. Without any the lower one of the ends. */
static int64_t typical_of(finding_sizes *k, int64_t (*of)(const finding_sizes *, int32_t)) {
    size_t n = 0;
    int64_t least = INT64_MAX;
    for (int32_t s = 0; s < k->js->n_stages; s++) {
        int64_t value = of(k, s);
        least = value < least ? value : least;
        if (!is_end(k, s)) {
            k->values[n++] = value;
        }
    }
    return n > 0 ? ps_median_i64(k->values, n) : least;
}

/* What an end of the model has on top of its layers, at least and in its steps. */
static int64_t more_of(const finding_sizes *k, int32_t s, const ps_analysis_opts *sizes) {
    const stage_memory *m = &k->stages[s];
    int64_t layers = k->split->now[s];
    int64_t own = layers * (sizes->layer_bytes + m->held * sizes->activation_bytes);
    return m->peak_bytes > own ? m->peak_bytes - own : 0;
}

/* --- where each is from ------------------------------------------------------------------------------------------------ */

enum { M_WHAT, M_BYTES, M_FROM, N_M };

static const ps_column COLUMNS[N_M] = {
    [M_WHAT] = {.name = "what", .type = PS_COL_TEXT},
    [M_BYTES] = {.name = "memory", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [M_FROM] = {.name = "from", .type = PS_COL_TEXT},
};

static bool put_size(ps_table *t, const char *what, int64_t bytes, const char *from) {
    if (t == NULL || !ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, M_BYTES, bytes);
    return ps_table_set_text(t, M_WHAT, what) && ps_table_set_text(t, M_FROM, from);
}

static bool put_stage_rows(ps_table *t, const finding_sizes *k) {
    bool ok = t != NULL;
    for (int32_t s = 0; ok && s < k->js->n_stages; s++) {
        const stage_memory *m = &k->stages[s];
        char what[64];
        char from[128];
        (void)snprintf(from, sizeof from, "%s, %s%zu rank%s", m->from,
                       m->n_ranks > 1 ? "median of " : "", m->n_ranks, m->n_ranks == 1 ? "" : "s");
        (void)snprintf(what, sizeof what, "stage %d, at most", (int)s);
        ok = put_size(t, what, m->peak_bytes, from);
        (void)snprintf(what, sizeof what, "stage %d, at least", (int)s);
        ok = ok && put_size(t, what, m->low_bytes, from);
    }
    return ok;
}

static bool put_sizes(ps_table *t, const finding_sizes *k, const ps_analysis_opts *said,
                      const ps_analysis_opts *sizes) {
    const char *stages =
        k->js->n_stages > 2 ? "stages in between, median" : "the lower one of the stages";
    char layer[96];
    char activation[128];
    (void)snprintf(layer, sizeof layer, "at least / layers; %s", stages);
    (void)snprintf(activation, sizeof activation,
                   "(at most - at least) / (layers x microbatches held); %s", stages);
    return put_size(t, "activations of a layer", sizes->activation_bytes,
                    said->activation_bytes > 0 ? "--activation-bytes" : activation) &&
           put_size(t, "layer", sizes->layer_bytes,
                    said->layer_bytes > 0 ? "--layer-bytes" : layer) &&
           put_size(t, "embedding", sizes->embedding_bytes,
                    said->embedding_bytes > 0 ? "--embedding-bytes"
                                              : "stage 0, at most, beyond its layers") &&
           put_size(t, "head", sizes->head_bytes,
                    said->head_bytes > 0 ? "--head-bytes"
                                         : "the last stage, at most, beyond its layers");
}

/* What the user said stays. */
static void fill_sizes(finding_sizes *k, const ps_analysis_opts *said, ps_analysis_opts *out) {
    int32_t last = k->js->n_stages - 1;
    out->activation_bytes =
        said->activation_bytes > 0 ? said->activation_bytes : typical_of(k, activation_of);
    out->layer_bytes = said->layer_bytes > 0 ? said->layer_bytes : typical_of(k, layer_of);
    out->embedding_bytes = said->embedding_bytes > 0 ? said->embedding_bytes : more_of(k, 0, out);
    out->head_bytes = said->head_bytes > 0 ? said->head_bytes : more_of(k, last, out);
}

static ps_said why_unknown(const ps_recognised *r, const ps_table *facts) {
    return facts == NULL || facts->n_rows == 0
               ? (ps_said){{"the capture does not tell what a layer takes: no memory of its ranks is recorded",
                            "采集数据没有说明一层占用多少：未记录各 rank 的内存"}}
           : r == NULL
               ? (ps_said){{"the schedule that ran is not known, and with it how many microbatches are held",
                            "所运行的调度未知，因而也不知道保有多少 microbatch"}}
           : ps_schedule_chunks(r->schedule, &r->params) > 1 || r->schedule->n_chains > 1
               ? (ps_said){{"which of several chunks takes what of the memory of its rank is not recorded",
                            "未记录多个 chunk 各占所在 rank 的多少内存"}}
               : (ps_said){{NULL}};
}

ps_code ps_plan_memory_find(const ps_job_steps *js, const ps_recognised *r,
                            const ps_split_plan *split, const ps_analysis_opts *opts,
                            ps_analysis_opts *out, ps_table **sizes, ps_err *err) {
    *out = *opts;
    *sizes = NULL;
    if (opts->memory_bytes == 0 || (opts->activation_bytes > 0 && opts->layer_bytes > 0)) {
        return PS_OK;
    }
    const ps_said why = why_unknown(r, opts->memory_facts);
    if (why.in[PS_ENGLISH] != NULL) {
        return ps_fail_said(err, PS_USAGE,
                            "--memory needs --activation-bytes and --layer-bytes: %s%.0s",
                            "--memory 需要 --activation-bytes 与 --layer-bytes：%.0s%s",
                            why.in[PS_ENGLISH], why.in[PS_CHINESE]);
    }
    finding_sizes k = {.js = js, .split = split, .facts = opts->memory_facts};
    k.stages = ps_calloc((size_t)js->n_stages + 1, sizeof *k.stages);
    k.values = ps_calloc(js->n_workers + (size_t)js->n_stages + 1, sizeof *k.values);
    ps_code code =
        k.stages != NULL && k.values != NULL ? look_at_stages(&k, r, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        fill_sizes(&k, opts, out);
        *sizes = ps_table_new("plan_memory", "what the plan takes for the memory, and from where",
                              COLUMNS, N_M);
        if (!put_stage_rows(*sizes, &k) || !put_sizes(*sizes, &k, opts, out)) {
            ps_table_free(*sizes);
            *sizes = NULL;
            code = ps_fail_nomem(err);
        }
    }
    ps_free(k.stages);
    ps_free(k.values);
    return code;
}
