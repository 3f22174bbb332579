/* Worker logs of Paddle's static graph executor: one line for each job of a profiled step, among whatever else the
 * process printed (paddle_record.h shows the lines).
 *
 * The log is read in blocks; paddle_scan.c finds the places where something may begin, paddle_record.c reads what is
 * there, paddle_steps.c says to which step it belongs. A block keeps the end of the one before, so that no record is
 * cut between two; memory does not grow with the log.
 *
 * And what pipelines of the dynamic graph write with `profiling` (paddle_stamps.h): lines of their own, two for each pass, which is a job
 * as those of the logs are. */
#include "read/paddle/paddle.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/num.h"
#include "model/recording.h"
#include "read/paddle/paddle_record.h"
#include "read/paddle/paddle_scan.h"
#include "read/paddle/paddle_stamps.h"
#include "read/paddle/paddle_steps.h"
#include "read/reader.h"

#define BLOCK_BYTES ((size_t)1 << 19)

enum { ARG_STEP, ARG_MICROBATCH, ARG_JOB, ARG_LINE, ARG_RUN, ARG_SEQ, N_ARGS };

static const char *const ARG_NAMES[N_ARGS] = {"step", "microbatch", "job", "line", "run", "seq"};

static const ps_column UNTIMED_COLUMNS[] = {{.name = "type", .type = PS_COL_TEXT},
                                            {.name = "microbatch", .type = PS_COL_INT},
                                            {.name = "step", .type = PS_COL_INT},
                                            {.name = "seq", .type = PS_COL_INT},
                                            {.name = "line", .type = PS_COL_INT}};

static const ps_column REJECTED_COLUMNS[] = {{.name = "line", .type = PS_COL_INT},
                                             {.name = "byte", .type = PS_COL_INT},
                                             {.name = "reason", .type = PS_COL_TEXT}};

/* The type of the last record, since most follow one of the same type. */
typedef struct known_type {
    char bytes[PS_PADDLE_MAX_TYPE];
    size_t n;
    ps_str id;
} known_type;

typedef struct reading {
    ps_builder *builder;
    ps_diag *diag;
    const char *name;
    ps_paddle_steps steps;
    ps_table *runs, *untimed, *rejected;
    bool wants_slices;
    uint32_t track;
    ps_str keys[N_ARGS];
    known_type types[4];
    uint32_t next_type;
    uint64_t line;   /* of the block's first byte */
    uint64_t offset; /* of the block's first byte in the log */
    uint64_t behind; /* what begins before this place has been read */
    uint64_t n_rejected;
} reading;

/* --- one record -------------------------------------------------------------------------------------------- */

static ps_str type_id(reading *r, const char *type, size_t n) {
    for (size_t i = 0; i < sizeof r->types / sizeof *r->types; i++) {
        const known_type *k = &r->types[i];
        if (k->n == n && memcmp(k->bytes, type, n) == 0) {
            return k->id;
        }
    }
    known_type *k = &r->types[r->next_type++ % (sizeof r->types / sizeof *r->types)];
    memcpy(k->bytes, type, n);
    k->n = n;
    k->id = ps_builder_str(r->builder, type, n);
    return k->id;
}

static bool reject(reading *r, ps_oddity kind, uint64_t line, uint64_t offset, const char *reason) {
    ps_diag_add(r->diag, kind, "%s line %llu: %s", r->name, (unsigned long long)line, reason);
    if (r->n_rejected++ >= PS_PADDLE_REJECTED_ROWS) {
        return true;
    }
    if (!ps_table_add_row(r->rejected) || !ps_table_set_text(r->rejected, 2, reason)) {
        return false;
    }
    ps_table_set_int(r->rejected, 0, (int64_t)line);
    ps_table_set_int(r->rejected, 1, (int64_t)offset);
    return true;
}

static bool add_untimed(reading *r, const ps_paddle_job *job) {
    ps_diag_add(r->diag, PS_ODD_UNTIMED, "%s line %llu", r->name, (unsigned long long)job->line);
    if (!ps_table_add_row(r->untimed) ||
        !ps_table_set_text(r->untimed, 0, ps_builder_text(r->builder, job->type))) {
        return false;
    }
    ps_table_set_int(r->untimed, 1, job->microbatch);
    ps_table_set_int(r->untimed, 2, job->step);
    ps_table_set_int(r->untimed, 3, job->seq);
    ps_table_set_int(r->untimed, 4, (int64_t)job->line);
    return true;
}

static bool add_paddle_slice(reading *r, const ps_paddle_job *job, int64_t id) {
    uint32_t slice = ps_builder_slice_in(r->builder, PS_SLICE_JOB, r->track, job->type, job->type,
                                         job->start_ns, job->end_ns, (int64_t)job->line);
    if (slice == PS_NONE) {
        return false;
    }
    const int64_t values[N_ARGS] = {[ARG_STEP] = job->step, [ARG_MICROBATCH] = job->microbatch,
                                    [ARG_JOB] = id,         [ARG_LINE] = (int64_t)job->line,
                                    [ARG_RUN] = job->run,   [ARG_SEQ] = job->seq};
    for (size_t i = 0; i < N_ARGS; i++) {
        ps_builder_arg(r->builder, slice,
                       (ps_arg){.key = r->keys[i], .type = PS_ARG_INT, .u.i = values[i]});
    }
    return !ps_builder_failed(r->builder);
}

/* Gives the job its place and keeps it: as a slice, as untimed, or with a reason why not. */
static bool add_paddle_job(reading *r, const ps_paddle_record *rec, uint64_t line,
                           uint64_t offset) {
    bool untimed = rec->start_us == 0 && rec->end_us == 0;
    const char *reason = rec->reason;
    if (reason == NULL && !untimed && (rec->start_us == 0 || rec->end_us < rec->start_us)) {
        reason = rec->start_us == 0 ? "a job without start time" : "the job ends before it starts";
    }
    ps_paddle_job job = {.type = type_id(r, rec->type, rec->n_type),
                         .microbatch = rec->microbatch,
                         .is_timed = reason == NULL && !untimed,
                         .start_ns = rec->start_us * 1000,
                         .end_ns = rec->end_us * 1000,
                         .line = line};
    if (!ps_paddle_steps_add(&r->steps, &job)) {
        return false;
    }
    if (job.begins_run) {
        ps_diag_add(r->diag, PS_ODD_APPENDED, "%s line %llu", r->name, (unsigned long long)line);
    }
    if (reason != NULL) {
        return reject(r, rec->reason != NULL ? PS_ODD_RECORD : PS_ODD_TIME, line, offset, reason);
    }
    if (untimed) {
        return add_untimed(r, &job);
    }
    return !r->wants_slices || add_paddle_slice(r, &job, rec->job);
}

static bool take_place(reading *r, const unsigned char *block, size_t n, const ps_paddle_hit *hit,
                       uint64_t line) {
    uint64_t offset = r->offset + hit->at;
    if (offset < r->behind) {
        return true;
    }
    ps_paddle_record rec;
    switch (ps_paddle_parse((const char *)block + hit->at, n - hit->at, &rec)) {
    case PS_PADDLE_NOISE:
        return true;
    case PS_PADDLE_BANNER:
        ps_paddle_steps_banner(&r->steps, rec.first, rec.end);
        break;
    case PS_PADDLE_PUSH:
        ps_paddle_steps_push(&r->steps, rec.first);
        break;
    case PS_PADDLE_POP:
        ps_paddle_steps_pop(&r->steps);
        break;
    case PS_PADDLE_MALFORMED:
        if (rec.has_place) {
            return add_paddle_job(r, &rec, line, offset);
        }
        ps_paddle_steps_skip(&r->steps);
        return reject(r, PS_ODD_RECORD, line, offset, rec.reason);
    case PS_PADDLE_JOB:
        r->behind = offset + rec.n_bytes;
        return add_paddle_job(r, &rec, line, offset);
    }
    r->behind = offset + rec.n_bytes;
    return true;
}

/* --- the log ------------------------------------------------------------------------------------------------- */

/* Takes what begins in the first `n` of the `n_seen` bytes of the block. */
static bool take_paddle_block(reading *r, const unsigned char *block, size_t n, size_t n_seen,
                              ps_paddle_hits *hits) {
    for (size_t at = 0; at < n; at += hits->n_bytes) {
        ps_paddle_scan(block + at, n - at, hits);
        for (size_t i = 0; i < hits->n; i++) {
            ps_paddle_hit hit = {(uint32_t)(hits->at[i].at + at), 0};
            if (!take_place(r, block, n_seen, &hit, r->line + hits->at[i].line)) {
                return false;
            }
        }
        r->line += hits->n_lines;
    }
    r->offset += n;
    return true;
}

static ps_code read_blocks(reading *r, ps_input *in, ps_err *err) {
    const size_t cap = BLOCK_BYTES + PS_PADDLE_MAX_BYTES;
    unsigned char *block = ps_calloc(cap + PS_PADDLE_SCAN_PAD, 1);
    ps_paddle_hits *hits = ps_alloc(sizeof *hits);
    ps_code code = block != NULL && hits != NULL ? PS_OK : ps_fail_nomem(err);
    size_t n = 0; /* bytes in the block */
    bool at_end = false;
    while (code == PS_OK && !at_end) {
        size_t got = 0;
        code = ps_input_read(in, block + n, cap - n, &got, err);
        if (code != PS_OK) {
            break;
        }
        n += got;
        at_end = n < cap;
        size_t whole = at_end ? n : n - PS_PADDLE_MAX_BYTES;
        if (!take_paddle_block(r, block, whole, n, hits)) {
            code = ps_fail_nomem(err);
        }
        memmove(block, block + whole, n - whole);
        n -= whole;
    }
    ps_free(block);
    ps_free(hits);
    return code;
}

/* --- lines of the dynamic graph -------------------------------------------------------------------------------- */

/* A pass that has begun. */
typedef struct open_pass {
    ps_paddle_stamp stamp;
    uint64_t line, offset;
    bool is_open;
} open_pass;

static bool add_paddle_pass(reading *r, const open_pass *pass, int64_t end_us) {
    const ps_paddle_stamp *s = &pass->stamp;
    char type[PS_PADDLE_MAX_TYPE];
    const char *name = s->is_forward ? "forward" : "backward";
    int n = s->chunk < 0 ? snprintf(type, sizeof type, "%s", name)
                         : snprintf(type, sizeof type, "%s%lld", name, (long long)s->chunk);
    ps_paddle_record rec = {.type = type,
                            .n_type = (size_t)n,
                            .job = s->microbatch,
                            .microbatch = s->microbatch,
                            .start_us = s->at_us,
                            .end_us = end_us,
                            .has_place = true};
    return add_paddle_job(r, &rec, pass->line, pass->offset);
}

static bool take_stamp(reading *r, open_pass *pass, const ps_paddle_stamp *s) {
    const ps_paddle_stamp *o = &pass->stamp;
    bool ends = pass->is_open && !s->begins && s->is_forward == o->is_forward &&
                s->microbatch == o->microbatch && s->chunk == o->chunk;
    bool ok = true;
    if (ends) {
        ok = add_paddle_pass(r, pass, s->at_us);
    } else if (pass->is_open) {
        ok = reject(r, PS_ODD_RECORD, pass->line, pass->offset, "a pass that does not end");
    }
    if (ok && !ends && !s->begins) {
        ok = reject(r, PS_ODD_RECORD, r->line, r->offset, "the end of a pass that did not begin");
    }
    *pass = (open_pass){.stamp = *s, .line = r->line, .offset = r->offset, .is_open = s->begins};
    return ok;
}

static bool take_stamp_line(reading *r, open_pass *pass, const char *line, size_t n) {
    ps_paddle_stamp stamp = {0};
    switch (ps_paddle_stamp_parse(line, n, &stamp)) {
    case PS_PADDLE_LINE_STAMP:
        return take_stamp(r, pass, &stamp);
    case PS_PADDLE_LINE_OTHER:
        return reject(r, PS_ODD_RECORD, r->line, r->offset, "no pass of a pipeline");
    case PS_PADDLE_LINE_NOMEM:
        return false;
    case PS_PADDLE_LINE_EMPTY:
        break;
    }
    return true;
}

/* The end of the line that begins there; NULL when it lies behind the block. What is longer than any line of ours is cut. */
static const char *stamp_line_end(const char *at, size_t n, bool at_end) {
    const char *end = memchr(at, '\n', n);
    return end != NULL ? end : at_end || n > PS_PADDLE_STAMP_BYTES ? at + n : NULL;
}

static ps_code read_stamps(reading *r, ps_input *in, ps_err *err) {
    const size_t cap = BLOCK_BYTES;
    char *block = ps_alloc(cap);
    ps_code code = block != NULL ? PS_OK : ps_fail_nomem(err);
    open_pass pass = {0};
    size_t n = 0;
    bool at_end = false;
    while (code == PS_OK && !at_end) {
        size_t got = 0;
        code = ps_input_read(in, block + n, cap - n, &got, err);
        if (code != PS_OK) {
            break;
        }
        n += got;
        at_end = n < cap;
        size_t at = 0;
        const char *end = NULL;
        while (code == PS_OK && at < n &&
               (end = stamp_line_end(block + at, n - at, at_end)) != NULL) {
            size_t length = (size_t)(end - (block + at));
            if (!take_stamp_line(r, &pass, block + at, length)) {
                code = ps_fail_nomem(err);
            }
            size_t taken = length + (at + length < n ? 1 : 0);
            r->line += at + length < n ? 1 : 0;
            r->offset += taken;
            at += taken;
        }
        memmove(block, block + at, n - at);
        n -= at;
    }
    if (code == PS_OK && pass.is_open &&
        !reject(r, PS_ODD_RECORD, pass.line, pass.offset, "a pass that does not end")) {
        code = ps_fail_nomem(err);
    }
    ps_free(block);
    return code;
}

/* Whether a file begins with a line of that kind. */
static bool begins_with_stamp(const unsigned char *head, size_t n) {
    const char *text = (const char *)head;
    const char *end = n > 0 ? memchr(text, '\n', n) : NULL;
    ps_paddle_stamp stamp;
    return end != NULL &&
           ps_paddle_stamp_parse(text, (size_t)(end - text), &stamp) == PS_PADDLE_LINE_STAMP;
}

static bool prepare_paddle(reading *r, uint32_t needs) {
    r->diag = ps_builder_diag(r->builder);
    r->line = 1;
    r->wants_slices = (needs & (PS_NEED_SLICES | PS_NEED_MARKS)) != 0;
    r->runs = ps_table_new(PS_PADDLE_RUNS, "", ps_paddle_run_columns, PS_PADDLE_RUN_COLUMNS);
    r->untimed = ps_table_new(PS_PADDLE_UNTIMED, "", UNTIMED_COLUMNS,
                              sizeof UNTIMED_COLUMNS / sizeof *UNTIMED_COLUMNS);
    r->rejected = ps_table_new(PS_PADDLE_REJECTED, "", REJECTED_COLUMNS,
                               sizeof REJECTED_COLUMNS / sizeof *REJECTED_COLUMNS);
    ps_paddle_steps_init(&r->steps, r->builder, r->runs);
    for (size_t i = 0; i < N_ARGS; i++) {
        r->keys[i] = ps_builder_str(r->builder, ARG_NAMES[i], strlen(ARG_NAMES[i]));
    }
    int64_t worker = ps_paddle_worker_of(r->name);
    r->track = ps_builder_track(
        r->builder, (ps_track){.kind = PS_TRACK_STREAM, .device = worker >= 0 ? worker : 0});
    if (worker >= 0) {
        char label[48];
        (void)snprintf(label, sizeof label, "worker %lld", (long long)worker);
        ps_str id = ps_builder_str(r->builder, label, strlen(label));
        ps_builder_track_label(r->builder, r->track, id, worker);
    }
    return r->runs != NULL && r->untimed != NULL && r->rejected != NULL &&
           !ps_builder_failed(r->builder);
}

static bool add_paddle_fact(ps_table *t, const char *what, uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return ps_table_add_row(t) && ps_table_set_text(t, 0, what) && ps_table_set_text(t, 1, text);
}

/* What `pipescope info` says beside the counts. */
static bool add_facts(const reading *r) {
    static const ps_column FACTS[] = {{.name = "what", .type = PS_COL_TEXT},
                                      {.name = "value", .type = PS_COL_TEXT}};
    ps_table *facts = ps_table_new("facts", "", FACTS, 2);
    bool ok = facts != NULL && add_paddle_fact(facts, "runs", r->runs->n_rows) &&
              add_paddle_fact(facts, "lines", r->line);
    ps_builder_side_table(r->builder, facts);
    return ok && !ps_builder_failed(r->builder);
}

static ps_code read_paddle_with(ps_code (*read_all)(reading *r, ps_input *in, ps_err *err),
                                ps_input *in, const char *name, uint32_t needs, ps_builder *b,
                                ps_err *err) {
    reading r = {.builder = b, .name = ps_path_base(name)};
    ps_code code = prepare_paddle(&r, needs) ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? read_all(&r, in, err) : code;
    if (code == PS_OK && (!ps_paddle_steps_finish(&r.steps) ||
                          ((needs & PS_NEED_INVENTORY) != 0 && !add_facts(&r)))) {
        code = ps_fail_nomem(err);
    }
    /* A step is what its jobs span on this rank. */
    ps_builder_meta(b, PS_STEP_STARTS_KEY, "first work");
    ps_builder_meta(b, PS_STEP_ENDS_KEY, "last work");
    if (code == PS_OK && ps_input_is_cut(in)) {
        ps_diag_add(r.diag, PS_ODD_TRUNCATED, "%s", r.name);
    }
    ps_paddle_steps_fini(&r.steps);
    ps_builder_side_table(b, r.runs);
    ps_builder_side_table(b, r.untimed);
    ps_builder_side_table(b, r.rejected);
    return code == PS_OK && ps_builder_failed(b) ? ps_fail_nomem(err) : code;
}

ps_code ps_paddle_read_log(ps_input *in, const char *name, uint32_t needs, ps_builder *b,
                           ps_err *err) {
    return read_paddle_with(read_blocks, in, name, needs, b, err);
}

ps_code ps_paddle_read_stamps(ps_input *in, const char *name, uint32_t needs, ps_builder *b,
                              ps_err *err) {
    return read_paddle_with(read_stamps, in, name, needs, b, err);
}

/* --- the reader ---------------------------------------------------------------------------------------------- */

/* What stands behind `begin` in the file's name, a number alone; -1 for any other name. */
static int64_t paddle_number_behind(const char *path, const char *begin) {
    const char *base = ps_path_base(path);
    int64_t worker = -1;
    if (strncmp(base, begin, strlen(begin)) != 0) {
        return -1;
    }
    const char *digits = base + strlen(begin);
    const size_t n = strspn(digits, "0123456789");
    if (n == 0 || n > 9 || (digits[0] == '0' && n > 1) ||
        (digits[n] != '\0' && strcmp(digits + n, ".gz") != 0) ||
        !ps_parse_i64(digits, n, &worker)) {
        return -1;
    }
    return worker;
}

int64_t ps_paddle_worker_of(const char *path) {
    return paddle_number_behind(path, "workerlog.");
}

/* Of both kinds of files. */
static int64_t paddle_rank_of(const char *path) {
    int64_t worker = ps_paddle_worker_of(path);
    return worker >= 0 ? worker : paddle_number_behind(path, "profile_record_tmp_file_for_rank_");
}

/* The directory of the log when it is named for a machine, in the arena; "" when not, NULL when memory is out. */
static const char *paddle_machine_of(const char *path, ps_arena *arena) {
    const char *dir = ps_path_dir(arena, path);
    const char *base = dir != NULL ? ps_path_base(dir) : NULL;
    return base == NULL ? NULL : strncmp(base, "machine", 7) == 0 ? base : "";
}

static ps_code read_log(const ps_src *src, uint32_t needs, ps_builder *b, ps_err *err) {
    ps_file_stamp stamp = {0};
    if (ps_file_identify(src->path, &stamp.file, NULL) == PS_OK) {
        ps_builder_stamp(b, stamp);
    }
    ps_input *in = ps_input_open(src->path, err);
    if (in == NULL) {
        return err != NULL ? err->code : PS_IO;
    }
    ps_input_may_grow(in);
    ps_input_watch(in, src->watch);
    unsigned char head[PS_PADDLE_STAMP_BYTES + 2];
    size_t n_head = 0;
    ps_code code = ps_input_head(src->path, head, sizeof head, &n_head, err);
    if (code == PS_OK) {
        code = begins_with_stamp(head, n_head) ? ps_paddle_read_stamps(in, src->path, needs, b, err)
                                               : ps_paddle_read_log(in, src->path, needs, b, err);
    }
    ps_input_close(in);
    ps_arena arena = {0};
    const char *machine = paddle_machine_of(src->path, &arena);
    int64_t worker = ps_paddle_worker_of(src->path);
    if (code == PS_OK && machine == NULL) {
        code = ps_fail_nomem(err);
    } else if (code == PS_OK) {
        if (worker >= 0) {
            ps_builder_meta(b, "worker", ps_path_base(src->path) + sizeof "workerlog." - 1);
        }
        if (machine[0] != '\0') {
            ps_builder_meta(b, "machine", machine);
        }
        code = ps_builder_failed(b) ? ps_fail_nomem(err) : PS_OK;
    }
    ps_arena_fini(&arena);
    return code;
}

static ps_code paddle_parts(const char *path, ps_arena *arena, ps_part **out, size_t *n,
                            ps_err *err) {
    const char *machine = paddle_machine_of(path, arena);
    *out = ps_arena_alloc(arena, sizeof **out);
    *n = 0;
    if (machine == NULL || *out == NULL) {
        return ps_fail_nomem(err);
    }
    **out = (ps_part){.id = 0, .rank = paddle_rank_of(path), .host = machine, .machine = -1};
    *n = 1;
    return PS_OK;
}

/* 90: a record; 70: a banner or mark only; 0: nothing. */
static int score_bytes(const unsigned char *bytes, size_t n, size_t n_seen, ps_paddle_hits *hits) {
    int score = 0;
    for (size_t at = 0; at < n && score < 90; at += hits->n_bytes) {
        ps_paddle_scan(bytes + at, n - at, hits);
        for (size_t i = 0; i < hits->n && score < 90; i++) {
            ps_paddle_record rec;
            size_t place = at + hits->at[i].at;
            ps_paddle_what what =
                ps_paddle_parse((const char *)bytes + place, n_seen - place, &rec);
            if (what == PS_PADDLE_JOB || what == PS_PADDLE_MALFORMED) {
                score = 90;
            } else if (what != PS_PADDLE_NOISE) {
                score = 70;
            }
        }
    }
    return score;
}

/* Hours of start-up messages may precede the first record; this much is searched for it. */
#define SNIFF_BYTES ((uint64_t)16 << 20)

static int score_file(const char *path) {
    const size_t cap = BLOCK_BYTES + PS_PADDLE_MAX_BYTES;
    unsigned char *block = ps_calloc(cap + PS_PADDLE_SCAN_PAD, 1);
    ps_paddle_hits *hits = ps_alloc(sizeof *hits);
    ps_input *in = block != NULL && hits != NULL ? ps_input_open(path, NULL) : NULL;
    int score = 0;
    size_t n = 0;
    bool at_end = in == NULL;
    if (in != NULL) {
        ps_input_may_grow(in);
    }
    while (!at_end && score < 90 && ps_input_offset(in) < SNIFF_BYTES) {
        size_t got = 0;
        if (ps_input_read(in, block + n, cap - n, &got, NULL) != PS_OK) {
            break;
        }
        n += got;
        at_end = n < cap;
        size_t whole = at_end ? n : n - PS_PADDLE_MAX_BYTES;
        int found = score_bytes(block, whole, n, hits);
        score = found > score ? found : score;
        memmove(block, block + whole, n - whole);
        n -= whole;
    }
    ps_input_close(in);
    ps_free(block);
    ps_free(hits);
    return score;
}

/* Compiled Python (two bytes of a version, CR, LF, flags below 4) and ELF: a program may hold the words of a record, as those
 * that write or read them do. */
static bool is_program(const unsigned char *head, size_t n) {
    if (n >= 8 && head[2] == '\r' && head[3] == '\n') {
        return head[4] < 4 && head[5] == 0 && head[6] == 0 && head[7] == 0;
    }
    return n >= 4 && memcmp(head, "\177ELF", 4) == 0;
}

/* JSON and databases are no logs: spares searching large ones. A log may begin with '[' too, of "[2023-12-05 ...". */
static bool is_something_else(const unsigned char *head, size_t n) {
    size_t i = 0;
    if (is_program(head, n) || (n >= 15 && memcmp(head, "SQLite format 3", 15) == 0)) {
        return true;
    }
    while (i < n && (head[i] == ' ' || head[i] == '\t' || head[i] == '\r' || head[i] == '\n')) {
        i++;
    }
    if (i < n && head[i] == '[') {
        for (i++; i < n && (head[i] == ' ' || head[i] == '\r' || head[i] == '\n'); i++) {
        }
    }
    return i < n && (head[i] == '{' || head[i] == ']');
}

static int sniff_paddle(const char *path, const unsigned char *head, size_t n) {
    if (begins_with_stamp(head, n)) {
        return 95;
    }
    if (is_something_else(head, n)) {
        return 0;
    }
    int score = score_file(path);
    return score == 0 && ps_paddle_worker_of(path) >= 0 ? 40 : score;
}

const ps_reader ps_reader_paddle = {
    .name = "paddle-log",
    .profiler = "Paddle",
    .summary = "worker log of Paddle's static graph executor (workerlog.N), or the "
               "profile_record_tmp_file_for_rank_N of its dynamic graph's pipelines",
    .sniff = sniff_paddle,
    .parts = paddle_parts,
    .read = read_log,
};
