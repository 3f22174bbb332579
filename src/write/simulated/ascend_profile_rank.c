/* The events of one rank, from the simulated times of its pipeline.
 *
 * Marks follow the schedule's marks(), each laid over the op it shows. A transfer from one stage to another ends
 * p2p after the op that made the data; both of its ends are computed from the pipeline's times alone, so that two
 * ranks agree on them without having seen each other. Transfers of one pair of stages and direction neither overlap
 * nor overtake: their order by start is the same on both sides, which is what pairing them by count needs. */
#include "write/simulated/ascend_profile_rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "model/layout.h"

#define FIRST_COMM_STREAM 10
#define MAX_PEERS 8
#define RANKS_PER_HOST 8
/* A transfer without latency still takes time on the wire, shortly before its data is complete. */
#define SHORT_P2P_NS 1000
#define USUAL_TRANSFER_NS 20000

ps_rng ps_profile_rng(uint64_t seed, ps_rng_use use, int32_t who, uint64_t number) {
    ps_rng r = ps_rng_seed(seed);
    r = ps_rng_seed(ps_rng_next(&r) ^ ((uint64_t)use << 32 | (uint32_t)who));
    return ps_rng_seed(ps_rng_next(&r) ^ number);
}

int64_t ps_profile_p2p_ns(const ps_profile_job *job, int32_t pipeline, int32_t from, int32_t to) {
    const ps_ascend_profile_opts *o = job->opts;
    int32_t stage = o->slow_link / job->n_pipelines;
    int32_t next = (stage + 1) % o->params.n_stages;
    bool is_slow = o->slow_link_ns > 0 && o->slow_link % job->n_pipelines == pipeline &&
                   ((from == stage && to == next) || (from == next && to == stage));
    return o->times.p2p_ns + (is_slow ? o->slow_link_ns : 0);
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

/* Messages of MindSpeed's ranges carry the microbatch, those of Megatron's do not; the k-th of a kind is the k-th of the
 * list. */
static bool has_mindspeed_marks(const ps_profile_job *job) {
    return strcmp(job->plan->schedule->name, "dualpipev") == 0;
}

/* From MESSAGE_FORWARD on MindSpeed has one for each microbatch, alone and in a pair; MESSAGE_PAIR is of the others. */
enum { MESSAGE_HEAD, MESSAGE_BACKWARD, MESSAGE_WEIGHT, MESSAGE_FORWARD, MESSAGE_PAIR };

uint32_t ps_message_count(const ps_profile_job *job) {
    uint32_t m = (uint32_t)job->plan->params.n_microbatches;
    if (has_mindspeed_marks(job)) {
        return MESSAGE_FORWARD + 2 * m;
    }
    return ps_sim_uses(job->plan, PS_OP_FB) ? MESSAGE_PAIR + 1 : MESSAGE_FORWARD + 1;
}

void ps_message_text(const ps_profile_job *job, uint32_t message, char *out, size_t size) {
    uint32_t m = (uint32_t)job->plan->params.n_microbatches;
    bool mindspeed = has_mindspeed_marks(job);
    if (message == MESSAGE_HEAD || (message == MESSAGE_BACKWARD && !mindspeed)) {
        (void)snprintf(out, size, "{'name': 'backward_step'}");
    } else if (message == MESSAGE_BACKWARD) {
        (void)snprintf(out, size, "{'name': 'backward_step_with_model_graph'}");
    } else if (message == MESSAGE_WEIGHT) {
        (void)snprintf(out, size, "{'name': 'WeightGradStore.pop'}");
    } else if (!mindspeed) {
        (void)snprintf(out, size, "{'name': '%s'}",
                       message == MESSAGE_PAIR ? "forward_backward_overlaping" : "forward_step");
    } else {
        uint32_t k = message - MESSAGE_FORWARD;
        const char *name = k < m ? "forward_step_with_model_graph" : "forward_backward_overlaping";
        (void)snprintf(out, size, "{'name': '%s', 'current_microbatch': %u}", name,
                       (unsigned)(k % m));
    }
}

static uint32_t profile_rank_message_of(const ps_profile_job *job, const ps_sched_op *mark) {
    uint32_t m = (uint32_t)job->plan->params.n_microbatches;
    switch (mark->kind) {
    case PS_OP_LOGITS:
        return MESSAGE_HEAD;
    case PS_OP_BW:
        return MESSAGE_WEIGHT;
    case PS_OP_F:
        return MESSAGE_FORWARD + (has_mindspeed_marks(job) ? (uint32_t)mark->microbatch : 0);
    case PS_OP_FB:
        return has_mindspeed_marks(job) ? MESSAGE_FORWARD + m + (uint32_t)mark->microbatch
                                        : MESSAGE_PAIR;
    default:
        return MESSAGE_BACKWARD;
    }
}

static bool shows(const ps_sched_op *mark, const ps_sched_op *op) {
    bool same_kind = mark->kind == op->kind || (mark->kind == PS_OP_B && op->kind == PS_OP_BI);
    return same_kind && mark->chunk == op->chunk && mark->microbatch == op->microbatch;
}

/* Walks ops and marks of a device side by side; an op may have no mark, an output head mark shares the op after it. */
static ps_code plan_device(ps_profile_job *job, int32_t device, const ps_op_list *marks,
                           ps_err *err) {
    const ps_sim_plan *plan = job->plan;
    ps_mark_plan *out = &job->marks[job->first_mark[device]];
    size_t k = 0;
    for (size_t op = plan->first[device]; op < plan->first[device + 1] && k < marks->n; op++) {
        bool head = marks->ops[k].kind == PS_OP_LOGITS && plan->ops[op].kind != PS_OP_F;
        size_t main = k + (head ? 1 : 0);
        if (main < marks->n && shows(&marks->ops[main], &plan->ops[op])) {
            if (head) {
                out[k] = (ps_mark_plan){(uint32_t)op, PS_PART_HEAD,
                                        profile_rank_message_of(job, &marks->ops[k])};
            }
            out[main] = (ps_mark_plan){(uint32_t)op, head ? PS_PART_REST : PS_PART_ALL,
                                       profile_rank_message_of(job, &marks->ops[main])};
            k = main + 1;
        }
    }
    return k == marks->n
               ? PS_OK
               : ps_fail(err, PS_INTERNAL, "schedule %s, device %d: mark %zu belongs to no op",
                         plan->schedule->name, (int)device, k);
}

ps_code ps_profile_plan_marks(ps_profile_job *job, ps_err *err) {
    size_t p = (size_t)job->plan->params.n_stages;
    job->first_mark = ps_calloc(p + 1, sizeof *job->first_mark);
    ps_code code = job->first_mark == NULL ? ps_fail_nomem(err) : PS_OK;
    size_t cap = 0;
    for (size_t d = 0; d < p && code == PS_OK; d++) {
        ps_op_list list = {0};
        code = job->plan->schedule->marks(&job->plan->params, (int32_t)d, &list, err);
        job->first_mark[d + 1] = job->first_mark[d] + list.n;
        if (code == PS_OK && !ps_grow(&job->marks, &cap, job->first_mark[d + 1], 2 * PS_SIM_MAX_OPS,
                                      sizeof *job->marks)) {
            code = ps_fail_nomem(err);
        }
        if (code == PS_OK) {
            code = plan_device(job, (int32_t)d, &list, err);
        }
        ps_op_list_fini(&list);
    }
    return code;
}

/* Which marks are lost: `drop` of `n`, each set equally likely. Keeps the order. */
static void drop_marks(ps_rank_events *e, int64_t drop) {
    ps_rng r = ps_profile_rng(e->job->opts->seed, PS_RNG_DROP, e->id.rank, 0);
    size_t left = e->n_marks;
    size_t kept = 0;
    for (size_t i = 0; i < e->n_marks; i++, left--) {
        if (drop > 0 && ps_rng_below(&r, left) < (uint64_t)drop) {
            drop--;
        } else {
            e->marks[kept++] = e->marks[i];
        }
    }
    e->n_marks = kept;
}

static ps_code make_marks(ps_rank_events *e, ps_err *err) {
    const ps_profile_job *job = e->job;
    const ps_mark_plan *plan = &job->marks[job->first_mark[e->id.stage]];
    size_t per_step = job->first_mark[e->id.stage + 1] - job->first_mark[e->id.stage];
    e->n_marks = per_step * (size_t)job->opts->n_steps;
    e->marks = ps_realloc_array(NULL, e->n_marks, sizeof *e->marks);
    if (e->marks == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < e->n_marks; i++) {
        const ps_mark_plan *mark = &plan[i % per_step];
        size_t at = i / per_step * job->plan->n_ops + mark->op;
        int64_t start_ns = e->times->start_ns[at];
        int64_t end_ns = e->times->end_ns[at];
        int64_t head_end_ns = start_ns + (end_ns - start_ns) / 10;
        e->marks[i] = (ps_mark_row){.start_ns = mark->part == PS_PART_REST ? head_end_ns : start_ns,
                                    .end_ns = mark->part == PS_PART_HEAD ? head_end_ns : end_ns,
                                    .message = mark->message,
                                    .number = (uint32_t)i};
    }
    drop_marks(e, job->opts->n_drop_marks);
    return PS_OK;
}

/* --- transfers ---------------------------------------------------------------------------------------------------- */

/* Who uses the results of `op` on stage `to`. Returns how many there are. */
static size_t users_on(const ps_profile_job *job, uint32_t op, int32_t to, uint32_t users[2]) {
    size_t n = 0;
    const uint32_t both[2] = {job->forward_user[op], job->backward_user[op]};
    for (size_t i = 0; i < 2; i++) {
        if (both[i] != PS_NO_OP && job->plan->device[both[i]] == to) {
            users[n++] = both[i];
        }
    }
    return n;
}

/* When the receiver of `user`'s input got round to posting the receive: after the op before it. */
static int64_t ready_to_post(const ps_rank_events *e, size_t step, uint32_t user) {
    const ps_sim_plan *plan = e->job->plan;
    bool first = user == plan->first[plan->device[user]];
    return first ? e->job->steps[step].start_ns : e->times->end_ns[step * plan->n_ops + user - 1];
}

/* All transfers between two stages in one direction, as seen from the sender or the receiver. */
static ps_code add_transfers(ps_rank_events *e, size_t *cap, int32_t from, int32_t to,
                             ps_comm_row row, ps_err *err) {
    const ps_sim_plan *plan = e->job->plan;
    int64_t p2p_ns = ps_profile_p2p_ns(e->job, e->id.pipeline, from, to);
    int64_t free_ns = INT64_MIN; /* end of the transfer before */
    for (size_t step = 0; step < (size_t)e->job->opts->n_steps; step++) {
        for (size_t op = plan->first[from]; op < plan->first[from + 1]; op++) {
            uint32_t users[2];
            size_t n = users_on(e->job, (uint32_t)op, to, users);
            size_t at = step * plan->n_ops + op;
            int64_t quarter_ns = (e->times->end_ns[at] - e->times->start_ns[at]) / 4;
            int64_t usual_ns = quarter_ns < USUAL_TRANSFER_NS ? quarter_ns : USUAL_TRANSFER_NS;
            int64_t arrival_ns = e->times->end_ns[at] + p2p_ns;
            int64_t begin_ns = arrival_ns - (p2p_ns >= SHORT_P2P_NS ? p2p_ns : usual_ns);
            begin_ns = begin_ns > free_ns ? begin_ns : free_ns;
            for (size_t i = 0; i < n; i++) {
                /* Two results of one op share the time. */
                row.transfer_ns = begin_ns + (arrival_ns - begin_ns) * (int64_t)i / (int64_t)n;
                row.end_ns = begin_ns + (arrival_ns - begin_ns) * (int64_t)(i + 1) / (int64_t)n;
                row.start_ns = row.transfer_ns;
                if (!row.is_send) {
                    int64_t post_ns = ready_to_post(e, step, users[i]);
                    post_ns = post_ns > free_ns ? post_ns : free_ns;
                    row.start_ns = post_ns < row.transfer_ns ? post_ns : row.transfer_ns;
                }
                free_ns = row.end_ns;
                if (!ps_grow(&e->comms, cap, e->n_comms + 1, 8 * PS_SIM_MAX_OPS,
                             sizeof *e->comms)) {
                    return ps_fail_nomem(err);
                }
                e->comms[e->n_comms++] = row;
            }
        }
    }
    return PS_OK;
}

static void note_peer(const ps_profile_job *job, uint32_t op, int32_t own, int32_t *peers,
                      size_t *n) {
    int32_t peer = op == PS_NO_OP ? own : job->plan->device[op];
    for (size_t i = 0; i < *n; i++) {
        if (peers[i] == peer) {
            return;
        }
    }
    if (peer != own && *n < MAX_PEERS) {
        peers[(*n)++] = peer;
    }
}

PS_COMPARE(by_comm_start, ps_comm_row, PS_BY(start_ns) PS_BY(stream))

static ps_code make_comms(ps_rank_events *e, ps_err *err) {
    const ps_profile_job *job = e->job;
    int32_t own = e->id.stage;
    int32_t peers[MAX_PEERS];
    size_t n_peers = 0;
    for (size_t op = job->plan->first[own]; op < job->plan->first[own + 1]; op++) {
        note_peer(job, job->forward_user[op], own, peers, &n_peers);
        note_peer(job, job->backward_user[op], own, peers, &n_peers);
        note_peer(job, job->plan->forward_input[op], own, peers, &n_peers);
        note_peer(job, job->plan->backward_input[op], own, peers, &n_peers);
    }
    size_t cap = 0;
    ps_code code = PS_OK;
    for (size_t i = 0; i < 2 * n_peers && code == PS_OK; i++) {
        bool is_send = i % 2 == 0;
        int32_t peer = peers[i / 2];
        ps_comm_row row = {
            .peer = peer, .stream = FIRST_COMM_STREAM + (int32_t)i, .is_send = is_send};
        code = add_transfers(e, &cap, is_send ? own : peer, is_send ? peer : own, row, err);
    }
    if (e->n_comms > 0) {
        qsort(e->comms, e->n_comms, sizeof *e->comms, by_comm_start);
    }
    return code;
}

PS_COMPARE(by_task_start, ps_comm_task, PS_BY(start_ns) PS_BY(comm) PS_BY(part))

/* An operator waits for its peer, copies, and tells the peer. */
static ps_code make_comm_tasks(ps_rank_events *e, ps_err *err) {
    e->comm_tasks = ps_realloc_array(NULL, PS_TASKS_PER_COMM * e->n_comms, sizeof *e->comm_tasks);
    if (e->comm_tasks == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < e->n_comms; i++) {
        const ps_comm_row *c = &e->comms[i];
        int64_t tenth_ns = (c->end_ns - c->transfer_ns) / 10;
        int64_t edge_ns[PS_TASKS_PER_COMM + 1] = {c->start_ns, c->transfer_ns + tenth_ns,
                                                  c->end_ns - tenth_ns, c->end_ns};
        for (uint32_t part = 0; part < PS_TASKS_PER_COMM; part++) {
            e->comm_tasks[PS_TASKS_PER_COMM * i + part] =
                (ps_comm_task){.start_ns = edge_ns[part],
                               .end_ns = edge_ns[part + 1],
                               .comm = (uint32_t)i,
                               .part = part};
        }
    }
    if (e->n_comms > 0) {
        qsort(e->comm_tasks, PS_TASKS_PER_COMM * e->n_comms, sizeof *e->comm_tasks, by_task_start);
    }
    return PS_OK;
}

ps_code ps_rank_events_init(ps_rank_events *out, const ps_profile_job *job,
                            const ps_pipeline_times *times, ps_rank_id id, ps_err *err) {
    *out = (ps_rank_events){.id = id, .job = job, .times = times};
    ps_code code = make_marks(out, err);
    if (code == PS_OK) {
        code = make_comms(out, err);
    }
    return code == PS_OK ? make_comm_tasks(out, err) : code;
}

void ps_rank_events_fini(ps_rank_events *e) {
    ps_free(e->marks);
    ps_free(e->comms);
    ps_free(e->comm_tasks);
    *e = (ps_rank_events){0};
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

ps_kernel_cursor ps_kernels_begin(const ps_rank_events *e) {
    const ps_sim_plan *plan = e->job->plan;
    uint64_t per_step = plan->first[e->id.stage + 1] - plan->first[e->id.stage];
    return (ps_kernel_cursor){
        .events = e, .op = UINT64_MAX, .n_ops = per_step * (uint64_t)e->job->opts->n_steps};
}

/* Kernels are spread evenly over the ops: op i has those from i * N / n_ops on. */
static void enter_op(ps_kernel_cursor *c) {
    const ps_rank_events *e = c->events;
    const ps_sim_plan *plan = e->job->plan;
    uint64_t n_filler = (uint64_t)e->job->opts->n_filler;
    size_t first = plan->first[e->id.stage];
    size_t per_step = plan->first[e->id.stage + 1] - first;
    size_t op = first + (size_t)c->op % per_step;
    size_t at = (size_t)c->op / per_step * plan->n_ops + op;
    c->first = c->op * n_filler / c->n_ops;
    c->n = (c->op + 1) * n_filler / c->n_ops - c->first;
    c->op_start_ns = e->times->start_ns[at];
    c->op_ns = e->times->end_ns[at] - c->op_start_ns;
    c->backward = plan->ops[op].kind != PS_OP_F;
}

bool ps_kernels_next(ps_kernel_cursor *c, ps_kernel *out) {
    if (c->n_before >= (uint64_t)c->events->job->opts->n_filler) {
        return false;
    }
    while (c->n_before >= c->first + c->n) {
        c->op++; /* from UINT64_MAX to 0 at first */
        enter_op(c);
    }
    uint64_t i = c->n_before - c->first;
    int64_t slot_ns = c->op_start_ns + c->op_ns * (int64_t)i / (int64_t)c->n;
    int64_t next_ns = c->op_start_ns + c->op_ns * (int64_t)(i + 1) / (int64_t)c->n;
    ps_rng r =
        ps_profile_rng(c->events->job->opts->seed, PS_RNG_KERNEL, c->events->id.rank, c->n_before);
    out->random = ps_rng_next(&r);
    /* A kernel takes 50 to 95 percent of its slot; the rest is launch latency. */
    out->end_ns = next_ns;
    out->start_ns = next_ns - (next_ns - slot_ns) * (int64_t)(50 + ps_rng_below(&r, 46)) / 100;
    out->backward = c->backward;
    c->n_before++;
    return true;
}

/* --- groups and metadata ------------------------------------------------------------------------------------------ */

int32_t ps_rank_host(int32_t rank) {
    return rank / RANKS_PER_HOST;
}

typedef int64_t *coordinate_fn(ps_layout_coordinates *at);

static int64_t *stage_of_place(ps_layout_coordinates *at) {
    return &at->pp;
}
static int64_t *tensor_of_place(ps_layout_coordinates *at) {
    return &at->tp;
}
static int64_t *context_of_place(ps_layout_coordinates *at) {
    return &at->cp;
}
static int64_t *data_of_place(ps_layout_coordinates *at) {
    return &at->dp;
}

/* The ranks that differ from this one in one dimension alone; n >= 1 of them. */
static ps_rank_group profile_rank_group_of(const ps_ascend_profile_opts *o, ps_rank_id id,
                                           const char *kind, int32_t n, coordinate_fn *of) {
    const ps_layout_dims dims = {
        .tp = o->tp, .cp = o->cp, .dp = o->dp, .pp = o->params.n_stages, .ep = 1, .moe_tp = 1};
    ps_layout_coordinates at = ps_layout_coordinates_of(PS_LAYOUT_MEGATRON, &dims, id.rank);
    ps_rank_group g = {.kind = kind, .n = n, .own = (int32_t)*of(&at), .stride = 1};
    *of(&at) = 0;
    g.base = (int32_t)ps_layout_rank_at(PS_LAYOUT_MEGATRON, &dims, &at);
    if (n > 1) {
        *of(&at) = 1;
        g.stride = (int32_t)ps_layout_rank_at(PS_LAYOUT_MEGATRON, &dims, &at) - g.base;
    }
    return g;
}

size_t ps_rank_groups(const ps_ascend_profile_opts *o, ps_rank_id id,
                      ps_rank_group groups[PS_MAX_GROUPS]) {
    static const struct {
        const char *kind;
        coordinate_fn *of;
        int32_t port;
    } KINDS[PS_MAX_GROUPS] = {{"pp", stage_of_place, 60000},
                              {"tp", tensor_of_place, 60001},
                              {"cp", context_of_place, 60002},
                              {"dp", data_of_place, 60003}};
    const int32_t sizes[PS_MAX_GROUPS] = {o->params.n_stages, o->tp, o->cp, o->dp};
    size_t n = 0;
    for (size_t k = 0; k < PS_MAX_GROUPS; k++) {
        if (k > 0 && sizes[k] <= 1) {
            continue;
        }
        ps_rank_group *g = &groups[n++];
        *g = profile_rank_group_of(o, id, KINDS[k].kind, sizes[k], KINDS[k].of);
        (void)snprintf(g->name, sizeof g->name, "node%d%%eth0_%d_%d_1736410000000000",
                       (int)ps_rank_host(g->base), (int)KINDS[k].port, (int)g->base);
    }
    return n;
}

void ps_put_distributed_args(const ps_ascend_profile_opts *o, ps_rank_id id, ps_json *j) {
    int64_t p = o->params.n_stages;
    ps_json_object(j);
    ps_json_key_int(j, "tensor_model_parallel_size", o->tp);
    ps_json_key_int(j, "pipeline_model_parallel_size", p);
    ps_json_key_int(j, "data_parallel_size", o->dp);
    ps_json_key_int(j, "context_parallel_size", o->cp);
    ps_json_key_int(j, "expert_model_parallel_size", 1);
    ps_json_key_bool(j, "sequence_parallel", false);
    ps_json_key_int(j, "rank", id.rank);
    ps_json_key_int(j, "world_size", p * o->tp * o->cp * o->dp);
    ps_json_close(j);
}

void ps_put_group_info(const ps_ascend_profile_opts *o, ps_rank_id id, ps_json *j) {
    ps_rank_group groups[PS_MAX_GROUPS];
    size_t n = ps_rank_groups(o, id, groups);
    ps_json_object(j);
    for (size_t i = 0; i < n; i++) {
        ps_json_name(j, groups[i].name, strlen(groups[i].name));
        ps_json_object(j);
        ps_json_key_str(j, "group_name", groups[i].kind);
        ps_json_key_int(j, "group_rank", groups[i].own);
        ps_json_key_array(j, "global_ranks");
        for (int32_t k = 0; k < groups[i].n; k++) {
            ps_json_int(j, groups[i].base + (int64_t)k * groups[i].stride);
        }
        ps_json_close(j);
        ps_json_close(j);
    }
    ps_json_close(j);
}

void ps_put_pp_info(const ps_ascend_profile_opts *o, ps_json *j) {
    ps_json_object(j);
    ps_json_key_str(j, "pp_type", o->schedule->name);
    ps_json_key_int(j, "microbatch_num", o->params.n_microbatches);
    ps_json_close(j);
}
