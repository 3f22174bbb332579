#include "serve/select/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/pattern.h"
#include "serve/rank/lane_memo.h"
#include "write/out/number_text.h"

/* What is known of a text. */
enum { UNKNOWN, IS_OUT, IS_IN };

/* The search in one layer. */
typedef struct pass {
    const ps_loaded *loaded;
    const ps_query *q;
    const ps_layer *layer;
    const ps_slices *s;
    ps_pattern *pattern;
    ps_counted counted; /* of a search for a row; nothing where the layer has no such slices */
    uint8_t *known;     /* [texts of the trace] */
    uint8_t *in_lanes;  /* bit a slice; NULL: all are */
    bool has_numbers;   /* the pattern may be in the text of a number */
    uint32_t *slices;   /* of the layer */
    size_t n, cap;
} pass;

/* --- texts ---------------------------------------------------------------------------------------------------- */

static bool look_at_text(pass *p, ps_str text) {
    const ps_trace *t = p->layer->trace;
    bool is_in = ps_pattern_in(p->pattern, ps_trace_text(t, text), ps_trace_text_len(t, text));
    p->known[text.id] = is_in ? IS_IN : IS_OUT;
    return is_in;
}

static inline bool text_is_in(pass *p, ps_str text) {
    uint8_t known = p->known[text.id];
    return known != UNKNOWN ? known == IS_IN : look_at_text(p, text);
}

static bool number_is_in(pass *p, const ps_arg *arg) {
    char text[PS_NUMBER_TEXT];
    size_t n = 0;
    if (arg->type == PS_ARG_REAL) {
        ps_real_shortest(arg->u.r, text);
        n = strlen(text);
    } else {
        int64_t origin = arg->type == PS_ARG_TIME ? ps_trace_origin_ns(p->layer->trace) : 0;
        n = ps_int_text(arg->u.i + origin, text);
    }
    bool is_in = ps_pattern_in(p->pattern, text, n);
    return is_in;
}

static bool args_are_in(pass *p, uint32_t slice) {
    if (p->s->args[slice] == 0) {
        return false;
    }
    ps_arg_iter iter = ps_trace_args(p->layer->trace, slice);
    for (ps_arg arg; ps_arg_next(&iter, &arg);) {
        bool is_in = false;
        switch (arg.type) {
        case PS_ARG_INT:
        case PS_ARG_TIME:
        case PS_ARG_REAL:
            is_in = p->has_numbers && number_is_in(p, &arg);
            break;
        case PS_ARG_STR:
        case PS_ARG_NUMBER:
        case PS_ARG_JSON:
            is_in = text_is_in(p, arg.u.s);
            break;
        case PS_ARG_BOOL:
        case PS_ARG_NULL:
            break;
        }
        if (is_in) {
            return true;
        }
    }
    return false;
}

/* --- which slices --------------------------------------------------------------------------------------------- */

static ps_code mark_lane(pass *p, uint32_t lane, ps_err *err) {
    ps_lod *lod = p->layer->lod;
    ps_code code = ps_lod_build(lod, lane, err);
    for (uint32_t row = 0; code == PS_OK && row < ps_lod_n_rows(lod, lane); row++) {
        uint32_t n = 0;
        const uint32_t *slices = ps_lod_row(lod, lane, row, &n);
        for (uint32_t i = 0; i < n; i++) {
            p->in_lanes[slices[i] >> 3] |= (uint8_t)(1u << (slices[i] & 7));
        }
    }
    return code;
}

static ps_code mark_search_lanes(pass *p, ps_err *err) {
    if (p->q->n_lanes == 0) {
        return PS_OK;
    }
    p->in_lanes = ps_calloc((size_t)p->s->n / 8 + 1, 1);
    ps_code code = p->in_lanes != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < p->q->n_lanes; i++) {
        const ps_layer *layer = NULL;
        uint32_t lane = PS_NONE;
        if (ps_loaded_lane(p->loaded, p->q->lanes[i], &layer, &lane) && layer == p->layer) {
            code = mark_lane(p, lane, err);
        }
    }
    return code;
}

/* Slices [0, n) begin before the end of the span. */
static uint32_t search_n_before(const ps_slices *s, int64_t to_ns) {
    PS_PLACE(uint32_t, low, 0, s->n, i, s->start_ns[i] < to_ns);
    return low;
}

static bool is_search_wanted(const pass *p, uint32_t slice) {
    if (p->in_lanes != NULL && (p->in_lanes[slice >> 3] >> (slice & 7) & 1) == 0) {
        return false;
    }
    return p->q->from_ns == INT64_MIN ||
           p->s->start_ns[slice] + p->s->dur_ns[slice] > p->q->from_ns ||
           p->s->start_ns[slice] >= p->q->from_ns;
}

static bool is_in_row(const pass *p, uint32_t slice) {
    ps_counted_as as;
    return p->counted.links != NULL && ps_counted_in(&p->counted, slice, *p->q->row, &as) &&
           strcmp(as.name, p->q->text) == 0 && ps_counted_in_step(&p->counted, slice, p->q->step) &&
           (p->q->detail == NULL || strcmp(as.detail, p->q->detail) == 0);
}

static bool search_is_in(pass *p, uint32_t slice) {
    if (p->q->row != NULL) {
        return is_in_row(p, slice);
    }
    return text_is_in(p, p->s->name[slice]) ||
           (p->q->in_args &&
            ((!ps_str_is_none(p->s->category[slice]) && text_is_in(p, p->s->category[slice])) ||
             args_are_in(p, slice)));
}

/* Slices [from, to), where no lanes, span or arguments are asked for: no branch depends on what is found. */
static void find_names(pass *p, uint32_t from, uint32_t to) {
    const ps_str *name = p->s->name;
    uint32_t *out = p->slices;
    size_t n = p->n;
    for (uint32_t i = from; i < to; i++) {
        uint8_t known = p->known[name[i].id];
        if (known == UNKNOWN) {
            (void)look_at_text(p, name[i]);
            known = p->known[name[i].id];
        }
        out[n] = i;
        n += known == IS_IN;
    }
    p->n = n;
}

static void find_others(pass *p, uint32_t from, uint32_t to) {
    enum { LOOK = 256 }; /* arguments may be long, and an expression slow */
    bool is_all = p->in_lanes == NULL && p->q->from_ns == INT64_MIN;
    for (uint32_t i = from; i < to && ps_pattern_ended(p->pattern) == PS_OK; i++) {
        if (i % LOOK == 0 && ps_watch_ask(p->q->watch, NULL) != PS_OK) {
            return;
        }
        if ((is_all || is_search_wanted(p, i)) && search_is_in(p, i)) {
            p->slices[p->n++] = i;
        }
    }
}

/* In pieces, so that what an expression costs is looked at now and then. */
static ps_code find_slices(pass *p, ps_err *err) {
    enum { PIECE = 16384 };
    uint32_t n = p->q->to_ns == INT64_MAX ? p->s->n : search_n_before(p->s, p->q->to_ns);
    bool names_only =
        p->in_lanes == NULL && p->q->from_ns == INT64_MIN && !p->q->in_args && p->q->row == NULL;
    for (uint32_t i = 0; i < n && ps_pattern_ended(p->pattern) == PS_OK; i += PIECE) {
        if (ps_watch_ask(p->q->watch, err) != PS_OK) {
            return PS_BUSY;
        }
        if (!ps_grow(&p->slices, &p->cap, p->n + PIECE, UINT32_MAX, sizeof *p->slices)) {
            return ps_fail_nomem(err);
        }
        uint32_t end = n - i < PIECE ? n : i + PIECE;
        if (names_only) {
            find_names(p, i, end);
        } else {
            find_others(p, i, end);
        }
    }
    switch (ps_pattern_ended(p->pattern)) {
    case PS_OK:
        return ps_watch_ask(p->q->watch, err);
    case PS_NOMEM:
        return ps_fail_nomem(err);
    default:
        return ps_fail_said(
            err, PS_USAGE,
            "this expression takes too long on so many texts; search for less at once, "
            "or without arguments",
            "该表达式在这么多文本上耗时过长；请缩小查找范围，或不查参数");
    }
}

/* What pipescope derives from a profile is in no row. */
static ps_code count_for_row(pass *p, ps_err *err) {
    if (p->q->row == NULL || p->layer != ps_loaded_layer(p->loaded, PS_LAYER_PROFILE)) {
        return PS_OK;
    }
    const ps_links *links = ps_loaded_links(p->loaded, err);
    return links == NULL                         ? PS_NOMEM
           : ps_counted_init(&p->counted, links) ? PS_OK
                                                 : ps_fail_nomem(err);
}

static ps_code search_layer(pass *p, ps_err *err) {
    p->known = ps_calloc(ps_trace_n_texts(p->layer->trace) + 1, 1);
    if (p->known == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = mark_search_lanes(p, err);
    code = code == PS_OK ? count_for_row(p, err) : code;
    return code == PS_OK ? find_slices(p, err) : code;
}

/* --- counts --------------------------------------------------------------------------------------------------- */

/* Both layers by start; of equal starts the profile's first. */
static ps_code join_search(ps_found *f, const pass *a, const pass *b, ps_err *err) {
    f->slices = ps_alloc((a->n + b->n + 1) * sizeof *f->slices);
    if (f->slices == NULL) {
        return ps_fail_nomem(err);
    }
    size_t i = 0;
    size_t k = 0;
    if (b->n == 0) { /* the profile's begin at 0 */
        if (a->n > 0) {
            memcpy(f->slices, a->slices, a->n * sizeof *f->slices);
        }
        f->n = a->n;
        return PS_OK;
    }
    while (i < a->n || k < b->n) {
        bool takes_a =
            k == b->n || (i < a->n && a->s->start_ns[a->slices[i]] <= b->s->start_ns[b->slices[k]]);
        f->slices[f->n++] = takes_a ? a->layer->first_slice + a->slices[i++]
                                    : b->layer->first_slice + b->slices[k++];
    }
    return PS_OK;
}

static void count_layer(uint32_t *counts, const pass *p) {
    ps_lane_memo memo;
    (void)ps_lane_memo_init(&memo, p->layer);
    for (size_t i = 0; i < p->n; i++) {
        uint32_t lane = ps_lane_memo_of(&memo, p->slices[i]);
        if (lane != PS_NONE) {
            counts[p->layer->first_lane + lane]++;
        }
    }
    ps_lane_memo_fini(&memo);
}

static ps_code count_lanes(ps_found *f, const ps_loaded *l, const pass *passes, ps_err *err) {
    uint32_t n_lanes = ps_loaded_n_lanes(l);
    uint32_t *counts = ps_calloc((size_t)n_lanes + 1, sizeof *counts);
    f->lanes = ps_calloc((size_t)n_lanes + 1, sizeof *f->lanes);
    if (counts == NULL || f->lanes == NULL) {
        ps_free(counts);
        return ps_fail_nomem(err);
    }
    for (int i = 0; i < PS_N_LAYERS; i++) {
        count_layer(counts, &passes[i]);
    }
    for (uint32_t lane = 0; lane < n_lanes; lane++) {
        if (counts[lane] > 0) {
            f->lanes[f->n_lanes++] = (ps_found_lane){lane, counts[lane]};
        }
    }
    ps_free(counts);
    return PS_OK;
}

PS_COMPARE(compare_search_names, ps_found_name, PS_BY_DOWN(n) PS_BY_TEXT(text))

/* Names of one layer with their counts; texts still belong to the trace. */
static bool count_names(ps_found *f, const pass *p, size_t *cap) {
    size_t n_texts = ps_trace_n_texts(p->layer->trace);
    uint32_t *counts = ps_calloc(n_texts + 1, sizeof *counts);
    bool ok = counts != NULL;
    for (size_t i = 0; ok && i < p->n; i++) {
        counts[p->s->name[p->slices[i]].id]++;
    }
    for (uint32_t id = 0; ok && id < n_texts; id++) {
        if (counts[id] > 0) {
            ok = ps_grow(&f->names, cap, f->n_names + 1, UINT32_MAX, sizeof *f->names);
            if (ok) {
                ps_str name = {id};
                f->names[f->n_names++] =
                    (ps_found_name){.text = ps_trace_text(p->layer->trace, name),
                                    .n = counts[id],
                                    .tint = ps_loaded_tint(p->layer, name)};
            }
        }
    }
    ps_free(counts);
    return ok;
}

static ps_code list_names(ps_found *f, const pass *passes, ps_err *err) {
    size_t cap = 0;
    bool ok = true;
    for (int i = 0; ok && i < PS_N_LAYERS; i++) {
        ok = passes[i].n == 0 || count_names(f, &passes[i], &cap);
    }
    if (ok && f->n_names > 1) {
        qsort(f->names, f->n_names, sizeof *f->names, compare_search_names);
    }
    f->n_names = f->n_names < PS_SEARCH_MAX_NAMES ? f->n_names : PS_SEARCH_MAX_NAMES;
    for (size_t i = 0; ok && i < f->n_names; i++) {
        f->names[i].text = ps_arena_strndup(&f->arena, f->names[i].text, strlen(f->names[i].text));
        ok = f->names[i].text != NULL;
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static bool may_be_number(const ps_query *q) {
    return (q->how & PS_PATTERN_REGEX) != 0 ||
           strspn(q->text, "0123456789.+-eEinfa") == strlen(q->text);
}

static ps_code search_all(const ps_loaded *l, const ps_query *q, pass passes[PS_N_LAYERS],
                          ps_found *f, ps_err *err) {
    ps_pattern *pattern = ps_pattern_new(q->text, strlen(q->text), q->how, err);
    ps_code code = pattern != NULL ? PS_OK : err->code;
    for (int i = 0; code == PS_OK && i < PS_N_LAYERS; i++) {
        const ps_layer *layer = ps_loaded_layer(l, i);
        passes[i] = (pass){.loaded = l,
                           .q = q,
                           .layer = layer,
                           .s = ps_trace_slices(layer->trace),
                           .pattern = pattern,
                           .has_numbers = may_be_number(q)};
        code = search_layer(&passes[i], err);
    }
    ps_pattern_free(pattern);
    code = code == PS_OK ? join_search(f, &passes[PS_LAYER_PROFILE], &passes[PS_LAYER_DERIVED], err)
                         : code;
    code = code == PS_OK ? count_lanes(f, l, passes, err) : code;
    return code == PS_OK ? list_names(f, passes, err) : code;
}

ps_found *ps_search(const ps_loaded *l, const ps_query *q, ps_err *err) {
    ps_err own = PS_ERR_INIT;
    err = err != NULL ? err : &own;
    ps_found *f = ps_calloc(1, sizeof *f);
    if (f == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    if (q->text[0] == '\0') {
        return f;
    }
    pass passes[PS_N_LAYERS] = {0};
    ps_code code = search_all(l, q, passes, f, err);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_counted_fini(&passes[i].counted);
        ps_free(passes[i].known);
        ps_free(passes[i].in_lanes);
        ps_free(passes[i].slices);
    }
    if (code != PS_OK) {
        ps_found_free(f);
        return NULL;
    }
    return f;
}

void ps_found_free(void *found) {
    ps_found *f = found;
    if (f != NULL) {
        ps_free(f->slices);
        ps_free(f->lanes);
        ps_free(f->names);
        ps_arena_fini(&f->arena);
        ps_free(f);
    }
}

size_t ps_found_bytes(const ps_found *f) {
    return sizeof *f + f->n * sizeof *f->slices + f->n_lanes * sizeof *f->lanes +
           f->n_names * sizeof *f->names + f->arena.size_bytes;
}
