/* The two files of Paddle's pipeline timeline tool: pipeline_profile.json for chrome://tracing, whose rows have texts for
 * numbers, and pipeline_profile_perfetto.json, whose rows have numbers and names. The same events, lanes and names as
 * that tool writes; docs/commands/timeline.md lists every field. */
#ifndef PS_WRITE_PADDLE_JSON_H
#define PS_WRITE_PADDLE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"
#include "model/trace.h"

/* Epoch times. Spans of one row are in order and do not overlap. */
typedef struct ps_paddle_span {
    int64_t step, run;
    int64_t start_ns, end_ns;           /* as drawn */
    int64_t true_start_ns, true_end_ns; /* before it was cut at its neighbours */
} ps_paddle_span;

/* The number of a step in the log and in the whole. */
typedef struct ps_paddle_renumber {
    int64_t from, to;
} ps_paddle_renumber;

#define PS_PADDLE_MAX_LANES 8
#define PS_PADDLE_POINT                                                                            \
    0x80 /* with a lane: drawn without length, its duration is in its arguments */

typedef struct ps_paddle_worker {
    const ps_trace *trace;
    int64_t machine, device; /* the numbers in the names */
    uint32_t machine_row;    /* place of the machine among those shown */
    uint32_t column;         /* place of the device in the list of devices */
    int32_t stage;           /* -1 unknown */
    const uint8_t *
        lanes; /* of each slice; NULL: all 0. A slice overlaps none of its lane but what encloses it */
    uint32_t n_lanes;
    const ps_paddle_renumber *steps; /* by `from`; a step that is missing keeps its number */
    size_t n_steps;
    ps_paddle_span *spans, *idle; /* its part of each step, and the idle times in it */
    size_t n_spans, n_idle;
} ps_paddle_worker;

typedef struct ps_paddle_timeline {
    ps_paddle_worker *workers; /* by machine, then device */
    size_t n_workers;
    bool by_machine; /* several machine directories: names say which */
    uint32_t n_machines, n_columns;
    ps_paddle_span *steps;
    size_t n_steps;
    const ps_table
        *lacks; /* logs that are not in it because they failed (model/lacks.h), or NULL */
    /* What a type of job is; for its colour. */
    bool (*job_kind)(const char *type, ps_op_kind *kind, int *chunk);
} ps_paddle_timeline;

typedef enum ps_paddle_flavour { PS_PADDLE_CHROME, PS_PADDLE_PERFETTO } ps_paddle_flavour;

#define PS_PADDLE_CHROME_FILE "pipeline_profile.json"
#define PS_PADDLE_PERFETTO_FILE "pipeline_profile_perfetto.json"

/* Writes the file, whole or not at all. */
PS_MUST_USE ps_code ps_write_paddle_json(const ps_paddle_timeline *t, ps_paddle_flavour flavour,
                                         const char *path, ps_err *err);

#endif
