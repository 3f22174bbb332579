#include "read/paddle/paddle_steps.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

#define FAR_AHEAD 100 /* median steps */
#define PAUSE 3
#define ONE_STEP_NS INT64_C(600000000)

const ps_column ps_paddle_run_columns[PS_PADDLE_RUN_COLUMNS] = {
    {.name = "run", .type = PS_COL_INT},          {.name = "line", .type = PS_COL_INT},
    {.name = "first_step", .type = PS_COL_INT},   {.name = "first_step_said", .type = PS_COL_INT},
    {.name = "banner_first", .type = PS_COL_INT}, {.name = "banner_end", .type = PS_COL_INT},
    {.name = "steps", .type = PS_COL_INT},        {.name = "jobs", .type = PS_COL_INT}};

void ps_paddle_steps_init(ps_paddle_steps *s, ps_builder *b, ps_table *runs) {
    *s = (ps_paddle_steps){.builder = b, .runs = runs, .last_id = -1, .run_push = -1};
}

void ps_paddle_steps_fini(ps_paddle_steps *s) {
    ps_free(s->pairs);
    ps_idmap_fini(&s->pair_rows);
}

/* --- what the log says beside the records ----------------------------------------------------------------- */

void ps_paddle_steps_banner(ps_paddle_steps *s, int64_t first, int64_t end) {
    s->banner_seen = true;
    s->banner_first = first;
    s->banner_end = end;
}

void ps_paddle_steps_push(ps_paddle_steps *s, int64_t step) {
    s->push_seen = true;
    s->push = step;
}

void ps_paddle_steps_pop(ps_paddle_steps *s) {
    s->pop_seen = true;
}

/* --- how long a step takes ---------------------------------------------------------------------------------- */

static void note_period(ps_paddle_steps *s, int64_t period_ns) {
    if (period_ns <= 0 || s->n_periods == PS_PADDLE_MEDIAN_OF) {
        return;
    }
    uint32_t at = s->n_periods++;
    for (; at > 0 && s->periods_ns[at - 1] > period_ns; at--) {
        s->periods_ns[at] = s->periods_ns[at - 1];
    }
    s->periods_ns[at] = period_ns;
}

/* After one step only its own length is known, and what lies between steps may be longer. */
static int64_t usual_ns(const ps_paddle_steps *s) {
    if (s->n_periods > 0) {
        return ps_midpoint_i64(s->periods_ns[(s->n_periods - 1) / 2],
                               s->periods_ns[s->n_periods / 2]);
    }
    int64_t length_ns = s->ref_end_ns - s->ref_start_ns;
    return length_ns > ONE_STEP_NS ? length_ns : ONE_STEP_NS;
}

static int64_t paddle_step_scaled(int64_t ns, int64_t factor) {
    return ns > INT64_MAX / factor ? INT64_MAX : ns * factor;
}

/* --- steps and runs ------------------------------------------------------------------------------------------ */

static void end_step(ps_paddle_steps *s) {
    if (s->has_step && s->has_time) {
        ps_builder_step(s->builder, s->id, s->start_ns, s->end_ns);
    }
    s->has_step = false;
}

static bool end_run(ps_paddle_steps *s) {
    end_step(s);
    const ps_paddle_run *r = &s->run;
    bool had = s->has_run;
    s->has_run = false;
    if (!had || s->runs == NULL) {
        return true;
    }
    if (!ps_table_add_row(s->runs)) {
        return false;
    }
    ps_table_set_int(s->runs, 0, r->number);
    ps_table_set_int(s->runs, 1, (int64_t)r->line);
    ps_table_set_int(s->runs, 2, r->first_step);
    ps_table_set_int(s->runs, 3, r->said_first);
    if (r->banner_end > 0) {
        ps_table_set_int(s->runs, 4, r->banner_first);
        ps_table_set_int(s->runs, 5, r->banner_end);
    }
    ps_table_set_int(s->runs, 6, r->n_steps);
    ps_table_set_int(s->runs, 7, r->n_jobs);
    return true;
}

/* Numbers as the log gives them, moved behind those that there are already. */
static bool begin_run(ps_paddle_steps *s, uint64_t line) {
    int64_t number = s->has_run ? s->run.number + 1 : 0;
    if (!end_run(s)) {
        return false;
    }
    int64_t said = 0;
    s->run = (ps_paddle_run){.number = number, .line = line};
    if (s->banner_seen) {
        s->run.banner_first = s->banner_first;
        s->run.banner_end = s->banner_end;
        said = s->banner_first;
    }
    said = s->push_seen ? s->push : said;
    s->run.said_first = said;
    s->run.first_step = said > s->last_id ? said : s->last_id + 1;
    s->has_run = true;
    s->run_push = -1;
    s->n_periods = 0;
    s->has_ref = false;
    return true;
}

static bool window_is_used_up(const ps_paddle_steps *s) {
    return s->run.n_steps >= s->run.banner_end - s->run.banner_first;
}

/* Within the first step nobody knows how long a step takes: a program may be compiled between two of its jobs. */
static bool is_far_away(const ps_paddle_steps *s, const ps_paddle_job *job, bool repeated) {
    if (!job->is_timed || !s->has_ref || (s->n_periods == 0 && !repeated)) {
        return false;
    }
    int64_t step_ns = usual_ns(s);
    int64_t apart_ns = job->start_ns - s->ref_start_ns; /* both within 2^61 of 0 */
    return apart_ns < -step_ns || apart_ns > paddle_step_scaled(step_ns, FAR_AHEAD);
}

static bool is_banner_of_another_run(const ps_paddle_steps *s, const ps_paddle_job *job) {
    bool same = s->banner_first == s->run.banner_first && s->banner_end == s->run.banner_end;
    bool pause = job->is_timed && s->has_ref &&
                 job->start_ns - s->ref_end_ns > paddle_step_scaled(usual_ns(s), PAUSE);
    return !same || (window_is_used_up(s) && pause);
}

static bool is_another_run(const ps_paddle_steps *s, const ps_paddle_job *job, bool repeated) {
    return !s->has_run || (s->banner_seen && is_banner_of_another_run(s, job)) ||
           (s->push_seen && s->run_push >= 0 && s->push <= s->run_push) ||
           is_far_away(s, job, repeated);
}

static void begin_paddle_step(ps_paddle_steps *s) {
    end_step(s);
    int64_t shift = s->run.first_step - s->run.said_first;
    if (s->run.n_steps == 0) {
        s->said = s->run.said_first;
    } else {
        s->said = s->push_seen && s->push > s->said ? s->push : s->said + 1;
    }
    s->id = s->said + shift;
    s->last_id = s->id;
    s->run.n_steps++;
    s->n_steps++;
    s->seq = 0;
    s->reached = -1;
    s->has_step = true;
    s->has_time = false;
}

/* --- pairs ---------------------------------------------------------------------------------------------------- */

/* The pair's row, added when new; NULL when memory is out. */
static ps_paddle_pair *find_pair(ps_paddle_steps *s, const ps_paddle_job *job) {
    uint64_t seed = ps_hash_seed();
    uint64_t key = ps_hash_u64_seeded(
        (uint64_t)job->microbatch ^ ps_hash_u64_seeded(job->type.id, seed), seed);
    for (uint32_t row; (row = ps_idmap_get(&s->pair_rows, key)) != PS_IDMAP_NONE; key++) {
        ps_paddle_pair *p = &s->pairs[row];
        if (p->type == job->type.id && p->microbatch == job->microbatch) {
            return p;
        }
    }
    if (!ps_grow(&s->pairs, &s->cap_pairs, s->n_pairs + 1, UINT32_MAX - 1, sizeof *s->pairs) ||
        !ps_idmap_put(&s->pair_rows, key, (uint32_t)s->n_pairs)) {
        return NULL;
    }
    ps_paddle_pair *p = &s->pairs[s->n_pairs++];
    *p = (ps_paddle_pair){.type = job->type.id, .microbatch = job->microbatch};
    return p;
}

static void take_paddle_step_time(ps_paddle_steps *s, const ps_paddle_job *job) {
    if (!s->has_time) {
        note_period(s, s->has_ref ? job->start_ns - s->ref_start_ns : 0);
        s->start_ns = job->start_ns;
        s->end_ns = job->end_ns;
    }
    s->start_ns = s->start_ns < job->start_ns ? s->start_ns : job->start_ns;
    s->end_ns = s->end_ns > job->end_ns ? s->end_ns : job->end_ns;
    s->ref_start_ns = s->start_ns;
    s->ref_end_ns = s->end_ns;
    s->has_time = s->has_ref = true;
}

/* The pair is in the open step already, or comes before what the open step has reached of the list. */
static bool is_repeated(const ps_paddle_steps *s, const ps_paddle_pair *pair) {
    return pair->step == s->n_steps || (pair->step == s->n_steps - 1 && pair->seq < s->reached);
}

static void keep_place(ps_paddle_steps *s, ps_paddle_pair *pair) {
    if (pair->step == s->n_steps - 1 && pair->step > 0 && pair->seq > s->reached) {
        s->reached = pair->seq;
    }
    pair->step = s->n_steps;
    pair->seq = s->seq++;
}

bool ps_paddle_steps_add(ps_paddle_steps *s, ps_paddle_job *job) {
    ps_paddle_pair *pair = find_pair(s, job);
    if (pair == NULL) {
        return false;
    }
    bool repeated = s->has_step && is_repeated(s, pair);
    bool new_run = is_another_run(s, job, repeated);
    job->begins_run = new_run && s->has_run;
    if (new_run && !begin_run(s, job->line)) {
        return false;
    }
    if (!s->has_step || s->push_seen || s->pop_seen || repeated) {
        begin_paddle_step(s);
    }
    if (s->push_seen) {
        s->run_push = s->push;
    }
    s->banner_seen = s->push_seen = s->pop_seen = false;
    keep_place(s, pair);
    if (job->is_timed) {
        take_paddle_step_time(s, job);
    }
    s->run.n_jobs++;
    job->step = s->id;
    job->run = s->run.number;
    job->seq = pair->seq;
    return true;
}

void ps_paddle_steps_skip(ps_paddle_steps *s) {
    s->seq += s->has_step;
}

bool ps_paddle_steps_finish(ps_paddle_steps *s) {
    return end_run(s);
}
