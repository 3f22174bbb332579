#include "serve/rank/outline.h"

#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "serve/rank/lane_names.h"

struct ps_outline_lane {
    ps_track track; /* what the names were made of, as it was then */
    ps_str process, labels;
    ps_device_words words;
    int64_t process_order;
    const char *process_name, *name;
    uint64_t n_slices;
    double busy_ns
        [PS_OUTLINE_BUCKETS]; /* sum of the slices there: of nested ones more than there is time */
};

/* --- names ------------------------------------------------------------------------------------------------------ */

static void name_outline_lane(const ps_trace *t, const ps_track *track, ps_buf *out) {
    switch (track->kind) {
    case PS_TRACK_HOST_THREAD:
        ps_name_thread(t, track, PS_ROLE_NONE, out);
        break;
    case PS_TRACK_STREAM:
        ps_name_stream(t, track, out);
        break;
    case PS_TRACK_COMM_GROUP:
        ps_name_comm(t, track, out);
        break;
    case PS_TRACK_COMM_PLANE:
        ps_name_plane(t, track, out);
        break;
    case PS_TRACK_COUNTER:
    case PS_TRACK_DERIVED:
        ps_buf_add_str(out, ps_trace_text(t, track->name));
        break;
    }
}

static void name_outline_owner(const ps_trace *t, const ps_process *process, const ps_track *track,
                               ps_device_words words, ps_buf *out) {
    if (process == NULL && track->device >= 0) {
        ps_name_device(t, track->device, words, out);
    } else {
        ps_name_process(t, process, track->pid, track->kind == PS_TRACK_HOST_THREAD, out);
    }
}

/* What `add` adds, as a text of the outline's own; "" where memory is out. */
static const char *keep_text(ps_outline *o, ps_buf *text) {
    const char *kept =
        ps_buf_ok(text) ? ps_arena_strndup(&o->names, ps_buf_str(text), text->len) : NULL;
    ps_buf_clear(text);
    return kept != NULL ? kept : "";
}

/* Formats may say late how a thread or its process is called. */
static void name_again(ps_outline *o, const ps_trace *t, ps_outline_lane *lane,
                       const ps_track *track, ps_buf *text) {
    const ps_process *process = ps_trace_process(t, track->pid);
    ps_str name = process != NULL ? process->name : PS_STR_NONE;
    ps_str labels = process != NULL ? process->labels : PS_STR_NONE;
    bool is_same = lane->name != NULL && lane->words.is_ascend == o->words.is_ascend &&
                   lane->words.has_kernels == o->words.has_kernels &&
                   ps_str_eq(lane->track.name, track->name) &&
                   ps_str_eq(lane->track.label, track->label) && ps_str_eq(lane->process, name) &&
                   ps_str_eq(lane->labels, labels);
    lane->track = *track;
    lane->process = name;
    lane->labels = labels;
    lane->words = o->words;
    lane->process_order = process != NULL ? process->order : PS_NO_ORDER;
    if (!is_same) {
        name_outline_owner(t, process, track, o->words, text);
        lane->process_name = keep_text(o, text);
        name_outline_lane(t, track, text);
        lane->name = keep_text(o, text);
    }
}

/* What devices are called, by the slices that came since; texts are looked at where a category differs from the one before. */
static void look_for_words(ps_outline *o, const ps_trace *t, const ps_slices *s) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t i = 0; i < n; i++) {
        o->words.is_ascend = o->words.is_ascend || tracks[i].kind == PS_TRACK_COMM_PLANE;
    }
    ps_str last = PS_STR_NONE;
    for (uint32_t i = o->n_slices; i < s->n && !o->words.is_ascend; i++) {
        uint8_t kind = s->kind[i];
        o->words.has_kernels =
            o->words.has_kernels || kind == PS_SLICE_KERNEL || kind == PS_SLICE_COMM_KERNEL;
        if (kind >= PS_SLICE_KERNEL && !ps_str_is_none(s->category[i]) &&
            !ps_str_eq(s->category[i], last)) {
            last = s->category[i];
            o->words.is_ascend = ps_is_ascend_task(ps_trace_text(t, last));
        }
    }
}

static void take_lanes(ps_outline *o, const ps_trace *t) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    n = n < PS_OUTLINE_LANES ? n : PS_OUTLINE_LANES;
    if (!ps_grow(&o->lanes, &o->cap, n, PS_OUTLINE_LANES, sizeof *o->lanes)) {
        return;
    }
    ps_buf text = {0};
    for (size_t i = 0; i < n; i++) {
        if (i >= o->n) {
            o->lanes[i] = (ps_outline_lane){0};
        }
        name_again(o, t, &o->lanes[i], &tracks[i], &text);
    }
    o->n = n;
    ps_buf_fini(&text);
}

/* --- buckets ---------------------------------------------------------------------------------------------------- */

/* The bucket that a time lies in, counted from the origin; rounds down, also before it. */
static int64_t bucket_at(int64_t ns, unsigned shift) {
    return ns >= 0 ? ns >> shift : -((-ns - 1) >> shift) - 1;
}

static int64_t last_bucket(int64_t start_ns, int64_t end_ns, unsigned shift) {
    return bucket_at(end_ns > start_ns ? end_ns - 1 : start_ns, shift);
}

/* Two buckets of a lane become one; `odd`: its first bucket is the second of its pair. */
static void halve_lane(double *busy_ns, unsigned odd) {
    double wide[PS_OUTLINE_BUCKETS] = {0};
    for (unsigned i = 0; i < PS_OUTLINE_BUCKETS; i++) {
        wide[(i + odd) / 2] += busy_ns[i];
    }
    memcpy(busy_ns, wide, sizeof wide);
}

static void move_lane(double *busy_ns, int64_t by) {
    double moved[PS_OUTLINE_BUCKETS] = {0};
    for (int64_t i = 0; i < PS_OUTLINE_BUCKETS; i++) {
        if (i + by >= 0 && i + by < PS_OUTLINE_BUCKETS) {
            moved[i + by] = busy_ns[i];
        }
    }
    memcpy(busy_ns, moved, sizeof moved);
}

/* Makes the row of buckets reach over start_ns..end_ns, which holds all that is in it. */
static void reach_over(ps_outline *o, int64_t start_ns, int64_t end_ns) {
    while (last_bucket(start_ns, end_ns, o->shift) - bucket_at(start_ns, o->shift) >=
           PS_OUTLINE_BUCKETS) {
        for (size_t i = 0; i < o->n; i++) {
            halve_lane(o->lanes[i].busy_ns, (unsigned)(o->first & 1));
        }
        o->first = bucket_at(o->first, 1);
        o->shift++;
    }
    int64_t first = bucket_at(start_ns, o->shift);
    if (first != o->first) {
        for (size_t i = 0; i < o->n; i++) {
            move_lane(o->lanes[i].busy_ns, o->first - first);
        }
        o->first = first;
    }
}

/* What is there shows, however short it is. */
static void add_busy(const ps_outline *o, double *busy_ns, int64_t start_ns, int64_t end_ns) {
    int64_t at = bucket_at(start_ns, o->shift);
    int64_t last = last_bucket(start_ns, end_ns, o->shift);
    int64_t from_ns = start_ns;
    for (; at < last; at++) {
        int64_t until_ns = (at + 1) * ((int64_t)1 << o->shift);
        busy_ns[at - o->first] += (double)(until_ns - from_ns);
        from_ns = until_ns;
    }
    busy_ns[last - o->first] += end_ns > from_ns ? (double)(end_ns - from_ns) : 1;
}

static void outline_slices(ps_outline *o, const ps_slices *s) {
    int64_t start_ns = o->n_slices > 0 ? o->start_ns : INT64_MAX;
    int64_t end_ns = o->n_slices > 0 ? o->end_ns : INT64_MIN;
    for (uint32_t i = o->n_slices; i < s->n; i++) {
        int64_t end = ps_slice_end(s, i);
        start_ns = s->start_ns[i] < start_ns ? s->start_ns[i] : start_ns;
        end_ns = end > end_ns ? end : end_ns;
    }
    reach_over(o, start_ns, end_ns);
    for (uint32_t i = o->n_slices; i < s->n; i++) {
        if (s->track[i] < o->n) {
            ps_outline_lane *lane = &o->lanes[s->track[i]];
            lane->n_slices++;
            add_busy(o, lane->busy_ns, s->start_ns[i], ps_slice_end(s, i));
        }
    }
    o->start_ns = start_ns;
    o->end_ns = end_ns;
    o->n_slices = s->n;
}

void ps_outline_add(ps_outline *o, const ps_trace *so_far) {
    const ps_slices *s = ps_trace_slices(so_far);
    if (s->n <= o->n_slices) {
        return;
    }
    (void)pthread_mutex_lock(&o->lock);
    look_for_words(o, so_far, s);
    take_lanes(o, so_far);
    outline_slices(o, s);
    o->origin_ns = ps_trace_origin_ns(so_far);
    (void)pthread_mutex_unlock(&o->lock);
}

void ps_outline_clear(ps_outline *o) {
    (void)pthread_mutex_lock(&o->lock);
    ps_free(o->lanes);
    ps_arena_fini(&o->names);
    o->lanes = NULL;
    o->n = o->cap = 0;
    o->n_slices = 0;
    o->words = (ps_device_words){0};
    o->origin_ns = o->start_ns = o->end_ns = o->first = 0;
    o->shift = 0;
    (void)pthread_mutex_unlock(&o->lock);
}

/* --- what a page gets ------------------------------------------------------------------------------------------- */

PS_COMPARE_POINTERS(by_place, ps_outline_lane,
                    PS_BY(process_order) PS_BY(track.pid) PS_BY(track.kind) PS_BY(track.device)
                        PS_BY(track.order) PS_BY(track.tid) PS_BY_TEXT(name))

/* A digit a bucket, 0 to f: 0 for nothing at all, f for all of its time. */
static void put_shares(const ps_outline *o, const double *busy_ns, ps_json *j) {
    char text[PS_OUTLINE_BUCKETS + 1];
    double width = (double)((int64_t)1 << o->shift);
    for (int i = 0; i < PS_OUTLINE_BUCKETS; i++) {
        double share = busy_ns[i] / width;
        int level = busy_ns[i] <= 0 ? 0 : 1 + (int)(14 * (share < 1 ? share : 1) + 0.5);
        text[i] = "0123456789abcdef"[level];
    }
    text[PS_OUTLINE_BUCKETS] = '\0';
    ps_json_key_str(j, "busy", text);
}

static void put_outline_lanes(const ps_outline *o, ps_json *j) {
    const ps_outline_lane *order[PS_OUTLINE_LANES];
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (o->lanes[i].n_slices > 0) {
            order[n++] = &o->lanes[i];
        }
    }
    ps_sort(order, n, sizeof(const ps_outline_lane *), by_place);
    for (size_t i = 0; i < n; i++) {
        ps_json_object(j);
        ps_json_key_str(j, "process", order[i]->process_name);
        ps_json_key_str(j, "name", order[i]->name);
        ps_json_key_uint(j, "slices", order[i]->n_slices);
        put_shares(o, order[i]->busy_ns, j);
        ps_json_close(j);
    }
}

void ps_outline_put(ps_outline *o, ps_json *j) {
    (void)pthread_mutex_lock(&o->lock);
    /* The first bucket begins at or before the first slice; times are told from there. */
    int64_t first_ns = o->first * ((int64_t)1 << o->shift);
    ps_json_object(j);
    ps_json_key(j, "origin_ns");
    ps_json_int_text(j, o->origin_ns + first_ns);
    ps_json_key_int(j, "bucket_ns", (int64_t)1 << o->shift);
    ps_json_key_uint(j, "slices", o->n_slices);
    ps_json_key_int(j, "start", o->start_ns - first_ns);
    ps_json_key_int(j, "end", o->end_ns - first_ns);
    ps_json_key_array(j, "lanes");
    put_outline_lanes(o, j);
    ps_json_close(j);
    ps_json_close(j);
    (void)pthread_mutex_unlock(&o->lock);
}
