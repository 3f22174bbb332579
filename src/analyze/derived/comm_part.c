#include "analyze/derived/comm_part.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/comm_waits.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/rank_facts.h"
#include "analyze/rank/links.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "model/group_hash.h"
#include "model/recording.h"

void ps_comm_key(const char *group, char *out, size_t size) {
    size_t n = strlen(group);
    bool is_number = n < PS_COMM_KEY_SIZE && strspn(group, "0123456789") == n;
    if (is_number) {
        (void)snprintf(out, size, "%s", group);
    } else {
        ps_group_hash_text(group, out);
    }
}

/* --- groups --------------------------------------------------------------------------------------------------- */

static bool add_comm_group(ps_comm_part *part, const ps_group_fact *fact) {
    ps_arena *arena = &part->arena;
    char key[PS_COMM_KEY_SIZE];
    ps_comm_key(fact->comm_name, key, sizeof key);
    ps_comm_group *g = &part->groups[part->n_groups++];
    *g = (ps_comm_group){.id = ps_arena_strndup(arena, fact->comm_name, strlen(fact->comm_name)),
                         .key = ps_arena_strndup(arena, key, strlen(key)),
                         .label = ps_arena_strndup(arena, fact->label, strlen(fact->label))};
    return ps_int_runs_copy(&fact->ranks, arena, &g->ranks) && g->id != NULL && g->key != NULL &&
           g->label != NULL;
}

static ps_code read_comm_groups(const ps_rank_facts *facts, ps_comm_part *part, ps_err *err) {
    part->groups = ps_arena_alloc(&part->arena, facts->n_groups * sizeof *part->groups);
    bool ok = part->groups != NULL;
    for (size_t i = 0; ok && i < facts->n_groups; i++) {
        ok = facts->groups[i].comm_name[0] == '\0' || add_comm_group(part, &facts->groups[i]);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- the part ------------------------------------------------------------------------------------------------- */

static void keep_step(ps_comm_list *list, int64_t step) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->ops[i].step == step) {
            list->ops[n++] = list->ops[i];
        }
    }
    list->n = n;
}

static ps_code read_list(const ps_map_input *in, int64_t step_id, ps_comm_part *part, ps_err *err) {
    const ps_rank_facts *facts = ps_rank_facts_of(in, err);
    const ps_links *links = facts != NULL ? ps_derived_links(in->derived, err) : NULL;
    ps_code code = links != NULL ? read_comm_groups(facts, part, err) : PS_NOMEM;
    code = code == PS_OK ? ps_comm_list_collect(in->trace, links, facts, &part->list, in->diag, err)
                         : code;
    if (code == PS_OK && step_id >= 0) {
        keep_step(&part->list, step_id);
    }
    return code;
}

static ps_comm_part *new_part(const ps_map_input *in, ps_err *err) {
    ps_comm_part *part = ps_calloc(1, sizeof *part);
    if (part == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_arena_init(&part->arena);
    part->n_users = 1;
    size_t n_steps = 0;
    (void)ps_trace_steps(in->trace, &n_steps);
    part->has_steps = n_steps > 0;
    return part;
}

static_assert((PS_COMM_TIMES | PS_COMM_BANDWIDTHS | PS_COMM_LINKS | PS_COMM_TASK_TIMES) <
                  PS_N_COMM_SLOTS,
              "a slot for each set of tables");

static ps_comm_part *kept_part(const ps_map_input *in, uint32_t tables) {
    return ps_derived_slot_at(in->derived, PS_SLOT_COMM + tables)->value;
}

static ps_comm_part *keep_part(const ps_map_input *in, uint32_t tables, ps_comm_part *part) {
    *ps_derived_slot_at(in->derived, PS_SLOT_COMM + tables) =
        (ps_derived_slot){.value = part, .free_value = ps_comm_part_free};
    return part;
}

/* Operators of a step (-1: of all) and groups. NULL when memory is out. */
static ps_comm_part *list_part(const ps_map_input *in, int64_t step_id, ps_err *err) {
    ps_comm_part *part = new_part(in, err);
    ps_code code = part != NULL ? read_list(in, step_id, part, err) : PS_NOMEM;
    if (code != PS_OK) {
        ps_comm_part_free(part);
        return NULL;
    }
    return part;
}

/* The part without tables, whose list all others share; kept with the derived facts. NULL when memory is out. */
static ps_comm_part *base_part(const ps_map_input *in, ps_err *err) {
    ps_comm_part *part = kept_part(in, 0);
    if (part == NULL) {
        part = list_part(in, in->opts->step_id, err);
        part = part != NULL ? keep_part(in, 0, part) : NULL;
    }
    return part;
}

ps_code ps_comm_part_whole(const ps_map_input *in, ps_comm_part **out, ps_err *err) {
    bool is_base = in->opts->step_id < 0;
    *out = is_base ? base_part(in, err) : list_part(in, -1, err);
    if (*out != NULL && is_base) {
        (*out)->n_users++;
    }
    return *out != NULL ? PS_OK : PS_NOMEM;
}

static ps_code read_task_times(const ps_map_input *in, ps_comm_part *part, ps_err *err) {
    const ps_comm_list *list = &part->list;
    const ps_intervals nothing = {0}; /* hidden or not: nobody asks which */
    ps_comm_waits waits;
    ps_code code = ps_comm_waits_measure(in->trace, list, &nothing, &waits, err);
    if (code == PS_OK) {
        part->task_times = ps_arena_alloc(&part->arena, list->n * sizeof *part->task_times);
        code = part->task_times != NULL ? PS_OK : ps_fail_nomem(err);
    }
    for (size_t i = 0; code == PS_OK && i < list->n; i++) {
        const ps_comm_op_waits *op = &waits.ops[i];
        part->task_times[i] = op->has_tasks ? (ps_comm_task_times){op->transfer_ns, op->wait_ns}
                                            : (ps_comm_task_times){-1, -1};
    }
    ps_comm_waits_fini(&waits);
    return code;
}

static ps_comm_part *part_with(const ps_map_input *in, uint32_t tables, ps_err *err) {
    ps_comm_part *base = base_part(in, err);
    ps_comm_part *kept = base != NULL ? kept_part(in, tables) : NULL;
    ps_comm_part *part = base != NULL && kept == NULL ? new_part(in, err) : NULL;
    if (part == NULL) {
        return kept;
    }
    part->list = base->list;
    part->list_of = base;
    part->groups = base->groups;
    part->n_groups = base->n_groups;
    base->n_users++;
    ps_code code = ps_comm_tables_read(in->trace, tables, in->opts->step_id, &part->tables, err);
    if (code == PS_OK && (tables & PS_COMM_TASK_TIMES) != 0 && part->tables.n_times == 0) {
        code = read_task_times(in, part, err);
    }
    if (code == PS_OK) {
        return keep_part(in, tables, part);
    }
    ps_comm_part_free(part);
    return NULL;
}

static ps_code fail_no_communication(const ps_map_input *in, ps_err *err) {
    const ps_lang lang = in->opts->lang;
    const char *how =
        ps_trace_is_recording(in->trace)
            ? PS_SAY(lang, PS_RECORDING_COMM_HOW, PS_RECORDING_COMM_HOW_ZH)
            : PS_SAY(lang,
                     "they were not collected (Ascend: level 0 or higher with "
                     "activities of the NPU; PyTorch: ProfilerActivity.CUDA where there "
                     "is a device)",
                     "未采集（Ascend：level0 及以上并采集 NPU 活动；PyTorch：有设备时加上 "
                     "ProfilerActivity.CUDA）");
    bool of_step = in->opts->step_id >= 0;
    return ps_fail(err, PS_NOTHING,
                   PS_SAY(lang, "no communication operators%s: the rank did not communicate, or %s",
                          "%s没有通信算子：该 rank 未通信，或%s"),
                   of_step ? PS_SAY(lang, " in that step", "该 step 内") : "", how);
}

ps_code ps_comm_part_read(const ps_map_input *in, uint32_t tables, ps_comm_part **out,
                          ps_err *err) {
    *out = NULL;
    ps_code code = ps_check_step(in->trace, in->opts->step_id, err);
    if (code != PS_OK) {
        return code;
    }
    ps_comm_part *part = tables == 0 ? base_part(in, err) : part_with(in, tables, err);
    if (part == NULL) {
        return PS_NOMEM;
    }
    const ps_comm_tables *t = &part->tables;
    if (part->list.n == 0 && t->n_times + t->n_bandwidths + t->n_links == 0) {
        return fail_no_communication(in, err);
    }
    part->n_users++;
    *out = part;
    return PS_OK;
}

void ps_comm_part_free(void *p) {
    ps_comm_part *part = p;
    while (part != NULL && --part->n_users == 0) {
        ps_comm_part *list_of = part->list_of;
        if (list_of == NULL) {
            ps_comm_list_fini(&part->list);
        }
        ps_comm_tables_fini(&part->tables);
        ps_arena_fini(&part->arena);
        ps_free(part);
        part = list_of;
    }
}

const ps_comm_list **ps_comm_lists(const ps_reduce_input *in) {
    const ps_comm_list **lists = ps_calloc(in->n_ranks + 1, sizeof *lists);
    for (size_t r = 0; lists != NULL && r < in->n_ranks; r++) {
        const ps_comm_part *part = in->partials[r];
        lists[r] = part != NULL ? &part->list : NULL;
    }
    return lists;
}

ps_code ps_comm_part_map(const ps_map_input *in, uint32_t tables, void **out, ps_err *err) {
    ps_comm_part *part = NULL;
    ps_code code = ps_comm_part_read(in, tables, &part, err);
    if (code != PS_OK) {
        ps_comm_part_free(part);
        return code;
    }
    *out = part;
    return PS_OK;
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

static void comm_group_archive(ps_archive *a, void *group) {
    ps_comm_group *x = group;
    PS_ARCHIVE(a, x, id, key, label);
    ps_int_runs_archive(a, &x->ranks);
    if (ps_archive_is_reading(a) && (x->id == NULL || x->key == NULL || x->label == NULL)) {
        ps_archive_refuse(a, "group");
    }
}

/* The part whose list others share has no such part itself. NULL: its members are not to be visited. */
static ps_comm_part *visit_part(ps_archive *a, void **part) {
    bool is_first = false;
    ps_comm_part *x = ps_archive_shared(a, part, sizeof *x, &is_first);
    if (ps_archive_is_reading(a) && x != NULL) {
        x->n_users++;
    }
    return is_first ? x : NULL;
}

static void task_times_archive(ps_archive *a, void *times) {
    ps_comm_task_times *x = times;
    PS_ARCHIVE(a, x, transfer_ns, wait_ns);
}

static void part_members(ps_archive *a, ps_comm_part *x) {
    ps_comm_tables_archive(a, &x->tables);
    ps_arena *before = ps_archive_use_arena(a, &x->arena);
    size_t n = x->task_times != NULL ? x->list.n : 0;
    PS_ARCHIVE_IN_ARENA(a, x, groups, n_groups, comm_group_archive);
    ps_archive_in_arena(a, "task_times", &x->task_times, &n, sizeof *x->task_times,
                        task_times_archive);
    if (ps_archive_is_reading(a) && x->task_times != NULL && n != x->list.n) {
        x->task_times = NULL;
        ps_archive_refuse(a, "task_times");
    }
    (void)ps_archive_use_arena(a, before);
    PS_ARCHIVE(a, x, has_steps);
}

static void base_archive(ps_archive *a, void **part) {
    ps_comm_part *x = visit_part(a, part);
    if (x != NULL) {
        ps_comm_list_archive(a, &x->list);
        part_members(a, x);
    }
}

void ps_comm_part_archive(ps_archive *a, void **part) {
    ps_comm_part *x = visit_part(a, part);
    if (x == NULL) {
        return;
    }
    void *base = x->list_of;
    base_archive(a, &base);
    x->list_of = base != x ? base : NULL;
    if (base == x) { /* nobody wrote that */
        x->n_users--;
        ps_archive_refuse(a, "list");
    } else if (ps_archive_is_reading(a) && base != NULL) {
        x->list = x->list_of->list;
    } else if (base == NULL) {
        ps_comm_list_archive(a, &x->list);
    }
    part_members(a, x);
}
