/* Worker logs made for one oddity each: what is a record, steps and runs, blocks, long lines, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/rng.h"
#include "read/paddle/paddle.h"
#include "read/paddle/paddle_record.h"
#include "read/paddle/paddle_scan.h"
#include "read/reader.h"
#include "support/sanitized.h"
#include "support/scratch.h"

enum { NEEDS = PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META | PS_NEED_INVENTORY };

#define BASE_US INT64_C(1701771693000000)

static ps_trace *read_bytes(const void *bytes, size_t n, ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_input *in = b != NULL ? ps_input_of_memory(bytes, n, err) : NULL;
    if (in == NULL) {
        ps_builder_free(b);
        return NULL;
    }
    ps_code code = ps_paddle_read_log(in, "workerlog.3", NEEDS, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}

static ps_trace *read_text(const ps_buf *log) {
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_bytes(ps_buf_str(log), log->len, &err);
    assert_non_null(t);
    return t;
}

static void add_record(ps_buf *log, const char *type, int mb, int64_t start_us, int64_t end_us) {
    ps_buf_addf(log,
                "Profiler Info: Job (%d), type = %s, micro_batch_id = %d, job_start_time = "
                "%lld.%03lld000, job_end_time = %lld.%03lld000",
                mb, type, mb, (long long)(start_us / 1000), (long long)(start_us % 1000),
                (long long)(end_us / 1000), (long long)(end_us % 1000));
}

static void add_line(ps_buf *log, const char *type, int mb, int64_t start_us, int64_t end_us) {
    add_record(log, type, mb, start_us, end_us);
    ps_buf_add_char(log, '\n');
}

static size_t n_rows(const ps_trace *t, const char *table) {
    return ps_trace_side_table(t, table)->n_rows;
}

static int64_t arg(const ps_trace *t, uint32_t slice, const char *key) {
    int64_t value = -1;
    assert_true(ps_trace_arg_int(t, slice, key, &value));
    return value;
}

/* --- one record -------------------------------------------------------------------------------------------------- */

#define HEAD "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = "
#define LONG100                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct shape {
    const char *text;
    ps_paddle_what what;
    int64_t start_us, end_us;
} SHAPES[] = {
    {HEAD "1701771693000.032959, job_end_time = 1701771693012.871094", PS_PADDLE_JOB,
     1701771693000033, 1701771693012871},
    {HEAD "1701771693000.999500, job_end_time = 1701771693001.999499\r\n", PS_PADDLE_JOB,
     1701771693001000, 1701771693001999},
    {HEAD "0.000000, job_end_time = 0.000000\n", PS_PADDLE_JOB, 0, 0},
    {HEAD "00000000000000000001.000000, job_end_time = 2.000000 and more", PS_PADDLE_JOB, 1000,
     2000},
    {HEAD "1.0000001, job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000, job_end_time = 2.0000001", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000, job_end_time = 2.00000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000, job_end_time = 2.00000\n0", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000, job_end_time = 2,000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000, job_end_time = 2", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1.000000,job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "1x000000, job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "-1.000000, job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "9223372036854775808.000000, job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD "9223372036854775807.000000, job_end_time = 2.000000", PS_PADDLE_MALFORMED, 0, 0},
    {HEAD, PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (0)", PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (0", PS_PADDLE_NOISE, 0, 0},
    {"Profiler Info: Job (", PS_PADDLE_NOISE, 0, 0},
    {"Profiler Info: Job ()", PS_PADDLE_NOISE, 0, 0},
    {"Profiler Info: Job (-1), type = a", PS_PADDLE_NOISE, 0, 0},
    {"Profiler Info: Job (9223372036854775808), type = a", PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (11111111111111111111111111111111111111111111), type = a",
     PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (9223372036854775807), type = a b)(, micro_batch_id = "
     "9223372036854775807, job_start_time = 1.000000, job_end_time = 1.000000",
     PS_PADDLE_JOB, 1000, 1000},
    {"Profiler Info: Job (0), type = , micro_batch_id = 0", PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (0), type = a\tb, micro_batch_id = 0", PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (0), type = \xff, micro_batch_id = 0, job_start_time = 1.000000, "
     "job_end_time = 1.000000",
     PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: Job (0), type = \xc3\xa9, micro_batch_id = 0, job_start_time = 1.000000, "
     "job_end_time = 1.000000",
     PS_PADDLE_JOB, 1000, 1000},
    {"Profiler Info: Job (0), type = " LONG100 "aaaaaaaaaaaaaaaaaaaaaaaaaaa, micro_batch_id = 0, "
     "job_start_time = 1.000000, job_end_time = 1.000000",
     PS_PADDLE_JOB, 1000, 1000},
    {"Profiler Info: Job (0), type = " LONG100 "aaaaaaaaaaaaaaaaaaaaaaaaaaaa, micro_batch_id = 0, "
     "job_start_time = 1.000000, job_end_time = 1.000000",
     PS_PADDLE_MALFORMED, 0, 0},
    {"Profiler Info: the next job list has 9 entries", PS_PADDLE_NOISE, 0, 0},
    {"Profiler start at step 3 and end at step 6", PS_PADDLE_BANNER, 0, 0},
    {"Profiler start at step 3 and end at step 3", PS_PADDLE_NOISE, 0, 0},
    {"Profiler start at step -1 and end at step -1", PS_PADDLE_NOISE, 0, 0},
    {"Profiler start at step 3 and end at step 9007199254740993", PS_PADDLE_NOISE, 0, 0},
    {"NVTX range push: 1, time: 1701771692999.329102", PS_PADDLE_PUSH, 0, 0},
    {"NVTX range push: forward, time: 1701771692999.329102", PS_PADDLE_NOISE, 0, 0},
    {"NVTX range push: 1, time: 170177", PS_PADDLE_NOISE, 0, 0},
    {"NVTX range pop, time: 1701771693193.787109", PS_PADDLE_POP, 0, 0},
    {"", PS_PADDLE_NOISE, 0, 0},
};

static void records_and_what_only_looks_like_one(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        const struct shape *s = &SHAPES[i];
        ps_paddle_record rec;
        char *copy = ps_strndup(s->text, strlen(s->text)); /* exact size, for the sanitizers */
        ps_paddle_what what = ps_paddle_parse(copy, strlen(s->text), &rec);
        if (what != s->what) {
            fail_msg("%s: %d", s->text, (int)what);
        }
        if (what == PS_PADDLE_JOB) {
            assert_int_equal(rec.start_us, s->start_us);
            assert_int_equal(rec.end_us, s->end_us);
        }
        assert_true((what == PS_PADDLE_MALFORMED) == (rec.reason != NULL));
        ps_free(copy);
    }
}

/* What is there and cannot be is not told to be missing. */
static void reasons_say_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
    } ALL[] = {
        {"Profiler Info: Job (0), type = forward, micro_batch_id = -1, ",
         "micro_batch_id is negative"},
        {"Profiler Info: Job (0), type = forward, micro_batch_id = 18446744073709551616, ",
         "micro_batch_id is too large"},
        {"Profiler Info: Job (0), type = forward, micro_batch_id = x, ",
         "micro_batch_id is no number"},
        {"Profiler Info: Job (0), type = forward, ", "micro_batch_id is missing"},
        {HEAD "9999999999999999999999999999999999999999999999999.000000, ",
         "job_start_time is too large"},
        {HEAD "-1.000000, ", "job_start_time is no number"},
    };
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        ps_paddle_record rec;
        assert_int_equal(ps_paddle_parse(ALL[i].text, strlen(ALL[i].text), &rec),
                         PS_PADDLE_MALFORMED);
        assert_string_equal(rec.reason, ALL[i].reason);
    }
}

/* Every beginning of a good record is noise, or malformed, but never a job; one more digit makes it so too. */
static void no_cut_record_is_a_job(void **state) {
    (void)state;
    static const char GOOD[] = HEAD "1701771693000.032959, job_end_time = 1701771693012.871094";
    for (size_t n = 0; n < sizeof GOOD - 1; n++) {
        ps_paddle_record rec;
        char *copy = ps_strndup(GOOD, n);
        assert_int_not_equal(ps_paddle_parse(copy, n, &rec), PS_PADDLE_JOB);
        ps_free(copy);
    }
}

/* --- finding them -------------------------------------------------------------------------------------------------- */

static void both_searches_find_the_same(void **state) {
    (void)state;
    enum { N = 20000 };
    static const char LETTERS[] = "PrNXofile\n\nTV ";
    static unsigned char bytes[N + PS_PADDLE_SCAN_PAD];
    static ps_paddle_hits fast;
    static ps_paddle_hits plain;
    ps_rng rng = ps_rng_seed(7);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)LETTERS[ps_rng_below(&rng, sizeof LETTERS - 1)];
    }
    for (size_t n = 0; n < 200; n++) {
        ps_paddle_scan(bytes + n, n, &fast);
        ps_paddle_scan_plain(bytes + n, n, &plain);
        assert_int_equal(fast.n, plain.n);
        assert_int_equal(fast.n_bytes, n);
        assert_int_equal(fast.n_lines, plain.n_lines);
        assert_memory_equal(fast.at, plain.at, fast.n * sizeof *fast.at);
    }
    size_t total_fast = 0;
    size_t total_plain = 0;
    for (size_t at = 0; at < N; at += fast.n_bytes, total_fast += fast.n) {
        ps_paddle_scan(bytes + at, N - at, &fast);
    }
    for (size_t at = 0; at < N; at += plain.n_bytes, total_plain += plain.n) {
        ps_paddle_scan_plain(bytes + at, N - at, &plain);
    }
    assert_true(total_fast > PS_PADDLE_HITS / 8);
    assert_int_equal(total_fast, total_plain);
}

/* A record at every offset around the end of a block is found once, with its line. */
static void records_across_blocks(void **state) {
    (void)state;
    enum { BLOCK = 1 << 19 };
    for (size_t shift = 0; shift < 700; shift += 7) {
        ps_buf log;
        ps_buf_init(&log, 0);
        ps_buf_add_fill(&log, '\n', 1000);
        ps_buf_add_fill(&log, 'P', BLOCK - 1000 - 200 + shift);
        add_line(&log, "forward", 0, BASE_US, BASE_US + 10);
        add_line(&log, "forward", 1, BASE_US + 20, BASE_US + 30);
        ps_trace *t = read_text(&log);
        assert_int_equal(ps_trace_slices(t)->n, 2);
        assert_int_equal(arg(t, 0, "line"), 1001);
        assert_int_equal(arg(t, 1, "line"), 1002);
        ps_trace_free(t);
        ps_buf_fini(&log);
    }
}

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* whatever else the machine does */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Lines without end cost no more than others: 300,000 bytes in milliseconds (a hundredth of a second also under
 * sanitizers), and 20 MB of records that are none in seconds. */
static void long_lines_are_quick(void **state) {
    (void)state;
    ps_buf log;
    ps_buf_init(&log, 0);
    ps_buf_add_fill(&log, 'x', 300000);
    ps_buf_add_char(&log, ' ');
    add_line(&log, "forward", 0, BASE_US, BASE_US + 10);
    double begin_s = now_s();
    ps_trace *t = read_text(&log);
    double took_s = now_s() - begin_s;
    assert_int_equal(ps_trace_slices(t)->n, 1);
    assert_int_equal(arg(t, 0, "line"), 1);
    assert_true(took_s < 0.1);
    ps_trace_free(t);
    ps_buf_clear(&log);
    for (int i = 0; i < 800000; i++) {
        ps_buf_add_str(&log, "Profiler Info: Job (1)   ");
    }
    begin_s = now_s();
    t = read_text(&log);
    assert_true(now_s() - begin_s < 30); /* hours when it is quadratic */
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_RECORD], 800000);
    assert_int_equal(n_rows(t, "rejected_records"), PS_PADDLE_REJECTED_ROWS);
    ps_trace_free(t);
    ps_buf_fini(&log);
}

/* --- oddities ---------------------------------------------------------------------------------------------------- */

static void glued_cut_and_foreign_bytes(void **state) {
    (void)state;
    ps_buf log;
    ps_buf_init(&log, 0);
    static const char BYTES[] = "\0\0\xff\xfe 50%|####\r 51%|#####\r";
    ps_buf_add(&log, BYTES, sizeof BYTES - 1);
    add_record(&log, "forward", 0, BASE_US, BASE_US + 10);
    add_record(&log, "forward", 1, BASE_US + 10, BASE_US + 20); /* on the same line */
    ps_buf_add_str(&log, "\nProfiler Info: Job (2), type = forward, micro_batch_id = 2, job_sta");
    add_line(&log, "forward", 3, BASE_US + 30, BASE_US + 40); /* the line of another thread */
    ps_buf_add_str(&log, "rt_time = 1701771693000.020000, job_end_time = 1701771693000.030000\n");
    add_line(&log, "forward", 4, BASE_US + 60, BASE_US + 50); /* reversed */
    add_line(&log, "forward", 5, 0, BASE_US + 50);
    add_line(&log, "forward", 6, 0, 0);
    ps_trace *t = read_text(&log);
    const ps_diag *d = ps_trace_diag(t);
    assert_int_equal(ps_trace_slices(t)->n, 3);
    assert_int_equal(d->counts[PS_ODD_RECORD], 1);
    assert_int_equal(d->counts[PS_ODD_TIME], 2);
    assert_int_equal(d->counts[PS_ODD_UNTIMED], 1);
    assert_string_equal(d->places[PS_ODD_RECORD][0],
                        "workerlog.3 line 2: job_start_time is missing");
    assert_string_equal(d->places[PS_ODD_TIME][0],
                        "workerlog.3 line 4: the job ends before it starts");
    assert_string_equal(d->places[PS_ODD_TIME][1], "workerlog.3 line 5: a job without start time");
    assert_string_equal(d->places[PS_ODD_UNTIMED][0], "workerlog.3 line 6");
    assert_int_equal(n_rows(t, "rejected_records"), 3);
    assert_int_equal(arg(t, 2, "seq"), 3); /* the cut one keeps its place */
    assert_int_equal(ps_table_cell(ps_trace_side_table(t, "untimed_jobs"), 0, 3)->u.i, 6);
    size_t n = 0;
    const ps_track *track = ps_trace_tracks(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(track->kind, PS_TRACK_STREAM);
    assert_int_equal(track->device, 3);
    assert_string_equal(ps_trace_text(t, track->label), "worker 3");
    ps_trace_free(t);
    ps_buf_fini(&log);
}

/* Programs that write or read such records hold their words, too. */
static void programs_are_no_logs(void **state) {
    (void)state;
    static const char RECORD[] = HEAD "1701771693000.032959, job_end_time = 1701771693012.871094\n";
    static const struct {
        const char *head;
        size_t n;
        bool is_log;
    } CASES[] = {
        {"I1205 log\n\n\n\n\n\n\n", 16, true},     {"\247\r\r\n\0\0\0\0mtimesize", 16, false},
        {"\247\r\r\n\3\0\0\0hashhash", 16, false}, {"\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, false},
        {"a\n\r\nI1205 log 1\n", 16, true},        {"ab\r\n", 4, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char path[SCRATCH_BYTES + 16];
        (void)snprintf(path, sizeof path, "%s/log", scratch_dir);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, CASES[i].head, CASES[i].n), CASES[i].n);
        assert_int_equal(write(fd, RECORD, sizeof RECORD - 1), sizeof RECORD - 1);
        assert_int_equal(close(fd), 0);
        int score = ps_reader_paddle.sniff(path, (const unsigned char *)CASES[i].head, CASES[i].n);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(score > 0, CASES[i].is_log);
    }
}

static void names_of_logs(void **state) {
    (void)state;
    assert_int_equal(ps_paddle_worker_of("a/b/workerlog.0"), 0);
    assert_int_equal(ps_paddle_worker_of("workerlog.12"), 12);
    assert_int_equal(ps_paddle_worker_of("workerlog.012"), -1);
    assert_int_equal(ps_paddle_worker_of("workerlog."), -1);
    assert_int_equal(ps_paddle_worker_of("workerlog.1.bak"), -1);
    assert_int_equal(ps_paddle_worker_of("workerlog.-1"), -1);
    assert_int_equal(ps_paddle_worker_of("xworkerlog.1"), -1);
    assert_int_equal(ps_paddle_worker_of("workerlog.1/x"), -1);
    assert_int_equal(ps_paddle_worker_of("workerlog.9999999999"), -1);
}

/* --- steps and runs ------------------------------------------------------------------------------------------------ */

enum { STEP_US = 100000 };

/* A step of four jobs that begins at `start_us`; returns the start of the next one. */
static int64_t add_step(ps_buf *log, int64_t start_us) {
    static const char *const TYPES[] = {"forward", "backward", "forward", "backward"};
    for (int i = 0; i < 4; i++) {
        int64_t at = start_us + i * 20000;
        add_line(log, TYPES[i], i / 2, at, at + 15000);
    }
    return start_us + STEP_US;
}

static void expect_steps(const ps_buf *log, const char *want) {
    ps_trace *t = read_text(log);
    ps_buf got;
    ps_buf_init(&got, 0);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    int64_t run = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t slice = 0;
        size_t n_jobs = 0;
        for (uint32_t k = 0; k < s->n; k++) {
            bool in = arg(t, k, "step") == steps[i].id;
            slice = in ? k : slice;
            n_jobs += in;
        }
        ps_buf_addf(&got, "%s%lld:%zu",
                    i == 0                       ? ""
                    : arg(t, slice, "run") > run ? " | "
                                                 : " ",
                    (long long)steps[i].id, n_jobs);
        run = arg(t, slice, "run");
    }
    if (strcmp(ps_buf_str(&got), want) != 0) {
        fail_msg("steps %s, not %s", ps_buf_str(&got), want);
    }
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_APPENDED], n_rows(t, "runs") - 1);
    ps_buf_fini(&got);
    ps_trace_free(t);
}

typedef struct script {
    ps_buf log;
    int64_t at_us;
} script;

static void begin(script *s) {
    ps_buf_init(&s->log, 0);
    s->at_us = BASE_US;
}

static void steps(script *s, int n) {
    for (int i = 0; i < n; i++) {
        s->at_us = add_step(&s->log, s->at_us);
    }
}

static void say(script *s, const char *line) {
    ps_buf_addf(&s->log, "[2023-12-05] [    INFO] - %s\n", line);
}

static void expect(script *s, const char *want) {
    expect_steps(&s->log, want);
    ps_buf_fini(&s->log);
}

static void steps_are_counted_from_the_banner(void **state) {
    (void)state;
    script s;
    begin(&s);
    steps(&s, 3);
    expect(&s, "0:4 1:4 2:4");
    begin(&s);
    say(&s, "Schedule Profiler start at step 7 and end at step 10");
    steps(&s, 3);
    expect(&s, "7:4 8:4 9:4");
}

/* A helper prints its banner in every iteration. */
static void a_repeated_banner_changes_nothing(void **state) {
    (void)state;
    script s;
    begin(&s);
    for (int i = 0; i < 4; i++) {
        say(&s, "Schedule Profiler start at step 7 and end at step 10");
        steps(&s, i > 0);
    }
    expect(&s, "7:4 8:4 9:4");
}

static void further_runs(void **state) {
    (void)state;
    script s;
    begin(&s); /* another window */
    say(&s, "Schedule Profiler start at step 2 and end at step 4");
    steps(&s, 2);
    say(&s, "Schedule Profiler start at step 8 and end at step 10");
    steps(&s, 2);
    expect(&s, "2:4 3:4 | 8:4 9:4");
    begin(&s); /* the same window again, half a minute later */
    for (int i = 0; i < 2; i++) {
        say(&s, "Schedule Profiler start at step 2 and end at step 4");
        steps(&s, 2);
        s.at_us += 30000000;
    }
    expect(&s, "2:4 3:4 | 4:4 5:4");
    begin(&s); /* an hour later, without a word */
    steps(&s, 2);
    s.at_us += INT64_C(3600000000);
    steps(&s, 2);
    expect(&s, "0:4 1:4 | 2:4 3:4");
    begin(&s); /* one step only, then an hour */
    steps(&s, 1);
    s.at_us += INT64_C(3600000000);
    steps(&s, 1);
    expect(&s, "0:4 | 1:4");
    begin(&s); /* the clock was set back by a day */
    steps(&s, 3);
    s.at_us -= INT64_C(86400000000);
    steps(&s, 2);
    expect_steps(&s.log, "3:4 4:4 0:4 1:4 2:4"); /* in the order of time */
    ps_buf_fini(&s.log);
}

static void pauses_that_are_no_run(void **state) {
    (void)state;
    script s;
    begin(&s); /* 40 steps long */
    steps(&s, 3);
    s.at_us += 40 * STEP_US;
    steps(&s, 1);
    expect(&s, "0:4 1:4 2:4 3:4");
    begin(&s); /* the clock steps back by half a step */
    steps(&s, 3);
    s.at_us -= STEP_US + STEP_US / 2;
    steps(&s, 1);
    expect(&s, "0:4 1:4 3:4 2:4");
}

static void marks_give_the_number(void **state) {
    (void)state;
    script s;
    begin(&s);
    say(&s, "NVTX range push: 5, time: 1701771692999.329102");
    steps(&s, 1);
    say(&s, "NVTX range pop, time: 1701771692999.329102");
    say(&s, "NVTX range push: 6, time: 1701771692999.329102"); /* holds nothing */
    say(&s, "NVTX range push: 8, time: 1701771692999.329102");
    steps(&s, 1);
    steps(&s, 1);                                              /* a step without its mark */
    say(&s, "NVTX range push: 5, time: 1701771692999.329102"); /* from the beginning */
    steps(&s, 2);
    expect(&s, "5:4 8:4 9:4 | 10:4 11:4");
}

/* A lost record must not shift the steps. */
static void lost_records_keep_the_steps(void **state) {
    (void)state;
    script s;
    begin(&s);
    steps(&s, 1);
    add_line(&s.log, "backward", 0, s.at_us, s.at_us + 10); /* its forward 0 is lost */
    add_line(&s.log, "forward", 1, s.at_us + 20, s.at_us + 30);
    s.at_us += STEP_US;
    steps(&s, 1);
    expect(&s, "0:4 1:2 2:4");
}

/* --- memory --------------------------------------------------------------------------------------------------------- */

static void no_memory_is_an_error(void **state) {
    (void)state;
    script s;
    begin(&s);
    say(&s, "Schedule Profiler start at step 2 and end at step 4");
    steps(&s, 2);
    add_line(&s.log, "recv_forward", 0, 0, 0);
    ps_buf_add_str(&s.log, "Profiler Info: Job (1), type\n");
    say(&s, "Schedule Profiler start at step 9 and end at step 11");
    steps(&s, 2);
    for (int64_t n = 0;; n += PS_NEXT_FAILURE) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = read_bytes(ps_buf_str(&s.log), s.log.len, &err);
        int64_t n_made = ps_alloc_fail_at(-1);
        if (t != NULL && n_made <= n) {
            ps_trace_free(t);
            assert_true(n > 20);
            break;
        }
        if (t == NULL && err.code != PS_OK) {
            assert_int_equal(err.code, PS_NOMEM);
        }
        ps_trace_free(t);
        assert_true(n < 2000);
    }
    ps_buf_fini(&s.log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_and_what_only_looks_like_one),
        cmocka_unit_test(reasons_say_what_is_wrong),
        cmocka_unit_test(no_cut_record_is_a_job),
        cmocka_unit_test(both_searches_find_the_same),
        cmocka_unit_test(records_across_blocks),
        cmocka_unit_test(long_lines_are_quick),
        cmocka_unit_test(glued_cut_and_foreign_bytes),
        cmocka_unit_test_setup_teardown(programs_are_no_logs, scratch_setup, scratch_teardown),
        cmocka_unit_test(names_of_logs),
        cmocka_unit_test(steps_are_counted_from_the_banner),
        cmocka_unit_test(a_repeated_banner_changes_nothing),
        cmocka_unit_test(further_runs),
        cmocka_unit_test(pauses_that_are_no_run),
        cmocka_unit_test(marks_give_the_number),
        cmocka_unit_test(lost_records_keep_the_steps),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
