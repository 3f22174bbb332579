#include <string.h>

#include "analyze/rank/kernel_args.h"
#include "analyze/report/report_facts.h"

#define MAX_PARENTS 3 /* aten::copy_ inside of aten::clone inside of aten::contiguous */

typedef enum conversion_how { HOW_TYPE, HOW_FUNCTION, HOW_INSIDE } conversion_how;

static const struct {
    conversion_how how;
    const char *text;
    ps_conversion what;
} CONVERSIONS[] = {
#define X(how_, text_, what_) {HOW_##how_, text_, PS_CONVERSION_##what_},
#include "analyze/report/report_conversion.def"
#undef X
};

static ps_conversion look_up(conversion_how how, const char *text, size_t n) {
    for (size_t i = 0; i < sizeof CONVERSIONS / sizeof *CONVERSIONS; i++) {
        const char *known = CONVERSIONS[i].text;
        if (CONVERSIONS[i].how == how && strlen(known) == n && memcmp(known, text, n) == 0) {
            return CONVERSIONS[i].what;
        }
    }
    return PS_CONVERSION_NONE;
}

/* Of "void cudnn::ops::nchwToNhwcKernel<float, ...>(...)" the function: nchwToNhwcKernel. */
static ps_conversion of_function(const char *name) {
    size_t end = strcspn(name, "<(");
    size_t begin = end;
    while (begin > 0 && name[begin - 1] != ':' && name[begin - 1] != ' ') {
        begin--;
    }
    return look_up(HOW_FUNCTION, name + begin, end - begin);
}

static ps_conversion of_operators(const ps_links *links, uint32_t kernel) {
    const ps_slices *s = ps_trace_slices(links->trace);
    uint32_t at = links->op[kernel];
    if (at == PS_NONE || strcmp(ps_trace_text(links->trace, s->name[at]), "aten::copy_") != 0) {
        return PS_CONVERSION_NONE;
    }
    ps_conversion what = PS_CONVERSION_NONE;
    for (int i = 0; i < MAX_PARENTS && at != PS_NONE && what == PS_CONVERSION_NONE; i++) {
        at = links->parent[at];
        const char *name = at != PS_NONE ? ps_trace_text(links->trace, s->name[at]) : "";
        what = look_up(HOW_INSIDE, name, strlen(name));
    }
    return what;
}

ps_conversion ps_report_conversion_of(const ps_links *links, uint32_t kernel) {
    const char *type = ps_kernel_type(links->trace, kernel);
    if (type != NULL) {
        return look_up(HOW_TYPE, type, strlen(type));
    }
    const char *name = ps_trace_text(links->trace, ps_trace_slices(links->trace)->name[kernel]);
    ps_conversion what = of_function(name);
    return what != PS_CONVERSION_NONE ? what : of_operators(links, kernel);
}
