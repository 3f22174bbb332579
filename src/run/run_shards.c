#include "run/run_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/threads.h"
#include "run/rank_files.h"
#include "run/run_key.h"

#define MAX_STATE_BYTES ((size_t)UINT32_MAX)
#define RANK "rank-"
#define LEFT "left"
enum { PATH_ROOM = 4096, NAMED_MOST = 8 };

/* --- files ----------------------------------------------------------------------------------------------------------- */

/* "DIR/1/rank-000007" */
static const char *rank_path(const ps_session *s, const char *kind, size_t r, char out[PATH_ROOM]) {
    (void)snprintf(out, PATH_ROOM, "%s/%zu/%s%06zu", s->opts->partials_dir, s->round + 1, kind, r);
    return out;
}

static const char *left_path(const ps_session *s, char out[PATH_ROOM]) {
    (void)snprintf(out, PATH_ROOM, "%s/%zu/" LEFT, s->opts->partials_dir, s->round + 1);
    return out;
}

ps_code ps_shards_make_folder(const ps_session *s, ps_err *err) {
    char path[PATH_ROOM];
    int n = snprintf(path, sizeof path, "%s/%zu", s->opts->partials_dir, s->round + 1);
    return n < PATH_ROOM - 64
               ? ps_make_dirs(path, err)
               : ps_fail(err, PS_USAGE, "the name of the folder for partials is too long");
}

/* Before a value stands what it was made from: a value of other modes has another shape. */
typedef struct label {
    ps_arena arena;
    const char *key;
} label;

static void label_archive(ps_archive *a, void *at) {
    label *x = at;
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE(a, x, key);
}

static ps_code write_value(const char *path, const char *key, ps_archive_visit *visit, void *x,
                           ps_err *err) {
    ps_buf bytes;
    label l = {.key = key};
    ps_buf_init(&bytes, MAX_STATE_BYTES);
    ps_code code = ps_archive_write(label_archive, &l, &bytes, err);
    code = code == PS_OK ? ps_archive_write(visit, x, &bytes, err) : code;
    code = code == PS_OK ? ps_write_file_flushed(path, bytes.data, bytes.len, err) : code;
    ps_buf_fini(&bytes);
    return code;
}

/* `found` is not `expected`, a key of the session. */
static ps_code refuse_foreign(const ps_session *s, const char *expected, const char *found,
                              ps_err *err) {
    size_t same = 0;
    while (found[same] != '\0' && found[same] == expected[same]) {
        same++;
    }
    return ps_fail(
        err, PS_UNSUPPORTED, "%s",
        same < s->program_key.len ? "another version of pipescope made it"
        : same < s->round_key.len
            ? "it was made with other modes or options, or after another reduce: take an "
              "empty folder"
            : "it was made from another capture: the rank or its files are others; take an "
              "empty folder");
}

static ps_code read_labelled(const ps_session *s, const ps_buf *bytes, const char *key,
                             ps_archive_visit *visit, void *x, ps_err *err) {
    label l = {.key = NULL};
    size_t n = ps_archive_first(bytes->data, bytes->len);
    ps_code code = ps_archive_read(label_archive, &l, bytes->data, n, err);
    if (code == PS_OK && (l.key == NULL || strcmp(l.key, key) != 0)) {
        code = refuse_foreign(s, key, l.key != NULL ? l.key : "", err);
    }
    ps_arena_fini(&l.arena);
    return code == PS_OK ? ps_archive_read(visit, x, bytes->data + n, bytes->len - n, err) : code;
}

/* *is_there false, and PS_OK, where no file is. */
static ps_code read_value(const ps_session *s, const char *path, const char *key,
                          ps_archive_visit *visit, void *x, bool *is_there, ps_err *err) {
    ps_buf bytes;
    ps_buf_init(&bytes, MAX_STATE_BYTES);
    ps_code code = ps_read_file_if_there(path, MAX_STATE_BYTES, &bytes, is_there, err);
    if (code == PS_OK && *is_there) {
        ps_err why = PS_ERR_INIT;
        code = read_labelled(s, &bytes, key, visit, x, &why);
        if (code != PS_OK) {
            (void)ps_fail_file(err, code, path, "%s", why.msg);
        }
    }
    ps_buf_fini(&bytes);
    return code;
}

/* --- what they were made from ---------------------------------------------------------------------------------------- */

/* The caller ends the buffer. NULL when the files of the rank cannot be told. */
static const char *key_of(const ps_session *s, size_t r, ps_buf *key) {
    ps_buf files;
    ps_buf_init(&files, 0);
    ps_buf_init(key, 0);
    bool ok = ps_rank_files_add(s->run->ranks[r].rank, &files) &&
              ps_session_rank_key(s, r, ps_buf_str(&files), key);
    ps_buf_fini(&files);
    return ok ? ps_buf_str(key) : NULL;
}

static ps_code fail_key(const ps_session *s, size_t r, ps_err *err) {
    return ps_fail_file(err, PS_IO, s->run->ranks[r].rank->path,
                        "the files of the rank cannot all be looked at, or are too many");
}

/* The state in the file when it was made from `key`; NULL with PS_OK when there is no file. */
static ps_code read_state(const ps_session *s, const char *path, const char *key,
                          ps_rank_state **out, ps_err *err) {
    bool is_there = false;
    *out = ps_rank_state_new(s->seeing, s->n_seeing);
    if (*out == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = read_value(s, path, key, ps_rank_state_archive, *out, &is_there, err);
    if (code != PS_OK || !is_there) {
        ps_rank_state_free(*out);
        *out = NULL;
    }
    return code;
}

static ps_code write_state(const ps_session *s, size_t r, const char *path, const char *key,
                           ps_err *err) {
    ps_rank_state *x = ps_session_lend(s, r);
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = write_value(path, key, ps_rank_state_archive, x, err);
    ps_session_end_lent(x);
    return code;
}

/* --- what a reduce left ---------------------------------------------------------------------------------------------- */

/* The key that a rank's file has after the reduce: of the round, and its place. */
static const char *left_key(const ps_session *s, size_t r, ps_buf *key) {
    ps_buf_init(key, 0);
    ps_buf_add(key, s->round_key.data, s->round_key.len);
    ps_buf_addf(key, "\nrank %zu of %zu\n", r, s->run->n_ranks);
    return ps_buf_ok(key) ? ps_buf_str(key) : "";
}

static const char *run_key(const ps_session *s, ps_buf *key) {
    ps_buf_init(key, 0);
    ps_buf_add(key, s->program_key.data, s->program_key.len);
    ps_run_key_add(s->analyses, s->run->n_analyses, &s->opts->analysis, key);
    return ps_buf_ok(key) ? ps_buf_str(key) : "";
}

/* What the shards need for this round. */
static ps_code leave_all(ps_session *s, ps_err *err) {
    char path[PATH_ROOM];
    ps_buf key;
    ps_code code = ps_shards_make_folder(s, err);
    for (size_t r = 0; code == PS_OK && r < s->run->n_ranks; r++) {
        ps_buf own;
        code = write_state(s, r, rank_path(s, LEFT "-", r, path), left_key(s, r, &own), err);
        ps_buf_fini(&own);
    }
    /* The last one: where it is, all others are. */
    const char *run = run_key(s, &key);
    code = code == PS_OK ? write_value(left_path(s, path), run, ps_session_left_archive, s, err)
                         : code;
    ps_buf_fini(&key);
    return code;
}

/* --- a shard --------------------------------------------------------------------------------------------------------- */

static bool is_own(const ps_session *s, size_t r) {
    return r % s->opts->n_shards == s->opts->shard;
}

static ps_code take_left(ps_session *s, ps_err *err) {
    char path[PATH_ROOM];
    bool is_there = false;
    ps_buf key;
    ps_code code = read_value(s, left_path(s, path), run_key(s, &key), ps_session_left_archive, s,
                              &is_there, err);
    ps_buf_fini(&key);
    if (code == PS_OK && !is_there) { /* it was a moment ago */
        code = ps_fail_file(err, PS_CHANGED, path, "somebody else took it away");
    }
    ps_session_begin_round(s);
    for (size_t r = 0; code == PS_OK && r < s->run->n_ranks; r++) {
        ps_rank_state *state = NULL;
        if (!is_own(s, r)) {
            continue;
        }
        code = read_state(s, rank_path(s, LEFT "-", r, path), left_key(s, r, &key), &state, err);
        if (code == PS_OK && state == NULL) {
            code = ps_fail_file(err, PS_IO, path, "it is missing: reduce again");
        }
        if (code == PS_OK && !ps_session_take(s, r, state)) {
            code = ps_fail_nomem(err);
        }
        ps_rank_state_free(state);
        ps_buf_fini(&key);
    }
    return code;
}

/* Files of all own ranks are there in this round. One that somebody took away is made again, also when the others are further on: who
 * reduces begins with the first round. */
static bool has_own_ranks(const ps_session *s) {
    char path[PATH_ROOM];
    bool all = true;
    for (size_t r = 0; all && r < s->run->n_ranks; r++) {
        all = !is_own(s, r) || ps_is_file(rank_path(s, RANK, r, path));
    }
    return all;
}

ps_code ps_shard_begin(ps_session *s, ps_err *err) {
    char path[PATH_ROOM];
    size_t last = 0; /* round that a reduce has left something for */
    for (size_t k = 1; k < s->n_rounds; k++) {
        s->round = k;
        last = ps_is_file(left_path(s, path)) ? k : last;
    }
    s->round = 0;
    while (s->round < last && has_own_ranks(s)) {
        s->round++;
    }
    last = s->round;
    ps_session_begin_round(s);
    ps_code code = ps_shards_make_folder(s, err);
    return code == PS_OK && last > 0 ? take_left(s, err) : code;
}

typedef struct shard_work {
    ps_session *s;
    int failed; /* `err` is taken */
    ps_err err;
} shard_work;

ps_code ps_shard_map_rank(ps_session *s, size_t r, ps_err *err) {
    char path[PATH_ROOM];
    ps_buf key;
    ps_rank_state *before = NULL;
    const char *made_from = key_of(s, r, &key);
    (void)rank_path(s, RANK, r, path);
    ps_code code = made_from != NULL ? PS_OK : fail_key(s, r, err);
    bool is_there = code == PS_OK && read_state(s, path, made_from, &before, NULL) == PS_OK &&
                    before != NULL && before->status != PS_RANK_FAILED;
    if (is_there) {
        code = ps_session_take(s, r, before) ? PS_OK : ps_fail_nomem(err);
        (void)__atomic_add_fetch(&s->run->n_taken_up, 1, __ATOMIC_RELAXED);
    } else if (code == PS_OK) {
        ps_session_map(s, r, PS_MAPS_WITH_TRACE);
        code = write_state(s, r, path, made_from, err);
    }
    ps_rank_state_free(before);
    ps_buf_fini(&key);
    return code;
}

static void shard_rank(void *context, size_t r) {
    shard_work *w = context;
    ps_err err = PS_ERR_INIT;
    if (is_own(w->s, r) && __atomic_load_n(&w->failed, __ATOMIC_RELAXED) == 0) {
        ps_code code = ps_shard_map_rank(w->s, r, &err);
        ps_session_forget_rank(w->s, r);
        if (code == PS_OK) {
            (void)__atomic_add_fetch(&w->s->run->n_partials, 1, __ATOMIC_RELAXED);
        } else if (__atomic_exchange_n(&w->failed, 1, __ATOMIC_ACQ_REL) == 0) {
            w->err = err;
        }
    }
    ps_session_step(w->s);
}

ps_code ps_shard_map(ps_session *s, ps_err *err) {
    shard_work w = {.s = s, .err = PS_ERR_INIT};
    ps_parallel(s->run->n_ranks, s->opts->n_threads, shard_rank, &w);
    s->run->unfinished_round = s->round + 1;
    if (w.failed != 0 && err != NULL) {
        *err = w.err;
    }
    return w.failed != 0 ? w.err.code : PS_OK;
}

/* --- who reduces ----------------------------------------------------------------------------------------------------- */

/* A file of a rank that the run does not have. */
static ps_code refuse_strangers(const ps_session *s, ps_err *err) {
    char path[PATH_ROOM];
    ps_arena arena;
    const char **names = NULL;
    size_t n = 0;
    ps_code code = PS_OK;
    ps_arena_init(&arena);
    (void)snprintf(path, sizeof path, "%s/%zu", s->opts->partials_dir, s->round + 1);
    if (ps_is_dir(path)) {
        code = ps_list_dir(path, &arena, &names, &n, err);
    }
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        bool is_rank =
            strncmp(names[i], RANK, sizeof RANK - 1) == 0 &&
            strspn(names[i] + sizeof RANK - 1, "0123456789") == strlen(names[i] + sizeof RANK - 1);
        if (is_rank && strtoull(names[i] + sizeof RANK - 1, NULL, 10) >= s->run->n_ranks) {
            code = ps_fail_file(err, PS_UNSUPPORTED, path,
                                "%s is of another capture: this one has %zu ranks", names[i],
                                s->run->n_ranks);
        }
    }
    ps_arena_fini(&arena);
    return code;
}

static void name_missing(const ps_session *s, size_t r, size_t n_missing, ps_buf *text) {
    if (n_missing <= NAMED_MOST) {
        const ps_cluster_rank *rank = s->run->ranks[r].rank;
        ps_buf_addf(text, "%s%lld", n_missing > 1 ? ", " : "",
                    (long long)(rank->rank >= 0 ? rank->rank : (int64_t)r));
    } else if (n_missing == NAMED_MOST + 1) {
        ps_buf_add_str(text, " ...");
    }
}

static ps_code take_rank(ps_session *s, size_t r, bool *is_there, ps_err *err) {
    char path[PATH_ROOM];
    ps_buf key;
    ps_rank_state *x = NULL;
    const char *made_from = key_of(s, r, &key);
    ps_code code = made_from != NULL
                       ? read_state(s, rank_path(s, RANK, r, path), made_from, &x, err)
                       : fail_key(s, r, err);
    *is_there = x != NULL;
    if (code == PS_OK && x != NULL && !ps_session_take(s, r, x)) {
        code = ps_fail_nomem(err);
    }
    ps_rank_state_free(x);
    ps_buf_fini(&key);
    return code;
}

/* *is_there: false when nobody has begun with the round, and none is taken. */
static ps_code take_all(ps_session *s, bool *is_there, ps_err *err) {
    size_t n_missing = 0;
    ps_buf missing;
    ps_buf_init(&missing, 0);
    ps_code code = refuse_strangers(s, err);
    for (size_t r = 0; code == PS_OK && r < s->run->n_ranks; r++) {
        bool has = false;
        code = take_rank(s, r, &has, err);
        n_missing += code == PS_OK && !has;
        if (code == PS_OK && !has) {
            name_missing(s, r, n_missing, &missing);
        }
    }
    *is_there = n_missing < s->run->n_ranks;
    if (code == PS_OK && n_missing > 0 && (*is_there || s->round == 0)) {
        code = ps_fail_file(err, PS_IO, s->opts->partials_dir,
                            "partials of %zu of %zu ranks are missing in round %zu: %s", n_missing,
                            s->run->n_ranks, s->round + 1, ps_buf_str(&missing));
    }
    ps_buf_fini(&missing);
    return code;
}

ps_code ps_shards_map(ps_engine *e, ps_session *s, bool *waits, ps_err *err) {
    (void)e;
    bool is_there = true;
    ps_code code = ps_session_any_needs_trace(s) ? take_all(s, &is_there, err) : PS_OK;
    *waits = code == PS_OK && !is_there;
    if (*waits) {
        s->run->unfinished_round = s->round + 1;
        return leave_all(s, err);
    }
    if (code == PS_OK) {
        ps_session_map_rest(s);
    }
    return code;
}
