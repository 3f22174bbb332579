/* Layouts of payloads that NVTX programs register: copied, because the program may throw its own away, and found again by
 * domain and id without a lock. They are never freed; what is registered again under an id takes its place. */
#include <string.h>

#include "base/alloc.h"
#include "record/nvtx/nvtx.h"
#include "record/ring/log.h"

enum { N_PLACES = 2 * PS_NVTX_MAX_SCHEMAS, MAX_NAME = 256 };

static ps_nvtx_schema
    *all; /* also those that were replaced, which may still be read; under the lock */

static ps_nvtx_schema *_Atomic places[N_PLACES];
static uint32_t n_schemas; /* also those that were replaced; under the lock */
static uint64_t next_id = NVTX_ID_DYNAMIC_START + 1; /* under the lock */

static uint32_t schema_entry_first_place(uint16_t domain, uint64_t id) {
    return (uint32_t)(((id ^ (uint64_t)domain << 40) * UINT64_C(0x9e3779b97f4a7c15)) >> 40) %
           N_PLACES;
}

const ps_nvtx_schema *ps_nvtx_schema_find(uint16_t domain, uint64_t id) {
    for (uint32_t i = schema_entry_first_place(domain, id);; i = (i + 1) % N_PLACES) {
        const ps_nvtx_schema *schema = atomic_load_explicit(&places[i], memory_order_acquire);
        if (schema == NULL || (schema->id == id && schema->domain == domain)) {
            return schema;
        }
    }
}

/* --- how things lie in memory -------------------------------------------------------------------------------------- */

static unsigned plain_size(uint64_t type) {
    static const uint8_t SIZES[] = {
        [NVTX_ENTRY_CHAR] = sizeof(char),
        [NVTX_ENTRY_UCHAR] = sizeof(unsigned char),
        [NVTX_ENTRY_SHORT] = sizeof(short),
        [NVTX_ENTRY_USHORT] = sizeof(unsigned short),
        [NVTX_ENTRY_INT] = sizeof(int),
        [NVTX_ENTRY_UINT] = sizeof(unsigned),
        [NVTX_ENTRY_LONG] = sizeof(long),
        [NVTX_ENTRY_ULONG] = sizeof(unsigned long),
        [NVTX_ENTRY_LONGLONG] = sizeof(long long),
        [NVTX_ENTRY_ULONGLONG] = sizeof(unsigned long long),
        [NVTX_ENTRY_INT8] = 1,
        [NVTX_ENTRY_UINT8] = 1,
        [NVTX_ENTRY_INT16] = 2,
        [NVTX_ENTRY_UINT16] = 2,
        [NVTX_ENTRY_INT32] = 4,
        [NVTX_ENTRY_UINT32] = 4,
        [NVTX_ENTRY_INT64] = 8,
        [NVTX_ENTRY_UINT64] = 8,
        [NVTX_ENTRY_FLOAT] = sizeof(float),
        [NVTX_ENTRY_DOUBLE] = sizeof(double),
        [NVTX_ENTRY_LONGDOUBLE] = sizeof(long double),
        [NVTX_ENTRY_SIZE] = sizeof(size_t),
        [NVTX_ENTRY_ADDRESS] = sizeof(void *),
        [NVTX_ENTRY_WCHAR] = sizeof(wchar_t),
        [NVTX_ENTRY_CHAR8] = 1,
        [NVTX_ENTRY_CHAR16] = 2,
        [NVTX_ENTRY_CHAR32] = 4,
        [NVTX_ENTRY_BYTE] = 1,
        [NVTX_ENTRY_INT128] = 16,
        [NVTX_ENTRY_UINT128] = 16,
        [NVTX_ENTRY_FLOAT16] = 2,
        [NVTX_ENTRY_FLOAT32] = 4,
        [NVTX_ENTRY_FLOAT64] = 8,
        [NVTX_ENTRY_FLOAT128] = 16,
        [NVTX_ENTRY_BF16] = 2,
        [NVTX_ENTRY_TF32] = 4,
        [NVTX_ENTRY_RANGE_ID] = 8,
        [NVTX_ENTRY_CATEGORY] = 4,
        [NVTX_ENTRY_COLOR_ARGB] = 4,
        [NVTX_ENTRY_SCOPE_ID] = 8,
        [NVTX_ENTRY_PID_UINT32] = 4,
        [NVTX_ENTRY_PID_UINT64] = 8,
        [NVTX_ENTRY_TID_UINT32] = 4,
        [NVTX_ENTRY_TID_UINT64] = 8,
        [NVTX_ENTRY_CSTRING] = 1,
        [NVTX_ENTRY_CSTRING_UTF8] = 1,
        [NVTX_ENTRY_CSTRING_UTF16] = 2,
        [NVTX_ENTRY_CSTRING_UTF32] = 4,
        [NVTX_ENTRY_REGISTERED_STRING] = sizeof(void *),
    };
    return type < sizeof SIZES ? SIZES[type] : 0;
}

bool ps_nvtx_type_layout(uint16_t domain, uint64_t type, uint64_t *size, uint64_t *align) {
    if (type < NVTX_ID_STATIC_START) {
        *size = plain_size(type);
        *align = *size == 0 ? 1 : *size;
        return *size != 0;
    }
    const ps_nvtx_schema *schema = ps_nvtx_schema_find(domain, type);
    *size = schema == NULL ? 0 : schema->size;
    *align = schema == NULL || schema->align == 0 ? 1 : schema->align;
    return *size != 0;
}

static bool is_schema_entry_string(uint64_t type) {
    return type >= NVTX_ENTRY_CSTRING && type <= NVTX_ENTRY_CSTRING_UTF32;
}

/* What an entry takes in a struct; false when the data tell. */
static bool entry_layout(uint16_t domain, bool dynamic, const ps_nvtx_entry *entry, uint64_t *size,
                         uint64_t *align) {
    unsigned array = entry->flags & NVTX_ENTRY_ARRAY_MASK;
    bool fixed = array == NVTX_ENTRY_ARRAY_FIXED ||
                 (is_schema_entry_string(entry->type) && array == 0 && entry->detail != 0);
    const uint64_t elsewhere = NVTX_ENTRY_FLAG_POINTER | NVTX_ENTRY_FLAG_OFFSET_FROM_BASE |
                               NVTX_ENTRY_FLAG_OFFSET_FROM_HERE;
    if ((entry->flags & elsewhere) != 0 ||
        (is_schema_entry_string(entry->type) && array == 0 && entry->detail == 0 && !dynamic)) {
        *size = *align = sizeof(void *);
        return true;
    }
    bool known = ps_nvtx_type_layout(domain, entry->type, size, align);
    if (!known || (array != 0 && !fixed) || (is_schema_entry_string(entry->type) && !fixed)) {
        return false;
    }
    return !fixed || !__builtin_mul_overflow(*size, entry->detail, size);
}

/* Sets size and alignment of a struct or union from its entries. */
static void lay_schema_entry_out(ps_nvtx_schema *schema, uint64_t static_size) {
    uint64_t end = 0;
    bool known = schema->type != NVTX_SCHEMA_DYNAMIC;
    bool is_union = schema->type == NVTX_SCHEMA_UNION;
    schema->align = 1;
    for (uint32_t i = 0; i < schema->n_entries; i++) {
        const ps_nvtx_entry *entry = &schema->entries[i];
        uint64_t size = 0;
        uint64_t align = 1;
        known = entry_layout(schema->domain, schema->type == NVTX_SCHEMA_DYNAMIC, entry, &size,
                             &align) &&
                known;
        align = schema->pack != 0 && align > schema->pack ? schema->pack : align;
        schema->align = align > schema->align ? align : schema->align;
        uint64_t from = is_union                       ? entry->offset
                        : entry->offset != 0 || i == 0 ? entry->offset
                                                       : (end + align - 1) / align * align;
        uint64_t to = 0;
        known = known && from >= entry->offset && !__builtin_add_overflow(from, size, &to) &&
                to < UINT64_C(1) << 40;
        end = to > end ? to : end;
        if (!known) {
            end = 0;
        }
    }
    schema->size = schema->type == NVTX_SCHEMA_DYNAMIC ? 0
                   : static_size != 0                  ? static_size
                   : known ? (end + schema->align - 1) / schema->align * schema->align
                           : 0;
}

/* --- copying ------------------------------------------------------------------------------------------------------- */

static void free_entries(ps_nvtx_entry *entries, size_t n) {
    for (size_t i = 0; entries != NULL && i < n; i++) {
        ps_free((void *)(uintptr_t)entries[i].name);
    }
    ps_free(entries);
}

static bool copy_name(ps_nvtx_entry *entry, const char *name) {
    entry->name_length = name == NULL ? 0 : strnlen(name, MAX_NAME);
    entry->name = ps_strndup(name == NULL ? "" : name, entry->name_length);
    return entry->name != NULL;
}

static ps_nvtx_entry *copy_entries(const nvtxPayloadSchemaEntry_t *from, size_t n) {
    ps_nvtx_entry *entries = ps_calloc(n == 0 ? 1 : n, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < n; i++) {
        entries[i].flags = from[i].flags;
        entries[i].type = from[i].type;
        entries[i].detail = from[i].arrayOrUnionDetail;
        entries[i].offset = from[i].offset;
        if (!copy_name(&entries[i], from[i].name)) {
            free_entries(entries, n);
            return NULL;
        }
    }
    return entries;
}

static ps_nvtx_entry *copy_values(const nvtxPayloadEnum_t *from, size_t n) {
    ps_nvtx_entry *entries = ps_calloc(n == 0 ? 1 : n, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < n; i++) {
        entries[i].value = from[i].value;
        entries[i].is_flag = from[i].isFlag != 0;
        if (!copy_name(&entries[i], from[i].name)) {
            free_entries(entries, n);
            return NULL;
        }
    }
    return entries;
}

/* With the lock held. Takes the entries over; frees them when it fails. */
static uint64_t keep_schema_entry(const ps_nvtx_schema *schema, ps_nvtx_entry *entries) {
    ps_nvtx_schema *copy =
        entries == NULL || n_schemas == PS_NVTX_MAX_SCHEMAS ? NULL : ps_alloc(sizeof *copy);
    if (copy == NULL) {
        free_entries(entries, schema->n_entries);
        ps_rec_log_once("nvtx schemas",
                        "NVTX: no room for another payload schema (at most %d): "
                        "such payloads are recorded as bytes",
                        PS_NVTX_MAX_SCHEMAS);
        return 0;
    }
    *copy = *schema;
    copy->entries = entries;
    n_schemas++;
    for (uint32_t i = schema_entry_first_place(copy->domain, copy->id);; i = (i + 1) % N_PLACES) {
        const ps_nvtx_schema *there = atomic_load_explicit(&places[i], memory_order_relaxed);
        if (there == NULL || (there->id == copy->id && there->domain == copy->domain)) {
            copy->place = i;
            copy->next = all;
            all = copy;
            atomic_store_explicit(&places[i], copy, memory_order_release);
            return copy->id;
        }
    }
}

static void free_schema(ps_nvtx_schema *schema) {
    free_entries((ps_nvtx_entry *)(uintptr_t)schema->entries, schema->n_entries);
    ps_free(schema);
}

void ps_nvtx_schemas_forget(void) {
    ps_nvtx_lock();
    while (all != NULL) {
        ps_nvtx_schema *schema = all;
        all = schema->next;
        atomic_store(&places[schema->place], NULL);
        free_schema(schema);
    }
    n_schemas = 0;
    ps_nvtx_unlock();
}

/* The id to keep it under: as given, as registered, or a new one; 0 when it cannot be one. */
static uint64_t choose_id(uint64_t given, bool has_id, uint64_t registered) {
    if (given != 0) {
        return given;
    }
    if (has_id && registered != 0) {
        return registered >= NVTX_ID_STATIC_START && registered < NVTX_ID_DYNAMIC_START ? registered
                                                                                        : 0;
    }
    return next_id++;
}

/* Under an id that fits; takes `entries` over. Returns the id, 0 when there is none. */
static uint64_t add_schema_entry(ps_nvtx_schema *schema, ps_nvtx_entry *entries, uint64_t given,
                                 bool has_own, uint64_t own) {
    ps_nvtx_lock();
    schema->id = choose_id(given, has_own, own);
    uint64_t kept = 0;
    if (schema->id == 0) {
        free_entries(entries, schema->n_entries);
    } else {
        kept = keep_schema_entry(schema, entries);
    }
    ps_nvtx_unlock();
    return kept;
}

uint64_t ps_nvtx_schema_add(const ps_record_domain *domain, const nvtxPayloadSchemaAttr_t *attr,
                            uint64_t id) {
    const uint64_t needed =
        NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_NUM_ENTRIES;
    if (attr == NULL || (attr->fieldMask & needed) != needed || attr->type < NVTX_SCHEMA_STATIC ||
        attr->type > NVTX_SCHEMA_UNION_INTERNAL || attr->numEntries > PS_NVTX_MAX_ENTRIES ||
        (attr->entries == NULL && attr->numEntries != 0)) {
        return 0;
    }
    ps_nvtx_schema schema = {
        .domain = domain->id, .type = (uint8_t)attr->type, .n_entries = (uint32_t)attr->numEntries};
    if ((attr->fieldMask & NVTX_SCHEMA_HAS_ALIGNMENT) != 0) {
        schema.pack = attr->packAlign;
    }
    uint64_t static_size =
        (attr->fieldMask & NVTX_SCHEMA_HAS_STATIC_SIZE) != 0 ? attr->payloadStaticSize : 0;
    ps_nvtx_entry *entries = copy_entries(attr->entries, attr->numEntries);
    schema.entries = entries;
    if (entries != NULL) {
        lay_schema_entry_out(&schema, static_size);
    }
    bool chosen = (attr->fieldMask & NVTX_SCHEMA_HAS_ID) != 0;
    return add_schema_entry(&schema, entries, id, chosen, attr->schemaId);
}

uint64_t ps_nvtx_enum_add(const ps_record_domain *domain, const nvtxPayloadEnumAttr_t *attr,
                          uint64_t id) {
    const uint64_t needed = NVTX_ENUM_HAS_ENTRIES | NVTX_ENUM_HAS_NUM_ENTRIES | NVTX_ENUM_HAS_SIZE;
    if (attr == NULL || (attr->fieldMask & needed) != needed ||
        attr->numEntries > PS_NVTX_MAX_ENTRIES ||
        (attr->entries == NULL && attr->numEntries != 0) ||
        (attr->sizeOfEnum != 1 && attr->sizeOfEnum != 2 && attr->sizeOfEnum != 4 &&
         attr->sizeOfEnum != 8)) {
        return 0;
    }
    ps_nvtx_schema schema = {.domain = domain->id,
                             .is_enum = true,
                             .n_entries = (uint32_t)attr->numEntries,
                             .size = attr->sizeOfEnum,
                             .align = attr->sizeOfEnum};
    ps_nvtx_entry *entries = copy_values(attr->entries, attr->numEntries);
    bool chosen = (attr->fieldMask & NVTX_ENUM_HAS_ID) != 0;
    return add_schema_entry(&schema, entries, id, chosen, attr->schemaId);
}
