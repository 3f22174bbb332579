#include "analyze/derived/derived.h"

#include "base/alloc.h"

typedef struct modules {
    ps_module_tree tree;
    bool is_made;
    ps_err err; /* why there are none */
} modules;

struct ps_derived {
    const ps_trace *trace;
    const ps_analysis_opts *opts;
    ps_diag *diag;
    ps_links links;
    ps_overlaps overlaps;
    ps_mfu *mfu;
    bool has_links, has_overlaps;
    modules modules[2]; /* [marks_too] */
    ps_derived_slot slots[PS_N_SLOTS];
};

ps_derived *ps_derived_new(const ps_trace *trace, const ps_analysis_opts *opts, ps_diag *diag,
                           ps_err *err) {
    ps_derived *d = ps_calloc(1, sizeof *d);
    if (d == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    d->trace = trace;
    d->opts = opts;
    d->diag = diag;
    return d;
}

void ps_derived_free(ps_derived *d) {
    if (d != NULL) {
        for (size_t i = 0; i < PS_N_SLOTS; i++) {
            if (d->slots[i].value != NULL) {
                d->slots[i].free_value(d->slots[i].value);
            }
        }
        ps_module_tree_fini(&d->modules[0].tree);
        ps_module_tree_fini(&d->modules[1].tree);
        ps_mfu_free(d->mfu);
        ps_overlaps_fini(&d->overlaps);
        ps_links_fini(&d->links);
        ps_free(d);
    }
}

const ps_links *ps_derived_links(ps_derived *d, ps_err *err) {
    if (!d->has_links) {
        if (ps_links_init(&d->links, d->trace, err) != PS_OK) {
            ps_links_fini(&d->links);
            d->links = (ps_links){0};
            return NULL;
        }
        d->has_links = true;
    }
    return &d->links;
}

const ps_mfu *ps_derived_mfu(ps_derived *d, ps_err *err) {
    const ps_links *links = d->mfu == NULL ? ps_derived_links(d, err) : NULL;
    if (links != NULL) {
        d->mfu = ps_mfu_new(links, d->opts, d->diag, err);
    }
    return d->mfu;
}

const ps_overlaps *ps_derived_overlaps(ps_derived *d, ps_err *err) {
    const ps_links *links = !d->has_overlaps ? ps_derived_links(d, err) : NULL;
    if (links != NULL) {
        if (ps_overlaps_measure(links, d->opts->step_id, false, &d->overlaps, err) == PS_OK) {
            d->has_overlaps = true;
        } else {
            ps_overlaps_fini(&d->overlaps);
        }
    }
    return d->has_overlaps ? &d->overlaps : NULL;
}

static ps_code build_modules(ps_derived *d, bool marks_too, modules *m, ps_err *err) {
    const ps_links *links = ps_derived_links(d, err);
    if (links == NULL) {
        return PS_NOMEM;
    }
    ps_err why = PS_ERR_INIT;
    ps_code code = ps_module_tree_build(&m->tree, links, marks_too, &why);
    if (code != PS_OK) {
        ps_module_tree_fini(&m->tree);
        m->tree = (ps_module_tree){0};
    }
    if (code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    m->err = why;
    m->is_made = true;
    return PS_OK;
}

ps_code ps_derived_modules(ps_derived *d, bool marks_too, const ps_module_tree **out, ps_err *err) {
    modules *m = &d->modules[marks_too];
    *out = NULL;
    ps_code code = m->is_made ? PS_OK : build_modules(d, marks_too, m, err);
    if (code != PS_OK) {
        return code;
    }
    if (m->err.code != PS_OK) {
        if (err != NULL) {
            *err = m->err;
        }
        return m->err.code;
    }
    *out = &m->tree;
    return PS_OK;
}

ps_derived_slot *ps_derived_slot_at(ps_derived *d, size_t slot) {
    return &d->slots[slot];
}

ps_code ps_round_map(const ps_round *round, const ps_map_input *in, void **partial, ps_err *err) {
    if (in->derived != NULL || in->trace == NULL) {
        return round->map(in, partial, err);
    }
    ps_map_input own = *in;
    own.derived = ps_derived_new(in->trace, in->opts, in->diag, err);
    ps_code code = own.derived != NULL ? round->map(&own, partial, err) : PS_NOMEM;
    ps_derived_free(own.derived);
    return code;
}
