/* GET /api/query: a query in SQL over the ranks of a cluster, as a table. GET /api/schema: what queries may name. */
#include <string.h>

#include "query/schema_list.h"
#include "serve/cluster/queries.h"
#include "serve/http/route.h"

/* --- the query --------------------------------------------------------------------------------------------------- */

/* What is wrong, and where in the text. */
static void fail_query(ps_reply *r, const ps_err *err) {
    ps_reply_err(r, err);
    if (err->offset != PS_NO_OFFSET) {
        ps_buf_clear(&r->body);
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_str(&j, "error", ps_err_text(r->lang, err));
        ps_json_key_uint(&j, "line", err->line);
        ps_json_key_uint(&j, "byte", err->offset);
        ps_json_close(&j);
        ps_buf_add_char(&r->body, '\n');
    }
}

static void put_query(const ps_request *q, ps_reply *r, const ps_query_rows *rows) {
    ps_buf members = {0};
    ps_json j = ps_json_members_to(&members);
    ps_json_key_uint(&j, "n_rows", rows->n_rows);
    ps_json_key_int(&j, "elapsed_ns", rows->elapsed_ns);
    if (ps_buf_ok(&members)) {
        ps_table_extra extra = {
            .notes = rows->notes, .n_notes = rows->n_notes, .members = ps_buf_str(&members)};
        ps_put_table_with(q, r, rows->table, &extra);
    } else {
        ps_reply_fail(r, 507, "not enough memory for this reply");
    }
    ps_buf_fini(&members);
}

static void answer_query(const ps_request *q, ps_reply *r) {
    ps_query_ask ask = {.sql = ps_param_text(q, "sql")};
    if (ask.sql == NULL) {
        ps_reply_fail(r, 400,
                      "parameter 'sql' is missing: SELECT ... of the tables of /api/schema");
        return;
    }
    if (!ps_ask_analysis(q, r, PS_OF_JOB, &ask.cluster, &ask.opts) ||
        !ps_ask_int(q, r, "timeout", 1, PS_QUERY_MOST_TIMEOUT_S, PS_QUERY_TIMEOUT_S,
                    &ask.timeout_s)) {
        return;
    }
    ask.opts.in_full = true; /* the tables of `chart`, as the command has them */
    ps_err err = PS_ERR_INIT;
    const ps_query_rows *rows = NULL;
    if (ps_query_get(q, &ask, &rows, &err) != PS_OK) {
        fail_query(r, &err);
        return;
    }
    put_query(q, r, rows);
    ps_cache_release(q->cache, (void *)(uintptr_t)rows);
}

const ps_route ps_route_query = {
    .path = "/api/query", .method = "GET", .is_slow = true, .answer = answer_query};

/* --- what it may name -------------------------------------------------------------------------------------------- */

static const char *const SETS[] = {[PS_SQL_OF_TRACES] = "traces",
                                   [PS_SQL_OF_MODES] = "modes",
                                   [PS_SQL_OF_VIEWS] = "views",
                                   [PS_SQL_OF_JOB_VIEWS] = "job views"};

static void put_schema_column(ps_json *j, const char *name, const char *type, const char *unit,
                              const char *text) {
    ps_json_array(j);
    ps_json_str(j, name);
    ps_json_str(j, type);
    ps_json_str(j, unit);
    ps_json_str(j, text);
    ps_json_close(j);
}

static void put_schema_table(void *context, const ps_sql_listed *listed) {
    ps_json *j = context;
    ps_json_line(j, 0);
    ps_json_object(j);
    ps_json_key_str(j, "name", listed->name);
    ps_json_key_str(j, "text", listed->text);
    ps_json_key_str(j, "set", SETS[listed->set]);
    ps_json_key_str(j, "example", listed->example);
    ps_json_key_array(j, "columns");
    if (listed->set == PS_SQL_OF_VIEWS) {
        put_schema_column(j, "rank", "integer", "", "");
    }
    for (size_t i = 0; i < ps_sql_n_columns(listed); i++) {
        ps_sql_listed_column c = ps_sql_column_at(listed, i);
        put_schema_column(j, c.name, c.type, c.unit, c.text);
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void answer_schema(const ps_request *q, ps_reply *r) {
    (void)q;
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_array(&j, "tables");
    ps_sql_each_table(put_schema_table, &j);
    ps_json_close(&j);
    ps_json_key_array(&j, "functions");
    for (const ps_sql_function *f = ps_sql_functions; f->call != NULL; f++) {
        ps_json_array(&j);
        ps_json_str(&j, f->call);
        ps_json_str(&j, f->text);
        ps_json_close(&j);
    }
    ps_json_close(&j);
    ps_json_key_array(&j, "words");
    for (size_t i = 0; ps_sql_language[i] != NULL; i++) {
        ps_json_str(&j, ps_sql_language[i]);
    }
    ps_json_close(&j);
    ps_json_close(&j);
}

const ps_route ps_route_schema = {.path = "/api/schema", .method = "GET", .answer = answer_schema};
