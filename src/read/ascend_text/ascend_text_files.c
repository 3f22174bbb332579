/* The files beside the trace: CSV tables, communication.json, communication_matrix.json, profiler_info. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/input.h"
#include "base/num.h"
#include "base/text.h"
#include "model/recording.h"
#include "read/ascend/ascend_comm_json.h"
#include "read/ascend/ascend_tables.h"
#include "read/ascend/csv.h"
#include "read/ascend_text/ascend_text.h"

#define MAX_JSON_BYTES ((size_t)1 << 30)
#define MAX_FILES ((size_t)4096)

typedef struct csv_file {
    const char *name, *path;
    char table[208];
    ps_ascend_csv csv; /* table NULL: not read, or given away */
} csv_file;

struct ps_ascend_files {
    ps_arena arena;
    ps_ascend_places places;
    ps_ascend_profile profile;
    uint32_t needs;
    const char **names; /* in the folder */
    size_t n_names;
    csv_file *csvs;
    size_t n_csvs, cap_csvs;
    csv_file *kernels; /* kernel_details or op_summary, NULL */
    csv_file *tasks;   /* task_time, NULL */
    csv_file *steps;   /* step_trace_time or step_trace, NULL */
    bool has_comm;     /* communication.json is with the builder already */
};

/* --- places ------------------------------------------------------------------------------------------------- */

static bool is_output_dir(const char *dir) {
    const char *name = ps_path_base(dir);
    return strcmp(name, "ASCEND_PROFILER_OUTPUT") == 0 ||
           strcmp(name, "mindstudio_profiler_output") == 0;
}

/* The folder itself or one of the two above it that holds profiler_info. A raw folder lies inside that of the rank. */
static ps_code find_rank_dir(const char *dir, bool is_output, ps_arena *arena, const char **out,
                             ps_err *err) {
    const char *at = dir;
    for (int up = 0; up <= (is_output ? 2 : 0); up++) {
        ps_ascend_profile profile;
        ps_code code = ps_ascend_profile_read(at, &profile, NULL, err);
        if (code != PS_OK) {
            return code;
        }
        if (profile.is_there) {
            *out = at;
            return PS_OK;
        }
        at = ps_path_dir(arena, at);
        if (at == NULL) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

/* Whether the file that was named is a table itself. A file that cannot be read shows where it is opened. */
static ps_code find_own_table(const char *path, ps_arena *arena, ps_ascend_places *out,
                              ps_err *err) {
    ps_err odd = PS_ERR_INIT;
    size_t n = 0;
    unsigned char *head = ps_alloc(PS_HEAD_BYTES);
    if (head == NULL) {
        return ps_fail_nomem(err);
    }
    if (ps_input_head(path, head, PS_HEAD_BYTES, &n, &odd) == PS_OK) {
        out->own_table = ps_ascend_table_of(head, n);
    }
    ps_free(head);
    if (odd.code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    out->own_path = out->own_table != NULL ? ps_arena_strndup(arena, path, strlen(path)) : NULL;
    return out->own_table == NULL || out->own_path != NULL ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_ascend_places_find(const ps_src *src, ps_arena *arena, ps_ascend_places *out,
                              ps_err *err) {
    *out = (ps_ascend_places){.rank_dir = src->rank_dir};
    if (strcmp(src->path, "-") == 0) {
        return PS_OK;
    }
    const char *name = ps_path_base(src->path);
    const char *dir = ps_path_dir(arena, src->path);
    if (dir == NULL) {
        return ps_fail_nomem(err);
    }
    out->is_output = is_output_dir(dir);
    ps_code code = find_own_table(src->path, arena, out, err);
    if (code != PS_OK) {
        return code;
    }
    /* A trace under another name in a folder of any kind says nothing about its neighbours. */
    const char *main_table = out->own_table != NULL ? ps_ascend_tables_main(&name, 1) : NULL;
    bool has_siblings = out->is_output || src->rank_dir != NULL ||
                        ps_begins_with(name, "trace_view") || ps_begins_with(name, "msprof_") ||
                        main_table != NULL;
    out->dir = has_siblings ? dir : NULL;
    return has_siblings && src->rank_dir == NULL
               ? find_rank_dir(dir, out->is_output, arena, &out->rank_dir, err)
               : PS_OK;
}

/* --- tables ------------------------------------------------------------------------------------------------- */

/* Tables that are looked for where not every file need belong to the rank. */
static bool is_known_table(const char *table) {
    static const char *const NAMES[] = {"kernel_details",
                                        "operator_details",
                                        "op_statistic",
                                        "api_statistic",
                                        "step_trace_time",
                                        "step_trace",
                                        "memory_record",
                                        "operator_memory",
                                        "npu_module_mem",
                                        "npu_mem",
                                        "l2_cache",
                                        "data_preprocess",
                                        "nic",
                                        "roce",
                                        "pcie",
                                        "hccs",
                                        "dataset",
                                        "op_summary",
                                        "task_time",
                                        "fusion_op",
                                        "communication_statistic"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(table, NAMES[i]) == 0) {
            return true;
        }
    }
    return ps_begins_with(table, "minddata_");
}

static bool is_kernels(const char *table) {
    return strcmp(table, "kernel_details") == 0 || strcmp(table, "op_summary") == 0;
}

static bool is_statistic(const char *table) {
    return strcmp(table, "step_trace_time") == 0;
}

/* Sums over a capture that stand for what is not there one by one. */
static bool is_sum(const char *table) {
    return strcmp(table, "op_statistic") == 0 || strcmp(table, "api_statistic") == 0;
}

/* Of what a timeline is made where there is none, and what modes take in its place. */
static bool is_ascend_file_of_timeline(const char *table) {
    return strcmp(table, "task_time") == 0 || strcmp(table, "step_trace") == 0 ||
           is_statistic(table) || is_kernels(table) || is_sum(table);
}

static bool is_memory(const char *table) {
    return strcmp(table, "memory_record") == 0 || strcmp(table, "npu_module_mem") == 0;
}

static bool is_table_taken(const ps_ascend_files *f, const char *table) {
    for (size_t i = 0; i < f->n_csvs; i++) {
        if (strcmp(f->csvs[i].table, table) == 0) {
            return true;
        }
    }
    return false;
}

/* Some other part of the table comes before this one. */
static bool is_later_part(const ps_ascend_files *f, const char *name) {
    int64_t part = ps_ascend_csv_part(name);
    for (size_t i = 0; part >= 0 && i < f->n_names; i++) {
        if (ps_ascend_csv_same_parts(name, f->names[i]) && ps_ascend_csv_part(f->names[i]) < part) {
            return true;
        }
    }
    return false;
}

static const char *next_part(const ps_ascend_files *f, const char *name, int64_t after,
                             int64_t *part) {
    const char *next = NULL;
    for (size_t i = 0; i < f->n_names; i++) {
        int64_t here = ps_ascend_csv_part(f->names[i]);
        if (here > after && (next == NULL || here < *part) &&
            ps_ascend_csv_same_parts(name, f->names[i])) {
            next = f->names[i];
            *part = here;
        }
    }
    return next;
}

/* The parts behind the first one, by their numbers; one that is not there is counted. */
static ps_code add_ascend_file_parts(ps_ascend_files *f, const char *name, ps_ascend_csv_src *src,
                                     ps_diag *diag, ps_err *err) {
    int64_t last = ps_ascend_csv_part(name);
    size_t n = 0;
    const char **paths = NULL;
    if (last < 0 || f->places.dir == NULL) {
        return PS_OK;
    }
    paths = ps_arena_alloc(&f->arena, f->n_names * sizeof *paths);
    if (last > 0) {
        ps_diag_add(diag, PS_ODD_TABLE_MISSING, "parts of the table before %s", name);
    }
    int64_t part = 0;
    const char *next = NULL;
    while (paths != NULL && (next = next_part(f, name, last, &part)) != NULL) {
        if (part > last + 1) {
            ps_diag_add(diag, PS_ODD_TABLE_MISSING, "parts of the table before %s", next);
        }
        paths[n] = ps_path_join(&f->arena, f->places.dir, next);
        paths = paths[n++] != NULL ? paths : NULL;
        last = part;
    }
    src->more = paths;
    src->n_more = n;
    return paths != NULL ? PS_OK : ps_fail_nomem(err);
}

/* `path` NULL: the file of this name in the folder. */
static ps_code add_csv(ps_ascend_files *f, const char *name, const char *path, ps_diag *diag,
                       ps_err *err) {
    csv_file file = {.name = name,
                     .path = path != NULL ? path : ps_path_join(&f->arena, f->places.dir, name)};
    if (file.path == NULL ||
        !ps_grow(&f->csvs, &f->cap_csvs, f->n_csvs + 1, MAX_FILES + 1, sizeof *f->csvs)) {
        return ps_fail_nomem(err);
    }
    if (path != NULL) {
        (void)snprintf(file.table, sizeof file.table, "%s", f->places.own_table);
    } else {
        ps_ascend_csv_table_name(name, file.table, sizeof file.table);
    }
    if (is_table_taken(f, file.table)) { /* another export */
        (void)snprintf(file.table, sizeof file.table, "%.*s", (int)(strlen(name) - 4), name);
    }
    bool is_wanted = (f->needs & PS_NEED_TABLES) != 0 ||
                     ((f->needs & PS_NEED_STATISTICS) != 0 && is_statistic(file.table)) ||
                     ((f->needs & PS_NEED_ARGS) != 0 && is_kernels(file.table)) ||
                     ((f->needs & PS_NEED_COUNTERS) != 0 && is_memory(file.table)) ||
                     (f->places.own_table != NULL && is_ascend_file_of_timeline(file.table));
    is_wanted = is_wanted && (f->places.is_output || is_known_table(file.table));
    ps_path_kind kind = PS_PATH_NONE;
    ps_code code = is_wanted ? ps_path_look(file.path, &kind, err) : PS_OK;
    if (code == PS_IO || kind != PS_PATH_FILE) {
        return code == PS_NOT_FOUND ? PS_OK : code; /* a link that leads nowhere is no table */
    }
    ps_ascend_csv_src src = {.path = file.path};
    code = add_ascend_file_parts(f, name, &src, diag, err);
    if (code == PS_OK) {
        code = ps_ascend_csv_read(&src, file.table, diag, &file.csv, err);
    }
    if (code == PS_OK) {
        f->csvs[f->n_csvs++] = file;
    }
    return code;
}

static csv_file *first_csv(const ps_ascend_files *f, const char *table) {
    for (size_t i = 0; i < f->n_csvs; i++) {
        if (f->csvs[i].csv.table != NULL && strcmp(f->csvs[i].table, table) == 0) {
            return &f->csvs[i];
        }
    }
    return NULL;
}

static csv_file *first_of_two(const ps_ascend_files *f, const char *table, const char *other) {
    csv_file *first = first_csv(f, table);
    return first != NULL ? first : first_csv(f, other);
}

static void name_csvs(ps_ascend_files *f) {
    f->kernels = first_of_two(f, "kernel_details", "op_summary");
    f->tasks = first_csv(f, "task_time");
    f->steps = first_of_two(f, "step_trace_time", "step_trace");
}

static ps_code read_csvs(ps_ascend_files *f, ps_diag *diag, ps_err *err) {
    const uint32_t some = PS_NEED_TABLES | PS_NEED_STATISTICS | PS_NEED_ARGS | PS_NEED_COUNTERS;
    bool is_csv = f->places.own_table != NULL && !ps_ends_with(f->places.own_path, ".json");
    if (f->places.dir == NULL && is_csv) {
        const char *path = f->places.own_path;
        ps_code code = add_csv(f, ps_path_base(path), path, diag, err);
        name_csvs(f);
        return code;
    }
    if (f->places.dir == NULL || ((f->needs & some) == 0 && f->places.own_table == NULL)) {
        return PS_OK;
    }
    ps_code code = ps_list_dir(f->places.dir, &f->arena, &f->names, &f->n_names, err);
    for (size_t i = 0; code == PS_OK && i < f->n_names && f->n_csvs < MAX_FILES; i++) {
        if (ps_ends_with(f->names[i], ".csv") && !is_later_part(f, f->names[i])) {
            code = add_csv(f, f->names[i], NULL, diag, err);
        }
    }
    name_csvs(f);
    return code;
}

ps_ascend_files *ps_ascend_files_open(const ps_ascend_places *places, uint32_t needs, ps_builder *b,
                                      ps_err *err) {
    ps_ascend_files *f = ps_calloc(1, sizeof *f);
    if (f == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    f->places = *places;
    f->needs = needs;
    ps_diag *diag = ps_builder_diag(b);
    ps_code code = PS_OK;
    if ((needs & (PS_NEED_TABLES | PS_NEED_INVENTORY)) != 0) {
        code = ps_ascend_profile_read(places->rank_dir, &f->profile, diag, err);
    }
    if (code == PS_OK) {
        code = read_csvs(f, diag, err);
    }
    if (code != PS_OK) {
        ps_ascend_files_close(f);
        return NULL;
    }
    return f;
}

void ps_ascend_files_close(ps_ascend_files *f) {
    if (f != NULL) {
        for (size_t i = 0; i < f->n_csvs; i++) {
            ps_table_free(f->csvs[i].csv.table);
        }
        ps_free(f->csvs);
        ps_arena_fini(&f->arena);
        ps_free(f);
    }
}

const ps_ascend_csv *ps_ascend_files_kernels(const ps_ascend_files *f) {
    return f->kernels != NULL ? &f->kernels->csv : NULL;
}

/* --- communication ------------------------------------------------------------------------------------------ */

static ps_code read_comm(ps_ascend_files *f, const char *name, bool is_matrix, ps_builder *b,
                         ps_err *err) {
    ps_buf text;
    ps_buf_init(&text, MAX_JSON_BYTES);
    const char *own = f->places.own_table;
    bool is_own = f->places.dir == NULL && own != NULL &&
                  strcmp(own, is_matrix ? "communication_matrix" : "communication") == 0;
    const char *path = is_own                  ? f->places.own_path
                       : f->places.dir != NULL ? ps_path_join(&f->arena, f->places.dir, name)
                                               : "";
    ps_code code = path != NULL ? PS_OK : ps_fail_nomem(err);
    bool is_there = false;
    code =
        code == PS_OK ? ps_read_file_if_there(path, MAX_JSON_BYTES, &text, &is_there, err) : code;
    if (code == PS_RANGE) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_FILE, "%s: %s", name, err->msg);
        code = PS_OK;
    } else if (code == PS_OK && is_there) {
        code = ps_ascend_comm_json(name, ps_buf_str(&text), text.len, is_matrix, b, err);
    }
    ps_buf_fini(&text);
    return code;
}

/* --- tables in place of a timeline ---------------------------------------------------------------------------- */

static bool has_name(const ps_ascend_files *f, const char *name) {
    for (size_t i = 0; i < f->n_names; i++) {
        if (strcmp(f->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_msprof(const ps_ascend_files *f) {
    return f->kernels == NULL ? f->tasks != NULL : strcmp(f->kernels->table, "op_summary") == 0;
}

/* Files of a rank, and what nobody can tell without them; of msprof where its tables are the ones that are there. */
static const struct {
    const char *file, *of_msprof;
    ps_said tells;
} TELLING[] = {
    {"trace_view.json",
     "msprof_*.json",
     {{"the host, launches, copies, marks, clock frequencies",
       "主机、下发、拷贝、打点、时钟频率"}}},
    {"kernel_details.csv", "op_summary_*.csv", {{"kernels and their times", "核函数及其时间"}}},
    {"step_trace_time.csv", "step_trace_*.csv", {{"when steps began", "step 何时开始"}}},
    {"communication.json", NULL, {{"waits and bandwidths of communication", "通信的等待与带宽"}}},
    {"communication_matrix.json", NULL, {{"links between ranks", "rank 之间的链路"}}},
    {"operator_details.csv", NULL, {{"time of operators on the host", "算子在主机上的时间"}}},
    {"api_statistic.csv", "api_statistic_*.csv", {{"calls of the driver", "驱动调用"}}},
};
enum { N_OF_ANALYSES = 5 }; /* of these the first: what modes take their facts from */

static bool has_telling(const ps_ascend_files *f, const char *file) {
    char table[208];
    (void)snprintf(table, sizeof table, "%.*s", (int)strcspn(file, "*."), file);
    size_t n = strlen(table);
    table[n - (n > 0 && table[n - 1] == '_' ? 1 : 0)] = '\0';
    bool is_json = ps_ends_with(file, ".json");
    for (size_t i = 0; i < f->n_csvs && !is_json; i++) {
        if (strcmp(f->csvs[i].table, table) == 0) {
            return true;
        }
    }
    return is_json && (has_name(f, file) ||
                       (f->places.own_table != NULL && strcmp(f->places.own_table, table) == 0));
}

/* "trace_view.json, communication_matrix.json": of what modes take their facts from. */
static bool name_absent(const ps_ascend_files *f, ps_buf *out) {
    bool of_msprof = is_msprof(f);
    for (size_t i = 0; i < N_OF_ANALYSES; i++) {
        const char *file = of_msprof ? TELLING[i].of_msprof : TELLING[i].file;
        if (file != NULL && !has_telling(f, file)) {
            ps_buf_addf(out, "%s%s", out->len > 0 ? ", " : "", file);
        }
    }
    return ps_buf_ok(out);
}

/* "NPU:3" in the first row of a table of memory; a rank has one device. -1 where none says. */
static ps_code find_ascend_file_device(const ps_ascend_files *f, const char *name, int64_t *out,
                                       ps_err *err) {
    ps_arena arena = {0};
    const char *path = f->places.dir != NULL ? ps_path_join(&arena, f->places.dir, name) : "";
    ps_err odd = PS_ERR_INIT;
    ps_path_kind kind = PS_PATH_NONE;
    if (path != NULL && ps_path_look(path, &kind, &odd) == PS_NOT_FOUND) {
        odd = PS_ERR_INIT; /* a link that leads nowhere */
    }
    ps_input *in = kind == PS_PATH_FILE ? ps_input_open(path, &odd) : NULL;
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row = {0};
    size_t column = SIZE_MAX;
    ps_code code = path == NULL ? PS_NOMEM : in == NULL ? odd.code : PS_OK;
    for (int line = 0; code == PS_OK && in != NULL && line < 2; line++) {
        code = ps_csv_next(&csv, &row, &odd);
        for (size_t i = 0; code == PS_OK && line == 0 && i < row.n; i++) {
            bool is_it = strncmp(row.cells[i].text, "Device", 6) == 0;
            column = is_it ? i : column;
        }
        bool has_cell = code == PS_OK && line == 1 && column < row.n;
        const char *cell = has_cell ? row.cells[column].text : NULL;
        if (cell != NULL && ps_begins_with(cell, "NPU:") &&
            !ps_parse_i64(cell + 4, row.cells[column].n - 4, out)) {
            *out = -1;
        }
    }
    ps_csv_fini(&csv);
    ps_input_close(in);
    ps_arena_fini(&arena);
    if (code == PS_IO && err != NULL) {
        *err = odd;
    }
    return code == PS_NOMEM ? ps_fail_nomem(err) : code == PS_IO ? PS_IO : PS_OK;
}

ps_code ps_ascend_files_tables(ps_ascend_files *f, ps_builder *b, ps_ascend_tables *out,
                               ps_err *err) {
    static const char *const NAMING_DEVICE[] = {"npu_module_mem.csv", "memory_record.csv"};
    ps_code code = read_comm(f, "communication.json", false, b, err);
    f->has_comm = true;
    *out = (ps_ascend_tables){.kernels = f->kernels != NULL ? &f->kernels->csv : NULL,
                              .tasks = f->tasks != NULL ? &f->tasks->csv : NULL,
                              .steps = f->steps != NULL ? f->steps->csv.table : NULL,
                              .comm = ps_builder_side_table_of(b, "communication"),
                              .device = -1};
    if (out->steps != NULL) { /* small, and the sums of steps are its own whoever asks */
        f->steps->csv.table = NULL;
        ps_builder_side_table(b, (ps_table *)out->steps);
    }
    for (size_t i = 0; code == PS_OK && out->device < 0 && i < 2; i++) {
        code = find_ascend_file_device(f, NAMING_DEVICE[i], &out->device, err);
    }
    ps_buf absent = {0};
    if (code == PS_OK && name_absent(f, &absent)) {
        ps_builder_meta(b, PS_TIMELINE_KEY, ps_buf_str(&absent));
    } else if (code == PS_OK) {
        code = ps_fail_nomem(err);
    }
    ps_buf_fini(&absent);
    ps_diag_add(
        ps_builder_diag(b), PS_ODD_TABLE_MISSING,
        "%s (slices are made of tables: the host, launches and copies are unknown, steps end with "
        "their last work)",
        is_msprof(f) ? TELLING[0].of_msprof : TELLING[0].file);
    if (f->kernels == NULL && f->tasks == NULL && out->steps != NULL) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_TABLE_MISSING,
                    "kernel_details.csv (times of steps are the profiler's own, of %s)",
                    out->steps->title);
    }
    return code;
}

/* --- what should be there ----------------------------------------------------------------------------------- */

/* -1 for a level that promises nothing. */
static int level_of(const ps_ascend_profile *p) {
    const char *digit = p->level + strcspn(p->level, "0123456789");
    return isdigit((unsigned char)*digit) ? *digit - '0' : -1;
}

static void name_missing(const ps_ascend_files *f, bool has_comm_ops, ps_diag *diag) {
    const ps_ascend_profile *p = &f->profile;
    int level = level_of(p);
    bool npu = p->npu || !p->has_activities;
    const struct {
        const char *file;
        bool is_due;
    } DUE[] = {
        {"kernel_details.csv", npu && level >= 0},
        {"step_trace_time.csv", npu && level >= 0},
        {"operator_details.csv", level >= 0 && (p->record_shapes || p->with_stack)},
        {"op_statistic.csv", npu && level >= 1},
        {"api_statistic.csv", npu && level >= 1},
        {"communication.json", has_comm_ops && level >= 1},
        {"communication_matrix.json", has_comm_ops && level >= 1},
        {"memory_record.csv", p->profile_memory && level >= 0},
        {"operator_memory.csv", p->profile_memory && level >= 0},
        {"npu_module_mem.csv", npu && p->profile_memory && level >= 0},
        {"l2_cache.csv", npu && p->l2_cache && level >= 0},
    };
    if (!p->is_there || !f->places.is_output) {
        return;
    }
    for (size_t i = 0; i < sizeof DUE / sizeof *DUE; i++) {
        if (DUE[i].is_due && !has_name(f, DUE[i].file)) {
            ps_diag_add(diag, PS_ODD_TABLE_MISSING, "%s", DUE[i].file);
        }
    }
}

ps_code ps_ascend_files_finish(ps_ascend_files *f, bool has_comm_ops, ps_builder *b, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t i = 0; i < f->n_csvs; i++) {
        ps_table *table = f->csvs[i].csv.table;
        if (table == NULL) {
            continue;
        }
        if ((f->needs & PS_NEED_COUNTERS) != 0) {
            ps_ascend_csv_counters(table, b);
        }
        if ((f->needs & PS_NEED_TABLES) != 0 ||
            (f->places.own_table != NULL && is_sum(table->name)) ||
            ((f->needs & PS_NEED_STATISTICS) != 0 && is_statistic(table->name))) {
            f->csvs[i].csv.table = NULL;
            ps_builder_side_table(b, table);
        }
    }
    if ((f->needs & (PS_NEED_TABLES | PS_NEED_STATISTICS)) != 0) {
        code = f->has_comm ? PS_OK : read_comm(f, "communication.json", false, b, err);
        code = code == PS_OK ? read_comm(f, "communication_matrix.json", true, b, err) : code;
    }
    if (code == PS_OK && (f->needs & PS_NEED_TABLES) != 0 && f->places.dir != NULL) {
        name_missing(f, has_comm_ops, ps_builder_diag(b));
    }
    return code == PS_OK && ps_builder_failed(b) ? ps_fail_nomem(err) : code;
}

void ps_ascend_say_missing(ps_lang lang, const char *fact, ps_buf *out) {
    if (lang == PS_ENGLISH) {
        ps_buf_addf(out, "%s%s", out->len > 0 ? "; " : "", fact);
        return;
    }
    for (size_t i = 0; i < sizeof TELLING / sizeof *TELLING; i++) {
        const char *files[] = {TELLING[i].file, TELLING[i].of_msprof};
        for (size_t k = 0; k < 2; k++) {
            if (files[k] != NULL && strstr(fact, files[k]) != NULL) {
                ps_buf_addf(out, "%s没有 %s：%s", out->len > 0 ? "；" : "", files[k],
                            TELLING[i].tells.in[PS_CHINESE]);
            }
        }
    }
}

/* --- facts -------------------------------------------------------------------------------------------------- */

static const ps_column FACTS[] = {{.name = "what", .type = PS_COL_TEXT},
                                  {.name = "value", .type = PS_COL_TEXT}};

static bool add_ascend_file_fact(ps_table *t, const char *what, const char *value) {
    return value[0] == '\0' ||
           (ps_table_add_row(t) && ps_table_set_text(t, 0, what) && ps_table_set_text(t, 1, value));
}

/* "trace_view.json (the host, ...), communication_matrix.json (links between ranks)" */
static bool add_missing(const ps_ascend_files *f, ps_table *t) {
    ps_buf text = {0};
    bool of_msprof = is_msprof(f);
    for (size_t i = 0; i < sizeof TELLING / sizeof *TELLING; i++) {
        const char *file = of_msprof ? TELLING[i].of_msprof : TELLING[i].file;
        if (file != NULL && !has_telling(f, file)) {
            ps_buf_addf(&text, "%sno %s: %s", text.len > 0 ? "; " : "", file,
                        TELLING[i].tells.in[PS_ENGLISH]);
        }
    }
    bool ok = ps_buf_ok(&text) && add_ascend_file_fact(t, PS_FACT_MISSING, ps_buf_str(&text));
    ps_buf_fini(&text);
    return ok;
}

ps_code ps_ascend_files_facts(const ps_ascend_files *f, ps_builder *b, ps_err *err) {
    const ps_ascend_profile *p = &f->profile;
    ps_table *t = ps_table_new("facts", "", FACTS, 2);
    bool ok = t != NULL && add_ascend_file_fact(t, "profiler level", p->level) &&
              add_ascend_file_fact(t, "aic metrics", p->aic_metrics) &&
              add_ascend_file_fact(t, "mstx",
                                   !p->has_mstx_option ? ""
                                   : p->mstx           ? "on"
                                                       : "off");
    if (ok && f->places.own_table != NULL) {
        ok = add_missing(f, t);
    }
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    ps_builder_side_table(b, t);
    return PS_OK;
}
