#include "support/trace_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_us(ps_buf *out, int64_t ns) {
    ps_buf_addf(out, "%s%lld.%03lld", ns < 0 ? "-" : "", (long long)(llabs(ns) / 1000),
                (long long)(llabs(ns) % 1000));
}

static void add_text(ps_buf *out, const ps_trace *t, ps_str s) {
    ps_buf_add_json_str(out, ps_trace_text(t, s), ps_trace_text_len(t, s));
}

/* --- tracks -------------------------------------------------------------------------------------------- */

static const char *const TRACK_KINDS[] = {"thread", "stream",  "group",
                                          "plane",  "counter", "derived"};

static void add_identity(ps_buf *out, const ps_trace *t, uint32_t track) {
    size_t n = 0;
    const ps_track *k = &ps_trace_tracks(t, &n)[track];
    ps_buf_addf(out, "%s", TRACK_KINDS[k->kind]);
    if (k->device >= 0) {
        ps_buf_addf(out, " device %lld", (long long)k->device);
    }
    if (k->tid != -1) {
        ps_buf_addf(out, " %lld", (long long)k->tid);
    }
    if (!ps_str_is_none(k->name)) {
        ps_buf_add_char(out, ' ');
        add_text(out, t, k->name);
    }
}

static void add_tracks(ps_buf *out, const ps_trace *t) {
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(t, &n);
    for (size_t i = 0; i < n; i++) {
        const ps_process *p = &processes[i];
        ps_buf_addf(out, "process %lld ", p->pid_is_text ? -1LL : (long long)p->pid);
        add_text(out, t, p->name);
        ps_buf_add_char(out, ' ');
        add_text(out, t, p->labels);
        ps_buf_addf(out, p->order == PS_NO_ORDER ? "\n" : " order %lld\n", (long long)p->order);
    }
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (uint32_t i = 0; i < n; i++) {
        ps_buf_add_str(out, "track ");
        add_identity(out, t, i);
        ps_buf_addf(out, " pid %lld", tracks[i].pid < -1 ? -1LL : (long long)tracks[i].pid);
        if (!ps_str_is_none(tracks[i].label)) {
            ps_buf_add_str(out, " label ");
            add_text(out, t, tracks[i].label);
        }
        if (!ps_str_is_none(tracks[i].unit)) {
            ps_buf_add_str(out, " unit ");
            add_text(out, t, tracks[i].unit);
        }
        ps_buf_addf(out, tracks[i].order == PS_NO_ORDER ? "\n" : " order %lld\n",
                    (long long)tracks[i].order);
    }
}

/* --- slices, flows, counters ---------------------------------------------------------------------------- */

static void add_args(ps_buf *out, const ps_trace *t, uint32_t slice) {
    ps_arg_iter iter = ps_trace_args(t, slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        ps_buf_addf(out, " %s=", ps_trace_text(t, arg.key));
        switch (arg.type) {
        case PS_ARG_INT:
            ps_buf_addf(out, "%lld", (long long)arg.u.i);
            break;
        case PS_ARG_TIME:
            ps_buf_add_char(out, '@');
            add_us(out, arg.u.i);
            break;
        case PS_ARG_REAL:
            ps_buf_addf(out, "%.12g", arg.u.r);
            break;
        case PS_ARG_BOOL:
            ps_buf_add_str(out, arg.u.i != 0 ? "true" : "false");
            break;
        case PS_ARG_NULL:
            ps_buf_add_str(out, "null");
            break;
        case PS_ARG_STR:
            add_text(out, t, arg.u.s);
            break;
        case PS_ARG_NUMBER:
        case PS_ARG_JSON:
            ps_buf_add_str(out, ps_trace_text(t, arg.u.s));
            break;
        }
    }
}

static void add_slices(ps_buf *out, const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t i = 0; i < s->n; i++) {
        ps_buf_addf(out, "slice %u ", i);
        add_us(out, s->start_ns[i]);
        ps_buf_add_str(out, " +");
        add_us(out, s->dur_ns[i]);
        ps_buf_addf(out, " %s ", ps_slice_kind_name((ps_slice_kind)s->kind[i]));
        add_text(out, t, s->name[i]);
        ps_buf_add_str(out, " on ");
        add_identity(out, t, s->track[i]);
        if (!ps_str_is_none(s->category[i])) {
            ps_buf_addf(out, " cat %s", ps_trace_text(t, s->category[i]));
        }
        ps_buf_addf(out, " row %lld", (long long)s->source_row[i]);
        add_args(out, t, i);
        ps_buf_add_char(out, '\n');
    }
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "flow %u -> %u %s\n", flows[i].from, flows[i].to,
                    ps_trace_text(t, flows[i].kind));
    }
    const ps_counters *c = ps_trace_counters(t);
    for (uint32_t i = 0; i < c->n; i++) {
        ps_buf_add_str(out, "value ");
        add_us(out, c->time_ns[i]);
        ps_buf_addf(out, " %.12g of ", c->value[i]);
        add_identity(out, t, c->track[i]);
        ps_buf_add_char(out, '\n');
    }
}

/* --- the rest ------------------------------------------------------------------------------------------- */

static void add_table(ps_buf *out, const ps_table *table) {
    ps_buf_addf(out, "table %s\n ", table->name);
    for (size_t c = 0; c < table->n_columns; c++) {
        static const char *const TYPES[] = {"int", "real", "text", "string"};
        ps_buf_addf(out, " %s:%s:%s", table->columns[c].name, TYPES[table->columns[c].type],
                    ps_unit_name(table->columns[c].unit));
    }
    for (size_t row = 0; row < table->n_rows; row++) {
        ps_buf_add_str(out, "\n ");
        for (size_t c = 0; c < table->n_columns; c++) {
            const ps_value *v = ps_table_cell(table, row, c);
            ps_buf_add_char(out, ' ');
            if (v->is_null) {
                ps_buf_add_str(out, "-");
            } else if (table->columns[c].type == PS_COL_INT) {
                ps_buf_addf(out, "%lld", (long long)v->u.i);
            } else if (table->columns[c].type == PS_COL_REAL) {
                ps_buf_addf(out, "%.16g", v->u.r);
            } else {
                ps_buf_add_json_str(out, v->u.text, strlen(v->u.text));
            }
        }
    }
    ps_buf_add_char(out, '\n');
}

static void add_oddities(ps_buf *out, const ps_trace *t, bool with_places) {
    const ps_diag *d = ps_trace_diag(t);
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0) {
            continue;
        }
        ps_buf_addf(out, "odd %s %llu", ps_oddity_name((ps_oddity)k),
                    (unsigned long long)d->counts[k]);
        for (size_t p = 0; with_places && p < PS_DIAG_PLACES && d->places[k][p][0] != '\0'; p++) {
            ps_buf_addf(out, "; %s", d->places[k][p]);
        }
        ps_buf_add_char(out, '\n');
    }
}

void trace_text(const ps_trace *t, ps_buf *out) {
    size_t n = 0;
    ps_buf_addf(out, "origin %lld has %u\n", (long long)ps_trace_origin_ns(t), ps_trace_has(t));
    add_tracks(out, t);
    add_slices(out, t);
    const ps_step *steps = ps_trace_steps(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "step %lld ", (long long)steps[i].id);
        add_us(out, steps[i].start_ns);
        ps_buf_add_char(out, ' ');
        add_us(out, steps[i].end_ns);
        ps_buf_add_char(out, '\n');
    }
    const ps_meta *metas = ps_trace_metas(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "meta %s %s\n", metas[i].key, metas[i].value);
    }
    const ps_table *const *tables = ps_trace_side_tables(t, &n);
    for (size_t i = 0; i < n; i++) {
        add_table(out, tables[i]);
    }
    add_oddities(out, t, true);
}

typedef struct kind_count {
    const char *name;
    size_t n;
} kind_count;

static int compare_counts(const void *a, const void *b) {
    return strcmp(((const kind_count *)a)->name, ((const kind_count *)b)->name);
}

static void count_flows(const ps_trace *t, ps_buf *out) {
    kind_count counts[64];
    size_t n_counts = 0;
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        const char *name = ps_str_is_none(flows[i].kind) ? "mark" : ps_trace_text(t, flows[i].kind);
        size_t k = 0;
        while (k < n_counts && strcmp(counts[k].name, name) != 0) {
            k++;
        }
        if (k == n_counts && n_counts < sizeof counts / sizeof *counts) {
            counts[n_counts++] = (kind_count){name, 0};
        }
        counts[k].n += k < n_counts;
    }
    if (n_counts > 1) {
        qsort(counts, n_counts, sizeof *counts, compare_counts);
    }
    for (size_t k = 0; k < n_counts; k++) {
        ps_buf_addf(out, "flow %s %zu\n", counts[k].name, counts[k].n);
    }
}

void trace_text_counts(const ps_trace *t, ps_buf *out) {
    const ps_slices *s = ps_trace_slices(t);
    for (int kind = 0; kind < PS_N_SLICE_KINDS; kind++) {
        size_t count = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            count += s->kind[i] == kind;
        }
        if (count > 0) {
            ps_buf_addf(out, "slice %s %zu\n", ps_slice_kind_name((ps_slice_kind)kind), count);
        }
    }
    count_flows(t, out);
    size_t n = 0;
    ps_buf_addf(out, "counter values %u\n", ps_trace_counters(t)->n);
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t kind = 0; kind <= PS_TRACK_DERIVED; kind++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            count += tracks[i].kind == kind;
        }
        ps_buf_addf(out, "tracks %s %zu\n", TRACK_KINDS[kind], count);
    }
    const ps_step *steps = ps_trace_steps(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "step %lld %lld\n", (long long)steps[i].id,
                    (long long)(steps[i].end_ns - steps[i].start_ns));
    }
    const ps_table *const *tables = ps_trace_side_tables(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "table %s %zu x %zu\n", tables[i]->name, tables[i]->n_rows,
                    tables[i]->n_columns);
    }
    add_oddities(out, t, false);
}
