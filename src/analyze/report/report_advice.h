/* What to try, where that depends on what the capture shows. Texts are written into `out` and returned; NULL: what the rule says. */
#ifndef PS_ANALYZE_REPORT_ADVICE_H
#define PS_ANALYZE_REPORT_ADVICE_H

#include "analyze/report/report.h"

enum { PS_ADVICE_TEXT = 768 };

/* Of a device that waits for the host, and of synchronising calls. */
const char *ps_report_free_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size);
/* Of a queue that is empty. */
const char *ps_report_launch_advice(const ps_report *report, const ps_report_member *m, char *out,
                                    size_t size);
const char *ps_report_allocation_advice(const ps_report *report, const ps_report_member *m,
                                        char *out, size_t size);
/* Of CPUs: `is_below` their full frequency, or of a governor alone. */
const char *ps_report_frequency_advice(const ps_report_member *m, bool is_below, char *out,
                                       size_t size);
/* Of copies that nothing hides, by direction and memory. */
const char *ps_report_copies_advice(const ps_report_member *m, char *out, size_t size);
/* Of a host that waits for communication. */
const char *ps_report_comm_wait_advice(const ps_report *report, const ps_report_member *m,
                                       char *out, size_t size);
const char *ps_report_copy_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size);
const char *ps_report_sync_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size);
/* To hide communication: by what the member's operators do. */
const char *ps_report_overlap_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size);
const char *ps_report_packets_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size);
/* Of products far below the peak, by shapes and types of the worst; after conversions were judged. */
const char *ps_report_mfu_advice(const ps_report *report, ps_rule_id rule,
                                 const ps_report_kernel *k, char *out, size_t size);
/* By what is converted. */
const char *ps_report_conversion_advice(const ps_report *report, int64_t layout_ns,
                                        int64_t numbers_ns, char *out, size_t size);

/* Whether a size of a matrix is no multiple of the tile; sizes of 1 are none. */
bool ps_report_has_odd_size(const char *shapes, int64_t tile);

#endif
