/* calls: who called what on one rank, and what it launched, from the top, from the bottom, or by modules. */
#include <string.h>

#include "analyze/modules/call_tree.h"
#include "analyze/views/view_calls.h"
#include "base/alloc.h"

static const ps_view_param PARAMS[] = {{"by", "callers from the top, from the bottom, or modules",
                                        "callers|callees|modules", "callers"}};

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(ps_call_row, member), .unit = PS_UNIT_NS }
static const ps_column COLUMNS[] = {
    {.name = "node", PS_FIELD(ps_call_row, node), .exact = true},
    {.name = "parent", PS_FIELD(ps_call_row, parent), .exact = true},
    {.name = "level", PS_FIELD(ps_call_row, depth)},
    {.name = "name", PS_FIELD(ps_call_row, name)},
    {.name = "kind", PS_FIELD(ps_call_row, kind), .is_shared = true},
    NS("host total", host_ns),
    NS("host self", host_self_ns),
    NS("device total", device_ns),
    NS("device self", device_self_ns),
    {.name = "number", PS_FIELD(ps_call_row, n), .unit = PS_UNIT_COUNT},
    NS("longest", longest_ns),
    {.name = "slice", PS_FIELD(ps_call_row, slice), .exact = true},
};

/* The tree by callers or modules; NULL with `err`. */
static ps_code build_calls(const ps_call_ask *ask, bool by_modules, ps_call_tree *t, ps_err *err) {
    ps_module_tree modules = {0};
    ps_call_ask own = *ask;
    ps_code code = PS_OK;
    if (by_modules) {
        code = ps_module_tree_build(&modules, ask->links, false, err);
        own.modules = &modules;
    }
    code = code == PS_OK ? ps_call_tree_build(t, &own, err) : code;
    ps_module_tree_fini(&modules);
    return code;
}

ps_code ps_view_calls_build(const ps_call_ask *ask, const char *by, ps_call_tree *t, ps_err *err) {
    bool is_turned = strcmp(by, "callees") == 0;
    ps_call_tree callers = {0};
    uint32_t *last = NULL;
    *t = (ps_call_tree){0};
    ps_code code = build_calls(ask, strcmp(by, "modules") == 0, is_turned ? &callers : t, err);
    if (code == PS_OK && is_turned) {
        bool wants = ask->node_of != NULL;
        last = wants ? ps_alloc((callers.n + 1) * sizeof *last) : NULL;
        bool ok = (!wants || last != NULL) && ps_call_tree_turned(t, &callers, last);
        uint32_t n = ps_trace_slices(ask->links->trace)->n;
        for (uint32_t i = 0; ok && wants && i < n; i++) {
            ask->node_of[i] = ask->node_of[i] != PS_NONE ? last[ask->node_of[i]] : PS_NONE;
        }
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_free(last);
    ps_call_tree_fini(&callers);
    return code;
}

ps_table *ps_view_calls_table(const ps_call_tree *t, ps_lang lang, ps_err *err) {
    ps_table *table = ps_table_new("calls", "Call tree", PS_COLUMNS(COLUMNS));
    if (t->n > 1) {
        ps_call_tree_put(t, table);
    }
    return ps_view_end(
        table, t->n > 1,
        PS_SAY(lang,
               "nothing of the host and nothing that it launched in this span: record "
               "the activity of the CPU and of the device (ProfilerActivity.CPU and NPU "
               "or CUDA; pipescope.record_ops())",
               "该时间段内没有主机活动及其下发的任务：请采集 CPU 与设备活动 "
               "（ProfilerActivity.CPU 与 NPU 或 CUDA；pipescope.record_ops()）"),
        err);
}

static ps_table *make_calls_view(const ps_view_input *in, ps_err *err) {
    const char *by = ps_view_param_of(in, &ps_view_calls, "by", err);
    if (by == NULL) {
        return NULL;
    }
    const ps_call_ask ask = {
        .links = in->links, .span = {in->from_ns, in->to_ns}, .step = -1, .rank = -1};
    ps_call_tree t = {0};
    ps_table *table = ps_view_calls_build(&ask, by, &t, err) == PS_OK
                          ? ps_view_calls_table(&t, in->lang, err)
                          : NULL;
    ps_call_tree_fini(&t);
    return table;
}

const ps_view ps_view_calls = {.name = "calls",
                               .title = "Call tree",
                               .tab = PS_TAB_TIMELINE,
                               .uses = PS_VIEW_LINKS,
                               .params = PARAMS,
                               .n_params = sizeof PARAMS / sizeof *PARAMS,
                               .make = make_calls_view};
