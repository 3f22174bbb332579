/* The frame: finds the command, parses its words, runs it, and looks after stdout and stderr.
 *
 *   pipescope                        the list of commands
 *   pipescope -m MODE -d DIR         the default command, cluster
 *   pipescope --quiet COMMAND ...    common flags may stand in front */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyze/core/analysis_options.h"
#include "base/publish.h"
#include "base/spill.h"
#include "model/comm_kernels.h"
#include "model/table_fold.h"
#include "write/out/sink.h"
#include "write/out/wrap.h"
#include "write/out/writers.h"

#define DEFAULT_COMMAND "cluster"

#define X(name) extern const ps_command ps_command_##name;
#include "cli/commands.def"
#undef X

static const ps_command *const COMMANDS[] = {
#define X(name) &ps_command_##name,
#include "cli/commands.def"
#undef X
    NULL};

static const ps_option COMMON[] = {
    {PS_ROW_FLAG("Everywhere", "quiet", "no progress, no notes")},
    {PS_ROW_FLAG("Everywhere", "verbose", "say more on the way")},
    {.short_name = 'h', PS_ROW_FLAG("Everywhere", "help", "this page")},
    {.short_name = 'H', .hidden = true, PS_ROW_FLAG(NULL, "help", "")},
};

/* --- commands ---------------------------------------------------------------------------------------------- */

const ps_command *const *ps_commands(void) {
    return COMMANDS;
}

const ps_command *ps_command_find(const char *name) {
    for (size_t i = 0; COMMANDS[i] != NULL; i++) {
        if (strcasecmp(COMMANDS[i]->name, name) == 0) {
            return COMMANDS[i];
        }
    }
    return NULL;
}

ps_option_spec ps_cli_spec(const ps_command *c) {
    return (ps_option_spec){.options = c->options,
                            .n_options = c->n_options,
                            .common = COMMON,
                            .n_common = PS_N(COMMON),
                            .positional = c->positional,
                            .min_positionals = c->min_positionals,
                            .max_positionals = c->max_positionals,
                            .runs_words = c->runs_words};
}

const char PS_CLI_SUMMARY[] = "see where a distributed training step goes";
const char PS_CLI_RULES[] =
    "Without a command, options alone mean '" DEFAULT_COMMAND
    "'. Hyphen and underscore are the same in a long "
    "option. --quiet, --verbose and --help work everywhere. NO_COLOR switches colours off.";

/* --- help -------------------------------------------------------------------------------------------------- */

static void usage_lines(const ps_command *c, ps_buf *out) {
    size_t before = out->len;
    ps_buf_addf(out, "usage: pipescope %s ", c->name);
    size_t indent = out->len - before;
    for (const char *p = c->usage != NULL ? c->usage : ""; *p != '\0'; p++) {
        ps_buf_add_char(out, *p);
        if (*p == '\n') {
            ps_buf_add_fill(out, ' ', indent);
        }
    }
    ps_buf_add_char(out, '\n');
}

static void command_help(const ps_command *c, size_t width, ps_buf *out) {
    ps_option_spec spec = ps_cli_spec(c);
    usage_lines(c, out);
    ps_buf_addf(out, "\n%s\n", c->summary);
    ps_options_help(&spec, width, out);
    if (c->notes != NULL) {
        ps_buf_add_char(out, '\n');
        ps_wrap(out, c->notes, 0, 0, width);
        ps_buf_add_char(out, '\n');
    }
}

static void overview(size_t width, bool in_short, ps_buf *out) {
    ps_buf_addf(out, "pipescope: %s\n\n", PS_CLI_SUMMARY);
    ps_buf_add_str(out, "usage: pipescope COMMAND [options]\n\n");
    size_t left = 0;
    for (size_t i = 0; COMMANDS[i] != NULL; i++) {
        size_t n = strlen(COMMANDS[i]->name);
        left = n > left && !COMMANDS[i]->hidden ? n : left;
    }
    for (size_t i = 0; COMMANDS[i] != NULL; i++) {
        if (!COMMANDS[i]->hidden) {
            ps_buf_addf(out, "  %-*s  ", (int)left, COMMANDS[i]->name);
            ps_wrap(out, COMMANDS[i]->summary, left + 4, left + 4, width);
            ps_buf_add_char(out, '\n');
        }
    }
    ps_buf_add_str(out, "\n'pipescope help COMMAND' tells the options of one.\n");
    if (in_short) {
        return;
    }
    ps_buf_add_char(out, '\n');
    ps_wrap(out, PS_CLI_RULES, 0, 0, width);
    ps_buf_add_str(out, "\n\nExit status: " PS_EXIT_TEXT "\n");
}

static size_t help_width(const ps_term *term) {
    return term->width < 100 ? term->width : 100;
}

int ps_cli_put_help(ps_cli *cli, const ps_command *command, bool in_short) {
    ps_buf text = {0};
    if (command != NULL) {
        command_help(command, help_width(&cli->term), &text);
    } else {
        overview(help_width(&cli->term), in_short, &text);
    }
    ps_cli_put(cli, ps_buf_str(&text), text.len);
    ps_buf_fini(&text);
    return PS_EXIT_OK;
}

/* --- values ------------------------------------------------------------------------------------------------ */

bool ps_cli_given(const ps_cli *cli, const char *name) {
    return ps_options_get(&cli->values, name)->given;
}

bool ps_cli_flag(const ps_cli *cli, const char *name) {
    return ps_options_get(&cli->values, name)->number != 0;
}

int64_t ps_cli_int(const ps_cli *cli, const char *name) {
    return ps_options_get(&cli->values, name)->number;
}

int64_t ps_cli_ns(const ps_cli *cli, const char *name) {
    return ps_options_get(&cli->values, name)->number;
}

const char *ps_cli_text(const ps_cli *cli, const char *name) {
    return ps_options_get(&cli->values, name)->text;
}

size_t ps_cli_n_positionals(const ps_cli *cli) {
    return cli->values.n_positionals;
}

const char *ps_cli_positional(const ps_cli *cli, size_t i) {
    return i < cli->values.n_positionals ? cli->values.positionals[i] : NULL;
}

/* --- stdout ------------------------------------------------------------------------------------------------ */

void ps_cli_put(ps_cli *cli, const void *bytes, size_t n) {
    if (cli->into != NULL) {
        ps_buf_add(cli->into, bytes, n);
    } else if (fwrite(bytes, 1, n, stdout) != n && cli->out_errno == 0) {
        cli->out_errno = errno;
    }
}

static void print_into(ps_buf *out, const char *fmt, va_list ap) PS_PRINTF(2, 0);
static void print_into(ps_buf *out, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *at = n >= 0 ? ps_buf_room(out, (size_t)n + 1) : NULL;
    if (at != NULL) {
        (void)vsnprintf(at, (size_t)n + 1, fmt, ap);
        ps_buf_wrote(out, (size_t)n);
    }
}

void ps_cli_print(ps_cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (cli->into != NULL) {
        print_into(cli->into, fmt, ap);
    } else if (vprintf(fmt, ap) < 0 && cli->out_errno == 0) {
        cli->out_errno = errno;
    }
    va_end(ap);
}

ps_text_style ps_cli_style(const ps_cli *cli) {
    return (ps_text_style){
        .width = cli->term.width, .colours = cli->term.colours, .utf8 = cli->term.utf8};
}

int ps_cli_end_output(ps_cli *cli, const char *path, ps_buf *out, ps_code code, ps_err *err) {
    if (code == PS_OK && path != NULL) {
        code = ps_sink_store(path, out, err);
    } else if (code == PS_OK) {
        ps_cli_put(cli, ps_buf_str(out), out->len);
    }
    ps_buf_fini(out);
    if (code != PS_OK) {
        return ps_cli_fail(cli, err);
    }
    if (path != NULL) {
        ps_cli_print(cli, "wrote %s\n", path);
    }
    return PS_EXIT_OK;
}

int ps_cli_put_table(ps_cli *cli, const ps_table *table) {
    ps_text_style style = ps_cli_style(cli);
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    ps_code code = ps_write_table_text(table, &style, &text, &err);
    return ps_cli_end_output(cli, NULL, &text, code, &err);
}

void ps_cli_say_ignored(const ps_cli *cli, const char *const (*options)[2], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (ps_cli_given(cli, options[i][0])) {
            ps_cli_detail(cli, "--%s is accepted and does nothing: %s", options[i][0],
                          options[i][1]);
        }
    }
}

/* Rows of the table that stand for themselves or others in the first `n` of a folded one. */
static size_t rows_shown(const ps_table *folded, size_t n) {
    size_t alike = ps_table_column(folded, PS_FOLD_ALIKE);
    size_t sum = 0;
    for (size_t r = 0; r < n; r++) {
        sum += (size_t)ps_table_cell(folded, r, alike)->u.i;
    }
    return sum;
}

bool ps_cli_shows_all(const ps_cli *cli) {
    const ps_option_spec *spec = cli->values.spec;
    for (size_t i = 0; i < ps_options_count(spec); i++) {
        if (strcmp(ps_options_at(spec, i).name, "all") == 0) {
            return cli->values.values[i].number != 0;
        }
    }
    return false;
}

/* How near alike is, below the first table of those that say the same of it. */
static void say_fold(ps_cli *cli, double near) {
    if (near > cli->fold_near || near < cli->fold_near) {
        ps_cli_print(cli, PS_FOLD_NOTE "\n", 100 * near);
        cli->fold_near = near;
    }
}

int ps_cli_put_many_rows(ps_cli *cli, const ps_table *table, size_t max_rows, size_t *n_more) {
    bool all = ps_cli_shows_all(cli);
    double near = 0;
    size_t most_rows = max_rows < PS_FOLD_MOST_ROWS ? max_rows : PS_FOLD_MOST_ROWS;
    ps_table *folded =
        table->n_rows > PS_FOLD_ROWS && !all ? ps_table_fold(table, most_rows, &near) : NULL;
    ps_table shown = folded != NULL ? *folded : *table; /* a view of the first rows */
    max_rows = all ? SIZE_MAX : folded != NULL ? most_rows : max_rows;
    shown.n_rows = shown.n_rows < max_rows ? shown.n_rows : max_rows;
    *n_more = table->n_rows - (folded != NULL ? rows_shown(folded, shown.n_rows) : shown.n_rows);
    int status = ps_cli_put_table(cli, &shown);
    if (folded != NULL) {
        say_fold(cli, near);
    }
    ps_table_free(folded);
    return status;
}

int ps_cli_end_table(ps_cli *cli, ps_table *table, bool ok) {
    int status = ok ? ps_cli_put_table(cli, table) : ps_cli_fail_nomem(cli);
    ps_table_free(table);
    return status;
}

int ps_cli_put_json(ps_cli *cli, const ps_table *table) {
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    ps_code code = ps_write_table_json(table, &text, &err);
    return ps_cli_end_output(cli, NULL, &text, code, &err);
}

int ps_cli_put_chart(ps_cli *cli, const ps_chart *chart, int64_t step, int32_t pipeline) {
    ps_chart_text_opts opts = {.style = ps_cli_style(cli), .step = step, .pipeline = pipeline};
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    ps_code code = ps_write_chart_text(chart, &opts, &text, &err);
    return ps_cli_end_output(cli, NULL, &text, code, &err);
}

/* --- stderr ------------------------------------------------------------------------------------------------ */

/* One message is one line whatever bytes a path or a profile brought along: control characters, which could also
 * steer the terminal, become '?'. */
static void say_cli(const ps_cli *cli, const char *fmt, va_list ap) {
    char text[2048];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7F) {
            *p = '?';
        }
    }
    /* A progress line may stand where the message goes. */
    const char *clear = cli->term.err_is_live ? "\r\033[K" : "";
    (void)fflush(stdout); /* so that the two streams keep their order in one file */
    (void)fprintf(stderr, "%spipescope: %s%s\n", clear, cli->about != NULL ? cli->about : "", text);
}

void ps_cli_note(const ps_cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!cli->quiet) {
        say_cli(cli, fmt, ap);
    }
    va_end(ap);
}

void ps_cli_detail(const ps_cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (cli->verbose) {
        say_cli(cli, fmt, ap);
    }
    va_end(ap);
}

void ps_cli_warn(const ps_cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say_cli(cli, fmt, ap);
    va_end(ap);
}

int ps_exit_status(ps_code code) {
    switch (code) {
    case PS_OK:
        return PS_EXIT_OK;
    case PS_USAGE:
    case PS_NOT_FOUND:
        return PS_EXIT_USAGE;
    case PS_NOTHING:
        return PS_EXIT_NOTHING;
    case PS_NOMEM:
    case PS_IO:
    case PS_SYNTAX:
    case PS_UNSUPPORTED:
    case PS_RANGE:
    case PS_READONLY:
    case PS_NO_ROOM:
    case PS_BUSY:
    case PS_CHANGED:
    case PS_INTERNAL:
        break;
    }
    return PS_EXIT_FAILED;
}

int ps_cli_fail(const ps_cli *cli, const ps_err *err) {
    char text[1024];
    ps_err_say(cli->lang, err, text, sizeof text);
    ps_cli_warn(cli, "%s", text);
    return ps_exit_status(err->code);
}

int ps_cli_left_out(const ps_cli *cli, ps_build_part part) {
    ps_err err = PS_ERR_INIT;
    (void)ps_fail_left_out(&err, part);
    return ps_cli_fail(cli, &err);
}

int ps_cli_fail_nomem(const ps_cli *cli) {
    ps_err err = PS_ERR_INIT;
    (void)ps_fail_nomem(&err);
    return ps_cli_fail(cli, &err);
}

static int usage_hint(const ps_cli *cli) {
    if (cli->command != NULL) {
        ps_cli_warn(cli,
                    PS_SAY(cli->lang, "'pipescope help %s' tells the options",
                           "选项见 'pipescope help %s'"),
                    cli->command->name);
    } else {
        ps_cli_warn(cli, "'pipescope help' lists the commands");
    }
    return PS_EXIT_USAGE;
}

int ps_cli_usage(const ps_cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say_cli(cli, fmt, ap);
    va_end(ap);
    return usage_hint(cli);
}

int ps_cli_unknown(const ps_cli *cli, const char *what, const char *word, const char *const *known,
                   size_t n) {
    const char *nearest = ps_nearest(word, known, n);
    if (nearest != NULL) {
        return ps_cli_usage(cli, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
    }
    ps_buf list = {0};
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&list, "%s%s", i > 0 ? ", " : "; there are: ", known[i]);
    }
    int status = ps_cli_usage(cli, "unknown %s '%s'%s", what, word, ps_buf_str(&list));
    ps_buf_fini(&list);
    return status;
}

/* --- the program ------------------------------------------------------------------------------------------- */

static int unknown_command(const ps_cli *cli, const char *word) {
    const char *names[PS_N(COMMANDS)];
    size_t n = 0;
    for (size_t i = 0; COMMANDS[i] != NULL; i++) {
        if (!COMMANDS[i]->hidden) {
            names[n++] = COMMANDS[i]->name;
        }
    }
    if (ps_nearest(word, names, n) == NULL && access(word, F_OK) == 0) {
        return ps_cli_usage(cli, "'%s' is a path, not a command; did you mean 'pipescope info %s'?",
                            word, word);
    }
    return ps_cli_unknown(cli, "command", word, names, n);
}

/* From the option, else the environment. An exit status. */
static int load_comm_rules(ps_cli *cli, const ps_option_spec *spec) {
    if (!ps_options_has(spec, PS_COMM_RULES)) {
        return PS_EXIT_OK;
    }
    const char *given = ps_cli_text(cli, PS_COMM_RULES);
    const char *variable = getenv(PS_COMM_RULES_VARIABLE);
    const char *path = given != NULL ? given : variable;
    if (path == NULL || (given == NULL && *path == '\0')) {
        return PS_EXIT_OK;
    }
    ps_err err = PS_ERR_INIT;
    if (ps_comm_rules_read(path, &cli->comm_rules, &err) != PS_OK) {
        ps_err_prefix(&err, "%s", given != NULL ? "--" PS_COMM_RULES : PS_COMM_RULES_VARIABLE);
        return ps_cli_fail(cli, &err);
    }
    ps_comm_rules_use(cli->comm_rules);
    return PS_EXIT_OK;
}

static int run_command(ps_cli *cli, int argc, char **argv) {
    ps_option_spec spec = ps_cli_spec(cli->command);
    bool wants_help = false;
    ps_err err = PS_ERR_INIT;
    ps_code code = ps_options_parse(&cli->values, &spec, argc, argv, &wants_help, &err);
    if (code == PS_USAGE && cli->command->takes_anything) {
        return cli->command->run(cli);
    }
    if (code != PS_OK) {
        int status = ps_cli_fail(cli, &err);
        return code == PS_USAGE ? usage_hint(cli) : status;
    }
    cli->quiet = ps_cli_flag(cli, "quiet");
    cli->verbose = ps_cli_flag(cli, "verbose");
    cli->lang = ps_analysis_lang(ps_options_has(&spec, "lang") ? ps_cli_text(cli, "lang") : NULL);
    int status =
        wants_help ? ps_cli_put_help(cli, cli->command, false) : load_comm_rules(cli, &spec);
    status = wants_help || status != PS_EXIT_OK ? status : cli->command->run(cli);
    ps_comm_rules_free(cli->comm_rules);
    ps_options_fini(&cli->values);
    return status;
}

static bool is_any(const char *word, const char *const *words) {
    while (*words != NULL && strcmp(word, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

/* Where the command's name stands in argv, 0 when the line begins with options. */
static int command_word(int argc, char **argv) {
    static const char *const FLAGS[] = {"--quiet", "--verbose", NULL};
    int i = 1;
    while (i < argc && is_any(argv[i], FLAGS)) {
        i++;
    }
    return i < argc && argv[i][0] != '-' ? i : 0;
}

static int dispatch(ps_cli *cli, int argc, char **argv) {
    static const char *const HELP[] = {"-h", "-H", "--help", NULL};
    static const char *const VERSION[] = {"-v", "-V", "--version", NULL};
    if (argc <= 1 || is_any(argv[1], HELP)) {
        return ps_cli_put_help(cli, NULL, argc <= 1);
    }
    int word = command_word(argc, argv);
    if (is_any(argv[1], VERSION)) {
        cli->command = ps_command_find("version");
        argc = 1;
    } else {
        cli->command = ps_command_find(word > 0 ? argv[word] : DEFAULT_COMMAND);
    }
    if (cli->command == NULL) {
        return unknown_command(cli, argv[word > 0 ? word : 1]);
    }
    /* Takes the name out, so that flags before and words after it become one list. */
    for (int i = word; word > 0 && i > 1; i--) {
        argv[i] = argv[i - 1];
    }
    int first = word > 0 ? 2 : 1;
    return run_command(cli, argc > first ? argc - first : 0, argv + first);
}

/* A stream that is closed at the start would lend its number to the first file opened, and messages would end up
 * in a database. The null device opened the wrong way round keeps the number and still fails when used. Programs that we
 * start find it closed, as we did. */
static void hold_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            (void)open("/dev/null", (fd == 1 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
        }
    }
}

static void on_broken_pipe(int number) {
    (void)number;
}

/* A reader that went away makes writes fail instead of killing us. A handler, not SIG_IGN: programs that we start
 * get the default back. Who ignores it already has what we want, and so have they. */
static void outlive_broken_pipes(void) {
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
        return;
    }
    action = (struct sigaction){.sa_handler = on_broken_pipe, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGPIPE, &action, NULL);
}

/* Ended by the user or by a scheduler, nothing half-written stays. What is ignored (nohup) stays so. */
static void leave_nothing_behind(void) {
    static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        struct sigaction action;
        if (sigaction(ENDS[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            action =
                (struct sigaction){.sa_handler = ps_unfinished_end, .sa_flags = (int)SA_RESETHAND};
            (void)sigemptyset(&action.sa_mask);
            (void)sigaction(ENDS[i], &action, NULL);
        }
    }
}

/* Memory that lies in a file comes back from the disk, or as this signal. Another address is a fault of ours, and ends the process as ever. */
static void on_lost_memory(int number, siginfo_t *info, void *context) {
    static const char SAID[] =
        "pipescope: the disk does not give back what --memory had put into a file below TMPDIR or /var/tmp: nothing "
        "more can be done; name another folder with TMPDIR, or give more with --memory\n";
    (void)number;
    (void)context;
    if (ps_spill_holds(info->si_addr)) {
        (void)!write(STDERR_FILENO, SAID, sizeof SAID - 1);
        ps_unfinished_remove();
        _exit(PS_EXIT_FAILED);
    }
}

/* Sanitizers have a handler of their own, which stays. */
static void tell_lost_memory(void) {
    struct sigaction action;
    if (sigaction(SIGBUS, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
        action = (struct sigaction){.sa_sigaction = on_lost_memory,
                                    .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND)};
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGBUS, &action, NULL);
    }
}

/* Whether standard output is a pipe that nobody reads any more. Tells it also where an earlier, unwatched flush met
 * the error and took its number along. */
static bool is_reader_gone(void) {
    struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&fd, 1, 0) > 0 && (fd.revents & POLLERR) != 0;
}

/* Results that did not arrive are a failure, unless the reader had seen enough (`| head`). */
static int close_stdout(ps_cli *cli, int status) {
    bool failed = ferror(stdout) != 0;
    cli->out_errno = failed && cli->out_errno == 0 && is_reader_gone() ? EPIPE : cli->out_errno;
    if (fclose(stdout) != 0) {
        failed = true;
        cli->out_errno = cli->out_errno != 0 ? cli->out_errno : errno;
    }
    if (!failed || cli->out_errno == EPIPE) {
        return status;
    }
    char text[128] = "";
    const char *reason = ps_errno_text(cli->out_errno, text, sizeof text);
    (void)fprintf(stderr, "pipescope: cannot write to standard output%s%s\n",
                  cli->out_errno != 0 ? ": " : "", cli->out_errno != 0 ? reason : "");
    return status == PS_EXIT_OK ? PS_EXIT_FAILED : status;
}

int ps_cli_main(int argc, char **argv, struct ps_engine *engine) {
    hold_standard_streams();
    outlive_broken_pipes();
    leave_nothing_behind();
    tell_lost_memory();
    ps_cli cli = {.term = engine != NULL ? ps_term_facts_passed_on() : ps_term_facts(),
                  .engine = engine};
    int status = dispatch(&cli, argc, argv);
    return close_stdout(&cli, status);
}

int ps_cli_run(int argc, char **argv) {
    ps_cli cli = {.term = ps_term_facts()};
    return dispatch(&cli, argc, argv);
}
