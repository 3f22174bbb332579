/* The tables of a plan (analyze/whatif/split_plan_tables.h) for people and for programs. */
#ifndef PS_WRITE_PLAN_TEXT_H
#define PS_WRITE_PLAN_TEXT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/lang.h"
#include "model/table.h"
#include "write/out/text_style.h"

/* The verdict of a plan, what a layer takes, what speaks against it, and how many splits were tried; a sentence each. How many
 * there are. */
#define PS_PLAN_SENTENCES 8
#define PS_PLAN_SENTENCE 400
size_t ps_plan_sentences(ps_lang lang, const ps_table *plan,
                         char out[PS_PLAN_SENTENCES][PS_PLAN_SENTENCE]);

/* Tables that are not there are NULL. */
typedef struct ps_plan_view {
    ps_lang lang;          /* of sentences; columns and titles of tables are English */
    const ps_table *lacks; /* what is not in it because it failed (model/lacks.h) */
    const ps_table *plan, *stages;
    const ps_table *memory; /* what sizes of the memory the capture told, and from where */
    const ps_table *schedules, *schedule_stages, *schedule_lines, *left_out;
} ps_plan_view;

/* What the lines to paste do not hold of this job, in a sentence; nothing where they do. */
void ps_plan_doubt(ps_lang lang, const ps_table *plan, ps_buf *text);

/* The plans of schedules as people are shown them: a table "plan_list" with a name of each schedule and the columns that tell something. The
 * view has schedules. `columns` are the table's, and live as long. NULL when memory is out. */
#define PS_PLAN_COLUMNS 9
PS_MUST_USE ps_table *ps_plan_shown(const ps_plan_view *view, ps_column columns[PS_PLAN_COLUMNS]);

/* What is to be known to read that list, a sentence or some each: how many there are, and how many of them (none or one) stand before it. */
#define PS_PLAN_REMARKS 4
#define PS_PLAN_REMARK 640
size_t ps_plan_remarks(const ps_plan_view *view, char out[PS_PLAN_REMARKS][PS_PLAN_REMARK],
                       size_t *n_before);

/* The gain, what stages have now and would have, lines to paste; then the schedules, the stages of one and its lines. */
PS_MUST_USE ps_code ps_write_plan_text(const ps_plan_view *view, const ps_text_style *style,
                                       ps_buf *out, ps_err *err);
/* One object: "plan", "stages", "schedules", "schedule_stages", "schedule_lines", "left_out": the rows of the tables. */
PS_MUST_USE ps_code ps_write_plan_json(const ps_plan_view *view, ps_buf *out, ps_err *err);

#endif
