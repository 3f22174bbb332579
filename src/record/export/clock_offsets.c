/* The line is fitted with weights: a reading counts by the inverse square of its uncertainty. Its own uncertainty is what
 * holds for every reading: theirs, and by how much the line misses them. */
#include "record/export/clock_offsets.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/order.h"
#include "record/export/capture_parts.h"

static const double MIN_SPAN_NS = 1e6;
static const double MAX_PPM = 1000; /* twice what a kernel slews: such a clock was set */

/* --- reading -------------------------------------------------------------------------------------------------------- */

/* As the recorder takes it: what stands in a JSON text as it is. */
static bool is_method(const char *text, size_t size) {
    size_t n = text != NULL ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") : 0;
    return n > 0 && n < size && text[n] == '\0';
}

/* Of a text that may be damaged. The recording's Unix time goes on as if nobody had set the wall clock since it began. */
static bool read_one(const ps_capture *c, ps_arena *arena, const char *text, size_t n,
                     ps_clock_reading *out) {
    const ps_literal *doc = ps_literal_parse(arena, text, n, NULL);
    const char *method = ps_literal_str(ps_literal_get(doc, "method"));
    int64_t unix_ns = 0;
    int64_t mono_ns = 0;
    if (!ps_literal_int(ps_literal_get(doc, "reference"), &out->reference) ||
        !ps_literal_int(ps_literal_get(doc, "unix_ns"), &unix_ns) ||
        !ps_literal_int(ps_literal_get(doc, "mono_ns"), &mono_ns) ||
        !ps_literal_int(ps_literal_get(doc, "offset_ns"), &out->offset_ns) ||
        !ps_literal_int(ps_literal_get(doc, "uncertainty_ns"), &out->uncertainty_ns) ||
        out->uncertainty_ns < 0 || !is_method(method, sizeof out->method)) {
        return false;
    }
    memset(out->method, 0, sizeof out->method);
    memcpy(out->method, method, strlen(method));
    out->at_ns = ps_line_unix_of_mono(ps_capture_clock(c), mono_ns);
    int64_t set_by = 0;
    return !__builtin_sub_overflow(out->at_ns, unix_ns, &set_by) &&
           !__builtin_add_overflow(out->offset_ns, set_by, &out->offset_ns);
}

PS_COMPARE(by_clock_offset_time, ps_clock_reading, PS_BY(at_ns))

/* All of the same rank, each moment once. */
static size_t tidy_clock_offset(ps_clock_reading *readings, size_t n) {
    size_t kept = 0;
    int64_t reference = n > 0 ? readings[n - 1].reference : 0;
    for (size_t i = 0; i < n; i++) {
        if (readings[i].reference == reference) {
            readings[kept++] = readings[i];
        }
    }
    if (kept > 1) {
        qsort(readings, kept, sizeof *readings, by_clock_offset_time);
    }
    size_t last = 0;
    for (size_t i = 1; i < kept; i++) {
        if (readings[i].at_ns != readings[last].at_ns) {
            readings[++last] = readings[i];
        }
    }
    return kept > 0 ? last + 1 : 0;
}

ps_code ps_clock_offsets_read(const ps_capture *c, ps_clock_reading **out, size_t *n, ps_err *err) {
    const ps_named *facts = ps_capture_facts(c);
    *out = NULL;
    *n = 0;
    size_t most = 0;
    for (size_t i = 0; i < facts->n; i++) {
        most += strcmp(ps_capture_text(c, (uint32_t)facts->key[i], NULL), "clock_offset") == 0;
    }
    if (most == 0) {
        return PS_OK;
    }
    ps_clock_reading *readings = ps_calloc(most, sizeof *readings);
    if (readings == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena arena;
    ps_arena_init(&arena);
    size_t found = 0;
    for (size_t i = 0; i < facts->n; i++) {
        size_t length = 0;
        if (strcmp(ps_capture_text(c, (uint32_t)facts->key[i], NULL), "clock_offset") == 0) {
            const char *text = ps_capture_text(c, facts->value[i], &length);
            found += read_one(c, &arena, text, length, &readings[found]);
        }
    }
    ps_arena_fini(&arena);
    *out = readings;
    *n = tidy_clock_offset(readings, found);
    return PS_OK;
}

/* --- the line ------------------------------------------------------------------------------------------------------- */

/* Times and offsets as differences to the first reading's: exact as doubles. */
typedef struct point {
    double t, offset, uncertainty, weight;
} point;

static point point_of(const ps_clock_reading *first, const ps_clock_reading *r) {
    double uncertainty = r->uncertainty_ns < 1 ? 1.0 : (double)r->uncertainty_ns;
    return (point){.t = (double)ps_i64_minus(r->at_ns, first->at_ns),
                   .offset = (double)ps_i64_minus(r->offset_ns, first->offset_ns),
                   .uncertainty = (double)r->uncertainty_ns,
                   .weight = 1 / (uncertainty * uncertainty)};
}

/* By how much the line misses a reading. */
static double miss_of(point p, double mid, double mean, double slope) {
    return fabs(p.offset - mean - slope * (p.t - mid));
}

static int64_t plus_rounded(int64_t base, double ns) {
    int64_t out = 0;
    bool fits = fabs(ns) < 4e18 && !__builtin_add_overflow(base, llrint(ns), &out);
    return fits ? out : base;
}

ps_clock_offset_line ps_clock_offsets_fit(const ps_clock_reading *readings, size_t n) {
    const ps_clock_reading *first = &readings[0];
    const ps_clock_reading *last = &readings[n - 1];
    double sum = 0;
    double mid = 0;
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        point p = point_of(first, &readings[i]);
        sum += p.weight;
        mid += p.weight * p.t;
        mean += p.weight * p.offset;
    }
    mid /= sum;
    mean /= sum;
    double spread = 0;
    double slope = 0;
    for (size_t i = 0; i < n; i++) {
        point p = point_of(first, &readings[i]);
        spread += p.weight * (p.t - mid) * (p.t - mid);
        slope += p.weight * (p.t - mid) * (p.offset - mean);
    }
    double span = point_of(first, last).t;
    slope = spread > 0 ? slope / spread : 0;
    bool has_drift = span >= MIN_SPAN_NS && fabs(slope) * 1e6 < MAX_PPM;
    slope = has_drift ? slope : 0;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        point p = point_of(first, &readings[i]);
        worst = fmax(worst, p.uncertainty + miss_of(p, mid, mean, slope));
    }
    ps_clock_offset_line line = {.at_ns = plus_rounded(first->at_ns, mid),
                                 .from_ns = first->at_ns,
                                 .to_ns = last->at_ns,
                                 .offset_ns = plus_rounded(first->offset_ns, mean),
                                 .uncertainty_ns = plus_rounded(0, ceil(worst)),
                                 .has_drift = has_drift};
    if (has_drift) {
        line.drift_ppm = slope * 1e6;
        point ends[] = {point_of(first, first), point_of(first, last)};
        double unsure = 0; /* how far the truth may lie from the line at both ends together */
        for (size_t i = 0; i < 2; i++) {
            unsure += ends[i].uncertainty + miss_of(ends[i], mid, mean, slope);
        }
        line.drift_uncertainty_ppm = unsure / span * 1e6;
    }
    return line;
}

/* --- META_DATA ------------------------------------------------------------------------------------------------------ */

static void put_clock_offset_line(ps_json *j, const ps_clock_reading *readings, size_t n,
                                  uint64_t machine) {
    ps_clock_offset_line line = ps_clock_offsets_fit(readings, n);
    const ps_clock_reading *last = &readings[n - 1];
    char number[24];
    ps_json_key_str(j, "method", last->method);
    ps_json_key_int(j, "reference", last->reference);
    ps_json_key_int(j, "offset_ns", line.offset_ns);
    ps_json_key_int(j, "uncertainty_ns", line.uncertainty_ns);
    ps_json_key_int(j, "at_ns", line.at_ns);
    ps_json_key_int(j, "from_ns", line.from_ns);
    ps_json_key_int(j, "to_ns", line.to_ns);
    ps_json_key_uint(j, "readings", n);
    ps_json_key(j, "drift_ppm");
    if (line.has_drift) {
        ps_json_value(j);
        ps_buf_add_fixed(j->out, line.drift_ppm, 6);
        ps_json_key(j, "drift_uncertainty_ppm");
        ps_json_value(j);
        ps_buf_add_fixed(j->out, line.drift_uncertainty_ppm, 6);
    } else {
        ps_json_null(j);
    }
    (void)snprintf(number, sizeof number, "%" PRIu64, machine);
    ps_json_key_str(j, "machine", number);
}

ps_code ps_clock_offsets_describe(const ps_capture *c, uint64_t machine, const char *clock,
                                  ps_buf *out, ps_err *err) {
    ps_clock_reading *readings = NULL;
    size_t n = 0;
    ps_code code = ps_clock_offsets_read(c, &readings, &n, err);
    size_t length = strlen(clock);
    bool is_object = length > 2 && clock[0] == '{' && clock[length - 1] == '}';
    if (code == PS_OK && n == 0) {
        ps_buf_add(out, clock, length);
    } else if (code == PS_OK) {
        ps_json j = ps_json_to(out);
        ps_json_object(&j);
        ps_json_members(&j, clock + 1, is_object ? length - 2 : 0);
        put_clock_offset_line(&j, readings, n, machine);
        ps_json_close(&j);
    }
    ps_free(readings);
    return code;
}
