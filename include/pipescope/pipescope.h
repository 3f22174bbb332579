/* Reading, asking and drawing profiles in process: libpipescope.so. What `pipescope query`, `chart`, `report` and `whatif` say, without a file between.
 *
 *     #include <pipescope/pipescope.h>
 *
 *     ps_lib_error error;
 *     ps_lib *capture = ps_lib_open("/runs/job7", NULL, &error);
 *     struct ArrowArrayStream rows;
 *     if (capture == NULL || ps_lib_sql(capture, "SELECT rank, count(*) FROM slice GROUP BY rank", &rows, &error) != PS_LIB_OK) {
 *         fprintf(stderr, "%s: %s %s\n", error.file, error.message, error.remedy);
 *     }
 *     ...                                   // rows.get_schema, rows.get_next: pipescope/arrow.h
 *     rows.release(&rows);
 *     ps_lib_close(capture);
 *
 * Versions. PS_LIB_INTERFACE grows when functions are added; none is taken away or changed as long as the library's name ends in .so.0.
 *
 * Threads. Different captures may be used from different threads at the same time. Calls on one capture and on what was made of it (studies) wait for one
 * another; ps_lib_stop() and ps_lib_close() do not wait. When ps_lib_close() is called, calls on the capture may run in other threads, but none begin, nor be
 * about to. Streams, arrays and texts that were handed out belong to their holder and may be used and released in any thread, also after the capture was closed.
 *
 * The library prints nothing, ends no process, sets no signal handler and reads only below the path that it was given. It writes no file, but for a copy
 * below $TMPDIR of a database whose last write was not finished, which is deleted again. It works in threads of its own while a call lasts; none is left
 * when the call returns. Numbers are read and written with a decimal point whatever locale the process has. A forked child must not use what its parent
 * opened. */
#ifndef PIPESCOPE_PIPESCOPE_H
#define PIPESCOPE_PIPESCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "arrow.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PS_API
#define PS_API __attribute__((visibility("default")))
#endif

#define PS_LIB_INTERFACE 1

/* The library's version, "0.1.0", and the PS_LIB_INTERFACE that it was built with. */
PS_API const char *ps_lib_version(void);
PS_API int ps_lib_interface(void);

/* --- errors ------------------------------------------------------------------------------------------------------- */

enum {
    PS_LIB_OK = 0,
    PS_LIB_NO_MEMORY = 1,
    PS_LIB_IO = 2,          /* a file could not be read */
    PS_LIB_NOT_FOUND = 3,   /* no such path */
    PS_LIB_SYNTAX = 4,      /* a file is damaged */
    PS_LIB_UNSUPPORTED = 5, /* a format or form that is not known */
    PS_LIB_RANGE = 6,       /* too large, or a step that is not there */
    PS_LIB_USAGE = 7,       /* no SQL, an unknown name, an option out of its bounds */
    PS_LIB_NOTHING = 8,     /* the capture has nothing of what was asked for */
    PS_LIB_ENDED =
        10, /* by ps_lib_stop(), or its time was over; another program keeps a file locked */
    PS_LIB_CHANGED = 11, /* a file changed while it was read */
    PS_LIB_INTERNAL = 12,
    PS_LIB_NO_ROOM = 13 /* the disk is full: below $TMPDIR, where a database had to be copied */
};

/* Filled by calls that fail, which also return the code or NULL. Texts end in a zero byte; "" where there is nothing to say. Every `error` argument may
 * be NULL. */
typedef struct ps_lib_error {
    int32_t code;
    uint32_t line;   /* in the file or in the SQL, from 1; 0: unknown */
    uint64_t offset; /* byte, from 0; UINT64_MAX: unknown */
    char file[256];  /* whose place it is; "query" stands for the SQL */
    char message[512];
    char remedy[256]; /* what to do about it */
} ps_lib_error;

/* --- a capture ---------------------------------------------------------------------------------------------------- */

typedef struct ps_lib ps_lib;

/* Finds the profiles below a path: a file, a rank's folder, or a job's folder, of any format. None is read yet. `options`: NULL, or texts "name=value" ended
 * by NULL, which are copied:
 *
 *   format=NAME        read files as this format (`pipescope formats`)
 *   rank_from=RE       of a file in which processes are ranks: the first group of the expression in a process's name is its rank
 *   jobs=N             threads; 0, the default: one per processor
 *   timeout=SECONDS    every call ends after this time, with all that it reads; 0, the default: never
 *   pp=4 ...           every option that `pipescope query --help` lists below "When metadata is lost or wrong" and "Of single modes", with underscores;
 *                      flags are 1 or 0
 *
 * NULL on failure: PS_LIB_NOT_FOUND, PS_LIB_NOTHING (no profile is there), PS_LIB_USAGE (an option). */
PS_API ps_lib *ps_lib_open(const char *path, const char *const *options, ps_lib_error *error);

/* Calls that run in other threads end as usual. What was read is given back when the last of them has returned and the last study of it is freed. NULL is
 * fine. */
PS_API void ps_lib_close(ps_lib *capture);

/* Ends the call that runs on the capture now, with PS_LIB_ENDED; the next one runs as usual. From any thread or a signal handler. */
PS_API void ps_lib_stop(ps_lib *capture);

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* Each of these gives a table: one batch of columns that are int64, double or large_utf8, all nullable, with their unit in the metadata of the field ("unit":
 * "ns", "ns since 1970", "bytes", "percent" ...). The buffers are those the library filled, handed over without a copy; a real that is NULL is NaN in
 * its buffer. The caller releases the stream, also where it took nothing from it; after a failure there is nothing to release. */

/* The rows of one SELECT, in SQLite's language over the tables of docs/sql.md. */
PS_API int ps_lib_sql(ps_lib *capture, const char *sql, struct ArrowArrayStream *out,
                      ps_lib_error *error);

/* A whole table of docs/sql.md: of all ranks (`ranks` NULL) or of those `n_ranks`, all columns (`columns` NULL) or those, whose names NULL ends. Ranks and
 * columns that are not wanted are not read. `slice` and `step` come several times as fast as by SQL. */
PS_API int ps_lib_table(ps_lib *capture, const char *table, const char *const *columns,
                        const int64_t *ranks, size_t n_ranks, struct ArrowArrayStream *out,
                        ps_lib_error *error);

/* The profiles that were found, a row each: rank (-1 unknown), profile (number from 0), machine, host, profiler, format, path (below the capture's). Reads none. */
PS_API int ps_lib_ranks(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error);

/* The tables that SQL may ask for: name, text (what it holds). A capture may have nothing of some. */
PS_API int ps_lib_tables(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error);

/* What was odd in the calls so far: severity ("info", "loss", "error"), who (a rank, or ""), text. Profiles that could not be read are errors. */
PS_API int ps_lib_notes(ps_lib *capture, struct ArrowArrayStream *out, ps_lib_error *error);

/* Another stream over the same rows, from the first on, without a copy. `from` came from this library and is not released. */
PS_API int ps_lib_stream_again(const struct ArrowArrayStream *from, struct ArrowArrayStream *out,
                               ps_lib_error *error);

/* --- studies ------------------------------------------------------------------------------------------------------ */

/* What an analysis of the whole job found: made once, given as tables and in forms for people. */
typedef struct ps_lib_study ps_lib_study;

/* `what` and its options (NULL, or as above; those of ps_lib_open() hold unless they are said again):
 *
 *   "chart"    the pipeline of a step      step=N, pipeline=N, against=SCHEDULE, dark=1     text, svg, html, json
 *   "report"   findings with evidence      step=N (of the chart in it)                      text, html, json
 *   "whatif"   who makes steps slower      without=PART, scale=PART:FACTOR                  text, svg (map of workers), html, json
 *
 * NULL on failure; PS_LIB_NOTHING says what the capture lacks. Free it with ps_lib_study_free(), before or after the capture is closed. */
PS_API ps_lib_study *ps_lib_study_of(ps_lib *capture, const char *what, const char *const *options,
                                     ps_lib_error *error);
PS_API void ps_lib_study_free(ps_lib_study *study); /* NULL is fine */

/* The name of its table number i, from 0; NULL behind the last. Lives as long as the study. */
PS_API const char *ps_lib_study_table_name(const ps_lib_study *study, size_t i);
PS_API int ps_lib_study_table(ps_lib_study *study, const char *name, struct ArrowArrayStream *out,
                              ps_lib_error *error);

/* Bytes of UTF-8 with a zero behind them. */
typedef struct ps_lib_text {
    char *bytes; /* NULL: none */
    size_t size; /* without the zero */
} ps_lib_text;
PS_API void ps_lib_text_free(ps_lib_text *text); /* NULL is fine */

/* The study in one of its forms, free it with ps_lib_text_free(). PS_LIB_UNSUPPORTED: it has no such form; PS_LIB_NOTHING: not for this capture. */
PS_API int ps_lib_study_write(ps_lib_study *study, const char *form, ps_lib_text *out,
                              ps_lib_error *error);
/* Ends the call on the study, or on its capture, that runs in another thread, as ps_lib_stop() does, also when the capture is closed. */
PS_API void ps_lib_study_stop(ps_lib_study *study);

#ifdef __cplusplus
}
#endif
#endif
