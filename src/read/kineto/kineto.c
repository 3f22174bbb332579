/* PyTorch profiler traces:
 *
 *   {"schemaVersion": 1, "deviceProperties": [...], "distributedInfo": {"rank": 0, ...}, "traceEvents": [
 *    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 4458676983526.767,
 *     "dur": 5.1, "args": {"External id": 12353, "correlation": 57541}},
 *    {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, ..., "args": {"device": 0, "stream": 7, "correlation": 57541}},
 *    {"ph": "s", "cat": "ac2g", "id": 57541, ...}, {"ph": "f", "cat": "ac2g", "id": 57541, "bp": "e", ...}],
 *    "traceName": "...", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1711964646000000000}
 *
 * Host or device is told by the category: the pid of a device row is the number of the device, and a process in a
 * container may have the same. Times are microseconds since the epoch, or since baseTimeNanoseconds, which may stand
 * behind the events. */
#include "read/kineto/kineto.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/literal.h"
#include "base/num.h"
#include "model/recording.h"
#include "read/events/trace_file.h"
#include "read/events/trace_head.h"

#define EPOCH_NS ((int64_t)1 << 59) /* 1988: later times count from 1970 */
#define OVERLAP_SLACK_NS 1000 /* files in whole microseconds round a child beyond its parent */

/* Kept for all analyses; those with PS_NEED_ARGS get every argument. */
static const char *const KNOWN_ARGS[] = {"correlation",
                                         "External id",
                                         "external id",
                                         "Sequence number",
                                         "Fwd thread id",
                                         "Collective name",
                                         "Process Group Name",
                                         "Process Group Description",
                                         "Process Group ID",
                                         "Process Group Ranks",
                                         "Group size",
                                         "In msg nelems",
                                         "Out msg nelems",
                                         "dtype",
                                         "Rank",
                                         "Src Rank",
                                         "Dst Rank",
                                         "Seq",
                                         "stream",
                                         "device",
                                         NULL};

/* What a text is, found out once: bytes by ps_str id, 0 new. */
typedef struct classes {
    uint8_t *values;
    size_t cap;
} classes;

enum { NAME_PLAIN = 1, NAME_COMM, NAME_STEP };
enum { CATEGORY_UNKNOWN = 1, CATEGORY_FIRST }; /* and on: rows of ps_kineto_categories */
enum { FLOW_LAUNCH = 1, FLOW_FORWARD, FLOW_OTHER };

/* Where the device slices of a thread went last. */
typedef struct stream_row {
    int64_t device;
    uint32_t track; /* PS_NONE: not seen yet */
} stream_row;

typedef struct kineto {
    ps_builder *builder;
    ps_diag *diag;
    uint32_t needs;
    classes categories, names, flows;
    uint8_t nowhere;     /* what class_of gives when memory is out */
    stream_row *streams; /* by thread */
    size_t n_streams, cap_streams;
    ps_kineto_links links;
    ps_kineto_numbers numbers;
    ps_str correlation, device;
    ps_str number, old_number; /* "Ev Idx", and what it was called before */
    int64_t last_ns;           /* of all events that were placed */
    int64_t base_ns, rank;
    bool has_base, failed;
} kineto;

static uint8_t *kineto_class_of(kineto *k, classes *c, ps_str text) {
    size_t old = c->cap;
    if (text.id >= c->cap) {
        if (!ps_grow(&c->values, &c->cap, (size_t)text.id + 1, (size_t)1 << 32, 1)) {
            k->failed = true;
            k->nowhere = 0;
            return &k->nowhere;
        }
        memset(c->values + old, 0, c->cap - old);
    }
    return &c->values[text.id];
}

/* --- placing slices -------------------------------------------------------------------------------------- */

static const ps_kineto_category *kineto_category_of(kineto *k, ps_str cat) {
    if (ps_str_is_none(cat)) {
        return NULL;
    }
    uint8_t *class = kineto_class_of(k, &k->categories, cat);
    if (*class == 0) {
        int row = ps_kineto_category_of(ps_builder_text(k->builder, cat));
        *class = (uint8_t)(row < 0 ? CATEGORY_UNKNOWN : CATEGORY_FIRST + row);
    }
    return *class == CATEGORY_UNKNOWN ? NULL : &ps_kineto_categories[*class - CATEGORY_FIRST];
}

static uint8_t name_class(kineto *k, ps_str name) {
    uint8_t *class = kineto_class_of(k, &k->names, name);
    if (*class == 0) {
        int64_t step = 0;
        const char *text = ps_builder_text(k->builder, name);
        *class = ps_kineto_is_comm(text)       ? NAME_COMM
                 : ps_kineto_step(text, &step) ? NAME_STEP
                                               : NAME_PLAIN;
    }
    return *class;
}

static uint32_t stream_track(kineto *k, const ps_model_event *e) {
    int64_t device = e->pid;
    (void)ps_model_arg_int(e, k->device, &device);
    if (e->thread >= k->n_streams) {
        if (!ps_grow(&k->streams, &k->cap_streams, (size_t)e->thread + 1, PS_NONE,
                     sizeof *k->streams)) {
            k->failed = true;
            return PS_NONE;
        }
        for (; k->n_streams < k->cap_streams; k->n_streams++) {
            k->streams[k->n_streams].track = PS_NONE;
        }
    }
    stream_row *row = &k->streams[e->thread];
    if (row->track == PS_NONE || row->device != device) {
        row->device = device;
        row->track = ps_builder_track(k->builder, (ps_track){.kind = PS_TRACK_STREAM,
                                                             .pid = e->pid,
                                                             .tid = e->tid,
                                                             .device = device,
                                                             .name = e->tid_name});
    }
    return row->track;
}

/* Beside the stream or thread, since it overlaps what lies there. */
static uint32_t lane_track(kineto *k, const ps_model_event *e) {
    return ps_builder_track(k->builder,
                            (ps_track){.kind = PS_TRACK_DERIVED,
                                       .pid = e->pid,
                                       .tid = e->tid,
                                       .device = -1,
                                       .name = ps_str_is_none(e->tid_name) ? e->cat : e->tid_name});
}

static void add_kineto_step(kineto *k, const ps_model_event *e) {
    int64_t step = 0;
    int64_t end_ns = 0;
    if ((k->needs & PS_NEED_STEPS) != 0 &&
        ps_kineto_step(ps_builder_text(k->builder, e->name), &step) &&
        !__builtin_add_overflow(e->event->ts_ns, e->event->dur_ns, &end_ns)) {
        ps_builder_step(k->builder, step, e->event->ts_ns, end_ns);
    }
}

static void place_kineto(void *context, ps_builder *b, const ps_model_event *e, ps_slice_kind *kind,
                         uint32_t *track) {
    kineto *k = context;
    (void)b;
    k->last_ns = e->event->ts_ns > k->last_ns ? e->event->ts_ns : k->last_ns;
    const ps_kineto_category *category = kineto_category_of(k, e->cat);
    bool is_range = e->event->ph == 'X';
    if (is_range && category != NULL) {
        uint8_t name = name_class(k, e->name);
        *kind = category->kind;
        if (name == NAME_COMM && *kind == PS_SLICE_KERNEL) {
            *kind = PS_SLICE_COMM_KERNEL;
        } else if (name == NAME_STEP &&
                   (*kind == PS_SLICE_ANNOTATION || *kind == PS_SLICE_HOST_OP)) {
            *kind = PS_SLICE_ANNOTATION; /* an operator in files of 2021 */
            add_kineto_step(k, e);
        }
    }
    if ((k->needs & PS_NEED_SLICES) == 0) {
        *track = PS_NONE;
    } else if (category != NULL && category->place == PS_KINETO_STREAM) {
        *track = stream_track(k, e);
    } else if (category != NULL && category->place == PS_KINETO_LANE) {
        *track = lane_track(k, e);
    }
}

/* --- links ------------------------------------------------------------------------------------------------ */

static void kineto_added(void *context, ps_builder *b, const ps_model_event *e, uint32_t slice) {
    kineto *k = context;
    ps_slice_kind kind = ps_builder_slice_kind(b, slice);
    int64_t correlation = 0;
    if ((k->needs & PS_NEED_FLOWS) != 0 && (kind == PS_SLICE_CALL || kind >= PS_SLICE_KERNEL) &&
        ps_model_arg_int(e, k->correlation, &correlation)) {
        ps_kineto_links_add(&k->links, b, slice, correlation);
    }
    int64_t number = 0;
    if ((k->needs & PS_NEED_ARGS) != 0 &&
        (ps_model_arg_int(e, k->number, &number) || ps_model_arg_int(e, k->old_number, &number))) {
        ps_kineto_numbers_add(&k->numbers, e->pid, e->thread, kind, number);
    }
}

static void all_added(void *context, ps_builder *b) {
    kineto *k = context;
    if ((k->needs & PS_NEED_FLOWS) != 0) {
        ps_kineto_links_join(&k->links, b);
    }
}

static uint8_t flow_class(kineto *k, ps_str kind) {
    uint8_t *class = kineto_class_of(k, &k->flows, kind);
    if (*class == 0) {
        const char *text = ps_builder_text(k->builder, kind);
        *class = ps_kineto_is_launch(text)         ? FLOW_LAUNCH
                 : strcasecmp(text, "fwdbwd") == 0 ? FLOW_FORWARD
                                                   : FLOW_OTHER;
    }
    return *class;
}

/* In files of whole microseconds an operator and what it calls may begin together. */
static bool kineto_takes(void *context, const ps_builder *b, ps_str kind, bool is_begin,
                         uint32_t slice) {
    ps_slice_kind slice_kind = ps_builder_slice_kind(b, slice);
    switch (flow_class(context, kind)) {
    case FLOW_LAUNCH:
        return is_begin ? slice_kind == PS_SLICE_CALL : slice_kind >= PS_SLICE_KERNEL;
    case FLOW_FORWARD:
        return slice_kind == PS_SLICE_HOST_OP;
    default:
        return true;
    }
}

/* The id of a launch is its correlation id. */
static bool known(void *context, const ps_builder *b, ps_str kind, uint64_t id) {
    kineto *k = context;
    (void)b;
    return flow_class(k, kind) == FLOW_LAUNCH && ps_kineto_links_knows(&k->links, id);
}

/* A launch is one flow, whether a correlation id, a pair of flow events or both tell of it. */
static bool kineto_flow(void *context, const ps_builder *b, uint32_t from, uint32_t to,
                        ps_str kind) {
    kineto *k = context;
    (void)b;
    (void)from;
    return flow_class(k, kind) != FLOW_LAUNCH || !ps_kineto_links_has(&k->links, to);
}

/* --- members of the file --------------------------------------------------------------------------------- */

/* Also a number in quotes. */
static bool parse_int(const char *json, size_t n, int64_t *out) {
    bool quoted = n >= 2 && json[0] == '"' && json[n - 1] == '"';
    return ps_parse_i64(quoted ? json + 1 : json, quoted ? n - 2 : n, out);
}

static void add_meta_int(kineto *k, const char *key, int64_t value) {
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    ps_builder_meta(k->builder, key, text);
}

static ps_code take_distributed(kineto *k, const char *json, size_t n, ps_err *err) {
    ps_arena arena = {0};
    ps_err odd = PS_ERR_INIT;
    const ps_literal *info = ps_literal_parse(&arena, json, n, &odd);
    if (odd.code == PS_NOMEM) {
        ps_arena_fini(&arena);
        return ps_fail_nomem(err);
    }
    if (info == NULL || info->kind != PS_LITERAL_OBJECT) {
        ps_diag_add(k->diag, PS_ODD_METADATA, "distributedInfo: %s",
                    info == NULL ? odd.msg : "not an object");
    }
    int64_t value = 0;
    if (ps_literal_int(ps_literal_get(info, "rank"), &value)) {
        k->rank = value;
    }
    if ((k->needs & PS_NEED_META) != 0) {
        if (ps_literal_int(ps_literal_get(info, "world_size"), &value)) {
            add_meta_int(k, "world_size", value);
        }
        const char *backend = ps_literal_str(ps_literal_get(info, "backend"));
        if (backend != NULL) {
            ps_builder_meta(k->builder, "backend", backend);
        }
    }
    ps_arena_fini(&arena);
    return PS_OK;
}

static ps_code take_kineto_member(void *context, const char *key, const char *json, size_t n,
                                  ps_err *err) {
    kineto *k = context;
    if (strcmp(key, "baseTimeNanoseconds") == 0) {
        k->has_base = parse_int(json, n, &k->base_ns);
        if (!k->has_base) {
            ps_diag_add(k->diag, PS_ODD_METADATA, "baseTimeNanoseconds");
        }
    } else if (strcmp(key, "distributedInfo") == 0) {
        ps_code code = take_distributed(k, json, n, err);
        if (code != PS_OK) {
            return code;
        }
    }
    return (k->needs & PS_NEED_META) != 0 ? ps_trace_meta_add(k->builder, key, json, n, err)
                                          : PS_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* Times since the epoch need no base. Others have one, but for files of April 2024. */
static void place_in_time(kineto *k) {
    if (k->last_ns == INT64_MIN) {
        return;
    }
    if (k->last_ns >= EPOCH_NS) {
        if (k->has_base && k->base_ns != 0) {
            ps_diag_add(k->diag, PS_ODD_METADATA, "baseTimeNanoseconds beside epoch times");
        }
    } else if (!k->has_base) {
        ps_diag_add(k->diag, PS_ODD_CLOCK_BASE, "no baseTimeNanoseconds");
    } else if (!ps_builder_time_base(k->builder, k->base_ns)) {
        ps_diag_add(k->diag, PS_ODD_METADATA, "baseTimeNanoseconds out of range");
    }
}

/* Who reads the trace has to know that it is not all that happened. */
static void note_thinned(kineto *k) {
    uint64_t n = 0;
    uint64_t of = 0;
    char text[64];
    switch (ps_kineto_numbers_loss(&k->numbers, &n, &of)) {
    case PS_KINETO_WHOLE:
        break;
    case PS_KINETO_THINNED:
        (void)snprintf(text, sizeof text, "%llu of %llu", (unsigned long long)n,
                       (unsigned long long)of);
        ps_builder_meta(k->builder, PS_THINNED_KEY, text);
        ps_diag_add(k->diag, PS_ODD_THINNED, "%s events", text);
        break;
    case PS_KINETO_TOO_FEW:
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
        ps_builder_meta(k->builder, PS_FEW_NUMBERS_KEY, text);
        break;
    }
}

static void kineto_fini(kineto *k) {
    ps_free(k->categories.values);
    ps_free(k->names.values);
    ps_free(k->flows.values);
    ps_free(k->streams);
    ps_kineto_links_fini(&k->links);
    ps_kineto_numbers_fini(&k->numbers);
}

static ps_str kineto_word(ps_builder *b, const char *text) {
    return ps_builder_str(b, text, strlen(text));
}

ps_code ps_kineto_read_input(ps_input *in, const char *path, uint32_t needs, size_t n_threads,
                             ps_builder *b, ps_err *err) {
    kineto k = {.builder = b,
                .diag = ps_builder_diag(b),
                .needs = needs,
                .correlation = kineto_word(b, "correlation"),
                .device = kineto_word(b, "device"),
                .number = kineto_word(b, "Ev Idx"),
                .old_number = kineto_word(b, "Profiler Event Index"),
                .last_ns = INT64_MIN,
                .rank = -1};
    k.links.kind = kineto_word(b, "ac2g");
    const ps_dialect dialect = {.place = place_kineto,
                                .added = kineto_added,
                                .end = all_added,
                                .takes = kineto_takes,
                                .known = known,
                                .flow = kineto_flow,
                                .context = &k,
                                .zero_is_stray = true,
                                .overlap_slack_ns = OVERLAP_SLACK_NS};
    ps_code code =
        ps_trace_model_read(in, &dialect, needs, KNOWN_ARGS, take_kineto_member, n_threads, b, err);
    if (code == PS_OK) {
        place_in_time(&k);
        note_thinned(&k);
        k.rank = k.rank >= 0 ? k.rank : ps_kineto_rank_of_name(path);
        if (k.rank >= 0 && (needs & PS_NEED_META) != 0) {
            add_meta_int(&k, "rank", k.rank);
        }
    }
    bool failed = k.failed || k.links.failed || k.numbers.failed || ps_builder_failed(b);
    kineto_fini(&k);
    return code == PS_OK && failed ? ps_fail_nomem(err) : code;
}

static ps_code read_kineto(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    return ps_trace_file_read(src, needs, ps_kineto_read_input, b, err);
}

static int sniff_kineto(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    ps_trace_head look = ps_trace_head_look(head, n);
    return look.is_object && (look.has_kineto_member || look.has_kineto_category) ? 80 : 0;
}

const ps_reader ps_reader_kineto = {
    .name = "kineto",
    .profiler = "PyTorch",
    .summary = "PyTorch profiler trace (Kineto, JSON, also gzipped)",
    .sniff = sniff_kineto,
    .parts = ps_kineto_parts,
    .read = read_kineto,
};
