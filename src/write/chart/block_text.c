#include "write/chart/block_text.h"

#include <stdio.h>
#include <string.h>

/* "7F+13B" -> "7+13"; false when that is no shorter or the name is of another kind. */
static bool short_name(const char *name, char out[PS_BLOCK_TEXT_SIZE]) {
    size_t n = 0;
    bool shorter = false;
    bool digit = false;
    for (const char *c = name; *c != '\0'; c++) {
        if (*c >= '0' && *c <= '9') {
            digit = true;
        } else if (*c == '+' && digit) {
            digit = false;
        } else if (((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z')) && digit) {
            shorter = true;
            continue;
        } else {
            return false;
        }
        if (n + 1 >= PS_BLOCK_TEXT_SIZE) {
            return false;
        }
        out[n++] = *c;
    }
    out[n] = '\0';
    return shorter && digit;
}

/* "7+13" where its plus is, which two lines in one block need not say. */
static void split_block_text(ps_block_text *l) {
    char *plus = strchr(l->text, '+');
    if (plus != NULL && strspn(l->text, "0123456789+") == strlen(l->text)) {
        *plus = '\0';
        l->second = plus + 1;
    }
}

bool ps_block_is_told_by_number(const ps_op *op) {
    return op->kind == PS_OP_F || op->kind == PS_OP_FB;
}

/* Of a name without numbers. */
static void microbatch_text(const ps_op *op, ps_block_text *out) {
    if (op->microbatch2 >= 0) {
        (void)snprintf(out->text, PS_BLOCK_TEXT_SIZE, "%ld+%ld", (long)op->microbatch,
                       (long)op->microbatch2);
    } else {
        (void)snprintf(out->text, PS_BLOCK_TEXT_SIZE, "%ld%s", (long)op->microbatch,
                       ps_block_is_told_by_number(op) ? "" : ps_op_kind_name((ps_op_kind)op->kind));
    }
}

bool ps_block_text_of(const ps_op *op, int level, ps_block_text *out) {
    out->second = NULL;
    bool has_number = strpbrk(op->name, "0123456789") != NULL;
    bool full = level == 0;
    if (!full && ps_block_is_told_by_number(op) && short_name(op->name, out->text)) {
        /* done */
    } else if (!has_number && op->microbatch >= 0 && (!full || strlen(op->name) <= 2)) {
        microbatch_text(op, out);
    } else {
        (void)snprintf(out->text, PS_BLOCK_TEXT_SIZE, "%s", op->name);
        if (strlen(op->name) >= PS_BLOCK_TEXT_SIZE) {
            return false;
        }
    }
    if (level >= PS_BLOCK_LEVELS_FLAT) {
        split_block_text(out);
    }
    return out->text[0] != '\0';
}

void ps_block_texts_add(ps_buf *out, const ps_op *op, void (*add_str)(ps_buf *, const char *)) {
    char last[PS_BLOCK_TEXT_SIZE + 1] = "";
    ps_block_text text;
    for (int level = 0; level < PS_BLOCK_LEVELS && ps_block_text_of(op, level, &text); level++) {
        char lines[PS_BLOCK_TEXT_SIZE + 1];
        (void)snprintf(lines, sizeof lines, "%s%s%s", text.text, text.second != NULL ? "\n" : "",
                       text.second != NULL ? text.second : "");
        ps_buf_add_str(out, level > 0 ? "," : "");
        add_str(out, strcmp(lines, last) == 0 ? "" : lines);
        (void)snprintf(last, sizeof last, "%s", lines);
    }
}
