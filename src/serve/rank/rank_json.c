#include "serve/rank/rank_json.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/capture_parts.h"
#include "base/alloc.h"
#include "base/diag.h"
#include "base/json_write.h"
#include "base/num.h"
#include "base/sort.h"
#include "model/recording.h"
#include "serve/rank/loaded.h"

static const char *state_name(ps_rank_state state) {
    static const char *const NAMES[] = {"waiting", "queued", "reading",
                                        "ready",   "failed", "closed"};
    return NAMES[state];
}

/* --- of a rank that is ready -------------------------------------------------------------------------------------- */

static void put_rank_state_steps(ps_json *j, const ps_trace *t) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    ps_json_key_array(j, "steps");
    for (size_t i = 0; i < n; i++) {
        ps_json_array(j);
        ps_json_int(j, steps[i].id);
        ps_json_int(j, steps[i].start_ns);
        ps_json_int(j, steps[i].end_ns);
        ps_json_close(j);
    }
    ps_json_close(j);
}

/* Those that have lanes, each once, by number. False when memory is out. */
static bool put_devices(ps_json *j, const ps_loaded *l) {
    const ps_lanes *lanes = ps_loaded_layer(l, PS_LAYER_PROFILE)->lanes;
    int64_t *devices = ps_calloc(lanes->n_nodes + 1, sizeof *devices);
    if (devices == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < lanes->n_nodes; i++) {
        int64_t device = lanes->nodes[i].device;
        if (device >= 0 &&
            (n == 0 || device != devices[n - 1])) { /* mostly that of the one before */
            devices[n++] = device;
        }
    }
    ps_sort(devices, n, sizeof *devices, ps_compare_i64);
    ps_json_key_array(j, "devices");
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || devices[i] != devices[i - 1]) {
            ps_json_int(j, devices[i]);
        }
    }
    ps_json_close(j);
    ps_free(devices);
    return true;
}

static void put_bytes(ps_json *j, const ps_loaded *l) {
    ps_loaded_bytes b = ps_loaded_size(l);
    ps_json_key_object(j, "bytes");
    ps_json_key_uint(j, "columns", b.columns);
    ps_json_key_uint(j, "index", b.index);
    ps_json_key_uint(j, "args", b.args);
    ps_json_key_uint(j, "names", b.names);
    ps_json_key_uint(j, "flows", b.flows);
    ps_json_key_uint(j, "counters", b.counters);
    ps_json_key_uint(j, "tables", b.tables);
    ps_json_close(j);
}

static void put_missing(ps_lang lang, ps_json *j, const ps_loaded *l, const char *format) {
    const ps_captured c = {ps_loaded_layer(l, PS_LAYER_PROFILE)->trace,
                           ps_loaded_facts_of(l)->n_of_kind};
    ps_json_key_array(j, "has");
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        if (ps_capture_has(c, (ps_part_of_capture)i)) {
            ps_json_str(j, ps_capture_name((ps_part_of_capture)i));
        }
    }
    ps_json_close(j);
    ps_json_key_array(j, "missing");
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        ps_missing missing;
        if (ps_capture_misses(c, format, (ps_part_of_capture)i, &missing)) {
            ps_json_object(j);
            ps_json_key_str(j, "part", ps_capture_name((ps_part_of_capture)i));
            ps_json_key_str(j, "what", missing.what.in[lang]);
            ps_json_key_str(j, "id", missing.id);
            ps_json_key_str(j, "remedy", missing.remedy.in[lang]);
            ps_json_close(j);
        }
    }
    ps_json_close(j);
}

static void put_oddities(ps_lang lang, ps_json *j, const ps_diag *d) {
    ps_json_key_array(j, "oddities");
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0) {
            continue;
        }
        char text[PS_ODDITY_TEXT];
        ps_oddity_text(lang, (ps_oddity)k, d->counts[k], text, sizeof text);
        ps_json_object(j);
        ps_json_key_str(j, "id", ps_oddity_name((ps_oddity)k));
        ps_json_key_str(j, "severity", ps_oddity_severity_name((ps_oddity)k));
        ps_json_key_str(j, "text", text);
        ps_json_key_uint(j, "n", d->counts[k]);
        ps_json_key_array(j, "places");
        for (int i = 0; i < PS_DIAG_PLACES && d->places[k][i][0] != '\0'; i++) {
            ps_json_str(j, d->places[k][i]);
        }
        ps_json_close(j);
        ps_json_close(j);
    }
    ps_json_close(j);
}

static bool put_ready(ps_lang lang, ps_json *j, const ps_loaded *l, const char *format) {
    const ps_trace *t = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    const ps_loaded_facts *facts = ps_loaded_facts_of(l);
    ps_json_key(j, "origin_ns");
    ps_json_int_text(j, ps_trace_origin_ns(t));
    ps_json_key_int(j, "start", facts->start_ns);
    ps_json_key_int(j, "end", facts->end_ns);
    ps_json_key_int(j, "slices", ps_trace_slices(t)->n);
    put_rank_state_steps(j, t);
    bool ok = put_devices(j, l);
    put_bytes(j, l);
    if (ps_trace_comm_from_marks(t) != NULL) {
        ps_json_key_str(j, "comm_from_marks", ps_trace_comm_from_marks(t));
    }
    put_missing(lang, j, l, format);
    put_oddities(lang, j, ps_trace_diag(t));
    return ok;
}

/* The machine as the list of ranks or the capture itself names it. */
static const char *host_of(const ps_rank_entry *e, const ps_loaded *l) {
    if (e->host[0] != '\0' || l == NULL) {
        return e->host;
    }
    const ps_trace *t = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    const ps_table *table = ps_trace_side_table(t, "HOST_INFO");
    size_t column = table != NULL ? ps_table_column(table, "hostName") : SIZE_MAX;
    if (column == SIZE_MAX || table->n_rows == 0) {
        return "";
    }
    const ps_value *cell = ps_table_cell(table, 0, column);
    return cell->is_null || table->columns[column].type != PS_COL_TEXT ? "" : cell->u.text;
}

static size_t cluster_number(const ps_store *store, const ps_rank_entry *e) {
    size_t i = 0;
    while (i + 1 < ps_store_n_clusters(store) && ps_store_cluster(store, i) != e->cluster) {
        i++;
    }
    return i;
}

/* --- all ranks ------------------------------------------------------------------------------------------------------ */

ps_code ps_put_rank(ps_lang lang, ps_json *j, ps_store *store, size_t i, ps_err *err) {
    const ps_rank_entry *e = ps_store_rank(store, i);
    ps_rank_status_now now = ps_store_status(store, i);
    ps_loaded *l = NULL;
    if (now.state == PS_STATE_READY && ps_store_peek(store, i, &l, NULL) != PS_OK) {
        now = ps_store_status(store, i); /* it had to go between the two looks */
        now.state = now.state == PS_STATE_READY ? PS_STATE_WAITING : now.state;
    }
    const char *format = ps_cluster_format(e->rank);
    ps_json_object(j);
    ps_json_key_str(j, "key", e->key);
    if (now.state == PS_STATE_CLOSED) {
        ps_json_key_str(j, "state", state_name(now.state));
        ps_json_close(j);
        return ps_buf_ok(j->out) ? PS_OK : ps_fail_nomem(err);
    }
    if (e->id != NULL) {
        ps_json_key_str(j, "id", e->id);
    }
    ps_json_key_int(j, "rank", e->rank->rank);
    ps_json_key_uint(j, "cluster", cluster_number(store, e));
    ps_json_key_uint(j, "profile", (uint64_t)(e->rank - e->cluster->ranks)); /* as queries count */
    ps_json_key_str(j, "label", ps_store_label(store, i));
    ps_json_key_str(j, "host", host_of(e, l));
    ps_json_key_str(j, "format", format);
    ps_json_key_str(j, "profiler", ps_cluster_profiler(e->rank));
    ps_json_key_str(j, "file", e->rank->rel_path);
    ps_json_key_str(j, "state", state_name(now.state));
    ps_json_key_numberf(j, "progress", "%.4g", now.state == PS_STATE_READY ? 1.0 : now.progress);
    char why[1024] = "";
    if (now.state == PS_STATE_FAILED) {
        ps_err_say(lang, &now.err, why, sizeof why);
    }
    ps_json_key_str(j, "error", why);
    bool ok = l == NULL || put_ready(lang, j, l, format);
    ps_json_close(j);
    ps_loaded_release(l);
    return ok && ps_buf_ok(j->out) ? PS_OK : ps_fail_nomem(err);
}
