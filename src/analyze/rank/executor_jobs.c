#include "analyze/rank/executor_jobs.h"

#include <stddef.h>
#include <string.h>

#include "model/worker_ops.h"

#define MAX_CHUNK 127 /* of ps_op.chunk */

/* The longest beginning that fits wins; `loose`: whatever follows that is no chunk does not matter. */
static const struct job_name {
    const char *begin;
    ps_op_kind kind;
    bool loose;
} NAMES[] = {{"backward_b", PS_OP_BI, false},  {"backward_w", PS_OP_BW, false},
             {"backward", PS_OP_B, true},      {"forward", PS_OP_F, true},
             {"recv_", PS_OP_RECV, true},      {"send_", PS_OP_SEND, true},
             {"optimizer", PS_OP_OTHER, true}, {"lr", PS_OP_OTHER, false},
             {"default", PS_OP_OTHER, false}};

/* Decimal digits from *at on; -1 when there are none or they are too large. */
static int take_job_number(const char **at) {
    int value = -1;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = (value < 0 ? 0 : value) * 10 + (**at - '0');
        if (value > MAX_CHUNK) {
            return -1;
        }
    }
    return value;
}

static bool ends_here(const char *s) {
    return *s == '\0' || strcmp(s, "_reduce") == 0;
}

/* Reads the end of a name: "", "1", "b", "(chunk1)", each also with "_reduce". */
static bool read_chunk(const char *s, int *chunk) {
    static const char OPEN[] = "(chunk";
    const char *at = s;
    *chunk = -1;
    if (ends_here(s)) {
        return true;
    }
    if (strncmp(s, OPEN, sizeof OPEN - 1) == 0) {
        at += sizeof OPEN - 1;
        *chunk = take_job_number(&at);
        return *chunk >= 0 && *at == ')' && ends_here(at + 1);
    }
    *chunk = take_job_number(&at);
    if (*chunk >= 0) {
        return ends_here(at);
    }
    char letter = (char)(*s | 0x20);
    if (letter >= 'a' && letter <= 'z' && ends_here(s + 1)) {
        *chunk = letter - 'a';
        return true;
    }
    return false;
}

/* Of the names of transfers the chunk stands behind the second word: "recv_forward1". */
static const char *skip_direction(const char *s) {
    static const char *const WORDS[] = {"forward", "backward"};
    for (size_t i = 0; i < 2; i++) {
        if (strncmp(s, WORDS[i], strlen(WORDS[i])) == 0) {
            return s + strlen(WORDS[i]);
        }
    }
    return s;
}

bool ps_job_kind(const char *type, ps_op_kind *kind, int *chunk) {
    ps_worker_op op = ps_worker_op_find(type, strlen(type));
    if (op != PS_N_WORKER_OPS) {
        *kind = ps_worker_op_kind(op);
        *chunk = -1;
        return true;
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct job_name *n = &NAMES[i];
        if (strncmp(type, n->begin, strlen(n->begin)) != 0) {
            continue;
        }
        const char *rest = type + strlen(n->begin);
        bool transfer = n->kind == PS_OP_SEND || n->kind == PS_OP_RECV;
        bool whole = read_chunk(transfer ? skip_direction(rest) : rest, chunk);
        if (whole || n->loose) {
            *kind = n->kind;
            *chunk = whole ? *chunk : -1;
            return true;
        }
    }
    *kind = PS_OP_OTHER;
    *chunk = -1;
    return false;
}
