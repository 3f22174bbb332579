#include "analyze/kernel_args.h"

#include <string.h>

static const char *first_said(const ps_trace *trace, uint32_t slice, const char *const *keys) {
    for (; *keys != NULL; keys++) {
        const char *text = ps_trace_arg_text(trace, slice, *keys);
        if (text != NULL && text[0] != '\0' && strcmp(text, "N/A") != 0) {
            return text;
        }
    }
    return NULL;
}

const char *ps_kernel_type(const ps_trace *trace, uint32_t slice) {
    static const char *const KEYS[] = {"opType", "Type", "OP Type", NULL};
    return first_said(trace, slice, KEYS);
}

const char *ps_input_shapes(const ps_trace *trace, uint32_t slice) {
    static const char *const KEYS[] = {"inputShapes", "Input Shapes", "Input Dims", NULL};
    return first_said(trace, slice, KEYS);
}
