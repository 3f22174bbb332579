/* Host ranges that stop the launches: blocking copies, synchronising calls, garbage collection, data loading. */
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"
#include "analyze/report_facts.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/strpool.h"

#define NO_CLASS PS_N_REPORT_HOSTS
#define MAX_PARENTS 64 /* how far up the stack is looked */
#define PROMPT_NS 20000

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

static bool is_one_of(const char *text, const char *const *names, size_t n, bool whole) {
    for (size_t i = 0; i < n; i++) {
        if (whole ? strcmp(text, names[i]) == 0 : begins(text, names[i])) {
            return true;
        }
    }
    return false;
}

static ps_report_host known_class(const char *name) {
    static const struct {
        ps_report_host class;
        const char *name;
    } KNOWN[] = {
#define X(class_, name_) {PS_HOST_##class_, name_},
#include "analyze/report_host.def"
#undef X
    };
    name += begins(name, "AscendCL@") ? strlen("AscendCL@") : 0; /* text captures write it */
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if (strcmp(name, KNOWN[i].name) == 0) {
            return KNOWN[i].class;
        }
    }
    return NO_CLASS;
}

static ps_report_host class_of(const char *name) {
    static const char *const OPS[] = {"aten::item", "aten::_local_scalar_dense", "aten::nonzero",
                                      "aten::is_nonzero"};
    static const char *const COPIES[] = {"aclrtMemcpy", "cudaMemcpy", "cuMemcpy"};
    static const char *const SYNCS[] = {"aclrtSynchronize",      "cudaDeviceSynchronize",
                                        "cudaStreamSynchronize", "cudaEventSynchronize",
                                        "cuStreamSynchronize",   "cuCtxSynchronize",
                                        "cuEventSynchronize",    "torch.cuda.synchronize"};
    if (is_one_of(name, OPS, sizeof OPS / sizeof *OPS, true) ||
        (is_one_of(name, COPIES, sizeof COPIES / sizeof *COPIES, false) && !has(name, "Async"))) {
        return PS_HOST_COPY;
    }
    if (is_one_of(name, SYNCS, sizeof SYNCS / sizeof *SYNCS, false)) {
        return PS_HOST_SYNC;
    }
    if (begins(name, "Python GC") || strcmp(name, "GC") == 0 || has(name, "gc.collect")) {
        return PS_HOST_GC;
    }
    bool fetches = has(name, "__next__") || has(name, "enumerate(") || has(name, "fetch");
    if ((has(name, "DataLoader") || has(name, "dataloader.py")) && fetches) {
        return PS_HOST_DATA;
    }
    return known_class(name);
}

typedef struct host {
    const ps_links *links;
    const ps_slices *s;
    ps_report_rank *out;
    uint8_t *classes; /* [n_slices] */
    ps_intervals idle, exposed;
} host;

static bool classify(host *h) {
    ps_idmap seen; /* name -> class */
    ps_idmap_init(&seen);
    h->classes = ps_alloc((size_t)h->s->n + 1);
    bool ok = h->classes != NULL;
    for (uint32_t i = 0; ok && i < h->s->n; i++) {
        h->classes[i] = NO_CLASS;
        if (!ps_is_host_range(h->s->kind[i])) {
            continue;
        }
        uint32_t class = ps_idmap_get(&seen, h->s->name[i].id);
        if (class == PS_IDMAP_NONE) {
            class = class_of(ps_trace_text(h->links->trace, h->s->name[i]));
            ok = ps_idmap_put(&seen, h->s->name[i].id, class);
        }
        h->classes[i] = (uint8_t) class;
    }
    ps_idmap_fini(&seen);
    return ok;
}

/* Ranges inside of another one that stops the launches belong to that one. */
static bool is_nested(const host *h, uint32_t slice) {
    uint32_t at = h->links->parent[slice];
    for (int depth = 0; at != PS_NONE && depth < MAX_PARENTS; depth++) {
        if (h->classes[at] != NO_CLASS) {
            return true;
        }
        at = h->links->parent[at];
    }
    return false;
}

static bool comes_before(const ps_report_event *a, const ps_report_event *b) {
    if (a->idle_ns != b->idle_ns) {
        return a->idle_ns > b->idle_ns;
    }
    return a->dur_ns != b->dur_ns ? a->dur_ns > b->dur_ns : a->start_ns < b->start_ns;
}

static bool keep(host *h, ps_report_stops *stops, ps_report_event e, uint32_t slice) {
    size_t at = stops->n_top;
    while (at > 0 && comes_before(&e, &stops->top[at - 1])) {
        at--;
    }
    if (at == PS_REPORT_EVENTS_KEPT) {
        return true;
    }
    const char *name = ps_trace_text(h->links->trace, h->s->name[slice]);
    e.name = ps_arena_strndup(&h->out->arena, name, strlen(name));
    stops->n_top += stops->n_top < PS_REPORT_EVENTS_KEPT;
    for (size_t k = stops->n_top - 1; k > at; k--) {
        stops->top[k] = stops->top[k - 1];
    }
    stops->top[at] = e;
    return e.name != NULL;
}

/* The first step of several compiles and allocates what the others use again, and so does what runs outside of them. */
static bool is_warm_up(const host *h, ps_report_host class, int64_t start, int64_t end) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(h->links->trace, &n);
    if (n == 0 || (class != PS_HOST_COMPILE && class != PS_HOST_MEMORY)) {
        return false;
    }
    int64_t step = ps_step_of(&h->links->steps, start, end);
    return step == PS_STEP_OUTSIDE || (n > 1 && step == steps[0].id);
}

/* Threads may stop at the same time: what the device lost is counted once, over the union. */
static bool sum_class(host *h, ps_report_host class) {
    ps_report_stops *stops = &h->out->stops[class];
    ps_intervals all = {0};
    ps_intervals both = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < h->s->n; i++) {
        if (h->classes[i] != class || is_nested(h, i)) {
            continue;
        }
        int64_t start = h->s->start_ns[i];
        int64_t end = start + h->s->dur_ns[i];
        if (is_warm_up(h, class, start, end)) {
            continue;
        }
        ps_report_event e = {.start_ns = h->out->origin_ns + start,
                             .dur_ns = end - start,
                             .idle_ns = ps_intervals_within_ns(&h->idle, start, end),
                             .comm_ns = ps_intervals_within_ns(&h->exposed, start, end),
                             .step = ps_step_of(&h->links->steps, start, end)};
        stops->n++;
        ok = ps_intervals_add(&all, start, end) && keep(h, stops, e, i);
    }
    ps_intervals_unite(&all);
    stops->sum_ns = ps_intervals_length_ns(&all);
    ok = ok && ps_intervals_both(&all, &h->idle, &both);
    stops->idle_ns = ps_intervals_length_ns(&both);
    ps_intervals_fini(&both);
    both = (ps_intervals){0};
    ok = ok && ps_intervals_both(&all, &h->exposed, &both);
    stops->comm_ns = ps_intervals_length_ns(&both);
    ps_intervals_fini(&both);
    ps_intervals_fini(&all);
    return ok;
}

/* Idle: the gaps of every step; exposed: communication with no computing beside it. */
static bool find_idle(host *h, const ps_overlaps *overlaps) {
    bool ok = true;
    for (size_t i = 0; ok && i < overlaps->n; i++) {
        const ps_overlap_spans *spans = &overlaps->spans[i];
        for (size_t k = 1; ok && k < spans->busy.n; k++) {
            ok = ps_intervals_add(&h->idle, spans->busy.at[k - 1].end_ns,
                                  spans->busy.at[k].start_ns);
        }
        ps_intervals alone = {0};
        ok = ok && ps_intervals_minus(&spans->communication, &spans->computing, &alone);
        for (size_t k = 0; ok && k < alone.n; k++) {
            ok = ps_intervals_add(&h->exposed, alone.at[k].start_ns, alone.at[k].end_ns);
        }
        ps_intervals_fini(&alone);
    }
    ps_intervals_unite(&h->idle);
    ps_intervals_unite(&h->exposed);
    return ok;
}

static void count_launches(host *h) {
    for (uint32_t i = 0; i < h->s->n; i++) {
        uint8_t kind = h->s->kind[i];
        uint32_t call = h->links->call[i];
        if (call == PS_NONE || (kind != PS_SLICE_KERNEL && kind != PS_SLICE_COMM_KERNEL)) {
            continue;
        }
        h->out->n_launches++;
        h->out->n_prompt +=
            h->s->start_ns[i] - (h->s->start_ns[call] + h->s->dur_ns[call]) < PROMPT_NS;
    }
}

bool ps_report_gather_host(const ps_links *links, const ps_overlaps *overlaps, ps_report_rank *r) {
    host h = {.links = links, .s = ps_trace_slices(links->trace), .out = r};
    bool ok = classify(&h) && find_idle(&h, overlaps);
    for (int class = 0; ok && class < PS_N_REPORT_HOSTS; class ++) {
        ok = sum_class(&h, (ps_report_host) class);
    }
    if (ok) {
        count_launches(&h);
    }
    ps_free(h.classes);
    ps_intervals_fini(&h.idle);
    ps_intervals_fini(&h.exposed);
    return ok;
}
