#!/bin/sh
# Very many ranks that lack the same: they are told of in one line, and the work grows with their number, not with its square. What is
# compared is processor time, not how long it took.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 - "$T" <<'PY'
import json, os, resource, subprocess, sys

FEW, MANY = 1000, 8000


def work():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def chart(n):
    """Processor time for n ranks without a pipeline."""
    folder = os.path.join(sys.argv[1], "job%d" % n)
    os.mkdir(folder)
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "a", "cat": "cpu_op"}
    for rank in range(n):
        doc = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": n}, "traceEvents": [event]}
        with open(os.path.join(folder, "w%d.pt.trace.json" % rank), "w") as file:
            json.dump(doc, file)
    before = work()
    done = subprocess.run([os.environ["PIPESCOPE_BIN"], "chart", folder], capture_output=True, text=True)
    assert done.returncode == 3, done
    assert "all %d ranks: nothing says what is a forward" % n in done.stderr, done.stderr
    assert done.stderr.count("\n") == 2, done.stderr
    return work() - before


few, many = chart(FEW), chart(MANY)
assert many < 2.5 * MANY / FEW * few, "%.2f s for %d ranks, %.2f s for %d" % (few, FEW, many, MANY)
PY
