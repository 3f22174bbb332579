#include "analyze/views/view_comm_split.h"

#include <string.h>

#include "analyze/comm/comm_waits.h"
#include "analyze/views/view_time.h"
#include "base/alloc.h"

bool ps_comm_split_init(ps_comm_split *c, const ps_view_input *in) {
    size_t n = 0;
    *c = (ps_comm_split){.in = in,
                         .tracks = ps_trace_tracks(in->trace, &n),
                         .group_name = ps_trace_find_text(in->trace, "Process Group Name"),
                         .group_text = ps_trace_find_text(in->trace, "Process Group Description")};
    ps_idmap_init(&c->rows);
    ps_arena_init(&c->arena);
    return true;
}

void ps_comm_split_fini(ps_comm_split *c) {
    for (size_t i = 0; i < c->n_groups; i++) {
        ps_intervals_fini(&c->groups[i].exposed);
        ps_intervals_fini(&c->groups[i].transfers);
        ps_intervals_fini(&c->groups[i].waits);
    }
    ps_free(c->groups);
    ps_idmap_fini(&c->rows);
    ps_arena_fini(&c->arena);
    *c = (ps_comm_split){0};
}

/* --- groups ------------------------------------------------------------------------------------------------------------ */

static bool add_comm_split_group(ps_comm_split *c, ps_str key, const char *name, size_t *out) {
    if (!ps_grow(&c->groups, &c->cap, c->n_groups + 1, UINT32_MAX - 1, sizeof *c->groups)) {
        return false;
    }
    const char *copy = ps_arena_strndup(&c->arena, name, strlen(name));
    if (copy == NULL || !ps_idmap_put(&c->rows, key.id, (uint32_t)c->n_groups)) {
        return false;
    }
    c->groups[c->n_groups] = (ps_comm_split_group_times){.name = copy};
    *out = c->n_groups++;
    return true;
}

/* Kernels of a library know their group as an argument, if at all. */
static void name_of_kernel(const ps_comm_split *c, uint32_t slice, ps_str *key, ps_str *text) {
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(c->in->trace, slice); ps_arg_next(&it, &arg);) {
        bool is_text = arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER;
        if (is_text && !ps_str_is_none(c->group_name) && ps_str_eq(arg.key, c->group_name)) {
            *key = arg.u.s;
        }
        if (is_text && !ps_str_is_none(c->group_text) && ps_str_eq(arg.key, c->group_text)) {
            *text = arg.u.s;
        }
    }
}

bool ps_comm_split_group(ps_comm_split *c, uint32_t slice, size_t *out) {
    const ps_trace *t = c->in->trace;
    const ps_track *track = &c->tracks[ps_trace_slices(t)->track[slice]];
    ps_str key = PS_STR_NONE;
    ps_str text = PS_STR_NONE;
    if (track->kind == PS_TRACK_COMM_GROUP) {
        key = track->name;
        text = track->label;
    } else {
        name_of_kernel(c, slice, &key, &text);
    }
    uint32_t row = ps_idmap_get(&c->rows, key.id);
    if (row != PS_IDMAP_NONE) {
        *out = row;
        return true;
    }
    const char *name = ps_trace_text(t, ps_str_is_none(text) ? key : text);
    return add_comm_split_group(c, key, name[0] != '\0' ? name : "unnamed group", out);
}

bool ps_comm_split_add(ps_comm_split *c, size_t group, const ps_intervals *hidden_by,
                       int64_t start_ns, int64_t end_ns) {
    return end_ns <= start_ns ||
           ps_time_add_exposed(&c->groups[group].exposed, hidden_by, start_ns, end_ns);
}

/* --- tasks ------------------------------------------------------------------------------------------------------------- */

static bool take_comm_split_tasks(ps_comm_split *c, ps_comm_lane *lanes) {
    const ps_trace *t = c->in->trace;
    const ps_slices *s = ps_trace_slices(t);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n && s->start_ns[i] < c->in->to_ns; i++) {
        if (s->kind[i] != PS_SLICE_COMM_TASK) {
            continue;
        }
        const ps_track *track = &c->tracks[s->track[i]];
        uint32_t row = ps_idmap_get(&c->rows, track->name.id);
        bool is_waiting = ps_comm_task_waits(&lanes[s->track[i]], ps_trace_text(t, s->name[i]));
        if (row == PS_IDMAP_NONE || track->kind != PS_TRACK_COMM_PLANE) {
            continue;
        }
        ps_comm_split_group_times *g = &c->groups[row];
        g->has_tasks = true;
        ok = s->dur_ns[i] == 0 || ps_intervals_add(is_waiting ? &g->waits : &g->transfers,
                                                   s->start_ns[i], s->start_ns[i] + s->dur_ns[i]);
    }
    return ok;
}

static bool measure_comm_split(ps_comm_split_group_times *g) {
    ps_intervals sent = {0};
    ps_intervals waited = {0};
    ps_intervals_unite(&g->exposed);
    ps_intervals_unite(&g->transfers);
    ps_intervals_unite(&g->waits);
    bool ok = ps_intervals_both(&g->exposed, &g->transfers, &sent) &&
              ps_intervals_both(&g->exposed, &g->waits, &waited);
    if (ok) {
        g->transmit_ns = ps_intervals_length_ns(&sent);
        g->wait_ns = ps_intervals_minus_ns(&waited, &sent);
        g->idle_ns = ps_intervals_length_ns(&g->exposed) - g->transmit_ns - g->wait_ns;
    }
    ps_intervals_fini(&sent);
    ps_intervals_fini(&waited);
    return ok;
}

bool ps_comm_split_finish(ps_comm_split *c) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(c->in->trace, &n_tracks);
    ps_comm_lane *lanes = ps_calloc(n_tracks + 1, sizeof *lanes);
    bool ok = lanes != NULL && take_comm_split_tasks(c, lanes);
    for (size_t i = 0; ok && i < c->n_groups; i++) {
        ok = measure_comm_split(&c->groups[i]);
    }
    ps_free(lanes);
    return ok;
}
