/* pipescope advisor [TOPIC] -d DIR: `pipescope report DIR` for fingers that know msprof-analyze. */
#include "base/fs.h"
#include "cli/cli.h"

#define PAGE "report.html"

/* What is said there and has no meaning here; an exit status. */
static int check_advisor(ps_cli *cli) {
    static const char *const TOPICS[] = {"all", "computation", "schedule"};
    const char *topic = ps_cli_positional(cli, 0);
    bool is_known = topic == NULL;
    for (size_t i = 0; i < PS_N(TOPICS); i++) {
        is_known = is_known || strcmp(TOPICS[i], topic) == 0;
    }
    if (!is_known) {
        return ps_cli_unknown(cli, "topic", topic, TOPICS, PS_N(TOPICS));
    }
    if (ps_cli_text(cli, "profiling_path") == NULL) {
        return ps_cli_usage(cli, "no input given: -d DIR");
    }
    if (ps_cli_given(cli, "bp") || ps_cli_given(cli, "benchmark_profiling_path")) {
        return ps_cli_usage(cli, "--bp: two captures are compared by: pipescope compare NEW BASE");
    }
    const char *language = ps_cli_text(cli, "language");
    if (language != NULL && strcmp(language, "en") != 0) {
        ps_cli_note(cli, "the report is in English");
    }
    return PS_EXIT_OK;
}

static int run_advisor(ps_cli *cli) {
    static const char *const IGNORED[][2] = {
        {"cv", "read from the profile where it has it"},
        {"cann_version", "read from the profile where it has it"},
        {"tv", "read from the profile where it has it"},
        {"torch_version", "read from the profile where it has it"},
        {"pt", "found by content"},
        {"profiling_type", "found by content"},
        {"force", "there are no limits of size to lift"},
        {"debug", "--verbose says more"},
    };
    int status = check_advisor(cli);
    ps_cli_say_ignored(cli, IGNORED, PS_N(IGNORED));
    if (status != PS_EXIT_OK) {
        return status;
    }
    char *words[10] = {"pipescope", "report"};
    int n = 2;
    ps_buf page = {0};
    const char *folder = ps_cli_text(cli, "output_path");
    if (folder != NULL) {
        ps_buf_addf(&page, "%s/" PAGE, folder);
        words[n++] = "-o";
        words[n++] = (char *)ps_buf_str(&page);
    }
    if (ps_cli_flag(cli, "agent")) {
        words[n++] = "--json";
    }
    if (cli->quiet) {
        words[n++] = "--quiet";
    }
    words[n++] = "--";
    words[n++] = (char *)ps_cli_text(cli, "profiling_path");
    ps_err err = PS_ERR_INIT;
    bool is_ready = ps_buf_ok(&page);
    if (is_ready && folder != NULL && ps_make_dirs(folder, &err) != PS_OK) {
        status = ps_cli_fail(cli, &err);
    } else {
        status = is_ready ? ps_cli_run(n, words) : ps_cli_fail_nomem(cli);
    }
    ps_buf_fini(&page);
    return status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'd', PS_ROW_PATH(NULL, "profiling_path", "DIR", PS_UNSAID, "what is looked at")},
    {.short_name = 'o',
     PS_ROW_PATH(NULL, "output_path", "DIR", PS_SHOWN("text on the terminal"),
                 "writes " PAGE " there")},
    {.short_name = 'l', PS_ROW_TEXT(NULL, "language", "LANGUAGE", PS_UNSAID, "en")},
    {PS_ROW_FLAG(NULL, "agent", "JSON on the terminal")},
    {.hidden = true, .one_hyphen = true, PS_ROW_PATH(NULL, "bp", "DIR", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_PATH(NULL, "benchmark_profiling_path", "DIR", PS_UNSAID, NULL)},
    {.hidden = true, .one_hyphen = true, PS_ROW_TEXT(NULL, "cv", "VERSION", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "cann_version", "VERSION", PS_UNSAID, NULL)},
    {.hidden = true, .one_hyphen = true, PS_ROW_TEXT(NULL, "tv", "VERSION", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "torch_version", "VERSION", PS_UNSAID, NULL)},
    {.hidden = true, .one_hyphen = true, PS_ROW_TEXT(NULL, "pt", "TYPE", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_TEXT(NULL, "profiling_type", "TYPE", PS_UNSAID, NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "force", NULL)},
    {.hidden = true, PS_ROW_FLAG(NULL, "debug", NULL)},
};

const ps_command ps_command_advisor = {
    .name = "advisor",
    .summary = "report, as users of msprof-analyze call it",
    .usage = "[all|computation|schedule] -d DIR [-o DIR]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "TOPIC",
    .max_positionals = 1,
    .notes =
        "All topics give the whole report: pipescope report DIR, which has more options. What versions ran it reads from the profile.",
    .run = run_advisor,
};
