/* What the report keeps of a rank, as bytes. In the order of report_facts.h; all texts are in the rank's arena. */
#include "analyze/report/report_facts.h"

static void event_archive(ps_archive *a, ps_report_event *x) {
    PS_ARCHIVE(a, x, name, frame, start_ns, dur_ns, idle_ns, comm_ns, step);
}

static void kernel_run_archive(ps_archive *a, void *run) {
    ps_report_kernel_run *x = run;
    PS_ARCHIVE(a, x, end_ns, dur_ns, pays_ns, excess_ns);
}

static void kernel_archive(ps_archive *a, void *kernel) {
    ps_report_kernel *x = kernel;
    PS_ARCHIVE(a, x, type, shapes, name, n, sum_ns, longest_ns, pays_ns, longest_start_ns,
               longest_step, median_ns, excess_ns, n_excess);
    PS_ARCHIVE_IN_ARENA(a, x, runs, n_runs, kernel_run_archive);
    PS_ARCHIVE(a, x, n_flops, flops_ns, flops, peak_flops, memory_ns, unknown_roofline_ns,
               memory_bytes, memory_flops, bytes_s);
    PS_ARCHIVE(a, x, odd.name, odd.start_ns, odd.dur_ns, odd.step, odd.n, odd.recorded,
               odd.by_shapes, odd.times);
    PS_ARCHIVE(a, x, product, attention.is_known, attention.skips_blocks, attention.is_packed,
               attention.head_size, attention.has_type, attention.is_wide);
    PS_ARCHIVE_BELOW(a, x, family, PS_N_FAMILIES);
    PS_ARCHIVE(a, x, is_vector, is_wide, has_types, is_aicpu, aicpu_types);
    PS_ARCHIVE_EACH(a, x, conversion_ns);
    PS_ARCHIVE_EACH(a, x, n_conversions);
    PS_ARCHIVE(a, x, conversion_pays_ns, conversion_launches_ns);
    PS_ARCHIVE_EACH(a, x, bound_ns);
    PS_ARCHIVE(a, x, few_blocks_ns, n_blocks, n_cores, dynamic_ns, n_dynamic, in_graph_ns);
}

static void stops_archive(ps_archive *a, ps_report_stops *x) {
    PS_ARCHIVE(a, x, n, sum_ns, idle_ns, comm_ns, longest_ns, copies_ns, unnamed_ns, lead_ns,
               lead_comm_ns, n_operators);
    ps_intervals_archive(a, &x->lead_spans);
    PS_ARCHIVE_BELOW(a, x, n_top, PS_REPORT_EVENTS_KEPT + 1);
    for (size_t i = 0; i < PS_REPORT_EVENTS_KEPT; i++) {
        event_archive(a, &x->top[i]);
    }
    for (size_t i = 0; i < PS_REPORT_OPERATORS_KEPT; i++) {
        ps_report_operator *o = &x->operators[i];
        PS_ARCHIVE(a, o, name, n, n_all, idle_ns);
    }
}

static void gap_archive(ps_archive *a, void *gap) {
    ps_report_gap *x = gap;
    PS_ARCHIVE(a, x, start_ns, end_ns, step);
}

static void wait_archive(ps_archive *a, ps_report_wait *x) {
    PS_ARCHIVE(a, x, start_ns, end_ns, step, next, is_before_kernel, blocking);
    for (size_t i = 0; i < PS_REPORT_WAIT_PARTS; i++) {
        ps_report_wait_part *part = &x->parts[i];
        PS_ARCHIVE_BELOW(a, part, cause, PS_N_IDLE_CAUSES);
        PS_ARCHIVE(a, part, ns);
    }
}

static void copies_archive(ps_archive *a, ps_report_copies *x) {
    PS_ARCHIVE(a, x, direction, memory, n, sum_ns, alone_ns, sized_bytes, sized_ns, longest_bytes);
    event_archive(a, &x->longest);
}

static void frequency_archive(ps_archive *a, ps_report_frequency *x) {
    PS_ARCHIVE(a, x, is_known, usual_mhz, lowest_mhz, below_ns, all_ns, longest_start_ns,
               longest_ns, series);
}

static void doubt_archive(ps_archive *a, ps_report_doubt *x) {
    PS_ARCHIVE(a, x, name, caller, n, sum_ns, share, longest_start_ns, longest_ns, longest_step);
}

static void packets_archive(ps_archive *a, ps_report_packets *x) {
    PS_ARCHIVE(a, x, transport, all_mb, small_mb, all_ms, small_ms);
    PS_ARCHIVE_EACH(a, x, class_mb);
    PS_ARCHIVE_EACH(a, x, class_ms);
}

static void archive_capture(ps_archive *a, ps_report_rank *x) {
    PS_ARCHIVE(a, x, vendor, first_ns, last_ns, any_device, any_calls, any_host_comm,
               has_host_times, comm_from_marks, host, trains, has_frames, has_shapes,
               has_allocations, no_timeline, has_no_starts, has_no_ends, has_no_period,
               has_no_copies);
    ps_rank_facts_archive(a, &x->facts);
    ps_thinned_archive(a, &x->thinned);
}

static void archive_steps(ps_archive *a, ps_report_rank *x) {
    PS_ARCHIVE(a, x, origin_ns, n_rank_steps, dropped_gaps_ns);
    PS_ARCHIVE_ARRAY(a, x, steps, n_steps, ps_overlap_archive);
    PS_ARCHIVE_ARRAY(a, x, gaps, n_gaps, gap_archive);
    PS_ARCHIVE_ARRAY(a, x, edges, n_edges, gap_archive);
    PS_ARCHIVE_ARRAY(a, x, host_gaps, n_host_gaps, gap_archive);
    event_archive(a, &x->before);
    event_archive(a, &x->after);
    PS_ARCHIVE_BELOW(a, x, n_waits, PS_REPORT_WAITS_KEPT + 1);
    for (size_t i = 0; i < PS_REPORT_WAITS_KEPT; i++) {
        wait_archive(a, &x->waits[i]);
    }
}

static void archive_idle(ps_archive *a, ps_report_rank *x) {
    for (size_t cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
        PS_ARCHIVE_EACH(a, x, idle_ns[cause]);
        PS_ARCHIVE(a, x, late_comm_ns[cause]);
        ps_intervals_archive(a, &x->idle_spans[cause]);
        ps_intervals_archive(a, &x->late_comm_spans[cause]);
    }
    PS_ARCHIVE_EACH(a, x, fetch_ns);
    PS_ARCHIVE(a, x, awaited_comm_ns, awaited_transfer_ns, awaited_wait_ns, hidden_transfer_ns,
               short_gaps_ns);
    PS_ARCHIVE_BELOW(a, x, n_copies, PS_REPORT_COPIES_KEPT + 1);
    for (size_t i = 0; i < PS_REPORT_COPIES_KEPT; i++) {
        copies_archive(a, &x->copies[i]);
    }
    ps_intervals_archive(a, &x->copy_spans);
    ps_delays_archive(a, &x->delays);
}

static void archive_host(ps_archive *a, ps_report_rank *x) {
    for (size_t activity = 0; activity < PS_N_ACTIVITIES; activity++) {
        stops_archive(a, &x->stops[activity]);
    }
    PS_ARCHIVE(a, x, n_launches, n_prompt, n_unqueued, task_queue, cpu_affinity, governor);
    ps_literal_archive(a, &x->environment);
    frequency_archive(a, &x->device_frequency);
    frequency_archive(a, &x->cpu_frequency);
}

static void archive_communication(ps_archive *a, ps_report_rank *x) {
    void *part = x->part;
    ps_comm_part_archive(a, &part);
    x->part = part;
    if (ps_archive_is_reading(a) && part != NULL) {
        x->comm = x->part->list;
    }
    ps_comm_waits_archive(a, &x->comm_waits, &x->comm);
    PS_ARCHIVE_BELOW(a, x, n_packets, sizeof x->packets / sizeof *x->packets + 1);
    for (size_t i = 0; i < sizeof x->packets / sizeof *x->packets; i++) {
        packets_archive(a, &x->packets[i]);
    }
    PS_ARCHIVE_BELOW(a, x, n_doubts, PS_REPORT_DOUBTS_KEPT + 1);
    for (size_t i = 0; i < PS_REPORT_DOUBTS_KEPT; i++) {
        doubt_archive(a, &x->doubts[i]);
    }
    event_archive(a, &x->retransmitted);
}

void ps_report_rank_archive(ps_archive *a, void **rank) {
    ps_report_rank *x = ps_archive_object(a, rank, sizeof *x);
    if (x == NULL) {
        return;
    }
    ps_arena *before = ps_archive_use_arena(a, &x->arena);
    archive_capture(a, x);
    archive_steps(a, x);
    archive_idle(a, x);
    PS_ARCHIVE_ARRAY(a, x, kernels, n_kernels, kernel_archive);
    PS_ARCHIVE(a, x, kernels_ns);
    ps_intervals_archive(a, &x->conversion_spans);
    archive_host(a, x);
    ps_timeline_archive(a, &x->timeline);
    archive_communication(a, x);
    PS_ARCHIVE(a, x, optimiser.name, optimiser.start_ns, optimiser.dur_ns, optimiser.step,
               optimiser.n_kernels, optimiser.kernels_ns, optimiser.way);
    for (size_t i = 0; i < PS_N_FUSIONS; i++) {
        ps_report_fusion *fusion = &x->fusions[i];
        PS_ARCHIVE(a, fusion, n, ns, longest_ns, longest_start_ns, longest_step);
    }
    (void)ps_archive_use_arena(a, before);
}
