/* Readers: one file per format, listed in readers.def. A reader recognises its format by content and fills
 * a ps_trace through a ps_builder; it never sorts, adjusts clocks or writes. */
#ifndef PS_READ_READER_H
#define PS_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/pattern.h"
#include "base/watch.h"
#include "model/trace.h"

typedef struct ps_reader ps_reader;

/* Where one rank's profile lies. All pointers are borrowed. */
typedef struct ps_src {
    const char *path;        /* the file */
    const char *rank_dir;    /* folder with its siblings (profiler_metadata.json ...), or NULL */
    const ps_reader *reader; /* NULL: the one that claims the file */
    int64_t part;            /* of a file that holds several ranks: ps_part.id; else 0 */
    const void *noted;       /* ps_part.noted, or NULL: the reader looks again */
    size_t n_threads; /* for one file, where its reader can use several; 0: one per processor */
    ps_watch *watch;  /* told how far reading has come, and may end it; or NULL */
    const ps_build_watcher *watcher; /* shown what is there so far; or NULL */
} ps_src;

/* One rank inside a file. */
typedef struct ps_part {
    int64_t id;       /* for ps_src.part */
    int64_t rank;     /* -1 unknown */
    const char *host; /* name of the machine, "" unknown; in the arena */
    int32_t machine;  /* its number in a job of several, -1 unknown */
    const char
        *profiler; /* that wrote it, where the file tells of another than the reader does; NULL */
    const char *title; /* what the file calls it; NULL */
    const void *
        noted; /* what the reader wants to know again when it reads the part; in the arena, or NULL */
} ps_part;

struct ps_reader {
    const char *name;     /* --format name, used in messages */
    const char *profiler; /* who wrote it, for people: "PyTorch", "Paddle" */
    const char *summary;  /* one line for `pipescope formats` */
    /* 0 no .. 100 certain, by content: the first PS_HEAD_BYTES (inflated), and the file itself where they do not
     * tell. The name may only break a tie: a renamed file is the same file. */
    int (*sniff)(const char *path, const unsigned char *head, size_t n);
    /* The ranks inside, without reading everything. NULL: one, whose rank the names around it tell. */
    ps_code (*parts)(const char *path, ps_arena *arena, ps_part **parts, size_t *n, ps_err *err);
    /* The same where a person says what in the names of processes is the rank: the first group of the expression. NULL: its files have no
     * processes of several ranks. */
    ps_code (*parts_by_name)(const char *path, ps_pattern *rank_from, ps_arena *arena,
                             ps_part **parts, size_t *n, ps_err *err);
    bool names_ops;   /* every op of a step, communication too (model/worker_ops.h) */
    bool gives_spans; /* has a cheaper way for PS_NEED_DEVICE_SPANS */
    /* Fills the builder with what `needs` (ps_needs bits) asks for. */
    ps_code (*read)(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err);
};

#define PS_HEAD_BYTES ((size_t)65536)

#endif
