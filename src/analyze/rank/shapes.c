#include "analyze/rank/shapes.h"

#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '"' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *s) {
    while (is_blank(*s)) {
        s++;
    }
    return s;
}

/* A dimension; NULL when there is none. */
static const char *take_dim(const char *s, int64_t *out) {
    if (*s < '0' || *s > '9') {
        return NULL;
    }
    int64_t value = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        value = value * 10 + (*s - '0');
        if (value > PS_MAX_DIM) {
            return NULL;
        }
    }
    *out = value;
    return s;
}

static bool add_dim(ps_shape *shape, int64_t dim) {
    if (shape->n >= PS_SHAPE_DIMS) {
        return false;
    }
    shape->dims[shape->n++] = dim;
    return true;
}

static ps_shape *add_tensor_shape(ps_shapes *out) {
    if (out->n >= PS_MAX_SHAPES) {
        return NULL;
    }
    ps_shape *shape = &out->list[out->n++];
    shape->n = 0;
    return shape;
}

/* "1024,512;512,256;;": a part behind the last semicolon counts only when it is not empty. */
static bool parse_parts(const char *s, ps_shapes *out) {
    while (*s != '\0') {
        ps_shape *shape = add_tensor_shape(out);
        if (shape == NULL) {
            return false;
        }
        while (*s != '\0' && *s != ';') {
            int64_t dim = 0;
            s = take_dim(s, &dim);
            if (s == NULL || !add_dim(shape, dim)) {
                return false;
            }
            s = skip_blanks(s);
            if (*s == ',') {
                s = skip_blanks(s + 1);
            } else if (*s != ';' && *s != '\0') {
                return false;
            }
        }
        s = *s == ';' ? skip_blanks(s + 1) : s;
    }
    return out->n > 0;
}

/* What stands behind the bracket that `s` opens; NULL when it is never closed. */
static const char *skip_list(const char *s) {
    int depth = 0;
    do {
        depth += *s == '[' || *s == '(' ? 1 : *s == ']' || *s == ')' ? -1 : 0;
        s++;
    } while (depth > 0 && *s != '\0');
    return depth == 0 ? s : NULL;
}

/* One element of the outer list. A list of tensors is left without dimensions. */
static const char *take_element(const char *s, ps_shape *shape) {
    if (*s != '[') {
        return NULL;
    }
    const char *end = skip_list(s);
    if (end == NULL || memchr(s + 1, '[', (size_t)(end - s - 1)) != NULL) {
        return end;
    }
    s = skip_blanks(s + 1);
    while (*s != ']') {
        int64_t dim = 0;
        s = take_dim(s, &dim);
        if (s == NULL || !add_dim(shape, dim)) {
            return NULL;
        }
        s = skip_blanks(s);
        if (*s == ',') {
            s = skip_blanks(s + 1);
        } else if (*s != ']') {
            return NULL;
        }
    }
    return s + 1;
}

static bool parse_json(const char *s, ps_shapes *out) {
    s = skip_blanks(s + 1);
    while (*s != ']') {
        ps_shape *shape = add_tensor_shape(out);
        s = shape != NULL ? take_element(s, shape) : NULL;
        if (s == NULL) {
            return false;
        }
        s = skip_blanks(s);
        if (*s == ',') {
            s = skip_blanks(s + 1);
        } else if (*s != ']') {
            return false;
        }
    }
    return true;
}

bool ps_shapes_parse(const char *text, ps_shapes *out) {
    out->n = 0;
    if (text == NULL) {
        return false;
    }
    text = skip_blanks(text);
    bool ok = *text == '[' ? parse_json(text, out) : parse_parts(text, out);
    out->n = ok ? out->n : 0;
    return ok;
}

const ps_shape *ps_shapes_at(const ps_shapes *shapes, size_t index) {
    static const ps_shape NONE = {0};
    return index < shapes->n ? &shapes->list[index] : &NONE;
}

/* The end of the item that begins at `s`: a separator outside quotes and brackets, or the end of the list. */
static const char *item_end(const char *s, char separator, bool is_json) {
    bool quoted = false;
    int depth = 0;
    for (; *s != '\0'; s++) {
        if (is_json && *s == '\\' && s[1] != '\0') {
            s++;
        } else if (is_json && *s == '"') {
            quoted = !quoted;
        } else if (!quoted && *s == separator && depth == 0) {
            break;
        } else if (!quoted && is_json) {
            depth += *s == '[' ? 1 : *s == ']' ? -1 : 0;
            if (depth < 0) {
                break;
            }
        }
    }
    return s;
}

bool ps_list_item(const char *list, size_t index, char *out, size_t size) {
    out[0] = '\0';
    if (list == NULL) {
        return false;
    }
    const char *s = list + strspn(list, " \t");
    bool is_json = *s == '[';
    char separator = is_json ? ',' : ';';
    s += is_json ? 1 : 0;
    for (;;) {
        const char *end = item_end(s, separator, is_json);
        bool is_last = *end != separator;
        if (index == 0) {
            s = skip_blanks(s);
            while (end > s && is_blank(end[-1])) {
                end--;
            }
            size_t n = end > s ? (size_t)(end - s) : 0;
            n = n < size ? n : size - 1;
            memcpy(out, s, n);
            out[n] = '\0';
            return n > 0;
        }
        if (is_last) {
            return false;
        }
        s = end + 1;
        index--;
    }
}

size_t ps_list_ints(const char *text, int64_t *out, size_t max) {
    const char *s = skip_blanks(text);
    size_t n = 0;
    if (*s != '[' && *s != '(') {
        return 0;
    }
    char close = *s == '[' ? ']' : ')';
    for (s = skip_blanks(s + 1); *s != close;) {
        s = n < max ? take_dim(s, &out[n]) : NULL;
        if (s == NULL) {
            return 0;
        }
        n++;
        s = skip_blanks(s);
        s = *s == ',' ? skip_blanks(s + 1) : s;
    }
    return n;
}
