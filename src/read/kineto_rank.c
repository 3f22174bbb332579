/* Which rank wrote a file, cheaply: distributedInfo stands before the events, or behind them in files of on-demand
 * recordings; else the name tells. */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/lit.h"
#include "base/num.h"
#include "read/kineto.h"

#define TAIL_BYTES PS_HEAD_BYTES
#define STREAM_BYTES ((size_t)1 << 20)

int64_t ps_kineto_rank_of_name(const char *path) {
    int64_t rank = -1;
    for (const char *p = ps_path_base(path); (p = strstr(p, "rank")) != NULL;) {
        p += 4;
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        size_t n = strspn(digits, "0123456789");
        if (n > 0 && !ps_parse_i64(digits, n, &rank)) {
            rank = -1;
        }
    }
    return rank;
}
