#include "read/chrome/merged_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "base/input.h"
#include "base/num.h"
#include "base/order.h"
#include "read/events/trace_events.h"

#define MOST_BYTES ((size_t)8 << 30)
#define LOOK_BYTES ((size_t)65536)
#define NO_PROCESS UINT32_MAX

/* What names of ranks look like, and what those of workers whose rank they do not say. */
#define RANK_RE "(?i)(?<![a-z])rank[\\s:=_\\-\\[(#]*(\\d+)"
#define WORKER_RE "(?i)(?<![a-z])(?:worker|trainer|replica|stage|[dpt]p)[\\s:=_\\-\\[(#]*\\d+"

typedef struct process {
    const char *name, *labels; /* in the arena, "" none */
    size_t n_events;           /* that are no metadata */
    int64_t rank;              /* -1 untold */
} process;

/* Where an event lies: from its '{' to that of the next one. */
typedef struct place {
    uint64_t offset;
    uint32_t process;
} place;

typedef struct cutting {
    ps_arena *arena;
    ps_buf text; /* the whole file */
    process *processes;
    size_t n_processes, cap_processes;
    ps_idmap numbers; /* key of a pid -> row in processes */
    ps_idmap texts;   /* hash of a text pid -> row in processes */
    place *places;
    size_t n_places, cap_places;
    ps_err *err;
} cutting;

/* --- processes and places ---------------------------------------------------------------------------------------------- */

static uint32_t process_of(cutting *k, const ps_event_batch *b, const ps_event *e) {
    bool is_text = (e->flags & PS_EVENT_PID_TEXT) != 0;
    uint64_t key = (uint64_t)e->pid;
    if (is_text) {
        const ps_event_text *t = &b->texts[e->pid];
        key = 14695981039346656037u; /* FNV-1a */
        for (uint32_t i = 0; i < t->n; i++) {
            key = (key ^ (unsigned char)t->bytes[i]) * 1099511628211u;
        }
    }
    ps_idmap *map = is_text ? &k->texts : &k->numbers;
    uint32_t row = ps_idmap_get(map, key);
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    if (!ps_grow(&k->processes, &k->cap_processes, k->n_processes + 1, NO_PROCESS,
                 sizeof *k->processes) ||
        !ps_idmap_put(map, key, (uint32_t)k->n_processes)) {
        return NO_PROCESS;
    }
    k->processes[k->n_processes] = (process){.name = "", .labels = "", .rank = -1};
    return (uint32_t)k->n_processes++;
}

static const char *text_arg(const cutting *k, const ps_event_batch *b, const ps_event *e,
                            const char *key) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        const ps_event_arg *arg = &b->args[e->first_arg + i];
        const ps_event_text *name = &b->texts[arg->key];
        if (arg->type == PS_ARG_STR && name->n == strlen(key) &&
            memcmp(name->bytes, key, name->n) == 0) {
            const ps_event_text *t = &b->texts[arg->u.text];
            return ps_arena_strndup(k->arena, t->bytes, t->n < 1024 ? t->n : 1024);
        }
    }
    return "";
}

static bool is_named_event(const ps_event_batch *b, const ps_event *e, const char *name) {
    const ps_event_text *t = &b->texts[e->name];
    return t->n == strlen(name) && memcmp(t->bytes, name, t->n) == 0;
}

/* False when memory is out. */
static bool note_event(cutting *k, const ps_event_batch *b, const ps_event *e) {
    uint32_t row = process_of(k, b, e);
    if (row == NO_PROCESS || !ps_grow(&k->places, &k->cap_places, k->n_places + 1,
                                      SIZE_MAX / sizeof *k->places, sizeof *k->places)) {
        return false;
    }
    k->places[k->n_places++] = (place){e->offset, row};
    process *p = &k->processes[row];
    p->n_events += e->ph != 'M';
    if (e->ph == 'M' && is_named_event(b, e, "process_name")) {
        p->name = text_arg(k, b, e, "name");
    } else if (e->ph == 'M' && is_named_event(b, e, "process_labels")) {
        p->labels = text_arg(k, b, e, "labels");
    }
    return p->name != NULL && p->labels != NULL;
}

static ps_code note_batch(void *context, const ps_event_batch *b, ps_err *err) {
    cutting *k = context;
    bool ok = true;
    for (size_t i = 0; ok && i < b->n_events; i++) {
        ok = note_event(k, b, &b->events[i]);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

static ps_code read_whole(cutting *k, const char *path) {
    ps_input *in = ps_input_open(path, k->err);
    if (in == NULL) {
        return k->err->code;
    }
    char *chunk = ps_calloc(1, LOOK_BYTES);
    size_t n = 1;
    ps_code code = chunk != NULL ? PS_OK : ps_fail_nomem(k->err);
    while (code == PS_OK && n > 0) {
        code = ps_input_read(in, chunk, LOOK_BYTES, &n, k->err);
        if (code == PS_OK && k->text.len + n > MOST_BYTES) {
            code =
                ps_fail_file(k->err, PS_RANGE, path,
                             "a merged file of more than 8 GiB: cut it into files of a rank each");
        } else if (code == PS_OK) {
            ps_buf_add(&k->text, chunk, n);
            code = ps_buf_ok(&k->text) ? PS_OK : ps_fail_nomem(k->err);
        }
    }
    ps_free(chunk);
    ps_input_close(in);
    return code;
}

static ps_code note_places(cutting *k) {
    static const char *const WANTED[] = {NULL};
    const ps_event_schema schema = {.wanted = WANTED};
    const ps_event_sink sink = {.context = k, .batch = note_batch};
    ps_diag *diag = ps_calloc(1, sizeof *diag); /* what is odd is told when a rank is read */
    ps_event_stats stats;
    ps_input *in = diag != NULL ? ps_input_of_memory(k->text.data, k->text.len, k->err) : NULL;
    ps_code code = in == NULL ? ps_fail_nomem(k->err)
                              : ps_trace_events_read(in, &schema, &sink, 0, diag, &stats, k->err);
    ps_input_close(in);
    ps_free(diag);
    return code;
}

/* --- ranks ------------------------------------------------------------------------------------------------------------ */

static int64_t rank_in_text(ps_pattern *re, const char *text) {
    ps_pattern_group group[2];
    int64_t rank = -1;
    if (!ps_pattern_find(re, text, strlen(text), group) || !group[1].took_part ||
        !ps_parse_i64(text + group[1].begin, group[1].end - group[1].begin, &rank) ||
        rank > INT32_MAX) {
        return -1;
    }
    return rank;
}

/* How many different ranks there are, at most 2; *code: the pattern ended. */
static size_t place_processes(cutting *k, ps_pattern *re) {
    int64_t first = -1;
    size_t n = 0;
    for (size_t i = 0; i < k->n_processes; i++) {
        process *p = &k->processes[i];
        p->rank = rank_in_text(re, p->name);
        p->rank = p->rank < 0 ? rank_in_text(re, p->labels) : p->rank;
        if (p->rank >= 0 && p->n_events > 0 && (n == 0 || p->rank != first)) {
            first = n == 0 ? p->rank : first;
            n = n == 0 ? 1 : 2;
        }
    }
    return n;
}

/* Several processes with events that call themselves workers: they are ranks, and nobody says which. */
static ps_code refuse_workers(const cutting *k, const char *path) {
    const char *seen[2] = {NULL, NULL};
    size_t n = 0;
    ps_pattern *re =
        ps_pattern_new(WORKER_RE, strlen(WORKER_RE), PS_PATTERN_REGEX | PS_PATTERN_CASE, k->err);
    if (re == NULL) {
        return k->err->code;
    }
    for (size_t i = 0; i < k->n_processes && n < 2; i++) {
        const process *p = &k->processes[i];
        const char *name = ps_pattern_in(re, p->name, strlen(p->name)) ? p->name : p->labels;
        if (p->n_events > 0 && ps_pattern_in(re, name, strlen(name)) &&
            (n == 0 || strcmp(seen[0], name) != 0)) {
            seen[n++] = name;
        }
    }
    ps_pattern_free(re);
    return n < 2
               ? PS_OK
               : ps_fail_file(
                     k->err, PS_SYNTAX, path,
                     "its processes look like workers of one job ('%.60s', '%.60s'), and their ranks are "
                     "not told: --rank-from RE takes them from the names, for example "
                     "--rank-from '([0-9]+)'",
                     seen[0], seen[1]);
}

/* --- one document a rank ------------------------------------------------------------------------------------------------- */

PS_COMPARE(order_merged_ranks, ps_merged_rank, PS_BY(rank))

static ps_merged_rank *rank_of_number(ps_merged_file *f, int64_t rank) {
    for (size_t i = 0; i < f->n_ranks; i++) {
        if (f->ranks[i].rank == rank) {
            return &f->ranks[i];
        }
    }
    return NULL;
}

static bool list_ranks(const cutting *k, ps_merged_file *f) {
    f->ranks = ps_arena_alloc(k->arena, (k->n_processes + 1) * sizeof *f->ranks);
    for (size_t i = 0; f->ranks != NULL && i < k->n_processes; i++) {
        const process *p = &k->processes[i];
        if (p->rank < 0) {
            f->n_unplaced += p->n_events > 0;
            f->unplaced = p->n_events > 0 && f->unplaced == NULL ? p->name : f->unplaced;
        } else if (rank_of_number(f, p->rank) == NULL) {
            f->ranks[f->n_ranks++] = (ps_merged_rank){
                .rank = p->rank, .title = p->name[0] != '\0' ? p->name : p->labels};
        }
    }
    if (f->ranks != NULL && f->n_ranks > 1) {
        qsort(f->ranks, f->n_ranks, sizeof *f->ranks, order_merged_ranks);
    }
    return f->ranks != NULL;
}

/* The text of event i without what stands between it and the next one. */
static size_t event_length(const cutting *k, size_t i) {
    size_t from = (size_t)k->places[i].offset;
    size_t to = i + 1 < k->n_places ? (size_t)k->places[i + 1].offset : k->text.len;
    const char *text = ps_buf_str(&k->text);
    int depth = 0;
    bool quoted = false;
    if (i + 1 == k->n_places) { /* behind the last one stand closing brackets and members */
        for (size_t at = from; at < to; at++) {
            char c = text[at];
            at += quoted && c == '\\';
            quoted = c == '"' ? !quoted : quoted;
            depth += quoted || (c != '{' && c != '}') ? 0 : c == '{' ? 1 : -1;
            if (depth == 0 && !quoted && c == '}') {
                return at + 1 - from;
            }
        }
        return 0; /* cut off */
    }
    while (to > from && text[to - 1] != '}') {
        to--;
    }
    return to - from;
}

static ps_code cut_ranks(const cutting *k, ps_merged_file *f) {
    char **ends = ps_calloc(f->n_ranks + 1, sizeof *ends);
    bool ok = ends != NULL;
    for (int pass = 0; ok && pass < 2; pass++) { /* how long, then the text */
        for (size_t i = 0; i < k->n_places; i++) {
            int64_t rank = k->processes[k->places[i].process].rank;
            size_t n = rank >= 0 ? event_length(k, i) : 0;
            ps_merged_rank *r = n > 0 ? rank_of_number(f, rank) : NULL;
            if (r != NULL && pass == 0) {
                r->n += n + 2;
            } else if (r != NULL) {
                char **end = &ends[r - f->ranks];
                memcpy(*end, ps_buf_str(&k->text) + k->places[i].offset, n);
                memcpy(*end + n, ",\n", 2);
                *end += n + 2;
            }
        }
        for (size_t i = 0; ok && pass == 0 && i < f->n_ranks; i++) {
            ends[i] = ps_arena_alloc(k->arena, f->ranks[i].n + 2);
            ok = ends[i] != NULL;
            f->ranks[i].json = ends[i];
            if (ok) {
                *ends[i]++ = '[';
            }
        }
    }
    for (size_t i = 0; ok && i < f->n_ranks; i++) {
        ends[i][-2] = ']'; /* the comma behind the last one */
        f->ranks[i].n = (size_t)(ends[i] - f->ranks[i].json) - 1;
    }
    ps_free(ends);
    return ok ? PS_OK : ps_fail_nomem(k->err);
}

static ps_code cut_file(cutting *k, const char *path, ps_pattern *re, bool is_own,
                        const ps_merged_file **out) {
    ps_merged_file *f = ps_arena_alloc(k->arena, sizeof *f);
    if (f == NULL) {
        return ps_fail_nomem(k->err);
    }
    *f = (ps_merged_file){0};
    ps_code code = ps_file_identify(path, &f->id, k->err);
    code = code == PS_OK ? read_whole(k, path) : code;
    code = code == PS_OK ? note_places(k) : code;
    size_t n = code == PS_OK ? place_processes(k, re) : 0;
    if (code == PS_OK && ps_pattern_ended(re) != PS_OK) {
        return ps_fail(k->err, ps_pattern_ended(re), "--rank-from: the expression costs too much");
    }
    if (code == PS_OK && n < 2) {
        return is_own ? refuse_workers(k, path) : PS_OK;
    }
    code = code == PS_OK && !list_ranks(k, f) ? ps_fail_nomem(k->err) : code;
    code = code == PS_OK ? cut_ranks(k, f) : code;
    *out = code == PS_OK ? f : NULL;
    return code;
}

ps_code ps_merged_file_read(const char *path, ps_pattern *rank_from, ps_arena *arena,
                            const ps_merged_file **out, ps_err *err) {
    ps_err here = PS_ERR_INIT;
    cutting k = {.arena = arena, .err = &here};
    *out = NULL;
    ps_buf_init(&k.text, MOST_BYTES + LOOK_BYTES);
    ps_idmap_init(&k.numbers);
    ps_idmap_init(&k.texts);
    ps_pattern *own = rank_from == NULL ? ps_pattern_new(RANK_RE, strlen(RANK_RE),
                                                         PS_PATTERN_REGEX | PS_PATTERN_CASE, &here)
                                        : NULL;
    ps_pattern *re = rank_from != NULL ? rank_from : own;
    ps_code code = re != NULL ? cut_file(&k, path, re, own != NULL, out) : here.code;
    ps_pattern_free(own);
    ps_buf_fini(&k.text);
    ps_idmap_fini(&k.numbers);
    ps_idmap_fini(&k.texts);
    ps_free(k.processes);
    ps_free(k.places);
    if (code != PS_OK && err != NULL) {
        *err = here;
    }
    return code;
}

/* --- a first look ------------------------------------------------------------------------------------------------------- */

typedef enum names { NO_NAMES, OTHER_NAMES, RANK_NAMES } names;

/* How a piece of the file names processes. */
static names names_processes(const char *text, size_t n, ps_pattern *rank, ps_pattern *worker) {
    static const char *const EVENTS[] = {"\"process_name\"", "\"process_labels\""};
    names found = NO_NAMES;
    for (size_t e = 0; e < sizeof EVENTS / sizeof *EVENTS; e++) {
        const char *at = text;
        const char *end = text + n;
        while (found != RANK_NAMES &&
               (at = memmem(at, (size_t)(end - at), EVENTS[e], strlen(EVENTS[e]))) != NULL) {
            at += strlen(EVENTS[e]);
            size_t room = (size_t)(end - at) < 300 ? (size_t)(end - at) : 300;
            bool is_rank = ps_pattern_in(rank, at, room) || ps_pattern_in(worker, at, room);
            found = is_rank ? RANK_NAMES : OTHER_NAMES;
        }
    }
    return found;
}

/* The last bytes of what is inflated from its beginning. */
static size_t inflate_tail(ps_input *in, char *out, ps_err *err) {
    char *chunk = ps_calloc(1, LOOK_BYTES);
    size_t kept = 0;
    size_t n = 1;
    while (chunk != NULL && n > 0 && ps_input_read(in, chunk, LOOK_BYTES, &n, err) == PS_OK) {
        size_t old = kept + n > LOOK_BYTES ? LOOK_BYTES - n : kept;
        memmove(out, out + kept - old, old);
        memcpy(out + old, chunk, n);
        kept = old + n;
    }
    ps_free(chunk);
    return kept;
}

static size_t read_tail(const char *path, char *out, ps_err *err) {
    ps_input *in = ps_input_open(path, err);
    size_t n = 0;
    if (in != NULL && ps_input_is_gzip(in)) {
        n = inflate_tail(in, out, err);
    } else if (in != NULL) {
        FILE *file = fopen(path, "rb");
        bool ok = file != NULL && fseeko(file, -(off_t)LOOK_BYTES, SEEK_END) == 0;
        n = ok ? fread(out, 1, LOOK_BYTES, file) : 0;
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    ps_input_close(in);
    return n;
}

bool ps_merged_file_may_be(const char *path) {
    ps_err err = PS_ERR_INIT;
    char *text = ps_calloc(1, LOOK_BYTES);
    size_t n = 0;
    ps_pattern *rank =
        ps_pattern_new(RANK_RE, strlen(RANK_RE), PS_PATTERN_REGEX | PS_PATTERN_CASE, &err);
    ps_pattern *worker =
        ps_pattern_new(WORKER_RE, strlen(WORKER_RE), PS_PATTERN_REGEX | PS_PATTERN_CASE, &err);
    names found = NO_NAMES;
    if (text != NULL && rank != NULL && worker != NULL &&
        ps_input_head(path, text, LOOK_BYTES, &n, &err) == PS_OK) {
        found = names_processes(text, n, rank, worker);
        if (found == NO_NAMES && n == LOOK_BYTES) { /* they may stand behind all events */
            n = read_tail(path, text, &err);
            found = names_processes(text, n, rank, worker);
        }
    }
    ps_pattern_free(rank);
    ps_pattern_free(worker);
    ps_free(text);
    return found == RANK_NAMES;
}
