#include "run/crew.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "run/crew_job.h"
#include "run/crew_rank.h"
#include "run/inventory.h"
#include "run/rank_write.h"

struct ps_crew {
    ps_engine engine; /* first: an engine of a crew is the crew */
    ps_crew_port *port;
    bool *lives;      /* [worker] */
    bool *takes_part; /* [worker] in the job */
    ps_err *why;      /* [worker] it does not, or it died; PS_OK */
    uint8_t *near;    /* [worker * n_ranks + rank] of the job, NULL: nobody asked */
    const void *job;  /* whose one it is: a run, or a cluster */
    uint32_t number;  /* of the job */
    size_t n_ranks;   /* in it */
    /* Of a round. */
    int64_t *size_bytes;
    bool *wanted;
    uint32_t *whose;   /* UINT32_MAX: nobody's */
    bool *is_there;    /* it has come back */
    size_t *n_missing; /* [worker] ranks that have not */
    bool *is_done;     /* [worker] with the round */
};

static ps_code map_crew(ps_engine *e, ps_session *s, bool *waits, ps_err *err);
static ps_code write_crew_ranks(ps_engine *e, const ps_run *run, ps_rank_write *writes,
                                size_t n_threads, ps_err *err);
static ps_code read_inventories(ps_engine *e, const ps_cluster *cluster, size_t n_threads,
                                ps_inventory **out, void (*read)(void *context), void *context,
                                ps_err *err);

ps_crew *ps_crew_new(ps_crew_port *port) {
    ps_crew *c = ps_calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->engine = (ps_engine){
        .map = map_crew, .inventories = read_inventories, .write_ranks = write_crew_ranks};
    c->port = port;
    c->lives = ps_calloc(port->n_workers, sizeof *c->lives);
    c->takes_part = ps_calloc(port->n_workers, sizeof *c->takes_part);
    c->why = ps_calloc(port->n_workers, sizeof *c->why);
    c->n_missing = ps_calloc(port->n_workers, sizeof *c->n_missing);
    c->is_done = ps_calloc(port->n_workers, sizeof *c->is_done);
    if (c->lives == NULL || c->takes_part == NULL || c->why == NULL || c->n_missing == NULL ||
        c->is_done == NULL) {
        ps_crew_free(c);
        return NULL;
    }
    for (size_t w = 0; w < port->n_workers; w++) {
        c->lives[w] = true;
    }
    return c;
}

static void forget_job(ps_crew *c) {
    ps_free(c->near);
    ps_free(c->size_bytes);
    ps_free(c->wanted);
    ps_free(c->whose);
    ps_free(c->is_there);
    c->near = NULL;
    c->size_bytes = NULL;
    c->wanted = NULL;
    c->whose = NULL;
    c->is_there = NULL;
    c->job = NULL;
}

void ps_crew_free(ps_crew *c) {
    if (c == NULL) {
        return;
    }
    ps_frame end = {.kind = PS_FRAME_END, .worker = PS_CREW_ALL};
    (void)!c->port->send(c->port, &end, "", NULL);
    forget_job(c);
    ps_free(c->lives);
    ps_free(c->takes_part);
    ps_free(c->why);
    ps_free(c->n_missing);
    ps_free(c->is_done);
    ps_free(c);
}

ps_engine *ps_crew_engine(ps_crew *c) {
    return &c->engine;
}

/* --- frames ---------------------------------------------------------------------------------------------------------- */

static ps_code tell_workers(const ps_crew *c, ps_frame_kind kind, uint32_t worker, size_t index,
                            const ps_buf *bytes, ps_err *err) {
    ps_frame frame = {.kind = kind,
                      .worker = worker,
                      .job = c->number,
                      .index = index,
                      .n_bytes = bytes != NULL ? bytes->len : 0};
    return c->port->send(c->port, &frame, bytes != NULL ? ps_buf_str(bytes) : "", err);
}

/* Those that a round is about. */
typedef struct crew_ranks {
    const ps_run *run;         /* its ranks, or with NULL */
    const ps_cluster *cluster; /* all of this */
} crew_ranks;

/* "process 1 on node7, with ranks 1, 5, 9, ..., was ended by signal 9" */
enum { NAMED_MOST = 16 };

static void name_missing_ranks(const ps_crew *c, uint32_t worker, const crew_ranks *of,
                               ps_buf *out) {
    size_t n = 0;
    for (size_t r = 0; r < c->n_ranks; r++) {
        if (c->whose == NULL || c->whose[r] != worker || c->is_there[r] || n > NAMED_MOST) {
            continue;
        }
        const ps_cluster_rank *rank =
            of->run != NULL ? of->run->ranks[r].rank : &of->cluster->ranks[r];
        if (n < NAMED_MOST) {
            ps_buf_addf(out, "%s%lld",
                        n > 0                      ? ", "
                        : c->n_missing[worker] > 1 ? "ranks "
                                                   : "rank ",
                        (long long)(rank->rank >= 0 ? rank->rank : (int64_t)r));
        } else {
            ps_buf_add_str(out, " ...");
        }
        n++;
    }
}

/* A worker gives nothing more: `text` says why. */
static void lose_worker(ps_crew *c, uint32_t worker, const crew_ranks *of, const char *text) {
    char name[256];
    ps_buf ranks = {0};
    c->port->name(c->port, worker, name, sizeof name);
    name_missing_ranks(c, worker, of, &ranks);
    c->takes_part[worker] = false;
    if (ranks.len > 0) {
        (void)ps_fail(&c->why[worker], PS_IO, "%.120s, which had %.200s, %.160s", name,
                      ps_buf_str(&ranks), text);
    } else {
        (void)ps_fail(&c->why[worker], PS_IO, "%.120s %.300s", name, text);
    }
    ps_buf_fini(&ranks);
}

/* What a frame of a worker tells, but for the ranks. False: it is of another job. */
static bool hear(ps_crew *c, const ps_frame *frame, const ps_buf *bytes, const crew_ranks *of) {
    uint32_t w = frame->worker;
    if (w >= c->port->n_workers) {
        return false;
    }
    if (frame->kind == PS_FRAME_DIED && c->lives[w]) {
        c->lives[w] = false;
        lose_worker(c, w, of, ps_buf_str(bytes));
    } else if (frame->kind == PS_FRAME_FAILED && frame->job == c->number) {
        lose_worker(c, w, of, ps_buf_str(bytes));
    }
    return frame->job == c->number;
}

/* --- the job --------------------------------------------------------------------------------------------------------- */

static ps_code find_sizes(ps_crew *c, const ps_cluster *cluster, const ps_crew_job *job,
                          ps_err *err) {
    c->n_ranks = job->n_ranks;
    c->size_bytes = ps_calloc(c->n_ranks, sizeof *c->size_bytes);
    c->wanted = ps_calloc(c->n_ranks, sizeof *c->wanted);
    c->whose = ps_calloc(c->n_ranks, sizeof *c->whose);
    c->is_there = ps_calloc(c->n_ranks, sizeof *c->is_there);
    c->near = job->local_dir != NULL ? ps_calloc(c->n_ranks, c->port->n_workers) : NULL;
    if (c->size_bytes == NULL || c->wanted == NULL || c->whose == NULL || c->is_there == NULL ||
        (job->local_dir != NULL && c->near == NULL)) {
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        ps_file_id id;
        const ps_cluster_rank *rank = &cluster->ranks[job->ranks[r]];
        c->whose[r] = UINT32_MAX;
        c->size_bytes[r] = ps_file_identify(rank->path, &id, NULL) == PS_OK ? id.size_bytes : 0;
    }
    return PS_OK;
}

/* Waits until each worker has found the ranks. */
static ps_code await_ready(ps_crew *c, const crew_ranks *of, ps_err *err) {
    ps_frame frame;
    ps_buf bytes;
    ps_code code = PS_OK;
    size_t n_waited = 0;
    ps_buf_init(&bytes, UINT32_MAX);
    for (size_t w = 0; w < c->port->n_workers; w++) {
        c->takes_part[w] = c->lives[w];
        c->why[w] = c->lives[w] ? PS_ERR_INIT : c->why[w];
        c->is_done[w] = !c->lives[w];
        n_waited += c->lives[w];
    }
    while (code == PS_OK && n_waited > 0) {
        code = c->port->receive(c->port, &frame, &bytes, err);
        if (code != PS_OK) {
            break;
        }
        uint32_t w = frame.worker;
        bool is_of_job = hear(c, &frame, &bytes, of);
        bool is_ready = is_of_job && frame.kind == PS_FRAME_READY;
        if (is_ready && c->near != NULL && bytes.len == c->n_ranks) {
            memcpy(c->near + w * c->n_ranks, bytes.data, c->n_ranks);
        }
        if (w < c->port->n_workers && !c->is_done[w] && (is_ready || !c->takes_part[w])) {
            c->is_done[w] = true;
            n_waited--;
        }
    }
    ps_buf_fini(&bytes);
    return code;
}

static ps_code begin_crew_job(ps_crew *c, const ps_cluster *cluster, const ps_session *s,
                              size_t n_threads, ps_err *err) {
    ps_crew_job job;
    ps_buf bytes;
    char partials[4096];
    ps_buf_init(&bytes, UINT32_MAX);
    forget_job(c);
    c->number++;
    c->job = s != NULL ? (const void *)s->run : cluster;
    ps_code code = ps_crew_job_of(&job, cluster, s) ? PS_OK : ps_fail_nomem(err);
    job.n_threads = n_threads;
    if (code == PS_OK && job.partials_dir != NULL) { /* jobs of one program differ in their modes */
        int n = snprintf(partials, sizeof partials, "%s/job-%u", job.partials_dir, c->number);
        code = n > 0 && (size_t)n < sizeof partials - 64
                   ? PS_OK
                   : ps_fail(err, PS_USAGE, "the name of the folder for partials is too long");
        job.partials_dir = partials;
    }
    code = code == PS_OK ? find_sizes(c, cluster, &job, err) : code;
    code = code == PS_OK ? ps_archive_write(ps_crew_job_archive, &job, &bytes, err) : code;
    code = code == PS_OK ? tell_workers(c, PS_FRAME_JOB, PS_CREW_ALL, 0, &bytes, err) : code;
    crew_ranks of = {s != NULL ? s->run : NULL, cluster};
    code = code == PS_OK ? await_ready(c, &of, err) : code;
    ps_crew_job_fini(&job);
    ps_buf_fini(&bytes);
    return code;
}

/* --- a round --------------------------------------------------------------------------------------------------------- */

/* Who gets which of the ranks that are wanted. Fails with the first reason when nobody is left. */
static ps_code share_out(ps_crew *c, ps_err *err) {
    if (ps_crew_assign(c->size_bytes, c->wanted, c->n_ranks, c->near, c->takes_part,
                       c->port->n_workers, c->whose)) {
        memset(c->n_missing, 0, c->port->n_workers * sizeof *c->n_missing);
        for (size_t r = 0; r < c->n_ranks; r++) {
            c->is_there[r] = false;
            c->n_missing[c->whose[r] < c->port->n_workers ? c->whose[r] : 0] +=
                c->whose[r] < c->port->n_workers;
        }
        return PS_OK;
    }
    for (size_t w = 0; w < c->port->n_workers; w++) {
        if (c->why[w].code != PS_OK) {
            return ps_fail(err, c->why[w].code, "%s", c->why[w].msg);
        }
    }
    return ps_fail_nomem(err);
}

typedef ps_code give_fn(void *context, size_t r, ps_buf *out, ps_err *err);
typedef ps_code take_fn(void *context, size_t r, const ps_buf *bytes, ps_err *err);
typedef ps_code end_fn(void *context, const ps_buf *bytes, ps_err *err);

/* What goes along with the ranks of a round, what comes back of them, and at the end of each worker. */
typedef struct crew_round {
    crew_ranks of;
    give_fn *give; /* NULL: nothing */
    take_fn *take;
    end_fn *end; /* NULL: it is not looked at */
    void *context;
} crew_round;

static ps_code send_ranks(ps_crew *c, const crew_round *x, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        ps_buf bytes;
        if (c->whose[r] >= c->port->n_workers) {
            continue;
        }
        ps_buf_init(&bytes, UINT32_MAX);
        code = x->give != NULL ? x->give(x->context, r, &bytes, err) : PS_OK;
        code = code == PS_OK ? tell_workers(c, PS_FRAME_RANK, c->whose[r], r, &bytes, err) : code;
        ps_buf_fini(&bytes);
    }
    return code == PS_OK ? tell_workers(c, PS_FRAME_GO, PS_CREW_ALL, 0, NULL, err) : code;
}

/* What comes back, until no worker has any of the ranks. */
static ps_code await_ranks(ps_crew *c, const crew_round *x, ps_err *err) {
    ps_frame frame;
    ps_buf bytes;
    ps_code code = PS_OK;
    size_t n_waited = 0;
    ps_buf_init(&bytes, UINT32_MAX);
    for (size_t w = 0; w < c->port->n_workers; w++) {
        c->is_done[w] = !c->takes_part[w];
        n_waited += c->takes_part[w];
    }
    while (code == PS_OK && n_waited > 0) {
        code = c->port->receive(c->port, &frame, &bytes, err);
        if (code != PS_OK) {
            break;
        }
        uint32_t w = frame.worker;
        bool is_of_job = hear(c, &frame, &bytes, &x->of);
        if (is_of_job && frame.kind == PS_FRAME_RANK && frame.index < c->n_ranks &&
            c->whose[frame.index] == w && !c->is_there[frame.index]) {
            code = x->take(x->context, frame.index, &bytes, err);
            c->is_there[frame.index] = true;
            c->n_missing[w]--;
        } else if (is_of_job && frame.kind == PS_FRAME_DONE && x->end != NULL) {
            code = x->end(x->context, &bytes, err);
        }
        bool is_done = w < c->port->n_workers && !c->is_done[w] &&
                       ((is_of_job && frame.kind == PS_FRAME_DONE) || !c->takes_part[w]);
        if (is_done) {
            c->is_done[w] = true;
            n_waited--;
        }
    }
    ps_buf_fini(&bytes);
    return code;
}

/* Why a rank that was shared out did not come back. */
static ps_err why_missing(const ps_crew *c, size_t r) {
    ps_err err = c->why[c->whose[r]];
    if (err.code == PS_OK) {
        (void)ps_fail(&err, PS_INTERNAL, "the process that had the rank did not give it");
    }
    return err;
}

/* What there is of a rank from the last round, if there was one. */
static ps_code give_crew_state(void *context, size_t r, ps_buf *out, ps_err *err) {
    const ps_session *s = context;
    return s->round > 0 ? ps_crew_rank_write(s, r, out, err) : PS_OK;
}

static ps_code take_crew_counts(void *context, const ps_buf *bytes, ps_err *err) {
    return ps_crew_counts_add(context, bytes, err);
}

static ps_code take_crew_state(void *context, size_t r, const ps_buf *bytes, ps_err *err) {
    ps_session *s = context;
    ps_code code = ps_crew_rank_take(s, r, bytes, err);
    ps_session_step(s);
    return code;
}

static ps_code map_with_trace(ps_crew *c, ps_session *s, ps_err *err) {
    ps_buf left;
    crew_round x = {{s->run, s->cluster}, give_crew_state, take_crew_state, take_crew_counts, s};
    ps_code code =
        c->job == s->run ? PS_OK : begin_crew_job(c, s->cluster, s, s->opts->n_threads, err);
    ps_buf_init(&left, UINT32_MAX);
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        c->wanted[r] = ps_session_needs_trace(s, r);
    }
    code = code == PS_OK ? share_out(c, err) : code;
    if (code == PS_OK && s->round > 0) {
        code = ps_archive_write(ps_session_left_archive, s, &left, err);
    }
    code =
        code == PS_OK ? tell_workers(c, PS_FRAME_ROUND, PS_CREW_ALL, s->round, &left, err) : code;
    ps_buf_fini(&left);
    code = code == PS_OK ? send_ranks(c, &x, err) : code;
    code = code == PS_OK ? await_ranks(c, &x, err) : code;
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        if (c->wanted[r] && !c->is_there[r]) {
            ps_err why = why_missing(c, r);
            ps_session_fail_rank(s, r, &why);
        }
    }
    return code;
}

static ps_code map_crew(ps_engine *e, ps_session *s, bool *waits, ps_err *err) {
    ps_crew *c = (ps_crew *)e;
    *waits = false;
    if (s->round == 0) {
        c->job = NULL; /* another session may have lain there */
    }
    ps_code code = ps_session_any_needs_trace(s) ? map_with_trace(c, s, err) : PS_OK;
    if (code == PS_OK) {
        ps_session_map_rest(s);
    }
    return code;
}

/* --- tables of ranks ------------------------------------------------------------------------------------------------- */

static ps_code give_tables(void *context, size_t r, ps_buf *out, ps_err *err) {
    return ps_archive_write(ps_rank_write_archive, (ps_rank_write *)context + r, out, err);
}

static ps_code take_written(void *context, size_t r, const ps_buf *bytes, ps_err *err) {
    return ps_archive_read(ps_rank_written_archive, (ps_rank_write *)context + r, bytes->data,
                           bytes->len, err);
}

static ps_code write_crew_ranks(ps_engine *e, const ps_run *run, ps_rank_write *writes,
                                size_t n_threads, ps_err *err) {
    ps_crew *c = (ps_crew *)e;
    crew_round x = {{run, NULL}, give_tables, take_written, NULL, writes};
    bool is_of_job = c->job == run; /* else none of its maps wanted a trace */
    for (size_t r = 0; is_of_job && r < c->n_ranks; r++) {
        c->wanted[r] = writes[r].target != NULL;
    }
    if (!is_of_job || share_out(c, NULL) != PS_OK) { /* nor is anybody left: this process writes */
        ps_rank_writes_do(writes, run->n_ranks, n_threads);
        return PS_OK;
    }
    ps_code code = tell_workers(c, PS_FRAME_WRITE, PS_CREW_ALL, 0, NULL, err);
    code = code == PS_OK ? send_ranks(c, &x, err) : code;
    code = code == PS_OK ? await_ranks(c, &x, err) : code;
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        if (c->wanted[r] && !c->is_there[r]) {
            writes[r].err = why_missing(c, r);
            writes[r].code = writes[r].err.code;
        }
    }
    return code;
}

/* --- inventories ----------------------------------------------------------------------------------------------------- */

typedef struct inventories {
    ps_inventory **out;
    void (*read)(void *context);
    void *context;
} inventories;

static ps_code take_inventory(void *context, size_t r, const ps_buf *bytes, ps_err *err) {
    inventories *i = context;
    i->out[r] = ps_calloc(1, sizeof **i->out);
    i->read(i->context);
    return i->out[r] != NULL
               ? ps_archive_read(ps_inventory_archive, i->out[r], bytes->data, bytes->len, err)
               : ps_fail_nomem(err);
}

static ps_code read_inventories(ps_engine *e, const ps_cluster *cluster, size_t n_threads,
                                ps_inventory **out, void (*read)(void *context), void *context,
                                ps_err *err) {
    ps_crew *c = (ps_crew *)e;
    inventories i = {out, read, context};
    crew_round x = {.of.cluster = cluster, .take = take_inventory, .context = &i};
    ps_code code = begin_crew_job(c, cluster, NULL, n_threads, err);
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        c->wanted[r] = true;
    }
    code = code == PS_OK ? share_out(c, err) : code;
    code = code == PS_OK ? send_ranks(c, &x, err) : code;
    code = code == PS_OK ? await_ranks(c, &x, err) : code;
    for (size_t r = 0; code == PS_OK && r < c->n_ranks; r++) {
        if (!c->is_there[r] && (out[r] = ps_calloc(1, sizeof **out)) != NULL) {
            out[r]->err = why_missing(c, r);
        }
    }
    return code;
}
