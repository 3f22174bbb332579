/* The tree is made in three steps. lane_parts.c says which slices are drawn together; for each of these parts the groups
 * above it are looked up by their ids, and made when they are new; then the nodes are sorted below their parents and
 * numbered in the order in which they are shown.
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
#include "serve/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "serve/lane_parts.h"

/* Top groups without an order of their own come in this order, behind those that have one. */
enum { TOP_HOST, TOP_DEVICE, TOP_OTHER };
/* Groups of a device. */
enum { IN_HARDWARE, IN_COMM, IN_OVERLAP, IN_DERIVED, IN_COUNTERS };

/* A node while the tree grows. */
typedef struct draft {
    ps_lane_node node;   /* `parent`: row of a draft */
    int64_t order, next; /* among its siblings: by order, next, name, id */
    bool is_gone;        /* its only child stands in its place */
} draft;

/* What the number of a process stands for. */
typedef struct owner {
    int64_t pid;
    const ps_process *process; /* of the trace, or NULL */
    bool has_threads, has_devices;
    bool is_real;     /* a thread has its number too: it is one of the operating system */
    uint32_t node;    /* draft of the group, once there is one */
    int64_t ordinal;  /* among those that are none of a device; -1 */
    int64_t device;   /* of its tracks, -1 */
    uint32_t n_plain; /* threads without a name so far */
} owner;

typedef struct tree {
    ps_lanes *lanes;
    const ps_trace *t;
    const ps_track *tracks;
    size_t n_tracks;
    ps_lane_parts *parts;  /* = lanes->parts */
    uint32_t *n_parts;     /* [n_tracks] */
    uint32_t *threads;     /* [n_tracks] draft of a host thread's group, PS_NONE */
    ps_idmap owner_rows;   /* pid -> owners */
    ps_idmap streams;      /* hash of (pid, tid) -> track of the plain stream */
    ps_idmap group_labels; /* text of a label -> how many communicators have it */
    ps_idmap families;     /* hash of a counter family -> how many counters it has */
    owner *owners;
    size_t n_owners, cap_owners;
    int64_t *devices; /* sorted */
    size_t n_devices;
    draft *drafts;
    size_t n_drafts, cap_drafts;
    ps_strpool ids; /* of the drafts, in their order: the number of a text less 1 is the draft */
    ps_buf id, name;
    bool failed;
} tree;

/* --- drafts --------------------------------------------------------------------------------------------- */

static draft *draft_at(tree *x, uint32_t row) {
    return &x->drafts[row];
}

/* The draft with the id and name that stand in x->id and x->name (which are empty afterwards). A lane is always a new
 * one: "#2" parts it from another of the same id. */
static uint32_t put_draft(tree *x, uint32_t parent, ps_node_kind kind, bool is_lane,
                          int64_t order) {
    uint32_t row = PS_NONE;
    size_t plain = x->id.len;
    ps_str found = ps_strpool_find(&x->ids, ps_buf_str(&x->id), x->id.len);
    for (uint32_t again = 2; is_lane && !ps_str_is_none(found) && ps_buf_ok(&x->id); again++) {
        x->id.len = plain;
        ps_buf_addf(&x->id, "#%u", again);
        found = ps_strpool_find(&x->ids, ps_buf_str(&x->id), x->id.len);
    }
    x->failed = x->failed || !ps_buf_ok(&x->id) || !ps_buf_ok(&x->name);
    if (!ps_str_is_none(found) && !x->failed) {
        row = found.id - 1;
    } else if (!x->failed) {
        ps_str id = ps_strpool_add(&x->ids, ps_buf_str(&x->id), x->id.len);
        char *name = ps_arena_strndup(&x->lanes->arena, ps_buf_str(&x->name), x->name.len);
        char *own_id = ps_arena_strndup(&x->lanes->arena, ps_buf_str(&x->id), x->id.len);
        if (ps_str_is_none(id) || name == NULL || own_id == NULL ||
            !ps_grow(&x->drafts, &x->cap_drafts, x->n_drafts + 1, PS_NONE - 1, sizeof *x->drafts)) {
            x->failed = true;
        } else {
            row = (uint32_t)x->n_drafts++;
            x->drafts[row] = (draft){.node = {.id = own_id,
                                              .name = name,
                                              .kind = kind,
                                              .lane = PS_NONE,
                                              .track = PS_NONE,
                                              .parent = parent,
                                              .device = -1,
                                              .unit = ""},
                                     .order = order};
        }
    }
    ps_buf_clear(&x->id);
    ps_buf_clear(&x->name);
    return row;
}

static const char *id_of(const tree *x, uint32_t row) {
    return row == PS_NONE ? "" : x->drafts[row].node.id;
}

/* A group below another one, by the last part of its id. */
static uint32_t put_group(tree *x, uint32_t parent, const char *key, const char *name,
                          int64_t order) {
    ps_buf_addf(&x->id, "%s/%s", id_of(x, parent), key);
    ps_buf_add_str(&x->name, name);
    uint32_t row = put_draft(x, parent, PS_NODE_GROUP, false, order);
    if (row != PS_NONE && parent != PS_NONE) {
        x->drafts[row].node.device = x->drafts[parent].node.device;
    }
    return row;
}

/* --- who a number belongs to ---------------------------------------------------------------------------- */

static owner *owner_of(tree *x, int64_t pid) {
    return &x->owners[ps_idmap_get(&x->owner_rows, (uint64_t)pid)];
}

static bool add_owner(tree *x, const ps_track *track) {
    uint32_t row = ps_idmap_get(&x->owner_rows, (uint64_t)track->pid);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)x->n_owners;
        if (!ps_grow(&x->owners, &x->cap_owners, x->n_owners + 1, PS_NONE - 1, sizeof *x->owners) ||
            !ps_idmap_put(&x->owner_rows, (uint64_t)track->pid, row)) {
            return false;
        }
        x->owners[x->n_owners++] = (owner){.pid = track->pid,
                                           .process = ps_trace_process(x->t, track->pid),
                                           .node = PS_NONE,
                                           .ordinal = -1,
                                           .device = -1};
    }
    owner *o = &x->owners[row];
    bool is_thread = track->kind == PS_TRACK_HOST_THREAD;
    o->has_threads = o->has_threads || is_thread;
    o->has_devices = o->has_devices || (!is_thread && track->device >= 0);
    o->is_real = o->is_real || (is_thread && track->tid == track->pid);
    o->device = !is_thread && o->device < 0 ? track->device : o->device;
    return true;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool list_devices(tree *x) {
    x->devices = ps_calloc(x->n_tracks + 1, sizeof *x->devices);
    if (x->devices == NULL) {
        return false;
    }
    for (size_t i = 0; i < x->n_tracks; i++) {
        if (x->tracks[i].device >= 0) {
            x->devices[x->n_devices++] = x->tracks[i].device;
        }
    }
    if (x->n_devices > 1) {
        qsort(x->devices, x->n_devices, sizeof *x->devices, by_number);
    }
    size_t n = 0;
    for (size_t i = 0; i < x->n_devices; i++) {
        if (n == 0 || x->devices[n - 1] != x->devices[i]) {
            x->devices[n++] = x->devices[i];
        }
    }
    x->n_devices = n;
    return true;
}

/* Devices are counted, since rank 5 may well work on device 5. */
static void add_device_key(tree *x, int64_t device) {
    const int64_t *found = x->n_devices == 0 ? NULL
                                             : bsearch(&device, x->devices, x->n_devices,
                                                       sizeof *x->devices, by_number);
    if (found == NULL) {
        ps_buf_add_str(&x->id, "device/none");
    } else {
        ps_buf_addf(&x->id, "device/%zu", (size_t)(found - x->devices));
    }
}

static int64_t order_of(const owner *o) {
    return o->process != NULL ? o->process->order : PS_NO_ORDER;
}

static bool is_made_up(const owner *o) {
    return !o->has_threads || (o->process != NULL && o->process->pid_is_text);
}

static int by_shown(const void *a, const void *b) {
    const owner *x = *(owner *const *)a;
    const owner *y = *(owner *const *)b;
    if (is_made_up(x) != is_made_up(y)) {
        return is_made_up(x) ? 1 : -1;
    }
    int64_t p = order_of(x);
    int64_t q = order_of(y);
    return p != q ? (p < q ? -1 : 1) : by_number(&x->pid, &y->pid);
}

/* Processes that have threads, counted; a name without digits (Python, CANN) tells more than the count. */
static bool count_processes(tree *x) {
    owner **list = ps_calloc(x->n_owners + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list != NULL && i < x->n_owners; i++) {
        list[n++] = &x->owners[i];
    }
    if (n > 1) {
        qsort(list, n, sizeof *list, by_shown);
    }
    int64_t next = 0;
    for (size_t i = 0; i < n; i++) {
        list[i]->ordinal = list[i]->has_threads || !list[i]->has_devices ? next++ : -1;
    }
    ps_free(list);
    return list != NULL;
}

/* --- groups --------------------------------------------------------------------------------------------- */

/* The process that a device has in the file, under the id of what it holds. */
static uint32_t device_process(tree *x, owner *o, const char *key) {
    if (o->node != PS_NONE) {
        return o->node;
    }
    add_device_key(x, o->device);
    ps_buf_addf(&x->id, "/%s", key);
    if (strcmp(key, "counters") == 0) { /* there is one for each kind of counter */
        ps_buf_add_str(&x->id, "/");
        ps_key_text(ps_trace_text(x->t, o->process->name), &x->id);
    }
    ps_name_process(x->t, o->process, o->pid, false, &x->name);
    o->node = put_draft(x, PS_NONE, PS_NODE_GROUP, true, order_of(o));
    if (o->node != PS_NONE) {
        draft_at(x, o->node)->next = TOP_DEVICE;
        draft_at(x, o->node)->node.device = o->device;
    }
    return o->node;
}

/* The process of a host thread, or of lanes that belong to no device. */
static uint32_t host_group(tree *x, int64_t pid) {
    owner *o = owner_of(x, pid);
    if (o->node != PS_NONE || (o->has_devices && !o->has_threads)) {
        return device_process(x, o, "hardware");
    }
    uint32_t parent = PS_NONE;
    if (x->parts->calls_apart && o->process == NULL) {
        ps_buf_add_str(&x->id, "host");
        ps_buf_add_str(&x->name, "Host");
        parent = put_draft(x, PS_NONE, PS_NODE_GROUP, false, PS_NO_ORDER);
    }
    const char *name = o->process != NULL ? ps_trace_text(x->t, o->process->name) : "";
    if (x->parts->is_ascend && name[0] != '\0' && strpbrk(name, "0123456789") == NULL) {
        ps_buf_add_str(&x->id, "host/");
        ps_key_text(name, &x->id);
    } else {
        ps_buf_addf(&x->id, "host/%lld", (long long)o->ordinal);
    }
    ps_name_process(x->t, o->process, pid, o->is_real, &x->name);
    /* Two processes may have one name; their groups are apart all the same. */
    uint32_t row = put_draft(x, parent, PS_NODE_GROUP, true, order_of(o));
    if (row != PS_NONE) {
        draft_at(x, row)->next = o->has_threads ? TOP_HOST : TOP_OTHER;
    }
    o->node = row;
    return row;
}

static uint32_t device_top(tree *x, int64_t device) {
    const char *word = x->parts->is_ascend ? "NPU" : x->parts->has_kernels ? "GPU" : "Device";
    add_device_key(x, device);
    ps_buf_add_str(&x->name, device < 0 ? "Device" : word);
    if (device >= 0) {
        ps_buf_addf(&x->name, " %lld", (long long)device);
    }
    uint32_t row = put_draft(x, PS_NONE, PS_NODE_GROUP, false, PS_NO_ORDER);
    if (row != PS_NONE) {
        draft_at(x, row)->next = TOP_DEVICE;
        draft_at(x, row)->node.device = device;
    }
    return row;
}

/* What of a device a track belongs to. */
static uint32_t device_group(tree *x, const ps_track *track, int what) {
    static const char *const KEYS[] = {"hardware", "comm", "overlap", "derived", "counters"};
    static const char *const NAMES[] = {"Ascend Hardware", "Communication", "Overlap Analysis",
                                        "Derived", "Counters"};
    owner *o = owner_of(x, track->pid);
    bool is_named = o->process != NULL && !ps_str_is_none(o->process->name);
    if (is_named && !o->has_threads && o->device == track->device) {
        return device_process(x, o, KEYS[what]);
    }
    uint32_t top = device_top(x, track->device);
    bool is_direct = (what == IN_HARDWARE && !x->parts->is_ascend) || what == IN_DERIVED;
    if (top == PS_NONE || is_direct) {
        return top;
    }
    uint32_t row = put_group(x, top, KEYS[what], NAMES[what], PS_NO_ORDER);
    if (row != PS_NONE) {
        draft_at(x, row)->next = what;
    }
    return row;
}

/* --- lanes ---------------------------------------------------------------------------------------------- */

/* A lane with what stands in x->id and x->name. */
static uint32_t put_lane(tree *x, uint32_t parent, ps_node_kind kind, int64_t order,
                         uint32_t part) {
    uint32_t row = put_draft(x, parent, kind, true, order);
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
static uint32_t thread_group(tree *x, uint32_t row) {
    if (x->threads[row] != PS_NONE) {
        return x->threads[row];
    }
    const ps_track *track = &x->tracks[row];
    uint32_t parent = host_group(x, track->pid);
    owner *o = owner_of(x, track->pid);
    ps_buf_addf(&x->id, "%s/", id_of(x, parent));
    size_t before = x->id.len;
    ps_key_thread(x->t, track, x->parts->roles[row], &x->id);
    if (x->id.len == before) {
        ps_buf_addf(&x->id, "thread %u", o->n_plain++);
    }
    ps_name_thread(x->t, track, x->parts->roles[row], &x->name);
    x->threads[row] = put_draft(x, parent, PS_NODE_GROUP, true, track_order(track));
    return x->threads[row];
}

/* "PyTorch" beside lanes of its calls; else by what is in it. */
static const char *ops_name(const tree *x, const ps_part_lane *p) {
    if (x->parts->calls_apart) {
        return "PyTorch";
    }
    return !p->has_calls ? "Operators" : p->has_others ? "Operators, calls" : "Calls";
}

static void place_api(tree *x, uint32_t parent, uint32_t part) {
    static const char *const ORDER[] = {"acl", "model", "node", "hccl", "communication", "runtime"};
    const char *api = ps_trace_text(x->t, x->parts->at[part].text);
    int64_t order = 0;
    while (order < 6 && strcmp(ORDER[order], api) != 0) {
        order++;
    }
    if (api[0] == '\0') { /* calls of the operating system */
        ps_buf_addf(&x->id, "%s/os", id_of(x, parent));
        ps_buf_add_str(&x->name, "OS Runtime API");
        (void)put_lane(x, parent, PS_NODE_HOST, PS_PART_GC, part);
        return;
    }
    uint32_t group = put_group(x, parent, "calls", "CANN", PS_PART_API);
    ps_buf_addf(&x->id, "%s/", id_of(x, group));
    ps_key_text(api, &x->id);
    ps_buf_add_str(&x->name, api);
    (void)put_lane(x, group, PS_NODE_HOST, order, part);
}

static void place_marks(tree *x, uint32_t parent, uint32_t part) {
    const char *domain = ps_trace_text(x->t, x->parts->at[part].text);
    const char *family = x->parts->is_ascend ? "MSTX" : "NVTX";
    bool is_lone = domain[0] == '\0' && !x->parts->calls_apart;
    uint32_t group = is_lone ? parent : put_group(x, parent, "marks", family, PS_PART_MARKS);
    ps_buf_addf(&x->id, "%s/", id_of(x, parent));
    ps_buf_add_str(&x->id, "marks/");
    ps_key_text(domain, &x->id);
    ps_buf_add_str(&x->name, is_lone ? family : domain[0] == '\0' ? "default" : domain);
    (void)put_lane(x, group, PS_NODE_MARKS, PS_PART_MARKS, part);
}

static void place_host(tree *x, uint32_t part) {
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
        ps_buf_addf(&x->id, "%s/python", id_of(x, parent));
        ps_buf_add_str(&x->name, "Python Stack");
        (void)put_lane(x, parent, PS_NODE_PYTHON, p->part, part);
        return;
    case PS_PART_GC:
        ps_buf_addf(&x->id, "%s/gc", id_of(x, parent));
        ps_buf_add_str(&x->name, "Python GC");
        (void)put_lane(x, parent, PS_NODE_HOST, p->part, part);
        return;
    default:
        ps_buf_addf(&x->id, "%s/ops", id_of(x, parent));
        ps_buf_add_str(&x->name, ops_name(x, p));
        (void)put_lane(x, parent, PS_NODE_HOST, PS_PART_OPS, part);
    }
}

static uint64_t stream_key(int64_t pid, int64_t tid) {
    return ps_hash_u64((uint64_t)pid * 0x9E3779B97F4A7C15u ^ ps_hash_u64((uint64_t)tid));
}

/* The plain stream with this number, or NULL. */
static const ps_track *stream_of(const tree *x, int64_t pid, int64_t tid) {
    uint32_t row = ps_idmap_get(&x->streams, stream_key(pid, tid));
    const ps_track *track = row != PS_IDMAP_NONE ? &x->tracks[row] : NULL;
    return track != NULL && track->pid == pid && track->tid == tid ? track : NULL;
}

static void place_stream(tree *x, uint32_t part) {
    const ps_part_lane *p = &x->parts->at[part];
    const ps_track *track = &x->tracks[p->track];
    const ps_track *plain = stream_of(x, track->pid, track->tid);
    plain = plain != NULL ? plain : track;
    uint32_t parent = device_group(x, track, IN_HARDWARE);
    bool is_marks = p->part == PS_PART_MARKS;
    const char *name = ps_trace_text(x->t, track->name);
    add_device_key(x, track->device);
    ps_buf_addf(&x->id, "/stream/%lld", (long long)track->tid);
    if (is_marks) {
        const char *domain = ps_trace_text(x->t, p->text);
        bool is_own = name[0] != '\0' && ps_trace_text(x->t, track->label)[0] != '\0';
        ps_name_stream(x->t, is_own ? track : plain, &x->name);
        ps_buf_add_str(&x->name, is_own ? "" : x->parts->is_ascend ? " MSTX" : " NVTX");
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
    uint32_t row =
        put_lane(x, parent, is_marks ? PS_NODE_MARKS : PS_NODE_DEVICE, track_order(plain), part);
    if (row != PS_NONE) {
        x->drafts[row].next = is_marks ? 0 : 1; /* marks above the stream that they are on */
    }
}

/* A communicator: a lane when it has operators, else a group over its planes. */
static uint32_t put_comm(tree *x, const ps_track *track, uint32_t part) {
    uint32_t parent = device_group(x, track, IN_COMM);
    const char *label = ps_trace_text(x->t, track->label);
    const char *name = ps_trace_text(x->t, track->name);
    bool is_comm = track->kind == PS_TRACK_COMM_GROUP;
    add_device_key(x, track->device);
    ps_buf_add_str(&x->id, "/comm/");
    ps_key_text(name, &x->id);
    bool says_group = strncmp(label, "Group ", 6) == 0;
    if (is_comm && says_group) {
        ps_buf_add_str(&x->name, label);
    } else {
        ps_buf_addf(&x->name, "Group %s Communication", is_comm && label[0] != '\0' ? label : name);
        uint32_t n = ps_idmap_get(&x->group_labels, track->label.id);
        if (is_comm && label[0] != '\0' && n != PS_IDMAP_NONE && n > 1) {
            ps_buf_addf(&x->name, " (%s)", name);
        }
    }
    int64_t order = is_comm || track->order == PS_NO_ORDER ? track->order : track->order - 1;
    return part == PS_NONE ? put_draft(x, parent, PS_NODE_GROUP, false, order)
                           : put_lane(x, parent, PS_NODE_COMM, order, part);
}

/* Planes come after all communicators. */
static void place_plane(tree *x, uint32_t part) {
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    uint32_t parent = put_comm(x, track, PS_NONE);
    ps_buf_addf(&x->id, "%s/plane/%lld", id_of(x, parent), (long long)track->tid);
    const char *label = ps_trace_text(x->t, track->label);
    if (label[0] != '\0') {
        ps_buf_add_str(&x->name, label);
    } else {
        ps_buf_addf(&x->name, "Plane %lld", (long long)track->tid);
    }
    (void)put_lane(x, parent, PS_NODE_PLANE, track_order(track), part);
}

/* 0..3 of the lanes that profilers compute of a step's time, 4 of others. */
static int overlap_of(const char *name) {
    static const char *const NAMES[] = {"Computing", "Communication",
                                        "Communication(Not Overlapped)", "Free"};
    int i = 0;
    while (i < 4 && strcmp(name, NAMES[i]) != 0) {
        i++;
    }
    return i;
}

static void place_derived(tree *x, uint32_t part) {
    static const char *const KEYS[] = {"computing", "communication", "exposed", "free"};
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    const char *name = ps_trace_text(x->t, track->name);
    const char *label = ps_trace_text(x->t, track->label);
    int overlap = track->device >= 0 ? overlap_of(name) : 4;
    const ps_track *stream = track->tid >= 0 ? stream_of(x, track->pid, track->tid) : NULL;
    if (overlap < 4) {
        uint32_t parent = device_group(x, track, IN_OVERLAP);
        add_device_key(x, track->device);
        ps_buf_addf(&x->id, "/overlap/%s", KEYS[overlap]);
        ps_buf_add_str(&x->name, name);
        (void)put_lane(x, parent, PS_NODE_OVERLAP, overlap, part);
        return;
    }
    if (stream != NULL) { /* ranges of the host, as the profiler projected them on a stream */
        uint32_t parent = device_group(x, stream, IN_HARDWARE);
        add_device_key(x, stream->device);
        ps_buf_addf(&x->id, "/stream/%lld/ranges/", (long long)track->tid);
        ps_key_text(name, &x->id);
        ps_name_stream(x->t, stream, &x->name);
        ps_buf_addf(&x->name, " %s",
                    strcmp(name, "gpu_user_annotation") == 0 ? "annotations" : name);
        uint32_t row = put_lane(x, parent, PS_NODE_OTHER, track_order(stream), part);
        if (row != PS_NONE) {
            x->drafts[row].node.device = stream->device;
        }
        return;
    }
    uint32_t parent =
        track->device >= 0 ? device_group(x, track, IN_DERIVED) : host_group(x, track->pid);
    ps_buf_addf(&x->id, "%s/derived/", id_of(x, parent));
    ps_key_text(name, &x->id);
    ps_buf_add_str(&x->name, label[0] != '\0' ? label : name[0] != '\0' ? name : "Derived");
    uint32_t row = put_lane(x, parent, PS_NODE_OTHER, track->order, part);
    if (row != PS_NONE) {
        x->drafts[row].next = IN_DERIVED;
    }
}

static uint64_t family_key(const ps_track *track, const char *name) {
    return ps_hash64(name, ps_counter_family(name)) ^ stream_key(track->pid, track->device);
}

/* Counters that share a family ("HBM 0/Read", "HBM 1/Read") stand in a group, where no process of the file is theirs. */
static void place_counter(tree *x, uint32_t part) {
    const ps_track *track = &x->tracks[x->parts->at[part].track];
    const char *name = ps_trace_text(x->t, track->name);
    uint32_t parent =
        track->device >= 0 ? device_group(x, track, IN_COUNTERS) : host_group(x, track->pid);
    size_t n = ps_counter_family(name);
    uint32_t n_like = ps_idmap_get(&x->families, family_key(track, name));
    const char *own = name;
    bool is_apart = parent != PS_NONE && parent == owner_of(x, track->pid)->node;
    if (parent != PS_NONE && !is_apart && n > 0 && n_like != PS_IDMAP_NONE && n_like > 1) {
        ps_buf_addf(&x->id, "%s/", id_of(x, parent));
        ps_buf_add(&x->id, name, n);
        ps_buf_add(&x->name, name, n);
        int64_t device = x->drafts[parent].node.device;
        parent = put_draft(x, parent, PS_NODE_GROUP, false, PS_NO_ORDER);
        if (parent != PS_NONE) {
            x->drafts[parent].node.device = device;
            x->drafts[parent].next = IN_COUNTERS;
        }
        own = name[n] == '/' && name[n + 1] != '\0' ? name + n + 1 : name;
    }
    if (track->device >= 0) {
        add_device_key(x, track->device);
    } else {
        ps_buf_add_str(&x->id, id_of(x, host_group(x, track->pid)));
    }
    ps_buf_addf(&x->id, "/counter/%s", name);
    ps_buf_add_str(&x->name, own[0] != '\0' ? own : "Counter");
    uint32_t row = put_lane(x, parent, PS_NODE_COUNTER, track->order, part);
    if (row != PS_NONE) {
        x->drafts[row].next = IN_COUNTERS;
    }
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static bool count_up(ps_idmap *map, uint64_t key) {
    uint32_t n = ps_idmap_get(map, key);
    return ps_idmap_put(map, key, n == PS_IDMAP_NONE ? 1 : n + 1);
}

/* The threads of one process are shown below two where a file names the driver's side apart: one thread, one role. */
static bool share_roles(tree *x) {
    ps_idmap roles;
    ps_idmap_init(&roles);
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

static bool index_tracks(tree *x) {
    bool ok = list_devices(x);
    for (uint32_t i = 0; ok && i < x->n_tracks; i++) {
        const ps_track *track = &x->tracks[i];
        const char *name = ps_trace_text(x->t, track->name);
        x->threads[i] = PS_NONE;
        ok = add_owner(x, track);
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
    return ok && count_processes(x);
}

/* Threads by their order, so that those without a name are counted alike in every rank. */
typedef struct thread_turn {
    int64_t pid, order;
    uint32_t row;
} thread_turn;

static int by_turn(const void *a, const void *b) {
    const thread_turn *x = a;
    const thread_turn *y = b;
    int by = by_number(&x->pid, &y->pid);
    by = by != 0 ? by : by_number(&x->order, &y->order);
    return by != 0 ? by : (x->row > y->row) - (x->row < y->row);
}

static bool place_threads(tree *x) {
    thread_turn *turns = ps_calloc(x->n_tracks + 1, sizeof *turns);
    size_t n = 0;
    for (uint32_t i = 0; turns != NULL && i < x->n_tracks; i++) {
        if (x->tracks[i].kind == PS_TRACK_HOST_THREAD && x->n_parts[i] > 0) {
            turns[n++] = (thread_turn){x->tracks[i].pid, track_order(&x->tracks[i]), i};
        }
    }
    if (n > 1) {
        qsort(turns, n, sizeof *turns, by_turn);
    }
    for (size_t i = 0; i < n; i++) {
        (void)thread_group(x, turns[i].row);
    }
    ps_free(turns);
    return turns != NULL && !x->failed;
}

static void place(tree *x, uint32_t part) {
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

static bool place_all(tree *x) {
    for (uint32_t i = 0; i < x->parts->n && !x->failed; i++) {
        place(x, i);
    }
    for (uint32_t i = 0; i < x->parts->n && !x->failed; i++) {
        if (x->tracks[x->parts->at[i].track].kind == PS_TRACK_COMM_PLANE) {
            place_plane(x, i);
        }
    }
    return !x->failed;
}

/* --- the finished tree ---------------------------------------------------------------------------------- */

/* A thread with one lane is that lane, but where all threads show which kinds of lanes they have. */
static bool fold_threads(tree *x) {
    for (size_t i = 0; i < x->n_drafts && !x->parts->calls_apart && !x->failed; i++) {
        draft *d = &x->drafts[i];
        uint32_t track = d->node.track;
        if (d->node.lane == PS_NONE || x->n_parts[track] != 1 || d->node.parent == PS_NONE ||
            d->node.parent != x->threads[track]) {
            continue;
        }
        draft *thread = &x->drafts[d->node.parent];
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
    const draft *d;
    uint32_t row;
} turn;

static int by_siblings(const void *a, const void *b) {
    const draft *x = ((const turn *)a)->d;
    const draft *y = ((const turn *)b)->d;
    if (x->node.parent != y->node.parent) {
        return x->node.parent < y->node.parent ? -1 : 1;
    }
    int by = by_number(&x->order, &y->order);
    by = by != 0 ? by : by_number(&x->next, &y->next);
    by = by != 0 ? by : ps_compare_natural(x->node.name, y->node.name);
    return by != 0 ? by : strcmp(x->node.id, y->node.id);
}

/* The first turn below a parent. */
static size_t first_below(const turn *turns, size_t n, uint32_t parent) {
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (turns[middle].d->node.parent < parent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Adds what is below `parent` (a draft), which stands at `at` of the list. The tree is six levels deep at most. */
static void hand_out(tree *x, const turn *turns, size_t n, uint32_t parent, uint32_t at,
                     uint32_t *lane_of_part) {
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
        hand_out(x, turns, n, turns[i].row, node, lane_of_part);
    }
}

static bool finish(tree *x, uint32_t *lane_of) {
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
        hand_out(x, turns, n, PS_NONE, PS_NONE, lane_of_part);
        uint32_t n_slices = ps_trace_slices(x->t)->n;
        for (uint32_t i = 0; i < n_slices; i++) {
            lane_of[i] = lane_of_part[lane_of[i]];
        }
    }
    ps_free(turns);
    return ok;
}

static void release(tree *x) {
    ps_idmap_fini(&x->owner_rows);
    ps_idmap_fini(&x->streams);
    ps_idmap_fini(&x->group_labels);
    ps_idmap_fini(&x->families);
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
    ps_arena_init(&lanes->arena);
    tree x = {.lanes = lanes, .t = trace};
    x.tracks = ps_trace_tracks(trace, &x.n_tracks);
    ps_idmap_init(&x.owner_rows);
    ps_idmap_init(&x.streams);
    ps_idmap_init(&x.group_labels);
    ps_idmap_init(&x.families);
    ps_buf_init(&x.id, 0);
    ps_buf_init(&x.name, 0);
    x.n_parts = ps_calloc(x.n_tracks + 1, sizeof *x.n_parts);
    x.threads = ps_calloc(x.n_tracks + 1, sizeof *x.threads);
    lanes->parts = x.parts = ps_calloc(1, sizeof *x.parts);
    bool ok = ps_strpool_init(&x.ids) && x.n_parts != NULL && x.threads != NULL &&
              x.parts != NULL && ps_lane_parts_init(x.parts, trace, lane_of) && share_roles(&x) &&
              index_tracks(&x) && place_threads(&x) && place_all(&x) && fold_threads(&x) &&
              finish(&x, lane_of);
    release(&x);
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

const char *ps_node_kind_name(ps_node_kind kind) {
    static const char *const NAMES[] = {"group", "host",  "python",  "marks", "device",
                                        "comm",  "plane", "overlap", "other", "counter"};
    return NAMES[kind];
}
