#include "query/profile_tables.h"

#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "query/kernel_table.h"

/* `kernel` has no view: an address stands for it. */
static const char KERNEL_TABLE;

static int64_t from_origin(const ps_sql_part *part, int64_t moment) {
    int64_t out = moment;
    bool is_bound = moment != INT64_MIN && moment != INT64_MAX;
    bool over = is_bound && __builtin_sub_overflow(moment, ps_trace_origin_ns(part->trace), &out);
    return over ? (moment < 0 ? INT64_MIN : INT64_MAX) : out;
}

static ps_table *make_view(ps_sql_part *part, const ps_view *view, const ps_profile_ask *ask,
                           ps_err *err) {
    ps_view_value values[sizeof ask->values / sizeof *ask->values];
    bool whole = (view->uses & PS_VIEW_WHOLE) != 0;
    ps_view_input in = {.trace = part->trace,
                        .links = part->links,
                        .from_ns = whole ? INT64_MIN : from_origin(part, ask->from_ns),
                        .to_ns = whole ? INT64_MAX : from_origin(part, ask->to_ns),
                        .values = values,
                        .lang = ask->lang};
    for (size_t i = 0; i < view->n_params; i++) {
        if (ask->values[i] != NULL) {
            values[in.n_values++] = (ps_view_value){view->params[i].name, ask->values[i]};
        }
    }
    if ((view->uses & PS_VIEW_OVERLAPS) != 0 &&
        (in.overlaps = ps_sql_part_overlaps(part, err)) == NULL) {
        return NULL;
    }
    return view->make(&in, err);
}

/* What tells the tables of a view apart. */
static void put_ask(const ps_view *view, const ps_profile_ask *ask, ps_buf *out) {
    ps_buf_addf(out, "%lld %lld", (long long)ask->from_ns, (long long)ask->to_ns);
    for (size_t i = 0; view != NULL && i < view->n_params; i++) {
        ps_buf_add_char(out, ' ');
        if (ask->values[i] != NULL) {
            ps_buf_add_json_str(out, ask->values[i], strlen(ask->values[i]));
        }
    }
}

static ps_sql_made *new_made(ps_sql_part *part, const void *what, const ps_buf *asked) {
    ps_sql_made *m = ps_arena_alloc(&part->arena, sizeof *m);
    const char *copy =
        m != NULL ? ps_arena_strndup(&part->arena, ps_buf_str(asked), asked->len) : NULL;
    if (copy == NULL) {
        return NULL;
    }
    *m = (ps_sql_made){.what = what, .asked = copy, .err = PS_ERR_INIT, .next = part->made};
    part->made = m;
    return m;
}

ps_code ps_profile_table(ps_sql_part *part, const ps_view *view, const ps_profile_ask *ask,
                         const ps_table **out, ps_err *err) {
    const void *what = view != NULL ? (const void *)view : &KERNEL_TABLE;
    ps_buf asked = {0};
    put_ask(view, ask, &asked);
    if (!ps_buf_ok(&asked)) {
        return ps_fail_nomem(err);
    }
    ps_sql_made *m = part->made;
    while (m != NULL && (m->what != what || strcmp(m->asked, ps_buf_str(&asked)) != 0)) {
        m = m->next;
    }
    if (m == NULL && (m = new_made(part, what, &asked)) != NULL) {
        m->table = view != NULL ? make_view(part, view, ask, &m->err)
                                : ps_kernel_table_make(part, &m->err);
    }
    ps_buf_fini(&asked);
    if (m == NULL) {
        return ps_fail_nomem(err);
    }
    *out = m->table;
    if (m->table == NULL) {
        *err = m->err;
        return err->code != PS_OK ? err->code : ps_fail_nomem(err);
    }
    return PS_OK;
}

bool ps_is_view_moment(const ps_column *column) {
    static const char *const MOMENTS[] = {"start", "time", "release", "active release"};
    bool is_moment = false;
    for (size_t i = 0; i < sizeof MOMENTS / sizeof *MOMENTS; i++) {
        is_moment = is_moment || strcmp(column->name, MOMENTS[i]) == 0;
    }
    return is_moment && column->type == PS_COL_INT && column->unit == PS_UNIT_NS;
}
