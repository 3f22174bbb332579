#include "serve/rank/lanes_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

/* --- drafts --------------------------------------------------------------------------------------------- */

ps_draft *ps_tree_at(ps_lane_tree *x, uint32_t row) {
    return &x->drafts[row];
}

/* Makes the id in x->id one that nobody has: "a#2". Thousands of threads may have one name, so it goes on where it ended for
 * the one before. */
static ps_str part_from_others(ps_lane_tree *x, ps_str taken) {
    size_t plain = x->id.len;
    uint32_t again = ps_idmap_get(&x->repeats, taken.id);
    again = again == PS_IDMAP_NONE ? 2 : again;
    ps_str found = taken;
    for (; !ps_str_is_none(found) && ps_buf_ok(&x->id); again++) {
        x->id.len = plain;
        ps_buf_addf(&x->id, "#%u", again);
        found = ps_strpool_find(&x->ids, ps_buf_str(&x->id), x->id.len);
    }
    x->failed = x->failed || !ps_idmap_put(&x->repeats, taken.id, again);
    return found;
}

uint32_t ps_tree_put(ps_lane_tree *x, uint32_t parent, ps_node_kind kind, bool is_new,
                     int64_t order) {
    uint32_t row = PS_NONE;
    ps_str found = ps_strpool_find(&x->ids, ps_buf_str(&x->id), x->id.len);
    if (is_new && !ps_str_is_none(found)) {
        found = part_from_others(x, found);
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
            x->drafts[row] = (ps_draft){.node = {.id = own_id,
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

const char *ps_tree_id(const ps_lane_tree *x, uint32_t row) {
    return row == PS_NONE ? "" : x->drafts[row].node.id;
}

uint32_t ps_tree_group(ps_lane_tree *x, uint32_t parent, const char *key, const char *name,
                       int64_t order) {
    ps_buf_addf(&x->id, "%s/%s", ps_tree_id(x, parent), key);
    ps_buf_add_str(&x->name, name);
    uint32_t row = ps_tree_put(x, parent, PS_NODE_GROUP, false, order);
    if (row != PS_NONE && parent != PS_NONE) {
        x->drafts[row].node.device = x->drafts[parent].node.device;
    }
    return row;
}

/* --- who a number belongs to ---------------------------------------------------------------------------- */

ps_lane_owner *ps_tree_owner(ps_lane_tree *x, int64_t pid) {
    return &x->owners[ps_idmap_get(&x->owner_rows, (uint64_t)pid)];
}

bool ps_tree_add_owner(ps_lane_tree *x, const ps_track *track) {
    uint32_t row = ps_idmap_get(&x->owner_rows, (uint64_t)track->pid);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)x->n_owners;
        if (!ps_grow(&x->owners, &x->cap_owners, x->n_owners + 1, PS_NONE - 1, sizeof *x->owners) ||
            !ps_idmap_put(&x->owner_rows, (uint64_t)track->pid, row)) {
            return false;
        }
        x->owners[x->n_owners++] = (ps_lane_owner){.pid = track->pid,
                                                   .process = ps_trace_process(x->t, track->pid),
                                                   .node = PS_NONE,
                                                   .ordinal = -1,
                                                   .device = -1};
    }
    ps_lane_owner *o = &x->owners[row];
    bool is_thread = track->kind == PS_TRACK_HOST_THREAD;
    o->has_threads = o->has_threads || is_thread;
    o->has_devices = o->has_devices || (!is_thread && track->device >= 0);
    o->is_real = o->is_real || (is_thread && track->tid == track->pid);
    o->device = !is_thread && o->device < 0 ? track->device : o->device;
    return true;
}

bool ps_tree_list_devices(ps_lane_tree *x) {
    x->devices = ps_calloc(x->n_tracks + 1, sizeof *x->devices);
    if (x->devices == NULL) {
        return false;
    }
    for (size_t i = 0; i < x->n_tracks; i++) {
        if (x->tracks[i].device >= 0) {
            x->devices[x->n_devices++] = x->tracks[i].device;
        }
    }
    ps_sort(x->devices, x->n_devices, sizeof *x->devices, ps_compare_i64);
    size_t n = 0;
    for (size_t i = 0; i < x->n_devices; i++) {
        if (n == 0 || x->devices[n - 1] != x->devices[i]) {
            x->devices[n++] = x->devices[i];
        }
    }
    x->n_devices = n;
    return true;
}

void ps_tree_device_key(ps_lane_tree *x, int64_t device) {
    const int64_t *found = x->n_devices == 0 ? NULL
                                             : bsearch(&device, x->devices, x->n_devices,
                                                       sizeof *x->devices, ps_compare_i64);
    if (found == NULL) {
        ps_buf_add_str(&x->id, "device/none");
    } else {
        ps_buf_addf(&x->id, "device/%zu", (size_t)(found - x->devices));
    }
}

static int64_t lane_draft_order_of(const ps_lane_owner *o) {
    return o->process != NULL ? o->process->order : PS_NO_ORDER;
}

static bool is_made_up(const ps_lane_owner *o) {
    return !o->has_threads || (o->process != NULL && o->process->pid_is_text);
}

static int by_shown(const void *a, const void *b) {
    const ps_lane_owner *x = *(ps_lane_owner *const *)a;
    const ps_lane_owner *y = *(ps_lane_owner *const *)b;
    if (is_made_up(x) != is_made_up(y)) {
        return is_made_up(x) ? 1 : -1;
    }
    int64_t p = lane_draft_order_of(x);
    int64_t q = lane_draft_order_of(y);
    return p != q ? (p < q ? -1 : 1) : ps_compare_i64(&x->pid, &y->pid);
}

/* Processes that have threads, counted; a name without digits (Python, CANN) tells more than the count. */
bool ps_tree_count_processes(ps_lane_tree *x) {
    ps_lane_owner **list = ps_calloc(x->n_owners + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list != NULL && i < x->n_owners; i++) {
        list[n++] = &x->owners[i];
    }
    ps_sort(list, n, sizeof *list, by_shown);
    int64_t next = 0;
    for (size_t i = 0; i < n; i++) {
        list[i]->ordinal = list[i]->has_threads || !list[i]->has_devices ? next++ : -1;
    }
    ps_free(list);
    return list != NULL;
}

/* --- groups --------------------------------------------------------------------------------------------- */

/* The process that a device has in the file, under the id of what it holds. */
static uint32_t device_process(ps_lane_tree *x, ps_lane_owner *o, const char *key) {
    if (o->node != PS_NONE) {
        return o->node;
    }
    ps_tree_device_key(x, o->device);
    ps_buf_addf(&x->id, "/%s", key);
    if (strcmp(key, "counters") == 0) { /* there is one for each kind of counter */
        ps_buf_add_str(&x->id, "/");
        ps_key_text(ps_trace_text(x->t, o->process->name), &x->id);
    }
    ps_name_process(x->t, o->process, o->pid, false, &x->name);
    o->node = ps_tree_put(x, PS_NONE, PS_NODE_GROUP, true, lane_draft_order_of(o));
    if (o->node != PS_NONE) {
        ps_tree_at(x, o->node)->next = PS_TOP_DEVICE;
        ps_tree_at(x, o->node)->node.device = o->device;
    }
    return o->node;
}

uint32_t ps_tree_host(ps_lane_tree *x, int64_t pid) {
    ps_lane_owner *o = ps_tree_owner(x, pid);
    if (o->node != PS_NONE || (o->has_devices && !o->has_threads)) {
        return device_process(x, o, "hardware");
    }
    uint32_t parent = PS_NONE;
    if (x->parts->calls_apart && o->process == NULL) {
        ps_buf_add_str(&x->id, "host");
        ps_buf_add_str(&x->name, "Host");
        parent = ps_tree_put(x, PS_NONE, PS_NODE_GROUP, false, PS_NO_ORDER);
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
    uint32_t row = ps_tree_put(x, parent, PS_NODE_GROUP, true, lane_draft_order_of(o));
    if (row != PS_NONE) {
        ps_tree_at(x, row)->next = o->has_threads ? PS_TOP_HOST : PS_TOP_OTHER;
    }
    o->node = row;
    return row;
}

static uint32_t device_top(ps_lane_tree *x, int64_t device) {
    ps_tree_device_key(x, device);
    ps_name_device(x->t, device, (ps_device_words){x->parts->is_ascend, x->parts->has_kernels},
                   &x->name);
    uint32_t row = ps_tree_put(x, PS_NONE, PS_NODE_GROUP, false, PS_NO_ORDER);
    if (row != PS_NONE) {
        ps_tree_at(x, row)->next = PS_TOP_DEVICE;
        ps_tree_at(x, row)->node.device = device;
    }
    return row;
}

uint32_t ps_tree_device(ps_lane_tree *x, const ps_track *track, int what) {
    static const char *const KEYS[] = {"hardware", "comm", "overlap", "derived", "counters"};
    static const char *const NAMES[] = {"Ascend Hardware", "Communication", "Overlap Analysis",
                                        "Derived", "Counters"};
    ps_lane_owner *o = ps_tree_owner(x, track->pid);
    bool is_named = o->process != NULL && !ps_str_is_none(o->process->name);
    if (is_named && !o->has_threads && o->device == track->device) {
        return device_process(x, o, KEYS[what]);
    }
    uint32_t top = device_top(x, track->device);
    bool is_direct = (what == PS_IN_HARDWARE && !x->parts->is_ascend) || what == PS_IN_DERIVED;
    if (top == PS_NONE || is_direct) {
        return top;
    }
    uint32_t row = ps_tree_group(x, top, KEYS[what], NAMES[what], PS_NO_ORDER);
    if (row != PS_NONE) {
        ps_tree_at(x, row)->next = what;
    }
    return row;
}
