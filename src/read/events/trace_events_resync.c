/* Where the array of events ends, seen from text that is lost. A bracket closes it when all up to the end of the input is
 * what may follow it. */
#include "read/events/trace_events_parse.h"

#define FREE_BYTES ((uint64_t)1 << 20)

/* Moves *p behind `, "key": value`, or to where it is not that. */
static ps_json_status skip_resync_member(const char **p, const char *end) {
    bool has_escape = false;
    *p = ps_json_skip_space(*p + 1, end);
    if (*p < end && **p != '"') {
        return PS_JSON_BAD;
    }
    *p += *p < end;
    ps_json_status status = ps_json_skip_string(p, end, &has_escape);
    *p = ps_json_skip_space(*p, end);
    if (status == PS_JSON_OK && *p < end && **p != ':') {
        return PS_JSON_BAD;
    }
    *p = *p < end ? ps_json_skip_space(*p + 1, end) : end;
    status = *p < end ? ps_json_skip_value(p, end, 1) : PS_JSON_MORE;
    while (status == PS_JSON_BAD && *p < end && ps_json_is_word_byte(**p)) {
        (*p)++; /* a word that is none was looked at */
    }
    return status;
}

/* Moves *p from behind the bracket to where it is decided. */
static ps_json_status skip_to_the_end(const ps_stretch *x, const char **p) {
    *p = ps_json_skip_space(*p, x->end);
    while (x->is_object && *p < x->end && **p == ',') {
        ps_json_status status = skip_resync_member(p, x->end);
        if (status != PS_JSON_OK) {
            return status;
        }
        *p = ps_json_skip_space(*p, x->end);
    }
    if (x->is_object && *p == x->end) {
        return PS_JSON_MORE;
    }
    if (x->is_object) {
        if (**p != '}') {
            return PS_JSON_BAD;
        }
        *p = ps_json_skip_space(*p + 1, x->end);
    }
    if (*p < x->end) {
        return PS_JSON_BAD;
    }
    return x->at_eof ? PS_JSON_OK : PS_JSON_MORE;
}

/* All of the rest may follow every bracket, so looking is paid for by the text passed since the reading got lost: a
 * bracket before which too much was looked at in vain is taken for one of an event. What counts is what was decided, not
 * a look in between for want of text: the outcome is the same whatever the blocks. */
ps_json_status ps_stretch_look_behind(ps_stretch *x, const char *p) {
    uint64_t passed = x->offset + (uint64_t)(p - x->begin) - x->lost_offset;
    if (x->n_looked > FREE_BYTES + 2 * passed) {
        return PS_JSON_BAD;
    }
    const char *s = p + 1;
    ps_json_status status = skip_to_the_end(x, &s);
    if (status == PS_JSON_MORE && !x->at_eof && (size_t)(x->end - p) <= PS_EVENT_MAX_BYTES) {
        return PS_JSON_MORE;
    }
    if (status != PS_JSON_OK) {
        x->n_looked += (uint64_t)((status == PS_JSON_MORE ? x->end : s) - p);
        return PS_JSON_BAD;
    }
    return PS_JSON_OK;
}
