#include "serve/rank_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/diag.h"
#include "model/recording.h"
#include "serve/loaded.h"
#include "serve/missing.h"

static void put_text(ps_buf *out, const char *key, const char *text) {
    ps_buf_addf(out, ",\"%s\":", key);
    ps_buf_add_json_str(out, text, strlen(text));
}

static void put_int(ps_buf *out, const char *key, int64_t value) {
    ps_buf_addf(out, ",\"%s\":%lld", key, (long long)value);
}

static const char *state_name(ps_rank_state state) {
    static const char *const NAMES[] = {"waiting", "queued", "reading", "ready", "failed"};
    return NAMES[state];
}

/* --- of a rank that is ready -------------------------------------------------------------------------------------- */

static void put_steps(ps_buf *out, const ps_trace *t) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    ps_buf_add_str(out, ",\"steps\":[");
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "%s[%lld,%lld,%lld]", i > 0 ? "," : "", (long long)steps[i].id,
                    (long long)steps[i].start_ns, (long long)steps[i].end_ns);
    }
    ps_buf_add_char(out, ']');
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Those that have lanes, each once, by number. False when memory is out. */
static bool put_devices(ps_buf *out, const ps_loaded *l) {
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
    if (n > 1) {
        qsort(devices, n, sizeof *devices, by_number);
    }
    ps_buf_add_str(out, ",\"devices\":[");
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || devices[i] != devices[i - 1]) {
            ps_buf_addf(out, "%s%lld", i > 0 ? "," : "", (long long)devices[i]);
        }
    }
    ps_buf_add_char(out, ']');
    ps_free(devices);
    return true;
}

static void put_bytes(ps_buf *out, const ps_loaded *l) {
    ps_loaded_bytes b = ps_loaded_size(l);
    ps_buf_addf(out,
                ",\"bytes\":{\"columns\":%zu,\"index\":%zu,\"args\":%zu,\"names\":%zu,"
                "\"flows\":%zu,\"counters\":%zu,\"tables\":%zu}",
                b.columns, b.index, b.args, b.names, b.flows, b.counters, b.tables);
}

static void put_missing(ps_buf *out, const ps_loaded *l, const char *format) {
    const char *comma = "";
    ps_buf_add_str(out, ",\"has\":[");
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        if (ps_capture_has(l, (ps_part_of_capture)i)) {
            ps_buf_addf(out, "%s\"%s\"", comma, ps_capture_name((ps_part_of_capture)i));
            comma = ",";
        }
    }
    ps_buf_add_str(out, "],\"missing\":[");
    comma = "";
    for (int i = 0; i < PS_N_CAPTURE_PARTS; i++) {
        ps_missing missing;
        if (ps_capture_misses(l, format, (ps_part_of_capture)i, &missing)) {
            ps_buf_addf(out, "%s{\"what\":", comma);
            ps_buf_add_json_str(out, missing.what, strlen(missing.what));
            put_text(out, "remedy", missing.remedy);
            ps_buf_add_char(out, '}');
            comma = ",";
        }
    }
    ps_buf_add_char(out, ']');
}

static void put_oddities(ps_buf *out, const ps_diag *d) {
    static const char *const SEVERITIES[] = {"info", "loss", "error"};
    const char *comma = "";
    ps_buf_add_str(out, ",\"oddities\":[");
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        if (d->counts[k] == 0) {
            continue;
        }
        char text[256];
        ps_oddity_text((ps_oddity)k, d->counts[k], text, sizeof text);
        ps_buf_addf(out, "%s{\"severity\":\"%s\",\"text\":", comma,
                    SEVERITIES[ps_oddity_severity((ps_oddity)k)]);
        ps_buf_add_json_str(out, text, strlen(text));
        ps_buf_addf(out, ",\"n\":%llu,\"places\":[", (unsigned long long)d->counts[k]);
        for (int i = 0; i < PS_DIAG_PLACES && d->places[k][i][0] != '\0'; i++) {
            ps_buf_add_str(out, i > 0 ? "," : "");
            ps_buf_add_json_str(out, d->places[k][i], strlen(d->places[k][i]));
        }
        ps_buf_add_str(out, "]}");
        comma = ",";
    }
    ps_buf_add_char(out, ']');
}

static bool put_ready(ps_buf *out, const ps_loaded *l, const char *format) {
    const ps_trace *t = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    const ps_loaded_facts *facts = ps_loaded_facts_of(l);
    ps_buf_addf(out, ",\"origin_ns\":\"%lld\"", (long long)ps_trace_origin_ns(t));
    put_int(out, "start", facts->start_ns);
    put_int(out, "end", facts->end_ns);
    put_int(out, "slices", ps_trace_slices(t)->n);
    put_steps(out, t);
    bool ok = put_devices(out, l);
    put_bytes(out, l);
    if (ps_trace_comm_from_marks(t) != NULL) {
        put_text(out, "comm_from_marks", ps_trace_comm_from_marks(t));
    }
    put_missing(out, l, format);
    put_oddities(out, ps_trace_diag(t));
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

/* --- all ranks ------------------------------------------------------------------------------------------------------ */

ps_code ps_put_rank(ps_buf *out, ps_store *store, size_t i, ps_err *err) {
    const ps_rank_entry *e = ps_store_rank(store, i);
    ps_rank_status_now now = ps_store_status(store, i);
    ps_loaded *l = NULL;
    if (now.state == PS_STATE_READY && ps_store_peek(store, i, &l, NULL) != PS_OK) {
        now = ps_store_status(store, i); /* it had to go between the two looks */
        now.state = now.state == PS_STATE_READY ? PS_STATE_WAITING : now.state;
    }
    const char *format = ps_cluster_format(e->rank);
    ps_buf_add_str(out, "{\"key\":");
    ps_buf_add_json_str(out, e->key, strlen(e->key));
    put_int(out, "rank", e->rank->rank);
    put_text(out, "label", e->label);
    put_text(out, "host", host_of(e, l));
    put_text(out, "format", format);
    put_text(out, "profiler", ps_cluster_profiler(e->rank));
    put_text(out, "file", e->rank->rel_path);
    put_text(out, "state", state_name(now.state));
    ps_buf_addf(out, ",\"progress\":%.4g", now.state == PS_STATE_READY ? 1.0 : now.progress);
    char why[1024] = "";
    if (now.state == PS_STATE_FAILED) {
        ps_err_format(&now.err, why, sizeof why);
    }
    put_text(out, "error", why);
    bool ok = l == NULL || put_ready(out, l, format);
    ps_buf_add_char(out, '}');
    ps_loaded_release(l);
    return ok && ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}
