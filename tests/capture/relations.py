"""What every table must keep: data. Terms are columns; one with a leading `?` counts as 0 where the table has no such column.

A term `A - B` is written with a leading `-`. Values of text exports and of means are rounded: `slack` is how much each term may be off,
in the unit of the table.
"""

# (table, left terms, "=" or "<=", right terms, slack of a term). Tables of `report` stand under "report/".
ROWS = [
    ("report/overview", ["before_ns", "computing_ns", "exposed_ns", "?copies_ns", "free_ns", "after_ns"], "=", ["step_ns"], 0),
    ("report/overview_stages", ["before_ns", "computing_ns", "exposed_ns", "copies_ns", "free_ns", "after_ns"], "=", ["step_ns"], 0),
    ("report/overview", ["receives_ns"], "<=", ["exposed_ns"], 0),
    ("report/overview", ["bubble_ns"], "<=", ["before_ns", "free_ns", "after_ns", "?copies_ns"], 0),
    ("report/PipelineStep", ["computing_ns", "waiting_ns"], "=", ["time_ns"], 0),
    ("report/PipelineStep", ["its_busy_ns"], "<=", ["time_ns"], 0),
    ("report/PipelineBubble", ["warm_up_ns", "stall_ns", "cool_down_ns"], "=", ["bubble_ns"], 0),
    ("report/PipelineWaits", ["of_it_ns"], "<=", ["for_stages_ns"], 0),
    ("report/kernels", ["mean_ns"], "<=", ["longest_ns"], 0),
    ("StepTraceTime/cluster_step_trace_time", ["overlapped", "communication_not_overlapped"], "=", ["communication"], 0),
    ("StepTraceTime/cluster_step_trace_time", ["computing", "communication_not_overlapped", "free"], "=", ["stage", "bubble"], 0),
    # The bubble is a plain sum: receives at once, and those under computing, count there.
    ("StepTraceTime/cluster_step_trace_time", ["communication_not_overlapped_and_exclude_receive"], "<=",
     ["communication_not_overlapped"], 0),
    ("StepTraceTime/cluster_step_trace_time", ["communication_not_overlapped"], "<=",
     ["communication_not_overlapped_and_exclude_receive", "bubble"], 0),
    ("StepTraceTime/cluster_step_trace_time", ["overlapped"], "<=", ["computing"], 0),
    ("ClusterTimeSummary/cluster_time_summary",
     ["communicationNotOverlapComputation", "communicationOverlapComputation"], "=", ["communication"], 0),
    ("ClusterTimeSummary/cluster_time_summary", ["communicationOverlapComputation"], "<=", ["computation"], 0),
    ("ClusterTimeSummary/cluster_time_summary",
     ["computation", "communicationNotOverlapComputation", "free", "memoryNotOverlapComputationCommunication"], "<=",
     ["stepTime"], 0),
    ("ClusterTimeSummary/cluster_time_summary", ["memoryNotOverlapComputationCommunication"], "<=", ["memory"], 0),
    ("FreeAnalysis/free_summary", ["hostBound"], "<=", ["free"], 0),
    ("FreeAnalysis/free_summary", ["gapsUnder20us"], "<=", ["free"], 0),
    ("FreeAnalysis/free_analysis", ["startTime(us)", "duration(us)"], "=", ["endTime(us)"], 0),
    ("CommunicationBottleneck/communication_bottleneck", ["startTime(us)", "duration(us)"], "=", ["endTime(us)"], 0),
    ("ModuleStatistic/ModuleTree", ["forwardTime_ns", "recomputeTime_ns", "backwardTime_ns"], "=", ["kernelTime_ns"], 0),
    ("ModuleStatistic/ModuleTree", ["ownKernelTime_ns"], "<=", ["kernelTime_ns"], 0),
    ("ModuleStatistic/ModuleTree", ["busyTime_ns"], "<=", ["kernelTime_ns"], 0),
    ("ModuleStatistic/ModuleTree", ["exposedCommunication_ns"], "<=", ["busyTime_ns"], 0),
    ("ModuleStatistic/ModuleInstance", ["forwardTime_ns", "recomputeTime_ns", "backwardTime_ns"], "=", ["kernelTime_ns"], 0),
    ("ModuleStatistic/ModuleOp", ["shortest_ns"], "<=", ["longest_ns"], 0),
    ("OperatorMfu/operator_mfu_kernel_*", ["kernel_start(ns)", "kernel_duration(ns)"], "=", ["kernel_end(ns)"], 0),
    ("SlowRank/rank_lateness", ["meanLateness(us)"], "<=", ["maxLateness(us)"], 0),
    ("SlowRank/rank_lateness", ["cameLast"], "<=", ["operators"], 0),
    ("*", ["MinNs"], "<=", ["Q1Ns"], 0),
    ("*", ["Q1Ns"], "<=", ["MedianNs"], 0),
    ("*", ["MedianNs"], "<=", ["Q3Ns"], 0),
    ("*", ["Q3Ns"], "<=", ["MaxNs"], 0),
    ("*", ["MaxNs"], "<=", ["SumNs"], 0),
    ("*", ["minNs"], "<=", ["Q1Ns"], 1),
    ("*", ["Q1Ns"], "<=", ["medNs"], 0),
    ("*", ["medNs"], "<=", ["Q3Ns"], 0),
    ("*", ["Q3Ns"], "<=", ["maxNs"], 1),
]

# (table, group columns, column, total, slack): the column adds up to the total within each group.
SHARES = [
    ("ComputeOpSum/op_spread", [], "Share(%)", 100, "0.01"),
    ("CannApiSum/all_stats", [], "timeRatio", 100, "0.5"),
    ("CannApiSum/rank_stats", ["rank"], "durationRatio", 100, "0.5"),
    ("ModuleStatistic/ModuleCoverage", ["rankID"], "share_percent", 100, "0.01"),
]

# (table of the parts, where, its group columns, its column, table of the sums, where, its group columns, its column): for each group
# the parts add up to the sum. `where` keeps the rows with these values.
SUMS = [
    ("ComputeOpSum/rank_stats_by_optype", {}, ["OpType", "TaskType"], "SumNs",
     "ComputeOpSum/all_stats", {}, ["OpType", "TaskType"], "SumNs"),
    ("ComputeOpSum/rank_stats_by_optype", {}, ["OpType", "TaskType"], "Count",
     "ComputeOpSum/all_stats", {}, ["OpType", "TaskType"], "Count"),
    ("ComputeOpSum/rank_stats_by_opname", {}, ["Rank", "OpType", "TaskType"], "SumNs",
     "ComputeOpSum/rank_stats_by_optype", {}, ["Rank", "OpType", "TaskType"], "SumNs"),
    ("ComputeOpSum/op_spread", {}, ["OpType", "TaskType"], "SumNs",
     "ComputeOpSum/all_stats", {}, ["OpType", "TaskType"], "SumNs"),
    ("HcclSum/rank_stats", {}, ["OpType"], "SumNs", "HcclSum/all_stats", {}, ["OpType"], "SumNs"),
    ("HcclSum/rank_stats", {}, ["OpType"], "Count", "HcclSum/all_stats", {}, ["OpType"], "Count"),
    ("CannApiSum/rank_stats", {}, ["name"], "totalTimeNs", "CannApiSum/all_stats", {}, ["name"], "totalTimeNs"),
    ("CannApiSum/rank_stats", {}, ["name"], "totalCount", "CannApiSum/all_stats", {}, ["name"], "totalCount"),
    ("ModuleStatistic/ModuleStep", {}, ["rankID", "parentModule", "module"], "kernelTime_ns",
     "ModuleStatistic/ModuleTree", {}, ["rankID", "parentModule", "module"], "kernelTime_ns"),
    ("ModuleStatistic/ModuleStep", {}, ["rankID", "parentModule", "module"], "calls",
     "ModuleStatistic/ModuleTree", {}, ["rankID", "parentModule", "module"], "calls"),
    ("ModuleStatistic/ModuleTree", {}, ["rankID"], "ownKernelTime_ns",
     "ModuleStatistic/ModuleTree", {"parentModule": ""}, ["rankID"], "kernelTime_ns"),
    ("ModuleStatistic/ModuleTree", {"parentModule": ""}, ["rankID"], "kernelTime_ns",
     "ModuleStatistic/ModuleCoverage", {"part": "in modules", "name": ""}, ["rankID"], "kernelTime_ns"),
]

# Columns that are no durations though their names look like one: moments, differences of either sign, rates.
MOMENTS = ["start", "end", "timestamp", "first", "last", "at_ns", "from_start"]
SIGNED = [
    "clockOffset(us)",  # a clock may be behind
    "lost_ns",  # new minus base
    "gain_ns", "gain_share_percent",  # of a replay: another schedule may be slower
    "pytorchIdleTime(us)", "cannIdleTime(us)",  # from the end of one call to the end of another, which may be the earlier one
    "host_start_ns", "host_end_ns", "start_ns", "end_ns",  # of a chart, from its origin
]
# Shares that may be more than all: of something else than what they are a part of.
ABOVE_ALL = ["imbalance_percent", "Dispersion(%)", "MFU_percent", "mfu_percent"]

# Columns of tables of a rank and step that no step can be longer than, in the unit of the column named last.
WITHIN_STEP = [
    ("report/overview", ["before_ns", "computing_ns", "exposed_ns", "receives_ns", "copies_ns", "free_ns", "after_ns", "bubble_ns"],
     "step_ns"),
    ("report/PipelineStep", ["its_busy_ns", "computing_ns", "waiting_ns"], "time_ns"),
    ("ClusterTimeSummary/cluster_time_summary",
     ["computation", "communicationNotOverlapComputation", "communicationOverlapComputation", "communication", "free",
      "memoryNotOverlapComputationCommunication"], "stepTime"),
]
