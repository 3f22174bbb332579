#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/whatif/whatif_causes.h"
#include "base/alloc.h"
#include "base/order.h"

/* A repair that gains nearly as much as the best one and touches fewer ops comes before it. */
#define NEARLY 0.95

enum { MOST_WORKERS = 8, MOST_SHOWN = 10, MOST_IN_ORDER = 6 };
#define LEAST_GAIN 0.001 /* of a step: what gains less is no repair */

enum { R_REPAIR, R_STEP, R_GAIN, R_SHARE, R_ORDER, R_THEN, N_R };

static const ps_column COLUMNS[N_R] = {
    [R_REPAIR] = {.name = "repair", .type = PS_COL_TEXT},
    [R_STEP] = {.name = "step", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [R_GAIN] = {.name = "gain", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [R_SHARE] = {.name = "gain share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [R_ORDER] = {.name = "order", .type = PS_COL_INT},
    [R_THEN] = {.name = "step then", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

typedef struct repair {
    char name[96];
    ps_job_part part;
    double step_ns, then_ns; /* then: after those that come before it */
    size_t order;            /* from 1; 0: not one of those */
    size_t n_ops;            /* that it touches, in the first step */
} repair;

typedef struct repairing {
    const ps_whatif *w;
    repair *repairs;
    size_t n;
    bool *workers; /* a row of n_workers for each repair */
    ps_err *err;
} repairing;

/* The workers of a stage, a replica, or one alone; -1: any. */
static repair *add_place(repairing *k, int32_t stage, int32_t replica, size_t alone) {
    const ps_job_steps *js = k->w->js;
    bool *in = k->workers + k->n * js->n_workers;
    for (size_t i = 0; i < js->n_workers; i++) {
        in[i] = (stage < 0 || js->workers[i].stage == stage) &&
                (replica < 0 || js->workers[i].replica == replica) &&
                (alone == SIZE_MAX || alone == i);
    }
    repair *r = &k->repairs[k->n++];
    *r = (repair){.part = {.workers = in}};
    return r;
}

static void add_kinds(repairing *k) {
    for (size_t i = 0; i < PS_N_WHATIF_KINDS; i++) {
        if (k->w->has_kind[i]) {
            repair *r = &k->repairs[k->n++];
            *r = (repair){.part = {.kinds = ps_whatif_kind_ops((ps_whatif_kind)i)},
                          .step_ns = k->w->kinds[i].without_ns};
            (void)snprintf(r->name, sizeof r->name, "kind %s",
                           ps_whatif_kind_name((ps_whatif_kind)i));
        }
    }
}

static void add_repair_places(repairing *k) {
    const ps_whatif *w = k->w;
    for (int32_t i = 0; i < w->js->n_stages; i++) {
        repair *r = add_place(k, i, -1, SIZE_MAX);
        r->step_ns = w->stages[i].without_ns;
        (void)snprintf(r->name, sizeof r->name, "stage %d", (int)i);
    }
    for (int32_t i = 0; i < w->js->n_replicas && w->js->n_replicas > 1; i++) {
        repair *r = add_place(k, -1, i, SIZE_MAX);
        r->step_ns = w->replicas[i].without_ns;
        (void)snprintf(r->name, sizeof r->name, "replica %d", (int)i);
    }
}

/* The workers with the largest S, each alone. */
static ps_code add_workers(repairing *k) {
    const ps_whatif *w = k->w;
    ps_job_asked asked[MOST_WORKERS];
    size_t n_asked = 0;
    bool *taken = ps_calloc(w->js->n_workers + 1, sizeof *taken);
    ps_code code = taken != NULL ? PS_OK : ps_fail_nomem(k->err);
    for (size_t i = 0; code == PS_OK && i < MOST_WORKERS && i < w->js->n_workers; i++) {
        size_t worst = SIZE_MAX;
        for (size_t n = 0; n < w->js->n_workers; n++) {
            bool is_worse = worst == SIZE_MAX ||
                            ps_whatif_worker_slowdown(w, n) > ps_whatif_worker_slowdown(w, worst);
            worst = !taken[n] && is_worse ? n : worst;
        }
        taken[worst] = true;
        repair *r = add_place(k, -1, -1, worst);
        const ps_job_worker *at = &w->js->workers[worst];
        (void)snprintf(r->name, sizeof r->name, "rank %lld (stage %d, replica %d)",
                       (long long)at->rank, (int)at->stage, (int)at->replica);
        asked[n_asked++] =
            (ps_job_asked){{.parts = &r->part, .n_parts = 1, .inverted = true}, &r->step_ns, NULL};
    }
    ps_free(taken);
    return code == PS_OK ? ps_job_ask_all(w->lanes, w->ideal_of, asked, n_asked, k->err) : code;
}

PS_COMPARE(order_repairs, repair, PS_BY(step_ns) PS_BY_TEXT(name))

static void count_touched(const ps_job_steps *js, repair *r) {
    for (uint32_t i = 0; i < ps_job_step_n_ops(&js->steps[0]); i++) {
        r->n_ops += ps_job_part_has(&r->part, &js->steps[0].ops[i]);
    }
}

/* The step when each of the first n repairs comes after those in parts, into then_ns. */
static ps_code try_repairs(repairing *k, size_t n, const ps_job_part *before, size_t n_before) {
    ps_job_part parts[MOST_SHOWN][MOST_IN_ORDER];
    ps_job_asked asked[MOST_SHOWN];
    size_t n_asked = 0;
    for (size_t r = 0; r < n; r++) {
        if (k->repairs[r].order == 0) {
            ps_job_part *own = parts[n_asked];
            memcpy(own, before, n_before * sizeof *own);
            own[n_before] = k->repairs[r].part;
            asked[n_asked++] =
                (ps_job_asked){{.parts = own, .n_parts = n_before + 1, .inverted = true},
                               &k->repairs[r].then_ns,
                               NULL};
        }
    }
    return ps_job_ask_all(k->w->lanes, k->w->ideal_of, asked, n_asked, k->err);
}

static repair *choose_repair(repairing *k, size_t n, double before_ns) {
    double shortest = before_ns;
    for (size_t r = 0; r < n; r++) {
        bool is_free = k->repairs[r].order == 0;
        shortest = is_free && k->repairs[r].then_ns < shortest ? k->repairs[r].then_ns : shortest;
    }
    if (before_ns - shortest < LEAST_GAIN * k->w->real_ns) {
        return NULL;
    }
    repair *best = NULL;
    for (size_t r = 0; r < n; r++) {
        repair *one = &k->repairs[r];
        bool is_good =
            one->order == 0 && before_ns - one->then_ns >= NEARLY * (before_ns - shortest);
        best = is_good && (best == NULL || one->n_ops < best->n_ops) ? one : best;
    }
    return best;
}

/* One after the other, so that gains add up. */
static ps_code choose_in_order(repairing *k, size_t n) {
    ps_job_part parts[MOST_IN_ORDER];
    double before_ns = k->w->real_ns;
    for (size_t i = 0; i < MOST_IN_ORDER; i++) {
        ps_code code = try_repairs(k, n, parts, i);
        repair *best = code == PS_OK ? choose_repair(k, n, before_ns) : NULL;
        if (best == NULL) {
            return code;
        }
        best->order = i + 1;
        parts[i] = best->part;
        before_ns = best->then_ns;
    }
    return PS_OK;
}

static bool put_repair_row(ps_table *t, const ps_whatif *w, const repair *r) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, R_STEP, (int64_t)(r->step_ns + 0.5));
    ps_table_set_int(t, R_GAIN, (int64_t)(w->real_ns - r->step_ns + 0.5));
    ps_table_set_real(t, R_SHARE, 100 * (w->real_ns - r->step_ns) / w->real_ns);
    if (r->order != 0) {
        ps_table_set_int(t, R_ORDER, (int64_t)r->order);
        ps_table_set_int(t, R_THEN, (int64_t)(r->then_ns + 0.5));
    }
    return ps_table_set_text(t, R_REPAIR, r->name);
}

static ps_code collect_repairs(repairing *k, ps_table *t) {
    add_kinds(k);
    add_repair_places(k);
    ps_code code = add_workers(k);
    qsort(k->repairs, k->n, sizeof *k->repairs, order_repairs);
    size_t n = 0;
    while (n < k->n && n < MOST_SHOWN &&
           k->w->real_ns - k->repairs[n].step_ns >= LEAST_GAIN * k->w->real_ns) {
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        count_touched(k->w->js, &k->repairs[i]);
    }
    code = code == PS_OK ? choose_in_order(k, n) : code;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = put_repair_row(t, k->w, &k->repairs[i]) ? PS_OK : ps_fail_nomem(k->err);
    }
    return code;
}

ps_table *ps_whatif_repairs(const ps_whatif *w, ps_err *err) {
    const ps_job_steps *js = w->js;
    size_t most =
        PS_N_WHATIF_KINDS + (size_t)js->n_stages + (size_t)js->n_replicas + MOST_WORKERS + 1;
    repairing k = {.w = w, .err = err};
    k.repairs = ps_calloc(most, sizeof *k.repairs);
    k.workers = ps_calloc(most * (js->n_workers + 1), sizeof *k.workers);
    ps_table *t = ps_table_new(
        "whatif_repairs",
        "what would help: the step if these were as fast as usual, each by itself, and one after the other",
        COLUMNS, N_R);
    bool ok = k.repairs != NULL && k.workers != NULL && t != NULL;
    ps_code code = ok ? collect_repairs(&k, t) : ps_fail_nomem(err);
    ps_free(k.repairs);
    ps_free(k.workers);
    if (code != PS_OK) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}
