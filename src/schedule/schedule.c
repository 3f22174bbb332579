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

const ps_schedule *ps_schedule_find(const char *name) {
    for (size_t i = 0; name != NULL && SCHEDULES[i] != NULL; i++) {
        if (strcasecmp(SCHEDULES[i]->name, name) == 0) {
            return SCHEDULES[i];
        }
    }
    return NULL;
}

ps_code ps_schedule_check_size(const ps_schedule_params *params, ps_err *err) {
    if (params->n_stages < 1 || params->n_stages > PS_MAX_STAGES) {
        return ps_fail(err, PS_RANGE, "%d pipeline stages: must be 1 to %d", (int)params->n_stages, PS_MAX_STAGES);
    }
    if (params->n_microbatches < 1 || params->n_microbatches > PS_MAX_MICROBATCHES) {
        return ps_fail(err, PS_RANGE, "%d microbatches: must be 1 to %d", (int)params->n_microbatches,
                       PS_MAX_MICROBATCHES);
    }
    return PS_OK;
}

bool ps_op_list_add(ps_op_list *list, ps_sched_op op) {
    if (!ps_grow(&list->ops, &list->cap, list->n + 1, MAX_LIST, sizeof *list->ops)) {
        return false;
    }
    list->ops[list->n++] = op;
    return true;
}

void ps_op_list_fini(ps_op_list *list) {
    ps_free(list->ops);
    *list = (ps_op_list){0};
}

/* Microbatches are counted per chunk; what people see counts on from chunk to chunk. */
static long long shown(const ps_schedule_params *params, int32_t chunk, int32_t microbatch) {
    return (long long)chunk * params->n_microbatches + microbatch;
}

void ps_mark_label(const ps_schedule_params *params, const ps_sched_op *op, char *out, size_t size) {
    long long k = shown(params, op->chunk, op->microbatch);
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
        (void)snprintf(out, size, "%lldF+%lldB", k, shown(params, op->chunk2, op->microbatch2));
        break;
    case PS_OP_LOGITS:
        (void)snprintf(out, size, "logits");
        break;
    default:
        (void)snprintf(out, size, "%s", ps_op_kind_name(op->kind));
        break;
    }
}
