/* Two passes over the rows: the first turns cells into ops whose `chunk` is still the stage of the whole model, and
 * notes which stages there are and on which row; the second, when all of them are known, turns stages into chunks and
 * settles what B means. */
#include "schedule/csv.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "schedule/action.h"

#define MAX_FILE ((size_t)256 << 20)
/* Stages of the model: as many as the most devices with a few chunks each. */
#define MAX_LOGICAL 65536
/* In a message, of a cell that is no action. */
#define MAX_SHOWN 40

typedef struct reader {
    ps_lists *lists;
    const char *file, *text;
    const char *at; /* the cell at hand */
    size_t row, column;
    ps_op_list ops;
    uint32_t *columns;
    size_t cap_columns;
    size_t cap_first;
    int32_t *row_of; /* [n_logical] device of each stage, -1 while unseen */
    size_t cap_stages;
    bool has_bw, has_w, has_i;
} reader;

static ps_code csv_fail_at(const reader *r, ps_code code, const char *what, ps_err *err) {
    (void)ps_fail_file(err, code, r->file, "row %zu, column %zu: %s", r->row + 1, r->column + 1,
                       what);
    if (err != NULL) {
        err->line = (uint32_t)r->row + 1;
        err->offset = (uint64_t)(r->at - r->text);
    }
    return code;
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

static ps_code note_stage(reader *r, int32_t stage, ps_err *err) {
    char what[96];
    if (stage >= MAX_LOGICAL) {
        (void)snprintf(what, sizeof what, "stage %d: must be less than %d", (int)stage,
                       MAX_LOGICAL);
        return csv_fail_at(r, PS_SYNTAX, what, err);
    }
    size_t n = (size_t)r->lists->n_logical;
    if (!ps_grow(&r->row_of, &r->cap_stages, (size_t)stage + 1, MAX_LOGICAL, sizeof *r->row_of)) {
        return ps_fail_nomem(err);
    }
    for (; n <= (size_t)stage; n++) {
        r->row_of[n] = -1;
    }
    r->lists->n_logical = (int32_t)n;
    if (r->row_of[stage] >= 0 && r->row_of[stage] != (int32_t)r->row) {
        (void)snprintf(what, sizeof what,
                       "stage %d is in row %d already; a stage belongs to one device", (int)stage,
                       (int)r->row_of[stage] + 1);
        return csv_fail_at(r, PS_SYNTAX, what, err);
    }
    r->row_of[stage] = (int32_t)r->row;
    return PS_OK;
}

static ps_code note_part(reader *r, const ps_action_part *part, ps_err *err) {
    if (part->microbatch >= PS_MAX_MICROBATCHES) {
        char what[96];
        (void)snprintf(what, sizeof what, "microbatch %d: must be less than %d",
                       (int)part->microbatch, PS_MAX_MICROBATCHES);
        return csv_fail_at(r, PS_SYNTAX, what, err);
    }
    r->has_bw = r->has_bw || part->kind == PS_ACTION_BW;
    r->has_w = r->has_w || part->kind == PS_ACTION_W;
    r->has_i = r->has_i || part->kind == PS_ACTION_I;
    if (part->microbatch >= r->lists->n_microbatches) {
        r->lists->n_microbatches = part->microbatch + 1;
    }
    return note_stage(r, part->stage, err);
}

static bool is_compute(const ps_action_part *part) {
    return part->kind <= PS_ACTION_BW;
}

/* The op of an action; chunk and chunk2 are stages for now, and a BW of old files keeps phase 1 to tell it from B. */
static ps_sched_op op_of(const ps_action *action) {
    const ps_action_part *f = &action->parts[0];
    if (action->n_parts == 1) {
        return (ps_sched_op){.kind = ps_action_op(f->kind),
                             .chunk = f->stage,
                             .microbatch = f->microbatch,
                             .chunk2 = -1,
                             .microbatch2 = -1,
                             .phase = f->kind == PS_ACTION_BW ? 1 : -1};
    }
    const ps_action_part *b = &action->parts[1];
    if (f->kind != PS_ACTION_F) {
        f = &action->parts[1];
        b = &action->parts[0];
    }
    return (ps_sched_op){.kind = PS_OP_FB,
                         .chunk = f->stage,
                         .microbatch = f->microbatch,
                         .chunk2 = b->stage,
                         .microbatch2 = b->microbatch,
                         .phase = b->kind == PS_ACTION_BW ? 1 : -1};
}

static bool is_pair(const ps_action *action) {
    int n_forward = 0;
    int n_backward = 0;
    for (size_t i = 0; i < action->n_parts; i++) {
        n_forward += action->parts[i].kind == PS_ACTION_F;
        n_backward += action->parts[i].kind == PS_ACTION_B || action->parts[i].kind == PS_ACTION_BW;
    }
    return action->n_parts == 2 && n_forward == 1 && n_backward == 1;
}

static ps_code read_cell(reader *r, size_t n, ps_err *err) {
    ps_action action;
    if (!ps_action_parse(r->at, n, &action)) {
        char what[MAX_SHOWN + 64];
        (void)snprintf(what, sizeof what, "'%.*s%s' is no action such as 0F3",
                       (int)(n < MAX_SHOWN ? n : MAX_SHOWN), r->at, n < MAX_SHOWN ? "" : "...");
        return csv_fail_at(r, PS_SYNTAX, what, err);
    }
    if (action.n_parts > 1 && !is_pair(&action)) {
        return csv_fail_at(r, PS_UNSUPPORTED, "only a forward and a whole backward can overlap",
                           err);
    }
    if (action.n_parts == 1 && !is_compute(&action.parts[0])) {
        return PS_OK;
    }
    for (size_t i = 0; i < action.n_parts; i++) {
        ps_code code = note_part(r, &action.parts[i], err);
        if (code != PS_OK) {
            return code;
        }
    }
    if (r->ops.n == PS_SIM_MAX_OPS) {
        return csv_fail_at(r, PS_SYNTAX, "a step of so many ops is not supported", err);
    }
    if (!ps_grow(&r->columns, &r->cap_columns, r->ops.n + 1, PS_SIM_MAX_OPS, sizeof *r->columns)) {
        return ps_fail_nomem(err);
    }
    r->columns[r->ops.n] = (uint32_t)r->column;
    return ps_op_list_add(&r->ops, op_of(&action)) ? PS_OK : ps_fail_nomem(err);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool is_blank(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r')) {
        s++;
    }
    return s == end;
}

static ps_code read_row(reader *r, const char *s, const char *end, ps_err *err) {
    r->at = s;
    r->column = 0;
    if (r->row >= PS_MAX_STAGES) {
        return csv_fail_at(r, PS_SYNTAX, "too many rows: one for each device, at most 4096", err);
    }
    if (!ps_grow(&r->lists->first, &r->cap_first, r->row + 2, PS_MAX_STAGES + 1,
                 sizeof *r->lists->first)) {
        return ps_fail_nomem(err);
    }
    r->lists->first[r->row] = r->ops.n;
    end -= end > s && end[-1] == '\r' ? 1 : 0;
    for (bool last = false; !last; r->column++) {
        const char *comma = memchr(r->at, ',', (size_t)(end - r->at));
        last = comma == NULL;
        const char *stop = last ? end : comma;
        ps_code code = is_blank(r->at, stop) ? PS_OK : read_cell(r, (size_t)(stop - r->at), err);
        if (code != PS_OK) {
            return code;
        }
        r->at = last ? end : comma + 1;
    }
    r->lists->first[r->row + 1] = r->ops.n;
    if (r->lists->first[r->row] == r->ops.n) {
        r->at = s;
        r->column = 0;
        return csv_fail_at(r, PS_SYNTAX, "the row has no forward or backward; a row is a device",
                           err);
    }
    r->row++;
    return PS_OK;
}

static ps_code read_rows(reader *r, size_t n, ps_err *err) {
    const char *end = r->text + n;
    while (end > r->text && (end[-1] == '\n' || is_blank(end - 1, end))) {
        end--;
    }
    const char *s = r->text;
    ps_code code = PS_OK;
    while (s < end && code == PS_OK) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        const char *stop = newline == NULL ? end : newline;
        code = read_row(r, s, stop, err);
        s = newline == NULL ? end : newline + 1;
    }
    if (code == PS_OK && r->row == 0) {
        code = ps_fail_file(err, PS_SYNTAX, r->file,
                            "the file has no row; a schedule has one for each device");
    }
    return code;
}

/* --- what follows from all rows ----------------------------------------------------------------------------------- */

/* Chunks of a device are its stages in order. chunk_of[stage] is the result. */
static ps_code place_stages(reader *r, int32_t *chunk_of, int32_t *count, ps_err *err) {
    ps_lists *lists = r->lists;
    for (int32_t s = 0; s < lists->n_logical; s++) {
        if (r->row_of[s] < 0) {
            return ps_fail_file(err, PS_SYNTAX, r->file, "stage %d of %d is in no row", (int)s,
                                (int)lists->n_logical);
        }
        chunk_of[s] = count[r->row_of[s]]++;
        if (chunk_of[s] >= PS_MAX_CHUNKS) {
            return ps_fail_file(err, PS_SYNTAX, r->file, "row %d has more than %d stages",
                                (int)r->row_of[s] + 1, PS_MAX_CHUNKS);
        }
        lists->n_chunks = chunk_of[s] + 1 > lists->n_chunks ? chunk_of[s] + 1 : lists->n_chunks;
    }
    size_t n = (size_t)lists->n_stages * (size_t)lists->n_chunks;
    lists->logical = ps_realloc_array(NULL, n, sizeof *lists->logical);
    if (lists->logical == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        lists->logical[i] = -1;
    }
    for (int32_t s = 0; s < lists->n_logical; s++) {
        lists->logical[r->row_of[s] * lists->n_chunks + chunk_of[s]] = s;
    }
    return PS_OK;
}

/* `old`: B is the input gradient, BW the whole backward. */
static void resolve_ops(const reader *r, const int32_t *chunk_of, bool old) {
    for (size_t i = 0; i < r->ops.n; i++) {
        ps_sched_op *op = &r->ops.ops[i];
        op->chunk = chunk_of[op->chunk];
        op->chunk2 = op->chunk2 >= 0 ? chunk_of[op->chunk2] : -1;
        op->kind = old && op->kind == PS_OP_B && op->phase < 0 ? PS_OP_BI : op->kind;
        op->phase = -1;
    }
}

static ps_code resolve_csv(reader *r, ps_err *err) {
    ps_lists *lists = r->lists;
    lists->n_stages = (int32_t)r->row;
    lists->chain_length = lists->n_logical;
    int32_t *chunk_of = ps_calloc((size_t)lists->n_logical, sizeof *chunk_of);
    int32_t *count = ps_calloc((size_t)lists->n_stages, sizeof *count);
    ps_code code = chunk_of == NULL || count == NULL ? ps_fail_nomem(err)
                                                     : place_stages(r, chunk_of, count, err);
    if (code == PS_OK) {
        resolve_ops(r, chunk_of, r->has_bw || (r->has_w && !r->has_i));
        lists->ops = r->ops.ops;
        lists->n_ops = (uint32_t)r->ops.n;
        lists->column = r->columns;
        r->ops = (ps_op_list){0};
        r->columns = NULL;
    }
    ps_free(chunk_of);
    ps_free(count);
    return code;
}

ps_code ps_lists_parse_csv(ps_lists *out, const char *name, const char *text, size_t n,
                           ps_err *err) {
    *out = (ps_lists){0};
    (void)snprintf(out->name, sizeof out->name, "%s", ps_path_base(name));
    reader r = {.lists = out, .file = name, .text = text, .at = text};
    ps_code code = read_rows(&r, n, err);
    if (code == PS_OK) {
        code = resolve_csv(&r, err);
    }
    ps_op_list_fini(&r.ops);
    ps_free(r.columns);
    ps_free(r.row_of);
    if (code != PS_OK) {
        ps_lists_fini(out);
    }
    return code;
}

ps_code ps_lists_read_csv(ps_lists *out, const char *path, ps_err *err) {
    *out = (ps_lists){0};
    ps_buf text;
    ps_buf_init(&text, MAX_FILE);
    ps_code code = ps_read_file(path, MAX_FILE, &text, err);
    if (code == PS_OK) {
        code = ps_lists_parse_csv(out, path, ps_buf_str(&text), text.len, err);
    }
    ps_buf_fini(&text);
    return code;
}
