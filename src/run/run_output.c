#include "run/run_output.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "run/rank_write.h"

typedef struct output {
    ps_run *run;
    const ps_cluster *cluster;
    const ps_rank_output *outputs;
    const ps_run_opts *opts;
    const char *
        *targets; /* [n_ranks]: database, copy, or folder for files; NULL: nothing to write */
    bool copies;
    bool many_profilers; /* a rank's number alone names no file */
} output;

static bool same_place(const char *a, const char *b) {
    ps_file_id x;
    ps_file_id y;
    return ps_file_identify(a, &x, NULL) == PS_OK && ps_file_identify(b, &y, NULL) == PS_OK &&
           ps_file_same(&x, &y);
}

static char *join3(ps_arena *arena, const char *a, const char *b, const char *c) {
    char *ab = b != NULL ? ps_path_join(arena, a, b) : ps_arena_strndup(arena, a, strlen(a));
    return ab != NULL && c != NULL ? ps_path_join(arena, ab, c) : ab;
}

/* --- where to ------------------------------------------------------------------------------------------------ */

/* The mirrored place of a rank's database; `folder` NULL mirrors straight below -o. */
static const char *copy_target(output *o, const char *folder, const ps_cluster_rank *rank) {
    const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
    ps_arena *arena = &o->run->arena;
    if (folder == NULL) {
        return ps_path_join(arena, base, rank->rel_path);
    }
    const char *top = join3(arena, base, PS_OUTPUT_FOLDER, folder);
    return top != NULL ? ps_path_join(arena, top, rank->rel_path) : NULL;
}

static ps_code choose_targets(output *o, const char *folder, bool in_place, ps_err *err) {
    bool files = o->opts->export_type != PS_EXPORT_DB;
    o->copies = !files && (!in_place || o->opts->out_dir != NULL);
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        const ps_cluster_rank *rank = o->run->ranks[r].rank;
        if (o->outputs[r].n_tables == 0) {
            continue;
        }
        if (files) {
            const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
            o->targets[r] = join3(&o->run->arena, base, PS_OUTPUT_FOLDER, folder);
        } else {
            o->targets[r] = o->copies ? copy_target(o, in_place ? NULL : folder, rank) : rank->path;
        }
        if (o->targets[r] == NULL) {
            return ps_fail_nomem(err);
        }
        if (o->copies && same_place(o->targets[r], rank->path)) { /* -o names the input itself */
            return ps_fail_file(
                err, PS_USAGE, o->targets[r],
                "-o would write the copy onto its original; leave -o out to write in place");
        }
    }
    return PS_OK;
}

/* --- checks before the first byte ------------------------------------------------------------------------ */

/* What of a database may not be written, NULL when all may. */
static const char *locked_part(const char *path, ps_arena *arena) {
    const char *dir = ps_path_dir(arena, path); /* the journal appears there while writing */
    return ps_is_readonly(path) ? path : dir != NULL && ps_is_readonly(dir) ? dir : NULL;
}

/* Analyses count a stale result as removed when they hand over an empty table; here it stays. */
static void keep_stale(ps_rank_report *report) {
    report->diag.counts[PS_ODD_STALE] = 0;
    memset(report->diag.places[PS_ODD_STALE], 0, sizeof report->diag.places[PS_ODD_STALE]);
}

static bool has_results(const output *o, size_t r) {
    bool any = o->run->ranks[r].status == PS_RANK_DONE;
    for (size_t i = 0; i < o->outputs[r].n_tables; i++) {
        any = any || o->outputs[r].tables[i]->n_rows > 0;
    }
    return any;
}

/* A rank that only loses a stale table may stay as it is when it is read-only; one with results may not. */
static ps_code check_writable(output *o, ps_err *err) {
    size_t n_readonly = 0;
    size_t n_targets = 0;
    const char *first = NULL;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        const char *locked =
            o->targets[r] != NULL ? locked_part(o->targets[r], &o->run->arena) : NULL;
        n_targets += o->targets[r] != NULL;
        if (locked == NULL) {
            continue;
        }
        if (!has_results(o, r)) {
            o->targets[r] = NULL;
            keep_stale(&o->run->ranks[r]);
            continue;
        }
        n_readonly++;
        first = first != NULL ? first : locked;
    }
    if (n_readonly > 0) {
        return ps_fail_file(
            err, PS_READONLY, first,
            "read-only, which keeps %zu of %zu database%s from being written: none was changed; write "
            "copies with -o DIR",
            n_readonly, n_targets, n_targets == 1 ? "" : "s");
    }
    return PS_OK;
}

static ps_code check_space(output *o, ps_err *err) {
    uint64_t need = 0;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        ps_file_id id;
        if (o->targets[r] != NULL &&
            ps_file_identify(o->run->ranks[r].rank->path, &id, NULL) == PS_OK) {
            need += (uint64_t)id.size_bytes + (uint64_t)id.size_bytes / 16;
        }
    }
    const char *base = o->opts->out_dir != NULL ? o->opts->out_dir : o->cluster->root;
    ps_code code = ps_make_dirs(base, err);
    uint64_t have = 0;
    code = code == PS_OK ? ps_free_space(base, &have, err) : code;
    if (code == PS_OK && have < need) {
        return ps_fail_file(err, PS_IO, base,
                            "the copies need %llu MB, %llu MB are free: nothing was written",
                            (unsigned long long)(need >> 20) + 1, (unsigned long long)(have >> 20));
    }
    return code;
}

/* --- how it went ----------------------------------------------------------------------------------------------- */

/* The first failure of a rank is the one that is told. */
static void note_output(output *o, const ps_rank_write *w, size_t r) {
    ps_rank_report *report = &o->run->ranks[r];
    if (w->code != PS_OK || o->opts->export_type != PS_EXPORT_DB) {
        keep_stale(report);
    }
    ps_diag_count(&report->diag, PS_ODD_CELL_CUT, w->n_cut);
    if (w->code == PS_OK) {
        report->written = o->targets[r];
    } else if (report->status != PS_RANK_FAILED) {
        report->status = PS_RANK_FAILED;
        report->err = w->err;
    }
}

/* Each by who holds the rank. */
static ps_code write_ranks(output *o, ps_err *err) {
    size_t n = o->run->n_ranks;
    ps_engine *engine = o->opts->engine;
    ps_rank_write *writes = ps_calloc(n + 1, sizeof *writes);
    for (size_t r = 0; writes != NULL && r < n; r++) {
        const ps_rank_output *out = &o->outputs[r];
        writes[r] = (ps_rank_write){.rank = o->run->ranks[r].rank,
                                    .target = o->targets[r],
                                    .tables = (ps_table **)(uintptr_t)out->tables,
                                    .n_tables = out->n_tables,
                                    .stamp = out->stamp,
                                    .has_stamp = out->has_stamp,
                                    .is_copy = o->copies,
                                    .many_profilers = o->many_profilers,
                                    .export_type = o->opts->export_type,
                                    .err = PS_ERR_INIT};
    }
    ps_code code = writes != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK && engine != NULL && engine->write_ranks != NULL) {
        code = engine->write_ranks(engine, o->run, writes, o->opts->n_threads, err);
    } else if (code == PS_OK) {
        ps_rank_writes_do(writes, n, o->opts->n_threads);
    }
    for (size_t r = 0; code == PS_OK && r < n; r++) {
        if (o->targets[r] != NULL) {
            note_output(o, &writes[r], r);
        }
    }
    ps_free(writes);
    return code;
}

/* `any`: there is something to write. The caller frees o->targets, also after a failure. */
static ps_code prepare_rank_output(output *o, const char *folder, bool in_place, bool *any,
                                   ps_err *err) {
    const ps_run *run = o->run;
    *any = false;
    o->targets = ps_calloc(run->n_ranks, sizeof *o->targets);
    ps_code code =
        o->targets != NULL ? choose_targets(o, folder, in_place, err) : ps_fail_nomem(err);
    for (size_t r = 0; code == PS_OK && r < run->n_ranks; r++) {
        *any = *any || o->targets[r] != NULL;
        o->many_profilers =
            o->many_profilers || run->ranks[r].rank->profiler != run->ranks[0].rank->profiler;
    }
    if (code == PS_OK && *any && o->opts->export_type == PS_EXPORT_DB) {
        code = o->copies ? check_space(o, err) : check_writable(o, err);
    }
    return code;
}

ps_code ps_check_rank_outputs(ps_run *run, const ps_cluster *cluster, const ps_rank_output *outputs,
                              const char *folder, bool in_place, const ps_run_opts *opts,
                              ps_err *err) {
    output o = {.run = run, .cluster = cluster, .outputs = outputs, .opts = opts};
    bool any = false;
    ps_code code = prepare_rank_output(&o, folder, in_place, &any, err);
    ps_free(o.targets);
    return code;
}

ps_code ps_write_rank_outputs(ps_run *run, const ps_cluster *cluster, const ps_rank_output *outputs,
                              const char *folder, bool in_place, const ps_run_opts *opts,
                              ps_err *err) {
    output o = {.run = run, .cluster = cluster, .outputs = outputs, .opts = opts};
    bool any = false;
    ps_code code = prepare_rank_output(&o, folder, in_place, &any, err);
    code = code == PS_OK && any ? write_ranks(&o, err) : code;
    ps_free(o.targets);
    return code;
}
