#include <string.h>

#include "cli/info.h"

static void add_text(ps_buf *out, const char *key, const char *value) {
    ps_buf_addf(out, ", \"%s\": ", key);
    if (value != NULL) {
        ps_buf_add_json_str(out, value, strlen(value));
    } else {
        ps_buf_add_str(out, "null");
    }
}

static void add_list(ps_buf *out, const char *key, const ps_named_list *list) {
    ps_buf_addf(out, ", \"%s\": {", key);
    for (size_t i = 0; i < list->n; i++) {
        const ps_named *item = &list->items[i];
        ps_buf_add_str(out, i > 0 ? ", " : "");
        ps_buf_add_json_str(out, item->name, strlen(item->name));
        ps_buf_add_str(out, ": ");
        if (item->text != NULL) {
            ps_buf_add_json_str(out, item->text, strlen(item->text));
        } else {
            ps_buf_addf(out, "%lld", (long long)item->count);
        }
    }
    ps_buf_add_char(out, '}');
}

/* Epochs do not fit a double: as text. */
static void add_span(ps_buf *out, const char *what, const ps_span *span) {
    if (span->known) {
        ps_buf_addf(out, ", \"%s_start_ns\": \"%lld\", \"%s_end_ns\": \"%lld\"", what,
                    (long long)span->start_ns, what, (long long)span->end_ns);
    }
}

static void add_slices(ps_buf *out, const ps_inventory *inv) {
    const char *comma = "";
    ps_buf_add_str(out, ", \"slices\": {");
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        if (inv->n_slices[k] > 0) {
            ps_buf_addf(out, "%s\"%s\": %llu", comma, ps_slice_kind_name((ps_slice_kind)k),
                        (unsigned long long)inv->n_slices[k]);
            comma = ", ";
        }
    }
    ps_buf_add_char(out, '}');
}

static void add_oddities(ps_buf *out, const ps_diag *d) {
    const char *comma = "";
    ps_buf_add_str(out, ", \"oddities\": {");
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] > 0) {
            ps_buf_addf(out, "%s\"%s\": %llu", comma, ps_oddity_name((ps_oddity)k),
                        (unsigned long long)d->counts[k]);
            comma = ", ";
        }
    }
    ps_buf_add_char(out, '}');
}

static const char *fact(const ps_inventory *inv, const char *name) {
    const ps_named *item = ps_named_find(&inv->facts, name);
    return item != NULL ? item->text : NULL;
}

static void add_inventory(ps_buf *out, const ps_info_rank *r) {
    const ps_inventory *inv = r->inventory;
    add_span(out, "host", &inv->host);
    add_span(out, "device", &inv->device);
    add_text(out, "level", fact(inv, "profiler level"));
    add_text(out, "device", fact(inv, "device"));
    add_text(out, "host", fact(inv, "host"));
    if (inv->comm_from_marks != NULL) {
        add_text(out, "comm_from_marks", inv->comm_from_marks);
    }
    ps_buf_add_str(out, ", \"steps\": [");
    for (size_t i = 0; i < inv->n_steps; i++) {
        ps_buf_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)inv->steps[i]);
    }
    ps_buf_add_char(out, ']');
    add_slices(out, inv);
    add_list(out, "flows", &inv->flows);
    ps_buf_addf(out, ", \"counters\": {\"series\": %zu, \"values\": %llu}", inv->n_counter_tracks,
                (unsigned long long)inv->n_counter_values);
    add_list(out, "tables", &inv->tables);
    add_list(out, "side_tables", &inv->side_tables);
    add_list(out, "metadata", &inv->metas); /* values as they stand: JSON text */
    add_oddities(out, &inv->diag);
    ps_buf lacks;
    ps_buf_init(&lacks, 0);
    ps_info_missing(r, &lacks);
    add_text(out, "missing", lacks.len > 0 ? ps_buf_str(&lacks) : NULL);
    ps_buf_fini(&lacks);
}

static void add_rank(ps_buf *out, const ps_info_rank *r) {
    ps_buf_addf(out, "  {\"rank\": %lld", (long long)r->rank->rank);
    add_text(out, "format", ps_cluster_format(r->rank));
    add_text(out, "profiler", ps_cluster_profiler(r->rank));
    add_text(out, "file", r->rank->rel_path);
    if (ps_info_was_read(r)) {
        add_inventory(out, r);
        return;
    }
    ps_err nomem;
    (void)ps_fail_nomem(&nomem);
    char text[1024];
    ps_err_format(r->inventory != NULL ? &r->inventory->err : &nomem, text, sizeof text);
    add_text(out, "error", text);
}

int ps_info_put_json(ps_cli *cli, const ps_info *info) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_buf_add_str(&out, "{\"format\": \"pipescope-info\", \"version\": 2, \"path\": ");
    ps_buf_add_json_str(&out, info->cluster->root, strlen(info->cluster->root));
    ps_buf_add_str(&out, ", \"ranks\": [\n");
    for (size_t i = 0; i < info->n; i++) {
        add_rank(&out, &info->ranks[i]);
        ps_buf_add_str(&out, i + 1 < info->n ? "},\n" : "}\n");
    }
    ps_buf_add_str(&out, "]}\n");
    ps_cli_put(cli, ps_buf_str(&out), out.len);
    bool ok = ps_buf_ok(&out);
    ps_buf_fini(&out);
    return ok ? PS_EXIT_OK : PS_EXIT_FAILED;
}
