/* The hot path. Every event goes the same way:
 *
 *     enter   is anything recorded; this thread's structure; busy = 1; is it still recorded
 *     judge   the message
 *     put     room first: what it takes, the ends of all open ranges of the lane, one more for the end of this one;
 *             then definitions and the event's slot, published at once
 *     leave   busy = 0
 *
 * A start reads the clock last and an end first, so that a range does not contain the recorder's own time. */
#include "record/core/events.h"

#include <errno.h>
#include <string.h>

#include "record/core/device.h"
#include "record/core/put.h"
#include "record/core/threads.h"
#include "record/core/threads_shared.h"
#include "record/ring/clock.h"
#include "record/ring/wake.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

atomic_bool ps_mstx_strict;

/* What `busy` says. */
enum { BUSY_WRITING = 1, BUSY_DEVICE = 2 };

/* --- enter and leave ------------------------------------------------------------------------------------------------- */

/* The thread's structure for a first event, or NULL when there is none to write to. */
static __attribute__((noinline, cold)) ps_rec_thread *enter_slow(ps_rec_thread *me,
                                                                 uint32_t generation) {
    if (me != NULL && atomic_load_explicit(&me->busy, memory_order_relaxed) != 0) {
        ps_thread_count_nested();
        return NULL;
    }
    return ps_thread_attach(generation);
}

static inline void set_busy(ps_rec_thread *me, uint32_t value) {
    atomic_store_explicit(&me->busy, value, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void clear_busy(ps_rec_thread *me) {
    atomic_store_explicit(&me->busy, 0, memory_order_release);
}

/* Where the kernel has no membarrier, store and load are both in the one order of all such accesses. */
static __attribute__((noinline, cold)) uint32_t recording_fenced(ps_rec_thread *me) {
    (void)atomic_exchange_explicit(&me->busy, BUSY_WRITING, memory_order_seq_cst);
    return atomic_load_explicit(ps_recording, memory_order_seq_cst);
}

static inline ps_rec_thread *enter_event(void) {
    uint32_t generation = atomic_load_explicit(ps_recording, memory_order_relaxed);
    if (generation == 0) {
        return NULL;
    }
    ps_rec_thread *me = ps_this_thread;
    if (UNLIKELY(me == NULL || me->generation != generation ||
                 atomic_load_explicit(&me->busy, memory_order_relaxed) != 0)) {
        me = enter_slow(me, generation);
        if (me == NULL) {
            return NULL;
        }
    }
    set_busy(me, BUSY_WRITING);
    generation = UNLIKELY(me->fences) ? recording_fenced(me)
                                      : atomic_load_explicit(ps_recording, memory_order_relaxed);
    if (UNLIKELY(generation != me->generation)) {
        clear_busy(me);
        return NULL;
    }
    ps_lane *lane;
    if (UNLIKELY(me->lane->number == 0) && !ps_lane_shared_lock(&lane)) {
        ps_thread_count_nested();
        clear_busy(me);
        return NULL;
    }
    return me;
}

/* The lane is not written to any more; the event goes on. */
static inline void done_writing(ps_rec_thread *me) {
    if (UNLIKELY(me->lane->number == 0)) {
        ps_lane_shared_unlock();
    }
}

static inline void leave(ps_rec_thread *me) {
    done_writing(me);
    clear_busy(me);
}

/* --- the device ------------------------------------------------------------------------------------------------------ */

/* DEVICE_ASKS: a start in a domain that asks for its kernels. */
typedef enum device_call {
    DEVICE_MARK,
    DEVICE_START,
    DEVICE_ASKS,
    DEVICE_END,
    DEVICE_STEP
} device_call;

static __attribute__((noinline)) void call_device(ps_rec_thread *me, device_call what, uint64_t id,
                                                  void *stream) {
    const ps_rec_device *device = atomic_load_explicit(&ps_device, memory_order_acquire);
    int error = errno;
    set_busy(me, BUSY_DEVICE);
    if (what == DEVICE_MARK && device->mark != NULL) {
        device->mark(id, stream);
    } else if (what == DEVICE_START || what == DEVICE_ASKS) {
        if (stream != NULL && device->start != NULL) {
            device->start(id, stream);
        }
        if (what == DEVICE_ASKS && device->enter != NULL) {
            device->enter(id);
        }
    } else if (what == DEVICE_END && device->end != NULL) {
        device->end(id);
    } else if (what == DEVICE_STEP && device->step != NULL) {
        device->step();
    }
    errno = error;
}

/* Ends the event, with the device's part when it has one. */
static inline void leave_with(ps_rec_thread *me, device_call what, uint64_t id, void *stream) {
    done_writing(me);
    if ((id & PS_RANGE_ON_DEVICE) != 0) {
        call_device(me, what, id, stream);
    }
    clear_busy(me);
}

/* --- texts ----------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) bool refuse(ps_rec_thread *me) {
    ps_ring_count_drop(&me->lane->ring, PS_DROP_BAD_MESSAGE);
    return false;
}

static __attribute__((noinline)) bool judge_long(ps_rec_thread *me, ps_text *text) {
    enum { MSTX_LIMIT = 156 };
    if (!text->check) {
        if (text->length > PS_RECORD_MAX_TEXT) {
            text->length = PS_RECORD_MAX_TEXT;
            ps_ring_count_drop(&me->lane->ring, PS_DROP_LONG_MESSAGE);
        }
        return true;
    }
    if (text->length > PS_RECORD_MAX_TEXT) {
        return refuse(me);
    }
    if (text->length > MSTX_LIMIT) {
        if (atomic_load_explicit(&ps_mstx_strict, memory_order_relaxed)) {
            return refuse(me);
        }
        ps_ring_count_drop(&me->lane->ring, PS_DROP_LONG_MESSAGE);
    }
    return true;
}

/* Whether an event with this message is recorded; cuts what is too long. */
static inline bool judge_event(ps_rec_thread *me, ps_text *text) {
    if (text->shared != 0) {
        return true;
    }
    if (UNLIKELY(text->bytes == NULL || text->length == 0)) {
        return refuse(me);
    }
    if (text->check) {
        char first = text->bytes[0];
        if (UNLIKELY(first == '=' || first == '+' || first == '-' || first == '@')) {
            return refuse(me);
        }
    }
    return LIKELY(text->length <= 156) || judge_long(me, text);
}

/* The most slots that defining the text takes. */
static inline uint64_t text_need(const ps_text *text) {
    return text->shared != 0 || text->length == 0 ? 0 : 1 + ps_text_slots(text->length);
}

/* Writes a definition to ring 0, where this recording has not seen it yet. Without room it is tried again at its next use. */
static __attribute__((noinline, cold)) void define_shared(ps_rec_thread *me, uint8_t kind,
                                                          uint32_t id, const char *text,
                                                          size_t length,
                                                          _Atomic uint32_t *defined) {
    ps_lane *lane = me->lane;
    bool own = lane->number == 0; /* then its lock is held already */
    if (!own && (!ps_lane_shared_lock(&lane) || lane == NULL)) {
        return;
    }
    uint64_t need = 1 + ps_text_slots(length);
    if (ps_lane_has(lane, need + ps_lane_open(lane) + 1)) {
        ps_slot head = {.kind = kind, .id = id, .aux = length};
        ps_lane_publish(lane, ps_put_definition(&lane->ring, 0, head, text, length));
        atomic_store_explicit(defined, me->generation, memory_order_release);
    }
    if (!own) {
        ps_lane_shared_unlock();
    }
}

static inline void need_domain(ps_rec_thread *me, const ps_record_domain *domain) {
    _Atomic uint32_t *defined = &ps_domain_defined[domain->id];
    if (domain->id != 0 &&
        UNLIKELY(atomic_load_explicit(defined, memory_order_relaxed) != me->generation)) {
        define_shared(me, PS_REC_DOMAIN, domain->id, domain->name, domain->length, defined);
    }
}

static inline void need_shared_text(ps_rec_thread *me, const ps_text *text) {
    if (text->shared == 0) {
        return;
    }
    _Atomic uint32_t *defined = ps_shared_text_defined(text->shared);
    if (defined != NULL &&
        UNLIKELY(atomic_load_explicit(defined, memory_order_relaxed) != me->generation)) {
        size_t length;
        const char *bytes = ps_shared_text_at(text->shared, &length);
        define_shared(me, PS_REC_SHARED_TEXT, text->shared, bytes, length, defined);
    }
}

/* The number of the text for a slot; defines it at *n when it is new. */
static inline uint32_t put_event_text(ps_lane *lane, const ps_text *text, uint64_t *n) {
    if (text->shared != 0) {
        return PS_TEXT_SHARED | text->shared;
    }
    if (text->length == 0) {
        return 0;
    }
    bool is_new;
    uint32_t id = ps_intern_text(&lane->texts, text->bytes, text->length, &is_new);
    if (is_new) {
        ps_slot head = {.kind = PS_REC_TEXT, .id = id, .aux = text->length};
        *n += ps_put_definition(&lane->ring, *n, head, text->bytes, text->length);
    }
    return id;
}

/* --- putting an event ------------------------------------------------------------------------------------------------ */

/* Slots for saying which thread the next record is of: usually none, the ring has seen it. */
static inline uint64_t intro_need(const ps_rec_thread *me, const ps_lane *lane) {
    return LIKELY(lane->writer_tid == me->tid) ? 0 : 2;
}

static inline uint64_t put_intro(ps_rec_thread *me, ps_lane *lane) {
    if (LIKELY(lane->writer_tid == me->tid)) {
        return 0;
    }
    lane->writer_tid = me->tid;
    size_t length = strnlen(me->name, sizeof me->name);
    ps_slot head = {
        .kind = PS_REC_THREAD, .ticks = ps_clock_ticks(me->clock), .id = me->tid, .aux = length};
    return ps_put_definition(&lane->ring, 0, head, me->name, length);
}

static __attribute__((noinline)) uint64_t put_nvtx(ps_lane *lane, const ps_nvtx_extra *extra,
                                                   uint64_t n, ps_text *payload) {
    uint32_t text = put_event_text(lane, payload, &n);
    *ps_ring_slot(&lane->ring, n) =
        (ps_slot){.kind = PS_REC_NVTX,
                  .id = extra->category | (uint64_t)extra->colour << 32,
                  .aux = extra->payload_type | (uint64_t)extra->form << 32,
                  .text = text};
    return n + 1;
}

static inline ps_text payload_of(ps_rec_thread *me, const ps_nvtx_extra *extra) {
    ps_text payload = {.bytes = extra->payload,
                       .length = extra->payload != NULL ? extra->payload_length : 0};
    if (payload.length > PS_RECORD_MAX_TEXT) { /* a part of a JSON text is none */
        payload.length = 0;
        ps_ring_count_drop(&me->lane->ring, PS_DROP_LONG_MESSAGE);
    }
    return payload;
}

static __attribute__((noinline, cold)) uint64_t full(ps_lane *lane) {
    ps_ring_count_drop(&lane->ring, atomic_load_explicit(&ps_full_drop, memory_order_relaxed));
    ps_wake_writer();
    return 0;
}

static inline uint64_t new_id(ps_rec_thread *me, bool on_device) {
    if (UNLIKELY(me->next_id == me->end_id)) {
        ps_thread_more_ids(me);
    }
    return ps_range_id(me->next_id++, on_device);
}

/* What only operators have. */
typedef struct operator_part {
    ps_text shapes;
    uint64_t forward; /* 0 none */
    bool host_only;   /* stands for no kernel */
} operator_part;

/* Returns the event's id, 0 when it was dropped. `opens`: a range, which must find room for its end. `op`: NULL for what is no operator.
 * Inlined, so that kind and the presence of parts are constants. */
static inline __attribute__((always_inline)) uint64_t
put_event(ps_rec_thread *me, uint8_t kind, bool opens, const ps_record_domain *domain,
          const ps_text *text, const operator_part *op, void *stream, bool asks,
          const ps_nvtx_extra *extra) {
    ps_lane *lane = me->lane;
    need_domain(me, domain);
    need_shared_text(me, text);
    uint64_t need = 1 + intro_need(me, lane) + text_need(text) + opens;
    ps_text payload = {0};
    if (op != NULL) {
        need_shared_text(me, &op->shapes);
        need += 1 + text_need(&op->shapes);
    }
    if (UNLIKELY(extra != NULL)) {
        payload = payload_of(me, extra);
        need += 1 + text_need(&payload);
    }
    if (UNLIKELY(!ps_lane_has(lane, need + ps_lane_open(lane)))) {
        return full(lane);
    }
    uint64_t n = put_intro(me, lane);
    uint32_t shapes_id = op != NULL ? put_event_text(lane, &op->shapes, &n) : 0;
    uint32_t text_id = put_event_text(lane, text, &n);
    if (UNLIKELY(extra != NULL)) {
        n = put_nvtx(lane, extra, n, &payload);
    }
    uint64_t id = new_id(me, stream != NULL || asks);
    ps_slot *slot = ps_ring_slot(&lane->ring, n++);
    slot->id = id;
    slot->aux = (uint64_t)(uintptr_t)stream;
    slot->text = text_id;
    slot->kind = kind;
    slot->n_more = op != NULL;
    slot->domain = domain->id;
    if (op != NULL) {
        *ps_ring_slot(&lane->ring, n++) =
            (ps_slot){.id = op->forward, .aux = op->host_only, .text = shapes_id};
    }
    slot->ticks = ps_clock_ticks(me->clock);
    ps_lane_publish(lane, n);
    return id;
}

static inline uint8_t recorded(const ps_record_domain *domain) {
    return atomic_load_explicit(&domain->recorded, memory_order_relaxed);
}

static inline device_call event_start_of(bool asks) {
    return UNLIKELY(asks) ? DEVICE_ASKS : DEVICE_START;
}

/* Of an event that put_event() opened. */
static inline void count_begun(ps_lane *lane, _Atomic uint64_t *counter) {
    lane->n_begun++;
    ps_ring_count(counter);
}

static inline __attribute__((always_inline)) uint64_t
put_range(ps_rec_thread *me, uint8_t kind, const ps_record_domain *domain, const ps_text *text,
          void *stream, bool asks, const ps_nvtx_extra *extra) {
    uint64_t id = put_event(me, kind, true, domain, text, NULL, stream, asks, extra);
    if (LIKELY(id != 0)) {
        count_begun(me->lane, &me->lane->ring.header->n_ranges);
    }
    return id;
}

/* --- ends ------------------------------------------------------------------------------------------------------------ */

/* Records of one slot. Their parts are handed on as numbers: a struct would be put together on the stack from small parts and
 * read back whole, and that waits until everything written before, cold lines of the ring too, has reached the cache. */
typedef uint32_t slot_kind;
static inline slot_kind kind_in(uint8_t kind, uint16_t domain) {
    return (uint32_t)domain << 16 | kind;
}

static bool put_event_end(ps_rec_thread *me, ps_lane *lane, uint64_t spare, slot_kind kind,
                          uint64_t ticks, uint64_t id, uint64_t aux) {
    if (UNLIKELY(!ps_lane_has(lane, intro_need(me, lane) + 1 + spare))) {
        return false;
    }
    uint64_t n = put_intro(me, lane);
    ps_slot *slot = ps_ring_slot(&lane->ring, n);
    slot->ticks = ticks;
    slot->id = id;
    slot->aux = aux;
    slot->text = 0;
    slot->kind = (uint8_t)kind;
    slot->n_more = 0;
    slot->domain = (uint16_t)(kind >> 16);
    ps_lane_publish(lane, n + 1);
    return true;
}

/* In ring 0, for an end that found no room in the thread's own. */
static __attribute__((noinline, cold)) bool
put_end_shared(ps_rec_thread *me, slot_kind kind, uint64_t ticks, uint64_t id, uint64_t aux) {
    ps_lane *lane;
    ps_wake_writer();
    if (me->lane->number == 0 || !ps_lane_shared_lock(&lane)) {
        return false;
    }
    bool done = lane != NULL && put_event_end(me, lane, ps_lane_open(lane), kind, ticks, id, aux);
    ps_lane_shared_unlock();
    return done;
}

/* The end of a range that `owner` began. */
static inline void put_range_end(ps_rec_thread *me, ps_lane *owner, uint16_t domain, uint64_t ticks,
                                 uint64_t id) {
    slot_kind kind = kind_in(PS_REC_RANGE_END, domain);
    ps_lane *lane = me->lane;
    bool own = owner == lane;
    if (UNLIKELY(!put_event_end(me, lane, own ? 0 : ps_lane_open(lane), kind, ticks, id, 0)) &&
        !put_end_shared(me, kind, ticks, id, 0)) {
        ps_ring_count_drop(&lane->ring, PS_DROP_END_LOST);
    }
    if (LIKELY(own)) {
        lane->n_ended++;
    } else {
        (void)atomic_fetch_add_explicit(&owner->n_ended_elsewhere, 1, memory_order_relaxed);
    }
}

/* Whose range it is; NULL, and counted, when it is none of this recording. */
static inline ps_lane *owner_of(ps_rec_thread *me, uint64_t id) {
    uint64_t number = ps_range_number(id);
    if (LIKELY(number < me->next_id && number + PS_ID_BLOCK >= me->end_id)) {
        return me->lane; /* of its latest block */
    }
    bool earlier = number < me->first_id;
    ps_lane *lane = earlier ? NULL : ps_thread_of_range(number);
    if (UNLIKELY(lane == NULL)) {
        ps_ring_count_drop(&me->lane->ring,
                           earlier ? PS_DROP_EARLIER_RANGE : PS_DROP_UNKNOWN_RANGE);
    }
    return lane;
}

static inline void end_range(uint16_t domain, uint64_t id) {
    ps_rec_thread *me = id != 0 ? enter_event() : NULL;
    if (me == NULL) {
        return;
    }
    uint64_t ticks = ps_clock_ticks(me->clock);
    ps_lane *owner = owner_of(me, id);
    if (UNLIKELY(owner == NULL)) {
        leave(me);
        return;
    }
    put_range_end(me, owner, domain, ticks, id);
    leave_with(me, DEVICE_END, id, NULL);
}

/* --- events ---------------------------------------------------------------------------------------------------------- */

void ps_event_mark(const ps_record_domain *domain, ps_text text, void *stream,
                   const ps_nvtx_extra *extra) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return;
    }
    uint64_t id = 0;
    if (LIKELY(recorded(domain)) && judge_event(me, &text)) {
        id = put_event(me, PS_REC_MARK, false, domain, &text, NULL, stream, false, extra);
        if (LIKELY(id != 0)) {
            ps_ring_count(&me->lane->ring.header->n_marks);
        }
    }
    leave_with(me, DEVICE_MARK, id, stream);
}

uint64_t ps_event_start(const ps_record_domain *domain, ps_text text, void *stream,
                        const ps_nvtx_extra *extra) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return 0;
    }
    uint64_t id = 0;
    uint8_t state = recorded(domain);
    bool asks = UNLIKELY(state == PS_DOMAIN_ASKING);
    if (LIKELY(state != PS_DOMAIN_LEFT_OUT) && judge_event(me, &text)) {
        id = put_range(me, PS_REC_RANGE_START, domain, &text, stream, asks, extra);
    }
    leave_with(me, event_start_of(asks), id, stream);
    return id;
}

void ps_event_end(const ps_record_domain *domain, uint64_t id) {
    end_range(domain != NULL ? domain->id : PS_DOMAIN_ANY, id);
}

static uint64_t op_begin(ps_text name, operator_part op, void *stream) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return 0;
    }
    uint64_t id = 0;
    bool asks = !op.host_only && UNLIKELY(recorded(ps_domain_check(NULL)) == PS_DOMAIN_ASKING);
    bool has_shapes = op.shapes.shared != 0 || (op.shapes.bytes != NULL && op.shapes.length > 0);
    op.shapes = has_shapes ? op.shapes : (ps_text){0};
    if (judge_event(me, &name) && (!has_shapes || judge_event(me, &op.shapes))) {
        id = put_event(me, PS_REC_OP_BEGIN, true, ps_domain_check(NULL), &name, &op, stream, asks,
                       NULL);
        if (LIKELY(id != 0)) {
            count_begun(me->lane, &me->lane->ring.header->n_ops);
        }
    }
    leave_with(me, event_start_of(asks), id, stream);
    return id;
}

uint64_t ps_event_op_begin(ps_text name, ps_text shapes, void *stream, uint64_t forward) {
    return op_begin(name, (operator_part){.shapes = shapes, .forward = forward}, stream);
}

uint64_t ps_event_op_begin_host(ps_text name, ps_text shapes, uint64_t forward) {
    return op_begin(name, (operator_part){.shapes = shapes, .forward = forward, .host_only = true},
                    NULL);
}

void ps_event_op_end(uint64_t id) {
    end_range(0, id);
}

/* --- push and pop ---------------------------------------------------------------------------------------------------- */

/* The innermost push of the domain, NULL when there is none. */
static struct ps_pushed *event_innermost(ps_rec_thread *me, uint16_t domain) {
    for (uint32_t i = me->depth; i > 0; i--) {
        if (me->stack[i - 1].domain == domain) {
            return &me->stack[i - 1];
        }
    }
    return NULL;
}

/* A push that finds the stack full is only counted, on the innermost of its domain, so that its pop is known for what it is. */
static int push_too_deep(ps_rec_thread *me, struct ps_pushed *top) {
    ps_ring_count_drop(&me->lane->ring, PS_DROP_DEEP_STACK);
    if (top != NULL) {
        top->deeper++;
    }
    return -1;
}

int ps_event_push(const ps_record_domain *domain, ps_text text, void *stream,
                  const ps_nvtx_extra *extra) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return -1;
    }
    uint8_t state = recorded(domain);
    if (UNLIKELY(state == PS_DOMAIN_LEFT_OUT)) {
        leave(me);
        return -1;
    }
    struct ps_pushed *top = event_innermost(me, domain->id);
    if (UNLIKELY(me->depth == PS_STACK_DEPTH || (top != NULL && top->deeper > 0))) {
        int none = push_too_deep(me, top);
        leave(me);
        return none;
    }
    uint64_t id = 0;
    bool asks = UNLIKELY(state == PS_DOMAIN_ASKING);
    if (judge_event(me, &text)) {
        id = put_range(me, PS_REC_PUSH, domain, &text, stream, asks, extra);
    }
    uint16_t level = top != NULL ? (uint16_t)(top->level + 1) : 0;
    me->stack[me->depth++] = (struct ps_pushed){.id = id, .domain = domain->id, .level = level};
    leave_with(me, event_start_of(asks), id, stream);
    return id != 0 ? (int)level : -1;
}

/* Takes the innermost push of the domain off the stack. False when there is none, or when it was not recorded. */
static bool take_pushed(ps_rec_thread *me, uint16_t domain, struct ps_pushed *out) {
    struct ps_pushed *top = event_innermost(me, domain);
    if (UNLIKELY(top == NULL)) {
        ps_ring_count_drop(&me->lane->ring, PS_DROP_UNBALANCED_POP);
        return false;
    }
    if (UNLIKELY(top->deeper > 0)) {
        top->deeper--;
        return false;
    }
    *out = *top;
    struct ps_pushed *end = &me->stack[me->depth--];
    memmove(top, top + 1, (size_t)((char *)end - (char *)(top + 1)));
    return out->id != 0;
}

int ps_event_pop(const ps_record_domain *domain) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return -1;
    }
    uint64_t ticks = ps_clock_ticks(me->clock);
    struct ps_pushed pushed;
    if (UNLIKELY(!recorded(domain)) || !take_pushed(me, domain->id, &pushed)) {
        leave(me);
        return -1;
    }
    put_range_end(me, me->lane, domain->id, ticks, pushed.id);
    leave_with(me, DEVICE_END, pushed.id, NULL);
    return pushed.level;
}

/* --- steps and counts ------------------------------------------------------------------------------------------------ */

/* `id` 0: none, one slot. */
static bool put_event_step(ps_rec_thread *me, ps_lane *lane, uint64_t spare, ps_slot step,
                           uint64_t id) {
    if (!ps_lane_has(lane, intro_need(me, lane) + 1 + (id != 0) + spare)) {
        return false;
    }
    uint64_t n = put_intro(me, lane);
    step.n_more = id != 0;
    *ps_ring_slot(&lane->ring, n++) = step;
    if (id != 0) {
        *ps_ring_slot(&lane->ring, n++) = (ps_slot){.id = id};
    }
    ps_lane_publish(lane, n);
    return true;
}

/* In the thread's ring, else in ring 0. A begin leaves room for its end. */
static bool put_step_anywhere(ps_rec_thread *me, ps_slot step, uint64_t id) {
    bool begin = step.kind == PS_REC_STEP_BEGIN;
    if (LIKELY(put_event_step(me, me->lane, ps_lane_open(me->lane) + begin, step, id))) {
        return true;
    }
    ps_lane *lane;
    ps_wake_writer();
    bool done = false;
    if (me->lane->number != 0 && ps_lane_shared_lock(&lane)) {
        done = lane != NULL && put_event_step(me, lane, ps_lane_open(lane), step, id);
        ps_lane_shared_unlock();
    }
    if (!done) {
        (void)full(me->lane);
    }
    return done;
}

uint64_t ps_event_step_begin(int64_t step, void *stream) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return 0;
    }
    uint64_t id = stream != NULL ? new_id(me, true) : 0;
    ps_slot slot = {.kind = PS_REC_STEP_BEGIN,
                    .ticks = ps_clock_ticks(me->clock),
                    .id = (uint64_t)step,
                    .aux = (uint64_t)(uintptr_t)stream};
    id = put_step_anywhere(me, slot, id) ? id : 0;
    leave_with(me, DEVICE_START, id, stream);
    return id;
}

void ps_event_step_end(int64_t step, uint64_t id, bool cut) {
    ps_rec_thread *me = enter_event();
    if (me == NULL) {
        return;
    }
    ps_slot slot = {.kind = PS_REC_STEP_END,
                    .ticks = ps_clock_ticks(me->clock),
                    .id = (uint64_t)step,
                    .aux = cut};
    (void)put_step_anywhere(me, slot, 0);
    done_writing(me);
    if (id != 0) {
        call_device(me, DEVICE_END, id, NULL);
    }
    call_device(me, DEVICE_STEP, 0, NULL);
    clear_busy(me);
}

void ps_event_drop(unsigned drop) {
    if (!ps_is_recording()) {
        return;
    }
    ps_rec_thread *me = ps_this_thread;
    if (me != NULL && atomic_load_explicit(&me->busy, memory_order_relaxed) == BUSY_DEVICE) {
        /* From a function of the device, inside of the event; the lock of lane 0 is not held then. */
        if (me->lane->number == 0) {
            ps_shared_drop(drop, 1);
        } else {
            ps_ring_count_drop(&me->lane->ring, drop);
        }
        return;
    }
    me = enter_event();
    if (me != NULL) {
        ps_ring_count_drop(&me->lane->ring, drop);
        leave(me);
    }
}

ps_record_domain *ps_event_domain(const char *name, size_t length) {
    ps_record_domain *domain = ps_domain_named(name, length);
    if (domain == NULL) {
        ps_event_drop(PS_DROP_TOO_MANY_DOMAINS);
    }
    return domain;
}
