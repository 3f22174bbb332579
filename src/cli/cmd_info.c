/* pipescope info PATH: what is there, rank by rank, and what is missing for which analysis. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/recorded_clock.h"
#include "analyze/views/capture_parts.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/runs.h"
#include "base/threads.h"
#include "cli/info.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "model/lacks.h"
#include "model/recording.h"
#include "read/ascend/ascend_tables.h"
#include "run/run_lacks.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"

/* Events that a profiler lost, or that were thinned out, and shapes are looked for by report: that takes the arguments of all. */
#define NOTHING_MISSING(lang)                                                                      \
    PS_SAY(lang,                                                                                   \
           "no kind of record (whether single events are lost, or shapes of inputs: report)",      \
           "没有缺少任何种类的记录（是否丢失个别事件、是否缺少输入形状，见 report）")

/* --- what a database may lack -------------------------------------------------------------------------------- */

static int64_t info_rows_of(const ps_inventory *inv, const char *table) {
    const ps_named *item = ps_named_find(&inv->tables, table);
    return item != NULL ? item->count : -1;
}

static void add_info_sentence(ps_lang lang, ps_buf *out, const char *text) {
    ps_buf_addf(out, "%s%s", out->len > 0 ? PS_SAY(lang, "; ", "；") : "", text);
}

/* Of the profilers whose analyses write into it. */
static bool is_database(const ps_info_rank *r) {
    return strcmp(ps_cluster_format(r->rank), "ascend-db") == 0;
}

/* What keeps other formats from being drawn as pipelines or projected on the device. */
static void missing_of_timeline(ps_lang lang, const ps_inventory *inv, ps_buf *out) {
    const uint64_t *n = inv->n_slices;
    uint64_t on_device = n[PS_SLICE_JOB] + n[PS_SLICE_MARK_DEVICE];
    for (int k = PS_SLICE_KERNEL; k < PS_N_SLICE_KINDS; k++) {
        on_device += n[k];
    }
    const ps_named *files = ps_named_find(&inv->facts, PS_FACT_MISSING);
    if (files != NULL) {
        ps_ascend_say_missing(lang, files->text, out);
    }
    if (inv->n_steps == 0) {
        add_info_sentence(
            lang, out, PS_SAY(lang, "no steps: told apart by repetition", "没有 step：按重复划分"));
    }
    if (on_device == 0) {
        add_info_sentence(lang, out,
                          PS_SAY(lang, "no device work: charts show host times",
                                 "没有设备工作：流水线图显示主机时间"));
    } else if (n[PS_SLICE_JOB] == 0 && inv->flows.n == 0) {
        add_info_sentence(lang, out,
                          PS_SAY(lang,
                                 "no links from calls to kernels: host ranges cannot be projected",
                                 "没有调用到核函数的关联：主机 range 无法投影到设备"));
    }
    if (n[PS_SLICE_JOB] + n[PS_SLICE_MARK_HOST] + n[PS_SLICE_ANNOTATION] == 0) {
        add_info_sentence(lang, out,
                          PS_SAY(lang, "no named ranges: a chart has nothing to label",
                                 "没有命名的 range：流水线图无从标注"));
    }
}

#define NO_MARKS                                                                                   \
    {                                                                                              \
        { "no mstx marks: pp_chart has nothing to label", "没有 mstx 打点：pp_chart 无从标注" }    \
    }
#define NO_COMM                                                                                    \
    {                                                                                              \
        {                                                                                          \
            "no communication operators: made from communication marks when there are any",        \
                "没有通信算子：有通信打点时由其生成"                              \
        }                                                                                          \
    }
#define NO_TASKS                                                                                   \
    {                                                                                              \
        {                                                                                          \
            "no communication tasks: p2p_pairing needs them, or marks that name the peer",         \
                "没有通信任务：p2p_pairing 需要它，或写明对端的打点"            \
        }                                                                                          \
    }

/* What the profilers of Ascend write beside their events, into databases and into files of text alike. */
static void missing_of_metadata(ps_lang lang, const ps_inventory *inv, ps_buf *out) {
    if (ps_named_find(&inv->metas, "pp_info") == NULL) {
        add_info_sentence(lang, out,
                          PS_SAY(lang,
                                 "no pp_info metadata: classic labels unless --pp-type is given",
                                 "没有 pp_info 元数据：除非给出 --pp-type，否则使用经典标签"));
    }
    if (ps_named_find(&inv->metas, "distributed_args") == NULL &&
        ps_named_find(&inv->metas, "parallel_group_info") == NULL) {
        add_info_sentence(lang, out,
                          PS_SAY(lang, "no parallel sizes: stages need --pp --tp --cp --dp",
                                 "没有并行规模：阶段需由 --pp --tp --cp --dp 给出"));
    }
}

/* The same kinds of records as in databases, by what the files hold. What a file would hold that is missing was said with it. */
static void missing_of_text(ps_lang lang, const ps_inventory *inv, ps_buf *out) {
    static const ps_said MARKS = NO_MARKS;
    static const ps_said COMM = NO_COMM;
    static const ps_said TASKS = NO_TASKS;
    const uint64_t *n = inv->n_slices;
    bool has_files = ps_named_find(&inv->facts, PS_FACT_MISSING) == NULL;
    if (has_files && n[PS_SLICE_MARK_HOST] == 0) {
        add_info_sentence(lang, out, MARKS.in[lang]);
    }
    if (n[PS_SLICE_COMM_OP] == 0) {
        add_info_sentence(lang, out, COMM.in[lang]);
    }
    if (has_files && n[PS_SLICE_COMM_TASK] == 0) {
        add_info_sentence(lang, out, TASKS.in[lang]);
    }
    missing_of_metadata(lang, inv, out);
}

static bool info_lacks(const ps_inventory *inv, ps_part_of_capture part) {
    return (inv->lacks >> part & 1) != 0;
}

/* Kinds that other captures of this profiler have, and that nothing said before speaks of. */
static void missing_kinds(ps_lang lang, const ps_info_rank *r, ps_buf *out) {
    static const struct {
        ps_part_of_capture part;
        ps_said text;
    } PARTS[] = {
        {PS_CAPTURE_HOST, {{"no operators and calls of the host", "没有主机算子与调用"}}},
        {PS_CAPTURE_PYTHON, {{"no Python call stacks", "没有 Python 调用栈"}}},
        {PS_CAPTURE_COUNTERS, {{"no counters of the hardware", "没有硬件计数器"}}},
        {PS_CAPTURE_MEMORY, {{"no memory of operators", "没有算子内存"}}},
    };
    static const struct {
        ps_slice_kind kind;
        ps_part_of_capture of; /* where all of it is missing that was said */
        const char *formats;
        ps_said text;
    } KINDS[] = {
        {PS_SLICE_HOST_OP,
         PS_CAPTURE_HOST,
         "kineto ascend-db ascend-text",
         {{"no operators of the framework", "没有框架算子"}}},
        {PS_SLICE_CALL,
         PS_CAPTURE_HOST,
         "kineto nsight ascend-db ascend-text",
         {{"no calls into the driver or runtime", "没有驱动或运行时调用"}}},
        {PS_SLICE_KERNEL,
         PS_CAPTURE_DEVICE,
         "kineto nsight ascend-db ascend-text",
         {{"no computing kernels", "没有计算核函数"}}},
    };
    const ps_inventory *inv = r->inventory;
    bool has_files = ps_named_find(&inv->facts, PS_FACT_MISSING) == NULL;
    bool is_recording = ps_named_find(&inv->metas, "collector.version") != NULL;
    if (is_database(r) && info_lacks(inv, PS_CAPTURE_DEVICE)) {
        add_info_sentence(lang, out, PS_SAY(lang, "no work of the device", "没有设备工作"));
    }
    if (strncmp(ps_cluster_format(r->rank), "ascend", 6) != 0 &&
        info_lacks(inv, PS_CAPTURE_COMMUNICATION)) {
        add_info_sentence(lang, out, PS_SAY(lang, "no communication operators", "没有通信算子"));
    }
    for (size_t i = 0; i < PS_N(PARTS); i++) {
        bool is_said = !has_files && PARTS[i].part != PS_CAPTURE_COUNTERS &&
                       PARTS[i].part != PS_CAPTURE_MEMORY;
        if (!is_said && info_lacks(inv, PARTS[i].part)) {
            add_info_sentence(lang, out, PARTS[i].text.in[lang]);
        }
    }
    for (size_t i = 0; i < PS_N(KINDS) && has_files && !is_recording; i++) {
        if (inv->n_slices[KINDS[i].kind] == 0 && !info_lacks(inv, KINDS[i].of) &&
            strstr(KINDS[i].formats, ps_cluster_format(r->rank)) != NULL) {
            add_info_sentence(lang, out, KINDS[i].text.in[lang]);
        }
    }
}

void ps_info_missing(ps_lang lang, const ps_info_rank *r, ps_buf *out) {
    static const struct {
        const char *table;
        ps_said text;
    } PARTS[] = {
        {"MSTX_EVENTS", NO_MARKS},
        {"STEP_TIME",
         {{"no steps: everything counts as one step", "没有 step：全部计为一个 step"}}},
        {"COMMUNICATION_OP", NO_COMM},
        {"COMMUNICATION_TASK_INFO", NO_TASKS},
    };
    const ps_inventory *inv = r->inventory;
    if (!is_database(r)) {
        missing_of_timeline(lang, inv, out);
        if (strcmp(ps_cluster_format(r->rank), "ascend-text") == 0) {
            missing_of_text(lang, inv, out);
        }
        missing_kinds(lang, r, out);
        return;
    }
    if (info_rows_of(inv, "TASK") < 0 && info_rows_of(inv, "CommAnalyzerTime") >= 0) {
        add_info_sentence(
            lang, out,
            PS_SAY(
                lang,
                "no recording (ascend_pytorch_profiler_<rank>.db): only what the profiler computed of steps and "
                "communication",
                "没有采集记录（ascend_pytorch_profiler_<rank>.db）：只有采集工具算出的 step 与通信"));
    }
    for (size_t i = 0; i < PS_N(PARTS); i++) {
        /* Operators made of marks need neither table: those whose marks name the peer are paired, too. */
        bool made =
            inv->comm_from_marks != NULL && strncmp(PARTS[i].table, "COMMUNICATION_", 14) == 0;
        if (info_rows_of(inv, PARTS[i].table) <= 0 && !made) {
            add_info_sentence(lang, out, PARTS[i].text.in[lang]);
        }
    }
    missing_of_metadata(lang, inv, out);
    missing_kinds(lang, r, out);
}

/* --- the table of ranks -------------------------------------------------------------------------------------- */

enum {
    C_RANK,
    C_FORMAT,
    C_HOST_SPAN,
    C_DEVICE_SPAN,
    C_STEPS,
    C_MARKS,
    C_KERNELS,
    C_COMM,
    C_SLICES,
    C_FLOWS,
    N_C
};

static const ps_column COLUMNS[N_C] = {
    [C_RANK] = {.name = "rank", .type = PS_COL_INT, .is_member = true},
    [C_FORMAT] = {.name = "format", .type = PS_COL_TEXT},
    [C_HOST_SPAN] = {.name = "host span", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_DEVICE_SPAN] = {.name = "device span", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_STEPS] = {.name = "steps", .type = PS_COL_INT},
    [C_MARKS] = {.name = "marks", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [C_KERNELS] = {.name = "kernels", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [C_COMM] = {.name = "comm ops", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [C_SLICES] = {.name = "slices", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    [C_FLOWS] = {.name = "flows", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
};

static void set_span(ps_table *t, size_t column, const ps_span *span) {
    int64_t dur = 0; /* none where raw times are too far apart for one */
    if (span->known && !__builtin_sub_overflow(span->end_ns, span->start_ns, &dur)) {
        ps_table_set_int(t, column, dur);
    }
}

static void set_counts(ps_table *t, const ps_inventory *inv) {
    uint64_t all = 0;
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        all += inv->n_slices[k];
    }
    int64_t flows = 0;
    for (size_t i = 0; i < inv->flows.n; i++) {
        flows += inv->flows.items[i].count;
    }
    const uint64_t *n = inv->n_slices;
    ps_table_set_int(t, C_STEPS, (int64_t)inv->n_steps);
    ps_table_set_int(t, C_MARKS, (int64_t)n[PS_SLICE_MARK_HOST]);
    ps_table_set_int(t, C_KERNELS, (int64_t)n[PS_SLICE_KERNEL]);
    uint64_t n_comm = n[PS_SLICE_COMM_OP] + n[PS_SLICE_COMM_KERNEL] + inv->n_host_comm;
    ps_table_set_int(t, C_COMM, (int64_t)n_comm);
    ps_table_set_int(t, C_SLICES, (int64_t)all);
    ps_table_set_int(t, C_FLOWS, flows);
}

static bool add_rank_row(ps_table *t, const ps_info_rank *r) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_int(t, C_RANK, r->rank->rank);
    char format[64]; /* MindSpore and msMonitor write the databases of PyTorch */
    bool is_usual =
        r->rank->profiler == PS_PROFILER_OTHER || r->rank->profiler == PS_PROFILER_PYTORCH;
    (void)snprintf(format, sizeof format, "%s%s%s", ps_cluster_format(r->rank), is_usual ? "" : " ",
                   is_usual ? "" : ps_cluster_profiler(r->rank));
    bool ok = ps_table_set_text(t, C_FORMAT, format);
    if (!ps_info_was_read(r)) {
        return ok;
    }
    set_span(t, C_HOST_SPAN, &r->inventory->host);
    set_span(t, C_DEVICE_SPAN, &r->inventory->device);
    set_counts(t, r->inventory);
    return ok;
}

static int print_ranks(ps_cli *cli, const ps_info *info) {
    enum { MAX_ROWS_SHOWN = 64 };
    ps_table *t = ps_table_new("ranks", "", COLUMNS, N_C);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < info->n; i++) {
        ok = add_rank_row(t, &info->ranks[i]);
    }
    size_t n_more = 0;
    int status =
        ok ? ps_cli_put_many_rows(cli, t, MAX_ROWS_SHOWN, &n_more) : ps_cli_fail_nomem(cli);
    if (n_more > 0) {
        ps_cli_print(cli,
                     PS_SAY(cli->lang, "... and %zu more ranks (--all shows them)\n",
                            "…… 另有 %zu 个 rank（--all 显示全部）\n"),
                     n_more);
    }
    ps_table_free(t);
    return status;
}

/* --- one rank stands for all of its format ------------------------------------------------------------------- */

static const ps_column CONTENT[] = {{.name = "what", .type = PS_COL_TEXT},
                                    {.name = "kind", .type = PS_COL_TEXT},
                                    {.name = "count", .type = PS_COL_INT}};

static bool add_content(ps_table *t, const char *what, const char *kind, int64_t count) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, 0, what) || !ps_table_set_text(t, 1, kind)) {
        return false;
    }
    ps_table_set_int(t, 2, count);
    return true;
}

static bool add_contents(ps_table *t, const char *what, const ps_named_list *list) {
    bool ok = true;
    for (size_t i = 0; ok && i < list->n; i++) {
        ok = add_content(t, what, list->items[i].name, list->items[i].count);
    }
    return ok;
}

static int print_content(ps_cli *cli, const ps_inventory *inv) {
    ps_table *t = ps_table_new("content", "", CONTENT, PS_N(CONTENT));
    bool ok = t != NULL;
    for (int k = 0; ok && k < PS_N_SLICE_KINDS; k++) {
        ok = inv->n_slices[k] == 0 || add_content(t, "slices", ps_slice_kind_name((ps_slice_kind)k),
                                                  (int64_t)inv->n_slices[k]);
    }
    ok = ok && add_contents(t, "flows", &inv->flows);
    ok = ok && (inv->n_counter_values == 0 ||
                add_content(t, "counters", "values", (int64_t)inv->n_counter_values));
    ok = ok && add_contents(t, "side table", &inv->side_tables);
    ok = ok && add_contents(t, "table", &inv->tables);
    return ps_cli_end_table(cli, t, ok);
}

/* A line about a text of the profile: nothing in it steers the terminal. */
static void print_info_text(ps_cli *cli, const char *key, const char *value) {
    enum { SHOWN_BYTES = 200 };
    char shown[SHOWN_BYTES + 1];
    int n = snprintf(shown, sizeof shown, "%s", value);
    ps_text_clean_here(shown);
    ps_cli_print(cli, "%-20s %s%s\n", key, shown, n <= SHOWN_BYTES ? "" : " ...");
}

static void print_steps(ps_cli *cli, const ps_inventory *inv) {
    if (inv->n_steps == 0) {
        return;
    }
    ps_cli_print(cli, "%-20s", "steps");
    for (size_t i = 0; i < inv->n_steps && i < 16; i++) {
        ps_cli_print(cli, " %lld", (long long)inv->steps[i]);
    }
    ps_cli_print(cli, inv->n_steps > 16 ? " ... (%zu)\n" : "\n", inv->n_steps);
}

static int print_example(ps_cli *cli, const ps_info_rank *r) {
    char who[PS_WHO_TEXT];
    ps_cli_print(cli, PS_SAY(cli->lang, "\n%s (%s) holds\n\n", "\n%s（%s）包含\n\n"),
                 ps_cli_who(r->rank, who), ps_cluster_format(r->rank));
    int status = print_content(cli, r->inventory);
    static const char *const FACTS[] = {"profiler level", "device", "host", "schema version",
                                        "mstx"};
    static const char *const KEYS[] = {"pp_info",         "distributed_args", "parallel_group_info",
                                       "distributedInfo", "world_size",       "machine"};
    ps_cli_print(cli, "\n");
    for (size_t i = 0; i < PS_N(FACTS); i++) {
        const ps_named *item = ps_named_find(&r->inventory->facts, FACTS[i]);
        if (item != NULL) {
            print_info_text(cli, FACTS[i], item->text);
        }
    }
    if (r->inventory->comm_from_marks != NULL) {
        ps_cli_print(cli, "%-20s from marks, times of the %s\n", "communication",
                     r->inventory->comm_from_marks);
    }
    print_steps(cli, r->inventory);
    for (size_t i = 0; i < PS_N(KEYS); i++) {
        const ps_named *item = ps_named_find(&r->inventory->metas, KEYS[i]);
        if (item != NULL) {
            print_info_text(cli, KEYS[i], item->text);
        }
    }
    return status;
}

/* The first rank of each format. */
static int print_examples(ps_cli *cli, const ps_info *info) {
    int status = PS_EXIT_OK;
    for (size_t i = 0; status == PS_EXIT_OK && i < info->n; i++) {
        const ps_info_rank *r = &info->ranks[i];
        bool first = ps_info_was_read(r);
        for (size_t k = 0; first && k < i; k++) {
            first = !ps_info_was_read(&info->ranks[k]) ||
                    strcmp(ps_cluster_format(info->ranks[k].rank), ps_cluster_format(r->rank)) != 0;
        }
        status = first ? print_example(cli, r) : status;
    }
    return status;
}

/* False where the recording says nothing of another clock. */
static bool find_clock(const ps_info_rank *r, ps_recorded_clock *c) {
    const ps_named *item =
        ps_info_was_read(r) ? ps_named_find(&r->inventory->metas, "collector.clock") : NULL;
    ps_err err = PS_ERR_INIT;
    return item != NULL &&
           ps_recorded_clock_parse(item->text, strlen(item->text), c, &err) == PS_OK &&
           c->has_offset && r->rank->rank != c->reference;
}

/* "clock of rank 1   1768.3 us +- 8.6 us against rank 0's, by exchange", as recorded */
static void print_clock(ps_cli *cli, const ps_info_rank *r, ps_recorded_clock c, bool is_first) {
    char key[40];
    char offset[PS_NUMBER_TEXT];
    char uncertainty[PS_NUMBER_TEXT];
    char drift[PS_NUMBER_TEXT];
    (void)snprintf(key, sizeof key, "clock of rank %s", PS_RANK(r->rank->rank));
    ps_int_scaled(c.offset_ns, 1000, 1, offset);
    ps_int_scaled(c.uncertainty_ns, 1000, 1, uncertainty);
    ps_int_scaled(c.drift_ppb, 1000, 1, drift);
    bool drifts = c.has_drift && llabs(c.drift_ppb) > c.drift_uncertainty_ppb;
    ps_cli_print(cli, "%s%-20s %s us %s %s us against rank %lld's, by %s%s%s%s\n",
                 is_first ? "\n" : "", key, offset, cli->term.utf8 ? "±" : "+-", uncertainty,
                 (long long)c.reference, c.method, drifts ? ", drifting by " : "",
                 drifts ? drift : "", drifts ? " ppm" : "");
}

static void print_clocks(ps_cli *cli, const ps_info *info) {
    enum { SHOWN = 16 };
    size_t n = 0;
    for (size_t i = 0; i < info->n; i++) {
        ps_recorded_clock c;
        if (find_clock(&info->ranks[i], &c) && n++ < SHOWN) {
            print_clock(cli, &info->ranks[i], c, n == 1);
        }
    }
    if (n > SHOWN) {
        ps_cli_print(cli, "%-20s %zu more: META_DATA collector.clock of each rank\n", "",
                     n - SHOWN);
    }
}

/* What ranks lack, each text once. */
enum { MAX_LACKS = 8 };

typedef struct lacks {
    ps_buf texts[MAX_LACKS]; /* in the order of the first rank of each */
    size_t n;
    size_t *kinds; /* [rank] in the texts, or as many for those beyond them */
} lacks;

static bool find_lacks_of_ranks(ps_lang lang, const ps_info *info, lacks *l) {
    ps_buf text = {0};
    l->kinds = ps_calloc(info->n, sizeof *l->kinds);
    bool ok = l->kinds != NULL;
    for (size_t i = 0; ok && i < info->n; i++) {
        if (!ps_info_was_read(&info->ranks[i])) {
            l->kinds[i] = SIZE_MAX;
            continue;
        }
        ps_buf_clear(&text);
        ps_info_missing(lang, &info->ranks[i], &text);
        ok = ps_buf_ok(&text); /* the next rank's begins anew */
        size_t k = 0;
        while (k < l->n && strcmp(ps_buf_str(&l->texts[k]), ps_buf_str(&text)) != 0) {
            k++;
        }
        if (k == l->n && k < MAX_LACKS) {
            ps_buf_add_str(&l->texts[l->n++], ps_buf_str(&text));
            ok = ok && ps_buf_ok(&l->texts[k]);
        }
        l->kinds[i] = k;
    }
    ps_buf_fini(&text);
    return ok;
}

/* "rank 3", "ranks 0-62, 64"; where numbers are not known how many, or the name of the one. False: memory is out. */
static bool add_ranks_of_kind(ps_lang lang, const ps_info *info, const lacks *l, size_t kind,
                              ps_buf *out) {
    int64_t *numbers = ps_calloc(info->n, sizeof *numbers);
    size_t n = 0;
    size_t n_known = 0;
    const ps_cluster_rank *first = NULL;
    for (size_t i = 0; numbers != NULL && i < info->n; i++) {
        if (l->kinds[i] == kind) {
            const ps_cluster_rank *rank = info->ranks[i].rank;
            first = first != NULL ? first : rank;
            numbers[n++] = rank->rank;
            n_known += rank->rank >= 0;
        }
    }
    char who[PS_WHO_TEXT];
    if (n == 1) {
        ps_buf_add_str(out, ps_cli_who(first, who));
    } else if (n > 1 && n_known == n) {
        ps_buf_add_str(out, PS_SAY(lang, "ranks ", "rank "));
        ps_buf_add_runs(out, numbers, n, MAX_LACKS);
    } else if (n > 1) {
        ps_buf_addf(out, PS_SAY(lang, "%zu ranks, %s and others", "%zu 个 rank（%s 等）"), n,
                    ps_cli_who(first, who));
    }
    ps_free(numbers);
    return numbers != NULL && ps_buf_ok(out);
}

/* Ranks that lack the same are named together. */
static int print_missing(ps_cli *cli, const ps_info *info) {
    lacks l = {.n = 0};
    bool ok = find_lacks_of_ranks(cli->lang, info, &l);
    bool any_beyond = false;
    for (size_t i = 0; ok && i < info->n; i++) {
        any_beyond = any_beyond || l.kinds[i] == MAX_LACKS;
    }
    for (size_t k = 0; ok && k < l.n + any_beyond; k++) {
        ps_buf ranks = {0};
        ok = l.n == 1 || add_ranks_of_kind(cli->lang, info, &l, k, &ranks);
        const char *text = k == l.n ? PS_SAY(cli->lang, "something else (--json tells of each)",
                                             "其他内容（--json 逐个说明）")
                           : l.texts[k].len > 0 ? ps_buf_str(&l.texts[k])
                                                : NOTHING_MISSING(cli->lang);
        if (ok) {
            ps_cli_print(cli, PS_SAY(cli->lang, "%smissing%s%s  %s\n", "%s缺少%s%s  %s\n"),
                         k == 0 ? "\n" : "", l.n > 1 ? PS_SAY(cli->lang, " on ", "：") : "",
                         l.n > 1 ? ps_buf_str(&ranks) : "", text);
        }
        ps_buf_fini(&ranks);
    }
    for (size_t k = 0; k < MAX_LACKS; k++) {
        ps_buf_fini(&l.texts[k]);
    }
    ps_free(l.kinds);
    return ok ? PS_EXIT_OK : ps_cli_fail_nomem(cli);
}

/* --- the command --------------------------------------------------------------------------------------------- */

static void step_info(void *progress) {
    ps_progress_step(progress, 1);
}

/* Into the ranks. */
static ps_code read_info(ps_cli *cli, ps_info *info, ps_err *err) {
    ps_inventory **read = ps_calloc(info->n, sizeof *read);
    if (read == NULL) {
        return ps_fail_nomem(err);
    }
    info->progress = ps_progress_begin(&cli->term, cli->quiet, "reading ranks", info->n);
    ps_code code = ps_inventories_read(info->cluster, cli->engine, info->n_threads, &info->memory,
                                       info->rank_bytes, read, step_info, info->progress, err);
    ps_progress_end(info->progress);
    for (size_t i = 0; i < info->n; i++) {
        info->ranks[i].inventory = read[i];
    }
    ps_free(read);
    return code;
}

static void print_title(ps_cli *cli, const ps_info *info) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", info->cluster->path);
    ps_text_clean_here(path);
    ps_cli_print(cli, PS_SAY(cli->lang, "%s: %zu rank%s\n\n", "%s：%zu 个 rank%.0s\n\n"), path,
                 info->n, info->n == 1 ? "" : "s");
}

static ps_table *lacks_of_info(ps_lang lang, const ps_info *info) {
    ps_table *out = ps_lacks_new("lacks");
    ps_err nomem = PS_ERR_INIT;
    (void)ps_fail_nomem(&nomem);
    if (out != NULL) {
        ps_lacks_add_search(lang, out, &info->cluster->diag, PS_LACKS_SEARCH(lang));
    }
    for (size_t i = 0; out != NULL && i < info->n; i++) {
        const ps_info_rank *r = &info->ranks[i];
        if (!ps_info_was_read(r)) {
            ps_lacks_add_unread(lang, out, r->rank,
                                r->inventory != NULL ? &r->inventory->err : &nomem);
        }
    }
    return ps_table_end(out);
}

static int print_lacks(ps_cli *cli, const ps_info *info) {
    ps_err err = PS_ERR_INIT;
    ps_buf text = {0};
    ps_lacks_say(cli->lang, info->lacks, "\n", "", &text);
    if (text.len > 0) {
        ps_buf_add_char(&text, '\n');
    }
    ps_code code = ps_buf_ok(&text) ? PS_OK : ps_fail_nomem(&err);
    return ps_cli_end_output(cli, NULL, &text, code, &err);
}

static int print_info(ps_cli *cli, const ps_info *info) {
    print_title(cli, info);
    int status = print_ranks(cli, info);
    status = status == PS_EXIT_OK ? print_examples(cli, info) : status;
    if (status == PS_EXIT_OK) {
        print_clocks(cli, info);
        status = print_missing(cli, info);
    }
    return status == PS_EXIT_OK ? print_lacks(cli, info) : status;
}

/* Into the file, or onto the terminal. */
static int show_info(ps_cli *cli, ps_info *info) {
    const char *path = ps_cli_text(cli, "output");
    info->lacks = lacks_of_info(cli->lang, info);
    if (info->lacks == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    ps_buf text = {0};
    const ps_term term = cli->term;
    if (path != NULL) {
        cli->into = &text;
        cli->term.width = 120;
        cli->term.colours = PS_COLOURS_NONE;
        cli->term.utf8 = true;
    }
    bool is_json = path != NULL ? ps_ends_with(path, ".json") : ps_cli_flag(cli, "json");
    int status = is_json ? ps_info_put_json(cli, info) : print_info(cli, info);
    cli->into = NULL;
    cli->term = term;
    ps_err err = PS_ERR_INIT;
    if (path != NULL && status == PS_EXIT_OK) {
        ps_code code = ps_buf_ok(&text) ? PS_OK : ps_fail_nomem(&err);
        return ps_cli_end_output(cli, path, &text, code, &err);
    }
    ps_buf_fini(&text);
    return status;
}

/* What could not be read, and what was odd in the rest. */
static int report_info(ps_cli *cli, const ps_info *info) {
    size_t n_failed = 0;
    ps_diag *all = ps_calloc(1, sizeof *all);
    for (size_t i = 0; i < info->n; i++) {
        const ps_info_rank *r = &info->ranks[i];
        if (!ps_info_was_read(r)) {
            ps_err nomem;
            (void)ps_fail_nomem(&nomem);
            (void)ps_cli_fail(cli, r->inventory != NULL ? &r->inventory->err : &nomem);
            n_failed++;
        } else if (all != NULL) {
            char who[PS_WHO_TEXT];
            ps_diag_merge(all, &r->inventory->diag, ps_cli_who(r->rank, who));
        }
    }
    if (all != NULL) {
        ps_report_oddities(cli, all);
    }
    ps_free(all);
    return n_failed == 0 ? PS_EXIT_OK : n_failed < info->n ? PS_EXIT_PARTIAL : PS_EXIT_FAILED;
}

/* The memory that the ranks take, and which of them does not fit; an exit status. */
static int begin_info_budget(ps_cli *cli, ps_info *info) {
    int64_t budget_bytes = 0;
    ps_err err = PS_ERR_INIT;
    int status = ps_cli_take_memory(cli, &budget_bytes);
    if (status != PS_EXIT_OK) {
        return status;
    }
    ps_code code = ps_budget_init(&info->memory, budget_bytes, &err);
    info->rank_bytes = code == PS_OK ? ps_ranks_bytes(info->cluster, PS_INVENTORY_NEEDS) : NULL;
    code = code == PS_OK && info->rank_bytes == NULL ? ps_fail_nomem(&err) : code;
    for (size_t i = 0; code == PS_OK && i < info->n; i++) {
        code = ps_budget_check(&info->memory, info->ranks[i].rank, info->rank_bytes[i], &err);
    }
    return code == PS_OK ? PS_EXIT_OK : ps_cli_fail(cli, &err);
}

static int inspect(ps_cli *cli, const ps_cluster *c) {
    ps_info info = {.cluster = c,
                    .ranks = ps_calloc(c->n_ranks, sizeof *info.ranks),
                    .n = c->n_ranks,
                    .n_threads = (size_t)ps_cli_int(cli, "jobs")};
    if (info.ranks == NULL) {
        return ps_cli_fail_nomem(cli);
    }
    for (size_t i = 0; i < info.n; i++) {
        info.ranks[i].rank = &c->ranks[i];
    }
    int status = begin_info_budget(cli, &info);
    int failures = PS_EXIT_OK;
    if (status == PS_EXIT_OK) {
        ps_err err = PS_ERR_INIT;
        bool is_read = read_info(cli, &info, &err) == PS_OK;
        status = is_read ? show_info(cli, &info) : ps_cli_fail(cli, &err);
        failures = is_read ? report_info(cli, &info) : PS_EXIT_OK;
    }
    for (size_t i = 0; i < info.n; i++) {
        ps_inventory_free(info.ranks[i].inventory);
    }
    ps_budget_fini(&info.memory);
    ps_table_free(info.lacks);
    ps_free(info.rank_bytes);
    ps_free(info.ranks);
    failures =
        failures == PS_EXIT_OK && ps_diag_n_errors(&c->diag) > 0 ? PS_EXIT_PARTIAL : failures;
    return status != PS_EXIT_OK ? status : failures;
}

static int run_info(ps_cli *cli) {
    static const char *const ENDINGS[] = {".txt", ".json", NULL};
    int status = ps_cli_check_ending(cli, ps_cli_text(cli, "output"), ENDINGS, "");
    ps_cluster *c =
        status == PS_EXIT_OK ? ps_cli_find_ranks(cli, ps_cli_positional(cli, 0), &status) : NULL;
    if (c == NULL) {
        return status;
    }
    ps_report_cluster(cli, c);
    status = c->n_ranks > 0 ? inspect(cli, c) : ps_report_no_profile(cli, c);
    ps_cluster_free(c);
    return status;
}

static const ps_option OPTIONS[] = {
    {.short_name = 'o',
     .or_terminal = true,
     PS_ROW_PATH(NULL, "output", "FILE", PS_UNSAID,
                 "the text (.txt) or the data (.json) instead of text on the terminal")},
    {PS_ROW_FLAG(NULL, "json", "for scripts: exact numbers, epoch times as text")},
    PS_ALL_ROWS_OPTION,
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    PS_JOBS_OPTION,
    PS_MEMORY_OPTION,
    PS_COMM_RULES_OPTION,
    {PS_ROW_ANALYSIS(lang)},
};

const ps_command ps_command_info = {
    .name = "info",
    .summary =
        "what a profile holds: ranks, spans, counts per kind, steps, metadata, what is missing",
    .usage = "PATH [-o FILE.txt|.json] [--json] [--format NAME] [-j N]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = 1,
    .run = run_info,
};
