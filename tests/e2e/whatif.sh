#!/bin/sh
# whatif on a job worked by hand, on questions, and on jobs that are not whole.
# threads: steps and questions that run side by side
set -eu

cat > "$T/make.py" <<'PY'
import sys

sys.path.insert(0, sys.argv[1])
from worker_timeline import Job, one_f_one_b

T = sys.argv[2]
# Two stages, 140 replicas: more questions than run together. Stage 1 of replica 139 takes twice as long.
wide = Job(one_f_one_b(2, 2), 140)
usual = wide.duration
wide.duration = lambda op: usual(op) * (2 if (op.stage, op.replica) == (1, 139) and op.kind in "FB" else 1)
wide.write(f"{T}/wide.json", [7])
# Two stages, two replicas, two microbatches; stage 1 of replica 1 takes twice as long.
job = Job(one_f_one_b(2, 2), 2)
job.duration = lambda op: usual(op) * (2 if (op.stage, op.replica) == (1, 1) and op.kind in "FB" else 1)
job.write(f"{T}/job.json", [7, 9])
events = job.events([7, 9])


def keep(name, wanted):
    import json

    with open(f"{T}/{name}.json", "w") as file:
        file.write(json.dumps([e for e in events if wanted(e)]))


lost = [e for e in events if e["name"] == "forward-send" and e["args"]["step"] == 9][0]
keep("lost-send", lambda e: e is not lost)
short = [e for e in events if e["name"] == "backward-compute" and e["args"]["step"] == 7][3]
length, short["dur"] = short["dur"], -5
keep("negative", lambda e: True)
short["dur"] = length
keep("lost-worker", lambda e: not (e["ph"] == "M" and "PP rank 1" in e["args"]["name"] and e["pid"] == 1))
keep("no-names", lambda e: e["name"] != "process_name")


def number(e):
    return e["args"].get("step"), e["name"], e["pid"], e["args"].get("mb_id")


keep("uneven", lambda e: e["ph"] == "M" or number(e)[0] != 9 or number(e)[2:] != (1, 1))  # replica 1 ran a microbatch less
lost = [e for e in events if e["name"] == "optimizer" and e["args"]["step"] == 9][0]
keep("lost-optimizer", lambda e: e is not lost)
del lost["args"]["step"]
keep("no-step", lambda e: True)
lost["args"]["step"] = 9
# Both ends of a transfer are lost.
thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
first = {e["name"]: e for e in reversed(events) if e["ph"] == "X" and e["pid"] == 0 and e["args"]["step"] == 9}
keep("lost-pair", lambda e: e is not first["forward-send"] and e is not first["forward-recv"])
keep("lost-stage", lambda e: not thread.get((e["pid"], e.get("tid")), "").startswith("PP rank 1"))


def of_stage_0(name):
    return [e for e in events if e["name"] == name and e["args"]["step"] == 9 and e["pid"] == 0
            and thread[e["pid"], e["tid"]].startswith("PP rank 0")][0]


# Stage 0 would run its first backward before the forward of it.
forward, backward = of_stage_0("forward-compute"), of_stage_0("backward-compute")
forward["ts"], backward["ts"] = backward["ts"], forward["ts"]
keep("circle", lambda e: True)
forward["ts"], backward["ts"] = backward["ts"], forward["ts"]
length, forward["dur"] = forward["dur"], 0
keep("no-length", lambda e: True)
forward["dur"] = length
apart = [e for e in events if e["ph"] == "X" and e["pid"] == 1 and thread[e["pid"], e["tid"]].startswith("PP rank 1")]
for e in apart:
    e["ts"] -= 50000
keep("clocks", lambda e: True)
for e in apart:
    e["ts"] += 50000
beside = Job([[("F", 0, 0), ("B", 0, 0), ("W", 0, 0)]] * 2, 1)
shared = beside.duration
beside.duration = lambda op: (6, 20)[op.stage] if op.kind == "W" else shared(op)
beside.write(f"{T}/beside.json", [1])
# As recorded, before waits are taken out: receives begin when they were posted.
for e in events:
    if e["name"].endswith("-recv"):
        e["ts"] -= 8000
        e["dur"] += 8000
keep("raw", lambda e: True)
PY
python3 "$T/make.py" "$(dirname "$0")/lib" "$T"

# Up the stages and down again: worker 1,0 takes twice as long, and mended the job takes what it takes without that.
cat > "$T/make_v.py" <<'PY'
import json
import sys

sys.path.insert(0, sys.argv[2])
from worker_timeline import Job, orders_of

program, T = sys.argv[1], sys.argv[3]
TRANSFERS = "FS", "FR", "BS", "BR"
job = Job(orders_of(program, T, "zb-v", 4, 8, 2), 2, is_v=True)
usual = job.duration
job.duration = lambda op: 1 if op.kind in TRANSFERS else usual(op)
mended = job.run(3)[1]
job.duration = lambda op: (1 if op.kind in TRANSFERS else
                           usual(op) * (2 if (op.stage, op.replica) == (1, 0) and op.kind in "FBW" else 1))
job.write(f"{T}/v.json", [3, 4])
with open(f"{T}/v.expected", "w") as file:
    file.write(f"{job.run(3)[1]} {mended}")
events = job.events([3, 4])
for e in events:  # a forward and a backward as one op: who passes what is not told
    if e["name"] == "forward-compute" and e["args"]["mb_id"] == 5 and e["args"]["model_chunk"] == 1:
        e["name"] = "overlapped-compute"
with open(f"{T}/v-pairs.json", "w") as file:
    file.write(json.dumps(events))
PY
python3 "$T/make_v.py" "$PIPESCOPE_BIN" "$(dirname "$0")/lib" "$T"
"$PIPESCOPE_BIN" whatif "$T/v.json" --json --set worker=1,0:-50% > "$T/v.out"
python3 - "$T" <<'PY'
import json
import sys

got = json.load(open(f"{sys.argv[1]}/v.out"))
slow_ms, mended_ms = map(float, open(f"{sys.argv[1]}/v.expected").read().split())
for step in ("3", "4"):
    assert abs(got["step_time_no_delay_s"][step] - slow_ms / 1e3) < 1e-6, got["step_time_no_delay_s"]
assert abs(got["answer"][0]["step_ns"] - mended_ms * 1e6) < 1e3, (got["answer"], mended_ms)
assert [c["cause"] for c in got["causes"] if c["holds"] == "yes"] == ["worker"], got["causes"]
PY

"$PIPESCOPE_BIN" whatif "$T/wide.json" --json > "$T/wide.out"
python3 - "$T/wide.out" <<'PY'
import json
import sys

got = json.load(open(sys.argv[1]))
# The slow replica alone is as slow as the job; the others are as fast as usual.
of_dp = got["slowdown_by_dp"]
assert abs(of_dp["139"] - got["slowdown"]) < 1e-9 and got["slowdown"] > 1.5, (of_dp["139"], got["slowdown"])
assert all(abs(of_dp[str(d)] - 1) < 1e-9 for d in range(139)), of_dp
PY
"$PIPESCOPE_BIN" whatif "$T/job.json" -o "$T/out.json" --quiet
"$PIPESCOPE_BIN" whatif "$T/job.json" --json --without "worker=1,1" > "$T/without.json"
"$PIPESCOPE_BIN" whatif "$T/job.json" --json --scale "stage=1:-50%;kind=optimizer:2" > "$T/scale.json"
"$PIPESCOPE_BIN" whatif "$T/lost-send.json" --json > "$T/lost.json"
"$PIPESCOPE_BIN" whatif "$T/raw.json" --json > "$T/raw-out.json"

python3 - "$T" <<'PY'
import json
import sys

T = sys.argv[1]
got = json.load(open(f"{T}/out.json"))


def close(a, b, what):
    assert abs(a - b) < 1e-6 * max(1, abs(b)), (what, a, b)


# 1F1B of two stages: F0 | F0 | B0 | B0 ... Replica 0: 10 + 10 + 20 + 10 + 20 + 20 = 90 ms, replica 1: 10 + 20 + 40 + 20 + 40 + 20
# = 150, the optimizer 5 behind both. Usual: F (3 * 10 + 20) / 4 = 12.5, B 25: 9 / 8 * (10 + 10 + 20 + 10 + 20 + 20 + ...) = 112.5.
for step in ("7", "9"):
    close(got["step_time_measured_s"][step], 0.155, "measured")
    close(got["step_time_no_delay_s"][step], 0.155, "replayed")
    close(got["step_time_ideal_s"][step], 0.1175, "ideal")
close(got["slowdown"], 155 / 117.5, "S")
close(got["launch_slowdown"], 1, "launch")
close(got["slowdown_by_stage"]["0"], 110 / 117.5, "stage 0")
close(got["slowdown_by_stage"]["1"], 162.5 / 117.5, "stage 1")
close(got["slowdown_by_dp"]["0"], 1, "replica 0")
close(got["slowdown_by_dp"]["1"], 155 / 117.5, "replica 1")
close(got["slowdown_by_kind"]["forward-compute"], 130 / 117.5, "forward")
close(got["slowdown_by_kind"]["backward-compute"], 142.5 / 117.5, "backward")
close(got["slowdown_by_kind"]["optimizer"], 1, "optimizer")
close(got["M_W"], 45 / 37.5, "M_W")
close(got["M_S"], 45 / 37.5, "M_S")
close(got["workers"]["without_s"], 0.110, "without the worker")
close(got["last_stage"]["without_s"], 0.110, "without the last stage")
assert [c["cause"] for c in got["causes"] if c["holds"] == "yes"] == ["worker"], got["causes"]
first = [r for r in got["repairs"] if r["order"] == 1]
assert first[0]["repair"] == "rank 3 (stage 1, replica 1)", got["repairs"]

close(json.load(open(f"{T}/without.json"))["answer"][0]["step_ns"] / 1e9, 0.110, "the question")
# Stage 1 twice as fast: F 5 and 10, B 10 and 20; replica 1 is as replica 0 was: 90 + 2 * 5.
close(json.load(open(f"{T}/scale.json"))["answer"][0]["step_ns"] / 1e9, 0.100, "scaled")

lost = json.load(open(f"{T}/lost.json"))
assert lost["job"]["steps"] == 1 and lost["job"]["steps_left_out"] == 1, lost["job"]
assert "forward-send" in lost["job"]["why_left_out"] and "step 9" in lost["job"]["why_left_out"], lost["job"]
assert list(lost["step_time_measured_s"]) == ["7"]

# A receive lasts from the latest start of its pair: waits in it change nothing.
raw = json.load(open(f"{T}/raw-out.json"))
for key in ("slowdown", "slowdown_by_stage", "slowdown_by_dp", "slowdown_by_kind", "step_time_ideal_s"):
    assert raw[key] == got[key], (key, raw[key], got[key])
PY

expect() {
    status=$1 && words=$2 && shift 2
    code=0
    "$PIPESCOPE_BIN" "$@" > "$T/text" 2>&1 || code=$?
    if [ "$code" -ne "$status" ] || ! grep -q "$words" "$T/text"; then
        echo "FAILED: $*: exit $code, wanted $status with '$words':"
        cat "$T/text"
        exit 1
    fi
}
expect 0 "ends before it starts" whatif "$T/negative.json"
expect 0 "1 left out: step 7" whatif "$T/negative.json"
expect 0 "1 left out: step 9: stage 0 of replica 1 (rank 1) has 1 forward-compute, .* has 2" whatif "$T/uneven.json"
expect 0 "1 left out: step 9: .* has 0 optimizer, .* has 1" whatif "$T/lost-optimizer.json"
expect 0 "op of a timeline names no step and is left out" whatif "$T/no-step.json"
expect 0 "1 left out: step 9: .* has 2 forward-send, .* has 1" whatif "$T/lost-pair.json"
expect 0 "1 step is left out: step 9: .* has 2 forward-send" plan "$T/lost-pair.json" --layers 4
expect 0 "1 left out: step 9: backward-compute 0 of stage 0 of replica 0 (rank 0) waits for itself" whatif "$T/circle.json"
expect 0 "1 op of computing takes no time .* forward-compute 0 of stage 0," whatif "$T/no-length.json"
expect 3 "stage 0 of replica 0 (rank 0) has 2 forward-send for 0 forward-compute" whatif "$T/lost-stage.json"
expect 3 "stage 0 of replica 0 (rank 0) has 2 forward-send for 0 forward-compute" plan "$T/lost-stage.json" --layers 4
# What ops take by themselves stays; what passes by two clocks is no pause of the host.
expect 0 "the clocks of stage 0 of replica 1 (rank 1) and of stage 1 of replica 1 (rank 3) are 50.0" whatif "$T/clocks.json"
expect 0 "slowdown 1.319: " whatif "$T/clocks.json"
expect 0 "host  *? *unknown" whatif "$T/clocks.json"
expect 3 "stage 0 of replica 0 (rank 0) has 8 forward-recv for 7 forward-compute" whatif "$T/v-pairs.json"
expect 3 "do not fill 2 stages x 2 replicas" whatif "$T/lost-worker.json"
expect 1 'no name "DP rank \[d\]"' whatif "$T/no-names.json"
expect 2 "no such worker" whatif "$T/job.json" --without stage=7
rm -rf "$T/marks"
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 4 --profile "$T/marks" --quiet > /dev/null
expect 2 "no such worker" whatif "$T/marks" --without stage=9
expect 2 "give worker=STAGE,REPLICA" whatif "$T/job.json" --without layer=7
expect 2 "a stage is a place in the pipeline, 0 to 1$" whatif "$T/marks" --without stage=2
expect 2 "which chunk of which stage that is is not known here" whatif "$T/job.json" --without model-stage=1
# Two chunks a stage: the model's stages 0, 2 lie on stage 0, 1 and 3 on stage 1. Both of a stage together are the stage.
rm -rf "$T/chunks"
"$PIPESCOPE_BIN" simulate interleaved --pp 2 --microbatches 4 --profile "$T/chunks" --quiet > /dev/null
expect 2 "a stage is a place in the pipeline, 0 to 1; model-stage=3 is stage 3 of the 4 of the model, chunk 1 of stage 1" \
    whatif "$T/chunks" --without stage=3
expect 2 "the model has the stages 0 to 3" whatif "$T/chunks" --without model-stage=4
for question in "stage=1:2" "model-stage=1:2;model-stage=3:2" "model-stage=3:2" "stage=1:1"; do
    "$PIPESCOPE_BIN" whatif "$T/chunks" --json --scale "$question" > "$T/asked.json"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["answer"][0]["step_ns"])' "$T/asked.json"
done > "$T/steps"
python3 - "$T/steps" <<'PY'
import sys
stage, chunks, one, plain = map(float, open(sys.argv[1]))
assert stage == chunks and plain < one < stage, (stage, chunks, one, plain)
PY
expect 2 "give a factor" whatif "$T/job.json" --scale stage=1
expect 0 "Cause: worker" whatif "$T/job.json"
expect 0 "No cause stands out" whatif "$T/job.json" --threshold worker=1.3
expect 2 "unknown cause 'layer'" whatif "$T/job.json" --threshold layer=1
expect 0 "set stage=1:-50%" whatif "$T/job.json" --set stage=1:-50%
# The report has the same answer, first and in its finding.
"$PIPESCOPE_BIN" report "$T/job.json" --json > "$T/report.json"
python3 - "$T" <<'PY'
import json
import sys

report = json.load(open(f"{sys.argv[1]}/report.json"))
verdict, slow = report["verdict"], [f for f in report["findings"] if f["rule"] == "slow-rank"]
assert verdict.startswith("Rank 3 (stage 1, replica 1) is slower than those with the same work (finding 1)."), verdict
assert "45.0 ms of a step of 155 ms" in verdict and "it takes 110 ms instead of 155 ms" in verdict, verdict
assert report["step_without_ns"] == 110_000_000, report["step_without_ns"]
assert [(f["finding"], f["rank"], f["gain_ns"], f["gain_from"]) for f in slow] == [(1, 3, 45_000_000, "replay")], slow
PY
# The same file is a cluster for every other command.
expect 0 "4 ranks" info "$T/job.json"
expect 0 "1f1b" chart "$T/job.json"

# As they would run: the ideal steps (117.5 ms each), or what is asked (110 ms); 4 workers.
expect 0 "wrote" whatif "$T/job.json" -o "$T/ideal.pftrace"
expect 0 "wrote" whatif "$T/job.json" -o "$T/ideal.json.gz"
expect 0 "wrote" whatif "$T/job.json" --without worker=1,1 -o "$T/asked.json.gz"
expect 2 "end it in .txt, .json, .html, .svg, .pftrace or .json.gz" whatif "$T/job.json" -o "$T/ideal.db"
expect 0 "4 ranks" info "$T/ideal.json.gz"
python3 - "$T" <<'PY'
import gzip
import json
import sys

for name, step_us in (("ideal", 117500), ("asked", 110000)):
    events = json.load(gzip.open(f"{sys.argv[1]}/{name}.json.gz"))["traceEvents"]
    ops = [e for e in events if e["ph"] == "X"]
    assert len({e["pid"] for e in ops}) == 4, name
    for step in (7, 9):
        own = [e for e in ops if e["args"]["step"] == step]
        begin = min(float(e["ts"]) for e in own if e["name"] == "params-all-gather")
        end = max(float(e["ts"]) + float(e["dur"]) for e in own if e["name"] == "optimizer")
        assert abs(end - begin - step_us) < 1, (name, step, end - begin)
PY

# The map of workers as a picture: four cells with their figures, the slowest framed.
expect 0 "wrote" whatif "$T/job.json" -o "$T/map.svg"
python3 - "$T/map.svg" <<'PY'
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
texts = [t.text for t in tree.parse(sys.argv[1]).iter(SVG + "text")]
for wanted in ("stage 0", "stage 1", "replica", "0", "1", "1.319", "1.000"):
    assert wanted in texts, (wanted, texts)
PY

# Threads change nothing.
for threads in 1 2 8; do
    "$PIPESCOPE_BIN" whatif "$T/job.json" --json -j $threads > "$T/threads.$threads"
    cmp "$T/threads.1" "$T/threads.$threads"
done

# A replay that takes longer than the step did leaves nothing to the host, and no time below zero.
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --dp 2 --steps 3 --jitter 5 --slow-stage 2:1.3 --profile "$T/longer" --quiet > /dev/null
expect 0 "none seen: a step replayed without them takes" whatif "$T/longer"

# Charts of any capture: the stage that is planted is found under every schedule.
for schedule in gpipe 1f1b "interleaved --chunks 2" zb-h1 zb-h2 zb-v "interleaved-zb --chunks 2" dualpipe dualpipev "looped-bfs --chunks 2"; do
    rm -rf "$T/marks"
    # shellcheck disable=SC2086 # a schedule with its option
    "$PIPESCOPE_BIN" simulate $schedule --pp 4 --microbatches 8 --dp 2 --jitter 3 --profile "$T/marks" --steps 3 \
        --slow-stage 2:1.6 --quiet > /dev/null
    expect 0 "stage split: the slowest workers apart, if stage 2 computed" whatif "$T/marks"
done
expect 0 "computing and its links only" whatif "$T/marks"
# The output head's backward has a mark of its own, and is a part of the pair or the backward behind it: ops of a kind are alike.
rm -rf "$T/marks"
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --profile "$T/marks" --quiet > /dev/null
expect 0 "slowdown 1.000: 0.0 % of the job" whatif "$T/marks"
# Weight gradients of stage 1 (20 ms) end before those of stage 0 (6 ms) begin: 10 + 10 + 20 + 20 + 6 + 5, and with 13 ms for both 78.
# The ideal step is longer, and no waste is negative.
expect 0 "slowdown 0.910: none of the job" whatif "$T/beside.json"
expect 0 "ideal step is longer than the replay: of kind backward-wgrad-compute" whatif "$T/beside.json"
rm -rf "$T/marks"
"$PIPESCOPE_BIN" simulate 1f1b --pp 1 --microbatches 8 --profile "$T/marks" --quiet > /dev/null
expect 3 "one stage" whatif "$T/marks"
