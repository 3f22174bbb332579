/* The tree is made in three steps. lane_parts.c says which slices are drawn together; lane_places.c gives each of these
 * parts its place below groups, which lane_tree.c looks up by their ids or makes; here the nodes are sorted below their
 * parents and numbered in the order in which they are shown.
 *
 * Where a file names its processes (trace_view.json, Kineto), they are the uppermost groups, in the order that it gives.
 * Else hosts and devices are:
 *
 *   Host                       host                       NPU 0                     device/0
 *     Process 7                host/0                       Ascend Hardware         device/0/hardware
 *       Thread 9 (main)        host/0/main                    Stream 2 MSTX         device/0/stream/2/marks/
 *         PyTorch              host/0/main/ops                Stream 2              device/0/stream/2
 *         CANN                 host/0/main/calls            Communication           device/0/comm
 *           node               host/0/main/calls/node         Group tp              device/0/comm/node0%eth0...
 *         MSTX                 host/0/main/marks                Plane 0             device/0/comm/node0%eth0.../plane/0
 *           default            host/0/main/marks/           Overlap Analysis        device/0/overlap
 *         Python Stack         host/0/main/python             Computing             device/0/overlap/computing
 *                                                           Counters                device/0/counters
 *                                                             HBM                   device/0/counters/HBM
 *                                                               HBM 0/Read          device/0/counter/HBM 0/Read
 *
 * Ids hold no numbers that differ between ranks: processes and devices are counted, threads go by role or name. */
#include "serve/rank/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rank/derived_lanes.h"
#include "analyze/rank/overlap.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "serve/rank/lanes_tree.h"

/* --- the finished tree ---------------------------------------------------------------------------------- */

/* A thread with one lane is that lane, but where all threads show which kinds of lanes they have. */
static bool fold_threads(ps_lane_tree *x) {
    for (size_t i = 0; i < x->n_drafts && !x->parts->calls_apart && !x->failed; i++) {
        ps_draft *d = &x->drafts[i];
        uint32_t track = d->node.track;
        if (d->node.lane == PS_NONE || x->n_parts[track] != 1 || d->node.parent == PS_NONE ||
            d->node.parent != x->threads[track]) {
            continue;
        }
        ps_draft *thread = &x->drafts[d->node.parent];
        if (x->parts->at[d->node.lane].part != PS_PART_OPS) {
            ps_buf_addf(&x->name, "%s: %s", thread->node.name, d->node.name);
            d->node.name = ps_arena_strndup(&x->lanes->arena, ps_buf_str(&x->name), x->name.len);
            x->failed = d->node.name == NULL || !ps_buf_ok(&x->name);
            ps_buf_clear(&x->name);
        } else {
            d->node.name = thread->node.name;
        }
        d->order = thread->order;
        d->next = thread->next;
        d->node.parent = thread->node.parent;
        thread->is_gone = true;
    }
    return !x->failed;
}

typedef struct turn {
    const ps_draft *d;
    uint32_t row;
} turn;

static int by_siblings(const void *a, const void *b) {
    const ps_draft *x = ((const turn *)a)->d;
    const ps_draft *y = ((const turn *)b)->d;
    if (x->node.parent != y->node.parent) {
        return x->node.parent < y->node.parent ? -1 : 1;
    }
    int by = ps_compare_i64(&x->order, &y->order);
    by = by != 0 ? by : ps_compare_i64(&x->next, &y->next);
    by = by != 0 ? by : ps_compare_natural(x->node.name, y->node.name);
    return by != 0 ? by : strcmp(x->node.id, y->node.id);
}

/* The first turn below a parent. */
static size_t first_below(const turn *turns, size_t n, uint32_t parent) {
    PS_PLACE(size_t, low, 0, n, i, turns[i].d->node.parent < parent);
    return low;
}

/* Adds what is below `parent` (a draft), which stands at `at` of the list. The tree is six levels deep at most. */
static void hand_lane_out(ps_lane_tree *x, const turn *turns, size_t n, uint32_t parent,
                          uint32_t at, uint32_t *lane_of_part) {
    ps_lanes *lanes = x->lanes;
    for (size_t i = first_below(turns, n, parent); i < n && turns[i].d->node.parent == parent;
         i++) {
        uint32_t node = (uint32_t)lanes->n_nodes++;
        lanes->nodes[node] = turns[i].d->node;
        lanes->nodes[node].parent = at;
        uint32_t part = lanes->nodes[node].lane;
        if (part != PS_NONE) {
            lane_of_part[part] = lanes->n_lanes;
            lanes->node_of_lane[lanes->n_lanes] = node;
            lanes->nodes[node].lane = lanes->n_lanes++;
        }
        hand_lane_out(x, turns, n, turns[i].row, node, lane_of_part);
    }
}

static bool finish_lane(ps_lane_tree *x, uint32_t *lane_of) {
    ps_lanes *lanes = x->lanes;
    turn *turns = ps_calloc(x->n_drafts + 1, sizeof *turns);
    uint32_t *lane_of_part = ps_calloc(x->parts->n + 1, sizeof *lane_of_part);
    lanes->lane_of_part = lane_of_part;
    lanes->nodes = ps_calloc(x->n_drafts + 1, sizeof *lanes->nodes);
    lanes->node_of_lane = ps_calloc(x->parts->n + 1, sizeof *lanes->node_of_lane);
    lanes->cap_nodes = lanes->nodes != NULL ? x->n_drafts + 1 : 0;
    bool ok = turns != NULL && lane_of_part != NULL && lanes->nodes != NULL &&
              lanes->node_of_lane != NULL;
    size_t n = 0;
    for (uint32_t i = 0; ok && i < x->n_drafts; i++) {
        if (!x->drafts[i].is_gone) {
            turns[n++] = (turn){&x->drafts[i], i};
        }
    }
    if (ok && n > 1) {
        qsort(turns, n, sizeof *turns, by_siblings);
    }
    if (ok) {
        hand_lane_out(x, turns, n, PS_NONE, PS_NONE, lane_of_part);
        uint32_t n_slices = ps_trace_slices(x->t)->n;
        for (uint32_t i = 0; i < n_slices; i++) {
            lane_of[i] = lane_of_part[lane_of[i]];
        }
    }
    ps_free(turns);
    return ok;
}

static void release_lane(ps_lane_tree *x) {
    ps_idmap_fini(&x->owner_rows);
    ps_idmap_fini(&x->streams);
    ps_idmap_fini(&x->group_labels);
    ps_idmap_fini(&x->families);
    ps_idmap_fini(&x->repeats);
    ps_strpool_fini(&x->ids);
    ps_buf_fini(&x->id);
    ps_buf_fini(&x->name);
    ps_free(x->n_parts);
    ps_free(x->threads);
    ps_free(x->owners);
    ps_free(x->devices);
    ps_free(x->drafts);
}

ps_code ps_lanes_init(ps_lanes *lanes, const ps_trace *trace, uint32_t *lane_of, ps_err *err) {
    *lanes = (ps_lanes){0};
    ps_lane_tree x = {.lanes = lanes, .t = trace};
    x.tracks = ps_trace_tracks(trace, &x.n_tracks);
    x.n_parts = ps_calloc(x.n_tracks + 1, sizeof *x.n_parts);
    x.threads = ps_calloc(x.n_tracks + 1, sizeof *x.threads);
    lanes->parts = x.parts = ps_calloc(1, sizeof *x.parts);
    bool ok = ps_strpool_init(&x.ids) && x.n_parts != NULL && x.threads != NULL &&
              x.parts != NULL && ps_lane_parts_init(x.parts, trace, lane_of) &&
              ps_tree_place_all(&x) && fold_threads(&x) && finish_lane(&x, lane_of);
    release_lane(&x);
    if (!ok) {
        ps_lanes_fini(lanes);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

uint32_t ps_lanes_of(const ps_lanes *lanes, const ps_trace *trace, uint32_t slice) {
    return lanes->lane_of_part[ps_lane_parts_of(lanes->parts, trace, slice)];
}

void ps_lanes_fini(ps_lanes *lanes) {
    ps_free(lanes->nodes);
    ps_free(lanes->node_of_lane);
    ps_free(lanes->lane_of_part);
    if (lanes->parts != NULL) {
        ps_lane_parts_fini(lanes->parts);
    }
    ps_free(lanes->parts);
    ps_arena_fini(&lanes->arena);
    *lanes = (ps_lanes){0};
}

uint8_t ps_overlap_look(const char *name) {
    const struct {
        const char *begin;
        uint8_t look;
    } LOOKS[] = {{"Computing", PS_LOOK_COMPUTING},
                 {"Communication(Not", PS_LOOK_EXPOSED},
                 {"Communication (Not", PS_LOOK_EXPOSED},
                 {"Communication", PS_LOOK_COMMUNICATION},
                 {ps_share_names[PS_SHARE_FREE], PS_LOOK_FREE},
                 {ps_share_names[PS_SHARE_BEFORE], PS_LOOK_FREE},
                 {ps_share_names[PS_SHARE_AFTER], PS_LOOK_FREE},
                 {PS_LANE_ENDS, PS_LOOK_FREE}};
    for (size_t i = 0; i < sizeof LOOKS / sizeof *LOOKS; i++) {
        if (strncmp(name, LOOKS[i].begin, strlen(LOOKS[i].begin)) == 0) {
            return LOOKS[i].look;
        }
    }
    return PS_LOOK_NONE;
}

const char *ps_node_kind_name(ps_node_kind kind) {
    static const char *const NAMES[] = {"group", "host",  "python",  "marks", "device",
                                        "comm",  "plane", "overlap", "other", "counter"};
    return NAMES[kind];
}
