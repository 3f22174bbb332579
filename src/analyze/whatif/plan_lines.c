#include "analyze/whatif/plan_lines.h"

#include <stdbool.h>
#include <string.h>

/* Schedules of PyTorch: the class is Schedule<name>, torchtitan takes the name. */
static const struct {
    const char *schedule, *name;
} PYTORCH[] = {
    {"gpipe", "GPipe"},
    {"1f1b", "1F1B"},
    {"interleaved", "Interleaved1F1B"},
    {"zb-h1", "InterleavedZeroBubble"}, /* with one stage a rank */
    {"interleaved-zb", "InterleavedZeroBubble"},
    {"zb-v", "ZBVZeroBubble"},
    {"dualpipev", "DualPipeV"},
    {"looped-bfs", "LoopedBFS"},
};

void ps_plan_layout(const int32_t *layers, int32_t n_pieces, ps_buf *out) {
    for (int32_t i = 0; i < n_pieces; i++) {
        ps_buf_add_str(out, i == 0 ? "E" : "|");
        if (layers[i] == 1) {
            ps_buf_add_char(out, 't');
        } else if (layers[i] > 1) {
            ps_buf_addf(out, "t*%d", (int)layers[i]);
        }
    }
    ps_buf_add_char(out, 'L');
}

void ps_plan_list(const int32_t *layers, int32_t n_pieces, ps_buf *out) {
    for (int32_t i = 0; i < n_pieces; i++) {
        ps_buf_addf(out, "%s%d", i > 0 ? "," : "", (int)layers[i]);
    }
}

void ps_plan_points(const int32_t *layers, int32_t n_pieces, ps_buf *out) {
    int32_t layer = 0;
    for (int32_t i = 0; i + 1 < n_pieces; i++) {
        layer += layers[i];
        ps_buf_addf(out, "%slayers.%d", i > 0 ? "," : "", (int)layer);
    }
}

static bool is_called(const ps_plan_line_ask *a, const char *name) {
    return strcmp(a->schedule->name, name) == 0;
}

static bool are_equal(const ps_plan_line_ask *a) {
    bool equal = true;
    for (int32_t i = 1; i < a->n_pieces; i++) {
        equal = equal && a->layers[i] == a->layers[0];
    }
    return equal;
}

static bool all_have_layers(const ps_plan_line_ask *a) {
    bool all = true;
    for (int32_t i = 0; i < a->n_pieces; i++) {
        all = all && a->layers[i] > 0;
    }
    return all;
}

/* --- Megatron-LM, MindSpeed -------------------------------------------------------------------------------------------- */

static void put_virtual_stages(const ps_plan_line_ask *a, ps_buf *out) {
    if (are_equal(a)) {
        ps_buf_addf(out, "--num-layers-per-virtual-pipeline-stage %d", (int)a->layers[0]);
    } else {
        ps_buf_add_str(out, "--pipeline-model-parallel-layout \"");
        ps_plan_layout(a->layers, a->n_pieces, out);
        ps_buf_add_char(out, '"');
    }
    if (a->params.group > 0 && a->params.group != a->params.n_stages) {
        ps_buf_addf(out, " --microbatch-group-size-per-virtual-pipeline-stage %d",
                    (int)a->params.group);
    }
}

void ps_plan_line_megatron(const ps_plan_line_ask *a, ps_buf *out) {
    if (is_called(a, "interleaved")) {
        put_virtual_stages(a, out);
    } else if (is_called(a, "1f1b")) {
        ps_buf_add_str(out, "--pipeline-model-parallel-layout \"");
        ps_plan_layout(a->layers, a->n_pieces, out);
        ps_buf_add_char(out, '"');
    }
}

void ps_plan_line_mindspeed(const ps_plan_line_ask *a, ps_buf *out) {
    if (is_called(a, "interleaved")) {
        put_virtual_stages(a, out);
    } else if (is_called(a, "1f1b")) {
        ps_buf_add_str(out, "--num-layer-list ");
        ps_plan_list(a->layers, a->n_pieces, out);
    } else if (is_called(a, "dualpipev") && are_equal(a)) {
        ps_buf_addf(out, "--schedules-method dualpipev%s",
                    a->params.tail_full ? "" : " --dualpipev-dw-detach");
    }
}

/* --- PyTorch, torchtitan ------------------------------------------------------------------------------------------------ */

/* NULL: PyTorch does not run it, not in these groups of microbatches, or with a stage that has no layer. */
static const char *pytorch_name(const ps_plan_line_ask *a) {
    bool is_looped = (a->schedule->takes & PS_TAKES_GROUP) != 0;
    bool has_groups = a->params.n_microbatches % a->params.n_stages == 0 &&
                      (a->params.group == 0 || a->params.group == a->params.n_stages);
    const char *name = NULL;
    for (size_t i = 0; i < sizeof PYTORCH / sizeof *PYTORCH; i++) {
        name = is_called(a, PYTORCH[i].schedule) ? PYTORCH[i].name : name;
    }
    return (is_looped && !has_groups) || !all_have_layers(a) ? NULL : name;
}

void ps_plan_line_pytorch(const ps_plan_line_ask *a, ps_buf *out) {
    const char *name = pytorch_name(a);
    if (name != NULL) {
        ps_buf_addf(out, "Schedule%s, split at ", name);
        ps_plan_points(a->layers, a->n_pieces, out);
    }
}

void ps_plan_line_torchtitan(const ps_plan_line_ask *a, ps_buf *out) {
    const char *name = pytorch_name(a);
    int32_t layer = 0;
    if (name == NULL) {
        return;
    }
    ps_buf_addf(out, "pipeline_parallel_schedule = \"%s\"\nmodule_fqns_per_model_part = [", name);
    for (int32_t i = 0; i < a->n_pieces; i++) {
        ps_buf_addf(out, "%s[%s", i > 0 ? ", " : "", i == 0 ? "\"tok_embeddings\", " : "");
        for (int32_t l = 0; l < a->layers[i]; l++) {
            ps_buf_addf(out, "%s\"layers.%d\"", l > 0 ? ", " : "", (int)layer++);
        }
        ps_buf_add_str(out, i == a->n_pieces - 1 ? ", \"norm\", \"output\"]" : "]");
    }
    ps_buf_add_char(out, ']');
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

const ps_plan_framework PS_PLAN_FRAMEWORKS[PS_N_PLAN_FRAMEWORKS] = {
    {"Megatron-LM", ps_plan_line_megatron},
    {"MindSpeed", ps_plan_line_mindspeed},
    {"torchtitan", ps_plan_line_torchtitan},
    {"PyTorch", ps_plan_line_pytorch},
};

bool ps_plan_has_line(const ps_plan_line_ask *ask, bool *has) {
    bool ok = true;
    *has = false;
    for (size_t i = 0; ok && !*has && i < PS_N_PLAN_FRAMEWORKS; i++) {
        ps_buf text = {0};
        PS_PLAN_FRAMEWORKS[i].write(ask, &text);
        *has = text.len > 0;
        ok = ps_buf_ok(&text);
        ps_buf_fini(&text);
    }
    return ok;
}
