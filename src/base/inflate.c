#include "base/inflate.h"

#include <isa-l/igzip_lib.h>

#include "base/alloc.h"

struct ps_inflate {
    struct inflate_state state;
    bool between;     /* a member is complete, the next has not begun */
    unsigned n_magic; /* bytes of the next member's mark seen */
};

static const uint8_t MAGIC[2] = {0x1F, 0x8B};

static void begin_member(ps_inflate *z) {
    isal_inflate_reset(&z->state);
    z->state.crc_flag = ISAL_GZIP;
    z->between = false;
    z->n_magic = 0;
}

ps_inflate *ps_inflate_new(void) {
    ps_inflate *z = ps_alloc(sizeof *z);
    if (z != NULL) {
        isal_inflate_init(&z->state);
        begin_member(z);
    }
    return z;
}

void ps_inflate_free(ps_inflate *z) {
    ps_free(z);
}

bool ps_inflate_may_end(const ps_inflate *z) {
    return z->between && z->n_magic == 0;
}

/* Gives the decoder the bytes [in, in + n). */
static ps_inflate_end decode_inflate(ps_inflate *z, const uint8_t *in, size_t n, size_t *n_left,
                                     uint8_t **out, size_t *n_out) {
    enum { MOST = 1 << 30 };
    size_t n_in = n < MOST ? n : MOST;
    size_t room = *n_out < MOST ? *n_out : MOST;
    z->state.next_in = (uint8_t *)(uintptr_t)in; /* only read */
    z->state.avail_in = (uint32_t)n_in;
    z->state.next_out = *out;
    z->state.avail_out = (uint32_t)room;
    int rc = isal_inflate(&z->state);
    size_t put = room - z->state.avail_out;
    *n_left = n - n_in + z->state.avail_in;
    *out += put;
    *n_out -= put;
    if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW) {
        return PS_INFLATE_DAMAGED;
    }
    z->between = z->state.block_state == ISAL_BLOCK_FINISH;
    return PS_INFLATE_GOES_ON;
}

ps_inflate_end ps_inflate_run(ps_inflate *z, const uint8_t **in, size_t *n_in, uint8_t **out,
                              size_t *n_out) {
    for (;;) {
        while (z->between && *n_in > 0) {
            if (**in != MAGIC[z->n_magic]) {
                return PS_INFLATE_DONE;
            }
            (*in)++;
            (*n_in)--;
            if (++z->n_magic == 2) {
                size_t n_left = 0;
                begin_member(z);
                if (decode_inflate(z, MAGIC, 2, &n_left, out, n_out) == PS_INFLATE_DAMAGED) {
                    return PS_INFLATE_DAMAGED;
                }
            }
        }
        if (z->between || *n_out == 0) {
            return PS_INFLATE_GOES_ON;
        }
        size_t n_left = 0;
        ps_inflate_end end = decode_inflate(z, *in, *n_in, &n_left, out, n_out);
        *in += *n_in - n_left;
        *n_in = n_left;
        if (end != PS_INFLATE_GOES_ON || !z->between) {
            return end;
        }
    }
}
