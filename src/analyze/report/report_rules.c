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

enum { EVENTS_PART, EVENTS_ALL };

static const ps_rule RULES[PS_N_RULES] = {
#define X(id, name_, section_, threshold_, unit_, events_, time_, frees_, title_, rule_, advice_,  \
          ascend_, nvidia_)                                                                        \
    [PS_RULE_##id] = {.name = name_,                                                               \
                      .section = PS_SECTION_##section_,                                            \
                      .threshold = threshold_,                                                     \
                      .unit = PS_RULE_##unit_,                                                     \
                      .needs_all = EVENTS_##events_,                                               \
                      .time = PS_TIME_##time_,                                                     \
                      .frees = PS_FREES_##frees_,                                                  \
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
        {" %", " %"},      {" ms", " ms"}, {" bytes", " 字节"},
        {" times", " 倍"}, {"", ""},       {" GB/s", " GB/s"}};
    return UNITS[unit][lang];
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
