#include "support/trace_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_text(const ps_trace *t, ps_str s, ps_buf *out) {
    ps_buf_add_json_str(out, ps_trace_text(t, s), ps_trace_text_len(t, s));
}

static void add_order(int64_t order, ps_buf *out) {
    if (order == PS_NO_ORDER) {
        ps_buf_add_str(out, " order -");
    } else {
        ps_buf_addf(out, " order %lld", (long long)order);
    }
}

static void add_track(const ps_trace *t, uint32_t row, ps_buf *out) {
    static const char *const KINDS[] = {"thread", "stream", "group", "plane", "counter", "derived"};
    size_t n = 0;
    const ps_track *track = &ps_trace_tracks(t, &n)[row];
    ps_buf_addf(out, "%s %lld/%lld@%lld ", KINDS[track->kind], (long long)track->pid,
                (long long)track->tid, (long long)track->device);
    add_text(t, track->name, out);
}

static void add_arg(const ps_trace *t, const ps_arg *arg, ps_buf *out) {
    static const char *const TYPES[] = {"int",    "time", "real", "str",
                                        "number", "json", "bool", "null"};
    ps_buf_addf(out, "    %s ", TYPES[arg->type]);
    add_text(t, arg->key, out);
    switch (arg->type) {
    case PS_ARG_INT:
    case PS_ARG_BOOL:
        ps_buf_addf(out, " %lld\n", (long long)arg->u.i);
        break;
    case PS_ARG_TIME:
        ps_buf_addf(out, " %lld\n", (long long)(arg->u.i + ps_trace_origin_ns(t)));
        break;
    case PS_ARG_REAL:
        ps_buf_addf(out, " %a\n", arg->u.r);
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        ps_buf_add_char(out, ' ');
        add_text(t, arg->u.s, out);
        ps_buf_add_char(out, '\n');
        break;
    case PS_ARG_NULL:
        ps_buf_add_char(out, '\n');
        break;
    }
}

static void add_slices(const ps_trace *t, ps_buf *out) {
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t row = 0; row < s->n; row++) {
        ps_buf_addf(out, "slice %u: %lld +%lld %s ", row,
                    (long long)(s->start_ns[row] + ps_trace_origin_ns(t)),
                    (long long)s->dur_ns[row], ps_slice_kind_name((ps_slice_kind)s->kind[row]));
        add_text(t, s->name[row], out);
        ps_buf_add_char(out, ' ');
        add_text(t, s->category[row], out);
        ps_buf_add_str(out, " on ");
        add_track(t, s->track[row], out);
        ps_buf_add_char(out, '\n');
        ps_arg_iter iter = ps_trace_args(t, row);
        for (ps_arg arg; ps_arg_next(&iter, &arg);) {
            add_arg(t, &arg, out);
        }
    }
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of `text`, sorted: for tables whose order depends on ids. */
static void add_sorted(ps_buf *text, ps_buf *out) {
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++) {
        n += text->data[i] == '\n';
    }
    char **lines = calloc(n + 1, sizeof *lines);
    assert_non_null(lines);
    n = 0;
    for (char *at = text->len > 0 ? text->data : NULL; at != NULL && *at != '\0';) {
        char *end = strchr(at, '\n');
        *end = '\0';
        lines[n++] = at;
        at = end + 1;
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "%s\n", lines[i]);
    }
    free(lines);
    ps_buf_fini(text);
}

static void add_flows(const ps_trace *t, ps_buf *out) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    ps_buf lines;
    ps_buf_init(&lines, 0);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&lines, "flow %010u -> %010u ", flows[i].from, flows[i].to);
        add_text(t, flows[i].kind, &lines);
        ps_buf_add_char(&lines, '\n');
    }
    add_sorted(&lines, out);
}

/* Values of one track keep their order; tracks come by their rows. */
static void add_values(const ps_trace *t, ps_buf *out) {
    const ps_counters *c = ps_trace_counters(t);
    for (uint32_t row = 0; row < c->n; row++) {
        ps_buf_addf(out, "value %lld %a of ", (long long)(c->time_ns[row] + ps_trace_origin_ns(t)),
                    c->value[row]);
        add_track(t, c->track[row], out);
        ps_buf_add_char(out, '\n');
    }
}

static void add_tracks(const ps_trace *t, ps_buf *out) {
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "process %lld%s ", (long long)processes[i].pid,
                    processes[i].pid_is_text ? " (a text)" : "");
        add_text(t, processes[i].name, out);
        ps_buf_add_char(out, ' ');
        add_text(t, processes[i].labels, out);
        add_order(processes[i].order, out);
        ps_buf_add_char(out, '\n');
    }
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (uint32_t row = 0; row < n; row++) {
        ps_buf_add_str(out, "track ");
        add_track(t, row, out);
        ps_buf_add_str(out, " label ");
        add_text(t, tracks[row].label, out);
        ps_buf_add_str(out, " unit ");
        add_text(t, tracks[row].unit, out);
        add_order(tracks[row].order, out);
        ps_buf_add_char(out, '\n');
    }
}

void trace_dump(const ps_trace *t, ps_buf *out) {
    size_t n = 0;
    ps_buf_addf(out, "origin %lld has %u\n", (long long)ps_trace_origin_ns(t), ps_trace_has(t));
    const ps_meta *metas = ps_trace_metas(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_add_str(out, "meta ");
        ps_buf_add_json_str(out, metas[i].key, strlen(metas[i].key));
        ps_buf_add_char(out, ' ');
        ps_buf_add_json_str(out, metas[i].value, strlen(metas[i].value));
        ps_buf_add_char(out, '\n');
    }
    const ps_step *steps = ps_trace_steps(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "step %lld: %lld to %lld\n", (long long)steps[i].id,
                    (long long)(steps[i].start_ns + ps_trace_origin_ns(t)),
                    (long long)(steps[i].end_ns + ps_trace_origin_ns(t)));
    }
    add_tracks(t, out);
    add_slices(t, out);
    add_flows(t, out);
    add_values(t, out);
}

void assert_same_dump(const ps_buf *got, const ps_buf *wanted) {
    assert_true(ps_buf_ok(got) && ps_buf_ok(wanted));
    if (got->len == wanted->len && memcmp(ps_buf_str(got), ps_buf_str(wanted), got->len) == 0) {
        return;
    }
    const char *a = ps_buf_str(got);
    const char *b = ps_buf_str(wanted);
    size_t line = 0;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
        line = a[i] == '\n' ? i + 1 : line;
    }
    fail_msg("dumps differ:\n  got    %.300s\n  wanted %.300s", a + line, b + line);
}
