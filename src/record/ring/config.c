/* Values of options, out of their texts (config_texts.h). */
#include "record/ring/config.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/num.h"
#include "record/ring/format.h"
#include "record/ring/log.h"
#include "record/ring/signal_lock.h"

/* The names of a worker and a launch are parts of paths. */
enum { MAX_WORKER = 226, MAX_LAUNCH = 63, MIN_RING_SLOTS = 1024, MAX_RING_SLOTS = 1 << 24 };
#define MIN_BYTES (UINT64_C(1) << 20)
#define MAX_BYTES (UINT64_C(1) << 40)

/* --- what a value says ----------------------------------------------------------------------------------------------- */

/* One of `words`, ended by NULL; its index plus `first`. */
static bool parse_word(const char *s, const char *const *words, int first, int *out) {
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(s, words[i]) == 0) {
            *out = first + i;
            return true;
        }
    }
    return false;
}

static bool parse_int(const char *s, int64_t low, int64_t high, int64_t *out) {
    int64_t v = 0;
    if (!ps_parse_i64(s, strlen(s), &v) || v < low || v > high) {
        return false;
    }
    *out = v;
    return true;
}

/* A number of bytes, also with K, M or G behind it. */
static bool parse_bytes(const char *s, uint64_t *out) {
    size_t n = strlen(s);
    unsigned shift = 0;
    if (n > 1) {
        switch (s[n - 1]) {
        case 'K':
        case 'k':
            shift = 10;
            break;
        case 'M':
        case 'm':
            shift = 20;
            break;
        case 'G':
        case 'g':
            shift = 30;
            break;
        default:
            break;
        }
    }
    int64_t v = 0;
    if (!ps_parse_i64(s, shift > 0 ? n - 1 : n, &v) || v < 0 ||
        (uint64_t)v > (MAX_BYTES >> shift) || ((uint64_t)v << shift) < MIN_BYTES) {
        return false;
    }
    *out = (uint64_t)v << shift;
    return true;
}

/* A power of two: others are rounded up. */
static bool parse_slots(const char *s, uint64_t *out) {
    int64_t v = 0;
    if (!parse_int(s, MIN_RING_SLOTS, MAX_RING_SLOTS, &v)) {
        return false;
    }
    uint64_t slots = MIN_RING_SLOTS;
    while (slots < (uint64_t)v) {
        slots *= 2;
    }
    *out = slots;
    return true;
}

/* "A:B", "A:" without end, ":B" from 0. */
static bool parse_window(const char *s, ps_rec_config *out) {
    const char *colon = strchr(s, ':');
    int64_t first = 0;
    int64_t end = INT64_MAX;
    if (colon == NULL || (colon == s && colon[1] == '\0')) {
        return false;
    }
    if (colon != s && !ps_parse_i64(s, (size_t)(colon - s), &first)) {
        return false;
    }
    if (colon[1] != '\0' && !ps_parse_i64(colon + 1, strlen(colon + 1), &end)) {
        return false;
    }
    if (first < 0 || first >= end) {
        return false;
    }
    out->has_window = true;
    out->window_first = first;
    out->window_end = end;
    return true;
}

/* A name that becomes part of a path: '/' and what is not printable become '_'. */
static bool parse_name(const char *s, size_t max, char *out) {
    size_t n = strlen(s);
    if (n > max || strcmp(s, ".") == 0 || strcmp(s, "..") == 0) {
        return false;
    }
    for (size_t i = 0; i <= n; i++) {
        bool odd = s[i] == '/' || (s[i] != '\0' && (unsigned char)s[i] < ' ');
        out[i] = odd ? '_' : s[i];
    }
    return true;
}

static bool parse_level(const char *s, int *out) {
    static const char *const SHORT[] = {"none", "0", "1", "2", NULL};
    static const char *const LONG[] = {"Level_none", "Level0", "Level1", "Level2", NULL};
    return parse_word(s, SHORT, PS_LEVEL_NONE, out) || parse_word(s, LONG, PS_LEVEL_NONE, out);
}

static bool parse_clock(const char *s, int *out) {
    static const char *const WORDS[] = {"auto", "monotonic", "tsc", "arm", NULL};
    return parse_word(s, WORDS, -1, out);
}

static bool parse_export_type(const char *s, bool *text) {
    *text = strcmp(s, "db,text") == 0 || strcmp(s, "text,db") == 0 || strcmp(s, "text") == 0;
    return *text || strcmp(s, "db") == 0;
}

static bool parse_graphs(const char *s, bool *whole) {
    *whole = strcmp(s, "whole") == 0;
    return *whole || strcmp(s, "kernels") == 0;
}

/* Numbers into their places: options whose text is a whole number between two others. */
static bool parse_option_number(int option, const char *s, ps_rec_config *out) {
    int64_t v = 0;
    switch (option) {
    case PS_OPT_rank:
        if (!parse_int(s, -1, INT_MAX, &v)) {
            return false;
        }
        out->rank = (int)v;
        return true;
    case PS_OPT_device_id:
        return parse_int(s, 0, UINT32_MAX, &out->device_id);
    case PS_OPT_nvtx_push_pop_type:
        if (!parse_int(s, 1, 2, &v)) {
            return false;
        }
        out->nvtx_push_pop_type = (int)v;
        return true;
    case PS_OPT_exit_timeout_s:
        if (!parse_int(s, 0, 86400, &v)) {
            return false;
        }
        out->exit_timeout_s = (unsigned)v;
        return true;
    case PS_OPT_event_pool:
        if (!parse_int(s, 2, 1 << 24, &v)) {
            return false;
        }
        out->event_pool = (uint64_t)v;
        return true;
    default:
        return false;
    }
}

/* Made absolute: the program may change its directory while it is recorded. */
bool ps_rec_config_absolute(const char *s, char out[static 4096]) {
    enum { MAX_DIR = 4096 - 512 }; /* room for the folder's own name and its files */
    char here[MAX_DIR] = "";
    if (s[0] == '\0') {
        return false;
    }
    if (s[0] != '/' && getcwd(here, sizeof here) == NULL) {
        here[0] = '\0';
    }
    while (s[0] == '.' && s[1] == '/' && here[0] != '\0') {
        s += 2;
    }
    bool only_here = here[0] != '\0' && (s[0] == '\0' || strcmp(s, ".") == 0);
    int n = only_here         ? snprintf(out, MAX_DIR, "%s", here)
            : here[0] == '\0' ? snprintf(out, MAX_DIR, "%s", s)
                              : snprintf(out, MAX_DIR, "%s/%s", here, s);
    return n > 0 && n < MAX_DIR;
}

/* Puts the option's value into its place; false when the text makes no sense. An empty text is the default of options that
 * have none. */
static bool parse_option(int option, const char *s, ps_rec_config *out) {
    static const char *const BACKENDS[] = {"auto", "host", "cuda_event", "cupti", NULL};
    switch (option) {
    case PS_OPT_output_dir:
        return ps_rec_config_absolute(s, out->output_dir);
    case PS_OPT_worker:
        return parse_name(s, MAX_WORKER, out->worker);
    case PS_OPT_launch:
        return parse_name(s, MAX_LAUNCH, out->launch);
    case PS_OPT_backend:
        return parse_word(s, BACKENDS, PS_BACKEND_AUTO, &out->backend);
    case PS_OPT_level:
        return parse_level(s, &out->level);
    case PS_OPT_clock:
        return parse_clock(s, &out->clock);
    case PS_OPT_window:
        return s[0] == '\0' || parse_window(s, out);
    case PS_OPT_export_type:
        return parse_export_type(s, &out->export_text);
    case PS_OPT_ring_slots:
        return parse_slots(s, &out->ring_slots);
    case PS_OPT_max_bytes:
        return parse_bytes(s, &out->max_bytes);
    case PS_OPT_max_disk:
        out->max_disk = 0;
        return strcmp(s, "0") == 0 || parse_bytes(s, &out->max_disk);
    case PS_OPT_rank:
        return s[0] == '\0' || parse_option_number(option, s, out);
    case PS_OPT_record:
        return ps_rec_parse_bool(s, &out->record);
    case PS_OPT_mstx_strict:
        return ps_rec_parse_bool(s, &out->mstx_strict);
    case PS_OPT_keep_raw:
        return ps_rec_parse_bool(s, &out->keep_raw);
    case PS_OPT_follow_fork:
        return ps_rec_parse_bool(s, &out->follow_fork);
    case PS_OPT_quiet:
        return ps_rec_parse_bool(s, &out->quiet);
    case PS_OPT_nccl_marks:
        return ps_rec_parse_bool(s, &out->nccl_marks);
    case PS_OPT_cuda_graphs:
        return parse_graphs(s, &out->whole_graphs);
    case PS_OPT_device_id:
    case PS_OPT_nvtx_push_pop_type:
    case PS_OPT_exit_timeout_s:
    case PS_OPT_event_pool:
        return parse_option_number(option, s, out);
    case PS_OPT_domain_include: /* these are any text, taken as it stands */
    case PS_OPT_domain_exclude:
    case PS_OPT_nvtx_stream:
    case PS_OPT_nvtx_chain:
    case PS_OPT_cuda_library:
    case PS_OPT_cupti_path:
    case PS_OPT_correlate:
        return true;
    default:
        return false; /* an option without a case stores nothing: none of its texts makes sense */
    }
}

/* --- reading all ----------------------------------------------------------------------------------------------------- */

/* Launchers say the rank, and how many there are, in variables of their own. */
static const struct {
    const char *rank, *size;
} LAUNCHERS[] = {{"RANK", "WORLD_SIZE"},
                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 {"SLURM_PROCID", "SLURM_NTASKS"},
                 {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"}};
enum { N_LAUNCHERS = sizeof LAUNCHERS / sizeof *LAUNCHERS };

static bool read_variable(const char *name, int64_t least, int *out) {
    const char *value = ps_rec_environment(name);
    int64_t number = 0;
    bool ok = value != NULL && parse_int(value, least, INT_MAX, &number);
    *out = ok ? (int)number : *out;
    return ok;
}

/* The size is that of the launcher that said the rank: a job inside of another's finds the variables of both. */
static void find_rank(ps_rec_config *out) {
    bool is_given = out->rank >= 0;
    out->rank_source = is_given ? "rank" : "";
    for (size_t i = 0; i < N_LAUNCHERS; i++) {
        if (!is_given && read_variable(LAUNCHERS[i].rank, 0, &out->rank)) {
            out->rank_source = LAUNCHERS[i].rank;
        }
        bool is_its = is_given || out->rank >= 0;
        if (is_its && read_variable(LAUNCHERS[i].size, 1, &out->world_size)) {
            break;
        }
        if (is_its && !is_given) {
            break;
        }
    }
    if (out->world_size <= out->rank) { /* of something else */
        out->world_size = 0;
    }
}

static void default_worker(char out[static 256]) {
    char host[200] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') {
        memcpy(host, "host", sizeof "host");
    }
    char name[256];
    (void)snprintf(name, sizeof name, "%s_%ld", host, (long)getpid());
    (void)parse_name(name, sizeof name - 1, out);
}

void ps_rec_config_read(ps_rec_config *out) {
    *out = (ps_rec_config){.rank = -1, .rank_source = "", .clock = -1};
    const char *texts[PS_N_OPTIONS];
    ps_rec_option_look();
    for (int i = 0; i < PS_N_OPTIONS; i++) {
        texts[i] = ps_rec_option_text(i);
        if (!parse_option(i, texts[i], out)) {
            ps_rec_log("the option %s (%s) cannot be \"%.200s\": taken as \"%s\"",
                       ps_rec_options[i].name, ps_rec_options[i].environment, texts[i],
                       ps_rec_options[i].fallback);
            texts[i] = ps_rec_options[i].fallback;
            (void)parse_option(i, texts[i], out);
        }
    }
    find_rank(out);
    if (out->worker[0] == '\0') {
        default_worker(out->worker);
    }
    out->domain_include = texts[PS_OPT_domain_include];
    out->domain_exclude = texts[PS_OPT_domain_exclude];
    out->nvtx_stream = texts[PS_OPT_nvtx_stream];
    out->nvtx_chain = texts[PS_OPT_nvtx_chain];
    out->cuda_library = texts[PS_OPT_cuda_library];
    out->cupti_path = texts[PS_OPT_cupti_path];
    out->correlate = texts[PS_OPT_correlate];
}

bool ps_rec_config_is_on(const char *option) {
    bool on = false;
    return ps_rec_parse_bool(ps_rec_config_text(option), &on) && on;
}

bool ps_rec_config_window(int64_t *first, int64_t *end) {
    ps_rec_config scratch = {0};
    const char *text = ps_rec_option_text(PS_OPT_window);
    if (text[0] == '\0' || !parse_window(text, &scratch)) {
        return false;
    }
    *first = scratch.window_first;
    *end = scratch.window_end;
    return true;
}

bool ps_rec_config_takes(const char *option, const char *value) {
    ps_rec_config scratch = {0};
    int i = ps_rec_option_named(option);
    return i >= 0 && (value == NULL || parse_option(i, value, &scratch));
}

void ps_rec_config_json(ps_buf *out) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    for (int i = 0; i < PS_N_OPTIONS; i++) {
        const char *text = ps_rec_option_text(i);
        if (strcmp(text, ps_rec_options[i].fallback) != 0) {
            ps_json_name(&j, ps_rec_options[i].name, strlen(ps_rec_options[i].name));
            ps_json_str(&j, text);
        }
    }
    ps_json_close(&j);
}
