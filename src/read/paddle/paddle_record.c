#include "read/paddle/paddle_record.h"

#include <string.h>

#include "base/utf8.h"

#define MAX_DIGITS 40 /* leading zeros included: what is longer is no number of this format */
#define MAX_US ((INT64_C(1) << 61) / 1000) /* the trace holds no later time */

typedef struct cursor {
    const char *at, *end;
} cursor;

#define TAKE(c, literal) take_field(c, literal, sizeof(literal) - 1)

static inline bool is_field_digit(char byte) {
    return (unsigned char)(byte - '0') <= 9;
}

static inline bool take_field(cursor *c, const char *literal, size_t n) {
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, literal, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

/* 1 to MAX_DIGITS digits. *fits is false when the value is larger than INT64_MAX. */
static inline bool take_digits(cursor *c, int64_t *value, bool *fits) {
    const char *begin = c->at;
    const char *end = c->end - c->at > MAX_DIGITS ? c->at + MAX_DIGITS : c->end;
    const char *at = begin;
    uint64_t v = 0;
    bool ok = true;
    for (; at < end && is_field_digit(*at); at++) {
        ok = ok && v <= (UINT64_C(1) << 63) / 10;
        v = ok ? v * 10 + (uint64_t)(*at - '0') : v;
    }
    c->at = at;
    *fits = ok && v <= INT64_MAX;
    *value = *fits ? (int64_t)v : 0;
    return at > begin && (at == c->end || !is_field_digit(*at));
}

static bool take_field_number(cursor *c, int64_t *value) {
    bool fits = false;
    return take_digits(c, value, &fits) && fits;
}

/* The type: up to the comma, 1 to PS_PADDLE_MAX_TYPE printable bytes. */
static bool take_type(cursor *c, ps_paddle_record *out) {
    size_t left = (size_t)(c->end - c->at);
    size_t n = 0;
    bool plain = true;
    while (n < left && n <= PS_PADDLE_MAX_TYPE && c->at[n] != ',') {
        unsigned char byte = (unsigned char)c->at[n];
        if (byte < 0x20 || byte == 0x7F) {
            return false;
        }
        plain = plain && byte < 0x80;
        n++;
    }
    if (n == 0 || n > PS_PADDLE_MAX_TYPE || n == left) {
        return false;
    }
    for (size_t i = 0; !plain && i < n;) {
        size_t len = ps_utf8_len(c->at + i, n - i);
        if (len == 0) {
            return false;
        }
        i += len;
    }
    out->type = c->at;
    out->n_type = n;
    c->at += n;
    return true;
}

typedef enum time_fault {
    TIME_OK,
    TIME_NO_NUMBER,
    TIME_CUT,
    TIME_TOO_FINE,
    TIME_TOO_LARGE,
    N_TIME_FAULTS
} time_fault;

static const char *const START_FAULTS[N_TIME_FAULTS] = {
    "", "job_start_time is no number", "job_start_time is cut short",
    "job_start_time has more than six decimals", "job_start_time is too large"};
static const char *const END_FAULTS[N_TIME_FAULTS] = {
    "", "job_end_time is no number", "job_end_time is cut short",
    "job_end_time has more than six decimals", "job_end_time is too large"};

/* Digits, a dot and exactly six digits: milliseconds that were a double once. What they said is whole microseconds;
 * the rest is the noise of the double. */
static inline time_fault take_field_time(cursor *c, int64_t *us) {
    int64_t ms = 0;
    bool fits = false;
    const char *begin = c->at;
    if (!take_digits(c, &ms, &fits)) {
        return c->at > begin ? TIME_TOO_LARGE : TIME_NO_NUMBER; /* digits without end */
    }
    if (!TAKE(c, ".")) {
        return TIME_CUT;
    }
    int64_t fraction = 0;
    unsigned n = 0;
    for (; n < 6 && c->at < c->end && is_field_digit(*c->at); n++) {
        fraction = fraction * 10 + (*c->at++ - '0');
    }
    if (n < 6) {
        return TIME_CUT;
    }
    if (c->at < c->end && is_field_digit(*c->at)) {
        return TIME_TOO_FINE;
    }
    if (!fits || ms > MAX_US / 1000) {
        return TIME_TOO_LARGE;
    }
    *us = ms * 1000 + (fraction + 500) / 1000;
    return TIME_OK;
}

static ps_paddle_what malformed(ps_paddle_record *out, const char *reason) {
    out->reason = reason;
    return PS_PADDLE_MALFORMED;
}

/* [at, past): the digits that were there. */
static const char *why_no_microbatch(const char *at, const char *past, const char *end) {
    bool is_negative = end - at > 1 && *at == '-' && is_field_digit(at[1]);
    return past > at     ? "micro_batch_id is too large"
           : is_negative ? "micro_batch_id is negative"
                         : "micro_batch_id is no number";
}

static ps_paddle_what parse_job(cursor c, const char *begin, ps_paddle_record *out) {
    const char *id = c.at;
    bool fits = false;
    bool whole = take_digits(&c, &out->job, &fits);
    if (c.at == id || (whole && !TAKE(&c, ")"))) {
        return PS_PADDLE_NOISE;
    }
    if (!whole || !fits) {
        return malformed(out, "the number of the job is too large");
    }
    if (!TAKE(&c, ", type = ") || !take_type(&c, out)) {
        return malformed(out, "the type is missing or cut");
    }
    if (!TAKE(&c, ", micro_batch_id = ")) {
        return malformed(out, "micro_batch_id is missing");
    }
    const char *number = c.at;
    if (!take_field_number(&c, &out->microbatch)) {
        return malformed(out, why_no_microbatch(number, c.at, c.end));
    }
    out->has_place = true;
    if (!TAKE(&c, ", job_start_time = ")) {
        return malformed(out, "job_start_time is missing");
    }
    time_fault fault = take_field_time(&c, &out->start_us);
    if (fault != TIME_OK) {
        return malformed(out, START_FAULTS[fault]);
    }
    if (!TAKE(&c, ", job_end_time = ")) {
        return malformed(out, "job_end_time is missing");
    }
    fault = take_field_time(&c, &out->end_us);
    if (fault != TIME_OK) {
        return malformed(out, END_FAULTS[fault]);
    }
    out->n_bytes = (size_t)(c.at - begin);
    return PS_PADDLE_JOB;
}

static ps_paddle_what parse_banner(cursor c, const char *begin, ps_paddle_record *out) {
    if (!take_field_number(&c, &out->first) || !TAKE(&c, " and end at step ") ||
        !take_field_number(&c, &out->end) || out->end <= out->first ||
        out->end > PS_PADDLE_MAX_STEP) {
        return PS_PADDLE_NOISE; /* an empty window says that nothing is recorded */
    }
    out->n_bytes = (size_t)(c.at - begin);
    return PS_PADDLE_BANNER;
}

static ps_paddle_what parse_mark(cursor c, const char *begin, ps_paddle_record *out) {
    int64_t us = 0;
    ps_paddle_what what = PS_PADDLE_POP;
    if (TAKE(&c, "push: ")) {
        what = PS_PADDLE_PUSH;
        if (!take_field_number(&c, &out->first) || out->first > PS_PADDLE_MAX_STEP) {
            return PS_PADDLE_NOISE;
        }
    } else if (!TAKE(&c, "pop")) {
        return PS_PADDLE_NOISE;
    }
    if (!TAKE(&c, ", time: ") || take_field_time(&c, &us) != TIME_OK) {
        return PS_PADDLE_NOISE;
    }
    out->n_bytes = (size_t)(c.at - begin);
    return what;
}

ps_paddle_what ps_paddle_parse(const char *bytes, size_t n, ps_paddle_record *out) {
    cursor c = {bytes, bytes + n};
    *out = (ps_paddle_record){0};
    if (TAKE(&c, "Profiler Info: Job (")) {
        return parse_job(c, bytes, out);
    }
    if (TAKE(&c, "Profiler start at step ")) {
        return parse_banner(c, bytes, out);
    }
    if (TAKE(&c, "NVTX range ")) {
        return parse_mark(c, bytes, out);
    }
    return PS_PADDLE_NOISE;
}
