#!/bin/sh
# From raw files to answers: two ranks of a pipeline, as two killed processes left them, become databases whose analyses give
# the rows that were put in (tests/programs/made_recording.c).
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

[ -x "${PIPESCOPE_PROGRAMS:-}/made_recording" ] || {
    echo "skipped: no program made_recording"
    exit 77
}
mkdir "$T/two"
"$PIPESCOPE_PROGRAMS/made_recording" "$T/two"
run 0 record --recover "$T/two"
r0=$T/two/host_0_20260101000000000_ascend_pt
db0=$r0/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db
[ -f "$r0/profiler_info_0.json" ]
[ -f "$r0/profiler_metadata.json" ]
[ ! -e "$r0/FRAMEWORK" ]

# Nothing is left to recover, which is no success.
run 3 record --recover "$T/two"

# 4 forwards, 4 backwards, 4 modules, 1 step; 8 marks and 8 operators on the stream of the host.
[ "$(sql "$db0" "SELECT count(*) FROM MSTX_EVENTS")" = 13 ]
[ "$(sql "$db0" "SELECT count(*) FROM TASK")" = 16 ]
[ "$(sql "$db0" "SELECT count(*) FROM MSTX_EVENTS JOIN TASK USING (connectionId)")" = 8 ]

run 0 info "$T/two"
says_out "ascend-db"
run 0 chart "$T/two"
says_out "two, 1f1b, step 1, bubble 20.0 %"
says_out "stage 0  rank 0 |0####1####.........0B========2####1B========3####2B=======.....3B========|   80.0 %"
says_out "stage 1  rank 1 |.....0####0B=======1####1B========2####2B========3####3B=======..........|   80.0 %"

cluster=$T/out/cluster_analysis_output/cluster_analysis.db
run 0 cluster -m module_statistic -d "$T/two" -o "$T/out"
[ "$(sql "$cluster" 'SELECT module, opName, kernelList, "totalKernelDuration(ns)", opCount FROM ModuleStatistic WHERE rankID = 1')" = \
"Linear|aten::mm|aten::mm|400000.0|4
Linear|aten::add|aten::add|200000.0|4" ]

run 0 cluster -m mstx_sum -d "$T/two" -o "$T/out"
[ "$(sql "$cluster" 'SELECT count(*), sum(SumNs) FROM MSTXAllDeviceStats')" = "8|24000000.0" ]

# Labels go into the databases themselves.
run 0 cluster -m pp_chart -d "$T/two"
[ "$(sql "$db0" "SELECT group_concat(name || ' ' || ((endNs - startNs) / 1000000)) FROM (SELECT * FROM StepTaskInfo ORDER BY startNs)")" = \
"FP 1,FP 1,BP 2,FP 1,BP 2,FP 1,BP 2,BP 2" ] || fail "$(sql "$db0" "SELECT * FROM StepTaskInfo")"
