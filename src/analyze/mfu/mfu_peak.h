/* How many operations a second a chip can do at most, by data type. */
#ifndef PS_ANALYZE_MFU_PEAK_H
#define PS_ANALYZE_MFU_PEAK_H

#include <stdbool.h>

#include "analyze/core/analysis.h"
#include "base/err.h"
#include "model/trace.h"

typedef enum ps_flop_type {
    PS_FLOP_OTHER, /* no peak is known for it */
    PS_FLOP_INT8,
    PS_FLOP_FP8,
    PS_FLOP_16BIT, /* also 32-bit floats, which are measured against the 16-bit peak */
    PS_FLOP_UNSAID
} ps_flop_type;

typedef struct ps_peak {
    double flop_s;      /* of 16-bit types; 0 unknown */
    double int8_factor; /* 0 unknown */
    double fp8_factor;
    double bytes_s; /* of its memory, of chips.def only; 0 unknown */
    char how[160];  /* where it is from, for people */
} ps_peak;

/* In this order: opts->peak_tflops; the metadata ai_core_num and aic_frequency_mhz, as cores x MHz x 8192, 2 x 16^3
 * operations a cycle (Da Vinci cube unit; INT8 twice that); the table of chips (chips.def) by the device's name.
 * PS_NOMEM only. */
PS_MUST_USE ps_code ps_peak_find(const ps_trace *trace, const ps_analysis_opts *opts, ps_peak *out,
                                 ps_err *err);

/* By the name of the device; false when the table does not have it. A part of a GPU (MIG) is not in it. */
bool ps_peak_of_chip(ps_lang lang, const char *name, ps_peak *out);

/* Of a type's name: "DT_BF16", "FLOAT", "c10::Half", "signed char", "FLOAT8_E4M3FN". Blank and "N/A" are UNSAID. */
ps_flop_type ps_flop_type_of(const char *name);

/* Whether a type's name is that of a 32-bit float. */
bool ps_is_wide_float(const char *name);

/* The wider of the types of two operands: the narrow one is widened before it is multiplied. */
ps_flop_type ps_flop_type_wider(ps_flop_type a, ps_flop_type b);

/* 0 unknown. UNSAID is measured against the 16-bit peak. */
double ps_peak_for(const ps_peak *peak, ps_flop_type type);

#endif
