/* GET /api/near: the slice beside, above or below one. */
#include <string.h>

#include "base/order.h"
#include "serve/http/route.h"
#include "serve/select/slice_tree.h"

/* The one beside it in its row; PS_NONE. */
static ps_code beside(const ps_loaded *l, uint32_t slice, bool is_next, uint32_t *out,
                      ps_err *err) {
    ps_ref ref = {0};
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    (void)ps_loaded_ref(l, slice, &ref);
    ps_code code = ps_loaded_place(l, slice, &lane, &row, err);
    if (code != PS_OK || lane == PS_NONE) {
        return code;
    }
    uint32_t n = 0;
    const uint32_t *slices = ps_lod_row(ref.layer->lod, lane - ref.layer->first_lane, row, &n);
    /* slices are numbered by start: a row is in order */
    PS_PLACE(uint32_t, low, 0, n, i, slices[i] < ref.slice);
    bool is_there = is_next ? low + 1 < n : low > 0;
    *out = is_there ? ref.layer->first_slice + slices[is_next ? low + 1 : low - 1] : PS_NONE;
    return PS_OK;
}

static ps_code same_in_lane(const ps_loaded *l, uint32_t slice, bool is_next, uint32_t *out,
                            ps_err *err) {
    ps_ref ref = {0};
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    (void)ps_loaded_ref(l, slice, &ref);
    const ps_slices *s = ps_trace_slices(ref.layer->trace);
    ps_code code = ps_loaded_place(l, slice, &lane, &row, err);
    uint32_t step = is_next ? 1 : UINT32_MAX; /* to one below 0, which is past the end */
    for (uint32_t i = ref.slice + step; code == PS_OK && i < s->n; i += step) {
        if (!ps_str_eq(s->name[i], s->name[ref.slice]) || s->track[i] != s->track[ref.slice]) {
            continue;
        }
        uint32_t other = ps_lanes_of(ref.layer->lanes, ref.layer->trace, i);
        if (ref.layer->first_lane + other == lane) {
            *out = ref.layer->first_slice + i;
            return PS_OK;
        }
    }
    return code;
}

static ps_code above(const ps_loaded *l, uint32_t slice, bool unused, uint32_t *out, ps_err *err) {
    (void)unused;
    uint32_t parents[1];
    size_t n = 0;
    ps_code code = ps_slice_parents(l, slice, parents, 1, &n, err);
    *out = code == PS_OK && n > 0 ? parents[0] : PS_NONE;
    return code;
}

static ps_code near_below(const ps_loaded *l, uint32_t slice, bool unused, uint32_t *out,
                          ps_err *err) {
    (void)unused;
    uint32_t children[1];
    size_t n = 0;
    ps_code code = ps_slice_children(l, slice, children, 1, &n, err);
    *out = code == PS_OK && n > 0 ? children[0] : PS_NONE;
    return code;
}

typedef struct direction {
    const char *name;
    ps_code (*find)(const ps_loaded *l, uint32_t slice, bool is_next, uint32_t *out, ps_err *err);
    bool is_next;
} direction;

static const direction *ask_direction(const ps_request *q, ps_reply *r) {
    static const direction ALL[] = {{"next", beside, true},
                                    {"previous", beside, false},
                                    {"next-same", same_in_lane, true},
                                    {"previous-same", same_in_lane, false},
                                    {"parent", above, false},
                                    {"child", near_below, false}};
    const char *to = ps_param_text(q, "to");
    for (size_t i = 0; to != NULL && i < sizeof ALL / sizeof *ALL; i++) {
        if (strcmp(ALL[i].name, to) == 0) {
            return &ALL[i];
        }
    }
    ps_reply_fail(r, 400,
                  "parameter 'to' is next, previous, next-same, previous-same, parent or child");
    return NULL;
}

static void answer_near(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    uint32_t slice = 0;
    const direction *to = ask_direction(q, r);
    if (to != NULL && ps_ask_rank(q, r, &l) && ps_ask_slice(q, r, l, &slice)) {
        ps_err err = PS_ERR_INIT;
        uint32_t found = PS_NONE;
        ps_code code = to->find(l, slice, to->is_next, &found, &err);
        ps_reply_ref(q, r, l, found, code, &err);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_near = {
    .path = "/api/near", .method = "GET", .is_slow = true, .answer = answer_near};
