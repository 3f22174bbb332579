/* SQLite exports of NVIDIA Nsight Systems (`nsys export --type sqlite`).
 *
 *   StringIds(id, value)   NVTX_EVENTS(start, end, eventType, text, textId, globalTid, ...)
 *   CUPTI_ACTIVITY_KIND_RUNTIME, _KERNEL, _MEMCPY, ...   TARGET_INFO_*   META_DATA_EXPORT(name, value)
 *
 * Every release has other tables and columns, and a table without rows is not there at all: what is missing reads as
 * nothing. Times count from the start of the capture on one axis for host and device; TARGET_INFO_SESSION_START_TIME
 * says when that was. A file may hold several processes, each of them usually a rank: the parts.
 *
 * One pass over each table, two over NVTX_EVENTS. Order: texts, ranges, calls, device work, memory, names. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "read/nsight/nsight_cuda.h"
#include "read/nsight/nsight_file.h"
#include "read/nsight/nsight_info.h"
#include "read/nsight/nsight_nvtx.h"
#include "read/reader.h"

#define N(array) (sizeof(array) / sizeof *(array))

/* --- recognising ----------------------------------------------------------------------------------------- */

static bool is_one_of_ours(const char *table) {
    return strcmp(table, "NVTX_EVENTS") == 0 || strcmp(table, "META_DATA_EXPORT") == 0 ||
           strncmp(table, "CUPTI_ACTIVITY_KIND_", 20) == 0 ||
           strncmp(table, "TARGET_INFO_", 12) == 0;
}

/* False when page 1 holds the whole schema and no StringIds is in it: then nobody needs to open and lock the file. */
static bool may_be_ours(const unsigned char *head, size_t n) {
    if (n < 128 || memcmp(head, "SQLite format 3", 16) != 0) {
        return false;
    }
    size_t page_size = (size_t)head[16] << 8 | head[17];
    page_size = page_size == 1 ? 65536 : page_size;
    bool has_wal = head[18] != 1 || head[19] != 1; /* a newer page 1 may be elsewhere */
    bool is_utf8 = head[59] == 1;
    bool is_leaf = head[100] == 0x0D;
    bool all_there = !has_wal && is_utf8 && is_leaf && page_size <= n;
    return !all_there || memmem(head, page_size, "StringIds", 9) != NULL;
}

static int sniff_nsight(const char *path, const unsigned char *head, size_t n) {
    if (!may_be_ours(head, n)) {
        return 0;
    }
    ps_db *db = ps_db_open(path, NULL);
    if (db == NULL) {
        return 0; /* whoever reads it says why */
    }
    bool ours = false;
    if (ps_db_has_table(db, "StringIds")) {
        size_t n_tables = 0;
        const char *const *tables = ps_db_tables(db, &n_tables);
        for (size_t i = 0; i < n_tables && !ours; i++) {
            ours = is_one_of_ours(tables[i]);
        }
    }
    ps_db_close(db);
    return ours ? 90 : 0;
}

/* --- parts ----------------------------------------------------------------------------------------------- */

#define NO_GPU INT64_MIN
#define MANY_GPUS (INT64_MIN + 1)
/* Reading a part goes through the whole file, so there are not as many as somebody puts processes into it: what comes
 * behind the others in the order of ranks is one part. */
#define MAX_PARTS ((size_t)256)

/* What is known of a process while the parts are listed; by row of ps_nsight.processes. */
typedef struct candidate {
    bool is_active;
    int64_t gpu;      /* the only one it worked on, NO_GPU, MANY_GPUS */
    const char *host; /* in the caller's arena */
    ps_part part;
} candidate;

typedef struct part_scan {
    ps_nsight n;
    candidate *found;
    size_t n_found, cap_found;
    bool is_device;
    int64_t last_key; /* of the row before: rows of one process stand together */
    int64_t last_device;
} part_scan;

static const char *const HOST_COLUMNS[] = {"globalTid"};
static const char *const DEVICE_COLUMNS[] = {"globalPid", "deviceId"};
static const char *const DEVICE_TABLES[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};

static candidate *candidate_of(part_scan *s, int64_t key) {
    uint32_t row = ps_nsight_process_row(&s->n, key);
    if (row == PS_NONE ||
        !ps_grow(&s->found, &s->cap_found, (size_t)row + 1, PS_NONE, sizeof *s->found)) {
        return NULL;
    }
    while (s->n_found <= row) {
        s->found[s->n_found++] = (candidate){.gpu = NO_GPU};
    }
    return &s->found[row];
}

static ps_code note_active(void *context, int64_t global_id, ps_err *err) {
    int64_t key = ps_nsight_process_key(global_id);
    if (key == 0) {
        return PS_OK; /* an export that does not say */
    }
    candidate *c = candidate_of(context, key);
    if (c == NULL) {
        return ps_fail_nomem(err);
    }
    c->is_active = true;
    return PS_OK;
}

/* Columns: HOST_COLUMNS or DEVICE_COLUMNS. */
static ps_code take_active(void *context, const ps_scan_batch *b, ps_err *err) {
    part_scan *s = context;
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t key = ps_nsight_process_key(ps_nsight_int(b, 0, i, 0));
        int64_t device = s->is_device ? ps_nsight_int(b, 1, i, 0) : 0;
        if (key == 0 || (key == s->last_key && device == s->last_device)) {
            continue; /* an export that does not say, or the same again */
        }
        candidate *c = candidate_of(s, key);
        if (c == NULL) {
            return ps_fail_nomem(err);
        }
        c->is_active = true;
        if (s->is_device) {
            int64_t gpu = ps_nsight_gpu(&s->n, key, device);
            c->gpu = c->gpu == NO_GPU || c->gpu == gpu ? gpu : MANY_GPUS;
        }
        s->last_key = key;
        s->last_device = device;
    }
    return PS_OK;
}

static ps_code find_processes(part_scan *s, ps_err *err) {
    ps_code code = ps_nsight_load_devices(&s->n, err);
    code = code == PS_OK ? ps_nsight_nvtx_threads(&s->n, note_active, s, err) : code;
    if (code == PS_OK) {
        code = ps_nsight_scan(&s->n, "CUPTI_ACTIVITY_KIND_RUNTIME", HOST_COLUMNS, N(HOST_COLUMNS),
                              take_active, s, err);
    }
    s->is_device = true;
    for (size_t i = 0; code == PS_OK && i < N(DEVICE_TABLES); i++) {
        s->last_key = 0;
        code = ps_nsight_scan(&s->n, DEVICE_TABLES[i], DEVICE_COLUMNS, N(DEVICE_COLUMNS),
                              take_active, s, err);
    }
    return code;
}

/* By machine and GPU; those without one GPU of their own after them, by pid. */
static int compare_candidates(const void *a, const void *b) {
    const candidate *x = a;
    const candidate *y = b;
    bool has_x = x->gpu != NO_GPU && x->gpu != MANY_GPUS;
    bool has_y = y->gpu != NO_GPU && y->gpu != MANY_GPUS;
    if (has_x != has_y) {
        return has_x ? -1 : 1;
    }
    int by = strcmp(x->host, y->host);
    if (by == 0 && has_x) {
        by = x->gpu < y->gpu ? -1 : x->gpu > y->gpu;
    }
    uint64_t key_x = (uint64_t)x->part.id;
    uint64_t key_y = (uint64_t)y->part.id;
    return by != 0 ? by : key_x < key_y ? -1 : key_x > key_y;
}

/* Ranks are numbered only when each GPU has one process and each of these processes one GPU. */
static void number_ranks(candidate *c, size_t n) {
    size_t n_ranked = 0;
    for (size_t i = 0; i < n; i++) {
        bool shares = i > 0 && c[i].gpu == c[i - 1].gpu && strcmp(c[i].host, c[i - 1].host) == 0;
        if (c[i].gpu == MANY_GPUS || (c[i].gpu != NO_GPU && shares)) {
            return;
        }
        n_ranked += c[i].gpu != NO_GPU;
    }
    for (size_t i = 0; n_ranked > 1 && i < n_ranked; i++) {
        c[i].part.rank = (int64_t)i;
    }
}

/* Moves the active ones to the front. */
static void keep_active(part_scan *s, const ps_nsight_hosts *hosts) {
    size_t kept = 0;
    for (size_t i = 0; i < s->n_found; i++) {
        candidate c = s->found[i];
        if (c.is_active) {
            c.host = ps_nsight_host(hosts, s->n.processes[i].key);
            c.part =
                (ps_part){.id = s->n.processes[i].key, .rank = -1, .host = c.host, .machine = -1};
            s->found[kept++] = c;
        }
    }
    s->n_found = kept;
    if (kept > 1) {
        qsort(s->found, kept, sizeof *s->found, compare_candidates);
        number_ranks(s->found, kept);
    }
}

/* The active processes in the order of ranks. The caller frees s->found and closes s->n, also after a failure. */
static ps_code scan_parts(part_scan *s, const char *path, ps_arena *arena, ps_err *err) {
    ps_nsight_hosts hosts = {.arena = arena};
    ps_code code = ps_nsight_open(&s->n, path, err);
    code = code == PS_OK ? find_processes(s, err) : code;
    code = code == PS_OK ? ps_nsight_hosts_read(&hosts, &s->n, err) : code;
    code = code == PS_OK ? ps_db_check_unchanged(s->n.db, err) : code;
    if (code == PS_OK) {
        keep_active(s, &hosts);
    }
    ps_nsight_hosts_fini(&hosts);
    return code;
}

static size_t n_own_parts(const part_scan *s) {
    return s->n_found > MAX_PARTS ? MAX_PARTS - 1 : s->n_found;
}

/* A file that names no process is one part with everything in it. */
static ps_code hand_nsight_out(const part_scan *s, ps_arena *arena, ps_part **parts, size_t *n,
                               ps_err *err) {
    size_t n_own = n_own_parts(s);
    *parts = ps_arena_alloc(arena, (n_own + 1) * sizeof **parts);
    if (*parts == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < n_own; i++) {
        (*parts)[i] = s->found[i].part;
    }
    bool has_rest = n_own == 0 || n_own < s->n_found;
    (*parts)[n_own] =
        (ps_part){.id = n_own > 0 ? PS_NSIGHT_REST : 0, .rank = -1, .host = "", .machine = -1};
    *n = n_own + has_rest;
    return PS_OK;
}

static ps_code list_nsight_parts(const char *path, ps_arena *arena, ps_part **parts, size_t *n,
                                 ps_err *err) {
    part_scan s = {.found = NULL};
    *parts = NULL;
    *n = 0;
    ps_code code = scan_parts(&s, path, arena, err);
    code = code == PS_OK ? hand_nsight_out(&s, arena, parts, n, err) : code;
    ps_free(s.found);
    ps_nsight_close(&s.n);
    return code;
}

/* The processes that are parts of their own: PS_NSIGHT_REST is all others. */
static ps_code read_own_parts(const char *path, ps_idmap *own, ps_diag *diag, ps_err *err) {
    part_scan s = {.found = NULL};
    ps_arena arena = {0};
    ps_code code = scan_parts(&s, path, &arena, err);
    for (size_t i = 0; code == PS_OK && i < n_own_parts(&s); i++) {
        code = ps_idmap_put(own, (uint64_t)s.found[i].part.id, 1) ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK && s.n_found > MAX_PARTS) {
        ps_diag_count(diag, PS_ODD_PROCESSES, s.n_found - n_own_parts(&s));
    }
    ps_free(s.found);
    ps_nsight_close(&s.n);
    ps_arena_fini(&arena);
    return code;
}

/* --- reading --------------------------------------------------------------------------------------------- */

static ps_code read_timeline(ps_nsight *n, ps_err *err) {
    bool slices = (n->needs & PS_NEED_SLICES) != 0;
    bool marks = slices || (n->needs & PS_NEED_MARKS) != 0;
    bool counters = (n->needs & PS_NEED_COUNTERS) != 0;
    ps_nsight_nvtx nvtx = {.n = n,
                           .with_marks = slices,
                           .with_ranges = slices && (n->needs & PS_NEED_ARGS) != 0 &&
                                          (n->needs & PS_NEED_FLOWS) != 0};
    int64_t stop_ns = INT64_MIN;
    ps_code code = ps_nsight_load_devices(n, err);
    code = code == PS_OK && marks ? ps_nsight_load_texts(n, err) : code;
    code = code == PS_OK && marks ? ps_nsight_nvtx_read(&nvtx, err) : code;
    code = code == PS_OK && slices ? ps_nsight_cuda_read(n, &nvtx, err) : code;
    code = code == PS_OK && counters ? ps_nsight_memory_read(n, err) : code;
    code = code == PS_OK ? ps_nsight_stop(n, &stop_ns, err) : code;
    code = code == PS_OK ? ps_nsight_nvtx_finish(&nvtx, stop_ns, err) : code;
    code = code == PS_OK ? ps_nsight_process_names(n, err) : code;
    code = code == PS_OK ? ps_nsight_diagnostics(n, err) : code;
    ps_nsight_nvtx_fini(&nvtx);
    return code;
}

static ps_code read_clock(ps_nsight *n, int64_t *epoch_ns, ps_err *err) {
    bool known = false;
    ps_code code = ps_nsight_epoch(n, &known, epoch_ns, err);
    if (code == PS_OK && (!known || !ps_builder_time_base(n->builder, *epoch_ns))) {
        *epoch_ns = 0;
        ps_diag_add(n->diag, PS_ODD_CLOCK_BASE, "TARGET_INFO_SESSION_START_TIME");
    }
    return code;
}

static ps_code read_all_nsight(ps_nsight *n, ps_err *err) {
    int64_t epoch_ns = 0;
    ps_builder_has(n->builder, ps_db_has_table(n->db, "NVTX_EVENTS") ? PS_HAS_MARKS : 0);
    ps_code code = read_clock(n, &epoch_ns, err);
    code = code == PS_OK && (n->needs & PS_NEED_META) != 0 ? ps_nsight_metas(n, err) : code;
    code = code == PS_OK ? read_timeline(n, err) : code;
    if (code == PS_OK && (n->needs & PS_NEED_INVENTORY) != 0) {
        code = ps_nsight_inventory(n, epoch_ns, err);
    }
    return code == PS_OK ? ps_db_check_unchanged(n->db, err) : code;
}

static ps_code read_part(ps_nsight *n, ps_err *err) {
    ps_db_stamp stamp = ps_db_get_stamp(n->db);
    ps_builder_stamp(n->builder, (ps_file_stamp){stamp.file, stamp.wal, stamp.change_counter});
    return read_all_nsight(n, err);
}

static ps_code read_export(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_nsight n;
    ps_idmap own = {0};
    ps_code code = src->part == PS_NSIGHT_REST
                       ? read_own_parts(src->path, &own, ps_builder_diag(b), err)
                       : PS_OK;
    if (code == PS_OK) {
        code = ps_nsight_open(&n, src->path, err);
        ps_db_watch(n.db, src->watch);
        n.builder = b;
        n.diag = ps_builder_diag(b);
        n.needs = needs;
        n.part = src->part;
        n.own_parts = &own;
        code = code == PS_OK ? read_part(&n, err) : code;
        ps_nsight_close(&n);
    }
    ps_idmap_fini(&own);
    return code;
}

const ps_reader ps_reader_nsight = {
    .name = "nsight",
    .profiler = "Nsight Systems",
    .summary = "NVIDIA Nsight Systems export (SQLite)",
    .sniff = sniff_nsight,
    .parts = list_nsight_parts,
    .read = read_export,
};
