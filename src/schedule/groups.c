/* Virtual indices by division: all groups but the last have g * v entries, so none of the table is stored. */
#include "schedule/groups.h"

ps_groups ps_groups_of(const ps_schedule *schedule, const ps_schedule_params *params) {
    ps_groups groups = {.p = params->n_stages,
                        .m = params->n_microbatches,
                        .v = ps_schedule_chunks(schedule, params)};
    bool given = (schedule->takes & PS_TAKES_GROUP) != 0 && params->group != 0;
    groups.g = given ? params->group : params->n_stages;
    groups.n = groups.m * groups.v;
    return groups;
}

typedef struct place {
    int32_t chunk, microbatch;
} place;

static place group_place_of(const ps_groups *groups, int32_t index, bool backward) {
    int32_t first = index / (groups->g * groups->v) * groups->g;
    int32_t within = index % (groups->g * groups->v);
    int32_t size = groups->m - first < groups->g ? groups->m - first : groups->g;
    int32_t turn = within / size;
    return (place){.chunk = backward ? groups->v - 1 - turn : turn,
                   .microbatch = first + within % size};
}

void ps_groups_add(const ps_groups *groups, ps_op_list *out, ps_op_kind kind, int32_t index) {
    place at = group_place_of(groups, index, kind != PS_OP_F);
    (void)ps_op_list_put(out, kind, at.chunk, at.microbatch);
}

void ps_groups_add_pair(const ps_groups *groups, ps_op_list *out, int32_t forward,
                        int32_t backward) {
    place f = group_place_of(groups, forward, false);
    place b = group_place_of(groups, backward, true);
    (void)ps_op_list_add(out, (ps_sched_op){.kind = PS_OP_FB,
                                            .chunk = f.chunk,
                                            .microbatch = f.microbatch,
                                            .chunk2 = b.chunk,
                                            .microbatch2 = b.microbatch,
                                            .phase = -1});
}

int32_t ps_groups_warm_up(const ps_groups *groups, int32_t device, int32_t per_hop) {
    /* In 64 bits: (v - 1) * g is bounded by n, and p by PS_MAX_STAGES, so only the sum could be large. */
    int64_t w = (int64_t)per_hop * (groups->p - 1 - device) + (int64_t)(groups->v - 1) * groups->g;
    return w < groups->n ? (int32_t)w : groups->n;
}

ps_code ps_chunks_check(const ps_schedule *schedule, const ps_schedule_params *params,
                        int32_t min_chunks, ps_err *err) {
    ps_code code = ps_schedule_check_size(params, err);
    int32_t v = ps_schedule_chunks(schedule, params);
    if (code == PS_OK && (v < min_chunks || v > PS_MAX_CHUNKS)) {
        code = ps_fail_said(err, PS_RANGE, "%s needs %d to %d chunks on each device, got %d",
                            "%s 需要每个设备有 %d 至 %d 个 chunk，实际为 %d", schedule->name,
                            (int)min_chunks, PS_MAX_CHUNKS, (int)v);
    }
    return code;
}

ps_code ps_groups_check(const ps_schedule *schedule, const ps_schedule_params *params,
                        int32_t min_chunks, ps_err *err) {
    ps_code code = ps_chunks_check(schedule, params, min_chunks, err);
    if (code != PS_OK) {
        return code;
    }
    ps_groups groups = ps_groups_of(schedule, params);
    if (groups.g < groups.p || groups.g > groups.m) {
        return ps_fail_said(
            err, PS_RANGE,
            "%s needs p <= g <= m: got p = %d stages, groups of g = %d, m = %d microbatches",
            "%s 需要 p <= g <= m：实际 p = %d 个阶段，每组 g = %d 个，m = %d 个 microbatch",
            schedule->name, (int)groups.p, (int)groups.g, (int)groups.m);
    }
    return PS_OK;
}
