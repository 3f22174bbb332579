/* The input is a command, a part of a capture, and edits of that part: what a whole run makes of a profile that is partly wrong, from
 * reading it to the last table, picture, workbook and database. No input ends the program but with an exit status that it documents.
 *
 * Byte 0 is the command, byte 1 the part; then four bytes an edit: the place (of 65536ths of the part), what, how. tests/fuzz/seeds.py
 * makes one input of each pair.
 *
 * link: the commands */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/publish.h"
#include "cli/cli.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH = 512, MAX_WORDS = 24, MAX_EDITS = 64, MAX_PART = 1 << 20 };

static char top[PATH / 2];
static char out_folder[PATH];
static char result[PATH + 8];

/* --- parts -------------------------------------------------------------------------------------------------------------- */

/* A capture of its own for each, in the folder of its number; `made` fills it ({D}: tests/data). */
typedef struct part {
    const char *made;  /* shell; the folder is the current one */
    const char *input; /* what commands read, below the folder */
    const char *path;  /* what is edited; a new file when it is not there */
    bool is_binary;
    const char *command; /* the one command that it is for, NULL: those of captures */
} part;

#define JOB "cp -r ../job ."
#define RANK_1 "job/node0_1001_20250109081616001_ascend_pt/"
#define RANK_1_DB RANK_1 "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db"
#define SHARDED "cluster -m slow_rank -d {top}/job -o {out} -j 1 --export_type csv"
#define TEXT "cp -r '{D}/ascend_text/rank3_ascend_pt' ."
#define TEXT_AT "rank3_ascend_pt/ASCEND_PROFILER_OUTPUT/"

static const part PARTS[] = {
    {"cp ../job.json .", "job.json", "job.json", false, NULL},
    {JOB, "job", RANK_1_DB, true, NULL},
    {JOB " && head -c 4096 /dev/zero >" RANK_1_DB "-journal", "job", RANK_1_DB "-journal", true,
     NULL},
    {JOB " && head -c 8192 /dev/zero >" RANK_1_DB "-wal", "job", RANK_1_DB "-wal", true, NULL},
    {JOB, "job", RANK_1 "profiler_metadata.json", false, NULL},
    {JOB, "job", RANK_1 "profiler_info_1.json", false, NULL},
    {TEXT, "rank3_ascend_pt", TEXT_AT "trace_view.json", false, NULL},
    {TEXT, "rank3_ascend_pt", TEXT_AT "kernel_details.csv", false, NULL},
    {TEXT, "rank3_ascend_pt", TEXT_AT "communication.json", false, NULL},
    {TEXT, "rank3_ascend_pt", TEXT_AT "step_trace_time.csv", false, NULL},
    {"for r in 0 1; do gzip -dc '{D}'/torch_pipeline/gpipe/rank_$r.pt.trace.json.gz >rank_$r.json; done",
     ".", "rank_1.json", false, NULL},
    {"cp '{D}/ndtimeline/two-by-two.json' .", ".", "two-by-two.json", false, NULL},
    {"cp '{D}'/paddle_logs/pp2_vpp2_1x2/workerlog.* .", ".", "workerlog.1", false,
     "timeline --log_dir {in} -o {out}.json -j 1"},
    {"printf '%s\\n' 0F0,0F1,0B0,0B1 1F0,1B0,1F1,1B1 >s.csv", ".", "s.csv", false,
     "simulate {in}/s.csv -o {out}.json"},
    {"printf '%s\\n' stage,kind,ns 0,F,1000 0,B,2000 1,F,1500 1,B,2500 >d.csv", ".", "d.csv", false,
     "simulate 1f1b --pp 2 --microbatches 3 --durations {in}/d.csv -o {out}.svg"},
    {"cp ../chart.json d.json", ".", "d.json", false,
     "simulate zb-h1 --pp 2 --microbatches 3 --durations {in}/d.json"},
    {"printf '%s\\n' 'comm hcom_' 'compute MatMul' >rules && cp ../job.json .", ".", "rules", false,
     "report {in}/job.json --comm-rules {in}/rules -j 1"},
    {"cp -r ../partials .", "partials", "partials/1/rank-000001", true, SHARDED " --reduce {in}"},
};

static const char *const COMMANDS[] = {
    "report {in} -j 1 -o {out}.json",
    "report {in} -j 1 -o {out}.html",
    "report {in} -j 1",
    "chart {in} -j 1 -o {out}.svg",
    "chart {in} -j 1 -o {out}.json",
    "chart {in} -j 1 -o {out}.html",
    "chart {in} -j 1",
    "cluster -m all -d {in} -o {out} -j 1",
    "cluster -m all -d {in} -o {out} -j 1 --export_type xlsx",
    "cluster -m all -d {in} -o {out} -j 1 --export_type csv",
    "cluster -m all -d {in} -o {out} -j 1 --export_type json",
    "cluster -m pp_chart -d {in} -o {out} -j 1 --strict",
    "compare {in} {top}/job.json -o {out}.xlsx -j 1",
    "compare {top}/job.json {in} -o {out}.json -j 1",
    "whatif {in} -j 1",
    "whatif {in} -j 1 -o {out}.html --scale stage=1:0.5",
    "whatif {in} -j 1 -o {out}.pftrace --without rank=1",
    "plan {in} -j 1 --layers 8",
    "convert {in} -o {out}.json -j 1",
    "convert {in} -o {out}.pftrace -j 1",
    "info {in} --json -j 1",
};

/* --- edits -------------------------------------------------------------------------------------------------------------- */

static const char *const NUMBERS[] = {
    "0",    "-1",   "1",     "9223372036854775807",  "-9223372036854775808",
    "1e18", "1e99", "-0.5",  "18446744073709551616", "4294967296",
    "null", "\"\"", "1e-40", "2147483648",           "123456789012"};
static const char *const NAMES[] = {"",        "a",  "\xff", "forward_step",
                                    "0",       "..", "%s",   "hcom_allReduce__1_2",
                                    "\\u0000", "F0", "B",    "X"};

static void replace(ps_buf *out, size_t from, size_t n, const char *with, size_t n_with) {
    ps_buf rest = {0};
    ps_buf_add(&rest, out->data + from + n, out->len - from - n);
    out->len = from;
    ps_buf_add(out, with, n_with);
    ps_buf_add(out, ps_buf_str(&rest), rest.len);
    ps_buf_fini(&rest);
}

static size_t find_end(const ps_buf *b, size_t at, const char *set, bool is_in) {
    while (at < b->len && (b->data[at] != '\0' && strchr(set, b->data[at]) != NULL) == is_in) {
        at++;
    }
    return at;
}

static void edit_number(ps_buf *b, size_t at, uint8_t how) {
    size_t from = find_end(b, at, "0123456789", false);
    const char *with = NUMBERS[how % (sizeof NUMBERS / sizeof *NUMBERS)];
    replace(b, from, find_end(b, from, "0123456789.", true) - from, with, strlen(with));
}

static void edit_text(ps_buf *b, size_t at, uint8_t how) {
    size_t from = find_end(b, at, "\"", false);
    from += from < b->len;
    const char *with = NAMES[how % (sizeof NAMES / sizeof *NAMES)];
    replace(b, from, find_end(b, from, "\"", false) - from, with, strlen(with));
}

static void edit(ps_buf *b, bool is_binary, const uint8_t *e) {
    size_t at = (size_t)(((uint64_t)e[0] << 8 | e[1]) * b->len / 65536);
    size_t left = b->len - at;
    size_t n = (size_t)e[3] + 1 < left ? (size_t)e[3] + 1 : left;
    if (b->len == 0) {
        return;
    }
    switch (is_binary ? e[2] % 2 : e[2] % 6) {
    case 0:
        b->data[at] = (char)e[3];
        break;
    case 1:
        if (is_binary) { /* the page around it, whose header is where faults tell most */
            b->data[at / 4096 * 4096 + (size_t)(e[2] / 2 % 16) < b->len
                        ? at / 4096 * 4096 + (size_t)(e[2] / 2 % 16)
                        : at] = (char)e[3];
        } else {
            edit_number(b, at, e[3]);
        }
        break;
    case 2:
        replace(b, at, n, "", 0);
        break;
    case 3: {
        ps_buf piece = {0};
        ps_buf_add(&piece, b->data + at, n);
        replace(b, at, 0, ps_buf_str(&piece), b->len < MAX_PART ? piece.len : 0);
        ps_buf_fini(&piece);
        break;
    }
    case 4:
        edit_text(b, at, e[3]);
        break;
    default:
        b->len = e[3] == 0 ? at : b->len;
        break;
    }
}

/* --- runs --------------------------------------------------------------------------------------------------------------- */

static void shell(const char *folder, const char *text) {
    ps_buf line = {0};
    ps_buf_addf(&line, "mkdir -p '%s' && cd '%s' && ", folder, folder);
    for (const char *p = text; *p != '\0';) {
        bool is_data = strncmp(p, "{D}", 3) == 0;
        ps_buf_add(&line, is_data ? FUZZ_DATA : p, is_data ? strlen(FUZZ_DATA) : 1);
        p += is_data ? 3 : 1;
    }
    if (system(ps_buf_str(&line)) != 0) {
        (void)fprintf(stderr, "cannot make a capture: %s\n", ps_buf_str(&line));
        abort();
    }
    ps_buf_fini(&line);
}

/* Splits at spaces. {top}: the folder of all captures. */
static int run(const char *words, const char *in, const char *out) {
    static char name[] = "pipescope";
    static char quiet[] = "--quiet";
    char text[4096];
    char *argv[MAX_WORDS + 1] = {name};
    int argc = 1;
    size_t used = 0;
    for (const char *p = words; *p != '\0' && used < sizeof text - PATH;) {
        const char *value = strncmp(p, "{in}", 4) == 0    ? in
                            : strncmp(p, "{out}", 5) == 0 ? out
                            : strncmp(p, "{top}", 5) == 0 ? top
                                                          : NULL;
        if (used == 0 || text[used - 1] == '\0') {
            argv[argc++] = text + used;
        }
        if (value != NULL) {
            used += (size_t)snprintf(text + used, PATH, "%s", value);
            p += strcspn(p, "}") + 1;
        } else {
            text[used++] = *p == ' ' ? '\0' : *p;
            p++;
        }
    }
    text[used] = '\0';
    argv[argc++] = quiet;
    return ps_cli_run(argc, argv);
}

static void leave(void) {
    (void)ps_remove_tree(top, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(top, sizeof top, "%.200s/ps_fuzz_commands_XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(top) == NULL || freopen("/dev/null", "w", stdout) == NULL) {
        abort();
    }
    (void)atexit(leave);
    (void)snprintf(out_folder, sizeof out_folder, "%s/out", top);
    (void)snprintf(result, sizeof result, "%s/result", out_folder);
    if (run("simulate 1f1b --pp 2 --microbatches 2 --filler 4 --profile {top}/job", "", "") != 0 ||
        run("convert {top}/job -o {top}/job.json", "", "") != 0 ||
        run(SHARDED " --shard 1/1 --partials {top}/partials", "", result) != 0 ||
        run("chart {top}/job -o {top}/chart.json", "", "") != 0 || mkdir(out_folder, 0777) != 0) {
        abort();
    }
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        char folder[PATH];
        (void)snprintf(folder, sizeof folder, "%s/%zu", top, i);
        shell(folder, PARTS[i].made);
    }
    stderr = fopen(
        "/dev/null",
        "w"); /* what commands say of each input; libFuzzer and the sanitizers keep the real one */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    size_t number = data[1] % (sizeof PARTS / sizeof *PARTS);
    const part *p = &PARTS[number];
    char path[PATH];
    char in[PATH];
    ps_buf whole = {0};
    (void)snprintf(path, sizeof path, "%s/%zu/%s", top, number, p->path);
    (void)snprintf(in, sizeof in, "%s/%zu/%s", top, number, p->input);
    if (ps_read_file(path, MAX_PART, &whole, NULL) != PS_OK) {
        abort();
    }
    ps_buf edited = {0};
    ps_buf_add(&edited, ps_buf_str(&whole), whole.len);
    for (size_t i = 2; i + 4 <= size && i < 2 + 4 * MAX_EDITS; i += 4) {
        edit(&edited, p->is_binary, data + i);
    }
    if (ps_write_file(path, ps_buf_str(&edited), edited.len, NULL) != PS_OK) {
        abort();
    }
    int status = run(p->command != NULL ? p->command
                                        : COMMANDS[data[0] % (sizeof COMMANDS / sizeof *COMMANDS)],
                     in, result);
    if (status < PS_EXIT_OK || status > PS_EXIT_PARTIAL) {
        abort();
    }
    if (ps_write_file(path, ps_buf_str(&whole), whole.len, NULL) != PS_OK ||
        ps_remove_tree(out_folder, NULL) != PS_OK || mkdir(out_folder, 0777) != 0) {
        abort();
    }
    ps_buf_fini(&whole);
    ps_buf_fini(&edited);
    return 0;
}
