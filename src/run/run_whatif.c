#include "run/run_whatif.h"

#include "analyze/whatif/whatif_tables.h"
#include "run/run_pipeline.h"

bool ps_run_whatif_has_timelines(const ps_cluster *cluster) {
    bool all = cluster->n_ranks > 0;
    for (size_t r = 0; r < cluster->n_ranks; r++) {
        all = all && ps_cluster_names_ops(&cluster->ranks[r]);
    }
    return all;
}

/* A plan under a limit of memory for which the user gave no sizes. */
static bool wants_memory(const ps_analysis_opts *o) {
    return o->split != NULL && o->memory_bytes > 0 &&
           (o->activation_bytes == 0 || o->layer_bytes == 0);
}

static ps_run *run_steps(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    if (ps_run_whatif_has_timelines(cluster)) {
        const ps_analysis *analysis = ps_analysis_find("whatif");
        ps_run *run = ps_run_all_ranks(&analysis, 1, cluster, opts, err);
        if (run != NULL) {
            ps_run_name_chart(run->results[0].chart, cluster);
        }
        return run;
    }
    ps_run *run = ps_run_pipeline(cluster, opts, err);
    if (run != NULL && run->results[0].chart != NULL && run->results[0].chart->n_ops > 0) {
        ps_err why = PS_ERR_INIT;
        if (ps_whatif_of_chart(run->results[0].chart, &opts->analysis, &run->results[0], &why) !=
            PS_OK) {
            run->errors[0] = why;
        }
    }
    return run;
}

ps_code ps_run_plan_memory(const ps_cluster *cluster, const ps_run_opts *opts, ps_run **memory,
                           ps_analysis_opts *with, ps_err *err) {
    *memory = NULL;
    *with = opts->analysis;
    if (!wants_memory(&opts->analysis)) {
        return PS_OK;
    }
    const ps_analysis *analysis = ps_analysis_find("memory_facts");
    ps_run_opts own = *opts;
    own.export_type = PS_EXPORT_NOTHING;
    *memory = ps_run_all_ranks(&analysis, 1, cluster, &own, err);
    if (*memory == NULL) {
        return err->code;
    }
    with->memory_facts = ps_result_table(&(*memory)->results[0], "MemoryFacts");
    return PS_OK;
}

ps_run *ps_run_whatif(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err) {
    ps_err local = PS_ERR_INIT;
    ps_err *why = err != NULL ? err : &local;
    ps_run_opts own = *opts;
    ps_run *memory = NULL;
    ps_code code = ps_run_plan_memory(cluster, opts, &memory, &own.analysis, why);
    ps_run *run = code == PS_OK ? run_steps(cluster, &own, why) : NULL;
    ps_run_free(memory);
    return run;
}

ps_whatif_view ps_run_whatif_view(const ps_run *run, const ps_cluster *cluster) {
    const ps_result *r = &run->results[0];
    return (ps_whatif_view){.title = ps_cluster_name(cluster),
                            .lacks = run->lacks,
                            .job = ps_result_table(r, "whatif"),
                            .steps = ps_result_table(r, "whatif_steps"),
                            .kinds = ps_result_table(r, "whatif_kinds"),
                            .stages = ps_result_table(r, "whatif_stages"),
                            .replicas = ps_result_table(r, "whatif_replicas"),
                            .workers = ps_result_table(r, "whatif_workers"),
                            .causes = ps_result_table(r, "whatif_causes"),
                            .repairs = ps_result_table(r, "whatif_repairs"),
                            .answer = ps_result_table(r, "whatif_answer")};
}
