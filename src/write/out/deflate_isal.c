#include "write/out/deflate.h"

#include <isa-l/igzip_lib.h>

#include "base/alloc.h"

struct ps_deflate {
    struct isal_zstream stream;
};

ps_deflate *ps_deflate_new(void) {
    ps_deflate *z = ps_calloc(1, sizeof *z);
    if (z == NULL) {
        return NULL;
    }
    /* At level 0: at 1 and 2 the bytes depend on where the stream lies in memory (ISA-L 2.30), so that one run of some thousands writes another
     * file. 0 is as fast, its files are a fifth larger; 3 takes five times as long. */
    isal_deflate_init(&z->stream);
    z->stream.gzip_flag = IGZIP_GZIP;
    return z;
}

void ps_deflate_free(ps_deflate *z) {
    ps_free(z);
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
