/* What partials depend on beside the rank: who made them, of which analyses they are, and what the user said. Equal texts: the partials
 * of one may be taken for those of the other. */
#ifndef PS_RUN_RUN_KEY_H
#define PS_RUN_RUN_KEY_H

#include "analyze/core/analysis.h"
#include "base/buf.h"

/* Appends the version of the program and a hash of the program itself: partials of another build may be made in another way. Fails
 * when the program cannot be read, so that no other key comes of it. */
PS_MUST_USE ps_code ps_program_key_add(ps_buf *out, ps_err *err);
/* Appends the names of the analyses, and all options. */
void ps_run_key_add(const ps_analysis *const *analyses, size_t n_analyses,
                    const ps_analysis_opts *opts, ps_buf *out);
/* Appends two hashes of some bytes, as digits. */
void ps_hash_key_add(const void *bytes, size_t n, ps_buf *out);

#endif
