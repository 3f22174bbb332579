#include "support/dualpipev.h"

#include <stdio.h>

typedef struct counters {
    expected_step *out;
    int m, i, phase;
    bool overlap_off;
    int f[2], b[2]; /* next microbatch of each chunk */
} counters;

static expected_mark *add(counters *c, char kind, int microbatch) {
    assert_true(c->out->n < MAX_EXPECTED);
    expected_mark *mark = &c->out->marks[c->out->n++];
    *mark = (expected_mark){.kind = kind, .microbatch = microbatch, .phase = c->phase};
    return mark;
}

/* Microbatch k of chunk 1 is printed as m + k. */
static int shown(const counters *c, int chunk, int k) {
    return chunk == 0 ? k : c->m + k;
}

/* Among the pairs of phase 3 and 4 a forward that stands alone is written "4F",
 * elsewhere "4". */
static void forward(counters *c, int chunk) {
    int k = c->f[chunk]++;
    expected_mark *mark = add(c, 'F', k);
    (void)snprintf(mark->label, sizeof mark->label, "%d%s", shown(c, chunk, k),
                   c->phase >= 3 ? "F" : "");
}

static void head(counters *c) {
    if (c->i == 0 && !c->overlap_off) {
        expected_mark *mark = add(c, 'L', -1);
        (void)snprintf(mark->label, sizeof mark->label, "logits");
    }
}

static void backward(counters *c, int chunk) {
    if (chunk == 1) {
        head(c);
    }
    int k = c->b[chunk]++;
    expected_mark *mark = add(c, 'B', k);
    (void)snprintf(mark->label, sizeof mark->label, "%dB", shown(c, chunk, k));
}

static void pair(counters *c, int fc, int bc) {
    if (c->overlap_off) {
        forward(c, fc);
        backward(c, bc);
        return;
    }
    if (bc == 1) {
        head(c);
    }
    int f = c->f[fc]++;
    int b = c->b[bc]++;
    expected_mark *mark = add(c, 'P', f);
    (void)snprintf(mark->label, sizeof mark->label, "%dF+%dB", shown(c, fc, f), shown(c, bc, b));
}

/* Phase 2: input gradient, weight gradient of the same microbatch, forward, all
 * of chunk 1. */
static void split_backward(counters *c) {
    head(c);
    int k = c->b[1]++;
    expected_mark *mark = add(c, 'B', k);
    (void)snprintf(mark->label, sizeof mark->label, "%db", shown(c, 1, k));
    mark = add(c, 'W', k);
    (void)snprintf(mark->label, sizeof mark->label, "%dw", shown(c, 1, k));
    forward(c, 1);
}

void expected_list(expected_step *out, int p, int m, int i, bool overlap_off) {
    *out = (expected_step){.n = 0};
    counters c = {.out = out, .m = m, .i = i, .overlap_off = overlap_off};
    for (int k = 0; k < 2 * (p - 1 - i); k++) {
        forward(&c, 0);
    }
    c.phase = 1;
    for (int k = 0; k < i + 1; k++) {
        forward(&c, 0);
        forward(&c, 1);
    }
    c.phase = 2;
    for (int k = 0; k < p - 1 - i; k++) {
        split_backward(&c);
    }
    c.phase = 3;
    for (int k = 0; k < m - 2 * p + i + 1; k++) {
        if (k == 0 && i == p - 1) { /* nothing came before that could be overlapped */
            forward(&c, 0);
            backward(&c, 1);
        } else {
            pair(&c, 0, 1);
        }
        pair(&c, 1, 0);
    }
    c.phase = 4;
    for (int k = 0; k < p - 1 - i; k++) {
        backward(&c, 1);
        pair(&c, 1, 0);
    }
    c.phase = 5;
    int chunk = 1;
    for (int k = 0; k < i + 1; k++) {
        backward(&c, chunk);
        chunk = 1 - chunk;
    }
    c.phase = 6;
    for (int k = 0; k < p; k++) {
        if (c.b[chunk] == m) {
            chunk = 1 - chunk;
        }
        backward(&c, chunk);
        chunk = 1 - chunk;
    }
}

const char *expected_message(const expected_mark *m, bool say_microbatch) {
    static char text[160];
    const char *name = m->kind == 'F'   ? "forward_step_with_model_graph"
                       : m->kind == 'P' ? "forward_backward_overlaping"
                       : m->kind == 'W' ? "WeightGradStore.pop"
                                        : "backward_step_with_model_graph";
    if (say_microbatch && m->microbatch >= 0) {
        (void)snprintf(text, sizeof text, "{'name': '%s', 'current_microbatch': %d}", name,
                       m->microbatch);
    } else {
        (void)snprintf(text, sizeof text, "{'name': '%s'}", name);
    }
    return text;
}

int64_t add_step(profile *p, const expected_step *step, int64_t start_ns, bool say_microbatch,
                 int lost) {
    int64_t at = start_ns;
    for (int k = 0; k < step->n; k++) {
        if (k != lost) {
            profile_mark(p, expected_message(&step->marks[k], say_microbatch), at, at + MARK_NS);
        }
        at += MARK_NS + GAP_NS;
    }
    return at;
}

void expect_labels_at(const char *db, int64_t start_ns, int64_t end_ns, const char *expected,
                      const char *file, int line) {
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "SELECT group_concat(name, ' ') FROM (SELECT name FROM "
                   "StepTaskInfo WHERE startNs >= %lld AND "
                   "startNs < %lld ORDER BY startNs)",
                   (long long)start_ns, (long long)end_ns);
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_addf(&text, "%s\n", expected);
    expect_rows_at(db, sql, ps_buf_str(&text), file, line);
    ps_buf_fini(&text);
}

void add_labels(ps_buf *out, const expected_step *step, int lost) {
    for (int k = 0; k < step->n; k++) {
        if (k != lost) {
            ps_buf_addf(out, "%s%s", out->len > 0 ? " " : "", step->marks[k].label);
        }
    }
}

void expect_step_at(const char *db, const expected_step *step, int lost, const char *file,
                    int line) {
    ps_buf text;
    ps_buf_init(&text, 0);
    add_labels(&text, step, lost);
    expect_labels_at(db, INT64_MIN, INT64_MAX, ps_buf_str(&text), file, line);
    ps_buf_fini(&text);
}
