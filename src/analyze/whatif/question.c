#include "analyze/whatif/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/whatif/whatif.h"
#include "base/alloc.h"
#include "base/num.h"

#define FORMS                                                                                      \
    "give worker=STAGE,REPLICA, stage=N, stage=last, model-stage=N, replica=N, rank=N or "         \
    "kind=NAME (as forward-compute, forward-pp-comm, optimizer)"
#define FORMS_ZH                                                                                      \
    "请给出 worker=阶段,副本、stage=N、stage=last、model-stage=N、replica=N、rank=N 或 " \
    "kind=名称（如 forward-compute、forward-pp-comm、optimizer）"

/* A piece of text that is not terminated. */
typedef struct piece {
    const char *s;
    size_t n;
} piece;

static bool piece_is(piece p, const char *text) {
    return p.n == strlen(text) && memcmp(p.s, text, p.n) == 0;
}

/* Cuts `p` at the first `c`; the rest, empty when there is none, into *rest. */
static piece cut_at(piece p, char c, piece *rest) {
    const char *at = memchr(p.s, c, p.n);
    size_t n = at != NULL ? (size_t)(at - p.s) : p.n;
    *rest = at != NULL ? (piece){at + 1, p.n - n - 1} : (piece){p.s + p.n, 0};
    return (piece){p.s, n};
}

typedef struct asking {
    const ps_job_steps *js;
    ps_question *out;
    size_t n_used; /* rows of workers */
    ps_err *err;
} asking;

static ps_code fail_question(asking *a, piece p, const char *english, const char *chinese) {
    int n = (int)(p.n < 80 ? p.n : 80);
    return ps_fail_said(a->err, PS_USAGE, "'%.*s': %s%.0s", "“%.*s”：%.0s%s", n, p.s, english,
                        chinese);
}

static ps_code read_question_number(asking *a, piece whole, piece p, int64_t *out) {
    return ps_parse_i64(p.s, p.n, out) && *out >= 0 ? PS_OK
                                                    : fail_question(a, whole, FORMS, FORMS_ZH);
}

/* Place and chunk of a stage of the model, place * n_chunks + chunk; SIZE_MAX when there is none. */
static size_t model_stage_at(const ps_job_steps *js, int64_t wanted) {
    size_t n = (size_t)js->n_stages * (size_t)js->n_chunks;
    for (size_t i = 0; js->model_stages != NULL && i < n; i++) {
        if (js->model_stages[i] == wanted) {
            return i;
        }
    }
    return SIZE_MAX;
}

static int32_t n_model_stages(const ps_job_steps *js) {
    return js->n_stages * js->n_chunks;
}

/* Labels of schedules with several chunks a place number the stages of the model: 5F0 in a pipeline of four. */
static ps_code fail_worker(asking *a, piece whole, int64_t stage) {
    const ps_job_steps *js = a->js;
    const ps_lang lang = js->lang;
    char why[256];
    if (stage < js->n_stages) {
        return fail_question(a, whole, "the job has no such worker", "作业中没有这样的 worker");
    }
    int n = snprintf(
        why, sizeof why,
        PS_SAY(lang, "the job has no such worker: a stage is a place in the pipeline, 0 to %d",
               "作业中没有这样的 worker：阶段是流水线中的位置，0 至 %d"),
        js->n_stages - 1);
    size_t at = model_stage_at(js, stage);
    if (at != SIZE_MAX && js->n_chunks > 1 && n > 0) {
        (void)snprintf(
            why + n, sizeof why - (size_t)n,
            PS_SAY(
                lang,
                "; model-stage=%lld is stage %lld of the %d of the model, chunk %zu of stage %zu",
                "；model-stage=%lld 是模型阶段 %lld（共 %d 个），即 chunk %zu，位于阶段 %zu"),
            (long long)stage, (long long)stage, n_model_stages(js), at % (size_t)js->n_chunks,
            at / (size_t)js->n_chunks);
    }
    return fail_question(a, whole, why, why);
}

/* The workers with these numbers; -1: any. */
static ps_code pick_workers(asking *a, piece whole, int64_t stage, int64_t replica, int64_t rank,
                            ps_job_part *part) {
    if (a->js == NULL) {
        return PS_OK;
    }
    bool *in = a->out->workers + a->n_used++ * a->js->n_workers;
    bool any = false;
    for (size_t w = 0; w < a->js->n_workers; w++) {
        const ps_job_worker *at = &a->js->workers[w];
        in[w] = (stage < 0 || at->stage == stage) && (replica < 0 || at->replica == replica) &&
                (rank < 0 || at->rank == rank);
        any = any || in[w];
    }
    part->workers = in;
    return any ? PS_OK : fail_worker(a, whole, stage);
}

/* Stage N of the model: one chunk of one place. */
static ps_code pick_model_stage(asking *a, piece whole, int64_t wanted, ps_job_part *part) {
    const ps_job_steps *js = a->js;
    size_t at = js != NULL ? model_stage_at(js, wanted) : SIZE_MAX;
    if (js == NULL) {
        return PS_OK;
    }
    if (js->model_stages == NULL) {
        return fail_question(
            a, whole,
            "which chunk of which stage that is is not known here: the schedule is not, "
            "or the ops have no chunks; give stage=N, a place in the pipeline",
            "这里无法得知是哪个阶段的哪个 chunk：调度未知，或算子没有 chunk；请给出 stage=N，即流水线中的位置");
    }
    if (at == SIZE_MAX) {
        char why[128];
        (void)snprintf(why, sizeof why,
                       PS_SAY(js->lang, "the model has the stages 0 to %d", "模型的阶段为 0 至 %d"),
                       n_model_stages(js) - 1);
        return fail_question(a, whole, why, why);
    }
    part->chunk_from_1 = (int32_t)(at % (size_t)js->n_chunks) + 1;
    return pick_workers(a, whole, (int64_t)(at / (size_t)js->n_chunks), -1, -1, part);
}

static bool has_kinds(const ps_job_steps *js, uint32_t kinds) {
    bool any = false;
    for (size_t s = 0; !any && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        for (uint32_t i = 0; !any && i < ps_job_step_n_ops(step); i++) {
            any = (kinds >> step->ops[i].kind & 1) != 0;
        }
    }
    return any;
}

static ps_code pick_kind(asking *a, piece whole, piece name, ps_job_part *part) {
    ps_worker_op op = ps_worker_op_find(name.s, name.n);
    part->kinds = op != PS_N_WORKER_OPS ? 1u << op : 0;
    for (size_t k = 0; k < PS_N_WHATIF_KINDS; k++) {
        if (piece_is(name, ps_whatif_kind_name((ps_whatif_kind)k))) {
            part->kinds = ps_whatif_kind_ops((ps_whatif_kind)k);
        }
    }
    if (part->kinds == 0) {
        return fail_question(a, whole, "there is no such kind of op", "没有这种算子");
    }
    return a->js == NULL || has_kinds(a->js, part->kinds)
               ? PS_OK
               : fail_question(a, whole, "the job has no op of that kind", "作业中没有该种算子");
}

static ps_code read_question_part(asking *a, piece whole, ps_job_part *part) {
    piece value;
    piece key = cut_at(whole, '=', &value);
    int64_t x = -1;
    int64_t y = -1;
    *part = (ps_job_part){0};
    if (piece_is(key, "kind")) {
        return pick_kind(a, whole, value, part);
    }
    if (piece_is(key, "stage") && piece_is(value, "last")) {
        return pick_workers(a, whole, a->js != NULL ? a->js->n_stages - 1 : -1, -1, -1, part);
    }
    if (piece_is(key, "worker")) {
        piece replica;
        piece stage = cut_at(value, ',', &replica);
        ps_code code = read_question_number(a, whole, stage, &x);
        code = code == PS_OK ? read_question_number(a, whole, replica, &y) : code;
        return code == PS_OK ? pick_workers(a, whole, x, y, -1, part) : code;
    }
    bool is_stage = piece_is(key, "stage");
    bool is_replica = piece_is(key, "replica") || piece_is(key, "dp");
    bool is_of_model = piece_is(key, "model-stage");
    if (!is_stage && !is_replica && !is_of_model && !piece_is(key, "rank")) {
        return fail_question(a, whole, FORMS, FORMS_ZH);
    }
    ps_code code = read_question_number(a, whole, value, &x);
    if (code == PS_OK && is_of_model) {
        return pick_model_stage(a, whole, x, part);
    }
    return code != PS_OK ? code
                         : pick_workers(a, whole, is_stage ? x : -1, is_replica ? x : -1,
                                        is_stage || is_replica ? -1 : x, part);
}

/* "0.5", "+20%", "-10%". */
static ps_code read_factor(asking *a, piece whole, piece p, double *out) {
    bool is_percent = p.n > 0 && p.s[p.n - 1] == '%';
    bool is_less = p.n > 0 && p.s[0] == '-';
    bool has_sign = is_less || (p.n > 0 && p.s[0] == '+');
    int64_t thousandths = 0;
    piece digits = {p.s + has_sign, p.n - has_sign - (is_percent ? 1 : 0)};
    bool ok = p.n > (size_t)has_sign + is_percent && has_sign == is_percent &&
              ps_parse_scaled(digits.s, digits.n, 1000, &thousandths) && thousandths <= 1000000;
    double share = (double)thousandths / 1000;
    *out = !is_percent ? share : is_less ? 1 - share / 100 : 1 + share / 100;
    return ok && *out >= 0
               ? PS_OK
               : fail_question(a, whole, "give a factor behind a colon: 0.5, -10%, +20%",
                               "请在冒号后给出倍数：0.5、-10%、+20%");
}

static ps_code read_question_parts(asking *a, const char *text, bool is_scale) {
    piece rest = {text, text != NULL ? strlen(text) : 0};
    ps_code code = PS_OK;
    while (code == PS_OK && rest.n > 0) {
        piece factor = {"", 0};
        piece whole = cut_at(rest, ';', &rest);
        piece what = is_scale ? cut_at(whole, ':', &factor) : whole;
        size_t *n = is_scale ? &a->out->n_scaled : &a->out->n_without;
        if (*n == PS_QUESTION_PARTS) {
            return fail_question(a, whole, "more than 32 parts in one question",
                                 "一个问题最多 32 项");
        }
        ps_job_scaled *scaled = &a->out->scaled[a->out->n_scaled];
        code = read_question_part(a, what, is_scale ? &scaled->part : &a->out->without[*n]);
        code = code == PS_OK && is_scale ? read_factor(a, whole, factor, &scaled->factor) : code;
        (*n)++;
    }
    return code;
}

ps_code ps_question_read(const char *without, const char *scale, const char *set,
                         const ps_job_steps *js, ps_question *out, ps_err *err) {
    *out = (ps_question){.n_without = 0};
    asking a = {.js = js, .out = out, .err = err};
    if (js != NULL) {
        out->workers = ps_calloc(js->n_workers * 2 * PS_QUESTION_PARTS + 1, sizeof *out->workers);
        if (out->workers == NULL) {
            return ps_fail_nomem(err);
        }
    }
    ps_code code = read_question_parts(&a, without, false);
    code = code == PS_OK ? read_question_parts(&a, scale, true) : code;
    return code == PS_OK ? read_question_parts(&a, set, true) : code;
}

void ps_question_fini(ps_question *q) {
    ps_free(q->workers);
    *q = (ps_question){.n_without = 0};
}
