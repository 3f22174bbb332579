#include "analyze/modes/step_facts.h"

#include <stdio.h>
#include <string.h>

#include "analyze/core/result_table.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/literal.h"
#include "base/sort.h"

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

/* Nothing when it has no rows. */
static void give_step_fact_table(const ps_reduce_input *in, ps_table *t, const char *file) {
    if (t != NULL && t->n_rows == 0 && !t->failed) {
        ps_table_free(t);
    } else {
        ps_result_finish_table(in->result, t, file, PS_TO_DB | PS_TO_FILES);
    }
}

typedef struct fact {
    const char *key, *value;
} fact;

/* The first rank that has it speaks for all. */
static void give_base(const ps_reduce_input *in, const ps_step_facts *const *facts) {
    static const ps_column COLUMNS[] = {{.name = "key", PS_FIELD(fact, key)},
                                        {.name = "value", PS_FIELD(fact, value)}};
    ps_table *t = ps_table_new("ClusterBaseInfo", "", PS_COLUMNS(COLUMNS));
    const char *args = NULL;
    for (size_t r = 0; args == NULL && r < in->n_ranks; r++) {
        args = facts[r] != NULL ? facts[r]->distributed_args : NULL;
    }
    if (args != NULL) {
        ps_table_put(t, &(fact){"distributed_args", args});
    }
    give_step_fact_table(in, t, "cluster_base_info");
}

typedef struct host {
    const char *uid, *name;
} host;

static void give_hosts(const ps_reduce_input *in, const ps_step_facts *const *facts) {
    static const ps_column COLUMNS[] = {{.name = "hostUid", PS_FIELD(host, uid)},
                                        {.name = "hostName", PS_FIELD(host, name)}};
    static const ps_sort_key KEYS[] = {PS_UP(host, name), PS_UP(host, uid)};
    host *hosts = ps_calloc(in->n_ranks + 1, sizeof *hosts);
    ps_table *t = hosts != NULL ? ps_table_new("HostInfo", "", PS_COLUMNS(COLUMNS)) : NULL;
    size_t n = 0;
    for (size_t r = 0; hosts != NULL && r < in->n_ranks; r++) {
        if (facts[r] != NULL && facts[r]->host_uid != NULL) {
            hosts[n++] =
                (host){facts[r]->host_uid, facts[r]->host_name != NULL ? facts[r]->host_name : ""};
        }
    }
    ps_sort_by(hosts, n, sizeof *hosts, PS_KEYS(KEYS));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || ps_compare_by(&hosts[i - 1], &hosts[i], PS_KEYS(KEYS)) != 0) {
            ps_table_put(t, &hosts[i]);
        }
    }
    ps_free(hosts);
    give_step_fact_table(in, t, "host_info");
}

typedef struct device_row {
    int64_t rank, device;
    const char *host_uid, *path;
} device_row;

static void give_devices(const ps_reduce_input *in, const ps_step_facts *const *facts) {
    static const ps_column COLUMNS[] = {
        {.name = "rankId", PS_FIELD(device_row, rank)},
        {.name = "deviceId", PS_FIELD(device_row, device), .unknown_below_zero = true},
        {.name = "hostUid", PS_FIELD(device_row, host_uid)},
        {.name = "profilePath", PS_FIELD(device_row, path)}};
    ps_table *t = ps_table_new("RankDeviceMap", "", PS_COLUMNS(COLUMNS));
    for (size_t r = 0; r < in->n_ranks; r++) {
        if (facts[r] != NULL) {
            ps_table_put(t, &(device_row){in->ranks[r].rank, facts[r]->device, facts[r]->host_uid,
                                          in->ranks[r].dir});
        }
    }
    give_step_fact_table(in, t, "rank_device_map");
}

ps_code ps_step_facts_put(const ps_reduce_input *in, const ps_step_facts *const *facts,
                          ps_err *err) {
    give_base(in, facts);
    give_hosts(in, facts);
    give_devices(in, facts);
    return ps_result_code(in->result, err);
}
