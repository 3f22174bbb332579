/* NVTX: tables of clients, texts, registered strings, the rules of nvtx_stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record/nvtx/nvtx.h"

extern int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
extern int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info);

/* --- tables -------------------------------------------------------------------------------------------------------- */

static NvtxFunctionPointer functions[NVTX_CB_MODULE_SIZE][64];
static NvtxFunctionPointer *tables[NVTX_CB_MODULE_SIZE][64];
static unsigned sizes[NVTX_CB_MODULE_SIZE];
static size_t callbacks_size, version_size;
static uint32_t told_version;

static int module_table(int module, NvtxFunctionTable *table, unsigned *size) {
    if (sizes[module] == 0) {
        return 0;
    }
    for (int i = 0; i < 64; i++) {
        tables[module][i] = &functions[module][i];
    }
    *table = tables[module];
    *size = sizes[module];
    return 1;
}

static void set_version(uint32_t version) {
    told_version = version;
}

static const void *export_table(uint32_t id) {
    static NvtxExportTableCallbacks callbacks;
    static NvtxExportTableVersionInfo version;
    callbacks = (NvtxExportTableCallbacks){callbacks_size, module_table};
    version = (NvtxExportTableVersionInfo){version_size, 3, 0, set_version};
    return id == 1   ? (callbacks_size == 0 ? NULL : (const void *)&callbacks)
           : id == 3 ? (version_size == 0 ? NULL : (const void *)&version)
                     : NULL;
}

static void client(unsigned core, unsigned cuda, unsigned cudart, unsigned core2) {
    memset(functions, 0, sizeof functions);
    memset(sizes, 0, sizeof sizes);
    sizes[NVTX_CB_MODULE_CORE] = core;
    sizes[NVTX_CB_MODULE_CUDA] = cuda;
    sizes[NVTX_CB_MODULE_CUDART] = cudart;
    sizes[NVTX_CB_MODULE_CORE2] = core2;
    callbacks_size = sizeof(NvtxExportTableCallbacks);
    version_size = sizeof(NvtxExportTableVersionInfo);
    told_version = 0;
}

static uint64_t filled(int module) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i++) {
        bits |= functions[module][i] != NULL ? UINT64_C(1) << i : 0;
    }
    return bits;
}

static void headers(void **state) {
    (void)state;
    client(16, 9, 7, 16);
    assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
    assert_int_equal(filled(NVTX_CB_MODULE_CORE), 0xfffe);
    assert_int_equal(filled(NVTX_CB_MODULE_CORE2), 0x7ffe); /* all but Initialize */
    assert_int_equal(filled(NVTX_CB_MODULE_CUDA), 0x60);
    assert_int_equal(filled(NVTX_CB_MODULE_CUDART), 0x18);
    assert_int_equal(told_version, 3);
    NvtxFunctionPointer first = functions[NVTX_CB_MODULE_CORE][NVTX_CORE_RangePushA];
    assert_int_equal(InitializeInjectionNvtx2(export_table), 1); /* the next shared object */
    assert_true(functions[NVTX_CB_MODULE_CORE][NVTX_CORE_RangePushA] == first);
    client(12, 0, 4, 3);
    version_size = 0;
    assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
    assert_int_equal(filled(NVTX_CB_MODULE_CORE), 0xffe);
    assert_int_equal(filled(NVTX_CB_MODULE_CUDART), 0x8);
    assert_int_equal(filled(NVTX_CB_MODULE_CORE2), 0x6);
    client(60, 60, 60, 60); /* a newer header: the rest is left alone */
    assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
    assert_int_equal(filled(NVTX_CB_MODULE_CORE), 0xfffe);
    callbacks_size = 8;
    assert_int_equal(InitializeInjectionNvtx2(export_table), 0);
    callbacks_size = 0;
    assert_int_equal(InitializeInjectionNvtx2(export_table), 0);
    assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
}

static void extensions(void **state) {
    (void)state;
    intptr_t slots[64] = {0};
    nvtxExtModuleSegment_t segment = {0, 63, slots};
    nvtxExtModuleInfo_t info = {3, sizeof info, 2, 0x0103, 1, &segment, NULL, NULL};
    assert_int_equal(InitializeInjectionNvtxExtension(&info), 1);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(slots[i] != 0, i <= 7 || i == 12);
    }
    memset(slots, 0, sizeof slots);
    segment.slotCount = 2; /* of an older header */
    assert_int_equal(InitializeInjectionNvtxExtension(&info), 1);
    assert_true(slots[1] != 0 && slots[2] == 0);
    info.moduleId = 1;
    memset(slots, 0, sizeof slots);
    assert_int_equal(InitializeInjectionNvtxExtension(&info), 1);
    assert_int_equal(slots[0], 0);
    info.structSize = 8;
    assert_int_equal(InitializeInjectionNvtxExtension(&info), 0);
    assert_int_equal(InitializeInjectionNvtxExtension(NULL), 0);
}

/* Functions work without a recording: handles are made, depths are not counted. */
static void not_recording(void **state) {
    (void)state;
    client(16, 9, 7, 16);
    assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
    int (*push)(const char *) =
        (int (*)(const char *))functions[NVTX_CB_MODULE_CORE][NVTX_CORE_RangePushA];
    int (*pop)(void) = (int (*)(void))functions[NVTX_CB_MODULE_CORE][NVTX_CORE_RangePop];
    assert_int_equal(push("a"), NVTX_NO_PUSH_POP_TRACKING);
    assert_int_equal(pop(), NVTX_NO_PUSH_POP_TRACKING);
    nvtxDomainHandle_t (*create)(const char *) = (nvtxDomainHandle_t(*)(
        const char *))functions[NVTX_CB_MODULE_CORE2][NVTX_CORE2_DomainCreateA];
    nvtxDomainHandle_t domain = create("nvtx domain");
    assert_non_null(domain);
    assert_ptr_equal(create("nvtx domain"), domain);
    assert_ptr_equal(ps_nvtx_domain(domain), domain);
    assert_null(ps_nvtx_domain((nvtxDomainHandle_t)(void *)&sizes));
    assert_int_equal(ps_nvtx_domain(NULL)->id, 0);
    /* destroying it would end it for other shared objects too */
    ((void (*)(nvtxDomainHandle_t))functions[NVTX_CB_MODULE_CORE2][NVTX_CORE2_DomainDestroy])(
        domain);
    assert_ptr_equal(ps_nvtx_domain(domain), domain);
    nvtxResourceAttributes_t resource = {.version = 3,
                                         .size = sizeof resource,
                                         .identifierType = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = "a thread"};
    resource.identifier.ullValue = 4242;
    nvtxResourceHandle_t (*make)(nvtxDomainHandle_t, nvtxResourceAttributes_t *) =
        (nvtxResourceHandle_t(*)(nvtxDomainHandle_t, nvtxResourceAttributes_t *))
            functions[NVTX_CB_MODULE_CORE2][NVTX_CORE2_DomainResourceCreate];
    assert_non_null(make(domain, &resource));
    assert_null(make(domain, NULL));
}

/* --- texts --------------------------------------------------------------------------------------------------------- */

static void utf8(void **state) {
    (void)state;
    char out[64];
    bool cut = true;
    const uint16_t utf16[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xdc00, 0xd800, 0};
    size_t n = ps_nvtx_to_utf8(utf16, 8, 2, out, sizeof out, &cut);
    assert_int_equal(n, 1 + 2 + 3 + 4 + 3 + 3);
    assert_memory_equal(out, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd", n);
    assert_false(cut);
    const uint32_t utf32[] = {0x10ffff, 0x110000};
    n = ps_nvtx_to_utf8(utf32, 2, 4, out, sizeof out, &cut);
    assert_int_equal(n, 7);
    assert_memory_equal(out, "\xf4\x8f\xbf\xbf\xef\xbf\xbd", 7);
    n = ps_nvtx_to_utf8("ab\xc3\xa9", 4, 1, out, 3, &cut); /* no half characters */
    assert_int_equal(n, 2);
    assert_true(cut);
    n = ps_nvtx_to_utf8("x\xff\xc3", 3, 1, out, sizeof out, &cut);
    assert_int_equal(n, 7);
}

static void messages(void **state) {
    (void)state;
    static char room[PS_NVTX_TEXT_ROOM];
    assert_int_equal(ps_nvtx_text(NULL).length, 12);
    assert_int_equal(ps_nvtx_text("").length, 12);
    assert_int_equal(ps_nvtx_text("abc").length, 3);
    assert_int_equal(ps_nvtx_text_wide(NULL, room).length, 12);
    assert_int_equal(ps_nvtx_text_wide(L"\u00e9", room).length, 2);
    static char text[5001];
    memset(text, 'x', 5000);
    assert_int_equal(ps_nvtx_text(text).length, PS_RECORD_MAX_TEXT);
    memcpy(text + PS_RECORD_MAX_TEXT - 1, "\xc3\xa9", 2);
    assert_int_equal(ps_nvtx_text(text).length, PS_RECORD_MAX_TEXT - 1);
    static wchar_t wide[5001];
    for (int i = 0; i < 5000; i++) {
        wide[i] = L'\u20ac';
    }
    assert_int_equal(ps_nvtx_text_wide(wide, room).length, PS_RECORD_MAX_TEXT);
}

static void strings(void **state) {
    (void)state;
    const ps_record_domain *domain = ps_domain_named("strings", 7);
    ps_nvtx_string *a = ps_nvtx_string_named(domain->id, ps_nvtx_text("one"));
    ps_nvtx_string *b = ps_nvtx_string_named(domain->id, ps_nvtx_text("two"));
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(ps_nvtx_string_named(domain->id, ps_nvtx_text("one")), a);
    assert_ptr_not_equal(ps_nvtx_string_named(0, ps_nvtx_text("one")), a);
    assert_ptr_equal(ps_nvtx_string_of(domain, (nvtxStringHandle_t)(void *)a), a);
    assert_null(ps_nvtx_string_of(domain, NULL));
    assert_null(ps_nvtx_string_of(domain, (nvtxStringHandle_t)(void *)((char *)a + 1)));
    assert_null(ps_nvtx_string_of(domain, (nvtxStringHandle_t)(void *)(a + 100000)));
    assert_null(ps_nvtx_string_of(domain, (nvtxStringHandle_t)(void *)&a));
    ps_text text = ps_nvtx_string_text(a);
    size_t length = 0;
    assert_memory_equal(ps_shared_text_at(text.shared, &length), "one", 3);
    assert_int_equal(length, 3);
}

static void *register_many(void *result) {
    for (int i = 0; i < 2000; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "text %d", i);
        ((ps_nvtx_string **)result)[i] = ps_nvtx_string_named(0, ps_nvtx_text(text));
    }
    return NULL;
}

static void threads(void **state) {
    (void)state;
    static ps_nvtx_string *found[4][2000];
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, register_many, found[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    for (int i = 1; i < 4; i++) {
        assert_memory_equal(found[0], found[i], sizeof found[0]);
    }
}

/* Layouts are registered, replaced and used at the same time. */
static void *use_layouts(void *number) {
    const ps_record_domain *domain = ps_domain_named("layouts", 7);
    static const nvtxPayloadSchemaEntry_t entries[] = {{.type = NVTX_ENTRY_UINT32, .name = "n"}};
    for (uint32_t i = 0; i < 500; i++) {
        uint64_t id = NVTX_ID_STATIC_START + i % 50;
        nvtxPayloadSchemaAttr_t attr = {.fieldMask = 0x1fe,
                                        .type = NVTX_SCHEMA_STATIC,
                                        .entries = entries,
                                        .numEntries = 1,
                                        .schemaId = id};
        assert_int_equal(ps_nvtx_schema_add(domain, &attr, 0), id);
        uint32_t v = (uint32_t)(uintptr_t)number;
        nvtxPayloadData_t payload = {id, sizeof v, &v};
        char out[256];
        bool cut = false;
        size_t n = ps_nvtx_payload_json(domain, &payload, 1, out, sizeof out, NULL, NULL, &cut);
        assert_int_equal(n, 7);
        assert_memory_equal(out, "{\"n\":", 5);
        ps_nvtx_name_thread(1000 + i, ps_nvtx_text("a thread"));
        ps_nvtx_name_category(domain, i, ps_nvtx_text("a category"));
    }
    return NULL;
}

static void threads_with_layouts(void **state) {
    (void)state;
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, use_layouts, (void *)i), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    ps_nvtx_schemas_forget();
}

/* --- streams ------------------------------------------------------------------------------------------------------- */

static bool glob(const char *pattern, const char *text) {
    return ps_nvtx_glob(pattern, strlen(pattern), text, strlen(text));
}

static void globs(void **state) {
    (void)state;
    assert_true(glob("", ""));
    assert_false(glob("", "a"));
    assert_true(glob("*", ""));
    assert_true(glob("a?c", "abc"));
    assert_false(glob("a?c", "ac"));
    assert_true(glob("*forward*", "1F forward_step"));
    assert_false(glob("*forward", "forward_step"));
    assert_true(glob("a*b*c", "a1b2b3c"));
    assert_false(glob("a*b*c", "a1b2b3"));
    assert_true(glob("**x", "x"));
    /* as many ways as there are letters, and no answer: it must not take long */
    char text[4001];
    memset(text, 'a', 4000);
    text[4000] = '\0';
    assert_false(glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static void *stream(const ps_record_domain *domain, const char *message) {
    return ps_nvtx_stream_of(domain, ps_nvtx_text(message), NULL);
}

static void rules(void **state) {
    (void)state;
    const ps_record_domain *domain = ps_domain_named("compute", 7);
    const ps_record_domain *other = ps_domain_named("io", 2);
    ps_nvtx_string *string = ps_nvtx_string_named(other->id, ps_nvtx_text("a=b forward"));
    ps_nvtx_stream_rules("");
    assert_null(stream(domain, "forward"));
    ps_nvtx_stream_rules("*forward=legacy,comp*=ptds,a=b=7f20");
    assert_ptr_equal(stream(other, "forward"), (void *)1);
    assert_ptr_equal(stream(domain, "forward"), (void *)1); /* the first that matches */
    assert_ptr_equal(stream(domain, "x"), (void *)2);
    assert_ptr_equal(stream(domain, "y"), (void *)2);
    assert_ptr_equal(stream(other, "a=b"), (void *)0x7f20);
    assert_null(stream(other, "x"));
    for (int i = 0; i < 2; i++) { /* looked up, then remembered */
        assert_ptr_equal(ps_nvtx_stream_of(other, ps_nvtx_string_text(string), string), (void *)1);
    }
    ps_nvtx_stream_rules("io=0x10");
    assert_ptr_equal(ps_nvtx_stream_of(other, ps_nvtx_string_text(string), string), (void *)0x10);
    assert_null(stream(domain, "forward"));
    /* what makes no sense is left out */
    ps_nvtx_stream_rules("=legacy,nothing,x=,x=nowhere,x=-1,x=0,good=legacy,,");
    assert_null(stream(domain, "x"));
    assert_ptr_equal(stream(domain, "good"), (void *)1);
    ps_nvtx_stream_rules("");
    assert_null(stream(domain, "good"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),       cmocka_unit_test(extensions),
        cmocka_unit_test(not_recording), cmocka_unit_test(utf8),
        cmocka_unit_test(messages),      cmocka_unit_test(strings),
        cmocka_unit_test(threads),       cmocka_unit_test(threads_with_layouts),
        cmocka_unit_test(globs),         cmocka_unit_test(rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
