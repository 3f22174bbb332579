#include "query/capture_schema.h"

#include <string.h>

#include "query/context.h"
#include "query/deadline.h"
#include "query/job_tables.h"
#include "query/made_columns.h"
#include "query/profile_tables.h"
#include "query/sql_inside.h"

typedef struct schema_row {
    const char *table, *column, *type;
} schema_row;

static const ps_column COLUMNS[] = {{.name = "table", PS_FIELD(schema_row, table)},
                                    {.name = "column", PS_FIELD(schema_row, column)},
                                    {.name = "type", PS_FIELD(schema_row, type)}};

/* What is told so far: tables of several profiles are one. */
static bool is_told(const ps_table *out, const char *table, const char *column) {
    for (size_t r = out->n_rows; r-- > 0;) {
        if (strcmp(ps_table_cell(out, r, 0)->u.text, table) != 0) {
            return false;
        }
        if (strcmp(ps_table_cell(out, r, 1)->u.text, column) == 0) {
            return true;
        }
    }
    return false;
}

/* `view`: of one rank, or NULL. */
static void tell_columns(ps_table *out, const char *name, const ps_table *t, const ps_view *view) {
    bool goes_on = true;
    for (size_t i = 0; i < t->n_columns && goes_on && !out->failed; i++) {
        char column[PS_SQL_NAME_BYTES];
        ps_sql_made_name(t, i, column);
        bool is_moment = view != NULL && ps_is_view_moment(&t->columns[i]);
        goes_on = view == NULL || view->last_own == NULL ||
                  strcmp(t->columns[i].name, view->last_own) != 0;
        if (!is_told(out, name, column)) {
            ps_table_put(out, &(schema_row){name, column,
                                            is_moment ? ps_sql_type_name(PS_SQL_MOMENT)
                                                      : ps_sql_column_type(&t->columns[i])});
        }
    }
}

/* What a look at a table found: that there is none is no failure. */
static ps_code end_look(ps_code code, ps_err *err) {
    if (code == PS_NOMEM || code == PS_BUSY) {
        return code;
    }
    *err = PS_ERR_INIT;
    return PS_OK;
}

static ps_code tell_job_tables(ps_sql_context *c, ps_table *out, ps_err *err) {
    ps_code code = PS_OK;
    for (const ps_mode_table *m = ps_mode_tables; m->mode != NULL && code == PS_OK; m++) {
        const ps_table *t = NULL;
        code = ps_job_mode_table(c, m, &t, err);
        if (code == PS_OK) {
            tell_columns(out, m->name, t, NULL);
        }
        code = end_look(code, err);
    }
    for (const ps_job_view *v = ps_job_views; v->name != NULL && code == PS_OK; v++) {
        const ps_table *t = NULL;
        code = ps_job_view_table(c, v, &t, err);
        if (code == PS_OK) {
            tell_columns(out, v->name, t, NULL);
        }
        code = end_look(code, err);
    }
    return code;
}

/* With each choice of its first parameter. */
static ps_code tell_view(ps_sql_part *part, const ps_view *view, ps_table *out, ps_err *err) {
    ps_profile_ask ask = PS_PROFILE_ASK_ALL;
    const char *choices = view->n_params > 0 ? view->params[0].choices : "";
    ps_code code = PS_OK;
    do {
        char choice[64];
        const char *bar = strchr(choices, '|');
        size_t n = bar != NULL ? (size_t)(bar - choices) : strlen(choices);
        if (n > 0 && n < sizeof choice) {
            memcpy(choice, choices, n);
            choice[n] = '\0';
            ask.values[0] = choice;
        }
        const ps_table *t = NULL;
        code = ps_profile_table(part, view, &ask, &t, err);
        if (code == PS_OK) {
            tell_columns(out, view->name, t, view);
        }
        code = end_look(code, err);
        choices = bar != NULL ? bar + 1 : NULL;
    } while (code == PS_OK && choices != NULL);
    return code;
}

static bool is_any_part(const void *context, const ps_sql_part *part) {
    (void)context;
    (void)part;
    return true;
}

static ps_code tell_views(ps_sql_context *c, ps_table *out, ps_err *err) {
    ps_code code = PS_OK;
    c->parts.needs = (ps_sql_needs){.trace = PS_VIEW_NEEDS, .links = true};
    for (const ps_view *const *v = ps_views(); *v != NULL && code == PS_OK; v++) {
        for (size_t i = 0; i < c->cluster->n_ranks && code == PS_OK; i++) {
            ps_sql_part *part = NULL;
            code = ps_sql_part_enter(&c->parts, i, true, is_any_part, NULL, &part, err);
            if (code == PS_OK && part->trace != NULL) {
                code = tell_view(part, *v, out, err);
            }
            ps_sql_part_leave(part);
        }
    }
    return code;
}

ps_table *ps_sql_capture_schema(ps_sql *s, ps_err *err) {
    ps_sql_context *c = ps_sql_context_of(s);
    ps_deadline deadline;
    ps_table *out = ps_table_new("schema", "", PS_COLUMNS(COLUMNS));
    if (out == NULL || !ps_sql_begin_deadline(s, &deadline)) {
        ps_table_free(out);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_code code = tell_views(c, out, err);
    code = code == PS_OK ? tell_job_tables(c, out, err) : code;
    ps_deadline_end(&deadline);
    if (code == PS_OK && (out = ps_table_end(out)) == NULL) {
        code = ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        ps_table_free(out);
        return NULL;
    }
    out->names_fixed = true;
    return out;
}
