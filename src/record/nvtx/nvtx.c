/* NVTX version 3: the tool that NVTX_INJECTION64_PATH names.
 *
 * The header that programs are compiled with opens this library once for each shared object that uses NVTX and calls
 * InitializeInjectionNvtx2 with that object's tables; the functions below are put into them. State is that of the process.
 *
 * There is no variable InitializeInjectionNvtx2_fnptr here, which a tool in a static library would define: in a shared
 * library it would never win over the one of the program, and where it won (over those of other libraries, when this one
 * is linked or preloaded) it would attach programs that did not ask for it. */
#include "pipescope/record.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "record/nvtx/nvtx.h"
#include "record/ring/config.h"
#include "record/ring/config_texts.h"
#include "record/session/session.h"

_Atomic uint32_t ps_nvtx_generation;

/* --- once ---------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void ps_nvtx_lock(void) {
    (void)pthread_mutex_lock(&mutex);
}

void ps_nvtx_unlock(void) {
    (void)pthread_mutex_unlock(&mutex);
}

void ps_nvtx_begin(uint32_t generation) {
    /* Who finds it locked is another thread at the same moment, or a signal handler within: neither waits. */
    if (pthread_mutex_trylock(&mutex) != 0) {
        return;
    }
    if (atomic_load_explicit(&ps_nvtx_generation, memory_order_relaxed) != generation) {
        ps_nvtx_stream_rules(ps_rec_config_text("nvtx_stream"));
        ps_nvtx_names_again();
        atomic_store_explicit(&ps_nvtx_generation, generation, memory_order_release);
    }
    ps_nvtx_unlock();
}

static _Thread_local bool within_once;

/* The first thread makes ready; others wait for it, but not for ever: the thread that loads the chained tool may wait for the loader's
 * lock, which the waiting one holds, when the constructor of a library uses NVTX. Whoever has waited for long enough does without
 * the tool, and so does then the whole process. */
enum { UNTOUCHED, LOADING, STARTING, WITHOUT, READY };
enum { LOADING_MS = 1000, STARTING_MS = 10000 };
static atomic_int stage;

static bool may_init(void) {
    int loading = LOADING;
    return atomic_compare_exchange_strong(&stage, &loading, STARTING);
}

static void make_nvtx_ready(void) {
    within_once = true;
    ps_rec_option_look();
    ps_session_on_begin(ps_nvtx_begin);
    (void)pthread_atfork(ps_nvtx_lock, ps_nvtx_unlock, ps_nvtx_unlock);
    ps_nvtx_chain_open(may_init);
    within_once = false;
    atomic_store(&stage, READY);
}

static void wait_until_nvtx_ready(void) {
    for (unsigned ms = 0; ms < STARTING_MS; ms++) {
        int now = atomic_load(&stage);
        if (now == READY || now == WITHOUT ||
            (now == LOADING && ms >= LOADING_MS &&
             atomic_compare_exchange_strong(&stage, &now, WITHOUT))) {
            return;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void ps_nvtx_ready(void) {
    ps_process_init();
    int untouched = UNTOUCHED;
    if (within_once || atomic_load(&stage) == READY) {
        return; /* the chained tool may use NVTX while it is loaded */
    }
    if (atomic_compare_exchange_strong(&stage, &untouched, LOADING)) {
        make_nvtx_ready();
    } else {
        wait_until_nvtx_ready();
    }
}

/* --- events -------------------------------------------------------------------------------------------------------- */

ps_record_domain *ps_nvtx_domain(nvtxDomainHandle_t handle) {
    if (handle != NULL && ps_nvtx_chained()) {
        ps_record_domain *domain = ps_nvtx_chain_domain(handle);
        if (domain != NULL) {
            return domain;
        }
    }
    return ps_domain_check(handle);
}

const ps_record_domain *ps_nvtx_recorded_domain(nvtxDomainHandle_t handle) {
    if (!ps_nvtx_on()) {
        return NULL;
    }
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    if (domain == NULL) {
        ps_event_drop(PS_DROP_BAD_DOMAIN);
        return NULL;
    }
    return atomic_load_explicit(&domain->recorded, memory_order_relaxed) ? domain : NULL;
}

void ps_nvtx_event_mark(ps_nvtx_event *event) {
    event->extra.form = PS_NVTX_MARK;
    ps_event_mark(event->domain, event->text, event->stream, &event->extra);
}

uint64_t ps_nvtx_event_start(ps_nvtx_event *event) {
    event->extra.form = PS_NVTX_START_END;
    return ps_event_start(event->domain, event->text, event->stream, &event->extra);
}

int ps_nvtx_event_push(ps_nvtx_event *event) {
    event->extra.form = PS_NVTX_PUSH_POP;
    return ps_event_push(event->domain, event->text, event->stream, &event->extra);
}

/* What NVTX calls the level of the range that ends is the depth behind it. */
int ps_nvtx_event_pop(const ps_record_domain *domain) {
    return ps_event_pop(domain);
}

/* --- event attributes ---------------------------------------------------------------------------------------------- */

static void no_extra(ps_nvtx_event *event) {
    event->extra = (ps_nvtx_extra){0};
}

void ps_nvtx_event_add(ps_nvtx_event *event, const nvtxPayloadData_t *payloads, size_t n,
                       bool names_event) {
    bool cut = false;
    size_t message = 0;
    event->extra.payload_type = (uint32_t)NVTX_PAYLOAD_TYPE_EXT;
    event->extra.payload = event->payload_room;
    event->extra.payload_length =
        ps_nvtx_payload_json(event->domain, payloads, n, event->payload_room, PS_RECORD_MAX_TEXT,
                             names_event ? event->text_room : NULL, &message, &cut);
    if (cut) {
        ps_event_drop(PS_DROP_CUT_TEXT);
    }
    if (message > 0) {
        event->text = (ps_text){.bytes = event->text_room, .length = message};
    }
}

void ps_nvtx_event_payload(ps_nvtx_event *event, const nvtxPayloadData_t *payloads, size_t n) {
    event->text = ps_nvtx_no_message();
    no_extra(event);
    ps_nvtx_event_add(event, payloads, n, true);
    event->stream = ps_nvtx_stream_of(event->domain, event->text, NULL);
}

/* Returns the registered string when the message is one. */
static ps_nvtx_string *read_message(ps_nvtx_event *event, int32_t type, nvtxMessageValue_t value) {
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        event->text = ps_nvtx_text(value.ascii);
        return NULL;
    case NVTX_MESSAGE_TYPE_UNICODE:
        event->text = ps_nvtx_text_wide(value.unicode, event->text_room);
        return NULL;
    case NVTX_MESSAGE_TYPE_REGISTERED: {
        ps_nvtx_string *string = ps_nvtx_string_of(event->domain, value.registered);
        event->text = string == NULL ? ps_nvtx_no_message() : ps_nvtx_string_text(string);
        return string;
    }
    default:
        event->text = ps_nvtx_no_message();
        return NULL;
    }
}

static void read_payload(ps_nvtx_event *event, const nvtxEventAttributes_t *attr,
                         bool names_event) {
    if (attr->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
        if (attr->payload.ullValue != 0 && attr->reserved0 > 0) {
            ps_nvtx_event_add(event, (const void *)(uintptr_t)attr->payload.ullValue,
                              (size_t)attr->reserved0, names_event);
        }
        return;
    }
    event->extra.payload_type = (uint32_t)attr->payloadType;
    event->extra.payload = event->payload_room;
    event->extra.payload_length =
        ps_nvtx_number_json(attr, event->payload_room, sizeof event->payload_room);
}

/* Fills all but the domain. Of the client's struct only as much is read as it says there is. */
static void read_attributes(ps_nvtx_event *event, const nvtxEventAttributes_t *attr) {
    nvtxEventAttributes_t copy;
    if (attr == NULL || attr->size < sizeof copy) {
        memset(&copy, 0, sizeof copy);
        if (attr != NULL) {
            memcpy(&copy, attr, attr->size);
        }
        attr = &copy;
    }
    ps_nvtx_string *string = read_message(event, attr->messageType, attr->message);
    no_extra(event);
    event->extra.category = attr->category;
    event->extra.colour = attr->colorType == NVTX_COLOR_ARGB ? attr->color : 0;
    if (attr->payloadType != NVTX_PAYLOAD_UNKNOWN) {
        read_payload(event, attr, attr->messageType == NVTX_MESSAGE_UNKNOWN);
    }
    event->stream = ps_nvtx_stream_of(event->domain, event->text, string);
}

/* --- marks and ranges, as clients call them ------------------------------------------------------------------------ */

typedef void (*attr_mark_fn)(const nvtxEventAttributes_t *);
typedef nvtxRangeId_t (*attr_start_fn)(const nvtxEventAttributes_t *);
typedef int (*attr_push_fn)(const nvtxEventAttributes_t *);
typedef void (*domain_mark_fn)(nvtxDomainHandle_t, const nvtxEventAttributes_t *);
typedef nvtxRangeId_t (*domain_start_fn)(nvtxDomainHandle_t, const nvtxEventAttributes_t *);
typedef int (*domain_push_fn)(nvtxDomainHandle_t, const nvtxEventAttributes_t *);
typedef void (*text_mark_fn)(const char *);
typedef nvtxRangeId_t (*text_start_fn)(const char *);
typedef int (*text_push_fn)(const char *);
typedef void (*wide_mark_fn)(const wchar_t *);
typedef nvtxRangeId_t (*wide_start_fn)(const wchar_t *);
typedef int (*wide_push_fn)(const wchar_t *);

/* What a chained tool has in this place, NULL mostly. */
static NvtxFunctionPointer core_next(unsigned id) {
    return ps_nvtx_chain[NVTX_CB_MODULE_CORE][id];
}
static NvtxFunctionPointer core2_next(unsigned id) {
    return ps_nvtx_chain[NVTX_CB_MODULE_CORE2][id];
}

/* Nothing is recorded and no tool is chained in this place. The first that a call looks at: what it does else is in a function of
 * its own (..._on), so that it saves no registers for it. */
static inline bool is_idle(NvtxFunctionPointer next) {
    return next == NULL && !ps_is_recording();
}
#define PS_NOINLINE __attribute__((noinline))

/* Of two tools the first that keeps count. */
static int depth_of(int ours, int theirs) {
    return ours >= 0 || theirs == NVTX_NO_PUSH_POP_TRACKING ? ours : theirs;
}

static void record_mark(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attr) {
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain != NULL) {
        read_attributes(&event, attr);
        ps_nvtx_event_mark(&event);
    }
}

static uint64_t record_start(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attr) {
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain == NULL) {
        return 0;
    }
    read_attributes(&event, attr);
    return ps_nvtx_event_start(&event);
}

static int record_push(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attr) {
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain == NULL) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    read_attributes(&event, attr);
    return ps_nvtx_event_push(&event);
}

static int record_pop(nvtxDomainHandle_t handle) {
    const ps_record_domain *domain = ps_nvtx_event_domain(handle);
    return domain == NULL ? NVTX_NO_PUSH_POP_TRACKING : ps_nvtx_event_pop(domain);
}

/* `domain` NULL: the caller names none. */
static void record_end(const ps_record_domain *domain, nvtxRangeId_t id) {
    uint64_t ours = ps_nvtx_chain_range_end(id);
    if (ours != 0 && ps_is_recording()) {
        ps_event_end(domain, ours);
    }
}

static PS_NOINLINE void mark_ex_on(const nvtxEventAttributes_t *attr) {
    attr_mark_fn next = (attr_mark_fn)core_next(NVTX_CORE_MarkEx);
    if (next != NULL) {
        next(attr);
    }
    record_mark(NULL, attr);
}
static void mark_ex(const nvtxEventAttributes_t *attr) {
    if (is_idle(core_next(NVTX_CORE_MarkEx))) {
        return;
    }
    mark_ex_on(attr);
}

static PS_NOINLINE nvtxRangeId_t range_start_ex_on(const nvtxEventAttributes_t *attr) {
    attr_start_fn next = (attr_start_fn)core_next(NVTX_CORE_RangeStartEx);
    uint64_t theirs = next == NULL ? 0 : next(attr);
    return ps_nvtx_chain_range(theirs, record_start(NULL, attr));
}
static nvtxRangeId_t range_start_ex(const nvtxEventAttributes_t *attr) {
    if (is_idle(core_next(NVTX_CORE_RangeStartEx))) {
        return 0;
    }
    return range_start_ex_on(attr);
}

static PS_NOINLINE int range_push_ex_on(const nvtxEventAttributes_t *attr) {
    attr_push_fn next = (attr_push_fn)core_next(NVTX_CORE_RangePushEx);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(attr);
    return depth_of(record_push(NULL, attr), theirs);
}
static int range_push_ex(const nvtxEventAttributes_t *attr) {
    if (is_idle(core_next(NVTX_CORE_RangePushEx))) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return range_push_ex_on(attr);
}

static PS_NOINLINE void domain_mark_ex_on(nvtxDomainHandle_t handle,
                                          const nvtxEventAttributes_t *attr) {
    domain_mark_fn next = (domain_mark_fn)core2_next(NVTX_CORE2_DomainMarkEx);
    if (next != NULL) {
        next(handle, attr);
    }
    record_mark(handle, attr);
}
static void domain_mark_ex(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attr) {
    if (is_idle(core2_next(NVTX_CORE2_DomainMarkEx))) {
        return;
    }
    domain_mark_ex_on(handle, attr);
}

static PS_NOINLINE nvtxRangeId_t domain_range_start_ex_on(nvtxDomainHandle_t handle,
                                                          const nvtxEventAttributes_t *attr) {
    domain_start_fn next = (domain_start_fn)core2_next(NVTX_CORE2_DomainRangeStartEx);
    uint64_t theirs = next == NULL ? 0 : next(handle, attr);
    return ps_nvtx_chain_range(theirs, record_start(handle, attr));
}
static nvtxRangeId_t domain_range_start_ex(nvtxDomainHandle_t handle,
                                           const nvtxEventAttributes_t *attr) {
    if (is_idle(core2_next(NVTX_CORE2_DomainRangeStartEx))) {
        return 0;
    }
    return domain_range_start_ex_on(handle, attr);
}

static PS_NOINLINE int domain_range_push_ex_on(nvtxDomainHandle_t handle,
                                               const nvtxEventAttributes_t *attr) {
    domain_push_fn next = (domain_push_fn)core2_next(NVTX_CORE2_DomainRangePushEx);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(handle, attr);
    return depth_of(record_push(handle, attr), theirs);
}
static int domain_range_push_ex(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *attr) {
    if (is_idle(core2_next(NVTX_CORE2_DomainRangePushEx))) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return domain_range_push_ex_on(handle, attr);
}

static PS_NOINLINE void range_end_on(nvtxRangeId_t id) {
    void (*next)(nvtxRangeId_t) = (void (*)(nvtxRangeId_t))core_next(NVTX_CORE_RangeEnd);
    if (next != NULL) {
        next(id);
    }
    record_end(NULL, id);
}

/* What was begun while nothing was recorded has the id 0. */
static void range_end(nvtxRangeId_t id) {
    if (id != 0 || !is_idle(core_next(NVTX_CORE_RangeEnd))) {
        range_end_on(id);
    }
}

static PS_NOINLINE void domain_range_end_on(nvtxDomainHandle_t handle, nvtxRangeId_t id) {
    void (*next)(nvtxDomainHandle_t, nvtxRangeId_t) =
        (void (*)(nvtxDomainHandle_t, nvtxRangeId_t))core2_next(NVTX_CORE2_DomainRangeEnd);
    if (next != NULL) {
        next(handle, id);
    }
    record_end(ps_nvtx_domain(handle), id);
}

static void domain_range_end(nvtxDomainHandle_t handle, nvtxRangeId_t id) {
    if (id != 0 || !is_idle(core2_next(NVTX_CORE2_DomainRangeEnd))) {
        domain_range_end_on(handle, id);
    }
}

static PS_NOINLINE int range_pop_on(void) {
    int (*next)(void) = (int (*)(void))core_next(NVTX_CORE_RangePop);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next();
    return depth_of(record_pop(NULL), theirs);
}

static int range_pop(void) {
    if (is_idle(core_next(NVTX_CORE_RangePop))) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return range_pop_on();
}

static PS_NOINLINE int domain_range_pop_on(nvtxDomainHandle_t handle) {
    int (*next)(nvtxDomainHandle_t) =
        (int (*)(nvtxDomainHandle_t))core2_next(NVTX_CORE2_DomainRangePop);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(handle);
    return depth_of(record_pop(handle), theirs);
}
static int domain_range_pop(nvtxDomainHandle_t handle) {
    if (is_idle(core2_next(NVTX_CORE2_DomainRangePop))) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return domain_range_pop_on(handle);
}

/* --- the short forms, of the default domain ------------------------------------------------------------------------ */

/* That an event is one of NVTX is said of these too: the export gives such ranges a device time of their own. */
static const ps_nvtx_extra TEXT_MARK = {.form = PS_NVTX_MARK};
static const ps_nvtx_extra TEXT_START = {.form = PS_NVTX_START_END};
static const ps_nvtx_extra TEXT_PUSH = {.form = PS_NVTX_PUSH_POP};

static void record_text_mark(const ps_record_domain *domain, ps_text text) {
    ps_event_mark(domain, text, ps_nvtx_stream_of(domain, text, NULL), &TEXT_MARK);
}
static uint64_t record_text_start(const ps_record_domain *domain, ps_text text) {
    return ps_event_start(domain, text, ps_nvtx_stream_of(domain, text, NULL), &TEXT_START);
}
static int record_text_push(const ps_record_domain *domain, ps_text text) {
    return ps_event_push(domain, text, ps_nvtx_stream_of(domain, text, NULL), &TEXT_PUSH);
}

static PS_NOINLINE void mark_a_on(const char *message) {
    text_mark_fn next = (text_mark_fn)core_next(NVTX_CORE_MarkA);
    if (next != NULL) {
        next(message);
    }
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    if (domain != NULL) {
        record_text_mark(domain, ps_nvtx_text(message));
    }
}
static void mark_a(const char *message) {
    if (is_idle(core_next(NVTX_CORE_MarkA))) {
        return;
    }
    mark_a_on(message);
}

static void mark_w(const wchar_t *message) {
    wide_mark_fn next = (wide_mark_fn)core_next(NVTX_CORE_MarkW);
    if (next != NULL) {
        next(message);
    }
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    if (domain != NULL) {
        char room[PS_NVTX_TEXT_ROOM];
        record_text_mark(domain, ps_nvtx_text_wide(message, room));
    }
}

static PS_NOINLINE nvtxRangeId_t range_start_a_on(const char *message) {
    text_start_fn next = (text_start_fn)core_next(NVTX_CORE_RangeStartA);
    uint64_t theirs = next == NULL ? 0 : next(message);
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    uint64_t ours = domain == NULL ? 0 : record_text_start(domain, ps_nvtx_text(message));
    return ps_nvtx_chain_range(theirs, ours);
}
static nvtxRangeId_t range_start_a(const char *message) {
    if (is_idle(core_next(NVTX_CORE_RangeStartA))) {
        return 0;
    }
    return range_start_a_on(message);
}

static nvtxRangeId_t range_start_w(const wchar_t *message) {
    wide_start_fn next = (wide_start_fn)core_next(NVTX_CORE_RangeStartW);
    uint64_t theirs = next == NULL ? 0 : next(message);
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    char room[PS_NVTX_TEXT_ROOM];
    uint64_t ours =
        domain == NULL ? 0 : record_text_start(domain, ps_nvtx_text_wide(message, room));
    return ps_nvtx_chain_range(theirs, ours);
}

static PS_NOINLINE int range_push_a_on(const char *message) {
    text_push_fn next = (text_push_fn)core_next(NVTX_CORE_RangePushA);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(message);
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    return domain == NULL ? theirs
                          : depth_of(record_text_push(domain, ps_nvtx_text(message)), theirs);
}
static int range_push_a(const char *message) {
    if (is_idle(core_next(NVTX_CORE_RangePushA))) {
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    return range_push_a_on(message);
}

static int range_push_w(const wchar_t *message) {
    wide_push_fn next = (wide_push_fn)core_next(NVTX_CORE_RangePushW);
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(message);
    const ps_record_domain *domain = ps_nvtx_event_domain(NULL);
    if (domain == NULL) {
        return theirs;
    }
    char room[PS_NVTX_TEXT_ROOM];
    return depth_of(record_text_push(domain, ps_nvtx_text_wide(message, room)), theirs);
}

/* --- names, domains, strings --------------------------------------------------------------------------------------- */

typedef void (*number_a_fn)(uint32_t, const char *);
typedef void (*number_w_fn)(uint32_t, const wchar_t *);
typedef void (*category_a_fn)(nvtxDomainHandle_t, uint32_t, const char *);
typedef void (*category_w_fn)(nvtxDomainHandle_t, uint32_t, const wchar_t *);
typedef void (*stream_a_fn)(void *, const char *);
typedef void (*stream_w_fn)(void *, const wchar_t *);

static void name_category_a(uint32_t category, const char *name) {
    number_a_fn next = (number_a_fn)core_next(NVTX_CORE_NameCategoryA);
    if (next != NULL) {
        next(category, name);
    }
    ps_nvtx_name_category(ps_domain_at(0), category, ps_nvtx_text(name));
}

static void name_category_w(uint32_t category, const wchar_t *name) {
    number_w_fn next = (number_w_fn)core_next(NVTX_CORE_NameCategoryW);
    if (next != NULL) {
        next(category, name);
    }
    char room[PS_NVTX_TEXT_ROOM];
    ps_nvtx_name_category(ps_domain_at(0), category, ps_nvtx_text_wide(name, room));
}

static void domain_name_category_a(nvtxDomainHandle_t handle, uint32_t category, const char *name) {
    category_a_fn next = (category_a_fn)core2_next(NVTX_CORE2_DomainNameCategoryA);
    if (next != NULL) {
        next(handle, category, name);
    }
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    if (domain != NULL) {
        ps_nvtx_name_category(domain, category, ps_nvtx_text(name));
    }
}

static void domain_name_category_w(nvtxDomainHandle_t handle, uint32_t category,
                                   const wchar_t *name) {
    category_w_fn next = (category_w_fn)core2_next(NVTX_CORE2_DomainNameCategoryW);
    if (next != NULL) {
        next(handle, category, name);
    }
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    if (domain != NULL) {
        char room[PS_NVTX_TEXT_ROOM];
        ps_nvtx_name_category(domain, category, ps_nvtx_text_wide(name, room));
    }
}

static void name_os_thread_a(uint32_t tid, const char *name) {
    number_a_fn next = (number_a_fn)core_next(NVTX_CORE_NameOsThreadA);
    if (next != NULL) {
        next(tid, name);
    }
    ps_nvtx_name_thread(tid, ps_nvtx_text(name));
}

static void name_os_thread_w(uint32_t tid, const wchar_t *name) {
    number_w_fn next = (number_w_fn)core_next(NVTX_CORE_NameOsThreadW);
    if (next != NULL) {
        next(tid, name);
    }
    char room[PS_NVTX_TEXT_ROOM];
    ps_nvtx_name_thread(tid, ps_nvtx_text_wide(name, room));
}

static void name_stream_a(int module, unsigned id, void *stream, const char *name) {
    stream_a_fn next = (stream_a_fn)ps_nvtx_chain[module][id];
    if (next != NULL) {
        next(stream, name);
    }
    ps_nvtx_name_stream(stream, ps_nvtx_text(name));
}

static void name_stream_w(int module, unsigned id, void *stream, const wchar_t *name) {
    stream_w_fn next = (stream_w_fn)ps_nvtx_chain[module][id];
    if (next != NULL) {
        next(stream, name);
    }
    char room[PS_NVTX_TEXT_ROOM];
    ps_nvtx_name_stream(stream, ps_nvtx_text_wide(name, room));
}

static void name_cu_stream_a(void *stream, const char *name) {
    name_stream_a(NVTX_CB_MODULE_CUDA, NVTX_CUDA_NameCuStreamA, stream, name);
}
static void name_cu_stream_w(void *stream, const wchar_t *name) {
    name_stream_w(NVTX_CB_MODULE_CUDA, NVTX_CUDA_NameCuStreamW, stream, name);
}
static void name_cuda_stream_a(void *stream, const char *name) {
    name_stream_a(NVTX_CB_MODULE_CUDART, NVTX_CUDART_NameCudaStreamA, stream, name);
}
static void name_cuda_stream_w(void *stream, const wchar_t *name) {
    name_stream_w(NVTX_CB_MODULE_CUDART, NVTX_CUDART_NameCudaStreamW, stream, name);
}

/* The handle a client gets for a domain: the chained tool's where it gave one. */
static nvtxDomainHandle_t domain_handle(nvtxDomainHandle_t theirs, ps_text name) {
    ps_record_domain *domain = ps_event_domain(name.bytes, name.length);
    if (theirs != NULL) {
        if (domain != NULL) {
            ps_nvtx_chain_put_domain(theirs, domain);
        }
        return theirs;
    }
    if (domain == NULL) {
        /* One too many. NULL would put its events into "default"; this is no domain, so they are counted. */
        static char none;
        return (nvtxDomainHandle_t)(void *)&none;
    }
    return (nvtxDomainHandle_t)(void *)domain;
}

static nvtxDomainHandle_t domain_create_a(const char *name) {
    typedef nvtxDomainHandle_t (*fn)(const char *);
    fn next = (fn)core2_next(NVTX_CORE2_DomainCreateA);
    return domain_handle(next == NULL ? NULL : next(name), ps_nvtx_text(name));
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name) {
    typedef nvtxDomainHandle_t (*fn)(const wchar_t *);
    fn next = (fn)core2_next(NVTX_CORE2_DomainCreateW);
    char room[PS_NVTX_TEXT_ROOM];
    return domain_handle(next == NULL ? NULL : next(name), ps_nvtx_text_wide(name, room));
}

/* Shared objects that name the same domain share it, so that one of them cannot end it for the others. */
static void domain_destroy(nvtxDomainHandle_t handle) {
    void (*next)(nvtxDomainHandle_t) =
        (void (*)(nvtxDomainHandle_t))core2_next(NVTX_CORE2_DomainDestroy);
    if (next != NULL) {
        next(handle);
    }
}

static nvtxStringHandle_t string_handle(nvtxDomainHandle_t handle, nvtxStringHandle_t theirs,
                                        ps_text text) {
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    domain = domain == NULL ? ps_domain_at(0) : domain;
    ps_nvtx_string *string = ps_nvtx_string_named(domain->id, text);
    if (theirs != NULL) {
        if (string != NULL) {
            ps_nvtx_chain_put_string(domain, theirs, string);
        }
        return theirs;
    }
    return (nvtxStringHandle_t)(void *)string;
}

static nvtxStringHandle_t register_string_a(nvtxDomainHandle_t handle, const char *text) {
    typedef nvtxStringHandle_t (*fn)(nvtxDomainHandle_t, const char *);
    fn next = (fn)core2_next(NVTX_CORE2_DomainRegisterStringA);
    return string_handle(handle, next == NULL ? NULL : next(handle, text), ps_nvtx_text(text));
}

static nvtxStringHandle_t register_string_w(nvtxDomainHandle_t handle, const wchar_t *text) {
    typedef nvtxStringHandle_t (*fn)(nvtxDomainHandle_t, const wchar_t *);
    fn next = (fn)core2_next(NVTX_CORE2_DomainRegisterStringW);
    char room[PS_NVTX_TEXT_ROOM];
    return string_handle(handle, next == NULL ? NULL : next(handle, text),
                         ps_nvtx_text_wide(text, room));
}

/* Resources are another way to name threads and streams; other kinds have no place in a recording. */
static void name_resource(nvtxDomainHandle_t handle, const nvtxResourceAttributes_t *attr) {
    nvtxResourceAttributes_t copy = {0};
    memcpy(&copy, attr, attr->size < sizeof copy ? attr->size : sizeof copy);
    ps_nvtx_event event;
    event.domain = ps_nvtx_domain(handle);
    if (event.domain == NULL || copy.messageType == NVTX_MESSAGE_UNKNOWN) {
        return;
    }
    const ps_nvtx_string *string = read_message(&event, copy.messageType, copy.message);
    if (string != NULL) {
        event.text = (ps_text){.bytes = string->bytes, .length = string->length};
    }
    if (copy.identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE) {
        ps_nvtx_name_thread((uint32_t)copy.identifier.ullValue, event.text);
    } else if (copy.identifierType == NVTX_RESOURCE_TYPE_CUDA_STREAM ||
               copy.identifierType == NVTX_RESOURCE_TYPE_CUDART_STREAM) {
        ps_nvtx_name_stream((void *)(uintptr_t)copy.identifier.pValue, event.text);
    }
}

static nvtxResourceHandle_t resource_create(nvtxDomainHandle_t handle,
                                            nvtxResourceAttributes_t *attr) {
    typedef nvtxResourceHandle_t (*fn)(nvtxDomainHandle_t, nvtxResourceAttributes_t *);
    fn next = (fn)core2_next(NVTX_CORE2_DomainResourceCreate);
    nvtxResourceHandle_t theirs = next == NULL ? NULL : next(handle, attr);
    if (attr != NULL) {
        name_resource(handle, attr);
    }
    static _Atomic uintptr_t n_made;
    return theirs != NULL || attr == NULL
               ? theirs
               : (nvtxResourceHandle_t)(atomic_fetch_add(&n_made, 1) + 1);
}

static void resource_destroy(nvtxResourceHandle_t resource) {
    void (*next)(nvtxResourceHandle_t) =
        (void (*)(nvtxResourceHandle_t))core2_next(NVTX_CORE2_DomainResourceDestroy);
    if (next != NULL) {
        next(resource);
    }
}

/* --- injection ----------------------------------------------------------------------------------------------------- */

static const NvtxFunctionPointer CORE[NVTX_CORE_SIZE] = {
    [NVTX_CORE_MarkEx] = (NvtxFunctionPointer)mark_ex,
    [NVTX_CORE_MarkA] = (NvtxFunctionPointer)mark_a,
    [NVTX_CORE_MarkW] = (NvtxFunctionPointer)mark_w,
    [NVTX_CORE_RangeStartEx] = (NvtxFunctionPointer)range_start_ex,
    [NVTX_CORE_RangeStartA] = (NvtxFunctionPointer)range_start_a,
    [NVTX_CORE_RangeStartW] = (NvtxFunctionPointer)range_start_w,
    [NVTX_CORE_RangeEnd] = (NvtxFunctionPointer)range_end,
    [NVTX_CORE_RangePushEx] = (NvtxFunctionPointer)range_push_ex,
    [NVTX_CORE_RangePushA] = (NvtxFunctionPointer)range_push_a,
    [NVTX_CORE_RangePushW] = (NvtxFunctionPointer)range_push_w,
    [NVTX_CORE_RangePop] = (NvtxFunctionPointer)range_pop,
    [NVTX_CORE_NameCategoryA] = (NvtxFunctionPointer)name_category_a,
    [NVTX_CORE_NameCategoryW] = (NvtxFunctionPointer)name_category_w,
    [NVTX_CORE_NameOsThreadA] = (NvtxFunctionPointer)name_os_thread_a,
    [NVTX_CORE_NameOsThreadW] = (NvtxFunctionPointer)name_os_thread_w,
};
/* Initialize is left empty: there is nothing left to do when it comes. */
static const NvtxFunctionPointer CORE2[NVTX_CORE2_SIZE] = {
    [NVTX_CORE2_DomainMarkEx] = (NvtxFunctionPointer)domain_mark_ex,
    [NVTX_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)domain_range_start_ex,
    [NVTX_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)domain_range_end,
    [NVTX_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)domain_range_push_ex,
    [NVTX_CORE2_DomainRangePop] = (NvtxFunctionPointer)domain_range_pop,
    [NVTX_CORE2_DomainResourceCreate] = (NvtxFunctionPointer)resource_create,
    [NVTX_CORE2_DomainResourceDestroy] = (NvtxFunctionPointer)resource_destroy,
    [NVTX_CORE2_DomainNameCategoryA] = (NvtxFunctionPointer)domain_name_category_a,
    [NVTX_CORE2_DomainNameCategoryW] = (NvtxFunctionPointer)domain_name_category_w,
    [NVTX_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string_a,
    [NVTX_CORE2_DomainRegisterStringW] = (NvtxFunctionPointer)register_string_w,
    [NVTX_CORE2_DomainCreateA] = (NvtxFunctionPointer)domain_create_a,
    [NVTX_CORE2_DomainCreateW] = (NvtxFunctionPointer)domain_create_w,
    [NVTX_CORE2_DomainDestroy] = (NvtxFunctionPointer)domain_destroy,
};
static const NvtxFunctionPointer CUDA[NVTX_CUDA_SIZE] = {
    [NVTX_CUDA_NameCuStreamA] = (NvtxFunctionPointer)name_cu_stream_a,
    [NVTX_CUDA_NameCuStreamW] = (NvtxFunctionPointer)name_cu_stream_w,
};
static const NvtxFunctionPointer CUDART[NVTX_CUDART_SIZE] = {
    [NVTX_CUDART_NameCudaStreamA] = (NvtxFunctionPointer)name_cuda_stream_a,
    [NVTX_CUDART_NameCudaStreamW] = (NvtxFunctionPointer)name_cuda_stream_w,
};

static const struct {
    const NvtxFunctionPointer *ours;
    unsigned n;
} MODULES[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = {CORE, NVTX_CORE_SIZE},
    [NVTX_CB_MODULE_CORE2] = {CORE2, NVTX_CORE2_SIZE},
    [NVTX_CB_MODULE_CUDA] = {CUDA, NVTX_CUDA_SIZE},
    [NVTX_CB_MODULE_CUDART] = {CUDART, NVTX_CUDART_SIZE},
};

/* Ours where there is one, else the chained tool's; what stays empty the client switches off. */
static void fill_nvtx_table(const NvtxExportTableCallbacks *callbacks, int module) {
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || table == NULL) {
        return; /* a header without this module */
    }
    for (unsigned id = 1; id < size && id < 64; id++) {
        NvtxFunctionPointer function = id < MODULES[module].n ? MODULES[module].ours[id] : NULL;
        function = function != NULL ? function : ps_nvtx_chain[module][id];
        if (function != NULL && table[id] != NULL) {
            __atomic_store_n(table[id], function, __ATOMIC_RELEASE);
        }
    }
}

PS_API int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
    if (get_export_table == NULL) {
        return 0;
    }
    const NvtxExportTableCallbacks *callbacks = get_export_table(NVTX_ETID_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks ||
        callbacks->GetModuleFunctionTable == NULL) {
        return 0; /* no NVTX of version 3 */
    }
    ps_nvtx_ready();
    const NvtxExportTableVersionInfo *version = get_export_table(NVTX_ETID_VERSIONINFO);
    if (version != NULL && version->struct_size >= sizeof *version &&
        version->SetInjectionNvtxVersion != NULL) {
        version->SetInjectionNvtxVersion(3);
    }
    for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++) {
        fill_nvtx_table(callbacks, module);
    }
    return 1;
}
