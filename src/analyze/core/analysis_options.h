/* What the user may say to analyses, of the one list in analysis_options.def. */
#ifndef PS_ANALYZE_ANALYSIS_OPTIONS_H
#define PS_ANALYZE_ANALYSIS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/clock.h"
#include "model/layout.h"

/* How the ranks lie in the dimensions. */
typedef struct ps_rank_order {
    bool is_given; /* else the layout is the usual one */
    ps_layout layout;
} ps_rank_order;

/* Kind, type of the field. */
#define PS_ANALYSIS_OPTION_KINDS(X)                                                                \
    X(FLAG, bool)                                                                                  \
    X(INT, int64_t)                                                                                \
    X(REAL, double)           /* above 0 */                                                        \
    X(BYTES, int64_t)         /* above 0, with or without a unit: 64GiB */                         \
    X(TEXT, const char *)     /* borrowed */                                                       \
    X(SCHEDULE, const char *) /* the name of one of src/schedule */                                \
    X(ORDER, ps_rank_order)                                                                        \
    X(CLOCKS, ps_clock_use) /* a flag: all clocks; its opposite: none */                           \
    X(LANG, ps_lang)        /* by the names of ps_analysis_langs */
typedef enum ps_analysis_option_kind {
#define X(kind, type) PS_ANALYSIS_##kind,
    PS_ANALYSIS_OPTION_KINDS(X)
#undef X
} ps_analysis_option_kind;
#define X(kind, type) typedef type ps_analysis_value_##kind;
PS_ANALYSIS_OPTION_KINDS(X)
#undef X

/* Whose results an option changes. */
enum {
    PS_OF_MODES = 1 << 0,  /* modes of `cluster`, and the report */
    PS_OF_CHARTS = 1 << 1, /* the pipelines, and what is asked of them */
    PS_OF_WHATIF = 1 << 2,
    PS_OF_PLAN = 1 << 3,
    PS_OF_JOB = PS_OF_MODES | PS_OF_CHARTS /* where the ranks stand */
};

#define PS_JOB_GROUP "When metadata is lost or wrong"
#define PS_RULES_GROUP "Ranges that no framework named (regular expressions)"
#define PS_MODE_GROUP "Of single modes"
#define PS_MEMORY_GROUP "What a device may hold"

/* PS_ANALYSIS_OPTION_<field>; 0 is none of them. */
typedef enum ps_analysis_option_id {
    PS_NO_ANALYSIS_OPTION,
#define X(kind, field, ...) PS_ANALYSIS_OPTION_##field,
#include "analyze/core/analysis_options.def"
#undef X
    PS_ANALYSIS_OPTIONS_END
} ps_analysis_option_id;

typedef struct ps_analysis_option {
    ps_analysis_option_kind kind;
    size_t offset; /* of the field in ps_analysis_opts */
    const char *name;
    uint32_t of;
    int64_t least, most;
    const char *arg, *shown, *group, *help;
} ps_analysis_option;

/* By its number, which is none of the two at the ends. */
const ps_analysis_option *ps_analysis_option_of(ps_analysis_option_id id);

/* "en", "zh": what sentences of analyses may be in; NULL-terminated. */
extern const char *const ps_analysis_langs[];
/* The language of that name; NULL and what is none: English. */
ps_lang ps_analysis_lang(const char *name);

struct ps_analysis_opts;
/* Where the option's value lies. */
void *ps_analysis_option_field(const ps_analysis_option *o, struct ps_analysis_opts *opts);

/* The name of an option as a parameter: its own with underscores. It has one. */
enum { PS_OPTION_PARAM = 32 };
void ps_analysis_option_param(const ps_analysis_option *o, char out[PS_OPTION_PARAM]);
/* Sets the option's field by a text: true as 1, false as 0. Borrows the text. PS_USAGE says what is wanted. */
PS_MUST_USE ps_code ps_analysis_option_set(const ps_analysis_option *o, const char *text,
                                           struct ps_analysis_opts *opts, ps_err *err);

/* Nothing said. */
void ps_analysis_opts_init(struct ps_analysis_opts *out);
/* The ps_archive_visit of what maps look at: results of others, thresholds and the watch stay behind. Texts that are read go into the arena
 * that is used. */
void ps_analysis_opts_archive(ps_archive *a, void *opts);
/* Adds all values that results of these kinds (PS_OF_*) depend on: equal texts, equal values. */
void ps_analysis_opts_key(const struct ps_analysis_opts *opts, uint32_t of, ps_buf *out);

#endif
