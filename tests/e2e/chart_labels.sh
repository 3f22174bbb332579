#!/bin/sh
# chart of PyTorch traces: labels of torch.distributed.pipelining, rules for other names, clocks of two hosts, and what
# there is to say when a trace has none of it.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

expect() {
    set +e
    "$PIPESCOPE_BIN" "$@" >"$T/out" 2>"$T/err"
    status=$?
    set -e
    [ "$status" = "$want" ] || fail "$* ended with $status instead of $want: $(cat "$T/out" "$T/err")"
}

said() {
    grep -q -- "$1" "$T/out" "$T/err" || fail "nothing says '$1': $(cat "$T/out" "$T/err")"
}

# 1F1B of two stages and two microbatches, F = 10 us, B = 20 us, 1 us between stages. The clock of the second host is
# 700 us ahead. Kernels of backwards are launched by a second thread, 500 us after the host named them.
python3 - "$T" <<'PY'
import json, os, sys
BASE = 1700000000000000000
LISTS = [[("F", 0, 0, 10), ("F", 1, 10, 20), ("B", 0, 42, 62), ("B", 1, 72, 92)],
         [("F", 0, 11, 21), ("B", 0, 21, 41), ("F", 1, 41, 51), ("B", 1, 51, 71)]]
def write(folder, names):
    os.makedirs(folder)
    for rank, ops in enumerate(LISTS):
        skew, events, correlation = 700 * rank, [], 0
        def put(cat, name, tid, start, end, on_device=False, **args):
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if on_device else 99, "tid": tid,
                           "ts": start + skew, "dur": end - start, "args": args})
        for k, (kind, mb, start, end) in enumerate(ops):
            host = 1000 + 10 * k
            put("user_annotation", names(rank, kind, mb), 1, host, host + 8)
            correlation += 1
            put("cuda_runtime", "cudaLaunchKernel", 1 if kind == "F" else 2, host + 2, host + 3,
                correlation=correlation)
            put("kernel", "gemm", 7, 1500 + start, 1500 + end, True, correlation=correlation, stream=7, device=0)
        with open(f"{folder}/rank-{rank}.pt.trace.json", "w") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [], "host_name": f"node{rank}",
                       "distributedInfo": {"rank": rank, "world_size": 2}, "displayTimeUnit": "ms",
                       "baseTimeNanoseconds": BASE, "traceEvents": events}, f)
T = sys.argv[1]
write(T + "/labels", lambda rank, kind, mb: f"PP:{rank}{kind}{mb}")
write(T + "/own", lambda rank, kind, mb: f"my {'fwd' if kind == 'F' else 'bwd'} of batch {mb} now")
write(T + "/none", lambda rank, kind, mb: "something else")
PY
sum() { find "$T/labels" "$T/own" -type f | sort | xargs cat | cksum; }
before=$(sum)

want=0
expect chart "$T/labels"
said 'From PP: ranges of torch.distributed.pipelining, or marks that name their stage; device times of the kernels launched inside'
said 'Schedule 1f1b: recognised, 100.0 % of ops agree'
said 'not taken off (--align)'
expect chart "$T/labels" --align -o "$T/labels.json"
expect chart "$T/labels" --align -o "$T/labels.svg"
expect chart "$T/labels" --align -o "$T/labels.html"
grep -q 'torch.distributed.pipelining' "$T/labels.svg" || fail "the picture does not say where labels come from"
grep -q 'torch.distributed.pipelining' "$T/labels.html" || fail "the page does not say where labels come from"
want=2 # numbers that the program did not name are asked for
expect chart "$T/own" --forward-re 'fwd(['
said 'regular expression, character 6'
want=3
expect chart "$T/none"
said 'nothing says what is a forward'
expect chart "$T/own" --forward-re 'forward' --backward-re 'backward'
said 'no range matches'
want=0
expect chart "$T/own" --forward-re 'my fwd of batch ([0-9]+)' --backward-re 'my bwd of batch ([0-9]+)' --align \
    -o "$T/own.json"
expect chart "$T/own" --forward-re '^my fwd' --backward-re '^my bwd' --microbatch-re 'batch ([0-9]+)' --align \
    -o "$T/own2.json"
[ "$(sum)" = "$before" ] || fail "the input changed"

python3 - "$T" <<'PY'
import json, sys
T = sys.argv[1]
LISTS = [["0", 0, 10, "1", 10, 20, "0B", 42, 62, "1B", 72, 92], ["0", 11, 21, "0B", 21, 41, "1", 41, 51, "1B", 51, 71]]
for name in ["labels", "own", "own2"]:
    chart = json.load(open(f"{T}/{name}.json"))
    assert chart["schedule"] == "1f1b", chart["schedule"]
    assert chart["aligned"] is True
    first, second = chart["ranks"]
    assert (first["machine"], second["machine"]) == (0, 1)
    # F of stage 0 to F of stage 1, and back: 1 us of room on each side of the true offset.
    assert abs(second["clock_offset_ns"] - 700000) <= second["clock_uncertainty_ns"] <= 1000, second
    for rank, want in enumerate(LISTS):
        got = []
        for op in chart["ops"]:
            if op["rank"] == rank:
                off = 700000 - second["clock_offset_ns"] if rank == 1 else 0
                got += [op["name"], (op["start_ns"] - off) // 1000, (op["end_ns"] - off) // 1000]
                assert op["host_end_ns"] - op["host_start_ns"] == 8000
                assert op["host_start_ns"] < op["start_ns"] - 300000
        assert got == want, (name, rank, got)
PY
