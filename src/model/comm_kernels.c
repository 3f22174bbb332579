#include "model/comm_kernels.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "model/kernel_name.h"

#define N(array) (sizeof(array) / sizeof *(array))

typedef struct comm_rule {
    const char *pattern;
    ps_comm_what what;
} comm_rule;

struct ps_comm_rules {
    char *path;
    ps_buf text; /* patterns point into it */
    comm_rule *rules;
    size_t n, cap;
    uint64_t hash;
};

static const struct table_row {
    const char *library, *pattern;
    ps_comm_what what;
} TABLE[] = {
#define X(library, read, pattern, what) {library, pattern, PS_COMM_##what},
#include "model/comm_kernels.def"
#undef X
};

/* Set once before threads begin, then read only. */
static const ps_comm_rules *rules_in_use;

const char *ps_comm_what_name(ps_comm_what what) {
    static const char *const NAMES[] = {
#define X(what, name) name,
        PS_COMM_WHATS(X)
#undef X
    };
    return NAMES[what];
}

bool ps_comm_is_symmetric(ps_comm_what what) {
    return what == PS_COMM_ALL_REDUCE || what == PS_COMM_ALL_GATHER ||
           what == PS_COMM_REDUCE_SCATTER || what == PS_COMM_ALL_TO_ALL || what == PS_COMM_BARRIER;
}

/* --- paths of functions ---------------------------------------------------------------------------------------- */

#define MAX_PARTS 16

typedef struct part {
    const char *text;
    size_t n;
} part;

/* The last MAX_PARTS components; of deeper ones the outermost are forgotten. */
typedef struct path {
    part parts[MAX_PARTS];
    size_t n;
    bool is_cut;
} path;

static void add_comm_rule_part(path *p, const char *text, size_t n) {
    if (n == 0) {
        return; /* an unnamed namespace */
    }
    if (p->n == MAX_PARTS) {
        memmove(p->parts, p->parts + 1, (MAX_PARTS - 1) * sizeof *p->parts);
        p->n--;
        p->is_cut = true;
    }
    p->parts[p->n++] = (part){text, n};
}

static const char UNNAMED[] = "(anonymous namespace)";

/* What stands before the parameters, behind the type of the result, without template arguments. */
static void read_demangled(const char *name, path *out) {
    const char *from = name;
    size_t depth = 0;
    const char *at = name;
    for (; *at != '\0'; at++) {
        if (depth == 0 && *at == UNNAMED[0] && strncmp(at, UNNAMED, strlen(UNNAMED)) == 0) {
            at += strlen(UNNAMED) - 1;
            from = at + 1;
        } else if (*at == '<') {
            add_comm_rule_part(out, from, depth == 0 ? (size_t)(at - from) : 0);
            depth++;
        } else if (*at == '>' && depth > 0) {
            depth--;
            from = at + 1;
        } else if (depth > 0) {
            continue;
        } else if (*at == '(') {
            break;
        } else if (*at == ':' && at[1] == ':') {
            add_comm_rule_part(out, from, (size_t)(at - from));
            at++;
            from = at + 1;
        } else if (*at == ' ' && at[1] == '[') {
            break; /* "foo [clone .kd]" */
        } else if (*at == ' ' || *at == '*' || *at == '&') {
            out->n = 0; /* it was the type of the result */
            from = at + 1;
        }
    }
    add_comm_rule_part(out, from, depth == 0 && at > from ? (size_t)(at - from) : 0);
}

static void read_plain_path(const char *name, path *out) {
    out->n = 0; /* parts are many, and those beyond are never looked at */
    out->is_cut = false;
    read_demangled(name, out);
    part *last = out->n > 0 ? &out->parts[out->n - 1] : NULL;
    if (last != NULL && last->n > 3 && memcmp(last->text + last->n - 3, ".kd", 3) == 0) {
        last->n -= 3; /* AMD's kernel descriptor */
    }
}

static bool part_matches(part pattern, part name) {
    bool goes_on = pattern.n > 0 && pattern.text[pattern.n - 1] == '*';
    size_t n = pattern.n - (goes_on ? 1 : 0);
    return (goes_on ? name.n >= n : name.n == n) && memcmp(pattern.text, name.text, n) == 0;
}

static bool matches_at(const path *pattern, const path *name, size_t from) {
    for (size_t i = 0; i < pattern->n; i++) {
        if (!part_matches(pattern->parts[i], name->parts[from + i])) {
            return false;
        }
    }
    return true;
}

static void read_pattern(const char *text, path *out) {
    out->n = 0;
    out->is_cut = false;
    for (const char *end; *text != '\0'; text = *end == '\0' ? end : end + 2) {
        end = strstr(text, "::");
        end = end != NULL ? end : text + strlen(text);
        add_comm_rule_part(out, text, (size_t)(end - text));
    }
}

/* Most patterns are told apart by their last component, which names the function or how it begins. Those of the table are
 * looked up once, since every operator of a capture may have a name of its own. */
static part last_part(const char *pattern) {
    const char *colon = strrchr(pattern, ':');
    const char *text = colon != NULL ? colon + 1 : pattern;
    return (part){text, strlen(text)};
}

static struct {
    part last[N(TABLE)];
    uint8_t next[N(TABLE)]; /* the next row whose last part begins with the same byte */
    uint8_t first[256];     /* by that byte; N(TABLE): none */
} rows;
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;
static_assert(N(TABLE) < 256, "rows are numbered by bytes");

static void fill_rows(void) {
    memset(rows.first, N(TABLE), sizeof rows.first);
    for (size_t i = N(TABLE); i-- > 0;) {
        rows.last[i] = last_part(TABLE[i].pattern);
        uint8_t *first = &rows.first[(unsigned char)rows.last[i].text[0]];
        rows.next[i] = *first;
        *first = (uint8_t)i;
    }
}

static bool may_match(part last, const path *name) {
    if (last.text[0] == '*') {
        return name->n > 1; /* of a namespace; no pattern stands for every name */
    }
    return name->n > 0 && last.text[0] == name->parts[name->n - 1].text[0] &&
           part_matches(last, name->parts[name->n - 1]);
}

static bool pattern_matches(const char *text, const path *name) {
    path pattern;
    bool is_whole = strncmp(text, "::", 2) == 0;
    read_pattern(text, &pattern);
    const part *last = &pattern.parts[pattern.n > 0 ? pattern.n - 1 : 0];
    bool below = pattern.n > 1 && last->n == 2 && memcmp(last->text, "**", 2) == 0;
    pattern.n -= below ? 1 : 0;
    if (pattern.n == 0 || name->n < pattern.n + (below ? 1 : 0) || (is_whole && name->is_cut)) {
        return false;
    }
    size_t end = name->n - pattern.n;
    if (!below) {
        return (!is_whole || end == 0) && matches_at(&pattern, name, end);
    }
    for (size_t from = 0; from < end && (from == 0 || !is_whole); from++) {
        if (matches_at(&pattern, name, from)) {
            return true;
        }
    }
    return false;
}

/* The first row that matches: of those that begin as the name's last part does and those that end in any, by their place. */
static ps_comm_what of_table(const path *p, const char **library) {
    (void)pthread_once(&rows_once, fill_rows);
    size_t named = p->n > 0 ? rows.first[(unsigned char)p->parts[p->n - 1].text[0]] : N(TABLE);
    size_t any = rows.first['*'];
    while (named < N(TABLE) || any < N(TABLE)) {
        size_t *row = named < any ? &named : &any;
        if (may_match(rows.last[*row], p) && pattern_matches(TABLE[*row].pattern, p)) {
            *library = TABLE[*row].library;
            return TABLE[*row].what;
        }
        *row = rows.next[*row];
    }
    return PS_COMM_UNKNOWN;
}

ps_comm_what ps_comm_of_kernel(const char *name, const char **library) {
    path p;
    char plain[PS_KERNEL_NAME_BYTES];
    const char *none = NULL;
    library = library != NULL ? library : &none;
    *library = NULL;
    read_plain_path(ps_kernel_name_plain(name, plain), &p);
    for (size_t i = 0; rules_in_use != NULL && i < rules_in_use->n; i++) {
        const char *pattern = rules_in_use->rules[i].pattern;
        if (may_match(last_part(pattern), &p) && pattern_matches(pattern, &p)) {
            *library = "rule";
            return rules_in_use->rules[i].what;
        }
    }
    return of_table(&p, library);
}

const char *ps_comm_function(const char *name, size_t *n) {
    path p;
    read_plain_path(name, &p);
    *n = p.n > 0 ? p.parts[p.n - 1].n : 0;
    return p.n > 0 ? p.parts[p.n - 1].text : name;
}

/* --- operators and calls ---------------------------------------------------------------------------------------- */

/* What stands before the word: libraries and back ends, with what parts them from it. */
static const char *behind_library(const char *name) {
    static const char *const LIBRARIES[] = {"nccl", "hccl", "rccl", "mccl", "xccl", "gloo", "mpi",
                                            "ucc",  "hcom", "c10d", "dist", "fake", "torch"};
    for (size_t i = 0; i < N(LIBRARIES);) {
        size_t n = strlen(LIBRARIES[i]);
        bool is_it = (name[0] | 0x20) == LIBRARIES[i][0] && strncasecmp(name, LIBRARIES[i], n) == 0;
        name += is_it ? n + strspn(name + n, ":_.") : 0;
        i = is_it ? 0 : i + 1;
    }
    return name + strspn(name, "_");
}

/* The letters of the word in lower case, without what parts its words: "_all_gather_base" -> "allgatherbase". */
static void plain_word(const char *name, char *out, size_t size) {
    size_t n = 0;
    for (; *name != '\0' && n + 1 < size && strncmp(name, "__", 2) != 0; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
        if (c >= 'a' && c <= 'z') {
            out[n++] = c;
        } else if (c != '_' && c != '-') {
            break;
        }
    }
    out[n] = '\0';
}

ps_comm_what ps_comm_of_call(const char *name) {
    /* The word begins so; what goes on in another way comes first. */
    static const struct {
        const char *word;
        ps_comm_what what;
    } WORDS[] = {{"allreduce", PS_COMM_ALL_REDUCE},
                 {"sparseallreduce", PS_COMM_ALL_REDUCE},
                 {"allgather", PS_COMM_ALL_GATHER},
                 {"alltoall", PS_COMM_ALL_TO_ALL},
                 {"reducescatter", PS_COMM_REDUCE_SCATTER},
                 {"reduce", PS_COMM_REDUCE},
                 {"broadcast", PS_COMM_BROADCAST},
                 {"gather", PS_COMM_GATHER},
                 {"scatter", PS_COMM_SCATTER},
                 {"barrier", PS_COMM_BARRIER},
                 {"monitoredbarrier", PS_COMM_BARRIER},
                 {"batchsendrecv", PS_COMM_SEND_RECEIVE},
                 {"batchisendirecv", PS_COMM_SEND_RECEIVE},
                 {"sendrecv", PS_COMM_SEND_RECEIVE},
                 {"sendreceive", PS_COMM_SEND_RECEIVE},
                 {"send", PS_COMM_SEND},
                 {"isend", PS_COMM_SEND},
                 {"recv", PS_COMM_RECEIVE},
                 {"receive", PS_COMM_RECEIVE},
                 {"irecv", PS_COMM_RECEIVE}};
    char word[64];
    plain_word(behind_library(name), word, sizeof word);
    for (size_t i = 0; i < N(WORDS); i++) {
        if (word[0] == WORDS[i].word[0] &&
            strncmp(word, WORDS[i].word, strlen(WORDS[i].word)) == 0) {
            return WORDS[i].what;
        }
    }
    return PS_COMM_UNKNOWN;
}

ps_comm_what ps_comm_of_gloo(const char *name) {
    static const char *const OPERATIONS[] = {
        "all_gather", "all_reduce",    "all_to_all",       "barrier",        "broadcast",
        "gather",     "recv",          "reduce",           "reduce_scatter", "scatter",
        "send",       "recvAnySource", "sparse_all_reduce"};
    size_t n = sizeof "gloo:" - 1;
    bool is_known = false;
    for (size_t i = 0; strncmp(name, "gloo:", n) == 0 && i < N(OPERATIONS); i++) {
        is_known = is_known || strcmp(name + n, OPERATIONS[i]) == 0;
    }
    return is_known ? ps_comm_of_call(name) : PS_COMM_UNKNOWN;
}

ps_comm_what ps_comm_of_name(const char *name) {
    ps_comm_what what = ps_comm_of_kernel(name, NULL);
    return what != PS_COMM_UNKNOWN && what != PS_COMM_UNTOLD ? what : ps_comm_of_call(name);
}

bool ps_comm_is_group_call(const char *name) {
    char word[64];
    plain_word(behind_library(name), word, sizeof word);
    return strncmp(word, "group", 5) == 0 || strncmp(word, "coalesced", 9) == 0;
}

bool ps_comm_is_library_call(const char *name) {
    static const char *const BEGINS[] = {"nccl:",
                                         "gloo:",
                                         "mpi:",
                                         "ucc:",
                                         "xccl:",
                                         "hccl:",
                                         "c10d::",
                                         "c10d_functional::",
                                         "_c10d_functional::",
                                         "symm_mem::",
                                         "deep_ep::",
                                         "record_param_comms",
                                         "nvshmem",
                                         "mscclpp::"};
    for (size_t i = 0; i < N(BEGINS); i++) {
        if (strncmp(name, BEGINS[i], strlen(BEGINS[i])) == 0) {
            return true;
        }
    }
    bool is_call = strncmp(name, "nccl", 4) == 0 && name[4] >= 'A' && name[4] <= 'Z';
    return is_call;
}

/* --- rules ------------------------------------------------------------------------------------------------------ */

#define MAX_RULES_BYTES ((size_t)1 << 20)
#define MAX_RULES 10000

static bool find_what(const char *name, ps_comm_what *out) {
    for (int w = PS_COMM_COMPUTING; w < PS_N_COMM_WHATS; w++) {
        if (strcasecmp(name, ps_comm_what_name((ps_comm_what)w)) == 0) {
            *out = (ps_comm_what)w;
            return true;
        }
    }
    return false;
}

/* Why this is no pattern, or NULL. */
static const char *pattern_fault(const char *pattern) {
    bool is_last_star = false;
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c == '<' || *c == '(') {
            return "a pattern names a function without template arguments and parameters";
        }
        bool ends = c[1] == '\0' || c[1] == ':';
        bool is_below =
            c[0] == '*' && c[1] == '*' && c[2] == '\0' && c - pattern > 2 && c[-1] == ':';
        is_last_star = is_last_star || is_below;
        if (*c == '*' && !ends && !is_below) {
            return "* ends a component (name*), and ** stands alone behind the last ::";
        }
    }
    const char *bare = pattern + (strncmp(pattern, "::", 2) == 0 ? 2 : 0);
    return bare[0] == '\0' || (bare[0] == '*' && !is_last_star)
               ? "this pattern would match every kernel: name a function or a namespace"
               : NULL;
}

static ps_code fail_line(const char *path_of, uint32_t line, ps_err *err, const char *text,
                         const char *remedy) {
    ps_code code = ps_fail_file(err, PS_USAGE, path_of, "'%s': %s", text, remedy);
    if (err != NULL) {
        err->line = line;
    }
    return code;
}

#define KINDS                                                                                      \
    "a rule is PATTERN KIND, and KIND one of computing, communication, all-reduce, all-gather, "   \
    "reduce-scatter, reduce, broadcast, gather, scatter, all-to-all, dispatch, combine, send, "    \
    "receive, send-receive, put, get, barrier"

static ps_code take_line(ps_comm_rules *r, char *line, const char *file, uint32_t number,
                         ps_err *err) {
    static const char BLANK[] = " \t\r,";
    line[strcspn(line, "#")] = '\0';
    char *pattern = line + strspn(line, BLANK);
    if (*pattern == '\0') {
        return PS_OK;
    }
    char *what = pattern + strcspn(pattern, BLANK);
    char *rest = what + strspn(what, BLANK);
    *what = '\0';
    what = rest;
    rest = what + strcspn(what, BLANK);
    bool is_more = rest[strspn(rest, BLANK)] != '\0';
    *rest = '\0';
    comm_rule rule = {.pattern = pattern};
    const char *fault = pattern_fault(pattern);
    if (fault != NULL) {
        return fail_line(file, number, err, pattern, fault);
    }
    if (is_more || !find_what(what, &rule.what)) {
        return fail_line(file, number, err, *what != '\0' ? what : pattern,
                         *what != '\0' ? "no kind: " KINDS
                                       : "nothing stands behind the pattern: " KINDS);
    }
    if (!ps_grow(&r->rules, &r->cap, r->n + 1, MAX_RULES, sizeof *r->rules)) {
        return r->n >= MAX_RULES
                   ? fail_line(file, number, err, "too many rules", "give at most 10000")
                   : ps_fail_nomem(err);
    }
    r->rules[r->n++] = rule;
    return PS_OK;
}

static ps_code take_lines(ps_comm_rules *r, const char *file, ps_err *err) {
    ps_code code = PS_OK;
    uint32_t number = 1;
    for (char *line = r->text.data; code == PS_OK && line != NULL; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        code = take_line(r, line, file, number, err);
        line = end != NULL ? end + 1 : NULL;
    }
    return code;
}

ps_code ps_comm_rules_read(const char *path_of, ps_comm_rules **out, ps_err *err) {
    *out = NULL;
    ps_comm_rules *r = ps_calloc(1, sizeof *r);
    if (r == NULL) {
        return ps_fail_nomem(err);
    }
    ps_buf_init(&r->text, MAX_RULES_BYTES);
    r->path = ps_strdup(path_of);
    ps_code code = r->path != NULL ? ps_read_file(path_of, MAX_RULES_BYTES - 1, &r->text, err)
                                   : ps_fail_nomem(err);
    if (code == PS_OK) {
        r->hash = ps_hash64(r->text.data, r->text.len) | 1;
        code = take_lines(r, path_of, err);
    }
    if (code != PS_OK) {
        ps_comm_rules_free(r);
        return code;
    }
    *out = r;
    return PS_OK;
}

void ps_comm_rules_free(ps_comm_rules *rules) {
    if (rules == NULL) {
        return;
    }
    rules_in_use = rules_in_use == rules ? NULL : rules_in_use;
    ps_buf_fini(&rules->text);
    ps_free(rules->path);
    ps_free(rules->rules);
    ps_free(rules);
}

void ps_comm_rules_use(const ps_comm_rules *rules) {
    rules_in_use = rules;
}

const char *ps_comm_rules_path(void) {
    return rules_in_use != NULL ? rules_in_use->path : NULL;
}

uint64_t ps_comm_rules_hash(void) {
    return rules_in_use != NULL ? rules_in_use->hash : 0;
}
