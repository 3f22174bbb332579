/* One walk over events and calls by time, with a stack for each thread: the open ranges, innermost on top, each knowing the
 * one below. What has ended is taken off when somebody looks. */
#include "record/export/cover.h"

#include <stddef.h>

#include "base/alloc.h"

typedef struct thread_top {
    uint32_t tid, top; /* event */
} thread_top;

typedef struct cover {
    const ps_events *v;
    uint32_t *below; /* by event */
    thread_top *threads;
    size_t n, cap, last;
} cover;

static thread_top *cover_thread_of(cover *c, uint32_t tid) {
    if (c->last < c->n && c->threads[c->last].tid == tid) {
        return &c->threads[c->last];
    }
    for (size_t i = 0; i < c->n; i++) {
        if (c->threads[i].tid == tid) {
            c->last = i;
            return &c->threads[i];
        }
    }
    if (!ps_grow(&c->threads, &c->cap, c->n + 1, UINT32_MAX, sizeof *c->threads)) {
        return NULL;
    }
    c->last = c->n++;
    c->threads[c->last] = (thread_top){tid, PS_NO_TEXT};
    return &c->threads[c->last];
}

static void take_off(const cover *c, thread_top *t, int64_t at_ns) {
    while (t->top != PS_NO_TEXT && c->v->end_ns[t->top] < at_ns) {
        t->top = c->below[t->top];
    }
}

static bool push_cover(cover *c, uint32_t event) {
    thread_top *t = cover_thread_of(c, c->v->tid[event]);
    if (t == NULL) {
        return false;
    }
    take_off(c, t, c->v->start_ns[event]);
    c->below[event] = t->top;
    t->top = event;
    return true;
}

static bool walk_cover(cover *c, const ps_device_rows *d, const uint8_t *wanted, uint32_t *out) {
    size_t event = 0;
    for (size_t row = 0; row < d->n; row++) {
        out[row] = PS_NO_TEXT;
        if (d->kind[row] != PS_REC_API) {
            continue;
        }
        for (; event < c->v->n && c->v->start_ns[event] <= d->start_ns[row]; event++) {
            if (wanted[event] && c->v->end_ns[event] != PS_STILL_OPEN &&
                !push_cover(c, (uint32_t)event)) {
                return false;
            }
        }
        thread_top *t = cover_thread_of(c, d->tid[row]);
        if (t == NULL) {
            return false;
        }
        take_off(c, t, d->start_ns[row]);
        out[row] = t->top;
    }
    return true;
}

uint32_t *ps_cover_calls(const ps_capture *capture, const uint8_t *wanted) {
    const ps_device_rows *d = ps_capture_device(capture);
    cover c = {.v = ps_capture_events(capture)};
    uint32_t *out = ps_alloc((d->n + 1) * sizeof *out);
    c.below = ps_alloc((c.v->n + 1) * sizeof *c.below);
    bool ok = out != NULL && c.below != NULL && walk_cover(&c, d, wanted, out);
    ps_free(c.below);
    ps_free(c.threads);
    if (!ok) {
        ps_free(out);
        out = NULL;
    }
    return out;
}
