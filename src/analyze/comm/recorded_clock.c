/* {"ptp":true,"synchronised":true,"max_error_us":310,"estimated_error_us":0, ...
 *  "method":"exchange","reference":0,"offset_ns":1750298,"uncertainty_ns":8600,"at_ns":...,"from_ns":...,"to_ns":...,"readings":2,
 *  "drift_ppm":0.811163,"drift_uncertainty_ppm":0.055,"machine":"5393120818626708911"} */
#include "analyze/comm/recorded_clock.h"

#include <string.h>

#include "base/idmap.h"
#include "base/literal.h"
#include "base/num.h"

/* PTP keeps clocks within a microsecond; the kernel's bound grows by half a millisecond a second until the next word. */
enum { PTP_ERROR_US = 1, PTP_BOUND_US = 1000, MOST_PPB = 1000000 };

static bool is_recorded_clock_true(const ps_literal *v) {
    return v != NULL && v->kind == PS_LITERAL_BOOL && v->boolean;
}

/* "-0.811163": parts in a billion of parts in a million. */
static bool read_ppm(const ps_literal *v, int64_t *ppb) {
    if (v == NULL || (v->kind != PS_LITERAL_INT && v->kind != PS_LITERAL_NUMBER)) {
        return false;
    }
    bool is_negative = v->source_len > 0 && v->begin[0] == '-';
    bool ok = ps_parse_scaled(v->begin + is_negative, v->source_len - is_negative, 1000, ppb) &&
              *ppb <= MOST_PPB;
    *ppb = is_negative ? -*ppb : *ppb;
    return ok;
}

static bool says_ptp(const ps_literal *doc) {
    int64_t bound_us = INT64_MAX;
    int64_t error_us = INT64_MAX;
    return is_recorded_clock_true(ps_literal_get(doc, "ptp")) &&
           is_recorded_clock_true(ps_literal_get(doc, "synchronised")) &&
           ps_literal_int(ps_literal_get(doc, "max_error_us"), &bound_us) && bound_us >= 0 &&
           ps_literal_int(ps_literal_get(doc, "estimated_error_us"), &error_us) &&
           (bound_us <= PTP_ERROR_US || (error_us <= PTP_ERROR_US && bound_us <= PTP_BOUND_US));
}

/* As the recorder takes it: a word, which is shown as it is. */
static bool read_method(const ps_literal *doc, char *out, size_t size) {
    const char *method = ps_literal_str(ps_literal_get(doc, "method"));
    size_t n = method != NULL ? strlen(method) : 0;
    if (n == 0 || n >= size || strspn(method, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n) {
        return false;
    }
    memset(out, 0, size);
    memcpy(out, method, n);
    return true;
}

static bool read_offset(const ps_literal *doc, ps_recorded_clock *out) {
    const char *machine = ps_literal_str(ps_literal_get(doc, "machine"));
    int64_t number = 0;
    bool ok = read_method(doc, out->method, sizeof out->method) && machine != NULL &&
              ps_parse_i64(machine, strlen(machine), &number) &&
              ps_literal_int(ps_literal_get(doc, "reference"), &out->reference) &&
              ps_literal_int(ps_literal_get(doc, "offset_ns"), &out->offset_ns) &&
              ps_literal_int(ps_literal_get(doc, "uncertainty_ns"), &out->uncertainty_ns) &&
              ps_literal_int(ps_literal_get(doc, "at_ns"), &out->at_ns) &&
              ps_literal_int(ps_literal_get(doc, "from_ns"), &out->from_ns) &&
              ps_literal_int(ps_literal_get(doc, "to_ns"), &out->to_ns) &&
              out->uncertainty_ns >= 0 && out->from_ns <= out->to_ns;
    /* Sums of a few of them stay within 64 bits. */
    const int64_t most = INT64_C(1) << 61;
    ok = ok && out->offset_ns < most && out->offset_ns > -most && out->uncertainty_ns < most &&
         out->at_ns < most && out->at_ns > -most && out->from_ns > -most && out->to_ns < most;
    out->machine = (uint64_t)number;
    out->has_drift =
        ok && read_ppm(ps_literal_get(doc, "drift_ppm"), &out->drift_ppb) &&
        read_ppm(ps_literal_get(doc, "drift_uncertainty_ppm"), &out->drift_uncertainty_ppb);
    return ok;
}

ps_code ps_recorded_clock_parse(const char *json, size_t n, ps_recorded_clock *out, ps_err *err) {
    ps_arena arena;
    ps_err why = PS_ERR_INIT;
    ps_arena_init(&arena);
    *out = (ps_recorded_clock){0};
    const ps_literal *doc = ps_literal_parse(&arena, json, n, &why);
    ps_recorded_clock found = {0};
    if (doc != NULL && read_offset(doc, &found)) {
        found.has_offset = true;
        found.is_ptp = says_ptp(doc);
        *out = found;
    }
    ps_arena_fini(&arena);
    return doc == NULL && why.code == PS_NOMEM ? ps_fail_nomem(err) : PS_OK;
}

ps_code ps_recorded_clock_read(const ps_trace *trace, ps_recorded_clock *out, ps_err *err) {
    const char *text = ps_trace_meta(trace, "collector.clock");
    *out = (ps_recorded_clock){0};
    return text != NULL ? ps_recorded_clock_parse(text, strlen(text), out, err) : PS_OK;
}

/* --- at a time ------------------------------------------------------------------------------------------------------- */

/* Clocks of computers differ by less than this where nobody measured by how much. */
enum { USUAL_DRIFT_PPB = 100000, PTP_ERROR_NS = 1000 };

static int64_t recorded_clock_magnitude(int64_t n) {
    return n < 0 ? -n : n;
}

/* How far the span reaches outside of the time between the readings. */
static int64_t outside(const ps_recorded_clock *c, int64_t start_ns, int64_t end_ns) {
    int64_t before = ps_i64_minus(c->from_ns, start_ns);
    int64_t after = ps_i64_minus(end_ns, c->to_ns);
    int64_t most = before > after ? before : after;
    return most > 0 ? most : 0;
}

/* By half the span the clock gains what it lies off at both ends. */
static int64_t gain_at_ends(int64_t span_ns, int64_t drift_ppb) {
    return ps_clock_gain(span_ns, recorded_clock_magnitude(drift_ppb)) / 2;
}

ps_clock_state ps_recorded_clock_at(const ps_recorded_clock *c, int64_t start_ns, int64_t end_ns) {
    int64_t span = ps_i64_minus(end_ns, start_ns);
    int64_t since = ps_i64_minus(ps_i64_plus(start_ns, span / 2), c->at_ns);
    int64_t drift = c->has_drift ? c->drift_ppb : 0;
    /* The reference's own clock, by which others are measured, drifts against nothing: its readings are exact. */
    int64_t unsure_ppb = c->has_drift             ? c->drift_uncertainty_ppb
                         : c->uncertainty_ns == 0 ? 0
                                                  : USUAL_DRIFT_PPB;
    int64_t offset = ps_i64_plus(c->offset_ns, ps_clock_gain(since, drift));
    int64_t away = outside(c, start_ns, end_ns);
    int64_t unsure = ps_clock_gain(away, unsure_ppb);
    if (!c->has_drift) {
        unsure = ps_i64_plus(unsure, ps_clock_gain(ps_i64_minus(c->to_ns, c->from_ns), unsure_ppb));
    }
    if (recorded_clock_magnitude(drift) <= unsure_ppb) { /* perhaps it does not drift at all */
        unsure = ps_i64_plus(unsure, gain_at_ends(span, drift));
        drift = 0;
    }
    return (ps_clock_state){.is_known = true,
                            .is_ptp = c->is_ptp,
                            .reference = c->reference,
                            .offset_ns = offset,
                            .uncertainty_ns = ps_i64_plus(c->uncertainty_ns, unsure),
                            .drift_ppb = drift};
}

void ps_recorded_clock_level(ps_clock_state *state, int64_t start_ns, int64_t end_ns) {
    int64_t span = ps_i64_minus(end_ns, start_ns);
    state->uncertainty_ns =
        ps_i64_plus(state->uncertainty_ns, gain_at_ends(span, state->drift_ppb));
    state->drift_ppb = 0;
}

ps_code ps_recorded_clock_take_off(ps_trace *trace, ps_clock_state *out, ps_err *err) {
    ps_recorded_clock clock;
    *out = (ps_clock_state){.is_known = false};
    ps_code code = ps_recorded_clock_read(trace, &clock, err);
    if (code != PS_OK || !clock.has_offset) {
        return code;
    }
    const ps_slices *s = ps_trace_slices(trace);
    int64_t origin_ns = ps_trace_origin_ns(trace);
    int64_t end_ns = 0; /* slices come by start */
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t end = s->start_ns[i] + s->dur_ns[i];
        end_ns = end > end_ns ? end : end_ns;
    }
    int64_t start_ns = ps_i64_plus(origin_ns, s->n > 0 ? s->start_ns[0] : 0);
    end_ns = ps_i64_plus(origin_ns, end_ns);
    *out = ps_recorded_clock_at(&clock, start_ns, end_ns);
    ps_recorded_clock_level(out, start_ns, end_ns);
    ps_trace_move(trace, -out->offset_ns);
    ps_trace_rename_meta(trace, "collector.clock", "collector.clock.taken_off");
    return PS_OK;
}

bool ps_recorded_clocks_narrow(ps_clock_interval *i, const ps_clock_state *a,
                               const ps_clock_state *b) {
    bool keeps = true;
    if (a->is_ptp && b->is_ptp) {
        keeps = ps_clock_narrow(i, -2 * PTP_ERROR_NS, 2 * PTP_ERROR_NS, PS_CLOCK_BY_PTP);
    }
    int64_t between = ps_i64_minus(b->offset_ns, a->offset_ns);
    int64_t unsure = ps_i64_plus(a->uncertainty_ns, b->uncertainty_ns);
    bool agrees = ps_clock_narrow(i, ps_i64_minus(between, unsure), ps_i64_plus(between, unsure),
                                  PS_CLOCK_BY_EXCHANGE);
    return keeps && agrees;
}

/* --- machines ---------------------------------------------------------------------------------------------------------- */

bool ps_recorded_machines(const ps_recorded_clock *const *clocks, size_t n, int32_t *machines) {
    for (size_t r = 0; r < n; r++) {
        if (machines[r] >= 0) {
            return true;
        }
    }
    ps_idmap seen;
    ps_idmap_init(&seen);
    bool ok = true;
    uint32_t next = 0;
    for (size_t r = 0; ok && r < n; r++) {
        if (clocks[r] == NULL || !clocks[r]->has_offset) {
            continue;
        }
        uint32_t number = ps_idmap_get(&seen, clocks[r]->machine);
        if (number == PS_IDMAP_NONE) {
            number = next++;
            ok = ps_idmap_put(&seen, clocks[r]->machine, number);
        }
        machines[r] = (int32_t)number;
    }
    ps_idmap_fini(&seen);
    return ok;
}
