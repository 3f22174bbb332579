/* GET /api/events?after=SEQ: what has changed since, and how far ranks are that are being read. The server keeps the request
 * until there is something to tell. */
#include "serve/http/route.h"
#include "serve/rank/rank_json.h"

/* False when it says something else than a number: then it is refused at once. */
static bool read_after(const ps_request *q, ps_reply *r, uint64_t *after) {
    int64_t number = 0;
    bool ok = ps_ask_int(q, r, "after", 0, INT64_MAX, 0, &number);
    *after = (uint64_t)number;
    return ok;
}

/* How far a rank has been read is no change of its state: while one is being read, the page hears of it twice a second. */
enum { PROGRESS_MS = 500 };

static bool is_reading(const ps_store *store) {
    bool found = false;
    for (size_t i = 0; i < ps_store_n_ranks(store) && !found; i++) {
        found = ps_store_status(store, i).state == PS_STATE_READING;
    }
    return found;
}

static bool must_wait(const ps_request *q, int64_t waited_ms) {
    ps_reply refusal;
    ps_reply_init(&refusal);
    uint64_t after = 0;
    bool waits = read_after(q, &refusal, &after) && ps_store_seq(q->store) == after;
    ps_reply_fini(&refusal);
    return waits && (waited_ms < PROGRESS_MS || !is_reading(q->store));
}

/* The number is read first: what changes meanwhile is told now and once more, and nothing is missed. */
static void answer_events(const ps_request *q, ps_reply *r) {
    uint64_t after = 0;
    if (!read_after(q, r, &after)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    uint64_t seq = ps_store_seq(q->store);
    /* A page that knows more than there is has seen another server at this address: it hears everything. */
    after = after > seq ? 0 : after;
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "seq", seq);
    ps_json_key_array(&j, "ranks");
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        ps_rank_status_now now = ps_store_status(q->store, i);
        if (now.seq <= after && now.state != PS_STATE_READING) {
            continue;
        }
        if (ps_put_rank(ps_param_lang(q), &j, q->store, i, &err) != PS_OK) {
            ps_reply_err(r, &err);
            return;
        }
    }
    ps_json_close(&j);
    ps_json_close(&j);
}

const ps_route ps_route_events = {
    .path = "/api/events", .method = "GET", .must_wait = must_wait, .answer = answer_events};
