#include "cli/query_prompt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/prompt.h"
#include "query/words.h"

enum { MOST_STATEMENT_BYTES = 1 << 20 };

static const char HELP[] =
    "SELECT ...;     a statement ends with a semicolon, and may take several lines\n"
    ".tables         the tables, a line each\n"
    ".schema TABLE   the columns of a table\n"
    ".quit           the end, as is Ctrl-D; Ctrl-C ends the statement that runs\n";

/* --- Ctrl-C ------------------------------------------------------------------------------------------------------ */

static ps_sql *volatile running;

static void end_statement(int number) {
    (void)number;
    if (running != NULL) {
        ps_sql_stop(running);
    }
}

/* --- statements -------------------------------------------------------------------------------------------------- */

/* The worse of two exit statuses: what failed hides nothing that was asked wrongly, and that nothing that the capture has not. */
static int worse_status(int a, int b) {
    static const int RANK[] = {[PS_EXIT_OK] = 0,
                               [PS_EXIT_NOTHING] = 1,
                               [PS_EXIT_PARTIAL] = 2,
                               [PS_EXIT_USAGE] = 3,
                               [PS_EXIT_FAILED] = 4};
    return RANK[a] < RANK[b] ? b : a;
}

/* An exit status. */
static int run_statement(ps_cli *cli, ps_sql *sql, const char *statement, ps_query_answer *answer) {
    ps_err err = PS_ERR_INIT;
    running = sql;
    ps_code code = answer(cli, sql, statement, "query", &err);
    running = NULL;
    return code != PS_OK ? ps_cli_fail(cli, &err) : PS_EXIT_OK;
}

static const char *without_blanks(const char *text) {
    return text + strspn(text, " \t");
}

/* What begins with a dot; false: the end. `status` gets worse where it asks for what is not there. */
static bool run_word(ps_cli *cli, const char *line, int *status) {
    static const char SCHEMA[] = ".schema ";
    ps_buf text = {0};
    if (strncmp(line, ".quit", 5) == 0 || strncmp(line, ".exit", 5) == 0) {
        return false;
    }
    if (strncmp(line, ".tables", 7) == 0) {
        ps_sql_put_tables(&text);
    } else if (strncmp(line, SCHEMA, sizeof SCHEMA - 1) == 0 &&
               !ps_sql_put_columns(without_blanks(line + sizeof SCHEMA - 1), &text)) {
        ps_cli_warn(cli, "no such table; .tables lists them");
        *status = worse_status(*status, PS_EXIT_USAGE);
    } else if (text.len == 0) {
        ps_buf_add_str(&text, HELP);
    }
    ps_cli_put(cli, ps_buf_str(&text), text.len);
    ps_buf_fini(&text);
    return true;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n;")] == '\0';
}

/* The worst status of all statements. */
static int prompt_loop(ps_cli *cli, ps_sql *sql, ps_query_answer *answer) {
    int status = PS_EXIT_OK;
    ps_buf statement;
    ps_buf_init(&statement, MOST_STATEMENT_BYTES);
    bool goes_on = true;
    while (goes_on && cli->out_errno == 0) {
        bool is_first = is_blank(ps_buf_str(&statement));
        if (is_first) {
            ps_buf_clear(&statement);
        } else {
            ps_buf_add_char(&statement, '\n');
        }
        (void)fflush(stdout);
        goes_on = ps_prompt_line(is_first ? "pipescope> " : "       ...> ", &statement);
        const char *text = ps_buf_str(&statement);
        if (!ps_buf_ok(&statement)) {
            ps_cli_warn(cli, "a statement has at most %d bytes", MOST_STATEMENT_BYTES);
            status = PS_EXIT_FAILED;
            ps_buf_clear(&statement);
        } else if (is_first && *without_blanks(text) == '.') {
            ps_prompt_remember(text);
            goes_on = run_word(cli, without_blanks(text), &status) && goes_on;
            ps_buf_clear(&statement);
        } else if (!is_blank(text) && (ps_sql_is_complete(text) || !goes_on)) {
            ps_prompt_remember(text);
            status = worse_status(status, run_statement(cli, sql, text, answer));
            ps_buf_clear(&statement);
        }
    }
    ps_buf_fini(&statement);
    return status;
}

int ps_query_prompt(ps_cli *cli, ps_sql *sql, ps_query_answer *answer) {
    struct sigaction action = {.sa_handler = end_statement};
    struct sigaction before;
    ps_words words = {0};
    if (!ps_sql_words(&words)) {
        ps_words_fini(&words);
        return ps_cli_fail_nomem(cli);
    }
    ps_prompt_begin(words.at, words.n);
    if (isatty(STDIN_FILENO)) {
        ps_cli_print(cli, "%s\n",
                     ps_prompt_can_edit() ? ".help for help; Tab completes, arrows bring back"
                                          : ".help for help");
    }
    (void)sigaction(SIGINT, &action, &before);
    int status = prompt_loop(cli, sql, answer);
    (void)sigaction(SIGINT, &before, NULL);
    ps_prompt_begin(NULL, 0);
    ps_words_fini(&words);
    return isatty(STDIN_FILENO) ? PS_EXIT_OK : status;
}
