#include "analyze/derived/job_skew.h"

#include "base/alloc.h"

struct ps_job_skew {
    ps_comm_part **parts; /* [n_ranks] whose lists they are; NULL: nothing is kept */
    size_t n_ranks;
    int64_t step;
    ps_skew skew;
};

ps_job_skew *ps_job_skew_new(void) {
    return ps_calloc(1, sizeof(ps_job_skew));
}

static void forget_skew(ps_job_skew *kept) {
    for (size_t r = 0; kept->parts != NULL && r < kept->n_ranks; r++) {
        ps_comm_part_free(kept->parts[r]);
    }
    ps_free(kept->parts);
    ps_skew_fini(&kept->skew);
    *kept = (ps_job_skew){0};
}

void ps_job_skew_free(ps_job_skew *kept) {
    if (kept != NULL) {
        forget_skew(kept);
        ps_free(kept);
    }
}

/* Parts that differ in their tables share the list of one. */
static ps_comm_part *part_with_list(ps_comm_part *part) {
    return part != NULL && part->list_of != NULL ? part->list_of : part;
}

static bool is_kept(const ps_job_skew *kept, ps_comm_part *const *parts, size_t n, int64_t step) {
    bool same = kept->parts != NULL && kept->n_ranks == n && kept->step == step;
    for (size_t r = 0; same && r < n; r++) {
        same = kept->parts[r] == part_with_list(parts[r]);
    }
    return same;
}

static bool hold_parts(ps_job_skew *kept, ps_comm_part *const *parts, size_t n) {
    kept->parts = ps_calloc(n + 1, sizeof(ps_comm_part *));
    for (size_t r = 0; kept->parts != NULL && r < n; r++) {
        kept->parts[r] = part_with_list(parts[r]);
        if (kept->parts[r] != NULL) {
            kept->parts[r]->n_users++;
        }
    }
    kept->n_ranks = n;
    return kept->parts != NULL;
}

ps_code ps_job_skew_of(const ps_reduce_input *in, ps_comm_part *const *parts, int64_t step,
                       const ps_skew **out, ps_err *err) {
    ps_job_skew *kept = in->job_skew;
    *out = &kept->skew;
    if (is_kept(kept, parts, in->n_ranks, step)) {
        return PS_OK;
    }
    forget_skew(kept);
    const ps_comm_list **lists = ps_calloc(in->n_ranks + 1, sizeof *lists);
    ps_code code =
        lists != NULL && hold_parts(kept, parts, in->n_ranks) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        for (size_t r = 0; r < in->n_ranks; r++) {
            lists[r] = kept->parts[r] != NULL ? &kept->parts[r]->list : NULL;
        }
        ps_skew_input input = {
            .lists = lists, .ranks = in->ranks, .n_ranks = in->n_ranks, .step = step};
        kept->step = step;
        code = ps_skew_measure(&input, &kept->skew, err);
    }
    ps_free(lists);
    if (code != PS_OK) {
        forget_skew(kept);
    }
    return code;
}
