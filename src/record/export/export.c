#include "record/export/export.h"
#include "record/export/failure.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "record/export/export_csv.h"
#include "record/export/export_tables.h"
#include "record/export/export_trace_view.h"

static const uint8_t LOST[PS_N_DROPS] = {
#define X(name, key, text, lost) lost,
#include "record/ring/drops.def"
#undef X
};

/* --- one export --------------------------------------------------------------------------------------------------- */

static ps_code begin_export(ps_export *e, ps_err *err) {
    const ps_spool_header *h = ps_capture_header(e->c);
    const char *backend = ps_capture_fact(e->c, "backend");
    ps_texts_init(&e->strings);
    e->pid = h->pid;
    e->rank = h->rank;
    e->device_id = e->options->device_id;
    e->backend = backend[0] != '\0' ? backend : "host";
    e->host_backend = strcmp(e->backend, "host") == 0;
    e->cupti_backend = strcmp(e->backend, "cupti") == 0;
    e->string_of_text = ps_calloc((size_t)ps_capture_text_count(e->c) + 1, sizeof(uint32_t));
    e->string_of_kernel = ps_calloc((size_t)ps_capture_text_count(e->c) + 1, sizeof(uint32_t));
    bool ok = e->string_of_text != NULL && e->string_of_kernel != NULL &&
              ps_grow(&e->streams, &e->cap_streams, 1, UINT32_MAX, sizeof *e->streams);
    if (ok) {
        e->streams[0] = (ps_stream_entry){.handle = 1};
        e->n_streams = 1;
    }
    return ok && ps_number_operators(e) && ps_comm_find(e->c, &e->comm) ? PS_OK
                                                                        : ps_fail_nomem(err);
}

static void end_export(ps_export *e) {
    ps_database_drop(&e->db);
    ps_texts_fini(&e->strings);
    ps_free(e->string_of_text);
    ps_free(e->string_of_kernel);
    ps_comm_free(&e->comm);
    ps_free(e->operator_number);
    ps_free(e->projected);
    ps_free(e->streams);
    ps_free(e->tasks);
}

static void count_export(ps_export *e) {
    ps_export_result *r = e->result;
    r->n_ops = e->n_operators;
    r->damaged_bytes = ps_capture_damaged_bytes(e->c, r->damage, sizeof r->damage);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        r->drops[i] = ps_capture_drops(e->c, i);
        r->n_dropped += LOST[i] ? r->drops[i] : 0;
    }
}

static ps_code fill_database(ps_export *e, ps_err *err) {
    ps_code code = ps_fill_marks(e, err);
    if (code == PS_OK) {
        code = ps_make_tasks(e, err);
    }
    if (code == PS_OK) {
        code = ps_fill_tasks(e, err);
    }
    if (code == PS_OK && ps_capture_device(e->c)->n > 0) {
        code = ps_fill_communication(e, err);
    }
    if (code == PS_OK && e->n_operators > 0) {
        code = ps_fill_operators(e, err);
    }
    if (code == PS_OK) {
        code = ps_fill_strings(e, err);
    }
    return code == PS_OK ? ps_fill_facts(e, err) : code;
}

static ps_code write_database(ps_export *e, const char *profile_dir, ps_err *err) {
    char name[96];
    (void)snprintf(name, sizeof name,
                   e->rank < 0 ? "ascend_pytorch_profiler.db"
                               : "ascend_pytorch_profiler_%" PRId64 ".db",
                   e->rank);
    char *path = e->result->database;
    int n = snprintf(path, sizeof e->result->database, "%s/ASCEND_PROFILER_OUTPUT", profile_dir);
    if (n < 0 || (size_t)n + 1 + sizeof name >= sizeof e->result->database) {
        return ps_fail_file(err, PS_IO, profile_dir, "the path is too long");
    }
    struct stat st;
    if (mkdir(path, 0750) != 0 && errno != EEXIST) {
        return ps_fail_system(err, path, "cannot make the folder", errno);
    }
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return ps_fail_file(err, PS_IO, path, "not a folder of its own: a link, or a file");
    }
    (void)snprintf(path + n, sizeof e->result->database - (size_t)n, "/%s", name);
    ps_database_tables tables = {.device = ps_capture_device(e->c)->n > 0,
                                 .operators = e->n_operators > 0};
    ps_code code = ps_database_open(&e->db, path, tables, err);
    return code == PS_OK ? fill_database(e, err) : code;
}

/* What lies beside the database. Its name comes last: where it is, all is. */
static ps_code write_others(ps_export *e, const char *profile_dir, ps_err *err) {
    char text[4096];
    char dir[4096];
    int n = snprintf(dir, sizeof dir, "%s/ASCEND_PROFILER_OUTPUT", profile_dir);
    int n_text =
        snprintf(text, sizeof text, "%s/ASCEND_PROFILER_OUTPUT/trace_view.json", profile_dir);
    if (n < 0 || n_text < 0 || (size_t)n_text >= sizeof text) {
        return ps_fail_file(err, PS_IO, profile_dir, "the path is too long");
    }
    ps_code code = e->options->text ? ps_trace_view_write(e, text, err) : PS_OK;
    code = code == PS_OK && e->options->text ? ps_csv_write(e, dir, err) : code;
    if (code == PS_OK) {
        code = ps_profile_write_json(e, profile_dir, err);
    }
    if (code == PS_OK) {
        code = ps_database_publish(&e->db, err);
        if (code != PS_OK) {
            ps_profile_remove_json(e, profile_dir);
        }
    }
    if (code != PS_OK && e->options->text) {
        (void)unlink(text);
        ps_csv_remove(dir);
    }
    return code;
}

ps_code ps_export_capture(const ps_capture *c, const char *profile_dir,
                          const ps_export_options *options, ps_export_result *result, ps_err *err) {
    static const ps_export_options DEFAULTS = {.nvtx_push_pop_type = 2};
    *result = (ps_export_result){.n_ranges = 0};
    ps_export e = {.c = c, .options = options != NULL ? options : &DEFAULTS, .result = result};
    if (ps_capture_events(c)->n == 0 && ps_capture_steps(c)->n == 0 &&
        ps_capture_device(c)->n == 0) {
        return ps_fail_file(err, PS_NOTHING, profile_dir, "nothing was recorded");
    }
    ps_code code = begin_export(&e, err);
    if (code == PS_OK) {
        count_export(&e);
        code = write_database(&e, profile_dir, err);
    }
    if (code == PS_OK) {
        code = ps_database_finish(&e.db, err);
    }
    if (code == PS_OK) {
        code = write_others(&e, profile_dir, err);
    }
    result->n_rows = e.db.n_rows;
    if (code != PS_OK) {
        result->database[0] = '\0';
    }
    end_export(&e);
    return code;
}

/* --- raw files ---------------------------------------------------------------------------------------------------- */

static bool is_raw_file(const char *name) {
    return strcmp(name, "events.spool") == 0 || ps_ends_with(name, ".ring");
}

void ps_export_remove_raw(const char *profile_dir) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/FRAMEWORK", profile_dir);
    struct stat st;
    if (n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return;
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_raw_file(entry->d_name)) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    (void)closedir(dir);
    (void)rmdir(path);
}
