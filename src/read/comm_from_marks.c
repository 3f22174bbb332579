#include "read/comm_from_marks.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/literal.h"
#include "base/num.h"
#include "model/comm_marks.h"
#include "read/ascend/stream_tasks.h"

typedef struct making {
    ps_builder *b;
    ps_comm_marks marks;
    ps_idmap seen;        /* host slices that have a device side, and those that become nothing */
    ps_idmap taken;       /* times on a stream that such a device side has */
    bool counts;          /* oddities; else the analysis that asked for the marks does */
    bool is_enqueue_time; /* of the calls of NCCL */
    bool is_host;         /* the device is the host */
    int64_t home;         /* the device of the first stream, -1 */
    ps_waiting_mark *waiting;
    ps_stream_task *tasks;
    size_t n_waiting, cap_waiting, n_tasks, cap_tasks;
    ps_arena arena;
    const ps_literal *groups; /* parallel_group_info; NULL */
} making;

/* --- what is known beforehand -------------------------------------------------------------------------------- */

static bool made_op_says(const ps_builder *b, const char *key, const char *value) {
    const char *text = ps_builder_meta_text(b, key);
    return text != NULL && strcmp(text, value) == 0;
}

static int64_t home_of(const ps_builder *b) {
    size_t n = 0;
    const ps_track *tracks = ps_builder_tracks(b, &n);
    for (size_t i = 0; i < n; i++) {
        if (tracks[i].kind == PS_TRACK_STREAM) {
            return tracks[i].device;
        }
    }
    return -1;
}

/* --- whether there is anything to do ---------------------------------------------------------------------- */

static bool is_made_op_wanted(const ps_slices *s) {
    bool any_mark = false;
    for (uint32_t i = 0; i < s->n; i++) {
        switch (s->kind[i]) {
        case PS_SLICE_COMM_OP:
        case PS_SLICE_COMM_KERNEL:
        case PS_SLICE_COMM_TASK:
            return false;
        case PS_SLICE_MARK_HOST:
        case PS_SLICE_INSTANT:
            any_mark = true;
            break;
        default:
            break;
        }
    }
    return any_mark;
}

/* --- marks with a device side --------------------------------------------------------------------------------- */

/* False when memory is out. */
static bool add_mark(making *k, uint32_t host, ps_comm_mark mark, int64_t start_ns, int64_t end_ns,
                     uint32_t device) {
    mark.start_ns = start_ns;
    mark.end_ns = end_ns;
    mark.host = host;
    mark.device = device;
    mark.tie = host;
    return ps_comm_marks_add(&k->marks, &mark);
}

/* What the mark says. *usable is false for what becomes no operator. False when memory is out. */
static bool read_mark(making *k, uint32_t host, ps_comm_mark *mark, bool *usable) {
    const ps_slices *s = ps_builder_slices(k->b);
    const char *text = ps_builder_text(k->b, s->name[host]);
    *usable = false;
    if (!ps_comm_marks_may_be(text)) {
        return true;
    }
    ps_comm_said said = ps_comm_marks_read(&k->marks, s->name[host], text, mark);
    bool is_enqueue =
        said == PS_COMM_OK && k->is_enqueue_time && strncasecmp(mark->call, "nccl", 4) == 0;
    ps_diag *diag = ps_builder_diag(k->b);
    if (said == PS_COMM_BAD && k->counts) {
        ps_diag_add(diag, PS_ODD_COMM_MARK, "row %lld", (long long)s->source_row[host]);
    }
    if (is_enqueue) {
        ps_diag_add(diag, PS_ODD_COMM_ENQUEUE, "row %lld: %.60s", (long long)s->source_row[host],
                    mark->call);
    }
    *usable = said == PS_COMM_OK && !is_enqueue;
    return said != PS_COMM_NOMEM;
}

static uint64_t times_key(const ps_slices *s, uint32_t i) {
    const int64_t fields[] = {s->track[i], s->start_ns[i], s->dur_ns[i]};
    return ps_hash64(fields, sizeof fields);
}

static bool take_device_sides(making *k) {
    const ps_slices *s = ps_builder_slices(k->b);
    size_t n = 0;
    const ps_flow *flows = ps_builder_flows(k->b, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t host = flows[i].from;
        uint32_t device = flows[i].to;
        if (s->kind[device] != PS_SLICE_MARK_DEVICE || s->kind[host] >= PS_SLICE_KERNEL) {
            continue;
        }
        ps_comm_mark mark;
        bool usable = false;
        ok = read_mark(k, host, &mark, &usable);
        if (ok && usable) {
            int64_t start = s->start_ns[device];
            ok = add_mark(k, host, mark, start, start + s->dur_ns[device], device);
        }
        if (ok && ps_comm_marks_may_be(ps_builder_text(k->b, s->name[host]))) {
            ok =
                ps_idmap_put(&k->seen, host, 1) && ps_idmap_put(&k->taken, times_key(s, device), 1);
        }
    }
    return ok;
}

/* --- marks without one ---------------------------------------------------------------------------------------- */

static bool is_alone(const making *k, uint32_t i) {
    const ps_slices *s = ps_builder_slices(k->b);
    bool is_mark = s->kind[i] == PS_SLICE_MARK_HOST || s->kind[i] == PS_SLICE_INSTANT;
    return is_mark && ps_comm_marks_may_be(ps_builder_text(k->b, s->name[i])) &&
           ps_idmap_get(&k->seen, i) == PS_IDMAP_NONE;
}

/* Where the device is the host a mark itself says how long it took. */
static bool take_host_sides(making *k) {
    const ps_slices *s = ps_builder_slices(k->b);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ps_comm_mark mark;
        bool usable = false;
        ok = !is_alone(k, i) || read_mark(k, i, &mark, &usable);
        if (ok && usable) {
            ok = add_mark(k, i, mark, s->start_ns[i], s->start_ns[i] + s->dur_ns[i], i);
        }
    }
    return ok;
}

static bool find_made_op_waiting(making *k) {
    const ps_slices *s = ps_builder_slices(k->b);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t stream = -1;
        if (!is_alone(k, i)) {
            continue;
        }
        if (!ps_stream_of_message(ps_builder_text(k->b, s->name[i]), &stream)) {
            return false;
        }
        if (stream < 0) {
            continue;
        }
        if (!ps_grow(&k->waiting, &k->cap_waiting, k->n_waiting + 1, UINT32_MAX,
                     sizeof *k->waiting)) {
            return false;
        }
        k->waiting[k->n_waiting++] =
            (ps_waiting_mark){.stream = stream, .start_ns = s->start_ns[i], .mark = i};
    }
    return true;
}

/* Whether a mark has it already: as the row of its device side, or as the task that the reader took the times of that from. */
static bool is_made_op_taken(const making *k, const ps_slices *s, uint32_t i) {
    return s->kind[i] == PS_SLICE_MARK_DEVICE ||
           ps_idmap_get(&k->taken, times_key(s, i)) != PS_IDMAP_NONE;
}

/* Tasks on the streams that marks wait for. */
static bool find_tasks(making *k) {
    const ps_slices *s = ps_builder_slices(k->b);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_builder_tracks(k->b, &n_tracks);
    ps_idmap streams = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < k->n_waiting; i++) {
        ok = ps_idmap_put(&streams, (uint64_t)k->waiting[i].stream, 1);
    }
    for (uint32_t i = 0; ok && i < s->n; i++) {
        const ps_track *track = &tracks[s->track[i]];
        if (s->kind[i] < PS_SLICE_KERNEL || track->kind != PS_TRACK_STREAM || track->tid < 0 ||
            ps_idmap_get(&streams, (uint64_t)track->tid) == PS_IDMAP_NONE ||
            is_made_op_taken(k, s, i)) {
            continue;
        }
        ok = ps_grow(&k->tasks, &k->cap_tasks, k->n_tasks + 1, UINT32_MAX, sizeof *k->tasks);
        if (ok) {
            k->tasks[k->n_tasks++] = (ps_stream_task){.stream = track->tid,
                                                      .start_ns = s->start_ns[i],
                                                      .end_ns = s->start_ns[i] + s->dur_ns[i],
                                                      .connection_id = -1,
                                                      .device = track->device,
                                                      .row = i};
        }
    }
    ps_idmap_fini(&streams);
    return ok;
}

static bool take_waiting(making *k) {
    if (k->is_host) {
        return take_host_sides(k);
    }
    if (!find_made_op_waiting(k) || (k->n_waiting > 0 && !find_tasks(k))) {
        return false;
    }
    ps_waiting_marks_join(k->waiting, k->n_waiting, k->tasks, k->n_tasks);
    const ps_slices *s = ps_builder_slices(k->b);
    for (size_t i = 0; i < k->n_waiting; i++) {
        const ps_waiting_mark *w = &k->waiting[i];
        ps_comm_mark mark;
        bool usable = false;
        if (!read_mark(k, (uint32_t)w->mark, &mark, &usable)) {
            return false;
        }
        if (usable && w->task == NULL && k->counts) {
            ps_diag_add(ps_builder_diag(k->b), PS_ODD_COMM_MARK, "row %lld: no task on stream %lld",
                        (long long)s->source_row[w->mark], (long long)w->stream);
        }
        if (usable && w->task != NULL &&
            !add_mark(k, (uint32_t)w->mark, mark, w->task->start_ns, w->task->end_ns,
                      (uint32_t)w->task->row)) {
            return false;
        }
    }
    return true;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

/* False when memory is out. */
static bool read_made_op_groups(making *k) {
    const char *text = ps_builder_meta_text(k->b, "parallel_group_info");
    ps_err odd = PS_ERR_INIT; /* whoever uses the metadata says what is wrong with it */
    k->groups = text != NULL ? ps_literal_parse_packed(&k->arena, text, strlen(text), &odd) : NULL;
    return odd.code != PS_NOMEM;
}

static uint32_t made_op_track_of(const making *k, const ps_comm_mark *m, const ps_literal *group) {
    size_t n = 0;
    const ps_slices *s = ps_builder_slices(k->b);
    const ps_track *on = &ps_builder_tracks(k->b, &n)[s->track[m->device]];
    uint32_t track = ps_builder_track(
        k->b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                         .pid = on->pid,
                         .tid = -1,
                         .device = on->kind == PS_TRACK_STREAM ? on->device : k->home,
                         .name = ps_builder_str(k->b, m->group, strlen(m->group))});
    const char *label = ps_literal_str(ps_literal_get(group, "group_name"));
    if (track != PS_NONE && label != NULL && label[0] != '\0') {
        ps_builder_track_label(k->b, track, ps_builder_str(k->b, label, strlen(label)),
                               PS_NO_ORDER);
    }
    return track;
}

static void add_made_op_text(const making *k, uint32_t slice, const char *key, const char *text) {
    ps_builder_arg_str(k->b, slice, key, ps_builder_str(k->b, text, strlen(text)));
}

static void add_made_op_args(const making *k, uint32_t slice, ps_comm_mark *m, int64_t op_id,
                             const ps_literal *group) {
    int64_t own = -1;
    int64_t count = 0;
    (void)ps_literal_int(ps_literal_get(group, "group_rank"), &own);
    if ((m->is_send || m->is_receive) && ps_comm_mark_peers(m, own)) {
        ps_builder_arg_int(k->b, slice, "srcRank", m->is_send ? m->sender : m->receiver);
        ps_builder_arg_int(k->b, slice, "dstRank", m->is_send ? m->receiver : m->sender);
    }
    ps_builder_arg_int(k->b, slice, "opId", op_id);
    add_made_op_text(k, slice, "dataType", ps_comm_data_type_name(m->data_type));
    if (ps_parse_i64(m->count, strlen(m->count), &count)) {
        ps_builder_arg_int(k->b, slice, "count", count);
    } else {
        add_made_op_text(k, slice, "count", m->count);
    }
    add_made_op_text(k, slice, "opType", m->type);
}

static void add_made_op_operators(making *k) {
    for (size_t i = 0; i < k->marks.n && !ps_builder_failed(k->b); i++) {
        ps_comm_mark *m = &k->marks.marks[i];
        const ps_literal *group = ps_literal_get(k->groups, m->group);
        char tag[PS_COMM_TAG_SIZE];
        char name[PS_COMM_NAME_SIZE];
        ps_comm_mark_name(m, tag, name);
        uint32_t track = made_op_track_of(k, m, group);
        int64_t row = ps_builder_slices(k->b)->source_row[m->host];
        uint32_t slice = track != PS_NONE
                             ? ps_builder_slice(k->b, PS_SLICE_COMM_OP, track,
                                                ps_builder_str(k->b, name, strlen(name)),
                                                m->start_ns, m->end_ns, row)
                             : PS_NONE;
        if (slice != PS_NONE) {
            add_made_op_args(k, slice, m, (int64_t)i, group);
            ps_builder_flow(k->b, m->host, slice);
        }
    }
    if (k->marks.n > 0) {
        ps_builder_meta(k->b, PS_COMM_FROM_MARKS_KEY, PS_COMM_FROM_MARKS_VALUE);
    }
}

ps_code ps_comm_from_marks(ps_builder *b, uint32_t needs, ps_err *err) {
    if ((needs & (PS_NEED_SLICES | PS_NEED_DEVICE_SPANS)) == 0 || ps_builder_failed(b) ||
        !is_made_op_wanted(ps_builder_slices(b))) {
        return PS_OK;
    }
    making k = {.b = b,
                .counts = (needs & PS_NEED_COMM_MARKS) == 0,
                .is_enqueue_time = made_op_says(b, "collector.comm_time_source", "host_enqueue"),
                .is_host = made_op_says(b, "collector.device_time_source", "host"),
                .home = home_of(b)};
    bool ok = ps_comm_marks_init(&k.marks) && take_device_sides(&k) && take_waiting(&k) &&
              ps_comm_marks_number(&k.marks) && read_made_op_groups(&k);
    if (ok) {
        add_made_op_operators(&k);
    }
    ps_comm_marks_fini(&k.marks);
    ps_idmap_fini(&k.seen);
    ps_idmap_fini(&k.taken);
    ps_arena_fini(&k.arena);
    ps_free(k.waiting);
    ps_free(k.tasks);
    return ok && !ps_builder_failed(b) ? PS_OK : ps_fail_nomem(err);
}
