#include "analyze/report/report_rules.h"

#include <stdio.h>
#include <string.h>

#include "analyze/rank/thinned.h"

static const ps_rule_words CHINESE[PS_N_RULES] = {
#define X(id, title, rule, advice, ascend, nvidia)                                                 \
    [PS_RULE_##id] = {title, rule, advice, ascend, nvidia},
#include "analyze/report/report_rules_zh.def"
#undef X
};

static const ps_rule RULES[PS_N_RULES] = {
#define X(id, name_, section_, threshold_, unit_, title_, rule_, advice_, ascend_, nvidia_)        \
    [PS_RULE_##id] = {.name = name_,                                                               \
                      .section = PS_SECTION_##section_,                                            \
                      .threshold = threshold_,                                                     \
                      .unit = PS_RULE_##unit_,                                                     \
                      .english = {title_, rule_, advice_, ascend_, nvidia_}},
#include "analyze/report/report_rules.def"
#undef X
};

const ps_rule *ps_rule_of(ps_rule_id id) {
    return &RULES[id];
}

const ps_rule_words *ps_rule_words_of(const ps_rule *rule, ps_lang lang) {
    return PS_SAY(lang, &rule->english, &CHINESE[rule - RULES]);
}

const char *ps_section_name(ps_report_section section) {
    static const char *const NAMES[PS_N_SECTIONS] = {"dispatch", "compute", "communication",
                                                     "pipeline"};
    return NAMES[section];
}

void ps_thresholds_default(double out[PS_N_RULES]) {
    for (size_t i = 0; i < PS_N_RULES; i++) {
        out[i] = RULES[i].threshold;
    }
}

static const char *unit_text(ps_lang lang, ps_rule_unit unit) {
    static const char *const UNITS[][PS_N_LANGS] = {
        {" %", " %"}, {" ms", " ms"}, {" bytes", " 字节"}, {" times", " 倍"}, {"", ""}};
    return UNITS[unit][lang];
}

bool ps_rule_needs_all(ps_rule_id rule) {
    static const bool NEEDS[PS_N_RULES] = {
        [PS_RULE_FREE_SHARE] = true,
        [PS_RULE_IDLE_DEVICE] = true,
        [PS_RULE_BEFORE_FIRST_WORK] = true,
        [PS_RULE_LAUNCH_DELAY] = true,
        [PS_RULE_BLOCKING_COPY] = true,
        [PS_RULE_BLOCKING_SYNC] = true,
        [PS_RULE_HOST_WAITS_COMM] = true,
        [PS_RULE_DATA_LOADING] = true,
        [PS_RULE_HOST_OPTIMIZER] = true,
        [PS_RULE_OTHER_WORK] = true,
        [PS_RULE_EXPOSED_COPIES] = true,
        [PS_RULE_JIT_COMPILE] = true,
        [PS_RULE_ALLOCATION] = true,
        [PS_RULE_OPTIMISER_LAUNCHES] = true,
        [PS_RULE_GC_PAUSE] = true,
        [PS_RULE_MODEL_BUFFERS] = true,
        [PS_RULE_BUCKET_COPIES] = true,
        [PS_RULE_TOP_KERNEL] = true,
        [PS_RULE_CONVERSION] = true,
        [PS_RULE_MEMORY_BOUND] = true,
        [PS_RULE_KERNEL_VARIES] = true,
        [PS_RULE_AICPU] = true,
        [PS_RULE_UNIT_BOUND] = true,
        [PS_RULE_FUSIBLE] = true,
        [PS_RULE_DYNAMIC_SHAPES] = true,
        [PS_RULE_FEW_BLOCKS] = true,
        [PS_RULE_SLOW_KERNEL] = true,
        [PS_RULE_COMM_EXPOSED] = true,
        [PS_RULE_COMM_OVER_COMPUTE] = true,
        [PS_RULE_LATE_ARRIVAL] = true,
        [PS_RULE_SLOW_RANK] = true,
        [PS_RULE_RECEIVE_WAIT] = true,
        [PS_RULE_BUBBLE] = true,
        [PS_RULE_STAGE_IMBALANCE] = true,
        [PS_RULE_STAGE_WAIT] = true,
        [PS_RULE_TRANSFER_WAIT] = true,
        [PS_RULE_OTHER_STALL] = true,
        [PS_RULE_OTHER_SCHEDULE] = true,
    };
    return NEEDS[rule];
}

void ps_rule_value_text(ps_lang lang, const ps_rule *rule, double value, char *out, size_t size) {
    (void)snprintf(out, size, "%.4g%s", value, unit_text(lang, rule->unit));
}

void ps_rule_text(ps_lang lang, const ps_rule *rule, double threshold, char *out, size_t size) {
    const char *text = ps_rule_words_of(rule, lang)->rule;
    const char *hole = strstr(text, "{}");
    char value[32];
    ps_rule_value_text(lang, rule, threshold, value, sizeof value);
    if (hole == NULL) {
        (void)snprintf(out, size, "%s", text);
    } else {
        (void)snprintf(out, size, "%.*s%s%s", (int)(hole - text), text, value, hole + 2);
    }
}

void ps_rule_advice(ps_lang lang, const ps_rule *rule, ps_vendor vendor, char *out, size_t size) {
    const ps_rule_words *w = ps_rule_words_of(rule, lang);
    const char *own = vendor == PS_VENDOR_ASCEND   ? w->ascend
                      : vendor == PS_VENDOR_NVIDIA ? w->nvidia
                                                   : "";
    bool both = w->advice[0] != '\0' && own[0] != '\0';
    (void)snprintf(out, size, "%s%s%s%s", w->advice, both ? PS_SAY(lang, " ", "") : "", own,
                   own[0] != '\0' ? PS_SAY(lang, ".", "。") : "");
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

typedef struct rule_row {
    const char *section, *rule, *title;
    char threshold[32], fires[512];
} rule_row;

static const ps_column COLUMNS[] = {
    {.name = "section", PS_FIELD(rule_row, section)},
    {.name = "rule", PS_FIELD(rule_row, rule)},
    {.name = "threshold", PS_FIELD(rule_row, threshold)},
    {.name = "finding", PS_FIELD(rule_row, title)},
    {.name = "fires when", PS_FIELD(rule_row, fires)},
};

ps_table *ps_rules_table(const double thresholds[PS_N_RULES]) {
    ps_table *t = ps_table_new("rules", "", PS_COLUMNS(COLUMNS));
    for (size_t i = 0; i < PS_N_RULES; i++) {
        const ps_rule *rule = &RULES[i];
        rule_row row = {.section = ps_section_name(rule->section),
                        .rule = rule->name,
                        .title = rule->english.title};
        ps_rule_value_text(PS_ENGLISH, rule, thresholds[i], row.threshold, sizeof row.threshold);
        ps_rule_text(PS_ENGLISH, rule, thresholds[i], row.fires, sizeof row.fires);
        ps_table_put(t, &row);
    }
    return ps_table_end(t);
}
