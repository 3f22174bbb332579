#include "serve/cluster/cluster_views.h"

#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "serve/rank/loaded.h"

void ps_view_set_analyses(const ps_request *q, ps_view_set set, ps_modes_ask *ask) {
    if (set == PS_SET_REPORT) {
        ps_modes_ask_report(q, ask);
        return;
    }
    ask->n_analyses = 0;
    for (const char *const *name = ps_view_set_names(set); *name != NULL; name++) {
        ask->analyses[ask->n_analyses++] = ps_analysis_find(*name);
    }
}

static const ps_table *table_of_cluster(const void *context, const char *name) {
    return ps_modes_table(((const ps_cluster_source *)context)->modes, name);
}

/* The key of the only rank of that number, "" when there is none or several. */
static const char *key_in_cluster(const void *context, int64_t rank) {
    const ps_cluster_source *of = context;
    const ps_cluster *c = ps_store_cluster(of->q->store, of->cluster);
    const char *key = "";
    for (size_t i = 0; i < ps_store_n_ranks(of->q->store); i++) {
        const ps_rank_entry *e = ps_store_rank(of->q->store, i);
        if (e->cluster == c && e->rank->rank == rank) {
            if (key[0] != '\0') {
                return "";
            }
            key = e->key;
        }
    }
    return key;
}

/* What only a rank in memory says: when the capture began and ended. */
static void add_loaded_rank(const ps_loaded *l, ps_job_capture *out) {
    int64_t origin_ns = ps_trace_origin_ns(ps_loaded_layer(l, PS_LAYER_PROFILE)->trace);
    const ps_loaded_facts *facts = ps_loaded_facts_of(l);
    int64_t start_ns = ps_i64_plus(origin_ns, facts->start_ns);
    int64_t end_ns = ps_i64_plus(origin_ns, facts->end_ns);
    bool any = facts->end_ns > facts->start_ns;
    bool first = out->end_ns == out->start_ns;
    if (any) {
        out->start_ns = first || start_ns < out->start_ns ? start_ns : out->start_ns;
        out->end_ns = first || end_ns > out->end_ns ? end_ns : out->end_ns;
    }
    out->n_loaded++;
}

static void look_at_capture(const void *context, ps_job_capture *out) {
    const ps_cluster_source *of = context;
    const ps_store *store = of->q->store;
    const ps_cluster *c = ps_store_cluster(store, of->cluster);
    *out = (ps_job_capture){.path = c->path, .format = ""};
    for (size_t i = 0; i < ps_store_n_ranks(store); i++) {
        const ps_rank_entry *e = ps_store_rank(store, i);
        ps_file_id id;
        ps_loaded *l = NULL;
        if (e->cluster != c) {
            continue;
        }
        const char *format = ps_cluster_format(e->rank);
        bool differs = out->n_ranks > 0 && strcmp(format, out->format) != 0;
        out->format = differs ? "several" : format;
        out->n_ranks++;
        if (ps_file_identify(e->rank->path, &id, NULL) == PS_OK) {
            out->bytes = ps_i64_plus(out->bytes, id.size_bytes);
        } else {
            out->n_unsized++;
        }
        ps_rank_state state = ps_store_status(store, i).state;
        out->n_failed += state == PS_STATE_FAILED ? 1 : 0;
        if (state == PS_STATE_READY && ps_store_get(of->q->store, i, &l, NULL) == PS_OK) {
            add_loaded_rank(l, out);
            ps_loaded_release(l);
        }
    }
}

ps_job_source ps_cluster_source_of(const ps_cluster_source *of) {
    return (ps_job_source){table_of_cluster, key_in_cluster, look_at_capture, of};
}
