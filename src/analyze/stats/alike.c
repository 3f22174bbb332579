#include "analyze/stats/alike.h"

#include "base/num.h"

#define GAP_TIMES 1.5
#define GAP_NS 1000
#define LEAST_SHARE 20 /* a twentieth of all */

ps_alike ps_alike_of(ps_alike_facts a, ps_alike_facts b) {
    if (a.kind == 0 || a.kind != b.kind || a.group != b.group || a.size != b.size) {
        return PS_ALIKE_NOT;
    }
    return a.group == 0 || a.size < 0 ? PS_ALIKE_UNSURE : PS_ALIKE_SURE;
}

static size_t end_of_cluster(const int64_t *lengths_ns, size_t n, size_t from) {
    size_t end = from + 1;
    while (end < n && ((double)lengths_ns[end] <= (double)lengths_ns[end - 1] * GAP_TIMES ||
                       lengths_ns[end] - lengths_ns[end - 1] <= GAP_NS)) {
        end++;
    }
    return end;
}

size_t ps_outliers_find(const int64_t *lengths_ns, size_t n, double times, int64_t *like_ns) {
    size_t found = 0;
    int64_t median_ns = 0; /* of the last mode */
    for (size_t i = 0; i < n;) {
        size_t end = end_of_cluster(lengths_ns, n, i);
        bool is_mode = end - i >= PS_LEAST_ALIKE && (end - i) * LEAST_SHARE >= n;
        median_ns = is_mode ? ps_midpoint_i64(lengths_ns[i + (end - i - 1) / 2],
                                              lengths_ns[i + (end - i) / 2])
                            : median_ns;
        for (; i < end; i++) {
            bool is_outlier = median_ns > 0 && (double)lengths_ns[i] > (double)median_ns * times;
            like_ns[i] = is_outlier ? median_ns : 0;
            found += is_outlier;
        }
    }
    return found;
}
