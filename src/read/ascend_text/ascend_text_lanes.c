/* What the lanes of trace_view.json are, once all of it was seen.
 *
 * The pid of every process but the host's own is built of (host pid << 10) | (layer << 5) | device. Names decide what a
 * process is; the layer does where the name is missing, which it is for CANN at level 0, and only when the upper part
 * is the pid of a process that is known otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/text.h"
#include "read/ascend_text/ascend_text.h"

#define PID_SHIFT 10
#define LAYER_SHIFT 5
#define LAYER_MASK 31

typedef enum process_role {
    ROLE_UNKNOWN,
    ROLE_HOST, /* host calls and ranges that are no framework's */
    ROLE_FRAMEWORK,
    ROLE_CANN,
    ROLE_HARDWARE,
    ROLE_COMM,
    ROLE_OVERLAP,
    ROLE_DEVICE /* anything else on a device: counters, and lanes that a profiler computed */
} process_role;

static const struct {
    const char *name;
    process_role role;
} NAMES[] = {
    {"Python", ROLE_FRAMEWORK},
    {"MindSpore", ROLE_FRAMEWORK},
    {"CANN", ROLE_CANN},
    {"Ascend Hardware", ROLE_HARDWARE},
    {"HCCL", ROLE_COMM},
    {"Communication", ROLE_COMM},
    {"Overlap Analysis", ROLE_OVERLAP},
    {"AI Core Freq", ROLE_DEVICE},
    {"HBM", ROLE_DEVICE},
    {"LLC", ROLE_DEVICE},
    {"DDR", ROLE_DEVICE},
    {"NPU MEM", ROLE_DEVICE},
    {"Stars Soc Info", ROLE_DEVICE},
    {"Acc PMU", ROLE_DEVICE},
    {"QoS", ROLE_DEVICE},
    {"NIC", ROLE_DEVICE},
    {"RoCE", ROLE_DEVICE},
    {"PCIe", ROLE_DEVICE},
    {"HCCS", ROLE_DEVICE},
    {"SIO", ROLE_DEVICE},
    {"AI Core Utilization", ROLE_DEVICE},
    {"Low Power", ROLE_DEVICE},
    {"UB", ROLE_DEVICE},
    {"CCU", ROLE_DEVICE},
    {"Block Detail", ROLE_DEVICE},
    {"Biu Perf", ROLE_DEVICE},
};

static const struct {
    int64_t layer;
    process_role role;
    const char *name; /* to give to a process that has none */
} LAYERS[] = {
    {7, ROLE_CANN, "CANN"},
    {13, ROLE_HARDWARE, "Ascend Hardware"},
    {14, ROLE_DEVICE, NULL},
    {15, ROLE_COMM, "Communication"},
    {17, ROLE_DEVICE, NULL},
    {18, ROLE_DEVICE, NULL},
    {19, ROLE_DEVICE, NULL},
    {20, ROLE_DEVICE, NULL},
    {21, ROLE_DEVICE, NULL},
    {22, ROLE_DEVICE, NULL},
    {23, ROLE_OVERLAP, "Overlap Analysis"},
};

/* A communicator's lane, in the order in which lanes are shown. */
typedef struct comm_lane {
    int64_t pid, tid, order;
    uint32_t track; /* PS_NONE: it has no slices */
    ps_str label;
    bool is_plane;
} comm_lane;

typedef struct settling {
    ps_ascend_text *r;
    ps_builder *b;
    ps_idmap host_pids;
    comm_lane *comm;
    size_t n_comm, cap_comm;
    uint8_t *has_tasks; /* by track: some slice says that it is a task of communication */
} settling;

static const char *ascend_lane_label_of(const ps_builder *b, const ps_track *t) {
    return ps_builder_text(b, t->label); /* "" for none */
}

/* --- processes --------------------------------------------------------------------------------------------- */

static process_role role_of_name(const settling *s, const ps_process *p) {
    if (p == NULL || ps_str_is_none(p->name)) {
        return ROLE_UNKNOWN;
    }
    const char *name = ps_builder_text(s->b, p->name);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(name, NAMES[i].name) == 0) {
            return NAMES[i].role;
        }
    }
    bool is_npu =
        !ps_str_is_none(p->labels) && ps_begins_with(ps_builder_text(s->b, p->labels), "NPU");
    return is_npu ? ROLE_DEVICE : ROLE_HOST;
}

static bool is_layered(process_role role) {
    return role == ROLE_CANN || role >= ROLE_HARDWARE;
}

static void note_host(settling *s, int64_t pid) {
    s->r->failed = s->r->failed || (pid > 0 && !ps_idmap_put(&s->host_pids, (uint64_t)pid, 1));
}

/* Host pids: those of frameworks, and those inside the pids of processes with a known name. */
static void find_hosts(settling *s) {
    size_t n = 0;
    const ps_process *processes = ps_builder_processes(s->b, &n);
    for (size_t i = 0; i < n; i++) {
        process_role role = role_of_name(s, &processes[i]);
        if (role == ROLE_FRAMEWORK) {
            note_host(s, processes[i].pid);
        } else if (is_layered(role)) {
            note_host(s, processes[i].pid >> PID_SHIFT);
        }
    }
}

static process_role role_of(settling *s, int64_t pid) {
    process_role named = role_of_name(s, ps_builder_process_of(s->b, pid));
    if (named != ROLE_UNKNOWN || pid < 0 ||
        ps_idmap_get(&s->host_pids, (uint64_t)(pid >> PID_SHIFT)) == PS_IDMAP_NONE) {
        return named;
    }
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++) {
        if ((pid >> LAYER_SHIFT & LAYER_MASK) != LAYERS[i].layer) {
            continue;
        }
        if (LAYERS[i].name != NULL) {
            ps_str name = ps_builder_str(s->b, LAYERS[i].name, strlen(LAYERS[i].name));
            ps_builder_process(s->b, (ps_process){.pid = pid, .name = name, .order = PS_NO_ORDER});
        }
        return LAYERS[i].role;
    }
    return ROLE_UNKNOWN;
}

/* --- lanes ------------------------------------------------------------------------------------------------- */

/* Gives a track its identity; where another lane has the same one, its own thread stays in the name of it. */
static void become(settling *s, uint32_t row, ps_track track, int64_t lane_tid) {
    if (ps_builder_retrack(s->b, row, track) || ps_builder_failed(s->b)) {
        return;
    }
    char text[320];
    (void)snprintf(text, sizeof text, "%.250s (thread %lld)",
                   ps_str_is_none(track.name) ? "" : ps_builder_text(s->b, track.name),
                   (long long)lane_tid);
    track.name = ps_builder_str(s->b, text, strlen(text));
    (void)ps_builder_retrack(s->b, row, track);
}

/* "Stream 7" and "Stream 7 MSTX domain 0" are two lanes of one stream. */
static void resolve_stream(settling *s, uint32_t row, ps_track t) {
    const char *label = ascend_lane_label_of(s->b, &t);
    int64_t stream = t.tid;
    const char *rest = "";
    if (ps_begins_with(label, "Stream ")) {
        const char *digits = label + strcspn(label, "0123456789");
        size_t n = strspn(digits, "0123456789");
        rest = digits + n + strspn(digits + n, " ");
        stream = ps_parse_i64(digits, n, &stream) ? stream : t.tid;
    }
    bool is_marks = strcasestr(label, "mstx") != NULL;
    ps_str name = is_marks ? ps_builder_str(s->b, rest, strlen(rest)) : PS_STR_NONE;
    become(s, row,
           (ps_track){.kind = PS_TRACK_STREAM,
                      .pid = t.pid,
                      .tid = stream,
                      .device = t.pid & PS_ASCEND_DEVICE_MASK,
                      .name = name},
           t.tid);
    s->r->lanes[row] = is_marks ? PS_LANE_MARKS : PS_LANE_STREAM;
}

static void resolve_derived(settling *s, uint32_t row, ps_track t, process_role role) {
    static const char *const OVERLAP[] = {"Computing", "Communication",
                                          "Communication(Not Overlapped)", "Free"};
    ps_track derived = {.kind = PS_TRACK_DERIVED,
                        .pid = t.pid,
                        .tid = -1,
                        .device = t.pid & PS_ASCEND_DEVICE_MASK,
                        .name = t.label};
    if (ps_str_is_none(derived.name) && role == ROLE_OVERLAP && t.tid >= 0 && t.tid < 4) {
        derived.name = ps_builder_str(s->b, OVERLAP[t.tid], strlen(OVERLAP[t.tid]));
    } else if (ps_str_is_none(derived.name)) {
        derived.tid = t.tid;
    }
    become(s, row, derived, t.tid);
    s->r->lanes[row] = PS_LANE_DERIVED;
}

static void resolve_track(settling *s, uint32_t row) {
    size_t n = 0;
    ps_track t = ps_builder_tracks(s->b, &n)[row];
    process_role role = role_of(s, t.pid);
    if (t.kind == PS_TRACK_COUNTER && is_layered(role) && role != ROLE_CANN) {
        ps_track counter = t;
        counter.device = t.pid & PS_ASCEND_DEVICE_MASK;
        become(s, row, counter, t.tid);
    }
    if (t.kind != PS_TRACK_HOST_THREAD) {
        return;
    }
    switch (role) {
    case ROLE_FRAMEWORK:
        s->r->lanes[row] = PS_LANE_FRAMEWORK;
        break;
    case ROLE_CANN:
        s->r->lanes[row] = PS_LANE_CANN;
        break;
    case ROLE_HARDWARE:
        resolve_stream(s, row, t);
        break;
    case ROLE_OVERLAP:
    case ROLE_DEVICE:
        resolve_derived(s, row, t, role);
        break;
    case ROLE_COMM:
    case ROLE_HOST:
    case ROLE_UNKNOWN:
        break;
    }
}

/* --- communicators ----------------------------------------------------------------------------------------- */

static bool is_plane_label(const char *label) {
    return ps_begins_with(label, "Plane");
}

static void add_comm_lane(settling *s, comm_lane lane) {
    if (!ps_grow(&s->comm, &s->cap_comm, s->n_comm + 1, PS_NONE - 2, sizeof *s->comm)) {
        s->r->failed = true;
        return;
    }
    s->comm[s->n_comm++] = lane;
}

/* A lane without a name is a plane when its slices say that they are tasks. */
static void find_task_lanes(settling *s) {
    const ps_slices *slices = ps_builder_slices(s->b);
    for (uint32_t i = 0; i < slices->n; i++) {
        bool is_task = slices->kind[i] == PS_SLICE_COMM_TASK;
        s->has_tasks[slices->track[i]] |= is_task;
    }
}

static void find_comm_lanes(settling *s) {
    size_t n = 0;
    (void)ps_builder_tracks(s->b, &n);
    for (uint32_t row = 0; row < n; row++) {
        ps_track t = ps_builder_tracks(s->b, &n)[row];
        if (t.kind == PS_TRACK_HOST_THREAD && role_of(s, t.pid) == ROLE_COMM) {
            const char *label = ascend_lane_label_of(s->b, &t);
            bool is_plane = label[0] != '\0' ? is_plane_label(label) : s->has_tasks[row] != 0;
            add_comm_lane(s, (comm_lane){.pid = t.pid,
                                         .tid = t.tid,
                                         .order = t.order != PS_NO_ORDER ? t.order : t.tid,
                                         .track = row,
                                         .label = t.label,
                                         .is_plane = is_plane});
        }
    }
    for (size_t i = 0; i < s->r->n_named; i++) {
        const ps_ascend_named_lane *l = &s->r->named[i];
        bool is_group = !ps_str_is_none(l->name) && !is_plane_label(ps_builder_text(s->b, l->name));
        if (is_group && role_of(s, l->pid) == ROLE_COMM) {
            add_comm_lane(s, (comm_lane){.pid = l->pid,
                                         .tid = l->tid,
                                         .order = l->order != PS_NO_ORDER ? l->order : l->tid,
                                         .track = PS_NONE,
                                         .label = l->name});
        }
    }
}

/* The lane with slices before its own metadata. */
PS_COMPARE(compare_comm, comm_lane, PS_BY(pid) PS_BY(order) PS_BY(tid) PS_BY(track))

/* "Group 0 Communication" is the group "0". */
static ps_str group_name(const settling *s, const comm_lane *lane) {
    static const char HEAD[] = "Group ";
    static const char TAIL[] = " Communication";
    if (ps_str_is_none(lane->label)) {
        return PS_STR_NONE;
    }
    const char *label = ps_builder_text(s->b, lane->label);
    size_t n = strlen(label);
    size_t head = ps_begins_with(label, HEAD) ? sizeof HEAD - 1 : 0;
    size_t tail = ps_ends_with(label, TAIL) ? sizeof TAIL - 1 : 0;
    return n > head + tail ? ps_builder_str(s->b, label + head, n - head - tail) : lane->label;
}

/* "Plane 3" */
static int64_t plane_number(const settling *s, const comm_lane *lane) {
    const char *label = ps_str_is_none(lane->label) ? "" : ps_builder_text(s->b, lane->label);
    const char *digits = label + strcspn(label, "0123456789");
    int64_t plane = 0;
    return ps_parse_i64(digits, strspn(digits, "0123456789"), &plane) ? plane : lane->tid;
}

static void resolve_comm(settling *s) {
    find_comm_lanes(s);
    ps_sort(s->comm, s->n_comm, sizeof *s->comm, compare_comm);
    ps_str group = PS_STR_NONE;
    for (size_t i = 0; i < s->n_comm && !ps_builder_failed(s->b); i++) {
        const comm_lane *lane = &s->comm[i];
        if (i == 0 || lane->pid != s->comm[i - 1].pid) {
            group = PS_STR_NONE;
        }
        group = lane->is_plane ? group : group_name(s, lane);
        if (lane->track == PS_NONE) {
            continue;
        }
        ps_track track = {.kind = lane->is_plane ? PS_TRACK_COMM_PLANE : PS_TRACK_COMM_GROUP,
                          .pid = lane->pid,
                          .tid = lane->is_plane ? plane_number(s, lane) : -1,
                          .device = lane->pid & PS_ASCEND_DEVICE_MASK,
                          .name = group};
        become(s, lane->track, track, lane->tid);
        s->r->lanes[lane->track] = lane->is_plane ? PS_LANE_PLANE : PS_LANE_GROUP;
    }
}

/* --- kinds ------------------------------------------------------------------------------------------------- */

static ps_slice_kind resolve_kind(const settling *s, ps_ascend_lane lane, ps_slice_kind kind,
                                  uint32_t slice) {
    bool is_plain = kind == PS_SLICE_HOST_OTHER;
    switch (lane) {
    case PS_LANE_FRAMEWORK: /* MindSpore gives no categories */
        return is_plain ? PS_SLICE_HOST_OP : kind;
    case PS_LANE_CANN:
        return is_plain ? PS_SLICE_CALL : kind;
    case PS_LANE_STREAM: {
        bool is_task = kind >= PS_SLICE_KERNEL && kind != PS_SLICE_COMM_TASK;
        ps_str name = ps_builder_slice_name(s->b, slice);
        return is_task ? kind : ps_ascend_task_kind(NULL, ps_builder_text(s->b, name));
    }
    case PS_LANE_MARKS:
        return PS_SLICE_MARK_DEVICE;
    case PS_LANE_GROUP:
        return PS_SLICE_COMM_OP;
    case PS_LANE_PLANE:
        return PS_SLICE_COMM_TASK;
    case PS_LANE_DERIVED:
        return PS_SLICE_DERIVED;
    case PS_LANE_OTHER:
        break;
    }
    return kind;
}

static void resolve_kinds(settling *s) {
    const ps_slices *slices = ps_builder_slices(s->b);
    uint32_t has = 0;
    for (uint32_t i = 0; i < slices->n; i++) {
        ps_ascend_lane lane = (ps_ascend_lane)s->r->lanes[slices->track[i]];
        ps_slice_kind kind = (ps_slice_kind)slices->kind[i];
        if (kind != PS_SLICE_INSTANT) {
            kind = resolve_kind(s, lane, kind, i);
            ps_builder_set_slice_kind(s->b, i, kind);
        }
        has |= kind == PS_SLICE_COMM_OP                                     ? PS_HAS_COMM_OPS
               : kind == PS_SLICE_COMM_TASK                                 ? PS_HAS_COMM_TASKS
               : kind == PS_SLICE_MARK_HOST || kind == PS_SLICE_MARK_DEVICE ? PS_HAS_MARKS
                                                                            : 0;
    }
    ps_builder_has(s->b, has);
}

void ps_ascend_text_settle(ps_ascend_text *r) {
    settling s = {.r = r, .b = r->builder};
    size_t n = 0;
    (void)ps_builder_tracks(r->builder, &n);
    r->lanes = ps_calloc(n, sizeof *r->lanes);
    r->n_lanes = n;
    s.has_tasks = ps_calloc(n, sizeof *s.has_tasks);
    if (r->lanes == NULL || s.has_tasks == NULL) {
        r->failed = true;
    } else {
        find_hosts(&s);
        find_task_lanes(&s);
        for (uint32_t row = 0; row < n && !ps_builder_failed(r->builder); row++) {
            resolve_track(&s, row);
        }
        resolve_comm(&s);
        resolve_kinds(&s);
    }
    ps_free(s.comm);
    ps_free(s.has_tasks);
    ps_idmap_fini(&s.host_pids);
}

bool ps_ascend_text_has_groups(const ps_ascend_text *r) {
    for (size_t i = 0; i < r->n_lanes; i++) {
        if (r->lanes[i] == PS_LANE_GROUP) {
            return true;
        }
    }
    return false;
}
