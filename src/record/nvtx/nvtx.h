/* NVTX programs without change: what the parts of the injection offer one another.
 *
 *     nvtx.c          the ways in, the tables of clients, marks and ranges
 *     nvtx_text.c     messages: wide characters, registered strings
 *     nvtx_names.c    names of categories, threads, streams
 *     nvtx_stream.c   the option nvtx_stream
 *     nvtx_schema.c   layouts of payloads that clients registered
 *     nvtx_payload.c  payloads as JSON text
 *     nvtx_ext.c      the payload extension's functions
 *     nvtx_chain.c    another tool behind us (option nvtx_chain)
 *
 * Handles that clients keep (domains, registered strings) stay valid as long as the process: nothing of them is freed.
 * With a chained tool clients hold the handles and ids of that tool, and we look up ours: everything can be passed on
 * as it comes. */
#ifndef PS_RECORD_NVTX_H
#define PS_RECORD_NVTX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/core/domains.h"
#include "record/core/events.h"
#include "record/nvtx/nvtx_abi.h"

/* What is declared here lies in this library: no detour through its tables. */
#pragma GCC visibility push(hidden)

#define PS_NVTX_LIKELY(x) __builtin_expect(!!(x), 1)

/* --- once a recording ---------------------------------------------------------------------------------------------- */

extern _Atomic uint32_t ps_nvtx_generation;

/* A recording began: reads the option nvtx_stream again, writes the names given so far. Once for each generation, whoever
 * comes first: the session, or the first NVTX call of it. */
void ps_nvtx_begin(uint32_t generation);

/* Whether to record, with the above done. */
static inline bool ps_nvtx_on(void) {
    uint32_t generation = atomic_load_explicit(ps_recording, memory_order_relaxed);
    if (__builtin_expect(generation == 0, 0)) {
        return false;
    }
    if (__builtin_expect(
            atomic_load_explicit(&ps_nvtx_generation, memory_order_acquire) != generation, 0)) {
        ps_nvtx_begin(generation);
    }
    return true;
}

/* One lock for all that NVTX programs register, which happens rarely. Free in a child of fork. */
void ps_nvtx_lock(void);
void ps_nvtx_unlock(void);

/* The domain of a client's handle; NULL for what is none of ours (not counted). */
ps_record_domain *ps_nvtx_domain(nvtxDomainHandle_t handle);

/* --- texts --------------------------------------------------------------------------------------------------------- */

enum { PS_NVTX_TEXT_ROOM = PS_RECORD_MAX_TEXT + 1 };

/* A registered string: what its handle points to. */
typedef struct ps_nvtx_string {
    uint32_t shared; /* number of the shared text; 0: there was no room, `bytes` has it */
    uint16_t domain;
    uint32_t length;
    const char *bytes;
    _Atomic uint64_t stream_rule; /* cached by nvtx_stream.c */
} ps_nvtx_string;

/* Text of bytes that need not be zero-terminated within PS_NVTX_TEXT_ROOM: what is too long is cut before a character and
 * counted. */
ps_text ps_nvtx_text(const char *bytes);

/* The same for wide characters, in `room` (PS_NVTX_TEXT_ROOM bytes). */
ps_text ps_nvtx_text_wide(const wchar_t *wide, char *room);

/* Units of 1, 2 or 4 bytes, which need not be aligned, up to the first zero or `n`, as UTF-8; U+FFFD for what is none.
 * Returns the bytes written, at most `size`; *cut: there was more. */
size_t ps_nvtx_to_utf8(const void *units, size_t n, unsigned unit_bytes, char *out, size_t size,
                       bool *cut);

/* "(no message)". */
ps_text ps_nvtx_no_message(void);

/* Registers; the same text in the same domain gives the same string. NULL when there is no room. */
ps_nvtx_string *ps_nvtx_string_named(uint16_t domain, ps_text text);

/* The string of a client's handle, NULL for what is none. */
ps_nvtx_string *ps_nvtx_string_of(const ps_record_domain *domain, nvtxStringHandle_t handle);
ps_text ps_nvtx_string_text(const ps_nvtx_string *string);

/* --- streams ------------------------------------------------------------------------------------------------------- */

/* Reads the option; called under the lock. */
void ps_nvtx_stream_rules(const char *option);

/* The stream of an event by the rules, NULL mostly. `string`: the message when it is a registered one. */
void *ps_nvtx_stream_of(const ps_record_domain *domain, ps_text text, ps_nvtx_string *string);

/* True when `text` is all matched by `glob`: * any characters, ? one, everything else itself. */
bool ps_nvtx_glob(const char *glob, size_t glob_length, const char *text, size_t length);

/* --- names --------------------------------------------------------------------------------------------------------- */

void ps_nvtx_name_category(const ps_record_domain *domain, uint32_t category, ps_text name);
void ps_nvtx_name_thread(uint32_t tid, ps_text name);
void ps_nvtx_name_stream(void *stream, ps_text name);

/* Writes the names of categories and threads into the recording that began; called under the lock. */
void ps_nvtx_names_again(void);

/* --- payloads ------------------------------------------------------------------------------------------------------ */

typedef struct ps_nvtx_entry {
    uint64_t flags, type, detail, offset;
    const char *name; /* of a struct's member, or of an enum's value; never NULL */
    size_t name_length;
    uint64_t value; /* enum */
    bool is_flag;
} ps_nvtx_entry;

typedef struct ps_nvtx_schema {
    uint64_t id;
    uint16_t domain;
    bool is_enum;
    uint8_t type; /* NVTX_SCHEMA_... */
    uint32_t n_entries;
    uint64_t size;  /* of a value in bytes: static schemas and enums; 0: told by the data */
    uint64_t align; /* of a value */
    uint64_t pack;  /* alignment of members is at most this; 0: natural */
    const ps_nvtx_entry *entries;
    struct ps_nvtx_schema *next; /* of all there ever were */
    uint32_t place;              /* where it is found */
} ps_nvtx_schema;

enum {
    PS_NVTX_MAX_ENTRIES = 4096,
    PS_NVTX_MAX_SCHEMAS = 16384,
    PS_NVTX_DEPTH = 12,
    PS_NVTX_PAYLOAD_STRING = 1000 /* bytes of a text in a payload */
};

/* Copies a registration. `id`: what the client will call it; 0: taken from the registration, or given out. Returns that
 * id, 0 when the registration makes no sense or there is no room. */
uint64_t ps_nvtx_schema_add(const ps_record_domain *domain, const nvtxPayloadSchemaAttr_t *attr,
                            uint64_t id);
uint64_t ps_nvtx_enum_add(const ps_record_domain *domain, const nvtxPayloadEnumAttr_t *attr,
                          uint64_t id);

/* For tests: forgets all layouts. Nobody may be using one. */
void ps_nvtx_schemas_forget(void);

/* NULL when it was not registered in this domain. */
const ps_nvtx_schema *ps_nvtx_schema_find(uint16_t domain, uint64_t id);

/* Size and alignment of one value of an entry's type as it is laid out; false when unknown or told by the data. */
bool ps_nvtx_type_layout(uint16_t domain, uint64_t type, uint64_t *size, uint64_t *align);

/* Payloads as JSON text into `out` (at least 256 bytes): one as itself, several as an array. Structs become objects; what
 * has an unknown schema becomes {"schema":ID,"size":N,"hex":"..."} with at most 64 bytes. What does not fit is left out and
 * "truncated":true stands in its place; *cut says so. Returns the length, 0 when there is nothing to say.
 * `message`: room for PS_NVTX_PAYLOAD_STRING bytes, the text of the entry that a schema names as the event's message, or
 * NULL; its length is 0 when there is none. */
size_t ps_nvtx_payload_json(const ps_record_domain *domain, const nvtxPayloadData_t *payloads,
                            size_t n, char *out, size_t size, char *message, size_t *message_length,
                            bool *cut);

/* The payload of plain event attributes (payloadType 1 to 6). */
size_t ps_nvtx_number_json(const nvtxEventAttributes_t *attr, char *out, size_t size);

/* --- another tool -------------------------------------------------------------------------------------------------- */

/* What the chained tool installed, by module and id; NULL where it has nothing, and everywhere when there is none. */
extern NvtxFunctionPointer ps_nvtx_chain[NVTX_CB_MODULE_SIZE][64];
extern intptr_t ps_nvtx_chain_payload[NVTX_EXT_PAYLOAD_SLOTS];

/* Loads it when the option names one: once a process. */
/* `may_init` is asked when the tool has been loaded: false, nobody waits for it any more, and it is left alone. */
void ps_nvtx_chain_open(bool (*may_init)(void));
bool ps_nvtx_chained(void);

/* For a client's extension module: lets the tool see it too. False when there is none or it refused. For the payload
 * extension the tool's functions land in ps_nvtx_chain_payload, for others with the client. */
bool ps_nvtx_chain_extension(nvtxExtModuleInfo_t *info);

/* Handles of the tool and what they are here; a later one replaces an earlier. `get` gives NULL for unknown ones. */
void ps_nvtx_chain_put_domain(nvtxDomainHandle_t theirs, ps_record_domain *ours);
ps_record_domain *ps_nvtx_chain_domain(nvtxDomainHandle_t theirs);
void ps_nvtx_chain_put_string(const ps_record_domain *domain, nvtxStringHandle_t theirs,
                              ps_nvtx_string *ours);
ps_nvtx_string *ps_nvtx_chain_string(const ps_record_domain *domain, nvtxStringHandle_t theirs);

/* The id a client gets for a range that is `theirs` there and `ours` here, and back. Without a tool it is ours. */
uint64_t ps_nvtx_chain_range(uint64_t theirs, uint64_t ours);
uint64_t ps_nvtx_chain_range_end(uint64_t id);

/* --- what nvtx.c and nvtx_ext.c share ------------------------------------------------------------------------------ */

/* How the program made the event: `form` of ps_nvtx_extra, numbered as the types of events in the database. */
enum { PS_NVTX_PUSH_POP = 1, PS_NVTX_START_END = 2, PS_NVTX_MARK = 3 };

/* An event of a domain with everything around it. Only what is set is read: it is never cleared as a whole. */
typedef struct ps_nvtx_event {
    const ps_record_domain *domain;
    ps_text text;
    void *stream;
    ps_nvtx_extra extra;
    char text_room[PS_NVTX_TEXT_ROOM], payload_room[PS_NVTX_TEXT_ROOM];
} ps_nvtx_event;

/* The domain of an event that is to be recorded; NULL (counted where it is the client's fault) when it is not. */
const ps_record_domain *ps_nvtx_recorded_domain(nvtxDomainHandle_t handle);
static inline const ps_record_domain *ps_nvtx_event_domain(nvtxDomainHandle_t handle) {
    return ps_is_recording() ? ps_nvtx_recorded_domain(handle) : NULL;
}

/* Fills all but the domain from payloads alone. */
void ps_nvtx_event_payload(ps_nvtx_event *event, const nvtxPayloadData_t *payloads, size_t n);
/* Adds the payloads to what is filled. */
void ps_nvtx_event_add(ps_nvtx_event *event, const nvtxPayloadData_t *payloads, size_t n,
                       bool names_event);

void ps_nvtx_event_mark(ps_nvtx_event *event);
uint64_t ps_nvtx_event_start(ps_nvtx_event *event);
int ps_nvtx_event_push(ps_nvtx_event *event);
int ps_nvtx_event_pop(const ps_record_domain *domain);

/* Options and rules that hold from now on, and the chained tool: the first of all that a client does. */
void ps_nvtx_ready(void);

#pragma GCC visibility pop

#endif
