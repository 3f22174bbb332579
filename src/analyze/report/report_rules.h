/* What the report looks for: rules as data. A rule fires when a figure passes its threshold; the user may set every
 * threshold (--threshold NAME=VALUE), and the report shows it. */
#ifndef PS_ANALYZE_REPORT_RULES_H
#define PS_ANALYZE_REPORT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lang.h"
#include "model/table.h"

typedef enum ps_report_section {
    PS_SECTION_DISPATCH,
    PS_SECTION_COMPUTE,
    PS_SECTION_COMMUNICATION,
    PS_SECTION_PIPELINE,
    PS_N_SECTIONS
} ps_report_section;

typedef enum ps_rule_id {
#define X(id, ...) PS_RULE_##id,
#include "analyze/report/report_rules.def"
#undef X
    PS_N_RULES
} ps_rule_id;

typedef enum ps_rule_unit {
    PS_RULE_PERCENT,
    PS_RULE_MS,
    PS_RULE_BYTES,
    PS_RULE_TIMES, /* "3 times" */
    PS_RULE_LEVEL, /* a bare number */
    PS_RULE_GB_S
} ps_rule_unit;

/* What part of a rank's time a rule counts: two rules of one kind may count the same time. */
typedef enum ps_rule_time {
    PS_TIME_OTHER,   /* none of these, or waiting, which is in no other gain */
    PS_TIME_OF_RANK, /* whatever one rank did, which others waited for */
    PS_TIME_IDLE,
    PS_TIME_COMPUTING,
    PS_TIME_COMMUNICATION,
    PS_TIME_COPIES,
    PS_TIME_BUBBLE
} ps_rule_time;

/* Whose work gets less without the cause. */
typedef enum ps_rule_frees {
    PS_FREES_ALL,  /* that of every rank, which may have the cause, too */
    PS_FREES_RANK, /* that of the finding's rank alone */
    PS_FREES_NONE  /* nobody's: they wait less, and what stages have to do stays with them */
} ps_rule_frees;

typedef enum ps_vendor { PS_VENDOR_OTHER, PS_VENDOR_ASCEND, PS_VENDOR_NVIDIA } ps_vendor;

/* What a rule says in one language. */
typedef struct ps_rule_words {
    const char *title, *rule, *advice, *ascend, *nvidia;
} ps_rule_words;

typedef struct ps_rule {
    const char *name;
    ps_report_section section;
    double threshold; /* the default */
    ps_rule_unit unit;
    bool needs_all; /* of a capture that holds a part of the events it can say nothing */
    ps_rule_time time;
    ps_rule_frees frees;
    ps_rule_words english;
} ps_rule;

const ps_rule *ps_rule_of(ps_rule_id id);
const ps_rule_words *ps_rule_words_of(const ps_rule *rule, ps_lang lang);
const char *ps_section_name(ps_report_section section); /* "dispatch", in any language */

/* The defaults. */
void ps_thresholds_default(double out[PS_N_RULES]);

/* The value with the rule's unit: "10 %", "1 ms", "3 times". */
void ps_rule_value_text(ps_lang lang, const ps_rule *rule, double value, char *out, size_t size);
/* The sentence of the rule with this threshold in it; cut when `size` is too small. */
void ps_rule_text(ps_lang lang, const ps_rule *rule, double threshold, char *out, size_t size);
/* What to try on devices of this vendor; "" when there is nothing to say. */
void ps_rule_advice(ps_lang lang, const ps_rule *rule, ps_vendor vendor, char *out, size_t size);

/* All rules as a table (rule, section, threshold, unit, fires when, title). NULL when memory is out; the caller frees it. */
ps_table *ps_rules_table(const double thresholds[PS_N_RULES]);

#endif
