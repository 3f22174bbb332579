/* In which operators, frames and ranges the host is while the device waits for it: each moment belongs to the innermost one, so that
 * those of an activity add up to its idle time. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/sort.h"

/* --- one rank --------------------------------------------------------------------------------------------------------- */

typedef struct operator_row {
    ps_report_operator op;
    uint32_t name;
    uint8_t activity;
} operator_row;

typedef struct operator_search {
    const ps_host_activity *host;
    const ps_trace *trace;
    const ps_slices *s;
    operator_row *rows;
    size_t n, cap;
    ps_idmap row_of;   /* name and activity -> row */
    ps_idmap count_of; /* name -> its number in counts */
    int64_t *counts;
    size_t n_counts, cap_counts;
} operator_search;

/* Names that have a row are counted whatever the host is in. */
static bool note_name(operator_search *x, uint32_t name) {
    if (ps_idmap_get(&x->count_of, name) != PS_IDMAP_NONE) {
        return true;
    }
    if (!ps_grow(&x->counts, &x->cap_counts, x->n_counts + 1, UINT32_MAX - 1, sizeof *x->counts) ||
        !ps_idmap_put(&x->count_of, name, (uint32_t)x->n_counts)) {
        return false;
    }
    x->counts[x->n_counts++] = 0;
    return true;
}

/* Where there is nothing but the window of a step it is what is around that. */
static bool add_moment(operator_search *x, uint8_t activity, uint32_t slice, int64_t ns) {
    while (slice != PS_NONE && ps_is_step_window(x->host->links, slice)) {
        slice = x->host->links->parent[slice];
    }
    if (slice == PS_NONE) {
        return true;
    }
    uint64_t key = (uint64_t)x->s->name[slice].id * PS_N_ACTIVITIES + activity;
    uint32_t row = ps_idmap_get(&x->row_of, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)x->n;
        if (!ps_grow(&x->rows, &x->cap, x->n + 1, UINT32_MAX - 1, sizeof *x->rows) ||
            !ps_idmap_put(&x->row_of, key, row) || !note_name(x, x->s->name[slice].id)) {
            return false;
        }
        const char *name = ps_trace_text(x->trace, x->s->name[slice]);
        x->rows[x->n++] = (operator_row){
            .op = {.name = name}, .activity = activity, .name = x->s->name[slice].id};
    }
    ps_report_operator *op = &x->rows[row].op;
    op->idle_ns = ps_i64_plus(op->idle_ns, ns);
    return true;
}

static bool add_operator_piece(operator_search *x, const ps_idle_piece *p) {
    uint32_t thread = x->host->thread_of[x->s->track[p->from]];
    bool ok = true;
    for (int64_t at = p->start_ns; ok && thread != PS_NONE && at < p->end_ns;) {
        int64_t until = p->end_ns;
        uint32_t slice = ps_host_innermost_at(x->host, thread, at, p->end_ns, &until);
        ok = slice == PS_NONE || add_moment(x, p->cause, slice, until - at);
        at = until;
    }
    return ok;
}

/* All of the name in steps (in a capture without steps: all), whether the device was idle meanwhile or not. */
static void count_operators(operator_search *x) {
    const ps_step_index *steps = &x->host->links->steps;
    for (uint32_t i = 0; i < x->s->n; i++) {
        int64_t end_ns = x->s->start_ns[i] + x->s->dur_ns[i];
        bool is_asked =
            ps_is_host_range(x->s->kind[i]) && x->host->thread_of[x->s->track[i]] != PS_NONE &&
            (steps->n == 0 || ps_step_of(steps, x->s->start_ns[i], end_ns) != PS_STEP_OUTSIDE);
        uint64_t key = (uint64_t)x->s->name[i].id * PS_N_ACTIVITIES + x->host->of[i];
        uint32_t row = is_asked ? ps_idmap_get(&x->row_of, key) : PS_IDMAP_NONE;
        uint32_t name = is_asked ? ps_idmap_get(&x->count_of, x->s->name[i].id) : PS_IDMAP_NONE;
        if (row != PS_IDMAP_NONE) {
            x->rows[row].op.n++;
        }
        if (name != PS_IDMAP_NONE) {
            x->counts[name]++;
        }
    }
    for (size_t k = 0; k < x->n; k++) {
        x->rows[k].op.n_all = x->counts[ps_idmap_get(&x->count_of, x->rows[k].name)];
    }
}

static const ps_sort_key MOST_IDLE_FIRST[] = {
    PS_UP(operator_row, activity), PS_DOWN(operator_row, op.idle_ns), PS_UP(operator_row, op.name)};

static bool keep_operators(const operator_search *x, ps_report_rank *r) {
    bool ok = true;
    for (size_t i = 0; ok && i < x->n; i++) {
        ps_report_stops *stops = &r->stops[x->rows[i].activity];
        if (stops->n_operators++ < PS_REPORT_OPERATORS_KEPT) {
            ps_report_operator *op = &stops->operators[stops->n_operators - 1];
            *op = x->rows[i].op;
            op->name = ps_arena_strndup(&r->arena, op->name, strlen(op->name));
            ok = op->name != NULL;
        }
    }
    return ok;
}

bool ps_report_gather_operators(const ps_host_activity *host, const ps_idle *idle,
                                ps_report_rank *r) {
    operator_search x = {.host = host, .trace = host->links->trace};
    x.s = ps_trace_slices(x.trace);
    ps_idmap_init(&x.row_of);
    ps_idmap_init(&x.count_of);
    bool ok = true;
    for (size_t i = 0; ok && i < idle->n; i++) {
        bool is_of_range = idle->at[i].cause < PS_N_ACTIVITIES && idle->at[i].from != PS_NONE;
        ok = !is_of_range || add_operator_piece(&x, &idle->at[i]);
    }
    count_operators(&x);
    ps_sort_by(x.rows, x.n, sizeof *x.rows, PS_KEYS(MOST_IDLE_FIRST));
    ok = ok && keep_operators(&x, r);
    ps_free(x.rows);
    ps_free(x.counts);
    ps_idmap_fini(&x.row_of);
    ps_idmap_fini(&x.count_of);
    return ok;
}

/* --- what is said ------------------------------------------------------------------------------------------------------ */

void ps_report_say_operators(ps_lang lang, const ps_report_rank *r, ps_activity activity, char *out,
                             size_t size) {
    const ps_report_stops *stops = &r->stops[activity];
    int64_t n_steps = r->n_steps > 0 ? (int64_t)r->n_steps : 1;
    int64_t left_ns = ps_report_idle_ns(r, (int)activity);
    size_t n = stops->n_operators < PS_REPORT_OPERATORS_KEPT ? stops->n_operators
                                                             : PS_REPORT_OPERATORS_KEPT;
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && at < size && stops->operators[i].idle_ns >= n_steps; i++) {
        const ps_report_operator *op = &stops->operators[i];
        char all[32] = ""; /* the others lie in something else that the host is in */
        if (op->n_all > op->n) {
            (void)snprintf(all, sizeof all, PS_SAY(lang, " of %.3g", "/%.3g"),
                           (double)op->n_all / (double)n_steps);
        }
        at += (size_t)snprintf(
            out + at, size - at,
            PS_SAY(lang, "%s%.80s %s (%.3g%s a step)", "%s%.80s %s（每个 step %.3g%s 次）"),
            i > 0 ? PS_SAY(lang, ", ", "、") : "", op->name,
            ps_ns_text_of(op->idle_ns / n_steps).text, (double)op->n / (double)n_steps, all);
        left_ns -= op->idle_ns;
    }
    if (stops->n_operators > n && left_ns >= n_steps && at < size) {
        (void)snprintf(out + at, size - at, PS_SAY(lang, ", %zu others %s", "，另有 %zu 种 %s"),
                       stops->n_operators - n, ps_ns_text_of(left_ns / n_steps).text);
    }
}

void ps_report_say_ranges(ps_lang lang, const ps_report_rank *r, char *out, size_t size) {
    const ps_report_stops *ranges = &r->stops[PS_ACTIVITY_RANGE];
    int64_t n_steps = r->n_steps > 0 ? (int64_t)r->n_steps : 1;
    size_t at = 0;
    for (size_t i = 0; i < ranges->n_operators && i < 2 && at < size; i++) {
        const ps_report_operator *op = &ranges->operators[i];
        at += (size_t)snprintf(out + at, size - at, "%s%.60s %s",
                               i > 0 ? PS_SAY(lang, ", ", "、") : PS_SAY(lang, " (", "（"),
                               op->name, ps_ns_text_of(op->idle_ns / n_steps).text);
    }
    if (at > 0 && at < size) {
        (void)snprintf(out + at, size - at, PS_SAY(lang, ")", "）"));
    }
}
