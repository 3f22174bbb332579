#!/bin/sh
# compute_op_sum against the tables that msprof-analyze writes for the same cluster; it and cann_api_sum against a second
# computation from the tables of a real capture; export_summary against the collector's own list of kernels.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

cluster=$PIPESCOPE_SHARED_DATA/cluster/pp2_dp4
real=$PIPESCOPE_SHARED_DATA/ascend
for data in "$cluster" "$real"; do
    [ -d "$data" ] || skip "no shared data cluster/pp2_dp4, ascend"
done
db=cluster_analysis_output/cluster_analysis.db

run 0 -m compute_op_sum -d "$cluster/input" -o "$T/cluster"
python3 tests/support/op_sums.py "$T/cluster/$db" "$cluster/expected/compute_op_sum"

# Without names of operators there is one table less.
run 0 -m compute_op_sum -d "$cluster/input" -o "$T/short" --exclude_op_name --export_type csv
[ "$(cd "$T/short/cluster_analysis_output/ComputeOpSum" && echo *)" = \
    'all_stats.csv op_spread.csv rank_stats_by_optype.csv' ] || fail "$(ls "$T/short"/*/*)"

for level in level0 level1; do
    ranks=
    for rank in 0 1; do
        ranks="$ranks $real/db/$level/rank${rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$rank.db $rank"
    done
    run 0 -m compute_op_sum,cann_api_sum -d "$real/db/$level" -o "$T/$level"
    # shellcheck disable=SC2086
    python3 tests/support/op_sums.py "$T/$level/$db" --from $ranks
done

# Lists of kernels are files, also beside a database.
run 0 -m export_summary -d "$real/text/level1" -o "$T/text"
[ ! -e "$T/text/$db" ] || fail "a database without tables"
python3 - "$T/text" "$real/text/level1" <<'PY'
import csv, pathlib, sys
out, capture = map(pathlib.Path, sys.argv[1:])
for rank in (0, 1):
    path = capture / f"rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv"
    own = list(csv.DictReader(open(path)))
    got = list(csv.DictReader(open(out / f"cluster_analysis_output/ExportSummary/{rank}/kernel_details.csv")))
    assert len(got) == len(own), (len(got), len(own))
    waits = 0
    for a, b in zip(got, own):
        assert abs(float(a["task_start_time"][6:]) - float(b["Start Time(us)"].strip()[6:])) < 0.0011, (a, b)
        assert abs(float(a["task_duration"]) - float(b["Duration(us)"])) < 0.011, (a, b)
        assert abs(float(a["task_wait_time"]) - float(b["Wait Time(us)"])) < 0.011, (a, b)
        waits += float(a["task_wait_time"]) > 0
        if a["task_type"] == "COMMUNICATION":
            continue
        for mine, theirs in (
            ("op_name", "Name"), ("op_type", "Type"), ("task_type", "Accelerator Core"), ("block_dim", "Block Dim"),
            ("input_shapes", "Input Shapes"), ("output_formats", "Output Formats"), ("stream_id", "Stream ID"),
            ("task_id", "Task ID"), ("context_id", "Context ID"), ("op_state", "OP State"),
        ):
            assert a[mine] == b[theirs], (mine, a[mine], b[theirs])
    assert waits > 100, waits
PY

# Any number of threads, the same bytes.
modes=compute_op_sum,cann_api_sum,freq_analysis,export_summary
for n in 1 3; do
    run 0 -m $modes -d "$real/db/level1" -o "$T/threads$n" --export_type csv -j $n
done
diff -r "$T/threads1" "$T/threads3"
