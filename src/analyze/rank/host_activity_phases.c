#include "analyze/rank/host_activity_phases.h"

#include <string.h>

#include "analyze/rank/copies.h"
#include "analyze/rank/host_activity.h"
#include "base/alloc.h"

#define MAX_AROUND 256 /* ranges around a slice that are looked at */

typedef struct inside_rule {
    uint8_t activity;
    const char *name, *around;
} inside_rule;

typedef struct behind_rule {
    uint8_t activity;
    const char *name;
} behind_rule;

#define X(activity_, name_)
#define AROUND(call_, inner_)
#define BEHIND(activity_, name_)
#define INSIDE(activity_, name_, around_) {PS_ACTIVITY_##activity_, name_, around_},
static const inside_rule INSIDES[] = {
#include "analyze/rank/host_activity.def"
};
#undef INSIDE
#undef BEHIND
#define INSIDE(activity_, name_, around_)
#define BEHIND(activity_, name_) {PS_ACTIVITY_##activity_, name_},
static const behind_rule BEHINDS[] = {
#include "analyze/rank/host_activity.def"
};
#undef X
#undef AROUND
#undef INSIDE
#undef BEHIND

#define N_INSIDES (sizeof INSIDES / sizeof *INSIDES)
#define N_BEHINDS (sizeof BEHINDS / sizeof *BEHINDS)

/* Of slices. */
enum {
    HOLDS = 1,     /* a phase lies in it, one level below */
    COPIES = 2,    /* it launches copies within the device */
    LAUNCHES = 4,  /* kernels */
    TRANSFERS = 8, /* copies from or to elsewhere */
    TELLS = 16     /* of what HOLDS: the capture has launches from inside of it */
};

/* One range that holds phases, while its slices are walked. */
typedef struct open_phase {
    uint8_t activity; /* 0: none is open */
    uint32_t last;    /* its last slice so far */
    bool any;         /* slice one level below, so far */
    int64_t until_ns; /* the last end of one */
} open_phase;

typedef struct search {
    const ps_links *links;
    const ps_slices *s;
    uint8_t *of;
    uint32_t *before;
    int64_t *unnamed_ns;
    uint8_t *flags;   /* [n_slices] */
    open_phase *open; /* by `row` of what HOLDS */
    uint32_t *row;    /* [n_slices], of what HOLDS */
    size_t n;
    ps_str inside[N_INSIDES], around[N_INSIDES], behind[N_BEHINDS];
} search;

static bool is_phase_text(ps_str a, ps_str b) {
    return !ps_str_is_none(a) && a.id == b.id;
}

/* --- beginnings ----------------------------------------------------------------------------------------- */

/* The activity that the operator has where a range of that name is around it; 0. */
static uint8_t by_around(const search *x, uint32_t slice) {
    for (size_t i = 0; i < N_INSIDES; i++) {
        if (!is_phase_text(x->inside[i], x->s->name[slice])) {
            continue;
        }
        uint32_t up = x->links->parent[slice];
        for (int k = 0; up != PS_NONE && k < MAX_AROUND; k++, up = x->links->parent[up]) {
            if (is_phase_text(x->around[i], x->s->name[up])) {
                return INSIDES[i].activity;
            }
        }
    }
    return 0;
}

/* Whether any operator of the list may be inside of its range at all. */
static bool find_names(search *x) {
    bool any = false;
    for (size_t i = 0; i < N_INSIDES; i++) {
        x->inside[i] = ps_trace_find_text(x->links->trace, INSIDES[i].name);
        x->around[i] = ps_trace_find_text(x->links->trace, INSIDES[i].around);
        any = any || (!ps_str_is_none(x->inside[i]) && !ps_str_is_none(x->around[i]));
    }
    for (size_t i = 0; i < N_BEHINDS; i++) {
        x->behind[i] = ps_trace_find_text(x->links->trace, BEHINDS[i].name);
    }
    return any;
}

static void find_beginnings(search *x) {
    for (uint32_t i = 0; i < x->s->n; i++) {
        uint8_t activity = ps_is_host_range(x->s->kind[i]) ? by_around(x, i) : 0;
        if (activity != 0) {
            uint32_t holds = x->links->parent[i];
            x->of[i] = activity;
            x->row[holds] = (x->flags[holds] & HOLDS) == 0 ? (uint32_t)x->n++ : x->row[holds];
            x->flags[holds] |= HOLDS;
        }
    }
}

/* --- what is launched ----------------------------------------------------------------------------------- */

static uint8_t launched_as(const ps_work *work, const ps_copy_keys *keys, uint32_t slice) {
    if (!ps_is_copy(work, slice)) {
        return LAUNCHES;
    }
    const char *direction = ps_copy_read(work->trace, keys, slice).direction;
    return direction != NULL && strcmp(direction, "D2D") != 0 ? TRANSFERS : COPIES;
}

/* Notes with the slices one level below what HOLDS what they launch. */
static void note_launches(search *x) {
    ps_work work = ps_work_of(x->links);
    ps_copy_keys keys = ps_copy_keys_of(x->links->trace);
    for (uint32_t i = 0; i < x->s->n; i++) {
        bool is_work = ps_is_launched(x->s->kind[i]) && x->s->kind[i] != PS_SLICE_MARK_DEVICE;
        uint32_t at = is_work ? x->links->op[i] : PS_NONE;
        at = is_work && at == PS_NONE ? x->links->call[i] : at;
        for (int k = 0; at != PS_NONE && k < MAX_AROUND; k++, at = x->links->parent[at]) {
            uint32_t up = x->links->parent[at];
            if (up != PS_NONE && (x->flags[up] & HOLDS) != 0) {
                x->flags[at] |= launched_as(&work, &keys, i);
                x->flags[up] |= TELLS;
                break;
            }
        }
    }
}

/* --- phases --------------------------------------------------------------------------------------------- */

static bool phase_goes_on(const search *x, uint32_t slice, uint8_t activity) {
    bool is_named = false;
    for (size_t i = 0; i < N_BEHINDS; i++) {
        is_named = is_named || (BEHINDS[i].activity == activity &&
                                is_phase_text(x->behind[i], x->s->name[slice]));
    }
    return is_named && (x->flags[slice] & TRANSFERS) == 0;
}

/* Nothing is known to be launched by it; of an operator that says something only where the capture has launches. */
static bool launches_nothing(const search *x, uint32_t slice) {
    bool tells = (x->flags[x->links->parent[slice]] & TELLS) != 0;
    bool is_call = x->s->kind[slice] == PS_SLICE_CALL || x->s->kind[slice] == PS_SLICE_QUEUE;
    return (x->flags[slice] & (COPIES | LAUNCHES | TRANSFERS)) == 0 && (tells || is_call);
}

/* The slices behind the last one of the phase up to `until`, at their level, are of it. */
static void take_until(search *x, open_phase *p, uint32_t until) {
    uint32_t up = x->links->parent[until];
    for (uint32_t i = p->last + 1; i <= until; i++) {
        if (x->links->parent[i] == up && ps_is_host_range(x->s->kind[i])) {
            x->of[i] = p->activity;
            x->before[i] = p->last;
            p->last = i;
        }
    }
}

static void follow(search *x) {
    for (uint32_t i = 0; i < x->s->n; i++) {
        uint32_t up = ps_is_host_range(x->s->kind[i]) ? x->links->parent[i] : PS_NONE;
        if (up == PS_NONE || (x->flags[up] & HOLDS) == 0) {
            continue;
        }
        open_phase *p = &x->open[x->row[up]];
        bool is_open = p->activity != 0;
        bool begins = x->of[i] != 0;
        if (is_open && (begins ? x->of[i] == p->activity : phase_goes_on(x, i, p->activity))) {
            take_until(x, p, i);
        } else if (begins) {
            int64_t from_ns = p->any ? p->until_ns : x->s->start_ns[up];
            x->unnamed_ns[i] = x->s->start_ns[i] > from_ns ? x->s->start_ns[i] - from_ns : 0;
            p->activity = x->of[i];
            p->last = i;
        } else if (!launches_nothing(x, i)) {
            p->activity = 0;
        }
        int64_t end_ns = x->s->start_ns[i] + x->s->dur_ns[i];
        p->until_ns = !p->any || end_ns > p->until_ns ? end_ns : p->until_ns;
        p->any = true;
    }
}

bool ps_host_phases_init(ps_host_phases *p, const ps_links *links) {
    *p = (ps_host_phases){.links = links};
    search x = {.links = links, .s = ps_trace_slices(links->trace)};
    if (!find_names(&x)) {
        return true;
    }
    size_t n = (size_t)x.s->n + 1;
    x.of = ps_calloc(n, sizeof *x.of);
    x.flags = ps_calloc(n, sizeof *x.flags);
    x.row = ps_calloc(n, sizeof *x.row);
    x.before = ps_alloc(n * sizeof *x.before);
    x.unnamed_ns = ps_calloc(n, sizeof *x.unnamed_ns);
    bool ok = x.of != NULL && x.flags != NULL && x.row != NULL && x.before != NULL &&
              x.unnamed_ns != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        x.before[i] = PS_NONE;
    }
    if (ok) {
        find_beginnings(&x);
        x.open = ps_calloc(x.n + 1, sizeof *x.open);
        ok = x.open != NULL;
    }
    if (ok && x.n > 0) {
        note_launches(&x);
        follow(&x);
    }
    ps_free(x.flags);
    ps_free(x.row);
    ps_free(x.open);
    p->of = x.of;
    p->before = x.before;
    p->unnamed_ns = x.unnamed_ns;
    return ok;
}

void ps_host_phases_fini(ps_host_phases *p) {
    ps_free(p->of);
    ps_free(p->before);
    ps_free(p->unnamed_ns);
    *p = (ps_host_phases){.links = NULL};
}

int64_t ps_host_phase_start_ns(const ps_host_phases *p, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(p->links->trace);
    uint32_t before = p->before != NULL ? p->before[slice] : PS_NONE;
    return before != PS_NONE ? s->start_ns[before] + s->dur_ns[before] : s->start_ns[slice];
}

int64_t ps_host_phase_unnamed_ns(const ps_host_phases *p, uint32_t slice) {
    return p->unnamed_ns != NULL ? p->unnamed_ns[slice] : 0;
}
