/* GET /api/slice: everything that is known of one slice. */
#include <string.h>

#include "analyze/rank/step_index.h"
#include "model/host_comm.h"
#include "serve/http/route.h"
#include "serve/rank/flows.h"
#include "serve/rank/loaded_lanes.h"
#include "serve/routes/put_args.h"
#include "serve/select/slice_tree.h"

#define MAX_LINKS 500 /* of each direction */
#define MAX_CHILDREN 50

typedef struct detail {
    const ps_request *q;
    ps_reply *r;
    ps_json j;
    const char *key;
    const ps_loaded *l;
    const ps_layer *layer;
    const ps_slices *s;
    uint32_t number, slice; /* of the rank, of the layer */
    const ps_links *links;  /* NULL: of the derived layer */
    uint32_t parents[PS_SLICE_MAX_PARENTS];
    size_t n_parents;
} detail;

static ps_code put_ref(detail *d, uint32_t slice, ps_err *err) {
    return ps_put_ref(&d->j, d->key, d->l, d->layer->first_slice + slice, err);
}

/* --- where ---------------------------------------------------------------------------------------------------- */

/* The groups above a lane from the outside in, as the tree shows them: what is derived stands in groups of the profile. */
static ps_code put_groups(detail *d, const ps_lane_node *node, ps_err *err) {
    const ps_shown_lanes *shown = ps_loaded_shown_lanes(d->l, err);
    if (shown == NULL) {
        return PS_NOMEM;
    }
    uint32_t at = PS_NONE;
    for (uint32_t i = 0; node != NULL && i < shown->n; i++) {
        at = shown->at[i].node == node ? i : at;
    }
    uint32_t above[16];
    size_t n = 0;
    while (at != PS_NONE && shown->at[at].parent != PS_NONE && n < sizeof above / sizeof *above) {
        at = shown->at[at].parent;
        above[n++] = at;
    }
    ps_buf path = {0};
    while (n > 0) {
        ps_buf_add_str(&path, path.len > 0 ? " / " : "");
        ps_buf_add_str(&path, shown->at[above[--n]].node->name);
    }
    ps_json_key(&d->j, "process");
    ps_json_text(&d->j, &path);
    ps_buf_fini(&path);
    return PS_OK;
}

/* The lane's name, and where it stands. */
static ps_code put_slice_place(detail *d, ps_err *err) {
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    ps_code code = ps_loaded_place(d->l, d->number, &lane, &row, err);
    if (code != PS_OK) {
        return code;
    }
    const ps_lanes *lanes = d->layer->lanes;
    uint32_t node = PS_NONE;
    if (lane != PS_NONE && lane - d->layer->first_lane < lanes->n_lanes) {
        node = lanes->node_of_lane[lane - d->layer->first_lane];
    }
    ps_json_key_str(&d->j, "track", node != PS_NONE ? lanes->nodes[node].name : "");
    return put_groups(d, node != PS_NONE ? &lanes->nodes[node] : NULL, err);
}

/* "file:row", the file below the path that is served. */
static void put_source(detail *d) {
    size_t i = ps_store_find(d->q->store, d->key, strlen(d->key));
    const ps_rank_entry *entry = i != SIZE_MAX ? ps_store_rank(d->q->store, i) : NULL;
    const char *file = "";
    if (d->layer != ps_loaded_layer(d->l, PS_LAYER_PROFILE)) {
        ps_json_key_str(&d->j, "source", "pipescope");
        return;
    }
    if (entry != NULL && entry->rank != NULL) {
        file = entry->rank->rel_path != NULL ? entry->rank->rel_path : "";
    }
    ps_buf text = {0};
    ps_buf_addf(&text, "%s:%lld", file, (long long)d->s->source_row[d->slice]);
    ps_json_key(&d->j, "source");
    ps_json_text(&d->j, &text);
    ps_buf_fini(&text);
}

static void put_slice_step(detail *d) {
    ps_json_key(&d->j, "step");
    size_t n_steps = 0;
    (void)ps_trace_steps(d->layer->trace, &n_steps);
    int64_t step = PS_STEP_OUTSIDE;
    if (n_steps > 0 && d->links != NULL) {
        int64_t start = d->s->start_ns[d->slice];
        step = ps_is_launched(d->s->kind[d->slice]) ? ps_links_step(d->links, d->slice)
                                                    : ps_step_of(&d->links->steps, start, start);
    }
    if (step == PS_STEP_OUTSIDE) {
        ps_json_null(&d->j);
    } else {
        ps_json_int_exact(&d->j, step);
    }
}

static ps_code put_times(detail *d, ps_err *err) {
    int64_t self = 0;
    ps_code code = ps_slice_self_ns(d->l, d->number, &self, err);
    if (code != PS_OK) {
        return code;
    }
    int64_t start = d->s->start_ns[d->slice];
    ps_json_key(&d->j, "origin_ns");
    ps_json_int_text(&d->j, ps_trace_origin_ns(d->layer->trace));
    ps_json_key(&d->j, "end");
    ps_json_int_exact(&d->j, start + d->s->dur_ns[d->slice]);
    ps_json_key(&d->j, "self_ns");
    ps_json_int_exact(&d->j, self);
    put_slice_step(d);
    return PS_OK;
}

/* --- the call stack ------------------------------------------------------------------------------------------- */

/* Python frames around a slice of a host thread, the innermost first; of what autograd's threads run those of the thread that
 * waits for them, too. */
static size_t put_python_frames(detail *d, uint32_t slice) {
    size_t n = 0;
    bool is_thread =
        ps_links_enclosing(d->links, slice) != PS_NONE || d->s->kind[slice] == PS_SLICE_PYTHON;
    for (uint32_t i = is_thread ? slice : PS_NONE; i != PS_NONE;
         i = ps_links_enclosing(d->links, i)) {
        if (d->s->kind[i] == PS_SLICE_PYTHON) {
            ps_str name = d->s->name[i];
            if (n++ == 0) {
                ps_json_array(&d->j);
            }
            ps_json_str_n(&d->j, ps_trace_text(d->layer->trace, name),
                          ps_trace_text_len(d->layer->trace, name));
        }
    }
    if (n > 0) {
        ps_json_close(&d->j);
    }
    return n;
}

/* Of the slice itself, else of what launched it, else of what is around those. */
static void put_stack(detail *d) {
    ps_json_key(&d->j, "stack");
    uint32_t of[3] = {d->slice, PS_NONE, PS_NONE};
    if (d->links != NULL) {
        of[1] = d->links->op[d->slice];
        of[2] = d->links->call[d->slice];
    }
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t k = of[i]; k != PS_NONE;
             k = d->links != NULL ? ps_links_enclosing(d->links, k) : PS_NONE) {
            if (ps_put_stack_arg(&d->j, d->layer->trace, k) > 0) {
                return;
            }
        }
        if (of[i] != PS_NONE && d->links != NULL && put_python_frames(d, of[i]) > 0) {
            return;
        }
    }
    ps_json_array(&d->j);
    ps_json_close(&d->j);
}

/* --- links ---------------------------------------------------------------------------------------------------- */

static ps_code put_link(detail *d, const char *kind, const char *direction, uint32_t slice,
                        ps_err *err) {
    ps_json_object(&d->j);
    ps_json_key_str(&d->j, "kind", kind);
    ps_json_key_str(&d->j, "direction", direction);
    ps_json_key(&d->j, "ref");
    ps_code code = put_ref(d, slice, err);
    ps_json_close(&d->j);
    return code;
}

/* Whether a flow leads from `from` to the slice. */
static bool has_flow(const ps_flow_index *x, uint32_t first, uint32_t end, uint32_t from) {
    for (uint32_t i = first; i < end; i++) {
        if (x->flows[x->by_to[i]].from == from) {
            return true;
        }
    }
    return false;
}

static ps_code put_links_in(detail *d, const ps_flow_index *x, size_t *n_left_out, ps_err *err) {
    uint32_t first = 0;
    uint32_t end = 0;
    ps_code code = PS_OK;
    ps_flows_to(x, d->slice, &first, &end);
    for (uint32_t i = first; code == PS_OK && i < end; i++) {
        const ps_flow *flow = &x->flows[x->by_to[i]];
        if (i - first >= MAX_LINKS) {
            *n_left_out += end - i;
            break;
        }
        code = put_link(d, ps_flow_kind_name(x->trace, flow->kind), "from", flow->from, err);
    }
    uint32_t op = d->links->op[d->slice];
    if (code == PS_OK && op != PS_NONE && !has_flow(x, first, end, op)) {
        code = put_link(d, "operator", "from", op, err);
    }
    return code;
}

static ps_code put_links_out(detail *d, const ps_flow_index *x, size_t *n_left_out, ps_err *err) {
    uint32_t first = 0;
    uint32_t end = 0;
    ps_code code = PS_OK;
    ps_flows_from(x, d->slice, &first, &end);
    for (uint32_t row = first; code == PS_OK && row < end; row++) {
        const ps_flow *flow = &x->flows[row];
        if (row - first >= MAX_LINKS) {
            *n_left_out += end - row;
            break;
        }
        code = put_link(d, ps_flow_kind_name(x->trace, flow->kind), "to", flow->to, err);
    }
    return code;
}

static ps_code put_links(detail *d, ps_err *err) {
    size_t n_left_out = 0;
    ps_code code = PS_OK;
    ps_json_key_array(&d->j, "links");
    if (d->links != NULL) {
        const ps_flow_index *x = ps_loaded_flows(d->l, err);
        code = x != NULL ? put_links_in(d, x, &n_left_out, err) : ps_fail_nomem(err);
        code = code == PS_OK ? put_links_out(d, x, &n_left_out, err) : code;
    }
    ps_json_close(&d->j);
    ps_json_key_uint(&d->j, "links_left_out", n_left_out);
    return code;
}

/* --- above and below ------------------------------------------------------------------------------------------ */

static ps_code put_refs(detail *d, const uint32_t *slices, size_t n, ps_err *err) {
    ps_code code = PS_OK;
    ps_json_array(&d->j);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = ps_put_ref(&d->j, d->key, d->l, slices[i], err);
    }
    ps_json_close(&d->j);
    return code;
}

static ps_code put_around(detail *d, ps_err *err) {
    uint32_t children[MAX_CHILDREN];
    size_t n_children = 0;
    ps_code code =
        ps_slice_parents(d->l, d->number, d->parents, PS_SLICE_MAX_PARENTS, &d->n_parents, err);
    code = code == PS_OK
               ? ps_slice_children(d->l, d->number, children, MAX_CHILDREN, &n_children, err)
               : code;
    if (code != PS_OK) {
        return code;
    }
    ps_json_key(&d->j, "parents");
    code = put_refs(d, d->parents, d->n_parents, err);
    if (code != PS_OK) {
        return code;
    }
    ps_json_key_object(&d->j, "children");
    ps_json_key_uint(&d->j, "n", n_children);
    ps_json_key(&d->j, "first");
    code = put_refs(d, children, n_children < MAX_CHILDREN ? n_children : MAX_CHILDREN, err);
    ps_json_close(&d->j);
    return code;
}

/* It is one of the operators that the tables of communication list: of the device, or of a rank without one what its host does. */
static bool is_communication(const detail *d) {
    const ps_trace *trace = d->layer->trace;
    uint8_t kind = d->s->kind[d->slice];
    return kind == PS_SLICE_COMM_OP || kind == PS_SLICE_COMM_KERNEL ||
           (ps_is_host_comm(trace, d->slice) && ps_host_comm_count(trace) > 0);
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static ps_code put_detail(detail *d, ps_err *err) {
    if (d->layer == ps_loaded_layer(d->l, PS_LAYER_PROFILE)) {
        d->links = ps_loaded_links(d->l, err);
        if (d->links == NULL) {
            return ps_fail_nomem(err);
        }
    }
    ps_json_object(&d->j);
    ps_code code = ps_put_ref_members(&d->j, d->key, d->l, d->number, err);
    code = code == PS_OK ? put_slice_place(d, err) : code;
    ps_json_key_str(&d->j, "category", ps_trace_text(d->layer->trace, d->s->category[d->slice]));
    if (is_communication(d)) {
        ps_json_key_bool(&d->j, "communication", true);
    }
    code = code == PS_OK ? put_times(d, err) : code;
    ps_json_key(&d->j, "args");
    ps_put_args(&d->j, d->layer->trace, d->slice);
    put_stack(d);
    code = code == PS_OK ? put_links(d, err) : code;
    code = code == PS_OK ? put_around(d, err) : code;
    put_source(d);
    ps_json_close(&d->j);
    return code;
}

static void answer_slice(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    uint32_t slice = 0;
    if (ps_ask_rank(q, r, &l) && ps_ask_slice(q, r, l, &slice)) {
        ps_ref ref = {0};
        (void)ps_loaded_ref(l, slice, &ref);
        detail d = {.q = q,
                    .r = r,
                    .j = ps_json_to(&r->body),
                    .key = ps_param_text(q, "rank"),
                    .l = l,
                    .layer = ref.layer,
                    .s = ps_trace_slices(ref.layer->trace),
                    .number = slice,
                    .slice = ref.slice};
        ps_err err = PS_ERR_INIT;
        if (put_detail(&d, &err) != PS_OK) {
            ps_reply_err(r, &err);
        } else {
            r->is_immutable = true;
        }
    }
    ps_loaded_release(l);
}

const ps_route ps_route_slice = {
    .path = "/api/slice", .method = "GET", .is_slow = true, .answer = answer_slice};
