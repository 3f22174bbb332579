#!/bin/sh
# An analysis to which no rank contributed replaces nothing: what an earlier run wrote stays, in databases and in files.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
out=$T/keep/cluster_analysis_output
run 0 -m step_trace_time -d "$T/in" -o "$T/keep"
run 0 -m step_trace_time -d "$T/in" -o "$T/keep" --export_type csv
snapshot "$T/keep" >"$T/before"
[ "$(sql "$out/cluster_analysis.db" 'SELECT count(*) FROM ClusterStepTraceTime')" -gt 0 ] || fail 'no rows to keep'

# stepless DIR: nobody knows a step there, so that asking for one leaves nothing.
stepless() { for path in $(databases "$1"); do sql "$path" 'DELETE FROM STEP_TIME'; done; }
cp -R "$T/in" "$T/stepless"
stepless "$T/stepless"

# A step that others have is no step of theirs: a wrong number, for which nothing changes either.
run 2 -m step_trace_time -d "$T/in" -o "$T/keep" --step_id 99
says 'step 99: no such step; there are: '
unchanged "$T/keep" "$T/before"

for type in db csv; do
    run 3 -m step_trace_time -d "$T/stepless" -o "$T/keep" --export_type $type --step_id 99
    unchanged "$T/keep" "$T/before"
    [ ! -s "$T/stdout" ] || fail "said that something was written"
    run 3 -m step_trace_time,hccl_sum -d "$T/stepless" -o "$T/keep" --export_type $type --step_id 99 --verbose
    unchanged "$T/keep" "$T/before"
    says 'no rank took part, nothing was written; what an earlier run wrote stays'
done

# A rank's own database keeps its chart.
run 0 -m pp_chart -d "$T/in"
stepless "$T/in"
dump "$T/in" >"$T/chart.sql"
run 3 -m pp_chart -d "$T/in" --step_id 99
same_dump "$T/in" "$T/chart.sql"

# Ranks that cannot be read contribute nothing either.
for path in $(databases "$T/in"); do echo nonsense >"$path"; done
run 1 -m step_trace_time -d "$T/in" -o "$T/keep"
unchanged "$T/keep" "$T/before"

# What several modes lack in the same ranks is one line with their names.
sample "$T/again"
stepless "$T/again"
run 3 -m slow_rank,hccl_sum,compute_op_sum -d "$T/again" -o "$T/none" --step_id 99
[ ! -e "$T/none/cluster_analysis_output" ] || fail 'an output folder without output'
[ "$(grep -c 'no steps recorded' "$T/stderr")" -eq 1 ] || fail "more than one line: $(cat "$T/stderr")"
says 'slow_rank, hccl_sum, compute_op_sum: all 4 ranks: no steps recorded'
