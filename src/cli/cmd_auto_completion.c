/* pipescope auto-completion [SHELL]: what bash, zsh or fish needs to complete commands, options and their words. All of it follows from
 * the tables of options. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "analyze/core/analysis.h"
#include "cli/cli.h"
#include "read/readers.h"
#include "schedule/schedule.h"

/* --- words of an option -------------------------------------------------------------------------------------- */

static void put_word(ps_buf *out, const char *word) {
    ps_buf_addf(out, "%s%s", out->len > 0 ? " " : "", word);
}

static void put_mode_words(ps_buf *out) {
    put_word(out, "all");
    put_word(out, "every");
    for (const ps_analysis *const *a = ps_analyses(); *a != NULL; a++) {
        if (!(*a)->hidden) {
            put_word(out, (*a)->name);
        }
    }
}

static void put_schedule_words(ps_buf *out) {
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL; s++) {
        put_word(out, (*s)->name);
    }
}

static void put_format_words(ps_buf *out) {
    for (const ps_reader *const *r = ps_readers(); *r != NULL; r++) {
        put_word(out, (*r)->name);
    }
}

static void put_export_words(ps_buf *out) {
    ps_buf_add_str(out, "db csv json xlsx text");
}

/* Options whose words are a list that is not in their row. */
static const struct {
    const char *option;
    void (*put)(ps_buf *out);
} LISTS[] = {
    {"mode", put_mode_words},          {"pp-type", put_schedule_words},
    {"against", put_schedule_words},   {"format", put_format_words},
    {"export_type", put_export_words},
};

/* Nothing where any text is taken. */
static void put_option_words(const ps_option *o, ps_buf *out) {
    for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++) {
        put_word(out, o->choices[i]);
    }
    for (size_t i = 0; i < PS_N(LISTS); i++) {
        if (strcmp(LISTS[i].option, o->name) == 0) {
            LISTS[i].put(out);
        }
    }
}

/* --- bash ---------------------------------------------------------------------------------------------------- */

static void put_bash_options(const ps_command *command, ps_buf *out) {
    ps_option_spec spec = ps_cli_spec(command);
    ps_buf_addf(out, "    %s) words=\"", command->name);
    for (size_t i = 0, n = 0; i < ps_options_count(&spec); i++) {
        ps_option o = ps_options_at(&spec, i);
        if (!o.hidden) {
            ps_buf_addf(out, "%s--%s", n++ > 0 ? " " : "", o.name);
        }
    }
    ps_buf_add_str(out, "\" ;;\n");
}

/* A row for each option that takes a value: its words, or files. */
static void put_bash_values(const ps_command *command, ps_buf *out) {
    ps_option_spec spec = ps_cli_spec(command);
    for (size_t i = 0; i < ps_options_count(&spec); i++) {
        ps_option o = ps_options_at(&spec, i);
        if (o.hidden || o.kind == PS_OPTION_FLAG) {
            continue;
        }
        ps_buf words = {0};
        put_option_words(&o, &words);
        ps_buf_addf(out, "    '%s --%s'", command->name, o.name);
        if (o.short_name != '\0') {
            ps_buf_addf(out, " | '%s -%c'", command->name, o.short_name);
        }
        if (words.len > 0) {
            ps_buf_addf(out, ") words=\"%s\" ;;\n", ps_buf_str(&words));
        } else {
            ps_buf_add_str(out, ") return ;;\n"); /* names of files, which bash has */
        }
        ps_buf_fini(&words);
    }
}

static void put_bash(ps_buf *out) {
    ps_buf_add_str(
        out,
        "_pipescope() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n"
        "        -*) ;;\n"
        "        *) command=${COMP_WORDS[i]} && break ;;\n"
        "        esac\n"
        "    done\n"
        "    COMPREPLY=()\n"
        "    case \"$command $before\" in\n");
    for (size_t i = 0; ps_commands()[i] != NULL; i++) {
        put_bash_values(ps_commands()[i], out);
    }
    ps_buf_add_str(
        out, "    esac\n"
             "    [ -n \"$words\" ] || [ \"${cur:0:1}\" = - ] || [ -z \"$command\" ] || return\n"
             "    [ -n \"$words\" ] || case $command in\n");
    for (size_t i = 0; ps_commands()[i] != NULL; i++) {
        put_bash_options(ps_commands()[i], out);
    }
    ps_buf_add_str(out, "    '') words=\"");
    for (size_t i = 0; ps_commands()[i] != NULL; i++) {
        ps_buf_addf(out, "%s%s", i > 0 ? " " : "", ps_commands()[i]->name);
    }
    ps_buf_add_str(out, "\" ;;\n"
                        "    esac\n"
                        "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                        "}\n"
                        "complete -o default -F _pipescope pipescope\n");
}

/* zsh runs what bash has. As a file _pipescope below $fpath it is read when the first word is completed, by a function of that name,
 * which then has to complete this word, too. */
static void put_zsh(ps_buf *out) {
    ps_buf_add_str(
        out, "#compdef pipescope\n"
             "(( $+functions[compdef] )) || { autoload -Uz +X compinit && compinit }\n"
             "(( $+functions[complete] )) || { autoload -Uz +X bashcompinit && bashcompinit }\n");
    put_bash(out);
    ps_buf_add_str(
        out, "[ \"${funcstack[1]}\" != _pipescope ] || _bash_complete -o default -F _pipescope\n");
}

/* --- fish ---------------------------------------------------------------------------------------------------- */

/* In single quotes. */
static void put_fish_text(ps_buf *out, const char *text) {
    ps_buf_add_char(out, '\'');
    for (const char *p = text != NULL ? text : ""; *p != '\0'; p++) {
        ps_buf_add_str(out, *p == '\'' || *p == '\\' ? "\\" : "");
        ps_buf_add_char(out, *p);
    }
    ps_buf_add_char(out, '\'');
}

static void put_fish_option(const ps_command *command, const ps_option *o, ps_buf *out) {
    ps_buf words = {0};
    put_option_words(o, &words);
    ps_buf_addf(out, "complete -c pipescope -n '__fish_seen_subcommand_from %s' -l %s",
                command->name, o->name);
    if (o->short_name != '\0') {
        ps_buf_addf(out, " -s %c", o->short_name);
    }
    ps_buf_add_str(out, o->kind == PS_OPTION_FLAG ? "" : o->kind == PS_OPTION_PATH ? " -r" : " -x");
    if (words.len > 0) {
        ps_buf_addf(out, " -a '%s'", ps_buf_str(&words));
    }
    ps_buf_add_str(out, " -d ");
    put_fish_text(out, o->help);
    ps_buf_add_char(out, '\n');
    ps_buf_fini(&words);
}

static void put_fish(ps_buf *out) {
    for (size_t i = 0; ps_commands()[i] != NULL; i++) {
        const ps_command *command = ps_commands()[i];
        ps_buf_addf(out, "complete -c pipescope -n __fish_use_subcommand -f -a %s -d ",
                    command->name);
        put_fish_text(out, command->summary);
        ps_buf_add_char(out, '\n');
        ps_option_spec spec = ps_cli_spec(command);
        for (size_t k = 0; k < ps_options_count(&spec); k++) {
            ps_option o = ps_options_at(&spec, k);
            if (!o.hidden) {
                put_fish_option(command, &o, out);
            }
        }
    }
}

/* --- the command --------------------------------------------------------------------------------------------- */

static int run_auto_completion(ps_cli *cli) {
    static const char *const SHELLS[] = {"bash", "zsh", "fish"};
    static void (*const WRITERS[])(ps_buf * out) = {put_bash, put_zsh, put_fish};
    const char *shell = ps_cli_n_positionals(cli) > 0 ? ps_cli_positional(cli, 0) : SHELLS[0];
    for (size_t i = 0; i < PS_N(SHELLS); i++) {
        if (strcasecmp(SHELLS[i], shell) == 0) {
            ps_buf out = {0};
            ps_err err = PS_ERR_INIT;
            WRITERS[i](&out);
            ps_code code = ps_buf_ok(&out) ? PS_OK : ps_fail_nomem(&err);
            return ps_cli_end_output(cli, NULL, &out, code, &err);
        }
    }
    return ps_cli_unknown(cli, "shell", shell, SHELLS, PS_N(SHELLS));
}

const ps_command ps_command_auto_completion = {
    .name = "auto-completion",
    .summary = "completion of commands and options in bash, zsh or fish",
    .usage = "[bash|zsh|fish]",
    .positional = "SHELL",
    .max_positionals = 1,
    .notes =
        "bash: eval \"$(pipescope auto-completion bash)\" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc; fish: pipescope "
        "auto-completion fish > ~/.config/fish/completions/pipescope.fish",
    .run = run_auto_completion,
};
