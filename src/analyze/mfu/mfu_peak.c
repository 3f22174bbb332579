#include "analyze/mfu/mfu_peak.h"

#include <stdio.h>
#include <string.h>

#include "base/literal.h"
#include "base/num.h"

#define CUBE_FLOPS_PER_CYCLE 8192 /* 16 x 16 x 16 multiplications and additions */
#define MAX_NAME 256

static char upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_word_char(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Capitals, anything else a blank: "NVIDIA A100-SXM4-80GB" is "NVIDIA A100 SXM4 80GB". */
static void normalise(const char *name, char *out, size_t size) {
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < size; n++) {
        char c = upper(name[n]);
        out[n] = is_word_char(c) ? c : ' ';
    }
    out[n] = '\0';
}

/* Whether `words` stand in the text as whole words; the last one may go on in digits of a variant ("ASCEND910 93"). */
static bool has_words(const char *text, const char *words) {
    size_t n = strlen(words);
    bool may_go_on = strncmp(words, "ASCEND910 ", 10) == 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words)) {
        bool begins = at == text || !is_word_char(at[-1]);
        if (begins && (may_go_on || !is_word_char(at[n]))) {
            return true;
        }
    }
    return false;
}

bool ps_peak_of_chip(ps_lang lang, const char *name, ps_peak *out) {
    static const struct {
        const char *words;
        double tflops, int8_factor, fp8_factor, gb_s;
    } CHIPS[] = {
#define X(words, tflops, int8, fp8, gb_s) {words, tflops, int8, fp8, gb_s},
#include "analyze/mfu/chips.def"
#undef X
    };
    char text[MAX_NAME];
    normalise(name, text, sizeof text);
    if (has_words(text, "MIG")) {
        return false;
    }
    for (size_t i = 0; i < sizeof CHIPS / sizeof *CHIPS; i++) {
        if (has_words(text, CHIPS[i].words)) {
            *out = (ps_peak){.flop_s = CHIPS[i].tflops * 1e12,
                             .int8_factor = CHIPS[i].int8_factor,
                             .fp8_factor = CHIPS[i].fp8_factor,
                             .bytes_s = CHIPS[i].gb_s * 1e9};
            (void)snprintf(out->how, sizeof out->how,
                           PS_SAY(lang, "data sheet of %.100s", "%.100s 的数据手册"), name);
            return true;
        }
    }
    return false;
}

/* --- names of devices ----------------------------------------------------------------------------------------- */

/* The number of the device on which the trace's first stream is, -1. */
static int64_t device_of(const ps_trace *trace) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n);
    for (size_t i = 0; i < n; i++) {
        if (tracks[i].kind == PS_TRACK_STREAM && tracks[i].device >= 0) {
            return tracks[i].device;
        }
    }
    return -1;
}

/* Kineto: [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", ...}, ...]. PS_NOMEM only. */
static ps_code name_in_properties(ps_arena *arena, const ps_trace *trace, int64_t device,
                                  const char **out, ps_err *err) {
    const char *text = ps_trace_meta(trace, "deviceProperties");
    ps_err odd = PS_ERR_INIT;
    const ps_literal *doc = text != NULL ? ps_literal_parse(arena, text, strlen(text), &odd) : NULL;
    if (odd.code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    for (const ps_literal *v = doc != NULL && doc->kind == PS_LITERAL_ARRAY ? doc->child : NULL;
         v != NULL; v = v->next) {
        const char *name = ps_literal_str(ps_literal_get(v, "name"));
        int64_t id = -1;
        bool is_ours = ps_literal_int(ps_literal_get(v, "id"), &id) && id == device;
        *out = name != NULL && (*out == NULL || is_ours) ? name : *out;
    }
    return PS_OK;
}

/* Nsight: gpu.0.name. */
static const char *name_in_meta(const ps_trace *trace, int64_t device) {
    char key[64];
    (void)snprintf(key, sizeof key, "gpu.%lld.name", (long long)(device >= 0 ? device : 0));
    return ps_trace_meta(trace, key);
}

/* Ascend databases: NPU_INFO(id, name). */
static const char *name_in_table(const ps_trace *trace, int64_t device) {
    const ps_table *t = ps_trace_side_table(trace, "NPU_INFO");
    const char *name = NULL;
    if (t == NULL || t->n_columns < 2 || t->columns[0].type != PS_COL_INT ||
        t->columns[1].type != PS_COL_TEXT) {
        return NULL;
    }
    for (size_t row = 0; row < t->n_rows; row++) {
        const ps_value *id = ps_table_cell(t, row, 0);
        const ps_value *text = ps_table_cell(t, row, 1);
        if (!text->is_null && (name == NULL || (!id->is_null && id->u.i == device))) {
            name = text->u.text;
        }
    }
    return name;
}

static bool from_cores(ps_lang lang, const ps_trace *trace, ps_peak *out) {
    const char *cores_text = ps_trace_meta(trace, "ai_core_num");
    const char *mhz_text = ps_trace_meta(trace, "aic_frequency_mhz");
    int64_t cores = 0;
    int64_t mhz = 0;
    if (cores_text == NULL || mhz_text == NULL ||
        !ps_parse_i64(cores_text, strlen(cores_text), &cores) ||
        !ps_parse_i64(mhz_text, strlen(mhz_text), &mhz) || cores <= 0 || mhz <= 0) {
        return false;
    }
    *out = (ps_peak){.flop_s = (double)cores * (double)mhz * 1e6 * CUBE_FLOPS_PER_CYCLE,
                     .int8_factor = 2};
    (void)snprintf(out->how, sizeof out->how,
                   PS_SAY(lang, "%lld cores at %lld MHz", "%lld 个核，%lld MHz"), (long long)cores,
                   (long long)mhz);
    return true;
}

ps_code ps_peak_find(const ps_trace *trace, const ps_analysis_opts *opts, ps_peak *out,
                     ps_err *err) {
    *out = (ps_peak){0};
    const ps_lang lang = opts != NULL ? opts->lang : PS_ENGLISH;
    ps_arena arena;
    ps_arena_init(&arena);
    int64_t device = device_of(trace);
    const char *name = NULL;
    ps_code code = name_in_properties(&arena, trace, device, &name, err);
    name = name == NULL ? name_in_meta(trace, device) : name;
    name = name == NULL ? name_in_table(trace, device) : name;
    ps_peak by_name = {0};
    bool is_listed = name != NULL && ps_peak_of_chip(lang, name, &by_name);
    if (code == PS_OK && !from_cores(lang, trace, out)) {
        *out = by_name;
        if (name != NULL && !is_listed) {
            (void)snprintf(out->how, sizeof out->how,
                           PS_SAY(lang, "no peak is known of %.100s", "%.100s 的峰值未知"), name);
        }
    }
    out->bytes_s = by_name.bytes_s;
    if (code == PS_OK && opts != NULL && opts->peak_tflops > 0) {
        out->flop_s = opts->peak_tflops * 1e12;
        out->int8_factor = out->int8_factor > 0 ? out->int8_factor : 2;
        (void)snprintf(out->how, sizeof out->how, "--peak-tflops");
    }
    ps_arena_fini(&arena);
    return code;
}

/* --- types ---------------------------------------------------------------------------------------------------- */

static bool peak_is_one_of(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* "DT_FLOAT" and "c10::Float" are "FLOAT". */
static const char *bare_type(const char *name, char *text, size_t size) {
    normalise(name, text, size);
    const char *t = text;
    t = strncmp(t, "DT ", 3) == 0 ? t + 3 : t;
    return strncmp(t, "C10  ", 5) == 0 ? t + 5 : t;
}

bool ps_is_wide_float(const char *name) {
    char text[64];
    return peak_is_one_of(bare_type(name, text, sizeof text),
                          (const char *const[]){"FLOAT", "FLOAT32", NULL});
}

ps_flop_type ps_flop_type_of(const char *name) {
    char text[64];
    const char *t = bare_type(name, text, sizeof text);
    if (*t == '\0' || strcmp(t, "N A") == 0 || strcmp(t, "UNDEFINED") == 0) {
        return PS_FLOP_UNSAID;
    }
    if (strncmp(t, "FLOAT8", 6) == 0 || strncmp(t, "HIFLOAT8", 8) == 0 ||
        strncmp(t, "FP8", 3) == 0) {
        return PS_FLOP_FP8;
    }
    if (peak_is_one_of(t, (const char *const[]){"INT8", "SIGNED CHAR", "CHAR", NULL})) {
        return PS_FLOP_INT8;
    }
    return peak_is_one_of(t, (const char *const[]){"FLOAT", "FLOAT32", "FLOAT16", "HALF", "BF16",
                                                   "BFLOAT16", NULL})
               ? PS_FLOP_16BIT
               : PS_FLOP_OTHER;
}

ps_flop_type ps_flop_type_wider(ps_flop_type a, ps_flop_type b) {
    if (a == PS_FLOP_UNSAID || b == PS_FLOP_UNSAID) {
        return a == PS_FLOP_UNSAID ? b : a;
    }
    return a > b ? a : b;
}

double ps_peak_for(const ps_peak *peak, ps_flop_type type) {
    switch (type) {
    case PS_FLOP_INT8:
        return peak->flop_s * peak->int8_factor;
    case PS_FLOP_FP8:
        return peak->flop_s * peak->fp8_factor;
    case PS_FLOP_16BIT:
    case PS_FLOP_UNSAID:
        return peak->flop_s;
    case PS_FLOP_OTHER:
        break;
    }
    return 0;
}
