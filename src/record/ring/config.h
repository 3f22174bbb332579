/* The options of a recording (options.def), checked. Values set by ps_record_set() win over the environment, which wins
 * over the defaults. A value that makes no sense is replaced by the default and named in the log. */
#ifndef PS_RECORD_CONFIG_H
#define PS_RECORD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "record/ring/config_texts.h"

enum { PS_BACKEND_AUTO, PS_BACKEND_HOST, PS_BACKEND_CUDA_EVENT, PS_BACKEND_CUPTI };
enum { PS_LEVEL_NONE = -1, PS_LEVEL_0, PS_LEVEL_1, PS_LEVEL_2 };

typedef struct ps_rec_config {
    char output_dir[4096];
    char worker[256]; /* <host>_<pid> or as given, without '/' */
    char launch[64];
    int rank;                  /* -1 unknown */
    const char *rank_source;   /* "rank", "RANK", ...: where it came from, "" unknown */
    int world_size;            /* of the job, as its launcher says; 0 unknown */
    int backend, level, clock; /* PS_BACKEND_, PS_LEVEL_; clock -1 auto or PS_CLOCK_ */
    bool record, mstx_strict, keep_raw, export_text, follow_fork, quiet, nccl_marks, whole_graphs;
    bool has_window;
    int64_t window_first, window_end; /* half-open */
    int64_t device_id;
    int nvtx_push_pop_type;
    uint64_t ring_slots, max_bytes, event_pool;
    uint64_t max_disk; /* bytes, 0 no limit */
    unsigned exit_timeout_s;
    /* Texts of any length, valid as long as the process. */
    const char *domain_include, *domain_exclude, *nvtx_stream, *nvtx_chain, *cuda_library,
        *cupti_path, *correlate;
} ps_rec_config;

/* Whether the option is known and would take the value; NULL is always taken. */
bool ps_rec_config_takes(const char *option, const char *value);

/* Reads all options. */
void ps_rec_config_read(ps_rec_config *out);

/* An option that is on or off, alone. */
bool ps_rec_config_is_on(const char *option);

/* The option "window" alone; false when there is none or it makes no sense. */
bool ps_rec_config_window(int64_t *first, int64_t *end);

/* All options that differ from their defaults as a JSON object. */
void ps_rec_config_json(ps_buf *out);

/* `path` from the root, "/..." itself; false when that is too long for a folder with files in it. */
bool ps_rec_config_absolute(const char *path, char out[static 4096]);

#endif
