#include "write/trace_chrome_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Numbers of processes that the trace has no number for. */
#define FIRST_MADE_PID 10000000

/* What is in the scratch buffer, kept. Text NULL when memory is out. */
static ps_json_piece keep(ps_chrome_names *m) {
    ps_json_piece f = {NULL, m->scratch.len};
    if (ps_buf_ok(&m->scratch)) {
        f.text = ps_arena_strndup(&m->arena, ps_buf_str(&m->scratch), f.n);
    }
    ps_buf_clear(&m->scratch);
    return f;
}

/* The same as a JSON string. */
static ps_json_piece keep_as_string(ps_chrome_names *m) {
    ps_json_piece raw = keep(m);
    if (raw.text == NULL) {
        return raw;
    }
    ps_buf_add_json_str(&m->scratch, raw.text, raw.n);
    return keep(m);
}

/* --- numbers and names --------------------------------------------------------------------------------- */

static uint64_t used_key(size_t group, const void *what, size_t n) {
    return ps_hash_u64(ps_hash64(what, n) + group * 0x9E3779B97F4A7C15u);
}

/* True when the text or number was free in `group` and is taken now. */
static bool take(ps_chrome_names *m, size_t group, const void *what, size_t n, bool *nomem) {
    uint64_t key = used_key(group, what, n);
    if (ps_idmap_get(&m->used, key) != PS_IDMAP_NONE) {
        return false;
    }
    *nomem = !ps_idmap_put(&m->used, key, 1) || *nomem;
    return true;
}

static bool take_number(ps_chrome_names *m, size_t group, int64_t number, bool *nomem) {
    return take(m, group, &number, sizeof number, nomem);
}

static bool is_several(const ps_chrome_names *m) {
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
            (void)take_number(m, ALL_GROUPS, l->groups[g].pid, &nomem);
        }
    }
    for (size_t g = 0; g < l->n_groups && !nomem; g++) {
        const ps_trace_group *group = &l->groups[g];
        ps_buf_add_str(&m->scratch, ",\"pid\":");
        if (is_several(m)) {
            ps_buf_addf(&m->scratch, "%lld", (long long)(*m->next_pid)++);
        } else if (group->is_split) {
            while (!take_number(m, ALL_GROUPS, made, &nomem)) {
                made++;
            }
            ps_buf_addf(&m->scratch, "%lld", (long long)made);
        } else if (group->process != NULL && group->process->pid_is_text) {
            ps_buf_add_json_str(&m->scratch, ps_trace_text(m->t, group->process->name),
                                ps_trace_text_len(m->t, group->process->name));
        } else {
            ps_buf_addf(&m->scratch, "%lld", (long long)group->pid);
        }
        m->pids[g] = keep(m);
        nomem = nomem || m->pids[g].text == NULL;
    }
    return !nomem;
}

static const ps_track *track_of(const ps_chrome_names *m, uint32_t row) {
    return &ps_trace_tracks(m->t, &(size_t){0})[row];
}

static void begin_lane_ids(ps_chrome_names *m, uint32_t group) {
    ps_buf_add(&m->scratch, m->pids[group].text, m->pids[group].n);
    ps_buf_add_str(&m->scratch, ",\"tid\":");
}

/* The number or text of the track itself, when nobody has it yet. */
static bool name_as_is(ps_chrome_names *m, uint32_t row, bool *nomem) {
    const ps_track *track = track_of(m, row);
    uint32_t group = m->layout->group_of[row];
    const char *name = ps_trace_text(m->t, track->name);
    size_t n = ps_trace_text_len(m->t, track->name);
    bool is_text = track->tid == -1 && n > 0;
    if (is_text && (is_several(m) || !take(m, group, name, n, nomem))) {
        return false;
    }
    if (!is_text && !take_number(m, group, track->tid, nomem)) {
        return false;
    }
    begin_lane_ids(m, group);
    if (is_text) {
        ps_buf_add_json_str(&m->scratch, name, n);
    } else {
        ps_buf_addf(&m->scratch, "%lld", (long long)track->tid);
    }
    m->lanes[row] = keep(m);
    *nomem = *nomem || m->lanes[row].text == NULL;
    return true;
}

/* A counter has no thread, unless slices lie on it all the same. */
static bool has_lanes(const ps_chrome_names *m, uint32_t row) {
    return track_of(m, row)->kind != PS_TRACK_COUNTER || m->layout->has_slices[row];
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
            } while (!take_number(m, group, next[group], &nomem));
            begin_lane_ids(m, group);
            ps_buf_addf(&m->scratch, "%lld", (long long)next[group]);
            m->lanes[lane] = keep(m);
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
        if (take(m, group, ps_buf_str(&m->scratch), m->scratch.len, &nomem)) {
            break;
        }
        ps_buf_clear(&m->scratch);
        ps_trace_lane_title(m->t, &m->layout->lanes[row], &m->scratch);
    }
    return ps_idmap_put(attempts, title, attempt) && !nomem;
}

/* Counters are told apart by their names within a process. */
static bool name_counters(ps_chrome_names *m) {
    const ps_trace_layout *l = m->layout;
    ps_idmap attempts;
    ps_idmap_init(&attempts);
    bool ok = true;
    for (size_t i = 0; ok && i < l->n_tracks; i++) {
        uint32_t row = l->tracks[i];
        if (track_of(m, row)->kind == PS_TRACK_COUNTER) {
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

static bool add_category(ps_chrome_names *m, ps_str name, ps_slice_kind kind) {
    bool nomem = false;
    const char *kind_name = ps_slice_kind_name(kind);
    size_t n = ps_trace_text_len(m->t, name);
    const char *text = n > 0 ? ps_trace_text(m->t, name) : kind_name;
    n = n > 0 ? n : strlen(kind_name);
    for (unsigned attempt = 0;; attempt++) {
        ps_buf_add(&m->scratch, text, n);
        if (attempt > 0) {
            ps_buf_addf(&m->scratch, ",%s", kind_name);
        }
        if (attempt > 1) {
            ps_buf_addf(&m->scratch, ",%u", attempt);
        }
        if (take(m, ALL_GROUPS - 1, ps_buf_str(&m->scratch), m->scratch.len, &nomem)) {
            break;
        }
        ps_buf_clear(&m->scratch);
    }
    ps_chrome_category c = {name, kind, keep_as_string(m)};
    if (nomem || c.shown.text == NULL ||
        !ps_grow(&m->categories, &m->cap_categories, m->n_categories + 1,
                 SIZE_MAX / sizeof *m->categories, sizeof *m->categories) ||
        !ps_idmap_put(&m->category_rows, category_key(name, (uint8_t)kind),
                      (uint32_t)m->n_categories)) {
        return false;
    }
    m->categories[m->n_categories++] = c;
    return true;
}

static bool find_categories(ps_chrome_names *m) {
    const ps_slices *s = ps_trace_slices(m->t);
    uint64_t last = UINT64_MAX;
    for (uint32_t row = 0; row < s->n; row++) {
        uint64_t key = category_key(s->category[row], s->kind[row]);
        if (key != last && ps_idmap_get(&m->category_rows, key) == PS_IDMAP_NONE &&
            !add_category(m, s->category[row], (ps_slice_kind)s->kind[row])) {
            return false;
        }
        last = key;
    }
    return true;
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
    ps_arena_init(&m->arena);
    ps_buf_init(&m->scratch, 0);
    ps_idmap_init(&m->category_rows);
    ps_idmap_init(&m->used);
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
    ps_idmap_fini(&m->used);
}

const ps_chrome_category *ps_chrome_names_category(const ps_chrome_names *m, ps_str category,
                                                   uint8_t kind) {
    return &m->categories[ps_idmap_get(&m->category_rows, category_key(category, kind))];
}
