#!/bin/sh
# plan --memory: what a layer takes is taken from what the ranks of the capture held, and said to be.
# threads: splits that are searched side by side
set -eu

MB=1048576
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --steps 3 --profile "$T/job" --quiet > /dev/null

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
expect 2 "no memory of its ranks is recorded" plan "$T/job" --layers 8 --memory 1GiB

# Two layers a stage of 100 MB, which keep 10 MB of each of the 4, 3, 2 and 1 microbatches in flight; the embedding 50 MB, the head 80 MB and
# 30 MB more in its steps. The first step sets up and held far more.
cat > "$T/fill.py" <<'PY'
import glob
import re
import sqlite3
import sys

folder, kind = sys.argv[1:]
MB = 1048576
for path in glob.glob(f"{folder}/*/ASCEND_PROFILER_OUTPUT/*.db"):
    rank = int(re.search(r"_(\d+)\.db$", path)[1])
    low = 200 + (50 if rank == 0 else 80 if rank == 3 else 0)
    peak = low + 2 * 10 * (4 - rank) + (30 if rank == 3 else 0)
    db = sqlite3.connect(path)
    steps = db.execute("SELECT startNs, endNs FROM STEP_TIME ORDER BY startNs").fetchall()
    db.executemany("INSERT OR IGNORE INTO STRING_IDS VALUES (?, ?)", [(900001, "PTA+GE"), (900002, "APP"), (900003, "aten::mm")])
    points = [(steps[0][0] + 1000, 9000), (steps[0][1] - 1000, low)]
    for start, end in steps[1:]:
        points += [(start + 1000, low), ((start + end) // 2, peak), (end - 1000, low)]
    if kind == "record":
        db.execute("CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
                   "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)")
        for at, held in points:
            db.execute("INSERT INTO MEMORY_RECORD VALUES (900001, ?, ?, ?, ?, NULL, ?)", (at, held * MB, 2 * held * MB, held * MB, rank))
            db.execute("INSERT INTO MEMORY_RECORD VALUES (900002, ?, NULL, ?, NULL, NULL, ?)", (at, 3 * held * MB, rank))
    else:
        db.execute("CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, duration INTEGER, "
                   "allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, deviceId INTEGER)")
        for at, held in points:  # an allocation takes it from the lowest to the highest
            size = max(held - low, 1)
            db.execute("INSERT INTO OP_MEMORY VALUES (900003, ?, ?, ?, 1000, ?, ?, ?)",
                       (size * MB if held != low else 0, at, at + 1000, held * MB, held * MB, rank))
    db.commit()
PY
cat > "$T/check.py" <<'PY'
import json
import sys

plan, source = json.load(open(sys.argv[1])), sys.argv[2]
MB = 1048576
got = {row["what"]: (row["memory_bytes"] // MB, row["from"]) for row in plan["memory"]}
for s in range(4):
    low = 200 + (50 if s == 0 else 80 if s == 3 else 0)
    assert got[f"stage {s}, at least"] == (low, f"{source}, 1 rank"), got
    assert got[f"stage {s}, at most"][0] == low + 20 * (4 - s) + (30 if s == 3 else 0), got
assert got["activations of a layer"][0] == 10 and "stages in between" in got["activations of a layer"][1], got
assert got["layer"][0] == 100 and got["embedding"][0] == 50 and got["head"][0] == 110, got
# What ran takes what was measured, on its fullest stage: the first, 330 MB, is as full as the last.
now = plan["schedules"][0]
assert now["memory_bytes"] == 330 * MB and now["layers"] == "2,2,2,2", now
assert all(row["memory_bytes"] <= 340 * MB for row in plan["schedules"]), plan["schedules"]
PY
cp -r "$T/job" "$T/operators"
python3 "$T/fill.py" "$T/job" record
python3 "$T/fill.py" "$T/operators" operators
"$PIPESCOPE_BIN" plan "$T/job" --layers 8 --memory 340MiB --json --quiet > "$T/plan.json"
python3 "$T/check.py" "$T/plan.json" memory_record
"$PIPESCOPE_BIN" plan "$T/operators" --layers 8 --memory 340MiB --json --quiet > "$T/plan.json"
python3 "$T/check.py" "$T/plan.json" operator_memory
# What the user says is not taken from the capture; with both sizes given nothing is.
expect 0 "20  --activation-bytes" plan "$T/job" --layers 8 --memory 1GiB --activation-bytes $((20 * MB))
expect 0 "memory_record, 1 rank" plan "$T/job" --layers 8 --memory 1GiB
"$PIPESCOPE_BIN" plan "$T/job" --layers 8 --memory 1GiB --activation-bytes 1 --layer-bytes 1 --json --quiet > "$T/plan.json"
if grep -q '"memory": \[' "$T/plan.json"; then
    echo "FAILED: sizes of the capture beside those of the user"
    exit 1
fi

# The viewer's route takes the sizes from there, too.
python3 - "$(dirname "$0")/../serve" "$T/job" "$T/plan.json" <<'PY'
import json
import sys

sys.path.insert(0, sys.argv[1])
from serving import Server

MB = 1048576
with Server(sys.argv[2]) as server:
    reply = server.get(f"/api/plan?layers=8&memory={340 * MB}")
    assert reply.status == 200, reply
    tables = {t["name"]: t for t in reply.json()["tables"]}
    sizes, plans = tables["plan_memory"], tables["plan_schedules"]
    names = [c[0] for c in sizes["columns"]]
    got = [dict(zip(names, row)) for row in sizes["rows"]]
    assert any(row["what"] == "layer" and int(row["memory"]) == 100 * MB for row in got), got
    assert len(plans["rows"]) >= 2, plans
    assert server.get(f"/api/plan?layers=8&memory={100 * MB}&layer_bytes=1&activation_bytes=1").status == 200
PY

# Several chunks lie in one rank's memory together.
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 8 --steps 3 --profile "$T/chunks" --quiet > /dev/null
python3 "$T/fill.py" "$T/chunks" record
expect 2 "which of several chunks" plan "$T/chunks" --layers 8 --memory 1GiB

# PyTorch's allocator (profile_memory=True). GPipe keeps all eight microbatches on each stage.
mkdir "$T/torch"
python3 - "$DATA/torch_pipeline/gpipe" "$T/torch" <<'PY'
import glob
import gzip
import json
import os
import sys

MB = 1048576
for path in glob.glob(f"{sys.argv[1]}/rank_*.json.gz"):
    trace = json.load(gzip.open(path))
    events = trace["traceEvents"]
    step = [e for e in events if e.get("name") == "ProfilerStep#3"][0]
    for at, held, device in ((0.1, 200, 1), (0.5, 360, 1), (0.9, 200, 1), (0.5, 7000, 0)):
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": step["pid"], "tid": step["tid"],
                       "ts": step["ts"] + at * step["dur"],
                       "args": {"Bytes": MB, "Addr": 4096, "Device Type": device, "Device Id": 0 if device else -1,
                                "Total Allocated": held * MB, "Total Reserved": 2 * held * MB}})
    json.dump(trace, gzip.open(f"{sys.argv[2]}/{os.path.basename(path)}", "wt"))
PY
"$PIPESCOPE_BIN" plan "$T/torch" --layers 8 --memory 1GiB --json --quiet > "$T/plan.json"
python3 - "$T/plan.json" <<'PY'
import json
import sys

got = {row["what"]: (row["memory_bytes"] / 1048576, row["from"]) for row in json.load(open(sys.argv[1]))["memory"]}
assert got["stage 2, at most"] == (360, "[memory] events of PyTorch, 1 rank"), got
assert got["layer"][0] == 100 and got["activations of a layer"][0] == 160 / (2 * 8), got
PY
