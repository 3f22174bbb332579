/* ENV_VARIABLES: the variables of the environment that matter for a distributed training (environment.def), as analyses look for
 * them. Read when a recording starts, and noted with its first event, in pieces that fit a record each. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/ring/log.h"
#include "record/session/session_parts.h"

enum { MAX_VALUE = 1024, MAX_ALL = 64 * 1024, MAX_NAME = 256, PIECE = 1200 };

extern char **environ;

typedef struct name_rule {
    const char *text;
    bool is_beginning;
} name_rule;

static const name_rule RULES[] = {
#define X(name) {name, false},
#define PREFIX(name) {name, true},
#include "record/ring/environment.def"
#undef PREFIX
#undef X
};

/* As shells set them: nothing in such a name has to be escaped. */
static bool is_variable_plain(const char *name, size_t n) {
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return n > 0 && n <= MAX_NAME && strspn(name, PLAIN) >= n;
}

static bool is_listed(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
        size_t length = strlen(RULES[i].text);
        if (n >= length && (RULES[i].is_beginning || n == length) &&
            memcmp(name, RULES[i].text, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Small letters or large. NULL when there is none. */
static const char *find_variable_part(const char *text, size_t n, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= n; i++) {
        if (strncasecmp(text + i, part, length) == 0) {
            return text + i;
        }
    }
    return NULL;
}

static bool is_secret(const char *name, size_t n) {
    static const char *const PARTS[] = {"TOKEN",      "SECRET",     "PASSWORD", "PASSWD",
                                        "PASSPHRASE", "_PWD",       "_PASS",    "_KEY",
                                        "APIKEY",     "CREDENTIAL", "_AUTH"};
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        if (find_variable_part(name, n, PARTS[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* --api-key x, password=x; but not --max-tokens=5. */
static bool tells_secret(const char *value) {
    static const char *const WORDS[] = {"token",   "secret",  "password",   "passwd",     "pwd",
                                        "api-key", "api_key", "access_key", "access-key", "apikey"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        const char *at = value;
        while ((at = find_variable_part(at, strlen(at), WORDS[i])) != NULL) {
            at += strlen(WORDS[i]);
            if (strchr("=: \"'", *at) != NULL && *at != '\0') {
                return true;
            }
        }
    }
    return false;
}

/* https://user:password@host */
static bool has_login(const char *value) {
    const char *scheme = strstr(value, "://");
    return scheme != NULL && strchr(scheme, '@') != NULL;
}

/* A piece and the longest member, each byte of its value as an escape, fit a record. */
_Static_assert(PIECE + MAX_NAME + 6 * (MAX_VALUE + 64) + 64 < PS_RECORD_MAX_PAIR, "a piece");

/* One member, in the piece that is open or in a new one. */
static void add_variable(ps_buf *out, size_t *piece, const char *name, size_t n_name,
                         const char *value) {
    size_t n = strlen(value);
    bool is_long = n > MAX_VALUE;
    if (out->len > *piece && out->len - *piece > PIECE) {
        ps_buf_add(out, "}", 2); /* with its zero */
        *piece = out->len;
    }
    ps_buf_add_str(out, out->len == *piece ? "{" : ", ");
    ps_buf_add_json_str(out, name, n_name);
    ps_buf_add_str(out, ": ");
    if (has_login(value)) {
        ps_buf_add_str(out, "\"(left out: it names a user)\"");
    } else if (tells_secret(value)) {
        ps_buf_add_str(out, "\"(left out: it may tell a password or key)\"");
    } else if (is_long) {
        char cut[MAX_VALUE + 64];
        int length = snprintf(cut, sizeof cut, "%.*s... (%zu bytes)", MAX_VALUE, value, n);
        ps_buf_add_json_str(out, cut, length > 0 ? (size_t)length : 0);
    } else {
        ps_buf_add_json_str(out, value, n);
    }
}

char *ps_environment_read(void) {
    ps_buf out;
    ps_buf_init(&out, 2 * MAX_ALL);
    size_t piece = 0;
    unsigned n_left_out = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        size_t n = equals != NULL ? (size_t)(equals - *entry) : 0;
        if (!is_variable_plain(*entry, n) || !is_listed(*entry, n) || is_secret(*entry, n)) {
            continue;
        }
        if (out.len > MAX_ALL) {
            n_left_out++;
            continue;
        }
        add_variable(&out, &piece, *entry, n, equals + 1);
    }
    if (n_left_out > 0) {
        ps_rec_log("%u variables of the environment are not noted: all of them may take %d bytes",
                   n_left_out, MAX_ALL);
    }
    ps_buf_add(&out, out.len > piece ? "}\0" : "\0", out.len > piece ? 3 : 1);
    char *texts = ps_buf_ok(&out) ? ps_alloc(out.len) : NULL;
    if (texts != NULL) {
        memcpy(texts, out.data, out.len);
    }
    ps_buf_fini(&out);
    return texts;
}

void ps_environment_define(const char *texts) {
    for (const char *text = texts; text != NULL && *text != '\0'; text += strlen(text) + 1) {
        ps_shared_pair(PS_REC_INFO, "environment", text, strlen(text));
    }
}
