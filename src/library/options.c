/* Options as texts "name=value". */
#include <string.h>

#include "base/num.h"
#include "library/inside.h"

/* One of them, copied: the name ends where the '=' was. */
typedef struct said {
    char *name, *value;
} said;

static ps_code split_option(const char *text, ps_arena *arena, said *out, ps_err *err) {
    out->name = ps_arena_strndup(arena, text, strlen(text));
    if (out->name == NULL) {
        return ps_fail_nomem(err);
    }
    out->value = strchr(out->name, '=');
    if (out->value == NULL) {
        return ps_fail(err, PS_USAGE, "option '%.80s': name=value is wanted", text);
    }
    *out->value++ = '\0';
    return PS_OK;
}

static ps_code take_whole(const said *o, int64_t least, int64_t most, int64_t *out, ps_err *err) {
    bool ok = ps_parse_i64(o->value, strlen(o->value), out) && *out >= least && *out <= most;
    return ok ? PS_OK
              : ps_fail(err, PS_USAGE, "parameter '%s' must be a whole number from %lld to %lld",
                        o->name, (long long)least, (long long)most);
}

/* One of the analyses of these kinds (PS_OF_*). */
static ps_code take_analysis_text(const said *o, uint32_t of, ps_analysis_opts *out, ps_err *err) {
    for (int id = PS_NO_ANALYSIS_OPTION + 1; id < PS_ANALYSIS_OPTIONS_END; id++) {
        const ps_analysis_option *known = ps_analysis_option_of((ps_analysis_option_id)id);
        char name[PS_OPTION_PARAM];
        if (known->name == NULL || (known->of & of) == 0) {
            continue;
        }
        ps_analysis_option_param(known, name);
        if (strcmp(name, o->name) == 0) {
            return ps_analysis_option_set(known, o->value, out, err);
        }
    }
    return ps_fail(err, PS_USAGE, "there is no option '%.80s' here", o->name);
}

static ps_code take_open_option(ps_lib *capture, const said *o, ps_err *err) {
    int64_t number = 0;
    if (strcmp(o->name, "format") == 0) {
        capture->format = o->value;
        return PS_OK;
    }
    if (strcmp(o->name, "rank_from") == 0) {
        capture->rank_from = o->value;
        return PS_OK;
    }
    if (strcmp(o->name, "timeout") == 0) {
        return take_whole(o, 0, 1 << 30, &capture->opts.timeout_s, err);
    }
    if (strcmp(o->name, "jobs") == 0) {
        ps_code code = take_whole(o, 0, 4096, &number, err);
        capture->opts.run.n_threads = (size_t)number;
        return code;
    }
    return take_analysis_text(o, PS_OF_MODES | PS_OF_CHARTS, &capture->opts.run.analysis, err);
}

ps_code ps_lib_open_options(ps_lib *capture, const char *const *options, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && options != NULL && options[i] != NULL; i++) {
        said o;
        code = split_option(options[i], &capture->arena, &o, err);
        code = code == PS_OK ? take_open_option(capture, &o, err) : code;
    }
    return code;
}

static ps_code take_study_option(const said *o, ps_lib_asked *out, ps_err *err) {
    int64_t number = 0;
    ps_code code = PS_OK;
    if (strcmp(o->name, "against") == 0) {
        out->against = o->value;
    } else if (strcmp(o->name, "step") == 0) {
        out->has_step = true;
        code = take_whole(o, INT64_MIN + 1, INT64_MAX, &out->step, err);
    } else if (strcmp(o->name, "pipeline") == 0) {
        code = take_whole(o, 0, INT32_MAX, &number, err);
        out->pipeline = (int32_t)number;
    } else if (strcmp(o->name, "dark") == 0) {
        code = take_whole(o, 0, 1, &number, err);
        out->dark = number != 0;
    } else {
        code = take_analysis_text(o, PS_OF_MODES | PS_OF_CHARTS | PS_OF_WHATIF, &out->run.analysis,
                                  err);
    }
    return code;
}

ps_code ps_lib_study_options(const char *const *options, ps_arena *arena, ps_lib_asked *out,
                             ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && options != NULL && options[i] != NULL; i++) {
        said o;
        code = split_option(options[i], arena, &o, err);
        code = code == PS_OK ? take_study_option(&o, out, err) : code;
    }
    return code;
}
