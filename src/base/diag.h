/* Oddities: one event was odd and we went on. Counted per kind, with the first few places, so that loss is
 * visible and never silent. One ps_diag per rank; they are merged in rank order. Not thread-safe. */
#ifndef PS_BASE_DIAG_H
#define PS_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum ps_severity { PS_SEV_INFO, PS_SEV_LOSS, PS_SEV_ERROR } ps_severity;

/* kind, severity, short name (in JSON), sentence with one %llu for the count */
#define PS_ODDITIES(X)                                                                                        \
    X(PS_ODD_TIME, PS_SEV_ERROR, "bad-time",                                                                  \
      "%llu rows have a time that is missing, not a number or ends before it starts")                         \
    X(PS_ODD_STRING_ID, PS_SEV_ERROR, "missing-string",                                                       \
      "%llu rows name a string that STRING_IDS does not have")                                                \
    X(PS_ODD_TEXT, PS_SEV_LOSS, "bad-text",                                                                   \
      "%llu texts could not be read as the value they should hold")                                           \
    X(PS_ODD_METADATA, PS_SEV_ERROR, "bad-metadata",                                                          \
      "%llu metadata entries are malformed or contradict another rank")                                       \
    X(PS_ODD_MARK_HOST_ONLY, PS_SEV_INFO, "mark-without-task",                                                \
      "%llu marks have no device task (recorded without a stream)")                                           \
    X(PS_ODD_MARK_TASKS, PS_SEV_INFO, "mark-with-many-tasks",                                                 \
      "%llu device tasks repeat the connection id of a mark")                                                 \
    X(PS_ODD_MARK_TWICE, PS_SEV_INFO, "mark-repeated",                                                        \
      "%llu marks stand in the framework's table too: drawn once")                                            \
    X(PS_ODD_MARK_NESTED, PS_SEV_INFO, "mark-nested",                                                         \
      "%llu marks lie inside or across another mark and were left out")                                       \
    X(PS_ODD_MARK_CONTAINER, PS_SEV_INFO, "mark-container",                                                   \
      "%llu marks only wrap whole phases and were left out")                                                  \
    X(PS_ODD_MARK_NO_STEP, PS_SEV_LOSS, "mark-outside-steps", "%llu marks lie in no step")                    \
    X(PS_ODD_MARK_UNPAIRED, PS_SEV_LOSS, "mark-unpaired",                                                     \
      "%llu start or stop marks have no counterpart on their thread and were left out")                       \
    X(PS_ODD_MARK_UNLABELLED, PS_SEV_LOSS, "mark-unlabelled",                                                 \
      "%llu marks agree with no op of the schedule: named by their message")                                  \
    X(PS_ODD_MARK_MICROBATCH, PS_SEV_INFO, "mark-other-microbatch",                                           \
      "%llu marks name another microbatch than the op they stand for")                                        \
    X(PS_ODD_OP_MISSING, PS_SEV_LOSS, "op-without-mark",                                                      \
      "%llu ops of the schedule have no mark: their time counts as bubble")                                   \
    X(PS_ODD_TAIL_UNMARKED, PS_SEV_INFO, "tail-without-marks",                                                \
      "%llu weight gradients of DualPipeV's tail carry no mark by design: their time counts as bubble")       \
    X(PS_ODD_STAGE_MISSING, PS_SEV_LOSS, "stage-missing",                                                     \
      "%llu stages of the pipeline are not in the input: the bubble is that of the stages shown")             \
    X(PS_ODD_STAGE_UNKNOWN, PS_SEV_LOSS, "stage-unknown",                                                     \
      "%llu ranks have no known stage and are not in the chart: give --pp, --tp, --cp, --dp")                 \
    X(PS_ODD_SCHEDULE, PS_SEV_LOSS, "other-schedule",                                                         \
      "%llu pipelines are not drawn as the metadata or options say")                                          \
    X(PS_ODD_SCHEDULE_HINT, PS_SEV_INFO, "dualpipev-unnamed",                                                 \
      "%llu pipelines look like dualpipev: give --pp-type dualpipev for its labels in the databases")         \
    X(PS_ODD_COMM_MARK, PS_SEV_LOSS, "bad-communication-mark",                                                \
      "%llu communication marks could not be turned into operators")                                          \
    X(PS_ODD_P2P_PEER, PS_SEV_LOSS, "p2p-without-peer",                                                       \
      "%llu send or receive operators name no peer, or more than one")                                        \
    X(PS_ODD_P2P_GROUP, PS_SEV_LOSS, "p2p-group-differs",                                                     \
      "%llu send or receive operators carry two group names")                                                 \
    X(PS_ODD_P2P_UNPAIRED, PS_SEV_INFO, "p2p-unpaired",                                                       \
      "%llu send or receive operators have no counterpart in the ranks read")                                 \
    X(PS_ODD_P2P_COLLISION, PS_SEV_INFO, "p2p-tag-collision",                                                 \
      "%llu operators share their three-digit group tag with another group: the whole group hash is used")    \
    /* JSON */                                                                                                \
    X(PS_ODD_JSON, PS_SEV_ERROR, "bad-json",                                                                  \
      "%llu places are not valid JSON; reading went on at the next event")                                    \
    X(PS_ODD_TRUNCATED, PS_SEV_LOSS, "truncated",                                                             \
      "%llu files end in the middle: what was complete is kept")                                              \
    X(PS_ODD_NO_BRACKET, PS_SEV_INFO, "missing-bracket",                                                      \
      "%llu files lack the closing bracket, as Chrome allows")                                                \
    X(PS_ODD_TRAILING, PS_SEV_INFO, "trailing-bytes",                                                         \
      "%llu files go on after the end of the document")                                                       \
    X(PS_ODD_COMMA, PS_SEV_INFO, "dangling-comma", "%llu commas stand before a closing bracket")              \
    X(PS_ODD_UTF8, PS_SEV_INFO, "bad-utf8", "%llu texts hold bytes that are not UTF-8")                       \
    X(PS_ODD_DUPLICATE_KEY, PS_SEV_INFO, "duplicate-key",                                                     \
      "%llu keys stand twice in one object: the last one counts")                                             \
    X(PS_ODD_NUMBER, PS_SEV_LOSS, "bad-number", "%llu numbers are out of range or no numbers")                \
    X(PS_ODD_TIME_ROUNDED, PS_SEV_INFO, "time-rounded",                                                       \
      "%llu times are finer than a nanosecond and were rounded")                                              \
    X(PS_ODD_TIME_ZERO, PS_SEV_INFO, "time-zero",                                                             \
      "%llu events at time 0 among epoch times were left out")                                                \
    X(PS_ODD_CLOCK_BASE, PS_SEV_INFO, "relative-clock",                                                       \
      "%llu files do not say what their times count from")                                                    \
    /* events */                                                                                              \
    X(PS_ODD_EVENT_FIELD, PS_SEV_ERROR, "event-without-field",                                                \
      "%llu events lack a field that their phase needs")                                                      \
    X(PS_ODD_EVENT_PHASE, PS_SEV_LOSS, "unknown-phase",                                                       \
      "%llu events are of a phase that is no timeline (objects, memory dumps)")                               \
    X(PS_ODD_BEGIN_OPEN, PS_SEV_LOSS, "begin-without-end",                                                    \
      "%llu slices never end: drawn to the end of the trace")                                                 \
    X(PS_ODD_END_ALONE, PS_SEV_LOSS, "end-without-begin",                                                     \
      "%llu ends without a beginning were left out")                                                          \
    X(PS_ODD_FLOW_HALF, PS_SEV_INFO, "flow-one-sided",                                                        \
      "%llu flow ids have a beginning or an end only")                                                        \
    X(PS_ODD_FLOW_NO_SLICE, PS_SEV_INFO, "flow-without-slice", "%llu flow points lie on no slice")            \
    X(PS_ODD_NOT_NESTED, PS_SEV_INFO, "slice-not-nested",                                                     \
      "%llu slices overlap another of their thread without lying inside it")                                  \
    X(PS_ODD_NO_CALL, PS_SEV_INFO, "kernel-without-call",                                                     \
      "%llu device slices name a call that is not in the file")                                               \
    X(PS_ODD_METADATA_EVENT, PS_SEV_INFO, "odd-metadata-event",                                               \
      "%llu metadata events name something unknown and were left out")                                        \
    /* tables and logs */                                                                                     \
    X(PS_ODD_TABLE_MISSING, PS_SEV_INFO, "missing-part",                                                      \
      "%llu files or tables that the format has are not there")                                               \
    X(PS_ODD_TABLE_ROW, PS_SEV_ERROR, "bad-row",                                                              \
      "%llu rows have too few cells or a cell of another type")                                               \
    X(PS_ODD_UNJOINED, PS_SEV_INFO, "unjoined-row",                                                           \
      "%llu rows describe a slice that is not in the trace")                                                  \
    X(PS_ODD_RANGE_OPEN, PS_SEV_LOSS, "range-without-end",                                                    \
      "%llu ranges never end: drawn to the end of the trace")                                                 \
    X(PS_ODD_PROFILER_LOSS, PS_SEV_LOSS, "profiler-lost-data",                                                \
      "%llu times the profiler says that it lost data")                                                       \
    X(PS_ODD_RECORD, PS_SEV_ERROR, "malformed-record", "%llu log records are malformed")                      \
    X(PS_ODD_UNTIMED, PS_SEV_INFO, "untimed-job",                                                             \
      "%llu jobs carry no time (their timer never ran)")                                                      \
    X(PS_ODD_APPENDED, PS_SEV_INFO, "appended-run", "%llu further runs follow in the same log")               \
    /* charts of other profiles */                                                                            \
    X(PS_ODD_RANGE_NO_KERNEL, PS_SEV_LOSS, "range-without-kernel",                                            \
      "%llu labelled ranges launched nothing on the device: left out")                                        \
    X(PS_ODD_CLOCKS, PS_SEV_LOSS, "clocks-disagree",                                                          \
      "%llu ranks have clocks that disagree with the order of sends and receives (see --align)")              \
    X(PS_ODD_OTHER_LABELS, PS_SEV_LOSS, "other-labels",                                                       \
      "%llu ranks carry other labels than the rest and are not in the chart")                                 \
    X(PS_ODD_COLLECTIVES, PS_SEV_INFO, "collectives-cut",                                                     \
      "%llu collectives beyond the limit of a rank do not count for its clock")                               \
    X(PS_ODD_STEP_CUT, PS_SEV_LOSS, "step-cut",                                                               \
      "%llu ranks begin in the middle of a step: their first step is short")                                  \
    X(PS_ODD_LABEL_TWICE, PS_SEV_LOSS, "label-repeated",                                                      \
      "%llu ops repeat a label of their step: links take one of them")                                        \
    X(PS_ODD_LABEL_NUMBERS, PS_SEV_LOSS, "numbers-dropped",                                                   \
      "%llu ranks number their microbatches twice in a step: the order of the ops counts instead")            \
    X(PS_ODD_RANK_STAGES, PS_SEV_LOSS, "too-many-stages",                                                     \
      "%llu ops are of a model stage beyond the 64 of their rank: left out")                                  \
    X(PS_ODD_INFERRED, PS_SEV_INFO, "inferred", "%llu ops are inferred, not marked")                          \
    X(PS_ODD_EARLY, PS_SEV_LOSS, "starts-before-input",                                                       \
      "%llu ops start before what they need has ended: waiting inside them counts as busy, or clocks differ") \
    X(PS_ODD_COMM_STATISTICS, PS_SEV_INFO, "no-communication-statistics",                                     \
      "%llu ranks carry no statistics of communication (Ascend: level 1 or higher has them): waits come "     \
      "from the operators, sizes and transit times are unknown")                                              \
    X(PS_ODD_COMM_UNMATCHED, PS_SEV_INFO, "communication-unmatched",                                          \
      "%llu communication operators have no counterpart on the other ranks of their group: not compared")     \
    X(PS_ODD_LINK_RANK, PS_SEV_LOSS, "link-rank-unknown",                                                     \
      "%llu links lead to a place of a group whose global rank is not known: left out")                       \
    X(PS_ODD_FILE, PS_SEV_ERROR, "unreadable", "%llu files or directories could not be read")                 \
    X(PS_ODD_PROCESSES, PS_SEV_INFO, "many-processes",                                                        \
      "%llu processes of a file with very many were read as one rank")                                        \
    X(PS_ODD_RANK_NAME, PS_SEV_INFO, "rank-name",                                                             \
      "%llu files are named for another rank than their directory says")                                      \
    X(PS_ODD_RANK_DUPLICATE, PS_SEV_INFO, "older-duplicate",                                                  \
      "%llu older profiles of a rank were left out")                                                          \
    X(PS_ODD_FLOPS_SHAPE, PS_SEV_INFO, "flops-unknown",                                                       \
      "%llu kernels multiply matrices, but shapes that tell how many operations were not found")              \
    X(PS_ODD_FLOPS_ATTENTION, PS_SEV_INFO, "attention-unknown",                                               \
      "%llu attention kernels lack a marker with a layout and mask that is known: no FLOPs")                  \
    X(PS_ODD_FLOPS_HEADS, PS_SEV_INFO, "attention-heads",                                                     \
      "%llu attention kernels hide their number of key heads: their sizes are taken from the query")          \
    X(PS_ODD_FLOPS_TYPE, PS_SEV_INFO, "peak-unknown",                                                         \
      "%llu kernels have FLOPs, but no peak of their type is known: no MFU (see --peak-tflops)")              \
    X(PS_ODD_FLOPS_RECORD, PS_SEV_INFO, "odd-flops-record",                                                   \
      "%llu ranges of domain mfu_flops say no number of operations or launched no kernel for them")           \
    X(PS_ODD_CELL_CUT, PS_SEV_LOSS, "cell-cut",                                                               \
      "%llu texts were longer than the 32767 characters of a cell and are cut; csv and json hold them whole") \
    X(PS_ODD_STALE, PS_SEV_INFO, "stale-result", "%llu results of an earlier run were removed")

typedef enum ps_oddity {
#define X(kind, severity, name, text) kind,
    PS_ODDITIES(X)
#undef X
        PS_N_ODDITIES
} ps_oddity;

#define PS_DIAG_PLACES 3

typedef struct ps_diag {
    uint64_t counts[PS_N_ODDITIES];
    char places[PS_N_ODDITIES][PS_DIAG_PLACES][160]; /* "MSTX_EVENTS rowid 17" */
} ps_diag;

/* Counts one; the first few places are kept. */
void ps_diag_add(ps_diag *d, ps_oddity kind, const char *place_fmt, ...) PS_PRINTF(3, 4);

/* Counts n without a place. */
void ps_diag_count(ps_diag *d, ps_oddity kind, uint64_t n);

/* Adds `from` to `into`; places get "who: " in front when `who` is not NULL. */
void ps_diag_merge(ps_diag *into, const ps_diag *from, const char *who);

ps_severity ps_oddity_severity(ps_oddity kind);
const char *ps_oddity_name(ps_oddity kind);
/* The sentence with the count filled in. */
void ps_oddity_text(ps_oddity kind, uint64_t count, char *out, size_t size);
uint64_t ps_diag_n_errors(const ps_diag *d);

#endif
