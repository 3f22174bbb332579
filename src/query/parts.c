#include "query/parts.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/threads.h"
#include "read/readers.h"

/* A trace takes about as much as its file, compressed ones several times that. */
enum { BYTES_OF_FILE = 4 };

static size_t memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)4 << 30;
}

ps_code ps_sql_parts_init(ps_sql_parts *p, const ps_cluster *cluster, const ps_run_opts *opts,
                          ps_watch *watch, ps_err *err) {
    *p = (ps_sql_parts){.cluster = cluster,
                        .opts = &opts->analysis,
                        .n_threads = opts->n_threads > 0 ? opts->n_threads : ps_n_processors(),
                        .max_bytes = memory_bytes() / 10 * 6,
                        .watch = watch};
    p->parts = ps_calloc(cluster->n_ranks + 1, sizeof *p->parts);
    if (p->parts == NULL) {
        return ps_fail_nomem(err);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < cluster->n_ranks; i++) {
        struct stat about;
        p->parts[i] = (ps_sql_part){.rank = &cluster->ranks[i], .index = i, .err = PS_ERR_INIT};
        bytes += stat(cluster->ranks[i].path, &about) == 0 ? (size_t)about.st_size : 0;
    }
    p->all_stay = bytes < p->max_bytes / BYTES_OF_FILE;
    return PS_OK;
}

static void empty_part(const ps_sql_parts *p, ps_sql_part *part) {
    for (ps_sql_made *m = part->made; m != NULL; m = m->next) {
        ps_table_free(m->table);
    }
    part->made = NULL;
    ps_arena_fini(&part->arena);
    part->arena = (ps_arena){0};
    ps_overlaps_fini(&part->overlaps);
    part->overlaps = (ps_overlaps){0};
    part->has_overlaps = false;
    ps_derived_free(part->derived);
    part->derived = NULL;
    ps_free(part->self_ns);
    ps_free(part->last_end);
    ps_trace_free(part->own);
    if (part->lent != NULL) {
        p->lender->take_back(p->lender->context, part->lent);
    }
    part->links = NULL; /* of the derived facts */
    part->self_ns = NULL;
    part->last_end = NULL;
    part->trace = NULL;
    part->own = NULL;
    part->lent = NULL;
    part->has = 0;
}

void ps_sql_parts_fini(ps_sql_parts *p) {
    for (size_t i = 0; p->parts != NULL && i < p->cluster->n_ranks; i++) {
        empty_part(p, &p->parts[i]);
    }
    ps_free(p->parts);
    p->parts = NULL;
}

/* --- what is worked out of a trace ------------------------------------------------------------------------------- */

/* Slices stand in the order of their starts, so those around another come before it, and of one slice the next inner one
 * begins no earlier than the last: what of it is covered so far is one moment. */
static int64_t *self_times(const ps_trace *t, const ps_links *links) {
    const ps_slices *s = ps_trace_slices(t);
    int64_t *self = ps_calloc(s->n + 1, sizeof *self);
    int64_t *covered_to = ps_calloc(s->n + 1, sizeof *covered_to);
    for (uint32_t i = 0; self != NULL && covered_to != NULL && i < s->n; i++) {
        uint32_t around = links->parent[i];
        self[i] = s->dur_ns[i];
        covered_to[i] = s->start_ns[i];
        if (around != PS_NONE) {
            int64_t from =
                s->start_ns[i] > covered_to[around] ? s->start_ns[i] : covered_to[around];
            int64_t to = ps_slice_end(s, i);
            if (to > from) {
                self[around] -= to - from;
                covered_to[around] = to;
            }
        }
    }
    if (covered_to == NULL) {
        ps_free(self);
        self = NULL;
    }
    ps_free(covered_to);
    return self;
}

static int64_t *chunk_ends(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    int64_t *ends = ps_calloc(s->n / PS_PART_CHUNK + 1, sizeof *ends);
    for (uint32_t i = 0; ends != NULL && i < s->n; i++) {
        int64_t end = ps_slice_end(s, i);
        int64_t *chunk = &ends[i / PS_PART_CHUNK];
        *chunk = i % PS_PART_CHUNK == 0 || end > *chunk ? end : *chunk;
    }
    return ends;
}

static ps_code work_out(ps_sql_parts *p, ps_sql_part *part, ps_err *err) {
    if (part->last_end == NULL && (part->last_end = chunk_ends(part->trace)) == NULL) {
        return ps_fail_nomem(err);
    }
    if (part->derived == NULL &&
        (part->derived = ps_derived_new(part->trace, p->opts, &p->diag, err)) == NULL) {
        return PS_NOMEM;
    }
    if ((p->needs.links || p->needs.self) && part->links == NULL &&
        (part->links = ps_derived_links(part->derived, err)) == NULL) {
        return PS_NOMEM;
    }
    if (p->needs.self && part->self_ns == NULL &&
        (part->self_ns = self_times(part->trace, part->links)) == NULL) {
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

const ps_overlaps *ps_sql_part_overlaps(ps_sql_part *part, ps_err *err) {
    if (!part->has_overlaps) {
        if (ps_overlaps_measure(part->links, -1, true, &part->overlaps, err) != PS_OK) {
            ps_overlaps_fini(&part->overlaps);
            part->overlaps = (ps_overlaps){0};
            return NULL;
        }
        part->has_overlaps = true;
    }
    return &part->overlaps;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

typedef struct batch {
    ps_sql_parts *p;
    size_t *items; /* parts */
    size_t n;
} batch;

/* Lent, else read with what is needed and was read before. Metadata alone is read: a whole timeline adds facts of its own. */
static ps_code get_trace(const batch *b, ps_sql_part *part, ps_err *err) {
    const ps_sql_lender *lender = b->p->lender;
    uint32_t needs = part->has | b->p->needs.trace;
    if (needs != part->has) {
        empty_part(b->p, part);
    }
    bool may_lend = lender != NULL && (needs & ~PS_VIEW_NEEDS) == 0 && needs != PS_NEED_META;
    if (part->trace == NULL && may_lend) {
        part->trace = lender->lend(lender->context, part->rank, &part->lent);
        needs = part->trace != NULL ? PS_VIEW_NEEDS : needs;
    }
    if (part->trace == NULL) {
        ps_src src = ps_cluster_src(part->rank);
        src.n_threads = ps_threads_each(b->p->n_threads, b->n);
        src.watch = b->p->watch;
        part->trace = part->own = ps_read(&src, needs, err);
    }
    part->has = needs;
    return part->trace != NULL ? PS_OK : err->code;
}

static void read_part(void *context, size_t item) {
    batch *b = context;
    ps_sql_part *part = &b->p->parts[b->items[item]];
    ps_err err = PS_ERR_INIT;
    ps_code code = get_trace(b, part, &err);
    code = code == PS_OK ? work_out(b->p, part, &err) : code;
    part->err = code != PS_OK ? err : PS_ERR_INIT;
    if (code != PS_OK) {
        empty_part(b->p, part);
    }
}

/* Once, also of a part that is read again. */
static void take_diag(ps_sql_parts *p, ps_sql_part *part) {
    char who[64];
    (void)snprintf(who, sizeof who, "rank %lld", (long long)part->rank->rank);
    if (part->trace != NULL && !part->was_read) {
        ps_diag_merge(&p->diag, ps_trace_diag(part->trace),
                      part->rank->rank >= 0 && p->cluster->n_ranks > 1 ? who : NULL);
    }
    part->was_read = true;
}

/* Also of a part that an earlier statement read for less. */
static bool is_to_read(const ps_sql_parts *p, const ps_sql_part *part) {
    bool lacks = part->trace == NULL || (p->needs.trace & ~part->has) != 0 ||
                 ((p->needs.links || p->needs.self) && part->links == NULL) ||
                 (p->needs.self && part->self_ns == NULL);
    return lacks && part->n_users == 0 && part->err.code == PS_OK;
}

static size_t bytes_in_memory(const ps_sql_parts *p) {
    size_t bytes = 0;
    for (size_t i = 0; i < p->cluster->n_ranks; i++) {
        if (p->parts[i].own != NULL) {
            ps_trace_bytes b = ps_trace_size(p->parts[i].own);
            bytes += b.columns + b.args + b.names + b.flows + b.counters + b.tables;
        }
    }
    return bytes;
}

/* Until the rest fits, or all that is left is in use. */
static void make_room(ps_sql_parts *p) {
    while (!p->all_stay && bytes_in_memory(p) > p->max_bytes) {
        ps_sql_part *oldest = NULL;
        for (size_t i = 0; i < p->cluster->n_ranks; i++) {
            ps_sql_part *part = &p->parts[i];
            bool may_go = part->own != NULL && part->n_users == 0;
            oldest =
                may_go && (oldest == NULL || part->last_use < oldest->last_use) ? part : oldest;
        }
        if (oldest == NULL) {
            return;
        }
        empty_part(p, oldest);
    }
}

/* The part and those that come next, one a thread. */
static ps_code read_ahead(ps_sql_parts *p, size_t index, ps_sql_part_wanted *wanted,
                          const void *context, ps_err *err) {
    batch b = {.p = p, .items = ps_calloc(p->n_threads, sizeof *b.items)};
    if (b.items == NULL) {
        return ps_fail_nomem(err);
    }
    make_room(p);
    for (size_t i = index; i < p->cluster->n_ranks && b.n < p->n_threads; i++) {
        if (is_to_read(p, &p->parts[i]) && (i == index || wanted(context, &p->parts[i]))) {
            b.items[b.n++] = i;
        }
    }
    ps_parallel(b.n, p->n_threads, read_part, &b);
    ps_code code = PS_OK;
    for (size_t i = 0; i < b.n && code == PS_OK; i++) {
        ps_sql_part *part = &p->parts[b.items[i]];
        take_diag(p, part);
        if (part->err.code == PS_NOMEM || part->err.code == PS_BUSY) {
            code = part->err.code;
            *err = part->err;
        }
    }
    ps_free(b.items);
    return code;
}

ps_code ps_sql_part_enter(ps_sql_parts *p, size_t index, bool reads, ps_sql_part_wanted *wanted,
                          const void *context, ps_sql_part **out, ps_err *err) {
    ps_sql_part *part = &p->parts[index];
    *out = NULL;
    ps_code code =
        reads && is_to_read(p, part) ? read_ahead(p, index, wanted, context, err) : PS_OK;
    if (code == PS_OK) {
        part->is_missed = part->is_missed || (reads && part->err.code != PS_OK);
        part->n_users++;
        part->last_use = ++p->n_uses;
        *out = part;
    }
    return code;
}

void ps_sql_parts_begin(ps_sql_parts *p) {
    for (size_t i = 0; i < p->cluster->n_ranks; i++) {
        p->parts[i].is_missed = false;
    }
}

void ps_sql_part_leave(ps_sql_part *part) {
    if (part != NULL) {
        part->n_users--;
    }
}
