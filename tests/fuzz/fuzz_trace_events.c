/* A document read the long way in one piece says what it holds; read any other way, in blocks of a few bytes, by
 * several threads, with each set of instructions, it must say the same. The first two bytes choose. */
#include <stdint.h>
#include <string.h>

#include "../support/events_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const events_dump *expected, const uint8_t *data, size_t size,
                    const ps_event_schema *schema, ps_event_tuning tuning) {
    static ps_diag diag;
    events_dump d;
    ps_buf_init(&d.out, 0);
    ps_code code = dump_document(&d, data, size, schema, &tuning, &diag);
    if (code != PS_OK && code != PS_SYNTAX && code != PS_RANGE) {
        __builtin_trap();
    }
    if (strcmp(ps_buf_str(&d.out), ps_buf_str(&expected->out)) != 0) {
        __builtin_trap();
    }
    ps_buf_fini(&d.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const WANTED[] = {"k", "correlation", NULL};
    static ps_diag diag;
    if (size < 2) {
        return 0;
    }
    uint8_t way = data[0];
    size_t block = 1 + data[1] % 100;
    const ps_event_schema schema = {.all_args = way % 3 == 0,
                                    .wanted = way % 3 == 1 ? WANTED : NULL};
    const ps_event_tuning whole = {.n_threads = 1, .simd = PS_SIMD_NONE};
    data += 2;
    size -= 2;
    events_dump expected;
    ps_buf_init(&expected.out, 0);
    (void)dump_document(&expected, data, size, &schema, &whole, &diag);
    compare(&expected, data, size, &schema, (ps_event_tuning){.n_threads = 1});
    compare(&expected, data, size, &schema,
            (ps_event_tuning){.n_threads = 1, .simd = PS_SIMD_PLAIN, .block_bytes = block * 16});
    compare(&expected, data, size, &schema,
            (ps_event_tuning){.n_threads = 1, .block_bytes = block});
    if (way % 16 == 0) { /* threads are slow to start */
        compare(&expected, data, size, &schema,
                (ps_event_tuning){.n_threads = 3, .block_bytes = block});
    }
    ps_buf_fini(&expected.out);
    return 0;
}
