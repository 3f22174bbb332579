/* NVTX version 3 as a tool sees it: tables, callbacks, structs. Declared by hand; the names are those of its headers. */
#ifndef PS_RECORD_NVTX_ABI_H
#define PS_RECORD_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration *nvtxDomainHandle_t; /* NULL: the default domain */
typedef struct nvtxStringRegistration *nvtxStringHandle_t;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;

/* What push and pop give when nobody keeps count. */
#define NVTX_NO_PUSH_POP_TRACKING (-2)

/* --- events -------------------------------------------------------------------------------------------------------- */

enum {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3,
};
enum { NVTX_COLOR_ARGB = 1 };
enum {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6,
};
/* The payload points to an array of nvtxPayloadData_t; reserved0 says how many. */
#define NVTX_PAYLOAD_TYPE_EXT ((int32_t)0xDFBD0009)

typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef struct nvtxEventAttributes_t {
    uint16_t version;
    uint16_t size; /* of this struct in the client: what lies behind is not there */
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

_Static_assert(sizeof(nvtxEventAttributes_t) == 48, "as in every client so far");

typedef struct nvtxResourceAttributes_t {
    uint16_t version;
    uint16_t size;
    int32_t identifierType;
    union {
        const void *pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxResourceAttributes_t;

#define NVTX_RESOURCE(class, index) ((int32_t)(((uint32_t)(class) << 16) | (index)))
enum {
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = NVTX_RESOURCE(1, 3),
    NVTX_RESOURCE_TYPE_CUDA_STREAM = NVTX_RESOURCE(4, 3),
    NVTX_RESOURCE_TYPE_CUDART_STREAM = NVTX_RESOURCE(5, 1),
};

/* --- the tables of a client ---------------------------------------------------------------------------------------- */

typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable; /* table[id]: address of the client's pointer */

enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSIONINFO = 3 };

typedef struct NvtxExportTableCallbacks {
    size_t struct_size;
    int (*GetModuleFunctionTable)(int module, NvtxFunctionTable *out_table, unsigned *out_size);
} NvtxExportTableCallbacks;

typedef struct NvtxExportTableVersionInfo {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
} NvtxExportTableVersionInfo;

typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t id);
typedef int (*NvtxInitializeInjectionNvtxFunc_t)(NvtxGetExportTableFunc_t get_export_table);

enum {
    NVTX_CB_MODULE_CORE = 1,
    NVTX_CB_MODULE_CUDA = 2,
    NVTX_CB_MODULE_OPENCL = 3,
    NVTX_CB_MODULE_CUDART = 4,
    NVTX_CB_MODULE_CORE2 = 5,
    NVTX_CB_MODULE_SYNC = 6,
    NVTX_CB_MODULE_SIZE
};

enum {
    NVTX_CORE_MarkEx = 1,
    NVTX_CORE_MarkA,
    NVTX_CORE_MarkW,
    NVTX_CORE_RangeStartEx,
    NVTX_CORE_RangeStartA,
    NVTX_CORE_RangeStartW,
    NVTX_CORE_RangeEnd,
    NVTX_CORE_RangePushEx,
    NVTX_CORE_RangePushA,
    NVTX_CORE_RangePushW,
    NVTX_CORE_RangePop,
    NVTX_CORE_NameCategoryA,
    NVTX_CORE_NameCategoryW,
    NVTX_CORE_NameOsThreadA,
    NVTX_CORE_NameOsThreadW,
    NVTX_CORE_SIZE
};

enum {
    NVTX_CORE2_DomainMarkEx = 1,
    NVTX_CORE2_DomainRangeStartEx,
    NVTX_CORE2_DomainRangeEnd,
    NVTX_CORE2_DomainRangePushEx,
    NVTX_CORE2_DomainRangePop,
    NVTX_CORE2_DomainResourceCreate,
    NVTX_CORE2_DomainResourceDestroy,
    NVTX_CORE2_DomainNameCategoryA,
    NVTX_CORE2_DomainNameCategoryW,
    NVTX_CORE2_DomainRegisterStringA,
    NVTX_CORE2_DomainRegisterStringW,
    NVTX_CORE2_DomainCreateA,
    NVTX_CORE2_DomainCreateW,
    NVTX_CORE2_DomainDestroy,
    NVTX_CORE2_Initialize,
    NVTX_CORE2_SIZE
};

enum { NVTX_CUDA_NameCuStreamA = 5, NVTX_CUDA_NameCuStreamW = 6, NVTX_CUDA_SIZE = 9 };
enum { NVTX_CUDART_NameCudaStreamA = 3, NVTX_CUDART_NameCudaStreamW = 4, NVTX_CUDART_SIZE = 7 };

/* --- extensions ---------------------------------------------------------------------------------------------------- */

typedef struct nvtxExtModuleSegment_t {
    size_t segmentId;
    size_t slotCount;
    intptr_t *functionSlots;
} nvtxExtModuleSegment_t;

typedef struct nvtxExtModuleInfo_t {
    uint16_t nvtxVer, structSize, moduleId, compatId;
    size_t segmentsCount;
    nvtxExtModuleSegment_t *segments;
    intptr_t (*getExportFunction)(uint32_t id);
    const void *extInfo;
} nvtxExtModuleInfo_t;

typedef int (*NvtxExtInitializeInjectionFunc_t)(nvtxExtModuleInfo_t *info);

enum { NVTX_EXT_PAYLOAD_MODULEID = 2 };

enum {
    NVTX_EXT_PayloadSchemaRegister = 0,
    NVTX_EXT_PayloadEnumRegister = 1,
    NVTX_EXT_MarkPayload = 2,
    NVTX_EXT_RangePushPayload = 3,
    NVTX_EXT_RangePopPayload = 4,
    NVTX_EXT_RangeStartPayload = 5,
    NVTX_EXT_RangeEndPayload = 6,
    NVTX_EXT_DomainIsEnabled = 7,
    NVTX_EXT_ScopeRegister = 12,
    NVTX_EXT_PAYLOAD_SLOTS = 64, /* at least as many as any client has */
};

typedef struct nvtxPayloadData_t {
    uint64_t schemaId;
    size_t size;
    const void *payload;
} nvtxPayloadData_t;

typedef struct nvtxPayloadSchemaEntry_t {
    uint64_t flags;
    uint64_t type; /* NVTX_ENTRY_..., or the id of a schema or enum */
    const char *name;
    const char *description;
    uint64_t arrayOrUnionDetail;
    uint64_t offset;
    const void *semantics;
    const void *reserved;
} nvtxPayloadSchemaEntry_t;

/* Which of the members are set: bit 1 << (its place, name being 1). */
enum {
    NVTX_SCHEMA_HAS_NAME = 1 << 1,
    NVTX_SCHEMA_HAS_TYPE = 1 << 2,
    NVTX_SCHEMA_HAS_FLAGS = 1 << 3,
    NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
    NVTX_SCHEMA_HAS_NUM_ENTRIES = 1 << 5,
    NVTX_SCHEMA_HAS_STATIC_SIZE = 1 << 6,
    NVTX_SCHEMA_HAS_ALIGNMENT = 1 << 7,
    NVTX_SCHEMA_HAS_ID = 1 << 8,
};
typedef struct nvtxPayloadSchemaAttr_t {
    uint64_t fieldMask;
    const char *name;
    uint64_t type, flags;
    const nvtxPayloadSchemaEntry_t *entries;
    size_t numEntries, payloadStaticSize, packAlign;
    uint64_t schemaId;
    void *extension;
} nvtxPayloadSchemaAttr_t;

typedef struct nvtxPayloadEnum_t {
    const char *name;
    uint64_t value;
    int8_t isFlag;
} nvtxPayloadEnum_t;

enum {
    NVTX_ENUM_HAS_NAME = 1 << 1,
    NVTX_ENUM_HAS_ENTRIES = 1 << 2,
    NVTX_ENUM_HAS_NUM_ENTRIES = 1 << 3,
    NVTX_ENUM_HAS_SIZE = 1 << 4,
    NVTX_ENUM_HAS_ID = 1 << 5,
};
typedef struct nvtxPayloadEnumAttr_t {
    uint64_t fieldMask;
    const char *name;
    const nvtxPayloadEnum_t *entries;
    size_t numEntries, sizeOfEnum;
    uint64_t schemaId;
    void *extension;
} nvtxPayloadEnumAttr_t;

typedef struct nvtxScopeAttr_t {
    size_t structSize;
    const char *path;
    uint64_t parentScope, scopeId;
} nvtxScopeAttr_t;

enum {
    NVTX_SCHEMA_STATIC = 1,
    NVTX_SCHEMA_DYNAMIC = 2,
    NVTX_SCHEMA_UNION = 3,
    NVTX_SCHEMA_UNION_INTERNAL = 4,
};
#define NVTX_ID_STATIC_START (UINT64_C(1) << 24)
#define NVTX_ID_DYNAMIC_START (UINT64_C(1) << 32)

enum {
    NVTX_ENTRY_FLAG_POINTER = 1 << 1,
    NVTX_ENTRY_FLAG_OFFSET_FROM_BASE = 1 << 2,
    NVTX_ENTRY_FLAG_OFFSET_FROM_HERE = 1 << 3,
    NVTX_ENTRY_ARRAY_FIXED = 1 << 4,
    NVTX_ENTRY_ARRAY_ZERO_TERMINATED = 2 << 4,
    NVTX_ENTRY_ARRAY_LENGTH_INDEX = 3 << 4,
    NVTX_ENTRY_ARRAY_LENGTH_PAYLOAD = 4 << 4,
    NVTX_ENTRY_ARRAY_MASK = 7 << 4,
    NVTX_ENTRY_FLAG_DEEP_COPY = 1 << 8,
    NVTX_ENTRY_ROLE_MASK = 3 << 10,
    NVTX_ENTRY_ROLE_MESSAGE = 1 << 10,
};

enum {
    NVTX_ENTRY_CHAR = 1,
    NVTX_ENTRY_UCHAR,
    NVTX_ENTRY_SHORT,
    NVTX_ENTRY_USHORT,
    NVTX_ENTRY_INT,
    NVTX_ENTRY_UINT,
    NVTX_ENTRY_LONG,
    NVTX_ENTRY_ULONG,
    NVTX_ENTRY_LONGLONG,
    NVTX_ENTRY_ULONGLONG,
    NVTX_ENTRY_INT8,
    NVTX_ENTRY_UINT8,
    NVTX_ENTRY_INT16,
    NVTX_ENTRY_UINT16,
    NVTX_ENTRY_INT32,
    NVTX_ENTRY_UINT32,
    NVTX_ENTRY_INT64,
    NVTX_ENTRY_UINT64,
    NVTX_ENTRY_FLOAT,
    NVTX_ENTRY_DOUBLE,
    NVTX_ENTRY_LONGDOUBLE,
    NVTX_ENTRY_SIZE,
    NVTX_ENTRY_ADDRESS,
    NVTX_ENTRY_WCHAR,
    NVTX_ENTRY_CHAR8,
    NVTX_ENTRY_CHAR16,
    NVTX_ENTRY_CHAR32,
    NVTX_ENTRY_BYTE = 32,
    NVTX_ENTRY_INT128 = 33,
    NVTX_ENTRY_UINT128 = 34,
    NVTX_ENTRY_FLOAT16 = 42,
    NVTX_ENTRY_FLOAT32 = 43,
    NVTX_ENTRY_FLOAT64 = 44,
    NVTX_ENTRY_FLOAT128 = 45,
    NVTX_ENTRY_BF16 = 50,
    NVTX_ENTRY_TF32 = 52,
    NVTX_ENTRY_RANGE_ID = 67,
    NVTX_ENTRY_CATEGORY = 68,
    NVTX_ENTRY_COLOR_ARGB = 69,
    NVTX_ENTRY_SCOPE_ID = 70,
    NVTX_ENTRY_PID_UINT32 = 71,
    NVTX_ENTRY_PID_UINT64 = 72,
    NVTX_ENTRY_TID_UINT32 = 73,
    NVTX_ENTRY_TID_UINT64 = 74,
    NVTX_ENTRY_CSTRING = 75,
    NVTX_ENTRY_CSTRING_UTF8 = 76,
    NVTX_ENTRY_CSTRING_UTF16 = 77,
    NVTX_ENTRY_CSTRING_UTF32 = 78,
    NVTX_ENTRY_REGISTERED_STRING = 80,
    NVTX_ENTRY_UNION_SELECTOR = 100,
    NVTX_SCHEMA_ID_REFERENCED = 1022, /* only pointed into by others */
    NVTX_SCHEMA_ID_RAW = 1023,
};

#endif
