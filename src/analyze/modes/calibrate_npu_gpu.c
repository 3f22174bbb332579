/* calibrate_npu_gpu: the modules of a model on NPUs beside the same ones on GPUs. Modules are joined by their path without
 * the word "Ascend", which vendors put into the names of their own variants; those left over by likeness of their paths. The
 * GPU side is any capture with module ranges (NVTX ranges in an Nsight export, a PyTorch trace): the baseline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/modes/capture_facts.h"
#include "analyze/stats/text_likeness.h"
#include "base/alloc.h"
#include "base/num.h"

#define LEAST_LIKENESS 0.8
#define MAX_TRIES                                                                                  \
    ((size_t)1 << 22) /* pairs of left-over modules that are compared letter by letter */

/* A module of one side, in one pass; times a rank and step. */
typedef struct module {
    const char *path, *pass;
    char *key; /* the path that is joined by, in the arena */
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

static int compare_modules(const void *x, const void *y) {
    const module *a = x;
    const module *b = y;
    int order = strcmp(a->key, b->key);
    order = order != 0 ? order : strcmp(a->pass, b->pass);
    return order != 0 ? order : strcmp(a->path, b->path);
}

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
    if (ok) {
        qsort(out->at, out->n, sizeof *out->at, compare_modules);
    }
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
    if (ok) {
        qsort(out->at, out->n, sizeof *out->at, compare_modules);
    }
    return ok;
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

static void pair_up(modules *npu, size_t i, modules *gpu, size_t k, double likeness) {
    npu->at[i].partner = k;
    npu->at[i].likeness = likeness;
    gpu->at[k].partner = i;
}

static int compare_join(const module *a, const module *b) {
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : strcmp(a->pass, b->pass);
}

static void join_equal(modules *npu, modules *gpu) {
    size_t k = 0;
    for (size_t i = 0; i < npu->n; i++) {
        while (k < gpu->n && compare_join(&gpu->at[k], &npu->at[i]) < 0) {
            k++;
        }
        if (k < gpu->n && compare_join(&gpu->at[k], &npu->at[i]) == 0) {
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

enum {
    C_PARENT,
    C_MODULE,
    C_PASS,
    C_NPU_COUNT,
    C_NPU_TIME,
    C_NPU_SHARE,
    C_GPU_MODULE,
    C_GPU_COUNT,
    C_GPU_TIME,
    C_GPU_SHARE,
    C_RATIO,
    C_DIFFERENCE,
    C_LIKENESS,
    N_C
};

static const ps_column COLUMNS[N_C] = {
    [C_PARENT] = {.name = "parentModule", .type = PS_COL_TEXT, .width = 40, .merged = true},
    [C_MODULE] = {.name = "module", .type = PS_COL_TEXT, .width = 40},
    [C_PASS] = {.name = "pass", .type = PS_COL_TEXT},
    [C_NPU_COUNT] = {.name = "npuCount", .type = PS_COL_REAL, .unit = PS_UNIT_COUNT},
    [C_NPU_TIME] = {.name = "npuDuration(us)", .type = PS_COL_REAL},
    [C_NPU_SHARE] = {.name = "npuShare(%)", .type = PS_COL_REAL},
    [C_GPU_MODULE] = {.name = "gpuModule", .type = PS_COL_TEXT, .width = 40},
    [C_GPU_COUNT] = {.name = "gpuCount", .type = PS_COL_REAL, .unit = PS_UNIT_COUNT},
    [C_GPU_TIME] = {.name = "gpuDuration(us)", .type = PS_COL_REAL},
    [C_GPU_SHARE] = {.name = "gpuShare(%)", .type = PS_COL_REAL},
    [C_RATIO] = {.name = "npuToGpuRatio", .type = PS_COL_REAL},
    [C_DIFFERENCE] = {.name = "difference(us)", .type = PS_COL_REAL},
    [C_LIKENESS] = {.name = "likeness", .type = PS_COL_REAL},
};

static void put_side(ps_table *t, const module *m, const modules *all, size_t count, size_t time,
                     size_t share) {
    ps_table_set_real(t, count, m->count);
    ps_table_set_real(t, time, (double)m->time_ns / 1e3);
    if (all->total_ns > 0) {
        ps_table_set_real(t, share, 100 * (double)m->time_ns / (double)all->total_ns);
    }
}

/* "Net/Encoder/Linear": the parent and the module. */
static bool put_path(ps_table *t, const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;
    char *parent = ps_arena_strndup(&t->arena, path, n);
    if (parent == NULL) {
        return false;
    }
    ps_table_share_text(t, C_PARENT, parent);
    return ps_table_set_text(t, C_MODULE, slash != NULL ? slash + 1 : path);
}

static bool put_calibration_module(ps_table *t, const module *a, const modules *npu,
                                   const module *b, const modules *gpu) {
    const module *any = a != NULL ? a : b;
    if (!ps_table_add_row(t) || !put_path(t, any->path) ||
        !ps_table_set_text(t, C_PASS, any->pass) ||
        (b != NULL && !ps_table_set_text(t, C_GPU_MODULE, b->path))) {
        return false;
    }
    if (a != NULL) {
        put_side(t, a, npu, C_NPU_COUNT, C_NPU_TIME, C_NPU_SHARE);
    }
    if (b != NULL) {
        put_side(t, b, gpu, C_GPU_COUNT, C_GPU_TIME, C_GPU_SHARE);
    }
    if (a != NULL && b != NULL) {
        ps_table_set_real(t, C_DIFFERENCE, (double)(a->time_ns - b->time_ns) / 1e3);
        ps_table_set_real(t, C_LIKENESS, a->likeness);
        if (b->time_ns > 0) {
            ps_table_set_real(t, C_RATIO, (double)a->time_ns / (double)b->time_ns);
        }
    }
    return true;
}

/* Modules of the NPU in the order of their paths, then those that only the GPU has. */
static ps_code put_calibration_rank(const modules *npu, const modules *gpu, int64_t rank,
                                    ps_result *out, ps_err *err) {
    char name[64];
    char file[64];
    (void)snprintf(name, sizeof name, "CompareProfileReportRank%lld", (long long)rank);
    (void)snprintf(file, sizeof file, "compare_profile_report_%lld", (long long)rank);
    ps_table *t = ps_table_new(name, "modules on NPU and GPU, a rank and step", COLUMNS, N_C);
    bool ok = t != NULL && (t->file = ps_arena_strndup(&t->arena, file, strlen(file))) != NULL;
    for (size_t i = 0; ok && i < npu->n; i++) {
        const module *a = &npu->at[i];
        ok = put_calibration_module(t, a, npu, a->partner != SIZE_MAX ? &gpu->at[a->partner] : NULL,
                                    gpu);
    }
    for (size_t k = 0; ok && k < gpu->n; k++) {
        ok = gpu->at[k].partner != SIZE_MAX ||
             put_calibration_module(t, NULL, npu, &gpu->at[k], gpu);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    t->to = PS_TO_ALL;
    t->is_sheet = true;
    t->names_fixed = true;
    return ps_result_add(out, t, err);
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
        return ps_fail(err, PS_NOTHING,
                       "no modules: mark them with mstx ranges of domain Module (docs/modes/"
                       "module_statistic.md)");
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
        code = put_calibration_rank(&npu, &gpu, in->ranks[r].rank, in->result, err);
    }
    ps_free(npu.at);
    ps_free(gpu.at);
    ps_arena_fini(&arena);
    return code;
}

static ps_code reduce_calibration(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    if (ps_result_table(in->opts->baseline, "CaptureSums") == NULL) {
        return ps_fail(err, PS_NOTHING,
                       "no capture of a GPU to compare with: give --baseline_profiling_path PATH");
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
};
