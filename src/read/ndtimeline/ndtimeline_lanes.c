#include "read/ndtimeline/ndtimeline_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/input.h"
#include "base/num.h"
#include "read/events/trace_events.h"

#define MOST_WORKERS INT64_C(1000000)
#define LATEST_NS 9e18 /* a double below what int64_t holds */

static const char *const LANE_NAMES[PS_N_NDT_LANES] = {"compute", "pp-comm", "tp-comm", "dp-comm",
                                                       "misc"};

const char *ps_ndt_lane_name(ps_ndt_lane_kind kind) {
    return LANE_NAMES[kind];
}

int64_t ps_ndt_rank(const ps_ndt_lanes *lanes, const ps_ndt_lane *lane) {
    return lane->tp + lanes->n_tp * (lane->dp + lanes->n_dp * lane->pp);
}

/* --- names --------------------------------------------------------------------------------------------------------- */

typedef struct named_process {
    int64_t pid, dp;
} named_process;

typedef struct reading {
    ps_ndt_lane *lanes;
    size_t n_lanes, cap_lanes;
    named_process *processes;
    size_t n_processes, cap_processes;
    size_t n_unnamed;
    ps_ndt_step *steps;
    size_t n_steps, cap_steps;
    ps_idmap step_rows; /* number of a step -> row in steps */
} reading;

/* Takes `word` and the number behind it. */
static bool take_number(const char **at, const char *end, const char *word, int64_t *out) {
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0) {
        return false;
    }
    const char *digits = *at + n;
    const char *p = digits;
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    *at = p;
    return ps_parse_i64(digits, (size_t)(p - digits), out) && *out < MOST_WORKERS;
}

static bool parse_thread(const char *s, size_t n, ps_ndt_lane *out) {
    const char *at = s;
    const char *end = s + n;
    if (!take_number(&at, end, "PP rank ", &out->pp) ||
        !take_number(&at, end, ", TP rank ", &out->tp) || end - at < 2 ||
        memcmp(at, ", ", 2) != 0) {
        return false;
    }
    at += 2;
    for (size_t k = 0; k < PS_N_NDT_LANES; k++) {
        if (strlen(LANE_NAMES[k]) == (size_t)(end - at) &&
            memcmp(LANE_NAMES[k], at, (size_t)(end - at)) == 0) {
            out->kind = (ps_ndt_lane_kind)k;
            return true;
        }
    }
    return false;
}

static bool parse_process(const char *s, size_t n, int64_t *dp) {
    const char *at = s;
    return take_number(&at, s + n, "DP rank [", dp) && at + 1 == s + n && *at == ']';
}

static bool text_equals(const ps_event_batch *batch, uint32_t id, const char *text) {
    const ps_event_text *t = &batch->texts[id];
    return t->n == strlen(text) && memcmp(t->bytes, text, t->n) == 0;
}

/* The text of the argument "name", or NULL. */
static const ps_event_text *name_given(const ps_event_batch *batch, const ps_event *e) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &batch->args[e->first_arg + i];
        if (arg->type == PS_ARG_STR && text_equals(batch, arg->key, "name")) {
            return &batch->texts[arg->u.text];
        }
    }
    return NULL;
}

static ps_code take_name(reading *r, const ps_event_batch *batch, const ps_event *e, ps_err *err) {
    const ps_event_text *name = name_given(batch, e);
    ps_ndt_lane lane = {.pid = e->pid, .tid = e->tid, .dp = -1};
    named_process process = {.pid = e->pid};
    if (name == NULL || (e->flags & (PS_EVENT_PID_TEXT | PS_EVENT_TID_TEXT)) != 0) {
        return PS_OK;
    }
    if (text_equals(batch, e->name, "thread_name")) {
        if (!parse_thread(name->bytes, name->n, &lane)) {
            r->n_unnamed++;
            return PS_OK;
        }
        if (!ps_grow(&r->lanes, &r->cap_lanes, r->n_lanes + 1, UINT32_MAX, sizeof *r->lanes)) {
            return ps_fail_nomem(err);
        }
        r->lanes[r->n_lanes++] = lane;
    } else if (text_equals(batch, e->name, "process_name") &&
               parse_process(name->bytes, name->n, &process.dp)) {
        if (!ps_grow(&r->processes, &r->cap_processes, r->n_processes + 1, UINT32_MAX,
                     sizeof *r->processes)) {
            return ps_fail_nomem(err);
        }
        r->processes[r->n_processes++] = process;
    }
    return PS_OK;
}

static bool step_given(const ps_event_batch *batch, const ps_event *e, int64_t *step) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &batch->args[e->first_arg + i];
        if (arg->type == PS_ARG_INT && text_equals(batch, arg->key, "step")) {
            *step = arg->u.i;
            return true;
        }
    }
    return false;
}

static ps_code take_step(reading *r, const ps_event_batch *batch, const ps_event *e, ps_err *err) {
    int64_t step = 0;
    int64_t end = 0;
    bool is_timed = e->ph == 'X' && (e->flags & PS_EVENT_HAS_TS) != 0 &&
                    !__builtin_add_overflow(e->ts_ns, e->dur_ns, &end) && e->dur_ns >= 0;
    if (!is_timed || !step_given(batch, e, &step)) {
        return PS_OK;
    }
    uint32_t row = r->n_steps > 0 && r->steps[r->n_steps - 1].step == step
                       ? (uint32_t)r->n_steps - 1
                       : ps_idmap_get(&r->step_rows, (uint64_t)step);
    if (row == PS_IDMAP_NONE) {
        if (!ps_grow(&r->steps, &r->cap_steps, r->n_steps + 1, UINT32_MAX - 1, sizeof *r->steps) ||
            !ps_idmap_put(&r->step_rows, (uint64_t)step, (uint32_t)r->n_steps)) {
            return ps_fail_nomem(err);
        }
        r->steps[r->n_steps++] = (ps_ndt_step){step, e->ts_ns, end};
        return PS_OK;
    }
    ps_ndt_step *s = &r->steps[row];
    s->start_ns = e->ts_ns < s->start_ns ? e->ts_ns : s->start_ns;
    s->end_ns = end > s->end_ns ? end : s->end_ns;
    return PS_OK;
}

static ps_code take_names(void *context, const ps_event_batch *batch, ps_err *err) {
    reading *r = context;
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < batch->n_events; i++) {
        const ps_event *e = &batch->events[i];
        code = e->ph == 'M' ? take_name(r, batch, e, err) : take_step(r, batch, e, err);
    }
    return code;
}

static int order_number(int64_t a, int64_t b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

/* --- steps --------------------------------------------------------------------------------------------------------- */

static int order_steps(const void *x, const void *y) {
    const ps_ndt_step *a = x;
    const ps_ndt_step *b = y;
    int by = order_number(a->start_ns, b->start_ns);
    return by != 0 ? by : order_number(a->step, b->step);
}

/* The published files lay their steps out anew: the first begins at 0, each of the others a tenth of a step after the end of the
 * one before it. Where all steps lie so, that is where they begin: what the first op waited for is part of the step.
 * Elsewhere a step begins with its first op. */
static void begin_steps(ps_ndt_step *steps, size_t n) {
    double begin = 0;
    bool is_laid_out = n > 0;
    for (size_t i = 0; is_laid_out && i < n; i++) {
        double length = (double)steps[i].end_ns - begin;
        double before = (double)steps[i].start_ns - begin;
        is_laid_out = length > 0 && before > -1e3 && before < length / 100 && begin < LATEST_NS;
        begin += 1.1 * length;
    }
    begin = 0;
    for (size_t i = 0; is_laid_out && i < n; i++) {
        int64_t at = (int64_t)begin;
        begin += 1.1 * ((double)steps[i].end_ns - begin);
        steps[i].start_ns = at < steps[i].start_ns ? at : steps[i].start_ns;
    }
}

/* --- lanes of workers ------------------------------------------------------------------------------------------------ */

static int order_lanes(const void *x, const void *y) {
    const ps_ndt_lane *a = x;
    const ps_ndt_lane *b = y;
    int by = order_number(a->pp, b->pp);
    by = by != 0 ? by : order_number(a->dp, b->dp);
    by = by != 0 ? by : order_number(a->tp, b->tp);
    by = by != 0 ? by : order_number(a->kind, b->kind);
    by = by != 0 ? by : order_number(a->pid, b->pid);
    return by != 0 ? by : order_number(a->tid, b->tid);
}

static int order_processes(const void *x, const void *y) {
    const named_process *a = x;
    const named_process *b = y;
    return order_number(a->pid, b->pid);
}

static ps_code place_lanes(reading *r, const char *path, ps_err *err) {
    if (r->n_lanes == 0) {
        return ps_fail_file(
            err, PS_SYNTAX, path,
            "no thread is named after a worker (\"PP rank 0, TP rank 0, compute\")");
    }
    if (r->n_processes > 1) {
        qsort(r->processes, r->n_processes, sizeof *r->processes, order_processes);
    }
    for (size_t i = 0; i < r->n_lanes; i++) {
        named_process key = {.pid = r->lanes[i].pid};
        const named_process *found = r->n_processes == 0
                                         ? NULL
                                         : bsearch(&key, r->processes, r->n_processes,
                                                   sizeof *r->processes, order_processes);
        if (found == NULL) {
            return ps_fail_file(err, PS_SYNTAX, path,
                                "process %lld has threads of workers but no name \"DP rank [d]\"",
                                (long long)key.pid);
        }
        r->lanes[i].dp = found->dp;
    }
    qsort(r->lanes, r->n_lanes, sizeof *r->lanes, order_lanes);
    for (size_t i = 1; i < r->n_lanes; i++) {
        const ps_ndt_lane *a = &r->lanes[i - 1];
        const ps_ndt_lane *b = &r->lanes[i];
        if (a->pp == b->pp && a->dp == b->dp && a->tp == b->tp && a->kind == b->kind &&
            (a->pid != b->pid || a->tid != b->tid)) {
            return ps_fail_file(err, PS_SYNTAX, path,
                                "threads %lld and %lld are both \"%s\" of PP rank %lld, TP rank "
                                "%lld, DP rank %lld",
                                (long long)a->tid, (long long)b->tid, LANE_NAMES[a->kind],
                                (long long)a->pp, (long long)a->tp, (long long)a->dp);
        }
    }
    return PS_OK;
}

static ps_code keep_lanes(const reading *r, ps_arena *arena, const ps_ndt_lanes **out,
                          ps_err *err) {
    ps_ndt_lanes *lanes = ps_arena_alloc(arena, sizeof *lanes);
    ps_ndt_lane *copy = ps_arena_alloc(arena, r->n_lanes * sizeof *copy);
    ps_ndt_step *steps = ps_arena_alloc(arena, (r->n_steps + 1) * sizeof *steps);
    if (lanes == NULL || copy == NULL || steps == NULL) {
        return ps_fail_nomem(err);
    }
    memcpy(copy, r->lanes, r->n_lanes * sizeof *copy);
    if (r->n_steps > 0) {
        memcpy(steps, r->steps, r->n_steps * sizeof *steps);
        qsort(steps, r->n_steps, sizeof *steps, order_steps);
        begin_steps(steps, r->n_steps);
    }
    *lanes = (ps_ndt_lanes){.lanes = copy,
                            .n = r->n_lanes,
                            .steps = steps,
                            .n_steps = r->n_steps,
                            .n_unnamed = r->n_unnamed};
    for (size_t i = 0; i < r->n_lanes; i++) {
        lanes->n_dp = copy[i].dp >= lanes->n_dp ? copy[i].dp + 1 : lanes->n_dp;
        lanes->n_pp = copy[i].pp >= lanes->n_pp ? copy[i].pp + 1 : lanes->n_pp;
        lanes->n_tp = copy[i].tp >= lanes->n_tp ? copy[i].tp + 1 : lanes->n_tp;
    }
    *out = lanes;
    return PS_OK;
}

ps_code ps_ndt_lanes_read(const char *path, ps_arena *arena, const ps_ndt_lanes **out,
                          ps_err *err) {
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err != NULL && err->code != PS_OK ? err->code : PS_IO;
    }
    static const char *const WANTED[] = {"step", NULL};
    const ps_event_schema schema = {.wanted = WANTED, .printed_doubles = true};
    reading r = {0};
    ps_idmap_init(&r.step_rows);
    const ps_event_sink sink = {&r, take_names, NULL};
    ps_event_stats stats = {0};
    ps_diag diag = {0}; /* reading the parts counts what is odd */
    ps_code code = ps_trace_events_read(in, &schema, &sink, 1, &diag, &stats, err);
    ps_input_close(in);
    code = code == PS_OK ? place_lanes(&r, path, err) : code;
    code = code == PS_OK ? keep_lanes(&r, arena, out, err) : code;
    ps_free(r.lanes);
    ps_free(r.processes);
    ps_free(r.steps);
    ps_idmap_fini(&r.step_rows);
    return code;
}

const ps_ndt_lane *ps_ndt_lane_find(const ps_ndt_lanes *lanes, int64_t pid, int64_t tid) {
    for (size_t i = 0; i < lanes->n; i++) {
        if (lanes->lanes[i].pid == pid && lanes->lanes[i].tid == tid) {
            return &lanes->lanes[i];
        }
    }
    return NULL;
}
