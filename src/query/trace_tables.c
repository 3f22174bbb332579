#include "query/trace_tables.h"

#include <string.h>

#include "analyze/rank/step_index.h"
#include "base/fs.h"

/* S_SELF is the column SELF of slice in query/schema.h, and so on. */
enum {
#define X(id, name, type, hidden, text) R_##id,
    PS_SQL_RANK_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) ST_##id,
    PS_SQL_STEP_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) T_##id,
    PS_SQL_TRACK_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) S_##id,
    PS_SQL_SLICE_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) C_##id,
    PS_SQL_COUNTER_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) F_##id,
    PS_SQL_FLOW_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) A_##id,
    PS_SQL_ARG_COLUMNS(X)
#undef X
};
enum {
#define X(id, name, type, hidden, text) M_##id,
    PS_SQL_META_COLUMNS(X)
#undef X
};

#define BIT(column) (UINT64_C(1) << (column))
#define UNKNOWN INT64_MIN

/* What every reading of slices asks for, so that a slice has the same number in every query. */
#define SLICES ((uint32_t)(PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES))
/* Counters are tracks, too: whoever tells numbers of tracks reads both. */
#define TRACKS (SLICES | (uint32_t)PS_NEED_COUNTERS)

bool ps_sql_is_number(const ps_sql_column *column) {
    return column->type == PS_SQL_INTEGER || column->type == PS_SQL_SLICE_ID ||
           column->type == PS_SQL_BYTES || column->type == PS_SQL_DURATION ||
           column->type == PS_SQL_MOMENT;
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

static void put_bytes(const ps_trace_row *at, const char *text, size_t n, sqlite3_context *out) {
    sqlite3_result_text(out, text, (int)n, at->text_stays ? SQLITE_STATIC : SQLITE_TRANSIENT);
}

/* None is NULL. */
static void put_str(const ps_trace_row *at, ps_str s, sqlite3_context *out) {
    if (!ps_str_is_none(s)) {
        const ps_trace *t = at->part->trace;
        put_bytes(at, ps_trace_text(t, s), ps_trace_text_len(t, s), out);
    }
}

/* Of texts of the program and of the search for ranks, which stay. */
static void put_text(const char *text, sqlite3_context *out) {
    if (text != NULL && text[0] != '\0') {
        sqlite3_result_text(out, text, -1, SQLITE_STATIC);
    }
}

static int64_t origin_of(const ps_trace_row *at) {
    return ps_trace_origin_ns(at->part->trace);
}

static int64_t row_or_unknown(uint32_t row) {
    return row == PS_NONE ? UNKNOWN : (int64_t)row;
}

static int64_t slice_bound(const ps_sql_part *part, bool is_end, int64_t *bound) {
    const ps_slices *s = ps_trace_slices(part->trace);
    const ps_counters *c = ps_trace_counters(part->trace);
    bool any = s->n > 0;
    *bound = any ? s->start_ns[0] : 0;
    for (uint32_t k = 0; is_end && k * PS_PART_CHUNK < s->n; k++) {
        *bound = k == 0 || part->last_end[k] > *bound ? part->last_end[k] : *bound;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        bool beyond = is_end ? c->time_ns[i] > *bound : c->time_ns[i] < *bound;
        *bound = !any || beyond ? c->time_ns[i] : *bound;
        any = true;
    }
    return any;
}

/* Rows [*first, *end) of sorted times that lie in the range. */
static void narrow_sorted(const int64_t *times, int64_t least, int64_t most, uint32_t *first,
                          uint32_t *end) {
    uint32_t low = *first;
    uint32_t high = *end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] < least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *first = low;
    high = *end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] <= most) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *end = low;
}

/* Of a column that is the number of the row. */
static bool narrow_rows(const ps_number_range *range, uint32_t *first, uint32_t *end) {
    int64_t least = range->least > *first ? range->least : *first;
    int64_t most = range->most < (int64_t)*end - 1 ? range->most : (int64_t)*end - 1;
    *first = least <= most ? (uint32_t)least : *end;
    *end = least <= most ? (uint32_t)most + 1 : *end;
    return true;
}

static int64_t minus_origin(int64_t moment, int64_t origin) {
    int64_t out = 0;
    bool over = __builtin_sub_overflow(moment, origin, &out);
    return !over ? out : moment < 0 ? INT64_MIN : INT64_MAX;
}

/* --- rank -------------------------------------------------------------------------------------------------------- */

static ps_sql_needs rank_needs(uint64_t used) {
    bool reads = (used & (BIT(R_START) | BIT(R_END) | BIT(R_SLICES))) != 0;
    return (ps_sql_needs){.trace = reads ? TRACKS : 0};
}

static uint32_t rank_rows(const ps_sql_part *part) {
    (void)part;
    return 1;
}

static int64_t rank_number(const ps_trace_row *at, int column) {
    const ps_sql_part *part = at->part;
    int64_t bound = 0;
    switch (column) {
    case R_RANK:
        return part->rank->rank;
    case R_PROFILE:
        return (int64_t)part->index;
    case R_MACHINE:
        return part->rank->machine >= 0 ? part->rank->machine : UNKNOWN;
    case R_START:
    case R_END:
        return part->trace != NULL && slice_bound(part, column == R_END, &bound)
                   ? bound + origin_of(at)
                   : UNKNOWN;
    case R_SLICES:
        return part->trace != NULL ? (int64_t)ps_trace_slices(part->trace)->n : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static void rank_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    const ps_cluster_rank *rank = at->part->rank;
    switch (column) {
    case R_HOST:
        put_text(rank->host, out);
        break;
    case R_PROFILER:
        put_text(ps_cluster_profiler(rank), out);
        break;
    case R_FORMAT:
        put_text(ps_cluster_format(rank), out);
        break;
    case R_PATH:
        put_text(rank->rel_path != NULL ? rank->rel_path : ps_path_base(rank->path), out);
        break;
    default:
        break;
    }
}

/* --- step -------------------------------------------------------------------------------------------------------- */

static ps_sql_needs step_needs(uint64_t used) {
    (void)used;
    return (ps_sql_needs){.trace = PS_NEED_STEPS | PS_NEED_META};
}

static uint32_t step_rows(const ps_sql_part *part) {
    size_t n = 0;
    (void)ps_trace_steps(part->trace, &n);
    return (uint32_t)n;
}

static int64_t step_number(const ps_trace_row *at, int column) {
    size_t n = 0;
    const ps_step *step = &ps_trace_steps(at->part->trace, &n)[at->row];
    switch (column) {
    case ST_RANK:
        return at->part->rank->rank;
    case ST_STEP:
        return step->id;
    case ST_START:
        return step->start_ns + origin_of(at);
    case ST_END:
        return step->end_ns + origin_of(at);
    case ST_DUR:
        return step->end_ns - step->start_ns;
    case ST_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

/* --- track ------------------------------------------------------------------------------------------------------- */

static ps_sql_needs track_needs(uint64_t used) {
    (void)used;
    return (ps_sql_needs){.trace = TRACKS};
}

static uint32_t track_rows(const ps_sql_part *part) {
    size_t n = 0;
    (void)ps_trace_tracks(part->trace, &n);
    return (uint32_t)n;
}

static const ps_track *track_at(const ps_trace_row *at, uint32_t track) {
    size_t n = 0;
    return &ps_trace_tracks(at->part->trace, &n)[track];
}

static int64_t track_number(const ps_trace_row *at, int column) {
    const ps_track *track = track_at(at, at->row);
    switch (column) {
    case T_RANK:
        return at->part->rank->rank;
    case T_ID:
        return at->row;
    case T_PID:
        return track->pid;
    case T_TID:
        return track->tid;
    case T_DEVICE:
        return track->device >= 0 ? track->device : UNKNOWN;
    case T_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

static void track_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    static const char *const KINDS[] = {
        [PS_TRACK_HOST_THREAD] = "thread", [PS_TRACK_STREAM] = "stream",
        [PS_TRACK_COMM_GROUP] = "group",   [PS_TRACK_COMM_PLANE] = "plane",
        [PS_TRACK_COUNTER] = "counter",    [PS_TRACK_DERIVED] = "derived"};
    const ps_track *track = track_at(at, at->row);
    const ps_process *process = NULL;
    switch (column) {
    case T_KIND:
        put_text(KINDS[track->kind], out);
        break;
    case T_PROCESS:
        process = ps_trace_process(at->part->trace, track->pid);
        put_str(at, process != NULL ? process->name : PS_STR_NONE, out);
        break;
    case T_NAME:
        put_str(at, track->name, out);
        break;
    case T_LABEL:
        put_str(at, track->label, out);
        break;
    case T_UNIT:
        put_str(at, track->unit, out);
        break;
    default:
        break;
    }
}

static bool track_narrow(const ps_sql_part *part, const ps_number_range *range, uint32_t *first,
                         uint32_t *end) {
    (void)part;
    return range->column == T_ID && narrow_rows(range, first, end);
}

/* --- slice ------------------------------------------------------------------------------------------------------- */

static ps_sql_needs slice_needs(uint64_t used) {
    ps_sql_needs needs = {.trace = (used & BIT(S_TRACK)) != 0 ? TRACKS : SLICES};
    needs.links = (used & (BIT(S_STEP) | BIT(S_PARENT) | BIT(S_CALL))) != 0;
    needs.self = (used & BIT(S_SELF)) != 0;
    if (needs.links || needs.self) {
        needs.trace |= PS_NEED_FLOWS;
    }
    return needs;
}

static uint32_t slice_rows(const ps_sql_part *part) {
    return ps_trace_slices(part->trace)->n;
}

static int64_t slice_step(const ps_sql_part *part, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(part->trace);
    size_t n_steps = 0;
    (void)ps_trace_steps(part->trace, &n_steps);
    int64_t start = s->start_ns[slice];
    int64_t step = n_steps == 0                     ? UNKNOWN
                   : ps_is_launched(s->kind[slice]) ? ps_links_step(part->links, slice)
                                                    : ps_step_of(&part->links->steps, start, start);
    return step == PS_STEP_OUTSIDE ? UNKNOWN : step;
}

static int64_t slice_number(const ps_trace_row *at, int column) {
    const ps_slices *s = ps_trace_slices(at->part->trace);
    uint32_t i = at->row;
    switch (column) {
    case S_RANK:
        return at->part->rank->rank;
    case S_ID:
        return i;
    case S_TRACK:
        return s->track[i];
    case S_KIND:
        return s->kind[i];
    case S_NAME:
        return s->name[i].id;
    case S_CATEGORY:
        return s->category[i].id;
    case S_START:
        return s->start_ns[i] + origin_of(at);
    case S_DUR:
        return s->dur_ns[i];
    case S_END:
        return ps_slice_end(s, i) + origin_of(at);
    case S_STEP:
        return slice_step(at->part, i);
    case S_PARENT:
        return row_or_unknown(at->part->links->parent[i]);
    case S_CALL:
        return row_or_unknown(at->part->links->call[i]);
    case S_SELF:
        return at->part->self_ns[i];
    case S_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

/* NULL where the statement does not need them. */
static const int64_t *slice_array(const ps_sql_part *part, int column, int64_t *plus) {
    const ps_slices *s = ps_trace_slices(part->trace);
    *plus = column == S_START ? ps_trace_origin_ns(part->trace) : 0;
    return column == S_DUR     ? s->dur_ns
           : column == S_START ? s->start_ns
           : column == S_SELF  ? part->self_ns
                               : NULL;
}

static void slice_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    const ps_slices *s = ps_trace_slices(at->part->trace);
    switch (column) {
    case S_KIND:
        put_text(ps_slice_kind_name((ps_slice_kind)s->kind[at->row]), out);
        break;
    case S_NAME:
        put_str(at, s->name[at->row], out);
        break;
    case S_CATEGORY:
        put_str(at, s->category[at->row], out);
        break;
    default:
        break;
    }
}

/* A text that is interned has an id; one that is none of the trace is in no row. */
static bool interned(const ps_sql_part *part, const char *text, int64_t *out) {
    ps_str s = ps_trace_find_text(part->trace, text);
    *out = s.id;
    return !ps_str_is_none(s);
}

static bool slice_number_of_text(const ps_sql_part *part, int column, const char *text,
                                 int64_t *out) {
    if (column != S_KIND) {
        return interned(part, text, out);
    }
    for (int kind = 0; kind < PS_N_SLICE_KINDS; kind++) {
        if (strcmp(ps_slice_kind_name((ps_slice_kind)kind), text) == 0) {
            *out = kind;
            return true;
        }
    }
    return false;
}

static const ps_str *slice_texts(const ps_sql_part *part, int column) {
    const ps_slices *s = ps_trace_slices(part->trace);
    return column == S_NAME ? s->name : column == S_CATEGORY ? s->category : NULL;
}

static const char *slice_kind_name(uint8_t kind) {
    return ps_slice_kind_name((ps_slice_kind)kind);
}

static const uint8_t *slice_kinds(const ps_sql_part *part, int column) {
    return column == S_KIND ? ps_trace_slices(part->trace)->kind : NULL;
}

/* Chunks that end before the moment begin no row that ends after it. */
static void narrow_ends(const ps_sql_part *part, int64_t least, uint32_t *first, uint32_t end) {
    while (*first < end && part->last_end[*first / PS_PART_CHUNK] < least) {
        uint32_t next = (*first / PS_PART_CHUNK + 1) * PS_PART_CHUNK;
        *first = next < end ? next : end;
    }
}

static bool slice_narrow(const ps_sql_part *part, const ps_number_range *range, uint32_t *first,
                         uint32_t *end) {
    const ps_slices *s = ps_trace_slices(part->trace);
    int64_t origin = ps_trace_origin_ns(part->trace);
    if (range->column == S_ID) {
        return narrow_rows(range, first, end);
    }
    if (range->column == S_START) {
        narrow_sorted(s->start_ns, minus_origin(range->least, origin),
                      minus_origin(range->most, origin), first, end);
        return true;
    }
    if (range->column == S_END) {
        /* No slice begins after it ends. */
        narrow_sorted(s->start_ns, INT64_MIN, minus_origin(range->most, origin), first, end);
        narrow_ends(part, minus_origin(range->least, origin), first, *end);
    }
    return false;
}

/* --- counter ----------------------------------------------------------------------------------------------------- */

static ps_sql_needs counter_needs(uint64_t used) {
    bool tells_track = (used & BIT(C_TRACK)) != 0;
    return (ps_sql_needs){.trace = tells_track ? TRACKS : PS_NEED_META | PS_NEED_COUNTERS};
}

static uint32_t counter_rows(const ps_sql_part *part) {
    return ps_trace_counters(part->trace)->n;
}

static int64_t counter_number(const ps_trace_row *at, int column) {
    const ps_counters *c = ps_trace_counters(at->part->trace);
    switch (column) {
    case C_RANK:
        return at->part->rank->rank;
    case C_TRACK:
        return c->track[at->row];
    case C_NAME:
        return track_at(at, c->track[at->row])->name.id;
    case C_TIME:
        return c->time_ns[at->row] + origin_of(at);
    case C_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

static void counter_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    const ps_counters *c = ps_trace_counters(at->part->trace);
    if (column == C_VALUE) {
        sqlite3_result_double(out, c->value[at->row]);
    } else if (column == C_NAME) {
        put_str(at, track_at(at, c->track[at->row])->name, out);
    }
}

static bool text_number(const ps_sql_part *part, int column, const char *text, int64_t *out) {
    (void)column;
    return interned(part, text, out);
}

/* --- flow -------------------------------------------------------------------------------------------------------- */

static ps_sql_needs flow_needs(uint64_t used) {
    (void)used;
    return (ps_sql_needs){.trace = SLICES | (uint32_t)PS_NEED_FLOWS};
}

static uint32_t flow_rows(const ps_sql_part *part) {
    size_t n = 0;
    (void)ps_trace_flows(part->trace, &n);
    return (uint32_t)n;
}

static const ps_flow *flow_at(const ps_sql_part *part, uint32_t row) {
    size_t n = 0;
    return &ps_trace_flows(part->trace, &n)[row];
}

static int64_t flow_number(const ps_trace_row *at, int column) {
    const ps_flow *flow = flow_at(at->part, at->row);
    switch (column) {
    case F_RANK:
        return at->part->rank->rank;
    case F_FROM:
        return flow->from;
    case F_TO:
        return flow->to;
    case F_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

static void flow_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    const ps_flow *flow = flow_at(at->part, at->row);
    if (column == F_KIND && ps_str_is_none(flow->kind)) {
        put_text("mark", out);
    } else if (column == F_KIND) {
        put_str(at, flow->kind, out);
    }
}

/* Flows stand in the order of their causes. */
static uint32_t first_flow_from(const ps_sql_part *part, int64_t slice, uint32_t low,
                                uint32_t high) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int64_t)flow_at(part, middle)->from < slice) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool flow_narrow(const ps_sql_part *part, const ps_number_range *range, uint32_t *first,
                        uint32_t *end) {
    if (range->column == F_FROM) {
        *first = first_flow_from(part, range->least, *first, *end);
        *end =
            range->most < INT64_MAX ? first_flow_from(part, range->most + 1, *first, *end) : *end;
    }
    return range->column == F_FROM;
}

/* --- arg --------------------------------------------------------------------------------------------------------- */

/* With those that other tables would bring into the trace: the same rows, whatever else was asked. */
static ps_sql_needs arg_needs(uint64_t used) {
    (void)used;
    return (ps_sql_needs){.trace = SLICES |
                                   (uint32_t)(PS_NEED_ARGS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST)};
}

static int64_t arg_number(const ps_trace_row *at, int column) {
    switch (column) {
    case A_RANK:
        return at->part->rank->rank;
    case A_SLICE:
        return at->row;
    case A_KEY:
        return at->arg.key.id;
    case A_PROFILE:
        return (int64_t)at->part->index;
    default:
        return UNKNOWN;
    }
}

static void put_value(const ps_trace_row *at, sqlite3_context *out) {
    switch (at->arg.type) {
    case PS_ARG_INT:
    case PS_ARG_BOOL:
        sqlite3_result_int64(out, at->arg.u.i);
        break;
    case PS_ARG_TIME:
        sqlite3_result_int64(out, at->arg.u.i + origin_of(at));
        break;
    case PS_ARG_REAL:
        sqlite3_result_double(out, at->arg.u.r);
        break;
    case PS_ARG_STR:
    case PS_ARG_NUMBER:
    case PS_ARG_JSON:
        put_str(at, at->arg.u.s, out);
        break;
    case PS_ARG_NULL:
        break;
    }
}

static void arg_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    static const char *const TYPES[] = {
        [PS_ARG_INT] = "integer", [PS_ARG_TIME] = "time",     [PS_ARG_REAL] = "real",
        [PS_ARG_STR] = "text",    [PS_ARG_NUMBER] = "number", [PS_ARG_JSON] = "json",
        [PS_ARG_BOOL] = "bool",   [PS_ARG_NULL] = "null"};
    if (column == A_KEY) {
        put_str(at, at->arg.key, out);
    } else if (column == A_VALUE) {
        put_value(at, out);
    } else if (column == A_TYPE) {
        put_text(TYPES[at->arg.type], out);
    }
}

static bool arg_narrow(const ps_sql_part *part, const ps_number_range *range, uint32_t *first,
                       uint32_t *end) {
    (void)part;
    return range->column == A_SLICE && narrow_rows(range, first, end);
}

/* --- meta -------------------------------------------------------------------------------------------------------- */

static ps_sql_needs meta_needs(uint64_t used) {
    (void)used;
    return (ps_sql_needs){.trace = PS_NEED_META};
}

static uint32_t meta_rows(const ps_sql_part *part) {
    size_t n = 0;
    (void)ps_trace_metas(part->trace, &n);
    return (uint32_t)n;
}

static int64_t meta_number(const ps_trace_row *at, int column) {
    return column == M_RANK      ? at->part->rank->rank
           : column == M_PROFILE ? (int64_t)at->part->index
                                 : UNKNOWN;
}

static void meta_cell(const ps_trace_row *at, int column, sqlite3_context *out) {
    size_t n = 0;
    const ps_meta *meta = &ps_trace_metas(at->part->trace, &n)[at->row];
    const char *text = column == M_KEY ? meta->key : meta->value;
    put_bytes(at, text, strlen(text), out);
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

static const ps_trace_table TABLES[] = {
    [PS_SQL_RANK] = {.needs = rank_needs,
                     .n_rows = rank_rows,
                     .number = rank_number,
                     .cell = rank_cell},
    [PS_SQL_STEP] = {.needs = step_needs, .n_rows = step_rows, .number = step_number},
    [PS_SQL_TRACK] = {.needs = track_needs,
                      .n_rows = track_rows,
                      .number = track_number,
                      .cell = track_cell,
                      .narrow = track_narrow,
                      .selective = BIT(T_ID)},
    [PS_SQL_SLICE] = {.needs = slice_needs,
                      .n_rows = slice_rows,
                      .number = slice_number,
                      .array = slice_array,
                      .cell = slice_cell,
                      .number_of_text = slice_number_of_text,
                      .interned = BIT(S_KIND) | BIT(S_NAME) | BIT(S_CATEGORY),
                      .grouped = BIT(S_KIND) | BIT(S_NAME) | BIT(S_CATEGORY),
                      .texts = slice_texts,
                      .kinds = slice_kinds,
                      .kind_name = slice_kind_name,
                      .narrow = slice_narrow,
                      .narrowed = BIT(S_ID) | BIT(S_START) | BIT(S_END),
                      .selective = BIT(S_ID)},
    [PS_SQL_COUNTER] = {.needs = counter_needs,
                        .n_rows = counter_rows,
                        .number = counter_number,
                        .cell = counter_cell,
                        .number_of_text = text_number,
                        .interned = BIT(C_NAME)},
    [PS_SQL_FLOW] = {.needs = flow_needs,
                     .n_rows = flow_rows,
                     .number = flow_number,
                     .cell = flow_cell,
                     .narrow = flow_narrow,
                     .selective = BIT(F_FROM) | BIT(F_TO)},
    [PS_SQL_ARG] = {.needs = arg_needs,
                    .n_rows = slice_rows,
                    .number = arg_number,
                    .cell = arg_cell,
                    .number_of_text = text_number,
                    .interned = BIT(A_KEY),
                    .narrow = arg_narrow,
                    .nested = true,
                    .selective = BIT(A_SLICE)},
    [PS_SQL_META] = {.needs = meta_needs,
                     .n_rows = meta_rows,
                     .number = meta_number,
                     .cell = meta_cell},
};

const ps_trace_table *ps_trace_table_of(ps_sql_table_id id) {
    return id < PS_SQL_FIRST_PROFILE_TABLE ? &TABLES[id] : NULL;
}
