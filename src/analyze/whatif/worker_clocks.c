#include "analyze/whatif/worker_clocks.h"

#include <stdio.h>

#include "base/num.h"

/* Less is rounding. */
#define APART_NS 1000

void ps_clock_doubts_add(ps_clock_doubt *doubts, const ps_job_op *op, int64_t apart_ns) {
    if (op->kind == PS_WORKER_FORWARD_SEND || op->kind == PS_WORKER_BACKWARD_SEND) {
        ps_clock_doubt *d = &doubts[2 * (size_t)op->worker + (op->kind == PS_WORKER_BACKWARD_SEND)];
        d->n++;
        d->n_apart += apart_ns > APART_NS;
        d->most_ns = apart_ns > d->most_ns ? apart_ns : d->most_ns;
    }
}

static void join_doubts(ps_clock_doubt *doubts, size_t n_lists, size_t n) {
    for (size_t i = n; i < n_lists * n; i++) {
        ps_clock_doubt *d = &doubts[i % n];
        d->n += doubts[i].n;
        d->n_apart += doubts[i].n_apart;
        d->most_ns = doubts[i].most_ns > d->most_ns ? doubts[i].most_ns : d->most_ns;
    }
}

/* Of the same replica. */
static const ps_job_worker *worker_of_stage(const ps_job_steps *js, const ps_job_worker *a,
                                            int32_t stage) {
    size_t row = ((size_t)stage * (size_t)js->n_replicas + (size_t)a->replica) * (size_t)js->n_tp;
    return &js->workers[row + (size_t)a->tp];
}

void ps_clock_doubts_say(ps_clock_doubt *doubts, size_t n_lists, ps_job_steps *js) {
    const ps_clock_doubt *worst = NULL;
    join_doubts(doubts, n_lists, 2 * js->n_workers);
    for (size_t i = 0; i < 2 * js->n_workers; i++) {
        const ps_clock_doubt *d = &doubts[i];
        bool is_apart = d->n_apart > d->n / 2;
        worst = is_apart && (worst == NULL || d->most_ns > worst->most_ns) ? d : worst;
    }
    if (worst == NULL) {
        return;
    }
    size_t row = (size_t)(worst - doubts);
    const ps_job_worker *a = &js->workers[row / 2];
    int32_t by = row % 2 == 0 ? 1 : js->n_stages - 1;
    const ps_job_worker *b = worker_of_stage(js, a, (a->stage + by) % js->n_stages);
    char who[96];
    char other[96];
    (void)snprintf(
        js->clocks_apart, sizeof js->clocks_apart,
        PS_SAY(js->lang,
               "the clocks of %s and of %s are %s or more apart: %u of %u transfers end on one of "
               "them before they begin on the other",
               "%s 与 %s 的时钟相差 %s 或更多：%u/%u 次传输在一方结束时另一方尚未开始"),
        ps_job_describe_worker(js->lang, a, who), ps_job_describe_worker(js->lang, b, other),
        ps_ns_text_of(worst->most_ns).text, (unsigned)worst->n_apart, (unsigned)worst->n);
}
