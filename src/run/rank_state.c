#include "run/rank_state.h"

#include "base/alloc.h"
#include "base/spill.h"

ps_rank_state *ps_rank_state_new(const ps_analysis *const *analyses, size_t n_analyses) {
    ps_rank_state *x = ps_calloc(1, sizeof *x);
    if (x == NULL) {
        return NULL;
    }
    ps_arena_init(&x->arena);
    x->analyses = analyses;
    x->parts = ps_calloc(n_analyses, sizeof *x->parts);
    x->n_analyses = x->parts != NULL ? n_analyses : 0;
    if (x->parts == NULL) {
        ps_rank_state_free(x);
        return NULL;
    }
    return x;
}

void ps_rank_state_free(ps_rank_state *x) {
    if (x == NULL) {
        return;
    }
    for (size_t a = 0; a < x->n_analyses; a++) {
        if (x->parts[a].partial != NULL) {
            x->analyses[a]->free_partial(x->parts[a].partial);
        }
    }
    ps_free(x->parts);
    ps_arena_fini(&x->arena);
    ps_free(x);
}

static void file_id_archive(ps_archive *a, ps_file_id *x) {
    PS_ARCHIVE(a, x, device, inode, size_bytes, mtime_ns);
}

void ps_file_stamp_archive(ps_archive *a, ps_file_stamp *x) {
    PS_ARCHIVE(a, x, change_counter);
    file_id_archive(a, &x->file);
    file_id_archive(a, &x->wal);
}

void ps_rank_state_archive(ps_archive *a, void *state) {
    ps_rank_state *x = state;
    bool before = ps_spill_keep(ps_archive_is_reading(a)); /* until the reduce has all of them */
    (void)ps_archive_use_arena(a, &x->arena);
    PS_ARCHIVE(a, x, key, n_nothing, no_step, has_stamp);
    PS_ARCHIVE_BELOW(a, x, status, PS_RANK_FAILED + 1);
    ps_err_archive(a, &x->err);
    ps_file_stamp_archive(a, &x->stamp);
    ps_diag_archive(a, &x->diag);
    for (size_t i = 0; i < x->n_analyses; i++) {
        ps_state_part *part = &x->parts[i];
        PS_ARCHIVE(a, part, took_part, missing);
        x->analyses[i]->archive(a, &part->partial);
        (void)ps_archive_use_arena(a, &x->arena); /* the partial has its own */
    }
    (void)ps_spill_keep(before);
}
