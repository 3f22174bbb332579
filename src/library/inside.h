/* What the files of the library share: a capture that is open, and how a call begins and ends. */
#ifndef PS_LIBRARY_INSIDE_H
#define PS_LIBRARY_INSIDE_H

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/watch.h"
#include "pipescope/pipescope.h"
#include "query/sql.h"
#include "run/cluster.h"
#include "run/run.h"
#include "write/table/arrow.h"

struct ps_lib {
    atomic_size_t n_users; /* the caller, its studies, calls that run or wait */
    pthread_mutex_t lock;  /* one call at a time */
    locale_t locale;       /* "C" */
    ps_arena arena;
    const char *format, *rank_from;
    ps_sql_opts opts;
    ps_cluster *cluster;
    ps_sql *sql;
    ps_watch watch;        /* of studies; queries have one of their own */
    ps_table *study_notes; /* profiles that studies could not read */
};

/* Keeps what a study's run could not read, for ps_lib_notes(). */
void ps_lib_keep_notes(ps_lib *capture, const ps_run *run);

void ps_lib_drop(ps_lib *capture); /* of one user */

/* A call on the capture begins: alone, with numbers as they are in "C". What `begin` gave goes to `end`, behind which the capture may be gone: it may have
 * been closed meanwhile. */
locale_t ps_lib_begin(ps_lib *capture);
void ps_lib_end(ps_lib *capture, locale_t before);

/* Tells the caller, and returns the code. */
int ps_lib_told(const ps_err *err, ps_lib_error *out);

/* Hands rows over, which it owns from then on; NULL: they failed (`err`). */
int ps_lib_give(ps_arrow *rows, struct ArrowArrayStream *out, const ps_err *err,
                ps_lib_error *error);
/* The same of all rows of a table, which stays with its owner. */
int ps_lib_give_table(const ps_table *table, struct ArrowArrayStream *out, ps_lib_error *error);

/* --- options ------------------------------------------------------------------------------------------------------ */

/* What a study is told beside the options of analyses. */
typedef struct ps_lib_asked {
    ps_run_opts run;
    const char *against; /* NULL: nothing is drawn below */
    int64_t step;
    bool has_step, dark;
    int32_t pipeline; /* -1: the first */
} ps_lib_asked;

/* Texts live in `arena`. */
PS_MUST_USE ps_code ps_lib_open_options(ps_lib *capture, const char *const *options, ps_err *err);
PS_MUST_USE ps_code ps_lib_study_options(const char *const *options, ps_arena *arena,
                                         ps_lib_asked *out, ps_err *err);

#endif
