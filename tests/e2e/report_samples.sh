#!/bin/sh
# report on real captures: where a step goes equals what the profiler itself wrote, and what is known of the samples is found.
set -eu

data=${PIPESCOPE_SHARED_DATA:-../shared/data}
if [ ! -d "$data/ascend/db/level1" ] || [ ! -d "$data/cluster/pp2_dp4" ]; then
    echo "skipped: no $data/ascend and $data/cluster"
    exit 77
fi

run() {
    "$PIPESCOPE_BIN" report "$data/$1" -o "$T/$2.json" >/dev/null 2>"$T/$2.err" || {
        echo "FAILED: report $1: $(cat "$T/$2.err")"
        exit 1
    }
}

run ascend/db/level1 level1
run ascend/db/level1/rank0_ascend_pt level1_rank0
run ascend/db/level1/rank1_ascend_pt level1_rank1
run ascend/db/level0 level0
run ascend/text/level1 text
for name in db/level1 db/level0 text/level1; do # what --quiet leaves out
    "$PIPESCOPE_BIN" report "$data/ascend/$name" -o "$T/notes.json" 2>>"$T/notes.err" >/dev/null
done
run cluster/pp2_dp4/input cluster
run kineto/two_ranks kineto
run kineto/nccl nccl
run paddle_logs/pp4_zbh1_1x4 zbh1
run whatif/timeline-ST.json.gz st
run whatif/timeline-AR.json.gz ar

python3 - "$data" "$T" <<'PY'
import glob
import json
import sqlite3
import sys

data, out = sys.argv[1:]


def load(name):
    return json.load(open(f"{out}/{name}.json"))


# The profiler's own step table, in microseconds.
for level in ("level0", "level1"):
    rows = {r["rank"]: r for r in load(level)["overview"]}
    for rank in (0, 1):
        (path,) = glob.glob(f"{data}/ascend/db/{level}/rank{rank}_ascend_pt/*/analysis.db")
        db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        want = db.execute("SELECT computing, communication_not_overlapped, free FROM StepTraceTime").fetchone()
        got = [rows[rank][k] / 1000 for k in ("computing_ns", "exposed_ns", "free_ns", "copies_ns")]
        for a, b in zip(want[:2], got):
            assert abs(a - b) < 0.01, (level, rank, want, got)
        # Its Free has copies in it, which stand apart here together with those at the ends of the step.
        assert got[2] - 0.01 < want[2] < got[2] + got[3] + 0.01, (level, rank, want, got)

# Rank 2 of the cluster is starved by its host and comes last to every collective.
cluster = load("cluster")
rules = {}
for f in cluster["findings"]:
    rules.setdefault(f["rule"], f)
assert rules["free-share"]["rank"] == 2
assert rules["late-arrival"]["rank"] == 2
# 16 MB in 4 ms over two steps, 19 GB/s is the median of the links: 4 - 16 / 19 ms, halved.
assert rules["slow-link"]["rank"] == 6 and rules["slow-link"]["severity"] == "high"
assert rules["slow-link"]["evidence"][0]["name"] == "HCCS to rank 7"
# Of the one step that tells links 3.16 ms at the median's speed; its all-reduces (ranks 4 to 7 come at once, 420 to 432 us) take 1.67 ms
# longer in a step than those of ranks 0 to 3 from the last one on (91.4 us each).
assert abs(rules["slow-link"]["gain_ns"] - 1.672e6) < 5e3, rules["slow-link"]["gain_ns"]
assert [r["stage"] for r in cluster["overview"]] == [0] * 4 + [1] * 4
# 8 of its sends and receives a rank name no peer: two analyses meet them, and they are 64. Nothing is recorded of the host, and the
# pipeline's bubbles are not known.
assert "64 send or receive operators name no peer" in open(f"{out}/cluster.err").read()
assert rules["free-share"]["title"] == "Nothing is launched for the device, and no record says why"
assert "bubbles of the pipeline, which are not known" in rules["free-share"]["what"] and "more it does nothing but" not in rules["free-share"]["what"]

# Without its bubbles a step takes what its busiest rank computes (298.31 of 369.44 ms), and no less.
zbh1 = load("zbh1")
(bubble,) = [f for f in zbh1["findings"] if f["rule"] == "bubble"]
assert abs(bubble["gain_ns"] - 71.13e6) < 2e4, bubble["gain_ns"]

# item() waits for the allreduce that takes most of the real step, but the host has launched all of the step's work by then.
level1 = {f["rule"]: f for f in load("level1")["findings"]}
assert "host-waits-comm" not in level1
# Its communication is all-reduces of 10 to 150 MB. Of the 4.0 ms that lie beside the backward 3.8 wait: buckets are not what to try. No gathers,
# no pipeline, nothing small.
tried = level1["comm-exposed"]["try"]
assert "waits for ranks that come later" in tried and "bucket" not in tried, tried
assert not any(word in tried for word in ("NCCL", "gather", "pipeline", "small messages")), tried
assert "MINDIE" not in level1["free-share"]["try"] and "autocast" not in level1["conversion"]["try"]
assert "nothing was compiled" in level1["jit-compile"]["what"] and "jit_compile=False" not in level1["jit-compile"]["try"] and "More workers" not in level1["data-loading"]["try"][:12]

# The 88.8 ms of the first allreduce wait for rank 6, which was not captured: its tasks Notify_Wait say so (sums by SQL over TASK and
# COMMUNICATION_TASK_INFO, where no computing hides them), though the profiler's table calls them idle.
exposed = level1["comm-exposed"]
assert "wait for other ranks for 93.9 ms" in exposed["what"] and exposed["gain_ns"] == 9660 and "(4.09 ms of them transfers)" in exposed["what"], exposed
# Of 98.1 ms alone 93.9 wait; of the 4.177 others 4.093 transfer where the optimiser's step awaits them, and in 0.074 there no task runs.
assert exposed["evidence"][0]["note"] == "its tasks transfer for 289 us, wait for 88.5 ms", exposed["evidence"][0]
absent = level1["absent-rank"]
assert "for rank 6, which was not captured" in absent["what"] and absent["gain_ns"] == 82007303, absent
# Rows leave out what computing hides, as the sentence does; rank 0 waits for it alone for less than rank 1, so a step gains no more.
assert "wait 90.3 ms in each step, with nothing computed beside them, for rank 6" in absent["what"] and "82.8 ms of it (54.5 %" in absent["what"], absent
assert [r["note"].split(" is ")[1].split(";")[0] for r in absent["evidence"]] == ["81.4 ms", "8.17 ms", "753 us"], absent
# At level 0 tasks name nobody, and both ranks wait 9.6 to 75 ms at once: for ranks that are not here, as at level 1.
first = load("level0")["findings"][0]
assert first["rule"] == "absent-rank" and 80e6 < first["gain_ns"] < 86e6, first
assert load("level0")["job_ranks_at_least"] == 3 and "late-arrival" not in {f["rule"] for f in load("level0")["findings"]}
# Parts add up to the step; the host's part is within the idle ones.
for name in ("level1", "level0", "text", "kineto", "nccl"):
    for r in load(name)["overview"]:
        parts = sum(r[k] for k in ("before_ns", "computing_ns", "exposed_ns", "copies_ns", "free_ns", "after_ns"))
        assert abs(parts - r["step_ns"]) < 10, (name, r)
level1_step = load("level1")["step_ns"]
worst = load("level1")["overview"][level1["free-share"]["rank"]]
idle = sum(worst[k] for k in ("before_ns", "free_ns", "after_ns"))
host = float(level1["free-share"]["value"].split()[0]) / 100 * level1_step
# Seven copies hold the host up for 90.8 of 148 ms; without them it takes 57 ms a step and the device about 100, so that in steps that
# follow one another nothing waits for the host.
# A step gains what the longer of two is shorter without the cause, as each rank by itself tells (151.889 and 148.265 ms). What the device does
# alone before the next launch waits: of 10.5 ms on rank 0 6 us transfer.
by_rank = [{f["rule"]: f["gain_ns"] for f in load(f"level1_rank{r}")["findings"]} for r in (0, 1)]
own_steps = [load(f"level1_rank{r}")["step_ns"] for r in (0, 1)]
for rule, gain in (("free-share", 38974215), ("blocking-copy", 38974215), ("jit-compile", 9204070)):
    want = max(own_steps) - max(step - claims[rule] for step, claims in zip(own_steps, by_rank))
    assert level1[rule]["gain_ns"] == want == gain, (rule, level1[rule]["gain_ns"], want)
# Of the 27 item() five hold a copy; the others read a number of the host's (in reducer::mul_out). With two copy_() they are 7.
assert "blocking copies (7 ranges in a step" in level1["blocking-copy"]["what"] and "5.93 ms" in level1["blocking-copy"]["what"], level1["blocking-copy"]
assert "19 calls of aclopCompileAndExecute (27.6 ms in a step), of which opCompile takes 368 us (the longest 69.8 us)" in level1["jit-compile"]["what"], level1["jit-compile"]
assert [s["finding"] for s in level1["data-loading"]["shared_with"]] == [2, 3, 4], level1["data-loading"]
# 2.709 ms of compiling lie in the idle beginning of the step, and 0.126 ms of the gain is bounded by rank 1; what lies beside communication
# and is not in the gain is no part of the beginning.
(start,) = [s["shared_ns"] for s in level1["jit-compile"]["shared_with"] if s["finding"] == 4]
assert abs(start - 2.58e6) < 1e4, level1["jit-compile"]
assert "its step of 148 ms" in level1["free-share"]["what"] and "empty_tensor 2.97 ms (86 of 102 a step)" in level1["free-share"]["what"], level1["free-share"]
assert "shapes of operators, allocations" in level1["free-share"]["what"], level1["free-share"]
assert "fetching a batch 3.65 ms" in level1["free-share"]["evidence"][0]["note"], level1["free-share"]["evidence"][0]
assert "The rate does not rise from each size to the next" in level1["small-packets"]["what"], level1["small-packets"]
# 5 convolutions, 5 gradients of weights and 4 of inputs on each rank tell no shapes; what fills memory for them, and poolings, multiply nothing.
assert open(f"{out}/notes.err").read().count(" 28 kernels multiply matrices") == 3, open(f"{out}/notes.err").read()
# Frames in DistributedDataParallel.forward are Python; only what is in it and in nothing else is a named range.
text = {f["rule"]: f for f in load("text")["findings"]}
assert "named 150 us (DistributedDataParallel.forward 150 us)" in text["free-share"]["what"], text["free-share"]
# The first copy of the step began 4.08 ms after its call, and its operator waits for it: that time is the host's, too.
assert 38.9e6 < host < 39.1e6 and idle > host + 4e6, (level1["free-share"], idle)
# Beside it stands what it leaves alone of the communication: no more than what is exposed without waiting for others.
assert host - 1e5 < level1["free-share"]["gain_ns"] < host + exposed["gain_ns"], level1["free-share"]
assert level1["before-first-work"]["gain_ns"] > 18e6

# The advice fits the device.
nccl = {f["rule"]: f for f in load("nccl")["findings"]}
# All-reduces of 11 ms stand alone because the host launches the next kernels late; beside the last one of a backward pass, 2 ms, only
# the optimiser's step could compute, which awaits it. Buffers are copied back after they were sent, gradients out of their buckets.
assert 178e6 < nccl["free-share"]["gain_ns"] < 180e6, nccl["free-share"]
# The host takes 8.804 ms of a step for these, 37.49 ms for those and 15.356 ms for the optimiser, and waits for nothing: a replay of the
# launches without them shortens the steps by 8.80, 37.48 and 15.36 ms.
assert abs(nccl["bucket-copies"]["gain_ns"] - 8.804e6) < 2e4 and "(161 ranges in a step" in nccl["bucket-copies"]["what"], nccl["bucket-copies"]
assert abs(nccl["model-buffers"]["gain_ns"] - 37.48e6) < 5e4, nccl["model-buffers"]
assert abs(nccl["host-optimizer"]["gain_ns"] - 15.36e6) < 5e4, nccl["host-optimizer"]
# Without its 211 conversions, and their launches, a step is 1.52 ms shorter; the device waits for the host behind nearly all of them.
assert 1.5e6 < nccl["conversion"]["gain_ns"] < 1.7e6, nccl["conversion"]
# 262 556 ns of kernels, and 1 351 330 of launches behind which it waits (sums over the raw events), which are waits for the host, too.
assert nccl["conversion"]["shared_with"] == [{"finding": 1, "shared_ns": 1351330}] and nccl["conversion"]["shared_ns"] == 1351330, nccl["conversion"]
assert "In the gain are 263 us of them and" in nccl["conversion"]["what"] and "the 1.35 ms of their launch calls alone" in nccl["conversion"]["what"], nccl["conversion"]
# Of 2034 kernels that start soon 367 stand behind others; 1.030, 0.982 and 0.938 ms of DistributedDataParallel.forward hold no operator.
assert "2034 of 2700 kernels (75.3 %)" in nccl["launch-delay"]["what"] and "for 1667 of them (61.7 % of all) nothing ran" in nccl["launch-delay"]["what"], nccl["launch-delay"]
assert "Up to 983 us directly before it" in nccl["model-buffers"]["what"], nccl["model-buffers"]
# 498 by their names, and 3 of cuDNN by the convolution that launched them.
assert "501 kernels multiply matrices" in open(f"{out}/nccl.err").read()
assert any(s["section"] == "compute" and "peak is not judged" in s["said"] for s in load("nccl")["sections"])
thinned = load("kineto")["findings"][0]
assert "2367 of at least 140380 events" in thinned["what"] and len(load("kineto")["findings"]) == 1, thinned
assert "aten::empty 13.7 ms (530 a step)" in nccl["free-share"]["what"], nccl["free-share"]
assert "foreach=True" not in nccl["host-optimizer"]["try"] and "(finding 2)" in load("nccl")["verdict"]
assert "CUDA graphs" in nccl["free-share"]["try"] and "TASK_QUEUE" not in nccl["free-share"]["try"]

# ST: after its last backward a stage waits for the optimiser, which all stages reach together: no stage stands still for nothing. Rank 7
# works for 1.54 s of a step; the file's steps lie a tenth of a step apart, which nobody ran.
st = {f["rule"]: f for f in load("st")["findings"]}
assert "other-stall" not in st and "cool-down 259 ms" in st["bubble"]["what"], st["bubble"]
assert abs(st["bubble"]["gain_ns"] - 674e6) < 1e6, st["bubble"]
assert st["stage-wait"]["gain_ns"] <= st["bubble"]["gain_ns"] and "Speed stage 3 up (stage 1 is" in st["stage-wait"]["try"], st["stage-wait"]
# 293.5 ms by the steps as they ran (replayed with the medians of their ops 299 ms).
assert abs(st["stage-imbalance"]["gain_ns"] - 293.5e6) < 1e6 and "the same schedule would take 294 ms less" in st["bubble"]["what"], st["stage-imbalance"]
assert "period_ns" not in load("st")
# AR: three of four pipelines wait for the one with rank 0, for most of the bubble. The capture has no kernels to compare.
ar = {f["rule"]: f for f in load("ar")["findings"]}
assert ar["slow-rank"]["rank"] == 0 and "kernels of both" not in ar["slow-rank"]["try"], ar["slow-rank"]
assert "other-stall" not in ar and "most often that is pipeline 0, in 44 of 44 steps" in ar["bubble"]["what"], ar["bubble"]
assert "pipeline 0 later than the others" in ar["bubble"]["try"], ar["bubble"]
# Stage 0 computes 45.29 s of a step on rank 0, and 19.18, 19.23 and 19.29 s on ranks 1 to 3: no schedule is a remedy for that.
assert ar["stage-wait"]["try"].startswith("Mend rank 0 (finding 1): stage 0 is busy 45.3 s"), ar["stage-wait"]
assert "schedule" not in ar["stage-wait"]["try"] and ar["slow-rank"]["finding"] == 1, ar["stage-wait"]
PY
