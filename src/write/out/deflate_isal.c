#include "write/out/deflate.h"

#include <isa-l/igzip_lib.h>

#include "base/alloc.h"

struct ps_deflate {
    struct isal_zstream stream;
    uint8_t *level_buffer;
};

ps_deflate *ps_deflate_new(void) {
    ps_deflate *z = ps_calloc(1, sizeof *z);
    if (z == NULL) {
        return NULL;
    }
    z->level_buffer = ps_alloc(ISAL_DEF_LVL1_DEFAULT);
    if (z->level_buffer == NULL) {
        ps_free(z);
        return NULL;
    }
    isal_deflate_init(&z->stream);
    z->stream.level = 1;
    z->stream.level_buf = z->level_buffer;
    z->stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z->stream.gzip_flag = IGZIP_GZIP;
    return z;
}

void ps_deflate_free(ps_deflate *z) {
    if (z != NULL) {
        ps_free(z->level_buffer);
        ps_free(z);
    }
}

int ps_deflate_run(ps_deflate *z, const uint8_t **in, uint32_t *n_in, bool is_end, uint8_t *out,
                   uint32_t *n_out) {
    z->stream.next_in = (uint8_t *)(uintptr_t)*in; /* the library does not write through it */
    z->stream.avail_in = *n_in;
    z->stream.end_of_stream = is_end ? 1 : 0;
    z->stream.next_out = out;
    z->stream.avail_out = *n_out;
    int result = isal_deflate(&z->stream);
    *in = z->stream.next_in; /* nothing stays nothing: no address to add to */
    *n_in = z->stream.avail_in;
    *n_out = z->stream.avail_out;
    return result == COMP_OK ? 0 : result;
}
