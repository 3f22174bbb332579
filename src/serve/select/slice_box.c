#include "serve/select/slice_box.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "serve/select/tile_ask.h"

enum { BLOCK_WORDS = 8, MOST_ROW_RANGES = 4096 };

/* --- boxes --------------------------------------------------------------------------------------------------- */

PS_COMPARE(compare_lanes, ps_box_lane, PS_BY(lane))

static bool read_number(const char **at, char stop, uint32_t *out) {
    char *end = NULL;
    if (**at < '0' || **at > '9') {
        return false;
    }
    unsigned long long value = strtoull(*at, &end, 10);
    if (value >= UINT32_MAX || (stop != '\0' && *end != stop)) {
        return false;
    }
    *at = end + (stop != '\0');
    *out = (uint32_t)value;
    return true;
}

/* "5:0-2,7:1-1" onto the lanes it names, which come by number. */
static bool restrict_rows(ps_slice_box *box, const char *text) {
    for (int n = 0; *text != '\0' && n < MOST_ROW_RANGES; n++) {
        ps_box_lane key;
        if (!read_number(&text, ':', &key.lane) || !read_number(&text, '-', &key.first_row) ||
            !read_number(&text, '\0', &key.last_row) || key.last_row < key.first_row) {
            return false;
        }
        ps_box_lane *found =
            bsearch(&key, box->lanes, box->n_lanes, sizeof *box->lanes, compare_lanes);
        if (found != NULL) {
            *found = key;
        }
        if (*text == ',' && text[1] != '\0') {
            text++;
        } else if (*text != '\0') {
            return false;
        }
    }
    return *text == '\0';
}

bool ps_ask_box(const ps_request *q, ps_reply *r, const ps_loaded *l, ps_slice_box *out) {
    *out = (ps_slice_box){.watch = q->watch};
    uint32_t *lanes = NULL;
    size_t n = 0;
    if (!ps_ask_span(q, r, &out->from_ns, &out->to_ns) ||
        !ps_ask_lanes(q, r, l, &lanes, &n, &out->is_fixed)) {
        return false;
    }
    out->lanes = ps_arena_alloc(&r->arena, n * sizeof *out->lanes);
    if (out->lanes == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out->lanes[i] = (ps_box_lane){lanes[i], 0, UINT32_MAX};
    }
    qsort(out->lanes, n, sizeof *out->lanes, compare_lanes);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || out->lanes[i].lane != out->lanes[i - 1].lane) {
            out->lanes[out->n_lanes++] = out->lanes[i];
        }
    }
    const char *rows = ps_param_text(q, "rows");
    if (rows != NULL && !restrict_rows(out, rows)) {
        ps_reply_fail(r, 400, "parameter 'rows' must be LANE:FIRST-LAST,...");
        return false;
    }
    return true;
}

void ps_slice_box_key(const ps_request *q, const ps_slice_box *box, const char *what, ps_buf *key) {
    const char *rank = ps_param_text(q, "rank");
    ps_buf_add_str(key, what);
    ps_buf_add_json_str(key, rank != NULL ? rank : "", rank != NULL ? strlen(rank) : 0);
    ps_buf_addf(key, " %lld %lld ", (long long)box->from_ns, (long long)box->to_ns);
    for (size_t i = 0; i < box->n_lanes; i++) {
        const ps_box_lane *b = &box->lanes[i];
        ps_buf_addf(key, "%u:%u-%u,", b->lane, b->first_row, b->last_row);
    }
    if (!box->is_fixed) { /* their numbers mean the same as long as the rank stays loaded */
        ps_buf_addf(key, " %llu ", (unsigned long long)ps_store_seq(q->store));
    }
}

static void row_of_box(const ps_layer *layer, const ps_slice_box *box, uint32_t lane, uint32_t row,
                       ps_box_row *out) {
    uint32_t n = 0;
    *out = (ps_box_row){.layer = layer, .order = ps_lod_row(layer->lod, lane, row, &n)};
    ps_lod_row_range(layer->lod, lane, row, box->from_ns, box->to_ns, &out->first, &out->end);
    if (row + 1 < ps_lod_n_rows(layer->lod, lane)) {
        out->below = ps_lod_row(layer->lod, lane, row + 1, &n);
        ps_lod_row_range(layer->lod, lane, row + 1, box->from_ns, box->to_ns, &out->below_first,
                         &out->below_end);
    }
}

ps_code ps_box_walk(const ps_loaded *l, const ps_slice_box *box,
                    ps_code (*each)(void *context, const ps_box_row *row, ps_err *err),
                    void *context, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < box->n_lanes; i++) {
        const ps_box_lane *b = &box->lanes[i];
        const ps_layer *layer = NULL;
        uint32_t lane = 0;
        if (!ps_loaded_lane(l, b->lane, &layer, &lane)) {
            continue;
        }
        code = ps_lod_build(layer->lod, lane, err);
        uint32_t n_rows = code == PS_OK ? ps_lod_n_rows(layer->lod, lane) : 0;
        for (uint32_t row = b->first_row; code == PS_OK && row < n_rows && row <= b->last_row;
             row++) {
            ps_box_row at;
            row_of_box(layer, box, lane, row, &at);
            code = ps_watch_ask(box->watch, err);
            code = code == PS_OK && at.end > at.first ? each(context, &at, err) : code;
        }
    }
    return code;
}

/* --- sets ---------------------------------------------------------------------------------------------------- */

ps_code ps_slice_set_init(ps_slice_set *set, const ps_loaded *l, ps_err *err) {
    *set = (ps_slice_set){0};
    bool ok = true;
    for (int i = 0; ok && i < PS_N_LAYERS; i++) {
        const ps_layer *layer = ps_loaded_layer(l, i);
        set->first_slice[i] = layer->first_slice;
        set->n_words[i] = (size_t)ps_trace_slices(layer->trace)->n / 64 + 1;
        set->bits[i] = ps_calloc(set->n_words[i], sizeof *set->bits[i]);
        ok = set->bits[i] != NULL;
    }
    if (!ok) {
        ps_slice_set_fini(set);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_slice_set_fini(ps_slice_set *set) {
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_free(set->bits[i]);
        ps_free(set->before[i]);
    }
    *set = (ps_slice_set){0};
}

static size_t n_blocks(const ps_slice_set *set, int layer) {
    return (set->n_words[layer] + BLOCK_WORDS - 1) / BLOCK_WORDS;
}

size_t ps_slice_set_bytes(const ps_slice_set *set) {
    size_t bytes = sizeof *set;
    for (int i = 0; i < PS_N_LAYERS; i++) {
        bytes += set->n_words[i] * sizeof *set->bits[i] + n_blocks(set, i) * sizeof *set->before[i];
    }
    return bytes;
}

bool ps_slice_set_add(ps_slice_set *set, int layer, uint32_t slice) {
    uint64_t *word = &set->bits[layer][slice / 64];
    uint64_t bit = UINT64_C(1) << slice % 64;
    bool is_new = (*word & bit) == 0;
    *word |= bit;
    set->n[layer] += is_new;
    return is_new;
}

ps_code ps_slice_set_close(ps_slice_set *set, ps_err *err) {
    for (int i = 0; i < PS_N_LAYERS; i++) {
        set->before[i] = ps_alloc(n_blocks(set, i) * sizeof *set->before[i]);
        if (set->before[i] == NULL) {
            return ps_fail_nomem(err);
        }
        uint32_t n = 0;
        for (size_t w = 0; w < set->n_words[i]; w++) {
            if (w % BLOCK_WORDS == 0) {
                set->before[i][w / BLOCK_WORDS] = n;
            }
            n += (uint32_t)__builtin_popcountll(set->bits[i][w]);
        }
    }
    return PS_OK;
}

size_t ps_slice_set_n(const ps_slice_set *set) {
    size_t n = 0;
    for (int i = 0; i < PS_N_LAYERS; i++) {
        n += set->n[i];
    }
    return n;
}

uint32_t ps_slice_set_at(const ps_slice_set *set, size_t i) {
    int layer = 0;
    while (layer + 1 < PS_N_LAYERS && i >= set->n[layer]) {
        i -= set->n[layer++];
    }
    size_t low = 0; /* the last block with at most i before it */
    size_t high = n_blocks(set, layer);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (set->before[layer][middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    size_t left = i - set->before[layer][low];
    size_t w = low * BLOCK_WORDS;
    for (size_t n; left >= (n = (size_t)__builtin_popcountll(set->bits[layer][w])); w++) {
        left -= n;
    }
    uint64_t word = set->bits[layer][w];
    for (; left > 0; left--) {
        word &= word - 1;
    }
    return set->first_slice[layer] + (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(word);
}

uint32_t ps_slice_set_next(const ps_slice_set *set, int layer, uint32_t slice) {
    size_t w = slice / 64;
    if (w >= set->n_words[layer]) {
        return PS_NONE;
    }
    uint64_t word = set->bits[layer][w] >> slice % 64 << slice % 64;
    while (word == 0) {
        if (++w == set->n_words[layer]) {
            return PS_NONE;
        }
        word = set->bits[layer][w];
    }
    return (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(word);
}
