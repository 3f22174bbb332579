#include "model/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct layout {
    const char *name, *order, *title;
    bool has_cp, has_moe_tp;
} layout;

static const layout LAYOUTS[PS_N_LAYOUTS] = {
#define X(symbol, name, order, title, has_cp, has_moe_tp) {name, order, title, has_cp, has_moe_tp},
    PS_LAYOUTS(X)
#undef X
};

const char *ps_layout_name(ps_layout l) {
    return LAYOUTS[l].name;
}
const char *ps_layout_title(ps_layout l) {
    return LAYOUTS[l].title;
}
bool ps_layout_has_cp(ps_layout l) {
    return LAYOUTS[l].has_cp;
}
bool ps_layout_has_moe_tp(ps_layout l) {
    return LAYOUTS[l].has_moe_tp;
}

const char *const ps_layout_names[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp",
#define X(symbol, name, order, title, has_cp, has_moe_tp) name,
                                       PS_LAYOUTS(X)
#undef X
                                           NULL};

bool ps_layout_find(const char *name, ps_layout *out) {
    for (size_t i = 0; i < PS_N_LAYOUTS; i++) {
        const layout *l = &LAYOUTS[i];
        if (strcmp(l->name, name) == 0 || (l->order != NULL && strcmp(l->order, name) == 0)) {
            *out = (ps_layout)i;
            return true;
        }
    }
    return false;
}

int64_t ps_layout_ranks(ps_layout l, const ps_layout_dims *p) {
    int64_t product = p->tp * p->dp; /* sizes are at most 10^4 */
    product = product <= PS_LAYOUT_RANKS ? product * p->pp : -1;
    product = product > PS_LAYOUT_RANKS ? -1 : product;
    product = product > 0 && LAYOUTS[l].has_cp ? product * p->cp : product;
    return product > PS_LAYOUT_RANKS ? -1 : product;
}

/* --- checks ------------------------------------------------------------------------------------------------------------ */

static bool divides(int64_t part, int64_t whole) {
    return part > 0 && whole % part == 0;
}

/* Of the experts; "" none. */
static const char *check_experts(ps_lang lang, ps_layout l, const ps_layout_dims *p,
                                 char text[160]) {
    int64_t wide = p->tp * p->dp;
    switch (l) {
    case PS_LAYOUT_MEGATRON:
    case PS_LAYOUT_MEGATRON_PP:
        (void)snprintf(text, 160,
                       PS_SAY(lang, "dp %" PRId64 " is no multiple of ep %" PRId64,
                              "dp %" PRId64 " 不是 ep %" PRId64 " 的倍数"),
                       p->dp, p->ep);
        return divides(p->ep, p->dp) ? "" : "dp-ep";
    case PS_LAYOUT_MINDSPEED:
        (void)snprintf(text, 160,
                       PS_SAY(lang, "cp x dp = %" PRId64 " is no multiple of ep %" PRId64,
                              "cp x dp = %" PRId64 " 不是 ep %" PRId64 " 的倍数"),
                       p->cp * p->dp, p->ep);
        return divides(p->ep, p->cp * p->dp) ? "" : "cpdp-ep";
    case PS_LAYOUT_MINDIE:
        (void)snprintf(text, 160,
                       PS_SAY(lang, "tp x dp = %" PRId64 " is not moe_tp x ep = %" PRId64,
                              "tp x dp = %" PRId64 " 不等于 moe_tp x ep = %" PRId64),
                       wide, p->moe_tp * p->ep);
        return wide == p->moe_tp * p->ep ? "" : "moe";
    default:
        (void)snprintf(text, 160,
                       PS_SAY(lang,
                              "tp x dp = %" PRId64 " must be a multiple of ep %" PRId64
                              ", and ep one of tp %" PRId64,
                              "tp x dp = %" PRId64 " 必须是 ep %" PRId64
                              " 的倍数，ep 必须是 tp %" PRId64 " 的倍数"),
                       wide, p->ep, p->tp);
        return p->ep <= 1 || (divides(p->ep, wide) && divides(p->tp, p->ep)) ? "" : "vllm-ep";
    }
}

size_t ps_layout_check(ps_lang lang, ps_layout l, const ps_layout_dims *p, int64_t n_ranks,
                       ps_layout_problem out[PS_LAYOUT_PROBLEMS]) {
    size_t n = 0;
    int64_t product = ps_layout_ranks(l, p);
    if (product < 0) {
        out[n].kind = "too-many";
        (void)snprintf(out[n++].text, sizeof out->text,
                       PS_SAY(lang, "these sizes make more than %" PRId64 " ranks",
                              "这些并行规模超过 %" PRId64 " 个 rank"),
                       PS_LAYOUT_RANKS);
    } else if (product < n_ranks) {
        out[n].kind = "too-few";
        (void)snprintf(out[n++].text, sizeof out->text,
                       PS_SAY(lang,
                              "these sizes make %" PRId64 " ranks, and the capture has %" PRId64,
                              "这些并行规模得出 %" PRId64 " 个 rank，而采集数据有 %" PRId64 " 个"),
                       product, n_ranks);
    }
    out[n].kind = check_experts(lang, l, p, out[n].text);
    return n + (out[n].kind[0] != '\0');
}

/* --- places --------------------------------------------------------------------------------------------------------------- */

static int64_t cp_of(ps_layout l, const ps_layout_dims *p) {
    return LAYOUTS[l].has_cp ? p->cp : 1;
}

/* Stages are inside of the replicas instead of around them. */
static bool pp_is_inside(ps_layout l) {
    return l == PS_LAYOUT_MEGATRON_PP || l == PS_LAYOUT_VLLM;
}

/* Of the ranks of a stage, which share experts: their number in the group, and that of the group. */
static void expert_of(ps_layout l, const ps_layout_dims *p, const ps_layout_coordinates *at,
                      int64_t *ep, int64_t *group) {
    int64_t cp = cp_of(l, p);
    int64_t n = p->ep > 0 ? p->ep : 1;
    switch (l) {
    case PS_LAYOUT_MINDSPEED: { /* over the context and data parallel ranks together */
        int64_t number = at->cp + cp * at->dp;
        *ep = number % n;
        *group = at->tp + p->tp * (number / n);
        break;
    }
    case PS_LAYOUT_MINDIE: { /* experts are split by moe_tp inside */
        int64_t number = at->tp + p->tp * at->dp;
        int64_t split = p->moe_tp > 0 ? p->moe_tp : 1;
        *ep = number / split % n;
        *group = number % split + split * (number / (split * n));
        break;
    }
    case PS_LAYOUT_VLLM: { /* over the tensor and data parallel ranks together */
        int64_t number = at->tp + p->tp * at->dp;
        *ep = number % n;
        *group = number / n;
        break;
    }
    default:
        *ep = at->dp % n;
        *group = at->tp + p->tp * (at->cp + cp * (at->dp / n));
    }
}

ps_layout_coordinates ps_layout_coordinates_of(ps_layout l, const ps_layout_dims *p, int64_t rank) {
    ps_layout_coordinates at = {.tp = rank % p->tp};
    int64_t rest = rank / p->tp;
    at.cp = rest % cp_of(l, p);
    rest /= cp_of(l, p);
    if (pp_is_inside(l)) {
        at.pp = rest % p->pp;
        at.dp = rest / p->pp;
    } else {
        at.dp = rest % p->dp;
        at.pp = rest / p->dp;
    }
    int64_t group = 0;
    expert_of(l, p, &at, &at.ep, &group);
    return at;
}

int64_t ps_layout_rank_at(ps_layout l, const ps_layout_dims *p, const ps_layout_coordinates *at) {
    int64_t outer = pp_is_inside(l) ? at->pp + p->pp * at->dp : at->dp + p->dp * at->pp;
    return at->tp + p->tp * (at->cp + cp_of(l, p) * outer);
}

void ps_layout_position(ps_layout l, const ps_layout_dims *p, const ps_layout_coordinates *at,
                        int64_t *x, int64_t *y) {
    *x = (at->dp * cp_of(l, p) + at->cp) * p->tp + at->tp;
    *y = at->pp;
}

/* --- as far as it is known -------------------------------------------------------------------------------------------------- */

static int64_t size_or_one(int64_t size) {
    return size > 0 ? size : 1;
}

/* The product, or INT64_MAX when it does not fit: wider than any job, so that every rank lies in the first block. */
static int64_t product_of(int64_t a, int64_t b) {
    int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t product_of_sizes(ps_layout l, const ps_layout_sizes *s) {
    int64_t cp = LAYOUTS[l].has_cp ? size_or_one(s->cp) : 1;
    return product_of(product_of(size_or_one(s->tp), cp),
                      product_of(size_or_one(s->dp), size_or_one(s->pp)));
}

/* "tp 2 x pp 4 = 8" */
static void name_sizes(const ps_layout_sizes *s, int64_t product, char out[96]) {
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"tp", s->tp}, {"cp", s->cp}, {"dp", s->dp}, {"pp", s->pp}};
    size_t at = 0;
    size_t n = 0;
    out[0] = '\0'; /* no size at all */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].size > 0) {
            at += (size_t)snprintf(out + at, 96 - at, "%s%s %" PRId64, n > 0 ? " x " : "",
                                   sizes[i].name, sizes[i].size);
            n++;
        }
    }
    if (n > 1) {
        (void)snprintf(out + at, 96 - at, " = %" PRId64, product);
    }
}

bool ps_layout_contradicts(ps_lang lang, ps_layout l, const ps_layout_sizes *given,
                           const ps_layout_sizes *known, int64_t n_ranks, char out[160]) {
    char sizes[96];
    int64_t product = product_of_sizes(l, given);
    int64_t known_product = product_of_sizes(l, known);
    bool is_whole =
        given->tp > 0 && given->dp > 0 && given->pp > 0 && (given->cp > 0 || !LAYOUTS[l].has_cp);
    if (given->world > 0 && given->world % product != 0) {
        name_sizes(given, product, sizes);
        (void)snprintf(out, 160,
                       PS_SAY(lang,
                              "%s does not divide the %" PRId64 " ranks of the job (world_size)",
                              "%s 不能整除作业的 %" PRId64 " 个 rank（world_size）"),
                       sizes, given->world);
        return true;
    }
    if (given->world > 0 && is_whole && given->world != product) {
        name_sizes(given, product, sizes);
        (void)snprintf(out, 160,
                       PS_SAY(lang, "%s is not the %" PRId64 " ranks of the job (world_size)",
                              "%s 不等于作业的 %" PRId64 " 个 rank（world_size）"),
                       sizes, given->world);
        return true;
    }
    name_sizes(known, known_product, sizes);
    (void)snprintf(out, 160,
                   PS_SAY(lang, "%s is less than the %" PRId64 " ranks that are here",
                          "%s 小于这里的 %" PRId64 " 个 rank"),
                   sizes, n_ranks);
    return given->dp > 0 && known_product < n_ranks;
}

/* How many replicas of a stage's inner ranks the job has; 0: not known, or its sizes contradict its size. */
static int64_t replicas_of(const ps_layout_sizes *s, int64_t block) {
    if (s->world <= 0) {
        return s->dp;
    }
    int64_t dp = s->world % block == 0 ? s->world / block : 0;
    return s->dp <= 0 || s->dp == dp ? dp : 0;
}

/* Ranks of one stage, with stages outermost. */
static int64_t width_of_stage(const ps_layout_sizes *s, int64_t inner) {
    bool divides = s->world > 0 && s->world % s->pp == 0;
    return divides ? s->world / s->pp : product_of(inner, size_or_one(s->dp));
}

static bool is_in_job(const ps_layout_sizes *s, bool inside, int64_t block, int64_t rank) {
    if (rank < 0 || rank > INT32_MAX || s->pp <= 0 || (s->world > 0 && rank >= s->world)) {
        return false;
    }
    return !inside || s->world > 0 || s->dp <= 0 || rank / block < s->dp;
}

ps_layout_place ps_layout_locate(ps_layout l, const ps_layout_sizes *s, int64_t rank) {
    ps_layout_place at = {-1, -1, -1, -1};
    bool inside = pp_is_inside(l);
    int64_t inner = product_of(size_or_one(s->tp), LAYOUTS[l].has_cp ? size_or_one(s->cp) : 1);
    int64_t block = product_of(inner, size_or_one(s->pp));
    if (!is_in_job(s, inside, block, rank)) {
        return at;
    }
    int64_t width = width_of_stage(s, inner);
    if (!inside && rank / width >= s->pp) {
        return at;
    }
    at.pp = inside ? rank / inner % s->pp : rank / width;
    at.pipeline = inside ? rank / block * inner + rank % inner : rank % width;
    int64_t dp = s->tp > 0 ? replicas_of(s, block) : 0;
    if (dp > 0) {
        at.tp = rank % s->tp;
        at.dp = inside ? rank / block : rank / inner % dp;
    }
    return at;
}

/* --- groups ---------------------------------------------------------------------------------------------------------------- */

const char *ps_group_kind_name(ps_group_kind kind) {
    static const char *const NAMES[] = {
#define X(symbol, name) name,
        PS_LAYOUT_GROUPS(X)
#undef X
    };
    return NAMES[kind];
}

/* The first rank of a group of dimensions stands for it: the one whose places in them are 0. */
int64_t ps_layout_group_of(ps_layout l, const ps_layout_dims *p, ps_group_kind kind, int64_t rank) {
    ps_layout_coordinates at = ps_layout_coordinates_of(l, p, rank);
    if (kind == PS_GROUP_EP) {
        int64_t ep = 0;
        int64_t group = 0;
        expert_of(l, p, &at, &ep, &group);
        return group * p->pp + at.pp;
    }
    at.tp = kind == PS_GROUP_TP || kind == PS_GROUP_TP_PP ? 0 : at.tp;
    at.cp = kind == PS_GROUP_CP || kind == PS_GROUP_DP_CP ? 0 : at.cp;
    at.dp = kind == PS_GROUP_DP || kind == PS_GROUP_DP_CP ? 0 : at.dp;
    at.pp = kind == PS_GROUP_PP || kind == PS_GROUP_TP_PP ? 0 : at.pp;
    return ps_layout_rank_at(l, p, &at);
}

bool ps_layout_has_group(ps_layout l, const ps_layout_dims *p, ps_group_kind kind) {
    int64_t cp = cp_of(l, p);
    switch (kind) {
    case PS_GROUP_TP:
        return p->tp > 1;
    case PS_GROUP_CP:
        return cp > 1;
    case PS_GROUP_DP:
        return p->dp > 1;
    case PS_GROUP_PP:
        return p->pp > 1;
    case PS_GROUP_DP_CP:
        return p->dp > 1 && cp > 1;
    case PS_GROUP_TP_PP:
        return p->tp > 1 && p->pp > 1;
    default:
        return p->ep > 1;
    }
}
