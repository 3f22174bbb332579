/* What is worked out at once (lanes, derived lanes, colours, the grouping of slices) costs a few passes over the slices;
 * links, overlaps, the index of flows and the tree of all lanes wait until somebody asks. */
#include "serve/rank/loaded.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "analyze/rank/derived_lanes.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/threads.h"
#include "serve/rank/loaded_lanes.h"
#include "serve/rank/loaded_make.h"

#define NO_TINT 255

/* `at` comes first: a ps_layer that was handed out is one of these. */
typedef struct layer {
    ps_layer at;
    ps_lanes lanes;
    uint8_t *tints;   /* by id of a text; NO_TINT: of no slice */
    uint32_t n_tints; /* ids from here on are of no slice either */
} layer;

/* Built by whoever comes first; the others wait at the lock. */
typedef struct lazy {
    pthread_mutex_t lock;
    _Atomic(void *) built;
} lazy;
enum { OVERLAPS, LINKS, FLOWS, SHOWN_LANES, N_LAZY }; /* overlaps stand on links: they end first */

struct ps_loaded {
    ps_trace *traces[PS_N_LAYERS];
    layer layers[PS_N_LAYERS];
    lazy *built[N_LAZY]; /* pointers, so that they can be built through a const ps_loaded */
    ps_loaded_facts facts;
    uint64_t fingerprint;
    void *owner;
};

/* --- making --------------------------------------------------------------------------------------------------- */

/* "hcom_send__860_3_1" is a send as all others are: what counts is what stands before the numbers of the instance. */
static size_t tinted_part(const char *text, size_t n) {
    size_t end = n;
    while (end > 0 && (text[end - 1] == '_' || (text[end - 1] >= '0' && text[end - 1] <= '9'))) {
        end--;
    }
    bool is_instance = end > 0 && n - end > 2 && text[end] == '_' && text[end + 1] == '_';
    return is_instance ? end : n;
}

static uint8_t tint_of(const ps_trace *t, ps_str name) {
    const char *text = ps_trace_text(t, name);
    return (uint8_t)(ps_hash64(text, tinted_part(text, ps_trace_text_len(t, name))) % PS_N_TINTS);
}

static bool make_tints(layer *y) {
    const ps_trace *t = y->at.trace;
    const ps_slices *s = ps_trace_slices(t);
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        most = s->name[i].id > most ? s->name[i].id : most;
    }
    y->n_tints = most + 1;
    y->tints = ps_alloc(y->n_tints);
    if (y->tints == NULL) {
        return false;
    }
    memset(y->tints, NO_TINT, y->n_tints);
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t *tint = &y->tints[s->name[i].id];
        *tint = *tint == NO_TINT ? tint_of(t, s->name[i]) : *tint;
    }
    return true;
}

static void cover_loaded(ps_loaded_facts *f, bool *is_first, int64_t start_ns, int64_t end_ns) {
    f->start_ns = *is_first || start_ns < f->start_ns ? start_ns : f->start_ns;
    f->end_ns = *is_first || end_ns > f->end_ns ? end_ns : f->end_ns;
    *is_first = false;
}

static void gather_facts(ps_loaded_facts *f, const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    const ps_counters *c = ps_trace_counters(t);
    bool is_first = true;
    for (uint32_t i = 0; i < s->n; i++) {
        f->n_of_kind[s->kind[i]]++;
        cover_loaded(f, &is_first, s->start_ns[i], s->start_ns[i] + s->dur_ns[i]);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        cover_loaded(f, &is_first, c->time_ns[i], c->time_ns[i]);
    }
}

/* Everything that numbers in replies, caches and addresses lead to: slices, values of counters, flows and texts. */
static uint64_t trace_fingerprint(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    const ps_counters *c = ps_trace_counters(t);
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(t, &n_flows);
    uint64_t texts = 0;
    for (uint32_t id = 0; id < ps_trace_n_texts(t); id++) {
        ps_str text = {id};
        texts = texts * UINT64_C(0x9e3779b97f4a7c15) +
                ps_hash64(ps_trace_text(t, text), ps_trace_text_len(t, text));
    }
    const uint64_t parts[] = {s->n,
                              ps_hash64(s->start_ns, s->n * sizeof *s->start_ns),
                              ps_hash64(s->dur_ns, s->n * sizeof *s->dur_ns),
                              ps_hash64(s->name, s->n * sizeof *s->name),
                              ps_hash64(s->category, s->n * sizeof *s->category),
                              ps_hash64(s->track, s->n * sizeof *s->track),
                              ps_hash64(s->kind, s->n * sizeof *s->kind),
                              c->n,
                              ps_hash64(c->time_ns, c->n * sizeof *c->time_ns),
                              ps_hash64(c->value, c->n * sizeof *c->value),
                              ps_hash64(c->track, c->n * sizeof *c->track),
                              ps_hash64(flows, n_flows * sizeof *flows),
                              texts};
    return ps_hash64(parts, sizeof parts);
}

static ps_code make_layer(layer *y, const ps_trace *t, ps_err *err) {
    y->at.trace = t;
    uint32_t *lane_of = ps_calloc((size_t)ps_trace_slices(t)->n + 1, sizeof *lane_of);
    ps_code code = lane_of != NULL ? ps_lanes_init(&y->lanes, t, lane_of, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        y->at.lanes = &y->lanes;
        y->at.lod = ps_lod_new(t, lane_of, y->lanes.n_lanes, err);
        code = y->at.lod != NULL ? PS_OK : PS_NOMEM;
    }
    ps_free(lane_of);
    return code == PS_OK && !make_tints(y) ? ps_fail_nomem(err) : code;
}

static lazy *new_lazy(void) {
    lazy *z = ps_calloc(1, sizeof *z);
    if (z != NULL && pthread_mutex_init(&z->lock, NULL) != 0) {
        ps_free(z);
        z = NULL;
    }
    return z;
}

static ps_code make_overlaps(const ps_loaded *l, void *out, ps_err *err) {
    const ps_links *links = ps_loaded_links(l, err);
    return links != NULL ? ps_overlaps_measure(links, -1, true, out, err) : PS_NOMEM;
}

static ps_code make_links(const ps_loaded *l, void *out, ps_err *err) {
    return ps_links_init(out, l->traces[PS_LAYER_PROFILE], err);
}

static ps_code make_flows(const ps_loaded *l, void *out, ps_err *err) {
    return ps_flow_index_init(out, l->traces[PS_LAYER_PROFILE], err);
}

static ps_code make_shown_lanes(const ps_loaded *l, void *out, ps_err *err) {
    return ps_shown_lanes_make(l, out, err);
}

static void end_overlaps(void *built) {
    ps_overlaps_fini(built);
}

static void end_links(void *built) {
    ps_links_fini(built);
}

static void end_flows(void *built) {
    ps_flow_index_fini(built);
}

static void end_shown_lanes(void *built) {
    ps_shown_lanes_fini(built);
}

static const struct {
    size_t size_bytes;
    ps_code (*make)(const ps_loaded *l, void *out, ps_err *err);
    void (*end)(void *built); /* also of what could not be made */
} LAZY[N_LAZY] = {[OVERLAPS] = {sizeof(ps_overlaps), make_overlaps, end_overlaps},
                  [LINKS] = {sizeof(ps_links), make_links, end_links},
                  [FLOWS] = {sizeof(ps_flow_index), make_flows, end_flows},
                  [SHOWN_LANES] = {sizeof(ps_shown_lanes), make_shown_lanes, end_shown_lanes}};

static void end_lazy(int which, void *built) {
    if (built != NULL) {
        LAZY[which].end(built);
        ps_free(built);
    }
}

static void free_lazy(int which, lazy *z) {
    if (z != NULL) {
        end_lazy(which, atomic_load(&z->built));
        (void)pthread_mutex_destroy(&z->lock);
        ps_free(z);
    }
}

static const void *get_lazy(const ps_loaded *l, int which, ps_err *err) {
    lazy *z = l->built[which];
    void *built = atomic_load(&z->built);
    if (built != NULL) {
        return built;
    }
    (void)pthread_mutex_lock(&z->lock);
    built = atomic_load(&z->built);
    if (built == NULL) {
        built = ps_calloc(1, LAZY[which].size_bytes);
        ps_code code = built != NULL ? LAZY[which].make(l, built, err) : ps_fail_nomem(err);
        if (code != PS_OK) {
            end_lazy(which, built);
            built = NULL;
        }
        atomic_store(&z->built, built);
    }
    (void)pthread_mutex_unlock(&z->lock);
    return built;
}

static const ps_overlaps *ask_overlaps(const void *loaded, ps_err *err) {
    return ps_loaded_overlaps(loaded, err);
}

/* The parts of it that need only the trace, side by side; the longest comes first. */
enum { MAKE_DERIVED, MAKE_PROFILE, MAKE_FACTS, N_MAKINGS };

typedef struct making {
    ps_loaded *l;
    ps_code codes[N_MAKINGS];
    ps_err errors[N_MAKINGS];
} making;

static ps_code make_derived(ps_loaded *l, ps_err *err) {
    ps_trace *derived = ps_derive_overlap(l->traces[PS_LAYER_PROFILE], ask_overlaps, l, false, err);
    l->traces[PS_LAYER_DERIVED] = derived;
    return derived != NULL ? make_layer(&l->layers[PS_LAYER_DERIVED], derived, err) : PS_NOMEM;
}

static void make_item(void *context, size_t item) {
    making *m = context;
    ps_loaded *l = m->l;
    const ps_trace *profile = l->traces[PS_LAYER_PROFILE];
    if (item == MAKE_DERIVED) {
        m->codes[item] = make_derived(l, &m->errors[item]);
    } else if (item == MAKE_PROFILE) {
        m->codes[item] = make_layer(&l->layers[PS_LAYER_PROFILE], profile, &m->errors[item]);
    } else {
        gather_facts(&l->facts, profile);
        l->fingerprint = trace_fingerprint(profile);
    }
}

static ps_code make_all(ps_loaded *l, size_t n_threads, ps_err *err) {
    making m = {.l = l, .errors = {PS_ERR_INIT, PS_ERR_INIT, PS_ERR_INIT}};
    ps_parallel(N_MAKINGS, n_threads, make_item, &m);
    for (size_t i = 0; i < N_MAKINGS; i++) {
        if (m.codes[i] != PS_OK) {
            if (err != NULL) {
                *err = m.errors[i];
            }
            return m.codes[i];
        }
    }
    return PS_OK;
}

ps_loaded *ps_loaded_new(ps_trace *trace, size_t n_threads, ps_err *err) {
    ps_loaded *l = ps_calloc(1, sizeof *l);
    if (l == NULL) {
        ps_trace_free(trace);
        (void)ps_fail_nomem(err);
        return NULL;
    }
    l->traces[PS_LAYER_PROFILE] = trace;
    ps_code code = PS_OK;
    for (int i = 0; code == PS_OK && i < N_LAZY; i++) {
        l->built[i] = new_lazy();
        code = l->built[i] != NULL ? PS_OK : ps_fail_nomem(err);
    }
    code = code == PS_OK ? make_all(l, n_threads, err) : code;
    if (code != PS_OK) {
        ps_loaded_free(l);
        return NULL;
    }
    ps_layer *derived = &l->layers[PS_LAYER_DERIVED].at;
    derived->first_slice = ps_trace_slices(trace)->n;
    derived->first_lane = l->layers[PS_LAYER_PROFILE].lanes.n_lanes;
    return l;
}

void ps_loaded_free(ps_loaded *l) {
    if (l == NULL) {
        return;
    }
    for (int i = 0; i < N_LAZY; i++) {
        free_lazy(i, l->built[i]);
    }
    for (int i = 0; i < PS_N_LAYERS; i++) {
        layer *y = &l->layers[i];
        ps_lod_free(y->at.lod);
        ps_lanes_fini(&y->lanes);
        ps_free(y->tints);
        ps_trace_free(l->traces[i]);
    }
    ps_free(l);
}

void ps_loaded_set_owner(ps_loaded *l, void *owner) {
    l->owner = owner;
}

void *ps_loaded_owner(const ps_loaded *l) {
    return l->owner;
}

uint64_t ps_loaded_fingerprint(const ps_loaded *l) {
    return l->fingerprint;
}

/* --- slices and lanes ----------------------------------------------------------------------------------------- */

const ps_layer *ps_loaded_layer(const ps_loaded *l, int which) {
    return &l->layers[which].at;
}

const ps_loaded_facts *ps_loaded_facts_of(const ps_loaded *l) {
    return &l->facts;
}

uint32_t ps_loaded_n_slices(const ps_loaded *l) {
    return ps_trace_slices(l->traces[PS_LAYER_PROFILE])->n +
           ps_trace_slices(l->traces[PS_LAYER_DERIVED])->n;
}

uint32_t ps_loaded_n_lanes(const ps_loaded *l) {
    return l->layers[PS_LAYER_PROFILE].lanes.n_lanes + l->layers[PS_LAYER_DERIVED].lanes.n_lanes;
}

bool ps_loaded_ref(const ps_loaded *l, uint32_t slice, ps_ref *out) {
    const ps_layer *derived = &l->layers[PS_LAYER_DERIVED].at;
    if (slice >= ps_loaded_n_slices(l)) {
        return false;
    }
    bool is_derived = slice >= derived->first_slice;
    *out = (ps_ref){is_derived ? derived : &l->layers[PS_LAYER_PROFILE].at,
                    is_derived ? slice - derived->first_slice : slice};
    return true;
}

bool ps_loaded_lane(const ps_loaded *l, uint32_t lane, const ps_layer **which,
                    uint32_t *lane_in_layer) {
    const ps_layer *profile = &l->layers[PS_LAYER_PROFILE].at;
    const ps_layer *derived = &l->layers[PS_LAYER_DERIVED].at;
    uint32_t n_derived = derived->lanes->n_lanes;
    bool is_derived = lane >= derived->first_lane && lane - derived->first_lane < n_derived;
    *which = is_derived ? derived : profile;
    *lane_in_layer = is_derived                    ? lane - derived->first_lane
                     : lane >= derived->first_lane ? lane - n_derived
                                                   : lane;
    return is_derived || *lane_in_layer < ps_lod_n_lanes(profile->lod);
}

ps_code ps_loaded_place(const ps_loaded *l, uint32_t slice, uint32_t *lane, uint32_t *row,
                        ps_err *err) {
    ps_ref ref;
    if (!ps_loaded_ref(l, slice, &ref)) {
        return ps_fail(err, PS_NOT_FOUND, "no slice %u", slice);
    }
    const ps_layer *y = ref.layer;
    uint32_t inner = ps_lanes_of(y->lanes, y->trace, ref.slice);
    ps_code code = ps_lod_build(y->lod, inner, err);
    if (code == PS_OK) {
        *lane = y->first_lane + inner;
        *row = ps_lod_row_of(y->lod, ref.slice);
    }
    return code;
}

uint32_t ps_loaded_merge(ps_loaded *l, const uint32_t *lanes, size_t n, ps_err *err) {
    const ps_layer *profile = &l->layers[PS_LAYER_PROFILE].at;
    const ps_lanes *derived = &l->layers[PS_LAYER_DERIVED].lanes;
    uint32_t *inner = ps_calloc(n + 1, sizeof *inner);
    if (inner == NULL || n == 0) {
        ps_free(inner);
        (void)(n == 0 ? ps_fail(err, PS_USAGE, "no lanes to draw as one") : ps_fail_nomem(err));
        return PS_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        const ps_layer *y = NULL;
        if (!ps_loaded_lane(l, lanes[i], &y, &inner[i]) || y != profile) {
            (void)ps_fail(err, PS_USAGE, "lane %u is none of the profile", lanes[i]);
            ps_free(inner);
            return PS_NONE;
        }
    }
    uint32_t made = ps_lod_merge(profile->lod, inner, n, err);
    ps_free(inner);
    bool is_merged =
        made != PS_NONE && made >= profile->lanes->n_lanes; /* else a lane of its own */
    return is_merged ? made + derived->n_lanes : made;
}

uint8_t ps_loaded_tint(const ps_layer *y, ps_str name) {
    const layer *own = (const layer *)y;
    if (name.id < own->n_tints && own->tints[name.id] != NO_TINT) {
        return own->tints[name.id];
    }
    return tint_of(y->trace, name);
}

/* --- built when asked for ------------------------------------------------------------------------------------- */

const ps_links *ps_loaded_links(const ps_loaded *l, ps_err *err) {
    return get_lazy(l, LINKS, err);
}

const ps_overlaps *ps_loaded_overlaps(const ps_loaded *l, ps_err *err) {
    return get_lazy(l, OVERLAPS, err);
}

const ps_flow_index *ps_loaded_flows(const ps_loaded *l, ps_err *err) {
    return get_lazy(l, FLOWS, err);
}

const ps_shown_lanes *ps_loaded_shown_lanes(const ps_loaded *l, ps_err *err) {
    return get_lazy(l, SHOWN_LANES, err);
}

/* --- sizes ---------------------------------------------------------------------------------------------------- */

static size_t links_bytes(const ps_loaded *l) {
    bool is_there = atomic_load(&l->built[LINKS]->built) != NULL;
    return is_there ? (size_t)ps_trace_slices(l->traces[PS_LAYER_PROFILE])->n * 3 * sizeof(uint32_t)
                    : 0;
}

ps_loaded_bytes ps_loaded_size(const ps_loaded *l) {
    ps_loaded_bytes sum = {0};
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_trace_bytes b = ps_trace_size(l->traces[i]);
        const layer *y = &l->layers[i];
        sum.columns += b.columns;
        sum.index += ps_lod_bytes(y->at.lod);
        sum.args += b.args;
        sum.names += b.names + y->n_tints + y->lanes.arena.size_bytes +
                     y->lanes.cap_nodes * sizeof *y->lanes.nodes;
        sum.flows += b.flows;
        sum.counters += b.counters;
        sum.tables += b.tables;
    }
    const ps_flow_index *flows = atomic_load(&l->built[FLOWS]->built);
    const ps_shown_lanes *shown = atomic_load(&l->built[SHOWN_LANES]->built);
    sum.names += shown != NULL ? shown->n * sizeof *shown->at : 0;
    sum.flows += links_bytes(l) + (flows != NULL ? ps_flow_index_bytes(flows) : 0);
    return sum;
}

size_t ps_loaded_total_bytes(const ps_loaded *l) {
    ps_loaded_bytes b = ps_loaded_size(l);
    return b.columns + b.index + b.args + b.names + b.flows + b.counters + b.tables;
}
