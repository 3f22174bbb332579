/* A partial of some analysis as bytes, without its checksum, as if somebody had made one that fits. The first byte chooses the analysis,
 * and whether it is a partial or what a reduce left. What can be read is written, read and written again: the same bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct kind {
    const ps_analysis *analysis;
    ps_archive_value *visit;
    void (*free_value)(void *value);
} kind;

static kind choose(uint8_t number) {
    size_t n = 0;
    while (ps_analyses()[n] != NULL) {
        n++;
    }
    const ps_analysis *a = ps_analyses()[number % 128 % n];
    return number >= 128 && a->archive_shared != NULL ? (kind){a, a->archive_shared, a->free_shared}
                                                      : (kind){a, a->archive, a->free_partial};
}

static void write_again(const kind *k, void *value) {
    ps_buf once;
    ps_buf twice;
    void *copy = NULL;
    ps_buf_init(&once, 0);
    ps_buf_init(&twice, 0);
    if (ps_archive_write_value(k->visit, value, &once, NULL) != PS_OK ||
        ps_archive_read_value(k->visit, &copy, once.data, once.len, NULL) != PS_OK ||
        ps_archive_write_value(k->visit, copy, &twice, NULL) != PS_OK || once.len != twice.len ||
        memcmp(once.data, twice.data, once.len) != 0) {
        abort();
    }
    if (copy != NULL) {
        k->free_value(copy);
    }
    ps_buf_fini(&once);
    ps_buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    kind k = choose(data[0]);
    void *value = NULL;
    if (ps_archive_read_bare_value(k.visit, &value, data + 1, size - 1, NULL) == PS_OK) {
        write_again(&k, value);
    }
    if (value != NULL) {
        k.free_value(value);
    }
    return 0;
}
