/* Trace-event JSON, as chrome://tracing, Perfetto and our own reader (read/pipescope_json.c) take it:
 *
 *   {"pipescope":{"version":1,"ranks":[{"part":0,"rank":0,"host":"","title":"rank 0"}]},
 *   "baseTimeNanoseconds":1711904976000000000,"displayTimeUnit":"ns","traceEvents":[
 *   {"ph":"M","name":"pipescope_rank","pid":1,"tid":7,"args":{"part":0, ...}},
 *   {"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
 *   {"ph":"X","name":"MatMul","cat":"kernel","pid":1,"tid":7,"ts":12.500,"dur":3.000,"args":{"block":40}},
 *   ...
 *   ]}
 *
 * What a viewer needs is said in the events that every viewer knows; what they cannot say (kinds, identities of tracks,
 * steps, metadata) in metadata events "pipescope_*", which viewers pass over. docs/formats/pipescope-json.md has them.
 *
 * Times count from a base that all ranks share, because viewers hold them as doubles: microseconds since 1970 in a
 * double are good to a quarter of a microsecond, and slices that touch would cross. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "write/arg_keys.h"
#include "write/json_text.h"
#include "write/trace_layout.h"
#include "write/trace_writer.h"

/* The base is a multiple of this, so that files of one job share it without knowing of each other; it lies at least
 * an hour before the first rank, so that another one may begin a little earlier. */
#define BASE_STEP_NS INT64_C(7889238000000000)
#define HOUR_NS INT64_C(3600000000000)
/* Numbers of processes that the trace has no number for. */
#define FIRST_MADE_PID 10000000

typedef struct chrome {
    ps_trace_job *job;
    const char *separator; /* before the next event */
    bool has_begun;
    int64_t base_ns;
    uint64_t next_flow;
    int64_t next_pid, next_order;
} chrome;

typedef struct fragment {
    const char *text; /* JSON, in the arena */
    size_t n;
} fragment;

typedef struct category {
    ps_str name;
    ps_slice_kind kind;
    fragment shown; /* the text as a JSON string */
} category;

/* One rank being written. */
typedef struct chrome_rank {
    chrome *c;
    ps_byte_out *out;
    const ps_trace *t;
    const ps_trace_source *source;
    size_t part;
    ps_trace_layout layout;
    ps_arg_keys keys;
    ps_arena arena;
    ps_buf scratch;
    fragment *pids;     /* [n_groups] ,"pid":1 */
    fragment *lanes;    /* [n_lanes] ,"pid":1,"tid":2; empty for counters */
    fragment *counters; /* [n_tracks] name as a JSON string; empty for others */
    category *categories;
    size_t n_categories, cap_categories;
    ps_idmap category_of; /* (category, kind) -> row in categories */
    ps_idmap used;        /* numbers and names taken so far, as hashes */
    const char *no_kind;  /* "cat" of flows that have no kind */
} chrome_rank;

/* --- small pieces -------------------------------------------------------------------------------------- */

static void put(chrome_rank *r, const char *s) {
    ps_byte_out_add_str(r->out, s);
}

static void put_fragment(chrome_rank *r, fragment f) {
    ps_byte_out_add(r->out, f.text, f.n);
}

static void put_text(chrome_rank *r, ps_str s) {
    ps_json_put_str(r->out, ps_trace_text(r->t, s), ps_trace_text_len(r->t, s));
}

static void put_key_text(chrome_rank *r, const char *key, const char *text) {
    put(r, key);
    ps_json_put_str(r->out, text, strlen(text));
}

/* ,"key":"text", or nothing when there is none. */
static void put_optional(chrome_rank *r, const char *key, ps_str s) {
    if (!ps_str_is_none(s)) {
        put(r, key);
        put_text(r, s);
    }
}

static void put_key_int(chrome_rank *r, const char *key, int64_t value) {
    put(r, key);
    ps_json_put_i64(r->out, value);
}

/* What is in the scratch buffer, kept. Text NULL when memory is out. */
static fragment keep(chrome_rank *r) {
    fragment f = {NULL, r->scratch.len};
    if (ps_buf_ok(&r->scratch)) {
        f.text = ps_arena_strndup(&r->arena, ps_buf_str(&r->scratch), f.n);
    }
    ps_buf_clear(&r->scratch);
    return f;
}

/* What is in the scratch buffer, as a JSON string. */
static fragment keep_as_string(chrome_rank *r) {
    fragment raw = keep(r);
    if (raw.text == NULL) {
        return raw;
    }
    ps_buf_add_json_str(&r->scratch, raw.text, raw.n);
    return keep(r);
}

/* Begins a metadata event; its args are open. `ids` says where it belongs. */
static void begin_meta(chrome_rank *r, const char *name, fragment ids) {
    put(r, r->c->separator);
    r->c->separator = ",\n";
    put(r, "{\"ph\":\"M\",\"name\":\"");
    put(r, name);
    put(r, "\"");
    put_fragment(r, ids);
    put(r, ",\"args\":{");
}

static void end_meta(chrome_rank *r) {
    put(r, "}}");
}

/* --- numbers and names --------------------------------------------------------------------------------- */

/* True when the text or number was free in `group` and is taken now. */
static bool take(chrome_rank *r, size_t group, const void *what, size_t n, bool *nomem) {
    uint64_t key = ps_hash_u64(ps_hash64(what, n) + group * 0x9E3779B97F4A7C15u);
    if (ps_idmap_get(&r->used, key) != PS_IDMAP_NONE) {
        return false;
    }
    *nomem = !ps_idmap_put(&r->used, key, 1) || *nomem;
    return true;
}

static bool take_number(chrome_rank *r, size_t group, int64_t number, bool *nomem) {
    return take(r, group, &number, sizeof number, nomem);
}

static bool is_several(const chrome_rank *r) {
    return r->c->job->n_sources > 1;
}

/* Processes have a room of their own in `used`. */
#define ALL_GROUPS SIZE_MAX

static bool name_processes(chrome_rank *r) {
    bool nomem = false;
    int64_t made = FIRST_MADE_PID;
    const ps_trace_layout *l = &r->layout;
    for (size_t g = 0; g < l->n_groups; g++) {
        if (!l->groups[g].is_split) {
            (void)take_number(r, ALL_GROUPS, l->groups[g].pid, &nomem);
        }
    }
    for (size_t g = 0; g < l->n_groups && !nomem; g++) {
        const ps_trace_group *group = &l->groups[g];
        ps_buf_add_str(&r->scratch, ",\"pid\":");
        if (is_several(r)) {
            ps_buf_addf(&r->scratch, "%lld", (long long)r->c->next_pid++);
        } else if (group->is_split) {
            while (!take_number(r, ALL_GROUPS, made, &nomem)) {
                made++;
            }
            ps_buf_addf(&r->scratch, "%lld", (long long)made);
        } else if (group->process != NULL && group->process->pid_is_text) {
            ps_buf_add_json_str(&r->scratch, ps_trace_text(r->t, group->process->name),
                                ps_trace_text_len(r->t, group->process->name));
        } else {
            ps_buf_addf(&r->scratch, "%lld", (long long)group->pid);
        }
        r->pids[g] = keep(r);
        nomem = nomem || r->pids[g].text == NULL;
    }
    return !nomem;
}

static const ps_track *track_of(const chrome_rank *r, uint32_t row) {
    return &ps_trace_tracks(r->t, &(size_t){0})[row];
}

static void begin_lane_ids(chrome_rank *r, uint32_t group) {
    ps_buf_add(&r->scratch, r->pids[group].text, r->pids[group].n);
    ps_buf_add_str(&r->scratch, ",\"tid\":");
}

/* The number or text of the track itself, when nobody has it yet. */
static bool name_as_is(chrome_rank *r, uint32_t row, bool *nomem) {
    const ps_track *track = track_of(r, row);
    uint32_t group = r->layout.group_of[row];
    const char *name = ps_trace_text(r->t, track->name);
    size_t n = ps_trace_text_len(r->t, track->name);
    bool is_text = track->tid == -1 && n > 0;
    if (is_text && (is_several(r) || !take(r, group, name, n, nomem))) {
        return false;
    }
    if (!is_text && !take_number(r, group, track->tid, nomem)) {
        return false;
    }
    begin_lane_ids(r, group);
    if (is_text) {
        ps_buf_add_json_str(&r->scratch, name, n);
    } else {
        ps_buf_addf(&r->scratch, "%lld", (long long)track->tid);
    }
    r->lanes[row] = keep(r);
    *nomem = *nomem || r->lanes[row].text == NULL;
    return true;
}

/* A counter has no thread, unless slices lie on it all the same. */
static bool has_lanes(const chrome_rank *r, uint32_t row) {
    return track_of(r, row)->kind != PS_TRACK_COUNTER || r->layout.has_slices[row];
}

static bool name_lanes(chrome_rank *r) {
    const ps_trace_layout *l = &r->layout;
    bool nomem = false;
    int64_t *next = ps_calloc(l->n_groups + 1, sizeof *next);
    for (size_t i = 0; i < l->n_tracks && !nomem; i++) {
        if (has_lanes(r, l->tracks[i])) {
            (void)name_as_is(r, l->tracks[i], &nomem);
        }
    }
    for (size_t i = 0; next != NULL && i < l->n_tracks; i++) {
        uint32_t row = l->tracks[i];
        uint32_t group = l->group_of[row];
        for (uint32_t lane = has_lanes(r, row) ? row : PS_NONE; lane != PS_NONE && !nomem;
             lane = l->lanes[lane].next) {
            if (r->lanes[lane].text != NULL) {
                continue;
            }
            do {
                next[group]++;
            } while (!take_number(r, group, next[group], &nomem));
            begin_lane_ids(r, group);
            ps_buf_addf(&r->scratch, "%lld", (long long)next[group]);
            r->lanes[lane] = keep(r);
            nomem = nomem || r->lanes[lane].text == NULL;
        }
    }
    nomem = nomem || next == NULL;
    ps_free(next);
    return !nomem;
}

/* Counters are told apart by their names within a process. */
static bool name_counters(chrome_rank *r) {
    const ps_trace_layout *l = &r->layout;
    bool nomem = false;
    for (size_t i = 0; i < l->n_tracks && !nomem; i++) {
        uint32_t row = l->tracks[i];
        if (track_of(r, row)->kind != PS_TRACK_COUNTER) {
            continue;
        }
        for (unsigned attempt = 1;; attempt++) {
            ps_trace_lane_title(r->t, &l->lanes[row], &r->scratch);
            if (attempt > 1) {
                ps_buf_addf(&r->scratch, " (%u)", attempt);
            }
            if (take(r, l->group_of[row] + l->n_groups, ps_buf_str(&r->scratch), r->scratch.len,
                     &nomem)) {
                break;
            }
            ps_buf_clear(&r->scratch);
        }
        r->counters[row] = keep_as_string(r);
        nomem = nomem || r->counters[row].text == NULL;
    }
    return !nomem;
}

/* --- categories ---------------------------------------------------------------------------------------- */

static uint64_t category_key(ps_str name, uint8_t kind) {
    return (uint64_t)name.id << 8 | kind;
}

/* Slices say their kind in their category: the category of the file, or the name of the kind where there is none; with
 * the kind behind a comma where the text alone would say something else. */
static bool add_category(chrome_rank *r, ps_str name, ps_slice_kind kind) {
    bool nomem = false;
    const char *kind_name = ps_slice_kind_name(kind);
    const char *text = ps_str_is_none(name) ? kind_name : ps_trace_text(r->t, name);
    for (unsigned attempt = 0;; attempt++) {
        ps_buf_add_str(&r->scratch, text);
        if (attempt > 0) {
            ps_buf_addf(&r->scratch, ",%s", kind_name);
        }
        if (attempt > 1) {
            ps_buf_addf(&r->scratch, ",%u", attempt);
        }
        if (take(r, ALL_GROUPS - 1, ps_buf_str(&r->scratch), r->scratch.len, &nomem)) {
            break;
        }
        ps_buf_clear(&r->scratch);
    }
    category c = {name, kind, keep_as_string(r)};
    if (nomem || c.shown.text == NULL ||
        !ps_grow(&r->categories, &r->cap_categories, r->n_categories + 1,
                 SIZE_MAX / sizeof *r->categories, sizeof *r->categories) ||
        !ps_idmap_put(&r->category_of, category_key(name, (uint8_t)kind),
                      (uint32_t)r->n_categories)) {
        return false;
    }
    r->categories[r->n_categories++] = c;
    return true;
}

static bool find_categories(chrome_rank *r) {
    const ps_slices *s = ps_trace_slices(r->t);
    uint64_t last = UINT64_MAX;
    for (uint32_t row = 0; row < s->n; row++) {
        uint64_t key = category_key(s->category[row], s->kind[row]);
        if (key != last && ps_idmap_get(&r->category_of, key) == PS_IDMAP_NONE &&
            !add_category(r, s->category[row], (ps_slice_kind)s->kind[row])) {
            return false;
        }
        last = key;
    }
    return true;
}

/* A text that is no kind of a flow: one that the trace does not hold at all. */
static const char *choose_no_kind(const ps_trace *t) {
    static const char *const TEXTS[] = {"mark", "mark to device", "pipescope mark"};
    size_t i = 0;
    while (i + 1 < sizeof TEXTS / sizeof TEXTS[0] &&
           !ps_str_is_none(ps_trace_find_text(t, TEXTS[i]))) {
        i++;
    }
    return TEXTS[i];
}

/* --- what stands before the events --------------------------------------------------------------------- */

static void put_head(chrome_rank *r) {
    const ps_trace_job *job = r->c->job;
    put(r, "{\"pipescope\":{\"version\":1,\"ranks\":[");
    for (size_t i = 0; i < job->n_sources; i++) {
        const ps_trace_source *s = &job->sources[i];
        put(r, i > 0 ? "," : "");
        put_key_int(r, "{\"part\":", (int64_t)i);
        put_key_int(r, ",\"rank\":", s->rank);
        put_key_text(r, ",\"host\":", s->host);
        put_key_text(r, ",\"title\":", s->title);
        put(r, "}");
    }
    int64_t origin = ps_trace_origin_ns(r->t);
    int64_t base = (origin - HOUR_NS) / BASE_STEP_NS;
    base -= origin < 0 && base * BASE_STEP_NS > origin - HOUR_NS ? 1 : 0;
    r->c->base_ns = base * BASE_STEP_NS;
    put_key_int(r, "]},\n\"baseTimeNanoseconds\":", r->c->base_ns);
    put(r, ",\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    r->c->has_begun = true;
}

static fragment first_ids(const chrome_rank *r) {
    for (size_t lane = 0; lane < r->layout.n_lanes; lane++) {
        if (r->lanes[lane].text != NULL) {
            return r->lanes[lane];
        }
    }
    static const char NOBODY[] = ",\"pid\":0,\"tid\":0";
    return (fragment){NOBODY, sizeof NOBODY - 1};
}

static void put_facts(chrome_rank *r) {
    fragment ids = first_ids(r);
    begin_meta(r, "pipescope_rank", ids);
    put_key_int(r, "\"part\":", (int64_t)r->part);
    put_key_int(r, ",\"rank\":", r->source->rank);
    put_key_text(r, ",\"format\":", r->source->format);
    put_key_int(r, ",\"has\":", ps_trace_has(r->t));
    put_key_text(r, ",\"no_kind\":", r->no_kind);
    end_meta(r);
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(r->t, &n);
    for (size_t i = 0; i < n; i++) {
        begin_meta(r, "pipescope_meta", ids);
        put_key_text(r, "\"key\":", metas[i].key);
        put_key_text(r, ",\"value\":", metas[i].value);
        end_meta(r);
    }
    const ps_step *steps = ps_trace_steps(r->t, &n);
    int64_t origin = ps_trace_origin_ns(r->t);
    for (size_t i = 0; i < n; i++) {
        begin_meta(r, "pipescope_step", ids);
        put_key_int(r, "\"id\":", steps[i].id);
        put_key_int(r, ",\"start_ns\":", steps[i].start_ns + origin);
        put_key_int(r, ",\"end_ns\":", steps[i].end_ns + origin);
        end_meta(r);
    }
    for (size_t i = 0; i < r->n_categories; i++) {
        begin_meta(r, "pipescope_category", ids);
        put(r, "\"cat\":");
        put_fragment(r, r->categories[i].shown);
        put_key_text(r, ",\"kind\":", ps_slice_kind_name(r->categories[i].kind));
        put_optional(r, ",\"category\":", r->categories[i].name);
        end_meta(r);
    }
    for (size_t i = 0; i < r->keys.n_time_keys; i++) {
        begin_meta(r, "pipescope_time", ids);
        put(r, "\"arg\":");
        put_text(r, r->keys.time_keys[i]);
        end_meta(r);
    }
}

static void put_processes(chrome_rank *r) {
    size_t n = 0;
    const ps_process *processes = ps_trace_processes(r->t, &n);
    for (size_t i = 0; i < n; i++) {
        const ps_process *p = &processes[i];
        begin_meta(r, "pipescope_process", first_ids(r));
        put_key_int(r, "\"pid\":", p->pid);
        put_optional(r, ",\"name\":", p->name);
        put_optional(r, ",\"labels\":", p->labels);
        if (p->order != PS_NO_ORDER) {
            put_key_int(r, ",\"order\":", p->order);
        }
        put(r, p->pid_is_text ? ",\"text\":true" : "");
        end_meta(r);
    }
    for (size_t g = 0; g < r->layout.n_groups; g++) {
        const ps_trace_group *group = &r->layout.groups[g];
        if (is_several(r)) {
            ps_buf_addf(&r->scratch, "%s ", r->source->title);
        }
        ps_trace_group_title(r->t, group, &r->scratch);
        begin_meta(r, "process_name", r->pids[g]);
        put(r, "\"name\":");
        ps_json_put_str(r->out, ps_buf_str(&r->scratch), r->scratch.len);
        ps_buf_clear(&r->scratch);
        end_meta(r);
        if (group->process != NULL && !ps_str_is_none(group->process->labels)) {
            begin_meta(r, "process_labels", r->pids[g]);
            put(r, "\"labels\":");
            put_text(r, group->process->labels);
            end_meta(r);
        }
        begin_meta(r, "process_sort_index", r->pids[g]);
        put_key_int(r, "\"sort_index\":", r->c->next_order++);
        end_meta(r);
    }
}

static const char *track_kind_name(ps_track_kind kind) {
    switch (kind) {
    case PS_TRACK_HOST_THREAD:
        return "thread";
    case PS_TRACK_STREAM:
        return "stream";
    case PS_TRACK_COMM_GROUP:
        return "group";
    case PS_TRACK_COMM_PLANE:
        return "plane";
    case PS_TRACK_COUNTER:
        return "counter";
    case PS_TRACK_DERIVED:
        break;
    }
    return "derived";
}

/* The track itself, for our reader; `lane` is one of its own, or that of the process for a counter. */
static void put_track(chrome_rank *r, uint32_t row, fragment ids) {
    const ps_track *track = track_of(r, row);
    begin_meta(r, "pipescope_track", ids);
    put_key_int(r, "\"row\":", row);
    put_key_text(r, ",\"kind\":", track_kind_name(track->kind));
    put_key_int(r, ",\"pid\":", track->pid);
    put_key_int(r, ",\"tid\":", track->tid);
    put_key_int(r, ",\"device\":", track->device);
    put_optional(r, ",\"name\":", track->name);
    put_optional(r, ",\"label\":", track->label);
    put_optional(r, ",\"unit\":", track->unit);
    if (track->order != PS_NO_ORDER) {
        put_key_int(r, ",\"order\":", track->order);
    }
    if (r->counters[row].text != NULL) {
        put(r, ",\"counter\":");
        put_fragment(r, r->counters[row]);
    }
    end_meta(r);
}

/* In row order first, so that a reader makes the same rows; further lanes and what viewers show after them. */
static void put_tracks(chrome_rank *r) {
    const ps_trace_layout *l = &r->layout;
    for (uint32_t row = 0; row < l->n_tracks; row++) {
        bool is_counter = r->lanes[row].text == NULL;
        put_track(r, row, is_counter ? r->pids[l->group_of[row]] : r->lanes[row]);
    }
    int64_t order = 0;
    for (size_t i = 0; i < l->n_tracks; i++) {
        order = i > 0 && l->group_of[l->tracks[i]] == l->group_of[l->tracks[i - 1]] ? order : 0;
        for (uint32_t lane = l->tracks[i]; lane != PS_NONE; lane = l->lanes[lane].next) {
            if (r->lanes[lane].text == NULL) {
                continue;
            }
            if (l->lanes[lane].number > 0) {
                put_track(r, l->lanes[lane].track, r->lanes[lane]);
            }
            ps_trace_lane_title(r->t, &l->lanes[lane], &r->scratch);
            begin_meta(r, "thread_name", r->lanes[lane]);
            put(r, "\"name\":");
            ps_json_put_str(r->out, ps_buf_str(&r->scratch), r->scratch.len);
            ps_buf_clear(&r->scratch);
            end_meta(r);
            begin_meta(r, "thread_sort_index", r->lanes[lane]);
            put_key_int(r, "\"sort_index\":", order++);
            end_meta(r);
        }
    }
}

/* --- events -------------------------------------------------------------------------------------------- */

static void put_value(chrome_rank *r, const ps_arg *arg) {
    const char *text = NULL;
    size_t n = 0;
    switch (arg->type) {
    case PS_ARG_INT:
        ps_json_put_i64(r->out, arg->u.i);
        break;
    case PS_ARG_TIME:
        ps_json_put_i64(r->out, arg->u.i + ps_trace_origin_ns(r->t));
        break;
    case PS_ARG_REAL:
        ps_json_put_real(r->out, arg->u.r);
        break;
    case PS_ARG_BOOL:
        put(r, arg->u.i != 0 ? "true" : "false");
        break;
    case PS_ARG_NULL:
        put(r, "null");
        break;
    case PS_ARG_STR:
        put_text(r, arg->u.s);
        break;
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        text = ps_trace_text(r->t, arg->u.s);
        n = ps_trace_text_len(r->t, arg->u.s);
        if (arg->type == PS_ARG_JSON ? ps_json_is_value(text, n) : ps_json_is_number(text, n)) {
            ps_byte_out_add(r->out, text, n);
        } else {
            ps_json_put_str(r->out, text, n);
        }
        break;
    }
}

/* "key": or, where it came before, "key (2)": */
static bool put_arg_key(chrome_rank *r, ps_str key, ps_idmap *seen) {
    uint32_t n = seen != NULL ? ps_arg_keys_count(seen, key) : 1;
    if (n == 1) {
        put_text(r, key);
    } else {
        ps_buf_addf(&r->scratch, "%s (%u)", ps_trace_text(r->t, key), n);
        ps_json_put_str(r->out, ps_buf_str(&r->scratch), r->scratch.len);
        ps_buf_clear(&r->scratch);
    }
    return n > 0;
}

static bool put_args(chrome_rank *r, uint32_t row) {
    ps_arg_iter iter = ps_trace_args(r->t, row);
    if (iter.n_left == 0) {
        return true;
    }
    bool repeats = ps_arg_keys_repeat(&r->keys, &iter);
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    put(r, ",\"args\":{");
    const char *comma = "";
    for (ps_arg arg; ok && ps_arg_next(&iter, &arg); comma = ",") {
        put(r, comma);
        ok = put_arg_key(r, arg.key, repeats ? &seen : NULL);
        put(r, ":");
        put_value(r, &arg);
    }
    put(r, "}");
    ps_idmap_fini(&seen);
    return ok;
}

static bool put_slices(chrome_rank *r) {
    const ps_slices *s = ps_trace_slices(r->t);
    const int64_t from_base = ps_trace_origin_ns(r->t) - r->c->base_ns;
    ps_trace_written *written = &r->c->job->written;
    uint64_t last_key = UINT64_MAX;
    fragment cat = {0};
    bool ok = true;
    for (uint32_t row = 0; ok && row < s->n && !ps_byte_out_failed(r->out); row++) {
        uint64_t key = category_key(s->category[row], s->kind[row]);
        if (key != last_key) {
            cat = r->categories[ps_idmap_get(&r->category_of, key)].shown;
            last_key = key;
        }
        uint32_t lane = r->layout.lane_of[row];
        bool is_point = s->kind[row] == PS_SLICE_INSTANT && s->dur_ns[row] == 0;
        put(r, r->c->separator);
        r->c->separator = ",\n";
        put(r, is_point ? "{\"ph\":\"i\",\"s\":\"t\",\"name\":" : "{\"ph\":\"X\",\"name\":");
        put_text(r, s->name[row]);
        put(r, ",\"cat\":");
        put_fragment(r, cat);
        put_fragment(r, r->lanes[lane]);
        put(r, ",\"ts\":");
        ps_json_put_us(r->out, s->start_ns[row] + from_base);
        if (!is_point) {
            put(r, ",\"dur\":");
            ps_json_put_us(r->out, s->dur_ns[row]);
        }
        ok = put_args(r, row);
        put(r, "}");
        written->n_crossing += r->layout.lanes[lane].number > 0;
    }
    written->n_slices += s->n;
    return ok;
}

static void put_flow_end(chrome_rank *r, const char *begin, const ps_flow *flow, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(r->t);
    put(r, r->c->separator);
    r->c->separator = ",\n";
    put(r, begin);
    ps_json_put_i64(r->out, (int64_t)r->c->next_flow);
    if (ps_str_is_none(flow->kind)) {
        put_key_text(r, ",\"name\":", r->no_kind);
        put_key_text(r, ",\"cat\":", r->no_kind);
    } else {
        put_optional(r, ",\"name\":", flow->kind);
        put_optional(r, ",\"cat\":", flow->kind);
    }
    put_fragment(r, r->lanes[r->layout.lane_of[slice]]);
    put(r, ",\"ts\":");
    ps_json_put_us(r->out, s->start_ns[slice] + ps_trace_origin_ns(r->t) - r->c->base_ns);
    put_key_int(r, ",\"args\":{\"slice\":", slice);
    put(r, "}}");
}

static void put_flows(chrome_rank *r) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(r->t, &n);
    for (size_t i = 0; i < n && !ps_byte_out_failed(r->out); i++) {
        r->c->next_flow++;
        put_flow_end(r, "{\"ph\":\"s\",\"id\":", &flows[i], flows[i].from);
        put_flow_end(r, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":", &flows[i], flows[i].to);
    }
    r->c->job->written.n_flows += n;
}

/* Values that are no numbers are null. */
static void put_counters(chrome_rank *r) {
    const ps_counters *c = ps_trace_counters(r->t);
    const int64_t from_base = ps_trace_origin_ns(r->t) - r->c->base_ns;
    for (uint32_t row = 0; row < c->n && !ps_byte_out_failed(r->out); row++) {
        uint32_t track = c->track[row];
        ps_str unit = track_of(r, track)->unit;
        double value = c->value[row];
        put(r, r->c->separator);
        r->c->separator = ",\n";
        put(r, "{\"ph\":\"C\",\"name\":");
        put_fragment(r, r->counters[track]);
        put_fragment(r, r->pids[r->layout.group_of[track]]);
        put(r, ",\"ts\":");
        ps_json_put_us(r->out, c->time_ns[row] + from_base);
        put(r, ",\"args\":{");
        if (ps_str_is_none(unit)) {
            put(r, "\"value\"");
        } else {
            put_text(r, unit);
        }
        put(r, ":");
        if (value - value != 0) { /* infinite, or not a number */
            put(r, "null");
        } else if (value >= -9e15 && value <= 9e15 && (double)(int64_t)value == value) {
            ps_json_put_i64(r->out, (int64_t)value);
        } else {
            ps_json_put_real(r->out, value);
        }
        put(r, "}}");
    }
    r->c->job->written.n_values += c->n;
}

/* --- the format ---------------------------------------------------------------------------------------- */

static bool prepare(chrome_rank *r) {
    r->pids = ps_calloc(r->layout.n_groups + 1, sizeof *r->pids);
    r->lanes = ps_calloc(r->layout.n_lanes + 1, sizeof *r->lanes);
    r->counters = ps_calloc(r->layout.n_tracks + 1, sizeof *r->counters);
    r->no_kind = choose_no_kind(r->t);
    return r->pids != NULL && r->lanes != NULL && r->counters != NULL &&
           ps_arg_keys_init(&r->keys, r->t) && find_categories(r) && name_processes(r) &&
           name_lanes(r) && name_counters(r);
}

static void release(chrome_rank *r) {
    ps_trace_layout_fini(&r->layout);
    ps_arg_keys_fini(&r->keys);
    ps_arena_fini(&r->arena);
    ps_buf_fini(&r->scratch);
    ps_free(r->pids);
    ps_free(r->lanes);
    ps_free(r->counters);
    ps_free(r->categories);
    ps_idmap_fini(&r->category_of);
    ps_idmap_fini(&r->used);
}

static ps_code write_rank(void *state, size_t source, const ps_trace *t, ps_err *err) {
    chrome *c = state;
    chrome_rank r = {.c = c, .out = c->job->out, .t = t, .source = &c->job->sources[source]};
    r.part = source;
    ps_arena_init(&r.arena);
    ps_buf_init(&r.scratch, 0);
    ps_idmap_init(&r.category_of);
    ps_idmap_init(&r.used);
    ps_code code = ps_trace_layout_init(&r.layout, t, err);
    if (code == PS_OK && !prepare(&r)) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        if (!c->has_begun) {
            put_head(&r);
        }
        put_facts(&r);
        put_processes(&r);
        put_tracks(&r);
        bool ok = put_slices(&r);
        put_flows(&r);
        put_counters(&r);
        code = ok && ps_buf_ok(&r.scratch) ? PS_OK : ps_fail_nomem(err);
    }
    release(&r);
    return code;
}

static void *begin(ps_trace_job *job) {
    chrome *c = ps_calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (chrome){.job = job, .separator = "", .next_pid = 1};
    }
    return c;
}

/* Without a single rank: still a document. */
static void end(void *state) {
    chrome *c = state;
    ps_byte_out_add_str(c->job->out, c->has_begun ? "\n]}\n" : "{\"traceEvents\":[]}\n");
}

static const char *const SUFFIXES[] = {".json", ".json.gz", NULL};

const ps_trace_format ps_trace_format_chrome = {
    .name = "chrome",
    .summary = "trace-event JSON for chrome://tracing, Perfetto and pipescope itself",
    .suffixes = SUFFIXES,
    .begin = begin,
    .rank = write_rank,
    .end = end,
    .free_state = ps_free,
};
