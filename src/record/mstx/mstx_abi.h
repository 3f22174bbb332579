/* mstx as its clients see it: types, numbers and the way in. Declared by hand; the names are those of its header. */
#ifndef PS_RECORD_MSTX_ABI_H
#define PS_RECORD_MSTX_ABI_H

#include <stdint.h>

enum { MSTX_SUCCESS = 0, MSTX_FAIL = 1 };

/* Whom mstxGetToolId names. 0x1000 to 0x1003 are Ascend's own tools. */
#define PS_MSTX_TOOL_ID UINT64_C(0x1100)

typedef uint64_t mstxRangeId; /* 0: not started */
typedef void *aclrtStream;
typedef struct mstxDomainRegistration_st *mstxDomainHandle_t; /* NULL: "default" */
typedef struct mstxMemHeap_st *mstxMemHeapHandle_t;

/* Tables of a client: one for each shared object that includes the header. */
enum {
    MSTX_MODULE_CORE = 1,
    MSTX_MODULE_CORE_DOMAIN = 2,
    MSTX_MODULE_CORE_MEM = 3,
};

enum { MSTX_CORE_MARK_A = 1, MSTX_CORE_RANGE_START_A, MSTX_CORE_RANGE_END, MSTX_CORE_GET_TOOL_ID };
enum {
    MSTX_DOMAIN_CREATE_A = 1,
    MSTX_DOMAIN_DESTROY,
    MSTX_DOMAIN_MARK_A,
    MSTX_DOMAIN_RANGE_START_A,
    MSTX_DOMAIN_RANGE_END
};
enum {
    MSTX_MEM_HEAP_REGISTER = 1,
    MSTX_MEM_HEAP_UNREGISTER,
    MSTX_MEM_REGIONS_REGISTER,
    MSTX_MEM_REGIONS_UNREGISTER
};

typedef void (*mstxFuncPointer)(void);
/* table[id] is the address of the client's pointer to that function. */
typedef mstxFuncPointer **mstxFuncTable;
/* *size: the highest id of the client's header, plus one. MSTX_FAIL: its header has no such module. */
typedef int (*mstxGetModuleFuncTableFunc)(int module, mstxFuncTable *table, unsigned *size);

#endif
