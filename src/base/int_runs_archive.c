/* Runs of integers as bytes; apart from int_runs.c, which the recorder has in it, too. */
#include "base/archive.h"
#include "base/int_runs.h"

/* What it says can be: each of its integers is one. */
static bool is_run(const ps_int_run *run) {
    int64_t last = 0;
    return run->n >= 1 && run->n <= PS_INT_RUNS_MOST &&
           !__builtin_mul_overflow(run->step, (int64_t)run->n - 1, &last) &&
           !__builtin_add_overflow(run->first, last, &last);
}

static void int_run_archive(ps_archive *a, void *run) {
    ps_int_run *x = run;
    PS_ARCHIVE(a, x, first, step, n);
    if (ps_archive_is_reading(a) && !is_run(x)) {
        *x = (ps_int_run){.n = 1};
        ps_archive_refuse(a, "run");
    }
}

void ps_int_runs_archive(ps_archive *a, ps_int_runs *x) {
    PS_ARCHIVE_IN_ARENA(a, x, runs, n_runs, int_run_archive);
    if (!ps_archive_is_reading(a)) {
        return;
    }
    x->n = 0;
    for (size_t r = 0; r < x->n_runs; r++) {
        x->n += x->runs[r].n;
    }
    if (x->n > PS_INT_RUNS_MOST) {
        *x = (ps_int_runs){0};
        ps_archive_refuse(a, "runs");
    }
}
