/* The input is a set of layouts and the bytes they are to be read with: what an NVTX program might register and pass, with
 * nothing in order. Nothing outside of the bytes may be read, and the result is JSON.
 *
 * link: record parts */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/literal.h"
#include "record/nvtx/nvtx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ENTRIES = 12, FIRST_ID = 1 << 24 };

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static uint64_t take(reader *r, size_t n) {
    uint64_t v = 0;
    n = (size_t)(r->end - r->at) < n ? (size_t)(r->end - r->at) : n;
    memcpy(&v, r->at, n);
    r->at += n;
    return v;
}

/* A predefined type, or one of the layouts. */
static uint64_t take_type(reader *r) {
    uint64_t v = take(r, 1);
    return v < 128 ? v : FIRST_ID + v % 8;
}

static nvtxPayloadSchemaEntry_t take_entry(reader *r) {
    static const char *const NAMES[] = {"a", "", NULL, "with \"quotes\"", "\xff"};
    nvtxPayloadSchemaEntry_t entry = {.name = NAMES[take(r, 1) % 5]};
    entry.type = take_type(r);
    entry.flags = take(r, 2);
    uint64_t detail = take(r, 1);
    entry.arrayOrUnionDetail = detail < 250 ? detail : UINT64_MAX - detail;
    uint64_t offset = take(r, 1);
    entry.offset = offset < 250 ? offset / 8 : UINT64_MAX - offset;
    return entry;
}

static void take_schema(reader *r, const ps_record_domain *domain, uint64_t id) {
    nvtxPayloadSchemaEntry_t entries[MAX_ENTRIES];
    nvtxPayloadSchemaAttr_t attr = {.fieldMask = 0x1fe, .entries = entries, .schemaId = id};
    uint64_t what = take(r, 1);
    attr.type = 1 + what % 4;
    attr.packAlign = what / 4 % 4;
    attr.payloadStaticSize = (what & 0x80) != 0 ? take(r, 2) : 0;
    attr.numEntries = take(r, 1) % (MAX_ENTRIES + 1);
    for (size_t i = 0; i < attr.numEntries; i++) {
        entries[i] = take_entry(r);
    }
    (void)ps_nvtx_schema_add(domain, &attr, 0);
}

static void take_enum(reader *r, const ps_record_domain *domain, uint64_t id) {
    nvtxPayloadEnum_t values[4];
    for (int i = 0; i < 4; i++) {
        values[i] = (nvtxPayloadEnum_t){"value", take(r, 1), (int8_t)(i % 2)};
    }
    nvtxPayloadEnumAttr_t attr = {.fieldMask = 0x3e,
                                  .entries = values,
                                  .numEntries = take(r, 1) % 5,
                                  .sizeOfEnum = (size_t)1 << take(r, 1) % 4,
                                  .schemaId = id};
    (void)ps_nvtx_enum_add(domain, &attr, 0);
}

static void check(const char *json, size_t n) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err err = PS_ERR_INIT;
    if (n > 0 && ps_literal_parse(&arena, json, n, &err) == NULL && err.code != PS_NOMEM) {
        __builtin_trap();
    }
    ps_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    reader r = {data, data + size};
    const ps_record_domain *domain = ps_domain_named("NCCL", 4);
    uint64_t n_schemas = take(&r, 1) % 8;
    for (uint64_t i = 0; i < n_schemas; i++) {
        if (take(&r, 1) % 4 == 0) {
            take_enum(&r, domain, FIRST_ID + i);
        } else {
            take_schema(&r, domain, FIRST_ID + i);
        }
    }
    nvtxPayloadData_t payloads[4];
    size_t n = take(&r, 1) % 5;
    uint64_t ids[4];
    for (size_t i = 0; i < 4; i++) {
        ids[i] = take_type(&r);
    }
    /* copies of their own, so that a read beyond one is noticed */
    size_t rest = (size_t)(r.end - r.at);
    for (size_t i = 0; i < n; i++) {
        size_t part = rest / n;
        uint8_t *copy = malloc(part == 0 ? 1 : part);
        if (copy == NULL) {
            return 0;
        }
        memcpy(copy, r.at + i * part, part);
        payloads[i] = (nvtxPayloadData_t){ids[i], part, copy};
    }
    static char out[4096];
    char message[PS_NVTX_PAYLOAD_STRING];
    size_t message_length = 0;
    bool cut = false;
    size_t sizes[2] = {sizeof out, 256 + size % 300};
    for (int i = 0; i < 2; i++) {
        size_t length = ps_nvtx_payload_json(domain, payloads, n, out, sizes[i], message,
                                             &message_length, &cut);
        if (length > sizes[i] || message_length > sizeof message) {
            __builtin_trap();
        }
        check(out, length);
    }
    for (size_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)payloads[i].payload);
    }
    ps_nvtx_schemas_forget();
    return 0;
}
