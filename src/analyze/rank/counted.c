#include "analyze/rank/counted.h"

#include <stdio.h>
#include <string.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/rank/kernel_facts.h"
#include "base/alloc.h"

bool ps_counted_init(ps_counted *c, const ps_links *links) {
    const ps_slices *s = ps_trace_slices(links->trace);
    size_t n_tracks = 0;
    *c = (ps_counted){.links = links,
                      .slices = s,
                      .tracks = ps_trace_tracks(links->trace, &n_tracks),
                      .communication = (uint8_t)ps_communication_kind(s)};
    c->outermost = ps_alloc(((size_t)s->n + 1) * sizeof *c->outermost);
    for (uint32_t i = 0; c->outermost != NULL && i < s->n; i++) {
        uint32_t parent = links->parent[i]; /* begins no later: a lower row */
        uint32_t own = s->kind[i] == PS_SLICE_HOST_OP ? i : PS_NONE;
        c->outermost[i] =
            parent != PS_NONE && c->outermost[parent] != PS_NONE ? c->outermost[parent] : own;
    }
    return c->outermost != NULL;
}

void ps_counted_fini(ps_counted *c) {
    ps_free(c->outermost);
    *c = (ps_counted){0};
}

static const char *counted_name_of(const ps_counted *c, uint32_t slice) {
    return ps_trace_text(c->links->trace, c->slices->name[slice]);
}

const char *ps_counted_operator(const ps_counted *c, uint32_t slice) {
    uint32_t op = c->links->op[slice];
    uint32_t launch = op != PS_NONE ? op : c->links->call[slice];
    uint32_t outermost = launch != PS_NONE ? c->outermost[launch] : PS_NONE;
    return outermost != PS_NONE ? counted_name_of(c, outermost) : NULL;
}

bool ps_counted_in_step(const ps_counted *c, uint32_t slice, int64_t wanted) {
    return ps_links_in_step(c->links, slice, ps_is_host_range(c->slices->kind[slice]), wanted);
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

/* The type that the profiler gives a kernel, none where its level leaves types out; else the operator that launched it. */
static const char *type_of_kernel(const ps_counted *c, uint32_t slice) {
    const ps_trace *trace = c->links->trace;
    const char *type = ps_kernel_type(trace, slice);
    uint32_t op = c->links->op[slice];
    bool has_types = type != NULL || ps_trace_arg_text(trace, slice, "opType") != NULL;
    return type != NULL ? type : has_types || op == PS_NONE ? "" : counted_name_of(c, op);
}

/* Where kernels know no shapes, those of the operator that launched them. Databases put quotes around them. */
static void shapes_of_kernel(const ps_counted *c, uint32_t slice, char *out, size_t size) {
    const char *shapes = ps_kernel_shapes(c->links, slice);
    shapes = shapes != NULL ? shapes + strspn(shapes, "\"") : "";
    (void)snprintf(out, size, "%.*s", (int)strcspn(shapes, "\""), shapes);
}

/* Compilers number kernels ("Conv2DBackpropFilter10", "trans_TransData_24") in an order that another run need not have:
 * the length of the name without such a number. It follows the type; where the type is not known, any number at the end of
 * a name that a compiler made is one, but for a version ("MatMulV2"). */
static size_t length_without_number(const char *name, const char *type) {
    size_t n = strlen(name);
    size_t n_type = strlen(type);
    size_t kept = n;
    while (kept > 0 && name[kept - 1] >= '0' && name[kept - 1] <= '9') {
        kept--;
    }
    if (kept == 0 || kept == n) {
        return n;
    }
    bool is_version = name[kept - 1] == 'V';
    kept -= name[kept - 1] == '_';
    bool follows_type = kept >= n_type && memcmp(name + kept - n_type, type, n_type) == 0;
    bool is_numbered = n_type > 0 ? follows_type : !is_version && strncmp(name, "aclnn", 5) != 0;
    return is_numbered ? kept : n;
}

static void count_kernel(const ps_counted *c, uint32_t slice, ps_counted_as *out) {
    const char *name = counted_name_of(c, slice);
    out->type = type_of_kernel(c, slice);
    (void)snprintf(out->name_room, sizeof out->name_room, "%.*s",
                   (int)length_without_number(name, out->type), name);
    out->name = out->name_room;
}

/* --- communication -------------------------------------------------------------------------------------------------- */

/* "hcom_allReduce_", "all_reduce", "allreduce": one name, so that devices of two makers can be compared. An operator's own
 * name ("hcom_allReduce__576_0_1") goes on with its group and number, which are left out. */
static void plain_type(const char *type, char *out, size_t size) {
    size_t n = 0;
    type += strncmp(type, "hcom_", 5) == 0 ? 5 : 0;
    for (; *type != '\0' && n + 1 < size && strncmp(type, "__", 2) != 0; type++) {
        if (*type != '_') {
            out[n++] = *type >= 'A' && *type <= 'Z' ? (char)(*type - 'A' + 'a') : *type;
        }
    }
    out[n] = '\0';
}

static void count_communication(const ps_counted *c, uint32_t slice, ps_counted_as *out) {
    const ps_trace *trace = c->links->trace;
    const char *type = ps_kernel_type(trace, slice);
    const char *called = ps_trace_arg_text(trace, slice, "Collective name");
    const ps_track *track = &c->tracks[c->slices->track[slice]];
    const char *group = ps_trace_arg_text(trace, slice, "Process Group Description");
    group = group != NULL ? group : ps_trace_arg_text(trace, slice, "Process Group Name");
    group = track->kind == PS_TRACK_COMM_GROUP ? ps_trace_text(trace, track->label) : group;
    type = type != NULL ? type : called != NULL ? called : counted_name_of(c, slice);
    plain_type(type, out->name_room, sizeof out->name_room);
    out->name = out->name_room;
    out->detail = group != NULL ? group : "";
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

bool ps_counted_in(const ps_counted *c, uint32_t slice, ps_sum_class class_, ps_counted_as *out) {
    uint8_t kind = c->slices->kind[slice];
    out->name = counted_name_of(c, slice);
    out->detail = out->type = "";
    switch (class_) {
    case PS_SUM_KERNEL:
        if (kind == PS_SLICE_KERNEL) {
            count_kernel(c, slice, out);
            shapes_of_kernel(c, slice, out->detail_room, sizeof out->detail_room);
            out->detail = out->detail_room;
        }
        return kind == PS_SLICE_KERNEL;
    case PS_SUM_KERNEL_TYPE:
        if (kind == PS_SLICE_KERNEL) {
            count_kernel(c, slice, out);
            out->name = ps_counted_type(out);
        }
        return kind == PS_SLICE_KERNEL || kind == PS_SLICE_JOB;
    case PS_SUM_COMMUNICATION:
        if (kind == c->communication) {
            count_communication(c, slice, out);
        }
        return kind == c->communication;
    case PS_SUM_OPERATOR:
    case PS_SUM_OPERATOR_HOST:
        return kind == PS_SLICE_HOST_OP && c->outermost[slice] == slice;
    case PS_SUM_COPY:
        return kind == PS_SLICE_COPY;
    case PS_SUM_CALL:
        return kind == PS_SLICE_CALL;
    case PS_SUM_PART:
    case PS_SUM_MODULE:
    case PS_N_SUM_CLASSES:
        break;
    }
    return false;
}
