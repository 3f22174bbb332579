/* Group by group, sorted by step, type, rank and start, the operators of one collective type lie side by side; numbering them and
 * sorting each such stretch once more brings those that belong together next to one another. */
#include "analyze/comm/skew_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_kernels.h"

/* --- gathering ------------------------------------------------------------------------------------------------ */

/* Texts of one list in the pool of the result; 0: not asked for yet. */
typedef struct renaming {
    ps_skew_work *w;
    const ps_comm_list *list;
    uint32_t *to;
    uint32_t *group_of; /* [n_looks] of those that are gathered */
} renaming;

/* 0 when memory is out; "" for none. */
static uint32_t renamed(renaming *r, ps_str s) {
    if (r->to[s.id] == 0) {
        const char *text = ps_comm_text(r->list, s);
        r->to[s.id] = ps_strpool_add(&r->w->out->strings, text, strlen(text)).id;
    }
    return r->to[s.id];
}

static uint32_t matched_type_of(renaming *r, const ps_comm_op *op) {
    return renamed(r, ps_str_is_none(op->look->type) ? op->name : op->look->type);
}

/* Groups of one name are told apart by their members. */
static uint32_t matched_group_of(renaming *r, const ps_comm_look *look) {
    ps_skew_work *w = r->w;
    ps_str group = {renamed(r, look->group)};
    ps_str key = group;
    if (!ps_str_is_none(group) && !ps_str_is_none(look->members)) {
        char text[512];
        const char *name = ps_comm_text(r->list, look->group);
        const char *members = ps_comm_text(r->list, look->members);
        size_t n = strlen(name) < 200 ? strlen(name) : 200;
        size_t m = strlen(members) < sizeof text - 201 ? strlen(members) : sizeof text - 201;
        memcpy(text, name, n);
        text[n] = '\x1f';
        memcpy(text + n + 1, members, m);
        key = ps_strpool_add(&w->out->strings, text, n + 1 + m);
    }
    size_t before = w->n_plain;
    if (ps_str_is_none(key) ||
        !ps_grow(&w->plain, &w->cap_plain, (size_t)key.id + 1, UINT32_MAX, sizeof *w->plain)) {
        return 0;
    }
    if (key.id >= before) {
        memset(w->plain + before, 0, (key.id + 1 - before) * sizeof *w->plain);
        w->n_plain = (size_t)key.id + 1;
    }
    w->plain[key.id].name = group;
    return key.id;
}

static bool is_asked(const ps_skew_input *in, const ps_comm_op *op, bool p2p) {
    return op->look->is_p2p == p2p && (in->step < 0 || op->step == in->step);
}

static void end_renaming(renaming *r) {
    ps_free(r->to);
    ps_free(r->group_of);
}

/* False when memory is out. */
static bool begin_renaming(renaming *r, bool p2p) {
    r->to = ps_calloc(r->list->strings.n + 1, sizeof *r->to);
    r->group_of = ps_calloc(r->list->n_looks + 1, sizeof *r->group_of);
    bool ok = r->to != NULL && r->group_of != NULL;
    for (size_t i = 0; ok && i < r->list->n_looks; i++) {
        const ps_comm_look *look = &r->list->looks[i];
        if (look->is_p2p == p2p && !look->is_group) {
            r->group_of[i] = matched_group_of(r, look);
            ok = r->group_of[i] != 0;
        }
    }
    return ok;
}

/* How many entries each group will have. */
static bool count_matched_rank(ps_skew_work *w, uint32_t rank, bool p2p) {
    const ps_comm_list *list = w->in->lists[rank];
    renaming r = {.w = w, .list = list};
    bool ok = begin_renaming(&r, p2p);
    for (size_t i = 0; ok && i < list->n; i++) {
        const ps_comm_op *op = &list->ops[i];
        bool is_asked_for = is_asked(w->in, op, p2p);
        if (is_asked_for && op->look->is_group) { /* nothing says who met there */
            w->out->n_unmatched++;
        } else if (is_asked_for) {
            w->plain[r.group_of[op->look - list->looks]].n++;
        }
    }
    end_renaming(&r);
    return ok;
}

static bool gather_matched_rank(ps_skew_work *w, uint32_t rank, bool p2p) {
    const ps_comm_list *list = w->in->lists[rank];
    renaming r = {.w = w, .list = list};
    bool ok = begin_renaming(&r, p2p);
    for (size_t i = 0; ok && i < list->n; i++) {
        const ps_comm_op *op = &list->ops[i];
        if (op->look->is_group || !is_asked(w->in, op, p2p)) {
            continue;
        }
        uint32_t group = r.group_of[op->look - list->looks];
        ps_skew_entry *e = &w->entries[w->plain[group].next++];
        *e = (ps_skew_entry){.start_ns = op->start_ns,
                             .step = op->step,
                             .size = op->look->size_bytes,
                             .group = group,
                             .type = matched_type_of(&r, op),
                             .name = renamed(&r, op->name),
                             .rank = rank,
                             .op = (uint32_t)i};
        ok = e->type != 0 && e->name != 0;
    }
    end_renaming(&r);
    return ok;
}

/* Collectives, or sends and receives: each group's entries lie together, in the order of the ranks, so that from here on one group after the
 * other is looked at, and of the lists what belongs to it. */
static bool gather_matched_kind(ps_skew_work *w, bool p2p) {
    bool ok = true;
    for (uint32_t r = 0; ok && r < w->in->n_ranks; r++) {
        ok = w->in->lists[r] == NULL || count_matched_rank(w, r, p2p);
    }
    for (size_t g = 0; g < w->n_plain; g++) {
        w->plain[g].next = w->n;
        w->n += w->plain[g].n;
        w->plain[g].n = 0;
    }
    for (uint32_t r = 0; ok && r < w->in->n_ranks; r++) {
        ok = w->in->lists[r] == NULL || gather_matched_rank(w, r, p2p);
    }
    return ok;
}

bool ps_skew_gather(ps_skew_work *w) {
    size_t n = 0;
    for (size_t r = 0; r < w->in->n_ranks; r++) {
        n += w->in->lists[r] != NULL ? w->in->lists[r]->n : 0;
    }
    w->entries = ps_calloc(n + 1, sizeof *w->entries);
    bool ok = w->entries != NULL && n < UINT32_MAX && gather_matched_kind(w, false);
    w->n_collective_entries = w->n;
    return ok && gather_matched_kind(w, true);
}

size_t ps_skew_group_end(const ps_skew_entry *e, size_t n, size_t i) {
    size_t k = i;
    while (k < n && e[k].group == e[i].group) {
        k++;
    }
    return k;
}

/* --- numbering ------------------------------------------------------------------------------------------------ */

PS_COMPARE(by_step_and_type, ps_skew_entry,
           PS_BY(step) PS_BY(type) PS_BY(rank) PS_BY(start_ns) PS_BY(op))

PS_COMPARE(by_matched_name, ps_skew_entry, PS_BY(name) PS_BY(rank) PS_BY(start_ns) PS_BY(op))

PS_COMPARE(by_size, ps_skew_entry, PS_BY(size) PS_BY(rank) PS_BY(start_ns) PS_BY(op))

PS_COMPARE(by_rank_and_number, ps_skew_entry, PS_BY(rank) PS_BY(number) PS_BY(start_ns) PS_BY(op))

PS_COMPARE(by_number, ps_skew_entry,
           PS_BY(name) PS_BY(number) PS_BY(rank) PS_BY(start_ns) PS_BY(op))

/* Whether each rank of the stretch, which is sorted by rank, has equally many. Numbers each rank's from 0. */
static bool number_evenly(ps_skew_entry *e, size_t n) {
    int64_t first_count = -1;
    bool even = true;
    for (size_t i = 0; i < n;) {
        size_t k = i;
        for (; k < n && e[k].rank == e[i].rank; k++) {
            e[k].number = (int64_t)(k - i);
        }
        first_count = first_count < 0 ? (int64_t)(k - i) : first_count;
        even = even && (int64_t)(k - i) == first_count;
        i = k;
    }
    return even;
}

/* Operators that were launched as one carry one number: the k-th of a number belongs to the k-th. `name` is k. */
static void number_equal_ones(ps_skew_entry *e, size_t n) {
    qsort(e, n, sizeof *e, by_rank_and_number);
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && e[i].rank == e[i - 1].rank && e[i].number == e[i - 1].number;
        e[i].name = same ? e[i - 1].name + 1 : 0;
    }
}

static void forget_names(ps_skew_entry *e, size_t n) {
    for (size_t i = 0; i < n; i++) {
        e[i].name = 0;
    }
}

/* All ranks give and get equally much. */
static bool has_one_size(const ps_skew_work *w, const ps_skew_entry *e) {
    const ps_strpool *strings = &w->out->strings;
    ps_comm_what what = ps_comm_of_name(ps_strpool_get(strings, (ps_str){e->type}));
    what = what != PS_COMM_UNKNOWN ? what
                                   : ps_comm_of_name(ps_strpool_get(strings, (ps_str){e->name}));
    return what == PS_COMM_ALL_REDUCE || what == PS_COMM_ALL_GATHER ||
           what == PS_COMM_REDUCE_SCATTER;
}

/* Of a stretch whose ranks have equally many: the k-th is of one size on all of them, as far as sizes are known. */
static bool sizes_agree(const ps_skew_entry *e, size_t n) {
    size_t of_first = 0;
    while (of_first < n && e[of_first].rank == e[0].rank) {
        of_first++;
    }
    for (size_t i = of_first; i < n; i++) {
        const ps_skew_entry *first = &e[i % of_first];
        if (first->size >= 0 && e[i].size >= 0 && first->size != e[i].size) {
            return false;
        }
    }
    return true;
}

/* The k-th of a size with the k-th of that size. */
static void number_by_size(ps_skew_entry *e, size_t n) {
    qsort(e, n, sizeof *e, by_size);
    for (size_t i = 0, k = 0; i < n; i = k) {
        for (k = i; k < n && e[k].size == e[i].size;) {
            k++;
        }
        bool even = number_evenly(e + i, k - i);
        for (size_t j = i; j < k; j++) {
            e[j].number = even ? e[j].number + (int64_t)i : -1;
        }
    }
}

/* Numbers a stretch of one group, step and type. What cannot be matched gets the number -1. True: the profile's own
 * numbers. */
static bool number_stretch(ps_skew_work *w, ps_skew_entry *e, size_t n) {
    bool has_sequence = true;
    for (size_t i = 0; i < n; i++) {
        e[i].number = ps_skew_op(w->in, e[i].rank, e[i].op)->sequence;
        has_sequence = has_sequence && e[i].number >= 0;
    }
    if (has_sequence) {
        number_equal_ones(e, n);
        return true;
    }
    if (number_evenly(e, n)) {
        bool agree = !has_one_size(w, e) || sizes_agree(e, n);
        forget_names(e, n);
        if (!agree) {
            number_by_size(e, n);
        }
        return false;
    }
    qsort(e, n, sizeof *e, by_matched_name);
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && e[k].name == e[i].name) {
            k++;
        }
        if (!number_evenly(e + i, k - i)) {
            number_by_size(e + i, k - i);
        }
        i = k;
    }
    return false;
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

/* Each rank once, by rank. */
static void add_collective(ps_skew_work *w, const ps_skew_entry *e, size_t n, bool is_by_time) {
    ps_skew *out = w->out;
    ps_matched_collective m = {.group = w->plain[e->group].name,
                               .is_by_time = is_by_time,
                               .step = e->step,
                               .start_ns = e->start_ns,
                               .first = (uint32_t)out->n_parts};
    const ps_comm_op *op = ps_skew_op(w->in, e->rank, e->op);
    const char *name = ps_comm_text(w->in->lists[e->rank], op->name);
    m.name = ps_strpool_find(&out->strings, name, strlen(name));
    for (size_t i = 0; i < n; i++) {
        out->parts[out->n_parts++] = (ps_collective_part){.rank = e[i].rank, .op = e[i].op};
    }
    m.n = (uint32_t)(out->n_parts - m.first);
    if (m.n < 2) {
        out->n_unmatched += n;
        out->n_parts = m.first;
        return;
    }
    w->collective_groups[out->n_collectives] = e->group;
    out->collectives[out->n_collectives++] = m;
}

/* Nobody may leave before all have come; or it is not told who takes part and who waits (experts, one-sided transfers). */
static bool meets_all(const char *name) {
    ps_comm_what what = ps_comm_of_name(name);
    return ps_comm_is_symmetric(what) || what == PS_COMM_DISPATCH || what == PS_COMM_COMBINE ||
           what == PS_COMM_PUT || what == PS_COMM_GET;
}

/* Nothing but time can tell its communicators apart. */
static bool is_loose(const ps_skew_work *w, const ps_skew_entry *e) {
    const ps_strpool *strings = &w->out->strings;
    return ps_strpool_get(strings, (ps_str){e->group})[0] == '\0' &&
           (meets_all(ps_strpool_get(strings, (ps_str){e->type})) ||
            meets_all(ps_strpool_get(strings, (ps_str){e->name})));
}

static bool match_stretch(ps_skew_work *w, ps_skew_entry *e, size_t n) {
    if (e[0].rank == e[n - 1].rank) {
        return true; /* no other rank has any */
    }
    bool loose = is_loose(w, e);
    loose = !number_stretch(w, e, n) && loose;
    w->n_loose += loose;
    qsort(e, n, sizeof *e, by_number);
    if (loose && w->has_clocks) {
        if (!ps_skew_refit(w, e, n)) {
            return false;
        }
        qsort(e, n, sizeof *e, by_number);
    }
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && e[k].name == e[i].name && e[k].number == e[i].number) {
            k++;
        }
        if (e[i].number >= 0) {
            add_collective(w, e + i, k - i, loose);
        } else {
            w->out->n_unmatched += k - i;
        }
        i = k;
    }
    return true;
}

/* Names give way to places while operators are numbered. */
static void take_matched_names(ps_skew_work *w) {
    for (size_t i = 0; i < w->n_collective_entries; i++) {
        ps_skew_entry *e = &w->entries[i];
        const char *name =
            ps_comm_text(w->in->lists[e->rank], ps_skew_op(w->in, e->rank, e->op)->name);
        e->name = ps_strpool_find(&w->out->strings, name, strlen(name)).id;
    }
}

static bool match_group(ps_skew_work *w, ps_skew_entry *e, size_t n) {
    ps_sort(e, n, sizeof *e, by_step_and_type);
    bool ok = true;
    for (size_t i = 0; ok && i < n;) {
        size_t k = i;
        while (k < n && e[k].step == e[i].step && e[k].type == e[i].type) {
            k++;
        }
        ok = match_stretch(w, e + i, k - i);
        i = k;
    }
    return ok;
}

bool ps_skew_match(ps_skew_work *w) {
    size_t n = w->n_collective_entries;
    w->out->collectives = ps_calloc(n / 2 + 1, sizeof *w->out->collectives);
    w->out->parts = ps_calloc(n + 1, sizeof *w->out->parts);
    w->collective_groups = ps_calloc(n / 2 + 1, sizeof *w->collective_groups);
    if (w->out->collectives == NULL || w->out->parts == NULL || w->collective_groups == NULL) {
        return false;
    }
    ps_skew_entry *e = w->entries;
    if (w->has_clocks) {
        take_matched_names(w);
    }
    bool ok = true;
    for (size_t i = 0, k = 0; ok && i < n; i = k) {
        k = ps_skew_group_end(e, n, i);
        ok = match_group(w, e + i, k - i);
    }
    return ok;
}
