/* Links are summed over steps, by kind of operator ("allreduce-total"); those of a transport whose average sizes lie
 * within a factor of four of one another are compared. */
#include "analyze/derived/slow_link_matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "analyze/derived/comm_part.h"
#include "analyze/derived/comm_roster.h"
#include "analyze/derived/communication_matrix_sum.h"
#include "base/alloc.h"
#include "base/sort.h"

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

#define BY_ENDS                                                                                    \
    PS_UP(link_sum, source), PS_UP(link_sum, destination), PS_UP(link_sum, op),                    \
        PS_UP(link_sum, group)

/* Leaves the slow ones in the list. */
static void keep_slow(links *l, double share) {
    static const ps_sort_key BY_CLASS[] = {PS_UP(link_sum, transport), PS_UP(link_sum, size_class),
                                           PS_UP(link_sum, bandwidth), BY_ENDS};
    static const ps_sort_key BY_SHARE[] = {PS_UP(link_sum, share), BY_ENDS};
    for (size_t i = 0; i < l->n; i++) {
        link_sum *link = &l->all[i];
        link->bandwidth = link->size / link->time;
        link->size_class = (int)floor(log2(link->size) / 2);
    }
    ps_sort_by(l->all, l->n, sizeof *l->all, PS_KEYS(BY_CLASS));
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
            link.share = link.bandwidth / median;
            link.n_alike = k - i;
            if (k - i >= LEAST_LINKS && link.bandwidth < share * median) {
                l->all[n_slow++] = link;
            }
        }
        i = k;
    }
    l->n = n_slow;
    ps_sort_by(l->all, l->n, sizeof *l->all, PS_KEYS(BY_SHARE));
}

/* --- the table ------------------------------------------------------------------------------------------------ */

static const ps_column COLUMNS[] = {
    {.name = "srcRank", PS_FIELD(link_sum, source)},
    {.name = "dstRank", PS_FIELD(link_sum, destination)},
    {.name = "transportType", PS_FIELD(link_sum, transport)},
    {.name = "groupName", PS_FIELD(link_sum, group)},
    {.name = "opName", PS_FIELD(link_sum, op)},
    {.name = "transitSize(MB)", PS_FIELD(link_sum, size)},
    {.name = "transitTime(ms)", PS_FIELD(link_sum, time)},
    {.name = "bandwidth(GB/s)", PS_FIELD(link_sum, bandwidth)},
    {.name = "medianBandwidth(GB/s)", PS_FIELD(link_sum, median)},
    {.name = "shareOfMedian", PS_FIELD(link_sum, share)},
    {.name = "comparedLinks", PS_FIELD(link_sum, n_alike), .unit = PS_UNIT_COUNT},
};

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
    ps_table *t = ps_table_new("SlowLinkMatrix", "links slower than others of their kind",
                               PS_COLUMNS(COLUMNS));
    for (size_t i = 0; i < found.n; i++) {
        ps_table_put(t, &found.all[i]);
    }
    ps_slow_links_fini(&found);
    ps_result_finish_table(in->result, t, "slow_link_matrix", PS_TO_ALL);
    return code == PS_OK ? ps_result_code(in->result, err) : code;
}
