#include "serve/cluster/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"
#include "serve/rank/loaded.h"

/* --- sizes --------------------------------------------------------------------------------------------------------------- */

static const char *distributed_args(const ps_modes *m) {
    const ps_table *t = ps_modes_table(m, "ClusterBaseInfo");
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        const ps_value *key = ps_table_cell(t, row, 0);
        const ps_value *value = ps_table_cell(t, row, 1);
        if (!key->is_null && !value->is_null && strcmp(key->u.text, "distributed_args") == 0) {
            return value->u.text;
        }
    }
    return NULL;
}

ps_code ps_summary_collected(const ps_modes *m, ps_layout_dims *out, int64_t *world_size,
                             ps_err *err) {
    const char *text = distributed_args(m);
    ps_arena arena;
    ps_err why = PS_ERR_INIT;
    ps_diag counted_by_the_modes = {0};
    *out = (ps_layout_dims){0};
    *world_size = 0;
    if (text == NULL) {
        return PS_OK;
    }
    ps_arena_init(&arena);
    const ps_literal *args = ps_literal_parse(&arena, text, strlen(text), &why);
    ps_job_sizes_read(args, out, world_size, &counted_by_the_modes);
    if (out->dp == 0 && *world_size > 0) {
        int64_t rest =
            (out->tp > 0 ? out->tp : 1) * (out->cp > 0 ? out->cp : 1) * (out->pp > 0 ? out->pp : 1);
        bool fits = *world_size % rest == 0 && *world_size / rest <= PS_LAYOUT_MOST;
        out->dp = fits ? *world_size / rest : 0;
    }
    ps_arena_fini(&arena);
    return args == NULL && why.code == PS_NOMEM ? ps_fail_nomem(err) : PS_OK;
}

/* --- base information ------------------------------------------------------------------------------------------------------ */

enum { B_NAME, B_VALUE, B_UNIT, N_BASE };
static const ps_column BASE[N_BASE] = {{.name = "name", .type = PS_COL_TEXT},
                                       {.name = "value", .type = PS_COL_TEXT},
                                       {.name = "unit", .type = PS_COL_TEXT}};

static bool put_summary_line(ps_table *t, const char *name, const char *value, const char *unit) {
    return ps_table_add_row(t) && ps_table_set_text(t, B_NAME, name) &&
           ps_table_set_text(t, B_VALUE, value) && ps_table_set_text(t, B_UNIT, unit);
}

static bool put_summary_number(ps_table *t, const char *name, int64_t value, const char *unit) {
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    return put_summary_line(t, name, text, unit);
}

/* What only a rank in memory says: when the capture began and ended. */
typedef struct span {
    int64_t start_ns, end_ns; /* epoch */
    size_t n;
} span;

static void take_span(span *s, const ps_loaded *l) {
    const ps_trace *t = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    const ps_slices *x = ps_trace_slices(t);
    int64_t origin = ps_trace_origin_ns(t);
    int64_t end = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        int64_t to = x->start_ns[i] + x->dur_ns[i];
        end = to > end ? to : end;
    }
    if (x->n == 0) {
        return;
    }
    int64_t start = ps_i64_plus(origin, x->start_ns[0]);
    end = ps_i64_plus(origin, end);
    s->start_ns = s->n == 0 || start < s->start_ns ? start : s->start_ns;
    s->end_ns = s->n == 0 || end > s->end_ns ? end : s->end_ns;
    s->n++;
}

typedef struct files {
    int64_t bytes;
    size_t n_ranks, n_loaded, n_failed;
    const char *format;
    bool formats_differ;
    span span;
} files;

static void look_at_ranks(const ps_request *q, const ps_cluster *c, files *f) {
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        const ps_rank_entry *e = ps_store_rank(q->store, i);
        ps_file_id id;
        if (e->cluster != c) {
            continue;
        }
        const char *format = ps_cluster_format(e->rank);
        f->formats_differ = f->formats_differ || (f->n_ranks > 0 && strcmp(format, f->format) != 0);
        f->format = format;
        f->n_ranks++;
        if (ps_file_identify(e->rank->path, &id, NULL) == PS_OK) {
            f->bytes = ps_i64_plus(f->bytes, id.size_bytes);
        }
        ps_rank_state state = ps_store_status(q->store, i).state;
        f->n_failed += state == PS_STATE_FAILED ? 1 : 0;
        ps_loaded *l = NULL;
        if (state == PS_STATE_READY && ps_store_get(q->store, i, &l, NULL) == PS_OK) {
            take_span(&f->span, l);
            f->n_loaded++;
            ps_loaded_release(l);
        }
    }
}

/* Different texts of the first column of rows. Steps are few. */
static size_t count_summary_steps(const ps_modes *m) {
    const ps_table *t = ps_modes_table(m, "ClusterStepTraceTime");
    size_t n = 0;
    const char *seen[512];
    for (size_t row = 0; t != NULL && row < t->n_rows; row++) {
        const ps_value *step = ps_table_cell(t, row, 0);
        bool known = step->is_null || n == 512;
        for (size_t k = 0; !known && k < n; k++) {
            known = strcmp(seen[k], step->u.text) == 0;
        }
        if (!known) {
            seen[n++] = step->u.text;
        }
    }
    return n;
}

static bool put_sizes(ps_table *t, const ps_layout_dims *p) {
    const struct {
        const char *name;
        int64_t size;
    } SIZES[] = {{"tensor parallel", p->tp}, {"context parallel", p->cp},
                 {"data parallel", p->dp},   {"pipeline parallel", p->pp},
                 {"expert parallel", p->ep}, {"expert tensor parallel", p->moe_tp}};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof SIZES / sizeof *SIZES; i++) {
        ok = SIZES[i].size == 0 || put_summary_number(t, SIZES[i].name, SIZES[i].size, "");
    }
    return ok;
}

ps_table *ps_summary_base_info(const ps_request *q, size_t cluster, const ps_modes *m,
                               const char *step, ps_err *err) {
    (void)step;
    const ps_cluster *c = ps_store_cluster(q->store, cluster);
    const ps_table *hosts = ps_modes_table(m, "HostInfo");
    files f = {.format = ""};
    ps_layout_dims sizes;
    int64_t world_size = 0;
    if (ps_summary_collected(m, &sizes, &world_size, err) != PS_OK) {
        return NULL;
    }
    look_at_ranks(q, c, &f);
    ps_table *t = ps_table_new("base_info", "base information", BASE, N_BASE);
    bool ok =
        t != NULL && put_summary_line(t, "path", c->path, "") &&
        put_summary_line(t, "format", f.formats_differ ? "several" : f.format, "") &&
        put_summary_number(t, "ranks", (int64_t)f.n_ranks, "") &&
        put_summary_number(t, "ranks loaded", (int64_t)f.n_loaded, "") &&
        (f.n_failed == 0 || put_summary_number(t, "ranks that failed", (int64_t)f.n_failed, "")) &&
        (hosts == NULL || put_summary_number(t, "hosts", (int64_t)hosts->n_rows, "")) &&
        put_summary_number(t, "steps", (int64_t)count_summary_steps(m), "") &&
        put_summary_number(t, "data size", f.bytes, "bytes");
    if (ok && f.span.n > 0) { /* of the ranks that are loaded */
        ok = put_summary_number(t, "start time", f.span.start_ns, "epoch ns") &&
             put_summary_number(t, "collected for", ps_i64_minus(f.span.end_ns, f.span.start_ns),
                                "ns");
    }
    ok = ok && put_sizes(t, &sizes);
    if (!ok) {
        ps_table_free(t);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    return t;
}
