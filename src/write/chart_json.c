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
 * ],"work":[
 * {"rank":1,"stage":1,"step":1,"step_ns":330000,"busy_ns":240000,"other_ns":0,"bubble_ns":90000,"work_ns":240000}
 * ]}
 *
 * What is unknown is left out. */
#include "write/chart_json.h"

#include <string.h>

#include "base/alloc.h"
#include "write/chart_clocks.h"
#include "write/writers.h"

typedef struct job {
    const ps_chart *chart;
    int64_t step;
    int32_t pipeline;
    uint32_t *row_of; /* [n_ops] index in the output, PS_NO_INDEX left out */
    ps_buf *out;
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

static bool is_in(const job *j, uint32_t rank, int64_t step) {
    return rank_is_in(j, rank) && (j->step == PS_EVERY_STEP || step == j->step);
}

static void add_str(ps_buf *out, const char *key, const char *s) {
    ps_buf_addf(out, "\"%s\":", key);
    ps_buf_add_json_str(out, s, strlen(s));
}

static void add_int(ps_buf *out, const char *key, int64_t value) {
    ps_buf_addf(out, ",\"%s\":%lld", key, (long long)value);
}

static void add_known(ps_buf *out, const char *key, int64_t value) {
    if (value >= 0) {
        add_int(out, key, value);
    }
}

/* Opens a line of a list: its comma and line end. */
static void add_line(ps_buf *out, bool *first) {
    ps_buf_add_str(out, *first ? "\n{" : ",\n{");
    *first = false;
}

/* Where it is not the order of events alone. */
static void put_clock_source(ps_buf *out, const ps_chart_rank *rank) {
    if ((rank->clock_by & ~(uint32_t)PS_CLOCK_BY_ORDER) != 0) {
        ps_buf_addf(out, ",\"clock_by\":\"%s\"", ps_chart_clock_source(rank));
    }
    if (rank->clock_drift_ppb != 0) {
        add_int(out, "clock_drift_ppb", rank->clock_drift_ppb);
    }
}

static void put_ranks(const job *j) {
    bool first = true;
    bool with_machines = ps_chart_has_machines(j->chart);
    ps_buf_add_str(j->out, "\n\"ranks\":[");
    for (size_t i = 0; i < j->chart->n_ranks; i++) {
        const ps_chart_rank *rank = &j->chart->ranks[i];
        if (rank_is_in(j, (uint32_t)i)) {
            add_line(j->out, &first);
            ps_buf_addf(j->out, "\"rank\":%d", (int)rank->rank);
            add_known(j->out, "stage", rank->stage);
            add_int(j->out, "pipeline", rank->pipeline);
            if (with_machines) {
                add_known(j->out, "machine", rank->machine);
            }
            if (rank->has_clock) {
                add_int(j->out, "clock_offset_ns", rank->clock_offset_ns);
                add_int(j->out, "clock_uncertainty_ns", rank->clock_uncertainty_ns);
                put_clock_source(j->out, rank);
            }
            ps_buf_add_char(j->out, '}');
        }
    }
    ps_buf_add_str(j->out, "\n]");
}

static void put_op(ps_buf *out, const ps_chart_rank *rank, const ps_op *op) {
    ps_buf_addf(out, "\"rank\":%d", (int)rank->rank);
    add_known(out, "stage", rank->stage);
    ps_buf_addf(out, ",\"kind\":\"%s\"", ps_op_kind_name((ps_op_kind)op->kind));
    add_known(out, "chunk", op->chunk);
    add_known(out, "microbatch", op->microbatch);
    if (op->kind == PS_OP_FB) {
        add_known(out, "chunk2", op->chunk2);
        add_known(out, "microbatch2", op->microbatch2);
    }
    add_known(out, "phase", op->phase);
    ps_buf_add_char(out, ',');
    add_str(out, "name", op->name);
    add_int(out, "start_ns", op->start_ns);
    add_int(out, "end_ns", op->end_ns);
    if (op->has_host) {
        add_int(out, "host_start_ns", op->host_start_ns);
        add_int(out, "host_end_ns", op->host_end_ns);
    }
    add_int(out, "step", op->step);
    ps_buf_addf(out, ",\"source\":\"%s\"}", ps_op_source_name((ps_op_source)op->source));
}

/* Returns how many ops were written. */
static uint32_t put_ops(const job *j) {
    bool first = true;
    uint32_t n = 0;
    ps_buf_add_str(j->out, ",\n\"ops\":[");
    for (size_t i = 0; i < j->chart->n_ops; i++) {
        const ps_op *op = &j->chart->ops[i];
        bool in = is_in(j, op->rank, op->step);
        j->row_of[i] = in ? n++ : PS_NO_INDEX;
        if (in) {
            add_line(j->out, &first);
            put_op(j->out, &j->chart->ranks[op->rank], op);
        }
    }
    ps_buf_add_str(j->out, "\n]");
    return n;
}

static void put_links(const job *j) {
    bool first = true;
    ps_buf_add_str(j->out, ",\n\"links\":[");
    for (size_t i = 0; i < j->chart->n_links; i++) {
        uint32_t from = j->row_of[j->chart->links[i].from];
        uint32_t to = j->row_of[j->chart->links[i].to];
        if (from != PS_NO_INDEX && to != PS_NO_INDEX) {
            add_line(j->out, &first);
            ps_buf_addf(j->out, "\"from\":%u,\"to\":%u}", from, to);
        }
    }
    ps_buf_add_str(j->out, "\n]");
}

/* Where the program named any. */
static void put_parts(const job *j) {
    bool first = true;
    for (size_t i = 0; i < j->chart->n_parts; i++) {
        const ps_chart_part *part = &j->chart->parts[i];
        if (j->row_of[part->op] == PS_NO_INDEX) {
            continue;
        }
        ps_buf_add_str(j->out, first ? ",\n\"parts\":[" : "");
        add_line(j->out, &first);
        ps_buf_addf(j->out, "\"op\":%u,", j->row_of[part->op]);
        add_str(j->out, "name", part->name);
        ps_buf_addf(j->out, ",\"kind\":\"%s\"", ps_op_kind_name((ps_op_kind)part->kind));
        ps_buf_add_str(j->out, part->communicates ? ",\"communicates\":true" : "");
        add_int(j->out, "start_ns", part->start_ns);
        add_int(j->out, "end_ns", part->end_ns);
        ps_buf_add_char(j->out, '}');
    }
    ps_buf_add_str(j->out, first ? "" : "\n]");
}

/* Of ranks whose device is known: step = busy + other + bubble; without a bubble where none is told. */
static void put_work(const job *j) {
    bool first = true;
    for (size_t i = 0; i < j->chart->n_figures; i++) {
        const ps_chart_figure *f = &j->chart->figures[i];
        const ps_chart_rank *rank = &j->chart->ranks[f->rank];
        if (!rank->has_work || !is_in(j, f->rank, f->step)) {
            continue;
        }
        ps_buf_add_str(j->out, first ? ",\n\"work\":[" : "");
        add_line(j->out, &first);
        ps_buf_addf(j->out, "\"rank\":%d", (int)rank->rank);
        add_known(j->out, "stage", rank->stage);
        add_int(j->out, "step", f->step);
        add_int(j->out, "step_ns", f->step_ns);
        add_int(j->out, "busy_ns", f->busy_ns);
        add_int(j->out, "other_ns", f->other_ns);
        if (f->is_told) {
            add_int(j->out, "bubble_ns", f->bubble_ns);
        }
        add_int(j->out, "work_ns", f->work_ns);
        ps_buf_add_char(j->out, '}');
    }
    ps_buf_add_str(j->out, first ? "" : "\n]");
}

static void put_bubbles(const job *j) {
    bool first = true;
    ps_buf_add_str(j->out, ",\n\"bubble\":[");
    for (size_t i = 0; i < j->chart->n_bubbles; i++) {
        const ps_bubble *b = &j->chart->bubbles[i];
        if (!is_in(j, b->rank, b->step)) {
            continue;
        }
        const ps_chart_rank *rank = &j->chart->ranks[b->rank];
        add_line(j->out, &first);
        ps_buf_addf(j->out, "\"rank\":%d", (int)rank->rank);
        add_known(j->out, "stage", rank->stage);
        add_int(j->out, "step", b->step);
        ps_buf_addf(j->out, ",\"cause\":\"%s\"", ps_bubble_cause_name((ps_bubble_cause)b->cause));
        add_int(j->out, "start_ns", b->start_ns);
        add_int(j->out, "end_ns", b->end_ns);
        if (b->waits_for != PS_NO_INDEX && j->row_of[b->waits_for] != PS_NO_INDEX) {
            add_int(j->out, "waits_for", j->row_of[b->waits_for]);
        }
        ps_buf_add_char(j->out, '}');
    }
    ps_buf_add_str(j->out, "\n]");
}

static int64_t first_step(const ps_chart *chart) {
    int64_t step = INT64_MAX;
    for (size_t i = 0; i < chart->n_ops; i++) {
        step = chart->ops[i].step < step ? chart->ops[i].step : step;
    }
    return step;
}

ps_code ps_write_chart_json(const ps_chart *chart, const ps_chart_json_opts *opts, ps_buf *out,
                            ps_err *err) {
    job j = {.chart = chart, .step = PS_EVERY_STEP, .pipeline = -1, .out = out};
    if (opts != NULL) {
        j.step = opts->step == PS_FIRST_STEP ? first_step(chart) : opts->step;
        j.pipeline = opts->pipeline;
    }
    j.row_of = ps_calloc(chart->n_ops, sizeof *j.row_of);
    if (j.row_of == NULL) {
        return ps_fail_nomem(err);
    }
    ps_buf_add_str(out, "{\"format\":\"pipescope-chart\",\"version\":1,\n");
    add_str(out, "title", chart->title);
    ps_buf_add_char(out, ',');
    add_str(out, "schedule", chart->schedule);
    ps_buf_add_char(out, ',');
    add_str(out, "schedule_how", chart->schedule_how);
    if (chart->labels[0] != '\0') {
        ps_buf_add_char(out, ',');
        add_str(out, "labels", chart->labels);
    }
    if (chart->untold[0] != '\0') {
        ps_buf_add_char(out, ',');
        add_str(out, "untold", chart->untold);
    }
    if (chart->is_aligned) {
        ps_buf_add_str(out, ",\"aligned\":true");
    }
    ps_buf_addf(out, ",\"origin_ns\":\"%lld\",", (long long)chart->origin_ns);
    put_ranks(&j);
    uint32_t n = put_ops(&j);
    put_links(&j);
    put_parts(&j);
    put_bubbles(&j);
    put_work(&j);
    ps_buf_add_str(out, "}\n");
    ps_free(j.row_of);
    if (n == 0 && (j.step != PS_EVERY_STEP || j.pipeline >= 0)) {
        return ps_fail(err, PS_NOTHING, "the chart has no ops of that step and pipeline");
    }
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
