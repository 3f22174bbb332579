#include "base/int_runs.h"

#include <string.h>

static int64_t value_of_run(const ps_int_run *run, size_t at) {
    return run->first + run->step * (int64_t)at;
}

/* Room is a power of two, so it is known from the number of runs whether there is some. */
static bool begin_run(ps_int_runs *x, ps_arena *arena, int64_t value) {
    if ((x->n_runs & (x->n_runs - 1)) == 0) {
        ps_int_run *larger =
            ps_arena_alloc(arena, (x->n_runs > 0 ? 2 * x->n_runs : 1) * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        if (x->n_runs > 0) {
            memcpy(larger, x->runs, x->n_runs * sizeof *larger);
        }
        x->runs = larger;
    }
    x->runs[x->n_runs++] = (ps_int_run){.first = value, .n = 1};
    x->n++;
    return true;
}

bool ps_int_runs_add(ps_int_runs *x, ps_arena *arena, int64_t value) {
    ps_int_run *last = x->n_runs > 0 ? &x->runs[x->n_runs - 1] : NULL;
    int64_t step = 0;
    if (last == NULL || __builtin_sub_overflow(value, value_of_run(last, last->n - 1), &step) ||
        (last->n > 1 && step != last->step)) {
        return begin_run(x, arena, value);
    }
    last->step = step;
    last->n++;
    x->n++;
    return true;
}

bool ps_int_runs_copy(const ps_int_runs *x, ps_arena *arena, ps_int_runs *out) {
    *out = (ps_int_runs){0};
    ps_int_run *runs = x->n > 0 ? ps_arena_alloc(arena, x->n_runs * sizeof *runs) : NULL;
    if (runs == NULL) {
        return x->n == 0;
    }
    memcpy(runs, x->runs, x->n_runs * sizeof *runs);
    *out = (ps_int_runs){.runs = runs, .n_runs = x->n_runs, .n = x->n};
    return true;
}

int64_t ps_int_runs_at(const ps_int_runs *x, size_t at) {
    const ps_int_run *run = x->runs;
    for (; at >= run->n; run++) {
        at -= run->n;
    }
    return value_of_run(run, at);
}

int64_t ps_int_runs_largest(const ps_int_runs *x) {
    int64_t largest = INT64_MIN;
    for (size_t r = 0; r < x->n_runs; r++) {
        const ps_int_run *run = &x->runs[r];
        int64_t of_run = run->step > 0 ? value_of_run(run, run->n - 1) : run->first;
        largest = of_run > largest ? of_run : largest;
    }
    return largest;
}

/* Where in the run the value stands, or -1. Unsigned, for distances that int64_t has no room for. */
static int64_t place_in_run(const ps_int_run *run, int64_t value) {
    if (run->step == 0) {
        return value == run->first ? 0 : -1;
    }
    bool rises = run->step > 0;
    uint64_t step = rises ? (uint64_t)run->step : 0 - (uint64_t)run->step;
    uint64_t distance =
        rises ? (uint64_t)value - (uint64_t)run->first : (uint64_t)run->first - (uint64_t)value;
    bool is_ahead = rises ? value >= run->first : value <= run->first;
    bool is_there = is_ahead && distance % step == 0 && distance / step < run->n;
    return is_there ? (int64_t)(distance / step) : -1;
}

int64_t ps_int_runs_find(const ps_int_runs *x, int64_t value) {
    size_t before = 0;
    for (size_t r = 0; r < x->n_runs; r++) {
        int64_t place = place_in_run(&x->runs[r], value);
        if (place >= 0) {
            return (int64_t)before + place;
        }
        before += x->runs[r].n;
    }
    return -1;
}

bool ps_int_runs_next(const ps_int_runs *x, ps_int_walk *walk, int64_t *value) {
    if (walk->run < x->n_runs && walk->at == x->runs[walk->run].n) {
        walk->run++;
        walk->at = 0;
    }
    if (walk->run >= x->n_runs) {
        return false;
    }
    *value = value_of_run(&x->runs[walk->run], walk->at++);
    return true;
}
