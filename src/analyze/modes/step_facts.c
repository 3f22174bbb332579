#include "analyze/modes/step_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/literal.h"

/* --- one rank ------------------------------------------------------------------------------------------- */

static const char *cell_text(const ps_table *t, const char *column, ps_arena *arena, bool *nomem) {
    for (size_t c = 0; t != NULL && t->n_rows > 0 && c < t->n_columns; c++) {
        const ps_value *v = ps_table_cell(t, 0, c);
        if (strcmp(t->columns[c].name, column) != 0 || v->is_null) {
            continue;
        }
        char number[32];
        const char *text = v->u.text;
        if (t->columns[c].type == PS_COL_INT) {
            (void)snprintf(number, sizeof number, "%lld", (long long)v->u.i);
            text = number;
        } else if (t->columns[c].type == PS_COL_REAL) {
            return NULL;
        }
        const char *copy = ps_arena_strndup(arena, text, strlen(text));
        *nomem = *nomem || copy == NULL;
        return copy;
    }
    return NULL;
}

static int64_t cell_int(const ps_table *t, const char *column) {
    for (size_t c = 0; t != NULL && t->n_rows > 0 && c < t->n_columns; c++) {
        const ps_value *v = ps_table_cell(t, 0, c);
        if (strcmp(t->columns[c].name, column) == 0 && t->columns[c].type == PS_COL_INT &&
            !v->is_null) {
            return v->u.i;
        }
    }
    return -1;
}

/* The object as JSON again, its members as they stand in the source, but for "rank", which differs from rank to rank. */
static const char *without_rank(const char *text, ps_arena *arena, bool *nomem) {
    ps_err odd = PS_ERR_INIT;
    const ps_literal *object = ps_literal_parse(arena, text, strlen(text), &odd);
    if (object != NULL &&
        object->kind == PS_LITERAL_STRING) { /* a JSON text stored as a JSON string */
        object = ps_literal_parse(arena, object->text, object->len, &odd);
    }
    *nomem = *nomem || odd.code == PS_NOMEM;
    if (object == NULL || object->kind != PS_LITERAL_OBJECT) {
        return NULL; /* counted by who reads the sizes in it */
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    for (const ps_literal *m = object->child; m != NULL; m = m->next) {
        if (strcmp(m->key, "rank") != 0) {
            ps_buf_add_str(&out, out.len > 0 ? ", " : "{");
            ps_buf_add_json_str(&out, m->key, strlen(m->key));
            ps_buf_add_str(&out, ": ");
            ps_buf_add(&out, m->begin, m->source_len);
        }
    }
    ps_buf_add_str(&out, out.len > 0 ? "}" : "{}");
    const char *copy = ps_buf_ok(&out) ? ps_arena_strndup(arena, ps_buf_str(&out), out.len) : NULL;
    *nomem = *nomem || copy == NULL;
    ps_buf_fini(&out);
    return copy;
}

ps_code ps_step_facts_read(const ps_trace *trace, ps_arena *arena, ps_step_facts *out,
                           ps_err *err) {
    bool nomem = false;
    const char *args = ps_trace_meta(trace, "distributed_args");
    const ps_table *host = ps_trace_side_table(trace, "HOST_INFO");
    *out = (ps_step_facts){
        .distributed_args = args != NULL ? without_rank(args, arena, &nomem) : NULL,
        .host_uid = cell_text(host, "hostUid", arena, &nomem),
        .host_name = cell_text(host, "hostName", arena, &nomem),
        .device = cell_int(ps_trace_side_table(trace, "RANK_DEVICE_MAP"), "deviceId")};
    return nomem ? ps_fail_nomem(err) : PS_OK;
}

/* --- the tables ------------------------------------------------------------------------------------------- */

static ps_code add_step_fact_table(const ps_reduce_input *in, ps_table *t, bool ok,
                                   const char *file, ps_err *err) {
    if (!ok || t->n_rows == 0) {
        ps_table_free(t);
        return ok ? PS_OK : ps_fail_nomem(err);
    }
    t->to = PS_TO_DB | PS_TO_FILES;
    t->file = file;
    t->names_fixed = true;
    return ps_result_add(in->result, t, err);
}

/* The first rank that has it speaks for all. */
static ps_code put_base(const ps_reduce_input *in, const ps_step_facts *const *facts, ps_err *err) {
    static const ps_column COLUMNS[] = {{.name = "key", .type = PS_COL_TEXT},
                                        {.name = "value", .type = PS_COL_TEXT}};
    ps_table *t = ps_table_new("ClusterBaseInfo", "", COLUMNS, 2);
    bool ok = t != NULL;
    for (size_t r = 0; ok && t->n_rows == 0 && r < in->n_ranks; r++) {
        if (facts[r] != NULL && facts[r]->distributed_args != NULL) {
            ok = ps_table_add_row(t) && ps_table_set_text(t, 0, "distributed_args") &&
                 ps_table_set_text(t, 1, facts[r]->distributed_args);
        }
    }
    return add_step_fact_table(in, t, ok, "cluster_base_info", err);
}

typedef struct host {
    const char *uid, *name;
} host;

static int by_step_fact_name(const void *a, const void *b) {
    const host *x = a;
    const host *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->uid, y->uid);
}

static ps_code put_hosts(const ps_reduce_input *in, const ps_step_facts *const *facts,
                         ps_err *err) {
    static const ps_column COLUMNS[] = {{.name = "hostUid", .type = PS_COL_TEXT},
                                        {.name = "hostName", .type = PS_COL_TEXT}};
    ps_table *t = ps_table_new("HostInfo", "", COLUMNS, 2);
    host *hosts = ps_calloc(in->n_ranks + 1, sizeof *hosts);
    bool ok = t != NULL && hosts != NULL;
    size_t n = 0;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        if (facts[r] != NULL && facts[r]->host_uid != NULL) {
            hosts[n++] =
                (host){facts[r]->host_uid, facts[r]->host_name != NULL ? facts[r]->host_name : ""};
        }
    }
    if (ok && n > 1) {
        qsort(hosts, n, sizeof *hosts, by_step_fact_name);
    }
    for (size_t i = 0; ok && i < n; i++) {
        if (i == 0 || by_step_fact_name(&hosts[i - 1], &hosts[i]) != 0) {
            ok = ps_table_add_row(t) && ps_table_set_text(t, 0, hosts[i].uid) &&
                 ps_table_set_text(t, 1, hosts[i].name);
        }
    }
    ps_free(hosts);
    return add_step_fact_table(in, t, ok, "host_info", err);
}

static ps_code put_devices(const ps_reduce_input *in, const ps_step_facts *const *facts,
                           ps_err *err) {
    static const ps_column COLUMNS[] = {{.name = "rankId", .type = PS_COL_INT},
                                        {.name = "deviceId", .type = PS_COL_INT},
                                        {.name = "hostUid", .type = PS_COL_TEXT},
                                        {.name = "profilePath", .type = PS_COL_TEXT}};
    ps_table *t = ps_table_new("RankDeviceMap", "", COLUMNS, 4);
    bool ok = t != NULL;
    for (size_t r = 0; ok && r < in->n_ranks; r++) {
        if (facts[r] == NULL) {
            continue;
        }
        ok = ps_table_add_row(t) &&
             (facts[r]->host_uid == NULL || ps_table_set_text(t, 2, facts[r]->host_uid)) &&
             (in->ranks[r].dir == NULL || ps_table_set_text(t, 3, in->ranks[r].dir));
        if (ok) {
            ps_table_set_int(t, 0, in->ranks[r].rank);
        }
        if (ok && facts[r]->device >= 0) {
            ps_table_set_int(t, 1, facts[r]->device);
        }
    }
    return add_step_fact_table(in, t, ok, "rank_device_map", err);
}

ps_code ps_step_facts_put(const ps_reduce_input *in, const ps_step_facts *const *facts,
                          ps_err *err) {
    ps_code code = put_base(in, facts, err);
    code = code == PS_OK ? put_hosts(in, facts, err) : code;
    return code == PS_OK ? put_devices(in, facts, err) : code;
}
