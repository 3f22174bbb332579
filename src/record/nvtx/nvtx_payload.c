/* Payloads of NVTX as JSON text, by the layouts that the program registered. Made at the time of the call, because the data
 * lie on the caller's stack.
 *
 *     {uint64_t comm; size_t bytes; int peer}  ->  {"comm":7,"bytes":4096,"peer":1}
 *
 * Nothing is read outside of the payloads' bytes, whatever a layout says of them. Only data that a layout wants to have
 * copied from elsewhere (DEEP_COPY) lie outside; they are read through the kernel, which refuses what is not mapped. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/nvtx/nvtx.h"
#include "record/nvtx/nvtx_json.h"

enum { MAX_STRING = PS_NVTX_PAYLOAD_STRING, MAX_UNKNOWN_BYTES = 64, SCRATCH = 1024, NO_ENTRY = -1 };

/* Bytes that may be read. */
typedef struct span {
    const uint8_t *at;
    size_t n;
} span;

typedef struct printer {
    ps_json_out json;
    uint16_t domain;
    const ps_record_domain *of;
    const nvtxPayloadData_t *payloads;
    size_t n_payloads;
    int depth;
    bool cut_string;
    bool in_message; /* the entry being printed is the event's message */
    char *message;   /* room for it, MAX_STRING bytes; NULL: not wanted, or found */
    size_t message_length;
} printer;

static bool print_schema(printer *p, const ps_nvtx_schema *schema, span data, size_t *used,
                         uint64_t selected);

static uint64_t load_payload(const uint8_t *at, uint64_t size) {
    uint64_t v = 0;
    memcpy(&v, at, size < 8 ? size : 8); /* little-endian machines only, as all that run CUDA */
    return v;
}

/* --- plain values -------------------------------------------------------------------------------------------------- */

static bool is_signed(uint64_t type) {
    switch (type) {
    case NVTX_ENTRY_CHAR:
    case NVTX_ENTRY_SHORT:
    case NVTX_ENTRY_INT:
    case NVTX_ENTRY_LONG:
    case NVTX_ENTRY_LONGLONG:
    case NVTX_ENTRY_INT8:
    case NVTX_ENTRY_INT16:
    case NVTX_ENTRY_INT32:
    case NVTX_ENTRY_INT64:
        return true;
    default:
        return false;
    }
}

static int64_t payload_widen(uint64_t v, uint64_t size) {
    unsigned shift = size >= 8 ? 0 : (unsigned)(64 - 8 * size);
    return (int64_t)(v << shift) >> shift;
}

/* A number with `fraction` bits behind the point and an exponent of `bits` bits. */
static double small_float(uint64_t v, unsigned exponent_bits, unsigned fraction_bits) {
    uint64_t fraction = v & ((UINT64_C(1) << fraction_bits) - 1);
    int top = (1 << exponent_bits) - 1;
    int exponent = (int)(v >> fraction_bits) & top;
    bool negative = (v >> (fraction_bits + exponent_bits) & 1) != 0;
    double out = exponent == top ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                 : ldexp((double)fraction, -(int)fraction_bits);
    if (exponent != top) {
        out = exponent == 0 ? ldexp(out, 2 - (1 << (exponent_bits - 1)))
                            : ldexp(out + 1, exponent + 1 - (1 << (exponent_bits - 1)));
    }
    return negative ? -out : out;
}

/* Its first 48 bits behind the point: more than a double shows. */
static double quadruple(const uint8_t *at) {
    return small_float(load_payload(at + 8, 8), 15, 48);
}

static bool print_real(printer *p, uint64_t type, const uint8_t *at) {
    float f = 0;
    double d = 0;
    switch (type) {
    case NVTX_ENTRY_FLOAT:
    case NVTX_ENTRY_FLOAT32:
    case NVTX_ENTRY_TF32:
        memcpy(&f, at, sizeof f);
        return ps_json_out_real(&p->json, (double)f, true);
    case NVTX_ENTRY_DOUBLE:
    case NVTX_ENTRY_FLOAT64:
        memcpy(&d, at, sizeof d);
        return ps_json_out_real(&p->json, d, false);
    case NVTX_ENTRY_LONGDOUBLE: {
        long double l = 0;
        memcpy(&l, at, sizeof l);
        return ps_json_out_real(&p->json, (double)l, false);
    }
    case NVTX_ENTRY_FLOAT128:
        return ps_json_out_real(&p->json, quadruple(at), false);
    case NVTX_ENTRY_FLOAT16:
        return ps_json_out_real(&p->json, small_float(load_payload(at, 2), 5, 10), true);
    default:
        return ps_json_out_real(&p->json, small_float(load_payload(at, 2), 8, 7), true);
    }
}

/* A text as a value, which may be what the event is called. */
static bool print_payload_text(printer *p, const char *text, size_t n) {
    if (p->in_message && p->message != NULL && n > 0) {
        memcpy(p->message, text, n);
        p->message_length = n;
        p->message = NULL;
    }
    return ps_json_out_text(&p->json, text, n);
}

static bool print_registered(printer *p, uint64_t handle) {
    nvtxStringHandle_t as_handle = (nvtxStringHandle_t)(uintptr_t)handle;
    const ps_nvtx_string *string = ps_nvtx_string_of(p->of, as_handle);
    if (string == NULL) {
        return handle == 0 ? ps_json_out_raw(&p->json, "null", 4)
                           : ps_json_out_bits(&p->json, handle);
    }
    size_t n = string->length < MAX_STRING ? string->length : MAX_STRING;
    p->cut_string |= n < string->length;
    return print_payload_text(p, string->bytes, n);
}

/* One value of a predefined type; `size` bytes are there. */
static bool print_plain(printer *p, uint64_t type, const uint8_t *at, uint64_t size) {
    uint64_t v = load_payload(at, size);
    switch (type) {
    case NVTX_ENTRY_FLOAT:
    case NVTX_ENTRY_DOUBLE:
    case NVTX_ENTRY_LONGDOUBLE:
    case NVTX_ENTRY_FLOAT16:
    case NVTX_ENTRY_FLOAT32:
    case NVTX_ENTRY_FLOAT64:
    case NVTX_ENTRY_FLOAT128:
    case NVTX_ENTRY_BF16:
    case NVTX_ENTRY_TF32:
        return print_real(p, type, at);
    case NVTX_ENTRY_INT128:
    case NVTX_ENTRY_UINT128: {
        uint64_t high = load_payload(at + 8, 8);
        return ps_json_out_u128(&p->json, high, v, type == NVTX_ENTRY_INT128 && high >> 63 != 0);
    }
    case NVTX_ENTRY_ADDRESS:
        return v == 0 ? ps_json_out_raw(&p->json, "null", 4) : ps_json_out_bits(&p->json, v);
    case NVTX_ENTRY_COLOR_ARGB:
        return ps_json_out_bits(&p->json, v);
    case NVTX_ENTRY_REGISTERED_STRING:
        return print_registered(p, v);
    case NVTX_ENTRY_CHAR:
        if (v >= 0x20 && v < 0x7f) {
            char c = (char)v;
            return ps_json_out_text(&p->json, &c, 1);
        }
        break;
    case NVTX_ENTRY_WCHAR:
    case NVTX_ENTRY_CHAR8:
    case NVTX_ENTRY_CHAR16:
    case NVTX_ENTRY_CHAR32: {
        char text[8];
        bool cut = false;
        size_t n = ps_nvtx_to_utf8(at, 1, (unsigned)size, text, sizeof text, &cut);
        return ps_json_out_text(&p->json, text, n);
    }
    default:
        break;
    }
    return is_signed(type) ? ps_json_out_i64(&p->json, payload_widen(v, size))
                           : ps_json_out_u64(&p->json, v);
}

/* --- strings ------------------------------------------------------------------------------------------------------- */

/* Bytes of a unit of types that are texts when there are several: 0 for others. */
static unsigned text_unit(uint64_t type) {
    switch (type) {
    case NVTX_ENTRY_CHAR:
    case NVTX_ENTRY_CHAR8:
    case NVTX_ENTRY_CSTRING:
    case NVTX_ENTRY_CSTRING_UTF8:
        return 1;
    case NVTX_ENTRY_CHAR16:
    case NVTX_ENTRY_CSTRING_UTF16:
        return 2;
    case NVTX_ENTRY_WCHAR:
    case NVTX_ENTRY_CHAR32:
    case NVTX_ENTRY_CSTRING_UTF32:
        return 4;
    default:
        return 0;
    }
}

static bool is_payload_string(uint64_t type) {
    return type >= NVTX_ENTRY_CSTRING && type <= NVTX_ENTRY_CSTRING_UTF32;
}

static bool print_string(printer *p, const uint8_t *at, uint64_t n_units, unsigned unit) {
    char text[MAX_STRING];
    bool cut = false;
    size_t n = ps_nvtx_to_utf8(at, n_units, unit, text, sizeof text, &cut);
    p->cut_string |= cut;
    return print_payload_text(p, text, n);
}

/* Values before one that is zero, in at most data.n bytes. */
static uint64_t count_to_zero(span data, uint64_t size) {
    uint64_t n = 0;
    for (; size != 0 && (n + 1) * size <= data.n; n++) {
        bool zero = true;
        for (uint64_t i = 0; i < size && zero; i++) {
            zero = data.at[n * size + i] == 0;
        }
        if (zero) {
            break;
        }
    }
    return n;
}

/* --- enums --------------------------------------------------------------------------------------------------------- */

static bool print_enum(printer *p, const ps_nvtx_schema *schema, uint64_t v) {
    const uint64_t mask = schema->size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * schema->size) - 1;
    char text[256];
    size_t n = 0;
    uint64_t left = v;
    for (uint32_t i = 0; i < schema->n_entries; i++) {
        const ps_nvtx_entry *e = &schema->entries[i];
        if ((e->value & mask) == v) {
            return ps_json_out_text(&p->json, e->name, e->name_length);
        }
        uint64_t bits = e->value & mask;
        if (e->is_flag && bits != 0 && (left & bits) == bits &&
            n + e->name_length + 1 <= sizeof text) {
            n += n > 0 ? (size_t)(text[n] = '|', 1) : 0;
            memcpy(text + n, e->name, e->name_length);
            n += e->name_length;
            left &= ~bits;
        }
    }
    return n > 0 && left == 0 ? ps_json_out_text(&p->json, text, n) : ps_json_out_u64(&p->json, v);
}

/* --- arrays -------------------------------------------------------------------------------------------------------- */

/* One value of any type at data.at; *used: its bytes. */
static bool print_value(printer *p, uint64_t type, span data, size_t *used, uint64_t selected) {
    uint64_t size = 0;
    uint64_t align = 1;
    *used = 0;
    if (type < NVTX_ID_STATIC_START) {
        if (!ps_nvtx_type_layout(p->domain, type, &size, &align) || size > data.n) {
            return ps_json_out_raw(&p->json, "null", 4);
        }
        *used = size;
        return print_plain(p, type, data.at, size);
    }
    const ps_nvtx_schema *schema = ps_nvtx_schema_find(p->domain, type);
    if (schema == NULL || p->depth >= PS_NVTX_DEPTH) {
        return ps_json_out_raw(&p->json, "null", 4);
    }
    if (schema->is_enum) {
        if (schema->size > data.n) {
            return ps_json_out_raw(&p->json, "null", 4);
        }
        *used = schema->size;
        return print_enum(p, schema, load_payload(data.at, schema->size));
    }
    return print_schema(p, schema, data, used, selected);
}

static bool print_array(printer *p, uint64_t type, span data, uint64_t n, size_t *used) {
    *used = 0;
    if (!ps_json_out_raw(&p->json, "[", 1)) {
        return false;
    }
    for (uint64_t i = 0; i < n && *used < data.n && !p->json.full; i++) {
        size_t before = p->json.n;
        size_t one = 0;
        bool fits = (i == 0 || ps_json_out_raw(&p->json, ",", 1)) &&
                    print_value(p, type, (span){data.at + *used, data.n - *used}, &one, UINT64_MAX);
        if (!fits) {
            p->json.n = before;
        }
        if (one == 0 || one > data.n - *used) {
            break; /* no more data, or of unknown size */
        }
        *used += one;
    }
    ps_json_out_close(&p->json, "]");
    return true;
}

/* --- entries ------------------------------------------------------------------------------------------------------- */

/* Where the bytes at `address` may be read: within a payload of this event. */
static span within_payloads(const printer *p, uint64_t address) {
    for (size_t i = 0; i < p->n_payloads; i++) {
        uint64_t from = (uint64_t)(uintptr_t)p->payloads[i].payload;
        if (from != 0 && address >= from && address - from < p->payloads[i].size &&
            p->payloads[i].size != SIZE_MAX) {
            return (span){(const uint8_t *)p->payloads[i].payload + (address - from),
                          p->payloads[i].size - (size_t)(address - from)};
        }
    }
    return (span){NULL, 0};
}

/* Copies up to SCRATCH bytes from anywhere in this process; as many as are mapped. */
static size_t copy_from(uint64_t address, uint8_t *scratch) {
    size_t n = 0;
    while (address != 0 && n < SCRATCH) {
        size_t part = 4096 - (size_t)((address + n) % 4096);
        part = part < SCRATCH - n ? part : SCRATCH - n;
        struct iovec to = {scratch + n, part};
        struct iovec from = {(void *)(uintptr_t)(address + n), part};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)part) {
            break;
        }
        n += part;
    }
    return n;
}

/* An integer of an entry that was laid out at `at`: a length or a selector. Negative ones count as none. */
static uint64_t integer_of(uint16_t domain, uint64_t type, const uint8_t *at, uint64_t size) {
    uint64_t v = load_payload(at, size);
    (void)domain;
    return is_signed(type) && payload_widen(v, size) < 0 ? 0 : v;
}

/* What is known of the entries before this one: where each began. */
typedef struct layout {
    const ps_nvtx_schema *schema;
    span data;
    size_t *starts; /* [i] for entries < n */
    uint32_t n;
} layout;

enum { MAX_STARTS = 64 }; /* entries that can be referred to: the first so many */

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

/* The product of `n` integers of this type. */
static uint64_t product(uint16_t domain, uint64_t type, span data, uint64_t n) {
    uint64_t size = 0;
    uint64_t align = 1;
    if (type >= NVTX_ID_STATIC_START || !ps_nvtx_type_layout(domain, type, &size, &align) ||
        size > 8) {
        return 0;
    }
    uint64_t out = 1;
    for (uint64_t i = 0; i < n; i++) {
        if ((i + 1) * size > data.n) {
            return 0;
        }
        out = times(out, integer_of(domain, type, data.at + i * size, size));
    }
    return n == 0 ? 0 : out;
}

/* The integers of an entry: a length, several dimensions, or a selector. */
static uint64_t number_at(const layout *l, uint16_t domain, uint64_t index) {
    if (index >= l->n || index >= MAX_STARTS) {
        return 0;
    }
    const ps_nvtx_entry *entry = &l->schema->entries[index];
    span data = {l->data.at + l->starts[index], l->data.n - l->starts[index]};
    uint64_t size = 0;
    uint64_t align = 1;
    uint64_t n = 1;
    if ((entry->flags & NVTX_ENTRY_ARRAY_MASK) == NVTX_ENTRY_ARRAY_FIXED) {
        n = entry->detail;
    } else if ((entry->flags & NVTX_ENTRY_ARRAY_MASK) == NVTX_ENTRY_ARRAY_ZERO_TERMINATED &&
               ps_nvtx_type_layout(domain, entry->type, &size, &align)) {
        n = count_to_zero(data, size);
    }
    return n > 16 ? 0 : product(domain, entry->type, data, n);
}

/* The length that another payload of the event holds. */
static uint64_t number_in_payload(const printer *p, uint64_t index) {
    if (index >= p->n_payloads || p->payloads[index].payload == NULL) {
        return 0;
    }
    const nvtxPayloadData_t *payload = &p->payloads[index];
    uint64_t type = payload->schemaId;
    uint64_t n = UINT64_MAX;
    if (type >= NVTX_ID_STATIC_START) {
        const ps_nvtx_schema *schema = ps_nvtx_schema_find(p->domain, type);
        if (schema == NULL || schema->is_enum || schema->n_entries == 0) {
            return 0;
        }
        type = schema->entries[0].type;
        n = (schema->entries[0].flags & NVTX_ENTRY_ARRAY_MASK) == NVTX_ENTRY_ARRAY_FIXED
                ? schema->entries[0].detail
                : 1;
    }
    uint64_t size = 0;
    uint64_t align = 1;
    if (type >= NVTX_ID_STATIC_START || !ps_nvtx_type_layout(p->domain, type, &size, &align) ||
        payload->size == SIZE_MAX) {
        return 0;
    }
    n = n == UINT64_MAX ? payload->size / size : n;
    return n > 16 ? 0 : product(p->domain, type, (span){payload->payload, payload->size}, n);
}

/* How many values an entry has; 1 for one. */
static uint64_t count_of(const printer *p, const layout *l, const ps_nvtx_entry *entry, span data,
                         uint64_t size) {
    switch (entry->flags & NVTX_ENTRY_ARRAY_MASK) {
    case 0:
        return is_payload_string(entry->type)
                   ? (entry->detail != 0 ? entry->detail : count_to_zero(data, size))
                   : 1;
    case NVTX_ENTRY_ARRAY_FIXED:
        return is_payload_string(entry->type) && entry->detail == 0 ? count_to_zero(data, size)
                                                                    : entry->detail;
    case NVTX_ENTRY_ARRAY_ZERO_TERMINATED:
        return count_to_zero(data, size);
    case NVTX_ENTRY_ARRAY_LENGTH_INDEX:
        return number_at(l, p->domain, entry->detail);
    case NVTX_ENTRY_ARRAY_LENGTH_PAYLOAD:
        return number_in_payload(p, entry->detail);
    default:
        return 1;
    }
}

/* The values of an entry, which lie at data.at. *used: how many bytes they take there. */
static bool print_there(printer *p, const layout *l, const ps_nvtx_entry *entry, span data,
                        size_t *used) {
    uint64_t size = 0;
    uint64_t align = 1;
    bool known = ps_nvtx_type_layout(p->domain, entry->type, &size, &align);
    unsigned array = entry->flags & NVTX_ENTRY_ARRAY_MASK;
    uint64_t n = count_of(p, l, entry, data, size);
    unsigned unit = text_unit(entry->type);
    if (known && unit != 0 && (array != 0 || is_payload_string(entry->type))) {
        uint64_t fit = data.n / unit;
        n = n < fit ? n : fit;
        bool terminated =
            array == NVTX_ENTRY_ARRAY_ZERO_TERMINATED || (array == 0 && entry->detail == 0);
        *used = (size_t)(n + (terminated && n < fit)) * unit;
        return print_string(p, data.at, n, unit);
    }
    if (array == 0) {
        uint64_t selected = UINT64_MAX;
        const ps_nvtx_schema *schema = ps_nvtx_schema_find(p->domain, entry->type);
        if (schema != NULL && schema->type == NVTX_SCHEMA_UNION) {
            selected = number_at(l, p->domain, entry->detail);
        }
        return print_value(p, entry->type, data, used, selected);
    }
    if (known && entry->type == NVTX_ENTRY_BYTE) {
        n = n < data.n ? n : data.n;
        *used = (size_t)n;
        p->cut_string |= n > MAX_STRING;
        return ps_json_out_hex(&p->json, data.at, (size_t)n, MAX_STRING);
    }
    bool ok = print_array(p, entry->type, data, n, used);
    if (known) { /* also those that were not printed */
        uint64_t all = times(n, size);
        *used = all < data.n ? (size_t)all : data.n;
        if (array == NVTX_ENTRY_ARRAY_ZERO_TERMINATED && data.n - *used >= size) {
            *used += (size_t)size;
        }
    }
    return ok;
}

static __attribute__((noinline)) bool print_copied(printer *p, const layout *l,
                                                   const ps_nvtx_entry *entry, uint64_t address) {
    uint8_t scratch[SCRATCH];
    size_t n = copy_from(address, scratch);
    size_t used = 0;
    return n == 0 ? ps_json_out_bits(&p->json, address)
                  : print_there(p, l, entry, (span){scratch, n}, &used);
}

/* An entry that holds a pointer or an offset to its values. */
static bool print_elsewhere(printer *p, const layout *l, const ps_nvtx_entry *entry, size_t at,
                            size_t *used) {
    size_t unused = 0;
    *used = sizeof(void *);
    if (l->data.n - at < sizeof(void *)) {
        *used = l->data.n - at;
        return ps_json_out_raw(&p->json, "null", 4);
    }
    uint64_t value = load_payload(l->data.at + at, sizeof(void *));
    uint64_t flags = entry->flags;
    if ((flags & (NVTX_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_ENTRY_FLAG_OFFSET_FROM_HERE)) != 0) {
        uint64_t from = (flags & NVTX_ENTRY_FLAG_OFFSET_FROM_HERE) != 0 ? at + sizeof(void *) : 0;
        if (value > l->data.n || from + value > l->data.n) {
            return ps_json_out_raw(&p->json, "null", 4);
        }
        span there = {l->data.at + from + value, l->data.n - (size_t)(from + value)};
        return print_there(p, l, entry, there, &unused);
    }
    if (value == 0) {
        return ps_json_out_raw(&p->json, "null", 4);
    }
    span there = within_payloads(p, value);
    if (there.at != NULL) {
        return print_there(p, l, entry, there, &unused);
    }
    return (flags & NVTX_ENTRY_FLAG_DEEP_COPY) != 0 ? print_copied(p, l, entry, value)
                                                    : ps_json_out_bits(&p->json, value);
}

/* Whether a C string without a length is a pointer: in structs of fixed size it cannot be anything else. */
static bool is_pointer(const ps_nvtx_schema *schema, const ps_nvtx_entry *entry) {
    return (entry->flags & (NVTX_ENTRY_FLAG_POINTER | NVTX_ENTRY_FLAG_OFFSET_FROM_BASE |
                            NVTX_ENTRY_FLAG_OFFSET_FROM_HERE)) != 0 ||
           (is_payload_string(entry->type) && (entry->flags & NVTX_ENTRY_ARRAY_MASK) == 0 &&
            entry->detail == 0 && schema->type != NVTX_SCHEMA_DYNAMIC);
}

/* Where entry i begins; `end`: where the one before it ended. */
static size_t payload_start_of(const printer *p, const layout *l, uint32_t i, size_t end) {
    const ps_nvtx_entry *entry = &l->schema->entries[i];
    if (entry->offset != 0 || i == 0 || l->schema->type == NVTX_SCHEMA_UNION) {
        return entry->offset < l->data.n ? (size_t)entry->offset : l->data.n;
    }
    uint64_t size = 0;
    uint64_t align = 1;
    (void)ps_nvtx_type_layout(p->domain, entry->type, &size, &align);
    if (is_pointer(l->schema, entry)) {
        align = sizeof(void *);
    }
    align = l->schema->pack != 0 && align > l->schema->pack ? l->schema->pack : align;
    align = align == 0 ? 1 : align;
    uint64_t at = (end + align - 1) / align * align;
    return at < l->data.n ? (size_t)at : l->data.n;
}

/* Whether an entry is of a layout or enum that was not registered. */
static bool is_unknown(const printer *p, const ps_nvtx_entry *entry) {
    return entry->type >= NVTX_ID_STATIC_START &&
           ps_nvtx_schema_find(p->domain, entry->type) == NULL;
}

static bool print_unknown(printer *p, uint64_t id, span data);

/* Entry i of an unknown type: the bytes up to the next entry that says where it begins. */
static bool print_unknown_entry(printer *p, const layout *l, uint32_t i, size_t at, size_t *used) {
    size_t end = l->data.n;
    for (uint32_t j = 0; j < l->schema->n_entries; j++) {
        uint64_t offset = l->schema->entries[j].offset;
        end = j != i && offset > at && offset < end ? (size_t)offset : end;
    }
    *used = end - at;
    return print_unknown(p, l->schema->entries[i].type, (span){l->data.at + at, end - at});
}

/* The value of entry i, which begins at `at`. */
static bool print_entry(printer *p, const layout *l, uint32_t i, size_t at, size_t *used) {
    const ps_nvtx_entry *entry = &l->schema->entries[i];
    if (is_pointer(l->schema, entry)) {
        return print_elsewhere(p, l, entry, at, used);
    }
    if (is_unknown(p, entry)) {
        return print_unknown_entry(p, l, i, at, used);
    }
    return print_there(p, l, entry, (span){l->data.at + at, l->data.n - at}, used);
}

/* "name": value of entry i, or nothing of it when it does not fit. */
static void print_member(printer *p, layout *l, uint32_t i, size_t *end, bool *first) {
    const ps_nvtx_entry *entry = &l->schema->entries[i];
    size_t at = payload_start_of(p, l, i, *end);
    if (i < MAX_STARTS) {
        l->starts[i] = at;
        l->n = i + 1;
    }
    if (entry->type == NVTX_ENTRY_UNION_SELECTOR) {
        return; /* says which member counts, in a way that only its program knows: all are shown */
    }
    size_t before = p->json.n;
    bool fits = *first || ps_json_out_raw(&p->json, ",", 1);
    if (entry->name_length > 0) {
        fits = fits && ps_json_out_text(&p->json, entry->name, entry->name_length);
    } else {
        char number[16];
        int n = snprintf(number, sizeof number, "%u", (unsigned)i);
        fits = fits && ps_json_out_text(&p->json, number, (size_t)n);
    }
    size_t used = 0;
    p->in_message = (entry->flags & NVTX_ENTRY_ROLE_MASK) == NVTX_ENTRY_ROLE_MESSAGE;
    fits = fits && ps_json_out_raw(&p->json, ":", 1) && print_entry(p, l, i, at, &used);
    p->in_message = false;
    if (!fits) {
        p->json.n = before;
        return;
    }
    *first = false;
    size_t stop = at + used;
    *end = l->schema->type == NVTX_SCHEMA_UNION ? (stop > *end ? stop : *end) : stop;
}

/* A struct or union. `selected`: which member of a union; one that there is none of: all. */
static bool print_schema(printer *p, const ps_nvtx_schema *schema, span data, size_t *used,
                         uint64_t selected) {
    if (schema->size != 0 && schema->size < data.n) {
        data.n = (size_t)schema->size;
    }
    size_t starts[MAX_STARTS];
    layout l = {schema, data, starts, 0};
    *used = 0;
    if (!ps_json_out_raw(&p->json, "{", 1)) {
        return false;
    }
    p->depth++;
    size_t end = 0;
    bool first = true;
    bool one = schema->type == NVTX_SCHEMA_UNION && selected < schema->n_entries;
    for (uint32_t i = 0; i < schema->n_entries && !p->json.full; i++) {
        if (!one || i == selected) {
            print_member(p, &l, i, &end, &first);
        } else if (i < MAX_STARTS) {
            starts[i] = 0;
            l.n = i + 1;
        }
    }
    p->depth--;
    ps_json_out_close(&p->json, "}");
    *used = schema->size != 0 ? data.n : end;
    return true;
}

/* --- NCCL, when it has not said how its payloads look -------------------------------------------------------------- */

static bool payload_member(printer *p, bool first, const char *name, uint64_t v, bool is_int) {
    return (first || ps_json_out_raw(&p->json, ",", 1)) &&
           ps_json_out_text(&p->json, name, strlen(name)) && ps_json_out_raw(&p->json, ":", 1) &&
           (is_int ? ps_json_out_i64(&p->json, payload_widen(v, 4)) : ps_json_out_u64(&p->json, v));
}

/* Layouts of NCCL 2.2x by their numbers. The names are those of the layouts it registers nowadays. */
static bool print_nccl(printer *p, uint64_t id, span data) {
    static const char *const THIRD[] = {
        [6] = "Root", [8] = "Root", [9] = "Peer rank", [10] = "Peer rank"};
    uint64_t number = id - NVTX_ID_STATIC_START;
    const char *third = number < sizeof THIRD / sizeof THIRD[0] ? THIRD[number] : NULL;
    if (number < 4 || number > 10 || data.n < (third == NULL ? 16u : 20u) ||
        strcmp(p->of->name, "NCCL") != 0) {
        return false;
    }
    bool fits =
        ps_json_out_raw(&p->json, "{", 1) &&
        payload_member(p, true, "NCCL communicator ID", load_payload(data.at, 8), false) &&
        payload_member(p, false, "Message size [bytes]", load_payload(data.at + 8, 8), false) &&
        (third == NULL || payload_member(p, false, third, load_payload(data.at + 16, 4), true));
    ps_json_out_close(&p->json, "}");
    return fits;
}

/* --- whole payloads ------------------------------------------------------------------------------------------------ */

static bool print_unknown(printer *p, uint64_t id, span data) {
    size_t before = p->json.n;
    bool fits = ps_json_out_raw(&p->json, "{\"schema\":", 10) && ps_json_out_u64(&p->json, id) &&
                ps_json_out_raw(&p->json, ",\"size\":", 8) && ps_json_out_u64(&p->json, data.n) &&
                ps_json_out_raw(&p->json, ",\"hex\":", 7) &&
                ps_json_out_hex(&p->json, data.at, data.n, MAX_UNKNOWN_BYTES);
    if (!fits) {
        p->json.n = before;
        return false;
    }
    ps_json_out_close(&p->json, "}");
    return true;
}

static bool print_predefined(printer *p, uint64_t type, span data) {
    uint64_t size = 0;
    uint64_t align = 1;
    size_t used = 0;
    if (!ps_nvtx_type_layout(p->domain, type, &size, &align) || data.n < size) {
        return print_unknown(p, type, data);
    }
    if (is_payload_string(type) || (text_unit(type) != 0 && data.n > size)) {
        return print_string(p, data.at, data.n / size, text_unit(type));
    }
    return data.n / size == 1 ? print_plain(p, type, data.at, size)
                              : print_array(p, type, data, data.n / size, &used);
}

/* The bytes of a payload. SIZE_MAX stands for: as long as its type is. */
static span payload_span_of(uint16_t domain, const nvtxPayloadData_t *payload) {
    span data = {payload->payload, payload->size};
    if (data.at == NULL) {
        data.n = 0;
    } else if (data.n == SIZE_MAX) {
        uint64_t size = 0;
        uint64_t align = 1;
        data.n = 0;
        if (payload->schemaId == NVTX_ENTRY_CSTRING ||
            payload->schemaId == NVTX_ENTRY_CSTRING_UTF8) {
            data.n = strnlen(payload->payload, MAX_STRING + 1);
        } else if (!is_payload_string(payload->schemaId) &&
                   ps_nvtx_type_layout(domain, payload->schemaId, &size, &align)) {
            data.n = (size_t)size;
        }
    }
    return data;
}

static bool print_payload(printer *p, const nvtxPayloadData_t *payload) {
    span data = payload_span_of(p->domain, payload);
    uint64_t id = payload->schemaId;
    size_t used = 0;
    if (id < NVTX_ID_STATIC_START) {
        return print_predefined(p, id, data);
    }
    const ps_nvtx_schema *schema = ps_nvtx_schema_find(p->domain, id);
    if (schema != NULL && !schema->is_enum && schema->size != 0 && data.n / schema->size >= 2 &&
        schema->type == NVTX_SCHEMA_STATIC) {
        return print_array(p, id, data, data.n / schema->size, &used);
    }
    if (schema != NULL) {
        return print_value(p, id, data, &used, UINT64_MAX);
    }
    return print_nccl(p, id, data) || print_unknown(p, id, data);
}

static bool is_payload_shown(const nvtxPayloadData_t *payload) {
    return payload->size != 0 && payload->payload != NULL &&
           payload->schemaId != NVTX_SCHEMA_ID_REFERENCED;
}

size_t ps_nvtx_payload_json(const ps_record_domain *domain, const nvtxPayloadData_t *payloads,
                            size_t n, char *out, size_t size, char *message, size_t *message_length,
                            bool *cut) {
    printer p = {.domain = domain->id,
                 .of = domain,
                 .payloads = payloads,
                 .n_payloads = n,
                 .message = message};
    ps_json_out_init(&p.json, out, size);
    size_t n_shown = 0;
    for (size_t i = 0; payloads != NULL && i < n; i++) {
        n_shown += is_payload_shown(&payloads[i]);
    }
    if (n_shown > 1) {
        (void)ps_json_out_raw(&p.json, "[", 1);
    }
    bool first = true;
    for (size_t i = 0; n_shown > 0 && i < n && !p.json.full; i++) {
        if (!is_payload_shown(&payloads[i])) {
            continue;
        }
        size_t before = p.json.n;
        bool fits = (first || ps_json_out_raw(&p.json, ",", 1)) && print_payload(&p, &payloads[i]);
        if (!fits) {
            p.json.n = before;
        } else {
            first = false;
        }
    }
    *cut = p.json.full || p.cut_string;
    if (message_length != NULL) {
        *message_length = p.message_length;
    }
    if (n_shown > 1) {
        ps_json_out_close(&p.json, !p.json.full ? "]"
                                   : first      ? "{\"truncated\":true}]"
                                                : ",{\"truncated\":true}]");
    } else if (p.json.full && p.json.n > 1 && out[p.json.n - 1] == '}') {
        p.json.n--;
        ps_json_out_close(&p.json, out[p.json.n - 1] == '{' ? "\"truncated\":true}"
                                                            : ",\"truncated\":true}");
    }
    return p.json.n;
}

size_t ps_nvtx_number_json(const nvtxEventAttributes_t *attr, char *out, size_t size) {
    ps_json_out json;
    ps_json_out_init(&json, out, size);
    switch (attr->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        (void)ps_json_out_u64(&json, attr->payload.ullValue);
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        (void)ps_json_out_i64(&json, attr->payload.llValue);
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        (void)ps_json_out_real(&json, attr->payload.dValue, false);
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        (void)ps_json_out_u64(&json, attr->payload.uiValue);
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        (void)ps_json_out_i64(&json, attr->payload.iValue);
        break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
        (void)ps_json_out_real(&json, (double)attr->payload.fValue, true);
        break;
    default:
        break;
    }
    return json.n;
}
