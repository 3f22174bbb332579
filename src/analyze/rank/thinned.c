/* The ends of a capture are no loss: what was launched before the profiler began has no launch in it, what ran after it
 * stopped no kernel. So only what lies between others that are whole is looked at. */
#include "analyze/rank/thinned.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "model/recording.h"

/* Where kernels that have their launch lie. */
typedef struct linked_span {
    int64_t first_ns, last_ns; /* start of the first and of the last such kernel */
    int64_t last_call_ns;      /* the last of their calls */
    int64_t n;
} linked_span;

static bool is_kernel(uint8_t kind) {
    return kind == PS_SLICE_KERNEL || kind == PS_SLICE_COMM_KERNEL;
}

static uint64_t call_key(const ps_slices *s, uint32_t call) {
    return (uint64_t)s->name[call].id;
}

/* Also which calls launch kernels, by name, and which of them did. False when memory is out. */
static bool look_at_linked(const ps_links *links, ps_idmap *launching, uint8_t *has_kernel,
                           linked_span *out) {
    const ps_slices *s = ps_trace_slices(links->trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t call = is_kernel(s->kind[i]) ? links->call[i] : PS_NONE;
        if (call == PS_NONE || s->kind[call] != PS_SLICE_CALL) {
            continue;
        }
        bool is_first = out->n == 0;
        int64_t start = s->start_ns[i];
        out->first_ns = is_first || start < out->first_ns ? start : out->first_ns;
        out->last_ns = is_first || start > out->last_ns ? start : out->last_ns;
        bool is_later = is_first || s->start_ns[call] > out->last_call_ns;
        out->last_call_ns = is_later ? s->start_ns[call] : out->last_call_ns;
        out->n++;
        has_kernel[call / 8] |= (uint8_t)(1u << call % 8);
        if (!ps_idmap_put(launching, call_key(s, call), 1)) {
            return false;
        }
    }
    return true;
}

static void count_missing(const ps_links *links, const ps_idmap *launching,
                          const uint8_t *has_kernel, const linked_span *span, ps_thinned *out) {
    const ps_slices *s = ps_trace_slices(links->trace);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t start = s->start_ns[i];
        if (is_kernel(s->kind[i]) && start >= span->first_ns && start <= span->last_ns) {
            out->launches.n += links->call[i] == PS_NONE && links->op[i] == PS_NONE;
            out->launches.of++;
        } else if (s->kind[i] == PS_SLICE_CALL && start <= span->last_call_ns &&
                   ps_idmap_get(launching, call_key(s, i)) != PS_IDMAP_NONE) {
            out->kernels.n += (has_kernel[i / 8] >> i % 8 & 1) == 0;
            out->kernels.of++;
        }
    }
}

ps_code ps_thinned_measure(const ps_links *links, ps_thinned *out, ps_err *err) {
    const ps_slices *s = ps_trace_slices(links->trace);
    linked_span span = {0};
    ps_idmap launching;
    ps_idmap_init(&launching);
    *out = (ps_thinned){.n_few = ps_trace_few_numbers(links->trace)};
    uint8_t *has_kernel = ps_calloc((size_t)s->n / 8 + 1, 1);
    bool ok = has_kernel != NULL && look_at_linked(links, &launching, has_kernel, &span);
    if (ok && span.n > 0) {
        count_missing(links, &launching, has_kernel, &span, out);
    }
    int64_t n = 0;
    int64_t of = 0;
    if (ps_trace_thinned(links->trace, &n, &of)) {
        out->events = (ps_missing_part){of - n, of};
    }
    ps_free(has_kernel);
    ps_idmap_fini(&launching);
    return ok ? PS_OK : ps_fail_nomem(err);
}

static double thinned_percent_of(const ps_missing_part *part) {
    return part->of > 0 ? 100.0 * (double)part->n / (double)part->of : 0;
}

double ps_thinned_percent(const ps_thinned *t) {
    double most = thinned_percent_of(&t->events);
    most = thinned_percent_of(&t->launches) > most ? thinned_percent_of(&t->launches) : most;
    return thinned_percent_of(&t->kernels) > most ? thinned_percent_of(&t->kernels) : most;
}

/* Numbers before the first and behind the last one that is there say nothing. */
void ps_thinned_say(ps_lang lang, const ps_thinned *t, double limit, char *out, size_t size) {
    const struct {
        const ps_missing_part *part;
        const char *of, *least, *most;
    } parts[] = {{&t->events,
                  PS_SAY(lang, "events that its profiler numbered", "采集工具编号的事件"),
                  PS_SAY(lang, "at least ", "至少 "), PS_SAY(lang, "at most ", "最多 ")},
                 {&t->launches, PS_SAY(lang, "launches of its kernels", "其核函数的下发"), "", ""},
                 {&t->kernels, PS_SAY(lang, "kernels of its launches", "其下发的核函数"), "", ""}};
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts && at < size; i++) {
        const ps_missing_part *p = parts[i].part;
        double missing = ps_percent(p->n, p->of);
        if (missing > limit) {
            at += (size_t)snprintf(out + at, size - at,
                                   PS_SAY(lang, "%s%lld of %s%lld %s (%s%.3g %%)",
                                          "%s%lld 个，共%s%lld 个%s（%s%.3g %%）"),
                                   at > 0 ? PS_SAY(lang, ", ", "；") : "",
                                   (long long)(p->of - p->n), parts[i].least, (long long)p->of,
                                   parts[i].of, parts[i].most, 100 - missing);
        }
    }
}

void ps_thinned_archive(ps_archive *a, void *thinned) {
    ps_thinned *x = thinned;
    PS_ARCHIVE(a, x, events.n, events.of, launches.n, launches.of, kernels.n, kernels.of, n_few);
}
