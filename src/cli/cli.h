/* The frame of the command line program. A command is one file cmd_<verb>.c with one `const ps_command
 * ps_command_<verb>` and one line in commands.def:
 *
 *   static int run(ps_cli *cli) { ... return PS_EXIT_OK; }
 *   static const ps_option OPTIONS[] = {
 *       {PS_ROW_INT(NULL, "steps", "N", PS_IS("1"), 1, 1000, "...")},
 *       {PS_ROW_ANALYSIS(top_num)}, PS_JOBS_OPTION,
 *   };
 *   const ps_command ps_command_simulate = {
 *       .name = "simulate", .summary = "draw a schedule that nobody ran", .usage = "SCHEDULE --pp P ...",
 *       .options = OPTIONS, .n_options = PS_N(OPTIONS),
 *       .positional = "SCHEDULE", .min_positionals = 1, .max_positionals = 1, .run = run,
 *   };
 *
 * Results go to stdout through the ps_cli_ functions, which notice write errors; everything else to stderr. */
#ifndef PS_CLI_CLI_H
#define PS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/build_parts.h"
#include "base/err.h"
#include "cli/options.h"
#include "cli/term.h"
#include "model/chart.h"
#include "model/table.h"
#include "write/out/text_style.h"

/* Exit statuses, for users and scripts. */
enum {
    PS_EXIT_OK = 0,
    PS_EXIT_FAILED = 1,
    PS_EXIT_USAGE = 2,   /* wrong usage, or a path that does not exist */
    PS_EXIT_NOTHING = 3, /* nothing to analyse in the input */
    PS_EXIT_PARTIAL = 4  /* some ranks failed, the rest was written */
};

/* What the statuses mean, one line for each sentence. */
#define PS_EXIT_TEXT                                                                               \
    "0 all done, 1 failed, 2 wrong usage or no such path,\n"                                       \
    "3 nothing to analyse in the input, 4 some ranks failed and the rest was written."

#define PS_N(array) (sizeof(array) / sizeof((array)[0]))

typedef struct ps_cli ps_cli;

typedef struct ps_command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char
        *usage; /* what follows "pipescope NAME " in help; lines after the first are aligned */
    const ps_option *options;
    size_t n_options;
    const char *positional;                  /* "PATH"; NULL when the command takes none */
    size_t min_positionals, max_positionals; /* PS_MANY: no limit */
    bool runs_words;   /* the positionals are another program's command line */
    const char *notes; /* paragraphs below the options in help, may be NULL */
    bool hidden;       /* not in the list of commands */
    bool
        takes_anything; /* words and options are not looked at, but for --help: it only says why it is not there */
    int (*run)(ps_cli *cli); /* returns an exit status */
} ps_command;

/* What the program is, and what holds for all commands; for the list of commands and the manual. */
extern const char PS_CLI_SUMMARY[];
extern const char PS_CLI_RULES[];

/* What the command accepts, with what every command does. */
ps_option_spec ps_cli_spec(const ps_command *command);

/* Rules of the user for kernels that communicate (model/comm_kernels.h): for every command that reads profiles. The frame
 * reads the file before the command runs; without the option the environment variable names it. */
#define PS_COMM_RULES "comm-rules"
#define PS_COMM_RULES_VARIABLE "PIPESCOPE_COMM_RULES"
#define PS_COMM_RULES_OPTION                                                                       \
    {                                                                                              \
        PS_ROW_PATH("Communication", PS_COMM_RULES, "FILE", PS_UNSAID,                             \
                    "which kernels communicate and which compute, one rule a line "                \
                    "(docs/comm-rules.md); also " PS_COMM_RULES_VARIABLE "=FILE")                  \
    }

/* One run of the program. */
struct ps_cli {
    const ps_command *command;
    ps_term term;
    bool quiet, verbose;
    ps_lang lang; /* --lang, of commands that have it; else English */
    ps_option_values values;
    const char *about; /* what messages are about ("baseline: "), NULL: the input */
    ps_buf *into;      /* what is printed goes there instead of to stdout; NULL: it does not */
    int out_errno;     /* of the first failed write to stdout, 0 for none */
    double fold_near;  /* of the last table in which rows stand for others, 0: none */
    struct ps_comm_rules *comm_rules; /* NULL: none */
    struct ps_engine
        *engine; /* who reads ranks for the command (run/run_engine.h); NULL: threads */
};

/* All commands in the order of commands.def, NULL-terminated. */
const ps_command *const *ps_commands(void);
/* By name, any case; NULL when there is none of that name. */
const ps_command *ps_command_find(const char *name);

/* Runs the program and returns its exit status. `engine` reads the ranks (run/run_engine.h); NULL: threads. */
int ps_cli_main(int argc, char **argv, struct ps_engine *engine);
/* The same, again and again: standard streams stay open, and signals as they are. */
int ps_cli_run(int argc, char **argv);

/* Values by the option's long name. Without a value and without a default: false, 0, NULL. */
bool ps_cli_given(const ps_cli *cli, const char *name);
bool ps_cli_flag(const ps_cli *cli, const char *name);
int64_t ps_cli_int(const ps_cli *cli, const char *name);
int64_t ps_cli_ns(const ps_cli *cli, const char *name); /* of a PS_OPTION_US */
const char *ps_cli_text(const ps_cli *cli,
                        const char *name); /* TEXT, PATH, CHOICE; "1" of a FLAG */
size_t ps_cli_n_positionals(const ps_cli *cli);
const char *ps_cli_positional(const ps_cli *cli, size_t i); /* NULL past the end */

/* stdout. A failed write is remembered and reported once, at the end, with exit status 1. */
void ps_cli_print(ps_cli *cli, const char *fmt, ...) PS_PRINTF(2, 3);
void ps_cli_put(ps_cli *cli, const void *bytes, size_t n);
/* How text may look on this terminal. */
ps_text_style ps_cli_style(const ps_cli *cli);
/* The table as text for this terminal; the chart of one step (INT64_MIN: the first) and pipeline (-1: the first).
 * Return an exit status, having said what went wrong. */
int ps_cli_put_table(ps_cli *cli, const ps_table *table);
/* Options of another tool that have nothing to switch here: {name, why} each, said with --verbose where they were given. */
void ps_cli_say_ignored(const ps_cli *cli, const char *const (*options)[2], size_t n);
/* For commands that show tables of many ranks: "all". */
#define PS_ALL_ROWS_OPTION                                                                         \
    {                                                                                              \
        PS_ROW_FLAG(NULL, "all",                                                                   \
                    "each row by itself, however many ranks there are (docs/alike-rows.md)")       \
    }
/* Whether it was given; of commands without it never. */
bool ps_cli_shows_all(const ps_cli *cli);
/* A table that may have rows of many ranks: where there are many, those that are alike stand as one (model/table_fold.h). At most
 * `max_rows` are shown, of a table with rows that stand for others PS_FOLD_MOST_ROWS; *n_more: how many rows of the table follow. With
 * "all" all rows are, each by itself. */
int ps_cli_put_many_rows(ps_cli *cli, const ps_table *table, size_t max_rows, size_t *n_more);
int ps_cli_put_json(ps_cli *cli, const ps_table *table);
/* Prints and frees a table that was filled when `ok`, else memory is out. */
int ps_cli_end_table(ps_cli *cli, ps_table *table, bool ok);
/* What a writer left, with its code: into the file (NULL: onto the terminal), or why not. Frees the buffer. An exit status. */
int ps_cli_end_output(ps_cli *cli, const char *path, ps_buf *out, ps_code code, ps_err *err);
int ps_cli_put_chart(ps_cli *cli, const ps_chart *chart, int64_t step, int32_t pipeline);

/* stderr, each one line "pipescope: ...". A note is not printed with --quiet, a detail only with --verbose. */
void ps_cli_note(const ps_cli *cli, const char *fmt, ...) PS_PRINTF(2, 3);
void ps_cli_detail(const ps_cli *cli, const char *fmt, ...) PS_PRINTF(2, 3);
void ps_cli_warn(const ps_cli *cli, const char *fmt, ...) PS_PRINTF(2, 3);

/* Prints the error and returns its exit status: return ps_cli_fail(cli, &err). */
int ps_cli_fail(const ps_cli *cli, const ps_err *err);
int ps_cli_fail_nomem(const ps_cli *cli);
/* A usage error: the message, a line how to get help, PS_EXIT_USAGE. */
int ps_cli_usage(const ps_cli *cli, const char *fmt, ...) PS_PRINTF(2, 3);
/* The same for a word that is none of the list: "unknown mode 'pp_chrt'; did you mean 'pp_chart'?". */
int ps_cli_unknown(const ps_cli *cli, const char *what, const char *word, const char *const *known,
                   size_t n);

/* A usage error: this build is without the part. */
int ps_cli_left_out(const ps_cli *cli, ps_build_part part);

/* PS_USAGE and PS_NOT_FOUND -> 2, PS_NOTHING -> 3, PS_OK -> 0, all else 1. */
int ps_exit_status(ps_code code);

/* Prints the help page of one command, or with NULL the list of commands (in short: for someone who typed
 * nothing). Returns PS_EXIT_OK. */
int ps_cli_put_help(ps_cli *cli, const ps_command *command, bool in_short);

/* The same as a page for man(1): pipescope-COMMAND, or with NULL pipescope. Memory that runs out is kept by `out`. */
void ps_cli_put_manual(const ps_command *command, ps_buf *out);

#endif
