/* The input is a trace of the reader kineto, plain or gzipped. */
#include <stddef.h>
#include <stdint.h>

#include "fuzz_trace_json.h"
#include "read/kineto/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_input(ps_kineto_read_input, data, size);
}
