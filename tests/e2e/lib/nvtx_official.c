/* A program with NVTX's own headers, unchanged: marks, ranges, domains, registered strings, a payload with a layout. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <stdio.h>
#include <string.h>

struct sizes {
    uint64_t bytes;
    int peer;
    char label[8];
};

static void payload(nvtxDomainHandle_t domain) {
    nvtxPayloadSchemaEntry_t entries[3];
    nvtxPayloadSchemaAttr_t schema;
    struct sizes data = {4096, 3, "abc"};
    nvtxPayloadData_t described = {0, sizeof data, &data};
    nvtxEventAttributes_t attr;
    memset(entries, 0, sizeof entries);
    entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
    entries[0].name = "bytes";
    entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT;
    entries[1].name = "peer";
    entries[2].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
    entries[2].name = "label";
    entries[2].arrayOrUnionDetail = 8;
    memset(&schema, 0, sizeof schema);
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = "sizes";
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = 3;
    schema.payloadStaticSize = sizeof data;
    described.schemaId = nvtxPayloadSchemaRegister(domain, &schema);
    memset(&attr, 0, sizeof attr);
    attr.version = NVTX_VERSION;
    attr.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attr.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attr.message.ascii = "with payload";
    NVTX_PAYLOAD_EVTATTR_SET_DATA(attr, &described, described.schemaId, &data, sizeof data);
    nvtxDomainRangePushEx(domain, &attr);
    nvtxDomainRangePop(domain);
    nvtxMarkPayload(domain, &described, 1);
    printf("enabled %d\n", nvtxDomainIsEnabled(domain));
}

int main(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("official");
    nvtxEventAttributes_t attr;
    nvtxRangeId_t id;
    int outer;
    int inner;
    nvtxMarkA("mark");
    outer = nvtxRangePushA("outer");
    inner = nvtxRangePushA("inner");
    printf("push %d %d", outer, inner);
    inner = nvtxRangePop();
    outer = nvtxRangePop();
    printf(" pop %d %d\n", inner, outer);
    id = nvtxRangeStartW(L"wide \u00e9");
    nvtxRangeEnd(id);
    memset(&attr, 0, sizeof attr);
    attr.version = NVTX_VERSION;
    attr.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attr.category = 4;
    attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attr.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainNameCategoryA(domain, 4, "four");
    nvtxDomainMarkEx(domain, &attr);
    payload(domain);
    nvtxDomainDestroy(domain);
    return 0;
}
