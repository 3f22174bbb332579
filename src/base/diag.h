/* Oddities: one event was odd and we went on. Counted per kind, with the first few places, so that loss is
 * visible and never silent. One ps_diag per rank; they are merged in rank order. Not thread-safe. */
#ifndef PS_BASE_DIAG_H
#define PS_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum ps_severity { PS_SEV_INFO, PS_SEV_LOSS, PS_SEV_ERROR } ps_severity;

/* kind, severity, short name (in JSON), sentence with one %llu for the count; {many|one} by the count */
#define PS_ODDITIES(X)                                                                             \
    X(PS_ODD_TIME, PS_SEV_ERROR, "bad-time",                                                       \
      "%llu {rows have|row has} a time that is missing, not a number or ends before it starts")    \
    X(PS_ODD_STRING_ID, PS_SEV_ERROR, "missing-string",                                            \
      "%llu {rows name|row names} a string that STRING_IDS does not have")                         \
    X(PS_ODD_TEXT, PS_SEV_LOSS, "bad-text",                                                        \
      "%llu {texts|text} could not be read as the value {they|it} should hold")                    \
    X(PS_ODD_METADATA, PS_SEV_ERROR, "bad-metadata",                                               \
      "%llu metadata {entries are malformed or contradict|entry is malformed or contradicts} "     \
      "another rank")                                                                              \
    X(PS_ODD_MARK_HOST_ONLY, PS_SEV_INFO, "mark-without-task",                                     \
      "%llu {marks have|mark has} no device task (recorded without a stream)")                     \
    X(PS_ODD_MARK_TASKS, PS_SEV_INFO, "mark-with-many-tasks",                                      \
      "%llu device {tasks repeat|task repeats} the connection id of a mark")                       \
    X(PS_ODD_MARK_TWICE, PS_SEV_INFO, "mark-repeated",                                             \
      "%llu {marks stand|mark stands} in the framework's table too: drawn once")                   \
    X(PS_ODD_MARK_NESTED, PS_SEV_INFO, "mark-nested",                                              \
      "%llu {marks lie|mark lies} inside or across another mark and {were|was} left out")          \
    X(PS_ODD_MARK_CONTAINER, PS_SEV_INFO, "mark-container",                                        \
      "%llu {marks only wrap|mark only wraps} whole phases and {were|was} left out")               \
    X(PS_ODD_MARK_NO_STEP, PS_SEV_LOSS, "mark-outside-steps",                                      \
      "%llu {marks lie|mark lies} in no step")                                                     \
    X(PS_ODD_MARK_UNPAIRED, PS_SEV_LOSS, "mark-unpaired",                                          \
      "%llu start or stop {marks have no counterpart on their thread and were|mark has no "        \
      "counterpart on its thread and was} left out")                                               \
    X(PS_ODD_MARK_UNLABELLED, PS_SEV_LOSS, "mark-unlabelled",                                      \
      "%llu {marks agree|mark agrees} with no op of the schedule: named by {their|its} message")   \
    X(PS_ODD_MARK_MICROBATCH, PS_SEV_INFO, "mark-other-microbatch",                                \
      "%llu {marks name|mark names} another microbatch than the op {they stand|it stands} for")    \
    X(PS_ODD_OP_MISSING, PS_SEV_LOSS, "op-without-mark",                                           \
      "%llu {ops of the schedule have no mark (lost, or the capture ends before them): their|op "  \
      "of the schedule has no mark (lost, or the capture ends before it): its} "                   \
      "time counts as bubble, or as other work where the device is known")                         \
    X(PS_ODD_KILLED, PS_SEV_LOSS, "killed",                                                        \
      "%llu {processes|process} ended before {their|its} recording was stopped (killed, by a "     \
      "signal, _exit): what was recorded until then was recovered, and the step is cut there")     \
    X(PS_ODD_EVALUATION, PS_SEV_INFO, "evaluation",                                                \
      "%llu {forwards are|forward is} of evaluations, which no backward follows: in no "           \
      "step, so not in its chart and bubble")                                                      \
    X(PS_ODD_TAIL_UNMARKED, PS_SEV_INFO, "tail-without-marks",                                     \
      "%llu weight {gradients of DualPipeV's tail carry no mark by design: their|gradient of "     \
      "DualPipeV's tail carries no mark by design: its} time counts as bubble")                    \
    X(PS_ODD_STAGE_MISSING, PS_SEV_LOSS, "stage-missing",                                          \
      "%llu {stages of the pipeline are|stage of the pipeline is} not in the input: figures are "  \
      "those of the stages shown")                                                                 \
    X(PS_ODD_OP_NO_STEP, PS_SEV_LOSS, "op-without-step",                                           \
      "%llu {ops of a timeline name|op of a timeline names} no step and {are|is} left out")        \
    X(PS_ODD_OP_NO_WORKER, PS_SEV_LOSS, "op-without-worker",                                       \
      "%llu {ops stand|op stands} on threads that name no worker, and {are|is} left out")          \
    X(PS_ODD_STAGE_UNKNOWN, PS_SEV_LOSS, "stage-unknown",                                          \
      "%llu {ranks have|rank has} no known stage and {are|is} not in the chart: give --pp N "      \
      "(--tp, --cp, --dp), or note distributed_args in the metadata (docs/recording.md)")          \
    X(PS_ODD_SCHEDULE, PS_SEV_LOSS, "other-schedule",                                              \
      "%llu {pipelines are|pipeline is} not drawn as the metadata or options say")                 \
    X(PS_ODD_SCHEDULE_HINT, PS_SEV_INFO, "dualpipev-unnamed",                                      \
      "%llu {pipelines look|pipeline looks} like dualpipev: give --pp-type dualpipev for its "     \
      "labels in the databases")                                                                   \
    X(PS_ODD_COMM_MARK, PS_SEV_LOSS, "bad-communication-mark",                                     \
      "%llu communication {marks|mark} could not be turned into operators")                        \
    X(PS_ODD_COMM_ENQUEUE, PS_SEV_INFO, "communication-mark-of-enqueueing",                        \
      "%llu communication {marks hold|mark holds} the time in which the host enqueued the call, "  \
      "not that of a transfer: no {operators|operator} made")                                      \
    X(PS_ODD_P2P_PEER, PS_SEV_LOSS, "p2p-without-peer",                                            \
      "%llu send or receive {operators name|operator names} no peer, or more than one")            \
    X(PS_ODD_P2P_GROUP, PS_SEV_LOSS, "p2p-group-differs",                                          \
      "%llu send or receive {operators carry|operator carries} two group names")                   \
    X(PS_ODD_P2P_UNPAIRED, PS_SEV_INFO, "p2p-unpaired",                                            \
      "%llu send or receive {operators have|operator has} no counterpart in the ranks read")       \
    X(PS_ODD_P2P_COLLISION, PS_SEV_INFO, "p2p-tag-collision",                                      \
      "%llu {operators share their|operator shares its} three-digit group tag with another "       \
      "group: the whole group hash is used")                                                       \
    /* JSON */                                                                                     \
    X(PS_ODD_JSON, PS_SEV_ERROR, "bad-json",                                                       \
      "%llu {places are|place is} not valid JSON; reading went on at the next event")              \
    X(PS_ODD_TRUNCATED, PS_SEV_LOSS, "truncated",                                                  \
      "%llu {files end|file ends} in the middle: what was complete is kept")                       \
    X(PS_ODD_NO_BRACKET, PS_SEV_INFO, "missing-bracket",                                           \
      "%llu {files lack|file lacks} the closing bracket, as Chrome allows")                        \
    X(PS_ODD_TRAILING, PS_SEV_INFO, "trailing-bytes",                                              \
      "%llu {files go|file goes} on after the end of the document")                                \
    X(PS_ODD_COMMA, PS_SEV_INFO, "dangling-comma",                                                 \
      "%llu {commas stand|comma stands} before a closing bracket")                                 \
    X(PS_ODD_UTF8, PS_SEV_INFO, "bad-utf8",                                                        \
      "%llu {texts hold|text holds} bytes that are not UTF-8")                                     \
    X(PS_ODD_DUPLICATE_KEY, PS_SEV_INFO, "duplicate-key",                                          \
      "%llu {keys stand|key stands} twice in one object: the last one counts")                     \
    X(PS_ODD_NUMBER, PS_SEV_LOSS, "bad-number",                                                    \
      "%llu {numbers are out of range or no numbers|number is out of range or no number}")         \
    X(PS_ODD_TIME_ROUNDED, PS_SEV_INFO, "time-rounded",                                            \
      "%llu {times are|time is} finer than a nanosecond and {were|was} rounded")                   \
    X(PS_ODD_TIME_ZERO, PS_SEV_INFO, "time-zero",                                                  \
      "%llu {events|event} at time 0 among epoch times {were|was} left out")                       \
    X(PS_ODD_CLOCK_BASE, PS_SEV_INFO, "relative-clock",                                            \
      "%llu {files do not say what their|file does not say what its} times count from")            \
    /* events */                                                                                   \
    X(PS_ODD_EVENT_FIELD, PS_SEV_ERROR, "event-without-field",                                     \
      "%llu {events lack a field that their|event lacks a field that its} phase needs")            \
    X(PS_ODD_DEEP, PS_SEV_LOSS, "nested-too-deep",                                                 \
      "%llu {events are|event is} nested deeper than 64 levels and {were|was} left out")           \
    X(PS_ODD_EVENT_PHASE, PS_SEV_LOSS, "unknown-phase",                                            \
      "%llu {events are|event is} of a phase that is no timeline (objects, memory dumps)")         \
    X(PS_ODD_BEGIN_OPEN, PS_SEV_LOSS, "begin-without-end",                                         \
      "%llu {slices never end|slice never ends}: drawn to the end of the trace")                   \
    X(PS_ODD_END_ALONE, PS_SEV_LOSS, "end-without-begin",                                          \
      "%llu {ends without a beginning were|end without a beginning was} left out")                 \
    X(PS_ODD_FLOW_HALF, PS_SEV_INFO, "flow-one-sided",                                             \
      "%llu {flow ids have|flow id has} a beginning or an end only")                               \
    X(PS_ODD_FLOW_LOOP, PS_SEV_INFO, "flow-on-one-slice",                                          \
      "%llu {flows begin and end|flow begins and ends} on one slice")                              \
    X(PS_ODD_FLOW_NO_SLICE, PS_SEV_INFO, "flow-without-slice",                                     \
      "%llu flow {points lie|point lies} on no slice")                                             \
    X(PS_ODD_NOT_NESTED, PS_SEV_INFO, "slice-not-nested",                                          \
      "%llu {slices overlap another of their|slice overlaps another of its} thread without "       \
      "lying inside it")                                                                           \
    X(PS_ODD_NO_CALL, PS_SEV_INFO, "kernel-without-call",                                          \
      "%llu device {slices name|slice names} a call that is not in the file")                      \
    X(PS_ODD_THINNED, PS_SEV_LOSS, "thinned",                                                      \
      "%llu {captures are|capture is} thinned out: most of the events that the profiler "          \
      "numbered are missing in between")                                                           \
    X(PS_ODD_METADATA_EVENT, PS_SEV_INFO, "odd-metadata-event",                                    \
      "%llu metadata {events name something unknown and were|event names something unknown "       \
      "and was} left out")                                                                         \
    /* tables and logs */                                                                          \
    X(PS_ODD_TABLE_MISSING, PS_SEV_INFO, "missing-part",                                           \
      "%llu {files or tables that the format has are|file or table that the format has is} "       \
      "not there")                                                                                 \
    X(PS_ODD_TABLE_ROW, PS_SEV_ERROR, "bad-row",                                                   \
      "%llu {rows have|row has} too few cells or a cell of another type")                          \
    X(PS_ODD_UNJOINED, PS_SEV_INFO, "unjoined-row",                                                \
      "%llu {rows describe|row describes} a slice that is not in the trace")                       \
    X(PS_ODD_RANGE_OPEN, PS_SEV_LOSS, "range-without-end",                                         \
      "%llu {ranges never end|range never ends}: drawn to the end of the trace")                   \
    X(PS_ODD_PROFILER_LOSS, PS_SEV_LOSS, "profiler-lost-data",                                     \
      "%llu {times|time} the profiler says that it lost data")                                     \
    X(PS_ODD_RECORD, PS_SEV_ERROR, "malformed-record",                                             \
      "%llu log {records are|record is} malformed")                                                \
    X(PS_ODD_UNTIMED, PS_SEV_INFO, "untimed-job",                                                  \
      "%llu {jobs carry no time (their|job carries no time (its} timer never ran)")                \
    X(PS_ODD_APPENDED, PS_SEV_INFO, "appended-run",                                                \
      "%llu further {runs follow|run follows} in the same log")                                    \
    /* charts of other profiles */                                                                 \
    X(PS_ODD_RANGE_NO_KERNEL, PS_SEV_LOSS, "range-without-kernel",                                 \
      "%llu labelled {ranges|range} launched nothing on the device: left out")                     \
    X(PS_ODD_LAUNCH_OPEN, PS_SEV_LOSS, "launch-of-no-range",                                       \
      "%llu {kernels were|kernel was} launched by a thread without ranges while several threads "  \
      "were in one: {they count|it counts} in none")                                               \
    X(PS_ODD_CLOCKS, PS_SEV_LOSS, "clocks-disagree",                                               \
      "%llu {ranks have clocks that disagree|rank has a clock that disagrees} with the order "     \
      "of sends and receives (see --align)")                                                       \
    X(PS_ODD_CLOCK_RECORDED, PS_SEV_LOSS, "clock-contradicted",                                    \
      "%llu {machines have clocks|machine has a clock} of which the recording says what the "      \
      "order of events contradicts: the order counts")                                             \
    X(PS_ODD_OTHER_LABELS, PS_SEV_LOSS, "other-labels",                                            \
      "%llu {ranks carry|rank carries} other labels than the rest and {are|is} not in the chart")  \
    X(PS_ODD_STEP_CUT, PS_SEV_LOSS, "step-cut",                                                    \
      "%llu {ranks begin in the middle of a step: their|rank begins in the middle of a step: "     \
      "its} first step is short")                                                                  \
    X(PS_ODD_LABEL_TWICE, PS_SEV_LOSS, "label-repeated",                                           \
      "%llu {ops repeat a label of their|op repeats a label of its} step: links take one of "      \
      "them")                                                                                      \
    X(PS_ODD_LABEL_NUMBERS, PS_SEV_LOSS, "numbers-dropped",                                        \
      "%llu {ranks number their|rank numbers its} microbatches twice in a step: the order of "     \
      "the ops counts instead")                                                                    \
    X(PS_ODD_RANK_STAGES, PS_SEV_LOSS, "too-many-stages",                                          \
      "%llu {ops are of a model stage beyond the 64 of their|op is of a model stage beyond "       \
      "the 64 of its} rank: left out")                                                             \
    X(PS_ODD_INFERRED, PS_SEV_INFO, "inferred", "%llu {ops are|op is} inferred, not marked")       \
    X(PS_ODD_EARLY, PS_SEV_LOSS, "starts-before-input",                                            \
      "%llu {ops start before what they need|op starts before what it needs} has ended: "          \
      "waiting inside them counts as busy, or clocks differ")                                      \
    X(PS_ODD_COMM_STATISTICS, PS_SEV_INFO, "no-communication-statistics",                          \
      "%llu {ranks carry|rank carries} no statistics of communication (Ascend: level 1 or "        \
      "higher has them): waits come from the operators, sizes and transit times are unknown")      \
    X(PS_ODD_COMM_UNMATCHED, PS_SEV_INFO, "communication-unmatched",                               \
      "%llu communication {operators have no counterpart on the other ranks of "                   \
      "their|operator has no counterpart on the other ranks of its} group: not compared")          \
    X(PS_ODD_TRANSFER_APART, PS_SEV_INFO, "transfer-apart",                                        \
      "%llu {receives do not overlap their sends|receive does not overlap its send} in time: how " \
      "late the sender was is not known")                                                          \
    X(PS_ODD_LINK_RANK, PS_SEV_LOSS, "link-rank-unknown",                                          \
      "%llu {links lead|link leads} to a place of a group whose global rank is not known: "        \
      "not in the matrix of ranks")                                                                \
    X(PS_ODD_FILE, PS_SEV_ERROR, "unreadable",                                                     \
      "%llu {files or directories|file or directory} could not be read")                           \
    X(PS_ODD_PROCESSES, PS_SEV_INFO, "many-processes",                                             \
      "%llu {processes|process} of a file with very many {were|was} read as one rank")             \
    X(PS_ODD_PROCESS_NO_RANK, PS_SEV_LOSS, "process-without-rank",                                 \
      "%llu {processes|process} of a merged file {tell|tells} no rank: left out")                  \
    X(PS_ODD_RANK_NAME, PS_SEV_INFO, "rank-name",                                                  \
      "%llu {files are named for another rank than their|file is named for another rank than "     \
      "its} directory says")                                                                       \
    X(PS_ODD_RANK_DUPLICATE, PS_SEV_INFO, "older-duplicate",                                       \
      "%llu older {profiles|profile} of a rank {were|was} left out")                               \
    X(PS_ODD_FLOPS_SHAPE, PS_SEV_INFO, "flops-unknown",                                            \
      "%llu {kernels multiply|kernel multiplies} matrices, but shapes that tell how many "         \
      "operations were not found")                                                                 \
    X(PS_ODD_FLOPS_ATTENTION, PS_SEV_INFO, "attention-unknown",                                    \
      "%llu attention {kernels lack|kernel lacks} a marker with a layout and mask that is "        \
      "known: no FLOPs")                                                                           \
    X(PS_ODD_FLOPS_HEADS, PS_SEV_INFO, "attention-heads",                                          \
      "%llu attention {kernels hide their number of key heads: their|kernel hides its number "     \
      "of key heads: its} sizes are taken from the query")                                         \
    X(PS_ODD_FLOPS_TYPE, PS_SEV_INFO, "peak-unknown",                                              \
      "%llu {kernels have FLOPs, but no peak of their|kernel has FLOPs, but no peak of its} "      \
      "type is known: no MFU (see --peak-tflops)")                                                 \
    X(PS_ODD_FLOPS_RECORD, PS_SEV_INFO, "odd-flops-record",                                        \
      "%llu {ranges of domain mfu_flops say|range of domain mfu_flops says} no number of "         \
      "operations or launched no kernel for {them|it}")                                            \
    X(PS_ODD_CELL_CUT, PS_SEV_LOSS, "cell-cut",                                                    \
      "%llu {texts were longer than the 32767 characters of a cell and are|text was longer "       \
      "than the 32767 characters of a cell and is} cut; csv and json hold them whole")             \
    X(PS_ODD_STALE, PS_SEV_INFO, "stale-result",                                                   \
      "%llu {results|result} of an earlier run {were|was} removed")

typedef enum ps_oddity {
#define X(kind, severity, name, text) kind,
    PS_ODDITIES(X)
#undef X
        PS_N_ODDITIES
} ps_oddity;

#define PS_DIAG_PLACES 3

typedef struct ps_diag {
    uint64_t counts[PS_N_ODDITIES];
    uint64_t repeats[PS_N_ODDITIES]; /* of them, at a place that had been given before */
    char places[PS_N_ODDITIES][PS_DIAG_PLACES][160]; /* "MSTX_EVENTS rowid 17" */
} ps_diag;

/* Counts one; the first few places are kept. */
void ps_diag_add(ps_diag *d, ps_oddity kind, const char *place_fmt, ...) PS_PRINTF(3, 4);

/* Counts n without a place. */
void ps_diag_count(ps_diag *d, ps_oddity kind, uint64_t n);

/* Counts n more at places that ps_diag_add() was given already, so that they are no places that nobody named. */
void ps_diag_repeat(ps_diag *d, ps_oddity kind, uint64_t n);

/* There are more places than the kept ones: a list of them ends in "...". */
bool ps_diag_has_more_places(const ps_diag *d, ps_oddity kind);

/* Adds `from` to `into`; places other than `who` itself get "who: " in front when it is not NULL. */
void ps_diag_merge(ps_diag *into, const ps_diag *from, const char *who);

/* What a second look at the same input found: of a kind whose places are the same, or a part of them, the larger count stands.
 * Other kinds are added. */
void ps_diag_merge_look(ps_diag *into, const ps_diag *from);

ps_severity ps_oddity_severity(ps_oddity kind);
/* "info", "loss" or "error", as JSON has it. */
const char *ps_oddity_severity_name(ps_oddity kind);
const char *ps_oddity_name(ps_oddity kind);
/* The sentence with the count filled in. */
void ps_oddity_text(ps_oddity kind, uint64_t count, char *out, size_t size);
uint64_t ps_diag_n_errors(const ps_diag *d);
/* What makes a rank fail under --strict: errors, and files that end in the middle. */
uint64_t ps_diag_n_fatal(const ps_diag *d);

struct ps_archive;
void ps_diag_archive(struct ps_archive *a, void *diag);

#endif
