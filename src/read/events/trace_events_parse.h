/* One stretch of the events array: from text to a ps_batch_build. Internal to trace_events.
 *
 * A stretch is any piece of the input that begins where the caller says what is expected. Parsing stops at its end, at
 * an event that goes on behind it, or behind the bracket that closes the array. Nothing of an event that is not
 * complete is kept. */
#ifndef PS_READ_TRACE_EVENTS_PARSE_H
#define PS_READ_TRACE_EVENTS_PARSE_H

#include "base/diag.h"
#include "base/json.h"
#include "read/events/trace_events_batch.h"
#include "read/events/trace_events_shapes.h"

#define PS_EVENT_MAX_BYTES ((size_t)64 << 20)

/* What stands next in the array. */
typedef enum ps_expect {
    PS_EXPECT_FIRST,   /* an element or the end */
    PS_EXPECT_ELEMENT, /* a comma was read */
    PS_EXPECT_COMMA,   /* an element was read: a comma or the end */
    PS_EXPECT_RESYNC   /* lost: the next thing that is certainly an event, or the end */
} ps_expect;

typedef enum ps_stretch_end {
    PS_STRETCH_CUT, /* more text is wanted from `at` on; all is read when `at` is the end */
    PS_STRETCH_ARRAY_END,
    PS_STRETCH_LONG, /* an event of more than PS_EVENT_MAX_BYTES */
    PS_STRETCH_NOMEM,
    PS_STRETCH_NO_EVENTS /* the first element is no object */
} ps_stretch_end;

/* Oddities of the event being read: they count when it is kept. */
enum { PS_PENDING_PLACES = 16 };
typedef struct ps_pending_oddity {
    ps_oddity kind;
    uint64_t offset;
} ps_pending_oddity;
typedef struct ps_pending_oddities {
    size_t n;
    ps_pending_oddity places[PS_PENDING_PLACES];
    bool any_beyond;
    uint32_t beyond[PS_N_ODDITIES]; /* those that found no place */
} ps_pending_oddities;

typedef struct ps_stretch ps_stretch;

/* Which way of looking at many bytes at once. */
typedef enum ps_simd {
    PS_SIMD_BEST,
    PS_SIMD_PLAIN,
    PS_SIMD_AVX2,
    PS_SIMD_NEON,
    PS_SIMD_NONE
} ps_simd;

/* Reads events as long as they are of known shapes and nothing about them is odd. It leaves `at` and `expect` as
 * ps_stretch_run does, before the first one that is not, and accepts nothing that the long way would take otherwise. */
typedef void ps_stretch_fast(ps_stretch *x);

struct ps_stretch {
    const ps_event_schema *schema;
    ps_shapes *shapes; /* of the thread that works on it; NULL: every event is read the long way */
    bool is_object;    /* the wrapped form: members follow the array */
    bool at_eof;       /* nothing follows the stretch */
    bool is_first;     /* nothing was read of the array so far */
    const char *begin, *at, *end;
    uint64_t offset; /* of `begin` in the input */
    ps_expect expect;
    ps_batch_build batch;
    ps_diag diag;
    ps_pending_oddities pending;
    uint64_t n_tried; /* events begun, for ps_key_seen */
    /* While PS_EXPECT_RESYNC, and to be carried on with it: where that began, and bytes looked at behind brackets that
     * did not close the array. */
    uint64_t lost_offset, n_looked;
    bool nomem;
    ps_stretch_fast *fast; /* NULL without `shapes` */
};

/* NULL when this machine or build has none such. */
ps_stretch_fast *ps_stretch_fast_of(ps_simd simd);
ps_stretch_fast *ps_stretch_fast_plain(void);
ps_stretch_fast *ps_stretch_fast_avx2(void);
ps_stretch_fast *ps_stretch_fast_neon(void);

/* False when memory is out. */
bool ps_stretch_init(ps_stretch *x, const ps_event_schema *schema);
void ps_stretch_fini(ps_stretch *x);

/* Reads [at, end), behind which PS_JSON_PAD zero bytes lie; `at`, `expect` are moved on. */
ps_stretch_end ps_stretch_run(ps_stretch *x);

/* Of a stretch that is lost: whether the bracket at p closes the array of events. */
ps_json_status ps_stretch_look_behind(ps_stretch *x, const char *p);

/* --- for the fast way ------------------------------------------------------------------------------------ */

/* Notes an oddity of the event being read; PS_JSON_ODD_* bits of a text. */
void ps_stretch_odd(ps_stretch *x, ps_oddity kind, const char *p);
void ps_stretch_odd_text(ps_stretch *x, unsigned odds, const char *p);
void ps_stretch_commit(ps_stretch *x);
void ps_stretch_forget(ps_stretch *x);

/* The quoted id that ends before the quote at s + n. */
void ps_stretch_set_id(ps_stretch *x, ps_event *e, ps_field f, const char *s, size_t n,
                       bool has_escape);

#endif
