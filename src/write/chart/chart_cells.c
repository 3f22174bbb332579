/* Each cell is divided into slots: eight where the terminal has colours and block characters, else one, and also
 * one where whole cells leave more room for labels (canvas->snap). A slot belongs to the op that has most time in
 * it. Then each cell becomes a character:
 *
 *   one look in all its slots       a blank on that colour (without colours: the glyph of the kind)
 *   two looks, one edge             ▎▌▊ with the two colours: edges are exact to an eighth of a cell
 *   ops too short for edges         a mixture by share of time: ▃ with the two commonest colours; without block
 *                                   characters, cells in turn, so that a row keeps the shares
 *
 * Neighbours of the same look get a thin gap (▏ in the ground's colour). A label goes into cells that belong
 * wholly to its op and leaves one of them free, so that two labels never touch.
 *
 * All time arithmetic is exact: times are multiplied by the number of slots, and then a slot is span_ns long. */
#include "write/chart/chart_cells.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "write/chart/block_text.h"

enum { EIGHTHS = 8 };

static const char *const LEFT[EIGHTHS + 1] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const LOWER[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
#define IDLE_DOT "·"
#define OTHER_WORK "▁"

static const char *const GLYPHS[PS_N_OP_KINDS] = {
    [PS_OP_F] = "█",    [PS_OP_B] = "▒",    [PS_OP_BI] = "░",
    [PS_OP_BW] = "▚",   [PS_OP_FB] = "▓",   [PS_OP_LOGITS] = "▄",
    [PS_OP_SEND] = "s", [PS_OP_RECV] = "r", [PS_OP_OTHER] = "▂",
};
static const char ASCII_GLYPHS[PS_N_OP_KINDS] = {
    [PS_OP_F] = '#',    [PS_OP_B] = '=',    [PS_OP_BI] = '-',
    [PS_OP_BW] = ':',   [PS_OP_FB] = '%',   [PS_OP_LOGITS] = '@',
    [PS_OP_SEND] = 's', [PS_OP_RECV] = 'r', [PS_OP_OTHER] = '~',
};

typedef struct cell {
    char glyph[4];       /* one character, not terminated */
    uint8_t n;           /* its bytes */
    ps_look front, back; /* colours; PS_LOOK_IDLE is the terminal's own */
    bool text;           /* the front is ink or white instead */
    bool quiet;          /* the front is the terminal's, dimmed */
} cell;

typedef struct row {
    const ps_canvas *canvas;
    const ps_op *const *ops;
    size_t n_ops;
    size_t per_cell, n_slots;
    uint32_t *owner;  /* [n_slots] op + 1, 0 idle */
    int64_t *best;    /* [n_slots] time of the owner */
    int64_t *busy;    /* [n_slots] time of all ops */
    int64_t *shares;  /* [n_cells * PS_ROW_LOOKS] */
    bool *crowded;    /* [n_cells] an op of less than half a cell has time there beside others */
    uint32_t *counts; /* [n_cells] ops that touch the cell */
    int64_t *others;  /* [n_cells] time of work in no op */
    int64_t
        debts[PS_ROW_LOOKS + 1]; /* of set_turn: time that each look, or idleness, is still owed */
    cell *cells;
} row;

static bool has_colours(const ps_canvas *c) {
    return c->style.colours != PS_COLOURS_NONE;
}

ps_look ps_look_of(const ps_canvas *canvas, const ps_op *op) {
    bool phase = canvas->by_phase && op->phase >= 0 && op->phase < PS_N_PHASES;
    return (ps_look)(phase ? PS_N_OP_KINDS + op->phase : op->kind);
}

/* --- time -> slots ----------------------------------------------------------------------------------------- */

static int64_t clamp_time(const row *r, int64_t ns) {
    int64_t from_start = ns - r->canvas->start_ns;
    from_start = from_start < 0 ? 0 : from_start;
    from_start = from_start > r->canvas->span_ns ? r->canvas->span_ns : from_start;
    return from_start * (int64_t)r->n_slots;
}

/* Gives the op its time in every slot that it touches. */
static void lay_op(row *r, size_t i) {
    int64_t slot_ns = r->canvas->span_ns;
    int64_t start = clamp_time(r, r->ops[i]->start_ns);
    int64_t end = clamp_time(r, r->ops[i]->end_ns);
    bool tiny = end - start < slot_ns * (int64_t)r->per_cell / 2;
    size_t last_cell = SIZE_MAX;
    for (int64_t s = start / slot_ns; s < (int64_t)r->n_slots && s * slot_ns < end; s++) {
        int64_t from = s * slot_ns > start ? s * slot_ns : start;
        int64_t to = (s + 1) * slot_ns < end ? (s + 1) * slot_ns : end;
        size_t at = (size_t)s;
        size_t in_cell = at / r->per_cell;
        r->busy[at] += to - from;
        r->shares[in_cell * PS_ROW_LOOKS + (size_t)ps_look_of(r->canvas, r->ops[i])] += to - from;
        r->counts[in_cell] += in_cell != last_cell;
        r->crowded[in_cell] = r->crowded[in_cell] || tiny;
        last_cell = in_cell;
        if (to - from >= r->best[at]) { /* of two alike the later: it lies inside the other */
            r->best[at] = to - from;
            r->owner[at] = (uint32_t)i + 1;
        }
    }
}

/* An op too short for any slot keeps a sliver, unless other work is there. */
static void keep_sliver(row *r, size_t i) {
    int64_t slot_ns = r->canvas->span_ns;
    int64_t start = clamp_time(r, r->ops[i]->start_ns);
    int64_t end = clamp_time(r, r->ops[i]->end_ns);
    size_t middle = (size_t)((start / 2 + end / 2) / slot_ns);
    middle = middle < r->n_slots ? middle : r->n_slots - 1;
    if (end - start < 2 * slot_ns && r->owner[middle] == 0) {
        r->owner[middle] = (uint32_t)i + 1;
    }
}

static void lay_others(row *r) {
    int64_t cell_ns = r->canvas->span_ns * (int64_t)r->per_cell;
    for (size_t i = 0; i < r->canvas->n_others; i++) {
        const ps_block *b = &r->canvas->others[i];
        int64_t start = clamp_time(r, r->canvas->start_ns + b->start_ns);
        int64_t end = clamp_time(r, r->canvas->start_ns + b->end_ns);
        for (int64_t c = start / cell_ns; c * cell_ns < end; c++) {
            int64_t from = c * cell_ns > start ? c * cell_ns : start;
            int64_t to = (c + 1) * cell_ns < end ? (c + 1) * cell_ns : end;
            r->others[c] += to - from;
        }
    }
}

static void lay_ops(row *r) {
    for (size_t i = 0; i < r->n_ops; i++) {
        if (!ps_op_is_transfer(r->ops[i])) {
            lay_op(r, i);
        }
    }
    for (size_t s = 0; s < r->n_slots; s++) {
        if (r->canvas->span_ns - r->busy[s] > r->best[s]) {
            r->owner[s] = 0;
        }
    }
    for (size_t i = 0; i < r->n_ops; i++) {
        if (!ps_op_is_transfer(r->ops[i])) {
            keep_sliver(r, i);
        }
    }
}

/* --- slots -> cells ---------------------------------------------------------------------------------------- */

static void set_glyph(cell *c, const char *glyph) {
    c->n = (uint8_t)strlen(glyph);
    memcpy(c->glyph, glyph, c->n);
}

static ps_look slot_look(const row *r, size_t slot) {
    return r->owner[slot] == 0 ? PS_LOOK_IDLE : ps_look_of(r->canvas, r->ops[r->owner[slot] - 1]);
}

const char *ps_cells_other_work(const ps_canvas *canvas) {
    return canvas->style.utf8 ? OTHER_WORK : "_";
}

/* No op; where the device works for most of the cell all the same, that shows. */
static void set_idle(const row *r, cell *c) {
    int64_t cell_ns = r->canvas->span_ns * (int64_t)r->per_cell;
    bool works = r->others[c - r->cells] * 2 > cell_ns;
    *c = (cell){.front = PS_LOOK_IDLE, .back = PS_LOOK_IDLE, .quiet = true};
    set_glyph(c, works ? ps_cells_other_work(r->canvas) : r->canvas->style.utf8 ? IDLE_DOT : ".");
}

static void set_solid(const row *r, cell *c, ps_look look) {
    if (look == PS_LOOK_IDLE) {
        set_idle(r, c);
    } else if (has_colours(r->canvas)) {
        *c = (cell){.front = PS_LOOK_IDLE, .back = look};
        set_glyph(c, " ");
    } else {
        const char ascii[2] = {ASCII_GLYPHS[look], '\0'}; /* without colours all looks are kinds */
        *c = (cell){.front = PS_LOOK_IDLE, .back = PS_LOOK_IDLE};
        set_glyph(c, r->canvas->style.utf8 ? GLYPHS[look] : ascii);
    }
}

/* A crowded cell where a cell has one look only: the one that is owed most time gets it. */
static void set_turn(row *r, cell *c, size_t at) {
    int64_t idle = r->canvas->span_ns * (int64_t)r->per_cell;
    size_t most = 0;
    for (size_t i = 0; i < PS_ROW_LOOKS; i++) {
        r->debts[i] += r->shares[at * PS_ROW_LOOKS + i];
        idle -= r->shares[at * PS_ROW_LOOKS + i];
        most = r->debts[i] > r->debts[most] ? i : most;
    }
    r->debts[PS_ROW_LOOKS] += idle;
    most = r->debts[PS_ROW_LOOKS] > r->debts[most] ? PS_ROW_LOOKS : most;
    r->debts[most] -= r->canvas->span_ns * (int64_t)r->per_cell;
    set_solid(r, c, most == PS_ROW_LOOKS ? PS_LOOK_IDLE : (ps_look)most);
}

/* Several looks in one cell: idle time stays empty above the commonest look, else the two commonest lie one above
 * the other, so that a row of very many ops still shows what it is made of. */
static void set_mixture(const row *r, cell *c, size_t at) {
    const int64_t *shares = &r->shares[at * PS_ROW_LOOKS];
    int first = 0;
    int second = -1;
    int64_t busy = shares[0];
    for (int i = 1; i < PS_ROW_LOOKS; i++) {
        busy += shares[i];
        if (shares[i] > shares[first]) {
            second = first;
            first = i;
        } else if (second < 0 || shares[i] > shares[second]) {
            second = i;
        }
    }
    int64_t cell_ns = r->canvas->span_ns * (int64_t)r->per_cell;
    if (busy == 0) { /* only ops without length */
        set_idle(r, c);
        return;
    }
    int64_t busy_eighths = (busy * EIGHTHS + cell_ns / 2) / cell_ns;
    int64_t both = shares[first] + shares[second];
    int64_t eighths = (shares[first] * EIGHTHS + both / 2) / both;
    ps_look back = (ps_look)second;
    if (busy_eighths < EIGHTHS) {
        eighths = busy_eighths > 0 ? busy_eighths : 1;
        back = PS_LOOK_IDLE;
    }
    *c = (cell){.front = (ps_look)first, .back = back};
    set_glyph(c, LOWER[eighths]);
}

static void set_cell(row *r, cell *c, size_t at) {
    size_t slot = at * r->per_cell;
    size_t edges = 0;
    size_t edge = 0; /* the first one, in slots from the left */
    for (size_t s = 1; s < r->per_cell; s++) {
        if (slot_look(r, slot + s) != slot_look(r, slot + s - 1)) {
            edge = edges == 0 ? s : edge;
            edges++;
        }
    }
    bool crowded = r->crowded[at] && r->counts[at] > 1;
    bool blocks = has_colours(r->canvas) && r->canvas->style.utf8;
    if (blocks && (edges > 1 || crowded)) {
        set_mixture(r, c, at);
        return;
    }
    if (!blocks && crowded) {
        set_turn(r, c, at);
        return;
    }
    memset(r->debts, 0, sizeof r->debts);
    if (edges == 0) {
        set_solid(r, c, slot_look(r, slot));
    } else {
        *c = (cell){.front = slot_look(r, slot), .back = slot_look(r, slot + edge)};
        set_glyph(c, LEFT[edge]);
    }
}

/* --- gaps and labels --------------------------------------------------------------------------------------- */

static size_t first_slot_of(const row *r, size_t slot) {
    while (slot > 0 && r->owner[slot - 1] == r->owner[slot]) {
        slot--;
    }
    return slot;
}

/* A gap at the cell edge nearest to the start of a block whose neighbour looks the same. */
static void set_gap(row *r, size_t slot, size_t end) {
    size_t at = (slot + r->per_cell / 2) / r->per_cell;
    bool colours = has_colours(r->canvas);
    size_t least = (colours ? 2 : 3) * r->per_cell; /* without colours the gap takes a whole cell */
    bool wide = end - slot >= least && slot - first_slot_of(r, slot - 1) >= least;
    if (!wide || slot_look(r, slot) != slot_look(r, slot - 1)) {
        return;
    }
    if (!colours) {
        set_glyph(&r->cells[at], r->canvas->style.utf8 ? "│" : "|");
    } else if (r->canvas->style.utf8) {
        r->cells[at] = (cell){.front = PS_LOOK_IDLE, .back = slot_look(r, slot)};
        set_glyph(&r->cells[at], LEFT[1]);
    }
}

size_t ps_cells_label(const ps_op *op, size_t room, char out[PS_CELLS_LABEL]) {
    char number[16] = "";
    const char *name = op->name;
    if (name[0] == '\0' && op->microbatch >= 0) {
        (void)snprintf(number, sizeof number, "%d%s", (int)op->microbatch,
                       ps_block_is_told_by_number(op) ? "" : ps_op_kind_name((ps_op_kind)op->kind));
        name = number;
    }
    size_t n = strlen(name);
    bool has_digit = false;
    for (size_t i = 0; i < n; i++) {
        has_digit = has_digit || (name[i] >= '0' && name[i] <= '9');
        if (i >= PS_CELLS_LABEL || name[i] < 0x20 || name[i] > 0x7E) {
            return 0;
        }
    }
    if (n <= room) {
        memcpy(out, name, n);
        return n;
    }
    if (!has_digit || !ps_block_is_told_by_number(op)) {
        return 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if ((name[i] >= '0' && name[i] <= '9') || name[i] == '+') {
            out[kept++] = name[i];
        } else if (i > 0 && i + 1 < n && name[i + 1] != '+') {
            return 0; /* a letter between two numbers, not behind one */
        }
    }
    return kept <= room ? kept : 0;
}

static void set_label(row *r, size_t slot, size_t end) {
    char label[PS_CELLS_LABEL];
    size_t first = (slot + r->per_cell - 1) / r->per_cell;
    size_t last = end / r->per_cell;
    size_t room = last > first ? last - first - 1 : 0;
    size_t n = ps_cells_label(r->ops[r->owner[slot] - 1], room, label);
    if (n == 0) {
        return;
    }
    /* Without colours and gaps the label itself marks where its block begins. */
    bool mono = !has_colours(r->canvas);
    size_t at = mono ? first : first + 1 + (room - n) / 2;
    for (size_t i = 0; i < n; i++) {
        const ps_look ground = mono ? PS_LOOK_IDLE : slot_look(r, slot);
        r->cells[at + i] = (cell){
            .glyph = {label[i]}, .n = 1, .front = PS_LOOK_IDLE, .back = ground, .text = !mono};
    }
}

static void decorate(row *r) {
    for (size_t slot = 0; slot < r->n_slots;) {
        size_t end = slot + 1;
        while (end < r->n_slots && r->owner[end] == r->owner[slot]) {
            end++;
        }
        if (r->owner[slot] != 0) {
            if (slot > 0 && r->owner[slot - 1] != 0) {
                set_gap(r, slot, end);
            }
            set_label(r, slot, end);
        }
        slot = end;
    }
}

/* --- cells -> text ----------------------------------------------------------------------------------------- */

static ps_rgb look_colour(ps_look look) {
    return look < PS_N_OP_KINDS ? ps_theme_kind((ps_op_kind)look)
                                : ps_theme_phase(look - PS_N_OP_KINDS);
}

static void add_colour(ps_buf *out, ps_colours depth, bool front, ps_rgb c) {
    if (depth == PS_COLOURS_TRUE) {
        ps_buf_addf(out, ";%d;2;%d;%d;%d", front ? 38 : 48, c.r, c.g, c.b);
    } else {
        ps_buf_addf(out, ";%d;5;%d", front ? 38 : 48, ps_rgb_to_256(c));
    }
}

/* The whole state each time it changes: a terminal that was cut off in between recovers. */
static void add_style(ps_buf *out, ps_colours depth, const cell *c) {
    /* The terminal's own ground as a *front* colour has no code; swapping front and back does it. */
    bool swap =
        c->front == PS_LOOK_IDLE && c->back != PS_LOOK_IDLE && !c->text && c->glyph[0] != ' ';
    ps_look front = swap ? c->back : c->front;
    ps_look back = swap ? PS_LOOK_IDLE : c->back;
    ps_buf_add_str(out, "\033[0");
    ps_buf_add_str(out, c->quiet ? ";2" : "");
    ps_buf_add_str(out, swap ? ";7" : "");
    if (c->text) {
        add_colour(out, depth, true, ps_theme_text_on(look_colour(c->back)));
    } else if (front != PS_LOOK_IDLE) {
        add_colour(out, depth, true, look_colour(front));
    }
    if (back != PS_LOOK_IDLE) {
        add_colour(out, depth, false, look_colour(back));
    }
    ps_buf_add_char(out, 'm');
}

static bool same_style(const cell *a, const cell *b) {
    bool a_blank = a->glyph[0] == ' ';
    bool b_blank = b->glyph[0] == ' ';
    return a->front == b->front && a->back == b->back && a->text == b->text &&
           a->quiet == b->quiet && a_blank == b_blank;
}

static void put_cells(const ps_canvas *canvas, const cell *cells, size_t n, ps_buf *out) {
    bool colours = has_colours(canvas);
    for (size_t i = 0; i < n; i++) {
        if (colours && (i == 0 || !same_style(&cells[i], &cells[i - 1]))) {
            add_style(out, canvas->style.colours, &cells[i]);
        }
        ps_buf_add(out, cells[i].glyph, cells[i].n);
    }
    ps_buf_add_str(out, colours ? "\033[0m" : "");
}

/* --- entry points ------------------------------------------------------------------------------------------ */

static void row_fini(row *r) {
    ps_free(r->owner);
    ps_free(r->best);
    ps_free(r->busy);
    ps_free(r->shares);
    ps_free(r->crowded);
    ps_free(r->counts);
    ps_free(r->others);
    ps_free(r->cells);
}

static bool row_init(row *r, const ps_canvas *canvas, const ps_op *const *ops, size_t n_ops) {
    *r = (row){.canvas = canvas, .ops = ops, .n_ops = n_ops};
    r->per_cell = has_colours(canvas) && canvas->style.utf8 && !canvas->snap ? EIGHTHS : 1;
    r->n_slots = canvas->n_cells * r->per_cell;
    r->owner = ps_calloc(r->n_slots, sizeof *r->owner);
    r->best = ps_calloc(r->n_slots, sizeof *r->best);
    r->busy = ps_calloc(r->n_slots, sizeof *r->busy);
    r->shares = ps_calloc(canvas->n_cells * PS_ROW_LOOKS, sizeof *r->shares);
    r->crowded = ps_calloc(canvas->n_cells, sizeof *r->crowded);
    r->counts = ps_calloc(canvas->n_cells, sizeof *r->counts);
    r->others = ps_calloc(canvas->n_cells, sizeof *r->others);
    r->cells = ps_calloc(canvas->n_cells, sizeof *r->cells);
    return r->owner != NULL && r->best != NULL && r->busy != NULL && r->shares != NULL &&
           r->crowded != NULL && r->counts != NULL && r->others != NULL && r->cells != NULL;
}

ps_code ps_cells_draw(const ps_canvas *canvas, const ps_op *const *ops, size_t n_ops, bool *mixed,
                      ps_buf *out, ps_err *err) {
    row r;
    bool ok = row_init(&r, canvas, ops, n_ops);
    if (ok) {
        lay_ops(&r);
        lay_others(&r);
        for (size_t c = 0; c < canvas->n_cells; c++) {
            set_cell(&r, &r.cells[c], c);
        }
        decorate(&r);
        put_cells(canvas, r.cells, canvas->n_cells, out);
        for (size_t c = 0; c < canvas->n_cells; c++) {
            *mixed = *mixed || (r.crowded[c] && r.counts[c] > 1);
        }
    }
    row_fini(&r);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_cells_swatch(const ps_canvas *canvas, ps_look look, ps_buf *out) {
    const row r = {.canvas = canvas};
    cell c;
    set_solid(&r, &c, look);
    const cell two[2] = {c, c};
    put_cells(canvas, two, 2, out);
}

/* Where a transfer begins there is a mark; of two in one cell the first is drawn. */
ps_code ps_cells_transfers(const ps_canvas *canvas, const ps_op *const *ops, size_t n_ops,
                           ps_buf *out, ps_err *err) {
    cell *cells = ps_calloc(canvas->n_cells, sizeof *cells);
    if (cells == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t c = 0; c < canvas->n_cells; c++) {
        cells[c] = (cell){.front = PS_LOOK_IDLE, .back = PS_LOOK_IDLE};
        set_glyph(&cells[c], " ");
    }
    row r = {.canvas = canvas, .n_slots = canvas->n_cells};
    for (size_t i = n_ops; i > 0; i--) {
        const ps_op *op = ops[i - 1];
        if (ps_op_is_transfer(op)) {
            size_t at = (size_t)(clamp_time(&r, op->start_ns) / canvas->span_ns);
            at = at < canvas->n_cells ? at : canvas->n_cells - 1;
            cells[at].front = has_colours(canvas) ? (ps_look)op->kind : PS_LOOK_IDLE;
            const char *mark = op->kind == PS_OP_SEND ? "▴" : "▾";
            set_glyph(&cells[at], canvas->style.utf8 ? mark : op->kind == PS_OP_SEND ? "^" : "v");
        }
    }
    put_cells(canvas, cells, canvas->n_cells, out);
    ps_free(cells);
    return PS_OK;
}
