/* GET /api/slice_at: the slice that lasts exactly from one time to another, as an op of the pipeline chart does. */
#include "base/order.h"
#include "serve/http/route.h"

/* What ops are made of comes before what merely takes the same time: an operator inside of its label, for one. */
static bool makes_ops(uint8_t kind) {
    return kind == PS_SLICE_MARK_HOST || kind == PS_SLICE_MARK_DEVICE ||
           kind == PS_SLICE_ANNOTATION || kind == PS_SLICE_COMM_OP || kind == PS_SLICE_JOB;
}

/* Slices are in order of start, the longer first. */
static uint32_t find_slice_at(const ps_slices *s, int64_t start_ns, int64_t end_ns) {
    int64_t dur_ns = end_ns - start_ns;
    PS_PLACE(uint32_t, i, 0, s->n, m,
             s->start_ns[m] < start_ns || (s->start_ns[m] == start_ns && s->dur_ns[m] > dur_ns))
    uint32_t found = PS_NONE;
    for (; i < s->n && s->start_ns[i] == start_ns && s->dur_ns[i] == dur_ns; i++) {
        if (makes_ops(s->kind[i])) {
            return i;
        }
        found = found == PS_NONE ? i : found;
    }
    return found;
}

static void answer_slice_at(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    /* Half of the range: the length is a number, too. */
    if (ps_ask_rank(q, r, &l) &&
        ps_ask_int(q, r, "start", INT64_MIN / 2, INT64_MAX / 2, PS_REQUIRED, &start_ns) &&
        ps_ask_int(q, r, "end", INT64_MIN / 2, INT64_MAX / 2, PS_REQUIRED, &end_ns)) {
        const ps_layer *layer = ps_loaded_layer(l, PS_LAYER_PROFILE);
        uint32_t found = find_slice_at(ps_trace_slices(layer->trace), start_ns, end_ns);
        ps_err err = PS_ERR_INIT;
        ps_reply_ref(q, r, l, found != PS_NONE ? layer->first_slice + found : PS_NONE, PS_OK, &err);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_slice_at = {
    .path = "/api/slice_at", .method = "GET", .is_slow = true, .answer = answer_slice_at};
