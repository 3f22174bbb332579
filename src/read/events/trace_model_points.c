/* Points with an id, and their groups. An id is a family (category, name, scope, upper half, local pid) and a lower
 * half; grouping sorts by the lower half, which needs no table of all ids. */
#include <stdio.h>
#include <stdlib.h>

#include "model/trace_sort.h"
#include "read/events/trace_model_parts.h"

#define SMALL_RUN 16

void ps_points_fini(ps_points *p) {
    ps_free(p->families);
    ps_free(p->points);
    ps_free(p->order);
    ps_idmap_fini(&p->family_rows);
    *p = (ps_points){0};
}

static bool same_family(const ps_point_family *a, const ps_point_family *b) {
    return a->id_high == b->id_high && a->pid == b->pid && a->cat == b->cat && a->name == b->name &&
           a->scope == b->scope && a->space == b->space && a->id_is_text == b->id_is_text;
}

static uint32_t family_row(ps_points *p, const ps_point_family *f) {
    if (p->n > 0 && same_family(&p->families[p->points[p->n - 1].family], f)) {
        return p->points[p->n - 1].family;
    }
    const uint64_t fields[] = {f->id_high, (uint64_t)f->pid, (uint64_t)f->cat << 32 | f->name,
                               (uint64_t)f->scope << 16 | (uint64_t)f->space << 1 | f->id_is_text};
    uint64_t hash = ps_hash64_seeded(fields, sizeof fields);
    for (uint32_t row; (row = ps_idmap_get(&p->family_rows, hash)) != PS_IDMAP_NONE; hash++) {
        if (same_family(&p->families[row], f)) {
            return row;
        }
    }
    if (!ps_grow(&p->families, &p->cap_families, p->n_families + 1, (size_t)1 << PS_FAMILY_BITS,
                 sizeof *p->families) ||
        !ps_idmap_put(&p->family_rows, hash, (uint32_t)p->n_families)) {
        return PS_NONE;
    }
    p->families[p->n_families] = *f;
    return (uint32_t)p->n_families++;
}

ps_point *ps_points_add(ps_points *p, const ps_point_family *family, uint64_t id_low, int64_t ts_ns,
                        ps_point_phase phase) {
    uint32_t row = family_row(p, family);
    if (row == PS_NONE ||
        !ps_grow(&p->points, &p->cap, p->n + 1, PS_MODEL_MAX, sizeof *p->points)) {
        return NULL;
    }
    p->points[p->n] = (ps_point){.id_low = id_low,
                                 .ts_ns = ts_ns,
                                 .family = row & (((uint32_t)1 << PS_FAMILY_BITS) - 1),
                                 .phase = (unsigned)phase & 3,
                                 .place = PS_NONE};
    return &p->points[p->n++];
}

void ps_model_point_key(const ps_model_event *e, ps_point_space space, ps_point_family *family,
                        uint64_t *id_low) {
    const ps_event *event = e->event;
    bool bind = space == PS_POINT_BIND;
    uint64_t high = bind ? event->bind_id_high : event->id_high;
    uint64_t low = bind ? event->bind_id_low : event->id_low;
    bool is_text = (event->flags & (bind ? PS_EVENT_BIND_ID_TEXT : PS_EVENT_ID_TEXT)) != 0;
    bool is_local = !bind && (event->flags & PS_EVENT_ID_LOCAL) != 0;
    *family = (ps_point_family){
        .id_high = is_text ? 0 : high,
        .pid = is_local ? e->pid : 0,
        .scope = bind || event->scope_text == 0 ? 0 : ps_model_str(e, event->scope_text).id,
        .cat = bind ? 0 : e->cat.id,
        .space = (uint8_t)space,
        .id_is_text = is_text};
    *id_low = is_text ? ps_model_str(e, (uint32_t)low).id : low;
}

/* --- grouping ---------------------------------------------------------------------------------------- */

/* By family, time, then: beginnings of flows before their ends, all else as in the file. */
static int compare_points(const void *a, const void *b, void *context) {
    const ps_points *p = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const ps_point *i = &p->points[x];
    const ps_point *j = &p->points[y];
    if (i->family != j->family) {
        return i->family < j->family ? -1 : 1;
    }
    if (i->ts_ns != j->ts_ns) {
        return i->ts_ns < j->ts_ns ? -1 : 1;
    }
    if (p->families[i->family].space <= PS_POINT_BIND && i->phase != j->phase) {
        return i->phase < j->phase ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static void sort_run(ps_points *p, uint32_t *rows, size_t n) {
    if (n > SMALL_RUN) {
        qsort_r(rows, n, sizeof *rows, compare_points, p);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint32_t row = rows[i];
        size_t at = i;
        for (; at > 0 && compare_points(&row, &rows[at - 1], p) < 0; at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

bool ps_points_group(ps_points *p) {
    if (p->n == 0) {
        return true;
    }
    /* Any order brings equal ones together. */
    const int64_t *first = (const int64_t *)&p->points[0].id_low;
    p->order = ps_alloc(p->n * sizeof *p->order);
    bool ok = p->order != NULL && ps_times_order_in(first, sizeof *p->points, p->n, p->order);
    for (size_t i = 0; ok && i < p->n;) {
        size_t end = i + 1;
        while (end < p->n && p->points[p->order[end]].id_low == p->points[p->order[i]].id_low) {
            end++;
        }
        sort_run(p, p->order + i, end - i);
        i = end;
    }
    return ok;
}

size_t ps_points_group_end(const ps_points *p, size_t at) {
    const ps_point *first = &p->points[p->order[at]];
    size_t end = at + 1;
    while (end < p->n && p->points[p->order[end]].id_low == first->id_low &&
           p->points[p->order[end]].family == first->family) {
        end++;
    }
    return end;
}

void ps_point_describe(const ps_trace_model *m, const ps_points *p, const ps_point *point,
                       char *out, size_t size) {
    const ps_point_family *f = &p->families[point->family];
    const char *cat = ps_builder_text(m->builder, (ps_str){f->cat});
    if (f->id_is_text) {
        (void)snprintf(out, size, "%.40s id %.60s", cat,
                       ps_builder_text(m->builder, (ps_str){(uint32_t)point->id_low}));
    } else if (f->id_high != 0) {
        (void)snprintf(out, size, "%.40s id 0x%llx%016llx", cat, (unsigned long long)f->id_high,
                       (unsigned long long)point->id_low);
    } else {
        (void)snprintf(out, size, "%.40s id %llu", cat, (unsigned long long)point->id_low);
    }
}
