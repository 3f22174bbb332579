/* What a profiler computed of its communication operators, in one form: the tables CommAnalyzerTime, CommAnalyzerBandwidth
 * and CommAnalyzerMatrix of analysis.db, or communication, communication_bandwidth and communication_matrix of
 * communication.json and communication_matrix.json. They outlive the trace. */
#ifndef PS_ANALYZE_COMM_TABLES_H
#define PS_ANALYZE_COMM_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/strpool.h"
#include "model/trace.h"

/* Numbers that are missing are NaN. Times in ms, sizes in MB (10^6 bytes), bandwidths in GB/s, as the profiler has them;
 * `group` is the decimal text of the hash. Texts are ids of the tables' pool. */
typedef struct ps_comm_time {
    ps_str op, group, step;
    bool is_p2p;
    double start_us, elapsed, transit, wait, synchronization, idle;
} ps_comm_time;

/* One transport and packet size of an operator; size, time and bandwidth are of all packet sizes together. */
typedef struct ps_comm_bandwidth {
    ps_str op, group, step, transport;
    double size, time, bandwidth, large_ratio, package_size, total_time;
    int64_t count;
} ps_comm_bandwidth;

/* One link of one kind of operator ("allreduce-top1"); ranks are places in the group, -1 unknown. */
typedef struct ps_comm_link {
    ps_str op, group, step, transport, op_name;
    bool is_p2p;
    int64_t source, destination;
    double size, time, bandwidth;
} ps_comm_link;

typedef struct ps_comm_tables {
    ps_comm_time *times;
    size_t n_times, cap_times;
    ps_comm_bandwidth *bandwidths;
    size_t n_bandwidths, cap_bandwidths;
    ps_comm_link *links;
    size_t n_links, cap_links;
    bool has_times, has_bandwidths, has_links; /* the profile has such a table, if an empty one */
    ps_strpool strings;
} ps_comm_tables;

typedef enum ps_comm_table {
    PS_COMM_TIMES = 1u << 0,
    PS_COMM_BANDWIDTHS = 1u << 1,
    PS_COMM_LINKS = 1u << 2
} ps_comm_table;

/* Reads those of `which` (ps_comm_table bits), with step_id >= 0 only rows of that step ("step50"). Needs
 * PS_NEED_STATISTICS. PS_NOMEM only; end with ps_comm_tables_fini() in any case. */
PS_MUST_USE ps_code ps_comm_tables_read(const ps_trace *trace, uint32_t which, int64_t step_id,
                                        ps_comm_tables *out, ps_err *err);
void ps_comm_tables_fini(ps_comm_tables *t);
const char *ps_comm_tables_text(const ps_comm_tables *t, ps_str s); /* "" for none */
/* Whether an entry is the sum over operators: "Total Op Info", "hcom_allReduce-total@1234", "total". An operator may be called
 * "subtotal"; that is none. */
bool ps_comm_is_total(const char *op);

void ps_comm_tables_archive(ps_archive *a, void *tables);

#endif
