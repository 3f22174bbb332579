/* Finding slices over all ranks: /api/search, /api/search/list, /api/search/step. What was found in a rank is kept in the
 * cache, so that going from one to the next does not search again. */
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/pattern.h"
#include "base/threads.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"
#include "serve/select/found_set.h"
#include "serve/select/search.h"

#define MAX_RANKS 4096
#define MAX_QUERY 4096 /* names of kernels that templates made are that long */
#define MAX_ROWS 5000
#define SHOWN_NAMES 100
#define SEPARATOR '\x1f'

typedef struct asked {
    const ps_request *q;
    ps_query query;
    ps_sum_class row;
    ps_found_set set;
} asked;

/* --- asking --------------------------------------------------------------------------------------------------- */

static bool ask_how(const ps_request *q, ps_reply *r, asked *a) {
    static const struct {
        const char *name;
        unsigned how;
    } FLAGS[] = {{"case", PS_PATTERN_CASE}, {"word", PS_PATTERN_WORD}, {"regex", PS_PATTERN_REGEX}};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        bool is_set = false;
        if (!ps_ask_flag(q, r, FLAGS[i].name, &is_set)) {
            return false;
        }
        a->query.how |= is_set ? FLAGS[i].how : 0;
    }
    a->query.text = ps_param_text(q, "q");
    if (a->query.text == NULL || strlen(a->query.text) > MAX_QUERY) {
        ps_reply_fail(r, 400, "parameter 'q' is %s",
                      a->query.text == NULL ? "missing" : "longer than 4096 bytes");
        return false;
    }
    return ps_ask_flag(q, r, "args", &a->query.in_args);
}

/* Of a row of a comparison. */
static bool ask_row(const ps_request *q, ps_reply *r, asked *a) {
    const char *row = ps_param_text(q, "row");
    a->query.detail = ps_param_text(q, "detail");
    if (row == NULL || !ps_ask_int(q, r, "step_id", -1, INT64_MAX, -1, &a->query.step)) {
        return row == NULL;
    }
    a->row = ps_sum_class_of(row);
    a->query.row = &a->row;
    if (a->row == PS_SUM_PART || a->row == PS_SUM_MODULE || a->row == PS_N_SUM_CLASSES) {
        ps_reply_fail(r, 400, "parameter 'row' is no class of slices");
        return false;
    }
    return true;
}

static bool add_search_reply_rank(asked *a, ps_reply *r, size_t i) {
    ps_err err = PS_ERR_INIT;
    ps_found_rank *rank = &a->set.ranks[a->set.n_ranks];
    if (ps_store_get(a->q->store, i, &rank->loaded, &err) != PS_OK) {
        rank->loaded = NULL;
        ps_reply_err(r, &err);
        return false;
    }
    rank->key = ps_store_rank(a->q->store, i)->key;
    a->set.n_ranks++;
    return true;
}

static bool add_named_ranks(asked *a, ps_reply *r, const char *keys) {
    for (const char *at = keys;; at++) {
        size_t n = strcspn(at, ",");
        size_t i = ps_store_find(a->q->store, at, n);
        if (i == SIZE_MAX) {
            ps_reply_fail(r, 404, "no rank has the key '%.*s'", n < 80 ? (int)n : 80, at);
            return false;
        }
        bool is_twice = false;
        for (size_t k = 0; k < a->set.n_ranks; k++) {
            is_twice = is_twice || a->set.ranks[k].key == ps_store_rank(a->q->store, i)->key;
        }
        if (!is_twice && !add_search_reply_rank(a, r, i)) {
            return false;
        }
        at += n;
        if (*at == '\0') {
            return true;
        }
    }
}

/* Those named, else all that are ready. */
static bool ask_ranks(asked *a, ps_reply *r) {
    size_t n = ps_store_n_ranks(a->q->store);
    a->set.ranks = ps_calloc(n + 1, sizeof *a->set.ranks);
    if (a->set.ranks == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    const char *keys = ps_param_text(a->q, "ranks");
    if (keys != NULL && keys[0] != '\0') {
        return add_named_ranks(a, r, keys);
    }
    for (size_t i = 0; i < n; i++) {
        ps_err err = PS_ERR_INIT;
        ps_found_rank *rank = &a->set.ranks[a->set.n_ranks];
        if (ps_store_get(a->q->store, i, &rank->loaded, &err) == PS_OK) {
            rank->key = ps_store_rank(a->q->store, i)->key;
            a->set.n_ranks++;
        } else {
            rank->loaded = NULL;
        }
    }
    return true;
}

/* "KEY:NS,...": by how much the page moved ranks; files have the times that were recorded. What of it is of no rank that is searched moves
 * nothing. */
static bool ask_moved(asked *a, ps_reply *r) {
    bool is_file = ps_param_text(a->q, "format") != NULL;
    const char *at = is_file ? NULL : ps_param_text(a->q, "moved");
    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, ",");
        size_t key = strcspn(at, ":,");
        int64_t by_ns = 0;
        if (key >= n || !ps_parse_i64(at + key + 1, n - key - 1, &by_ns)) {
            ps_reply_fail(r, 400, "parameter 'moved' is no list of KEY:NS");
            return false;
        }
        for (size_t k = 0; k < a->set.n_ranks; k++) {
            ps_found_rank *rank = &a->set.ranks[k];
            if (strlen(rank->key) == key && strncmp(rank->key, at, key) == 0) {
                rank->moved_ns = by_ns;
            }
        }
        at += n + (at[n] == ',' ? 1 : 0);
    }
    return true;
}

static bool ask_box(asked *a, ps_reply *r) {
    const ps_request *q = a->q;
    a->query.from_ns = INT64_MIN;
    a->query.to_ns = INT64_MAX;
    if (ps_param_text(q, "from") != NULL || ps_param_text(q, "to") != NULL) {
        if (!ps_ask_span(q, r, &a->query.from_ns, &a->query.to_ns)) {
            return false;
        }
    }
    if (ps_param_text(q, "lanes") == NULL || ps_param_text(q, "lanes")[0] == '\0') {
        return true;
    }
    if (a->set.n_ranks != 1) {
        ps_reply_fail(r, 400, "parameter 'lanes' needs one rank in 'ranks'");
        return false;
    }
    uint32_t *lanes = NULL;
    bool ok = ps_ask_list(q, r, "lanes", UINT32_MAX, 65536, &lanes, &a->query.n_lanes);
    a->query.lanes = lanes;
    for (size_t i = 0; ok && i < a->query.n_lanes; i++) {
        const ps_layer *layer = NULL;
        uint32_t lane = 0;
        if (!ps_loaded_lane(a->set.ranks[0].loaded, lanes[i], &layer, &lane)) {
            ps_reply_fail(r, 404, "no lane %u", lanes[i]);
            ok = false;
        }
    }
    return ok;
}

/* --- searching ------------------------------------------------------------------------------------------------ */

typedef struct one {
    const ps_loaded *loaded;
    const ps_query *query;
} one;

static ps_code make_found(void *context, ps_cached *out, ps_err *err) {
    const one *o = context;
    ps_err own = PS_ERR_INIT;
    ps_found *found = ps_search(o->loaded, o->query, &own);
    if (found == NULL) {
        *err = own;
        return own.code;
    }
    *out = (ps_cached){.value = found, .bytes = ps_found_bytes(found), .free_value = ps_found_free};
    return PS_OK;
}

static void add_query_key(ps_buf *key, const asked *a, const ps_query *query) {
    ps_buf_addf(key, "%c%u%c%d%c%lld%c%lld%c", SEPARATOR, query->how, SEPARATOR, query->in_args,
                SEPARATOR, (long long)query->from_ns, SEPARATOR, (long long)query->to_ns,
                SEPARATOR);
    if (query->row != NULL) {
        ps_buf_addf(key, "%d %lld%s%s", (int)*query->row, (long long)query->step,
                    query->detail != NULL ? "=" : "", query->detail != NULL ? query->detail : "");
    }
    ps_buf_add_char(key, SEPARATOR);
    ps_buf_add_str(key, query->n_lanes > 0 ? ps_param_text(a->q, "lanes") : "");
    for (size_t i = 0; i < query->n_lanes; i++) {
        if (query->lanes[i] >= ps_loaded_n_lanes(a->set.ranks[0].loaded)) {
            /* a merged one: its number means the same as long as the rank stays loaded */
            ps_buf_addf(key, " %llu", (unsigned long long)ps_store_seq(a->q->store));
            break;
        }
    }
    ps_buf_add_char(key, SEPARATOR);
    ps_buf_add_str(key, query->text);
}

/* The span of a rank from that of the first one. */
static int64_t moved(int64_t time_ns, int64_t by_ns) {
    int64_t out = 0;
    if (time_ns == INT64_MIN || time_ns == INT64_MAX) {
        return time_ns;
    }
    return !__builtin_add_overflow(time_ns, by_ns, &out) ? out : by_ns < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t origin_of(const ps_found_rank *rank) {
    return ps_trace_origin_ns(ps_loaded_layer(rank->loaded, PS_LAYER_PROFILE)->trace);
}

/* One rank each, on several threads. */
typedef struct searching {
    asked *a;
    ps_err *errors; /* [n_ranks] */
} searching;

static void search_rank(void *context, size_t i) {
    const searching *all = context;
    asked *a = all->a;
    ps_found_rank *rank = &a->set.ranks[i];
    int64_t by_ns = ps_i64_minus(origin_of(&a->set.ranks[0]), origin_of(rank));
    ps_query query = a->query;
    query.from_ns = moved(query.from_ns, by_ns);
    query.to_ns = moved(query.to_ns, by_ns);
    ps_buf key = {0};
    ps_buf_addf(&key, "search%c%s", SEPARATOR, rank->key);
    add_query_key(&key, a, &query);
    one o = {rank->loaded, &query};
    void *found = NULL;
    ps_err *err = &all->errors[i];
    if (ps_buf_ok(&key)) {
        err->code =
            ps_cache_get(a->q->cache, ps_buf_str(&key), make_found, &o, a->q->watch, &found, err);
    } else {
        (void)ps_fail_nomem(err);
    }
    ps_buf_fini(&key);
    rank->found = found;
}

static bool search_ranks(asked *a, ps_reply *r) {
    searching all = {a, ps_calloc(a->set.n_ranks + 1, sizeof(ps_err))};
    if (all.errors == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    ps_parallel(a->set.n_ranks, 0, search_rank, &all);
    bool ok = true;
    for (size_t i = 0; ok && i < a->set.n_ranks; i++) {
        ok = all.errors[i].code == PS_OK;
        if (ok) {
            a->set.total += a->set.ranks[i].found->n;
        } else {
            ps_reply_err(r, &all.errors[i]);
        }
    }
    ps_free(all.errors);
    return ok;
}

static void end_search(asked *a) {
    for (size_t i = 0; i < a->set.n_ranks; i++) {
        ps_cache_release(a->q->cache, a->set.ranks[i].found);
        ps_loaded_release(a->set.ranks[i].loaded);
    }
    ps_free(a->set.ranks);
}

/* End with end_search() in any case. */
static bool begin_search(const ps_request *q, ps_reply *r, asked *a) {
    *a = (asked){.q = q, .query.watch = q->watch};
    return ask_how(q, r, a) && ask_row(q, r, a) && ask_ranks(a, r) && ask_box(a, r) &&
           search_ranks(a, r);
}

/* --- counts --------------------------------------------------------------------------------------------------- */

/* Names of all ranks, added up by their texts. */
typedef struct names {
    ps_strpool pool;
    ps_found_name *at; /* by id of the pool */
    size_t n, cap;
} names;

static bool add_names(names *all, const ps_found *f) {
    for (size_t i = 0; i < f->n_names; i++) {
        ps_str text = ps_strpool_add(&all->pool, f->names[i].text, strlen(f->names[i].text));
        size_t before = all->n;
        if (ps_str_is_none(text) ||
            !ps_grow(&all->at, &all->cap, (size_t)text.id + 1, UINT32_MAX, sizeof *all->at)) {
            return false;
        }
        if (text.id >= before) {
            memset(all->at + before, 0, (text.id + 1 - before) * sizeof *all->at);
            all->n = (size_t)text.id + 1;
        }
        ps_found_name *name = &all->at[text.id];
        name->text = ps_strpool_get(&all->pool, text);
        name->tint = f->names[i].tint;
        uint32_t n = f->names[i].n;
        name->n = name->n > UINT32_MAX - n ? UINT32_MAX : name->n + n;
    }
    return true;
}

static bool is_more(const ps_found_name *a, const ps_found_name *b) {
    return a->n != b->n ? a->n > b->n : strcmp(a->text, b->text) < 0;
}

static void put_search_reply_names(ps_json *j, names *all) {
    ps_found_name top[SHOWN_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const ps_found_name *name = &all->at[i];
        if (name->n == 0 || (n == SHOWN_NAMES && !is_more(name, &top[n - 1]))) {
            continue;
        }
        size_t at = n < SHOWN_NAMES ? n++ : n - 1;
        for (; at > 0 && is_more(name, &top[at - 1]); at--) {
            top[at] = top[at - 1];
        }
        top[at] = *name;
    }
    for (size_t i = 0; i < n; i++) {
        ps_json_array(j);
        ps_json_str(j, top[i].text);
        ps_json_uint(j, top[i].tint);
        ps_json_uint(j, top[i].n);
        ps_json_close(j);
    }
}

static void put_counts(ps_json *j, const ps_found_rank *rank) {
    ps_json_object(j);
    ps_json_key_str(j, "rank", rank->key);
    ps_json_key_uint(j, "total", rank->found->n);
    ps_json_key_array(j, "lanes");
    for (size_t i = 0; i < rank->found->n_lanes; i++) {
        ps_json_array(j);
        ps_json_uint(j, rank->found->lanes[i].lane);
        ps_json_uint(j, rank->found->lanes[i].n);
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_close(j);
}

static void answer_search(const ps_request *q, ps_reply *r) {
    asked a;
    if (begin_search(q, r, &a)) {
        names all = {0};
        bool ok = ps_strpool_init(&all.pool);
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_uint(&j, "total", a.set.total);
        ps_json_key_array(&j, "ranks");
        for (size_t i = 0; i < a.set.n_ranks; i++) {
            put_counts(&j, &a.set.ranks[i]);
            ok = ok && add_names(&all, a.set.ranks[i].found);
        }
        ps_json_close(&j);
        ps_json_key_array(&j, "names");
        put_search_reply_names(&j, &all);
        ps_json_close(&j);
        ps_json_close(&j);
        ps_free(all.at);
        ps_strpool_fini(&all.pool);
        if (!ok) {
            ps_reply_fail(r, 507, "out of memory");
        }
    }
    end_search(&a);
}

/* --- the list ------------------------------------------------------------------------------------------------- */

typedef struct order {
    const ps_found_set *set;
    ps_found_by by;
} order;

static ps_code make_search_reply_order(void *context, ps_cached *out, ps_err *err) {
    const order *o = context;
    ps_found_at *sorted = ps_found_sorted(o->set, o->by);
    if (sorted == NULL) {
        return ps_fail_nomem(err);
    }
    *out = (ps_cached){
        .value = sorted, .bytes = (size_t)o->set->total * sizeof *sorted, .free_value = ps_free};
    return PS_OK;
}

/* All in that order; to be released. */
static ps_code sorted_list(const asked *a, ps_found_by by, void **list, ps_err *err) {
    ps_buf key = {0};
    ps_buf_addf(&key, "sorted%d", (int)by);
    for (size_t i = 0; i < a->set.n_ranks; i++) {
        ps_buf_addf(&key, "%c%s", SEPARATOR, a->set.ranks[i].key);
    }
    add_query_key(&key, a, &a->query);
    order o = {&a->set, by};
    ps_code code = ps_buf_ok(&key)
                       ? ps_cache_get(a->q->cache, ps_buf_str(&key), make_search_reply_order, &o,
                                      a->q->watch, list, err)
                       : ps_fail_nomem(err);
    ps_buf_fini(&key);
    return code;
}

static ps_code put_found(ps_json *j, const asked *a, ps_found_at at, ps_err *err) {
    const ps_found_rank *rank = &a->set.ranks[at.rank];
    return ps_put_ref(j, rank->key, rank->loaded, at.slice, err);
}

typedef struct page {
    uint64_t offset;
    size_t n;
    ps_found_by by;
    bool is_desc;
} page;

static bool ask_search_reply_page(const ps_request *q, ps_reply *r, page *p) {
    int64_t offset = 0;
    int64_t limit = 0;
    if (!ps_ask_int(q, r, "offset", 0, UINT32_MAX, 0, &offset) ||
        !ps_ask_int(q, r, "limit", 1, MAX_ROWS, 100, &limit) ||
        !ps_ask_flag(q, r, "desc", &p->is_desc)) {
        return false;
    }
    p->offset = (uint64_t)offset;
    p->n = (size_t)limit;
    const char *sort = ps_param_text(q, "sort");
    p->by = sort == NULL || strcmp(sort, "start") == 0 ? PS_FOUND_BY_TIME
            : strcmp(sort, "dur") == 0                 ? PS_FOUND_BY_DURATION
                                                       : PS_FOUND_BY_NAME;
    if (p->by == PS_FOUND_BY_NAME && strcmp(sort, "name") != 0) {
        ps_reply_fail(r, 400, "parameter 'sort' is start, dur or name");
        return false;
    }
    return true;
}

/* The page in `rows`; a falling order is the rising one from its end. */
static ps_code fill_page(const asked *a, const page *p, ps_found_at *rows, size_t *n, ps_err *err) {
    uint64_t left = p->offset < a->set.total ? a->set.total - p->offset : 0;
    *n = p->n < left ? p->n : (size_t)left;
    uint64_t first = p->is_desc ? left - *n : p->offset;
    ps_code code = PS_OK;
    if (p->by == PS_FOUND_BY_TIME) {
        code = ps_found_range(&a->set, first, rows, n, err);
    } else if (*n > 0) {
        void *list = NULL;
        code = sorted_list(a, p->by, &list, err);
        if (code == PS_OK) {
            memcpy(rows, (const ps_found_at *)list + first, *n * sizeof *rows);
            ps_cache_release(a->q->cache, list);
        }
    }
    for (size_t i = 0; code == PS_OK && p->is_desc && i < *n / 2; i++) {
        ps_found_at t = rows[i];
        rows[i] = rows[*n - 1 - i];
        rows[*n - 1 - i] = t;
    }
    return code;
}

static void answer_list(const ps_request *q, ps_reply *r) {
    asked a;
    page p = {0};
    if (begin_search(q, r, &a) && ask_search_reply_page(q, r, &p)) {
        ps_err err = PS_ERR_INIT;
        size_t n = 0;
        ps_found_at *rows = ps_calloc(p.n, sizeof *rows);
        ps_code code = rows != NULL ? fill_page(&a, &p, rows, &n, &err) : ps_fail_nomem(&err);
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_uint(&j, "total", a.set.total);
        ps_json_key_uint(&j, "offset", p.offset);
        ps_json_key_array(&j, "rows");
        for (size_t i = 0; code == PS_OK && i < n; i++) {
            code = put_found(&j, &a, rows[i], &err);
        }
        ps_json_close(&j);
        ps_json_close(&j);
        if (code != PS_OK) {
            ps_reply_err(r, &err);
        }
        ps_free(rows);
    }
    end_search(&a);
}

/* --- all of them as a table ------------------------------------------------------------------------------------- */

enum { FOUND_RANK, FOUND_NAME, FOUND_KIND, FOUND_START, FOUND_DURATION, FOUND_SLICE, N_FOUND };

static const ps_column FOUND_COLUMNS[N_FOUND] = {
    [FOUND_RANK] = {.name = "rank", .type = PS_COL_TEXT},
    [FOUND_NAME] = {.name = "name", .type = PS_COL_TEXT},
    [FOUND_KIND] = {.name = "kind", .type = PS_COL_TEXT},
    [FOUND_START] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [FOUND_DURATION] = {.name = "duration", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [FOUND_SLICE] = {.name = "slice", .type = PS_COL_INT},
};

/* What a table of what was found is made of. */
typedef struct listed {
    const asked *a;
    const ps_found_at *all; /* in order of time */
} listed;

/* A row of the list in order of time; times from the origin of the first rank that is searched. */
static void make_found_row(const void *context, size_t row, ps_value *cells,
                           char room[PS_ROW_ROOM]) {
    (void)room; /* all texts live as long as the ranks */
    const asked *a = ((const listed *)context)->a;
    ps_found_at at = ((const listed *)context)->all[row];
    ps_ref ref;
    if (!ps_loaded_ref(a->set.ranks[at.rank].loaded, at.slice, &ref)) {
        return;
    }
    const ps_found_rank *rank = &a->set.ranks[at.rank];
    const ps_slices *s = ps_trace_slices(ref.layer->trace);
    size_t i = ps_store_find(a->q->store, rank->key, strlen(rank->key));
    cells[FOUND_RANK] = (ps_value){.u.text = ps_store_label(a->q->store, i)};
    cells[FOUND_NAME] = (ps_value){.u.text = ps_trace_text(ref.layer->trace, s->name[ref.slice])};
    cells[FOUND_KIND] = (ps_value){.u.text = ps_slice_kind_name((ps_slice_kind)s->kind[ref.slice])};
    cells[FOUND_START] = (ps_value){
        .u.i = ps_i64_plus(moved(s->start_ns[ref.slice],
                                 ps_i64_minus(origin_of(rank), origin_of(&a->set.ranks[0]))),
                           rank->moved_ns)};
    cells[FOUND_DURATION] = (ps_value){.u.i = s->dur_ns[ref.slice]};
    cells[FOUND_SLICE] = (ps_value){.u.i = at.slice};
}

static void keep_context(void *context) {
    (void)context; /* lies on the stack of who made the table */
}

static void answer_table(const ps_request *q, ps_reply *r) {
    asked a;
    void *all = NULL;
    ps_err err = PS_ERR_INIT;
    bool ok = begin_search(q, r, &a) && ask_moved(&a, r);
    if (ok && sorted_list(&a, PS_FOUND_BY_TIME, &all, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else if (all != NULL) {
        listed rows = {&a, all};
        ps_row_maker maker = {
            .make = make_found_row, .context = &rows, .free_context = keep_context};
        ps_table *table =
            ps_table_new_made("found", "", FOUND_COLUMNS, N_FOUND, (size_t)a.set.total, maker);
        if (table != NULL) {
            ps_put_table_with(q, r, table, &(ps_table_extra){.from_origin = true});
        } else {
            ps_reply_fail(r, 507, "out of memory");
        }
        ps_table_free(table);
    }
    ps_cache_release(q->cache, all);
    end_search(&a);
}

/* --- the next one --------------------------------------------------------------------------------------------- */

/* How many stand before the slice to go on from; it may be of a rank that is not searched. */
static bool ask_slice_place(const asked *a, ps_reply *r, bool after, uint64_t *n) {
    ps_loaded *l = NULL;
    uint32_t slice = 0;
    bool ok = ps_ask_rank(a->q, r, &l) && ps_ask_slice(a->q, r, l, &slice);
    uint32_t here = 0;
    while (ok && here < a->set.n_ranks && a->set.ranks[here].loaded != l) {
        here++;
    }
    if (ok && here < a->set.n_ranks) {
        *n = ps_found_before(&a->set, here, slice, after);
    } else if (ok) {
        ps_found_rank other = {.loaded = l};
        *n = ps_found_before_time(&a->set, ps_found_start_ns(&other, slice));
    }
    ps_loaded_release(l);
    return ok;
}

/* The same of a time: from the origin of parameter `rank`, else of the first one that is searched. */
static bool ask_time_place(const asked *a, ps_reply *r, uint64_t *n) {
    int64_t time_ns = 0;
    if (!ps_ask_int(a->q, r, "time", -(INT64_C(1) << 61), INT64_C(1) << 61, PS_REQUIRED,
                    &time_ns)) {
        return false;
    }
    if (ps_param_text(a->q, "rank") != NULL) {
        ps_loaded *l = NULL;
        if (!ps_ask_rank(a->q, r, &l)) {
            return false;
        }
        ps_found_rank rank = {.loaded = l};
        *n = ps_found_before_time(&a->set, ps_i64_plus(time_ns, origin_of(&rank)));
        ps_loaded_release(l);
    } else if (a->set.n_ranks > 0) {
        *n = ps_found_before_time(&a->set, ps_i64_plus(time_ns, origin_of(&a->set.ranks[0])));
    }
    return true;
}

/* The place to go to, -1: there is none. False with a filled reply. */
static bool ask_step(const asked *a, ps_reply *r, int64_t *index) {
    const ps_request *q = a->q;
    if (ps_param_text(q, "n") != NULL) {
        return ps_ask_int(q, r, "n", 0, INT64_MAX, PS_REQUIRED, index);
    }
    const char *dir = ps_param_text(q, "dir");
    bool is_back = dir != NULL && strcmp(dir, "previous") == 0;
    if (dir != NULL && !is_back && strcmp(dir, "next") != 0) {
        ps_reply_fail(r, 400, "parameter 'dir' is next or previous");
        return false;
    }
    uint64_t n = 0;
    bool has_slice = ps_param_text(q, "slice") != NULL;
    if (!(has_slice ? ask_slice_place(a, r, !is_back, &n) : ask_time_place(a, r, &n))) {
        return false;
    }
    *index = (int64_t)n - (is_back ? 1 : 0);
    return true;
}

static void answer_step(const ps_request *q, ps_reply *r) {
    asked a;
    int64_t index = -1;
    if (begin_search(q, r, &a) && ask_step(&a, r, &index)) {
        ps_found_at at;
        size_t n = 1;
        ps_err err = PS_ERR_INIT;
        ps_code code = index >= 0 ? ps_found_range(&a.set, (uint64_t)index, &at, &n, &err) : PS_OK;
        bool is_there = code == PS_OK && index >= 0 && n == 1;
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_int(&j, "index", is_there ? index : -1);
        ps_json_key_uint(&j, "total", a.set.total);
        ps_json_key(&j, "ref");
        if (is_there) {
            code = put_found(&j, &a, at, &err);
        } else {
            ps_json_null(&j);
        }
        ps_json_close(&j);
        if (code != PS_OK) {
            ps_reply_err(r, &err);
        }
    }
    end_search(&a);
}

const ps_route ps_route_search = {
    .path = "/api/search", .method = "GET", .is_slow = true, .answer = answer_search};
const ps_route ps_route_search_list = {
    .path = "/api/search/list", .method = "GET", .is_slow = true, .answer = answer_list};
const ps_route ps_route_search_table = {
    .path = "/api/search/table", .method = "GET", .is_slow = true, .answer = answer_table};
const ps_route ps_route_search_step = {
    .path = "/api/search/step", .method = "GET", .is_slow = true, .answer = answer_step};
