/* A worker of a crew: reads the profiles of its ranks, and gives what their maps make of them. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory_left.h"
#include "base/threads.h"
#include "model/comm_kernels.h"
#include "run/crew.h"
#include "run/crew_job.h"
#include "run/crew_rank.h"
#include "run/inventory.h"
#include "run/rank_write.h"
#include "run/run_key.h"
#include "run/run_shards.h"

enum { MAX_SAID = 1024 };

/* The job that is being done. */
typedef struct crew_worker {
    int fd;
    size_t n_beside;
    pthread_mutex_t lock; /* of what is sent */
    int is_cut_off;       /* the other end is gone: nothing more is worth doing */
    uint32_t number;      /* of the job; 0: none */
    ps_crew_job job;
    ps_cluster *cluster;
    ps_comm_rules *rules;
    const ps_analysis **analyses;
    const ps_cluster_rank **ranks;
    ps_run_opts opts;
    ps_session session;
    bool has_session;
    uint32_t *own; /* ranks of this round */
    size_t n_own, cap_own;
    bool is_writing;
    ps_rank_write *writes; /* [n_own] while it is */
    size_t cap_writes;
    int failed; /* `err` is taken: what keeps the worker from going on with the job */
    ps_err err;
} crew_worker;

static void tell_program(crew_worker *w, ps_frame_kind kind, size_t index, const ps_buf *bytes) {
    ps_frame frame = {
        .kind = kind, .job = w->number, .index = index, .n_bytes = bytes != NULL ? bytes->len : 0};
    (void)pthread_mutex_lock(&w->lock);
    bool ok = ps_frame_write(w->fd, &frame, bytes != NULL ? ps_buf_str(bytes) : "");
    (void)pthread_mutex_unlock(&w->lock);
    if (!ok) {
        __atomic_store_n(&w->is_cut_off, 1, __ATOMIC_RELAXED);
    }
}

static void fail_job(crew_worker *w, const ps_err *err) {
    if (__atomic_exchange_n(&w->failed, 1, __ATOMIC_ACQ_REL) == 0) {
        ps_buf text = {0};
        char said[MAX_SAID];
        w->err = *err;
        ps_err_format(err, said, sizeof said);
        ps_buf_add_str(&text, said);
        tell_program(w, PS_FRAME_FAILED, 0, &text);
        ps_buf_fini(&text);
    }
}

/* --- the job --------------------------------------------------------------------------------------------------------- */

static void forget_own(crew_worker *w) {
    for (size_t i = 0; w->is_writing && i < w->n_own; i++) {
        ps_rank_write_fini(&w->writes[i]);
    }
    w->n_own = 0;
}

static void end_job(crew_worker *w) {
    forget_own(w);
    w->is_writing = false;
    if (w->has_session) {
        ps_run *run = w->session.run;
        ps_run_cache_close(w->session.cache);
        ps_session_fini(&w->session);
        ps_run_free(run);
        w->has_session = false;
    }
    ps_comm_rules_free(w->rules);
    ps_cluster_free(w->cluster);
    ps_crew_job_fini(&w->job);
    ps_free(w->analyses);
    ps_free(w->ranks);
    w->rules = NULL;
    w->cluster = NULL;
    w->analyses = NULL;
    w->ranks = NULL;
    w->job = (ps_crew_job){0};
    w->failed = 0;
    w->number = 0;
}

static ps_code take_rules(crew_worker *w, ps_err *err) {
    if (w->job.comm_rules == NULL) {
        return PS_OK;
    }
    ps_code code = ps_comm_rules_read(w->job.comm_rules, &w->rules, err);
    if (code == PS_OK) {
        ps_comm_rules_use(w->rules);
        code = ps_comm_rules_hash() == w->job.comm_rules_hash
                   ? PS_OK
                   : ps_fail_file(err, PS_CHANGED, w->job.comm_rules,
                                  "these are not the rules that the first process has read");
    }
    return code;
}

/* As each process was told, else its share of what the machine leaves. */
static int64_t memory_of_worker(const crew_worker *w) {
    int64_t left = ps_memory_left();
    int64_t n_beside = w->n_beside > 0 ? (int64_t)w->n_beside : 1;
    bool is_known = w->job.memory_bytes == 0 && left < INT64_MAX && left >= n_beside;
    return is_known ? left / n_beside : w->job.memory_bytes;
}

static void take_run_opts(crew_worker *w) {
    const ps_crew_job *job = &w->job;
    size_t each = ps_threads_each(ps_n_processors(), w->n_beside);
    w->opts = (ps_run_opts){.out_dir = job->out_dir,
                            .export_type = (ps_export)job->export_type,
                            .n_threads = job->n_threads > 0 ? job->n_threads : each,
                            .n_makers = job->n_makers,
                            .baseline_path = job->has_baseline ? "" : NULL,
                            .partials_dir = job->partials_dir,
                            .cache_dir = job->cache_dir,
                            .cache_max_bytes = job->cache_max_bytes,
                            .memory_bytes = memory_of_worker(w),
                            .analysis = job->opts};
}

static ps_code begin_session(crew_worker *w, ps_err *err) {
    w->analyses = ps_calloc(w->job.n_analyses + 1, sizeof *w->analyses);
    w->ranks = ps_calloc(w->job.n_ranks + 1, sizeof *w->ranks);
    if (w->analyses == NULL || w->ranks == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t a = 0; a < w->job.n_analyses; a++) {
        w->analyses[a] = ps_analysis_find(w->job.analyses[a]);
        if (w->analyses[a] == NULL) {
            return ps_fail(err, PS_INTERNAL, "no analysis '%.64s'", w->job.analyses[a]);
        }
    }
    for (size_t r = 0; r < w->job.n_ranks; r++) {
        w->ranks[r] = &w->cluster->ranks[w->job.ranks[r]];
    }
    w->session = (ps_session){.cluster = w->cluster, .analyses = w->analyses, .opts = &w->opts};
    w->has_session = true;
    if (!ps_session_init(&w->session, w->ranks, w->job.n_ranks, w->job.n_analyses)) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_session_budget(&w->session, err);
    if (code != PS_OK) {
        return code;
    }
    if (w->opts.cache_dir != NULL || w->opts.partials_dir != NULL) {
        code = ps_program_key_add(&w->session.program_key, err);
    }
    if (code == PS_OK && w->opts.cache_dir != NULL) {
        w->session.cache = ps_run_cache_open(w->opts.cache_dir, w->opts.cache_max_bytes, err);
        return w->session.cache != NULL ? PS_OK : err->code;
    }
    return code;
}

/* Whether the file, with all links followed, lies below the folder. */
static bool is_file_below(const char *path, const char *folder) {
    char file[PATH_MAX];
    char above[PATH_MAX];
    if (realpath(path, file) == NULL || realpath(folder, above) == NULL) {
        return false;
    }
    size_t n = strlen(above);
    return strncmp(file, above, n) == 0 &&
           (file[n] == '/' || file[n] == '\0' || above[n - 1] == '/');
}

/* A byte a rank: whether its files are fast for this process. */
static void add_near(const crew_worker *w, ps_buf *out) {
    for (size_t r = 0; w->job.local_dir != NULL && r < w->job.n_ranks; r++) {
        const ps_cluster_rank *rank = &w->cluster->ranks[w->job.ranks[r]];
        ps_buf_add_char(out, (char)is_file_below(rank->path, w->job.local_dir));
    }
}

static void begin_work(crew_worker *w, const ps_frame *frame, const ps_buf *bytes) {
    ps_err err = PS_ERR_INIT;
    end_job(w);
    w->number = frame->job;
    ps_code code = ps_archive_read(ps_crew_job_archive, &w->job, bytes->data, bytes->len, &err);
    take_run_opts(w);
    code = code == PS_OK ? take_rules(w, &err) : code;
    if (code == PS_OK) {
        w->cluster = ps_crew_job_find(&w->job, &err);
        code = w->cluster != NULL ? PS_OK : err.code;
    }
    if (code == PS_OK && !w->job.is_inventory) {
        code = begin_session(w, &err);
    }
    if (code != PS_OK) {
        fail_job(w, &err);
        return;
    }
    ps_buf near = {0};
    add_near(w, &near);
    tell_program(w, PS_FRAME_READY, 0, &near);
    ps_buf_fini(&near);
}

/* --- a round --------------------------------------------------------------------------------------------------------- */

static void free_shared(ps_session *s) {
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        if (s->analyses[a]->free_shared != NULL) {
            s->analyses[a]->free_shared(s->shared[a]);
        }
        s->shared[a] = NULL;
    }
}

static void begin_crew_round(crew_worker *w, const ps_frame *frame, const ps_buf *bytes) {
    ps_session *s = &w->session;
    ps_err err = PS_ERR_INIT;
    if (w->failed != 0 || !w->has_session || frame->index >= s->n_rounds) {
        return;
    }
    forget_own(w);
    w->is_writing = false;
    s->round = frame->index;
    free_shared(s);
    ps_session_begin_round(s); /* tells what there is to be read, */
    ps_code code = PS_OK;
    if (bytes->len > 0) {
        code = ps_archive_read(ps_session_left_archive, s, bytes->data, bytes->len, &err);
        ps_session_begin_round(s); /* and what the maps depend on when it is there */
    }
    if (code == PS_OK && w->opts.partials_dir != NULL) {
        code = ps_shards_make_folder(s, &err);
    }
    if (code != PS_OK) {
        fail_job(w, &err);
    }
}

/* What is to be written of a rank of its own. */
static ps_code take_rank_write(crew_worker *w, size_t r, const ps_buf *bytes, ps_err *err) {
    if (!ps_grow(&w->writes, &w->cap_writes, w->n_own, UINT32_MAX, sizeof *w->writes)) {
        w->n_own--;
        return ps_fail_nomem(err);
    }
    ps_rank_write *x = &w->writes[w->n_own - 1];
    *x = (ps_rank_write){.rank = w->ranks[r], .err = PS_ERR_INIT};
    return ps_archive_read(ps_rank_write_archive, x, bytes->data, bytes->len, err);
}

/* A rank of its own; with bytes what there is of it from the last round, or what is to be written. */
static void take_crew_rank(crew_worker *w, const ps_frame *frame, const ps_buf *bytes) {
    ps_session *s = &w->session;
    ps_err err = PS_ERR_INIT;
    if (w->failed != 0 || frame->index >= w->job.n_ranks) {
        return;
    }
    ps_code code = ps_grow(&w->own, &w->cap_own, w->n_own + 1, UINT32_MAX, sizeof *w->own)
                       ? PS_OK
                       : ps_fail_nomem(&err);
    if (code == PS_OK) {
        w->own[w->n_own++] = (uint32_t)frame->index;
    }
    if (code == PS_OK && w->is_writing) {
        code = take_rank_write(w, frame->index, bytes, &err);
    } else if (code == PS_OK && bytes->len > 0) {
        code = ps_crew_rank_take(s, frame->index, bytes, &err);
    }
    if (code != PS_OK) {
        fail_job(w, &err);
    }
}

static ps_code map_own(crew_worker *w, size_t r, ps_buf *out, ps_err *err) {
    ps_session *s = &w->session;
    ps_code code = PS_OK;
    if (w->opts.partials_dir != NULL) {
        code = ps_shard_map_rank(s, r, err);
    } else {
        ps_session_map(s, r, PS_MAPS_WITH_TRACE);
    }
    code = code == PS_OK ? ps_crew_rank_write(s, r, out, err) : code;
    ps_session_forget_rank(s, r);
    return code;
}

static ps_code read_inventory(crew_worker *w, size_t r, ps_buf *out, ps_err *err) {
    size_t each = ps_threads_each(w->opts.n_threads, w->n_own);
    ps_inventory *inventory = ps_inventory_read(&w->cluster->ranks[w->job.ranks[r]], each);
    ps_code code = inventory != NULL ? ps_archive_write(ps_inventory_archive, inventory, out, err)
                                     : ps_fail_nomem(err);
    ps_inventory_free(inventory);
    return code;
}

static void do_own(void *context, size_t i) {
    crew_worker *w = context;
    size_t r = w->own[i];
    ps_err err = PS_ERR_INIT;
    ps_buf bytes;
    if (__atomic_load_n(&w->is_cut_off, __ATOMIC_RELAXED) != 0 ||
        __atomic_load_n(&w->failed, __ATOMIC_RELAXED) != 0) {
        return;
    }
    ps_buf_init(&bytes, UINT32_MAX);
    ps_code code =
        w->job.is_inventory ? read_inventory(w, r, &bytes, &err) : map_own(w, r, &bytes, &err);
    if (code == PS_OK) {
        tell_program(w, PS_FRAME_RANK, r, &bytes);
    } else {
        fail_job(w, &err);
    }
    ps_buf_fini(&bytes);
}

/* Says how it went with each rank. */
static void write_own(crew_worker *w) {
    ps_rank_writes_do(w->writes, w->n_own, w->opts.n_threads);
    for (size_t i = 0; i < w->n_own && w->failed == 0; i++) {
        ps_buf bytes = {0};
        ps_err err = PS_ERR_INIT;
        if (ps_archive_write(ps_rank_written_archive, &w->writes[i], &bytes, &err) == PS_OK) {
            tell_program(w, PS_FRAME_RANK, w->own[i], &bytes);
        } else {
            fail_job(w, &err);
        }
        ps_buf_fini(&bytes);
    }
    forget_own(w);
    if (w->failed == 0) {
        tell_program(w, PS_FRAME_DONE, 0, NULL);
    }
}

static void end_crew_round(crew_worker *w) {
    ps_buf counts = {0};
    ps_err err = PS_ERR_INIT;
    w->session.n_own = w->n_own;
    ps_parallel(w->n_own, w->opts.n_threads, do_own, w);
    w->n_own = 0;
    if (w->failed != 0) {
        return;
    }
    if (w->has_session && ps_crew_counts_take_and_write(&w->session, &counts, &err) != PS_OK) {
        fail_job(w, &err);
    } else {
        tell_program(w, PS_FRAME_DONE, 0, &counts);
    }
    ps_buf_fini(&counts);
}

bool ps_crew_work(int fd, size_t n_beside) {
    crew_worker w = {.fd = fd, .n_beside = n_beside, .lock = PTHREAD_MUTEX_INITIALIZER};
    ps_frame frame;
    ps_buf bytes;
    ps_buf_init(&bytes, UINT32_MAX);
    ps_code code = PS_OK;
    while (w.is_cut_off == 0 && (code = ps_frame_read(fd, &frame, &bytes)) == PS_OK &&
           frame.kind != PS_FRAME_END) {
        if (frame.kind == PS_FRAME_JOB) {
            begin_work(&w, &frame, &bytes);
        } else if (frame.job != w.number || w.failed != 0) {
            continue; /* of a job that is over */
        } else if (frame.kind == PS_FRAME_ROUND) {
            begin_crew_round(&w, &frame, &bytes);
        } else if (frame.kind == PS_FRAME_WRITE) {
            forget_own(&w);
            w.is_writing = w.has_session;
        } else if (frame.kind == PS_FRAME_RANK) {
            take_crew_rank(&w, &frame, &bytes);
        } else if (frame.kind == PS_FRAME_GO && w.is_writing) {
            write_own(&w);
        } else if (frame.kind == PS_FRAME_GO) {
            end_crew_round(&w);
        }
    }
    end_job(&w);
    ps_free(w.own);
    ps_free(w.writes);
    ps_buf_fini(&bytes);
    (void)pthread_mutex_destroy(&w.lock);
    return code != PS_NOMEM;
}
