#include "cli/prompt.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"

#ifdef PIPESCOPE_EDITLINE
#include <editline/readline.h>
#endif

static bool edits; /* lines, now */

#ifdef PIPESCOPE_EDITLINE

static const char *const *known;
static size_t n_known;

/* What of the text is completed: behind the last dot, since columns follow the name of a table. */
static size_t begin_of_word(const char *text) {
    const char *dot = strrchr(text, '.');
    return dot != NULL ? (size_t)(dot - text) + 1 : 0;
}

/* The next word that fits, to be freed by the library, which is free() as ps_free() is. */
static char *next_word(const char *text, int state) {
    static size_t at;
    size_t before = begin_of_word(text);
    size_t n = strlen(text + before);
    at = state == 0 ? 0 : at;
    while (at < n_known) {
        const char *word = known[at++];
        if (strncasecmp(word, text + before, n) == 0) {
            char *out = ps_alloc(before + strlen(word) + 1);
            if (out != NULL) {
                memcpy(out, text, before);
                memcpy(out + before, word, strlen(word) + 1);
            }
            return out;
        }
    }
    return NULL;
}

static char **complete(const char *text, int start, int end) {
    (void)start;
    (void)end;
    rl_attempted_completion_over = 1; /* no names of files */
    return rl_completion_matches(text, next_word);
}

bool ps_prompt_can_edit(void) {
    return true;
}

void ps_prompt_begin(const char *const *words, size_t n) {
    known = words;
    n_known = n;
    edits = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (edits) {
        rl_readline_name = (char *)(size_t) "pipescope";
        rl_attempted_completion_function = complete;
        using_history();
        stifle_history(1000);
    }
}

static bool edited_line(const char *shown, ps_buf *out) {
    char *line = readline(shown);
    if (line != NULL) {
        ps_buf_add_str(out, line);
        ps_free(line);
    }
    return line != NULL;
}

void ps_prompt_remember(const char *text) {
    if (edits) {
        (void)add_history(text);
    }
}

#else

bool ps_prompt_can_edit(void) {
    return false;
}

void ps_prompt_begin(const char *const *words, size_t n) {
    (void)words;
    (void)n;
}

static bool edited_line(const char *shown, ps_buf *out) {
    (void)shown;
    (void)out;
    return false;
}

void ps_prompt_remember(const char *text) {
    (void)text;
}

#endif

bool ps_prompt_line(const char *shown, ps_buf *out) {
    char piece[1024];
    bool any = false;
    if (edits) {
        return edited_line(shown, out);
    }
    if (isatty(STDIN_FILENO)) {
        (void)fputs(shown, stdout);
        (void)fflush(stdout);
    }
    while (fgets(piece, sizeof piece, stdin) != NULL) {
        size_t n = strlen(piece);
        bool ends = n > 0 && piece[n - 1] == '\n';
        ps_buf_add(out, piece, n - ends);
        any = true;
        if (ends) {
            break;
        }
    }
    return any;
}
