#include "analyze/views/view.h"

#include <string.h>

#include "base/alloc.h"

const ps_view *const *ps_views(void) {
    static const ps_view *const ALL[] = {
#define X(symbol) &ps_view_##symbol,
#include "analyze/views/views.def"
#undef X
        NULL
    };
    return ALL;
}

const ps_view *ps_view_find(const char *name) {
    const ps_view *const *v = ps_views();
    while (*v != NULL && strcmp((*v)->name, name) != 0) {
        v++;
    }
    return *v;
}

const char *ps_view_tab_name(ps_view_tab tab) {
    static const char *const NAMES[] = {[PS_TAB_TIMELINE] = "timeline",
                                        [PS_TAB_OPERATOR] = "operator",
                                        [PS_TAB_MEMORY] = "memory",
                                        [PS_TAB_COMMUNICATION] = "communication",
                                        [PS_TAB_SUMMARY] = "summary"};
    return NAMES[tab];
}

/* Whether `value` is one of the words between the bars. */
static bool is_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    for (const char *at = choices; at != NULL;) {
        const char *bar = strchr(at, '|');
        size_t len = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (len == n && strncmp(at, value, n) == 0) {
            return true;
        }
        at = bar != NULL ? bar + 1 : NULL;
    }
    return false;
}

const char *ps_view_param_of(const ps_view_input *in, const ps_view *view, const char *name,
                             ps_err *err) {
    const ps_view_param *param = view->params;
    for (size_t i = 0; i < view->n_params && strcmp(param->name, name) != 0; i++) {
        param++;
    }
    const char *value = NULL;
    for (size_t i = 0; value == NULL && i < in->n_values; i++) {
        value = strcmp(in->values[i].name, name) == 0 ? in->values[i].value : NULL;
    }
    value = value != NULL ? value : param->fallback;
    if (param->choices[0] != '\0' && !is_choice(param->choices, value)) {
        (void)ps_fail(err, PS_USAGE, "%s: %.60s is none of %s", name, value, param->choices);
        return NULL;
    }
    return value;
}

bool ps_slice_list_add(ps_slice_list *list, uint32_t slice) {
    if (!ps_grow(&list->at, &list->cap, list->n + 1, UINT32_MAX, sizeof *list->at)) {
        return false;
    }
    list->at[list->n++] = slice;
    return true;
}

ps_table *ps_view_end(ps_table *t, bool any, const char *nothing, ps_err *err) {
    t = ps_table_end(t);
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    } else if (!any) {
        ps_table_free(t);
        t = NULL;
        (void)ps_fail(err, PS_NOTHING, "%s", nothing);
    }
    return t;
}
