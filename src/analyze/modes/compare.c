/* compare: two captures of the same model side by side, per step and rank: the parts of a step, then kernels, operators,
 * communication and calls by name, what lost most time first. Steps are matched by their order, since their numbers
 * differ between runs. The baseline's side comes from capture_facts. */
#include <math.h>
#include <string.h>

#include "analyze/modes/capture_facts.h"
#include "analyze/modes/compare_groups.h"
#include "analyze/modes/compare_stages.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

/* What totals of a side are divided by. */
typedef struct side {
    const ps_table *sums, *steps, *size;
    int64_t n_rank_steps, n_host_steps; /* of devices; of the host */
    bool
        is_of_tables; /* of some rank, or of the other side: what only a timeline tells is not compared */
    bool is_mixed;         /* communicators of both have nothing in common, or no names */
    bool has_no_computing; /* of some rank, or of the other side */
} side;

static bool side_of(const ps_result *result, side *out) {
    *out = (side){.sums = ps_result_table(result, "CaptureSums"),
                  .steps = ps_result_table(result, "CaptureSteps"),
                  .size = ps_result_table(result, "CaptureSize")};
    if (out->sums == NULL || out->steps == NULL || out->size == NULL || out->size->n_rows != 1) {
        return false;
    }
    out->n_rank_steps = ps_table_cell(out->size, 0, PS_CZ_RANK_STEPS)->u.i;
    out->n_host_steps = ps_table_cell(out->size, 0, PS_CZ_HOST_STEPS)->u.i;
    out->is_of_tables = ps_table_cell(out->size, 0, PS_CZ_OF_TABLES)->u.i > 0;
    out->has_no_computing = ps_table_cell(out->size, 0, PS_CZ_NO_COMPUTING)->u.i > 0;
    return out->n_rank_steps > 0;
}

static int64_t compare_int_at(const ps_table *t, size_t row, size_t column) {
    return ps_table_cell(t, row, column)->u.i;
}

/* Nearest, halves up; `total` is not negative. */
static int64_t per(int64_t total, int64_t n) {
    return n > 0 ? ps_i64_plus(total, n / 2) / n : 0;
}

static double compare_ratio(int64_t now, int64_t base) {
    return base > 0 ? (double)now / (double)base : NAN;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

typedef struct part_row {
    const char *name;
    int64_t now, base, lost;
    double ratio;
} part_row;

#define NS(text, row, member)                                                                      \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS }
#define NS_BESIDE(text, row, member)                                                               \
    { .name = (text), PS_FIELD(row, member), .unit = PS_UNIT_NS, .is_beside = true }

static const ps_column OVERALL[] = {
    {.name = "part of a step", PS_FIELD(part_row, name)},
    NS("new", part_row, now),
    NS_BESIDE("base", part_row, base),
    NS_BESIDE("lost", part_row, lost),
    {.name = "new / base", PS_FIELD(part_row, ratio)},
};

/* Where a side does not know when steps ended, they are compared to their last work. */
static int64_t part_at(const side *s, size_t row, size_t column) {
    int64_t ns = compare_int_at(s->steps, row, column);
    bool is_whole = column == PS_CT_TIME && s->is_of_tables;
    return is_whole ? ps_i64_minus(ns, compare_int_at(s->steps, row, PS_CT_AFTER)) : ns;
}

static int64_t total(const side *s, size_t column) {
    int64_t sum = 0;
    for (size_t r = 0; r < s->steps->n_rows; r++) {
        sum = ps_i64_plus(sum, part_at(s, r, column));
    }
    return sum;
}

static void put_compare_part(ps_table *t, const char *name, int64_t now, int64_t base) {
    ps_table_put(t,
                 &(part_row){name, now, base, ps_i64_minus(now, base), compare_ratio(now, base)});
}

/* The time of one kind of work in all sums of a side; 0 when it has none. */
static int64_t part_time(const side *s, const char *name) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        if (compare_int_at(s->sums, r, PS_CS_CLASS) == PS_SUM_PART &&
            strcmp(ps_table_cell(s->sums, r, PS_CS_NAME)->u.text, name) == 0) {
            return per(compare_int_at(s->sums, r, PS_CS_TIME), s->n_rank_steps);
        }
    }
    return 0;
}

static void put_kinds_of_work(ps_table *t, const side *now, const side *base) {
    static const char *const PARTS[][2] = {{"attention", "  attention"},
                                           {"attention backward", "  attention backward"},
                                           {"matrix products", "  matrix products"},
                                           {"convolution", "  convolution"},
                                           {"embedding", "  embedding"},
                                           {"moving data", "  moving data"},
                                           {"other vector work", "  other vector work"}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        int64_t a = part_time(now, PARTS[i][0]);
        int64_t b = part_time(base, PARTS[i][0]);
        if (a != 0 || b != 0) {
            put_compare_part(t, PARTS[i][1], a, b);
        }
    }
}

static bool is_compare_part_known(const side *s, size_t column) {
    bool is_of_communication = column == PS_CT_COMMUNICATION || column == PS_CT_BUBBLE;
    bool is_whole = column == PS_CT_TIME;
    bool needs_end = column == PS_CT_AFTER || column == PS_CT_MEMORY;
    return !(s->is_of_tables && needs_end) &&
           (!s->has_no_computing || is_whole || is_of_communication || column == PS_CT_MEMORY);
}

static void give_overall(const side *now, const side *base, ps_result *out) {
    static const struct {
        const char *name;
        size_t column;
    } PARTS[] = {{"step", PS_CT_TIME},
                 {"before the first work", PS_CT_BEFORE},
                 {"computing", PS_CT_COMPUTING},
                 {"communication", PS_CT_COMMUNICATION},
                 {"  not overlapped", PS_CT_NOT_OVERLAPPED},
                 {"  waiting to receive", PS_CT_BUBBLE},
                 {"free", PS_CT_FREE},
                 {"after the last work", PS_CT_AFTER},
                 {"copies", PS_CT_MEMORY}};
    ps_table *t =
        ps_table_new("OverallCompare", "where the time of a step went", PS_COLUMNS(OVERALL));
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        size_t column = PARTS[i].column;
        bool is_cut = now->is_of_tables && column == PS_CT_TIME;
        if (is_compare_part_known(now, column)) {
            put_compare_part(t, is_cut ? "step to its last work" : PARTS[i].name,
                             per(total(now, column), now->n_rank_steps),
                             per(total(base, column), base->n_rank_steps));
        }
        if (column == PS_CT_COMPUTING) {
            put_kinds_of_work(t, now, base);
        }
    }
    ps_result_give(out, t);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

typedef struct step_row {
    int64_t order, step[2], ns[2],
        lost[6]; /* [0] new, [1] base; what was lost in all and in parts, which make it up */
} step_row;

static const ps_column STEPS[] = {
    {.name = "order", PS_FIELD(step_row, order)},
    {.name = "step new", PS_FIELD(step_row, step[0])},
    {.name = "step base", PS_FIELD(step_row, step[1])},
    NS("new", step_row, ns[0]),
    NS_BESIDE("base", step_row, ns[1]),
    NS_BESIDE("lost", step_row, lost[0]),
    NS("in computing", step_row, lost[1]),
    NS("not overlapped", step_row, lost[2]),
    NS("in free", step_row, lost[3]),
    NS("before the first work", step_row, lost[4]),
    NS("after the last work", step_row, lost[5]),
};

/* The mean over the ranks that have the step. */
static int64_t step_mean(const side *s, size_t row, size_t column) {
    return per(part_at(s, row, column), compare_int_at(s->steps, row, PS_CT_RANKS));
}

static void put_compare_step(ps_table *t, const side *now, const side *base, size_t row) {
    static const size_t LOST[] = {PS_CT_TIME, PS_CT_COMPUTING, PS_CT_NOT_OVERLAPPED,
                                  PS_CT_FREE, PS_CT_BEFORE,    PS_CT_AFTER};
    const side *sides[] = {now, base};
    step_row out = {.order = (int64_t)row + 1};
    bool has_both = true;
    for (size_t k = 0; k < 2; k++) {
        bool has = row < sides[k]->steps->n_rows;
        has_both = has_both && has;
        out.step[k] = has ? compare_int_at(sides[k]->steps, row, PS_CT_STEP) : PS_UNKNOWN_INT;
        out.ns[k] = has ? step_mean(sides[k], row, PS_CT_TIME) : PS_UNKNOWN_INT;
    }
    for (size_t i = 0; i < sizeof LOST / sizeof *LOST; i++) {
        bool is_known = has_both && is_compare_part_known(now, LOST[i]);
        out.lost[i] = is_known ? step_mean(now, row, LOST[i]) - step_mean(base, row, LOST[i])
                               : PS_UNKNOWN_INT;
    }
    ps_table_put(t, &out);
}

static void give_compare_steps(const side *now, const side *base, ps_result *out) {
    size_t n = now->steps->n_rows > base->steps->n_rows ? now->steps->n_rows : base->steps->n_rows;
    ps_table *t = ps_table_new("StepCompare",
                               "steps by their order, mean over the ranks, and where time was lost",
                               PS_COLUMNS(STEPS));
    for (size_t row = 0; row < n; row++) {
        put_compare_step(t, now, base, row);
    }
    ps_result_give(out, t);
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

/* One name on both sides, per step and rank. */
typedef struct pair {
    const char *name, *detail;
    const char *there; /* what the base calls the detail */
    int64_t class_;
    int64_t count[2], time_ns[2]; /* [0] new, [1] base; counts are totals */
    int64_t lost_ns;
} pair;

#define PAIR_KEYS PS_UP(pair, class_), PS_UP(pair, name), PS_UP(pair, detail)

/* Whether any kernel of a side says its shapes: a capture of a low level has none, and then names alone are joined. */
static bool has_shapes(const side *s) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        if (compare_int_at(s->sums, r, PS_CS_CLASS) == PS_SUM_KERNEL &&
            ps_table_cell(s->sums, r, PS_CS_DETAIL)->u.text[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* What the time of a class is divided by, and the count of it: operators and modules are counted on the host, their time is the
 * devices'. */
static int64_t steps_of_times(const side *s, int64_t class_) {
    bool is_host = class_ == PS_SUM_OPERATOR_HOST || class_ == PS_SUM_CALL;
    return is_host ? s->n_host_steps : s->n_rank_steps;
}

static int64_t steps_of_counts(const side *s, int64_t class_) {
    bool is_host = class_ == PS_SUM_OPERATOR || class_ == PS_SUM_MODULE;
    return is_host ? s->n_host_steps : steps_of_times(s, class_);
}

static size_t take_compare(pair *pairs, size_t n, const side *s, size_t which, bool with_shapes,
                           const ps_compare_groups *groups) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        pair *p = &pairs[n++];
        *p = (pair){.name = ps_table_cell(s->sums, r, PS_CS_NAME)->u.text,
                    .detail = ps_table_cell(s->sums, r, PS_CS_DETAIL)->u.text,
                    .class_ = compare_int_at(s->sums, r, PS_CS_CLASS)};
        bool is_apart = (!with_shapes && p->class_ == PS_SUM_KERNEL) ||
                        (s->is_mixed && p->class_ == PS_SUM_COMMUNICATION);
        p->detail = is_apart ? "" : p->detail;
        if (which == 1) {
            bool is_group = p->class_ == PS_SUM_COMMUNICATION && !is_apart;
            p->there = p->detail;
            p->detail = is_group ? ps_compare_groups_here(groups, p->detail) : p->detail;
        }
        p->count[which] = compare_int_at(s->sums, r, PS_CS_COUNT);
        p->time_ns[which] =
            per(compare_int_at(s->sums, r, PS_CS_TIME), steps_of_times(s, p->class_));
    }
    return n;
}

/* Joins equal keys; returns how many are left. */
static size_t join_compare(pair *pairs, size_t n) {
    static const ps_sort_key KEYS[] = {PAIR_KEYS};
    ps_sort_by(pairs, n, sizeof *pairs, PS_KEYS(KEYS));
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        pair *last = kept > 0 ? &pairs[kept - 1] : NULL;
        if (last == NULL || ps_compare_by(last, &pairs[i], PS_KEYS(KEYS)) != 0) {
            pairs[kept++] = pairs[i];
            continue;
        }
        last->there = last->there != NULL ? last->there : pairs[i].there;
        for (size_t k = 0; k < 2; k++) {
            last->count[k] += pairs[i].count[k];
            last->time_ns[k] = ps_i64_plus(last->time_ns[k], pairs[i].time_ns[k]);
        }
    }
    return kept;
}

typedef struct pair_row {
    pair of;
    double calls[2], ratio, ratio_a_call;
} pair_row;

#define PAIR_COLUMNS                                                                               \
    {.name = "calls new", PS_FIELD(pair_row, calls[0]), .unit = PS_UNIT_COUNT},                    \
        {.name = "calls base",                                                                     \
         PS_FIELD(pair_row, calls[1]),                                                             \
         .unit = PS_UNIT_COUNT,                                                                    \
         .is_beside = true},                                                                       \
        NS("new", pair_row, of.time_ns[0]), NS_BESIDE("base", pair_row, of.time_ns[1]),            \
        NS_BESIDE("lost", pair_row, of.lost_ns),                                                   \
        {.name = "new / base", PS_FIELD(pair_row, ratio)}, {                                       \
        .name = "new / base a call", PS_FIELD(pair_row, ratio_a_call), .is_beside = true           \
    }
#define NAME_COLUMN                                                                                \
    { .name = "name", PS_FIELD(pair_row, of.name) }
#define DETAIL_COLUMN(text)                                                                        \
    { .name = (text), PS_FIELD(pair_row, of.detail) }

static const ps_column KERNELS[] = {NAME_COLUMN, DETAIL_COLUMN("shapes"), PAIR_COLUMNS};
static const ps_column GROUPS[] = {NAME_COLUMN, DETAIL_COLUMN("group"), PAIR_COLUMNS};
static const ps_column BOTH_GROUPS[] = {NAME_COLUMN,
                                        DETAIL_COLUMN("group"),
                                        {.name = "group base", PS_FIELD(pair_row, of.there)},
                                        PAIR_COLUMNS};
static const ps_column PASSES[] = {NAME_COLUMN, DETAIL_COLUMN("pass"), PAIR_COLUMNS};
static const ps_column PLAIN[] = {NAME_COLUMN, PAIR_COLUMNS};

typedef struct class_table {
    ps_sum_class class_;
    const char *name, *title;
    const ps_column *columns;
    size_t n_columns;
} class_table;

static const class_table TABLES[] = {
    {PS_SUM_MODULE, "ModuleCompare", "modules, device time of their own operators",
     PS_COLUMNS(PASSES)},
    {PS_SUM_KERNEL_TYPE, "KernelTypeCompare", "types of kernels", PS_COLUMNS(PLAIN)},
    {PS_SUM_KERNEL, "KernelCompare", "kernels by name and shapes", PS_COLUMNS(KERNELS)},
    {PS_SUM_OPERATOR, "OperatorCompare", "operators, device time of what they launched",
     PS_COLUMNS(PLAIN)},
    {PS_SUM_OPERATOR_HOST, "OperatorHostCompare", "operators, host time", PS_COLUMNS(PLAIN)},
    {PS_SUM_COMMUNICATION, "CommunicationCompare", "communication by type and group",
     PS_COLUMNS(GROUPS)},
    {PS_SUM_COPY, "CopyCompare", "copies and fills by the device", PS_COLUMNS(PLAIN)},
    {PS_SUM_CALL, "ApiCompare", "calls into the driver or runtime, host time", PS_COLUMNS(PLAIN)},
};

/* Where no communicator is known to be in both, and where some have another name in the base. */
static const class_table BY_TYPE = {PS_SUM_COMMUNICATION, "CommunicationCompare",
                                    "communication by type", PS_COLUMNS(PLAIN)};
static const class_table RENAMED = {PS_SUM_COMMUNICATION, "CommunicationCompare",
                                    "communication by type and group", PS_COLUMNS(BOTH_GROUPS)};

static const class_table *class_shown(const class_table *which, const side *now,
                                      const ps_compare_groups *groups) {
    bool is_communication = which->class_ == PS_SUM_COMMUNICATION;
    return !is_communication     ? which
           : now->is_mixed       ? &BY_TYPE
           : groups->has_renamed ? &RENAMED
                                 : which;
}

static void give_compare_class(const class_table *which, const pair *pairs, size_t n,
                               const side *now, const side *base, ps_result *out) {
    ps_table *t = ps_table_new(which->name, which->title, which->columns, which->n_columns);
    for (size_t i = 0; i < n; i++) {
        const pair *p = &pairs[i];
        double steps[2] = {(double)steps_of_counts(now, p->class_),
                           (double)steps_of_counts(base, p->class_)};
        if (p->class_ == (int64_t)which->class_) {
            double calls[2] = {(double)p->count[0] / steps[0], (double)p->count[1] / steps[1]};
            double ratio = compare_ratio(p->time_ns[0], p->time_ns[1]);
            bool has_calls = calls[0] > 0 && calls[1] > 0;
            ps_table_put(
                t, &(pair_row){.of = *p,
                               .calls = {calls[0], calls[1]},
                               .ratio = ratio,
                               .ratio_a_call = has_calls ? ratio * calls[1] / calls[0] : NAN});
        }
    }
    ps_result_give(out, t);
}

/* What a side without a timeline does not know, and therefore has none of. */
static bool is_compare_of_timeline(int64_t class_) {
    return class_ != PS_SUM_KERNEL_TYPE && class_ != PS_SUM_KERNEL &&
           class_ != PS_SUM_COMMUNICATION;
}

static ps_code give_compare_names(const side *now, const side *base,
                                  const ps_compare_groups *groups, ps_result *out, ps_err *err) {
    static const ps_sort_key KEYS[] = {PS_UP(pair, class_), PS_DOWN(pair, lost_ns), PAIR_KEYS};
    size_t n = now->sums->n_rows + base->sums->n_rows;
    pair *pairs = ps_calloc(n + 1, sizeof *pairs);
    if (pairs == NULL) {
        return ps_fail_nomem(err);
    }
    bool with_shapes = has_shapes(now) && has_shapes(base);
    n = take_compare(pairs, 0, now, 0, with_shapes, groups);
    n = take_compare(pairs, n, base, 1, with_shapes, groups);
    n = join_compare(pairs, n);
    for (size_t i = 0; i < n; i++) {
        pairs[i].lost_ns = ps_i64_minus(pairs[i].time_ns[0], pairs[i].time_ns[1]);
    }
    ps_sort_by(pairs, n, sizeof *pairs, PS_KEYS(KEYS));
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        bool no_types =
            TABLES[i].class_ == PS_SUM_KERNEL_TYPE && has_shapes(now) != has_shapes(base);
        if (!no_types && (!now->is_of_tables || !is_compare_of_timeline(TABLES[i].class_))) {
            give_compare_class(class_shown(&TABLES[i], now, groups), pairs, n, now, base, out);
        }
    }
    ps_free(pairs);
    return ps_result_code(out, err);
}

/* --- sentences ----------------------------------------------------------------------------------------------------- */

typedef struct note_row {
    const char *of, *what;
} note_row;

static const ps_column NOTES[] = {
    {.name = "of", PS_FIELD(note_row, of)},
    {.name = "what", PS_FIELD(note_row, what)},
};

static void put_note(ps_table *t, const char *of, ps_buf *what) {
    if (!ps_buf_ok(what)) {
        ps_table_fail(t);
    } else if (what->len > 0) {
        ps_table_put(t, &(note_row){of, ps_buf_str(what)});
    }
    ps_buf_fini(what);
}

/* The stages, and what is to be said of them and of communicators. */
static ps_code give_notes(const ps_result *now, const ps_compare_groups *groups,
                          const ps_reduce_input *in, ps_err *err) {
    ps_lang lang = in->opts->lang;
    ps_buf said = {0};
    ps_buf by_type = {0};
    ps_code code = ps_compare_stages(now, in->opts->baseline, lang, in->result, &said, err);
    if (groups->has_none) {
        ps_buf_add_str(&by_type,
                       PS_SAY(lang,
                              "No communicator is known to be in both captures: "
                              "communication is compared by type alone.",
                              "两份采集数据中没有可确认相同的通信域：通信仅按类型对比。"));
    }
    ps_table *t = ps_table_new("CompareNotes", "what stands out", PS_COLUMNS(NOTES));
    put_note(t, "stages", &said);
    put_note(t, "communication", &by_type);
    ps_result_give(in->result, t);
    return code == PS_OK ? ps_result_code(in->result, err) : code;
}

/* --- the analysis -------------------------------------------------------------------------------------------------- */

static ps_code reduce_compare(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_result own = {0};
    ps_compare_groups groups = {0};
    side now;
    side base;
    ps_code code = ps_capture_tables(in, &own, err);
    if (code == PS_OK && side_of(&own, &now)) { /* else no rank had anything, as they said */
        if (!side_of(in->opts->baseline, &base)) {
            code = ps_fail_said(err, PS_NOTHING, "there is no baseline to compare with",
                                "没有可对比的基线");
        }
        code =
            code == PS_OK ? ps_compare_groups_init(&groups, &own, in->opts->baseline, err) : code;
        now.is_mixed = base.is_mixed =
            code == PS_OK && (now.is_of_tables != base.is_of_tables || groups.has_none);
        now.is_of_tables = base.is_of_tables =
            code == PS_OK && (now.is_of_tables || base.is_of_tables);
        now.has_no_computing = base.has_no_computing =
            code == PS_OK && (now.has_no_computing || base.has_no_computing);
        if (code == PS_OK) {
            give_overall(&now, &base, in->result);
            give_compare_steps(&now, &base, in->result);
            code = give_notes(&own, &groups, in, err);
        }
        code = code == PS_OK ? give_compare_names(&now, &base, &groups, in->result, err) : code;
    }
    ps_compare_groups_fini(&groups);
    ps_result_fini(&own);
    return code;
}

static const ps_round ROUNDS[] = {PS_RANK_CAPTURE_ROUND,
                                  {.map = ps_map_nothing, .reduce = reduce_compare}};

const ps_analysis ps_analysis_compare = {
    .name = "compare",
    .folder = "Compare",
    .summary = "two captures of one model: steps, kernels, operators, communication, calls",
    .hidden = true,
    .baseline = "capture_facts",
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_rank_capture_free,
    .archive = ps_rank_capture_archive,
};
