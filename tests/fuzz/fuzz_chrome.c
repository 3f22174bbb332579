/* The input is a trace of the reader chrome, plain or gzipped. */
#include <stddef.h>
#include <stdint.h>

#include "fuzz_trace_json.h"
#include "read/chrome/chrome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_input(ps_chrome_read_input, data, size);
}
