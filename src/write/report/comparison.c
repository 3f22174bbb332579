#include "write/report/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/num.h"
#include "model/lacks.h"
#include "write/out/json_text.h"
#include "write/out/writers.h"

static size_t column_named(const ps_table *t, const char *name) {
    size_t c = 0;
    while (c < t->n_columns && strcmp(t->columns[c].name, name) != 0) {
        c++;
    }
    return c;
}

static const ps_table *table_named(const ps_comparison *c, const char *name) {
    for (size_t i = 0; i < c->n_tables; i++) {
        if (strcmp(c->tables[i]->name, name) == 0) {
            return c->tables[i];
        }
    }
    return NULL;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* As in web/src/base/time.ts. */
#define MOST_MORE_DIGITS 2

/* Two times in one unit, with two digits of their difference: "1.0051 s", "1.0000 s". false: that takes too many digits, and the
 * first one has three. */
static bool duration_texts(int64_t a, int64_t b, ps_ns_text out[2]) {
    int64_t longer = a > b ? a : b;
    int64_t difference = longer - (a > b ? b : a);
    ps_ns_unit unit = ps_ns_unit_for(longer);
    unsigned plain = ps_ns_decimals(longer, unit);
    unsigned decimals = plain;
    int64_t last = unit.ns; /* what the last digit is worth */
    for (unsigned i = 0; i < plain; i++) {
        last /= 10;
    }
    for (; last > 1 && last > difference / 10; last /= 10) {
        decimals++;
    }
    if (decimals > plain + MOST_MORE_DIGITS) {
        out[0] = ps_ns_text_of(a);
        return false;
    }
    out[0] = ps_ns_text_in(a, unit, decimals);
    out[1] = ps_ns_text_in(b, unit, decimals);
    return true;
}

/* Steps by their order that the side has: new 0, base 1. */
static size_t count_comparison_steps(const ps_comparison *c, size_t side) {
    const ps_table *t = table_named(c, "StepCompare");
    size_t column = t != NULL ? column_named(t, side == 0 ? "step new" : "step base") : 0;
    size_t n = 0;
    for (size_t r = 0; t != NULL && column < t->n_columns && r < t->n_rows; r++) {
        n += !ps_table_cell(t, r, column)->is_null;
    }
    return n;
}

/* ", ranks 0,1, step 3": what of the capture is compared. */
static void put_part(const ps_comparison *c, const ps_comparison_part *part, ps_buf *out) {
    if (part->ranks != NULL) {
        bool is_one = strchr(part->ranks, ',') == NULL;
        ps_buf_addf(out, PS_SAY(c->lang, ", rank%s %s", "，rank%.0s %s"), is_one ? "" : "s",
                    part->ranks);
    }
    if (part->has_step) {
        ps_buf_addf(out, PS_SAY(c->lang, ", step %lld", "，step %lld"), (long long)part->step);
    }
}

/* "base  PATH: 2 ranks, 4 steps" */
static void put_side(const ps_comparison *c, size_t side, ps_buf *out) {
    size_t n = c->n_ranks[side];
    size_t n_steps = count_comparison_steps(c, side);
    ps_buf_addf(out, "%s%s",
                side == 0 ? PS_SAY(c->lang, "new   ", "新采集  ")
                          : PS_SAY(c->lang, "base  ", "基线    "),
                side == 0 ? c->new_name : c->base_name);
    put_part(c, &c->part[side], out);
    if (n > 0) {
        ps_buf_addf(
            out, PS_SAY(c->lang, ": %zu rank%s, %zu step%s", "：%zu 个 rank%.0s，%zu 个 step%.0s"),
            n, n == 1 ? "" : "s", n_steps, n_steps == 1 ? "" : "s");
    }
    ps_buf_add_char(out, '\n');
}

/* "a step takes 1.52 ms longer (13.4 ms instead of 11.9 ms, 1.13 times)" */
static void put_sentence(const ps_comparison *c, ps_buf *out) {
    const ps_table *t = table_named(c, "OverallCompare");
    if (t == NULL || t->n_rows == 0) {
        return;
    }
    int64_t now = ps_table_cell(t, 0, column_named(t, "new"))->u.i;
    int64_t base = ps_table_cell(t, 0, column_named(t, "base"))->u.i;
    int64_t lost = now - base;
    const ps_value *ratio = ps_table_cell(t, 0, column_named(t, "new / base"));
    ps_ns_text difference = ps_ns_text_of(lost < 0 ? -lost : lost);
    ps_ns_text times[2];
    bool is_alike = !duration_texts(now, base, times);
    put_side(c, 0, out);
    put_side(c, 1, out);
    ps_buf_add_char(out, '\n');
    const char *what = ps_table_cell(t, 0, 0)->u.text; /* "step", or a part that both sides know */
    if (lost == 0) {
        ps_buf_addf(out,
                    PS_SAY(c->lang, "A %s takes as long as in the base: %s.\n",
                           "%s 耗时与基线相同：%s。\n"),
                    what, times[0].text);
        return;
    }
    if (is_alike) { /* "330 ms instead of 330 ms" says nothing */
        ps_buf_addf(out,
                    lost > 0 ? PS_SAY(c->lang, "A %s takes %s longer than in the base, %s",
                                      "%s 耗时比基线增加 %s，为 %s")
                             : PS_SAY(c->lang, "A %s takes %s less than in the base, %s",
                                      "%s 耗时比基线减少 %s，为 %s"),
                    what, difference.text, times[0].text);
    } else if (lost > 0) {
        ps_buf_addf(out,
                    PS_SAY(c->lang, "A %s takes %s longer: %s instead of %s",
                           "%s 耗时增加 %s：%s，基线为 %s"),
                    what, difference.text, times[0].text, times[1].text);
    } else {
        ps_buf_addf(out,
                    PS_SAY(c->lang, "A %s takes %s less: %s instead of %s",
                           "%s 耗时减少 %s：%s，基线为 %s"),
                    what, difference.text, times[0].text, times[1].text);
    }
    if (!ratio->is_null && !is_alike) {
        int digits = fabs(ratio->u.r - 1) < 0.01 ? 5 : 3; /* "1 times" says nothing */
        ps_buf_addf(out, PS_SAY(c->lang, " (%.*g times)", "（%.*g 倍）"), digits, ratio->u.r);
    }
    ps_buf_add_str(out, PS_SAY(c->lang, ". All times are those of a rank and step.\n",
                               "。所有时间均为单个 rank 的单个 step。\n"));
}

/* What the comparison says of itself: a line each. */
static void put_comparison_notes(const ps_comparison *c, ps_buf *out) {
    const ps_table *t = table_named(c, "CompareNotes");
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        ps_buf_addf(out, "%s\n", ps_table_cell(t, r, column_named(t, "what"))->u.text);
    }
}

/* Whether some row of a table by name is on both sides. */
static bool have_common(const ps_comparison *c, const char *name) {
    const ps_table *t = table_named(c, name);
    for (size_t r = 0; t != NULL && r < t->n_rows; r++) {
        if (ps_table_cell(t, r, column_named(t, "calls new"))->u.r > 0 &&
            ps_table_cell(t, r, column_named(t, "calls base"))->u.r > 0) {
            return true;
        }
    }
    return false;
}

/* Where neither has names of them, nothing tells. */
static void warn_of_strangers(const ps_comparison *c, ps_buf *out) {
    static const char *const NAMED[] = {"KernelCompare", "OperatorHostCompare", "OperatorCompare",
                                        "ModuleCompare"};
    bool has_any = false;
    bool has_common = false;
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
        const ps_table *t = table_named(c, NAMED[i]);
        has_any = has_any || (t != NULL && t->n_rows > 0);
        has_common = has_common || have_common(c, NAMED[i]);
    }
    if (has_any && !has_common) {
        ps_buf_add_str(
            out, PS_SAY(c->lang,
                        "Not one kernel, operator or module of the two has the same name: they "
                        "may not be captures of one model.\n",
                        "两者没有任何同名的核函数、算子或模块：可能不是同一模型的采集数据。\n"));
    }
}

/* Rows [first, first + n) as a table of their own; borrows everything. */
static ps_table comparison_rows_of(const ps_table *t, size_t first, size_t n) {
    ps_table view = *t;
    view.cells = t->n_rows > 0 ? t->cells + first * t->n_columns : t->cells;
    view.n_rows = n;
    return view;
}

/* How many rows lost time; they stand first. */
static size_t count_losers(const ps_table *t, size_t lost) {
    size_t n = 0;
    while (n < t->n_rows && ps_table_cell(t, n, lost)->u.i > 0) {
        n++;
    }
    return n;
}

static size_t count_winners(const ps_table *t, size_t lost) {
    size_t n = 0;
    while (n < t->n_rows && ps_table_cell(t, t->n_rows - 1 - n, lost)->u.i < 0) {
        n++;
    }
    return n;
}

/* The first `n` rows, or the last ones from the end on. */
static ps_code put_rows(ps_lang lang, const ps_table *t, const char *what, size_t n, bool from_end,
                        const ps_text_style *style, ps_buf *out, ps_err *err) {
    char title[256];
    ps_table view = comparison_rows_of(t, 0, n);
    (void)snprintf(title, sizeof title, PS_SAY(lang, "%s: %s", "%s：%s"), t->title, what);
    view.title = title;
    view.cells = ps_calloc(n * t->n_columns, sizeof *view.cells);
    if (view.cells == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t r = 0; r < n; r++) {
        size_t from = from_end ? t->n_rows - 1 - r : r;
        memcpy(view.cells + r * t->n_columns, t->cells + from * t->n_columns,
               t->n_columns * sizeof *view.cells);
    }
    ps_buf_add_char(out, '\n');
    ps_code code = ps_write_table_text(&view, style, out, err);
    ps_free(view.cells);
    return code;
}

static void say_more(ps_lang lang, size_t n_all, size_t n_shown, const char *what, ps_buf *out) {
    if (n_all > n_shown) {
        ps_buf_addf(out, PS_SAY(lang, "and %zu more that %s\n", "另有 %zu 项%s\n"), n_all - n_shown,
                    what);
    }
}

static ps_code put_ranked(ps_lang lang, const ps_table *t, size_t top, const ps_text_style *style,
                          ps_buf *out, ps_err *err) {
    size_t lost = column_named(t, "lost");
    size_t n_lost = count_losers(t, lost);
    size_t n_won = count_winners(t, lost);
    size_t n = n_lost < top ? n_lost : top;
    ps_code code = PS_OK;
    if (n > 0) {
        code =
            put_rows(lang, t, PS_SAY(lang, "what lost time", "变慢的"), n, false, style, out, err);
        say_more(lang, n_lost, n, PS_SAY(lang, "lost time", "变慢"), out);
    }
    n = n_won < (top + 2) / 3 ? n_won : (top + 2) / 3;
    if (code == PS_OK && n > 0) {
        code =
            put_rows(lang, t, PS_SAY(lang, "what gained time", "变快的"), n, true, style, out, err);
        say_more(lang, n_won, n, PS_SAY(lang, "gained time", "变快"), out);
    }
    return code;
}

static ps_code put_whole(ps_lang lang, const ps_table *t, size_t top, const ps_text_style *style,
                         ps_buf *out, ps_err *err) {
    size_t n = t->n_rows < top ? t->n_rows : top;
    ps_table view = comparison_rows_of(t, 0, n);
    ps_buf_add_char(out, '\n');
    ps_code code = ps_write_table_text(&view, style, out, err);
    if (code == PS_OK && t->n_rows > n) {
        ps_buf_addf(out, PS_SAY(lang, "and %zu more\n", "另有 %zu 项\n"), t->n_rows - n);
    }
    return code;
}

static bool is_part_shown(const ps_comparison *c, size_t table) {
    return c->is_hidden == NULL || !c->is_hidden[table];
}

ps_code ps_write_comparison_text(const ps_comparison *c, size_t top, const ps_text_style *style,
                                 ps_buf *out, ps_err *err) {
    put_sentence(c, out);
    put_comparison_notes(c, out);
    ps_lacks_say(c->lang, c->lacks, "", "\n", out);
    warn_of_strangers(c, out);
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < c->n_tables; i++) {
        const ps_table *t = c->tables[i];
        bool overall = strcmp(t->name, "OverallCompare") == 0;
        bool steps = strcmp(t->name, "StepCompare") == 0;
        bool stages = strcmp(t->name, "StageCompare") == 0;
        bool is_said = strcmp(t->name, "CompareNotes") == 0;
        if (t->n_rows > 0 && is_part_shown(c, i) && !is_said) {
            code = overall || steps || stages
                       ? put_whole(c->lang, t, steps ? top : SIZE_MAX, style, out, err)
                       : put_ranked(c->lang, t, top, style, out, err);
        }
    }
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void put_part_json(ps_json *j, const char *key, const ps_comparison_part *part) {
    if (part->ranks != NULL || part->has_step) {
        ps_json_line(j, 0);
        ps_json_name(j, key, strlen(key));
        ps_json_object(j);
        if (part->ranks != NULL) {
            ps_json_key_str(j, "rank_list", part->ranks);
        }
        if (part->has_step) {
            ps_json_key_int(j, "step_id", part->step);
        }
        ps_json_close(j);
    }
}

ps_code ps_write_comparison_json(const ps_comparison *c, ps_buf *out, ps_err *err) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_pair(&j, "format", "pipescope-compare");
    ps_json_key_int(&j, "version", 1);
    ps_json_line(&j, 0);
    ps_json_key_str(&j, "new", c->new_name);
    ps_json_key_str(&j, "base", c->base_name);
    put_part_json(&j, "new_part", &c->part[0]);
    put_part_json(&j, "base_part", &c->part[1]);
    for (size_t side = 0; side < 2 && c->n_ranks[side] > 0; side++) {
        const char *key = side == 0 ? "new_size" : "base_size";
        ps_json_line(&j, 0);
        ps_json_name(&j, key, strlen(key));
        ps_json_object(&j);
        ps_json_key_uint(&j, "ranks", c->n_ranks[side]);
        ps_json_key_uint(&j, "steps", count_comparison_steps(c, side));
        ps_json_close(&j);
    }
    ps_json_lacks(&j, 0, c->lacks);
    ps_json_line(&j, 0);
    ps_json_key_object(&j, "tables");
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < c->n_tables; i++) {
        if (!is_part_shown(c, i)) {
            continue;
        }
        ps_json_line(&j, 0);
        ps_json_name(&j, c->tables[i]->name, strlen(c->tables[i]->name));
        ps_json_value(&j);
        code = ps_write_table_json(c->tables[i], out, err);
    }
    ps_json_close(&j);
    ps_json_close(&j);
    ps_buf_add_char(out, '\n');
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}
