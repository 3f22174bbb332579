/* Trace events as any program writes them (about:tracing, Perfetto's JSON importer):
 *
 *   [{"ph":"B","pid":1,"tid":2,"ts":10,"name":"f","cat":"c"}, {"ph":"E","pid":1,"tid":2,"ts":20}, ...
 *
 * The common rules of trace_model.h and nothing else; of a file in which processes are ranks each rank for itself (merged_file.h). */
#include "read/chrome/chrome.h"

#include <string.h>

#include "base/fs.h"
#include "read/chrome/merged_file.h"
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

/* --- files in which processes are ranks ----------------------------------------------------------------------------------- */

/* What is left out of such a file is told once. */
static void say_unplaced(const ps_merged_file *file, ps_builder *b) {
    for (size_t i = 0; i < file->n_unplaced; i++) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_PROCESS_NO_RANK, "%.100s",
                    file->unplaced != NULL ? file->unplaced : "");
    }
}

static ps_code read_merged(const ps_src *src, const ps_merged_file *file, uint32_t needs,
                           ps_builder *b, ps_err *err) {
    ps_file_stamp stamp = {0};
    ps_code code = ps_file_identify(src->path, &stamp.file, err);
    if (code != PS_OK) {
        return code;
    }
    if (!ps_file_same(&stamp.file, &file->id)) {
        return ps_fail_file(err, PS_IO, src->path, "it was written while it was read: start again");
    }
    if (src->part < 0 || (uint64_t)src->part >= file->n_ranks) {
        return ps_fail_file(err, PS_NOTHING, src->path, "it has no part %lld",
                            (long long)src->part);
    }
    const ps_merged_rank *rank = &file->ranks[src->part];
    ps_input *in = ps_input_of_memory(rank->json, rank->n, err);
    if (in == NULL) {
        return ps_fail_nomem(err);
    }
    ps_builder_stamp(b, stamp);
    if (src->part == 0) {
        say_unplaced(file, b);
    }
    ps_input_watch(in, src->watch);
    code = ps_chrome_read_input(in, src->path, needs, src->n_threads, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_err_prefix(err, "rank %lld of %s", (long long)rank->rank, src->path);
    }
    return code;
}

static ps_code list_merged(const ps_merged_file *file, ps_arena *arena, ps_part **out, size_t *n,
                           ps_err *err) {
    *n = file != NULL ? file->n_ranks : 0;
    ps_part *parts = ps_arena_alloc(arena, (*n + 1) * sizeof *parts);
    for (size_t i = 0; parts != NULL && i < *n; i++) {
        parts[i] = (ps_part){.id = (int64_t)i,
                             .rank = file->ranks[i].rank,
                             .host = "",
                             .machine = -1,
                             .title = file->ranks[i].title,
                             .noted = file};
    }
    *out = parts;
    return parts != NULL ? PS_OK : ps_fail_nomem(err);
}

static ps_code chrome_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n,
                            ps_err *err) {
    const ps_merged_file *file = NULL;
    *n = 0;
    ps_code code =
        ps_merged_file_may_be(path) ? ps_merged_file_read(path, NULL, arena, &file, err) : PS_OK;
    return code == PS_OK ? list_merged(file, arena, out, n, err) : code;
}

static ps_code chrome_parts_by_name(const char *path, ps_pattern *rank_from, ps_arena *arena,
                                    ps_part **out, size_t *n, ps_err *err) {
    const ps_merged_file *file = NULL;
    *n = 0;
    ps_code code = ps_merged_file_read(path, rank_from, arena, &file, err);
    return code == PS_OK ? list_merged(file, arena, out, n, err) : code;
}

/* A file that is one rank, or a part of one that is several. Where nobody has listed its parts it is looked at here, so that a file of
 * workers never passes for one rank. */
static ps_code read_chrome(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    const ps_merged_file *file = src->noted;
    ps_arena arena;
    ps_arena_init(&arena);
    ps_code code = PS_OK;
    if (file == NULL && strcmp(src->path, "-") != 0 && ps_merged_file_may_be(src->path)) {
        code = ps_merged_file_read(src->path, NULL, &arena, &file, err);
    }
    if (code == PS_OK) {
        code = file != NULL ? read_merged(src, file, needs, b, err)
                            : ps_trace_file_read(src, needs, ps_chrome_read_input, b, err);
    }
    ps_arena_fini(&arena);
    return code;
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
    .parts = chrome_parts,
    .parts_by_name = chrome_parts_by_name,
    .read = read_chrome,
};
