/* Clocks of other machines: what the program measured of them (ps_record_clock_offset), through ring 0. Kept for the recordings to
 * come, since a program measures before it begins to record too:
 *
 *     {"reference": 0, "unix_ns": 17..., "mono_ns": 12..., "offset_ns": -1750000, "uncertainty_ns": 21000, "method": "exchange"}
 *
 * Both clocks of this machine stand there: the times of a recording go on as if nobody had set the wall clock (clock.h), and the
 * export moves what was measured by as much as it was set since. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json_write.h"
#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"
#include "record/ring/signal_lock.h"
#include "record/session/session.h"
#include "record/session/session_parts.h"

enum { MAX_KEPT = 64, MAX_METHOD = 31 };

static const int64_t DAY_NS = INT64_C(86400) * 1000000000;
static const int64_t MAX_OFFSET_NS = INT64_C(1) << 60; /* 36 years */

typedef struct measured {
    int64_t unix_ns, mono_ns, offset_ns, uncertainty_ns;
    int reference;
    char method[MAX_METHOD + 1];
} measured;

static struct { /* under the lock of facts */
    measured kept[MAX_KEPT];
    unsigned n;
} g;

static void define(const measured *m) {
    ps_buf text;
    ps_buf_init(&text, 4096);
    ps_json j = ps_json_spaced_to(&text);
    ps_json_object(&j);
    ps_json_key_int(&j, "reference", m->reference);
    ps_json_key_int(&j, "unix_ns", m->unix_ns);
    ps_json_key_int(&j, "mono_ns", m->mono_ns);
    ps_json_key_int(&j, "offset_ns", m->offset_ns);
    ps_json_key_int(&j, "uncertainty_ns", m->uncertainty_ns);
    ps_json_key_str(&j, "method", m->method);
    ps_json_close(&j);
    if (ps_buf_ok(&text)) {
        ps_shared_pair(PS_REC_INFO, "clock_offset", ps_buf_str(&text), text.len);
    }
    ps_buf_fini(&text);
}

void ps_clock_offsets_define(void) {
    for (unsigned i = 0; i < g.n; i++) {
        define(&g.kept[i]);
    }
}

/* The first one tells most of the drift: of too many the second oldest goes. */
static void keep_clock(const measured *m) {
    if (g.n == MAX_KEPT) {
        memmove(&g.kept[1], &g.kept[2], (MAX_KEPT - 2) * sizeof g.kept[0]);
        g.n--;
    }
    g.kept[g.n++] = *m;
}

static bool is_clock_word(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n > 0 && n <= MAX_METHOD && text[n] == '\0';
}

int ps_session_clock_offset(int reference_rank, int64_t at_ns, int64_t offset_ns,
                            int64_t uncertainty_ns, const char *method) {
    method = method != NULL ? method : "exchange";
    if (reference_rank < 0 || uncertainty_ns < 0 || uncertainty_ns > MAX_OFFSET_NS ||
        offset_ns > MAX_OFFSET_NS || offset_ns < -MAX_OFFSET_NS || !is_clock_word(method)) {
        ps_rec_log("a clock offset needs a rank, an offset within 36 years, an uncertainty that is "
                   "not negative, and a method of at most %d of a-z, 0-9, _ and -",
                   MAX_METHOD);
        return PS_RECORD_BAD_ARGUMENT;
    }
    ps_anchor now = ps_clock_anchor(PS_CLOCK_MONOTONIC);
    at_ns = at_ns != 0 ? at_ns : now.real_ns;
    int64_t ago = 0;
    if (__builtin_sub_overflow(now.real_ns, at_ns, &ago) || ago > DAY_NS || ago < -DAY_NS) {
        ps_rec_log("a clock offset of %" PRId64
                   " ns is no moment of the last day by CLOCK_REALTIME: left out",
                   at_ns);
        return PS_RECORD_BAD_ARGUMENT;
    }
    measured m = {.unix_ns = at_ns,
                  .mono_ns = now.mono_ns - ago,
                  .offset_ns = offset_ns,
                  .uncertainty_ns = uncertainty_ns,
                  .reference = reference_rank};
    (void)snprintf(m.method, sizeof m.method, "%s", method);
    ps_facts_hold();
    keep_clock(&m);
    if (ps_facts_are_defined()) {
        define(&m);
    }
    ps_facts_release();
    return PS_RECORD_OK;
}
