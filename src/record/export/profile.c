/* The folder of one process: its name and its JSON files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/json_write.h"
#include "base/literal.h"
#include "base/num.h"
#include "record/export/export_tables.h"
#include "record/export/json_value.h"

char *ps_profile_dir_name(ps_arena *arena, const char *worker, int64_t unix_ns) {
    enum { MOST_WORKER = 226 };
    time_t seconds = (time_t)(unix_ns / 1000000000);
    int ms = (int)(unix_ns / 1000000 % 1000);
    struct tm local = {.tm_year = 70};
    (void)localtime_r(&seconds, &local);
    char when[32];
    if (strftime(when, sizeof when, "%Y%m%d%H%M%S", &local) == 0) {
        when[0] = '\0';
    }
    size_t n = strlen(worker);
    n = n < MOST_WORKER ? n : MOST_WORKER;
    char name[MOST_WORKER + 64];
    int length = snprintf(name, sizeof name, "%.*s_%s%03d_ascend_pt", (int)n, worker, when, ms);
    return ps_arena_strndup(arena, name, length > 0 ? (size_t)length : 0);
}

/* --- metadata ----------------------------------------------------------------------------------------------------- */

static bool has_key(const ps_capture *c, const char *wanted) {
    const ps_named *meta = ps_capture_metadata(c);
    for (size_t i = 0; i < meta->n; i++) {
        if (strcmp(ps_capture_text(c, (uint32_t)meta->key[i], NULL), wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* A value of damaged raw files may be JSON no more: then it is the text of a string. */
static ps_code hand_value(const char *key, const char *value, ps_metadata_fn fn, void *context,
                          ps_err *err) {
    bool is_json;
    char *tidy = ps_tidy_value(value, &is_json);
    if (is_json) {
        ps_code code = tidy != NULL ? fn(context, key, tidy, err) : ps_fail_nomem(err);
        ps_free(tidy);
        return code;
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_json_str(&text, value, strlen(value));
    ps_code code = ps_buf_ok(&text) ? fn(context, key, ps_buf_str(&text), err) : ps_fail_nomem(err);
    ps_buf_fini(&text);
    return code;
}

/* Noted in pieces, each an object; one without variables or of damaged files is left out. */
static void add_pieces(const ps_capture *c, ps_arena *arena, ps_buf *out) {
    const ps_named *facts = ps_capture_facts(c);
    for (size_t i = 0; i < facts->n; i++) {
        size_t n = 0;
        if (strcmp(ps_capture_text(c, (uint32_t)facts->key[i], NULL), "environment") != 0) {
            continue;
        }
        const char *piece = ps_capture_text(c, facts->value[i], &n);
        const ps_literal *doc = ps_literal_parse(arena, piece, n, NULL);
        if (doc != NULL && doc->kind == PS_LITERAL_OBJECT && n > 2) {
            ps_buf_add_str(out, out->len > 1 ? ", " : "");
            ps_buf_add(out, piece + 1, n - 2);
        }
    }
}

static ps_code hand_environment(const ps_capture *c, ps_metadata_fn fn, void *context,
                                ps_err *err) {
    ps_arena arena;
    ps_buf all;
    ps_arena_init(&arena);
    ps_buf_init(&all, 0);
    ps_buf_add_char(&all, '{');
    add_pieces(c, &arena, &all);
    bool any = all.len > 1;
    ps_buf_add_char(&all, '}');
    ps_code code = !ps_buf_ok(&all) ? ps_fail_nomem(err)
                   : any            ? fn(context, "ENV_VARIABLES", ps_buf_str(&all), err)
                                    : PS_OK;
    ps_buf_fini(&all);
    ps_arena_fini(&arena);
    return code;
}

ps_code ps_profile_each_metadata(const ps_capture *c, ps_metadata_fn fn, void *context,
                                 ps_err *err) {
    const ps_named *meta = ps_capture_metadata(c);
    ps_code code = PS_OK;
    for (size_t i = 0; i < meta->n && code == PS_OK; i++) {
        code = hand_value(ps_capture_text(c, (uint32_t)meta->key[i], NULL),
                          ps_capture_text(c, meta->value[i], NULL), fn, context, err);
    }
    if (code == PS_OK && !has_key(c, "ENV_VARIABLES")) {
        code = hand_environment(c, fn, context, err);
    }
    if (code == PS_OK && !has_key(c, "trace_id")) {
        const ps_spool_header *h = ps_capture_header(c);
        char id[40];
        (void)snprintf(id, sizeof id, "\"%016" PRIx64 "%08x%08x\"", h->session, h->pid,
                       (uint32_t)(ps_capture_clock(c)->real_ns / 1000));
        code = fn(context, "trace_id", id, err);
    }
    return code;
}

static ps_code add_metadata(void *context, const char *key, const char *json, ps_err *err) {
    ps_json *j = context;
    (void)err;
    ps_json_line(j, 4);
    ps_json_name(j, key, strlen(key));
    ps_json_raw(j, json, strlen(json));
    return PS_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* A member of `object` with its name, as it stands there; else JSON of our own. */
static void put_member(ps_json *j, const char *name, const ps_literal *object,
                       const char *otherwise) {
    const ps_literal *v = ps_literal_get(object, name);
    ps_json_name(j, name, strlen(name));
    if (v != NULL) {
        ps_json_raw(j, v->begin, v->source_len);
    } else {
        ps_json_raw(j, otherwise, strlen(otherwise));
    }
}

static void put_common_config(ps_json *j, const ps_export *e, const ps_literal *config) {
    bool is_json = false;
    char *schedule = ps_tidy_value(ps_capture_fact(e->c, "schedule"), &is_json);
    j->out->failed = j->out->failed || (is_json && schedule == NULL); /* memory is out */
    ps_json_line(j, 8);
    ps_json_key(j, "common_config");
    ps_json_object(j);
    put_member(j, "activities", config, e->host_backend ? "[\"CPU\"]" : "[\"CPU\", \"GPU\"]");
    ps_json_key(j, "schedule");
    const char *text = schedule != NULL ? schedule : "null";
    ps_json_raw(j, text, strlen(text));
    ps_free(schedule);
    static const char *const SWITCHES[] = {"record_shapes", "profile_memory", "with_stack",
                                           "with_flops", "with_modules"};
    for (size_t i = 0; i < sizeof SWITCHES / sizeof *SWITCHES; i++) {
        put_member(j, SWITCHES[i], config, "false");
    }
    ps_json_close(j);
}

static void put_experimental_config(ps_json *j, const ps_literal *session) {
    char level_name[32] = "Level_none";
    int64_t level = -1;
    if (ps_literal_int(ps_literal_get(session, "level"), &level) && level >= 0) {
        (void)snprintf(level_name, sizeof level_name, "Level%" PRId64, level);
    }
    const ps_literal *options = ps_literal_get(session, "config");
    ps_json_line(j, 8);
    ps_json_key(j, "experimental_config");
    ps_json_object(j);
    ps_json_key_str(j, "_profiler_level", level_name);
    ps_json_key(j, "_options");
    ps_json_raw(j, options != NULL ? options->begin : "{}",
                options != NULL ? options->source_len : 2);
    ps_json_close(j);
}

/* When it began and ended; also of a process that did not end, as far as it is known. */
static void put_profile_span(ps_json *j, const ps_export *e, int64_t start_ns, int64_t end_ns,
                             bool ended) {
    const ps_clock_line *clock = ps_capture_clock(e->c);
    ps_json_line(j, 4);
    ps_json_key(j, "start_info");
    ps_json_object(j);
    ps_json_key_bool(j, "syscnt_enable", false);
    ps_json_key_int(j, "freq", 100);
    ps_json_key_int(j, "start_cnt", 0);
    ps_json_key_int(j, "start_monotonic",
                    ps_i64_plus(clock->mono_ns, ps_i64_minus(start_ns, clock->real_ns)));
    ps_json_close(j);
    if (ended) {
        ps_json_line(j, 4);
        ps_json_key(j, "end_info");
        ps_json_object(j);
        ps_json_key_int(j, "collectionTimeEnd", end_ns);
        ps_json_key_int(j, "MonotonicTimeEnd",
                        ps_i64_plus(clock->mono_ns, ps_i64_minus(end_ns, clock->real_ns)));
        ps_json_close(j);
    }
}

static void add_info(const ps_export *e, ps_arena *arena, ps_buf *out) {
    const char *session = ps_capture_fact(e->c, "session");
    const ps_literal *doc = ps_literal_parse(arena, session, strlen(session), NULL);
    int64_t start_ns, end_ns;
    bool ended;
    ps_capture_span(e->c, &start_ns, &end_ns, &ended);
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_line(&j, 4);
    ps_json_key(&j, "config");
    ps_json_object(&j);
    put_common_config(&j, e, ps_literal_get(doc, "config"));
    put_experimental_config(&j, doc);
    ps_json_line(&j, 4);
    ps_json_close(&j);
    put_profile_span(&j, e, start_ns, end_ns, ended);
    const char *world_size = ps_capture_fact(e->c, "world_size");
    if (world_size[0] != '\0') {
        ps_json_line(&j, 4);
        ps_json_key(&j, "world_size");
        ps_json_raw(&j, world_size, strlen(world_size));
    }
    ps_json_line(&j, 4);
    ps_json_key_str(&j, "torch_npu_version", "");
    ps_json_line(&j, 4);
    ps_json_key_str(&j, "cann_version", "");
    ps_json_line(&j, 4);
    ps_json_key_int(&j, "rank_id", e->rank);
    ps_json_line(&j, 4);
    ps_json_key(&j, "collector");
    ps_json_object(&j);
    ps_json_key_str(&j, "version", PIPESCOPE_VERSION);
    ps_json_key_str(&j, "backend", e->backend);
    put_member(&j, "launch", doc, "\"\"");
    ps_json_key_int(&j, "start_ns", start_ns);
    ps_json_key_int(&j, "end_ns", end_ns);
    ps_json_close(&j);
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
}

static ps_code write_buf(ps_arena *arena, const char *dir, const char *name, const ps_buf *text,
                         ps_err *err) {
    const char *path = ps_path_join(arena, dir, name);
    if (path == NULL || !ps_buf_ok(text)) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_write_file(path, ps_buf_str(text), text->len, err);
    if (code == PS_OK) {
        (void)chmod(path, 0640);
    }
    return code;
}

static void info_name(const ps_export *e, char *out, size_t size) {
    (void)snprintf(out, size, e->rank < 0 ? "profiler_info.json" : "profiler_info_%" PRId64 ".json",
                   e->rank);
}

static ps_code write_both(ps_export *e, ps_arena *arena, const char *profile_dir, ps_buf *text,
                          ps_err *err) {
    ps_json j = ps_json_spaced_to(text);
    ps_json_object(&j);
    ps_code code = ps_profile_each_metadata(e->c, add_metadata, &j, err);
    ps_json_line(&j, 0);
    ps_json_close(&j);
    ps_buf_add_char(text, '\n');
    if (code == PS_OK) {
        code = write_buf(arena, profile_dir, "profiler_metadata.json", text, err);
    }
    if (code == PS_OK) {
        char name[64];
        info_name(e, name, sizeof name);
        ps_buf_clear(text);
        add_info(e, arena, text);
        code = write_buf(arena, profile_dir, name, text, err);
    }
    return code;
}

void ps_profile_remove_json(const ps_export *e, const char *profile_dir) {
    char name[64];
    char path[4200];
    info_name(e, name, sizeof name);
    (void)snprintf(path, sizeof path, "%s/%s", profile_dir, name);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/profiler_metadata.json", profile_dir);
    (void)unlink(path);
}

ps_code ps_profile_write_json(ps_export *e, const char *profile_dir, ps_err *err) {
    ps_arena arena;
    ps_buf text;
    ps_arena_init(&arena);
    ps_buf_init(&text, 0);
    ps_code code = write_both(e, &arena, profile_dir, &text, err);
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    if (code != PS_OK) {
        ps_profile_remove_json(e, profile_dir);
    }
    return code;
}
