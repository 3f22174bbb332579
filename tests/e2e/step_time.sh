#!/bin/sh
# step_trace_time and free_analysis against the tables that msprof-analyze writes for the same cluster;
# cluster_time_summary against a second computation from the operators; two runs side by side.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

cluster=$PIPESCOPE_SHARED_DATA/cluster/pp2_dp4
real=$PIPESCOPE_SHARED_DATA/ascend
[ -d "$cluster" ] || skip "no shared data cluster/pp2_dp4"
[ -d "$real" ] || skip "no shared data ascend"
db=cluster_analysis_output/cluster_analysis.db

run 0 -m step_trace_time,free_analysis,cluster_time_summary -d "$cluster/input" -o "$T/cluster"
python3 tests/support/step_time.py "$T/cluster/$db" "$cluster/expected" "$cluster/input"

# Alone it reads less of the databases, and says the same.
run 0 -m step_trace_time -d "$cluster/input" -o "$T/alone"
for table in ClusterStepTraceTime HostInfo RankDeviceMap ClusterBaseInfo; do
    sqlite3 "$T/cluster/$db" "SELECT * FROM $table" >"$T/one"
    sqlite3 "$T/alone/$db" "SELECT * FROM $table" >"$T/two"
    cmp "$T/one" "$T/two" || fail "$table differs"
done

# One step of two; one that nobody has.
run 0 -m step_trace_time -d "$cluster/input" -o "$T/step" --step_id 4
[ "$(sqlite3 "$T/step/$db" 'SELECT DISTINCT step FROM ClusterStepTraceTime')" = 4 ] || fail "not only step 4"
run 2 -m step_trace_time -d "$cluster/input" -o "$T/none" --step_id 77
says 'step 77: no such step; there are: 3-4'

# The printed headers.
run 0 -m step_trace_time -d "$cluster/input" -o "$T/text" --export_type text
head -n 1 "$T/text/cluster_analysis_output/StepTraceTime/cluster_step_trace_time.csv" | tr -d '\r' >"$T/header"
grep -qx 'Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,TP Index' \
    "$T/header" || fail "$(cat "$T/header")"

# Where only the profiler's own table is left, that is taken.
mkdir -p "$T/left"
cp "$real/db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db" "$T/left/"
run 0 -m step_trace_time -d "$T/left/analysis.db" -o "$T/left_out"
[ "$(sqlite3 "$T/left_out/$db" 'SELECT step, computing, free FROM ClusterStepTraceTime')" = '50|8903.431|25258.144' ] ||
    fail "not the profiler's own table"

# Against itself nothing differs; steps of other numbers are taken in order.
run 0 -m cluster_time_compare_summary -d "$cluster/input" --bp "$cluster/input" -o "$T/same"
[ "$(sqlite3 "$T/same/$db" 'SELECT count(*), max(abs(stepTimeDiff)), max(abs(freeDiff)) FROM ClusterTimeCompareSummary')" = \
    '16|0.0|0.0' ] || fail "a run differs from itself"
run 0 -m cluster_time_compare_summary -d "$real/db/level1" --bp "$cluster/input" -o "$T/order"
[ "$(sqlite3 "$T/order/$db" 'SELECT rank, step, freeBase FROM ClusterTimeCompareSummary')" = '0|50|3198.0
1|50|3189.5' ] || fail "steps in order: $(sqlite3 "$T/order/$db" 'SELECT rank, step, freeBase FROM ClusterTimeCompareSummary')"
run 2 -m cluster_time_compare_summary -d "$cluster/input" -o "$T/nothing"
says '--bp DIR'
