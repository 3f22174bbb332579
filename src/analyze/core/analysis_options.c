/* The list of options, and what follows from it alone. */
#include "analyze/core/analysis_options.h"

#include <assert.h>
#include <string.h>

#include "analyze/core/analysis.h"

static const ps_analysis_option OPTIONS[PS_ANALYSIS_OPTIONS_END] = {
#define X(k, field, n, whose, low, high, a, s, g, h)                                               \
    [PS_ANALYSIS_OPTION_##field] = {.kind = PS_ANALYSIS_##k,                                       \
                                    .offset = offsetof(ps_analysis_opts, field),                   \
                                    .name = (n),                                                   \
                                    .of = (whose),                                                 \
                                    .least = (low),                                                \
                                    .most = (high),                                                \
                                    .arg = (a),                                                    \
                                    .shown = (s),                                                  \
                                    .group = (g),                                                  \
                                    .help = (h)},
#include "analyze/core/analysis_options.def"
#undef X
};

const ps_analysis_option *ps_analysis_option_of(ps_analysis_option_id id) {
    assert(id > PS_NO_ANALYSIS_OPTION && id < PS_ANALYSIS_OPTIONS_END);
    return &OPTIONS[id];
}

void *ps_analysis_option_field(const ps_analysis_option *o, ps_analysis_opts *opts) {
    return (char *)opts + o->offset;
}

void ps_analysis_opts_init(ps_analysis_opts *out) {
    *out = (ps_analysis_opts){.step_id = -1};
}

static void put_key_value(const ps_analysis_option *o, const void *value, ps_buf *out) {
    const char *text = NULL;
    switch (o->kind) {
    case PS_ANALYSIS_FLAG:
        ps_buf_addf(out, "%d", *(const bool *)value);
        break;
    case PS_ANALYSIS_INT:
    case PS_ANALYSIS_BYTES:
        ps_buf_addf(out, "%lld", (long long)*(const int64_t *)value);
        break;
    case PS_ANALYSIS_REAL:
        ps_buf_addf(out, "%.17g", *(const double *)value);
        break;
    case PS_ANALYSIS_TEXT:
    case PS_ANALYSIS_SCHEDULE:
        text = *(const char *const *)value;
        if (text != NULL) {
            ps_buf_add_json_str(out, text, strlen(text));
        }
        break;
    case PS_ANALYSIS_ORDER:
        ps_buf_addf(out, "%d%d", ((const ps_rank_order *)value)->is_given,
                    (int)((const ps_rank_order *)value)->layout);
        break;
    case PS_ANALYSIS_CLOCKS:
        ps_buf_addf(out, "%d", (int)*(const ps_clock_use *)value);
        break;
    }
}

void ps_analysis_opts_key(const ps_analysis_opts *opts, uint32_t of, ps_buf *out) {
    for (size_t i = PS_NO_ANALYSIS_OPTION + 1; i < PS_ANALYSIS_OPTIONS_END; i++) {
        if ((OPTIONS[i].of & of) != 0) {
            ps_buf_add_char(out, ' ');
            put_key_value(&OPTIONS[i], (const char *)opts + OPTIONS[i].offset, out);
        }
    }
}
