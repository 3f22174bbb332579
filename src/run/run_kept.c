/* What the maps of a round made of a rank, as a value: taken out of a session and put into one, and kept in a cache. */
#include <string.h>

#include "base/alloc.h"
#include "run/rank_files.h"
#include "run/run_key.h"
#include "run/run_session.h"

/* What the maps that see a trace in this round made of the rank, lent: the partials are the session's. NULL when memory is out. */
ps_rank_state *ps_session_lend(const ps_session *s, size_t r) {
    const ps_rank_report *report = &s->run->ranks[r];
    ps_rank_state *x = ps_rank_state_new(s->seeing, s->n_seeing);
    if (x == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < s->n_seeing; i++) {
        size_t a = s->seeing_at[i];
        x->parts[i] = (ps_state_part){s->partials[a][r], s->took_part[a][r], report->missing[a]};
    }
    x->status = report->status;
    x->err = report->err;
    x->n_nothing = report->n_nothing;
    memcpy(x->no_step, report->no_step, sizeof x->no_step);
    x->stamp = s->outputs[r].stamp;
    x->has_stamp = s->outputs[r].has_stamp;
    x->diag = report->diag;
    return x;
}

void ps_session_end_lent(ps_rank_state *x) {
    for (size_t i = 0; x != NULL && i < x->n_analyses; i++) {
        x->parts[i].partial = NULL;
    }
    ps_rank_state_free(x);
}

/* The texts of what is missing, as the report owns them. False when memory is out. */
static bool copy_missing(const ps_rank_state *x, char **out) {
    bool ok = true;
    for (size_t i = 0; ok && i < x->n_analyses; i++) {
        const char *text = x->parts[i].missing;
        out[i] = text != NULL ? ps_strdup(text) : NULL;
        ok = text == NULL || out[i] != NULL;
    }
    return ok;
}

/* The state becomes the rank's; false, and nothing has changed, when memory is out. */
/* Another machine, or this one after it began anew, gives the same file system another number. That the file is the one that was read, its
 * key has told. */
static void take_devices(const ps_cluster_rank *rank, ps_file_stamp *stamp) {
    ps_file_id now;
    if (ps_file_identify(rank->path, &now, NULL) == PS_OK) {
        stamp->file.device = now.device;
        stamp->wal.device = stamp->wal.inode != 0 ? now.device : 0;
    }
}

bool ps_session_take(ps_session *s, size_t r, ps_rank_state *x) {
    ps_rank_report *report = &s->run->ranks[r];
    char **missing = ps_calloc(s->n_seeing, sizeof *missing);
    bool ok = missing != NULL && copy_missing(x, missing);
    for (size_t i = 0; missing != NULL && i < s->n_seeing; i++) {
        size_t a = s->seeing_at[i];
        ps_free(ok ? report->missing[a] : missing[i]);
        if (ok) {
            report->missing[a] = missing[i];
            s->replaced[a][r * s->n_rounds + s->round] = s->partials[a][r];
            s->partials[a][r] = x->parts[i].partial;
            s->took_part[a][r] = x->parts[i].took_part;
            x->parts[i].partial = NULL;
        }
    }
    ps_free(missing);
    if (ok) {
        report->status = x->status;
        report->err = x->err;
        report->n_nothing = x->n_nothing;
        memcpy(report->no_step, x->no_step, sizeof report->no_step);
        s->outputs[r].stamp = x->stamp;
        s->outputs[r].has_stamp = x->has_stamp;
        take_devices(report->rank, &s->outputs[r].stamp);
        report->diag = x->diag;
    }
    return ok;
}

/* Written and read: what is read lies in as few blocks as can be, and those in the file. Later rounds go on with partials that others may
 * point into. Where memory is out, all stays as it is. */
void ps_session_spill_rank(ps_session *s, size_t r) {
    ps_buf bytes = {0};
    ps_rank_state *lent = ps_session_lend(s, r);
    ps_rank_state *x = ps_rank_state_new(s->seeing, s->n_seeing);
    bool ok = lent != NULL && x != NULL &&
              ps_archive_write(ps_rank_state_archive, lent, &bytes, NULL) == PS_OK &&
              ps_archive_read(ps_rank_state_archive, x, bytes.data, bytes.len, NULL) == PS_OK;
    for (size_t i = 0; ok && i < s->n_seeing; i++) {
        void **partial = &s->partials[s->seeing_at[i]][r];
        s->seeing[i]->free_partial(*partial);
        *partial = x->parts[i].partial;
        x->parts[i].partial = NULL;
    }
    ps_rank_state_free(x);
    ps_session_end_lent(lent);
    ps_buf_fini(&bytes);
}

/* Of this round. */
static void find_seeing(ps_session *s) {
    s->n_seeing = 0;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        if (ps_session_needs(s, a) != 0) {
            s->seeing_at[s->n_seeing] = a;
            s->seeing[s->n_seeing++] = s->analyses[a];
        }
    }
}

/* What the maps of this round depend on in all ranks: the program, the options, what the last reduce left. Empty: nothing is kept. */
static void find_round_key(ps_session *s) {
    ps_buf *key = &s->round_key;
    ps_buf shared;
    ps_buf_init(&shared, 0);
    ps_buf_clear(key);
    ps_buf_add(key, s->program_key.data, s->program_key.len);
    ps_run_key_add(s->analyses, s->run->n_analyses, &s->opts->analysis, key);
    ps_buf_addf(key, "round %zu needs %x%s\n", s->round, s->needs,
                s->opts->baseline_path != NULL ? ", beside a baseline" : "");
    bool ok = true;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        bool is_seen = ok && s->shared[a] != NULL && ps_session_needs(s, a) != 0;
        ok = !is_seen || ps_archive_write_value(s->analyses[a]->archive_shared, s->shared[a],
                                                &shared, NULL) == PS_OK;
    }
    ps_hash_key_add(ps_buf_str(&shared), shared.len, key);
    if (!ok || !ps_buf_ok(key)) {
        ps_buf_clear(key);
    }
    ps_buf_fini(&shared);
}

/* The same of one rank: its place in the job, its files, what there is of it from the last round. False: nothing is kept. */
bool ps_session_rank_key(const ps_session *s, size_t r, const char *files, ps_buf *key) {
    const ps_cluster_rank *rank = s->run->ranks[r].rank;
    const ps_rank_info *info = &s->infos[r];
    ps_buf state;
    ps_buf_init(&state, 0);
    ps_buf_add(key, s->round_key.data, s->round_key.len);
    ps_buf_addf(key, "\n%s %lld %lld %d %d %s %s\n", rank->reader != NULL ? rank->reader->name : "",
                (long long)rank->part, (long long)info->rank, info->machine, info->names_ops,
                info->profiler, info->dir != NULL ? info->dir : "");
    const char *rank_from = s->cluster->rank_from_text;
    ps_buf_addf(key, "%s\n", rank_from != NULL ? rank_from : "");
    ps_buf_add_str(key, files);
    ps_rank_state *before = s->round > 0 ? ps_session_lend(s, r) : NULL;
    bool ok =
        s->round_key.len > 0 && (s->round == 0 || before != NULL) &&
        (before == NULL || ps_archive_write(ps_rank_state_archive, before, &state, NULL) == PS_OK);
    ps_hash_key_add(ps_buf_str(&state), state.len, key);
    ps_session_end_lent(before);
    ps_buf_fini(&state);
    return ok && ps_buf_ok(key);
}

void ps_session_left_archive(ps_archive *a, void *session) {
    ps_session *s = session;
    for (size_t i = 0; i < s->n_seeing; i++) {
        size_t analysis = s->seeing_at[i];
        if (s->analyses[analysis]->archive_shared != NULL) {
            s->analyses[analysis]->archive_shared(a, &s->shared[analysis]);
        }
    }
}

static bool take_cached(ps_session *s, size_t r, const char *key) {
    bool damaged = false;
    ps_rank_state *x = ps_run_cache_get(s->cache, key, s->seeing, s->n_seeing, &damaged);
    bool ok = x != NULL && ps_session_take(s, r, x);
    ps_rank_state_free(x);
    size_t *count = ok ? &s->run->n_cached : damaged ? &s->run->n_cache_damaged : NULL;
    if (count != NULL) {
        (void)__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    }
    return ok;
}

/* What went wrong may go better the next time, and what changed meanwhile is neither the old rank nor the new one. */
static void keep_in_cache(ps_session *s, size_t r, const char *key) {
    const ps_rank_report *report = &s->run->ranks[r];
    ps_err err = PS_ERR_INIT;
    ps_rank_state *x = report->status != PS_RANK_FAILED ? ps_session_lend(s, r) : NULL;
    if (x != NULL && ps_run_cache_put(s->cache, key, x, &err) != PS_OK &&
        __atomic_exchange_n(&s->cache_failed, 1, __ATOMIC_RELAXED) == 0) {
        s->run->cache_err = err;
    }
    ps_session_end_lent(x);
}

/* A rank of which something has to be read: its files are looked at before and after it. */
bool ps_session_map_cached(ps_session *s, size_t r, ps_diag *look) {
    const ps_cluster_rank *rank = s->run->ranks[r].rank;
    ps_buf files;
    ps_buf after;
    ps_buf key;
    ps_buf_init(&files, 0);
    ps_buf_init(&after, 0);
    ps_buf_init(&key, 0);
    bool has_key =
        ps_rank_files_add(rank, &files) && ps_session_rank_key(s, r, ps_buf_str(&files), &key);
    bool is_whole = has_key && take_cached(s, r, ps_buf_str(&key));
    if (!is_whole) {
        is_whole = ps_session_read_and_map(s, r, look);
        if (has_key && is_whole && ps_rank_files_add(rank, &after) &&
            strcmp(ps_buf_str(&files), ps_buf_str(&after)) == 0) {
            keep_in_cache(s, r, ps_buf_str(&key));
        }
    }
    ps_buf_fini(&files);
    ps_buf_fini(&after);
    ps_buf_fini(&key);
    return is_whole;
}

static uint32_t round_needs(const ps_session *s) {
    uint32_t needs = 0;
    for (size_t a = 0; a < s->run->n_analyses; a++) {
        needs |= ps_session_needs(s, a);
    }
    /* The host side of operators only matters to a step filter, labels of an earlier run only to a chart. */
    needs = s->opts->analysis.step_id < 0 ? needs & ~(uint32_t)PS_NEED_COMM_HOST : needs;
    return s->opts->analysis.in_full ? needs : needs & ~(uint32_t)PS_NEED_LABELS;
}

void ps_session_begin_round(ps_session *s) {
    s->needs = round_needs(s);
    find_seeing(s);
    if (s->program_key.len > 0) {
        find_round_key(s);
    }
}
