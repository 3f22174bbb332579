/* What recorded events look like in memory and in the raw files, for those who write them (events.c, writer.c) and those
 * who read them (export/). Everything is in the byte order of the machine.
 *
 * FRAMEWORK/ of an output folder holds, until it is exported:
 *
 *     0.ring, 1.ring ...   one ring a thread, 0 shared under a lock: a header page, then slots
 *     events.spool         what the writer took out of the rings: a header, then blocks
 *
 * A ring is a stream of records, a record one or more slots. What a thread records is whole in its own ring: a text is
 * defined (PS_REC_TEXT) before its first use there. Shared things (domains, registered texts, metadata, clock anchors,
 * device times) go through ring 0. Positions in a ring are counted from its beginning and never wrap, so the spool and
 * the rest in the ring fit together exactly: the writer copies slots [tail, head) into a block that says where it began,
 * and only then moves tail. After a crash at any moment, slots are known from the spool, from the ring, or from both.
 *
 * `head` is moved, with release order, once a whole record is in its place: no block ends inside a record. The page cache
 * keeps all of this when a process is killed; nothing is promised when the machine loses power. */
#ifndef PS_RECORD_FORMAT_H
#define PS_RECORD_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

#define PS_RING_MAGIC 0x31474e4952535050u  /* "PPSRING1" */
#define PS_SPOOL_MAGIC 0x314c4f4f50535050u /* "PPSPOOL1" */
#define PS_BLOCK_MAGIC 0x4b4c4250u         /* "PBLK" */
#define PS_RECORD_FORMAT 2

/* The environment names a folder for links to the output folders of all recordings of a launch: `pipescope record` finds
 * them there, wherever programs write. */
#define PS_RECORD_PLACES_VARIABLE "PIPESCOPE_LAUNCH_DIR"
/* A name in that folder: a process forked while it recorded, and its child does not record. */
#define PS_RECORD_PLACES_FORKED "forked"
/* Names in that folder that begin so: recordings of which nothing is on a disk; where such a link leads is "<pid>: <why>". It goes
 * when there is a database. */
#define PS_RECORD_PLACES_LOST "lost-"

#define PS_RECORD_MAX_TEXT 4095 /* bytes of a message or name */
#define PS_RECORD_MAX_PAIR 8160 /* bytes of a key and its value: 255 slots */

typedef struct ps_slot {
    uint64_t ticks; /* when, in ticks of the recording's clock */
    uint64_t id;    /* by kind */
    uint64_t aux;   /* by kind */
    uint32_t
        text; /* 0 none; PS_TEXT_SHARED | id of PS_REC_SHARED_TEXT; else id of a PS_REC_TEXT of this ring */
    uint8_t kind; /* PS_REC_... */
    uint8_t
        n_more; /* slots behind this one that belong to the record (their bytes are no slots by themselves) */
    uint16_t domain; /* id of a PS_REC_DOMAIN, 0 "default" */
} ps_slot;

#define PS_TEXT_SHARED 0x80000000u

/* X(KIND, value): id | aux | text | what stands in the slots behind */
enum {
    PS_REC_NONE = 0,
    /* Definitions. The bytes of the text stand in the slots behind. */
    PS_REC_TEXT = 1,        /* id: number of the text in this ring | length in bytes | - */
    PS_REC_SHARED_TEXT = 2, /* ring 0. id | length | - */
    PS_REC_DOMAIN = 3,      /* ring 0. id of the domain | length of its name | - */
    PS_REC_META =
        4, /* ring 0. length of the key | length in all | - ; key, then JSON: of the user, later ones win */
    PS_REC_INFO = 5,   /* ring 0. the same, of ours: name, then text. Names: see PS_INFO_NAMES */
    PS_REC_STREAM = 6, /* ring 0. handle | length of the name | - */
    PS_REC_THREAD =
        7, /* what follows in this ring was recorded by thread: tid | length of its name | - */
    PS_REC_THREAD_NAME = 8, /* ring 0. tid | length | - : named later on */
    PS_REC_ANCHOR =
        9, /* ring 0. ticks | CLOCK_REALTIME ns | CLOCK_MONOTONIC ns | text: half width of the bracket, ns */

    /* What the program did. */
    PS_REC_MARK = 16,        /* event id | stream handle, 0 none | message */
    PS_REC_RANGE_START = 17, /* range id | stream handle, 0 none | message */
    PS_REC_RANGE_END =
        18, /* range id | 0 | - ; domain as given by the caller, PS_DOMAIN_ANY when it gave none */
    PS_REC_PUSH = 19, /* as RANGE_START; its end is a PS_REC_RANGE_END */
    PS_REC_OP_BEGIN =
        20, /* range id | stream handle | name ; one slot behind: text id of the shapes or 0 in its `text`,
                                of an operator of the backward pass the id of the forward one in its `id`, 1 in its `aux` for one
                                that stands for no kernel */
    PS_REC_STEP_BEGIN =
        21, /* number of the step, int64 | stream handle or 0 | - ; on a stream one slot behind: in its `id` the
                                id of its device times */
    PS_REC_STEP_END = 22, /* number of the step | 1 when the recording ended in it, else 0 | - */
    PS_REC_NVTX =
        23, /* directly before the mark or start it belongs to. category (low 32), colour (high 32) |
                                payload type (low 32), form (high 32) | payload as JSON text or 0 */

    /* From the device, ring 0. Times are ns of CLOCK_MONOTONIC, `ticks` the start and `aux` the end; `id` by kind. The slot
     * behind is a ps_device_more. */
    PS_REC_DEVICE = 32, /* range or event id: where it lay on the device */
    PS_REC_KERNEL = 33, /* correlation | text: name */
    PS_REC_MEMCPY = 34, /* correlation */
    PS_REC_MEMSET = 35, /* correlation */
    PS_REC_API =
        36, /* correlation | text: name of the driver or runtime call; more.thread says who */
    PS_REC_DEVICE_ANCHOR =
        37, /* `ticks` host CLOCK_MONOTONIC ns, aux the device's own ns, id half width ns */
    PS_REC_CORRELATE = 38, /* external correlation: correlation | range id */
    PS_REC_OVERHEAD = 39,  /* time CUPTI itself took: 0; more.what its kind, more.thread whose */
    PS_REC_SYNC = 40,      /* a call that waited for the device: correlation; more.what its type */
    PS_REC_GRAPH = 41 /* a replay of a CUDA graph as a whole: correlation; more.what its number */
};

#define PS_DOMAIN_ANY 0xffffu

/* Bit of range ids: the device hears of the range: it has a stream, so that a device time is to be expected for it, or its domain asks
 * for its kernels (option `correlate`). */
#define PS_RANGE_ON_DEVICE (UINT64_C(1) << 30)

typedef struct ps_device_more { /* in the place of a slot */
    uint32_t device;
    uint32_t context;
    uint64_t stream; /* handle for PS_REC_DEVICE, CUPTI's number for the others */
    uint64_t bytes;  /* copied or set; for kernels blocks (low 32), threads of a block (high 32) */
    uint32_t thread; /* tid of the caller, 0 unknown */
    uint32_t what;   /* copy kind of CUPTI; for kernels graph node or 0; number of the graph */
} ps_device_more;

/* Names of PS_REC_INFO, all of them texts: "session" is a JSON object with version, rank, worker, host, pid, launch, level,
 * config; "backend", "device" ({"id":0,"name":"..."}), "clock" (JSON), "schedule" (JSON), "nvtx_categories"
 * ({"domain": {"1": "name"}}), "environment" (JSON objects, one or more), "clock_offset" (JSON, one for each measurement:
 * session_clock.c), "overhead_self_test" (JSON), "stop" (JSON, written when recording was stopped in order: its absence says that the process
 * died). */

/* --- ring ---------------------------------------------------------------------------------------------------------- */

#define PS_RING_HEADER_BYTES 4096

enum { PS_MAX_RINGS = 128 }; /* of a recording */

enum {
#define X(name, key, text, lost) PS_DROP_##name,
#include "record/ring/drops.def"
#undef X
    PS_N_DROPS,
    PS_MAX_DROPS = 64 /* what the format has room for: a new kind changes no places */
};

typedef struct ps_ring_header {
    uint64_t magic;
    uint32_t format, number;                           /* of the ring; its file is <number>.ring */
    uint64_t n_slots;                                  /* a power of two */
    uint64_t session;                                  /* the same in all files of a recording */
    _Alignas(64) _Atomic uint64_t head;                /* slots published, by the producer */
    _Alignas(64) _Atomic uint64_t tail;                /* slots in the spool, by the writer */
    _Alignas(64) _Atomic uint64_t drops[PS_MAX_DROPS]; /* by the producer */
    _Atomic uint64_t n_ranges, n_marks, n_ops, n_device;
    /* By the writer: below `tail`, but in the memory of the process only (a full disk), and so lost when it dies. */
    _Atomic uint64_t held_slots, held_events;
} ps_ring_header;

_Static_assert(sizeof(ps_slot) == 32, "a slot is half a cache line");
_Static_assert(sizeof(ps_device_more) == sizeof(ps_slot), "stands in the place of a slot");
_Static_assert(sizeof(ps_ring_header) <= PS_RING_HEADER_BYTES, "the header is one page");
_Static_assert((int)PS_N_DROPS <= (int)PS_MAX_DROPS, "each kind has a place");

/* --- spool --------------------------------------------------------------------------------------------------------- */

enum { PS_CLOCK_MONOTONIC = 0, PS_CLOCK_TSC = 1, PS_CLOCK_ARM = 2 };

typedef struct ps_spool_header {
    uint64_t magic;
    uint32_t format, clock; /* PS_CLOCK_...: what ticks are */
    uint64_t session;
    uint32_t pid;
    int32_t rank; /* -1 unknown */
    char boot_id[40];
} ps_spool_header;

typedef struct ps_block_header { /* then n_slots slots */
    uint32_t magic, ring;
    uint64_t first; /* position of the first slot in its ring */
    uint64_t n_slots;
    uint64_t
        drops; /* all that the ring had counted by then: losses survive a ring that is reused */
} ps_block_header;

#endif
