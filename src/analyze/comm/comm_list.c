/* The same facts under other names:
 *
 *              operator                    type              group                   size
 *   database   slice on the group's track  opType            name of the track       count, dataType
 *   text       the same                    in the name       the same, see below     count, data_type
 *   PyTorch    the kernel                  Collective name   Process Group Name      In msg nelems, dtype
 *
 * Older text exports number the communicators of a rank ("0"), which says nothing beside other ranks: there the group is
 * the one that communication.json has for the operator, else the tag in the operator's name.
 *
 * gloo's ranges (model/host_comm.h) name the type alone. Where the metadata lists one group only, it is theirs. */
#include "analyze/comm/comm_list.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/comm/topology.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "model/comm_kernels.h"
#include "model/host_comm.h"
#include "model/kernel_name.h"

#define MAX_IN_GROUP 4096 /* slices that are looked at for what a group of calls holds */

typedef enum comm_key {
    KEY_OP_TYPE,
    KEY_COLLECTIVE,
    KEY_GROUP_NAME,
    KEY_GROUP_DESCRIPTION,
    KEY_COUNT,
    KEY_ELEMENTS,
    KEY_DATA_TYPE,
    KEY_DATA_TYPE_TEXT,
    KEY_DTYPE,
    KEY_SEQUENCE,
    KEY_HOST_START,
    KEY_MEMBERS,
    KEY_GROUP_SIZE,
    KEY_OWN,
    KEY_PEER,
    KEY_SOURCE,
    KEY_DESTINATION,
    KEY_MESSAGE_SIZE,
    KEY_COMMUNICATOR,
    N_KEYS
} comm_key;

static const char *const KEYS[N_KEYS] = {
    [KEY_OP_TYPE] = "opType",
    [KEY_COLLECTIVE] = "Collective name",
    [KEY_GROUP_NAME] = "Process Group Name",
    [KEY_GROUP_DESCRIPTION] = "Process Group Description",
    [KEY_COUNT] = "count",
    [KEY_ELEMENTS] = "In msg nelems",
    [KEY_DATA_TYPE] = "dataType",
    [KEY_DATA_TYPE_TEXT] = "data_type",
    [KEY_DTYPE] = "dtype",
    [KEY_SEQUENCE] = "Seq",
    [KEY_HOST_START] = "hostStart",
    [KEY_MEMBERS] = "Process Group Ranks",
    [KEY_GROUP_SIZE] = "Group size",
    [KEY_OWN] = "srcRank",
    [KEY_PEER] = "dstRank",
    [KEY_SOURCE] = "Src Rank",
    [KEY_DESTINATION] = "Dst Rank",
    [KEY_MESSAGE_SIZE] = "Message size [bytes]",
    [KEY_COMMUNICATOR] = "NCCL communicator ID",
};

/* The arguments of one slice that matter; a text is NULL and a number -1 where it has none. */
typedef struct comm_args {
    const char *texts[N_KEYS];
    int64_t numbers[N_KEYS];
    bool has_host_start;
} comm_args;

typedef struct collection {
    const ps_trace *trace;
    const ps_links *links; /* may be NULL */
    ps_comm_list *list;
    ps_diag *diag;
    const ps_rank_facts *facts; /* the groups that the metadata lists */
    ps_str keys[N_KEYS];        /* in the trace; none: no slice has it */
    const ps_table *groups;     /* side table "communication", or NULL */
    size_t name_column, group_column;
    ps_idmap group_of; /* operator name in the list's pool -> row of groups */
    ps_idmap what_of;  /* text of that pool -> ps_comm_what */
    ps_idmap looks;    /* hash of a look -> its place in the list's */
    uint32_t *look_of; /* by operator: that place */
    size_t cap_look_of;
    bool of_gloo; /* ranges of the host: the rank has no device */
    bool failed;  /* memory is out */
} collection;

/* --- element sizes ------------------------------------------------------------------------------------------- */

int64_t ps_data_type_bytes(const char *name) {
    static const struct {
        const char *name;
        int64_t bytes;
    } TYPES[] = {
        {"int8", 1},
        {"uint8", 1},
        {"char", 1},
        {"signed char", 1},
        {"byte", 1},
        {"unsigned char", 1},
        {"bool", 1},
        {"fp8", 1},
        {"hif8", 1},
        {"fp8e4m3", 1},
        {"fp8e5m2", 1},
        {"float8_e4m3fn", 1},
        {"fp8e8m0", 1},
        {"float8_e5m2", 1},
        {"float8_e4m3fnuz", 1},
        {"float8_e5m2fnuz", 1},
        {"int16", 2},
        {"uint16", 2},
        {"short", 2},
        {"short int", 2},
        {"fp16", 2},
        {"half", 2},
        {"float16", 2},
        {"c10::half", 2},
        {"bfp16", 2},
        {"bf16", 2},
        {"bfloat16", 2},
        {"c10::bfloat16", 2},
        {"int32", 4},
        {"uint32", 4},
        {"int", 4},
        {"fp32", 4},
        {"float", 4},
        {"float32", 4},
        {"complexhalf", 4},
        {"unsigned int", 4},
        {"int64", 8},
        {"uint64", 8},
        {"long", 8},
        {"long int", 8},
        {"fp64", 8},
        {"double", 8},
        {"float64", 8},
        {"complexfloat", 8},
        {"complex64", 8},
        {"int128", 16},
        {"complexdouble", 16},
        {"complex128", 16},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strcasecmp(TYPES[i].name, name) == 0) {
            return TYPES[i].bytes;
        }
    }
    return 0;
}

/* --- texts --------------------------------------------------------------------------------------------------- */

static ps_str keep_n(collection *c, const char *text, size_t n) {
    ps_str s = ps_strpool_add(&c->list->strings, text, n);
    c->failed = c->failed || ps_str_is_none(s);
    return s;
}

/* None for NULL and for an empty text. */
static ps_str keep_comm_op(collection *c, const char *text) {
    return text != NULL && text[0] != '\0' ? keep_n(c, text, strlen(text)) : PS_STR_NONE;
}

const char *ps_comm_text(const ps_comm_list *list, ps_str s) {
    return ps_strpool_get(&list->strings, s);
}

/* What a type or name stands for, looked up once each: types are few, and an operator's name is asked for several times. */
static ps_comm_what what_of(collection *c, ps_str text) {
    uint32_t known = ps_idmap_get(&c->what_of, text.id);
    if (known != PS_IDMAP_NONE) {
        return (ps_comm_what)known;
    }
    ps_comm_what what = ps_comm_of_name(ps_comm_text(c->list, text));
    c->failed = !ps_idmap_put(&c->what_of, text.id, (uint32_t)what) || c->failed;
    return what;
}

static bool names_p2p(collection *c, ps_str text) {
    return ps_comm_is_p2p(what_of(c, text));
}

static bool is_number(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* --- arguments ----------------------------------------------------------------------------------------------- */

static comm_args read_comm_op_args(const collection *c, uint32_t slice) {
    comm_args out = {0};
    for (size_t k = 0; k < N_KEYS; k++) {
        out.numbers[k] = -1;
    }
    ps_arg_iter iter = ps_trace_args(c->trace, slice);
    ps_arg arg;
    while (ps_arg_next(&iter, &arg)) {
        size_t k = 0;
        while (k < N_KEYS && (ps_str_is_none(c->keys[k]) || !ps_str_eq(c->keys[k], arg.key))) {
            k++;
        }
        if (k == N_KEYS) {
            continue;
        }
        if (arg.type == PS_ARG_STR || arg.type == PS_ARG_NUMBER) {
            out.texts[k] = ps_trace_text(c->trace, arg.u.s);
        } else if (arg.type == PS_ARG_INT || arg.type == PS_ARG_TIME) {
            out.numbers[k] = arg.u.i;
            /* a number that a file calls so is no time of this trace */
            bool is_time = k == KEY_HOST_START && arg.type == PS_ARG_TIME;
            out.has_host_start = out.has_host_start || is_time;
        }
    }
    return out;
}

/* A number, or a text that holds one: databases may keep counts as text. */
static int64_t comm_op_number_of(const comm_args *args, comm_key key) {
    int64_t value = args->numbers[key];
    const char *text = args->texts[key];
    if (text != NULL && !ps_parse_i64(text, strlen(text), &value)) {
        value = -1;
    }
    return value;
}

static void set_size(collection *c, const ps_comm_op *op, ps_comm_look *look,
                     const comm_args *args) {
    comm_key count =
        args->numbers[KEY_COUNT] != -1 || args->texts[KEY_COUNT] != NULL ? KEY_COUNT : KEY_ELEMENTS;
    int64_t n = comm_op_number_of(args, count);
    const char *type = args->texts[KEY_DATA_TYPE];
    type = type != NULL ? type : args->texts[KEY_DATA_TYPE_TEXT];
    type = type != NULL ? type : args->texts[KEY_DTYPE];
    if (n < -1) {
        ps_diag_add(c->diag, PS_ODD_NUMBER, "%.80s: %lld elements", ps_comm_text(c->list, op->name),
                    (long long)n);
        n = -1;
    }
    int64_t bytes = type != NULL ? ps_data_type_bytes(type) : 0;
    look->data_type = keep_comm_op(c, type);
    look->n_elements = n;
    look->size_bytes = n >= 0 && bytes > 0 && n <= INT64_MAX / bytes ? n * bytes : -1;
    int64_t said = comm_op_number_of(args, KEY_MESSAGE_SIZE);
    look->size_bytes = look->size_bytes < 0 && said >= 0 ? said : look->size_bytes;
}

/* --- types --------------------------------------------------------------------------------------------------- */

/* "hcom_allReduce__648_0_1" -> "hcom_allReduce_", as the profiler writes it where it knows. */
static ps_str type_in_name(collection *c, const char *name) {
    const char *tag = strstr(name, "__");
    return tag != NULL && tag > name ? keep_n(c, name, (size_t)(tag - name) + 1)
                                     : keep_comm_op(c, name);
}

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" -> "AllReduce"; of other libraries the function. */
static ps_str type_in_kernel(collection *c, const char *name) {
    size_t n = 0;
    char plain[PS_KERNEL_NAME_BYTES];
    const char *at = ps_comm_function(ps_kernel_name_plain(name, plain), &n);
    const char *of_nccl = memmem(at, n, "Kernel_", sizeof "Kernel_" - 1);
    if (strncmp(at, "nccl", 4) == 0 && of_nccl != NULL) {
        at = of_nccl + sizeof "Kernel_" - 1;
        n = strcspn(at, "_(<");
    }
    return n > 0 ? keep_n(c, at, n) : keep_comm_op(c, name);
}

/* The range "nccl:all_reduce" or "ncclAllReduce" around the call that launched a kernel, or PS_NONE. */
static uint32_t range_around(const collection *c, uint32_t slice) {
    if (c->links == NULL || c->links->call[slice] == PS_NONE) {
        return PS_NONE;
    }
    const ps_slices *s = ps_trace_slices(c->trace);
    uint32_t i = c->links->parent[c->links->call[slice]];
    for (; i != PS_NONE; i = c->links->parent[i]) {
        const char *name = ps_trace_text(c->trace, s->name[i]);
        bool is_range = s->kind[i] == PS_SLICE_ANNOTATION || s->kind[i] == PS_SLICE_MARK_HOST;
        if (is_range && (strncmp(name, "nccl", 4) == 0 || strncmp(name, "hccl", 4) == 0)) {
            return i;
        }
    }
    return PS_NONE;
}

/* NCCL launches what is between ncclGroupStart and ncclGroupEnd in the range of the latter. The one call between them on
 * that thread, or PS_NONE where there are several or none. */
static uint32_t only_call_of_group(const collection *c, uint32_t group_end) {
    const ps_slices *s = ps_trace_slices(c->trace);
    uint32_t only = PS_NONE;
    for (uint32_t i = group_end, n = 0; i-- > 0 && n < MAX_IN_GROUP; n++) {
        const char *name = ps_trace_text(c->trace, s->name[i]);
        if (s->track[i] != s->track[group_end] || s->kind[i] != PS_SLICE_MARK_HOST) {
            continue;
        }
        if (strcmp(name, "ncclGroupStart") == 0) {
            return only;
        }
        if (strcmp(name, "ncclGroupEnd") == 0) {
            return PS_NONE;
        }
        if (ps_comm_of_call(name) != PS_COMM_UNKNOWN) {
            if (only != PS_NONE) {
                return PS_NONE;
            }
            only = i;
        }
    }
    return PS_NONE;
}

/* What NCCL's own range says of its call. The other end is a place in the communicator, and which is this rank's is not
 * said: it tells nothing. */
static void take_payload(const collection *c, uint32_t range, comm_args *args) {
    comm_args said = read_comm_op_args(c, range);
    static const comm_key KEYS_OF_RANGE[] = {KEY_MESSAGE_SIZE, KEY_COMMUNICATOR};
    for (size_t i = 0; i < sizeof KEYS_OF_RANGE / sizeof *KEYS_OF_RANGE; i++) {
        args->texts[KEYS_OF_RANGE[i]] = said.texts[KEYS_OF_RANGE[i]];
        args->numbers[KEYS_OF_RANGE[i]] = said.numbers[KEYS_OF_RANGE[i]];
    }
}

/* What was called decides: an all-to-all runs as a kernel SendRecv. Several sends and receives in one ("coalesced") do
 * as well, and there the name of the kernel decides; a group of several calls of NCCL is no transfer between two. */
static void set_kernel_type(collection *c, const ps_comm_op *op, ps_comm_look *look,
                            comm_args *args) {
    const char *name = ps_comm_text(c->list, op->name);
    const char *called = args->texts[KEY_COLLECTIVE];
    bool is_nvtx_group = false;
    if (called == NULL || called[0] == '\0') {
        const ps_slices *s = ps_trace_slices(c->trace);
        uint32_t range = range_around(c, op->slice);
        called = range != PS_NONE ? ps_trace_text(c->trace, s->name[range]) : NULL;
        if (range != PS_NONE && strncmp(called, "ncclGroup", 9) == 0) {
            uint32_t only = only_call_of_group(c, range);
            is_nvtx_group = only == PS_NONE;
            range = is_nvtx_group ? range : only;
            called = ps_trace_text(c->trace, s->name[range]);
        }
        if (range != PS_NONE && !is_nvtx_group) {
            take_payload(c, range, args);
        }
    }
    bool is_known = called != NULL && !ps_comm_is_group_call(called);
    look->type = called != NULL ? keep_comm_op(c, called) : type_in_kernel(c, name);
    look->is_group = is_nvtx_group;
    look->is_p2p = !is_nvtx_group && names_p2p(c, is_known ? look->type : op->name);
}

static void set_op_type(collection *c, const ps_comm_op *op, ps_comm_look *look,
                        const comm_args *args) {
    const char *name = ps_comm_text(c->list, op->name);
    const char *type = args->texts[KEY_OP_TYPE];
    bool is_known = type != NULL && type[0] != '\0' && strcmp(type, "N/A") != 0;
    look->type = is_known ? keep_comm_op(c, type) : type_in_name(c, name);
    look->is_p2p = names_p2p(c, look->type) || names_p2p(c, op->name);
}

/* --- groups -------------------------------------------------------------------------------------------------- */

static size_t column_of(const ps_table *t, const char *name) {
    size_t column = 0;
    while (column < t->n_columns && strcmp(t->columns[column].name, name) != 0) {
        column++;
    }
    return column;
}

/* Names and hashes of communication.json. */
static bool index_groups(collection *c) {
    const ps_table *t = ps_trace_side_table(c->trace, "communication");
    size_t name = t != NULL ? column_of(t, "hccl_op_name") : 0;
    size_t group = t != NULL ? column_of(t, "group_name") : 0;
    if (t == NULL || name == t->n_columns || group == t->n_columns ||
        t->columns[name].type != PS_COL_TEXT || t->columns[group].type != PS_COL_TEXT) {
        return true;
    }
    c->groups = t;
    c->name_column = name;
    c->group_column = group;
    for (size_t row = 0; row < t->n_rows && row < UINT32_MAX - 1; row++) {
        const ps_value *v = ps_table_cell(t, row, name);
        if (v->is_null || ps_table_cell(t, row, group)->is_null) {
            continue;
        }
        ps_str s = keep_comm_op(c, v->u.text);
        if (!ps_str_is_none(s) && !ps_idmap_put(&c->group_of, s.id, (uint32_t)row)) {
            return false;
        }
    }
    return !c->failed;
}

static ps_str group_of_number(collection *c, ps_str op_name, const char *number) {
    uint32_t row = ps_idmap_get(&c->group_of, op_name.id);
    if (row != PS_IDMAP_NONE) {
        return keep_comm_op(c, ps_table_cell(c->groups, row, c->group_column)->u.text);
    }
    const char *tag = strstr(ps_comm_text(c->list, op_name), "__");
    size_t n = tag != NULL ? strspn(tag + 2, "0123456789") : 0;
    return n > 0 ? keep_n(c, tag + 2, n) : keep_comm_op(c, number);
}

/* NCCL's own number of the communicator, 64 bits without a sign. */
static void set_communicator(collection *c, ps_comm_look *look, const comm_args *args) {
    const char *text = args->texts[KEY_COMMUNICATOR];
    int64_t number = args->numbers[KEY_COMMUNICATOR];
    char digits[24];
    if (text == NULL && number != -1) {
        (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
        text = digits;
    }
    look->group = keep_comm_op(c, text);
}

/* NULL where nothing names it. */
static const char *said_group(const collection *c, const comm_args *args) {
    const char *name = args->texts[KEY_GROUP_NAME];
    bool is_only = name == NULL && c->of_gloo && c->facts->n_groups == 1;
    return is_only ? c->facts->groups[0].comm_name : name;
}

static void set_group(collection *c, const ps_comm_op *op, ps_comm_look *look,
                      const comm_args *args) {
    size_t n_tracks = 0;
    const ps_track *track =
        &ps_trace_tracks(c->trace, &n_tracks)[ps_trace_slices(c->trace)->track[op->slice]];
    if (track->kind == PS_TRACK_COMM_GROUP || track->kind == PS_TRACK_COMM_PLANE) {
        const char *name = ps_trace_text(c->trace, track->name);
        bool is_short_number = is_number(name) && strlen(name) < 8;
        look->group = is_short_number ? group_of_number(c, op->name, name) : keep_comm_op(c, name);
        return;
    }
    const char *name = said_group(c, args);
    look->group = keep_comm_op(
        c, name != NULL && name[0] != '\0' ? name : args->texts[KEY_GROUP_DESCRIPTION]);
    if (ps_str_is_none(look->group)) {
        set_communicator(c, look, args);
    }
}

/* Several groups of a job may carry one name: who is in this one, as the kernel says it, else the metadata. */
static void set_members(collection *c, ps_comm_look *look, const comm_args *args) {
    const char *group = said_group(c, args);
    look->members = keep_comm_op(c, args->texts[KEY_MEMBERS]);
    for (size_t i = 0; group != NULL && ps_str_is_none(look->members) && i < c->facts->n_groups;
         i++) {
        const ps_group_fact *fact = &c->facts->groups[i];
        if (fact->first_rank >= 0 && strcmp(fact->comm_name, group) == 0) {
            char text[96];
            (void)snprintf(text, sizeof text, "[%lld, %lld in all]", (long long)fact->first_rank,
                           (long long)fact->n_ranks);
            look->members = keep_comm_op(c, text);
        }
    }
}

/* --- times --------------------------------------------------------------------------------------------------- */

/* Without links: the last step that began at or before the operator, else the first. */
static int64_t step_at(const ps_trace *trace, int64_t at) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    PS_PLACE(size_t, low, 0, n, middle, steps[middle].start_ns <= at)
    return n > 0 ? steps[low > 0 ? low - 1 : 0].id : 0;
}

static void set_times(const collection *c, ps_comm_op *op, uint32_t slice, const comm_args *args) {
    const ps_slices *s = ps_trace_slices(c->trace);
    int64_t origin = ps_trace_origin_ns(c->trace);
    uint32_t call = c->links != NULL ? c->links->call[slice] : PS_NONE;
    op->start_ns = origin + s->start_ns[slice];
    op->end_ns = op->start_ns + s->dur_ns[slice];
    op->host_start_ns = PS_NO_TIME;
    if (call != PS_NONE) {
        op->host_start_ns = origin + s->start_ns[call];
    } else if (c->links != NULL && args->has_host_start) {
        op->host_start_ns = origin + args->numbers[KEY_HOST_START];
    }
    op->step =
        c->links != NULL ? ps_links_step(c->links, slice) : step_at(c->trace, s->start_ns[slice]);
}

/* --- ends ----------------------------------------------------------------------------------------------------- */

#define MAX_RANK (INT64_C(1) << 24)

static int32_t rank_of(int64_t value) {
    return value >= 0 && value < MAX_RANK ? (int32_t)value : -1;
}

/* Databases give the own rank first, whatever the direction; kernels only name the other end. */
static void set_ends(collection *c, const ps_comm_op *op, ps_comm_look *look,
                     const comm_args *args) {
    look->own = -1;
    look->peer = -1;
    if (!look->is_p2p) {
        return;
    }
    look->is_send = what_of(c, names_p2p(c, look->type) ? look->type : op->name) == PS_COMM_SEND;
    look->own = rank_of(comm_op_number_of(args, KEY_OWN));
    look->peer =
        look->own >= 0
            ? rank_of(comm_op_number_of(args, KEY_PEER))
            : rank_of(comm_op_number_of(args, look->is_send ? KEY_DESTINATION : KEY_SOURCE));
}

/* "[0, 1, 2]": 3; 0 where it lists none, or not all of them. */
static int64_t count_members(const char *text) {
    bool is_list = text != NULL && text[0] == '[' && text[strcspn(text, "0123456789")] != '\0' &&
                   text[strspn(text, "[]0123456789-, ")] == '\0';
    int64_t n = is_list;
    for (const char *p = text; is_list && *p != '\0'; p++) {
        n += *p == ',';
    }
    return n;
}

/* What the kernel says; where the metadata lists the communicator, that is filled in at the end (fill_look). */
static void set_group_size(ps_comm_look *look, const comm_args *args) {
    int64_t n = count_members(args->texts[KEY_MEMBERS]);
    look->group_size = n > 0 ? n : comm_op_number_of(args, KEY_GROUP_SIZE);
    look->peer_rank = look->own < 0 ? look->peer : -1;
    look->both[0] = look->both[1] = -1;
}

/* The communicator as the metadata lists it; NULL where it does not. */
static const ps_group_fact *fact_of(const collection *c, const ps_comm_look *look) {
    const char *group = ps_comm_text(c->list, look->group);
    const ps_group_fact *found = NULL;
    for (size_t i = 0; found == NULL && group[0] != '\0' && i < c->facts->n_groups; i++) {
        const ps_group_fact *fact = &c->facts->groups[i];
        found = fact->n_ranks > 0 && strcmp(fact->comm_name, group) == 0 ? fact : NULL;
    }
    return found;
}

static int32_t rank_at_place(const ps_group_fact *fact, int64_t place) {
    return place >= 0 && place < (int64_t)fact->ranks.n
               ? rank_of(ps_int_runs_at(&fact->ranks, (size_t)place))
               : -1;
}

/* Who is at the other end of a transfer. Some metadata lists the communicators of all ranks with one place for all, so that the rank's own is
 * not told by it. */
static void fill_look(const collection *c, ps_comm_look *look) {
    const ps_group_fact *fact = fact_of(c, look);
    if (fact == NULL) {
        return;
    }
    look->group_size = look->group_size < 0 ? fact->n_ranks : look->group_size;
    if (look->is_p2p && look->own >= 0) {
        look->peer_rank = rank_at_place(fact, look->peer);
    }
    for (int64_t place = 0; look->is_p2p && fact->n_ranks == 2 && place < 2; place++) {
        look->both[place] = rank_at_place(fact, place);
    }
}

int64_t ps_comm_peer_rank(const ps_comm_look *look, int64_t own) {
    if (!look->is_p2p || look->peer_rank >= 0) {
        return look->is_p2p ? look->peer_rank : -1;
    }
    bool is_first = own >= 0 && own == look->both[0];
    bool is_second = own >= 0 && own == look->both[1];
    return is_first ? look->both[1] : is_second ? look->both[0] : -1;
}

/* --- the list ------------------------------------------------------------------------------------------------ */

/* Of the operator behind the last one, which it counts. Two looks with one hash are rare, and may both be there twice. */
static bool keep_look(collection *c, const ps_comm_look *look) {
    ps_comm_list *list = c->list;
    uint64_t hash =
        ps_hash64(look, sizeof *look); /* the same in every run: it decides what is written */
    uint32_t known = ps_idmap_get(&c->looks, hash);
    if (known == PS_IDMAP_NONE || memcmp(&list->looks[known], look, sizeof *look) != 0) {
        known = (uint32_t)list->n_looks;
        if (!ps_grow(&list->looks, &list->cap_looks, list->n_looks + 1, UINT32_MAX - 1,
                     sizeof *list->looks) ||
            !ps_idmap_put(&c->looks, hash, known)) {
            return false;
        }
        memcpy(&list->looks[list->n_looks++], look, sizeof *look);
    }
    if (!ps_grow(&c->look_of, &c->cap_look_of, list->n + 1, UINT32_MAX - 1, sizeof *c->look_of)) {
        return false;
    }
    c->look_of[list->n++] = known;
    return true;
}

static bool add_listed_op(collection *c, uint32_t slice, bool is_kernel) {
    ps_comm_list *list = c->list;
    if (!ps_grow(&list->ops, &list->cap, list->n + 1, UINT32_MAX - 1, sizeof *list->ops)) {
        return false;
    }
    comm_args args = read_comm_op_args(c, slice);
    ps_str name = ps_trace_slices(c->trace)->name[slice];
    ps_comm_op *op = &list->ops[list->n];
    ps_comm_look look;
    memset(&look, 0, sizeof look); /* looks are compared by their bytes */
    *op = (ps_comm_op){.slice = slice, .sequence = comm_op_number_of(&args, KEY_SEQUENCE)};
    op->name = keep_n(c, ps_trace_text(c->trace, name), ps_trace_text_len(c->trace, name));
    if (is_kernel) {
        set_kernel_type(c, op, &look, &args);
    } else {
        set_op_type(c, op, &look, &args);
    }
    set_group(c, op, &look, &args);
    set_ends(c, op, &look, &args);
    set_members(c, &look, &args);
    set_group_size(&look, &args);
    set_size(c, op, &look, &args);
    set_times(c, op, slice, &args);
    return !c->failed && keep_look(c, &look);
}

/* Looks move while there come more of them. */
static void point_at_looks(const collection *c) {
    for (size_t i = 0; i < c->list->n; i++) {
        c->list->ops[i].look = &c->list->looks[c->look_of[i]];
    }
}

/* Slices of a device come first: some profilers repeat the operator on a host thread. */
static uint8_t kind_to_take(const ps_trace *trace, bool *on_host) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n_tracks);
    bool has_kernels = false;
    for (uint32_t i = 0; i < s->n; i++) {
        bool is_host = tracks[s->track[i]].kind == PS_TRACK_HOST_THREAD;
        if (s->kind[i] == PS_SLICE_COMM_OP && !is_host) {
            *on_host = false;
            return PS_SLICE_COMM_OP;
        }
        has_kernels = has_kernels || s->kind[i] == PS_SLICE_COMM_KERNEL;
    }
    *on_host = !has_kernels;
    return has_kernels ? PS_SLICE_COMM_KERNEL : PS_SLICE_COMM_OP;
}

static bool collect_comm_op(collection *c) {
    for (size_t k = 0; k < N_KEYS; k++) {
        c->keys[k] = ps_trace_find_text(c->trace, KEYS[k]);
    }
    const ps_slices *s = ps_trace_slices(c->trace);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(c->trace, &n_tracks);
    bool on_host = false;
    uint8_t kind = kind_to_take(c->trace, &on_host);
    c->of_gloo = ps_host_comm_count(c->trace) > 0;
    bool ok = index_groups(c);
    for (uint32_t i = 0; ok && i < s->n; i++) { /* slices come by start */
        bool is_host = tracks[s->track[i]].kind == PS_TRACK_HOST_THREAD;
        if (c->of_gloo ? ps_is_host_comm(c->trace, i)
                       : s->kind[i] == kind && (on_host || !is_host)) {
            ok = add_listed_op(c, i, kind == PS_SLICE_COMM_KERNEL);
        }
    }
    return ok;
}

static ps_code collect_list(collection *c, ps_err *err) {
    ps_comm_list *out = c->list;
    ps_idmap_init(&c->group_of);
    ps_idmap_init(&c->what_of);
    ps_idmap_init(&c->looks);
    out->recorded_clock = c->facts->clock;
    ps_code code =
        ps_strpool_init(&out->strings) && collect_comm_op(c) ? PS_OK : ps_fail_nomem(err);
    ps_shrink(&out->ops, &out->cap, out->n, sizeof *out->ops);
    ps_shrink(&out->looks, &out->cap_looks, out->n_looks, sizeof *out->looks);
    point_at_looks(c);
    for (size_t i = 0; i < out->n_looks; i++) {
        fill_look(c, &out->looks[i]);
    }
    ps_idmap_fini(&c->group_of);
    ps_idmap_fini(&c->what_of);
    ps_idmap_fini(&c->looks);
    ps_free(c->look_of);
    return code;
}

ps_code ps_comm_list_collect(const ps_trace *trace, const ps_links *links,
                             const ps_rank_facts *facts, ps_comm_list *out, ps_diag *diag,
                             ps_err *err) {
    *out = (ps_comm_list){0};
    collection c = {.trace = trace, .links = links, .facts = facts, .list = out, .diag = diag};
    if (facts != NULL) {
        return collect_list(&c, err);
    }
    ps_diag counted_by_others = {0}; /* who reads the metadata for itself */
    ps_arena arena;
    ps_arena_init(&arena);
    ps_rank_facts own = {0};
    ps_code code = ps_rank_facts_read(trace, &arena, &own, &counted_by_others, err);
    c.facts = &own;
    code = code == PS_OK ? collect_list(&c, err) : code;
    ps_arena_fini(&arena);
    return code;
}

void ps_comm_list_fini(ps_comm_list *list) {
    ps_free(list->ops);
    ps_free(list->looks);
    ps_strpool_fini(&list->strings);
    *list = (ps_comm_list){0};
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

static void comm_look_archive(ps_archive *a, void *look) {
    ps_comm_look *x = look;
    PS_ARCHIVE(a, x, n_elements, size_bytes, type, group, data_type, members, own, peer, peer_rank,
               group_size, is_p2p, is_send, is_group);
    PS_ARCHIVE_EACH(a, x, both);
}

static void comm_op_archive(ps_archive *a, void *op) {
    ps_comm_op *x = op;
    PS_ARCHIVE(a, x, start_ns, end_ns, host_start_ns, step, sequence, name, slice);
}

/* Addresses travel as places among the looks. */
static void archive_look_of(ps_archive *a, ps_comm_list *x) {
    uint32_t *look_of = ps_archive_is_writing(a) ? ps_calloc(x->n + 1, sizeof *look_of) : NULL;
    if (ps_archive_is_writing(a) && look_of == NULL) {
        ps_archive_nomem(a);
        return;
    }
    for (size_t i = 0; look_of != NULL && i < x->n; i++) {
        look_of[i] = (uint32_t)(x->ops[i].look - x->looks);
    }
    ps_archive_array_of(a, "look_of", &look_of, x->n, sizeof *look_of, ps_archive_u32);
    for (size_t i = 0; ps_archive_is_reading(a) && ps_archive_ok(a) && i < x->n; i++) {
        if (look_of == NULL || look_of[i] >= x->n_looks) {
            ps_archive_refuse(a, "look_of");
        } else {
            x->ops[i].look = &x->looks[look_of[i]];
        }
    }
    ps_free(look_of);
}

void ps_comm_list_archive(ps_archive *a, void *list) {
    ps_comm_list *x = list;
    ps_strpool *before = ps_archive_use_pool(a, &x->strings);
    PS_ARCHIVE_ARRAY(a, x, looks, n_looks, comm_look_archive);
    PS_ARCHIVE_ARRAY(a, x, ops, n, comm_op_archive);
    archive_look_of(a, x);
    (void)ps_archive_use_pool(a, before);
    ps_recorded_clock_archive(a, &x->recorded_clock);
}
