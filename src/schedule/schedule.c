/* The list of schedules, op lists, labels, and the size limits that all schedules share. */
#include "schedule/schedule.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

#define X(symbol) extern const ps_schedule ps_schedule_##symbol;
#include "schedule/schedules.def"
#undef X

static const ps_schedule *const SCHEDULES[] = {
#define X(symbol) &ps_schedule_##symbol,
#include "schedule/schedules.def"
#undef X
    NULL};

#define MAX_LIST ((size_t)1 << 26)

const ps_schedule *const *ps_schedules(void) {
    return SCHEDULES;
}

static bool is_called(const ps_schedule *schedule, const char *name) {
    bool found = strcasecmp(schedule->name, name) == 0;
    for (const char *const *alias = schedule->aliases; !found && *alias != NULL; alias++) {
        found = strcasecmp(*alias, name) == 0;
    }
    return found;
}

const ps_schedule *ps_schedule_find(const char *name) {
    for (size_t i = 0; name != NULL && SCHEDULES[i] != NULL; i++) {
        if (is_called(SCHEDULES[i], name)) {
            return SCHEDULES[i];
        }
    }
    return NULL;
}

int32_t ps_schedule_chunks(const ps_schedule *schedule, const ps_schedule_params *params) {
    bool given = (schedule->takes & PS_TAKES_CHUNKS) != 0 && params->n_chunks != 0;
    return given ? params->n_chunks : schedule->n_chunks;
}

int32_t ps_schedule_microbatches(const ps_schedule *schedule, const ps_schedule_params *params) {
    return schedule->n_chains > 1 ? params->n_microbatches / schedule->n_chains
                                  : params->n_microbatches;
}

ps_code ps_schedule_check_size(const ps_schedule_params *params, ps_err *err) {
    if (params->n_stages < 1 || params->n_stages > PS_MAX_STAGES) {
        return ps_fail_said(err, PS_RANGE, "%d pipeline stages: must be 1 to %d",
                            "%d 个流水线阶段：必须为 1 至 %d", (int)params->n_stages,
                            PS_MAX_STAGES);
    }
    if (params->n_microbatches < 1 || params->n_microbatches > PS_MAX_MICROBATCHES) {
        return ps_fail_said(err, PS_RANGE, "%d microbatches: must be 1 to %d",
                            "%d 个 microbatch：必须为 1 至 %d", (int)params->n_microbatches,
                            PS_MAX_MICROBATCHES);
    }
    return PS_OK;
}

/* --- op lists ----------------------------------------------------------------------------------------------------- */

bool ps_op_list_add(ps_op_list *list, ps_sched_op op) {
    list->failed =
        list->failed || !ps_grow(&list->ops, &list->cap, list->n + 1, MAX_LIST, sizeof *list->ops);
    if (!list->failed) {
        list->ops[list->n++] = op;
    }
    return !list->failed;
}

bool ps_op_list_put(ps_op_list *list, ps_op_kind kind, int32_t chunk, int32_t microbatch) {
    return ps_op_list_add(list, (ps_sched_op){.kind = kind,
                                              .chunk = chunk,
                                              .microbatch = microbatch,
                                              .chunk2 = -1,
                                              .microbatch2 = -1,
                                              .phase = -1});
}

ps_code ps_op_list_result(const ps_op_list *list, ps_err *err) {
    return list->failed ? ps_fail_nomem(err) : PS_OK;
}

void ps_op_list_fini(ps_op_list *list) {
    ps_free(list->ops);
    *list = (ps_op_list){0};
}

/* Each FB of ops[first ..) as an F and a B. */
static bool part_pairs(ps_op_list *list, size_t first) {
    size_t n_pairs = 0;
    for (size_t i = first; i < list->n; i++) {
        n_pairs += list->ops[i].kind == PS_OP_FB;
    }
    size_t to = list->n + n_pairs;
    if (!ps_grow(&list->ops, &list->cap, to, MAX_LIST, sizeof *list->ops)) {
        list->failed = true;
        return false;
    }
    for (size_t from = list->n; from > first;
         from--) { /* from behind: nothing is overwritten that is still needed */
        ps_sched_op op = list->ops[from - 1];
        if (op.kind == PS_OP_FB) {
            list->ops[--to] = (ps_sched_op){PS_OP_B, op.chunk2, op.microbatch2, -1, -1, op.phase};
            op = (ps_sched_op){PS_OP_F, op.chunk, op.microbatch, -1, -1, op.phase};
        }
        list->ops[--to] = op;
    }
    list->n += n_pairs;
    return true;
}

ps_code ps_schedule_order(const ps_schedule *schedule, const ps_schedule_params *params,
                          int32_t device, ps_op_list *out, ps_err *err) {
    size_t first = out->n;
    ps_code code = schedule->order(params, device, out, err);
    if (code == PS_OK && params->pairs_apart && !part_pairs(out, first)) {
        code = ps_fail_nomem(err);
    }
    return code;
}

size_t ps_peak_activations(const ps_sched_op *ops, size_t n) {
    size_t held = 0;
    size_t peak = 0;
    for (size_t i = 0; i < n; i++) {
        held += ps_op_runs_forward(&ops[i]) ? 1 : 0;
        peak = held > peak ? held : peak;
        bool ends_one =
            ops[i].kind == PS_OP_B || ops[i].kind == PS_OP_BW || ops[i].kind == PS_OP_FB;
        held -= ends_one && held > 0 ? 1 : 0;
    }
    return peak;
}

void ps_op_label(int32_t microbatches_per_chunk, const ps_sched_op *op, char *out, size_t size) {
    long long k = (long long)op->chunk * microbatches_per_chunk + op->microbatch;
    switch (op->kind) {
    case PS_OP_F: {
        /* Where forwards and backwards are paired (phases 3 and 4), a forward that stands alone says so. */
        bool among_pairs = op->phase == 3 || op->phase == 4;
        (void)snprintf(out, size, among_pairs ? "%lldF" : "%lld", k);
        break;
    }
    case PS_OP_B:
        (void)snprintf(out, size, "%lldB", k);
        break;
    case PS_OP_BI:
        (void)snprintf(out, size, "%lldb", k);
        break;
    case PS_OP_BW:
        (void)snprintf(out, size, "%lldw", k);
        break;
    case PS_OP_FB:
        (void)snprintf(out, size, "%lldF+%lldB", k,
                       (long long)op->chunk2 * microbatches_per_chunk + op->microbatch2);
        break;
    case PS_OP_LOGITS:
        (void)snprintf(out, size, "logits");
        break;
    default:
        (void)snprintf(out, size, "%s", ps_op_kind_name(op->kind));
        break;
    }
}

void ps_mark_label(const ps_schedule_params *params, const ps_sched_op *op, char *out,
                   size_t size) {
    ps_op_label(params->n_microbatches, op, out, size);
}
