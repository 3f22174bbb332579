/* Pages of the manual, made of what help is made of: the command's summary, usage, options and notes. */
#include <string.h>

#include "base/version.h"
#include "cli/cli.h"

/* --- text as man(1) takes it ----------------------------------------------------------------------------------- */

/* Hyphens that someone may copy, as options are; a line that begins with a point or a quote would be a request. */
static void put_roff(ps_buf *out, const char *text) {
    bool at_start = true;
    for (const char *p = text != NULL ? text : ""; *p != '\0'; p++) {
        if (at_start && (*p == '.' || *p == '\'')) {
            ps_buf_add_str(out, "\\&");
        }
        at_start = *p == '\n';
        if (*p == '\\') {
            ps_buf_add_str(out, "\\e");
        } else if (*p == '-') {
            ps_buf_add_str(out, "\\-");
        } else if (*p == '\'') {
            ps_buf_add_str(out, "\\(aq");
        } else {
            ps_buf_add_char(out, *p);
        }
    }
}

/* "\fBtext\fR" */
static void put_in_font(ps_buf *out, char font, const char *text) {
    ps_buf_addf(out, "\\f%c", font);
    put_roff(out, text);
    ps_buf_add_str(out, "\\fR");
}

static void put_heading(ps_buf *out, const char *request, const char *text) {
    ps_buf_addf(out, ".%s \"", request);
    put_roff(out, text);
    ps_buf_add_str(out, "\"\n");
}

static void put_paragraph(ps_buf *out, const char *text) {
    put_roff(out, text);
    ps_buf_add_char(out, '\n');
}

/* `command` NULL: the page of the program. */
static void put_title(ps_buf *out, const ps_command *command, const char *summary) {
    const char *dash = command != NULL ? "-" : "";
    const char *name = command != NULL ? command->name : "";
    ps_buf title = {0};
    ps_buf_addf(&title, "pipescope%s%s", dash, name);
    ps_buf_add_str(out, "'\\\" -*- coding: UTF-8 -*-\n.TH \"");
    put_roff(out, ps_buf_str(&title));
    ps_buf_add_str(out,
                   "\" 1 \"\" \"pipescope " PS_VERSION "\" \"pipescope\"\n.nh\n.ad l\n.SH NAME\n");
    put_roff(out, ps_buf_str(&title));
    ps_buf_add_str(out, " \\- ");
    put_paragraph(out, summary);
    ps_buf_fini(&title);
}

/* --- a command ------------------------------------------------------------------------------------------------- */

static void put_synopsis(ps_buf *out, const ps_command *command) {
    ps_buf_add_str(out, ".SH SYNOPSIS\n.nf\n\\fBpipescope ");
    put_roff(out, command->name);
    ps_buf_add_str(out, "\\fR ");
    for (const char *p = command->usage != NULL ? command->usage : ""; *p != '\0'; p++) {
        char letter[2] = {*p, '\0'};
        put_roff(out, letter);
        ps_buf_add_str(out, *p == '\n' ? "    " : "");
    }
    ps_buf_add_str(out, "\n.fi\n");
}

static void put_option(ps_buf *out, const ps_option *o) {
    char letter[2] = {o->short_name, '\0'};
    ps_buf_add_str(out, ".TP\n");
    if (o->short_name != '\0') {
        ps_buf_add_str(out, "\\fB\\-");
        put_roff(out, letter);
        ps_buf_add_str(out, "\\fR, ");
    }
    ps_buf_add_str(out, "\\fB\\-\\-");
    put_roff(out, o->name);
    ps_buf_add_str(out, "\\fR");
    if (o->kind != PS_OPTION_FLAG) {
        ps_buf_add_char(out, ' ');
        put_in_font(out, 'I', o->arg != NULL ? o->arg : "VALUE");
    }
    ps_buf_add_char(out, '\n');
    ps_buf text = {0};
    ps_option_explain(o, &text);
    put_paragraph(out, ps_buf_str(&text));
    ps_buf_fini(&text);
}

static void put_options(ps_buf *out, const ps_option_spec *spec) {
    ps_buf_add_str(out, ".SH OPTIONS\n");
    for (size_t g = 0; g < ps_options_count(spec); g++) {
        if (!ps_options_begin_group(spec, g)) {
            continue;
        }
        const char *group = ps_options_group(spec, g);
        if (strcmp(group, "Options") != 0) {
            put_heading(out, "SS", group);
        }
        for (size_t i = g; i < ps_options_count(spec); i++) {
            ps_option o = ps_options_at(spec, i);
            if (!o.hidden && strcmp(ps_options_group(spec, i), group) == 0) {
                put_option(out, &o);
            }
        }
    }
}

static void put_exit_status(ps_buf *out) {
    ps_buf_add_str(out, ".SH \"EXIT STATUS\"\n");
    put_paragraph(out, PS_EXIT_TEXT);
}

static void put_command(ps_buf *out, const ps_command *command) {
    ps_option_spec spec = ps_cli_spec(command);
    put_title(out, command, command->summary);
    put_synopsis(out, command);
    put_options(out, &spec);
    if (command->notes != NULL) {
        ps_buf_add_str(out, ".SH NOTES\n");
        put_paragraph(out, command->notes);
    }
    put_exit_status(out);
    ps_buf_add_str(out, ".SH \"SEE ALSO\"\n.BR pipescope (1)\n");
}

/* --- the program ----------------------------------------------------------------------------------------------- */

static void put_program(ps_buf *out) {
    put_title(out, NULL, PS_CLI_SUMMARY);
    ps_buf_add_str(out, ".SH SYNOPSIS\n.B pipescope\n.I COMMAND\n[options]\n.SH COMMANDS\n");
    for (const ps_command *const *c = ps_commands(); *c != NULL; c++) {
        if (!(*c)->hidden) {
            ps_buf_add_str(out, ".TP\n.BR pipescope\\-");
            put_roff(out, (*c)->name);
            ps_buf_add_str(out, " (1)\n");
            put_paragraph(out, (*c)->summary);
        }
    }
    ps_buf_add_str(out, ".SH NOTES\n");
    put_paragraph(out, PS_CLI_RULES);
    put_exit_status(out);
}

void ps_cli_put_manual(const ps_command *command, ps_buf *out) {
    if (command != NULL) {
        put_command(out, command);
    } else {
        put_program(out);
    }
}
