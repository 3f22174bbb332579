/* The list of options, and what follows from it alone. */
#include "analyze/core/analysis_options.h"

#include <assert.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "base/num.h"
#include "schedule/schedule.h"

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

/* --- texts ------------------------------------------------------------------------------------------------------- */

void ps_analysis_option_param(const ps_analysis_option *o, char out[PS_OPTION_PARAM]) {
    size_t n = 0;
    for (; o->name[n] != '\0' && n + 1 < PS_OPTION_PARAM; n++) {
        out[n] = (char)(o->name[n] == '-' ? '_' : o->name[n]);
    }
    out[n] = '\0';
}

static ps_code set_flag(const char *name, const char *text, bool *out, ps_err *err) {
    *out = strcmp(text, "1") == 0;
    return *out || strcmp(text, "0") == 0
               ? PS_OK
               : ps_fail(err, PS_USAGE, "parameter '%s' must be 0 or 1", name);
}

static ps_code set_int(const ps_analysis_option *o, const char *name, const char *text,
                       int64_t *out, ps_err *err) {
    bool ok = ps_parse_i64(text, strlen(text), out) && *out >= o->least && *out <= o->most;
    return ok ? PS_OK
              : ps_fail(err, PS_USAGE, "parameter '%s' must be a whole number from %lld to %lld",
                        name, (long long)o->least, (long long)o->most);
}

static ps_code set_bytes(const ps_analysis_option *o, const char *name, const char *text,
                         int64_t *out, ps_err *err) {
    return ps_parse_size(text, out) && *out <= o->most
               ? PS_OK
               : ps_fail(err, PS_USAGE, "'%s': bytes are wanted, such as 64GiB or 1.5GB", name);
}

/* The decimal point is one whatever language the process has set. */
static ps_code set_real(const ps_analysis_option *o, const char *name, const char *text,
                        double *out, ps_err *err) {
    int64_t millionths = 0;
    bool ok = ps_parse_scaled(text, strlen(text), 1000000, &millionths);
    *out = (double)millionths / 1e6;
    return ok && *out > 0 && *out <= (double)o->most
               ? PS_OK
               : ps_fail(err, PS_USAGE, "%s: a number above 0 and up to %lld", name,
                         (long long)o->most);
}

static ps_code set_schedule(const char *name, const char *text, const char **out, ps_err *err) {
    *out = text;
    return ps_schedule_find(text) != NULL
               ? PS_OK
               : ps_fail(err, PS_USAGE, "%s: there is no schedule '%.64s'", name, text);
}

static ps_code set_order(const char *text, ps_rank_order *out, ps_err *err) {
    out->is_given = ps_layout_find(text, &out->layout);
    return out->is_given ? PS_OK
                         : ps_fail(err, PS_USAGE,
                                   "no order of ranks is called '%.40s'; those known begin with %s",
                                   text, ps_layout_names[0]);
}

const char *const ps_analysis_langs[] = {
    [PS_ENGLISH] = "en", [PS_CHINESE] = "zh", [PS_N_LANGS] = NULL};

ps_lang ps_analysis_lang(const char *name) {
    bool is_chinese = name != NULL && strcmp(name, ps_analysis_langs[PS_CHINESE]) == 0;
    return is_chinese ? PS_CHINESE : PS_ENGLISH;
}

static ps_code set_lang(const char *name, const char *text, ps_lang *out, ps_err *err) {
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        if (strcmp(text, ps_analysis_langs[lang]) == 0) {
            *out = (ps_lang)lang;
            return PS_OK;
        }
    }
    return ps_fail(err, PS_USAGE, "parameter '%s' must be en or zh", name);
}

/* 1: all clocks are brought together; 0: none. */
static ps_code set_clocks(const char *name, const char *text, ps_clock_use *out, ps_err *err) {
    bool align = false;
    ps_code code = set_flag(name, text, &align, err);
    *out = align ? PS_CLOCKS_ALL : PS_CLOCKS_RAW;
    return code;
}

ps_code ps_analysis_option_set(const ps_analysis_option *o, const char *text,
                               ps_analysis_opts *opts, ps_err *err) {
    void *field = ps_analysis_option_field(o, opts);
    char name[PS_OPTION_PARAM];
    ps_analysis_option_param(o, name);
    switch (o->kind) {
    case PS_ANALYSIS_FLAG:
        return set_flag(name, text, field, err);
    case PS_ANALYSIS_INT:
        return set_int(o, name, text, field, err);
    case PS_ANALYSIS_BYTES:
        return set_bytes(o, name, text, field, err);
    case PS_ANALYSIS_REAL:
        return set_real(o, name, text, field, err);
    case PS_ANALYSIS_TEXT:
        *(const char **)field = text;
        return PS_OK;
    case PS_ANALYSIS_SCHEDULE:
        return set_schedule(name, text, field, err);
    case PS_ANALYSIS_ORDER:
        return set_order(text, field, err);
    case PS_ANALYSIS_CLOCKS:
        return set_clocks(name, text, field, err);
    case PS_ANALYSIS_LANG:
        return set_lang(name, text, field, err);
    }
    return PS_OK;
}

/* --- all of them ------------------------------------------------------------------------------------------------- */

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
    case PS_ANALYSIS_LANG:
        ps_buf_addf(out, "%d", (int)*(const ps_lang *)value);
        break;
    }
}

static ps_archive_kind archive_kind(ps_analysis_option_kind kind) {
    static const ps_archive_kind KINDS[] = {
        [PS_ANALYSIS_FLAG] = PS_ARCHIVE_BOOL,    [PS_ANALYSIS_INT] = PS_ARCHIVE_INT,
        [PS_ANALYSIS_REAL] = PS_ARCHIVE_REAL,    [PS_ANALYSIS_BYTES] = PS_ARCHIVE_INT,
        [PS_ANALYSIS_TEXT] = PS_ARCHIVE_TEXT,    [PS_ANALYSIS_SCHEDULE] = PS_ARCHIVE_TEXT,
        [PS_ANALYSIS_ORDER] = PS_ARCHIVE_INT,    [PS_ANALYSIS_CLOCKS] = PS_ARCHIVE_UNSIGNED,
        [PS_ANALYSIS_LANG] = PS_ARCHIVE_UNSIGNED};
    return KINDS[kind];
}

static const size_t VALUE_BYTES[] = {
#define X(kind, type) [PS_ANALYSIS_##kind] = sizeof(type),
    PS_ANALYSIS_OPTION_KINDS(X)
#undef X
};

static void order_archive(ps_archive *a, ps_rank_order *x) {
    PS_ARCHIVE(a, x, is_given);
    PS_ARCHIVE_BELOW(a, x, layout, PS_N_LAYOUTS);
}

void ps_analysis_opts_archive(ps_archive *a, void *opts) {
    ps_analysis_opts *o = opts;
    for (size_t i = PS_NO_ANALYSIS_OPTION + 1; i < PS_ANALYSIS_OPTIONS_END; i++) {
        void *field = ps_analysis_option_field(&OPTIONS[i], o);
        if (OPTIONS[i].kind == PS_ANALYSIS_ORDER) {
            order_archive(a, field);
        } else {
            ps_archive_member(a, archive_kind(OPTIONS[i].kind), "option", field,
                              VALUE_BYTES[OPTIONS[i].kind]);
        }
    }
    PS_ARCHIVE(a, o, in_full, one_of_several);
}

void ps_analysis_opts_key(const ps_analysis_opts *opts, uint32_t of, ps_buf *out) {
    for (size_t i = PS_NO_ANALYSIS_OPTION + 1; i < PS_ANALYSIS_OPTIONS_END; i++) {
        if ((OPTIONS[i].of & of) != 0) {
            ps_buf_add_char(out, ' ');
            put_key_value(&OPTIONS[i], (const char *)opts + OPTIONS[i].offset, out);
        }
    }
}
