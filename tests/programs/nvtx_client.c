/* A program that uses every function of NVTX that a recording knows, through the emulation of its header. Prints what the
 * functions return. The first argument may name a shared library with a table of its own (lib_nvtx_second). */
#include "nvtx_emulation.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void marks_and_ranges(void) {
    EMU_CORE(NVTX_CORE_MarkA, void (*)(const char *))("mark a");
    EMU_CORE(NVTX_CORE_MarkW, void (*)(const wchar_t *))(L"mark w \u00e9 \U0001f600");
    nvtxEventAttributes_t attr = emu_attr("mark ex");
    attr.category = 3;
    attr.colorType = NVTX_COLOR_ARGB;
    attr.color = 0xff00ff00;
    attr.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    attr.payload.dValue = 0.5;
    EMU_CORE(NVTX_CORE_MarkEx, void (*)(const nvtxEventAttributes_t *))(&attr);
    EMU_CORE(NVTX_CORE_MarkEx, void (*)(const nvtxEventAttributes_t *))(NULL);

    typedef nvtxRangeId_t (*start_ex)(const nvtxEventAttributes_t *);
    typedef nvtxRangeId_t (*start_a)(const char *);
    typedef nvtxRangeId_t (*start_w)(const wchar_t *);
    attr = emu_attr("start ex");
    nvtxRangeId_t a = EMU_CORE(NVTX_CORE_RangeStartEx, start_ex)(&attr);
    nvtxRangeId_t b = EMU_CORE(NVTX_CORE_RangeStartA, start_a)("start a");
    nvtxRangeId_t c = EMU_CORE(NVTX_CORE_RangeStartW, start_w)(L"start w");
    void (*end)(nvtxRangeId_t) = EMU_CORE(NVTX_CORE_RangeEnd, void (*)(nvtxRangeId_t));
    printf("ids %d\n", a != 0 && b != 0 && c != 0 && a != b && b != c && a != c);
    end(a);
    end(c);
    end(b);
    end(b); /* once too often */

    attr = emu_attr("push ex");
    int p = EMU_CORE(NVTX_CORE_RangePushEx, int (*)(const nvtxEventAttributes_t *))(&attr);
    int q = EMU_CORE(NVTX_CORE_RangePushA, emu_push_a)("push a");
    int r = EMU_CORE(NVTX_CORE_RangePushW, int (*)(const wchar_t *))(L"push w");
    emu_pop pop = EMU_CORE(NVTX_CORE_RangePop, emu_pop);
    printf("push %d %d %d\n", p, q, r);
    p = pop();
    q = pop();
    r = pop();
    printf("pop %d %d %d, once more %s\n", p, q, r, pop() < 0 ? "negative" : "not negative");
}

/* Structs of other sizes: an older one that ends behind the colour, and one that says it is empty. */
static void short_attributes(void) {
    nvtxEventAttributes_t attr = emu_attr("not read");
    attr.category = 9;
    attr.size = 16;
    EMU_CORE(NVTX_CORE_MarkEx, void (*)(const nvtxEventAttributes_t *))(&attr);
    attr.size = 0;
    EMU_CORE(NVTX_CORE_MarkEx, void (*)(const nvtxEventAttributes_t *))(&attr);
    struct {
        nvtxEventAttributes_t known;
        char more[32];
    } longer = {emu_attr("longer struct"), {0}};
    longer.known.size = sizeof longer;
    EMU_CORE(NVTX_CORE_MarkEx, void (*)(const nvtxEventAttributes_t *))(&longer.known);
}

static void domains(void) {
    if (emu_functions[NVTX_CB_MODULE_CORE2][1] == NULL) {
        return;
    }
    emu_domain_create_a create = EMU_CORE2(NVTX_CORE2_DomainCreateA, emu_domain_create_a);
    nvtxDomainHandle_t domain = create("shared domain");
    nvtxDomainHandle_t wide =
        EMU_CORE2(NVTX_CORE2_DomainCreateW, nvtxDomainHandle_t(*)(const wchar_t *))(L"w\u00efde");
    printf("domains %d\n", domain != NULL && create("shared domain") == domain && wide != domain);
    emu_register_a reg = EMU_CORE2(NVTX_CORE2_DomainRegisterStringA, emu_register_a);
    nvtxStringHandle_t string = reg(domain, "registered");
    printf("strings %d\n", string != NULL && reg(domain, "registered") == string);
    EMU_CORE2(NVTX_CORE2_DomainNameCategoryA, void (*)(nvtxDomainHandle_t, uint32_t, const char *))
    (domain, 5, "five");
    EMU_CORE2(NVTX_CORE2_DomainNameCategoryW,
              void (*)(nvtxDomainHandle_t, uint32_t, const wchar_t *))
    (domain, 6, L"s\u00efx");

    nvtxEventAttributes_t attr = emu_attr(NULL);
    attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attr.message.registered = string;
    attr.category = 5;
    emu_domain_push push = EMU_CORE2(NVTX_CORE2_DomainRangePushEx, emu_domain_push);
    emu_domain_pop pop = EMU_CORE2(NVTX_CORE2_DomainRangePop, emu_domain_pop);
    printf("domain push %d %d", push(domain, &attr), push(domain, &attr));
    printf(", other domain %d", push(wide, &attr));
    int first = pop(domain);
    printf(", pop %d %d %d\n", first, pop(wide), pop(domain));
    attr.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    attr.message.unicode = L"domain mark \u00e9";
    EMU_CORE2(NVTX_CORE2_DomainMarkEx, void (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))
    (wide, &attr);
    attr = emu_attr("domain start");
    nvtxRangeId_t id = EMU_CORE2(
        NVTX_CORE2_DomainRangeStartEx,
        nvtxRangeId_t(*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))(domain, &attr);
    EMU_CORE2(NVTX_CORE2_DomainRangeEnd, void (*)(nvtxDomainHandle_t, nvtxRangeId_t))(domain, id);
    attr = emu_attr("of no domain");
    printf("bad domain %s\n",
           push((nvtxDomainHandle_t)(void *)&attr, &attr) < 0 ? "negative" : "not negative");
    attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attr.message.registered = (nvtxStringHandle_t)(void *)&attr; /* no string of the tool */
    (void)push(domain, &attr);
    (void)pop(domain);
    EMU_CORE2(NVTX_CORE2_DomainDestroy, void (*)(nvtxDomainHandle_t))(domain);
}

static void *named_thread(void *unused) {
    (void)unused;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    EMU_CORE(NVTX_CORE_NameOsThreadA, void (*)(uint32_t, const char *))(tid, "the worker");
    (void)EMU_CORE(NVTX_CORE_RangePushA, emu_push_a)("in the worker");
    (void)EMU_CORE(NVTX_CORE_RangePop, emu_pop)();
    return NULL;
}

static void names(void) {
    if (N_CORE <= NVTX_CORE_NameOsThreadW) {
        return;
    }
    pthread_t thread;
    (void)pthread_create(&thread, NULL, named_thread, NULL);
    (void)pthread_join(thread, NULL);
    EMU_CORE(NVTX_CORE_NameCategoryA, void (*)(uint32_t, const char *))(3, "three");
    EMU_CORE(NVTX_CORE_NameCategoryW, void (*)(uint32_t, const wchar_t *))(4, L"four");
    EMU(NVTX_CB_MODULE_CUDART, NVTX_CUDART_NameCudaStreamA, void (*)(void *, const char *))
    ((void *)0x77, "compute stream");
    EMU(NVTX_CB_MODULE_CUDA, NVTX_CUDA_NameCuStreamW, void (*)(void *, const wchar_t *))
    (NULL, L"default stream");
}

/* Layouts as NCCL registers them: fixed ids, an enum, a struct on the caller's stack. */
static void payloads(void) {
    if (N_CORE2 == 0) {
        return;
    }
    printf("extension %d", emu_load_extension(NVTX_EXT_PAYLOAD_MODULEID, 63));
    printf(" memory extension %d\n", emu_load_extension(1, 0));
    emu_domain_create_a create = EMU_CORE2(NVTX_CORE2_DomainCreateA, emu_domain_create_a);
    nvtxDomainHandle_t domain = create("NCCL");
    const nvtxPayloadEnum_t operations[] = {{"Sum", 0, 0}, {"Product", 1, 0}};
    const nvtxPayloadEnumAttr_t operation = {.fieldMask = 0x3e,
                                             .name = "operation",
                                             .entries = operations,
                                             .numEntries = 2,
                                             .sizeOfEnum = 4,
                                             .schemaId = NVTX_ID_STATIC_START + 100};
    uint64_t enum_id = ((uint64_t(*)(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t *))
                            emu_payload[NVTX_EXT_PayloadEnumRegister])(domain, &operation);
    const nvtxPayloadSchemaEntry_t entries[] = {{.type = NVTX_ENTRY_UINT64, .name = "communicator"},
                                                {.type = NVTX_ENTRY_SIZE, .name = "bytes"},
                                                {.type = enum_id, .name = "operation"}};
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = 0x1fe,
                                            .name = "all reduce",
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = entries,
                                            .numEntries = 3,
                                            .payloadStaticSize = 24,
                                            .schemaId = NVTX_ID_STATIC_START + 5};
    uint64_t id = ((uint64_t(*)(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *))
                       emu_payload[NVTX_EXT_PayloadSchemaRegister])(domain, &schema);
    printf("schema %d enum %d enabled %d\n", id == NVTX_ID_STATIC_START + 5,
           enum_id == NVTX_ID_STATIC_START + 100,
           ((uint8_t(*)(nvtxDomainHandle_t))emu_payload[NVTX_EXT_DomainIsEnabled])(domain));
    struct {
        uint64_t communicator;
        size_t bytes;
        int operation;
    } data = {7, 4096, 1};
    nvtxPayloadData_t payload = {id, sizeof data, &data};
    nvtxEventAttributes_t attr = emu_attr("ncclAllReduce");
    attr.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attr.reserved0 = 1;
    attr.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    (void)EMU_CORE2(NVTX_CORE2_DomainRangePushEx, emu_domain_push)(domain, &attr);
    memset(&data, 0xff, sizeof data);
    (void)EMU_CORE2(NVTX_CORE2_DomainRangePop, emu_domain_pop)(domain);
    const nvtxPayloadData_t unknown = {NVTX_ID_STATIC_START + 4711, sizeof data, &data};
    ((void (*)(nvtxDomainHandle_t, const nvtxPayloadData_t *,
               size_t))emu_payload[NVTX_EXT_MarkPayload])(domain, &unknown, 1);
}

int main(int argc, char **argv) {
    printf("loaded %d\n", emu_load());
    if (emu_functions[NVTX_CB_MODULE_CORE][NVTX_CORE_MarkA] == NULL) {
        return 0;
    }
    printf("version %u\n", emu_tool_version);
    marks_and_ranges();
    short_attributes();
    domains();
    names();
    payloads();
    if (argc > 1) {
        void *second = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = NULL;
        if (second == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        emu_find(second, "second_run", &run);
        printf("second %d\n", run());
    }
    return 0;
}
