#include "write/trace/trace_chrome_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "base/utf8.h"

/* Numbers of processes that the trace has no number for. */
#define FIRST_MADE_PID 10000000

/* What is in the scratch buffer, kept. Text NULL when memory is out. */
static ps_json_piece keep_chrome_name(ps_chrome_names *m) {
    ps_json_piece f = {NULL, m->scratch.len};
    if (ps_buf_ok(&m->scratch)) {
        f.text = ps_arena_strndup(&m->arena, ps_buf_str(&m->scratch), f.n);
    }
    ps_buf_clear(&m->scratch);
    return f;
}

/* It was not needed; what had no room is told. */
static void drop_chrome_name(ps_chrome_names *m, bool *nomem) {
    *nomem = *nomem || !ps_buf_ok(&m->scratch);
    ps_buf_clear(&m->scratch);
}

/* The same as a JSON string. */
static ps_json_piece keep_as_string(ps_chrome_names *m) {
    ps_json_piece raw = keep_chrome_name(m);
    if (raw.text == NULL) {
        return raw;
    }
    ps_buf_add_json_str(&m->scratch, raw.text, raw.n);
    return keep_chrome_name(m);
}

/* --- numbers and names --------------------------------------------------------------------------------- */

static uint64_t used_key(size_t group, const void *what, size_t n) {
    return ps_hash_u64(ps_hash64(what, n) + group * 0x9E3779B97F4A7C15u);
}

/* True when the text or number was free in `group` and is taken now. */
static bool take_chrome_name(ps_chrome_names *m, size_t group, const void *what, size_t n,
                             bool *nomem) {
    uint64_t key = used_key(group, what, n);
    if (ps_idmap_get(&m->used, key) != PS_IDMAP_NONE) {
        return false;
    }
    *nomem = !ps_idmap_put(&m->used, key, 1) || *nomem;
    return true;
}

static bool take_chrome_name_number(ps_chrome_names *m, size_t group, int64_t number, bool *nomem) {
    return take_chrome_name(m, group, &number, sizeof number, nomem);
}

static bool is_chrome_name_several(const ps_chrome_names *m) {
    return m->next_pid != NULL;
}

/* Processes have a room of their own in `used`. */
#define ALL_GROUPS SIZE_MAX

static bool name_processes(ps_chrome_names *m) {
    bool nomem = false;
    int64_t made = FIRST_MADE_PID;
    const ps_trace_layout *l = m->layout;
    for (size_t g = 0; g < l->n_groups; g++) {
        if (!l->groups[g].is_split) {
            (void)take_chrome_name_number(m, ALL_GROUPS, l->groups[g].pid, &nomem);
        }
    }
    for (size_t g = 0; g < l->n_groups && !nomem; g++) {
        const ps_trace_group *group = &l->groups[g];
        ps_json j = ps_json_members_to(&m->scratch);
        ps_json_key(&j, "pid");
        if (is_chrome_name_several(m)) {
            ps_json_int(&j, (*m->next_pid)++);
        } else if (group->is_split) {
            while (!take_chrome_name_number(m, ALL_GROUPS, made, &nomem)) {
                made++;
            }
            ps_json_int(&j, made);
        } else if (group->process != NULL && group->process->pid_is_text) {
            ps_json_str_n(&j, ps_trace_text(m->t, group->process->name),
                          ps_trace_text_len(m->t, group->process->name));
        } else {
            ps_json_int(&j, group->pid);
        }
        m->pids[g] = keep_chrome_name(m);
        nomem = nomem || m->pids[g].text == NULL;
    }
    return !nomem;
}

static const ps_track *chrome_name_track_of(const ps_chrome_names *m, uint32_t row) {
    return &ps_trace_tracks(m->t, &(size_t){0})[row];
}

static ps_json begin_lane_ids(ps_chrome_names *m, uint32_t group) {
    ps_json j = ps_json_members_to(&m->scratch);
    ps_json_members(&j, m->pids[group].text, m->pids[group].n);
    ps_json_key(&j, "tid");
    return j;
}

/* The number or text of the track itself, when nobody has it yet. */
static bool name_as_is(ps_chrome_names *m, uint32_t row, bool *nomem) {
    const ps_track *track = chrome_name_track_of(m, row);
    uint32_t group = m->layout->group_of[row];
    const char *name = ps_trace_text(m->t, track->name);
    size_t n = ps_trace_text_len(m->t, track->name);
    bool is_text = track->tid == -1 && n > 0;
    if (is_text && (is_chrome_name_several(m) || !take_chrome_name(m, group, name, n, nomem))) {
        return false;
    }
    if (!is_text && !take_chrome_name_number(m, group, track->tid, nomem)) {
        return false;
    }
    ps_json j = begin_lane_ids(m, group);
    if (is_text) {
        ps_json_str_n(&j, name, n);
    } else {
        ps_json_int(&j, track->tid);
    }
    m->lanes[row] = keep_chrome_name(m);
    *nomem = *nomem || m->lanes[row].text == NULL;
    return true;
}

/* A counter has no thread, unless slices lie on it all the same. */
static bool has_lanes(const ps_chrome_names *m, uint32_t row) {
    return chrome_name_track_of(m, row)->kind != PS_TRACK_COUNTER || m->layout->has_slices[row];
}

static bool name_lanes(ps_chrome_names *m) {
    const ps_trace_layout *l = m->layout;
    bool nomem = false;
    int64_t *next = ps_calloc(l->n_groups + 1, sizeof *next);
    for (size_t i = 0; i < l->n_tracks && !nomem; i++) {
        if (has_lanes(m, l->tracks[i])) {
            (void)name_as_is(m, l->tracks[i], &nomem);
        }
    }
    for (size_t i = 0; next != NULL && i < l->n_tracks; i++) {
        uint32_t row = l->tracks[i];
        uint32_t group = l->group_of[row];
        for (uint32_t lane = has_lanes(m, row) ? row : PS_NONE; lane != PS_NONE && !nomem;
             lane = l->lanes[lane].next) {
            if (m->lanes[lane].text != NULL) {
                continue;
            }
            do {
                next[group]++;
            } while (!take_chrome_name_number(m, group, next[group], &nomem));
            ps_json j = begin_lane_ids(m, group);
            ps_json_int(&j, next[group]);
            m->lanes[lane] = keep_chrome_name(m);
            nomem = nomem || m->lanes[lane].text == NULL;
        }
    }
    nomem = nomem || next == NULL;
    ps_free(next);
    return !nomem;
}

/* Leaves the first free name in the scratch buffer: "Read", "Read (2)". `attempts` remembers how far a title has come,
 * so that many counters of one title do not try the same names again. False when memory is out. */
static bool choose_counter_name(ps_chrome_names *m, uint32_t row, ps_idmap *attempts) {
    const size_t group = m->layout->group_of[row] + m->layout->n_groups;
    bool nomem = false;
    ps_trace_lane_title(m->t, &m->layout->lanes[row], &m->scratch);
    const uint64_t title = used_key(group, ps_buf_str(&m->scratch), m->scratch.len);
    uint32_t attempt = ps_idmap_get(attempts, title);
    attempt = attempt == PS_IDMAP_NONE ? 0 : attempt;
    for (;;) {
        if (attempt++ > 0) {
            ps_buf_addf(&m->scratch, " (%u)", attempt);
        }
        if (take_chrome_name(m, group, ps_buf_str(&m->scratch), m->scratch.len, &nomem)) {
            break;
        }
        drop_chrome_name(m, &nomem);
        ps_trace_lane_title(m->t, &m->layout->lanes[row], &m->scratch);
    }
    return ps_idmap_put(attempts, title, attempt) && !nomem;
}

/* Counters are told apart by their names within a process. */
static bool name_counters(ps_chrome_names *m) {
    const ps_trace_layout *l = m->layout;
    ps_idmap attempts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < l->n_tracks; i++) {
        uint32_t row = l->tracks[i];
        if (chrome_name_track_of(m, row)->kind == PS_TRACK_COUNTER) {
            ok = choose_counter_name(m, row, &attempts);
            m->counters[row] = keep_as_string(m);
            ok = ok && m->counters[row].text != NULL;
        }
    }
    ps_idmap_fini(&attempts);
    return ok;
}

/* --- categories ---------------------------------------------------------------------------------------- */

static uint64_t category_key(ps_str name, uint8_t kind) {
    return (uint64_t)name.id << 8 | kind;
}

static bool is_utf8(const char *s, size_t n) {
    size_t len = 1;
    for (size_t i = 0; i < n && len > 0; i += len) {
        len = ps_utf8_len(s + i, n - i);
    }
    return len > 0;
}

/* As JSON can hold it: texts that read alike there must be told apart here. */
static void add_category_text(ps_chrome_names *m, ps_str name, ps_slice_kind kind) {
    const char *text = ps_trace_text(m->t, name);
    size_t n = ps_trace_text_len(m->t, name);
    for (size_t i = 0; i < n;) {
        size_t len = ps_utf8_len(text + i, n - i);
        ps_buf_add(&m->scratch, len > 0 ? text + i : "\xEF\xBF\xBD", len > 0 ? len : 3);
        i += len > 0 ? len : 1;
    }
    if (n == 0) {
        ps_buf_add_str(&m->scratch, ps_slice_kind_name(kind));
    }
}

static bool add_category(ps_chrome_names *m, ps_str name, ps_slice_kind kind) {
    const uint32_t row = (uint32_t)m->n_categories;
    if (!ps_grow(&m->categories, &m->cap_categories, m->n_categories + 1,
                 SIZE_MAX / sizeof *m->categories, sizeof *m->categories) ||
        !ps_idmap_put(&m->category_rows, category_key(name, (uint8_t)kind), row)) {
        return false;
    }
    ps_chrome_category *c = &m->categories[m->n_categories++];
    *c = (ps_chrome_category){.name = name, .kind = kind};
    bool nomem = false;
    add_category_text(m, name, kind);
    const uint64_t text = used_key(ALL_GROUPS - 1, ps_buf_str(&m->scratch), m->scratch.len);
    if (take_chrome_name(m, ALL_GROUPS - 1, ps_buf_str(&m->scratch), m->scratch.len, &nomem)) {
        c->first = row;
        c->shown = keep_as_string(m);
        return c->shown.text != NULL && !nomem && ps_idmap_put(&m->first_rows, text, row);
    }
    drop_chrome_name(m, &nomem);
    if (nomem) {
        return false;
    }
    c->first = ps_idmap_get(&m->first_rows, text);
    c->shown = m->categories[c->first].shown;
    c->is_shared = m->categories[c->first].is_shared = true;
    return true;
}

/* Slices of `name` are of category `row`, which shares its text. Of two that claim a name the later one goes apart:
 * `owners` keeps the earlier. */
static bool claim_name(ps_chrome_names *m, ps_idmap *owners, uint32_t row, ps_str name) {
    ps_chrome_category *c = &m->categories[row];
    const uint64_t key = (uint64_t)c->first << 32 | name.id;
    const uint32_t owner = ps_idmap_get(owners, key);
    if (owner == row) {
        return true;
    }
    if (owner != PS_IDMAP_NONE && owner < row) {
        c->is_apart = true;
        return true;
    }
    if (owner != PS_IDMAP_NONE) {
        m->categories[owner].is_apart = true;
    }
    size_t len = ps_trace_text_len(m->t, name);
    if (c->first != row && (len == 0 || !is_utf8(ps_trace_text(m->t, name), len))) {
        c->is_apart = true; /* no name to list */
    }
    if (!ps_idmap_put(owners, key, row)) {
        return false;
    }
    if (c->first == row || c->is_apart) {
        return true;
    }
    return PS_ADD(m->named, m->n_named, m->cap_named, SIZE_MAX / sizeof *m->named,
                  (ps_chrome_named){row, name});
}

static bool claim_names(ps_chrome_names *m) {
    const ps_slices *s = ps_trace_slices(m->t);
    ps_idmap owners = {0}; /* (first row of a text, name) -> row */
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        const ps_chrome_category *c = ps_chrome_names_category(m, s->category[i], s->kind[i]);
        if (c->is_shared) {
            ok = claim_name(m, &owners, (uint32_t)(c - m->categories), s->name[i]);
        }
    }
    ps_idmap_fini(&owners);
    return ok;
}

/* "kernel,copy" for the kind copy of the category kernel; with a number where that is taken. */
static bool set_apart(ps_chrome_names *m, ps_chrome_category *c) {
    bool nomem = false;
    for (unsigned attempt = 1;; attempt++) {
        add_category_text(m, c->name, c->kind);
        ps_buf_addf(&m->scratch, ",%s", ps_slice_kind_name(c->kind));
        if (attempt > 1) {
            ps_buf_addf(&m->scratch, ",%u", attempt);
        }
        if (take_chrome_name(m, ALL_GROUPS - 1, ps_buf_str(&m->scratch), m->scratch.len, &nomem)) {
            break;
        }
        drop_chrome_name(m, &nomem);
    }
    c->shown = keep_as_string(m);
    return c->shown.text != NULL && !nomem;
}

static bool find_categories(ps_chrome_names *m) {
    const ps_slices *s = ps_trace_slices(m->t);
    uint64_t last = UINT64_MAX;
    bool ok = true;
    for (uint32_t row = 0; ok && row < s->n; row++) {
        uint64_t key = category_key(s->category[row], s->kind[row]);
        if (key != last && ps_idmap_get(&m->category_rows, key) == PS_IDMAP_NONE) {
            ok = add_category(m, s->category[row], (ps_slice_kind)s->kind[row]);
        }
        last = key;
    }
    ok = ok && claim_names(m);
    for (size_t i = 0; ok && i < m->n_categories; i++) {
        ok = !m->categories[i].is_apart || set_apart(m, &m->categories[i]);
    }
    size_t n = 0;
    for (size_t i = 0; i < m->n_named; i++) {
        if (!m->categories[m->named[i].category].is_apart) {
            m->named[n++] = m->named[i];
        }
    }
    m->n_named = n;
    return ok;
}

static bool is_flow_kind(const ps_trace *t, const char *text) {
    ps_str kind = ps_trace_find_text(t, text);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; !ps_str_is_none(kind) && i < n; i++) {
        if (ps_str_eq(flows[i].kind, kind)) {
            return true;
        }
    }
    return false;
}

/* A text that no flow has for its kind. */
static const char *choose_no_kind(const ps_trace *t) {
    static const char *const TEXTS[] = {"mark", "mark to device", "pipescope mark"};
    size_t i = 0;
    while (i + 1 < sizeof TEXTS / sizeof TEXTS[0] && is_flow_kind(t, TEXTS[i])) {
        i++;
    }
    return TEXTS[i];
}

/* --- the whole ----------------------------------------------------------------------------------------- */

bool ps_chrome_names_init(ps_chrome_names *m, const ps_trace *t, const ps_trace_layout *layout,
                          int64_t *next_pid) {
    *m = (ps_chrome_names){.t = t, .layout = layout, .next_pid = next_pid};
    m->pids = ps_calloc(layout->n_groups + 1, sizeof *m->pids);
    m->lanes = ps_calloc(layout->n_lanes + 1, sizeof *m->lanes);
    m->counters = ps_calloc(layout->n_tracks + 1, sizeof *m->counters);
    m->no_kind = choose_no_kind(t);
    return m->pids != NULL && m->lanes != NULL && m->counters != NULL && find_categories(m) &&
           name_processes(m) && name_lanes(m) && name_counters(m);
}

void ps_chrome_names_fini(ps_chrome_names *m) {
    ps_arena_fini(&m->arena);
    ps_buf_fini(&m->scratch);
    ps_free(m->pids);
    ps_free(m->lanes);
    ps_free(m->counters);
    ps_free(m->categories);
    ps_idmap_fini(&m->category_rows);
    ps_idmap_fini(&m->first_rows);
    ps_free(m->named);
    ps_idmap_fini(&m->used);
}

const ps_chrome_category *ps_chrome_names_category(const ps_chrome_names *m, ps_str category,
                                                   uint8_t kind) {
    return &m->categories[ps_idmap_get(&m->category_rows, category_key(category, kind))];
}
