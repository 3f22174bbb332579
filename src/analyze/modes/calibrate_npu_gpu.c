/* calibrate_npu_gpu: the modules of a model on NPUs beside the same ones on GPUs. Modules are joined by their path without
 * the word "Ascend", which vendors put into the names of their own variants; those left over by likeness of their paths. The
 * GPU side is any capture with module ranges (NVTX ranges in an Nsight export, a PyTorch trace): the baseline. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/modes/capture_facts.h"
#include "analyze/stats/text_likeness.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

#define LEAST_LIKENESS 0.8
#define MAX_TRIES                                                                                  \
    ((size_t)1 << 22) /* pairs of left-over modules that are compared letter by letter */

/* A module of one side, in one pass; times a rank and step. */
typedef struct module {
    const char *path, *pass;
    const char *key; /* the path that is joined by, in the arena */
    int64_t time_ns;
    double count;
    size_t partner;  /* index on the other side, SIZE_MAX */
    double likeness; /* of the partner's key */
} module;

typedef struct modules {
    module *at;
    size_t n;
    int64_t total_ns;
} modules;

/* --- both sides --------------------------------------------------------------------------------------------------- */

static char *calibration_key_of(ps_arena *arena, const char *path) {
    char *key = ps_arena_strndup(arena, path, strlen(path));
    char *found = key;
    while (found != NULL && (found = strstr(found, "Ascend")) != NULL) {
        memmove(found, found + 6, strlen(found + 6) + 1);
    }
    return key;
}

static bool add_module(modules *m, ps_arena *arena, const char *path, const char *pass,
                       int64_t time_ns, int64_t count, int64_t n_steps) {
    module *to = &m->at[m->n++];
    *to = (module){.path = path,
                   .pass = pass,
                   .key = calibration_key_of(arena, path),
                   .time_ns = ps_i64_plus(time_ns, n_steps / 2) / n_steps,
                   .count = (double)count / (double)n_steps,
                   .partner = SIZE_MAX};
    m->total_ns = ps_i64_plus(m->total_ns, to->time_ns);
    return to->key != NULL;
}

static const ps_sort_key BY_PATH[] = {PS_UP(module, key), PS_UP(module, pass), PS_UP(module, path)};

static bool modules_of_rank(const ps_rank_capture *part, ps_arena *arena, modules *out) {
    *out = (modules){.at = ps_calloc(part->sums.n + 1, sizeof *out->at)};
    bool ok = out->at != NULL;
    for (size_t i = 0; ok && i < part->sums.n; i++) {
        const ps_named_sum *s = &part->sums.at[i];
        ok = s->class_ != PS_SUM_MODULE ||
             add_module(out, arena, ps_strpool_get(&part->sums.strings, s->name),
                        ps_strpool_get(&part->sums.strings, s->detail), s->time_ns, s->n,
                        (int64_t)part->overlaps.n);
    }
    ps_sort_by(out->at, ok ? out->n : 0, sizeof *out->at, PS_KEYS(BY_PATH));
    return ok;
}

static bool modules_of_table(const ps_result *baseline, ps_arena *arena, modules *out) {
    const ps_table *t = ps_result_table(baseline, "CaptureSums");
    const ps_table *size = ps_result_table(baseline, "CaptureSize");
    *out = (modules){.at = ps_calloc(t->n_rows + 1, sizeof *out->at)};
    bool ok = out->at != NULL;
    int64_t n_steps = ps_table_cell(size, 0, PS_CZ_RANK_STEPS)->u.i;
    for (size_t r = 0; ok && r < t->n_rows; r++) {
        ok = ps_table_cell(t, r, PS_CS_CLASS)->u.i != PS_SUM_MODULE ||
             add_module(out, arena, ps_table_cell(t, r, PS_CS_NAME)->u.text,
                        ps_table_cell(t, r, PS_CS_DETAIL)->u.text,
                        ps_table_cell(t, r, PS_CS_TIME)->u.i, ps_table_cell(t, r, PS_CS_COUNT)->u.i,
                        n_steps);
    }
    ps_sort_by(out->at, ok ? out->n : 0, sizeof *out->at, PS_KEYS(BY_PATH));
    return ok;
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

static void pair_up(modules *npu, size_t i, modules *gpu, size_t k, double likeness) {
    npu->at[i].partner = k;
    npu->at[i].likeness = likeness;
    gpu->at[k].partner = i;
}

static void join_equal(modules *npu, modules *gpu) {
    static const ps_sort_key SAME[] = {PS_UP(module, key), PS_UP(module, pass)};
    size_t k = 0;
    for (size_t i = 0; i < npu->n; i++) {
        const module *own = &npu->at[i];
        while (k < gpu->n && ps_compare_by(&gpu->at[k], own, PS_KEYS(SAME)) < 0) {
            k++;
        }
        if (k < gpu->n && ps_compare_by(&gpu->at[k], own, PS_KEYS(SAME)) == 0) {
            pair_up(npu, i, gpu, k, 1);
            k++;
        }
    }
}

/* Each module that is left takes the most alike one that is left, in the order of their paths. */
static void join_alike(modules *npu, modules *gpu, double least, size_t *n_tries) {
    for (size_t i = 0; i < npu->n; i++) {
        size_t best = SIZE_MAX;
        double best_likeness = 0;
        for (size_t k = 0; npu->at[i].partner == SIZE_MAX && k<gpu->n && * n_tries> 0; k++) {
            if (gpu->at[k].partner != SIZE_MAX || strcmp(gpu->at[k].pass, npu->at[i].pass) != 0) {
                continue;
            }
            (*n_tries)--;
            double likeness = ps_text_likeness(npu->at[i].key, gpu->at[k].key, least);
            if (likeness > best_likeness) {
                best = k;
                best_likeness = likeness;
            }
        }
        if (best != SIZE_MAX) {
            pair_up(npu, i, gpu, best, best_likeness);
        }
    }
}

/* --- table -------------------------------------------------------------------------------------------------------- */

typedef struct pair_side {
    double count, us, percent;
} pair_side;

typedef struct pair_row {
    const char *parent, *module, *pass, *gpu_module;
    pair_side npu, gpu;
    double ratio, difference_us, likeness;
} pair_row;

static const ps_column COLUMNS[] = {
    {.name = "parentModule", PS_FIELD(pair_row, parent), .width = 40, .merged = true},
    {.name = "module", PS_FIELD(pair_row, module), .width = 40},
    {.name = "pass", PS_FIELD(pair_row, pass)},
    {.name = "npuCount", PS_FIELD(pair_row, npu.count), .unit = PS_UNIT_COUNT},
    {.name = "npuDuration(us)", PS_FIELD(pair_row, npu.us)},
    {.name = "npuShare(%)", PS_FIELD(pair_row, npu.percent)},
    {.name = "gpuModule", PS_FIELD(pair_row, gpu_module), .width = 40},
    {.name = "gpuCount", PS_FIELD(pair_row, gpu.count), .unit = PS_UNIT_COUNT},
    {.name = "gpuDuration(us)", PS_FIELD(pair_row, gpu.us)},
    {.name = "gpuShare(%)", PS_FIELD(pair_row, gpu.percent)},
    {.name = "npuToGpuRatio", PS_FIELD(pair_row, ratio)},
    {.name = "difference(us)", PS_FIELD(pair_row, difference_us)},
    {.name = "likeness", PS_FIELD(pair_row, likeness)},
};

/* `m` NULL: the side has no such module. */
static pair_side pair_side_of(const module *m, const modules *all) {
    if (m == NULL) {
        return (pair_side){NAN, NAN, NAN};
    }
    double ns = (double)m->time_ns;
    return (pair_side){m->count, ns / 1e3,
                       all->total_ns > 0 ? 100 * ns / (double)all->total_ns : NAN};
}

/* "Net/Encoder/Linear": the parent and the module. */
static void put_calibration_module(ps_table *t, const module *a, const modules *npu,
                                   const module *b, const modules *gpu) {
    const module *any = a != NULL ? a : b;
    bool has_both = a != NULL && b != NULL;
    const char *slash = strrchr(any->path, '/');
    char *parent = ps_strndup(any->path, slash != NULL ? (size_t)(slash - any->path) : 0);
    if (parent == NULL) {
        ps_table_fail(t);
    }
    bool has_ratio = has_both && b->time_ns > 0;
    ps_table_put(
        t, &(pair_row){.parent = parent,
                       .module = slash != NULL ? slash + 1 : any->path,
                       .pass = any->pass,
                       .gpu_module = b != NULL ? b->path : NULL,
                       .npu = pair_side_of(a, npu),
                       .gpu = pair_side_of(b, gpu),
                       .ratio = has_ratio ? (double)a->time_ns / (double)b->time_ns : NAN,
                       .difference_us = has_both ? (double)(a->time_ns - b->time_ns) / 1e3 : NAN,
                       .likeness = has_both ? a->likeness : NAN});
    ps_free(parent);
}

/* Modules of the NPU in the order of their paths, then those that only the GPU has. */
static void give_calibration_rank(const modules *npu, const modules *gpu, int64_t rank,
                                  ps_result *out) {
    char name[64];
    char file[64];
    (void)snprintf(name, sizeof name, "CompareProfileReportRank%lld", (long long)rank);
    (void)snprintf(file, sizeof file, "compare_profile_report_%lld", (long long)rank);
    ps_table *t =
        ps_table_new(name, "modules on NPU and GPU, a rank and step", PS_COLUMNS(COLUMNS));
    for (size_t i = 0; i < npu->n; i++) {
        const module *a = &npu->at[i];
        const module *b = a->partner != SIZE_MAX ? &gpu->at[a->partner] : NULL;
        put_calibration_module(t, a, npu, b, gpu);
    }
    for (size_t k = 0; k < gpu->n; k++) {
        if (gpu->at[k].partner == SIZE_MAX) {
            put_calibration_module(t, NULL, npu, &gpu->at[k], gpu);
        }
    }
    if (t != NULL) {
        const char *kept = ps_arena_strndup(&t->arena, file, strlen(file));
        t->failed = t->failed || kept == NULL;
        t->is_sheet = true;
        ps_result_finish_table(out, t, kept, PS_TO_ALL);
    } else {
        ps_result_give(out, NULL);
    }
}

/* --- the analysis -------------------------------------------------------------------------------------------------- */

static ps_code map_calibration(const ps_map_input *in, void **partial, ps_err *err) {
    ps_code code = ps_rank_capture_map(in, partial, err);
    const ps_rank_capture *part = code == PS_OK ? *partial : NULL;
    bool any = false;
    for (size_t i = 0; part != NULL && i < part->sums.n; i++) {
        any = any || part->sums.at[i].class_ == PS_SUM_MODULE;
    }
    if (code == PS_OK && !any) {
        ps_rank_capture_free(*partial);
        *partial = NULL;
        return ps_fail_said(
            err, PS_NOTHING,
            "no modules: mark them with mstx ranges of domain Module (docs/modes/"
            "module_statistic.md)",
            "没有模块：请用 Module 域的 mstx range 标出（docs/modes/module_statistic.md）");
    }
    return code;
}

static ps_code compare_rank(const ps_reduce_input *in, size_t r, ps_err *err) {
    const ps_rank_capture *part = in->partials[r];
    double least = in->opts->fuzzy_threshold > 0 ? in->opts->fuzzy_threshold : LEAST_LIKENESS;
    size_t n_tries = MAX_TRIES;
    ps_arena arena;
    ps_arena_init(&arena);
    modules npu = {0};
    modules gpu = {0};
    bool ok =
        modules_of_rank(part, &arena, &npu) && modules_of_table(in->opts->baseline, &arena, &gpu);
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        join_equal(&npu, &gpu);
        join_alike(&npu, &gpu, least, &n_tries);
        give_calibration_rank(&npu, &gpu, in->ranks[r].rank, in->result);
        code = ps_result_code(in->result, err);
    }
    ps_free(npu.at);
    ps_free(gpu.at);
    ps_arena_fini(&arena);
    return code;
}

static ps_code reduce_calibration(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    if (ps_result_table(in->opts->baseline, "CaptureSums") == NULL) {
        return ps_fail_said(
            err, PS_NOTHING,
            "no capture of a GPU to compare with: give --baseline_profiling_path PATH",
            "没有可供对比的 GPU 采集数据：请给出 --baseline_profiling_path PATH");
    }
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < in->n_ranks; r++) {
        code = in->partials[r] != NULL ? compare_rank(in, r, err) : PS_OK;
    }
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_RANK_CAPTURE_NEEDS, .map = map_calibration, .reduce = reduce_calibration}};

const ps_analysis ps_analysis_calibrate_npu_gpu = {
    .name = "calibrate_npu_gpu",
    .folder = "CalibrateNpuGpu",
    .summary = "modules on NPUs beside the same ones on GPUs (--baseline_profiling_path)",
    .baseline = "capture_facts",
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_rank_capture_free,
    .archive = ps_rank_capture_archive,
};
