/* Oddities: one event was odd and we went on. Counted per kind, with the first few places, so that loss is
 * visible and never silent. One ps_diag per rank; they are merged in rank order. Not thread-safe. */
#ifndef PS_BASE_DIAG_H
#define PS_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"

typedef enum ps_severity { PS_SEV_INFO, PS_SEV_LOSS, PS_SEV_ERROR } ps_severity;

typedef enum ps_oddity {
#define X(kind, ...) kind,
#include "base/oddities.def"
#undef X
    PS_N_ODDITIES
} ps_oddity;

#define PS_DIAG_PLACES 3

typedef struct ps_diag {
    uint64_t counts[PS_N_ODDITIES];
    uint64_t repeats[PS_N_ODDITIES]; /* of them, at a place that had been given before */
    char places[PS_N_ODDITIES][PS_DIAG_PLACES][160]; /* "MSTX_EVENTS rowid 17" */
} ps_diag;

/* Counts one; the first few places are kept. */
void ps_diag_add(ps_diag *d, ps_oddity kind, const char *place_fmt, ...) PS_PRINTF(3, 4);

/* Counts n without a place. */
void ps_diag_count(ps_diag *d, ps_oddity kind, uint64_t n);

/* Counts n more at places that ps_diag_add() was given already, so that they are no places that nobody named. */
void ps_diag_repeat(ps_diag *d, ps_oddity kind, uint64_t n);

/* There are more places than the kept ones: a list of them ends in "...". */
bool ps_diag_has_more_places(const ps_diag *d, ps_oddity kind);

/* Adds `from` to `into`; places other than `who` itself get "who: " in front when it is not NULL. */
void ps_diag_merge(ps_diag *into, const ps_diag *from, const char *who);

bool ps_diag_is_empty(const ps_diag *d);

/* What a second look at the same input found: of a kind whose places are the same, or a part of them, the larger count stands.
 * Other kinds are added. */
void ps_diag_merge_look(ps_diag *into, const ps_diag *from);

ps_severity ps_oddity_severity(ps_oddity kind);
/* "info", "loss" or "error", as JSON has it. */
const char *ps_oddity_severity_name(ps_oddity kind);
const char *ps_oddity_name(ps_oddity kind);
enum { PS_ODDITY_TEXT = 512 }; /* bytes that hold the sentence of any oddity */
/* The sentence with the count filled in. */
void ps_oddity_text(ps_lang lang, ps_oddity kind, uint64_t count, char *out, size_t size);
/* Adds the sentence of what was counted, and the first places: "3 rows ...: TASK rowid 7; ...". Places are as files have them, in any
 * language. */
void ps_diag_say(ps_lang lang, const ps_diag *d, ps_oddity kind, ps_buf *out);
uint64_t ps_diag_n_errors(const ps_diag *d);
/* What makes a rank fail under --strict: errors, and files that end in the middle. */
uint64_t ps_diag_n_fatal(const ps_diag *d);

struct ps_archive;
void ps_diag_archive(struct ps_archive *a, void *diag);

#endif
