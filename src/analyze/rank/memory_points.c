#include "analyze/rank/memory_points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

/* --- cells ------------------------------------------------------------------------------------------------------------- */

ps_memory_column ps_memory_find(const ps_table *t, const char *const *names) {
    for (; *names != NULL; names++) {
        size_t at = ps_table_column(t, *names);
        if (at != SIZE_MAX) {
            double scale = strstr(*names, "(KB)") != NULL      ? 1024
                           : strstr(*names, "(MB)") != NULL    ? 1024 * 1024
                           : t->columns[at].unit == PS_UNIT_US ? 1000
                                                               : 1;
            return (ps_memory_column){at, t->columns[at].type, scale};
        }
    }
    return (ps_memory_column){.at = SIZE_MAX, .scale = 1};
}

bool ps_memory_real(const ps_table *t, size_t row, const ps_memory_column *c, double *out) {
    const ps_value *v = c->at != SIZE_MAX ? ps_table_cell(t, row, c->at) : NULL;
    if (v == NULL || v->is_null || (c->type != PS_COL_INT && c->type != PS_COL_REAL)) {
        return false;
    }
    *out = c->scale * (c->type == PS_COL_INT ? (double)v->u.i : v->u.r);
    return true;
}

bool ps_memory_int(const ps_table *t, size_t row, const ps_memory_column *c, int64_t *out) {
    const ps_value *v = c->at != SIZE_MAX ? ps_table_cell(t, row, c->at) : NULL;
    if (v == NULL || v->is_null || c->type != PS_COL_INT) {
        return false;
    }
    *out = v->u.i;
    return true;
}

const char *ps_memory_text(const ps_table *t, size_t row, const ps_memory_column *c) {
    const ps_value *v = c->at != SIZE_MAX ? ps_table_cell(t, row, c->at) : NULL;
    bool is_text = c->type == PS_COL_TEXT || c->type == PS_COL_STRING_ID;
    return v != NULL && !v->is_null && is_text ? v->u.text : NULL;
}

int64_t ps_memory_device(const ps_table *t, size_t row, const ps_memory_column *c) {
    int64_t device = -1;
    if (ps_memory_int(t, row, c, &device)) {
        return device;
    }
    const char *text = ps_memory_text(t, row, c);
    const char *colon = text != NULL ? strchr(text, ':') : NULL;
    return colon != NULL && ps_parse_i64(colon + 1, strlen(colon + 1), &device) ? device : -1;
}

int64_t ps_memory_whole(double bytes) {
    return fabs(bytes) < 9e18 ? (int64_t)llround(bytes) : INT64_MAX;
}

/* --- series -------------------------------------------------------------------------------------------------------------- */

static bool series_of(ps_memory_points *m, const char *owner, const char *what, int64_t device,
                      uint32_t *out) {
    char text[256];
    int n = snprintf(text, sizeof text, "%.180s\x1f%s\x1f%lld", owner, what, (long long)device);
    ps_str id = ps_strpool_add(&m->names, text, n > 0 ? strlen(text) : 0);
    ps_str name = ps_strpool_add(&m->names, owner, strlen(owner));
    if (ps_str_is_none(id) || ps_str_is_none(name)) {
        return false;
    }
    *out = ps_idmap_get(&m->rows, id.id);
    if (*out != PS_IDMAP_NONE) {
        return true;
    }
    *out = (uint32_t)m->n_series;
    if (!ps_grow(&m->series, &m->cap_series, m->n_series + 1, UINT32_MAX - 1, sizeof *m->series) ||
        !ps_idmap_put(&m->rows, id.id, *out)) {
        return false;
    }
    m->series[m->n_series++] = (ps_memory_series){
        .owner = ps_strpool_get(&m->names, name), .what = what, .device = device};
    return true;
}

/* `what` is static. */
static bool add_point(ps_memory_points *m, const char *owner, const char *what, int64_t device,
                      int64_t time_ns, double bytes) {
    uint32_t series = 0;
    if (!series_of(m, owner, what, device, &series) ||
        !ps_grow(&m->points, &m->cap, m->n + 1, UINT32_MAX, sizeof *m->points)) {
        return false;
    }
    m->points[m->n] = (ps_memory_point){time_ns, bytes, series, (uint32_t)m->n};
    m->n++;
    return true;
}

/* --- Ascend ---------------------------------------------------------------------------------------------------------------- */

typedef struct record {
    const ps_table *t;
    ps_memory_column component, time, stream, device, values[3];
} record;
static const char *const WHATS[3] = {"allocated", "reserved", "active"};

static bool find_record(const ps_trace *trace, record *r) {
    r->t = ps_trace_side_table(trace, "MEMORY_RECORD");
    r->t = r->t != NULL ? r->t : ps_trace_side_table(trace, "memory_record");
    if (r->t == NULL) {
        return false;
    }
    r->component = ps_memory_find(r->t, (const char *const[]){"component", "Component", NULL});
    r->time = ps_memory_find(r->t, (const char *const[]){"timestamp", "Timestamp", NULL});
    r->stream = ps_memory_find(r->t, (const char *const[]){"streamPtr", "Stream Ptr", NULL});
    r->device = ps_memory_find(r->t, (const char *const[]){"deviceId", "Device Type", NULL});
    r->values[0] =
        ps_memory_find(r->t, (const char *const[]){"totalAllocated", "Total Allocated(MB)", NULL});
    r->values[1] =
        ps_memory_find(r->t, (const char *const[]){"totalReserved", "Total Reserved(MB)", NULL});
    r->values[2] =
        ps_memory_find(r->t, (const char *const[]){"totalActive", "Total Active(MB)", NULL});
    return true;
}

/* Overall is what the operators of both allocators hold, and what the process holds. Rows of streams are those of PyTorch's
 * allocator. */
static const char *owner_of(const record *r, size_t row, ps_memory_by by, char *room, size_t size) {
    const char *component = ps_memory_text(r->t, row, &r->component);
    if (component == NULL) {
        return NULL;
    }
    if (by == PS_MEMORY_COMPONENT) {
        return component;
    }
    if (by == PS_MEMORY_OVERALL) {
        return strcmp(component, "PTA+GE") == 0 ? "operators"
               : strcmp(component, "APP") == 0  ? "APP"
                                                : NULL;
    }
    int64_t stream = 0;
    if (strcmp(component, "PTA") != 0 || !ps_memory_int(r->t, row, &r->stream, &stream)) {
        return NULL;
    }
    (void)snprintf(room, size, "stream %lld", (long long)stream);
    return room;
}

static bool add_record(ps_memory_points *m, const ps_trace *trace, ps_memory_by by) {
    record r;
    bool ok = true;
    if (!find_record(trace, &r)) {
        return true;
    }
    for (size_t row = 0; ok && row < r.t->n_rows; row++) {
        char room[64];
        int64_t time = 0;
        const char *owner = owner_of(&r, row, by, room, sizeof room);
        if (owner == NULL || !ps_memory_int(r.t, row, &r.time, &time)) {
            continue;
        }
        int64_t device = ps_memory_device(r.t, row, &r.device);
        time = ps_i64_minus(time, ps_trace_origin_ns(trace));
        for (size_t k = 0; ok && k < 3; k++) {
            double bytes = 0;
            ok = !ps_memory_real(r.t, row, &r.values[k], &bytes) ||
                 add_point(m, owner, WHATS[k], device, time, bytes);
        }
    }
    return ok;
}

/* --- PyTorch --------------------------------------------------------------------------------------------------------------- */

bool ps_memory_event_read(const ps_trace *trace, ps_str name, uint32_t slice,
                          ps_memory_event *out) {
    const ps_slices *s = ps_trace_slices(trace);
    *out = (ps_memory_event){.address = -1, .allocated = -1, .reserved = -1, .device = -1};
    if (s->kind[slice] != PS_SLICE_INSTANT || ps_str_is_none(name) ||
        !ps_str_eq(s->name[slice], name)) {
        return false;
    }
    int64_t type = -1;
    bool has_bytes = ps_trace_arg_int(trace, slice, "Bytes", &out->bytes);
    (void)ps_trace_arg_int(trace, slice, "Addr", &out->address);
    (void)ps_trace_arg_int(trace, slice, "Total Allocated", &out->allocated);
    (void)ps_trace_arg_int(trace, slice, "Total Reserved", &out->reserved);
    (void)ps_trace_arg_int(trace, slice, "Device Id", &out->device);
    (void)ps_trace_arg_int(trace, slice, "Device Type", &type);
    out->is_cpu = type == 0; /* c10::DeviceType */
    return has_bytes;
}

static bool add_events(ps_memory_points *m, const ps_trace *trace, ps_memory_by by) {
    ps_str name = ps_trace_find_text(trace, "[memory]");
    const ps_slices *s = ps_trace_slices(trace);
    bool ok = true;
    if (ps_str_is_none(name) || by == PS_MEMORY_STREAM) {
        return true;
    }
    for (uint32_t i = 0; ok && i < s->n; i++) {
        ps_memory_event e;
        if (!ps_memory_event_read(trace, name, i, &e)) {
            continue;
        }
        char owner[48];
        (void)snprintf(owner, sizeof owner, e.is_cpu ? "CPU" : "device %lld", (long long)e.device);
        ok = (e.allocated < 0 || add_point(m, owner, WHATS[0], e.is_cpu ? -1 : e.device,
                                           s->start_ns[i], (double)e.allocated)) &&
             (e.reserved < 0 || add_point(m, owner, WHATS[1], e.is_cpu ? -1 : e.device,
                                          s->start_ns[i], (double)e.reserved));
    }
    return ok;
}

/* --- counters ---------------------------------------------------------------------------------------------------------------- */

/* The scale to bytes; 0: it counts no memory that is held. Files of other programs that say KB and MB mean the same. */
static double scale_of(const char *unit) {
    bool is_kib = strcmp(unit, "KiB") == 0 || strcmp(unit, "KB") == 0;
    bool is_mib = strcmp(unit, "MiB") == 0 || strcmp(unit, "MB") == 0;
    return strcasecmp(unit, "bytes") == 0 || strcmp(unit, "B") == 0 ? 1
           : is_kib                                                 ? 1024
           : is_mib                                                 ? 1024 * 1024
                                                                    : 0;
}

/* Counters that a text export made of memory_record.csv are there as a table, too. */
static const char *owner_of_counter(const char *name, ps_memory_by by) {
    static const char MODULE[] = "NPU Module Mem/";
    if (strstr(name, "/Total ") != NULL) {
        return NULL;
    }
    bool is_module = strncmp(name, MODULE, sizeof MODULE - 1) == 0;
    if (is_module) {
        return by == PS_MEMORY_COMPONENT ? name + sizeof MODULE - 1 : NULL;
    }
    return by == PS_MEMORY_OVERALL ? name : NULL;
}

static bool add_counters(ps_memory_points *m, const ps_trace *trace, ps_memory_by by) {
    const ps_counters *c = ps_trace_counters(trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n_tracks);
    bool ok = true;
    for (uint32_t i = 0; ok && i < c->n; i++) {
        const ps_track *track = &tracks[c->track[i]];
        double scale = scale_of(ps_trace_text(trace, track->unit));
        const char *owner =
            scale > 0 ? owner_of_counter(ps_trace_text(trace, track->name), by) : NULL;
        ok = owner == NULL || add_point(m, owner, by == PS_MEMORY_COMPONENT ? WHATS[1] : "",
                                        track->device, c->time_ns[i], scale * c->value[i]);
    }
    return ok;
}

/* --- all together -------------------------------------------------------------------------------------------------------------- */

static const ps_sort_key POINT_ORDER[] = {
    PS_UP(ps_memory_point, series), PS_UP(ps_memory_point, time_ns), PS_UP(ps_memory_point, order)};

static void find_series(ps_memory_points *m) {
    ps_sort_by(m->points, m->n, sizeof *m->points, PS_KEYS(POINT_ORDER));
    for (size_t i = 0; i < m->n; i++) {
        ps_memory_series *s = &m->series[m->points[i].series];
        s->first = s->n == 0 ? i : s->first;
        s->n++;
    }
    for (size_t k = 0; k < m->n_series; k++) {
        ps_memory_series *s = &m->series[k];
        bool any = false;
        for (size_t i = s->first; !any && i < s->first + s->n; i++) {
            any = m->points[i].bytes > 0 || m->points[i].bytes < 0;
        }
        m->n_zero += any ? 0 : 1;
        s->n = any ? s->n : 0;
    }
}

ps_code ps_memory_points_read(const ps_trace *trace, ps_memory_by by, ps_memory_points *out,
                              ps_err *err) {
    *out = (ps_memory_points){0};
    ps_idmap_init(&out->rows);
    bool ok = ps_strpool_init(&out->names) && add_record(out, trace, by) &&
              add_events(out, trace, by) && add_counters(out, trace, by);
    if (!ok) {
        return ps_fail_nomem(err);
    }
    find_series(out);
    return PS_OK;
}

const ps_memory_point *ps_memory_peak(const ps_memory_points *m, const ps_memory_series *s,
                                      int64_t from_ns, int64_t to_ns,
                                      const ps_memory_point **last) {
    const ps_memory_point *peak = NULL;
    for (size_t i = s->first; i < s->first + s->n && m->points[i].time_ns < to_ns; i++) {
        const ps_memory_point *p = &m->points[i];
        bool is_before = p->time_ns <= from_ns; /* it may hold into the span */
        peak = is_before || peak == NULL || p->bytes > peak->bytes ? p : peak;
        *last = p;
    }
    return peak;
}

void ps_memory_points_fini(ps_memory_points *m) {
    ps_free(m->series);
    ps_free(m->points);
    ps_strpool_fini(&m->names);
    ps_idmap_fini(&m->rows);
    *m = (ps_memory_points){0};
}
