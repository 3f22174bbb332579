/* NVTX's payload extension (module 2): schemas, enums and scopes are registered, events may consist of payloads alone.
 * Of other extensions (memory, counters) nothing is recorded; a chained tool gets them. */
#include "pipescope/record.h"
#include "record/nvtx/nvtx.h"

/* Ids that a client gets: of the chained tool where there is one, else as registered or made here. */

typedef uint64_t (*schema_fn)(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *);
typedef uint64_t (*enum_fn)(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t *);
typedef uint64_t (*scope_fn)(nvtxDomainHandle_t, const nvtxScopeAttr_t *);
typedef void (*mark_fn)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
typedef int (*push_fn)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
typedef nvtxRangeId_t (*start_fn)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
typedef void (*end_fn)(nvtxDomainHandle_t, nvtxRangeId_t, const nvtxPayloadData_t *, size_t);
typedef uint8_t (*enabled_fn)(nvtxDomainHandle_t);

static uint64_t schema_register(nvtxDomainHandle_t handle, const nvtxPayloadSchemaAttr_t *attr) {
    schema_fn next = (schema_fn)ps_nvtx_chain_payload[NVTX_EXT_PayloadSchemaRegister];
    uint64_t theirs = next == NULL ? 0 : next(handle, attr);
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    uint64_t ours = domain == NULL ? 0 : ps_nvtx_schema_add(domain, attr, theirs);
    return theirs != 0 ? theirs : ours;
}

static uint64_t enum_register(nvtxDomainHandle_t handle, const nvtxPayloadEnumAttr_t *attr) {
    enum_fn next = (enum_fn)ps_nvtx_chain_payload[NVTX_EXT_PayloadEnumRegister];
    uint64_t theirs = next == NULL ? 0 : next(handle, attr);
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    uint64_t ours = domain == NULL ? 0 : ps_nvtx_enum_add(domain, attr, theirs);
    return theirs != 0 ? theirs : ours;
}

/* Scopes say where counters and late events belong, of which none are recorded: they only need an id. */
static uint64_t scope_register(nvtxDomainHandle_t handle, const nvtxScopeAttr_t *attr) {
    scope_fn next = (scope_fn)ps_nvtx_chain_payload[NVTX_EXT_ScopeRegister];
    uint64_t theirs = next == NULL ? 0 : next(handle, attr);
    if (theirs != 0 || attr == NULL) {
        return theirs;
    }
    static _Atomic uint64_t next_id = NVTX_ID_DYNAMIC_START + 1;
    return attr->structSize >= sizeof *attr && attr->scopeId != 0 ? attr->scopeId
                                                                  : atomic_fetch_add(&next_id, 1);
}

static uint8_t domain_is_enabled(nvtxDomainHandle_t handle) {
    enabled_fn next = (enabled_fn)ps_nvtx_chain_payload[NVTX_EXT_DomainIsEnabled];
    uint8_t theirs = next == NULL ? 0 : next(handle);
    const ps_record_domain *domain = ps_nvtx_domain(handle);
    bool ours = domain != NULL && atomic_load_explicit(&domain->recorded, memory_order_relaxed);
    return ours || theirs != 0;
}

/* --- events that consist of payloads ------------------------------------------------------------------------------- */

static void mark_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t n) {
    mark_fn next = (mark_fn)ps_nvtx_chain_payload[NVTX_EXT_MarkPayload];
    if (next != NULL) {
        next(handle, data, n);
    }
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain != NULL) {
        ps_nvtx_event_payload(&event, data, n);
        ps_nvtx_event_mark(&event);
    }
}

static int push_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t n) {
    push_fn next = (push_fn)ps_nvtx_chain_payload[NVTX_EXT_RangePushPayload];
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(handle, data, n);
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain == NULL) {
        return theirs;
    }
    ps_nvtx_event_payload(&event, data, n);
    int ours = ps_nvtx_event_push(&event);
    return ours >= 0 || next == NULL ? ours : theirs;
}

static int pop_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data, size_t n) {
    push_fn next = (push_fn)ps_nvtx_chain_payload[NVTX_EXT_RangePopPayload];
    int theirs = next == NULL ? NVTX_NO_PUSH_POP_TRACKING : next(handle, data, n);
    const ps_record_domain *domain = ps_nvtx_event_domain(handle);
    if (domain == NULL) {
        return theirs;
    }
    if (n != 0) {
        ps_event_drop(PS_DROP_END_PAYLOAD);
    }
    int ours = ps_nvtx_event_pop(domain);
    return ours >= 0 || next == NULL ? ours : theirs;
}

static nvtxRangeId_t start_payload(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                   size_t n) {
    start_fn next = (start_fn)ps_nvtx_chain_payload[NVTX_EXT_RangeStartPayload];
    uint64_t theirs = next == NULL ? 0 : next(handle, data, n);
    uint64_t ours = 0;
    ps_nvtx_event event;
    event.domain = ps_nvtx_event_domain(handle);
    if (event.domain != NULL) {
        ps_nvtx_event_payload(&event, data, n);
        ours = ps_nvtx_event_start(&event);
    }
    return ps_nvtx_chain_range(theirs, ours);
}

static void end_payload(nvtxDomainHandle_t handle, nvtxRangeId_t id, const nvtxPayloadData_t *data,
                        size_t n) {
    end_fn next = (end_fn)ps_nvtx_chain_payload[NVTX_EXT_RangeEndPayload];
    if (next != NULL) {
        next(handle, id, data, n);
    }
    uint64_t ours = ps_nvtx_chain_range_end(id);
    const ps_record_domain *domain = ps_nvtx_event_domain(handle);
    if (domain != NULL && ours != 0) {
        if (n != 0) {
            ps_event_drop(PS_DROP_END_PAYLOAD);
        }
        ps_event_end(domain, ours);
    }
}

/* --- injection ----------------------------------------------------------------------------------------------------- */

static const NvtxFunctionPointer SLOTS[] = {
    [NVTX_EXT_PayloadSchemaRegister] = (NvtxFunctionPointer)schema_register,
    [NVTX_EXT_PayloadEnumRegister] = (NvtxFunctionPointer)enum_register,
    [NVTX_EXT_MarkPayload] = (NvtxFunctionPointer)mark_payload,
    [NVTX_EXT_RangePushPayload] = (NvtxFunctionPointer)push_payload,
    [NVTX_EXT_RangePopPayload] = (NvtxFunctionPointer)pop_payload,
    [NVTX_EXT_RangeStartPayload] = (NvtxFunctionPointer)start_payload,
    [NVTX_EXT_RangeEndPayload] = (NvtxFunctionPointer)end_payload,
    [NVTX_EXT_DomainIsEnabled] = (NvtxFunctionPointer)domain_is_enabled,
    [NVTX_EXT_ScopeRegister] = (NvtxFunctionPointer)scope_register,
};

/* Slots that stay empty are switched off by the client. */
static void fill_ext(const nvtxExtModuleSegment_t *segment) {
    const size_t n_ours = sizeof SLOTS / sizeof SLOTS[0];
    for (size_t i = 0; i < segment->slotCount && i < NVTX_EXT_PAYLOAD_SLOTS; i++) {
        intptr_t function =
            i < n_ours && SLOTS[i] != NULL ? (intptr_t)SLOTS[i] : ps_nvtx_chain_payload[i];
        if (function > 1) { /* 1: the chained tool has switched it off */
            __atomic_store_n(&segment->functionSlots[i], function, __ATOMIC_RELEASE);
        }
    }
}

PS_API int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info);
int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info) {
    if (info == NULL || info->structSize < sizeof *info) {
        return 0;
    }
    ps_nvtx_ready();
    (void)ps_nvtx_chain_extension(info);
    if (info->moduleId != NVTX_EXT_PAYLOAD_MODULEID) {
        return 1; /* what nobody has filled the client switches off */
    }
    for (size_t i = 0; i < info->segmentsCount && info->segments != NULL; i++) {
        if (info->segments[i].segmentId == 0 && info->segments[i].functionSlots != NULL) {
            fill_ext(&info->segments[i]);
        }
    }
    return 1;
}
