/* GET /api/align?by=clock|start|steps: what brings the ranks that are in memory together. */
#include <string.h>

#include "analyze/comm/recorded_clock.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "serve/cross/align.h"
#include "serve/cross/peers.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"

typedef struct company {
    const ps_request *q;
    ps_align_rank *ranks;
    ps_loaded **held;
    const ps_cluster **clusters; /* [n] */
    size_t n;
    bool with_lists;
    ps_idmap machines; /* hash of a host's name -> its number */
    int32_t n_machines;
} company;

/* The machine as the list of ranks, or the capture, names it; NULL unknown. */
static const char *host_of(const ps_rank_entry *e, const ps_trace *t) {
    if (e->host[0] != '\0') {
        return e->host;
    }
    const ps_table *table = ps_trace_side_table(t, "HOST_INFO");
    size_t column = table != NULL ? ps_table_column(table, "hostName") : SIZE_MAX;
    if (column == SIZE_MAX || table->n_rows != 1 || table->columns[column].type != PS_COL_TEXT) {
        return NULL;
    }
    const ps_value *cell = ps_table_cell(table, 0, column);
    return cell->is_null || cell->u.text[0] == '\0' ? NULL : cell->u.text;
}

/* Numbers of machines that the job has count from 0; those that recordings tell apart, or names, get numbers behind them. */
static bool align_machine_of(company *c, const ps_rank_entry *e, const ps_trace *t,
                             const ps_recorded_clock *clock, int32_t *out) {
    const char *host = host_of(e, t);
    *out = e->rank->machine;
    if (*out >= 0 || (host == NULL && !clock->has_offset)) {
        return true;
    }
    uint64_t hash = clock->has_offset ? clock->machine : ps_hash64(host, strlen(host));
    uint32_t number = ps_idmap_get(&c->machines, hash);
    if (number == PS_IDMAP_NONE) {
        number = (uint32_t)c->n_machines++;
        if (!ps_idmap_put(&c->machines, hash, number)) {
            return false;
        }
    }
    *out = (int32_t)number + (1 << 30);
    return true;
}

static ps_code add_align_rank(company *c, size_t i, ps_err *err) {
    ps_err gone = PS_ERR_INIT;
    ps_loaded *l = NULL;
    if (ps_store_peek(c->q->store, i, &l, &gone) != PS_OK) {
        return PS_OK; /* not ready, which is no error here */
    }
    const ps_rank_entry *e = ps_store_rank(c->q->store, i);
    c->held[c->n] = l;
    c->clusters[c->n] = e->cluster;
    ps_align_rank *r = &c->ranks[c->n++];
    *r = (ps_align_rank){.key = e->key,
                         .label = ps_store_label(c->q->store, i),
                         .loaded = l,
                         .info = {.rank = e->rank->rank, .profiler = ps_cluster_profiler(e->rank)}};
    const ps_trace *trace = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    ps_recorded_clock recorded;
    ps_code code = ps_recorded_clock_read(trace, &recorded, err);
    if (code == PS_OK && !align_machine_of(c, e, trace, &recorded, &r->info.machine)) {
        code = ps_fail_nomem(err);
    }
    if (code != PS_OK) {
        return code;
    }
    return c->with_lists ? ps_peers_list(c->q, e->key, l, &r->list, err) : PS_OK;
}

static ps_code gather_align(company *c, ps_err *err) {
    size_t n = ps_store_n_ranks(c->q->store);
    c->ranks = ps_calloc(n + 1, sizeof *c->ranks);
    c->held = ps_calloc(n + 1, sizeof(ps_loaded *));
    c->clusters = ps_calloc(n + 1, sizeof(ps_cluster *));
    bool ok = c->ranks != NULL && c->held != NULL && c->clusters != NULL;
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = add_align_rank(c, i, err);
    }
    if (code == PS_OK && c->n == 0) {
        code = ps_fail_said(err, PS_NOTHING, "no rank is ready yet", "还没有 rank 就绪");
    }
    return code;
}

static void release_align(company *c) {
    for (size_t i = 0; i < c->n; i++) {
        ps_cache_release(c->q->cache, (void *)(uintptr_t)c->ranks[i].list);
        ps_loaded_release(c->held[i]);
    }
    ps_free(c->ranks);
    ps_free(c->held);
    ps_free(c->clusters);
    ps_idmap_fini(&c->machines);
}

/* --- the reply ------------------------------------------------------------------------------------------------------- */

static void say_how(ps_lang lang, const ps_skew_evidence *e, ps_buf *out) {
    size_t n_clocks = e->clocks.n_clocks;
    size_t n_contradicted = e->clocks.n_contradicted + e->clocks.n_disagree;
    bool is_by_order = e->n_collectives + e->n_transfers > 0;
    if (n_clocks < 2) {
        ps_buf_add_str(out, PS_SAY(lang, "all ranks are of one machine, and share its clock",
                                   "全部 rank 在同一台机器上，共用其时钟"));
    } else if (!is_by_order && e->clocks.n_recorded > 0) {
        ps_buf_addf(out,
                    PS_SAY(lang,
                           "%zu clocks, brought together by messages exchanged while recording",
                           "%zu 个时钟，按录制时交换的消息对齐"),
                    n_clocks);
    } else if (!is_by_order) {
        ps_buf_addf(
            out,
            PS_SAY(lang,
                   "nothing connects the %zu clocks: there is no communication between them, or "
                   "it could not be matched",
                   "%zu 个时钟之间没有联系：它们之间没有通信，或通信无法匹配"),
            n_clocks);
    } else {
        ps_buf_addf(
            out,
            PS_SAY(lang,
                   "%zu clocks, brought together by %zu collectives and %zu sends and receives "
                   "that cannot have happened in the other order%s",
                   "%zu 个时钟，按 %zu 次集合通信与 %zu 对收发不可能颠倒的先后顺序对齐%s"),
            n_clocks, e->n_collectives, e->n_transfers,
            e->clocks.n_recorded == 0 ? ""
                                      : PS_SAY(lang, ", and by messages exchanged while recording",
                                               "，并按录制时交换的消息"));
    }
    if (n_contradicted > 0) {
        ps_buf_addf(out,
                    PS_SAY(lang, "; the bounds of %zu pair%s of clocks contradict one another",
                           "；有 %zu 对时钟的界限互相矛盾%.0s"),
                    n_contradicted, n_contradicted == 1 ? "" : "s");
    }
}

static void put_how(ps_json *j, ps_lang lang, const ps_skew_evidence *e) {
    ps_buf text = {0};
    say_how(lang, e, &text);
    ps_json_key(j, "how");
    ps_json_text(j, &text);
    ps_buf_fini(&text);
}

/* `why`: what is said of a rank whose place is not known, behind its name. */
static void put_align_notes(ps_json *j, const company *c, const char *why) {
    ps_json_key_array(j, "notes");
    for (size_t i = 0; i < c->n; i++) {
        if (!c->ranks[i].is_known) {
            ps_buf text = {0};
            ps_buf_addf(&text, "%s %s", c->ranks[i].label, why);
            ps_json_text(j, &text);
            ps_buf_fini(&text);
        }
    }
    ps_json_close(j);
}

static void put_offsets(ps_json *j, const company *c) {
    ps_json_key_array(j, "offsets");
    for (size_t i = 0; i < c->n; i++) {
        const ps_align_rank *r = &c->ranks[i];
        ps_json_object(j);
        ps_json_key_str(j, "rank", r->key);
        ps_json_key_int(j, "offset_ns", r->offset_ns);
        ps_json_key(j, "uncertainty_ns");
        if (r->uncertainty_ns == PS_NO_UNCERTAINTY) {
            ps_json_null(j);
        } else {
            ps_json_int(j, r->uncertainty_ns);
        }
        ps_json_close(j);
    }
    ps_json_close(j);
}

/* Each path that is served is a job of its own, whose ranks are moved to its first one. */
static ps_code align_clocks(company *c, ps_skew_evidence *sum, ps_err *err) {
    ps_code code = PS_OK;
    *sum = (ps_skew_evidence){0};
    for (size_t i = 0, end = 0; code == PS_OK && i < c->n; i = end) {
        while (end < c->n && c->clusters[end] == c->clusters[i]) {
            end++;
        }
        ps_skew_evidence e;
        code = ps_align_clocks(&c->ranks[i], end - i, &e, err);
        sum->n_collectives += e.n_collectives;
        sum->n_transfers += e.n_transfers;
        ps_clock_notes *clocks = &sum->clocks;
        clocks->n_recorded += e.clocks.n_recorded;
        clocks->n_contradicted += e.clocks.n_contradicted;
        clocks->n_disagree += e.clocks.n_disagree;
        clocks->n_clocks += e.clocks.n_clocks - (e.clocks.n_clocks > 0); /* moved to another one */
    }
    sum->clocks.n_clocks++;
    return code;
}

static ps_code put_alignment(ps_buf *out, company *c, const char *by, ps_err *err) {
    const ps_lang lang = ps_param_lang(c->q);
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    if (strcmp(by, "start") == 0) {
        ps_align_starts(c->ranks, c->n);
        put_offsets(&j, c);
        ps_json_key_str(&j, "how",
                        PS_SAY(lang, "all ranks begin where the first one begins",
                               "全部 rank 从第一个 rank 开始之处开始"));
        put_align_notes(&j, c, "");
    } else if (strcmp(by, "steps") == 0) {
        ps_code code = ps_align_steps(c->ranks, c->n, err);
        if (code != PS_OK) {
            return code;
        }
        put_offsets(&j, c);
        ps_json_key_str(
            &j, "how",
            PS_SAY(lang,
                   "the first step that a rank shares with the first rank begins at the same time",
                   "各 rank 与第一个 rank 共有的首个 step 同时开始"));
        put_align_notes(&j, c,
                        PS_SAY(lang, "shares no step with the first rank: it stays where it is",
                               "与第一个 rank 没有共同的 step：保持原位"));
    } else {
        ps_skew_evidence evidence;
        ps_code code = align_clocks(c, &evidence, err);
        if (code != PS_OK) {
            return code;
        }
        put_offsets(&j, c);
        put_how(&j, lang, &evidence);
        put_align_notes(
            &j, c,
            PS_SAY(lang,
                   "has no communication with the first rank that tells: its clock is taken "
                   "as it is",
                   "与第一个 rank 没有可用于对齐的通信：其时钟按原样使用"));
    }
    ps_json_close(&j);
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}

static void answer_align(const ps_request *q, ps_reply *r) {
    const char *by = ps_param_text(q, "by");
    by = by != NULL ? by : "clock";
    if (strcmp(by, "clock") != 0 && strcmp(by, "start") != 0 && strcmp(by, "steps") != 0) {
        ps_reply_fail(r, 400, "parameter 'by' is one of clock, start, steps");
        return;
    }
    company c = {.q = q, .with_lists = strcmp(by, "clock") == 0};
    ps_err err = PS_ERR_INIT;
    ps_code code = gather_align(&c, &err);
    code = code == PS_OK ? put_alignment(&r->body, &c, by, &err) : code;
    if (code != PS_OK) {
        ps_reply_err(r, &err);
    }
    release_align(&c);
}

const ps_route ps_route_align = {
    .path = "/api/align", .method = "GET", .is_slow = true, .answer = answer_align};
