/* A program that links the recorder in the place of libms_tools_ext.so.
 *
 * link: pipescope-record */
#include <stdio.h>

#include "record/mstx/mstx_abi.h"

extern void mstxMarkA(const char *message, aclrtStream stream);
extern mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
extern void mstxRangeEnd(mstxRangeId id);
extern void mstxGetToolId(uint64_t *id);
extern mstxDomainHandle_t mstxDomainCreateA(const char *name);
extern void mstxDomainDestroy(mstxDomainHandle_t domain);
extern void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
extern mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                         aclrtStream stream);
extern void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);
extern void *mstxMemHeapRegister(mstxDomainHandle_t domain, const void *desc);
extern void mstxMemHeapUnregister(mstxDomainHandle_t domain, void *heap);
extern void mstxMemRegionsRegister(mstxDomainHandle_t domain, const void *desc);
extern void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const void *desc);

int main(void) {
    uint64_t tool = 0;
    mstxGetToolId(&tool);
    mstxGetToolId(NULL);
    mstxDomainHandle_t domain = mstxDomainCreateA("linked");
    mstxMarkA("linked mark", NULL);
    mstxRangeEnd(mstxRangeStartA("linked range", (void *)1));
    mstxDomainMarkA(domain, "domain mark", NULL);
    mstxDomainRangeEnd(domain, mstxDomainRangeStartA(domain, "domain range", NULL));
    mstxDomainDestroy(domain);
    mstxMemHeapUnregister(NULL, mstxMemHeapRegister(NULL, NULL));
    mstxMemRegionsRegister(NULL, NULL);
    mstxMemRegionsUnregister(NULL, NULL);
    printf("tool %llx\n", (unsigned long long)tool);
    return 0;
}
