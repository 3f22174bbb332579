/* What the profile's own communication tables say of packets; a transport that carried nothing has rows of size 0. */
#include <math.h>
#include <string.h>

#include "analyze/report/report_facts.h"

#define SMALL_SDMA_MB 16.0
#define SMALL_RDMA_MB 1.0

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

static size_t packet_class_of(double mb) {
    int exponent = 0;
    (void)frexp(mb, &exponent); /* mb = m * 2^exponent, m from 0.5 to 1 */
    int k = exponent - 1 + PS_PACKET_CLASS_OF_1_MB;
    return k < 0 ? 0 : k < PS_N_PACKET_CLASSES ? (size_t)k : PS_N_PACKET_CLASSES - 1;
}

bool ps_report_gather_links(ps_report_rank *r) {
    const ps_comm_tables *t = r->part != NULL ? &r->part->tables : NULL;
    for (size_t i = 0; t != NULL && i < t->n_bandwidths; i++) {
        const ps_comm_bandwidth *row = &t->bandwidths[i];
        const char *kind = ps_comm_tables_text(t, row->transport);
        double volume_mb = row->package_size * (double)row->count;
        bool is_rdma = strcmp(kind, "RDMA") == 0;
        if (strcmp(kind, "LOCAL") == 0 || !(row->package_size > 0) || !(volume_mb > 0) ||
            !isfinite(volume_mb)) {
            continue;
        }
        ps_report_packets *p = packets_of(r, kind);
        if (p != NULL) {
            bool is_small = row->package_size < (is_rdma ? SMALL_RDMA_MB : SMALL_SDMA_MB);
            p->all_mb += volume_mb;
            p->small_mb += is_small ? volume_mb : 0;
            double time_ms = row->total_time > 0 && row->total_time < 1e12 ? row->total_time : 0;
            p->all_ms += time_ms;
            p->small_ms += is_small ? time_ms : 0;
            size_t k = packet_class_of(row->package_size);
            p->class_mb[k] += time_ms > 0 ? volume_mb : 0;
            p->class_ms[k] += time_ms;
        }
        if (is_rdma && row->time > 0 && row->time < 1e12 &&
            row->time * 1e6 > (double)r->retransmitted.dur_ns) {
            place_transit(r, ps_comm_tables_text(t, row->op), (int64_t)(row->time * 1e6));
            if (r->retransmitted.name == NULL) {
                return false;
            }
        }
    }
    return true;
}
