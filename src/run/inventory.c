#include "run/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/capture_parts.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/threads.h"
#include "model/host_comm.h"
#include "model/recording.h"
#include "read/readers.h"

#define MAX_ITEMS ((size_t)1 << 24)

const ps_named *ps_named_find(const ps_named_list *list, const char *name) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static bool add_inventory_line(ps_inventory *inv, ps_named_list *list, const char *name,
                               int64_t count, const char *text) {
    ps_named item = {.name = ps_arena_strndup(&inv->arena, name, strlen(name)), .count = count};
    if (text != NULL) {
        item.text = ps_arena_strndup(&inv->arena, text, strlen(text));
    }
    if (item.name == NULL || (text != NULL && item.text == NULL) ||
        !ps_grow(&list->items, &list->cap, list->n + 1, MAX_ITEMS, sizeof *list->items)) {
        return false;
    }
    list->items[list->n++] = item;
    return true;
}

PS_COMPARE(compare_inventory_names, ps_named, PS_BY_TEXT(name))

/* --- what the reader laid beside the timeline ---------------------------------------------------------------- */

static bool is_inventory_table(const ps_table *t) {
    return strcmp(t->name, "tables") == 0 || strcmp(t->name, "spans") == 0 ||
           strcmp(t->name, "facts") == 0;
}

static bool copy_side_tables(ps_inventory *inv, const ps_trace *t) {
    size_t n = 0;
    const ps_table *const *tables = ps_trace_side_tables(t, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = is_inventory_table(tables[i]) ||
             add_inventory_line(inv, &inv->side_tables, tables[i]->name, (int64_t)tables[i]->n_rows,
                                NULL);
    }
    const ps_table *rows = ps_trace_side_table(t, "tables");
    for (size_t r = 0; ok && rows != NULL && r < rows->n_rows; r++) {
        ok = add_inventory_line(inv, &inv->tables, ps_table_cell(rows, r, 0)->u.text,
                                ps_table_cell(rows, r, 1)->u.i, NULL);
    }
    const ps_table *facts = ps_trace_side_table(t, "facts");
    for (size_t r = 0; ok && facts != NULL && r < facts->n_rows; r++) {
        ok = add_inventory_line(inv, &inv->facts, ps_table_cell(facts, r, 0)->u.text, 0,
                                ps_table_cell(facts, r, 1)->u.text);
    }
    const ps_table *spans = ps_trace_side_table(t, "spans");
    for (size_t r = 0; ok && spans != NULL && r < spans->n_rows; r++) {
        bool is_host = strcmp(ps_table_cell(spans, r, 0)->u.text, "host") == 0;
        *(is_host ? &inv->host : &inv->device) =
            (ps_span){ps_table_cell(spans, r, 1)->u.i, ps_table_cell(spans, r, 2)->u.i, true};
    }
    return ok;
}

/* A database and the JSON file beside it name the same keys: the first counts. */
static bool copy_metas(ps_inventory *inv, const ps_trace *t) {
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(t, &n);
    ps_idmap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        uint64_t key = ps_hash64(metas[i].key, strlen(metas[i].key));
        if (ps_idmap_get(&seen, key) == PS_IDMAP_NONE) {
            ok = ps_idmap_put(&seen, key, 1) &&
                 add_inventory_line(inv, &inv->metas, metas[i].key, 0, metas[i].value);
        }
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* --- counts -------------------------------------------------------------------------------------------------- */

static void inventory_widen(ps_span *span, int64_t start_ns, int64_t end_ns) {
    span->start_ns = !span->known || start_ns < span->start_ns ? start_ns : span->start_ns;
    span->end_ns = !span->known || end_ns > span->end_ns ? end_ns : span->end_ns;
    span->known = true;
}

static void count_slices(ps_inventory *inv, const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    int64_t origin_ns = ps_trace_origin_ns(t);
    ps_span host = {0};
    ps_span device = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        inv->n_slices[s->kind[i]]++;
        bool on_device = s->kind[i] >= PS_SLICE_JOB || s->kind[i] == PS_SLICE_MARK_DEVICE ||
                         s->kind[i] == PS_SLICE_COMM_OP;
        if (s->kind[i] != PS_SLICE_DERIVED && s->kind[i] != PS_SLICE_INSTANT) {
            inventory_widen(on_device ? &device : &host, s->start_ns[i] + origin_ns,
                            s->start_ns[i] + s->dur_ns[i] + origin_ns);
        }
    }
    inv->host = inv->host.known ? inv->host : host; /* the reader has looked at everything */
    inv->device = inv->device.known ? inv->device : device;
    inv->n_counter_values = ps_trace_counters(t)->n;
    const ps_track *tracks = ps_trace_tracks(t, &inv->n_tracks);
    for (size_t i = 0; i < inv->n_tracks; i++) {
        inv->n_counter_tracks += tracks[i].kind == PS_TRACK_COUNTER;
    }
}

/* Kinds are texts of the trace's pool, so equal ones have one id. */
static bool count_flows(ps_inventory *inv, const ps_trace *t) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_str mark = ps_trace_find_text(t, "mark");
    ps_idmap rows = {0}; /* kind -> row in flows */
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const ps_str kind = ps_str_is_none(flows[i].kind) ? mark : flows[i].kind;
        uint32_t row = ps_idmap_get(&rows, kind.id);
        if (row == PS_IDMAP_NONE) {
            row = (uint32_t)inv->flows.n;
            ok =
                ps_idmap_put(&rows, kind.id, row) &&
                add_inventory_line(inv, &inv->flows,
                                   ps_str_is_none(kind) ? "mark" : ps_trace_text(t, kind), 0, NULL);
        }
        if (ok) {
            inv->flows.items[row].count++;
        }
    }
    ps_idmap_fini(&rows);
    ps_sort(inv->flows.items, inv->flows.n, sizeof *inv->flows.items, compare_inventory_names);
    return ok;
}

static bool copy_steps(ps_inventory *inv, const ps_trace *t) {
    const ps_step *steps = ps_trace_steps(t, &inv->n_steps);
    inv->steps = ps_arena_alloc(&inv->arena, (inv->n_steps + 1) * sizeof *inv->steps);
    for (size_t i = 0; inv->steps != NULL && i < inv->n_steps; i++) {
        inv->steps[i] = steps[i].id;
    }
    return inv->steps != NULL;
}

static void find_lacks(ps_inventory *inv, const ps_trace *t, const char *format) {
    uint32_t n_of_kind[PS_N_SLICE_KINDS];
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        n_of_kind[k] = (uint32_t)inv->n_slices[k];
    }
    for (int part = 0; part < PS_N_CAPTURE_PARTS; part++) {
        ps_missing missing;
        bool lacks = ps_capture_misses((ps_captured){t, n_of_kind}, format,
                                       (ps_part_of_capture)part, &missing);
        inv->lacks |= lacks && !missing.is_of_another ? 1u << part : 0;
    }
}

ps_inventory *ps_inventory_read(const ps_cluster_rank *rank, size_t n_threads) {
    ps_inventory *inv = ps_calloc(1, sizeof *inv);
    if (inv == NULL) {
        return NULL;
    }
    inv->err = PS_ERR_INIT;
    ps_src src = ps_cluster_src(rank);
    src.n_threads = n_threads;
    ps_trace *t = ps_read(&src, PS_INVENTORY_NEEDS, &inv->err);
    if (t == NULL) {
        return inv;
    }
    inv->err = PS_ERR_INIT; /* a first attempt may have failed and left its message */
    inv->diag = *ps_trace_diag(t);
    count_slices(inv, t);
    inv->comm_from_marks = ps_trace_comm_from_marks(t);
    inv->n_host_comm = ps_host_comm_count(t);
    find_lacks(inv, t, ps_cluster_format(rank));
    bool ok =
        copy_side_tables(inv, t) && copy_metas(inv, t) && count_flows(inv, t) && copy_steps(inv, t);
    ps_trace_free(t);
    if (!ok) {
        ps_inventory_free(inv);
        return NULL;
    }
    return inv;
}

void ps_inventory_free(ps_inventory *inv) {
    if (inv != NULL) {
        ps_free(inv->flows.items);
        ps_free(inv->tables.items);
        ps_free(inv->side_tables.items);
        ps_free(inv->facts.items);
        ps_free(inv->metas.items);
        ps_arena_fini(&inv->arena);
        ps_free(inv);
    }
}

/* --- of all ranks -------------------------------------------------------------------------------------------- */

typedef struct reading {
    const ps_cluster *cluster;
    size_t n_threads;
    ps_budget *memory;
    const int64_t *rank_bytes;
    ps_inventory **out;
    void (*read)(void *context);
    void *context;
} reading;

static void read_rank_inventory(void *context, size_t r) {
    const reading *x = context;
    size_t each = ps_threads_each(x->n_threads, x->cluster->n_ranks);
    ps_budget_take(x->memory, x->rank_bytes[r]);
    x->out[r] = ps_inventory_read(&x->cluster->ranks[r], each);
    ps_budget_give(x->memory, x->rank_bytes[r]);
    x->read(x->context);
}

ps_code ps_inventories_read(const ps_cluster *cluster, ps_engine *engine, size_t n_threads,
                            ps_budget *memory, const int64_t *rank_bytes, ps_inventory **out,
                            void (*read)(void *context), void *context, ps_err *err) {
    if (engine != NULL && engine->inventories != NULL) {
        return engine->inventories(engine, cluster, n_threads, out, read, context, err);
    }
    reading x = {cluster, n_threads, memory, rank_bytes, out, read, context};
    ps_parallel(cluster->n_ranks, n_threads, read_rank_inventory, &x);
    return PS_OK;
}

/* --- on the way ---------------------------------------------------------------------------------------------- */

static void inventory_line_archive(ps_archive *a, void *at) {
    ps_named *x = at;
    PS_ARCHIVE(a, x, name, count, text);
}

static void named_list_archive(ps_archive *a, ps_named_list *x) {
    PS_ARCHIVE_ARRAY(a, x, items, n, inventory_line_archive);
}

static void inventory_span_archive(ps_archive *a, ps_span *x) {
    PS_ARCHIVE(a, x, start_ns, end_ns, known);
}

void ps_inventory_archive(ps_archive *a, void *inventory) {
    ps_inventory *x = inventory;
    (void)ps_archive_use_arena(a, &x->arena);
    ps_err_archive(a, &x->err);
    PS_ARCHIVE(a, x, n_counter_values, n_flow_ends, n_host_comm, n_tracks, n_counter_tracks,
               comm_from_marks, lacks);
    PS_ARCHIVE_EACH(a, x, n_slices);
    named_list_archive(a, &x->flows);
    named_list_archive(a, &x->tables);
    named_list_archive(a, &x->side_tables);
    named_list_archive(a, &x->facts);
    named_list_archive(a, &x->metas);
    PS_ARCHIVE_IN_ARENA(a, x, steps, n_steps, ps_archive_i64);
    inventory_span_archive(a, &x->host);
    inventory_span_archive(a, &x->device);
    ps_diag_archive(a, &x->diag);
}
