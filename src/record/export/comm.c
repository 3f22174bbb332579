#include "record/export/comm.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/literal.h"
#include "record/export/texts.h"

/* --- payloads ----------------------------------------------------------------------------------------------------- */

typedef struct payload {
    bool has_communicator, has_bytes;
    uint64_t communicator, bytes;
    int64_t peer, rank, ranks;
} payload;

/* Names differ between releases: "NCCL communicator ID", "Message size [bytes]", "Peer rank", "No. of ranks", "Rank". */
static void take_nccl_member(payload *p, const ps_literal *v) {
    if ((v->kind != PS_LITERAL_INT && v->kind != PS_LITERAL_NUMBER) || v->key == NULL) {
        return;
    }
    uint64_t number = strtoull(v->begin, NULL, 10); /* ends at the comma or bracket behind it */
    if (strcasestr(v->key, "communicator") != NULL) {
        p->communicator = number;
        p->has_communicator = true;
    } else if (strcasestr(v->key, "bytes") != NULL) {
        p->bytes = number;
        p->has_bytes = true;
    } else if (strcasestr(v->key, "peer") != NULL) {
        p->peer = (int64_t)number;
    } else if (strcasestr(v->key, "ranks") != NULL) {
        p->ranks = (int64_t)number;
    } else if (strcasecmp(v->key, "rank") == 0 || strcasestr(v->key, "my rank") != NULL) {
        p->rank = (int64_t)number;
    }
}

static bool read_payload(const ps_capture *c, uint32_t text, payload *out) {
    *out = (payload){.peer = -1, .rank = -1, .ranks = -1};
    size_t n = 0;
    const char *json = ps_capture_text(c, text, &n);
    if (strcasestr(json, "communicator") == NULL && strcasestr(json, "bytes") == NULL) {
        return true;
    }
    ps_arena arena;
    ps_arena_init(&arena);
    ps_err odd = PS_ERR_INIT;
    const ps_literal *doc = ps_literal_parse(&arena, json, n, &odd);
    const ps_literal *object = doc != NULL && doc->kind == PS_LITERAL_ARRAY ? doc->child : doc;
    for (; object != NULL && !out->has_communicator && !out->has_bytes; object = object->next) {
        for (const ps_literal *v = object->kind == PS_LITERAL_OBJECT ? object->child : NULL;
             v != NULL; v = v->next) {
            take_nccl_member(out, v);
        }
        if (doc->kind != PS_LITERAL_ARRAY) {
            break;
        }
    }
    ps_arena_fini(&arena);
    return odd.code != PS_NOMEM;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Own rank and size of each communicator come with the call that makes it. */
static void spread_ranks(ps_comm_calls *calls, uint64_t communicator, int64_t rank, int64_t ranks) {
    for (size_t i = 0; i < calls->n; i++) {
        if (calls->at[i].has_communicator && calls->at[i].communicator == communicator) {
            calls->at[i].rank = rank;
            calls->at[i].ranks = ranks;
        }
    }
}

static bool is_nccl(const ps_capture *c, uint16_t domain) {
    return strcmp(ps_capture_text(c, ps_capture_domains(c)->value[domain], NULL), "NCCL") == 0;
}

static bool take_nccl_event(const ps_capture *c, ps_comm_calls *out, ps_comm_calls *made,
                            size_t row) {
    const ps_events *v = ps_capture_events(c);
    uint32_t text = ps_capture_nvtx(c)->payload[v->extra[row]];
    payload p;
    if (text == PS_NO_TEXT || !is_nccl(c, v->domain[row])) {
        return true;
    }
    if (!read_payload(c, text, &p)) {
        return false;
    }
    bool init = p.ranks >= 0 && p.rank >= 0;
    ps_comm_calls *to = init ? made : out;
    if (init ? !p.has_communicator : !p.has_bytes) {
        return true;
    }
    if (!ps_grow(&to->at, &to->cap, to->n + 1, UINT32_MAX, sizeof *to->at)) {
        return false;
    }
    const char *name = ps_capture_text(c, v->message[row], NULL);
    to->at[to->n++] = (ps_comm_call){.event = (uint32_t)row,
                                     .communicator = p.communicator,
                                     .has_communicator = p.has_communicator,
                                     .bytes = p.bytes,
                                     .peer = p.peer,
                                     .rank = p.rank,
                                     .ranks = p.ranks,
                                     .is_send = strcmp(name, "ncclSend") == 0,
                                     .is_receive = strcmp(name, "ncclRecv") == 0};
    return true;
}

bool ps_comm_find(const ps_capture *c, ps_comm_calls *out) {
    const ps_events *v = ps_capture_events(c);
    ps_comm_calls made = {.n = 0};
    bool ok = true;
    *out = (ps_comm_calls){.n = 0};
    for (size_t i = 0; ok && ps_capture_nvtx(c)->n > 0 && i < v->n; i++) {
        if (v->extra[i] != PS_NO_TEXT && v->what[i] != PS_EVENT_OP) {
            ok = take_nccl_event(c, out, &made, i);
        }
    }
    for (size_t i = 0; ok && i < made.n; i++) {
        spread_ranks(out, made.at[i].communicator, made.at[i].rank, made.at[i].ranks);
    }
    ps_free(made.at);
    return ok;
}

void ps_comm_free(ps_comm_calls *calls) {
    ps_free(calls->at);
    *calls = (ps_comm_calls){.n = 0};
}

/* --- names -------------------------------------------------------------------------------------------------------- */

bool ps_comm_is_kernel(const char *name) {
    static const char *const PREFIXES[] = {"ncclDevKernel", "ncclKernel", "ncclSymDevKernel"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        if (strncmp(name, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

unsigned ps_comm_tag(const char *group) {
    return (unsigned)(ps_stable_hash(group) % 1000);
}
