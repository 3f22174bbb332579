/* A payload is a header of 32 bytes, all little-endian,
 *
 *   u64 domain   u64 schema   u64 size of the payload   u64 where it begins (32)
 *
 * then the fields, each at the offset that its schema's entry names (none: 0). Exports differ in whether the column
 * holds a blob, text of raw bytes or text of hexadecimal digits. */
#include "read/nsight/nsight_payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/order.h"
#include "base/sort.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define HEADER_BYTES 32
#define MAX_FIELDS 256 /* of one payload */
#define MAX_HEX_BYTES 65536

typedef struct field {
    int64_t domain, schema, index;
    int64_t type, offset;
    ps_str name;
    int64_t row;
} field;

typedef struct enum_value {
    int64_t schema, value;
    ps_str name;
    int64_t row;
} enum_value;

typedef struct enum_size {
    int64_t schema, size_bytes;
    int64_t row;
} enum_size;

struct ps_nsight_payloads {
    ps_nsight *n;  /* while loading */
    field *fields; /* sorted by domain, schema, index, row */
    size_t n_fields, cap_fields;
    enum_value *values; /* sorted by schema, value, row */
    size_t n_values, cap_values;
    enum_size *sizes; /* sorted by schema, row */
    size_t n_sizes, cap_sizes;
};

/* --- loading --------------------------------------------------------------------------------------------- */

static ps_str cell_str(ps_nsight *n, const ps_scan_batch *b, size_t column, size_t row) {
    ps_scan_bytes text = ps_cell_text(&b->columns[column], row);
    return text.size_bytes > 0 ? ps_builder_str(n->builder, text.data, text.size_bytes)
                               : PS_STR_NONE;
}

static ps_code take_fields(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight_payloads *p = context;
    if (!ps_grow(&p->fields, &p->cap_fields, p->n_fields + b->n_rows, PS_NONE, sizeof *p->fields)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        p->fields[p->n_fields++] = (field){.domain = ps_nsight_int(b, 0, i, -1),
                                           .schema = ps_nsight_int(b, 1, i, -1),
                                           .index = ps_nsight_int(b, 2, i, -1),
                                           .type = ps_nsight_int(b, 3, i, 0),
                                           .offset = ps_nsight_int(b, 4, i, 0),
                                           .name = cell_str(p->n, b, 5, i),
                                           .row = b->rowids[i]};
    }
    return ps_nsight_check(p->n, err);
}

static ps_code take_values(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight_payloads *p = context;
    if (!ps_grow(&p->values, &p->cap_values, p->n_values + b->n_rows, PS_NONE, sizeof *p->values)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        p->values[p->n_values++] = (enum_value){.schema = ps_nsight_int(b, 0, i, -1),
                                                .value = ps_nsight_int(b, 1, i, -1),
                                                .name = cell_str(p->n, b, 2, i),
                                                .row = b->rowids[i]};
    }
    return ps_nsight_check(p->n, err);
}

static ps_code take_sizes(void *context, const ps_scan_batch *b, ps_err *err) {
    ps_nsight_payloads *p = context;
    if (!ps_grow(&p->sizes, &p->cap_sizes, p->n_sizes + b->n_rows, PS_NONE, sizeof *p->sizes)) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        p->sizes[p->n_sizes++] = (enum_size){.schema = ps_nsight_int(b, 0, i, -1),
                                             .size_bytes = ps_nsight_int(b, 1, i, 4),
                                             .row = b->rowids[i]};
    }
    return PS_OK;
}

PS_COMPARE(compare_fields, field, PS_BY(domain) PS_BY(schema) PS_BY(index) PS_BY(row))

PS_COMPARE(compare_values, enum_value, PS_BY(schema) PS_BY(value) PS_BY(row))

PS_COMPARE(compare_sizes, enum_size, PS_BY(schema) PS_BY(row))

/* Each process registers its schemas anew: equal ones stand several times. */
static void drop_repeated_fields(ps_nsight_payloads *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->n_fields; i++) {
        const field *f = &p->fields[i];
        const field *last = kept > 0 ? &p->fields[kept - 1] : NULL;
        bool repeats = last != NULL && last->domain == f->domain && last->schema == f->schema &&
                       last->index == f->index;
        if (!repeats) {
            p->fields[kept++] = *f;
        }
    }
    p->n_fields = kept;
}

ps_code ps_nsight_payloads_load(ps_nsight *n, ps_nsight_payloads **out, ps_err *err) {
    static const char *const FIELDS[] = {"domainId", "schemaId", "idx", "type", "offset", "name"};
    static const char *const VALUES[] = {"schemaId", "value", "name"};
    static const char *const SIZES[] = {"schemaId", "size"};
    *out = NULL;
    if (!ps_db_has_table(n->db, "NVTX_PAYLOAD_SCHEMA_ENTRIES")) {
        return PS_OK;
    }
    ps_nsight_payloads *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        return ps_fail_nomem(err);
    }
    p->n = n;
    ps_code code =
        ps_nsight_scan(n, "NVTX_PAYLOAD_SCHEMA_ENTRIES", FIELDS, N(FIELDS), take_fields, p, err);
    if (code == PS_OK) {
        code =
            ps_nsight_scan(n, "NVTX_PAYLOAD_ENUM_ENTRIES", VALUES, N(VALUES), take_values, p, err);
    }
    if (code == PS_OK) {
        code = ps_nsight_scan(n, "NVTX_PAYLOAD_ENUMS", SIZES, N(SIZES), take_sizes, p, err);
    }
    if (code != PS_OK) {
        ps_nsight_payloads_free(p);
        return code;
    }
    ps_sort(p->fields, p->n_fields, sizeof *p->fields, compare_fields);
    ps_sort(p->values, p->n_values, sizeof *p->values, compare_values);
    ps_sort(p->sizes, p->n_sizes, sizeof *p->sizes, compare_sizes);
    drop_repeated_fields(p);
    *out = p;
    return PS_OK;
}

void ps_nsight_payloads_free(ps_nsight_payloads *p) {
    if (p != NULL) {
        ps_free(p->fields);
        ps_free(p->values);
        ps_free(p->sizes);
        ps_free(p);
    }
}

/* --- looking up ------------------------------------------------------------------------------------------ */

/* Index of the first row that is not before `wanted`. */
static size_t lower_bound(const void *rows, size_t n, size_t size, const void *wanted,
                          int (*compare)(const void *, const void *)) {
    PS_PLACE(size_t, low, 0, n, i, compare((const char *)rows + i * size, wanted) < 0);
    return low;
}

/* The name of a value of an enumeration, none when it has none. `is_enum` tells whether there is one of that id. */
static ps_str value_name(const ps_nsight_payloads *p, int64_t schema, int64_t value,
                         bool *is_enum) {
    enum_value wanted = {.schema = schema, .value = value, .row = INT64_MIN};
    size_t at = lower_bound(p->values, p->n_values, sizeof *p->values, &wanted, compare_values);
    wanted.value = INT64_MIN;
    size_t first = lower_bound(p->values, p->n_values, sizeof *p->values, &wanted, compare_values);
    *is_enum = first < p->n_values && p->values[first].schema == schema;
    bool found = at < p->n_values && p->values[at].schema == schema && p->values[at].value == value;
    return found ? p->values[at].name : PS_STR_NONE;
}

static int64_t enum_size_bytes(const ps_nsight_payloads *p, int64_t schema) {
    enum_size wanted = {.schema = schema, .row = INT64_MIN};
    size_t at = lower_bound(p->sizes, p->n_sizes, sizeof *p->sizes, &wanted, compare_sizes);
    return at < p->n_sizes && p->sizes[at].schema == schema ? p->sizes[at].size_bytes : 4;
}

/* --- values ---------------------------------------------------------------------------------------------- */

typedef enum form { FORM_SIGNED, FORM_UNSIGNED, FORM_REAL, FORM_NONE } form;

/* The entry types of the NVTX payload extension that are one number (for Linux on 64 bits). */
static form form_of(int64_t type, size_t *size_bytes) {
    static const struct {
        uint8_t size_bytes, form;
    } TYPES[] = {[1] = {1, FORM_SIGNED},    /* char */
                 [2] = {1, FORM_UNSIGNED},  /* unsigned char */
                 [3] = {2, FORM_SIGNED},    /* short */
                 [4] = {2, FORM_UNSIGNED},  /* unsigned short */
                 [5] = {4, FORM_SIGNED},    /* int */
                 [6] = {4, FORM_UNSIGNED},  /* unsigned */
                 [7] = {8, FORM_SIGNED},    /* long */
                 [8] = {8, FORM_UNSIGNED},  /* unsigned long */
                 [9] = {8, FORM_SIGNED},    /* long long */
                 [10] = {8, FORM_UNSIGNED}, /* unsigned long long */
                 [11] = {1, FORM_SIGNED},   /* int8 ... */
                 [12] = {1, FORM_UNSIGNED}, [13] = {2, FORM_SIGNED},   [14] = {2, FORM_UNSIGNED},
                 [15] = {4, FORM_SIGNED},   [16] = {4, FORM_UNSIGNED}, [17] = {8, FORM_SIGNED},
                 [18] = {8, FORM_UNSIGNED}, [19] = {4, FORM_REAL}, /* float */
                 [20] = {8, FORM_REAL},                            /* double */
                 [22] = {8, FORM_UNSIGNED} /* size_t */};
    if (type < 1 || type >= (int64_t)N(TYPES) || TYPES[type].size_bytes == 0) {
        return FORM_NONE;
    }
    *size_bytes = TYPES[type].size_bytes;
    return (form)TYPES[type].form;
}

static uint64_t little_endian(const unsigned char *bytes, size_t n) {
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--) {
        value = value << 8 | bytes[i - 1];
    }
    return value;
}

static int64_t sign_extended(uint64_t value, size_t size_bytes) {
    uint64_t sign = UINT64_C(1) << (size_bytes * 8 - 1);
    return (int64_t)((value ^ sign) - sign);
}

static double real_value(uint64_t bits, size_t size_bytes) {
    if (size_bytes == sizeof(double)) {
        double value = 0;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t low = (uint32_t)bits;
    float value = 0;
    memcpy(&value, &low, sizeof value);
    return (double)value;
}

static void add_unsigned(ps_nsight *n, uint32_t slice, ps_str key, uint64_t value) {
    ps_arg arg = {.key = key, .type = PS_ARG_INT, .u.i = (int64_t)value};
    if (value > INT64_MAX) {
        char text[24];
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        arg.type = PS_ARG_NUMBER;
        arg.u.s = ps_nsight_str(n, text);
    }
    ps_builder_arg(n->builder, slice, arg);
}

/* False when the field does not lie in the payload or is of a type that is no single number. */
static bool add_field(const ps_nsight_payloads *p, ps_nsight *n, uint32_t slice, const field *f,
                      const unsigned char *payload, size_t payload_bytes) {
    size_t size = 0;
    form what = form_of(f->type, &size);
    bool is_enum = false;
    if (what == FORM_NONE) {
        (void)value_name(p, f->type, 0, &is_enum);
        int64_t bytes = enum_size_bytes(p, f->type);
        size = bytes == 1 || bytes == 2 || bytes == 8 ? (size_t)bytes : 4;
    }
    if ((what == FORM_NONE && !is_enum) || f->offset < 0 || (uint64_t)f->offset > payload_bytes ||
        payload_bytes - (size_t)f->offset < size) {
        return false;
    }
    uint64_t bits = little_endian(payload + f->offset, size);
    if (is_enum || what == FORM_SIGNED) {
        int64_t value = sign_extended(bits, size);
        ps_str name = is_enum ? value_name(p, f->type, value, &is_enum) : PS_STR_NONE;
        ps_arg arg = {.key = f->name, .type = PS_ARG_INT, .u.i = value};
        if (!ps_str_is_none(name)) {
            arg.type = PS_ARG_STR;
            arg.u.s = name;
        }
        ps_builder_arg(n->builder, slice, arg);
    } else if (what == FORM_REAL) {
        ps_builder_arg(
            n->builder, slice,
            (ps_arg){.key = f->name, .type = PS_ARG_REAL, .u.r = real_value(bits, size)});
    } else {
        add_unsigned(n, slice, f->name, bits);
    }
    return true;
}

/* --- a payload ------------------------------------------------------------------------------------------- */

static int payload_hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The bytes behind hexadecimal digits; false when it is anything else. */
static bool from_hex(const char *text, size_t n, ps_buf *out) {
    if (n % 2 != 0 || n < (size_t)HEADER_BYTES * 2 || n > MAX_HEX_BYTES) {
        return false;
    }
    for (size_t i = 0; i < n; i += 2) {
        int high = payload_hex_digit(text[i]);
        int low = payload_hex_digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ps_buf_add_char(out, (char)(unsigned char)(high * 16 + low));
    }
    return ps_buf_ok(out);
}

static const char *add_fields(const ps_nsight_payloads *p, ps_nsight *n, uint32_t slice,
                              const unsigned char *data, size_t size_bytes) {
    if (size_bytes < HEADER_BYTES) {
        return "shorter than its header";
    }
    int64_t domain = (int64_t)little_endian(data, 8);
    int64_t schema = (int64_t)little_endian(data + 8, 8);
    uint64_t payload_bytes = little_endian(data + 16, 8);
    if (payload_bytes > size_bytes - HEADER_BYTES) {
        return "shorter than it says";
    }
    field wanted = {.domain = domain, .schema = schema, .index = INT64_MIN, .row = INT64_MIN};
    size_t at = lower_bound(p->fields, p->n_fields, sizeof *p->fields, &wanted, compare_fields);
    size_t end = at;
    bool fits = true;
    while (end < p->n_fields && end - at < MAX_FIELDS && p->fields[end].domain == domain &&
           p->fields[end].schema == schema) {
        if (!ps_str_is_none(p->fields[end].name)) {
            fits = add_field(p, n, slice, &p->fields[end], data + HEADER_BYTES,
                             (size_t)payload_bytes) &&
                   fits;
        }
        end++;
    }
    return end == at ? "no schema describes it" : fits ? NULL : "a field could not be read";
}

void ps_nsight_payload_args(const ps_nsight_payloads *p, ps_nsight *n, uint32_t slice,
                            const void *data, size_t size_bytes, int64_t row) {
    ps_buf bytes;
    ps_buf_init(&bytes, MAX_HEX_BYTES);
    if (from_hex(data, size_bytes, &bytes)) {
        data = bytes.data;
        size_bytes = bytes.len;
    }
    n->out_of_memory = n->out_of_memory || !ps_buf_ok(&bytes);
    const char *fault = add_fields(p, n, slice, data, size_bytes);
    if (fault != NULL) {
        ps_diag_add(n->diag, PS_ODD_TEXT, "NVTX_EVENTS rowid %lld: payload: %s", (long long)row,
                    fault);
    }
    ps_buf_fini(&bytes);
}
