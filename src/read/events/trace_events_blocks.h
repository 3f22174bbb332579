/* The input as blocks in file order, which several threads read and parse ahead. Internal to trace_events.
 *
 * A block is cut before a brace that looks like the beginning of an event. Whoever has a free thread parses it as if it
 * were; the caller, who knows what the blocks before it left open, decides whether that counts.
 *
 *   b = ps_blocks_new(...)
 *   while ((block = ps_blocks_next(b, ahead, is_object)) != NULL) { ... ps_blocks_release(b, block); }
 *   ps_blocks_free(b) */
#ifndef PS_READ_TRACE_EVENTS_BLOCKS_H
#define PS_READ_TRACE_EVENTS_BLOCKS_H

#include "base/input.h"
#include "read/events/trace_events_parse.h"

/* What tests vary; zeros are the usual. */
typedef struct ps_event_tuning {
    size_t block_bytes;
    size_t n_threads;
    ps_simd simd;
} ps_event_tuning;

typedef struct ps_event_block {
    char *text; /* [n], then PS_JSON_PAD zero bytes */
    size_t n;
    uint64_t offset; /* of text in the input */
    bool is_last;
    ps_code code; /* of reading; not PS_OK: `err` says why, and there is no text */
    ps_err err;
    bool begins_event; /* it looks like it */
    bool is_parsed;    /* `x` holds what it is if it begins with an event behind a comma */
    ps_stretch x;
    ps_stretch_end end;
    int state; /* of blocks.c */
} ps_event_block;

typedef struct ps_blocks ps_blocks;

/* NULL when memory is out. Threads begin with the first block that may be parsed ahead. */
ps_blocks *ps_blocks_new(ps_input *in, const ps_event_schema *schema,
                         const ps_event_tuning *tuning);
void ps_blocks_free(ps_blocks *b); /* NULL is fine */

/* The next one, NULL behind the last. `ahead`: the array of events is being read, so blocks to come may be parsed;
 * `is_object`: the outer form. */
ps_event_block *ps_blocks_next(ps_blocks *b, bool ahead, bool is_object);
void ps_blocks_release(ps_blocks *b, ps_event_block *block);

/* What a stretch of the calling thread works with. */
ps_shapes *ps_blocks_shapes(ps_blocks *b);
ps_stretch_fast *ps_blocks_fast(const ps_blocks *b);

/* ps_trace_events_read with these. */
PS_MUST_USE ps_code ps_trace_events_read_tuned(ps_input *in, const ps_event_schema *schema,
                                               const ps_event_sink *sink,
                                               const ps_event_tuning *tuning, ps_diag *diag,
                                               ps_event_stats *stats, ps_err *err);

#endif
