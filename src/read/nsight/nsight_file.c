#include "read/nsight/nsight_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"

#define N(array) (sizeof(array) / sizeof *(array))

ps_code ps_nsight_open(ps_nsight *n, const char *path, ps_err *err) {
    *n = (ps_nsight){.last_ns = INT64_MIN};
    ps_err own = PS_ERR_INIT;
    n->db = ps_db_open(path, err != NULL ? err : &own);
    return n->db != NULL ? PS_OK : err != NULL ? err->code : own.code;
}

void ps_nsight_close(ps_nsight *n) {
    ps_free(n->texts);
    ps_free(n->processes);
    ps_free(n->threads);
    ps_free(n->devices);
    ps_idmap_fini(&n->text_rows);
    ps_idmap_fini(&n->process_rows);
    ps_idmap_fini(&n->pids);
    ps_idmap_fini(&n->thread_rows);
    ps_arena_fini(&n->arena);
    ps_db_close(n->db);
    n->db = NULL;
}

ps_code ps_nsight_check(const ps_nsight *n, ps_err *err) {
    bool failed = n->out_of_memory || (n->builder != NULL && ps_builder_failed(n->builder));
    return failed ? ps_fail_nomem(err) : PS_OK;
}

ps_code ps_nsight_scan(ps_nsight *n, const char *table, const char *const *columns,
                       size_t n_columns, ps_scan_fn *fn, void *context, ps_err *err) {
    if (!ps_db_has_table(n->db, table)) {
        return PS_OK;
    }
    ps_code code = ps_scan(n->db, table, columns, n_columns, fn, context, err);
    /* A view by the name of a table: somebody's own work, not the exporter's. */
    if (code == PS_UNSUPPORTED) {
        if (n->diag != NULL) {
            ps_diag_add(n->diag, PS_ODD_TABLE_MISSING, "%s is a view", table);
        }
        code = PS_OK;
    }
    return code;
}

/* --- texts ----------------------------------------------------------------------------------------------- */

static ps_code take_texts(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight *n = context;
    if (!ps_grow(&n->texts, &n->cap_texts, n->n_texts + b->n_rows, PS_NONE - 1, sizeof *n->texts)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        if (b->columns[0].types[i] != PS_CELL_INT || b->columns[1].types[i] != PS_CELL_TEXT) {
            ps_diag_add(n->diag, PS_ODD_TABLE_ROW, "StringIds rowid %lld", (long long)b->rowids[i]);
            continue;
        }
        ps_scan_bytes text = b->columns[1].bytes[i];
        const char *bytes = ps_arena_strndup(&n->arena, text.data, text.size_bytes);
        if (bytes == NULL ||
            !ps_idmap_put(&n->text_rows, (uint64_t)b->columns[0].ints[i], (uint32_t)n->n_texts)) {
            return ps_fail_nomem(err);
        }
        n->texts[n->n_texts++] = (ps_nsight_text){bytes, text.size_bytes, PS_STR_NONE};
    }
    return PS_OK;
}

ps_code ps_nsight_load_texts(ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"id", "value"};
    return ps_nsight_scan(n, "StringIds", COLUMNS, N(COLUMNS), take_texts, n, err);
}

ps_str ps_nsight_text_of(ps_nsight *n, int64_t id) {
    uint32_t row = ps_idmap_get(&n->text_rows, (uint64_t)id);
    if (row == PS_IDMAP_NONE) {
        return PS_STR_NONE;
    }
    ps_nsight_text *t = &n->texts[row];
    if (ps_str_is_none(t->str)) {
        t->str = ps_builder_str(n->builder, t->bytes, t->n);
    }
    return t->str;
}

ps_str ps_nsight_str(ps_nsight *n, const char *text) {
    return ps_builder_str(n->builder, text, strlen(text));
}

ps_str ps_nsight_name(ps_nsight *n, const ps_scan_batch *b, size_t column, size_t row,
                      const char *table) {
    if (b->columns[column].types[row] == PS_CELL_INT) {
        int64_t id = b->columns[column].ints[row];
        ps_str text = ps_nsight_text_of(n, id);
        if (!ps_str_is_none(text)) {
            return text;
        }
        ps_diag_add(n->diag, PS_ODD_STRING_ID, "%s rowid %lld: StringIds has no %lld", table,
                    (long long)b->rowids[row], (long long)id);
    } else {
        ps_diag_add(n->diag, PS_ODD_STRING_ID, "%s rowid %lld: no name", table,
                    (long long)b->rowids[row]);
    }
    return ps_nsight_str(n, "(no name)");
}

/* --- processes and threads ------------------------------------------------------------------------------- */

/* Processes of two machines or containers may share a pid: a later one is shown with its number above the 24 bits. */
static int64_t shown_pid(const ps_nsight *n, int64_t key) {
    int64_t pid = ps_nsight_os_pid(key);
    bool is_free = ps_idmap_get(&n->pids, (uint64_t)pid) == PS_IDMAP_NONE;
    return is_free ? pid : (int64_t)(n->n_processes + 1) << 24 | pid;
}

uint32_t ps_nsight_process_row(ps_nsight *n, int64_t key) {
    uint32_t row = ps_idmap_get(&n->process_rows, (uint64_t)key);
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    row = (uint32_t)n->n_processes;
    ps_nsight_process process = {.key = key, .pid = shown_pid(n, key)};
    if (!ps_grow(&n->processes, &n->cap_processes, n->n_processes + 1, PS_NONE - 1,
                 sizeof *n->processes) ||
        !ps_idmap_put(&n->process_rows, (uint64_t)key, row) ||
        !ps_idmap_put(&n->pids, (uint64_t)process.pid, row)) {
        n->out_of_memory = true;
        return PS_NONE;
    }
    n->processes[n->n_processes++] = process;
    return row;
}

uint32_t ps_nsight_device_process(ps_nsight *n, int64_t key) {
    return key == 0 && n->n_processes == 1 ? 0 : ps_nsight_process_row(n, key);
}

bool ps_nsight_wants(const ps_nsight *n, uint32_t process) {
    if (process == PS_NONE || n->part == 0) {
        return process != PS_NONE;
    }
    int64_t key = n->processes[process].key;
    return n->part == PS_NSIGHT_REST ? ps_idmap_get(n->own_parts, (uint64_t)key) == PS_IDMAP_NONE
                                     : key == n->part;
}

uint32_t ps_nsight_thread_row(ps_nsight *n, int64_t global_tid) {
    uint32_t row = ps_idmap_get(&n->thread_rows, (uint64_t)global_tid);
    if (row != PS_IDMAP_NONE) {
        return row;
    }
    ps_nsight_thread t = {.id = global_tid, .track = PS_NONE};
    t.process = ps_nsight_process_row(n, ps_nsight_process_key(global_tid));
    row = (uint32_t)n->n_threads;
    if (t.process == PS_NONE ||
        !ps_grow(&n->threads, &n->cap_threads, n->n_threads + 1, PS_NONE - 1, sizeof *n->threads) ||
        !ps_idmap_put(&n->thread_rows, (uint64_t)global_tid, row)) {
        n->out_of_memory = true;
        return PS_NONE;
    }
    if (ps_nsight_wants(n, t.process)) {
        ps_track track = {.kind = PS_TRACK_HOST_THREAD,
                          .pid = n->processes[t.process].pid,
                          .tid = ps_nsight_os_tid(global_tid),
                          .device = -1};
        t.track = ps_builder_track(n->builder, track);
        n->processes[t.process].has_tracks = true;
    }
    n->threads[n->n_threads++] = t;
    return row;
}

/* --- devices --------------------------------------------------------------------------------------------- */

static ps_code take_devices(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight *n = context;
    if (!ps_grow(&n->devices, &n->cap_devices, n->n_devices + b->n_rows, PS_NONE - 1,
                 sizeof *n->devices)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t cuda_id = ps_nsight_int(b, 1, i, -1);
        n->devices[n->n_devices] = (ps_nsight_device){.pid = ps_nsight_int(b, 0, i, -1),
                                                      .cuda_id = cuda_id,
                                                      .gpu_id = ps_nsight_int(b, 2, i, cuda_id),
                                                      .order = n->n_devices};
        n->n_devices++;
    }
    return PS_OK;
}

PS_COMPARE(compare_devices, ps_nsight_device, PS_BY(pid) PS_BY(cuda_id) PS_BY(order))

ps_code ps_nsight_load_devices(ps_nsight *n, ps_err *err) {
    static const char *const COLUMNS[] = {"pid", "cudaId", "gpuId"};
    ps_code code =
        ps_nsight_scan(n, "TARGET_INFO_CUDA_DEVICE", COLUMNS, N(COLUMNS), take_devices, n, err);
    ps_sort(n->devices, n->n_devices, sizeof *n->devices, compare_devices);
    return code;
}

static const ps_nsight_device *find_nsight_device(const ps_nsight *n, int64_t pid,
                                                  int64_t cuda_id) {
    ps_nsight_device wanted = {.pid = pid, .cuda_id = cuda_id, .order = 0};
    PS_PLACE(size_t, low, 0, n->n_devices, i, compare_devices(&n->devices[i], &wanted) < 0);
    bool found =
        low < n->n_devices && n->devices[low].pid == pid && n->devices[low].cuda_id == cuda_id;
    return found ? &n->devices[low] : NULL;
}

int64_t ps_nsight_gpu(const ps_nsight *n, int64_t process_key, int64_t cuda_id) {
    const ps_nsight_device *d = find_nsight_device(n, ps_nsight_os_pid(process_key), cuda_id);
    d = d != NULL ? d : find_nsight_device(n, process_key, cuda_id);
    return d != NULL ? d->gpu_id : cuda_id;
}

/* --- enumerations ---------------------------------------------------------------------------------------- */

#define MAX_SYMBOLS 32

typedef struct symbol_search {
    const ps_nsight_symbol *symbols;
    size_t n;
    int64_t *ids;
    bool named[MAX_SYMBOLS], taken[MAX_SYMBOLS];
} symbol_search;

static ps_code take_symbols(void *context, const ps_scan_batch *b, ps_err *err) {
    symbol_search *s = context;
    (void)err;
    for (size_t i = 0; i < b->n_rows; i++) {
        ps_scan_bytes name = ps_cell_text(&b->columns[1], i);
        if (b->columns[0].types[i] != PS_CELL_INT || name.size_bytes == 0) {
            continue;
        }
        int64_t id = b->columns[0].ints[i];
        for (size_t k = 0; k < s->n; k++) {
            bool same = strlen(s->symbols[k].name) == name.size_bytes &&
                        memcmp(s->symbols[k].name, name.data, name.size_bytes) == 0;
            if (same) {
                s->ids[k] = id;
                s->named[k] = true;
            } else if (s->symbols[k].id == id) {
                s->taken[k] = true;
            }
        }
    }
    return PS_OK;
}

ps_code ps_nsight_symbols(ps_nsight *n, const char *table, const ps_nsight_symbol *symbols,
                          size_t n_symbols, int64_t *ids, ps_err *err) {
    static const char *const COLUMNS[] = {"id", "name"};
    symbol_search s = {.symbols = symbols, .n = n_symbols, .ids = ids};
    for (size_t k = 0; k < n_symbols; k++) {
        ids[k] = symbols[k].id;
    }
    ps_code code = ps_nsight_scan(n, table, COLUMNS, N(COLUMNS), take_symbols, &s, err);
    for (size_t k = 0; k < n_symbols; k++) {
        if (!s.named[k] && s.taken[k]) {
            ids[k] = PS_NSIGHT_ABSENT;
        }
    }
    return code;
}

size_t ps_nsight_symbol_of(const int64_t *ids, size_t n_symbols, int64_t id) {
    size_t k = 0;
    while (k < n_symbols && (ids[k] != id || id == PS_NSIGHT_ABSENT)) {
        k++;
    }
    return k;
}

/* --- slices ---------------------------------------------------------------------------------------------- */

uint32_t ps_nsight_add(ps_nsight *n, const ps_nsight_span *s, const char *table) {
    uint32_t slice = ps_builder_slice_in(n->builder, s->kind, s->track, s->name, s->category,
                                         s->start_ns, s->end_ns, s->row);
    if (slice != PS_NONE) {
        n->last_ns = s->end_ns > n->last_ns ? s->end_ns : n->last_ns;
    } else if (s->track != PS_NONE && !ps_builder_failed(n->builder)) {
        ps_diag_add(n->diag, PS_ODD_TIME, "%s rowid %lld", table, (long long)s->row);
    }
    return slice;
}

void ps_nsight_arg_int(ps_nsight *n, uint32_t slice, const char *key, int64_t value,
                       int64_t missing) {
    if (slice != PS_NONE && value != missing) {
        ps_builder_arg_int(n->builder, slice, key, value);
    }
}

void ps_nsight_arg_str(ps_nsight *n, uint32_t slice, const char *key, ps_str value) {
    if (slice != PS_NONE && !ps_str_is_none(value) &&
        ps_builder_text(n->builder, value)[0] != '\0') {
        ps_builder_arg_str(n->builder, slice, key, value);
    }
}
