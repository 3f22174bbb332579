/* What the profile's own communication tables say of links and packets. The names are those of analysis.db and of
 * communication.json; a transport that carried nothing has rows of size 0. */
#include <string.h>

#include "analyze/report_facts.h"
#include "base/alloc.h"

#define SMALL_SDMA_MB 16.0
#define SMALL_RDMA_MB 1.0

static double number(const ps_table *t, size_t row, size_t column) {
    const ps_value *cell = column != SIZE_MAX ? ps_table_cell(t, row, column) : NULL;
    if (cell == NULL || cell->is_null || t->columns[column].type == PS_COL_TEXT ||
        t->columns[column].type == PS_COL_STRING_ID) {
        return -1;
    }
    return t->columns[column].type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
}

static const char *text(const ps_table *t, size_t row, size_t column) {
    const ps_value *cell = column != SIZE_MAX ? ps_table_cell(t, row, column) : NULL;
    bool is_text = column != SIZE_MAX && (t->columns[column].type == PS_COL_TEXT ||
                                          t->columns[column].type == PS_COL_STRING_ID);
    return cell == NULL || cell->is_null || !is_text ? "" : cell->u.text;
}

static const ps_table *table_of(const ps_trace *trace, const char *in_db, const char *in_json) {
    const ps_table *t = ps_trace_side_table(trace, in_db);
    return t != NULL ? t : ps_trace_side_table(trace, in_json);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s);
    size_t k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static ps_report_link *link_of(ps_report_rank *r, const char *transport, const char *group,
                               int64_t from, int64_t to) {
    for (size_t i = 0; i < r->n_links; i++) { /* a rank has few links */
        ps_report_link *l = &r->links[i];
        if (l->from == from && l->to == to && strcmp(l->transport, transport) == 0 &&
            strcmp(l->group, group) == 0) {
            return l;
        }
    }
    if (r->n_links >= 4096 ||
        !ps_grow(&r->links, &r->cap_links, r->n_links + 1, 4096, sizeof *r->links)) {
        return NULL;
    }
    ps_report_link *l = &r->links[r->n_links++];
    *l = (ps_report_link){.transport = ps_arena_strndup(&r->arena, transport, strlen(transport)),
                          .group = ps_arena_strndup(&r->arena, group, strlen(group)),
                          .from = from,
                          .to = to};
    return l;
}

static bool gather_matrix(const ps_table *t, ps_report_rank *r) {
    size_t name = ps_table_column(t, "hccl_op_name");
    size_t group = ps_table_column(t, "group_name");
    size_t from = ps_table_column(t, "src_rank");
    size_t to = ps_table_column(t, "dst_rank");
    size_t transport = ps_table_column(t, "transport_type");
    size_t size = ps_table_column(t, "transit_size");
    size_t time = ps_table_column(t, "transit_time");
    for (size_t i = 0; i < t->n_rows; i++) {
        double src = number(t, i, from);
        double dst = number(t, i, to);
        double size_mb = number(t, i, size);
        double time_ms = number(t, i, time);
        bool counts = src >= 0 && dst >= 0 && src < 1e9 && dst < 1e9 && size_mb > 0 && time_ms > 0;
        if (!ends_with(text(t, i, name), "-total") || !counts || src == dst) {
            continue;
        }
        ps_report_link *l =
            link_of(r, text(t, i, transport), text(t, i, group), (int64_t)src, (int64_t)dst);
        if (l == NULL) {
            return r->n_links >= 4096; /* more links than anybody looks at */
        }
        if (l->transport == NULL || l->group == NULL) {
            return false;
        }
        l->size_mb += size_mb;
        l->time_ms += time_ms;
    }
    return true;
}

static ps_report_packets *packets_of(ps_report_rank *r, const char *transport) {
    for (size_t i = 0; i < r->n_packets; i++) {
        if (strcmp(r->packets[i].transport, transport) == 0) {
            return &r->packets[i];
        }
    }
    if (r->n_packets == sizeof r->packets / sizeof *r->packets) {
        return NULL;
    }
    ps_report_packets *p = &r->packets[r->n_packets];
    p->transport = ps_arena_strndup(&r->arena, transport, strlen(transport));
    r->n_packets += p->transport != NULL;
    return p->transport != NULL ? p : NULL;
}

/* The place of an operator, from the list of communication operators; the longest of that name. */
static void place_transit(ps_report_rank *r, const char *name, int64_t transit_ns) {
    ps_str id = ps_strpool_find(&r->comm.strings, name, strlen(name));
    const ps_comm_op *best = NULL;
    for (size_t i = 0; !ps_str_is_none(id) && i < r->comm.n; i++) {
        const ps_comm_op *op = &r->comm.ops[i];
        if (ps_str_eq(op->name, id) &&
            (best == NULL || op->end_ns - op->start_ns > best->end_ns - best->start_ns)) {
            best = op;
        }
    }
    r->retransmitted = (ps_report_event){.name = ps_arena_strndup(&r->arena, name, strlen(name)),
                                         .start_ns = best != NULL ? best->start_ns : PS_NO_TIME,
                                         .dur_ns = transit_ns,
                                         .step = best != NULL ? best->step : 0};
}

static bool gather_bandwidth(const ps_table *t, ps_report_rank *r) {
    size_t name = ps_table_column(t, "hccl_op_name");
    size_t transport = ps_table_column(t, "transport_type");
    size_t package = ps_table_column(t, "package_size");
    size_t count = ps_table_column(t, "count");
    size_t time = ps_table_column(t, "transit_time");
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *kind = text(t, i, transport);
        double package_mb = number(t, i, package);
        double volume_mb = package_mb * number(t, i, count);
        double transit_ms = number(t, i, time);
        bool is_rdma = strcmp(kind, "RDMA") == 0;
        if (strcmp(kind, "LOCAL") == 0 || !(package_mb > 0) || !(volume_mb > 0)) {
            continue;
        }
        ps_report_packets *p = packets_of(r, kind);
        if (p != NULL) {
            p->all_mb += volume_mb;
            p->small_mb += package_mb < (is_rdma ? SMALL_RDMA_MB : SMALL_SDMA_MB) ? volume_mb : 0;
        }
        if (is_rdma && transit_ms > 0 && transit_ms < 1e12 &&
            transit_ms * 1e6 > (double)r->retransmitted.dur_ns) {
            place_transit(r, text(t, i, name), (int64_t)(transit_ms * 1e6));
            if (r->retransmitted.name == NULL) {
                return false;
            }
        }
    }
    return true;
}

bool ps_report_gather_links(const ps_trace *trace, ps_report_rank *r) {
    const ps_table *matrix = table_of(trace, "CommAnalyzerMatrix", "communication_matrix");
    const ps_table *bandwidth = table_of(trace, "CommAnalyzerBandwidth", "communication_bandwidth");
    return (matrix == NULL || gather_matrix(matrix, r)) &&
           (bandwidth == NULL || gather_bandwidth(bandwidth, r));
}
