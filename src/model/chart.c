#include "model/chart.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

#define MAX_OPS ((size_t)1 << 31)

ps_chart *ps_chart_new(void) {
    ps_chart *chart = ps_calloc(1, sizeof *chart);
    if (chart != NULL) {
        chart->title = "";
        chart->schedule = "";
        chart->schedule_how = "";
        chart->labels = "";
        chart->unjudged = "";
        chart->unreplayed = "";
        ps_arena_init(&chart->arena);
    }
    return chart;
}

void ps_chart_free(ps_chart *chart) {
    if (chart != NULL) {
        ps_arena_fini(&chart->arena);
        ps_free(chart->ranks);
        ps_free(chart->ops);
        ps_free(chart->links);
        ps_free(chart->bubbles);
        ps_free(chart->works);
        ps_free(chart->others);
        ps_free(chart->path);
        ps_free(chart->parts);
        ps_free(chart->figures);
        ps_free(chart);
    }
}

bool ps_chart_add_rank(ps_chart *chart, ps_chart_rank rank) {
    if (!ps_grow(&chart->ranks, &chart->cap_ranks, chart->n_ranks + 1, MAX_OPS,
                 sizeof *chart->ranks)) {
        return false;
    }
    chart->ranks[chart->n_ranks++] = rank;
    return true;
}

bool ps_chart_add_op(ps_chart *chart, ps_op op) {
    if (!ps_grow(&chart->ops, &chart->cap_ops, chart->n_ops + 1, MAX_OPS, sizeof *chart->ops)) {
        return false;
    }
    if (op.name != NULL) {
        op.name = ps_arena_strndup(&chart->arena, op.name, strlen(op.name));
    }
    if (op.name == NULL) {
        return false;
    }
    chart->ops[chart->n_ops++] = op;
    return true;
}

bool ps_chart_add_link(ps_chart *chart, ps_chart_link link) {
    if (!ps_grow(&chart->links, &chart->cap_links, chart->n_links + 1, MAX_OPS,
                 sizeof *chart->links)) {
        return false;
    }
    chart->links[chart->n_links++] = link;
    return true;
}

bool ps_chart_add_bubble(ps_chart *chart, ps_bubble bubble) {
    if (!ps_grow(&chart->bubbles, &chart->cap_bubbles, chart->n_bubbles + 1, MAX_OPS,
                 sizeof *chart->bubbles)) {
        return false;
    }
    chart->bubbles[chart->n_bubbles++] = bubble;
    return true;
}

bool ps_chart_add_work(ps_chart *chart, ps_chart_work work) {
    if (!ps_grow(&chart->works, &chart->cap_works, chart->n_works + 1, MAX_OPS,
                 sizeof *chart->works)) {
        return false;
    }
    chart->works[chart->n_works++] = work;
    return true;
}

bool ps_chart_add_other(ps_chart *chart, ps_chart_other other) {
    if (!ps_grow(&chart->others, &chart->cap_others, chart->n_others + 1, MAX_OPS,
                 sizeof *chart->others)) {
        return false;
    }
    chart->others[chart->n_others++] = other;
    return true;
}

bool ps_chart_add_path(ps_chart *chart, uint32_t op) {
    if (!ps_grow(&chart->path, &chart->cap_path, chart->n_path + 1, MAX_OPS, sizeof *chart->path)) {
        return false;
    }
    chart->path[chart->n_path++] = op;
    return true;
}

bool ps_chart_add_part(ps_chart *chart, ps_chart_part part) {
    if (!ps_grow(&chart->parts, &chart->cap_parts, chart->n_parts + 1, MAX_OPS,
                 sizeof *chart->parts)) {
        return false;
    }
    part.name = ps_arena_strndup(&chart->arena, part.name, strlen(part.name));
    if (part.name == NULL) {
        return false;
    }
    chart->parts[chart->n_parts++] = part;
    return true;
}

bool ps_chart_add_figure(ps_chart *chart, ps_chart_figure figure) {
    if (!ps_grow(&chart->figures, &chart->cap_figures, chart->n_figures + 1, MAX_OPS,
                 sizeof *chart->figures)) {
        return false;
    }
    chart->figures[chart->n_figures++] = figure;
    return true;
}

bool ps_chart_set_unjudged(ps_chart *chart, const char *unjudged) {
    const char *copy = ps_arena_strndup(&chart->arena, unjudged, strlen(unjudged));
    chart->unjudged = copy != NULL ? copy : "";
    return copy != NULL;
}

bool ps_chart_set_unreplayed(ps_chart *chart, const char *unreplayed) {
    const char *copy = ps_arena_strndup(&chart->arena, unreplayed, strlen(unreplayed));
    chart->unreplayed = copy != NULL ? copy : "";
    return copy != NULL;
}

bool ps_chart_set_how(ps_chart *chart, const char *schedule_how) {
    const char *copy = ps_arena_strndup(&chart->arena, schedule_how, strlen(schedule_how));
    chart->schedule_how = copy != NULL ? copy : "";
    return copy != NULL;
}

bool ps_chart_set_labels(ps_chart *chart, const char *labels) {
    const char *copy = ps_arena_strndup(&chart->arena, labels, strlen(labels));
    chart->labels = copy != NULL ? copy : "";
    return copy != NULL;
}

bool ps_chart_has_machines(const ps_chart *chart) {
    for (size_t r = 1; r < chart->n_ranks; r++) {
        if (chart->ranks[r].machine != chart->ranks[0].machine) {
            return true;
        }
    }
    return false;
}

bool ps_chart_set_text(ps_chart *chart, const char *title, const char *schedule) {
    chart->title = ps_arena_strndup(&chart->arena, title, strlen(title));
    chart->schedule = ps_arena_strndup(&chart->arena, schedule, strlen(schedule));
    if (chart->title == NULL || chart->schedule == NULL) {
        chart->title = "";
        chart->schedule = "";
        return false;
    }
    return true;
}

const char *ps_op_kind_name(ps_op_kind kind) {
    static const char *const NAMES[] = {
#define X(kind, name, text) name,
        PS_OP_KINDS(X)
#undef X
    };
    return NAMES[kind];
}

bool ps_op_counts_on(const ps_op *op) {
    char *end = NULL;
    long number = strtol(op->name, &end, 10);
    return op->kind != PS_OP_FB && op->chunk > 0 && op->microbatch >= 0 && end != op->name &&
           number != op->microbatch;
}

const char *ps_bubble_cause_name(ps_bubble_cause cause) {
    static const char *const NAMES[] = {
#define X(cause, name, text) name,
        PS_BUBBLE_CAUSES(X)
#undef X
    };
    return NAMES[cause];
}

const char *ps_bubble_cause_word(ps_lang lang, ps_bubble_cause cause) {
    static const char *const CHINESE[PS_N_BUBBLE_CAUSES] = {
        [PS_BUBBLE_WARMUP] = "预热", [PS_BUBBLE_STALL] = "停顿", [PS_BUBBLE_COOLDOWN] = "收尾"};
    return lang == PS_CHINESE ? CHINESE[cause] : ps_bubble_cause_name(cause);
}

ps_bubble_word ps_chart_bubble(const ps_chart *chart, int64_t step, int32_t pipeline,
                               double *share) {
    double bubble = 0; /* sums over ranks may leave 64 bits */
    double all = 0;
    ps_bubble_word word = PS_BUBBLE_UNMEASURED;
    for (size_t i = 0; i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        if (f->step == step && chart->ranks[f->rank].pipeline == pipeline) {
            bubble += (double)f->bubble_ns;
            all += (double)f->step_ns;
            word = word == PS_BUBBLE_UNTOLD || !f->is_judged ? PS_BUBBLE_UNTOLD : PS_BUBBLE_TOLD;
        }
    }
    *share = all > 0 ? bubble / all : 0;
    return word;
}

double ps_chart_unmarked(const ps_chart *chart, int64_t step, int32_t pipeline) {
    double unmarked = 0; /* sums over ranks may leave 64 bits */
    double all = 0;
    for (size_t i = 0; i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        if (f->step == step && chart->ranks[f->rank].pipeline == pipeline) {
            unmarked += (double)f->unmarked_ns;
            all += (double)f->step_ns;
        }
    }
    return all > 0 ? unmarked / all : 0;
}

/* A run of ops of one step. */
typedef struct step_run {
    int64_t step, n;
} step_run;

/* Of the chart's first rank; returns how many. `runs` NULL: only counted. */
static size_t list_runs(const ps_chart *chart, step_run *runs) {
    size_t n = 0;
    int64_t step = PS_FIRST_STEP;
    for (size_t i = 0; i < chart->n_ops && chart->ops[i].rank == chart->ops[0].rank; i++) {
        const ps_op *op = &chart->ops[i];
        if (op->kind == PS_OP_SEND || op->kind == PS_OP_RECV || op->step == PS_FIRST_STEP) {
            continue; /* PS_FIRST_STEP: outside every step */
        }
        n += op->step != step;
        step = op->step;
        if (runs != NULL) {
            runs[n - 1].step = step;
            runs[n - 1].n++;
        }
    }
    return n;
}

int64_t ps_chart_usual_step(const ps_chart *chart) {
    size_t n = list_runs(chart, NULL);
    step_run *runs = ps_calloc(n + 1, sizeof *runs);
    int64_t *counts = ps_calloc(n + 1, sizeof *counts);
    int64_t step = chart->ops[0].step; /* where memory is out, too */
    if (n > 0 && runs != NULL && counts != NULL) {
        (void)list_runs(chart, runs);
        for (size_t i = 0; i < n; i++) {
            counts[i] = runs[i].n;
        }
        int64_t usual = ps_usual_i64(counts, n);
        size_t i = 0;
        while (runs[i].n != usual) {
            i++;
        }
        step = runs[i].step;
    }
    ps_free(runs);
    ps_free(counts);
    return step;
}
