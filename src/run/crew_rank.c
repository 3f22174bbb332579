#include "run/crew_rank.h"

#include <string.h>

ps_code ps_crew_rank_write(const ps_session *s, size_t r, ps_buf *out, ps_err *err) {
    ps_rank_state *x = ps_session_lend(s, r);
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_archive_write(ps_rank_state_archive, x, out, err);
    ps_session_end_lent(x);
    return code;
}

ps_code ps_crew_rank_take(ps_session *s, size_t r, const ps_buf *bytes, ps_err *err) {
    ps_rank_state *x = ps_rank_state_new(s->seeing, s->n_seeing);
    if (x == NULL) {
        return ps_fail_nomem(err);
    }
    ps_code code = ps_archive_read(ps_rank_state_archive, x, bytes->data, bytes->len, err);
    if (code == PS_OK && !ps_session_take(s, r, x)) {
        code = ps_fail_nomem(err);
    }
    ps_rank_state_free(x);
    return code;
}

typedef struct counts {
    uint64_t n_read, n_taken_up, n_cached, n_cache_damaged;
    int32_t cache_code; /* of run->cache_err */
    char cache_msg[sizeof((ps_err *)0)->msg];
} counts;

static void counts_archive(ps_archive *a, void *at) {
    counts *x = at;
    PS_ARCHIVE(a, x, n_read, n_taken_up, n_cached, n_cache_damaged, cache_msg);
    PS_ARCHIVE_BELOW(a, x, cache_code, PS_NO_ROOM + 1);
}

ps_code ps_crew_counts_take_and_write(ps_session *s, ps_buf *out, ps_err *err) {
    ps_run *run = s->run;
    counts c = {.n_read = run->n_read,
                .n_taken_up = run->n_taken_up,
                .n_cached = run->n_cached,
                .n_cache_damaged = run->n_cache_damaged,
                .cache_code = (int32_t)run->cache_err.code};
    memcpy(c.cache_msg, run->cache_err.msg, sizeof c.cache_msg);
    run->n_read = 0;
    run->n_taken_up = 0;
    run->n_cached = 0;
    run->n_cache_damaged = 0;
    return ps_archive_write(counts_archive, &c, out, err);
}

ps_code ps_crew_counts_add(ps_session *s, const ps_buf *bytes, ps_err *err) {
    counts c = {0};
    ps_code code = ps_archive_read(counts_archive, &c, bytes->data, bytes->len, err);
    if (code == PS_OK) {
        s->run->n_read += c.n_read;
        s->run->n_taken_up += c.n_taken_up;
        s->run->n_cached += c.n_cached;
        s->run->n_cache_damaged += c.n_cache_damaged;
    }
    if (code == PS_OK && c.cache_code != PS_OK && s->run->cache_err.code == PS_OK) {
        (void)ps_fail(&s->run->cache_err, (ps_code)c.cache_code, "%s", c.cache_msg);
    }
    return code;
}
