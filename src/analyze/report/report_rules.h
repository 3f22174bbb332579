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
    PS_RULE_LEVEL  /* a bare number */
} ps_rule_unit;

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
    ps_rule_words english;
} ps_rule;

const ps_rule *ps_rule_of(ps_rule_id id);
const ps_rule_words *ps_rule_words_of(const ps_rule *rule, ps_lang lang);
const char *ps_section_name(ps_report_section section); /* "dispatch", in any language */

/* The defaults. */
void ps_thresholds_default(double out[PS_N_RULES]);

/* Whether the rule looks at what lies between events (idle time, what runs beside what), at shares of all work, or compares ranks: of
 * a capture that holds a part of the events it can say nothing. */
bool ps_rule_needs_all(ps_rule_id rule);
/* The value with the rule's unit: "10 %", "1 ms", "3 times". */
void ps_rule_value_text(ps_lang lang, const ps_rule *rule, double value, char *out, size_t size);
/* The sentence of the rule with this threshold in it; cut when `size` is too small. */
void ps_rule_text(ps_lang lang, const ps_rule *rule, double threshold, char *out, size_t size);
/* What to try on devices of this vendor; "" when there is nothing to say. */
void ps_rule_advice(ps_lang lang, const ps_rule *rule, ps_vendor vendor, char *out, size_t size);

/* All rules as a table (rule, section, threshold, unit, fires when, title). NULL when memory is out; the caller frees it. */
ps_table *ps_rules_table(const double thresholds[PS_N_RULES]);

#endif
