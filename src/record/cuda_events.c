#include "record/cuda_driver.h"
#include "record/device_gpu.h"
#include "record/log.h"
static bool cuda_open(const ps_rec_config *config) {
    (void)config;
    return false;
}
static void nothing(void) {}
static void noevent(uint64_t id, void *stream) {
    (void)id;
    (void)stream;
}
void ps_cuda_work(uint32_t wishes) {
    (void)wishes;
}
const ps_rec_device ps_device_cuda = {
    .name = "cuda_event", .open = cuda_open, .mark = noevent, .start = noevent, .forget = nothing};
