#!/bin/sh
# What recordings say of where and how they were made: the environment, the clock, and what recording cost.
# threads: facts that the writer says while the program runs
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip "no python3"
example=${PIPESCOPE_EXAMPLES:-build/release/examples}/example-pipeline
[ -x "$example" ] || fail "no program at $example"

NCCL_DEBUG=WARN NCCL_API_KEY=hidden1 MASTER_ADDR=node7 TASK_QUEUE_ENABLE=2 SOME_OTHER=hidden2 \
    run 0 record -o "$T/runs" -- "$example" --width 64 --rows 16 --layers 8 --steps 6
grep -Eq "^cost: about [0-9]+\.[0-9] (us|ms) of the program's time, all processes together " "$T/stderr" ||
    fail "$(cat "$T/stderr")"

for folder in "$T/runs"/*_ascend_pt; do
    python3 - "$folder" "$(databases "$folder")" <<'PYTHON' || fail "the facts of $folder"
import json
import sqlite3
import sys

folder, path = sys.argv[1:]
meta = dict(sqlite3.connect("file:%s?mode=ro" % path, uri=True).execute("SELECT name, value FROM META_DATA"))
environment = json.loads(meta["ENV_VARIABLES"])
assert environment["NCCL_DEBUG"] == "WARN" and environment["MASTER_ADDR"] == "node7", environment
assert environment["TASK_QUEUE_ENABLE"] == "2" and "SOME_OTHER" not in environment, environment
assert "hidden" not in meta["ENV_VARIABLES"], environment
with open(folder + "/profiler_metadata.json", encoding="utf-8") as file:
    assert json.load(file)["ENV_VARIABLES"] == environment
cost = json.loads(meta["collector.overhead_self_test"])
assert set(cost) == {"range_ns", "mark_ns", "clock_ns", "batches"}, cost
assert all(n > 0 for n in cost.values()), cost
clock = json.loads(meta["collector.clock"])
assert "method" not in clock and "offset_ns" not in clock, clock  # nobody measured any
PYTHON
done

# Nobody compared the clocks, so nothing is said of them.
run 0 info "$T/runs"
if grep -q 'clock of rank' "$T/stdout"; then
    fail "clocks that nobody measured"
fi
