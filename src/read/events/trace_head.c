/* A walk over tokens: strings with their escapes, brackets, and which strings are keys. Enough to tell where one is. */
#include "read/events/trace_head.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"

#define MAX_DEPTH 64

typedef struct walk {
    const char *text;
    size_t n, at;
    size_t depth;
    uint64_t objects;   /* bit d: the container at depth d is an object */
    bool in_events;     /* inside the value of traceEvents */
    bool expect_events; /* its bracket comes next */
    bool in_distributed;
    bool has_ph;
    bool has_chunk, has_microbatch; /* as arguments of any event */
    bool has_worker_name;           /* a thread is named after a worker */
    ps_trace_head head;
} walk;

static void skip_blank(walk *w) {
    while (w->at < w->n && (w->text[w->at] == ' ' || w->text[w->at] == '\t' ||
                            w->text[w->at] == '\n' || w->text[w->at] == '\r')) {
        w->at++;
    }
}

/* Over a string that begins here; false when it is cut. */
static bool take_string(walk *w, const char **text, size_t *n) {
    size_t begin = ++w->at;
    while (w->at < w->n && w->text[w->at] != '"') {
        w->at += w->text[w->at] == '\\' ? 2 : 1;
    }
    if (w->at >= w->n) {
        return false;
    }
    *text = w->text + begin;
    *n = w->at++ - begin;
    return true;
}

static bool equals(const char *text, size_t n, const char *word) {
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static bool is_kineto_category(const char *text, size_t n) {
    static const char *const WORDS[] = {
        "cpu_op",          "user_annotation",     "cuda_runtime",      "cuda_driver",
        "gpu_memcpy",      "gpu_memset",          "cuda_sync",         "ac2g",
        "python_function", "gpu_user_annotation", "cpu_instant_event", "async_cpu_to_gpu",
        "async_gpu",       "xpu_runtime",         "mtia_runtime",      "mtia_ccp_events",
        "fwdbwd",          "privateuse1_runtime"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (n == strlen(WORDS[i]) && strncasecmp(text, WORDS[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_head_digit(const walk *w) {
    return w->at < w->n && w->text[w->at] >= '0' && w->text[w->at] <= '9';
}

static int64_t number_here(const walk *w) {
    int64_t value = -1;
    size_t n = 0;
    while (w->at + n < w->n && w->text[w->at + n] >= '0' && w->text[w->at + n] <= '9') {
        n++;
    }
    bool is_whole = w->at + n < w->n; /* else it may go on */
    return is_whole && ps_parse_i64(w->text + w->at, n, &value) ? value : -1;
}

static void take_host(walk *w) {
    const char *host = NULL;
    size_t n = 0;
    walk look = *w;
    if (w->at < w->n && w->text[w->at] == '"' && take_string(&look, &host, &n) &&
        n < sizeof w->head.host && memchr(host, '\\', n) == NULL) {
        memcpy(w->head.host, host, n);
        w->head.host[n] = '\0';
    }
}

/* "PP rank 0, TP rank 0, compute": in a large job the names of all threads may fill the head. */
static bool is_worker_name(const walk *w) {
    static const char BEGIN[] = "PP rank ";
    const char *name = NULL;
    size_t n = 0;
    walk look = *w;
    return w->at < w->n && w->text[w->at] == '"' && take_string(&look, &name, &n) &&
           n >= sizeof BEGIN - 1 && memcmp(name, BEGIN, sizeof BEGIN - 1) == 0 &&
           memmem(name, n, ", TP rank ", 10) != NULL;
}

/* A key; w->at is at its value. */
static void see_key(walk *w, const char *key, size_t n) {
    bool top = w->depth == 1;
    bool is_listed = w->in_events || (w->objects & 1) == 0;
    bool of_event = w->depth == (w->in_events ? 3 : 2) && is_listed;
    bool of_args = w->depth == (w->in_events ? 4 : 3) && is_listed;
    if (top && equals(key, n, "traceEvents")) {
        w->expect_events = w->at < w->n && w->text[w->at] == '[';
        w->head.is_object = w->head.is_object || w->expect_events;
    } else if (top && (equals(key, n, "deviceProperties") || equals(key, n, "distributedInfo") ||
                       (equals(key, n, "schemaVersion") && is_head_digit(w)))) {
        w->head.has_kineto_member = true;
        w->in_distributed = equals(key, n, "distributedInfo");
    } else if (top && equals(key, n, "host_name")) {
        take_host(w);
    } else if (w->in_distributed && w->depth == 2 && equals(key, n, "rank")) {
        w->head.rank = number_here(w);
    } else if (of_event && equals(key, n, "ph")) {
        w->has_ph = true;
    } else if (of_args && equals(key, n, "model_chunk")) {
        w->has_chunk = true;
    } else if (of_args && equals(key, n, "name")) {
        w->has_worker_name = w->has_worker_name || is_worker_name(w);
    } else if (of_args && equals(key, n, "mb_id")) {
        w->has_microbatch = true;
    } else if (of_event && equals(key, n, "cat") && w->at < w->n && w->text[w->at] == '"') {
        const char *cat = NULL;
        size_t cat_n = 0;
        walk look = *w;
        w->head.has_kineto_category =
            w->head.has_kineto_category ||
            (take_string(&look, &cat, &cat_n) && is_kineto_category(cat, cat_n));
    }
}

/* False at a string that is cut. */
static bool step_string(walk *w) {
    const char *text = NULL;
    size_t n = 0;
    bool in_object =
        w->depth > 0 && w->depth <= MAX_DEPTH && (w->objects >> (w->depth - 1) & 1) != 0;
    if (!take_string(w, &text, &n)) {
        return false;
    }
    skip_blank(w);
    if (in_object && w->at < w->n && w->text[w->at] == ':') {
        w->at++;
        skip_blank(w);
        see_key(w, text, n);
    }
    return true;
}

/* False where nothing more is to be learned. */
static bool step_head(walk *w) {
    char c = w->text[w->at];
    if (c == '"') {
        return step_string(w);
    }
    w->at++;
    if (c == '{' || c == '[') {
        uint64_t bit = w->depth < MAX_DEPTH ? (uint64_t)1 << w->depth : 0;
        w->depth++;
        w->objects = c == '{' ? w->objects | bit : w->objects & ~bit;
        w->in_events = w->in_events || w->expect_events;
        w->expect_events = false;
    } else if (c == '}' || c == ']') {
        w->depth--;
        w->in_events = w->in_events && w->depth > 1;
        w->in_distributed = w->in_distributed && w->depth > 1;
    }
    return w->depth > 0;
}

ps_trace_head ps_trace_head_look(const void *bytes, size_t n) {
    walk w = {.text = bytes, .n = n, .head.rank = -1};
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        w.at = 3;
    }
    skip_blank(&w);
    if (w.at < n && (w.text[w.at] == '{' || w.text[w.at] == '[')) {
        while (w.at < w.n && step_head(&w)) {
        }
        w.head.is_array = (w.objects & 1) == 0 && w.has_ph;
        w.head.has_workers = (w.has_chunk && w.has_microbatch) || w.has_worker_name;
    }
    return w.head;
}
