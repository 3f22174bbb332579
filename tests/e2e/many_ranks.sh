#!/bin/sh
# Very many ranks that lack the same are told of in one line. How the work grows with their number says `./dev bench growth`.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 - "$T" <<'PY'
import json, os, subprocess, sys

RANKS = 3000
folder = os.path.join(sys.argv[1], "job")
os.mkdir(folder)
event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "a", "cat": "cpu_op"}
for rank in range(RANKS):
    doc = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": [event]}
    with open(os.path.join(folder, "w%d.pt.trace.json" % rank), "w") as file:
        json.dump(doc, file)
done = subprocess.run([os.environ["PIPESCOPE_BIN"], "chart", folder], capture_output=True, text=True)
assert done.returncode == 3, done
assert "all %d ranks: nothing says what is a forward" % RANKS in done.stderr, done.stderr
assert done.stderr.count("\n") == 2, done.stderr
PY
