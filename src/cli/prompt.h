/* Lines that somebody types: with history and completion through libedit where the program was built with it and both ends are a terminal,
 * else as they come. One prompt in a process. */
#ifndef PS_CLI_PROMPT_H
#define PS_CLI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Whether lines can be edited, recalled and completed at all. */
bool ps_prompt_can_edit(void);

/* Begins; `words` are what Tab completes, in any case, and must outlive the prompt. */
void ps_prompt_begin(const char *const *words, size_t n);

/* Appends the next line, without its end, to `out`; false behind the last. `shown` is what stands before it on a terminal. */
bool ps_prompt_line(const char *shown, ps_buf *out);

/* What the arrow keys bring back. */
void ps_prompt_remember(const char *text);

#endif
