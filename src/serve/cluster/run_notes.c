#include "serve/cluster/run_notes.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* A note; where it is the last that fits it says that `n_more` follow. */
static bool add_run_note(ps_lang lang, ps_run_notes *notes, size_t n_more, const char *who,
                         const char *what) {
    char text[700];
    if (notes->n >= PS_RUN_NOTES) {
        return true;
    }
    if (notes->n == PS_RUN_NOTES - 1 && n_more > 0) {
        (void)snprintf(text, sizeof text,
                       PS_SAY(lang, "%zu more ranks say the like", "另有 %zu 个 rank 情况类似"),
                       n_more + 1);
    } else {
        (void)snprintf(text, sizeof text, PS_SAY(lang, "%s: %s", "%s：%s"), who, what);
    }
    notes->texts[notes->n] = ps_arena_strndup(&notes->arena, text, strlen(text));
    return notes->texts[notes->n++] != NULL;
}

/* What was lost of the ranks on the way to the tables, a note a kind: else a table without it looks complete. */
static bool add_loss_notes(ps_lang lang, const ps_run *run, ps_run_notes *out) {
    bool ok = true;
    for (int k = 0; ok && k < PS_N_ODDITIES; k++) {
        uint64_t count = 0;
        for (size_t r = 0; ps_oddity_severity((ps_oddity)k) != PS_SEV_INFO && r < run->n_ranks;
             r++) {
            count += run->ranks[r].diag.counts[k];
        }
        if (count > 0) {
            char text[PS_ODDITY_TEXT];
            ps_oddity_text(lang, (ps_oddity)k, count, text, sizeof text);
            ok = add_run_note(lang, out, 0, PS_SAY(lang, "note", "注意"), text);
        }
    }
    return ok;
}

bool ps_run_notes_take(ps_lang lang, const ps_run *run, size_t first, const char *const *names,
                       ps_run_notes *out) {
    bool ok = true;
    size_t n_more = 0;
    *out = (ps_run_notes){.n = 0};
    for (size_t a = first; ok && a < run->n_analyses; a++) {
        ok = run->errors[a].code == PS_OK ||
             add_run_note(lang, out, 0, names[a], ps_err_text(lang, &run->errors[a]));
    }
    for (size_t i = 0; ok && i < run->n_notes; i++) {
        ok = add_run_note(lang, out, 0, PS_SAY(lang, "note", "注意"), run->notes[i]);
    }
    for (size_t r = 0; r < run->n_ranks; r++) {
        n_more += run->ranks[r].status != PS_RANK_DONE ? 1 : 0;
    }
    for (size_t r = 0; ok && r < run->n_ranks; r++) {
        if (run->ranks[r].status != PS_RANK_DONE) {
            char who[48];
            n_more--;
            (void)snprintf(who, sizeof who, "rank %s", PS_RANK(run->ranks[r].rank->rank));
            ok = add_run_note(lang, out, n_more, who, ps_err_text(lang, &run->ranks[r].err));
        }
    }
    return ok && add_loss_notes(lang, run, out);
}

void ps_run_notes_fini(ps_run_notes *n) {
    ps_arena_fini(&n->arena);
}
