#include "support/small_runs.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "support/sanitized.h"
#include "support/travel.h"

static ps_str str(ps_builder *b, const char *text) {
    return ps_builder_str(b, text, strlen(text));
}

uint32_t small_thread(ps_builder *b, int64_t tid) {
    return ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = tid, .device = -1});
}

uint32_t small_stream(ps_builder *b, int64_t stream) {
    return ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 2, .tid = stream, .device = 0});
}

uint32_t small_slice(ps_builder *b, ps_slice_kind kind, uint32_t track, const char *name,
                     int64_t start_ns, int64_t end_ns) {
    return ps_builder_slice(b, kind, track, str(b, name), SMALL_EPOCH_NS + start_ns,
                            SMALL_EPOCH_NS + end_ns, 0);
}

void small_arg(ps_builder *b, uint32_t slice, const char *key, const char *text) {
    ps_builder_arg_str(b, slice, key, str(b, text));
}

void small_step(ps_builder *b, int64_t id, int64_t start_ns, int64_t end_ns) {
    ps_builder_step(b, id, SMALL_EPOCH_NS + start_ns, SMALL_EPOCH_NS + end_ns);
}

ps_trace *small_seal(ps_builder *b) {
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_builder_seal(b, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

uint32_t small_find(const ps_trace *t, const char *name) {
    const ps_slices *s = ps_trace_slices(t);
    uint32_t found = PS_NONE;
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(ps_trace_text(t, s->name[i]), name) == 0) {
            if (found != PS_NONE) {
                fail_msg("two slices are named %s", name);
            }
            found = i;
        }
    }
    if (found == PS_NONE) {
        fail_msg("no slice is named %s", name);
    }
    return found;
}

void small_run_mode(small_run *o, const char *mode, ps_trace *const *traces, size_t n,
                    const ps_analysis_opts *opts) {
    const ps_analysis *analysis = ps_analysis_find(mode);
    ps_analysis_opts usual = {.step_id = -1};
    ps_rank_info infos[SMALL_MAX_RANKS] = {0};
    void *partials[SMALL_MAX_RANKS] = {NULL};
    ps_diag *diags[SMALL_MAX_RANKS];
    void *shared = NULL;
    *o = (small_run){.err = PS_ERR_INIT};
    assert_non_null(analysis);
    assert_true(n <= SMALL_MAX_RANKS);
    for (size_t k = 0; k < analysis->n_rounds && o->code == PS_OK; k++) {
        const ps_round *round = &analysis->rounds[k];
        for (size_t r = 0; r < n; r++) {
            infos[r] = (ps_rank_info){.rank = (int64_t)r, .machine = -1, .profiler = "PyTorch"};
            diags[r] = &o->diags[r];
            ps_map_input in = {.trace = traces[r],
                               .rank = &infos[r],
                               .opts = opts != NULL ? opts : &usual,
                               .partial = partials[r],
                               .shared = shared,
                               .diag = diags[r]};
            o->map_codes[r] =
                traces[r] != NULL ? ps_round_map(round, &in, &partials[r], &o->err) : PS_IO;
            ps_err lost = PS_ERR_INIT;
            if (travel(analysis, analysis->archive, &partials[r], &lost) != PS_OK) {
                o->map_codes[r] = lost.code;
            }
        }
        ps_reduce_input in = {.ranks = infos,
                              .partials = partials,
                              .diags = diags,
                              .n_ranks = n,
                              .opts = opts != NULL ? opts : &usual,
                              .shared = shared,
                              .result = &o->result,
                              .job_skew = ps_job_skew_new()};
        o->code = in.job_skew == NULL     ? PS_NOMEM
                  : round->reduce != NULL ? round->reduce(&in, &shared, &o->err)
                                          : PS_OK;
        ps_job_skew_free(in.job_skew);
        if (o->code == PS_OK) {
            o->code = travel(analysis, analysis->archive_shared, &shared, &o->err);
        }
    }
    for (size_t r = 0; r < n; r++) {
        if (partials[r] != NULL) {
            analysis->free_partial(partials[r]);
        }
    }
    if (shared != NULL) {
        analysis->free_shared(shared);
    }
}

void small_run_fini(small_run *o) {
    ps_result_fini(&o->result);
}

void small_run_without_memory(const char *mode, ps_trace *const *traces, size_t n) {
    int64_t n_made = 0;
    for (int64_t i = 0; i <= n_made; i += PS_NEXT_FAILURE) {
        small_run o;
        (void)ps_alloc_fail_at(i);
        small_run_mode(&o, mode, traces, n, NULL);
        n_made = ps_alloc_fail_at(-1);
        bool said = o.code == PS_NOMEM;
        for (size_t r = 0; r < n; r++) {
            said = said || o.map_codes[r] == PS_NOMEM;
        }
        small_run_fini(&o);
        if (said != (i < n_made)) {
            fail_msg("%s: allocation %d of %d failed, and %s says so", mode, (int)i, (int)n_made,
                     said ? "somebody" : "nobody");
        }
    }
}

const ps_table *small_table(const small_run *o, const char *table) {
    for (size_t i = 0; i < o->result.n_tables; i++) {
        if (strcmp(o->result.tables[i]->name, table) == 0) {
            return o->result.tables[i];
        }
    }
    return NULL;
}

static void add_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    if (cell->is_null) {
        ps_buf_add_str(out, "NULL");
    } else if (column->type == PS_COL_INT) {
        ps_buf_addf(out, "%lld", (long long)cell->u.i);
    } else if (column->type == PS_COL_REAL) {
        ps_buf_addf(out, "%.10g", cell->u.r);
    } else {
        ps_buf_add_str(out, cell->u.text);
    }
}

void small_expect(const small_run *o, const char *table, const char *expected) {
    const ps_table *t = small_table(o, table);
    if (t == NULL) {
        fail_msg("there is no table %s (%s)", table, o->err.msg);
        return;
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            ps_buf_add_str(&text, c > 0 ? "|" : "");
            add_cell(&text, &t->columns[c], ps_table_cell(t, r, c));
        }
        ps_buf_add_char(&text, '\n');
    }
    if (strcmp(ps_buf_str(&text), expected) != 0) {
        fail_msg("%s is\n%sand should be\n%s", table, ps_buf_str(&text), expected);
    }
    ps_buf_fini(&text);
}
