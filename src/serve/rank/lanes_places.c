/* Which group each part stands in, under which name and id. */
#include <stdlib.h>
#include <string.h>

#include "analyze/rank/derived_lanes.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/recording.h"
#include "serve/rank/lanes_tree.h"

/* --- lanes ---------------------------------------------------------------------------------------------- */

/* A lane with what stands in x->id and x->name. */
static uint32_t put_lane_place_lane(ps_lane_tree *x, uint32_t parent, ps_node_kind kind,
                                    int64_t order, uint32_t part) {
    uint32_t row = ps_tree_put(x, parent, kind, true, order);
    if (row != PS_NONE) {
        ps_lane_node *node = &x->drafts[row].node;
        const ps_track *track = &x->tracks[x->parts->at[part].track];
        node->lane = part;
        node->track = x->parts->at[part].track;
        node->device = track->kind == PS_TRACK_HOST_THREAD ? -1 : track->device;
        node->unit = ps_trace_text(x->t, track->unit);
    }
    return row;
}

static int64_t track_order(const ps_track *track) {
    if (track->order != PS_NO_ORDER) {
        return track->order;
    }
    return track->tid >= 0 ? track->tid : PS_NO_ORDER;
}

/* The group of a host thread. */
static uint32_t thread_group(ps_lane_tree *x, uint32_t row) {
    if (x->threads[row] != PS_NONE) {
        return x->threads[row];
    }
    const ps_track *track = &x->tracks[row];
    uint32_t parent = ps_tree_host(x, track->pid);
    ps_lane_owner *o = ps_tree_owner(x, track->pid);
    ps_buf_addf(&x->id, "%s/", ps_tree_id(x, parent));
    size_t before = x->id.len;
    ps_key_thread(x->t, track, x->parts->roles[row], &x->id);
    if (x->id.len == before) {
        ps_buf_addf(&x->id, "thread %u", o->n_plain++);
    }
    ps_name_thread(x->t, track, x->parts->roles[row], &x->name);
    x->threads[row] = ps_tree_put(x, parent, PS_NODE_GROUP, true, track_order(track));
    return x->threads[row];
}

/* "PyTorch" beside lanes of its calls; else by what is in it. */
static const char *ops_name(const ps_lane_tree *x, const ps_part_lane *p) {
    if (x->parts->calls_apart) {
        return "PyTorch";
    }
    return !p->has_calls ? "Operators" : p->has_others ? "Operators, calls" : "Calls";
}

static void place_api(ps_lane_tree *x, uint32_t parent, uint32_t part) {
    static const char *const ORDER[] = {"acl", "model", "node", "hccl", "communication", "runtime"};
    const char *api = ps_trace_text(x->t, x->parts->at[part].text);
    int64_t order = 0;
    while (order < 6 && strcmp(ORDER[order], api) != 0) {
        order++;
    }
    if (api[0] == '\0') { /* calls of the operating system */
        ps_buf_addf(&x->id, "%s/os", ps_tree_id(x, parent));
        ps_buf_add_str(&x->name, "OS Runtime API");
        (void)put_lane_place_lane(x, parent, PS_NODE_HOST, PS_PART_GC, part);
        return;
    }
    uint32_t group = ps_tree_group(x, parent, "calls", "CANN", PS_PART_API);
    ps_buf_addf(&x->id, "%s/", ps_tree_id(x, group));
    ps_key_text(api, &x->id);
    ps_buf_add_str(&x->name, api);
    (void)put_lane_place_lane(x, group, PS_NODE_HOST, order, part);
}

/* Recorded ranges come from mstx, NVTX and the program's own calls alike; of Ascend's profilers all are mstx. */
static const char *marks_family(const ps_lane_tree *x) {
    if (ps_trace_is_recording(x->t)) {
        return "Ranges";
    }
    bool is_mstx = x->parts->is_ascend || ps_trace_meta(x->t, "SCHEMA_VERSION_MAJOR") != NULL;
    return is_mstx ? "MSTX" : "NVTX";
}

static void place_marks(ps_lane_tree *x, uint32_t parent, uint32_t part) {
    const char *domain = ps_trace_text(x->t, x->parts->at[part].text);
    const char *family = marks_family(x);
    bool is_lone = domain[0] == '\0' && !x->parts->calls_apart;
    uint32_t group = is_lone ? parent : ps_tree_group(x, parent, "marks", family, PS_PART_MARKS);
    ps_buf_addf(&x->id, "%s/", ps_tree_id(x, parent));
    ps_buf_add_str(&x->id, "marks/");
    ps_key_text(domain, &x->id);
    ps_buf_add_str(&x->name, is_lone ? family : domain[0] == '\0' ? "default" : domain);
    (void)put_lane_place_lane(x, group, PS_NODE_MARKS, PS_PART_MARKS, part);
}

static void place_host(ps_lane_tree *x, uint32_t part) {
    const ps_part_lane *p = &x->parts->at[part];
    uint32_t parent = thread_group(x, p->track);
    if (parent == PS_NONE) {
        return;
    }
    switch (p->part) {
    case PS_PART_API:
        place_api(x, parent, part);
        return;
    case PS_PART_MARKS:
        place_marks(x, parent, part);
        return;
    case PS_PART_FRAMES:
        ps_buf_addf(&x->id, "%s/python", ps_tree_id(x, parent));
        ps_buf_add_str(&x->name, "Python Stack");
        (void)put_lane_place_lane(x, parent, PS_NODE_PYTHON, p->part, part);
        return;
    case PS_PART_GC:
        ps_buf_addf(&x->id, "%s/gc", ps_tree_id(x, parent));
        ps_buf_add_str(&x->name, "Python GC");
        (void)put_lane_place_lane(x, parent, PS_NODE_HOST, p->part, part);
        return;
    default:
        ps_buf_addf(&x->id, "%s/ops", ps_tree_id(x, parent));
        ps_buf_add_str(&x->name, ops_name(x, p));
        (void)put_lane_place_lane(x, parent, PS_NODE_HOST, PS_PART_OPS, part);
    }
}

static uint64_t stream_key(int64_t pid, int64_t tid) {
    return ps_hash_u64((uint64_t)pid * 0x9E3779B97F4A7C15u ^ ps_hash_u64((uint64_t)tid));
}

/* The plain stream with this number, or NULL. */
static const ps_track *stream_of(const ps_lane_tree *x, int64_t pid, int64_t tid) {
    uint32_t row = ps_idmap_get(&x->streams, stream_key(pid, tid));
    const ps_track *track = row != PS_IDMAP_NONE ? &x->tracks[row] : NULL;
    return track != NULL && track->pid == pid && track->tid == tid ? track : NULL;
}

static void place_stream(ps_lane_tree *x, uint32_t part) {
    const ps_part_lane *p = &x->parts->at[part];
    const ps_track *track = &x->tracks[p->track];
    const ps_track *plain = stream_of(x, track->pid, track->tid);
    plain = plain != NULL ? plain : track;
    uint32_t parent = ps_tree_device(x, track, PS_IN_HARDWARE);
    bool is_marks = p->part == PS_PART_MARKS;
    const char *name = ps_trace_text(x->t, track->name);
    ps_tree_device_key(x, track->device);
    ps_buf_addf(&x->id, "/stream/%lld", (long long)track->tid);
    if (is_marks) {
        const char *domain = ps_trace_text(x->t, p->text);
        bool is_own = name[0] != '\0' && ps_trace_text(x->t, track->label)[0] != '\0';
        ps_name_stream(x->t, is_own ? track : plain, &x->name);
        if (!is_own) {
            ps_buf_addf(&x->name, " %s", marks_family(x));
        }
        if (domain[0] != '\0' && !is_own) {
            ps_buf_addf(&x->name, " domain %s", domain);
        }
        ps_buf_add_str(&x->id, "/marks/");
        ps_key_text(domain[0] == '\0' && is_own ? name : domain, &x->id);
    } else {
        ps_name_stream(x->t, track, &x->name);
        if (name[0] != '\0') {
            ps_buf_add_str(&x->id, "/");
            ps_key_text(name, &x->id);
        }
    }
    uint32_t row = put_lane_place_lane(x, parent, is_marks ? PS_NODE_MARKS : PS_NODE_DEVICE,
                                       track_order(plain), part);
    if (row != PS_NONE) {
        x->drafts[row].next = is_marks ? 0 : 1; /* marks above the stream that they are on */
    }
}

/* A communicator: a lane when it has operators, else a group over its planes. */
static uint32_t put_comm(ps_lane_tree *x, const ps_track *track, uint32_t part) {
    uint32_t parent = ps_tree_device(x, track, PS_IN_COMM);
    const char *label = ps_trace_text(x->t, track->label);
    const char *name = ps_trace_text(x->t, track->name);
    bool is_comm = track->kind == PS_TRACK_COMM_GROUP;
    ps_tree_device_key(x, track->device);
    ps_buf_add_str(&x->id, "/comm/");
    ps_key_text(name, &x->id);
    ps_name_comm(x->t, track, &x->name);
    uint32_t n = ps_idmap_get(&x->group_labels, track->label.id);
    bool is_shared = label[0] != '\0' && n != PS_IDMAP_NONE && n > 1;
    if (is_comm && is_shared && strncmp(label, "Group ", 6) != 0) {
        ps_buf_addf(&x->name, " (%s)", name);
    }
    int64_t order = is_comm || track->order == PS_NO_ORDER ? track->order : track->order - 1;
    return part == PS_NONE ? ps_tree_put(x, parent, PS_NODE_GROUP, false, order)
                           : put_lane_place_lane(x, parent, PS_NODE_COMM, order, part);
}

/* Planes come after all communicators. */
static void place_plane(ps_lane_tree *x, uint32_t part) {
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    uint32_t parent = put_comm(x, track, PS_NONE);
    ps_buf_addf(&x->id, "%s/plane/%lld", ps_tree_id(x, parent), (long long)track->tid);
    ps_name_plane(x->t, track, &x->name);
    (void)put_lane_place_lane(x, parent, PS_NODE_PLANE, track_order(track), part);
}

enum { N_OVERLAP_LANES = 5 };

/* Below N_OVERLAP_LANES of the lanes that profilers, or pipescope for them, compute of a step's time. */
static int overlap_of(const char *name) {
    static const char *const NAMES[N_OVERLAP_LANES] = {
        "Computing", "Communication", "Communication(Not Overlapped)", "Free", PS_LANE_ENDS};
    int i = 0;
    while (i < N_OVERLAP_LANES && strcmp(name, NAMES[i]) != 0) {
        i++;
    }
    return i;
}

static void place_derived(ps_lane_tree *x, uint32_t part) {
    static const char *const KEYS[N_OVERLAP_LANES] = {"computing", "communication", "exposed",
                                                      "free", "ends"};
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    const char *name = ps_trace_text(x->t, track->name);
    const char *label = ps_trace_text(x->t, track->label);
    int overlap = track->device >= 0 ? overlap_of(name) : N_OVERLAP_LANES;
    const ps_track *stream = track->tid >= 0 ? stream_of(x, track->pid, track->tid) : NULL;
    if (overlap < N_OVERLAP_LANES) {
        uint32_t parent = ps_tree_device(x, track, PS_IN_OVERLAP);
        ps_tree_device_key(x, track->device);
        ps_buf_addf(&x->id, "/overlap/%s", KEYS[overlap]);
        ps_buf_add_str(&x->name, name);
        (void)put_lane_place_lane(x, parent, PS_NODE_OVERLAP, overlap, part);
        return;
    }
    if (stream != NULL) { /* ranges of the host, as the profiler projected them on a stream */
        uint32_t parent = ps_tree_device(x, stream, PS_IN_HARDWARE);
        ps_tree_device_key(x, stream->device);
        ps_buf_addf(&x->id, "/stream/%lld/ranges/", (long long)track->tid);
        ps_key_text(name, &x->id);
        ps_name_stream(x->t, stream, &x->name);
        ps_buf_addf(&x->name, " %s",
                    strcmp(name, "gpu_user_annotation") == 0 ? "annotations" : name);
        uint32_t row = put_lane_place_lane(x, parent, PS_NODE_OTHER, track_order(stream), part);
        if (row != PS_NONE) {
            x->drafts[row].node.device = stream->device;
        }
        return;
    }
    uint32_t parent =
        track->device >= 0 ? ps_tree_device(x, track, PS_IN_DERIVED) : ps_tree_host(x, track->pid);
    ps_buf_addf(&x->id, "%s/derived/", ps_tree_id(x, parent));
    ps_key_text(name, &x->id);
    ps_buf_add_str(&x->name, label[0] != '\0' ? label : name[0] != '\0' ? name : "Derived");
    uint32_t row = put_lane_place_lane(x, parent, PS_NODE_OTHER, track->order, part);
    if (row != PS_NONE) {
        x->drafts[row].next = PS_IN_DERIVED;
    }
}

static uint64_t family_key(const ps_track *track, const char *name) {
    return ps_hash64(name, ps_counter_family(name)) ^ stream_key(track->pid, track->device);
}

/* Counters that share a family ("HBM 0/Read", "HBM 1/Read") stand in a group, where no process of the file is theirs. */
static void place_counter(ps_lane_tree *x, uint32_t part) {
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    const char *name = ps_trace_text(x->t, track->name);
    uint32_t parent =
        track->device >= 0 ? ps_tree_device(x, track, PS_IN_COUNTERS) : ps_tree_host(x, track->pid);
    size_t n = ps_counter_family(name);
    uint32_t n_like = ps_idmap_get(&x->families, family_key(track, name));
    const char *own = name;
    bool is_apart = parent != PS_NONE && parent == ps_tree_owner(x, track->pid)->node;
    if (parent != PS_NONE && !is_apart && n > 0 && n_like != PS_IDMAP_NONE && n_like > 1) {
        ps_buf_addf(&x->id, "%s/", ps_tree_id(x, parent));
        ps_buf_add(&x->id, name, n);
        ps_buf_add(&x->name, name, n);
        int64_t device = x->drafts[parent].node.device;
        parent = ps_tree_put(x, parent, PS_NODE_GROUP, false, PS_NO_ORDER);
        if (parent != PS_NONE) {
            x->drafts[parent].node.device = device;
            x->drafts[parent].next = PS_IN_COUNTERS;
        }
        own = name[n] == '/' && name[n + 1] != '\0' ? name + n + 1 : name;
    }
    if (track->device >= 0) {
        ps_tree_device_key(x, track->device);
    } else {
        ps_buf_add_str(&x->id, ps_tree_id(x, ps_tree_host(x, track->pid)));
    }
    ps_buf_addf(&x->id, "/counter/%s", name);
    ps_buf_add_str(&x->name, own[0] != '\0' ? own : "Counter");
    uint32_t row = put_lane_place_lane(x, parent, PS_NODE_COUNTER, track->order, part);
    if (row != PS_NONE) {
        x->drafts[row].next = PS_IN_COUNTERS;
    }
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static bool count_up(ps_idmap *map, uint64_t key) {
    uint32_t n = ps_idmap_get(map, key);
    return ps_idmap_put(map, key, n == PS_IDMAP_NONE ? 1 : n + 1);
}

/* The threads of one process are shown below two where a file names the driver's side apart: one thread, one role. */
static bool share_roles(ps_lane_tree *x) {
    ps_idmap roles = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < x->n_tracks; i++) {
        const ps_track *track = &x->tracks[i];
        if (track->kind == PS_TRACK_HOST_THREAD && x->parts->roles[i] != PS_ROLE_NONE) {
            ok = ps_idmap_put(&roles, (uint64_t)track->tid, x->parts->roles[i]);
        }
    }
    for (uint32_t i = 0; ok && i < x->n_tracks && x->parts->is_ascend; i++) {
        const ps_track *track = &x->tracks[i];
        uint32_t role = ps_idmap_get(&roles, (uint64_t)track->tid);
        if (track->kind == PS_TRACK_HOST_THREAD && x->parts->roles[i] == PS_ROLE_NONE &&
            role != PS_IDMAP_NONE) {
            x->parts->roles[i] = (ps_thread_role)role;
        }
    }
    ps_idmap_fini(&roles);
    return ok;
}

static bool index_tracks(ps_lane_tree *x) {
    bool ok = ps_tree_list_devices(x);
    for (uint32_t i = 0; ok && i < x->n_tracks; i++) {
        const ps_track *track = &x->tracks[i];
        const char *name = ps_trace_text(x->t, track->name);
        x->threads[i] = PS_NONE;
        ok = ps_tree_add_owner(x, track);
        if (ok && track->kind == PS_TRACK_STREAM && name[0] == '\0') {
            ok = ps_idmap_put(&x->streams, stream_key(track->pid, track->tid), i);
        } else if (ok && track->kind == PS_TRACK_COMM_GROUP && !ps_str_is_none(track->label)) {
            ok = count_up(&x->group_labels, track->label.id);
        } else if (ok && track->kind == PS_TRACK_COUNTER && ps_counter_family(name) > 0) {
            ok = count_up(&x->families, family_key(track, name));
        }
    }
    for (size_t i = 0; ok && i < x->parts->n; i++) {
        x->n_parts[x->parts->at[i].track]++;
    }
    return ok && ps_tree_count_processes(x);
}

/* Threads by their order, so that those without a name are counted alike in every rank. */
typedef struct thread_turn {
    int64_t pid, order;
    uint32_t row;
} thread_turn;

PS_COMPARE(by_turn, thread_turn, PS_BY(pid) PS_BY(order) PS_BY(row))

static bool place_threads(ps_lane_tree *x) {
    thread_turn *turns = ps_calloc(x->n_tracks + 1, sizeof *turns);
    size_t n = 0;
    for (uint32_t i = 0; turns != NULL && i < x->n_tracks; i++) {
        if (x->tracks[i].kind == PS_TRACK_HOST_THREAD && x->n_parts[i] > 0) {
            turns[n++] = (thread_turn){x->tracks[i].pid, track_order(&x->tracks[i]), i};
        }
    }
    ps_sort(turns, n, sizeof *turns, by_turn);
    for (size_t i = 0; i < n; i++) {
        (void)thread_group(x, turns[i].row);
    }
    ps_free(turns);
    return turns != NULL && !x->failed;
}

static void place_lane_place(ps_lane_tree *x, uint32_t part) {
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    switch (track->kind) {
    case PS_TRACK_HOST_THREAD:
        place_host(x, part);
        break;
    case PS_TRACK_STREAM:
        place_stream(x, part);
        break;
    case PS_TRACK_COMM_GROUP:
        (void)put_comm(x, track, part);
        break;
    case PS_TRACK_DERIVED:
        place_derived(x, part);
        break;
    case PS_TRACK_COUNTER:
        place_counter(x, part);
        break;
    case PS_TRACK_COMM_PLANE:
        break;
    }
}

bool ps_tree_place_all(ps_lane_tree *x) {
    if (!share_roles(x) || !index_tracks(x) || !place_threads(x)) {
        return false;
    }
    for (uint32_t i = 0; i < x->parts->n && !x->failed; i++) {
        place_lane_place(x, i);
    }
    for (uint32_t i = 0; i < x->parts->n && !x->failed; i++) {
        if (x->tracks[x->parts->at[i].track].kind == PS_TRACK_COMM_PLANE) {
            place_plane(x, i);
        }
    }
    return !x->failed;
}
