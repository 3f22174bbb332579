#include "base/inflate.h"

#include "base/alloc.h"
#include "base/inflate_codec.h"

struct ps_inflate {
    ps_inflate_codec *codec;
    bool is_raw;
    bool between;     /* a member is complete, the next has not begun */
    unsigned n_magic; /* bytes of the next member's mark seen */
};

static const uint8_t MAGIC[2] = {0x1F, 0x8B};

static ps_inflate *new_inflate(bool is_raw) {
    ps_inflate *z = ps_calloc(1, sizeof *z);
    if (z != NULL) {
        z->is_raw = is_raw;
        z->codec = ps_inflate_codec_new(is_raw);
    }
    if (z != NULL && z->codec == NULL) {
        ps_inflate_free(z);
        return NULL;
    }
    return z;
}

ps_inflate *ps_inflate_new(void) {
    return new_inflate(false);
}

ps_inflate *ps_inflate_new_raw(void) {
    return new_inflate(true);
}

void ps_inflate_free(ps_inflate *z) {
    if (z != NULL) {
        ps_inflate_codec_free(z->codec);
        ps_free(z);
    }
}

bool ps_inflate_may_end(const ps_inflate *z) {
    return z->between && z->n_magic == 0;
}

/* Gives the decoder the bytes [in, in + n). */
static ps_inflate_end decode_inflate(ps_inflate *z, const uint8_t *in, size_t n, size_t *n_left,
                                     uint8_t **out, size_t *n_out) {
    enum { MOST = 1 << 30 };
    uint32_t n_in = n < MOST ? (uint32_t)n : MOST;
    uint32_t room = *n_out < MOST ? (uint32_t)*n_out : MOST;
    const uint32_t given = n_in;
    const uint32_t had_room = room;
    ps_inflate_end end = ps_inflate_codec_run(z->codec, in, &n_in, *out, &room);
    *n_left = n - (given - n_in);
    *out += had_room - room;
    *n_out -= had_room - room;
    z->between = end == PS_INFLATE_DONE;
    return end == PS_INFLATE_DONE ? PS_INFLATE_GOES_ON : end;
}

/* Another member may follow this one: its mark is given to the decoder when both bytes of it are there. */
static ps_inflate_end begin_member(ps_inflate *z, uint8_t **out, size_t *n_out) {
    size_t n_left = 0;
    ps_inflate_codec_begin(z->codec);
    z->n_magic = 0;
    return decode_inflate(z, MAGIC, sizeof MAGIC, &n_left, out, n_out);
}

ps_inflate_end ps_inflate_run(ps_inflate *z, const uint8_t **in, size_t *n_in, uint8_t **out,
                              size_t *n_out) {
    for (;;) {
        while (z->between && !z->is_raw && *n_in > 0) {
            if (**in != MAGIC[z->n_magic]) {
                return PS_INFLATE_DONE;
            }
            (*in)++;
            (*n_in)--;
            ps_inflate_end end =
                ++z->n_magic == sizeof MAGIC ? begin_member(z, out, n_out) : PS_INFLATE_GOES_ON;
            if (end != PS_INFLATE_GOES_ON) {
                return end;
            }
        }
        if (z->between || *n_out == 0) {
            return z->between && z->is_raw ? PS_INFLATE_DONE : PS_INFLATE_GOES_ON;
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
