/* Analyses of a reduce share what was measured of the same operators, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/derived/job_skew.h"
#include "base/alloc.h"

enum { N_RANKS = 2 };

static ps_comm_part *new_part(ps_comm_part *list_of) {
    ps_comm_part *part = ps_calloc(1, sizeof *part);
    assert_non_null(part);
    ps_arena_init(&part->arena);
    part->n_users = 1;
    part->list_of = list_of;
    if (list_of != NULL) {
        list_of->n_users++;
    } else {
        assert_true(ps_strpool_init(&part->list.strings));
    }
    return part;
}

typedef struct fixture {
    ps_rank_info ranks[N_RANKS];
    ps_comm_part *parts[N_RANKS];
    ps_reduce_input in;
} fixture;

static void fixture_init(fixture *f) {
    *f = (fixture){.ranks = {{.rank = 0, .machine = -1}, {.rank = 1, .machine = -1}},
                   .parts = {new_part(NULL), new_part(NULL)}};
    f->in = (ps_reduce_input){.ranks = f->ranks, .n_ranks = N_RANKS, .job_skew = ps_job_skew_new()};
    assert_non_null(f->in.job_skew);
}

static void fixture_fini(fixture *f) {
    ps_job_skew_free(f->in.job_skew);
    for (int r = 0; r < N_RANKS; r++) {
        assert_int_equal(f->parts[r]->n_users, 1); /* nobody else holds it */
        ps_comm_part_free(f->parts[r]);
    }
}

static void measured_once(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f);
    const ps_skew *skew = NULL;
    assert_int_equal(ps_job_skew_of(&f.in, f.parts, -1, &skew, NULL), PS_OK);
    const ps_rank_clock *clocks = skew->clocks;
    assert_non_null(clocks);
    assert_int_equal(f.parts[0]->n_users, 2); /* it stays as long as what was measured on it */

    ps_comm_part *with_tables = new_part(f.parts[1]);
    ps_comm_part *same[N_RANKS] = {f.parts[0], with_tables};
    assert_int_equal(ps_job_skew_of(&f.in, same, -1, &skew, NULL), PS_OK);
    assert_ptr_equal(skew->clocks, clocks);
    ps_comm_part_free(with_tables);
    fixture_fini(&f);
}

static void another_question_is_measured_anew(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f);
    ps_comm_part *other = new_part(NULL);
    ps_comm_part *others[N_RANKS] = {other, NULL};
    const ps_skew *skew = NULL;
    assert_int_equal(ps_job_skew_of(&f.in, f.parts, -1, &skew, NULL), PS_OK);
    assert_int_equal(ps_job_skew_of(&f.in, f.parts, 3, &skew, NULL), PS_OK);
    assert_int_equal(f.parts[0]->n_users, 2);
    assert_int_equal(ps_job_skew_of(&f.in, others, 3, &skew, NULL), PS_OK);
    assert_int_equal(f.parts[0]->n_users, 1);
    assert_int_equal(other->n_users, 2);
    fixture_fini(&f);
    assert_int_equal(other->n_users, 1);
    ps_comm_part_free(other);
}

/* What failed is not kept: asked again, it is measured. */
static void memory(void **state) {
    (void)state;
    fixture f;
    fixture_init(&f);
    const ps_skew *skew = NULL;
    ps_code code = PS_NOMEM;
    for (int64_t i = 0; code == PS_NOMEM; i++) {
        (void)ps_alloc_fail_at(i);
        code = ps_job_skew_of(&f.in, f.parts, -1, &skew, NULL);
        (void)ps_alloc_fail_at(-1);
    }
    assert_int_equal(code, PS_OK);
    assert_non_null(skew->clocks);
    fixture_fini(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_once),
        cmocka_unit_test(another_question_is_measured_anew),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
