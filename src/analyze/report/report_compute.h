/* Kernels of all ranks in the report, by type and shape: what the rules of computing look at. */
#ifndef PS_ANALYZE_REPORT_COMPUTE_H
#define PS_ANALYZE_REPORT_COMPUTE_H

#include "analyze/report/report.h"

/* Kernels of one type and shape, over all ranks. */
typedef struct ps_compute_kind {
    const ps_report_kernel *one; /* of the rank on which it took longest */
    const ps_report_member *where;
    size_t first_entry, n_entries; /* in entries: one for each rank that ran any */
    int64_t n, sum_ns;
    int64_t pays_ns, conversion_pays_ns, conversion_launches_ns; /* as in ps_report_kernel */
    int64_t n_ranks;                                             /* that ran any */
    int64_t n_flops, flops_ns; /* of those whose FLOPs are known */
    double flops, peak_flops;
    int64_t memory_ns, unknown_roofline_ns;
    double memory_bytes, memory_flops;
    ps_report_odd_flops odd;
    const ps_report_member *odd_where; /* of the first of them */
    int64_t conversion_ns[PS_N_CONVERSIONS], n_conversions[PS_N_CONVERSIONS];
} ps_compute_kind;

typedef struct ps_compute {
    ps_report *report;
    struct ps_compute_entry *entries; /* by type, shapes, stage, member */
    size_t n_entries;
    ps_compute_kind *kinds; /* by sum, the most first */
    size_t n_kinds;
    int64_t sum_ns; /* of all kernels of all ranks */
} ps_compute;

/* Sums over ranks and steps, as a mean of ranks and steps. */
int64_t ps_compute_mean_step_ns(const ps_compute *c, int64_t sum_ns);
/* The same of a number of kernels: 62 */
double ps_compute_mean_count(const ps_compute *c, int64_t n);
enum { PS_SHAPE_TEXT = 96 };
/* " of 1024,1024;1024,1024", "" where no shape is known. */
const char *ps_compute_shape_text(ps_lang lang, const ps_compute_kind *k, char out[PS_SHAPE_TEXT]);
/* What the last finding counts of kernels of the kind is `share` of what of each pays: where that was, on each rank. */
void ps_compute_claim_kind(ps_compute *c, const ps_compute_kind *k, double share);
/* Whether recorded FLOPs contradict the shapes of any of them: then their MFU is not judged. */
bool ps_compute_is_odd(const ps_compute_kind *k);
/* The longest kernel of the kind as a row of evidence. */
void ps_compute_show_kind(ps_compute *c, const ps_compute_kind *k, const char *note);
/* The same with its MFU, where its FLOPs are known. */
void ps_compute_show_mfu(ps_compute *c, const ps_compute_kind *k);

enum { PS_UNPAID_TEXT = 224 };
/* A sentence on what of the claimed time is not in the gain, and why; "" where that is less than a tenth. */
const char *ps_compute_unpaid_text(ps_lang lang, int64_t claimed_ns, int64_t gain_ns,
                                   const char *why, char out[PS_UNPAID_TEXT]);
#define PS_UNPAID_IF_FASTER(lang)                                                                  \
    PS_SAY(lang, "beside communication or before the device waits for the host",                   \
           "与通信并行之处，或设备等待主机之前")

/* Rules over types, whatever the shapes. Memory that runs out is noted in the findings. */
void ps_compute_find_top(ps_compute *c);
/* Whether memory bounds most of its time: then its operations are not to blame. */
bool ps_compute_is_memory_bound(const ps_compute_kind *k);
void ps_compute_find_memory_bound(ps_compute *c);
void ps_compute_find_doubtful_flops(ps_compute *c);
void ps_compute_find_conversion(ps_compute *c);

#endif
