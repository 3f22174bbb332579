/* Text exports of the Ascend PyTorch and MindSpore profilers and of msprof: trace_view.json or msprof_*.json, and the
 * CSV and JSON files beside it.
 *
 *   [{"ph":"X","name":"aten::empty","pid":3096504,"tid":3096504,"ts":"1736408883688177.930","dur":145.57,"cat":"cpu_op",...},
 *
 * Where only the tables are there, the file that is named is one of them, and the slices are made of them
 * (ascend_text_tables.c).
 *
 * Order: kernel_details first, because its rows become arguments while slices are added; then the events; then what
 * stands for itself. */
#include "read/ascend_text/ascend_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"

/* --- recognising -------------------------------------------------------------------------------------------- */

static bool ascend_text_contains(const unsigned char *head, size_t n, const char *text) {
    return memmem(head, n, text, strlen(text)) != NULL;
}

/* Times as strings ("ts": "17..."), which no other writer of trace events has. */
static bool has_text_times(const unsigned char *head, size_t n) {
    const unsigned char *end = head + n;
    for (const unsigned char *p = head; (p = memmem(p, (size_t)(end - p), "\"ts\"", 4)) != NULL;) {
        p += 4;
        while (p < end && (*p == ' ' || *p == ':')) {
            p++;
        }
        if (p + 1 < end && p[0] == '"' && p[1] >= '0' && p[1] <= '9') {
            return true;
        }
    }
    return false;
}

static int sniff_ascend_text(const char *path, const unsigned char *head, size_t n) {
    static const char *const OWN[] = {
        "\"Ascend Hardware\"",  "\"Overlap Analysis\"",   "\"async_npu\"",
        "\"async_task_queue\"", "\"HostToDevice\"",       "\"AscendCL@",
        "\"Physic Stream Id\"", "\"enqueue_to_dequeue\"", "\"CANN\"",
        "\"Acc PMU\"",          "\"Stars Soc Info\"",     "\"NPU MEM\""};
    (void)path;
    if (ps_ascend_table_of(head, n) != NULL) {
        return 80;
    }
    size_t at = n >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < n &&
           (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t')) {
        at++;
    }
    if (at == n || (head[at] != '[' && head[at] != '{') ||
        !ascend_text_contains(head, n, "\"ph\"")) {
        return 0;
    }
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) {
        if (ascend_text_contains(head, n, OWN[i])) {
            return 90;
        }
    }
    bool is_framework = ascend_text_contains(head, n, "\"Fwd thread id\"") ||
                        ascend_text_contains(head, n, "\"cpu_op\"") ||
                        ascend_text_contains(head, n, "\"python_function\"");
    return is_framework && has_text_times(head, n) ? 90 : 0;
}

/* --- ranks -------------------------------------------------------------------------------------------------- */

/* "rank0_ascend_pt", "rank_3": the last number behind the word; -1 when there is none. */
static int64_t rank_in_name(const char *name) {
    int64_t rank = -1;
    for (const char *p = name; (p = strstr(p, "rank")) != NULL;) {
        p += 4;
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        int64_t value = -1;
        if (ps_parse_i64(digits, strspn(digits, "0123456789"), &value)) {
            rank = value;
        }
    }
    return rank;
}

static ps_code ascend_text_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n,
                                 ps_err *err) {
    ps_src src = {.path = path};
    ps_ascend_places places;
    ps_ascend_profile profile = {.rank = -1};
    ps_code code = ps_ascend_places_find(&src, arena, &places, err);
    if (code == PS_OK) {
        code = ps_ascend_profile_read(places.rank_dir, &profile, NULL, err);
    }
    *out = code == PS_OK ? ps_arena_alloc(arena, sizeof **out) : NULL;
    if (*out == NULL) {
        return code != PS_OK ? code : ps_fail_nomem(err);
    }
    const char *folder = places.rank_dir;
    if (folder == NULL && places.is_output) {
        folder = ps_path_dir(arena, places.dir);
    } else if (folder == NULL && places.own_table != NULL) {
        folder = places.dir;
    }
    int64_t rank = profile.rank;
    if (rank < 0 && folder != NULL) {
        rank = rank_in_name(ps_path_base(folder));
    }
    **out = (ps_part){.rank = rank, .host = "", .machine = -1};
    *n = 1;
    return PS_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

static ps_code read_kernels(ps_ascend_text *r, const ps_ascend_files *files, ps_err *err) {
    const ps_ascend_csv *csv = ps_ascend_files_kernels(files);
    if (csv == NULL || (r->needs & PS_NEED_ARGS) == 0) {
        return PS_OK;
    }
    bool is_useless = false;
    r->kernels = ps_ascend_kernels_new(csv, r->builder, &is_useless);
    if (r->kernels == NULL && !is_useless) {
        return ps_fail_nomem(err);
    }
    if (is_useless && csv->table->n_rows > 0) {
        ps_diag_add(r->diag, PS_ODD_TABLE_ROW, "%s.csv lacks names or times", csv->table->name);
    }
    return PS_OK;
}

static ps_code read_events(ps_ascend_text *r, const ps_src *src, ps_err *err) {
    ps_input *in = ps_input_open(src->path, err);
    if (in == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    ps_input_watch(in, src->watch);
    ps_event_stats stats = {0};
    ps_code code = ps_ascend_text_events(r, in, src->n_threads, &stats, err);
    ps_input_close(in);
    return code;
}

/* `is_table`: what was named is a table that stands for all of the rank, for there is no trace. */
static ps_code read_ascend_text_rank(ps_ascend_text *r, const ps_src *src, bool is_table,
                                     ps_ascend_files *files, ps_err *err) {
    const uint32_t timeline = PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |
                              PS_NEED_COMM_MARKS | PS_NEED_INVENTORY | PS_NEED_SLICES |
                              PS_NEED_FLOWS | PS_NEED_COUNTERS;
    ps_code code = is_table ? PS_OK : read_kernels(r, files, err);
    if (code == PS_OK && (r->needs & timeline) != 0) {
        code = is_table ? ps_ascend_tables_timeline(r, files, err) : read_events(r, src, err);
    }
    if (code == PS_OK && r->kernels != NULL) {
        ps_ascend_kernels_finish(r->kernels, r->diag, ps_ascend_files_kernels(files)->table->title);
    }
    if (code == PS_OK && (r->needs & PS_NEED_INVENTORY) != 0) {
        code = ps_ascend_files_facts(files, r->builder, err);
    }
    return code;
}

static ps_code stamp(const ps_src *src, ps_builder *b, ps_err *err) {
    ps_file_stamp stamp = {0};
    if (strcmp(src->path, "-") == 0) {
        return PS_OK;
    }
    ps_code code = ps_file_identify(src->path, &stamp.file, err);
    ps_builder_stamp(b, stamp);
    return code;
}

static ps_code read_text(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_arena arena = {0};
    ps_ascend_places places;
    ps_ascend_files *files = NULL;
    ps_ascend_text r;
    ps_code code = ps_ascend_text_init(&r, b, needs) ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? stamp(src, b, err) : code;
    code = code == PS_OK ? ps_ascend_places_find(src, &arena, &places, err) : code;
    if (code == PS_OK && (needs & PS_NEED_META) != 0) {
        code = ps_ascend_metadata(places.rank_dir, b, err);
        code = code == PS_OK ? ps_ascend_device_facts(places.rank_dir, b, err) : code;
    }
    if (code == PS_OK) {
        files = ps_ascend_files_open(&places, needs, b, err);
        code = files != NULL ? read_ascend_text_rank(&r, src, places.own_table != NULL, files, err)
                             : PS_NOMEM;
    }
    if (code == PS_OK) {
        bool has_comm_ops = ps_ascend_text_has_groups(&r) || r.has_comm_rows;
        code = ps_ascend_files_finish(files, has_comm_ops, b, err);
    }
    ps_ascend_kernels_free(r.kernels);
    ps_ascend_text_fini(&r);
    ps_ascend_files_close(files);
    ps_arena_fini(&arena);
    return code;
}

const ps_reader ps_reader_ascend_text = {
    .name = "ascend-text",
    .profiler = "Ascend",
    .summary = "Ascend PyTorch / MindSpore profiler and msprof text export (trace_view.json, CSV)",
    .sniff = sniff_ascend_text,
    .parts = ascend_text_parts,
    .read = read_text,
};
