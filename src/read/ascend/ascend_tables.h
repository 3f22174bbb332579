/* The tables that Ascend's profilers write beside a timeline, for whoever looks for a rank whose timeline is not there. */
#ifndef PS_READ_ASCEND_TABLES_H
#define PS_READ_ASCEND_TABLES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/lang.h"

/* Of the files of a folder the table that tells most of a timeline (kernel_details.csv before step_trace_time.csv ...), by
 * name; NULL when none of them is a table of a profiler. It stands for all of them: the reader finds the others. */
const char *ps_ascend_tables_main(const char *const *names, size_t n);

/* Which of the files are missing, and what cannot be told without them, of the fact that says so in English (PS_FACT_MISSING). */
void ps_ascend_say_missing(ps_lang lang, const char *fact, ps_buf *out);

/* How missing files come back; the end of a sentence. */
#define PS_ASCEND_TIMELINE_HOW                                                                     \
    "copy them, or export again (torch_npu.profiler.profiler.analyse, msprof --export=on)"
#define PS_ASCEND_TIMELINE_HOW_ZH                                                                  \
    "请复制过来，或重新导出（torch_npu.profiler.profiler.analyse、msprof --export=on）"

#endif
