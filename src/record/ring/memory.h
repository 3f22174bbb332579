/* What the recorder takes of memory, against the option max_bytes: rings (their files are memory too, the page cache), lanes, events
 * that no file takes, buffers of CUPTI, texts. Each is asked for before it is made, and does without when it is refused. Not
 * counted: what has small limits of its own (structures of threads, domains, metadata, lists of CUDA events), and the export,
 * which comes when the recording is over.
 *
 * Without locks: signal handlers ask too. */
#ifndef PS_RECORD_MEMORY_H
#define PS_RECORD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* For what is asked for from now on; what was taken stays. 1 GiB until it is said. */
void ps_memory_limit(uint64_t bytes);

/* False, and nothing is taken, when all together would be more than the limit. */
bool ps_memory_take(uint64_t bytes);

/* For what a recording cannot do without. */
void ps_memory_take_anyway(uint64_t bytes);

void ps_memory_give(uint64_t bytes);

uint64_t ps_memory_taken(void);

/* Whether something was refused since the last call. */
bool ps_memory_refused(void);

#endif
