/* Arguments, joins and slices: see ascend_db_reading.h. */
#include "read/ascend_db/ascend_db_reading.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

#define MAX_COLUMNS 40

void ps_ascend_init(ps_ascend *a) {
    a->strings.notify_ids[0] = -1;
    a->strings.notify_ids[1] = -1;
}

void ps_ascend_fini(ps_ascend *a) {
    ps_idmap_fini(&a->strings.rows);
    ps_free(a->strings.strings);
    ps_arena_fini(&a->strings.raw);
    for (size_t i = 0; i < PS_ASCEND_N_ENUMS; i++) {
        ps_idmap_fini(&a->enums[i].rows);
        ps_free(a->enums[i].ids);
        ps_free(a->enums[i].names);
    }
    ps_free(a->torch);
    ps_free(a->ends);
    ps_idmap_fini(&a->call_of_connection);
}

/* --- cells and arguments ------------------------------------------------------------------------------ */

int64_t ps_ascend_cell_time(const ps_scan_column *column, size_t row) {
    if (column->types[row] == PS_CELL_TEXT) {
        int64_t value = 0;
        ps_scan_bytes text = column->bytes[row];
        return ps_parse_i64(text.data, text.size_bytes, &value) ? value : PS_ASCEND_NULL;
    }
    return ps_cell_int(column, row, PS_ASCEND_NULL);
}

ps_code ps_ascend_fields_init(ps_ascend *a, ps_ascend_fields *f, const ps_ascend_field *fields,
                              size_t n, ps_err *err) {
    f->fields = fields;
    f->n = n < PS_ASCEND_MAX_FIELDS ? n : PS_ASCEND_MAX_FIELDS;
    for (size_t i = 0; i < f->n; i++) {
        f->keys[i] = ps_builder_str(a->builder, fields[i].key, strlen(fields[i].key));
        if (ps_str_is_none(f->keys[i])) {
            return ps_fail_nomem(err);
        }
        if (fields[i].cell == PS_ASCEND_ENUM) {
            ps_code code = ps_ascend_enum_read(a, fields[i].names, err);
            if (code != PS_OK) {
                return code;
            }
        }
    }
    return PS_OK;
}

int64_t ps_ascend_field_value(ps_ascend *a, const ps_ascend_field *field,
                              const ps_scan_column *column, size_t row, bool *missing) {
    if (field->cell == PS_ASCEND_TEXT) {
        ps_str str = ps_ascend_cell_name(a, column, row, missing);
        return ps_str_is_none(str) ? PS_ASCEND_NULL : (int64_t)str.id;
    }
    int64_t value = ps_cell_int(column, row, PS_ASCEND_NULL);
    if (value == PS_ASCEND_NULL) {
        return value;
    }
    if (field->cell == PS_ASCEND_ENUM) {
        return (int64_t)ps_ascend_enum_name(a, field->names, value).id;
    }
    if (field->cell == PS_ASCEND_REAL) {
        double real = ps_cell_real(column, row, 0);
        memcpy(&value, &real, sizeof value);
        return value;
    }
    return value == PS_ASCEND_NO_ID || value == INT64_MAX ? PS_ASCEND_NULL : value;
}

void ps_ascend_add_field(ps_ascend *a, uint32_t slice, const ps_ascend_fields *f, size_t field,
                         int64_t value) {
    if (value == PS_ASCEND_NULL) {
        return;
    }
    ps_arg arg = {.key = f->keys[field], .type = PS_ARG_STR};
    if (f->fields[field].cell == PS_ASCEND_INT) {
        arg.type = PS_ARG_INT;
        arg.u.i = value;
    } else if (f->fields[field].cell == PS_ASCEND_REAL) {
        arg.type = PS_ARG_REAL;
        memcpy(&arg.u.r, &value, sizeof arg.u.r);
    } else {
        arg.u.s = (ps_str){(uint32_t)value};
    }
    ps_builder_arg(a->builder, slice, arg);
}

ps_code ps_ascend_scan(ps_ascend *a, const char *table, const char *const *columns, size_t n,
                       const ps_ascend_fields *f, ps_scan_fn *fn, void *context, ps_err *err) {
    const char *names[MAX_COLUMNS];
    size_t n_names = 0;
    if (!ps_db_has_table(a->db, table)) {
        return PS_OK;
    }
    for (size_t i = 0; i < n && n_names < MAX_COLUMNS; i++) {
        names[n_names++] = columns[i];
    }
    for (size_t i = 0; f != NULL && i < f->n && n_names < MAX_COLUMNS; i++) {
        names[n_names++] = f->fields[i].column;
    }
    return ps_scan(a->db, table, names, n_names, fn, context, err);
}

/* --- joins -------------------------------------------------------------------------------------------- */

void ps_ascend_join_fini(ps_ascend_join *j) {
    ps_idmap_fini(&j->rows);
    ps_free(j->cells);
}

typedef struct join_scan {
    ps_ascend *a;
    ps_ascend_join *join;
} join_scan;

static ps_code take_join(void *context, const ps_scan_batch *b, ps_err *err) {
    join_scan *s = context;
    ps_ascend_join *j = s->join;
    size_t stride = j->fields.n + 1;
    if (!ps_grow(&j->cells, &j->cap, (j->n + b->n_rows) * stride, SIZE_MAX / 16,
                 sizeof *j->cells)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        int64_t id = ps_cell_int(&b->columns[0], i, -1);
        if (id < 0) {
            ps_diag_add(s->a->diag, PS_ODD_TABLE_ROW, "%s rowid %lld", j->table,
                        (long long)b->rowids[i]);
            continue;
        }
        int64_t *values = j->cells + j->n * stride;
        bool missing = false;
        values[0] = 0;
        for (size_t k = 0; k < j->fields.n; k++) {
            values[k + 1] =
                ps_ascend_field_value(s->a, &j->fields.fields[k], &b->columns[k + 1], i, &missing);
        }
        ps_ascend_count_missing(s->a, missing, j->table, b->rowids[i]);
        if (j->n >= UINT32_MAX - 1 || ps_builder_failed(s->a->builder) ||
            !ps_idmap_put(&j->rows, (uint64_t)id, (uint32_t)j->n++)) {
            return ps_fail_nomem(err);
        }
    }
    return PS_OK;
}

ps_code ps_ascend_join_read(ps_ascend *a, ps_ascend_join *j, const char *table,
                            const char *id_column, const ps_ascend_field *fields, size_t n,
                            ps_err *err) {
    j->table = table;
    ps_code code = ps_ascend_fields_init(a, &j->fields, fields, n, err);
    return code == PS_OK ? ps_ascend_scan(a, table, &id_column, 1, &j->fields, take_join,
                                          &(join_scan){a, j}, err)
                         : code;
}

const int64_t *ps_ascend_join_find(ps_ascend_join *j, int64_t id) {
    uint32_t row = id >= 0 ? ps_idmap_get(&j->rows, (uint64_t)id) : PS_IDMAP_NONE;
    if (row == PS_IDMAP_NONE) {
        return NULL;
    }
    int64_t *values = j->cells + (size_t)row * (j->fields.n + 1);
    values[0]++;
    return values + 1;
}

void ps_ascend_join_args(ps_ascend *a, const ps_ascend_join *j, const int64_t *values,
                         uint32_t slice, size_t first) {
    for (size_t i = first; i < j->fields.n; i++) {
        ps_ascend_add_field(a, slice, &j->fields, i, values[i]);
    }
}

void ps_ascend_join_count(ps_ascend *a, const ps_ascend_join *j) {
    uint64_t n = 0;
    for (size_t i = 0; i < j->n; i++) {
        n += j->cells[i * (j->fields.n + 1)] == 0;
    }
    if (n > 0) {
        ps_diag_add(a->diag, PS_ODD_UNJOINED, "%s", j->table);
        ps_diag_count(a->diag, PS_ODD_UNJOINED, n - 1);
    }
}

/* --- slices ------------------------------------------------------------------------------------------- */

uint32_t ps_ascend_thread_track(ps_ascend *a, int64_t global_tid) {
    bool known = global_tid != PS_ASCEND_NULL;
    ps_track thread = {.kind = PS_TRACK_HOST_THREAD,
                       .pid = known ? global_tid >> 32 : -1,
                       .tid = known ? global_tid & PS_ASCEND_NO_ID : -1,
                       .device = -1};
    return ps_builder_track(a->builder, thread);
}

uint32_t ps_ascend_slice(ps_ascend *a, ps_slice_kind kind, uint32_t track, ps_str name,
                         ps_str category, int64_t start_ns, int64_t end_ns, const char *table,
                         int64_t row) {
    if (a->is_epoch && start_ns == 0) {
        ps_diag_add(a->diag, PS_ODD_TIME_ZERO, "%s rowid %lld", table, (long long)row);
        return PS_NONE;
    }
    a->is_epoch = a->is_epoch || start_ns > PS_ASCEND_EARLIEST_NS;
    uint32_t slice =
        ps_builder_slice_in(a->builder, kind, track, name, category, start_ns, end_ns, row);
    if (slice == PS_NONE && !ps_builder_failed(a->builder)) {
        ps_diag_add(a->diag, PS_ODD_TIME, "%s rowid %lld", table, (long long)row);
    }
    return slice;
}

bool ps_ascend_add_end(ps_ascend *a, int64_t connection, uint32_t slice) {
    if (!ps_ascend_wants(a, PS_NEED_FLOWS) || connection < 0 || connection == PS_ASCEND_NO_ID ||
        slice == PS_NONE) {
        return true;
    }
    return PS_ADD(a->ends, a->n_ends, a->cap_ends, UINT32_MAX - 1,
                  (ps_ascend_end){connection, slice});
}
