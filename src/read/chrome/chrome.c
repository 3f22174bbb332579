/* Trace events as any program writes them (about:tracing, Perfetto's JSON importer):
 *
 *   [{"ph":"B","pid":1,"tid":2,"ts":10,"name":"f","cat":"c"}, {"ph":"E","pid":1,"tid":2,"ts":20}, ...
 *
 * The common rules of trace_model.h and nothing else. */
#include "read/chrome/chrome.h"

#include "read/events/trace_file.h"
#include "read/events/trace_head.h"
#include "read/events/trace_model.h"
#include "read/reader.h"

typedef struct chrome {
    ps_builder *builder;
    uint32_t needs;
} chrome;

static ps_code take_chrome_member(void *context, const char *key, const char *json, size_t n,
                                  ps_err *err) {
    chrome *c = context;
    return (c->needs & PS_NEED_META) != 0 ? ps_trace_meta_add(c->builder, key, json, n, err)
                                          : PS_OK;
}

ps_code ps_chrome_read_input(ps_input *in, const char *path, uint32_t needs, size_t n_threads,
                             ps_builder *b, ps_err *err) {
    (void)path;
    static const char *const WANTED[] = {NULL};
    chrome c = {b, needs};
    const ps_dialect dialect = {.context = &c, .flow_names = true};
    return ps_trace_model_read(in, &dialect, needs, WANTED, take_chrome_member, n_threads, b, err);
}

static ps_code read_chrome(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    return ps_trace_file_read(src, needs, ps_chrome_read_input, b, err);
}

static int sniff_chrome(const char *path, const unsigned char *head, size_t n) {
    (void)path;
    ps_trace_head look = ps_trace_head_look(head, n);
    return look.is_object || look.is_array ? 30 : 0;
}

const ps_reader ps_reader_chrome = {
    .name = "chrome",
    .profiler = "trace events",
    .summary = "Chrome trace event JSON of any program",
    .sniff = sniff_chrome,
    .read = read_chrome,
};
