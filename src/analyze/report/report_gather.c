/* The map of the report: the facts of one rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/derived/rank_facts.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/report/report_gather.h"
#include "base/alloc.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/text.h"
#include "model/host_comm.h"
#include "model/recording.h"

/* --- what it is ---------------------------------------------------------------------------------------------------- */

static ps_vendor vendor_of_call(const char *name) {
    if (strncmp(name, "cuda", 4) == 0 || strncmp(name, "cuLaunch", 8) == 0) {
        return PS_VENDOR_NVIDIA;
    }
    bool acl = strncmp(name, "acl", 3) == 0 || strncmp(name, "AscendCL@", 9) == 0 ||
               strncmp(name, "Dequeue@", 8) == 0;
    return acl || strncmp(name, "hcom_", 5) == 0 ? PS_VENDOR_ASCEND : PS_VENDOR_OTHER;
}

/* By the driver that was called, else by who wrote the profile. */
static void look_around(const ps_trace *trace, const char *profiler, ps_report_rank *r) {
    const ps_slices *s = ps_trace_slices(trace);
    r->origin_ns = ps_trace_origin_ns(trace);
    r->first_ns = r->origin_ns + (s->n > 0 ? s->start_ns[0] : 0);
    r->last_ns = r->first_ns;
    r->has_host_times = ps_trace_has_host_times(trace);
    r->comm_from_marks = ps_trace_comm_from_marks(trace);
    r->any_host_comm = ps_host_comm_count(trace) > 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t end = r->origin_ns + s->start_ns[i] + s->dur_ns[i];
        bool derived = s->kind[i] == PS_SLICE_DERIVED;
        r->last_ns = !derived && end > r->last_ns ? end : r->last_ns;
        r->any_device = r->any_device || ps_is_launched(s->kind[i]) || s->kind[i] == PS_SLICE_JOB;
        bool is_own_op = s->kind[i] == PS_SLICE_COMM_OP && r->comm_from_marks == NULL;
        if (r->vendor == PS_VENDOR_OTHER &&
            (s->kind[i] == PS_SLICE_CALL || s->kind[i] == PS_SLICE_QUEUE || is_own_op)) {
            r->vendor = vendor_of_call(ps_trace_text(trace, s->name[i]));
        }
    }
    if (r->vendor == PS_VENDOR_OTHER && profiler != NULL) {
        bool ascend = strcmp(profiler, "Ascend") == 0 || strcmp(profiler, "MindSpore") == 0 ||
                      strcmp(profiler, "msMonitor") == 0;
        r->vendor = ascend                                    ? PS_VENDOR_ASCEND
                    : strcmp(profiler, "Nsight Systems") == 0 ? PS_VENDOR_NVIDIA
                                                              : PS_VENDOR_OTHER;
    }
}

/* Series of what the allocator of the framework holds, "PTA/Total Allocated": torch_npu writes them with profile_memory=True alone. */
static bool has_allocator_series(const ps_trace *trace) {
    static const char END[] = "/Total Allocated";
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(trace, &n_tracks);
    for (size_t i = 0; i < n_tracks; i++) {
        const char *name = ps_trace_text(trace, tracks[i].name);
        size_t n = strlen(name);
        if (tracks[i].kind == PS_TRACK_COUNTER && n >= sizeof END &&
            strcmp(name + n - (sizeof END - 1), END) == 0) {
            return true;
        }
    }
    return false;
}

#define HOST_OPS_ASKED 1000

/* What a profiler records of the host beside its operators and calls, as the capture shows it. */
static void look_for_extras(const ps_trace *trace, ps_report_rank *r) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_asked = 0;
    r->has_frames = s->n > 0 && memchr(s->kind, PS_SLICE_PYTHON, s->n) != NULL;
    r->has_allocations =
        !ps_str_is_none(ps_trace_find_text(trace, "[memory]")) || has_allocator_series(trace);
    for (uint32_t i = 0; i < s->n && n_asked < HOST_OPS_ASKED && !r->has_shapes; i++) {
        bool is_op = s->kind[i] == PS_SLICE_HOST_OP;
        n_asked += is_op;
        r->has_shapes = is_op && ps_has_input_shapes(trace, i);
    }
}

/* The number of the machine, which is its own, else its name, which another one may have. */
static bool look_for_host(const ps_trace *trace, ps_report_rank *r) {
    static const char *const COLUMNS[] = {"hostUid", "hostName"};
    const ps_table *t = ps_trace_side_table(trace, "HOST_INFO");
    bool ok = true;
    for (size_t i = 0; ok && t != NULL && t->n_rows == 1 && r->host == NULL && i < 2; i++) {
        size_t column = ps_table_column(t, COLUMNS[i]);
        const ps_value *v = column != SIZE_MAX ? ps_table_cell(t, 0, column) : NULL;
        char number[24] = "";
        const char *text = number;
        if (v == NULL || v->is_null) {
            continue;
        }
        if (t->columns[column].type == PS_COL_TEXT) {
            text = v->u.text;
        } else if (t->columns[column].type == PS_COL_INT) {
            (void)snprintf(number, sizeof number, "%lld", (long long)v->u.i);
        }
        if (text[0] != '\0') {
            r->host = ps_arena_strndup(&r->arena, text, strlen(text));
            ok = r->host != NULL;
        }
    }
    return ok;
}

static void look_for_training(const ps_trace *trace, ps_report_rank *r) {
    const ps_slices *s = ps_trace_slices(trace);
    r->any_calls = s->n > 0 && memchr(s->kind, PS_SLICE_CALL, s->n) != NULL;
    for (uint32_t i = 0; i < s->n && !r->trains; i++) {
        if (ps_is_host_range(s->kind[i])) {
            const char *name = ps_trace_text(trace, s->name[i]);
            r->trains = ps_begins_with(name, "autograd::engine::evaluate_function") ||
                        ps_begins_with(name, "Optimizer.step#");
        }
    }
}

/* What only a timeline tells is unknown without it. */
static bool look_for_timeline(const ps_trace *trace, ps_report_rank *r) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *files = ps_trace_missing_timeline(trace);
    bool any_copies = s->n > 0 && memchr(s->kind, PS_SLICE_COPY, s->n) != NULL;
    r->has_no_starts = ps_trace_meta(trace, PS_STEP_STARTS_KEY) != NULL;
    r->has_no_ends = ps_trace_meta(trace, PS_STEP_ENDS_KEY) != NULL;
    r->has_no_period = ps_trace_meta(trace, PS_STEPS_LAID_OUT_KEY) != NULL;
    r->has_no_copies = files != NULL && !any_copies;
    r->no_timeline = files != NULL ? ps_arena_strndup(&r->arena, files, strlen(files)) : NULL;
    return files == NULL || r->no_timeline != NULL;
}

/* --- the environment ----------------------------------------------------------------------------------------------- */

/* "2", or "mode:1,npu0:0-7". */
static int64_t level_of(const char *text) {
    int64_t level = -1;
    if (text == NULL || text[0] == '\0') {
        return -1;
    }
    const char *mode = strncmp(text, "mode:", 5) == 0 ? text + 5 : text;
    size_t n = strspn(mode, "0123456789");
    return n > 0 && ps_parse_i64(mode, n, &level) ? level : -1;
}

static bool is_governor(const char *key) {
    static const char *const KEYS[] = {"governor", "cpu_governor", "cpu.governor",
                                       "scaling_governor"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        if (strcasecmp(key, KEYS[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What is in the list with an empty value was not set; what is not in the list is unknown. */
static bool read_environment(const ps_trace *trace, ps_report_rank *r, ps_err *err) {
    r->task_queue = -1;
    r->cpu_affinity = -1;
    r->governor = "";
    const char *text = ps_trace_meta(trace, "ENV_VARIABLES");
    if (text != NULL) {
        ps_err why = PS_ERR_INIT;
        const ps_literal *env = ps_literal_parse(&r->arena, text, strlen(text), &why);
        if (env == NULL && why.code == PS_NOMEM) {
            (void)ps_fail_nomem(err);
            return false;
        }
        r->environment = env;
        const char *queue = ps_literal_str(ps_literal_get(env, "TASK_QUEUE_ENABLE"));
        const char *affinity = ps_literal_str(ps_literal_get(env, "CPU_AFFINITY_CONF"));
        r->task_queue = queue != NULL && queue[0] == '\0' ? 1 : level_of(queue);
        r->cpu_affinity = affinity != NULL && affinity[0] == '\0' ? 0 : level_of(affinity);
    }
    size_t n = 0;
    const ps_meta *metas = ps_trace_metas(trace, &n);
    for (size_t i = 0; i < n; i++) {
        if (is_governor(metas[i].key) && r->governor[0] == '\0') {
            r->governor = ps_arena_strndup(&r->arena, metas[i].value, strlen(metas[i].value));
            if (r->governor == NULL) {
                (void)ps_fail_nomem(err);
                return false;
            }
        }
    }
    return true;
}

/* --- steps ----------------------------------------------------------------------------------------------------------- */

/* Of a rank that has no device: how long they are is all that is known. */
static void keep_host_steps(const ps_step *steps, size_t n, ps_report_rank *r) {
    for (size_t i = 0; i < n; i++) {
        r->steps[r->n_steps++] = (ps_overlap){.step = steps[i].id,
                                              .device = -1,
                                              .has_step = true,
                                              .step_start_ns = steps[i].start_ns,
                                              .step_end_ns = steps[i].end_ns,
                                              .first_ns = steps[i].start_ns,
                                              .last_ns = steps[i].end_ns};
    }
}

static bool keep_steps(const ps_trace *trace, const ps_overlaps *o, ps_report_rank *r) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(trace, &n);
    n = r->any_host_comm && o->n == 0 ? n : 0;
    r->steps = ps_calloc(o->n + n + 1, sizeof *r->steps);
    if (r->steps != NULL) {
        keep_host_steps(steps, n, r);
    }
    for (size_t i = 0; r->steps != NULL && i < o->n; i++) {
        const ps_overlap *step = &o->at[i];
        int64_t first_ns = r->origin_ns + step->step_start_ns;
        r->steps[r->n_steps++] = *step;
        r->first_ns = step->has_step && first_ns < r->first_ns ? first_ns : r->first_ns;
    }
    int64_t *starts =
        r->steps != NULL ? ps_overlap_step_starts(r->steps, r->n_steps, &r->n_rank_steps) : NULL;
    bool ok = starts != NULL;
    ps_free(starts);
    return ok;
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

/* A rank may have no communication at all. */
static ps_code gather_communication(const ps_map_input *in, ps_report_rank *r, ps_err *err) {
    ps_err none = PS_ERR_INIT;
    ps_code code =
        ps_comm_part_read(in, PS_COMM_TIMES | PS_COMM_BANDWIDTHS | PS_COMM_LINKS, &r->part, &none);
    if (r->part != NULL) {
        r->comm = r->part->list;
    }
    if (code != PS_OK && code != PS_NOTHING) {
        *err = none;
    }
    return code == PS_NOTHING ? PS_OK : code;
}

static ps_code gather_comm_waits(const ps_map_input *in, const ps_overlaps *overlaps,
                                 ps_report_rank *r, ps_err *err) {
    ps_intervals exposed = {0};
    ps_code code = ps_overlaps_exposed(overlaps, &exposed)
                       ? ps_comm_waits_measure(in->trace, &r->comm, &exposed, &r->comm_waits, err)
                       : ps_fail_nomem(err);
    ps_intervals_fini(&exposed);
    return code;
}

static bool add_length_of_both(const ps_intervals *a, const ps_intervals *b, int64_t *sum_ns) {
    ps_intervals both = {0};
    bool ok = ps_intervals_both(a, b, &both);
    *sum_ns = ps_i64_plus(*sum_ns, ps_intervals_length_ns(&both));
    ps_intervals_fini(&both);
    return ok;
}

/* Where the tasks of collectives transfer and wait; the spans are many, and nobody asks for them again. */
static bool gather_comm_tasks(const ps_overlaps *overlaps, const ps_idle *idle, ps_report_rank *r) {
    ps_intervals *transfers = &r->comm_waits.transfers;
    bool ok = add_length_of_both(transfers, &idle->awaited, &r->awaited_transfer_ns) &&
              add_length_of_both(&r->comm_waits.waits, &idle->awaited, &r->awaited_wait_ns);
    for (size_t row = 0; ok && row < overlaps->n; row++) {
        ok = add_length_of_both(transfers, &overlaps->spans[row].computing, &r->hidden_transfer_ns);
    }
    ps_intervals_fini(transfers);
    ps_intervals_fini(&r->comm_waits.waits);
    return ok;
}

/* What the host did, and the device for want of it. */
static ps_code gather_idle(const ps_map_input *in, const ps_links *links,
                           const ps_overlaps *overlaps, ps_report_rank *r, ps_err *err) {
    ps_host_activity host;
    ps_idle idle = {.at = NULL};
    ps_code code = ps_host_activity_init(&host, links, err);
    if (code == PS_OK) {
        code = ps_idle_measure(links, overlaps, &host, &idle, err);
    }
    if (code == PS_OK) {
        ps_report_paying paying = {0};
        bool ok = ps_report_find_paying(&host, overlaps, &idle, &paying) &&
                  ps_report_gather_kernels(in, links, &paying, r, err) &&
                  ps_report_gather_host(&host, overlaps, &idle, r) &&
                  ps_report_gather_operators(&host, &idle, r) &&
                  ps_report_gather_waits(&host, overlaps, &idle, r, err) &&
                  ps_report_gather_copies(links, overlaps, r) &&
                  gather_comm_tasks(overlaps, &idle, r);
        ps_report_gather_fetches(&host, &idle, r);
        ps_report_paying_fini(&paying);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    ps_idle_fini(&idle);
    ps_host_activity_fini(&host);
    return code;
}

static ps_code gather_report_gather(const ps_map_input *in, const ps_links *links,
                                    ps_report_rank *r, ps_err *err) {
    ps_overlaps overlaps = {0};
    ps_code code = ps_overlaps_measure(links, -1, true, &overlaps, err);
    code = code == PS_OK ? ps_thinned_measure(links, &r->thinned, err) : code;
    if (code == PS_OK) {
        code = gather_communication(in, r, err);
    }
    if (code == PS_OK) {
        code = gather_comm_waits(in, &overlaps, r, err);
    }
    if (code == PS_OK) {
        bool ok = keep_steps(in->trace, &overlaps, r) && ps_report_gather_counters(in->trace, r) &&
                  ps_report_gather_links(r) && ps_report_gather_doubts(links, r) &&
                  ps_report_gather_optimiser(links, r) && ps_report_gather_fusions(links, r);
        code = ok ? gather_idle(in, links, &overlaps, r, err) : ps_fail_nomem(err);
    }
    ps_overlaps_fini(&overlaps);
    return code;
}

ps_code ps_report_map(const ps_map_input *in, void **partial, ps_err *err) {
    ps_report_rank *r = ps_calloc(1, sizeof *r);
    if (r == NULL) {
        return ps_fail_nomem(err);
    }
    ps_arena_init(&r->arena);
    look_around(in->trace, in->rank->profiler, r);
    look_for_extras(in->trace, r);
    look_for_training(in->trace, r);
    ps_code code = ps_rank_facts_keep(in, &r->arena, &r->facts, err);
    if (code == PS_OK && !(look_for_timeline(in->trace, r) && look_for_host(in->trace, r))) {
        code = ps_fail_nomem(err);
    }
    if (code == PS_OK && !read_environment(in->trace, r, err)) {
        code = PS_NOMEM;
    }
    if (code == PS_OK && in->rank->names_ops && !ps_timeline_read(in->trace, &r->timeline)) {
        code = ps_fail_nomem(err);
    }
    ps_links links = {0};
    if (code == PS_OK && (r->any_device || r->any_host_comm)) {
        code = ps_links_init(&links, in->trace, err);
        code = code == PS_OK ? gather_report_gather(in, &links, r, err) : code;
        ps_links_fini(&links);
    }
    if (code != PS_OK) {
        ps_report_rank_free(r);
        return code;
    }
    *partial = r;
    return PS_OK;
}
