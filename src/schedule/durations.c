#include "schedule/durations.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/order.h"

#define MAX_FILE ((size_t)64 << 20)
#define N_FIELDS 3
#define MAX_SHOWN 40

static const ps_op_kind KINDS[] = {PS_OP_F, PS_OP_B, PS_OP_BI, PS_OP_BW, PS_OP_FB};

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct field {
    const char *s;
    size_t n;
} field;

typedef struct line {
    const char *file;
    uint32_t number;
    uint64_t offset;
    field fields[N_FIELDS];
    size_t n_fields;
} line;

static ps_code duration_fail_at(const line *l, const char *what, field shown, ps_err *err) {
    (void)ps_fail_file(err, PS_SYNTAX, l->file, "%s: '%.*s'", what,
                       (int)(shown.n < MAX_SHOWN ? shown.n : MAX_SHOWN), shown.s);
    if (err != NULL) {
        err->line = l->number;
        err->offset = l->offset;
    }
    return PS_SYNTAX;
}

static field trim_duration(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) {
        s++;
    }
    while (s < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
        end--;
    }
    return (field){s, (size_t)(end - s)};
}

/* Counts all fields, keeps the first three. */
static void split_duration(line *l, const char *s, const char *end) {
    l->n_fields = 0;
    for (bool last = false; !last;) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        last = comma == NULL;
        field f = trim_duration(s, last ? end : comma);
        if (l->n_fields < N_FIELDS) {
            l->fields[l->n_fields] = f;
        }
        l->n_fields++;
        s = last ? end : comma + 1;
    }
}

static bool is_duration_word(field f, const char *word) {
    return f.n == strlen(word) && strncasecmp(f.s, word, f.n) == 0;
}

static bool is_header(const line *l) {
    return l->n_fields == N_FIELDS && is_duration_word(l->fields[0], "stage") &&
           is_duration_word(l->fields[1], "kind") && is_duration_word(l->fields[2], "ns");
}

static ps_code read_line(ps_durations *d, const line *l, ps_err *err) {
    if (l->n_fields != N_FIELDS) {
        return duration_fail_at(l, "a line is stage,kind,ns", l->fields[0], err);
    }
    int64_t stage = -1;
    if (!ps_parse_i64(l->fields[0].s, l->fields[0].n, &stage) || stage < 0 ||
        stage >= d->n_stages) {
        char what[64];
        (void)snprintf(what, sizeof what, "the stage is none of 0 to %d", (int)d->n_stages - 1);
        return duration_fail_at(l, what, l->fields[0], err);
    }
    int64_t *slot = NULL;
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (is_duration_word(l->fields[1], ps_op_kind_name(KINDS[i]))) {
            slot = &d->ns[(size_t)stage * PS_N_OP_KINDS + KINDS[i]];
        }
    }
    if (slot == NULL) {
        return duration_fail_at(l, "the kind is none of F, B, BI, BW, FB", l->fields[1], err);
    }
    if (*slot >= 0) {
        return duration_fail_at(l, "stage and kind were given before", l->fields[1], err);
    }
    int64_t ns = -1;
    if (!ps_parse_i64(l->fields[2].s, l->fields[2].n, &ns) || ns < 0) {
        return duration_fail_at(l, "the duration is no whole number of nanoseconds", l->fields[2],
                                err);
    }
    *slot = ns;
    return PS_OK;
}

static bool init_duration(ps_durations *out, int32_t n_stages) {
    size_t n_slots = (size_t)n_stages * PS_N_OP_KINDS;
    *out = (ps_durations){.n_stages = n_stages,
                          .ns = ps_realloc_array(NULL, n_slots, sizeof *out->ns)};
    for (size_t i = 0; out->ns != NULL && i < n_slots; i++) {
        out->ns[i] = -1;
    }
    return out->ns != NULL;
}

ps_code ps_durations_parse_csv(ps_durations *out, const char *name, const char *text, size_t n,
                               int32_t n_stages, ps_err *err) {
    if (!init_duration(out, n_stages)) {
        return ps_fail_nomem(err);
    }
    line l = {.file = name};
    const char *end = text + n;
    ps_code code = PS_OK;
    for (const char *s = text; s < end && code == PS_OK;) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        const char *stop = newline == NULL ? end : newline;
        l.number++;
        l.offset = (uint64_t)(s - text);
        split_duration(&l, s, stop);
        bool is_empty = l.n_fields == 1 && l.fields[0].n == 0;
        if (!is_empty && !(l.number == 1 && is_header(&l))) {
            code = read_line(out, &l, err);
        }
        s = newline == NULL ? end : newline + 1;
    }
    return code;
}

/* --- chart JSON --------------------------------------------------------------------------------------------------- */

/* An op of a chart: its place in ps_durations.ns and how long it took. */
typedef struct measured {
    size_t slot;
    int64_t ns;
} measured;

PS_COMPARE(compare_measured, measured, PS_BY(slot) PS_BY(ns))

/* False when the op is none that a schedule runs, or is malformed: such ops have no say. */
static bool read_op(const ps_literal *op, int32_t n_stages, measured *out) {
    int64_t stage = -1;
    int64_t start = 0;
    int64_t end = -1;
    const char *kind = ps_literal_str(ps_literal_get(op, "kind"));
    if (kind == NULL || !ps_literal_int(ps_literal_get(op, "stage"), &stage) || stage < 0 ||
        stage >= n_stages || !ps_literal_int(ps_literal_get(op, "start_ns"), &start) ||
        !ps_literal_int(ps_literal_get(op, "end_ns"), &end) || end < start ||
        __builtin_sub_overflow(end, start, &out->ns)) {
        return false;
    }
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        if (strcmp(ps_op_kind_name(KINDS[k]), kind) == 0) {
            out->slot = (size_t)stage * PS_N_OP_KINDS + (size_t)KINDS[k];
            return true;
        }
    }
    return false;
}

/* The median of each stage and kind. */
static ps_code take_medians(ps_durations *out, const ps_literal *ops, const char *name,
                            ps_err *err) {
    measured *all = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (const ps_literal *op = ops != NULL ? ops->child : NULL; op != NULL; op = op->next) {
        if (!ps_grow(&all, &cap, n + 1, SIZE_MAX / sizeof *all, sizeof *all)) {
            ps_free(all);
            return ps_fail_nomem(err);
        }
        n += read_op(op, out->n_stages, &all[n]);
    }
    if (n == 0) {
        return ps_fail_file(err, PS_SYNTAX, name,
                            "no op of stages 0 to %d in it: is it a pipescope-chart?",
                            (int)out->n_stages - 1);
    }
    qsort(all, n, sizeof *all, compare_measured);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && all[end].slot == all[i].slot) {
            end++;
        }
        out->ns[all[i].slot] =
            ps_midpoint_i64(all[i + (end - i - 1) / 2].ns, all[i + (end - i) / 2].ns);
        i = end;
    }
    ps_free(all);
    return PS_OK;
}

ps_code ps_durations_parse_json(ps_durations *out, const char *name, const char *text, size_t n,
                                int32_t n_stages, ps_err *err) {
    if (!init_duration(out, n_stages)) {
        return ps_fail_nomem(err);
    }
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *doc = ps_literal_parse(&arena, text, n, err);
    ps_code code = PS_OK;
    if (doc == NULL) {
        code = err != NULL ? err->code : PS_SYNTAX;
        ps_err_prefix(err, "%s", name);
    } else {
        code = take_medians(out, ps_literal_get(doc, "ops"), name, err);
    }
    ps_arena_fini(&arena);
    return code;
}

ps_code ps_durations_read(ps_durations *out, const char *path, int32_t n_stages, ps_err *err) {
    *out = (ps_durations){0};
    ps_buf text;
    ps_buf_init(&text, MAX_FILE);
    ps_code code = ps_read_file(path, MAX_FILE, &text, err);
    if (code == PS_OK) {
        const char *s = ps_buf_str(&text);
        code = s[strspn(s, " \t\r\n")] == '{'
                   ? ps_durations_parse_json(out, path, s, text.len, n_stages, err)
                   : ps_durations_parse_csv(out, path, s, text.len, n_stages, err);
    }
    ps_buf_fini(&text);
    return code;
}

void ps_durations_fini(ps_durations *d) {
    ps_free(d->ns);
    *d = (ps_durations){0};
}

/* --- use ---------------------------------------------------------------------------------------------------------- */

static int64_t sum(int64_t a, int64_t b) {
    int64_t s;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &s) ? -1 : s;
}

static int64_t difference(int64_t whole, int64_t part) {
    return whole < 0 || part < 0 || part > whole ? -1 : whole - part;
}

/* One device's durations with what follows from the others. */
static void derive(const int64_t given[PS_N_OP_KINDS], int64_t ns[PS_N_OP_KINDS]) {
    memcpy(ns, given, PS_N_OP_KINDS * sizeof *ns);
    ns[PS_OP_B] = ns[PS_OP_B] >= 0 ? ns[PS_OP_B] : sum(ns[PS_OP_BI], ns[PS_OP_BW]);
    ns[PS_OP_BI] = ns[PS_OP_BI] >= 0 ? ns[PS_OP_BI] : difference(ns[PS_OP_B], ns[PS_OP_BW]);
    ns[PS_OP_BW] = ns[PS_OP_BW] >= 0 ? ns[PS_OP_BW] : difference(ns[PS_OP_B], ns[PS_OP_BI]);
    ns[PS_OP_FB] = ns[PS_OP_FB] >= 0 ? ns[PS_OP_FB] : sum(ns[PS_OP_F], ns[PS_OP_B]);
}

ps_code ps_durations_fill(const ps_durations *d, const ps_sim_plan *plan, int64_t *duration_ns,
                          ps_err *err) {
    for (int32_t stage = 0; stage < plan->lists.n_stages; stage++) {
        int64_t ns[PS_N_OP_KINDS];
        derive(&d->ns[(size_t)stage * PS_N_OP_KINDS], ns);
        for (size_t op = plan->first[stage]; op < plan->first[stage + 1]; op++) {
            ps_op_kind kind = plan->ops[op].kind;
            if (ns[kind] < 0) {
                return ps_fail(
                    err, PS_RANGE,
                    "stage %d has no duration of kind %s, which %s needs, and it does not follow",
                    (int)stage, ps_op_kind_name(kind), plan->lists.name);
            }
            duration_ns[op] = ns[kind];
        }
    }
    return PS_OK;
}
