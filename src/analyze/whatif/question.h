/* Questions in words: "worker=3,1", "stage=last", "replica=0", "rank=7", "kind=forward-send"; with a factor behind a colon
 * "kind=forward-send:0.5" or "stage=2:-10%". Several are joined by ';'. */
#ifndef PS_ANALYZE_WHATIF_QUESTION_H
#define PS_ANALYZE_WHATIF_QUESTION_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/whatif/job_steps.h"
#include "base/err.h"

#define PS_QUESTION_PARTS 32

typedef struct ps_question {
    ps_job_part without[PS_QUESTION_PARTS];
    size_t n_without;
    ps_job_scaled scaled[PS_QUESTION_PARTS];
    size_t n_scaled;
    bool *workers; /* what the parts point to */
} ps_question;

/* `scale` and `set` are read alike. PS_USAGE names what is no question; texts may be NULL. Without `js` only the form is checked. End with ps_question_fini() in any
 * case. */
PS_MUST_USE ps_code ps_question_read(const char *without, const char *scale, const char *set,
                                     const ps_job_steps *js, ps_question *out, ps_err *err);
void ps_question_fini(ps_question *q);

#endif
