#!/bin/sh
# The training of examples/pipeline, recorded: what the charts say ran is what the processes say they ran, and the analyses
# work on it as on any profile.
# threads: the recorder in a program of several threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip "no python3"
example=${PIPESCOPE_EXAMPLES:-build/release/examples}/example-pipeline
[ -x "$example" ] || fail "no program at $example"

# train FOLDER OPTIONS...: small layers, and the losses must be those of one process.
train() {
    folder=$1
    shift
    "$example" --width 64 --rows 16 --layers 8 --steps 3 --output "$T/$folder" --log "$T/$folder.log" --check "$@" \
        >"$T/$folder.losses" 2>"$T/$folder.stderr" || {
        cat "$T/$folder.losses" "$T/$folder.stderr" >&2
        fail "$folder did not run"
    }
}

# as_executed FOLDER SCHEDULE RANKS FIRST END
as_executed() {
    run 0 chart "$T/$1" -o "$T/$1.json"
    python3 tests/e2e/lib/check_chart.py "$T/$1.json"
    python3 tests/e2e/lib/check_recorded.py "$T/$1.json" "$T/$1.log" "$2" "$3" "$4" "$5" || fail "$1"
}

# --- each schedule ---

for schedule in 1f1b gpipe interleaved zb-h1 dualpipev; do
    train "$schedule" --schedule "$schedule"
    as_executed "$schedule" "$schedule" 4 0 3
    # Without the metadata its order tells.
    for folder in "$T/$schedule"/*_ascend_pt; do
        sql "$(databases "$folder")" "UPDATE META_DATA SET value = '{\"microbatch_num\": 8}' WHERE name = 'pp_info'"
        rm "$folder/profiler_metadata.json"
    done
    run 0 chart "$T/$schedule" -o "$T/$schedule.json"
    python3 -c "
import json, sys
chart = json.load(open(sys.argv[1]))
assert chart['schedule'] == sys.argv[2] and chart['schedule_how'].startswith('recognised'), chart['schedule_how']
" "$T/$schedule.json" "$schedule" || fail "$schedule is not recognised"
done

# --- a slow stage, a window, and the analyses ---

# Devices of a given speed sleep for what the processor was faster: a busy machine then changes little. A forward is two
# products of 1.3 ms.
train slow --slow-stage 2:3 --device-gflops 0.1 --steps 4 --window 1:4
as_executed slow 1f1b 4 1 4

run 0 report "$T/slow" -o "$T/slow.report.json"
python3 - "$T/slow.report.json" <<'PYTHON' || fail "what the report finds"
import json
import sys

report = json.load(open(sys.argv[1]))
found = {finding["rule"]: finding for finding in report["findings"]}
assert found["stage-imbalance"]["stage"] == 2, found
assert not [f for f in report["findings"] if f["section"] == "dispatch"] and report["device_times"] == "host", report
assert report["kernels"] and not [k for k in report["kernels"] if '"' in k["shapes"]], report["kernels"]
assert report["n_steps"] == 3 and report["n_ranks"] == 4, report
# Both neighbours wait for the slow stage; communication is what the marks say.
assert report["comm_from_marks"] == "host" and found["receive-wait"]["rank"] in (1, 3), found
assert "for sends of rank 2 (stage 2)" in found["receive-wait"]["what"], found
assert all(rank["receives_ns"] > 0 for rank in report["overview"]), report["overview"]
PYTHON

# Sends and receives by their marks, with no copy made first: 8 microbatches, 3 steps, three links in two directions.
run 0 cluster -m hccl_sum,slow_rank -d "$T/slow" -o "$T/links"
db=$T/links/cluster_analysis_output/cluster_analysis.db
[ "$(sql "$db" "SELECT OpType, Count FROM HcclAllRankStats ORDER BY 1")" = "hcom_receive_|144
hcom_send_|144" ] || fail "operators of the marks"
[ "$(sql "$db" "SELECT sum(operators) FROM SlowRankLateness")" = 144 ] || fail "receives without their sends"

# The bubble of every step, labels of every mark, and both ends of every transfer.
run 0 cluster -m pp_chart -d "$T/slow" -o "$T/labelled"
for rank in 0 1 2 3; do
    db=$(database "$T/labelled" $rank)
    [ "$(sql "$db" "SELECT count(*), sum(name = 'FP'), sum(name = 'BP') FROM StepTaskInfo")" = "48|24|24" ] ||
        fail "labels of rank $rank"
    sql "$db" "SELECT opConnectionId FROM COMMUNICATION_OP" >>"$T/ends"
done
[ "$(sort "$T/ends" | uniq -c | awk '$1 != 2 || NF != 2' | wc -l)" = 0 ] || fail "ends of transfers"
[ "$(wc -l <"$T/ends")" = 288 ] || fail "transfers"
run 0 cluster -m pp_chart -d "$T/slow" -o "$T/tables" --export_type csv
[ "$(cut -d, -f1-3 "$(find "$T/tables" -name PipelineBubble.csv)" | wc -l)" = 13 ] || fail "bubble of 3 steps of 4 stages"

# 2 blocks a stage, 8 microbatches, 3 steps; the head is on the last one. A block's backward has three products' worth of
# operators: of the ReLU, the input and the weight.
run 0 cluster -m module_statistic -d "$T/slow" -o "$T/modules" --peak-tflops 0.0001
grep -qE ' total +average' "$T/stdout" || fail "no times of operators: $(cat "$T/stdout")"
grep -qE '[(]ms[)] +[(]ms[)]' "$T/stdout" || fail "times of operators are not in ms: $(cat "$T/stdout")"
db=$T/modules/cluster_analysis_output/cluster_analysis.db
for rank in 0 1 2 3; do
    head=''
    [ $rank != 3 ] || head='
Stage/Head|Linear|aten::mm|24
Stage/Head|MSELoss|aten::mse_loss|24
Stage/Head|[Backward]Linear|aten::mm|48
Stage/Head|[Backward]MSELoss|aten::mse_loss_backward|24'
    [ "$(sql "$db" "SELECT parentModule, module, opName, sum(opCount) FROM ModuleStatistic WHERE rankID = $rank
        GROUP BY 1, 2, 3 ORDER BY 1, 2")" = "Stage/Block|Linear|aten::mm|48
Stage/Block|ReLU|aten::relu|48
Stage/Block|[Backward]Linear|aten::mm|96
Stage/Block|[Backward]ReLU|aten::threshold_backward|48$head" ] || fail "operators of rank $rank: $(sql "$db" "SELECT * FROM ModuleStatistic")"
    [ "$(sql "$db" "SELECT calls FROM ModuleTree WHERE rankID = $rank AND parentModule = '' AND module = 'Stage'")" = 24 ] ||
        fail "calls of rank $rank"
done
[ "$(sql "$db" "SELECT count(*) FROM ModuleTree WHERE module = 'Linear' AND (mfu IS NULL OR mfu <= 0 OR backwardPerForward <= 0)")" = 0 ] ||
    fail "FLOPs of products"
[ "$(sql "$db" "SELECT count(*) FROM ModuleCoverage WHERE part = 'launch not known' AND kernels > 0")" = 0 ] || fail "launches"

# The pages.
python3 tests/e2e/lib/check_served.py "$T/slow" 4 3 || fail "routes"
python3 tests/e2e/lib/check_served.py "$T/dualpipev" 4 3 || fail "routes"

# --- by `pipescope record`, and what is refused ---

run 0 record -o "$T/record" -- "$example" --width 64 --rows 16 --layers 8 --steps 2 --pp 2 --log "$T/record.log"
as_executed record 1f1b 2 0 2
[ "$(find "$T/record" -name '*_ascend_pt' | wc -l)" = 2 ] || fail "the process that starts the others was recorded, too"

refused() {
    status=0
    "$example" "$@" >"$T/stdout" 2>"$T/stderr" || status=$?
    [ $status = 2 ] || fail "status $status: $*"
}
refused --schedule dualpipev --microbatches 7
refused --schedule none
refused --pp 0
refused --width 63
refused --slow-stage 4:2
refused --layers 3
