/* Literal documents as bytes; apart from literal.c, which the recorder has in it, too. */
#include <string.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/literal.h"

/* A node's children as an array on the way: the list of siblings is as long as it is. */
typedef struct literal_children {
    const ps_literal **at;
    size_t n;
} literal_children;

static void archive_child(ps_archive *a, void *at);

static void archive_node(ps_archive *a, ps_literal *x) {
    PS_ARCHIVE_BELOW(a, x, kind, PS_LITERAL_OBJECT + 1);
    PS_ARCHIVE(a, x, boolean, integer, text, key);
    literal_children children = {0};
    size_t cap = 0;
    bool ok = true;
    for (ps_literal *c = x->child; ps_archive_is_writing(a) && ok && c != NULL; c = c->next) {
        ok = PS_ADD(children.at, children.n, cap, SIZE_MAX, c);
    }
    if (!ok) {
        ps_archive_nomem(a);
    }
    PS_ARCHIVE_ARRAY(a, &children, at, n, archive_child);
    if (ps_archive_is_reading(a)) {
        x->len = x->text != NULL ? strlen(x->text) : 0;
        ps_literal **end = &x->child;
        for (size_t i = 0; i < children.n; i++, end = &(*end)->next) {
            *end = (ps_literal *)(uintptr_t)children.at[i];
            if (*end == NULL) {
                ps_archive_refuse(a, "child");
                break;
            }
        }
    }
    ps_free(children.at);
}

static void archive_child(ps_archive *a, void *at) {
    ps_literal_archive(a, at);
}

void ps_literal_archive(ps_archive *a, const ps_literal **literal) {
    void *node = (void *)(uintptr_t)*literal;
    ps_literal *x = ps_archive_object_in_arena(a, &node, sizeof *x);
    *literal = node;
    if (x != NULL) {
        archive_node(a, x);
    }
}
