/* Links are summed over steps, by kind of operator ("allreduce-total"); those of a transport whose average sizes lie
 * within a factor of four of one another are compared. */
#include "analyze/derived/slow_link_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/communication_matrix_sum.h"
#include "base/alloc.h"

/* A median of fewer links says nothing of any of them. */
enum { LEAST_LINKS = 3 };

typedef ps_slow_link link_sum;

typedef struct links {
    ps_strpool keys;
    ps_idmap index;
    link_sum *all;
    size_t n, cap;
} links;

/* --- sums ----------------------------------------------------------------------------------------------------- */

static bool add_slow_matrix(links *l, const link_sum *link) {
    char text[1024];
    int n = snprintf(text, sizeof text, "%.300s\x1f%.100s\x1f%.100s\x1f%lld\x1f%lld", link->op,
                     link->group, link->transport, (long long)link->source,
                     (long long)link->destination);
    ps_str key = ps_strpool_add(&l->keys, text, n > 0 ? (size_t)n : 0);
    if (ps_str_is_none(key)) {
        return false;
    }
    uint32_t row = ps_idmap_get(&l->index, key.id);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)l->n;
        if (!ps_grow(&l->all, &l->cap, l->n + 1, UINT32_MAX - 1, sizeof *l->all) ||
            !ps_idmap_put(&l->index, key.id, row)) {
            return false;
        }
        l->all[l->n++] = *link;
        return true;
    }
    l->all[row].size += link->size;
    l->all[row].time += link->time;
    return true;
}

static bool add_slow_matrix_rank(links *l, const ps_link_places *places, const ps_comm_part *part) {
    const ps_comm_tables *t = &part->tables;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_links; i++) {
        const ps_comm_link *row = &t->links[i];
        link_sum link = {.op = ps_comm_tables_text(t, row->op),
                         .group = ps_comm_tables_text(t, row->group),
                         .transport = ps_comm_tables_text(t, row->transport),
                         .size = row->size,
                         .time = row->time};
        /* links of an unknown transport are like no other link */
        if (!ps_comm_is_total(link.op) || link.transport[0] == '\0' ||
            row->source == row->destination || !(row->size > 0) || !(row->time > 0) ||
            !isfinite(row->size) || !isfinite(row->time)) {
            continue;
        }
        link.source = ps_link_places_rank(places, link.group, row->source);
        link.destination = ps_link_places_rank(places, link.group, row->destination);
        ok = link.source < 0 || link.destination < 0 || add_slow_matrix(l, &link);
    }
    return ok;
}

/* --- classes -------------------------------------------------------------------------------------------------- */

static int compare_ends(const link_sum *x, const link_sum *y) {
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    if (x->destination != y->destination) {
        return x->destination < y->destination ? -1 : 1;
    }
    int by_op = strcmp(x->op, y->op);
    return by_op != 0 ? by_op : strcmp(x->group, y->group);
}

static int by_class(const void *a, const void *b) {
    const link_sum *x = a;
    const link_sum *y = b;
    int by_transport = strcmp(x->transport, y->transport);
    if (by_transport != 0) {
        return by_transport;
    }
    if (x->size_class != y->size_class) {
        return x->size_class < y->size_class ? -1 : 1;
    }
    if (x->bandwidth > y->bandwidth || x->bandwidth < y->bandwidth) {
        return x->bandwidth < y->bandwidth ? -1 : 1;
    }
    return compare_ends(x, y);
}

static int by_share(const void *a, const void *b) {
    const link_sum *x = a;
    const link_sum *y = b;
    double s = x->bandwidth / x->median;
    double t = y->bandwidth / y->median;
    if (s > t || s < t) {
        return s < t ? -1 : 1;
    }
    return compare_ends(x, y);
}

/* Leaves the slow ones in the list. */
static void keep_slow(links *l, double share) {
    for (size_t i = 0; i < l->n; i++) {
        link_sum *link = &l->all[i];
        link->bandwidth = link->size / link->time;
        link->size_class = (int)floor(log2(link->size) / 2);
    }
    if (l->n > 1) {
        qsort(l->all, l->n, sizeof *l->all, by_class);
    }
    size_t n_slow = 0;
    for (size_t i = 0; i < l->n;) {
        size_t k = i;
        while (k < l->n && strcmp(l->all[k].transport, l->all[i].transport) == 0 &&
               l->all[k].size_class == l->all[i].size_class) {
            k++;
        }
        size_t middle = i + (k - i) / 2;
        double median = (k - i) % 2 == 1
                            ? l->all[middle].bandwidth
                            : (l->all[middle - 1].bandwidth + l->all[middle].bandwidth) / 2;
        for (size_t at = i; at < k; at++) {
            link_sum link = l->all[at];
            link.median = median;
            link.n_alike = k - i;
            if (k - i >= LEAST_LINKS && link.bandwidth < share * median) {
                l->all[n_slow++] = link;
            }
        }
        i = k;
    }
    l->n = n_slow;
    if (l->n > 1) {
        qsort(l->all, l->n, sizeof *l->all, by_share);
    }
}

/* --- the table ------------------------------------------------------------------------------------------------ */

enum {
    SOURCE,
    DESTINATION,
    TRANSPORT,
    GROUP,
    OP,
    SIZE,
    TIME,
    BANDWIDTH,
    MEDIAN,
    SHARE,
    ALIKE,
    N_COLUMNS
};

static const ps_column COLUMNS[N_COLUMNS] = {
    [SOURCE] = {.name = "srcRank", .type = PS_COL_INT},
    [DESTINATION] = {.name = "dstRank", .type = PS_COL_INT},
    [TRANSPORT] = {.name = "transportType", .type = PS_COL_TEXT},
    [GROUP] = {.name = "groupName", .type = PS_COL_TEXT},
    [OP] = {.name = "opName", .type = PS_COL_TEXT},
    [SIZE] = {.name = "transitSize(MB)", .type = PS_COL_REAL},
    [TIME] = {.name = "transitTime(ms)", .type = PS_COL_REAL},
    [BANDWIDTH] = {.name = "bandwidth(GB/s)", .type = PS_COL_REAL},
    [MEDIAN] = {.name = "medianBandwidth(GB/s)", .type = PS_COL_REAL},
    [SHARE] = {.name = "shareOfMedian", .type = PS_COL_REAL},
    [ALIKE] = {.name = "comparedLinks", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
};

static bool put_slow_matrix(ps_table *t, const link_sum *l) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, TRANSPORT, l->transport) ||
        !ps_table_set_text(t, GROUP, l->group) || !ps_table_set_text(t, OP, l->op)) {
        return false;
    }
    ps_table_set_int(t, SOURCE, l->source);
    ps_table_set_int(t, DESTINATION, l->destination);
    ps_table_set_real(t, SIZE, l->size);
    ps_table_set_real(t, TIME, l->time);
    ps_table_set_real(t, BANDWIDTH, l->bandwidth);
    ps_table_set_real(t, MEDIAN, l->median);
    ps_table_set_real(t, SHARE, l->bandwidth / l->median);
    ps_table_set_int(t, ALIKE, (int64_t)l->n_alike);
    return true;
}

static ps_code give_slow_matrix(const ps_slow_links *l, ps_result *result, ps_err *err) {
    ps_table *t = ps_table_new("SlowLinkMatrix", "links slower than others of their kind", COLUMNS,
                               N_COLUMNS);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < l->n; i++) {
        ok = put_slow_matrix(t, &l->all[i]);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    t->names_fixed = true;
    t->to = PS_TO_ALL;
    t->file = "slow_link_matrix";
    return ps_result_add(result, t, err);
}

ps_code ps_slow_links_find(const ps_reduce_input *in, double share, ps_slow_links *out,
                           ps_err *err) {
    ps_comm_roster roster;
    ps_link_places places = {0};
    links l = {0};
    *out = (ps_slow_links){.all = NULL};
    ps_idmap_init(&l.index);
    bool ok = ps_strpool_init(&l.keys);
    ps_code code = ps_comm_roster_build(in, &roster, err);
    if (code == PS_OK) {
        code = ps_link_places_init(&places, in, &roster, err);
    }
    for (size_t r = 0; code == PS_OK && ok && r < in->n_ranks; r++) {
        ok = in->partials[r] == NULL || add_slow_matrix_rank(&l, &places, in->partials[r]);
    }
    if (code == PS_OK) {
        keep_slow(&l, share);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_strpool_fini(&l.keys);
    ps_idmap_fini(&l.index);
    ps_link_places_fini(&places);
    ps_comm_roster_fini(&roster);
    *out = (ps_slow_links){l.all, l.n};
    return code;
}

void ps_slow_links_fini(ps_slow_links *l) {
    ps_free(l->all);
    *l = (ps_slow_links){.all = NULL};
}

ps_code ps_slow_link_matrix(const ps_reduce_input *in, ps_err *err) {
    ps_slow_links found;
    ps_code code = ps_slow_links_find(in, PS_SLOW_LINK_SHARE, &found, err);
    code = code == PS_OK ? give_slow_matrix(&found, in->result, err) : code;
    ps_slow_links_fini(&found);
    return code;
}
