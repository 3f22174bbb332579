/* Integers in their order, as runs of equal steps: the ranks of a group. In a job of thousands of replicas each rank lists those of its group, and
 * mostly they are one run. Zeroed is empty; runs live in an arena. */
#ifndef PS_BASE_INT_RUNS_H
#define PS_BASE_INT_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct ps_int_run {
    int64_t first, step; /* step of one that stands alone: 0 */
    size_t n;            /* at least 1 */
} ps_int_run;

typedef struct ps_int_runs {
    ps_int_run *runs; /* each is as long as it can be, from the first integer on */
    size_t n_runs;
    size_t n; /* integers */
} ps_int_runs;

/* False when memory is out. Room doubles: a list that grows is always of one arena. */
bool ps_int_runs_add(ps_int_runs *x, ps_arena *arena, int64_t value);
/* A copy in another arena. False when memory is out; then *out is empty. */
bool ps_int_runs_copy(const ps_int_runs *x, ps_arena *arena, ps_int_runs *out);

/* The one at place `at` < x->n. */
int64_t ps_int_runs_at(const ps_int_runs *x, size_t at);
/* Of one that is not empty. */
int64_t ps_int_runs_largest(const ps_int_runs *x);
/* The first place of `value`, or -1. */
int64_t ps_int_runs_find(const ps_int_runs *x, int64_t value);

/* One after the other, from a zeroed walk on: false behind the last. */
typedef struct ps_int_walk {
    size_t run, at;
} ps_int_walk;
bool ps_int_runs_next(const ps_int_runs *x, ps_int_walk *walk, int64_t *value);

/* More are refused where they are read, so that nobody is led to count for ever. */
#define PS_INT_RUNS_MOST ((size_t)1 << 20)

struct ps_archive;
/* Runs in the arena in use. */
void ps_int_runs_archive(struct ps_archive *a, ps_int_runs *x);

#endif
