/* Steps are half-open in their start: a mark belongs to the step with start <= host start < end and
 * host end <= end, so a shared boundary never gives a mark twice.
 *
 * Per step and stream, two kinds of marks are left out:
 *  - containers: wrappers of whole phases (they hold two disjoint forwards and two disjoint backwards, and
 *    more than half of all marks of their step), which would otherwise hide everything inside;
 *  - nested, crossing and duplicate marks: those that start before the last kept one ended. */
#include "analyze/rank/marks.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/idmap.h"
#include "base/literal.h"
#include "base/order.h"
#include "base/sort.h"

/* --- messages ---------------------------------------------------------------------------------------- */

static bool contains_weight_pop(const char *s) {
    static const char HEAD[] = "WeightGradStore";
    for (const char *p = strcasestr(s, HEAD); p != NULL; p = strcasestr(p + 1, HEAD)) {
        const char *rest = p + sizeof HEAD - 1; /* one character, '.' or '_', then pop */
        if (rest[0] != '\0' && strncasecmp(rest + 1, "pop", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* The name and microbatch of a dict message; the whole message is the name when it is none. False when memory is
 * out. */
static bool read_dict(const char *message, char *name, size_t size, int32_t *microbatch) {
    (void)snprintf(name, size, "%s", message);
    const char *p = message + strspn(message, " \t");
    *microbatch = -1;
    if (*p != '{') {
        return true;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    const ps_literal *dict = ps_literal_parse(&arena, message, strlen(message), &odd);
    const char *said = ps_literal_str(ps_literal_get(dict, "name"));
    int64_t number = -1;
    if (said != NULL) {
        (void)snprintf(name, size, "%s", said);
    }
    if (ps_literal_int(ps_literal_get(dict, "current_microbatch"), &number) && number >= 0 &&
        number < INT32_MAX) {
        *microbatch = (int32_t)number;
    }
    ps_arena_fini(&arena);
    return odd.code != PS_NOMEM;
}

ps_code ps_mark_classify(const char *message, bool *is_mark, ps_op_kind *kind, int32_t *microbatch,
                         ps_err *err) {
    bool weight = contains_weight_pop(message);
    *is_mark =
        weight || strcasestr(message, "forward") != NULL || strcasestr(message, "backward") != NULL;
    if (!*is_mark) {
        return PS_OK;
    }
    char name[256];
    if (!read_dict(message, name, sizeof name, microbatch)) {
        return ps_fail_nomem(err);
    }
    bool forward = strcasestr(name, "forward") != NULL;
    bool backward = strcasestr(name, "backward") != NULL;
    if (!forward && !backward && !weight) { /* the word stands elsewhere in the dict */
        forward = strcasestr(message, "forward") != NULL;
        backward = !forward;
    }
    *kind = weight ? PS_OP_BW : forward && backward ? PS_OP_FB : forward ? PS_OP_F : PS_OP_B;
    return PS_OK;
}

/* Messages repeat: each distinct one is parsed once. */
typedef struct classes {
    ps_idmap by_name; /* string id -> row, row 0 = no mark */
    struct class {
        ps_op_kind kind;
        int32_t microbatch;
    } * rows;
    size_t n, cap;
} classes;

static bool mark_classify(classes *c, const ps_trace *trace, ps_str name, uint32_t *row) {
    *row = ps_idmap_get(&c->by_name, name.id);
    if (*row != PS_IDMAP_NONE) {
        return true;
    }
    struct class found = {PS_OP_OTHER, -1};
    bool is_mark = false;
    if (ps_mark_classify(ps_trace_text(trace, name), &is_mark, &found.kind, &found.microbatch,
                         NULL) != PS_OK) {
        return false;
    }
    *row = 0;
    if (is_mark || c->n == 0) {
        size_t need = c->n == 0 ? 2 : c->n + 1;
        if (!ps_grow(&c->rows, &c->cap, need, UINT32_MAX / 2, sizeof *c->rows)) {
            return false;
        }
        c->n = c->n == 0 ? 1 : c->n;
    }
    if (is_mark) {
        *row = (uint32_t)c->n;
        c->rows[c->n++] = found;
    }
    return ps_idmap_put(&c->by_name, name.id, *row);
}

/* --- wrappers and nested marks ----------------------------------------------------------------------- */

PS_COMPARE(compare_groups, ps_mark,
           PS_BY(step) PS_BY(track) PS_BY(start_ns) PS_BY_DOWN(end_ns) PS_BY(source_row))

PS_COMPARE(compare_mark_starts, ps_mark, PS_BY(start_ns) PS_BY_DOWN(end_ns) PS_BY(source_row))

/* marks[i] against the later ones of its group; inner containers are already known (marked PS_OP_OTHER).
 * `budget` bounds the looks of a whole group, so that absurd nesting stays linear. */
static bool is_container(const ps_mark *marks, size_t n, size_t i, size_t *budget) {
    size_t n_forward = 0;
    size_t n_backward = 0;
    size_t n_inside = 0;
    int64_t cursor = marks[i].start_ns;
    for (size_t j = i + 1; j < n && marks[j].start_ns<marks[i].end_ns && * budget> 0; j++) {
        n_inside++;
        (*budget)--;
        bool disjoint = marks[j].start_ns >= cursor && marks[j].end_ns <= marks[i].end_ns;
        if (!disjoint || marks[j].kind == PS_OP_OTHER) {
            continue;
        }
        cursor = marks[j].end_ns;
        n_forward += marks[j].kind == PS_OP_F || marks[j].kind == PS_OP_FB;
        n_backward += marks[j].kind == PS_OP_B || marks[j].kind == PS_OP_FB;
    }
    return n_forward >= 2 && n_backward >= 2 && n_inside * 2 > n;
}

/* Keeps the marks of one (step, stream) that count, in place; returns how many. */
static size_t filter_group(ps_mark *marks, size_t n, ps_diag *diag) {
    size_t budget = 64 * n;
    for (size_t i = n; i-- > 0;) { /* from the inside out */
        bool reaches_half = i + n / 2 < n && marks[i + n / 2].start_ns < marks[i].end_ns;
        if (reaches_half && is_container(marks, n, i, &budget)) {
            ps_diag_add(diag, PS_ODD_MARK_CONTAINER, "TASK rowid %u", marks[i].source_row);
            marks[i].kind = PS_OP_OTHER;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (marks[i].kind == PS_OP_OTHER) {
            continue;
        }
        if (kept > 0 && marks[i].start_ns < marks[kept - 1].end_ns) {
            ps_diag_add(diag, PS_ODD_MARK_NESTED, "TASK rowid %u", marks[i].source_row);
        } else {
            marks[kept++] = marks[i];
        }
    }
    return kept;
}

static void filter(ps_mark_list *list, ps_diag *diag) {
    ps_sort(list->marks, list->n, sizeof *list->marks, compare_groups);
    size_t kept = 0;
    for (size_t i = 0; i < list->n;) {
        size_t end = i;
        while (end < list->n && list->marks[end].step == list->marks[i].step &&
               list->marks[end].track == list->marks[i].track) {
            end++;
        }
        size_t n = filter_group(list->marks + i, end - i, diag);
        memmove(list->marks + kept, list->marks + i, n * sizeof *list->marks);
        kept += n;
        i = end;
    }
    list->n = kept;
    ps_shrink(&list->marks, &list->cap, list->n, sizeof *list->marks);
    ps_sort(list->marks, list->n, sizeof *list->marks, compare_mark_starts);
}

/* --- all together ------------------------------------------------------------------------------------ */

typedef struct selection {
    const ps_trace *trace;
    const ps_analysis_opts *opts;
    classes classes;
    ps_step_index steps;
    ps_mark_list *out;
    ps_diag *diag;
} selection;

/* A range of the host and what has its device times, perhaps itself. False when memory is out. */
static bool select_mark(selection *c, uint32_t host, uint32_t device) {
    const ps_slices *s = ps_trace_slices(c->trace);
    int64_t origin = ps_trace_origin_ns(c->trace);
    uint32_t row = 0;
    if (!mark_classify(&c->classes, c->trace, s->name[host], &row)) {
        return false;
    }
    if (row == 0) {
        return true;
    }
    int64_t step = ps_step_of(&c->steps, s->start_ns[host], s->start_ns[host] + s->dur_ns[host]);
    if (c->opts->step_id >= 0 && step != c->opts->step_id) {
        return true;
    }
    if (step == PS_STEP_OUTSIDE) {
        ps_diag_add(c->diag, PS_ODD_MARK_NO_STEP, "MSTX_EVENTS rowid %lld",
                    (long long)s->source_row[host]);
    }
    ps_mark_list *out = c->out;
    if (!ps_grow(&out->marks, &out->cap, out->n + 1, UINT32_MAX, sizeof *out->marks)) {
        return false;
    }
    out->marks[out->n++] = (ps_mark){.start_ns = origin + s->start_ns[device],
                                     .end_ns = origin + s->start_ns[device] + s->dur_ns[device],
                                     .host_start_ns = origin + s->start_ns[host],
                                     .host_end_ns = origin + s->start_ns[host] + s->dur_ns[host],
                                     .step = step,
                                     .microbatch = c->classes.rows[row].microbatch,
                                     .track = s->track[device],
                                     .source_row = (uint32_t)s->source_row[device],
                                     .kind = (uint8_t)c->classes.rows[row].kind};
    return true;
}

static bool select_device_sides(selection *c) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(c->trace, &n);
    const uint8_t *kinds = ps_trace_slices(c->trace)->kind;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = kinds[flows[i].to] != PS_SLICE_MARK_DEVICE ||
             select_mark(c, flows[i].from, flows[i].to);
    }
    return ok;
}

static bool select_host_sides(selection *c) {
    const ps_slices *s = ps_trace_slices(c->trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ok = s->kind[i] != PS_SLICE_MARK_HOST || select_mark(c, i, i);
    }
    return ok;
}

static ps_code collect_marks(const ps_trace *trace, const ps_analysis_opts *opts, ps_mark_list *out,
                             bool select(selection *c), ps_diag *diag, ps_err *err) {
    *out = (ps_mark_list){0};
    ps_code code = ps_check_step(trace, opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    selection c = {.trace = trace, .opts = opts, .out = out, .diag = diag};
    ps_idmap_init(&c.classes.by_name);
    bool ok = ps_step_index_init(&c.steps, trace) && select(&c);
    ps_step_index_fini(&c.steps);
    ps_idmap_fini(&c.classes.by_name);
    ps_free(c.classes.rows);
    if (!ok) {
        ps_mark_list_fini(out);
        return ps_fail_nomem(err);
    }
    out->n_selected = out->n;
    filter(out, diag);
    return PS_OK;
}

ps_code ps_marks_collect(const ps_trace *trace, const ps_analysis_opts *opts, ps_mark_list *out,
                         ps_diag *diag, ps_err *err) {
    return collect_marks(trace, opts, out, select_device_sides, diag, err);
}

ps_code ps_marks_collect_host(const ps_trace *trace, const ps_analysis_opts *opts,
                              ps_mark_list *out, ps_diag *diag, ps_err *err) {
    return collect_marks(trace, opts, out, select_host_sides, diag, err);
}

/* --- labels of an earlier run -------------------------------------------------------------------------------- */

static bool kind_of_label(const char *label, ps_op_kind *kind) {
    if (strcmp(label, "FP") == 0 || strcmp(label, "BP") == 0) {
        *kind = label[0] == 'F' ? PS_OP_F : PS_OP_B;
        return true;
    }
    if (strcmp(label, "logits") == 0) {
        *kind = PS_OP_B;
        return true;
    }
    size_t digits = strspn(label, "0123456789");
    const char *rest = label + digits;
    if (digits == 0) {
        return false;
    }
    if (strchr(rest, '+') != NULL) {
        *kind = PS_OP_FB;
        return rest[0] == 'F';
    }
    *kind = rest[0] == 'B' || rest[0] == 'b' ? PS_OP_B : rest[0] == 'w' ? PS_OP_BW : PS_OP_F;
    return rest[0] == '\0' || (strchr("FBbw", rest[0]) != NULL && rest[1] == '\0');
}

/* Differences and sums of such times fit into 64 bits, as those of a trace's slices do. */
static bool times_ok(int64_t start_ns, int64_t end_ns) {
    const int64_t limit = (int64_t)1 << 61;
    return start_ns > -limit && end_ns < limit && start_ns <= end_ns;
}

static bool add_labels(const ps_trace *trace, const ps_analysis_opts *opts,
                       const ps_step_index *steps, ps_mark_list *out, ps_diag *diag) {
    const ps_table *labels = ps_trace_side_table(trace, "StepTaskInfo");
    int64_t origin = ps_trace_origin_ns(trace);
    for (size_t i = 0; labels != NULL && i < labels->n_rows; i++) {
        const ps_value *name = ps_table_cell(labels, i, 0);
        ps_op_kind kind = PS_OP_OTHER;
        if (name->is_null || !kind_of_label(name->u.text, &kind)) {
            ps_diag_add(diag, PS_ODD_TEXT, "StepTaskInfo: label '%.40s'",
                        name->is_null ? "" : name->u.text);
            continue;
        }
        int64_t start = ps_table_cell(labels, i, 1)->u.i;
        int64_t end = ps_table_cell(labels, i, 2)->u.i;
        if (!times_ok(start, end)) {
            ps_diag_add(diag, PS_ODD_TIME, "StepTaskInfo row %zu", i + 1);
            continue;
        }
        int64_t step = ps_step_of(steps, start - origin,
                                  start - origin); /* the device may end after the host's step */
        if (opts->step_id >= 0 && step != opts->step_id) {
            continue;
        }
        if (!ps_grow(&out->marks, &out->cap, out->n + 1, UINT32_MAX, sizeof *out->marks)) {
            return false;
        }
        out->marks[out->n++] = (ps_mark){.start_ns = start,
                                         .end_ns = end,
                                         .host_start_ns = start,
                                         .host_end_ns = end,
                                         .step = step,
                                         .microbatch = -1,
                                         .track = 0,
                                         .source_row = (uint32_t)i,
                                         .kind = (uint8_t)kind};
    }
    return true;
}

ps_code ps_marks_from_labels(const ps_trace *trace, const ps_analysis_opts *opts, ps_mark_list *out,
                             ps_diag *diag, ps_err *err) {
    *out = (ps_mark_list){0};
    ps_step_index steps;
    bool ok = ps_step_index_init(&steps, trace) && add_labels(trace, opts, &steps, out, diag);
    ps_step_index_fini(&steps);
    if (!ok) {
        ps_mark_list_fini(out);
        return ps_fail_nomem(err);
    }
    out->n_selected = out->n;
    ps_sort(out->marks, out->n, sizeof *out->marks, compare_mark_starts);
    return PS_OK;
}

void ps_mark_list_fini(ps_mark_list *list) {
    ps_free(list->marks);
    *list = (ps_mark_list){0};
}

void ps_mark_archive(ps_archive *a, void *mark) {
    ps_mark *x = mark;
    PS_ARCHIVE(a, x, start_ns, end_ns, host_start_ns, host_end_ns, step, microbatch, track,
               source_row);
    PS_ARCHIVE_BELOW(a, x, kind, PS_N_OP_KINDS);
}

void ps_mark_list_archive(ps_archive *a, void *list) {
    ps_mark_list *x = list;
    PS_ARCHIVE_ARRAY(a, x, marks, n, ps_mark_archive);
    PS_ARCHIVE(a, x, n_selected);
}
