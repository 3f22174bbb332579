#include "analyze/call_sums.h"

#include "analyze/marks.h"
#include "analyze/step_index.h"

static bool calls_have_categories(const ps_slices *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_CALL && !ps_str_is_none(s->category[i])) {
            return true;
        }
    }
    return false;
}

ps_code ps_call_sums_collect(const ps_map_input *in, ps_value_adder *adder, ps_err *err) {
    const ps_slices *s = ps_trace_slices(in->trace);
    int64_t step = in->opts->step_id;
    ps_code code = ps_check_step(in->trace, step, err);
    if (code != PS_OK) {
        return code;
    }
    bool with_category = calls_have_categories(s);
    ps_step_index steps;
    bool ok = ps_step_index_init(&steps, in->trace);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        bool is_wanted = s->kind[i] == PS_SLICE_CALL &&
                         (!with_category || !ps_str_is_none(s->category[i])) &&
                         (step < 0 || ps_step_of(&steps, s->start_ns[i], s->start_ns[i]) == step);
        const ps_str keys[PS_SUM_KEYS] = {s->name[i]};
        ok = !is_wanted || ps_value_adder_add(adder, keys, s->dur_ns[i]);
    }
    ps_step_index_fini(&steps);
    return ok ? PS_OK : ps_fail_nomem(err);
}
