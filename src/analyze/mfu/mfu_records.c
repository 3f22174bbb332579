/* FLOPs that the collector recorded: ranges of domain mfu_flops around the operators,
 *
 *   range "2147483648-aten::linear" { operator -> Cast, MatMulV3 }
 *
 * A kernel belongs to the innermost range on the launching thread in which its operator began, else to the one in which another
 * thread waits for it. What a range says is
 * divided over its kernels of matrix class by their durations, so that all of them reached the same rate; a cast gets
 * none. A range around other ranges keeps what these leave. */
#include <stdlib.h>
#include <string.h>

#include "analyze/mfu/mfu_parts.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"

#define MAX_RECORDS ((size_t)UINT32_MAX / 2)
#define NO_RECORD UINT32_MAX

typedef struct record {
    int64_t start_ns, end_ns;
    uint32_t track, slice;
    uint32_t around;      /* the innermost range around it, when records are sorted */
    double stated, flops; /* flops: without what inner ranges state */
    int64_t dur_ns;       /* of its kernels */
    uint32_t n_kernels;
    const char *name;
} record;

typedef struct records {
    record *list; /* by track, start, longer first */
    size_t n, cap;
} records;

/* "2147483648-aten::linear"; *flops 0 when it says so. */
static bool parse_message(const char *text, double *flops, const char **name) {
    size_t digits = strspn(text, "0123456789");
    int64_t value = 0;
    if (digits == 0 || text[digits] != '-' || text[digits + 1] == '\0' ||
        !ps_parse_i64(text, digits, &value)) {
        return false;
    }
    *flops = (double)value;
    *name = text + digits + 1;
    return true;
}

static bool collect_mfu_record(ps_mfu_work *w, records *r) {
    const ps_slices *s = w->slices;
    ps_str domain = ps_trace_find_text(w->trace, "mfu_flops");
    for (uint32_t i = 0; !ps_str_is_none(domain) && i < s->n; i++) {
        if (!ps_mfu_in_domain(w, i, domain)) {
            continue;
        }
        record x = {.start_ns = s->start_ns[i],
                    .end_ns = s->start_ns[i] + s->dur_ns[i],
                    .track = s->track[i],
                    .slice = i,
                    .around = NO_RECORD};
        const char *text = ps_trace_text(w->trace, s->name[i]);
        if (s->dur_ns[i] == 0 || !parse_message(text, &x.stated, &x.name)) {
            ps_diag_add(w->diag, PS_ODD_FLOPS_RECORD, "%.100s", text);
        } else if (x.stated > 0) {
            x.flops = x.stated;
            if (!ps_grow(&r->list, &r->cap, r->n + 1, MAX_RECORDS, sizeof *r->list)) {
                return false;
            }
            r->list[r->n++] = x;
        }
    }
    return true;
}

/* slices are in this order */
PS_COMPARE(compare_records, record, PS_BY(track) PS_BY(slice))

/* What inner ranges state is theirs. A range that was left over from one that ended may be skipped on the way out: it
 * ended earlier still. */
static void find_nesting(records *r) {
    uint32_t open = NO_RECORD;
    for (uint32_t i = 0; i < r->n; i++) {
        record *x = &r->list[i];
        while (open != NO_RECORD &&
               (r->list[open].track != x->track || r->list[open].end_ns < x->end_ns)) {
            open = r->list[open].around;
        }
        x->around = open;
        if (open != NO_RECORD) {
            r->list[open].flops -= x->stated;
        }
        open = i;
    }
}

/* of[kernel row] = the innermost range around its launch. NULL when memory is out. A range that has ended is never asked
 * for again, since launches come in the order of time. */
static uint32_t *give_out(const ps_mfu_work *w, records *r) {
    size_t n = 0;
    uint32_t *rows = ps_mfu_by_launch(w, PS_ROLE_NONE, &n);
    uint32_t *of = rows != NULL ? ps_alloc((w->n + 1) * sizeof *of) : NULL;
    for (size_t i = 0; of != NULL && i < w->n; i++) {
        of[i] = NO_RECORD;
    }
    uint32_t open = NO_RECORD;
    uint32_t next = 0;
    for (size_t i = 0; of != NULL && i < n; i++) {
        const ps_matrix_kernel *k = &w->kernels[rows[i]];
        uint32_t track = w->slices->track[k->launch];
        int64_t at = w->slices->start_ns[k->launch];
        while (next < r->n && (r->list[next].track < track ||
                               (r->list[next].track == track && r->list[next].start_ns <= at))) {
            open = next++;
        }
        while (open != NO_RECORD && (r->list[open].track != track || r->list[open].end_ns < at)) {
            open = r->list[open].around;
        }
        of[rows[i]] = k->role != PS_ROLE_NONE ? open : NO_RECORD;
        if (of[rows[i]] != NO_RECORD) {
            r->list[open].dur_ns = ps_i64_plus(r->list[open].dur_ns, w->slices->dur_ns[k->slice]);
            r->list[open].n_kernels++;
        }
    }
    ps_free(rows);
    return of;
}

/* What autograd's threads launch while another thread waits in a range belongs to that range. False when memory is out. */
static bool give_out_waited_for(const ps_mfu_work *w, records *r, uint32_t *of) {
    ps_idmap rows; /* slice -> record */
    ps_idmap_init(&rows);
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->n; i++) {
        ok = ps_idmap_put(&rows, r->list[i].slice, i);
    }
    for (size_t i = 0; ok && i < w->n; i++) {
        const ps_matrix_kernel *k = &w->kernels[i];
        bool asks = of[i] == NO_RECORD && k->role != PS_ROLE_NONE && k->launch != PS_NONE;
        uint32_t at = asks ? ps_links_waiting(w->links, k->launch) : PS_NONE;
        while (at != PS_NONE && ps_idmap_get(&rows, at) == PS_IDMAP_NONE) {
            at = w->links->parent[at];
        }
        if (at != PS_NONE) {
            record *x = &r->list[of[i] = ps_idmap_get(&rows, at)];
            x->dur_ns = ps_i64_plus(x->dur_ns, w->slices->dur_ns[k->slice]);
            x->n_kernels++;
        }
    }
    ps_idmap_fini(&rows);
    return ok;
}

static void take_share(const ps_mfu_work *w, ps_matrix_kernel *k, const record *x) {
    double share = x->dur_ns > 0 ? (double)w->slices->dur_ns[k->slice] / (double)x->dur_ns
                                 : 1.0 / (double)x->n_kernels;
    k->shape_flops = k->flops;
    k->flops = x->n_kernels == 1 ? x->flops : x->flops * share;
    k->source = PS_FLOPS_RECORDED;
    k->heads_hidden = false;
    k->name = x->name;
}

ps_code ps_mfu_records(ps_mfu_work *w, ps_err *err) {
    records r = {0};
    bool ok = collect_mfu_record(w, &r);
    uint32_t *of = NULL;
    if (ok && r.n > 0) {
        qsort(r.list, r.n, sizeof *r.list, compare_records);
        find_nesting(&r);
        of = give_out(w, &r);
        ok = of != NULL && (w->links->callers.n == 0 || give_out_waited_for(w, &r, of));
    }
    for (size_t i = 0; ok && r.n > 0 && i < w->n; i++) {
        if (of[i] != NO_RECORD && r.list[of[i]].flops > 0) {
            take_share(w, &w->kernels[i], &r.list[of[i]]);
        }
    }
    for (size_t i = 0; ok && i < r.n; i++) {
        if (r.list[i].n_kernels == 0 && r.list[i].flops > 0) {
            ps_diag_add(w->diag, PS_ODD_FLOPS_RECORD, "%.100s: no kernel", r.list[i].name);
        }
    }
    ps_free(of);
    ps_free(r.list);
    return ok ? PS_OK : ps_fail_nomem(err);
}
