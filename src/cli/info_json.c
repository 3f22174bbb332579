#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "cli/info.h"
#include "write/out/json_text.h"

static void add_info_json_text(ps_json *j, const char *key, const char *value) {
    ps_json_name(j, key, strlen(key));
    ps_json_str(j, value);
}

static void add_list(ps_json *j, const char *key, const ps_named_list *list) {
    ps_json_name(j, key, strlen(key));
    ps_json_object(j);
    for (size_t i = 0; i < list->n; i++) {
        const ps_named *item = &list->items[i];
        ps_json_name(j, item->name, strlen(item->name));
        if (item->text != NULL) {
            ps_json_str(j, item->text);
        } else {
            ps_json_int(j, item->count);
        }
    }
    ps_json_close(j);
}

/* Epochs do not fit a double: as text. */
static void add_info_json_time(ps_json *j, const char *what, const char *edge, int64_t ns) {
    char key[32];
    (void)snprintf(key, sizeof key, "%s_%s_ns", what, edge);
    ps_json_name(j, key, strlen(key));
    ps_json_int_text(j, ns);
}

static void add_info_json_span(ps_json *j, const char *what, const ps_span *span) {
    if (span->known) {
        add_info_json_time(j, what, "start", span->start_ns);
        add_info_json_time(j, what, "end", span->end_ns);
    }
}

static void add_count(ps_json *j, const char *name, uint64_t n) {
    if (n > 0) {
        ps_json_name(j, name, strlen(name));
        ps_json_uint(j, n);
    }
}

static void add_slices(ps_json *j, const ps_inventory *inv) {
    ps_json_key_object(j, "slices");
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        add_count(j, ps_slice_kind_name((ps_slice_kind)k), inv->n_slices[k]);
    }
    ps_json_close(j);
}

static void add_oddities(ps_json *j, const ps_diag *d) {
    ps_json_key_object(j, "oddities");
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        add_count(j, ps_oddity_name((ps_oddity)k), d->counts[k]);
    }
    ps_json_close(j);
}

static const char *info_json_fact(const ps_inventory *inv, const char *name) {
    const ps_named *item = ps_named_find(&inv->facts, name);
    return item != NULL ? item->text : NULL;
}

static void add_inventory(const ps_cli *cli, ps_json *j, const ps_info_rank *r) {
    const ps_inventory *inv = r->inventory;
    add_info_json_span(j, "host", &inv->host);
    add_info_json_span(j, "device", &inv->device);
    add_info_json_text(j, "level", info_json_fact(inv, "profiler level"));
    add_info_json_text(j, "device", info_json_fact(inv, "device"));
    add_info_json_text(j, "host", info_json_fact(inv, "host"));
    if (inv->comm_from_marks != NULL) {
        add_info_json_text(j, "comm_from_marks", inv->comm_from_marks);
    }
    ps_json_key_array(j, "steps");
    for (size_t i = 0; i < inv->n_steps; i++) {
        ps_json_int(j, inv->steps[i]);
    }
    ps_json_close(j);
    add_slices(j, inv);
    add_list(j, "flows", &inv->flows);
    ps_json_key_object(j, "counters");
    ps_json_key_uint(j, "series", inv->n_counter_tracks);
    ps_json_key_uint(j, "values", inv->n_counter_values);
    ps_json_close(j);
    add_list(j, "tables", &inv->tables);
    add_list(j, "side_tables", &inv->side_tables);
    add_list(j, "metadata", &inv->metas); /* values as they stand: JSON text */
    add_oddities(j, &inv->diag);
    ps_buf lacks = {0};
    ps_info_missing(cli->lang, r, &lacks);
    add_info_json_text(j, "missing", lacks.len > 0 ? ps_buf_str(&lacks) : NULL);
    j->out->failed = j->out->failed || !ps_buf_ok(&lacks); /* nothing missing is not the same */
    ps_buf_fini(&lacks);
}

static void add_info_json_rank(const ps_cli *cli, ps_json *j, const ps_info_rank *r) {
    ps_json_line(j, 2);
    ps_json_object(j);
    ps_json_key_int(j, "rank", r->rank->rank);
    add_info_json_text(j, "format", ps_cluster_format(r->rank));
    add_info_json_text(j, "profiler", ps_cluster_profiler(r->rank));
    add_info_json_text(j, "file", r->rank->rel_path);
    if (ps_info_was_read(r)) {
        add_inventory(cli, j, r);
        ps_json_close(j);
        return;
    }
    ps_err nomem;
    (void)ps_fail_nomem(&nomem);
    char text[1024];
    ps_err_say(cli->lang, r->inventory != NULL ? &r->inventory->err : &nomem, text, sizeof text);
    add_info_json_text(j, "error", text);
    ps_json_close(j);
}

int ps_info_put_json(ps_cli *cli, const ps_info *info) {
    ps_buf out = {0};
    ps_json j = ps_json_spaced_to(&out);
    ps_json_object(&j);
    ps_json_key_str(&j, "format", "pipescope-info");
    ps_json_key_int(&j, "version", 2);
    ps_json_key_str(&j, "path", info->cluster->root);
    ps_json_lacks(&j, 1, info->lacks);
    ps_json_key_array(&j, "ranks");
    for (size_t i = 0; i < info->n; i++) {
        add_info_json_rank(cli, &j, &info->ranks[i]);
    }
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_json_close(&j);
    ps_buf_add_char(&out, '\n');
    bool ok = ps_buf_ok(&out);
    if (ok) {
        ps_cli_put(cli, ps_buf_str(&out), out.len);
    }
    ps_buf_fini(&out);
    return ok ? PS_EXIT_OK : ps_cli_fail_nomem(cli);
}
