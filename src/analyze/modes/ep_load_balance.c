/* ep_load_balance: how many tokens each rank of an expert-parallel group had to multiply. The tokens of a GroupedMatmul are
 * the first dimensions of its inputs, all but the last two (weights and group list); the groups are those of
 * parallel_group_info named "exp". */
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/derived.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/sort.h"

#define OPERATOR "GroupedMatmul"
#define USUAL_TOP 20
#define MAX_TOKENS ((int64_t)1 << 40)

/* --- one rank ------------------------------------------------------------------------------------------- */

typedef struct partial {
    const char **groups; /* "0,1,2,3", each once, in the order of the metadata */
    size_t n_groups, cap_groups;
    int64_t n_operators, tokens;
    ps_arena arena;
} partial;

static void free_balance_partial(void *p) {
    partial *part = p;
    if (part != NULL) {
        ps_free(part->groups);
        ps_arena_fini(&part->arena);
        ps_free(part);
    }
}

typedef enum membership { MEMBER, NO_MEMBER, ODD, NO_MEMORY } membership;

/* Whether the rank is in a group, and then its ranks as text. */
static membership read_members(partial *part, const ps_literal *ranks, int64_t own,
                               const char **members) {
    ps_buf text;
    ps_buf_init(&text, 0);
    bool has_own = own < 0; /* a rank without a number is in all that its metadata names */
    bool is_odd = false;
    for (const ps_literal *r = ranks->child; r != NULL; r = r->next) {
        int64_t rank = -1;
        is_odd = is_odd || !ps_literal_int(r, &rank);
        has_own = has_own || rank == own;
        ps_buf_addf(&text, "%s%lld", text.len > 0 ? "," : "", (long long)rank);
    }
    *members =
        ps_buf_ok(&text) ? ps_arena_strndup(&part->arena, ps_buf_str(&text), text.len) : NULL;
    ps_buf_fini(&text);
    return *members == NULL ? NO_MEMORY : is_odd ? ODD : has_own ? MEMBER : NO_MEMBER;
}

static bool add_balance_group(partial *part, const char *text) {
    for (size_t i = 0; i < part->n_groups; i++) {
        if (strcmp(part->groups[i], text) == 0) {
            return true;
        }
    }
    if (!ps_grow(&part->groups, &part->cap_groups, part->n_groups + 1, 1 << 20,
                 sizeof *part->groups)) {
        return false;
    }
    part->groups[part->n_groups++] = text;
    return true;
}

static ps_code read_balance_groups(partial *part, const ps_map_input *in, ps_err *err) {
    const char *text = ps_trace_meta(in->trace, "parallel_group_info");
    ps_err odd = PS_ERR_INIT;
    const ps_literal *info =
        text != NULL ? ps_literal_parse(&part->arena, text, strlen(text), &odd) : NULL;
    if (info != NULL && info->kind == PS_LITERAL_STRING) { /* a JSON text stored as a JSON string */
        info = ps_literal_parse(&part->arena, info->text, info->len, &odd);
    }
    if (odd.code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (text != NULL && (info == NULL || info->kind != PS_LITERAL_OBJECT)) {
        ps_diag_add(in->diag, PS_ODD_METADATA, "parallel_group_info: not a JSON object");
        info = NULL;
    }
    for (const ps_literal *g = info != NULL ? info->child : NULL; g != NULL; g = g->next) {
        const char *name = ps_literal_str(ps_literal_get(g, "group_name"));
        const ps_literal *ranks = ps_literal_get(g, "global_ranks");
        if (name == NULL || strcmp(name, "exp") != 0 || ranks == NULL ||
            ranks->kind != PS_LITERAL_ARRAY || ranks->child == NULL) {
            continue;
        }
        const char *members = NULL;
        membership is = read_members(part, ranks, in->rank->rank, &members);
        if (is == ODD) {
            ps_diag_add(in->diag, PS_ODD_METADATA, "parallel_group_info: ranks of %s",
                        g->key != NULL ? g->key : "a group");
        }
        if (is == NO_MEMORY || (is == MEMBER && !add_balance_group(part, members))) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* `"512,4096;8,4096,1024;8"`: the first dimensions of all parts but the last two that hold anything. False for what is no
 * such list. */
static bool tokens_of(const char *shapes, int64_t *tokens) {
    int64_t last[2] = {0, 0}; /* not yet known not to be the last two */
    *tokens = 0;
    for (const char *p = shapes;;) {
        while (*p == '"' || *p == ' ') {
            p++;
        }
        size_t n = strcspn(p, ",;\" ");
        int64_t first = 0;
        if (n > 0) {
            if (!ps_parse_i64(p, n, &first) || first < 0 || first > MAX_TOKENS ||
                *tokens > MAX_TOKENS) {
                return false;
            }
            *tokens += last[0];
            last[0] = last[1];
            last[1] = first;
        }
        p += n;
        p += strcspn(p, ";");
        if (*p == '\0') {
            return true;
        }
        p++;
    }
}

static bool is_grouped_matmul(const ps_trace *t, const ps_slices *s, uint32_t i) {
    const char *type = ps_kernel_type(t, i);
    return type != NULL ? strcmp(type, OPERATOR) == 0
                        : strstr(ps_trace_text(t, s->name[i]), OPERATOR) != NULL;
}

static ps_code count_tokens(partial *part, const ps_map_input *in, ps_err *err) {
    const ps_trace *t = in->trace;
    const ps_slices *s = ps_trace_slices(t);
    int64_t step = in->opts->step_id;
    const ps_links *links = step >= 0 ? ps_derived_links(in->derived, err) : NULL;
    ps_code code = step >= 0 && links == NULL ? PS_NOMEM : PS_OK;
    for (uint32_t i = 0; code == PS_OK && i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_KERNEL || !is_grouped_matmul(t, s, i) ||
            (step >= 0 && ps_links_step(links, i) != step)) {
            continue;
        }
        const char *shapes = ps_trace_arg_text(t, i, "inputShapes"); /* empty ones hold no tokens */
        shapes = shapes != NULL ? shapes : ps_trace_arg_text(t, i, "Input Shapes");
        int64_t tokens = 0;
        if (shapes == NULL || !tokens_of(shapes, &tokens) ||
            part->tokens > INT64_MAX - 2 * MAX_TOKENS) {
            ps_diag_add(in->diag, PS_ODD_TEXT, "input shapes of %s: %.60s",
                        ps_trace_text(t, s->name[i]), shapes != NULL ? shapes : "none");
            continue;
        }
        part->n_operators++;
        part->tokens += tokens;
    }
    return code;
}

static ps_code fill_balance(partial *part, const ps_map_input *in, ps_err *err) {
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    code = code == PS_OK ? read_balance_groups(part, in, err) : code;
    if (code == PS_OK && part->n_groups == 0) {
        code = ps_fail_said(
            err, PS_NOTHING,
            "no expert-parallel group of this rank: parallel_group_info in the metadata "
            "names no group \"exp\" (record it with add_metadata_json; Megatron and "
            "MindSpeed do so when experts are parallel)",
            "该 rank 没有专家并行通信域：元数据的 parallel_group_info 中没有名为 \"exp\" 的通信域（用 add_metadata_json 记录；启用专家并行时 Megatron 与 MindSpeed 会记录）");
    }
    code = code == PS_OK ? count_tokens(part, in, err) : code;
    if (code == PS_OK && part->n_operators == 0) {
        code = ps_fail_said(err, PS_NOTHING,
                            "no " OPERATOR
                            " with input shapes%s%.0s: shapes need record_shapes=True and "
                            "profiler_level Level1",
                            "%.0s%s没有带输入形状的 " OPERATOR
                            "：形状需要 record_shapes=True 与 profiler_level Level1",
                            PS_IN_THIS_STEP(in->opts->step_id));
    }
    return code;
}

static ps_code map_balance(const ps_map_input *in, void **out, ps_err *err) {
    partial *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&part->arena);
    ps_code code = fill_balance(part, in, err);
    if (code != PS_OK) {
        free_balance_partial(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- all ranks ------------------------------------------------------------------------------------------ */

/* A group as one rank sees it. */
typedef struct member {
    const char *group;
    int64_t tokens, rank;
} member;

static const ps_column SUMMARY[] = {
    {.name = "rank", PS_FIELD(member, rank)},
    {.name = "epRanks", PS_FIELD(member, group)},
    {.name = "inputShapesSummary", PS_FIELD(member, tokens), .unit = PS_UNIT_COUNT}};

static const ps_column TOP[] = {
    {.name = "epRanks", PS_FIELD(member, group)},
    {.name = "tokensDiff", PS_FIELD(member, tokens), .unit = PS_UNIT_COUNT}};

static const ps_sort_key BY_GROUP[] = {PS_UP(member, group)};
/* The group with the largest difference first. */
static const ps_sort_key DIFFERENCE_ORDER[] = {PS_DOWN(member, tokens), PS_UP(member, group)};

/* Members become groups with the difference of their members, in place; returns how many. */
static size_t find_differences(member *members, size_t n) {
    size_t n_groups = 0;
    ps_sort_by(members, n, sizeof *members, PS_KEYS(BY_GROUP));
    for (size_t i = 0; i < n;) {
        member group = members[i];
        int64_t least = group.tokens;
        int64_t most = group.tokens;
        for (; i < n && strcmp(members[i].group, group.group) == 0; i++) {
            least = members[i].tokens < least ? members[i].tokens : least;
            most = members[i].tokens > most ? members[i].tokens : most;
        }
        group.tokens = most - least;
        members[n_groups++] = group;
    }
    ps_sort_by(members, n_groups, sizeof *members, PS_KEYS(DIFFERENCE_ORDER));
    return n_groups;
}

static ps_code reduce_balance(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    size_t n_all = 0;
    for (size_t r = 0; r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        n_all += part != NULL ? part->n_groups : 0;
    }
    member *members = ps_alloc((n_all + 1) * sizeof *members);
    size_t n = 0;
    for (size_t r = 0; members != NULL && r < in->n_ranks; r++) {
        const partial *part = in->partials[r];
        for (size_t i = 0; part != NULL && i < part->n_groups; i++) {
            members[n++] = (member){part->groups[i], part->tokens, in->ranks[r].rank};
        }
    }
    ps_table *summary = ps_table_new("EPTokensSummary", "tokens of each rank", PS_COLUMNS(SUMMARY));
    ps_table *top = ps_table_new("TopEPTokensInfo", "expert groups with the largest difference",
                                 PS_COLUMNS(TOP));
    ps_table_put_all(summary, members, n, sizeof *members);
    size_t wanted = in->opts->top_num > 0 ? (size_t)in->opts->top_num : USUAL_TOP;
    n = find_differences(members, n);
    ps_table_put_all(top, members, n < wanted ? n : wanted, sizeof *members);
    ps_free(members);
    ps_result_finish_table(in->result, summary, "ep_tokens_summary", PS_TO_ALL);
    ps_result_finish_table(in->result, top, "top_ep_tokens_info", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static void archive_balance_partial(ps_archive *a, void **p) {
    partial *x = ps_archive_object(a, p, sizeof *x);
    if (x != NULL) {
        (void)ps_archive_use_arena(a, &x->arena);
        PS_ARCHIVE_ARRAY(a, x, groups, n_groups, ps_archive_text);
        PS_ARCHIVE(a, x, n_operators, tokens);
    }
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS,
     .map = map_balance,
     .reduce = reduce_balance}};

const ps_analysis ps_analysis_ep_load_balance = {
    .name = "ep_load_balance",
    .folder = "EPLoadBalance",
    .summary = "tokens of each rank of an expert-parallel group, from GroupedMatmul",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_balance_partial,
    .archive = archive_balance_partial,
};
