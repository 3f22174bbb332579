#include "run/paddle_pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rank/executor_jobs.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "run/paddle_stage.h"

#define MAX_ROWS ((size_t)UINT32_MAX - 1)
#define LOOK_AROUND 16 /* steps that are compared by time; more never overlap in a sound log */

typedef struct joining {
    ps_paddle_pipeline *p;
    ps_paddle_span *steps; /* of the whole; those of the fullest worker first, in start order */
    size_t n_steps, cap_steps;
    size_t n_first;     /* of the fullest worker */
    ps_idmap by_number; /* step -> row */
} joining;

/* --- steps -------------------------------------------------------------------------------------------------- */

/* The run that a step of this worker lies in: the last one that begins with it or before. */
static int64_t run_of(const ps_trace *t, int64_t step) {
    const ps_table *runs = ps_trace_side_table(t, "runs");
    PS_PLACE(size_t, low, 0, runs != NULL ? runs->n_rows : 0, middle,
             ps_table_cell(runs, middle, 2)->u.i <= step);
    return low > 0 ? ps_table_cell(runs, low - 1, 0)->u.i : 0;
}

static bool add_paddle_span_step(joining *j, const ps_trace *t, ps_paddle_span span) {
    span.run = run_of(t, span.step);
    if (!ps_grow(&j->steps, &j->cap_steps, j->n_steps + 1, MAX_ROWS, sizeof *j->steps) ||
        !ps_idmap_put(&j->by_number, (uint64_t)span.step, (uint32_t)j->n_steps)) {
        return false;
    }
    j->steps[j->n_steps++] = span;
    return true;
}

static int64_t common_ns(const ps_paddle_span *a, const ps_paddle_span *b) {
    int64_t start = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
    int64_t end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    return end - start; /* negative: apart */
}

static bool paddle_span_overlap(const ps_paddle_span *a, const ps_paddle_span *b) {
    int64_t x = a->end_ns - a->start_ns;
    int64_t y = b->end_ns - b->start_ns;
    return common_ns(a, b) >= 0 && common_ns(a, b) * 2 >= (x < y ? x : y);
}

static ps_paddle_span paddle_span_absolute(const ps_trace *t, const ps_step *s) {
    int64_t origin = ps_trace_origin_ns(t);
    return (ps_paddle_span){.step = s->id,
                            .start_ns = s->start_ns + origin,
                            .end_ns = s->end_ns + origin,
                            .true_start_ns = s->start_ns + origin,
                            .true_end_ns = s->end_ns + origin};
}

/* The step of the fullest worker that `own` overlaps most, or PS_NONE. `from` moves on with the time. */
static uint32_t find_by_time(const joining *j, const ps_paddle_span *own, size_t *from) {
    uint32_t best = PS_NONE;
    int64_t best_ns = -1;
    while (*from < j->n_first && j->steps[*from].end_ns < own->start_ns) {
        (*from)++;
    }
    for (size_t i = *from; i < j->n_first && i < *from + LOOK_AROUND; i++) {
        int64_t ns = common_ns(&j->steps[i], own);
        if (ns > best_ns && paddle_span_overlap(&j->steps[i], own)) {
            best = (uint32_t)i;
            best_ns = ns;
        }
    }
    return best;
}

/* Finds the place of each step of one worker in the whole. */
static bool join_paddle_span_worker(joining *j, ps_paddle_worker *w, ps_paddle_figures *f,
                                    ps_paddle_renumber *numbers, uint32_t *rows) {
    size_t n = 0;
    size_t from = 0;
    const ps_step *own = ps_trace_steps(w->trace, &n);
    for (size_t i = 0; i < n; i++) {
        ps_paddle_span span = paddle_span_absolute(w->trace, &own[i]);
        uint32_t same = ps_idmap_get(&j->by_number, (uint64_t)span.step);
        uint32_t row = same;
        if (same == PS_IDMAP_NONE || !paddle_span_overlap(&j->steps[same], &span)) {
            row = find_by_time(j, &span, &from);
            row = row != PS_NONE ? row : same;
        }
        if (row == PS_NONE) {
            row = (uint32_t)j->n_steps;
            if (!add_paddle_span_step(j, w->trace, span)) {
                return false;
            }
        }
        numbers[i] = (ps_paddle_renumber){span.step, j->steps[row].step};
        rows[i] = row;
        f->n_moved += numbers[i].from != numbers[i].to;
    }
    f->n_steps = n;
    return true;
}

PS_COMPARE(compare_spans, ps_paddle_span, PS_BY(true_start_ns) PS_BY(step))

PS_COMPARE(compare_paddle_span_numbers, ps_paddle_renumber, PS_BY(from))

/* Sorts and cuts spans so that none begins before the one before has ended. */
static void cut_spans(ps_paddle_span *spans, size_t n) {
    int64_t end_ns = INT64_MIN;
    ps_sort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 0; i < n; i++) {
        ps_paddle_span *s = &spans[i];
        s->start_ns = s->true_start_ns > end_ns ? s->true_start_ns : end_ns;
        s->end_ns = s->true_end_ns > s->start_ns ? s->true_end_ns : s->start_ns;
        end_ns = s->end_ns;
    }
}

static void paddle_span_widen(ps_paddle_span *whole, const ps_paddle_span *part) {
    whole->true_start_ns =
        part->true_start_ns < whole->true_start_ns ? part->true_start_ns : whole->true_start_ns;
    whole->true_end_ns =
        part->true_end_ns > whole->true_end_ns ? part->true_end_ns : whole->true_end_ns;
}

/* Steps of one worker: its renumbering, and its parts of the whole, which become as long as they need to be. */
static bool place_worker(joining *j, size_t at) {
    ps_paddle_worker *w = &j->p->timeline.workers[at];
    size_t n = 0;
    const ps_step *own = ps_trace_steps(w->trace, &n);
    ps_paddle_renumber *numbers = ps_arena_alloc(&j->p->arena, (n + 1) * sizeof *numbers);
    ps_paddle_span *spans = ps_arena_alloc(&j->p->arena, (n + 1) * sizeof *spans);
    uint32_t *rows = ps_alloc((n + 1) * sizeof *rows);
    bool ok = numbers != NULL && spans != NULL && rows != NULL &&
              join_paddle_span_worker(j, w, &j->p->figures[at], numbers, rows);
    for (size_t i = 0; ok && i < n; i++) {
        spans[i] = paddle_span_absolute(w->trace, &own[i]);
        spans[i].step = j->steps[rows[i]].step;
        spans[i].run = j->steps[rows[i]].run;
        paddle_span_widen(&j->steps[rows[i]], &spans[i]);
    }
    ps_free(rows);
    if (ok) {
        cut_spans(spans, n);
        ps_sort(numbers, n, sizeof *numbers, compare_paddle_span_numbers);
        w->steps = numbers;
        w->n_steps = n;
        w->spans = spans;
        w->n_spans = n;
    }
    return ok;
}

static bool join_steps(ps_paddle_pipeline *p) {
    joining j = {.p = p};
    ps_paddle_timeline *t = &p->timeline;
    size_t fullest = 0;
    size_t n = 0;
    size_t most = 0;
    for (size_t i = 0; i < t->n_workers; i++) {
        (void)ps_trace_steps(t->workers[i].trace, &n);
        fullest = n > most ? i : fullest;
        most = n > most ? n : most;
    }
    const ps_trace *first = t->workers[fullest].trace;
    const ps_step *own = ps_trace_steps(first, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = add_paddle_span_step(&j, first, paddle_span_absolute(first, &own[i]));
    }
    j.n_first = j.n_steps;
    for (size_t i = 0; ok && i < t->n_workers; i++) {
        ok = place_worker(&j, i);
    }
    cut_spans(j.steps, j.n_steps);
    ps_idmap_fini(&j.by_number);
    t->steps = j.steps;
    t->n_steps = j.n_steps;
    return ok;
}

/* --- idle times ------------------------------------------------------------------------------------------------ */

typedef struct idle_list {
    ps_paddle_span *spans;
    size_t n, cap;
} idle_list;

static bool add_paddle_span_idle(idle_list *l, const ps_paddle_span *window, int64_t start_ns,
                                 int64_t end_ns, ps_paddle_figures *f) {
    if (end_ns <= start_ns) {
        return true;
    }
    if (!ps_grow(&l->spans, &l->cap, l->n + 1, MAX_ROWS, sizeof *l->spans)) {
        return false;
    }
    l->spans[l->n++] =
        (ps_paddle_span){window->step, window->run, start_ns, end_ns, start_ns, end_ns};
    f->idle_ns += end_ns - start_ns;
    return true;
}

/* The numbers of the steps that the worker has, ascending; in the arena. */
static int64_t *steps_of(ps_paddle_pipeline *p, const ps_paddle_worker *w) {
    int64_t *out = ps_arena_alloc(&p->arena, (w->n_steps + 1) * sizeof *out);
    for (size_t i = 0; out != NULL && i < w->n_steps; i++) {
        out[i] = w->steps[i].to;
    }
    if (out != NULL && w->n_steps > 1) {
        qsort(out, w->n_steps, sizeof *out, ps_compare_i64);
    }
    return out;
}

/* What the jobs of one worker leave free of the windows of its steps; slices and windows are in start order. */
static bool find_idle(const ps_paddle_timeline *t, const ps_paddle_worker *w, const int64_t *has,
                      idle_list *l, ps_paddle_figures *f) {
    const ps_slices *s = ps_trace_slices(w->trace);
    int64_t origin = ps_trace_origin_ns(w->trace);
    int64_t busy_ns = INT64_MIN; /* the worker is busy or was looked at until then */
    uint32_t slice = 0;
    for (size_t i = 0; i < t->n_steps; i++) {
        const ps_paddle_span *window = &t->steps[i];
        bool takes_part =
            bsearch(&window->step, has, w->n_steps, sizeof *has, ps_compare_i64) != NULL;
        busy_ns = busy_ns > window->start_ns ? busy_ns : window->start_ns;
        for (; slice < s->n && s->start_ns[slice] + origin < window->end_ns; slice++) {
            int64_t start_ns = s->start_ns[slice] + origin;
            if (takes_part && !add_paddle_span_idle(l, window, busy_ns, start_ns, f)) {
                return false;
            }
            int64_t end_ns = start_ns + s->dur_ns[slice];
            busy_ns = end_ns > busy_ns ? end_ns : busy_ns;
        }
        if (takes_part) {
            f->window_ns += window->end_ns - window->start_ns;
            if (!add_paddle_span_idle(l, window, busy_ns, window->end_ns, f)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_idle_times(ps_paddle_pipeline *p) {
    for (size_t i = 0; i < p->timeline.n_workers; i++) {
        ps_paddle_worker *w = &p->timeline.workers[i];
        idle_list l = {0};
        const int64_t *has = steps_of(p, w);
        bool ok = has != NULL && find_idle(&p->timeline, w, has, &l, &p->figures[i]);
        w->idle = l.spans;
        w->n_idle = l.n;
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* --- lanes ----------------------------------------------------------------------------------------------------- */

/* Ends of the slices that are open in one lane, the innermost last. */
typedef struct lane {
    int64_t *ends_ns;
    size_t n, cap;
} lane;

/* 1 when the slice fits into the lane, 0 when it does not, -1 when memory is out. */
static int try_lane(lane *l, int64_t start_ns, int64_t end_ns) {
    while (l->n > 0 && l->ends_ns[l->n - 1] <= start_ns) {
        l->n--;
    }
    if (l->n > 0 && l->ends_ns[l->n - 1] < end_ns) {
        return 0;
    }
    if (!ps_grow(&l->ends_ns, &l->cap, l->n + 1, MAX_ROWS, sizeof *l->ends_ns)) {
        return -1;
    }
    l->ends_ns[l->n++] = end_ns;
    return 1;
}

/* Puts each slice into the first lane where it nests. What nests in none is drawn as a point in the last one; that needs
 * more than PS_PADDLE_MAX_LANES jobs of one worker at a time. */
static bool find_lanes(ps_paddle_worker *w, uint8_t *lanes, ps_paddle_figures *f) {
    const ps_slices *s = ps_trace_slices(w->trace);
    lane open[PS_PADDLE_MAX_LANES] = {0};
    int fits = 0;
    w->n_lanes = 1;
    for (uint32_t i = 0; fits >= 0 && i < s->n; i++) {
        int64_t end_ns = s->start_ns[i] + s->dur_ns[i];
        uint8_t at = 0;
        fits = try_lane(&open[0], s->start_ns[i], end_ns);
        while (fits == 0 && at + 1 < PS_PADDLE_MAX_LANES) {
            at++;
            fits = try_lane(&open[at], s->start_ns[i], end_ns);
        }
        lanes[i] = fits == 0 ? PS_PADDLE_POINT | at : at;
        f->n_overlaps += at > 0;
        w->n_lanes = at + 1u > w->n_lanes ? at + 1u : w->n_lanes;
    }
    for (size_t i = 0; i < PS_PADDLE_MAX_LANES; i++) {
        ps_free(open[i].ends_ns);
    }
    return fits >= 0;
}

static bool add_lanes(ps_paddle_pipeline *p) {
    for (size_t i = 0; i < p->timeline.n_workers; i++) {
        ps_paddle_worker *w = &p->timeline.workers[i];
        uint8_t *lanes = ps_arena_alloc(&p->arena, ps_trace_slices(w->trace)->n + (size_t)1);
        if (lanes == NULL || !find_lanes(w, lanes, &p->figures[i])) {
            return false;
        }
        w->lanes = w->n_lanes > 1 ? lanes : NULL;
    }
    return true;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static bool choose_workers(ps_paddle_pipeline *p, const ps_paddle_logs *logs) {
    ps_paddle_timeline *t = &p->timeline;
    t->workers = ps_calloc(logs->n + 1, sizeof *t->workers);
    p->figures = ps_calloc(logs->n + 1, sizeof *p->figures);
    if (t->workers == NULL || p->figures == NULL) {
        return false;
    }
    for (size_t i = 0; i < logs->n; i++) {
        const ps_paddle_log *l = &logs->logs[i];
        if (l->trace == NULL || ps_trace_slices(l->trace)->n == 0) {
            continue;
        }
        p->figures[t->n_workers] =
            (ps_paddle_figures){.log = l, .n_jobs = ps_trace_slices(l->trace)->n};
        t->workers[t->n_workers++] = (ps_paddle_worker){.trace = l->trace,
                                                        .machine = l->machine,
                                                        .device = l->worker,
                                                        .machine_row = l->machine_row,
                                                        .column = l->column,
                                                        .stage = -1};
    }
    t->by_machine = logs->by_machine;
    t->n_machines = logs->n_machines;
    t->n_columns = logs->n_columns;
    t->job_kind = ps_job_kind;
    return true;
}

ps_code ps_paddle_pipeline_make(const ps_paddle_logs *logs, ps_paddle_pipeline *out, ps_err *err) {
    *out = (ps_paddle_pipeline){0};
    if (!choose_workers(out, logs)) {
        return ps_fail_nomem(err);
    }
    if (out->timeline.n_workers == 0) {
        return ps_fail(err, PS_NOTHING, "no log holds a job with a time");
    }
    if (!join_steps(out) || !add_idle_times(out) || !add_lanes(out) ||
        !ps_paddle_find_stages(&out->timeline)) {
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_paddle_pipeline_fini(ps_paddle_pipeline *p) {
    for (size_t i = 0; i < p->timeline.n_workers; i++) {
        ps_free(p->timeline.workers[i].idle);
    }
    ps_free(p->timeline.workers);
    ps_free(p->timeline.steps);
    ps_free(p->figures);
    ps_arena_fini(&p->arena);
    *p = (ps_paddle_pipeline){0};
}
