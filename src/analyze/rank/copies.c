#include "analyze/rank/copies.h"

#include <string.h>
#include <strings.h>

ps_copy_keys ps_copy_keys_of(const ps_trace *t) {
    return (ps_copy_keys){ps_trace_find_text(t, "memcpyOperation"),
                          {ps_trace_find_text(t, "bytes"), ps_trace_find_text(t, "size")},
                          ps_trace_find_text(t, "source memory"),
                          ps_trace_find_text(t, "target memory")};
}

bool ps_is_copy(const ps_work *w, uint32_t slice) {
    return w->s->kind[slice] == PS_SLICE_COPY && ps_work_busy(w, slice) == PS_PART_COPYING;
}

static bool is_copy_word(const char *text, size_t n, const char *word) {
    return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

/* The operations of an Ascend database, the functions of HIP, and behind "Memcpy" the words of CUPTI:
 * "Memcpy DtoH (Device -> Pinned)", "Memcpy UVM HtoD". */
static const char *direction_of(const char *kind) {
    static const struct {
        const char *text, *direction;
    } WHOLE[] = {{"host to device", "H2D"},   {"host to device ex", "H2D"},
                 {"device to host", "D2H"},   {"device to host ex", "D2H"},
                 {"device to device", "D2D"}, {"addr device to device", "D2D"},
                 {"host to host", "H2H"},     {"CopyHostToDevice", "H2D"},
                 {"CopyDeviceToHost", "D2H"}, {"CopyDeviceToDevice", "D2D"},
                 {"FillBuffer", "fill"}};
    static const struct {
        const char *text, *direction;
    } WORDS[] = {{"HtoD", "H2D"}, {"DtoH", "D2H"}, {"DtoD", "D2D"}, {"HtoH", "H2H"},
                 {"PtoP", "P2P"}, {"HtoA", "H2D"}, {"AtoH", "D2H"}, {"AtoD", "D2D"},
                 {"DtoA", "D2D"}, {"AtoA", "D2D"}, {"H2D", "H2D"},  {"D2H", "D2H"},
                 {"D2D", "D2D"}};
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++) {
        if (strcasecmp(kind, WHOLE[i].text) == 0) {
            return WHOLE[i].direction;
        }
    }
    size_t first = strcspn(kind, " _(");
    if (is_copy_word(kind, first, "Memset")) {
        return "fill";
    }
    if (!is_copy_word(kind, first, "Memcpy") && !is_copy_word(kind, first, "[CUDA")) {
        return NULL;
    }
    for (const char *at = kind + first; *at != '\0' && *at != '(';) {
        at += strspn(at, " _]");
        size_t n = strcspn(at, " _(]");
        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
            if (is_copy_word(at, n, WORDS[i].text)) {
                return WORDS[i].direction;
            }
        }
        at += n;
    }
    return NULL;
}

/* "Memcpy HtoD (Pageable -> Device)": the side that is the host's. */
static const char *memory_of(const char *kind, const char *direction, const char *source,
                             const char *target) {
    bool from_host = direction != NULL && strcmp(direction, "H2D") == 0;
    bool to_host = direction != NULL && strcmp(direction, "D2H") == 0;
    const char *side = from_host ? source : to_host ? target : NULL;
    size_t n = side != NULL ? strlen(side) : 0;
    const char *open = strchr(kind, '(');
    const char *arrow = open != NULL ? strstr(open, " -> ") : NULL;
    if (side == NULL && arrow != NULL && from_host) {
        side = open + 1;
        n = (size_t)(arrow - side);
    } else if (side == NULL && arrow != NULL && to_host) {
        side = arrow + 4;
        n = strcspn(side, ")");
    }
    return side == NULL                        ? NULL
           : is_copy_word(side, n, "Pageable") ? "pageable"
           : is_copy_word(side, n, "Pinned")   ? "pinned"
                                               : NULL;
}

static bool is_copy_key(ps_str key, ps_str wanted) {
    return !ps_str_is_none(wanted) && ps_str_eq(key, wanted);
}

ps_copy ps_copy_read(const ps_trace *t, const ps_copy_keys *k, uint32_t slice) {
    ps_copy out = {.kind = ps_trace_slices(t)->name[slice], .bytes = -1};
    const char *source = NULL;
    const char *target = NULL;
    ps_arg arg;
    for (ps_arg_iter it = ps_trace_args(t, slice); ps_arg_next(&it, &arg);) {
        bool is_size = is_copy_key(arg.key, k->size[0]) || is_copy_key(arg.key, k->size[1]);
        if (arg.type == PS_ARG_STR) {
            const char *text = ps_trace_text(t, arg.u.s);
            out.kind = is_copy_key(arg.key, k->direction) ? arg.u.s : out.kind;
            source = is_copy_key(arg.key, k->source) ? text : source;
            target = is_copy_key(arg.key, k->target) ? text : target;
        } else if (is_size && arg.type == PS_ARG_INT && arg.u.i >= 0) {
            out.bytes = arg.u.i;
        }
    }
    const char *kind = ps_trace_text(t, out.kind);
    out.direction = direction_of(kind);
    out.memory = memory_of(kind, out.direction, source, target);
    return out;
}
