#include "analyze/derived/rank_facts.h"

#include "analyze/derived/derived.h"
#include "base/alloc.h"

typedef struct read_facts {
    ps_arena arena;
    ps_rank_facts facts;
    ps_diag diag; /* what is malformed */
} read_facts;

static void free_read_facts(void *value) {
    read_facts *r = value;
    ps_arena_fini(&r->arena);
    ps_free(r);
}

static read_facts *read_facts_once(const ps_map_input *in, ps_err *err) {
    ps_derived_slot *slot = ps_derived_slot_at(in->derived, PS_SLOT_FACTS);
    if (slot->value != NULL) {
        return slot->value;
    }
    read_facts *r = ps_calloc(1, sizeof *r);
    if (r == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_arena_init(&r->arena);
    if (ps_rank_facts_read(in->trace, &r->arena, &r->facts, &r->diag, err) != PS_OK) {
        free_read_facts(r);
        return NULL;
    }
    *slot = (ps_derived_slot){.value = r, .free_value = free_read_facts};
    return r;
}

const ps_rank_facts *ps_rank_facts_of(const ps_map_input *in, ps_err *err) {
    read_facts *r = read_facts_once(in, err);
    if (r != NULL && !ps_diag_is_empty(&r->diag)) {
        ps_diag_merge(in->diag, &r->diag, NULL);
    }
    return r != NULL ? &r->facts : NULL;
}

ps_code ps_rank_facts_keep(const ps_map_input *in, ps_arena *arena, ps_rank_facts *out,
                           ps_err *err) {
    const ps_rank_facts *facts = ps_rank_facts_of(in, err);
    *out = (ps_rank_facts){0};
    return facts != NULL ? ps_rank_facts_copy(facts, arena, out, err) : PS_NOMEM;
}
