/* Payloads of NVTX as JSON text: every type, nested layouts, arrays, unions, what is unknown, what does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/literal.h"
#include "record/nvtx/nvtx.h"

enum { ALL = 0x1fe };

static const ps_record_domain *test_domain(void) {
    return ps_domain_named("payloads", 8);
}

typedef nvtxPayloadSchemaEntry_t entry;

static uint64_t add(uint64_t type, const entry *entries, size_t n, size_t size) {
    nvtxPayloadSchemaAttr_t attr = {.fieldMask = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES |
                                                 NVTX_SCHEMA_HAS_NUM_ENTRIES |
                                                 NVTX_SCHEMA_HAS_STATIC_SIZE,
                                    .type = type,
                                    .entries = entries,
                                    .numEntries = n,
                                    .payloadStaticSize = size};
    uint64_t id = ps_nvtx_schema_add(test_domain(), &attr, 0);
    assert_true(id >= NVTX_ID_DYNAMIC_START);
    return id;
}

#define STRUCT(entries, size)                                                                      \
    add(NVTX_SCHEMA_STATIC, entries, sizeof(entries) / sizeof((entries)[0]), size)
#define DYNAMIC(entries)                                                                           \
    add(NVTX_SCHEMA_DYNAMIC, entries, sizeof(entries) / sizeof((entries)[0]), 0)

static char text[PS_NVTX_TEXT_ROOM];
static bool was_cut;

static const char *json_of(const nvtxPayloadData_t *payloads, size_t n) {
    size_t length = ps_nvtx_payload_json(test_domain(), payloads, n, text, PS_RECORD_MAX_TEXT, NULL,
                                         NULL, &was_cut);
    assert_true(length <= PS_RECORD_MAX_TEXT);
    text[length] = '\0';
    if (length > 0) {
        ps_arena arena;
        ps_arena_init(&arena);
        ps_err err = PS_ERR_INIT;
        if (ps_literal_parse(&arena, text, length, &err) == NULL) {
            fail_msg("%s: %s", err.msg, text);
        }
        ps_arena_fini(&arena);
    }
    return text;
}

static const char *json_one(uint64_t schema, const void *data, size_t size) {
    nvtxPayloadData_t payload = {schema, size, data};
    return json_of(&payload, 1);
}

/* --- plain types --------------------------------------------------------------------------------------------------- */

static void integers(void **state) {
    (void)state;
    struct {
        char c;
        unsigned char uc;
        short s;
        unsigned short us;
        int i;
        unsigned u;
        long l;
        unsigned long ul;
        long long ll;
        unsigned long long ull;
    } v = {'x', 255, -2, 65535, INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, -1, 1};
    const entry entries[] = {
        {.type = NVTX_ENTRY_CHAR, .name = "c"},      {.type = NVTX_ENTRY_UCHAR, .name = "uc"},
        {.type = NVTX_ENTRY_SHORT, .name = "s"},     {.type = NVTX_ENTRY_USHORT, .name = "us"},
        {.type = NVTX_ENTRY_INT, .name = "i"},       {.type = NVTX_ENTRY_UINT, .name = "u"},
        {.type = NVTX_ENTRY_LONG, .name = "l"},      {.type = NVTX_ENTRY_ULONG, .name = "ul"},
        {.type = NVTX_ENTRY_LONGLONG, .name = "ll"}, {.type = NVTX_ENTRY_ULONGLONG, .name = "ull"},
    };
    assert_string_equal(json_one(STRUCT(entries, 0), &v, sizeof v),
                        "{\"c\":\"x\",\"uc\":255,\"s\":-2,\"us\":65535,\"i\":-2147483648,"
                        "\"u\":4294967295,\"l\":-9223372036854775808,"
                        "\"ul\":18446744073709551615,\"ll\":-1,\"ull\":1}");
    struct {
        int8_t a;
        uint8_t b;
        int16_t c;
        uint16_t d;
        int32_t e;
        uint32_t f;
        int64_t g;
        uint64_t h;
        size_t n;
    } w = {-128, 200, -300, 300, -70000, 70000, INT64_MIN, UINT64_MAX, 4096};
    const entry sized[] = {
        {.type = NVTX_ENTRY_INT8, .name = "a"},  {.type = NVTX_ENTRY_UINT8, .name = "b"},
        {.type = NVTX_ENTRY_INT16, .name = "c"}, {.type = NVTX_ENTRY_UINT16, .name = "d"},
        {.type = NVTX_ENTRY_INT32, .name = "e"}, {.type = NVTX_ENTRY_UINT32, .name = "f"},
        {.type = NVTX_ENTRY_INT64, .name = "g"}, {.type = NVTX_ENTRY_UINT64, .name = "h"},
        {.type = NVTX_ENTRY_SIZE, .name = "n"},
    };
    assert_string_equal(json_one(STRUCT(sized, sizeof w), &w, sizeof w),
                        "{\"a\":-128,\"b\":200,\"c\":-300,\"d\":300,\"e\":-70000,\"f\":70000,"
                        "\"g\":-9223372036854775808,\"h\":18446744073709551615,\"n\":4096}");
    unsigned char wide[32];
    memset(wide, 0xff, sizeof wide);
    const entry big[] = {{.type = NVTX_ENTRY_INT128, .name = "i"},
                         {.type = NVTX_ENTRY_UINT128, .name = "u"}};
    assert_string_equal(json_one(STRUCT(big, 0), wide, sizeof wide),
                        "{\"i\":-1,\"u\":340282366920938463463374607431768211455}");
}

static void reals(void **state) {
    (void)state;
    struct {
        float f;
        double d;
        float none;
        double inf;
    } v = {0.1f, 1e300, NAN, -INFINITY};
    const entry entries[] = {{.type = NVTX_ENTRY_FLOAT, .name = "f"},
                             {.type = NVTX_ENTRY_DOUBLE, .name = "d"},
                             {.type = NVTX_ENTRY_FLOAT32, .name = "none"},
                             {.type = NVTX_ENTRY_FLOAT64, .name = "inf"}};
    assert_string_equal(json_one(STRUCT(entries, 0), &v, sizeof v),
                        "{\"f\":0.1,\"d\":1e+300,\"none\":\"NaN\",\"inf\":\"-Infinity\"}");
    /* 1.5, the smallest above nought, infinity; -2 in bfloat16; 0.1 in TF32, whose low bits are nought */
    struct {
        uint16_t a, b, c, d;
        uint32_t e;
    } small = {0x3e00, 1, 0x7c00, 0xc000, 0x3dccc000};
    const entry halves[] = {
        {.type = NVTX_ENTRY_FLOAT16, .name = "a"}, {.type = NVTX_ENTRY_FLOAT16, .name = "b"},
        {.type = NVTX_ENTRY_FLOAT16, .name = "c"}, {.type = NVTX_ENTRY_BF16, .name = "d"},
        {.type = NVTX_ENTRY_TF32, .name = "e"},
    };
    assert_string_equal(json_one(STRUCT(halves, 0), &small, sizeof small),
                        "{\"a\":1.5,\"b\":5.96046448e-08,\"c\":\"Infinity\",\"d\":-2,"
                        "\"e\":0.0999755859}");
    /* -1.25 with 112 bits behind the point */
    uint64_t quad[2] = {0, UINT64_C(0xbfff400000000000)};
    assert_string_equal(json_one(NVTX_ENTRY_FLOAT128, quad, sizeof quad), "-1.25");
    long double l = 2.5L;
    assert_string_equal(json_one(NVTX_ENTRY_LONGDOUBLE, &l, sizeof l), "2.5");
    double shortest = 0.1 + 0.2;
    assert_string_equal(json_one(NVTX_ENTRY_DOUBLE, &shortest, sizeof shortest),
                        "0.30000000000000004");
}

/* Programs may set a language whose decimal point is a comma. */
static void decimal_comma(void **state) {
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
        skip();
    }
    double v = 1.5;
    assert_string_equal(json_one(NVTX_ENTRY_DOUBLE, &v, sizeof v), "1.5");
    (void)setlocale(LC_NUMERIC, "C");
}

static void special(void **state) {
    (void)state;
    struct {
        void *address, *null;
        uint64_t range, scope, pid64, tid64;
        uint32_t category, argb, pid, tid;
        uint8_t byte;
    } v = {(void *)0x7f00, NULL, 1, 2, 3, 4, 5, 0xff00ff00, 6, 7, 200};
    const entry entries[] = {
        {.type = NVTX_ENTRY_ADDRESS, .name = "address"},
        {.type = NVTX_ENTRY_ADDRESS, .name = "null"},
        {.type = NVTX_ENTRY_RANGE_ID, .name = "range"},
        {.type = NVTX_ENTRY_SCOPE_ID, .name = "scope"},
        {.type = NVTX_ENTRY_PID_UINT64, .name = "pid64"},
        {.type = NVTX_ENTRY_TID_UINT64, .name = "tid64"},
        {.type = NVTX_ENTRY_CATEGORY, .name = "category"},
        {.type = NVTX_ENTRY_COLOR_ARGB, .name = "argb"},
        {.type = NVTX_ENTRY_PID_UINT32, .name = "pid"},
        {.type = NVTX_ENTRY_TID_UINT32, .name = "tid"},
        {.type = NVTX_ENTRY_BYTE, .name = ""}, /* named by its place */
    };
    assert_string_equal(json_one(STRUCT(entries, 0), &v, sizeof v),
                        "{\"address\":\"0x7f00\",\"null\":null,\"range\":1,\"scope\":2,"
                        "\"pid64\":3,\"tid64\":4,\"category\":5,\"argb\":\"0xff00ff00\","
                        "\"pid\":6,\"tid\":7,\"10\":200}");
}

/* --- texts --------------------------------------------------------------------------------------------------------- */

static void strings(void **state) {
    (void)state;
    ps_nvtx_string *registered =
        ps_nvtx_string_named(test_domain()->id, ps_nvtx_text("a \"registered\" one"));
    assert_non_null(registered);
    struct {
        char fixed[8];
        uint16_t utf16[4];
        uint32_t utf32[2];
        wchar_t wide;
        char letters[3];
        void *handle, *bad;
        const char *pointer;
    } v = {.fixed = "abc\n",
           .utf16 = {0xd83d, 0xde00, 'x', 0},
           .utf32 = {0xe9, 0xd800},
           .wide = L'\u00e9',
           .letters = {'x', 'y', 'z'},
           .handle = registered,
           .bad = (void *)0x1234,
           .pointer = "elsewhere"};
    const entry entries[] = {
        {.type = NVTX_ENTRY_CSTRING, .name = "fixed", .arrayOrUnionDetail = 8},
        {.type = NVTX_ENTRY_CSTRING_UTF16, .name = "utf16", .arrayOrUnionDetail = 4},
        {.type = NVTX_ENTRY_CSTRING_UTF32, .name = "utf32", .arrayOrUnionDetail = 2},
        {.type = NVTX_ENTRY_WCHAR, .name = "wide"},
        {.type = NVTX_ENTRY_CHAR,
         .flags = NVTX_ENTRY_ARRAY_FIXED,
         .name = "letters",
         .arrayOrUnionDetail = 3},
        {.type = NVTX_ENTRY_REGISTERED_STRING, .name = "handle"},
        {.type = NVTX_ENTRY_REGISTERED_STRING, .name = "bad"},
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_FLAG_DEEP_COPY, .name = "pointer"},
    };
    assert_string_equal(json_one(STRUCT(entries, sizeof v), &v, sizeof v),
                        "{\"fixed\":\"abc\\n\",\"utf16\":\"\xf0\x9f\x98\x80x\","
                        "\"utf32\":\"\xc3\xa9\xef\xbf\xbd\",\"wide\":\"\xc3\xa9\","
                        "\"letters\":\"xyz\",\"handle\":\"a \\\"registered\\\" one\","
                        "\"bad\":\"0x1234\",\"pointer\":\"elsewhere\"}");
    assert_string_equal(json_one(NVTX_ENTRY_CSTRING, "inline", SIZE_MAX), "\"inline\"");
    assert_string_equal(json_one(NVTX_ENTRY_CSTRING_UTF8, "no end", 2), "\"no\"");
    assert_string_equal(json_one(NVTX_ENTRY_CSTRING, "\xff\x01", 2), "\"\xef\xbf\xbd\\u0001\"");
}

/* A pointer to memory that is not there must not end the program. */
static void bad_pointers(void **state) {
    (void)state;
    const char *pointers[2] = {(const char *)0x10, NULL};
    const entry entries[] = {
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_FLAG_DEEP_COPY, .name = "a"},
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_FLAG_DEEP_COPY, .name = "b"}};
    assert_string_equal(json_one(STRUCT(entries, 0), pointers, sizeof pointers),
                        "{\"a\":\"0x10\",\"b\":null}");
    /* without DEEP_COPY nothing outside of the event is read */
    const entry plain[] = {{.type = NVTX_ENTRY_INT,
                            .flags = NVTX_ENTRY_FLAG_POINTER | NVTX_ENTRY_ARRAY_FIXED,
                            .name = "p",
                            .arrayOrUnionDetail = 2}};
    assert_string_equal(json_one(STRUCT(plain, 0), pointers, 8), "{\"p\":\"0x10\"}");
    int there[2] = {5, 6};
    const int *within = there;
    nvtxPayloadData_t two[] = {{STRUCT(plain, 0), sizeof within, &within},
                               {NVTX_SCHEMA_ID_REFERENCED, sizeof there, there}};
    assert_string_equal(json_of(two, 2), "{\"p\":[5,6]}");
    two[1].size = 4; /* the second is outside */
    assert_string_equal(json_of(two, 2), "{\"p\":[5]}");
}

/* --- layouts ------------------------------------------------------------------------------------------------------- */

static void nested(void **state) {
    (void)state;
    struct inner {
        char tag;
        double value;
    };
    struct {
        int before;
        struct inner one;
        struct inner many[2];
        uint8_t after;
    } v = {1, {'a', 0.5}, {{'b', 1.5}, {'c', 2.5}}, 9};
    const entry inner[] = {{.type = NVTX_ENTRY_CHAR, .name = "tag"},
                           {.type = NVTX_ENTRY_DOUBLE, .name = "value"}};
    uint64_t id = STRUCT(inner, 0);
    const entry outer[] = {
        {.type = NVTX_ENTRY_INT, .name = "before"},
        {.type = id, .name = "one"},
        {.type = id, .flags = NVTX_ENTRY_ARRAY_FIXED, .name = "many", .arrayOrUnionDetail = 2},
        {.type = NVTX_ENTRY_UINT8, .name = "after"},
    };
    uint64_t outer_id = STRUCT(outer, 0);
    const ps_nvtx_schema *schema = ps_nvtx_schema_find(test_domain()->id, outer_id);
    assert_int_equal(schema->size, sizeof v);
    assert_int_equal(schema->align, _Alignof(double));
    assert_string_equal(json_one(outer_id, &v, sizeof v),
                        "{\"before\":1,\"one\":{\"tag\":\"a\",\"value\":0.5},"
                        "\"many\":[{\"tag\":\"b\",\"value\":1.5},{\"tag\":\"c\",\"value\":2.5}],"
                        "\"after\":9}");
    /* an array of structs as payload */
    assert_string_equal(json_one(id, v.many, sizeof v.many),
                        "[{\"tag\":\"b\",\"value\":1.5},{\"tag\":\"c\",\"value\":2.5}]");
}

static void packed_and_offsets(void **state) {
    (void)state;
    struct __attribute__((packed)) {
        uint8_t a;
        uint32_t b;
        uint64_t c;
    } v = {1, 2, 3};
    const entry entries[] = {{.type = NVTX_ENTRY_UINT8, .name = "a"},
                             {.type = NVTX_ENTRY_UINT32, .name = "b"},
                             {.type = NVTX_ENTRY_UINT64, .name = "c"}};
    nvtxPayloadSchemaAttr_t attr = {.fieldMask = ALL,
                                    .type = NVTX_SCHEMA_STATIC,
                                    .entries = entries,
                                    .numEntries = 3,
                                    .packAlign = 1,
                                    .schemaId = NVTX_ID_STATIC_START + 77};
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &attr, 0), NVTX_ID_STATIC_START + 77);
    assert_string_equal(json_one(NVTX_ID_STATIC_START + 77, &v, sizeof v),
                        "{\"a\":1,\"b\":2,\"c\":3}");
    uint32_t words[4] = {10, 11, 12, 13};
    const entry sparse[] = {{.type = NVTX_ENTRY_UINT32, .name = "last", .offset = 12},
                            {.type = NVTX_ENTRY_UINT32, .name = "second", .offset = 4},
                            {.type = NVTX_ENTRY_UINT32, .name = "beyond", .offset = 400}};
    assert_string_equal(json_one(STRUCT(sparse, sizeof words), words, sizeof words),
                        "{\"last\":13,\"second\":11,\"beyond\":null}");
}

static void variable_arrays(void **state) {
    (void)state;
    struct {
        int32_t n;
        int32_t values[3];
    } v = {2, {7, 8, 9}};
    const entry entries[] = {{.type = NVTX_ENTRY_INT32, .name = "n"},
                             {.type = NVTX_ENTRY_INT32,
                              .flags = NVTX_ENTRY_ARRAY_LENGTH_INDEX,
                              .name = "values",
                              .arrayOrUnionDetail = 0}};
    uint64_t id = DYNAMIC(entries);
    assert_string_equal(json_one(id, &v, sizeof v), "{\"n\":2,\"values\":[7,8]}");
    v.n = -1;
    assert_string_equal(json_one(id, &v, sizeof v), "{\"n\":-1,\"values\":[]}");
    v.n = INT32_MAX; /* more than there is */
    assert_string_equal(json_one(id, &v, sizeof v), "{\"n\":2147483647,\"values\":[7,8,9]}");
    /* a text that ends with nought, then what follows at its alignment */
    const unsigned char bytes[] = {'h', 'i', 0, 0xee, 5, 0, 1, 0, 0, 0, 6, 0, 0, 0};
    const entry texts[] = {
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_ARRAY_ZERO_TERMINATED, .name = "text"},
        {.type = NVTX_ENTRY_UINT16, .flags = NVTX_ENTRY_ARRAY_ZERO_TERMINATED, .name = "words"},
        {.type = NVTX_ENTRY_UINT16, .name = "next"}};
    assert_string_equal(json_one(DYNAMIC(texts), bytes, sizeof bytes),
                        "{\"text\":\"hi\",\"words\":[5,1],\"next\":6}");
    /* two dimensions; a length in another payload; an offset */
    struct {
        uint8_t dims[2];
        uint8_t values[6];
    } grid = {{2, 3}, {1, 2, 3, 4, 5, 6}};
    const entry dims[] = {
        {.type = NVTX_ENTRY_UINT8,
         .flags = NVTX_ENTRY_ARRAY_FIXED,
         .arrayOrUnionDetail = 2,
         .name = "dims"},
        {.type = NVTX_ENTRY_UINT8, .flags = NVTX_ENTRY_ARRAY_LENGTH_INDEX, .name = "values"}};
    assert_string_equal(json_one(DYNAMIC(dims), &grid, sizeof grid),
                        "{\"dims\":[2,3],\"values\":[1,2,3,4,5,6]}");
    const entry by_payload[] = {{.type = NVTX_ENTRY_UINT8,
                                 .flags = NVTX_ENTRY_ARRAY_LENGTH_PAYLOAD,
                                 .arrayOrUnionDetail = 1,
                                 .name = "v"}};
    uint32_t length = 2;
    nvtxPayloadData_t two[] = {{DYNAMIC(by_payload), sizeof grid, &grid},
                               {NVTX_ENTRY_UINT32, sizeof length, &length}};
    assert_string_equal(json_of(two, 2), "[{\"v\":[2,3]},2]");
    struct {
        uint64_t offset;
        int32_t skipped, value;
    } jump = {12, 1, 42};
    const entry offsets[] = {
        {.type = NVTX_ENTRY_INT32, .flags = NVTX_ENTRY_FLAG_OFFSET_FROM_BASE, .name = "base"}};
    assert_string_equal(json_one(DYNAMIC(offsets), &jump, sizeof jump), "{\"base\":42}");
    jump.offset = UINT64_MAX;
    assert_string_equal(json_one(DYNAMIC(offsets), &jump, sizeof jump), "{\"base\":null}");
    jump.offset = 4;
    const entry here[] = {
        {.type = NVTX_ENTRY_INT32, .flags = NVTX_ENTRY_FLAG_OFFSET_FROM_HERE, .name = "here"}};
    assert_string_equal(json_one(DYNAMIC(here), &jump, sizeof jump), "{\"here\":42}");
}

static void unions_and_enums(void **state) {
    (void)state;
    const nvtxPayloadEnum_t values[] = {{"none", 0, 0}, {"read", 1, 1}, {"write", 2, 1}};
    nvtxPayloadEnumAttr_t attr = {.fieldMask = NVTX_ENUM_HAS_ENTRIES | NVTX_ENUM_HAS_NUM_ENTRIES |
                                               NVTX_ENUM_HAS_SIZE,
                                  .entries = values,
                                  .numEntries = 3,
                                  .sizeOfEnum = 4};
    uint64_t mode = ps_nvtx_enum_add(test_domain(), &attr, 0);
    assert_true(mode != 0);
    uint32_t v[4] = {0, 2, 3, 8};
    const entry modes[] = {
        {.type = mode, .flags = NVTX_ENTRY_ARRAY_FIXED, .name = "m", .arrayOrUnionDetail = 4}};
    assert_string_equal(json_one(STRUCT(modes, 0), v, sizeof v),
                        "{\"m\":[\"none\",\"write\",\"read|write\",8]}");
    attr.sizeOfEnum = 3;
    assert_int_equal(ps_nvtx_enum_add(test_domain(), &attr, 0), 0);
    const entry members[] = {{.type = NVTX_ENTRY_UINT32, .name = "i"},
                             {.type = NVTX_ENTRY_FLOAT, .name = "f"}};
    uint64_t one_of = add(NVTX_SCHEMA_UNION, members, 2, 4);
    const entry chosen[] = {{.type = NVTX_ENTRY_INT, .name = "which"},
                            {.type = one_of, .name = "u", .arrayOrUnionDetail = 0}};
    struct {
        int which;
        float f;
    } u = {1, 1.0f};
    uint64_t id = STRUCT(chosen, sizeof u);
    assert_string_equal(json_one(id, &u, sizeof u), "{\"which\":1,\"u\":{\"f\":1}}");
    u.which = 0;
    assert_string_equal(json_one(id, &u, sizeof u), "{\"which\":0,\"u\":{\"i\":1065353216}}");
    u.which = 7; /* none of them: all are shown */
    assert_string_equal(json_one(id, &u, sizeof u),
                        "{\"which\":7,\"u\":{\"i\":1065353216,\"f\":1}}");
}

/* --- what is odd --------------------------------------------------------------------------------------------------- */

static void unknown(void **state) {
    (void)state;
    unsigned char bytes[100];
    memset(bytes, 0xab, sizeof bytes);
    const char *json = json_one(NVTX_ID_DYNAMIC_START + 12345678, bytes, sizeof bytes);
    assert_non_null(strstr(json, "{\"schema\":4307312974,\"size\":100,\"hex\":\"abab"));
    assert_int_equal(strlen(json),
                     strlen("{\"schema\":4307312974,\"size\":100,\"hex\":\"\"}") + 128);
    assert_string_equal(json_one(NVTX_SCHEMA_ID_RAW, bytes, 2),
                        "{\"schema\":1023,\"size\":2,\"hex\":\"abab\"}");
    assert_string_equal(json_one(NVTX_ENTRY_UINT64, bytes, 2),
                        "{\"schema\":18,\"size\":2,\"hex\":\"abab\"}");
    assert_string_equal(json_one(NVTX_ENTRY_UINT8, bytes, 0), "");
    assert_string_equal(json_one(NVTX_ENTRY_UINT8, NULL, 5), "");
    assert_string_equal(json_of(NULL, 3), "");
    uint16_t three[] = {1, 2, 3};
    assert_string_equal(json_one(NVTX_ENTRY_UINT16, three, sizeof three), "[1,2,3]");
}

/* A member whose layout was not registered: its bytes, up to the next one that says where it is. */
static void unknown_member(void **state) {
    (void)state;
    const uint32_t v[4] = {1, 0xaa, 0xbb, 4};
    const entry entries[] = {{.type = NVTX_ENTRY_UINT32, .name = "a"},
                             {.type = NVTX_ID_STATIC_START + 4000, .name = "b", .offset = 4},
                             {.type = NVTX_ENTRY_UINT32, .name = "c", .offset = 12}};
    assert_string_equal(json_one(STRUCT(entries, sizeof v), v, sizeof v),
                        "{\"a\":1,\"b\":{\"schema\":16781216,\"size\":8,"
                        "\"hex\":\"aa000000bb000000\"},\"c\":4}");
}

static void too_short(void **state) {
    (void)state;
    uint64_t v[2] = {1, 2};
    const entry entries[] = {{.type = NVTX_ENTRY_UINT64, .name = "a"},
                             {.type = NVTX_ENTRY_UINT64, .name = "b"}};
    uint64_t id = STRUCT(entries, 0);
    assert_string_equal(json_one(id, v, 8), "{\"a\":1,\"b\":null}");
    assert_string_equal(json_one(id, v, 3), "{\"a\":null,\"b\":null}");
}

static void too_long(void **state) {
    (void)state;
    static uint64_t many[4096];
    memset(many, 0xff, sizeof many);
    const entry entries[] = {{.type = NVTX_ENTRY_UINT64,
                              .flags = NVTX_ENTRY_ARRAY_FIXED,
                              .name = "many",
                              .arrayOrUnionDetail = 4096},
                             {.type = NVTX_ENTRY_UINT64, .name = "after"}};
    const char *json = json_one(STRUCT(entries, 0), many, sizeof many);
    assert_true(was_cut);
    assert_non_null(strstr(json, "18446744073709551615],\"truncated\":true}"));
    static char letters[5000];
    memset(letters, 'x', sizeof letters);
    (void)json_one(NVTX_ENTRY_CSTRING, letters, sizeof letters);
    assert_true(was_cut);
    assert_int_equal(strlen(text), PS_NVTX_PAYLOAD_STRING + 2);
    static nvtxPayloadData_t payloads[1000];
    for (int i = 0; i < 1000; i++) {
        payloads[i] = (nvtxPayloadData_t){NVTX_ENTRY_CSTRING, 100, letters};
    }
    json = json_of(payloads, 1000);
    assert_true(was_cut);
    assert_non_null(strstr(json, ",{\"truncated\":true}]"));
}

/* A layout that contains itself ends somewhere. */
static void recursive(void **state) {
    (void)state;
    entry self[] = {{.type = NVTX_ID_STATIC_START + 99, .name = "self"}};
    nvtxPayloadSchemaAttr_t attr = {.fieldMask = ALL,
                                    .type = NVTX_SCHEMA_DYNAMIC,
                                    .entries = self,
                                    .numEntries = 1,
                                    .schemaId = NVTX_ID_STATIC_START + 99};
    assert_true(ps_nvtx_schema_add(test_domain(), &attr, 0) != 0);
    uint64_t v = 1;
    const char *json = json_one(NVTX_ID_STATIC_START + 99, &v, sizeof v);
    assert_non_null(strstr(json, "{\"self\":null}"));
}

static void bad_registrations(void **state) {
    (void)state;
    const entry entries[] = {{.type = NVTX_ENTRY_INT, .name = "a"}};
    nvtxPayloadSchemaAttr_t good = {
        .fieldMask = ALL, .type = NVTX_SCHEMA_STATIC, .entries = entries, .numEntries = 1};
    assert_int_equal(ps_nvtx_schema_add(test_domain(), NULL, 0), 0);
    nvtxPayloadSchemaAttr_t bad = good;
    bad.fieldMask = 0;
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &bad, 0), 0);
    bad = good;
    bad.type = 9;
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &bad, 0), 0);
    bad = good;
    bad.numEntries = SIZE_MAX;
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &bad, 0), 0);
    bad = good;
    bad.entries = NULL;
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &bad, 0), 0);
    bad = good;
    bad.schemaId = 5; /* of a predefined type */
    assert_int_equal(ps_nvtx_schema_add(test_domain(), &bad, 0), 0);
    /* registered again: the newer holds; another domain has its own */
    good.schemaId = NVTX_ID_STATIC_START + 500;
    assert_true(ps_nvtx_schema_add(test_domain(), &good, 0) != 0);
    const entry other[] = {{.type = NVTX_ENTRY_INT, .name = "b"}};
    good.entries = other;
    assert_true(ps_nvtx_schema_add(test_domain(), &good, 0) != 0);
    int v = 3;
    assert_string_equal(json_one(NVTX_ID_STATIC_START + 500, &v, sizeof v), "{\"b\":3}");
    assert_null(ps_nvtx_schema_find(0, NVTX_ID_STATIC_START + 500));
}

/* Which text is the event's message. */
static void messages(void **state) {
    (void)state;
    const char bytes[] = "one\0two";
    const entry entries[] = {
        {.type = NVTX_ENTRY_CSTRING, .flags = NVTX_ENTRY_ARRAY_ZERO_TERMINATED, .name = "a"},
        {.type = NVTX_ENTRY_CSTRING,
         .flags = NVTX_ENTRY_ARRAY_ZERO_TERMINATED | NVTX_ENTRY_ROLE_MESSAGE,
         .name = "b"}};
    nvtxPayloadData_t payload = {DYNAMIC(entries), sizeof bytes, bytes};
    char message[PS_NVTX_PAYLOAD_STRING];
    size_t n = 0;
    (void)ps_nvtx_payload_json(test_domain(), &payload, 1, text, sizeof text, message, &n,
                               &was_cut);
    assert_int_equal(n, 3);
    assert_memory_equal(message, "two", 3);
}

/* NCCL's own numbers are only used where it has not registered its layouts. */
static void nccl(void **state) {
    (void)state;
    const ps_record_domain *domain = ps_domain_named("NCCL", 4);
    struct {
        uint64_t communicator;
        size_t bytes;
        int peer;
    } v = {0xabc, 4096, 3};
    nvtxPayloadData_t send = {NVTX_ID_STATIC_START + 9, sizeof v, &v};
    size_t n =
        ps_nvtx_payload_json(domain, &send, 1, text, PS_RECORD_MAX_TEXT, NULL, NULL, &was_cut);
    text[n] = '\0';
    assert_string_equal(text, "{\"NCCL communicator ID\":2748,\"Message size [bytes]\":4096,"
                              "\"Peer rank\":3}");
    nvtxPayloadData_t reduce = {NVTX_ID_STATIC_START + 5, 16, &v};
    n = ps_nvtx_payload_json(domain, &reduce, 1, text, PS_RECORD_MAX_TEXT, NULL, NULL, &was_cut);
    text[n] = '\0';
    assert_string_equal(text, "{\"NCCL communicator ID\":2748,\"Message size [bytes]\":4096}");
    reduce.size = 8; /* an older release */
    n = ps_nvtx_payload_json(domain, &reduce, 1, text, PS_RECORD_MAX_TEXT, NULL, NULL, &was_cut);
    text[n] = '\0';
    assert_non_null(strstr(text, "\"hex\":\"bc0a"));
    const entry entries[] = {{.type = NVTX_ENTRY_UINT64, .name = "registered"}};
    nvtxPayloadSchemaAttr_t attr = {.fieldMask = ALL,
                                    .type = NVTX_SCHEMA_STATIC,
                                    .entries = entries,
                                    .numEntries = 1,
                                    .payloadStaticSize = sizeof v,
                                    .schemaId = NVTX_ID_STATIC_START + 9};
    assert_true(ps_nvtx_schema_add(domain, &attr, 0) != 0);
    n = ps_nvtx_payload_json(domain, &send, 1, text, PS_RECORD_MAX_TEXT, NULL, NULL, &was_cut);
    text[n] = '\0';
    assert_string_equal(text, "{\"registered\":2748}");
}

static void numbers_of_attributes(void **state) {
    (void)state;
    char out[256];
    nvtxEventAttributes_t a = {.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64};
    a.payload.ullValue = UINT64_MAX;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 20);
    assert_memory_equal(out, "18446744073709551615", 20);
    a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 2);
    assert_memory_equal(out, "-1", 2);
    a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    a.payload.iValue = -7;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 2);
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    a.payload.uiValue = 70;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 2);
    assert_memory_equal(out, "70", 2);
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 0.25;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 4);
    assert_memory_equal(out, "0.25", 4);
    a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    a.payload.fValue = 0.1f;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 3);
    assert_memory_equal(out, "0.1", 3);
    a.payloadType = 99;
    assert_int_equal(ps_nvtx_number_json(&a, out, sizeof out), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(reals),
        cmocka_unit_test(decimal_comma),
        cmocka_unit_test(special),
        cmocka_unit_test(strings),
        cmocka_unit_test(bad_pointers),
        cmocka_unit_test(nested),
        cmocka_unit_test(packed_and_offsets),
        cmocka_unit_test(variable_arrays),
        cmocka_unit_test(unions_and_enums),
        cmocka_unit_test(unknown),
        cmocka_unit_test(unknown_member),
        cmocka_unit_test(too_short),
        cmocka_unit_test(too_long),
        cmocka_unit_test(recursive),
        cmocka_unit_test(bad_registrations),
        cmocka_unit_test(messages),
        cmocka_unit_test(nccl),
        cmocka_unit_test(numbers_of_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
