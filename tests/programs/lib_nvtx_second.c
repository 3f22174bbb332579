/* A library that uses NVTX beside its program, with a table of its own: the tool is initialised a second time. */
#include "nvtx_emulation.h"

int second_run(void);
int second_run(void) {
    int loaded = emu_load();
    if (loaded == 0) {
        return 0;
    }
    nvtxDomainHandle_t domain =
        EMU_CORE2(NVTX_CORE2_DomainCreateA, emu_domain_create_a)("shared domain");
    nvtxEventAttributes_t attr = emu_attr(NULL);
    attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attr.message.registered =
        EMU_CORE2(NVTX_CORE2_DomainRegisterStringA, emu_register_a)(domain, "second registered");
    (void)EMU_CORE2(NVTX_CORE2_DomainRangePushEx, emu_domain_push)(domain, &attr);
    (void)EMU_CORE(NVTX_CORE_RangePushA, emu_push_a)("second push");
    (void)EMU_CORE(NVTX_CORE_RangePop, emu_pop)();
    return 1 + EMU_CORE2(NVTX_CORE2_DomainRangePop, emu_domain_pop)(domain);
}
