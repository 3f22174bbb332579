/* What a range of NVTX costs a program through the injection: push and pop, start and end, with a text, a registered string,
 * a payload with a layout; and with the recording off. The tool is loaded as in a user's program (NVTX_INJECTION64_PATH).
 *
 * Prints lines "what <tab> measured <tab> bar <tab> comparison": medians of 201 runs of 1,000 pairs, with a pause after each in
 * which the writer empties the ring. */
#include <pipescope/record.h>

#include "../tests/programs/nvtx_emulation.h"

#include <time.h>

enum { RUNS = 201, PAIRS = 1000 };

static double now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static emu_push_a push_a;
static emu_pop pop;
static emu_domain_push domain_push;
static emu_domain_pop domain_pop;
static nvtxRangeId_t (*start_a)(const char *);
static void (*end)(nvtxRangeId_t);
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, described;

static void text_pair(int i) {
    (void)i;
    (void)push_a("forward_step");
    (void)pop();
}

static void start_end_pair(int i) {
    (void)i;
    end(start_a("forward_step"));
}

static void new_text_pair(int i) {
    static int n;
    char text[64];
    (void)snprintf(text, sizeof text, "a message of fifty bytes, number %d of %d ........", i, n++);
    (void)push_a(text);
    (void)pop();
}

static void new_text_alone(int i) {
    static int n;
    static volatile char sink;
    char text[64];
    (void)snprintf(text, sizeof text, "a message of fifty bytes, number %d of %d ........", i, n++);
    sink = text[7];
    (void)sink;
}

static void registered_pair(int i) {
    (void)i;
    (void)domain_push(domain, &registered);
    (void)domain_pop(domain);
}

static void payload_pair(int i) {
    uint64_t data[3] = {7, 4096 + (uint64_t)i % 16, 1};
    nvtxPayloadData_t payload = {NVTX_ID_STATIC_START + 5, sizeof data, data};
    described.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    (void)domain_push(domain, &described);
    (void)domain_pop(domain);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(void (*pair)(int)) {
    static double ns[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double from = now_ns();
        for (int i = 0; i < PAIRS; i++) {
            pair(i);
        }
        ns[run] = (now_ns() - from) / PAIRS;
        (void)nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    }
    qsort(ns, RUNS, sizeof ns[0], compare);
    return ns[RUNS / 2];
}

static void prepare(void) {
    push_a = EMU_CORE(NVTX_CORE_RangePushA, emu_push_a);
    pop = EMU_CORE(NVTX_CORE_RangePop, emu_pop);
    start_a = EMU_CORE(NVTX_CORE_RangeStartA, nvtxRangeId_t(*)(const char *));
    end = EMU_CORE(NVTX_CORE_RangeEnd, void (*)(nvtxRangeId_t));
    domain_push = EMU_CORE2(NVTX_CORE2_DomainRangePushEx, emu_domain_push);
    domain_pop = EMU_CORE2(NVTX_CORE2_DomainRangePop, emu_domain_pop);
    domain = EMU_CORE2(NVTX_CORE2_DomainCreateA, emu_domain_create_a)("NCCL");
    registered = emu_attr(NULL);
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered =
        EMU_CORE2(NVTX_CORE2_DomainRegisterStringA, emu_register_a)(domain, "ncclAllReduce");
    described = registered;
    described.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    described.reserved0 = 1;
    (void)emu_load_extension(NVTX_EXT_PAYLOAD_MODULEID, 63);
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_SIZE, .name = "Message size [bytes]"},
        {.type = NVTX_ENTRY_UINT64, .name = "Reduction operation"}};
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = 0x1fe,
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = entries,
                                            .numEntries = 3,
                                            .payloadStaticSize = 24,
                                            .schemaId = NVTX_ID_STATIC_START + 5};
    (void)((uint64_t(*)(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *))
               emu_payload[NVTX_EXT_PayloadSchemaRegister])(domain, &schema);
}

int main(void) {
    if (emu_load() == 0) {
        printf("NVTX_INJECTION64_PATH names no tool\n");
        return 77;
    }
    prepare();
    double off = measure(text_pair);
    if (ps_record_start() != PS_RECORD_OK) {
        printf("recording does not start\n");
        return 1;
    }
    double text = measure(text_pair);
    double start_end = measure(start_end_pair);
    double string = measure(registered_pair);
    double payload = measure(payload_pair);
    double new_text = measure(new_text_pair) - measure(new_text_alone);
    (void)ps_record_stop();
    ps_record_stats stats = {.size = sizeof stats};
    (void)ps_record_get_stats(&stats);
    if (stats.n_dropped != 0) {
        printf("NVTX: %llu events were dropped: the figures are of fewer\n",
               (unsigned long long)stats.n_dropped);
    }
    (void)ps_record_discard();
    printf("NVTX push and pop, not recording\t%.1f ns\t4 ns\t1.4 ns without a tool\n", off);
    printf("NVTX push and pop, known text\t%.0f ns\t120 ns\t51 ns with the smallest tool\n", text);
    printf("NVTX start and end, known text\t%.0f ns\t120 ns\t\n", start_end);
    printf("NVTX push and pop, registered string\t%.0f ns\t120 ns\t\n", string);
    printf("NVTX push and pop, new text of 50 bytes\t%.0f ns\t180 ns\t\n", new_text);
    printf("NVTX push and pop, payload of three numbers\t%.0f ns\t\t\n", payload);
    return 0;
}
