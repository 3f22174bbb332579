/* {"format":"pipescope-chart","version":1,"title":"...","schedule":"1f1b","schedule_how":"","origin_ns":"0",
 * "ranks":[
 * {"rank":0,"stage":0,"pipeline":0}
 * ],"ops":[
 * {"rank":0,"stage":0,"kind":"F","chunk":0,"microbatch":0,"name":"0","start_ns":0,"end_ns":10000,"step":1,...}
 * ],"links":[
 * {"from":0,"to":8}
 * ],"parts":[
 * {"op":0,"name":"attn(F)","kind":"F","start_ns":0,"end_ns":4000}
 * ],"bubble":[
 * {"rank":1,"stage":1,"step":1,"cause":"warm-up","start_ns":0,"end_ns":10000,"waits_for":0}
 * ],"other_work":[
 * {"rank":1,"stage":1,"step":1,"start_ns":12000,"end_ns":13000}
 * ],"work":[
 * {"rank":1,"stage":1,"step":1,"step_ns":330000,"busy_ns":240000,"other_ns":0,"bubble_ns":90000,"work_ns":240000}
 * ]}
 *
 * What is unknown is left out. */
#include "write/chart/chart_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "write/chart/chart_clocks.h"
#include "write/out/json_text.h"
#include "write/out/writers.h"

typedef struct job {
    const ps_chart *chart;
    int64_t step;
    int32_t pipeline;
    uint32_t *row_of; /* [n_ops] index in the output, PS_NO_INDEX left out */
    ps_json *json;
} job;

const char *ps_op_source_name(ps_op_source source) {
    static const char *const NAMES[] = {
        [PS_SOURCE_MARK] = "mark",         [PS_SOURCE_ALIGNED] = "aligned",
        [PS_SOURCE_MESSAGE] = "message",   [PS_SOURCE_TABLE] = "StepTaskInfo",
        [PS_SOURCE_INFERRED] = "inferred", [PS_SOURCE_SIMULATED] = "simulated",
    };
    return NAMES[source];
}

static bool rank_is_in(const job *j, uint32_t rank) {
    return j->pipeline < 0 || j->chart->ranks[rank].pipeline == j->pipeline;
}

static bool json_is_in(const job *j, uint32_t rank, int64_t step) {
    return rank_is_in(j, rank) && (j->step == PS_EVERY_STEP || step == j->step);
}

/* Nothing when it is unknown. */
#define add_known(j, key, value)                                                                   \
    do {                                                                                           \
        if ((value) >= 0) {                                                                        \
            ps_json_key_int((j), key, (value));                                                    \
        }                                                                                          \
    } while (0)

/* Opens an object on a line of its own. */
static void add_line(ps_json *j) {
    ps_json_line(j, 0);
    ps_json_object(j);
}

static void end_list(ps_json *j) {
    ps_json_line(j, 0);
    ps_json_close(j);
}

#define begin_list(j, key) (ps_json_line((j), 0), ps_json_key((j), key), ps_json_array((j)))

/* Where it is not the order of events alone. */
static void put_clock_source(ps_json *w, const ps_chart_rank *rank) {
    if ((rank->clock_by & ~(uint32_t)PS_CLOCK_BY_ORDER) != 0) {
        ps_json_key_str(w, "clock_by", ps_chart_clock_source(PS_ENGLISH, rank));
    }
    if (rank->clock_drift_ppb != 0) {
        ps_json_key_int(w, "clock_drift_ppb", rank->clock_drift_ppb);
    }
}

static void put_ranks(const job *j) {
    ps_json *w = j->json;
    bool with_machines = ps_chart_has_machines(j->chart);
    begin_list(w, "ranks");
    for (size_t i = 0; i < j->chart->n_ranks; i++) {
        const ps_chart_rank *rank = &j->chart->ranks[i];
        if (rank_is_in(j, (uint32_t)i)) {
            add_line(w);
            ps_json_key_int(w, "rank", rank->rank);
            add_known(w, "stage", rank->stage);
            ps_json_key_int(w, "pipeline", rank->pipeline);
            if (with_machines) {
                add_known(w, "machine", rank->machine);
            }
            if (rank->has_clock) {
                ps_json_key_int(w, "clock_offset_ns", rank->clock_offset_ns);
                ps_json_key_int(w, "clock_uncertainty_ns", rank->clock_uncertainty_ns);
                put_clock_source(w, rank);
            }
            if (j->chart->is_aligned && rank->has_clock && !rank->clock_is_taken_off) {
                ps_json_key_bool(w, "clock_taken_off", false);
            }
            ps_json_close(w);
        }
    }
    end_list(w);
}

static void put_op(ps_json *w, const ps_chart_rank *rank, const ps_op *op) {
    ps_json_key_int(w, "rank", rank->rank);
    add_known(w, "stage", rank->stage);
    ps_json_key_str(w, "kind", ps_op_kind_name((ps_op_kind)op->kind));
    add_known(w, "chunk", op->chunk);
    add_known(w, "microbatch", op->microbatch);
    if (op->kind == PS_OP_FB) {
        add_known(w, "chunk2", op->chunk2);
        add_known(w, "microbatch2", op->microbatch2);
    }
    add_known(w, "phase", op->phase);
    ps_json_key_str(w, "name", op->name);
    ps_json_key_int(w, "start_ns", op->start_ns);
    ps_json_key_int(w, "end_ns", op->end_ns);
    if (op->has_host) {
        ps_json_key_int(w, "host_start_ns", op->host_start_ns);
        ps_json_key_int(w, "host_end_ns", op->host_end_ns);
    }
    ps_json_key_int(w, "step", op->step);
    ps_json_key_str(w, "source", ps_op_source_name((ps_op_source)op->source));
    ps_json_close(w);
}

/* Returns how many ops were written. */
static uint32_t put_ops(const job *j) {
    ps_json *w = j->json;
    uint32_t n = 0;
    begin_list(w, "ops");
    for (size_t i = 0; i < j->chart->n_ops; i++) {
        const ps_op *op = &j->chart->ops[i];
        bool in = json_is_in(j, op->rank, op->step);
        j->row_of[i] = in ? n++ : PS_NO_INDEX;
        if (in) {
            add_line(w);
            put_op(w, &j->chart->ranks[op->rank], op);
        }
    }
    end_list(w);
    return n;
}

static void put_links(const job *j) {
    ps_json *w = j->json;
    begin_list(w, "links");
    for (size_t i = 0; i < j->chart->n_links; i++) {
        uint32_t from = j->row_of[j->chart->links[i].from];
        uint32_t to = j->row_of[j->chart->links[i].to];
        if (from != PS_NO_INDEX && to != PS_NO_INDEX) {
            add_line(w);
            ps_json_key_int(w, "from", from);
            ps_json_key_int(w, "to", to);
            ps_json_close(w);
        }
    }
    end_list(w);
}

/* Where the program named any. */
static void put_json_parts(const job *j) {
    bool is_open = false;
    ps_json *w = j->json;
    for (size_t i = 0; i < j->chart->n_parts; i++) {
        const ps_chart_part *part = &j->chart->parts[i];
        if (j->row_of[part->op] == PS_NO_INDEX) {
            continue;
        }
        if (!is_open) {
            begin_list(w, "parts");
            is_open = true;
        }
        add_line(w);
        ps_json_key_int(w, "op", j->row_of[part->op]);
        ps_json_key_str(w, "name", part->name);
        ps_json_key_str(w, "kind", ps_op_kind_name((ps_op_kind)part->kind));
        if (part->communicates) {
            ps_json_key_bool(w, "communicates", true);
        }
        ps_json_key_int(w, "start_ns", part->start_ns);
        ps_json_key_int(w, "end_ns", part->end_ns);
        ps_json_close(w);
    }
    if (is_open) {
        end_list(w);
    }
}

/* What the device did in no op, moment by moment; other_ns of "work" adds it up. Where there is any. */
static void put_other_work(const job *j) {
    bool is_open = false;
    ps_json *w = j->json;
    for (size_t i = 0; i < j->chart->n_others; i++) {
        const ps_chart_other *o = &j->chart->others[i];
        const ps_chart_rank *rank = &j->chart->ranks[o->rank];
        if (!json_is_in(j, o->rank, o->step)) {
            continue;
        }
        if (!is_open) {
            begin_list(w, "other_work");
            is_open = true;
        }
        add_line(w);
        ps_json_key_int(w, "rank", rank->rank);
        add_known(w, "stage", rank->stage);
        ps_json_key_int(w, "step", o->step);
        ps_json_key_int(w, "start_ns", o->start_ns);
        ps_json_key_int(w, "end_ns", o->end_ns);
        ps_json_close(w);
    }
    if (is_open) {
        end_list(w);
    }
}

/* Of ranks whose device is known: step = busy + other + bubble; without a bubble where none is told. Of others where ops
 * without marks may be in the bubble: then with unmarked_ns; and where a forward ran beside a backward: with overlapped_ns. */
static void put_work(const job *j) {
    bool is_open = false;
    ps_json *w = j->json;
    for (size_t i = 0; i < j->chart->n_figures; i++) {
        const ps_chart_figure *f = &j->chart->figures[i];
        const ps_chart_rank *rank = &j->chart->ranks[f->rank];
        if ((!rank->has_work && f->unmarked_ns == 0 && f->overlapped_ns == 0) ||
            !json_is_in(j, f->rank, f->step)) {
            continue;
        }
        if (!is_open) {
            begin_list(w, "work");
            is_open = true;
        }
        add_line(w);
        ps_json_key_int(w, "rank", rank->rank);
        add_known(w, "stage", rank->stage);
        ps_json_key_int(w, "step", f->step);
        ps_json_key_int(w, "step_ns", f->step_ns);
        ps_json_key_int(w, "busy_ns", f->busy_ns);
        if (f->overlapped_ns > 0) {
            ps_json_key_int(w, "overlapped_ns", f->overlapped_ns);
        }
        if (rank->has_work) {
            ps_json_key_int(w, "other_ns", f->other_ns);
        }
        if (f->is_judged) {
            ps_json_key_int(w, "bubble_ns", f->bubble_ns);
        }
        if (rank->has_work) {
            ps_json_key_int(w, "work_ns", f->work_ns);
        } else if (f->unmarked_ns > 0) {
            ps_json_key_int(w, "unmarked_ns", f->unmarked_ns);
        }
        ps_json_close(w);
    }
    if (is_open) {
        end_list(w);
    }
}

static void put_bubbles(const job *j) {
    ps_json *w = j->json;
    begin_list(w, "bubble");
    for (size_t i = 0; i < j->chart->n_bubbles; i++) {
        const ps_bubble *b = &j->chart->bubbles[i];
        if (!json_is_in(j, b->rank, b->step)) {
            continue;
        }
        const ps_chart_rank *rank = &j->chart->ranks[b->rank];
        add_line(w);
        ps_json_key_int(w, "rank", rank->rank);
        add_known(w, "stage", rank->stage);
        ps_json_key_int(w, "step", b->step);
        ps_json_key_str(w, "cause", ps_bubble_cause_name((ps_bubble_cause)b->cause));
        ps_json_key_int(w, "start_ns", b->start_ns);
        ps_json_key_int(w, "end_ns", b->end_ns);
        if (b->waits_for != PS_NO_INDEX && j->row_of[b->waits_for] != PS_NO_INDEX) {
            ps_json_key_int(w, "waits_for", j->row_of[b->waits_for]);
        }
        ps_json_close(w);
    }
    end_list(w);
}

/* What lies outside of all steps only where there is nothing else. */
static int64_t first_step(const ps_chart *chart) {
    int64_t step = PS_FIRST_STEP;
    for (size_t i = 0; i < chart->n_ops; i++) {
        int64_t of = chart->ops[i].step;
        step = of != PS_FIRST_STEP && (step == PS_FIRST_STEP || of < step) ? of : step;
    }
    return step;
}

static void put_trimmed(ps_json *w, const ps_chart_trimmed *trimmed) {
    if (trimmed->n_labels == 0) {
        return;
    }
    ps_json_key_object(w, "trimmed");
    ps_json_key_int(w, "labels", trimmed->n_labels);
    ps_json_key_int(w, "labelled_ns", trimmed->labelled_ns);
    ps_json_key_int(w, "trimmed_ns", trimmed->trimmed_ns);
    ps_json_close(w);
}

ps_code ps_write_chart_json(const ps_chart *chart, const ps_chart_json_opts *opts, ps_buf *out,
                            ps_err *err) {
    ps_json w = ps_json_to(out);
    job j = {.chart = chart, .step = PS_EVERY_STEP, .pipeline = -1, .json = &w};
    if (opts != NULL) {
        j.step = opts->step == PS_FIRST_STEP ? first_step(chart) : opts->step;
        j.pipeline = opts->pipeline;
    }
    j.row_of = ps_calloc(chart->n_ops, sizeof *j.row_of);
    if (j.row_of == NULL) {
        return ps_fail_nomem(err);
    }
    ps_json_object(&w);
    ps_json_pair(&w, "format", "pipescope-chart");
    ps_json_key_int(&w, "version", 1);
    ps_json_line(&w, 0);
    ps_json_key_str(&w, "title", chart->title);
    ps_json_key_str(&w, "schedule", chart->schedule);
    ps_json_key_str(&w, "schedule_how", chart->schedule_how);
    if (chart->labels[0] != '\0') {
        ps_json_key_str(&w, "labels", chart->labels);
    }
    put_trimmed(&w, &chart->trimmed);
    if (chart->unjudged[0] != '\0') {
        ps_json_key_str(&w, "untold", chart->unjudged);
    }
    if (chart->unreplayed[0] != '\0') {
        ps_json_key_str(&w, "unreplayed", chart->unreplayed);
    }
    if (chart->is_aligned) {
        ps_json_key_bool(&w, "aligned", true);
    }
    ps_json_lacks(&w, 0, chart->lacks);
    ps_json_key(&w, "origin_ns");
    ps_json_int_text(&w, chart->origin_ns);
    put_ranks(&j);
    uint32_t n = put_ops(&j);
    put_links(&j);
    put_json_parts(&j);
    put_bubbles(&j);
    put_other_work(&j);
    put_work(&j);
    ps_json_close(&w);
    ps_buf_add_char(out, '\n');
    ps_free(j.row_of);
    if (n == 0 && (j.step != PS_EVERY_STEP || j.pipeline >= 0)) {
        return ps_fail(err, PS_NOTHING, "the chart has no ops of that step and pipeline");
    }
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
