/* The layout stands in chart_pack.h. All differences wrap around in 64 bits, so no input can overflow them. */
#include "write/chart/chart_pack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "base/json_write.h"
#include "base/num.h"
#include "base/strpool.h"
#include "write/chart/block_text.h"
#include "write/chart/chart_clocks.h"
#include "write/chart/chart_note.h"
#include "write/chart/chart_rows.h"

/* --- columns ----------------------------------------------------------------------------------------------- */

static void add_varint(ps_buf *column, uint64_t v) {
    while (v >= 0x80) {
        ps_buf_add_char(column, (char)(v | 0x80));
        v >>= 7;
    }
    ps_buf_add_char(column, (char)v);
}

static uint64_t packed_zigzag(uint64_t difference) {
    return (difference << 1) ^ (difference >> 63 != 0 ? UINT64_MAX : 0);
}

/* z(now - before). */
static void add_packed_step(ps_buf *column, int64_t now, int64_t before) {
    add_varint(column, packed_zigzag((uint64_t)now - (uint64_t)before));
}

static void add_base64(ps_buf *out, const ps_buf *bytes) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes->data;
    char group[4];
    for (size_t i = 0; i < bytes->len; i += 3) {
        size_t n = bytes->len - i < 3 ? bytes->len - i : 3;
        uint32_t v = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                     (n > 2 ? in[i + 2] : 0U);
        group[0] = DIGITS[v >> 18];
        group[1] = DIGITS[v >> 12 & 63];
        group[2] = n > 1 ? DIGITS[v >> 6 & 63] : '=';
        group[3] = n > 2 ? DIGITS[v & 63] : '=';
        ps_buf_add(out, group, 4);
    }
}

/* A member in base64; empties the column. */
static void put_column(ps_json *j, const char *name, ps_buf *column) {
    ps_json_name(j, name, strlen(name));
    ps_json_value(j);
    ps_buf_add_char(j->out, '"');
    add_base64(j->out, column);
    ps_buf_add_char(j->out, '"');
    j->out->failed = j->out->failed || !ps_buf_ok(column);
    ps_buf_fini(column);
}

void ps_json_pack_column(ps_json *j, const char *name, const int64_t *numbers, size_t n) {
    ps_buf column = {0};
    for (size_t i = 0; i < n; i++) {
        add_packed_step(&column, numbers[i], i > 0 ? numbers[i - 1] : 0);
    }
    put_column(j, name, &column);
}

void ps_add_script_str(ps_buf *out, const char *s) {
    ps_buf text = {0};
    ps_buf_add_json_str(&text, s, strlen(s));
    const char *rest = ps_buf_str(&text);
    for (const char *at = strchr(rest, '<'); at != NULL; at = strchr(rest, '<')) {
        ps_buf_add(out, rest, (size_t)(at - rest));
        ps_buf_add_str(out, "\\u003c");
        rest = at + 1;
    }
    ps_buf_add_str(out, rest);
    out->failed = out->failed || !ps_buf_ok(&text);
    ps_buf_fini(&text);
}

void ps_json_script_str(ps_json *j, const char *s) {
    ps_json_value(j);
    ps_add_script_str(j->out, s);
}

/* An array whose items were written before. */
static void put_items(ps_json *j, const ps_buf *items) {
    ps_json_value(j);
    ps_buf_addf(j->out, "[%s]", ps_buf_str(items));
    j->out->failed = j->out->failed || !ps_buf_ok(items);
}

/* Adds `count` more rows of (rank, step) to "runs": [rank,step,count,...]. */
typedef struct run {
    uint32_t rank;
    int64_t step;
    size_t n; /* 0: none yet */
} run;

static void end_run(ps_buf *runs, run *r) {
    if (r->n > 0) {
        ps_buf_addf(runs, "%s%u,%lld,%zu", runs->len > 0 ? "," : "", r->rank, (long long)r->step,
                    r->n);
    }
    r->n = 0;
}

/* True when a new run begins with this row. */
static bool add_to_run(ps_buf *runs, run *r, uint32_t rank, int64_t step) {
    if (r->n > 0 && r->rank == rank && r->step == step) {
        r->n++;
        return false;
    }
    end_run(runs, r);
    *r = (run){rank, step, 1};
    return true;
}

/* --- ops --------------------------------------------------------------------------------------------------- */

/* The row of "labels" for an op, added when new. PS_NO_INDEX when memory is out. */
static uint32_t packed_label_of(const ps_op *op, ps_strpool *pool, ps_buf *key, ps_buf *labels) {
    ps_buf_clear(key);
    ps_add_script_str(key, op->name);
    ps_buf_addf(key, ",%d,%d,%ld,%d,%ld,%d,%d", op->kind, op->chunk, (long)op->microbatch,
                op->chunk2, (long)op->microbatch2, op->phase, op->source);
    size_t known = pool->n;
    ps_str id = ps_buf_ok(key) ? ps_strpool_add(pool, ps_buf_str(key), key->len) : PS_STR_NONE;
    if (ps_str_is_none(id)) {
        return PS_NO_INDEX;
    }
    if (pool->n > known) {
        ps_buf_addf(labels, "%s[%s,[", labels->len > 0 ? "," : "", ps_buf_str(key));
        ps_block_texts_add(labels, op, ps_add_script_str);
        ps_buf_add_str(labels, "]]");
    }
    return id.id - 1;
}

static ps_code pack_ops(const ps_chart *chart, ps_strpool *pool, ps_json *j, ps_err *err) {
    ps_buf labels = {0}, label = {0}, key = {0}, runs = {0};
    ps_buf gap = {0}, dur = {0}, host = {0}, host_dur = {0};
    run r = {0};
    int64_t last_dur[PS_N_OP_KINDS] = {0};
    int64_t end = 0;
    uint32_t last_label = 0;
    bool has_host = false;
    bool ok = true;
    for (size_t i = 0; i < chart->n_ops && ok; i++) {
        const ps_op *op = &chart->ops[i];
        int64_t took = (int64_t)((uint64_t)op->end_ns - (uint64_t)op->start_ns);
        uint32_t row = packed_label_of(op, pool, &key, &labels);
        ok = row != PS_NO_INDEX;
        end = add_to_run(&runs, &r, op->rank, op->step) ? 0 : end;
        add_packed_step(&label, row, last_label);
        add_packed_step(&gap, op->start_ns, end);
        add_packed_step(&dur, took, last_dur[op->kind]);
        if (op->has_host) {
            add_varint(&host,
                       packed_zigzag((uint64_t)op->host_start_ns - (uint64_t)op->start_ns) + 1);
            add_packed_step(&host_dur, op->host_end_ns, op->host_start_ns);
        } else {
            add_varint(&host, 0);
        }
        has_host = has_host || op->has_host;
        last_label = row;
        last_dur[op->kind] = took;
        end = op->end_ns;
    }
    end_run(&runs, &r);
    ps_json_line(j, 0);
    ps_json_key_uint(j, "n", chart->n_ops);
    ps_json_key(j, "labels");
    put_items(j, &labels);
    ps_json_line(j, 0);
    ps_json_key(j, "runs");
    put_items(j, &runs);
    if (!has_host) {
        ps_buf_clear(&host);
    }
    put_column(j, "label", &label);
    put_column(j, "gap", &gap);
    put_column(j, "dur", &dur);
    put_column(j, "host", &host);
    put_column(j, "hostdur", &host_dur);
    ps_buf_fini(&labels);
    ps_buf_fini(&key);
    ps_buf_fini(&runs);
    return ok && ps_buf_ok(j->out) ? PS_OK : ps_fail_nomem(err);
}

static void pack_links(const ps_chart *chart, ps_json *j) {
    ps_buf from = {0}, to = {0};
    int64_t last_from = 0;
    int64_t last_reach = 0;
    for (size_t i = 0; i < chart->n_links; i++) {
        const ps_chart_link *link = &chart->links[i];
        int64_t reach = (int64_t)link->to - (int64_t)link->from;
        add_packed_step(&from, link->from, last_from);
        add_packed_step(&to, reach, last_reach);
        last_from = link->from;
        last_reach = reach;
    }
    ps_json_line(j, 0);
    ps_json_key_object(j, "links");
    ps_json_key_uint(j, "n", chart->n_links);
    put_column(j, "from", &from);
    put_column(j, "to", &to);
    ps_json_close(j);
}

static void pack_bubbles(const ps_chart *chart, ps_json *j) {
    ps_buf runs = {0}, gap = {0}, dur = {0}, cause = {0}, waits = {0};
    run r = {0};
    int64_t end = 0;
    int64_t last_wait = 0;
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        const ps_bubble *b = &chart->bubbles[i];
        end = add_to_run(&runs, &r, b->rank, b->step) ? 0 : end;
        add_packed_step(&gap, b->start_ns, end);
        add_packed_step(&dur, b->end_ns, b->start_ns);
        add_varint(&cause, b->cause);
        if (b->waits_for == PS_NO_INDEX) {
            add_varint(&waits, 0);
        } else {
            add_varint(&waits, packed_zigzag((uint64_t)b->waits_for - (uint64_t)last_wait) + 1);
            last_wait = b->waits_for;
        }
        end = b->end_ns;
    }
    end_run(&runs, &r);
    ps_json_line(j, 0);
    ps_json_key_object(j, "bubbles");
    ps_json_key_uint(j, "n", chart->n_bubbles);
    ps_json_key(j, "runs");
    put_items(j, &runs);
    put_column(j, "gap", &gap);
    put_column(j, "dur", &dur);
    put_column(j, "cause", &cause);
    put_column(j, "waits", &waits);
    ps_json_close(j);
    ps_buf_fini(&runs);
}

static void pack_others(const ps_chart *chart, ps_json *j) {
    ps_buf runs = {0}, gap = {0}, dur = {0};
    run r = {0};
    int64_t end = 0;
    for (size_t i = 0; i < chart->n_others; i++) {
        const ps_chart_other *o = &chart->others[i];
        end = add_to_run(&runs, &r, o->rank, o->step) ? 0 : end;
        add_packed_step(&gap, o->start_ns, end);
        add_packed_step(&dur, o->end_ns, o->start_ns);
        end = o->end_ns;
    }
    end_run(&runs, &r);
    ps_json_line(j, 0);
    ps_json_key_object(j, "others");
    ps_json_key_uint(j, "n", chart->n_others);
    ps_json_key(j, "runs");
    put_items(j, &runs);
    put_column(j, "gap", &gap);
    put_column(j, "dur", &dur);
    ps_json_close(j);
    ps_buf_fini(&runs);
}

static void pack_unmarked(const ps_chart *chart, ps_json *j) {
    ps_json_key_array(j, "unmarked");
    for (size_t i = 0; i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        if (f->unmarked_ns > 0) {
            ps_json_array(j);
            ps_json_uint(j, f->rank);
            ps_json_int(j, f->step);
            ps_json_int(j, f->unmarked_ns);
            ps_json_close(j);
        }
    }
    ps_json_close(j);
}

static void pack_overlapped(const ps_chart *chart, ps_json *j) {
    ps_json_key_array(j, "overlapped");
    for (size_t i = 0; i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        if (f->overlapped_ns > 0) {
            ps_json_array(j);
            ps_json_uint(j, f->rank);
            ps_json_int(j, f->step);
            ps_json_int(j, f->overlapped_ns);
            ps_json_close(j);
        }
    }
    ps_json_close(j);
}

static void pack_path(const ps_chart *chart, ps_json *j) {
    ps_buf path = {0};
    int64_t last = 0;
    for (size_t i = 0; i < chart->n_path; i++) {
        add_packed_step(&path, chart->path[i], last);
        last = chart->path[i];
    }
    ps_json_key_object(j, "path");
    ps_json_key_uint(j, "n", chart->n_path);
    put_column(j, "op", &path);
    ps_json_close(j);
}

static void pack_parts(const ps_chart *chart, ps_json *j) {
    ps_json_line(j, 0);
    ps_json_key_array(j, "parts");
    for (size_t i = 0; i < chart->n_parts; i++) {
        const ps_chart_part *part = &chart->parts[i];
        ps_json_array(j);
        ps_json_uint(j, part->op);
        ps_json_script_str(j, part->name);
        ps_json_int(j, ps_part_row_of(part));
        ps_json_int(j, ps_part_look(part));
        ps_json_int(j, ps_i64_minus(part->start_ns, chart->ops[part->op].start_ns));
        ps_json_int(j, ps_i64_minus(part->end_ns, part->start_ns));
        ps_json_close(j);
    }
    ps_json_close(j);
}

static ps_code pack_windows(const ps_chart *chart, ps_json *j, ps_err *err) {
    ps_chart_window *windows = NULL;
    size_t n = 0;
    ps_code code = ps_chart_windows(chart, &windows, &n, err);
    ps_json_line(j, 0);
    ps_json_key_array(j, "windows");
    for (size_t i = 0; i < n; i++) {
        bool is_empty = windows[i].end_ns < windows[i].start_ns;
        ps_json_array(j);
        ps_json_int(j, windows[i].pipeline);
        ps_json_int(j, windows[i].step);
        ps_json_int(j, is_empty ? 0 : windows[i].start_ns);
        ps_json_int(j, is_empty ? -1 : windows[i].end_ns);
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_free(windows);
    return code;
}

/* How the schedule is known; where nobody says, where the labels come from. */
static void put_how(const ps_chart *chart, ps_json *j) {
    ps_buf how = {0};
    ps_buf_addf(&how, "%s%s", chart->schedule_how[0] != '\0' ? chart->schedule_how : chart->labels,
                chart->is_aligned ? PS_SAY(chart->lang, "; clocks aligned", "；时钟已对齐") : "");
    ps_json_script_str(j, ps_buf_str(&how));
    j->out->failed = j->out->failed || !ps_buf_ok(&how);
    ps_buf_fini(&how);
}

/* A sentence of the list, unless there is none. */
static void pack_note(ps_json *j, ps_buf *note) {
    if (note->len > 0) {
        ps_json_script_str(j, ps_buf_str(note));
    }
    j->out->failed = j->out->failed || !ps_buf_ok(note);
    ps_buf_clear(note);
}

/* What the numbers on blocks mean, for the legend; "" where they are plain microbatches. */
static void put_numbers(const ps_chart *chart, ps_json *j) {
    ps_buf note = {0};
    ps_chart_say_numbers(chart, "", PS_SAY(chart->lang, " ", ""), &note);
    ps_json_key(j, "numbers");
    ps_json_script_str(j, ps_buf_str(&note));
    j->out->failed = j->out->failed || !ps_buf_ok(&note);
    ps_buf_fini(&note);
}

/* What the terminal says of the chart's ops beside it. */
static void put_notes(const ps_chart *chart, ps_json *j) {
    ps_buf note = {0};
    ps_json_key_array(j, "notes");
    if (chart->schedule_how[0] != '\0' && chart->labels[0] != '\0') {
        ps_buf_addf(&note, PS_SAY(chart->lang, "From %s.", "来自：%s。"), chart->labels);
    }
    pack_note(j, &note);
    ps_chart_say_clocks(chart, true, "", PS_SAY(chart->lang, ". ", "。"), &note);
    pack_note(j, &note);
    ps_buf_fini(&note);
    if (chart->n_unmarked_weights > 0) {
        char text[256];
        ps_oddity_text(chart->lang, PS_ODD_TAIL_UNMARKED, chart->n_unmarked_weights, text,
                       sizeof text);
        ps_json_script_str(j, text);
    }
    ps_json_close(j);
}

/* Ranks without figures have all that is no op as bubble. */
static void find_told(const ps_chart *chart, bool *told) {
    for (size_t i = 0; i < chart->n_ranks; i++) {
        told[i] = true;
    }
    for (size_t i = 0; i < chart->n_figures; i++) {
        const ps_chart_figure *f = &chart->figures[i];
        told[f->rank] = told[f->rank] && f->is_judged;
    }
}

/* --- entry point ------------------------------------------------------------------------------------------- */

ps_code ps_chart_pack(const ps_chart *chart, ps_buf *out, ps_err *err) {
    ps_strpool pool;
    bool *told = ps_calloc(chart->n_ranks, sizeof *told);
    if (told == NULL || !ps_strpool_init(&pool)) {
        ps_free(told);
        return ps_fail_nomem(err);
    }
    find_told(chart, told);
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key(&j, "title");
    ps_json_script_str(&j, chart->title);
    ps_json_key(&j, "schedule");
    ps_json_script_str(&j, chart->schedule);
    ps_json_key(&j, "how");
    put_how(chart, &j);
    ps_json_key_int(&j, "measured", chart->n_figures > 0);
    ps_json_key(&j, "untold");
    ps_json_script_str(&j, chart->unjudged);
    ps_json_key(&j, "unreplayed");
    ps_json_script_str(&j, chart->unreplayed);
    put_notes(chart, &j);
    put_numbers(chart, &j);
    ps_json_key(&j, "origin_ns");
    ps_json_int_text(&j, chart->origin_ns);
    ps_json_line(&j, 0);
    ps_json_key_array(&j, "ranks");
    for (size_t i = 0; i < chart->n_ranks; i++) {
        const ps_chart_rank *rank = &chart->ranks[i];
        ps_json_array(&j);
        ps_json_int(&j, rank->rank);
        ps_json_int(&j, ps_chart_shown_stage(chart, rank));
        ps_json_int(&j, rank->pipeline);
        ps_json_int(&j, told[i]);
        ps_json_close(&j);
    }
    ps_json_close(&j);
    pack_unmarked(chart, &j);
    pack_overlapped(chart, &j);
    ps_code code = pack_windows(chart, &j, err);
    code = code == PS_OK ? pack_ops(chart, &pool, &j, err) : code;
    pack_links(chart, &j);
    pack_bubbles(chart, &j);
    pack_others(chart, &j);
    pack_path(chart, &j);
    pack_parts(chart, &j);
    ps_json_close(&j);
    ps_strpool_fini(&pool);
    ps_free(told);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
