/* A whole input through the scanner into the model. */
#include "read/events/trace_model.h"

typedef struct whole {
    ps_trace_model *model;
    void *context;
    ps_code (*member)(void *context, const char *key, const char *json, size_t n, ps_err *err);
} whole;

static ps_code take_model_read_batch(void *context, const ps_event_batch *batch, ps_err *err) {
    whole *w = context;
    return ps_trace_model_batch(w->model, batch, err);
}

static ps_code take_model_read_member(void *context, const char *key, const char *json, size_t n,
                                      ps_err *err) {
    whole *w = context;
    return w->member(w->context, key, json, n, err);
}

ps_code ps_trace_model_read(ps_input *in, const ps_dialect *dialect, uint32_t needs,
                            const char *const *wanted,
                            ps_code (*member)(void *context, const char *key, const char *json,
                                              size_t n, ps_err *err),
                            size_t n_threads, ps_builder *b, ps_err *err) {
    whole w = {.model = ps_trace_model_new(b, dialect, needs),
               .context = dialect != NULL ? dialect->context : NULL,
               .member = member};
    if (w.model == NULL) {
        return ps_fail_nomem(err);
    }
    ps_event_schema schema = {.all_args = (needs & PS_NEED_ARGS) != 0,
                              .wanted = wanted,
                              .printed_doubles = dialect != NULL && dialect->printed_doubles};
    ps_event_sink sink = {&w, take_model_read_batch,
                          member != NULL ? take_model_read_member : NULL};
    ps_event_stats stats;
    ps_code code =
        ps_trace_events_read(in, &schema, &sink, n_threads, ps_builder_diag(b), &stats, err);
    code = code == PS_OK ? ps_trace_model_finish(w.model, err) : code;
    ps_trace_model_free(w.model);
    return code;
}
