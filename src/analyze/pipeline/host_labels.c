/* Names repeat: each distinct one is looked at once. Among the ranges of the best family, per thread:
 *
 *   a container holds forwards and backwards (a wrapper of a whole phase, an OVERLAP_F_B with labels inside): left out;
 *   what is nested in a range that is kept (a recomputed forward in its backward) is left out. */
#include "analyze/pipeline/host_labels.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/sort.h"
#include "schedule/schedule.h"

#define MAX_MODEL_STAGES (PS_MAX_STAGES * PS_MAX_CHUNKS)

static ps_host_label host_label_label_of(ps_label_family family, ps_op_kind kind) {
    return (ps_host_label){.family = family,
                           .kind = kind,
                           .stage = -1,
                           .microbatch = -1,
                           .stage2 = -1,
                           .microbatch2 = -1,
                           .layer_f = -1,
                           .layer_b = -1};
}

/* --- rules of the user --------------------------------------------------------------------------------------- */

static ps_code compile_rule(ps_pattern **rule, const char *option, const char *text, ps_err *err) {
    if (text == NULL) {
        return PS_OK;
    }
    ps_err why = PS_ERR_INIT;
    *rule = ps_pattern_new(text, strlen(text), PS_PATTERN_REGEX | PS_PATTERN_CASE, &why);
    if (*rule != NULL) {
        return PS_OK;
    }
    return why.code == PS_NOMEM ? ps_fail_nomem(err)
                                : ps_fail(err, PS_USAGE, "%s '%.200s': %s", option, text, why.msg);
}

ps_code ps_label_rules_init(ps_label_rules *rules, const ps_analysis_opts *opts, ps_err *err) {
    *rules = (ps_label_rules){.forward = NULL};
    ps_code code = compile_rule(&rules->forward, "--forward-re", opts->forward_re, err);
    if (code == PS_OK) {
        code = compile_rule(&rules->backward, "--backward-re", opts->backward_re, err);
    }
    return code == PS_OK
               ? compile_rule(&rules->microbatch, "--microbatch-re", opts->microbatch_re, err)
               : code;
}

void ps_label_rules_fini(ps_label_rules *rules) {
    ps_pattern_free(rules->forward);
    ps_pattern_free(rules->backward);
    ps_pattern_free(rules->microbatch);
    *rules = (ps_label_rules){.forward = NULL};
}

ps_code ps_label_rules_check(const ps_analysis_opts *opts, ps_err *err) {
    if (opts->microbatch_re != NULL && !ps_label_rules_given(opts)) {
        return ps_fail_said(
            err, PS_USAGE,
            "--microbatch-re numbers what --forward-re and --backward-re match: give those too",
            "--microbatch-re 为 --forward-re 和 --backward-re 匹配的区间编号：请同时给出这两个选项");
    }
    ps_label_rules rules;
    ps_code code = ps_label_rules_init(&rules, opts, err);
    ps_label_rules_fini(&rules);
    return code;
}

/* The first digits of the group, -1 when there are none or too many. */
static int32_t host_label_number_in(const char *s, ps_pattern_group group) {
    int64_t value = -1;
    for (size_t i = group.begin; i < group.end; i++) {
        if (isdigit((unsigned char)s[i])) {
            size_t end = i;
            while (end < group.end && isdigit((unsigned char)s[end])) {
                end++;
            }
            bool ok = ps_parse_i64(s + i, end - i, &value);
            return ok && value < PS_MAX_MICROBATCHES ? (int32_t)value : -1;
        }
    }
    return -1;
}

static ps_code match_rule(ps_pattern *rule, const char *option, const char *name,
                          ps_pattern_group groups[2], bool *matches, ps_err *err) {
    *matches = rule != NULL && ps_pattern_find(rule, name, strlen(name), groups);
    switch (rule != NULL ? ps_pattern_ended(rule) : PS_OK) {
    case PS_OK:
        return PS_OK;
    case PS_NOMEM:
        return ps_fail_nomem(err);
    default:
        return ps_fail_said(err, PS_USAGE,
                            "%s takes too long on the names of this capture: make it simpler",
                            "%s 在该采集数据的名称上耗时过长：请写得更简单", option);
    }
}

ps_code ps_label_rules_match(const ps_label_rules *rules, const char *name, ps_host_label *out,
                             bool *found, ps_err *err) {
    ps_pattern_group f[2] = {0};
    ps_pattern_group b[2] = {0};
    ps_pattern_group m[2] = {0};
    bool forward = false;
    bool backward = false;
    bool numbered = false;
    *found = false;
    ps_code code = match_rule(rules->forward, "--forward-re", name, f, &forward, err);
    code = code == PS_OK ? match_rule(rules->backward, "--backward-re", name, b, &backward, err)
                         : code;
    if (code != PS_OK || (!forward && !backward)) {
        return code;
    }
    *found = true;
    *out = host_label_label_of(PS_FAMILY_USER, forward && backward ? PS_OP_FB
                                               : forward           ? PS_OP_F
                                                                   : PS_OP_B);
    out->microbatch = host_label_number_in(name, forward ? f[1] : b[1]);
    out->microbatch2 = forward && backward ? host_label_number_in(name, b[1]) : -1;
    if (out->microbatch < 0) {
        code = match_rule(rules->microbatch, "--microbatch-re", name, m, &numbered, err);
        out->microbatch = numbered ? host_label_number_in(name, m[m[1].took_part]) : -1;
    }
    return code;
}

/* --- names of frameworks -------------------------------------------------------------------------------------- */

/* "3F7" or "(0F7;7B3)OVERLAP_F_B", behind "PP:". A pair is one forward and one backward; anything else overlapped is
 * no op that a chart knows. */
static bool parse_action(const char *s, ps_host_label *out) {
    ps_action action;
    if (!ps_action_parse(s, strlen(s), &action)) {
        return false;
    }
    const ps_action_part *first = &action.parts[0];
    *out = host_label_label_of(PS_FAMILY_ACTION, ps_action_op(first->kind));
    out->action = first->kind;
    out->stage = first->stage;
    out->microbatch = first->microbatch;
    if (action.n_parts > 1) {
        const ps_action_part *second = &action.parts[1];
        bool swapped = first->kind != PS_ACTION_F;
        const ps_action_part *f = swapped ? second : first;
        const ps_action_part *b = swapped ? first : second;
        bool pair = action.n_parts == 2 && f->kind == PS_ACTION_F &&
                    (b->kind == PS_ACTION_B || b->kind == PS_ACTION_I || b->kind == PS_ACTION_BW);
        out->kind = pair ? PS_OP_FB : PS_OP_OTHER;
        out->action = f->kind;
        out->second = b->kind;
        out->stage = f->stage;
        out->microbatch = f->microbatch;
        out->stage2 = b->stage;
        out->microbatch2 = b->microbatch;
    }
    return out->stage < MAX_MODEL_STAGES && out->stage2 < MAX_MODEL_STAGES &&
           out->microbatch < PS_MAX_MICROBATCHES && out->microbatch2 < PS_MAX_MICROBATCHES;
}

static bool parse_host_label_number(const char *s, int32_t limit, int32_t *out) {
    int64_t value = 0;
    if (s[0] == '-' || !ps_parse_i64(s, strlen(s), &value) || value >= limit) {
        return false;
    }
    *out = (int32_t)value;
    return true;
}

/* "Forward 2", "Backward 2" */
static bool parse_gpipe(const char *s, ps_host_label *out) {
    bool forward = strncmp(s, "Forward ", 8) == 0;
    bool backward = strncmp(s, "Backward ", 9) == 0;
    int32_t number = 0;
    if ((!forward && !backward) ||
        !parse_host_label_number(s + (forward ? 8 : 9), PS_MAX_MICROBATCHES, &number)) {
        return false;
    }
    *out = host_label_label_of(PS_FAMILY_MICROBATCH, forward ? PS_OP_F : PS_OP_B);
    out->microbatch = number;
    return true;
}

/* "layer_3f" or "layer_8b" at *s, which moves behind it. */
static bool take_layer(const char **s, char *side, int32_t *layer) {
    static const char HEAD[] = "layer_";
    if (strncmp(*s, HEAD, sizeof HEAD - 1) != 0) {
        return false;
    }
    const char *digits = *s + sizeof HEAD - 1;
    size_t n = strspn(digits, "0123456789");
    int64_t value = 0;
    *side = digits[n];
    if (n == 0 || !ps_parse_i64(digits, n, &value) || value > 1 << 20 ||
        (*side != 'f' && *side != 'b')) {
        return false;
    }
    *layer = (int32_t)value;
    *s = digits + n + 1;
    return true;
}

static bool parse_layers(const char *s, ps_host_label *out) {
    char side = '\0';
    int32_t layer = 0;
    if (!take_layer(&s, &side, &layer)) {
        return false;
    }
    *out = host_label_label_of(PS_FAMILY_LAYER, side == 'f' ? PS_OP_F : PS_OP_B);
    *(side == 'f' ? &out->layer_f : &out->layer_b) = layer;
    if (*s == '\0') {
        return true;
    }
    s++;
    bool pair =
        s[-1] == '-' && side == 'f' && take_layer(&s, &side, &layer) && side == 'b' && *s == '\0';
    out->kind = PS_OP_FB;
    out->layer_b = layer;
    return pair;
}

static const struct {
    const char *name;
    ps_op_kind kind;
} FUNCTIONS[] = {
    {"forward_step", PS_OP_F},
    {"forward-compute", PS_OP_F},
    {"forward_step_with_model_graph", PS_OP_F},
    {"forward_step_no_model_graph", PS_OP_F},
    {"_forward_chunk", PS_OP_F},
    {"backward_step", PS_OP_B},
    {"backward-compute", PS_OP_B},
    {"backward_step_with_model_graph", PS_OP_B},
    {"_backward_chunk", PS_OP_B},
    {"forward_backward_overlaping", PS_OP_FB}, /* as MindSpeed spells it */
    {"forward_backward_overlapping", PS_OP_FB},
    {"_forward_backward_chunk", PS_OP_FB},
    {"_weight_chunk", PS_OP_BW},
    {"WeightGradStore.pop", PS_OP_BW},
    {"WeightGradStore.pop_single", PS_OP_BW},
    {"WeightGradStore.pop_all", PS_OP_BW},
};

/* The function's name stands alone or behind "module." and before "(". */
static bool parse_function(const char *s, ps_host_label *out) {
    size_t n = strcspn(s, "(");
    while (n > 0 && s[n - 1] == ' ') {
        n--;
    }
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        size_t len = strlen(FUNCTIONS[i].name);
        if (n >= len && memcmp(s + n - len, FUNCTIONS[i].name, len) == 0 &&
            (n == len || s[n - len - 1] == '.')) {
            *out = host_label_label_of(PS_FAMILY_FUNCTION, FUNCTIONS[i].kind);
            return true;
        }
    }
    return false;
}

static int32_t number_of(const ps_literal *dict, const char *key, int32_t limit) {
    int64_t number = -1;
    bool ok = ps_literal_int(ps_literal_get(dict, key), &number) && number >= 0 && number < limit;
    return ok ? (int32_t)number : -1;
}

/* A message that says stage and microbatch of all it does is as exact as an action. */
static void take_stages(const ps_literal *dict, ps_host_label *out) {
    ps_host_label exact = *out;
    bool pair = out->kind == PS_OP_FB;
    exact.stage = number_of(dict, "stage", MAX_MODEL_STAGES);
    exact.stage2 = pair ? number_of(dict, "backward_stage", MAX_MODEL_STAGES) : -1;
    exact.microbatch2 = pair ? number_of(dict, "backward_microbatch", PS_MAX_MICROBATCHES) : -1;
    if (exact.stage < 0 || exact.microbatch < 0 ||
        (pair && (exact.stage2 < 0 || exact.microbatch2 < 0))) {
        return;
    }
    exact.family = PS_FAMILY_ACTION;
    exact.action = out->kind == PS_OP_B    ? PS_ACTION_B
                   : out->kind == PS_OP_BW ? PS_ACTION_W
                                           : PS_ACTION_F;
    exact.second = PS_ACTION_B;
    *out = exact;
}

/* {'name': 'forward_step', 'current_microbatch': 3, 'stage': 5}; in a dict's name '_' may stand for '.'. */
static bool parse_dict(const char *s, ps_host_label *out) {
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *dict = ps_literal_parse(&arena, s, strlen(s), NULL);
    const char *name = ps_literal_str(ps_literal_get(dict, "name"));
    bool ok = name != NULL && parse_function(name, out);
    if (ok) {
        out->microbatch = number_of(dict, "current_microbatch", PS_MAX_MICROBATCHES);
        take_stages(dict, out);
    }
    ps_arena_fini(&arena);
    return ok;
}

bool ps_host_label_parse(const char *name, ps_host_label *out) {
    if (name[0] == '{') {
        return parse_dict(name, out);
    }
    if (strncmp(name, "PP:", 3) == 0) {
        return parse_action(name + 3, out);
    }
    return parse_gpipe(name, out) || parse_layers(name, out) || parse_function(name, out);
}

/* --- collecting ------------------------------------------------------------------------------------------------ */

typedef struct collecting {
    const ps_trace *trace;
    const ps_label_rules *rules;
    ps_idmap by_name; /* string id -> row in labels, 0 = no label */
    ps_host_label *labels;
    size_t n_labels, cap_labels;
    ps_host_ranges *out;
    ps_diag *diag;
} collecting;

static bool may_carry_label(const collecting *c, uint8_t kind) {
    return kind == PS_SLICE_ANNOTATION || kind == PS_SLICE_MARK_HOST || kind == PS_SLICE_HOST_OP ||
           kind == PS_SLICE_HOST_OTHER ||
           (c->rules != NULL && (kind == PS_SLICE_PYTHON || kind == PS_SLICE_JOB));
}

/* The label of a name: what frameworks call it, or what the user's rules say. */
static ps_code name_label(const collecting *c, ps_str name, ps_host_label *label, bool *found,
                          ps_err *err) {
    const char *text = ps_trace_text(c->trace, name);
    if (c->rules != NULL) {
        return ps_label_rules_match(c->rules, text, label, found, err);
    }
    *found = ps_host_label_parse(text, label);
    return PS_OK;
}

/* The row of the name's label, looked up or made; 0: it has none. */
static ps_code host_label_classify(collecting *c, ps_str name, uint32_t *row, ps_err *err) {
    *row = ps_idmap_get(&c->by_name, name.id);
    if (*row != PS_IDMAP_NONE) {
        return PS_OK;
    }
    ps_host_label label;
    bool found = false;
    ps_code code = name_label(c, name, &label, &found, err);
    if (code != PS_OK) {
        return code;
    }
    *row = 0;
    if (found) {
        size_t at = c->n_labels > 0 ? c->n_labels : 1;
        if (!ps_grow(&c->labels, &c->cap_labels, at + 1, UINT32_MAX / 2, sizeof *c->labels)) {
            return ps_fail_nomem(err);
        }
        c->labels[at] = label;
        c->n_labels = at + 1;
        *row = (uint32_t)at;
    }
    return ps_idmap_put(&c->by_name, name.id, *row) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_host_labels_say_stages(const ps_trace *trace, bool *all, ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    collecting c = {.trace = trace};
    bool any = false;
    ps_code code = PS_OK;
    *all = true;
    ps_idmap_init(&c.by_name);
    for (uint32_t i = 0; code == PS_OK && *all && i < s->n; i++) {
        uint32_t row = 0;
        if (s->kind[i] != PS_SLICE_MARK_HOST || ps_trace_text(trace, s->name[i])[0] != '{') {
            continue;
        }
        code = host_label_classify(&c, s->name[i], &row, err);
        any = any || row != 0;
        *all = row == 0 || c.labels[row].family == PS_FAMILY_ACTION;
    }
    *all = *all && any;
    ps_idmap_fini(&c.by_name);
    ps_free(c.labels);
    return code;
}

static bool add_host_label_range(ps_host_ranges *out, ps_host_range range) {
    if (!ps_grow(&out->ranges, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->ranges)) {
        return false;
    }
    out->ranges[out->n++] = range;
    return true;
}

/* Whether an action has parts that no op can stand for: it is none, out of bounds, or overlaps something else than one
 * forward and one backward. */
static bool is_unread(const collecting *c, ps_str name, const ps_host_label *label) {
    const char *text = ps_trace_text(c->trace, name);
    bool action = strncmp(text, "PP:", 3) == 0;
    return action && (label == NULL || (label->kind == PS_OP_OTHER &&
                                        (ps_action_op(label->action) != PS_OP_OTHER ||
                                         ps_action_op(label->second) != PS_OP_OTHER) &&
                                        strchr(text, ';') != NULL));
}

/* All labelled slices; the best family that has an op. */
static ps_code find_ranges(collecting *c, ps_err *err) {
    const ps_slices *s = ps_trace_slices(c->trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t row = 0;
        if (!may_carry_label(c, s->kind[i])) {
            continue;
        }
        ps_code code = host_label_classify(c, s->name[i], &row, err);
        if (code != PS_OK) {
            return code;
        }
        const ps_host_label *label = row != 0 ? &c->labels[row] : NULL;
        if (c->rules == NULL && is_unread(c, s->name[i], label)) {
            ps_diag_add(c->diag, PS_ODD_TEXT, "label '%.100s'",
                        ps_trace_text(c->trace, s->name[i]));
        }
        if (label == NULL) {
            continue;
        }
        if (ps_label_is_op(label->kind) && label->family < c->out->family) {
            c->out->family = label->family;
        }
        ps_host_range range = {.start_ns = s->start_ns[i],
                               .end_ns = s->start_ns[i] + s->dur_ns[i],
                               .slice = i,
                               .track = s->track[i],
                               .label = *label};
        if (!add_host_label_range(c->out, range)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* Posting a transfer is no op. */
static void keep_family(ps_host_ranges *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const ps_host_label *label = &r->ranges[i].label;
        if (label->family == r->family && label->kind != PS_OP_SEND && label->kind != PS_OP_RECV) {
            r->ranges[n++] = r->ranges[i];
        }
    }
    r->n = n;
}

/* --- nesting ----------------------------------------------------------------------------------------------------- */

typedef struct nesting {
    uint32_t *parent;                 /* [n] the range around it on its thread, PS_NONE */
    uint32_t *n_forward, *n_backward; /* [n] inside of it */
    uint8_t *covered;                 /* [n] it or a range around it is kept */
    uint32_t *open;                   /* [n_tracks] innermost range begun, PS_NONE */
} nesting;

static bool nesting_init(nesting *t, const ps_host_ranges *r, size_t n_tracks) {
    t->parent = ps_calloc(r->n, sizeof *t->parent);
    t->n_forward = ps_calloc(r->n, sizeof *t->n_forward);
    t->n_backward = ps_calloc(r->n, sizeof *t->n_backward);
    t->covered = ps_calloc(r->n, sizeof *t->covered);
    t->open = ps_calloc(n_tracks, sizeof *t->open);
    for (size_t k = 0; t->open != NULL && k < n_tracks; k++) {
        t->open[k] = PS_NONE;
    }
    return t->parent != NULL && t->n_forward != NULL && t->n_backward != NULL &&
           t->covered != NULL && t->open != NULL;
}

static void nesting_fini(nesting *t) {
    ps_free(t->parent);
    ps_free(t->n_forward);
    ps_free(t->n_backward);
    ps_free(t->covered);
    ps_free(t->open);
}

static void find_parents(const ps_host_ranges *r, nesting *t) {
    for (size_t i = 0; i < r->n; i++) {
        const ps_host_range *range = &r->ranges[i];
        uint32_t around = t->open[range->track];
        while (around != PS_NONE && r->ranges[around].end_ns < range->end_ns) {
            around = t->parent[around]; /* over, or crossing: not around this one */
        }
        t->parent[i] = around;
        t->open[range->track] = (uint32_t)i;
    }
    for (size_t i = r->n; i-- > 0;) {
        ps_op_kind kind = r->ranges[i].label.kind;
        uint32_t around = t->parent[i];
        if (around != PS_NONE) {
            t->n_forward[around] +=
                t->n_forward[i] + (kind == PS_OP_F || kind == PS_OP_FB ? 1U : 0U);
            t->n_backward[around] +=
                t->n_backward[i] +
                (kind == PS_OP_B || kind == PS_OP_BI || kind == PS_OP_FB ? 1U : 0U);
        }
    }
}

/* A function that runs a pair may mark its halves too: it counts as one op. What holds more is a wrapper. */
static bool is_container(const ps_host_ranges *r, const nesting *t, size_t i) {
    uint32_t least = r->family == PS_FAMILY_FUNCTION ? 2 : 1;
    return t->n_forward[i] >= least && t->n_backward[i] >= least;
}

static bool drop_nested(ps_host_ranges *r, const ps_trace *trace, ps_diag *diag) {
    nesting t = {0};
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    bool ok = nesting_init(&t, r, n_tracks);
    size_t n = 0;
    if (ok) {
        find_parents(r, &t);
    }
    for (size_t i = 0; ok && i < r->n; i++) {
        bool inside = t.parent[i] != PS_NONE && t.covered[t.parent[i]] != 0;
        bool container = is_container(r, &t, i);
        bool kept = !inside && !container;
        t.covered[i] = inside || kept;
        if (!kept) {
            ps_diag_count(diag, container ? PS_ODD_MARK_CONTAINER : PS_ODD_MARK_NESTED, 1);
        }
    }
    for (size_t i = 0; ok && i < r->n; i++) {
        bool inside = t.parent[i] != PS_NONE && t.covered[t.parent[i]] != 0;
        if (!inside && t.covered[i] != 0) {
            r->ranges[n++] = r->ranges[i]; /* behind what is still looked at */
        }
    }
    r->n = ok ? n : r->n;
    nesting_fini(&t);
    return ok;
}

/* --- layers ------------------------------------------------------------------------------------------------------ */

/* The next layer of the same op: forwards go up the layers, backwards down. */
static bool host_label_goes_on(const ps_host_label *last, const ps_host_label *next) {
    return last->kind == next->kind && (next->layer_f < 0 || next->layer_f > last->layer_f) &&
           (next->layer_b < 0 || next->layer_b < last->layer_b);
}

static const ps_sort_key RANGE_ORDER[] = {
    PS_UP(ps_host_range, start_ns), PS_DOWN(ps_host_range, end_ns), PS_UP(ps_host_range, track)};

void ps_host_ranges_sort(ps_host_ranges *r) {
    ps_sort_by(r->ranges, r->n, sizeof *r->ranges, PS_KEYS(RANGE_ORDER));
}

/* Runs of layers become the ops that they are parts of. */
static bool join_layers(ps_host_ranges *r, const ps_trace *trace) {
    size_t n_tracks = 0;
    (void)ps_trace_tracks(trace, &n_tracks);
    uint32_t *open = ps_calloc(n_tracks, sizeof *open); /* row of the thread's op + 1 */
    size_t n = 0;
    for (size_t i = 0; open != NULL && i < r->n; i++) {
        ps_host_range range = r->ranges[i];
        ps_host_range *last = open[range.track] > 0 ? &r->ranges[open[range.track] - 1] : NULL;
        if (last != NULL && host_label_goes_on(&last->label, &range.label)) {
            last->label = range.label;
            last->end_ns = range.end_ns > last->end_ns ? range.end_ns : last->end_ns;
            last->slice = PS_NONE;
            continue;
        }
        r->ranges[n++] = range;
        open[range.track] = (uint32_t)n;
    }
    r->n = open != NULL ? n : r->n;
    ps_free(open);
    ps_host_ranges_sort(r);
    return open != NULL;
}

ps_code ps_host_ranges_collect(const ps_trace *trace, const ps_label_rules *rules,
                               ps_host_ranges *out, ps_diag *diag, ps_err *err) {
    *out = (ps_host_ranges){.family = PS_N_FAMILIES};
    collecting c = {.trace = trace, .rules = rules, .out = out, .diag = diag};
    ps_idmap_init(&c.by_name);
    ps_code code = find_ranges(&c, err);
    ps_idmap_fini(&c.by_name);
    ps_free(c.labels);
    if (code == PS_OK) {
        keep_family(out);
        bool ok = drop_nested(out, trace, diag) &&
                  (out->family != PS_FAMILY_LAYER || join_layers(out, trace));
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        ps_host_ranges_fini(out);
    }
    return code;
}

void ps_host_ranges_fini(ps_host_ranges *ranges) {
    ps_free(ranges->ranges);
    *ranges = (ps_host_ranges){.family = PS_N_FAMILIES};
}
