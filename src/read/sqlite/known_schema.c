#include "read/sqlite/known_schema.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "read/sqlite/scan_rows.h"

enum { MAX_KNOWN = 16, MAX_KEY_BYTES = 1 << 20 };

struct ps_known_schema {
    size_t n_users;
    ps_buf key; /* empty: nobody else may use it */
    ps_schema schema;
    ps_arena arena;
};

/* The one used last comes first. Each entry is a user. */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static ps_known_schema *known[MAX_KNOWN];

/* --- sqlite_master ------------------------------------------------------------------------------------------------- */

enum { MASTER_TYPE, MASTER_NAME, MASTER_TABLE, MASTER_ROOT, MASTER_SQL, N_MASTER };

static bool is_word(const ps_scan_column *c, size_t row, const char *word) {
    size_t n = strlen(word);
    return c->bytes[row].size_bytes == n && memcmp(c->bytes[row].data, word, n) == 0;
}

static void add_master_text(ps_master *m, const ps_scan_column *c, size_t row, bool may_lack) {
    bool is_text = c->types[row] == PS_CELL_TEXT;
    m->is_known = m->is_known && (is_text || (may_lack && c->types[row] == PS_CELL_NULL));
    size_t n = is_text ? c->bytes[row].size_bytes : 0;
    ps_buf_addf(&m->key, "%d %zu ", is_text, n);
    ps_buf_add(&m->key, is_text ? c->bytes[row].data : "", n);
}

/* The root of a table that is stored is told apart from none, which is no difference of places. */
static bool add_master_root(ps_master *m, const ps_scan_column *c, size_t row, uint32_t n_pages) {
    bool is_number = c->types[row] == PS_CELL_INT;
    int64_t root = is_number ? c->ints[row] : 0;
    m->is_known = m->is_known && (is_number || c->types[row] == PS_CELL_NULL) &&
                  (root == 0 || (root > 1 && root <= n_pages));
    ps_buf_addf(&m->key, "%d ", root > 0);
    if (!m->is_known || !ps_grow(&m->roots, &m->cap, m->n + 1, UINT32_MAX, sizeof *m->roots)) {
        return false;
    }
    m->roots[m->n++] = (uint32_t)root;
    return true;
}

typedef struct master_reading {
    ps_master *m;
    uint32_t n_pages;
} master_reading;

static ps_code add_master_rows(void *context, const ps_scan_batch *b, ps_err *err) {
    const master_reading *r = context;
    ps_master *m = r->m;
    for (size_t row = 0; row < b->n_rows && m->is_known; row++) {
        const ps_scan_column *type = &b->columns[MASTER_TYPE];
        add_master_text(m, type, row, false);
        add_master_text(m, &b->columns[MASTER_NAME], row, false);
        add_master_text(m, &b->columns[MASTER_TABLE], row, false);
        add_master_text(m, &b->columns[MASTER_SQL], row, true);
        bool is_table = m->is_known && (is_word(type, row, "table") || is_word(type, row, "view"));
        m->is_known = m->is_known && m->key.len <= MAX_KEY_BYTES &&
                      (!is_table || add_master_root(m, &b->columns[MASTER_ROOT], row, r->n_pages));
    }
    return m->is_known ? PS_OK : ps_fail(err, PS_UNSUPPORTED, "not a plain schema");
}

ps_master ps_master_read(ps_pages *pages) {
    ps_master m = {.is_known = pages->encoding == 1};
    ps_field fields[N_MASTER];
    master_reading reading = {&m, pages->n_pages};
    for (int i = 0; i < N_MASTER; i++) {
        fields[i] =
            (ps_field){.position = i, .missing_type = PS_CELL_NULL, .missing_bytes = {"", 0}};
    }
    m.is_known = m.is_known &&
                 ps_rows_scan(pages, 1, fields, N_MASTER, add_master_rows, &reading, NULL) == PS_OK;
    m.is_known = m.is_known && ps_buf_ok(&m.key);
    return m;
}

void ps_master_fini(ps_master *m) {
    ps_buf_fini(&m->key);
    ps_free(m->roots);
    *m = (ps_master){0};
}

/* --- what is known ------------------------------------------------------------------------------------------------- */

static void put_in_front(size_t i, ps_known_schema *k) {
    memmove(known + 1, known, i * sizeof *known);
    known[0] = k;
}

ps_known_schema *ps_known_schema_find(const ps_master *m) {
    ps_known_schema *found = NULL;
    (void)pthread_mutex_lock(&known_lock);
    for (size_t i = 0; m->is_known && found == NULL && i < MAX_KNOWN && known[i] != NULL; i++) {
        ps_known_schema *k = known[i];
        if (k->key.len == m->key.len && k->schema.n_tables == m->n + 1 &&
            memcmp(k->key.data, m->key.data, m->key.len) == 0) {
            put_in_front(i, k);
            k->n_users++;
            found = k;
        }
    }
    (void)pthread_mutex_unlock(&known_lock);
    return found;
}

/* Under the lock. */
static void leave_schema(ps_known_schema *k) {
    if (k != NULL && --k->n_users == 0) {
        ps_schema_fini(&k->schema);
        ps_arena_fini(&k->arena);
        ps_buf_fini(&k->key);
        ps_free(k);
    }
}

void ps_known_schema_free(ps_known_schema *k) {
    (void)pthread_mutex_lock(&known_lock);
    leave_schema(k);
    (void)pthread_mutex_unlock(&known_lock);
}

/* Two threads may have read the same one; the older one goes in time. */
static void keep_known_schema(ps_known_schema *k) {
    (void)pthread_mutex_lock(&known_lock);
    leave_schema(known[MAX_KNOWN - 1]);
    put_in_front(MAX_KNOWN - 1, k);
    k->n_users++;
    (void)pthread_mutex_unlock(&known_lock);
}

ps_code ps_known_schema_read(const ps_master *m, sqlite3 *handle, const char *path,
                             ps_known_schema **out, ps_err *err) {
    ps_known_schema *k = ps_calloc(1, sizeof *k);
    if (k == NULL) {
        return ps_fail_nomem(err);
    }
    k->n_users = 1;
    ps_code code = ps_schema_read(&k->schema, handle, path, &k->arena, err);
    if (code != PS_OK) {
        ps_known_schema_free(k);
        return code;
    }
    if (m->is_known && m->n + 1 == k->schema.n_tables) {
        ps_buf_add(&k->key, m->key.data, m->key.len);
        if (ps_buf_ok(&k->key)) {
            keep_known_schema(k);
        }
    }
    *out = k;
    return PS_OK;
}

bool ps_known_schema_lend(const ps_known_schema *k, const ps_master *m, ps_schema *out) {
    /* Roots go by places: with fewer or more of them they are of other tables. */
    bool has_roots = m->is_known && m->n + 1 == k->schema.n_tables;
    *out = k->schema;
    out->tables = ps_calloc(k->schema.n_tables, sizeof *out->tables);
    if (out->tables == NULL) {
        return false;
    }
    for (size_t i = 0; i < out->n_tables; i++) {
        out->tables[i] = k->schema.tables[i];
        out->tables[i].root = has_roots && i < m->n ? m->roots[i] : out->tables[i].root;
    }
    return true;
}
