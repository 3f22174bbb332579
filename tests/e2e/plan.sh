#!/bin/sh
# plan: the split it prints is the best there is, and the job run with it takes what was predicted.
set -eu
python3 "$(dirname "$0")/lib/plan_cases.py" "$PIPESCOPE_BIN" "$T"

expect() {
    status=$1 && words=$2 && shift 2
    code=0
    "$PIPESCOPE_BIN" "$@" > "$T/text" 2>&1 || code=$?
    if [ "$code" -ne "$status" ] || ! grep -q -e "$words" "$T/text"; then
        echo "FAILED: $*: exit $code, wanted $status with '$words':"
        cat "$T/text"
        exit 1
    fi
}
job=$DATA/ndtimeline/two-by-two.json
expect 2 "layers is missing" plan "$job"
expect 2 "the job has 2 stages" plan "$job" --layers 1,2,3
expect 2 "give the layers of each stage" plan "$job" --layers four
expect 2 "do not fit on 2 stages of at most 2" plan "$job" --layers 8 --max-layers 2
expect 0 "pipeline-model-parallel-layout \"Et\*" plan "$job" --layers 8
# A slow machine is no matter of layers.
expect 0 "Mend the slow machine first" plan "$job" --layers 8

# Marks, and several chunks of a stage.
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --jitter 2 --profile "$T/marks" --slow-stage 3:1.5 --quiet > /dev/null
expect 0 "A better split" plan "$T/marks" --layers 32
rm -rf "$T/marks"
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 8 --chunks 2 --profile "$T/marks" --quiet > /dev/null
# The headline is of splits that can be run: of the chunks, as the table below has them.
expect 0 "It is plan [0-9]* below" plan "$T/marks" --layers 32
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 8 --chunks 2 --profile "$T/slow" --slow-stage 2:1.9 --quiet > /dev/null
"$PIPESCOPE_BIN" plan "$T/slow" --layers 8 --json --quiet > "$T/slow.json"
"$PIPESCOPE_BIN" plan "$T/slow" --layers 8 --empty-stages --json --quiet > "$T/empty.json"
python3 - "$T/slow.json" "$T/empty.json" <<'PY'
import json
import sys

least = []
for path in sys.argv[1:]:
    job = json.load(open(path))
    p, rows = job["plan"][0], job["schedules"]
    own = [r for r in rows if r["number"] == p["plan_of_own_schedule"]][0]
    assert own["schedule"] == "interleaved" and own["chunks"] == 2, own
    assert p["step_planned_ns"] == own["step_ns"] and p["chunks_alike"] == 0, (p, own)
    layers = [int(n) for n in own["layers"].split(",")]
    stages = [r["layers planned"] for r in job["stages"]]
    assert stages == [layers[s] + layers[s + 4] for s in range(4)], (stages, layers)
    least.append((min(min(int(n) for n in r["layers"].split(",")) for r in rows), own["step_ns"]))
assert least[0][0] == 1 and least[1][0] == 0 and least[1][1] < least[0][1], least
PY

# An order that no schedule has: stage 0 runs all forwards first, stage 1 takes some backwards apart. A forward takes 10 ms, a backward 20,
# half of it the weight gradient: stage 0 ends at 150 (its last backward waits until 130). On paper 1f1b takes (4 + 1) * 30 = 150, too,
# gpipe the same, and zb-h1 4 * 30 + 10 + 10 - 10 = 130; what ran has no name, and nothing of it is outside of a schedule.
python3 - "$T" <<'PY'
import os
import sys

log = os.path.join(sys.argv[1], "unnamed")
os.mkdir(log)
ORDER = [["F0 0", "F1 10", "F2 20", "F3 30", "B0 40", "B1 60", "B2 90", "B3 130"],
         ["F0 10", "b0 20", "F1 30", "b1 40", "w0 50", "F2 60", "B2 70", "w1 90", "F3 100", "B3 110"]]
KINDS = {"F": ("forward", 10), "B": ("backward", 20), "b": ("backward_b", 10), "w": ("backward_w", 10)}
for stage, ops in enumerate(ORDER):
    with open(os.path.join(log, f"workerlog.{stage}"), "w") as f:
        for job, op in enumerate(ops):
            name, start = op.split()
            kind, length = KINDS[name[0]]
            begin = 1700000000000 + int(start)
            f.write(f"I1205 10:21:33.37291{job % 10} 31000 standalone_executor.cc:302] Profiler Info: Job ({job}), type = {kind}, "
                    f"micro_batch_id = {name[1:]}, job_start_time = {begin}.000000, job_end_time = {begin + length}.000000\n")
PY
expect 0 "Plans are compared with the measured order: the schedule was not recognised" plan "$T/unnamed" --layers 4
expect 0 "0  as it ran" plan "$T/unnamed" --layers 4
expect 0 "Weight gradients of stage 0 were not measured apart" plan "$T/unnamed" --layers 4
"$PIPESCOPE_BIN" plan "$T/unnamed" --layers 4 --layer-bytes 4 --activation-bytes 2 --json --quiet > "$T/unnamed.json"
# Stage 0 holds four microbatches of two layers: 2 x 4 + 4 x 2 x 2 bytes are 24.
expect 0 "Under the schedule that ran no split keeps the memory limit" \
    plan "$T/unnamed" --layers 4 --memory 8 --layer-bytes 4 --activation-bytes 2
python3 - "$T/unnamed.json" <<'PY'
import json
import sys

plan = json.load(open(sys.argv[1]))
p = plan["plan"][0]
assert p["schedule"] is None and p["why_no_schedules"] is None and "not recognised" in p["why_unnamed"], p
assert p["step_now_ns"] == 150_000_000 and p["step_outside_of_schedule_ns"] == 0, p
rows = {r["schedule"]: r for r in plan["schedules"]}
assert rows[None]["number"] == 0 and rows[None]["layers_held"] == 8 and rows[None]["activations"] == 4 and rows[None]["memory_bytes"] == 24, rows[None]
for name, step in (("1f1b", 150), ("gpipe", 150), ("zb-h1", 130)):
    assert rows[name]["step_ns"] == step * 1_000_000, rows[name]
PY
