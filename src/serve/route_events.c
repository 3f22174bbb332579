/* GET /api/events?after=SEQ: what has changed since. The server keeps the request until something has. */
#include "serve/rank_json.h"
#include "serve/route.h"

/* False when it says something else than a number: then it is refused at once. */
static bool read_after(const ps_request *q, ps_reply *r, uint64_t *after) {
    int64_t number = 0;
    bool ok = ps_ask_int(q, r, "after", 0, INT64_MAX, 0, &number);
    *after = (uint64_t)number;
    return ok;
}

static bool must_wait(const ps_request *q) {
    ps_reply refusal;
    ps_reply_init(&refusal);
    uint64_t after = 0;
    bool waits = read_after(q, &refusal, &after) && ps_store_seq(q->store) == after;
    ps_reply_fini(&refusal);
    return waits;
}

/* The number is read first: what changes meanwhile is told now and once more, and nothing is missed. */
static void answer(const ps_request *q, ps_reply *r) {
    uint64_t after = 0;
    if (!read_after(q, r, &after)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    uint64_t seq = ps_store_seq(q->store);
    /* A page that knows more than there is has seen another server at this address: it hears everything. */
    after = after > seq ? 0 : after;
    ps_buf_addf(&r->body, "{\"seq\":%llu,\"ranks\":[", (unsigned long long)seq);
    const char *comma = "";
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        if (ps_store_status(q->store, i).seq <= after) {
            continue;
        }
        ps_buf_add_str(&r->body, comma);
        comma = ",";
        if (ps_put_rank(&r->body, q->store, i, &err) != PS_OK) {
            ps_reply_err(r, &err);
            return;
        }
    }
    ps_buf_add_str(&r->body, "]}");
}

const ps_route ps_route_events = {
    .path = "/api/events", .method = "GET", .must_wait = must_wait, .answer = answer};
