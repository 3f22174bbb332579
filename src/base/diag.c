#include "base/diag.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    ps_severity severity;
    const char *name;
} KINDS[] = {
#define X(kind, severity, name, ...) {severity, name},
#include "base/oddities.def"
#undef X
};

static char *free_place(ps_diag *d, ps_oddity kind) {
    for (int i = 0; i < PS_DIAG_PLACES; i++) {
        if (d->places[kind][i][0] == '\0') {
            return d->places[kind][i];
        }
    }
    return NULL;
}

/* A place that stands there already says nothing new. */
static void drop_if_known(ps_diag *d, ps_oddity kind, char *place) {
    for (int i = 0; d->places[kind][i] != place; i++) {
        if (strcmp(d->places[kind][i], place) == 0) {
            place[0] = '\0';
            return;
        }
    }
}

void ps_diag_add(ps_diag *d, ps_oddity kind, const char *place_fmt, ...) {
    d->counts[kind]++;
    char *place = free_place(d, kind);
    if (place != NULL) {
        va_list ap;
        va_start(ap, place_fmt);
        (void)vsnprintf(place, sizeof d->places[0][0], place_fmt, ap);
        va_end(ap);
        ps_utf8_drop_pieces(place);
        drop_if_known(d, kind, place);
    }
}

void ps_diag_count(ps_diag *d, ps_oddity kind, uint64_t n) {
    d->counts[kind] += n;
}

void ps_diag_repeat(ps_diag *d, ps_oddity kind, uint64_t n) {
    d->counts[kind] += n;
    d->repeats[kind] += n;
}

bool ps_diag_has_more_places(const ps_diag *d, ps_oddity kind) {
    return d->places[kind][0][0] != '\0' && d->counts[kind] - d->repeats[kind] > PS_DIAG_PLACES;
}

bool ps_diag_is_empty(const ps_diag *d) {
    uint64_t all = 0;
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        all |= d->counts[k];
    }
    return all == 0;
}

static void merge_kind(ps_diag *into, const ps_diag *from, int k, const char *who) {
    into->counts[k] += from->counts[k];
    into->repeats[k] += from->repeats[k];
    for (int i = 0; i < PS_DIAG_PLACES && from->places[k][i][0] != '\0'; i++) {
        char *place = free_place(into, (ps_oddity)k);
        if (place == NULL) {
            break;
        }
        /* What is odd about the rank as a whole names the rank itself. */
        const char *prefix = who != NULL && strcmp(who, from->places[k][i]) != 0 ? who : "";
        (void)snprintf(place, sizeof into->places[0][0], "%s%s%s", prefix,
                       prefix[0] != '\0' ? ": " : "", from->places[k][i]);
        ps_utf8_drop_pieces(place);
        drop_if_known(into, (ps_oddity)k, place);
    }
}

void ps_diag_merge(ps_diag *into, const ps_diag *from, const char *who) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        merge_kind(into, from, k, who);
    }
}

/* Whether `b` holds all places of `a`. */
static bool are_places_in(const ps_diag *a, const ps_diag *b, int k) {
    bool all = true;
    for (int i = 0; i < PS_DIAG_PLACES && a->places[k][i][0] != '\0'; i++) {
        bool found = false;
        for (int j = 0; j < PS_DIAG_PLACES; j++) {
            found = found || strcmp(a->places[k][i], b->places[k][j]) == 0;
        }
        all = all && found;
    }
    return all;
}

void ps_diag_merge_look(ps_diag *into, const ps_diag *from) {
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        uint64_t count = into->counts[k];
        uint64_t repeats = into->repeats[k];
        bool are_named = into->places[k][0][0] != '\0';
        bool is_same = count > 0 && from->counts[k] > 0 &&
                       are_named == (from->places[k][0][0] != '\0') &&
                       (are_places_in(from, into, k) || are_places_in(into, from, k));
        merge_kind(into, from, k, NULL);
        if (is_same) {
            bool is_more = from->counts[k] > count;
            into->counts[k] = is_more ? from->counts[k] : count;
            into->repeats[k] = is_more ? from->repeats[k] : repeats;
        }
    }
}

ps_severity ps_oddity_severity(ps_oddity kind) {
    return KINDS[kind].severity;
}

const char *ps_oddity_severity_name(ps_oddity kind) {
    static const char *const NAMES[] = {
        [PS_SEV_INFO] = "info", [PS_SEV_LOSS] = "loss", [PS_SEV_ERROR] = "error"};
    return NAMES[ps_oddity_severity(kind)];
}

const char *ps_oddity_name(ps_oddity kind) {
    return KINDS[kind].name;
}

/* With both sides of each {many|one}; the compiler holds the formats against the count. */
static void fill_oddity(ps_lang lang, ps_oddity kind, unsigned long long count, char *out,
                        size_t size) {
    out[0] = '\0';
    switch (kind) {
#define X(of, severity, name, english, chinese)                                                    \
    case of:                                                                                       \
        (void)snprintf(out, size, PS_SAY(lang, english, chinese), count);                          \
        break;
#include "base/oddities.def"
#undef X
    case PS_N_ODDITIES:
        break;
    }
}

/* "{rows have|row has}": the left side for any count but one. */
void ps_oddity_text(ps_lang lang, ps_oddity kind, uint64_t count, char *out, size_t size) {
    char text[PS_ODDITY_TEXT];
    size_t n = 0;
    bool skips = false;
    fill_oddity(lang, kind, count, text, sizeof text);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '{' || *p == '|' || *p == '}') {
            skips = (*p == '{' && count == 1) || (*p == '|' && count != 1);
        } else if (!skips && n + 1 < size) {
            out[n++] = *p;
        }
    }
    out[n] = '\0';
}

void ps_diag_say(ps_lang lang, const ps_diag *d, ps_oddity kind, ps_buf *out) {
    char text[PS_ODDITY_TEXT];
    const char *between = PS_SAY(lang, ": ", "：");
    ps_oddity_text(lang, kind, d->counts[kind], text, sizeof text);
    ps_buf_add_str(out, text);
    for (int i = 0; i < PS_DIAG_PLACES && d->places[kind][i][0] != '\0'; i++) {
        ps_buf_addf(out, "%s%s", between, d->places[kind][i]);
        between = PS_SAY(lang, "; ", "；");
    }
    if (ps_diag_has_more_places(d, kind)) {
        ps_buf_addf(out, "%s...", between);
    }
}

uint64_t ps_diag_n_errors(const ps_diag *d) {
    uint64_t n = 0;
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        n += KINDS[k].severity == PS_SEV_ERROR ? d->counts[k] : 0;
    }
    return n;
}

uint64_t ps_diag_n_fatal(const ps_diag *d) {
    return ps_diag_n_errors(d) + d->counts[PS_ODD_TRUNCATED];
}
