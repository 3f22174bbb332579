#!/bin/sh
# chart of profiles that do not agree with one another, or with what is said of them: each says what is odd.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

# run SENTENCE ARGS...: succeeds, and says the sentence on stderr
run() {
    sentence=$1
    shift
    "$PIPESCOPE_BIN" "$@" >"$T/out" 2>"$T/err" || fail "$*: $(cat "$T/err")"
    grep -qF -- "$sentence" "$T/err" || fail "$* does not say '$sentence': $(cat "$T/err")"
}

# 1F1B of two stages and two microbatches, the second stage on another host. `late` moves the backwards of that host.
python3 - "$T" <<'PY'
import json, os, sys
LISTS = [[("F", 0, 0, 10), ("F", 1, 10, 20), ("B", 0, 42, 62), ("B", 1, 72, 92)],
         [("F", 0, 11, 21), ("B", 0, 21, 41), ("F", 1, 41, 51), ("B", 1, 51, 71)]]
def write(folder, names, late=0, ranks=(0, 1)):
    os.makedirs(folder)
    for rank, ops in enumerate(LISTS):
        events, correlation = [], 0
        def put(cat, name, tid, start, end, on_device=False, **args):
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if on_device else 99, "tid": tid,
                           "ts": start, "dur": end - start, "args": args})
        for k, (kind, mb, start, end) in enumerate(ops):
            move = rank * (late if kind == "B" else -late)
            put("user_annotation", names(rank, kind, mb), 1, 1000 + 10 * k, 1008 + 10 * k)
            correlation += 1
            put("cuda_runtime", "cudaLaunchKernel", 1, 1002 + 10 * k, 1003 + 10 * k, correlation=correlation)
            put("kernel", "gemm", 7, 9000 + start + move, 9000 + end + move, True, correlation=correlation,
                stream=7, device=0)
        with open(f"{folder}/rank-{ranks[rank]}.pt.trace.json", "w") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [], "host_name": f"node{rank}",
                       "distributedInfo": {"rank": ranks[rank], "world_size": 2}, "displayTimeUnit": "ms",
                       "baseTimeNanoseconds": 1700000000000000000, "traceEvents": events}, f)
T = sys.argv[1]
write(T + "/labels", lambda rank, kind, mb: f"PP:{rank}{kind}{mb}")
write(T + "/late", lambda rank, kind, mb: f"PP:{rank}{kind}{mb}", late=1000)
write(T + "/mixed", lambda rank, kind, mb: f"PP:0{kind}{mb}" if rank == 0 else f"{'for' if kind == 'F' else 'back'}ward_step")
write(T + "/far", lambda rank, kind, mb: f"{'for' if kind == 'F' else 'back'}ward_step", ranks=(0, 9))
PY

run '1 pipeline is not drawn as the metadata or options say' chart "$T/labels" --pp-type gpipe
grep -qF 'said to be gpipe, ran like 1f1b' "$T/err" || fail "nobody says what ran: $(cat "$T/err")"
run 'has a clock that disagrees with the order of sends and receives' chart "$T/late"
run '1 rank carries other labels than the rest and is not in the chart' chart "$T/mixed"
run '1 rank has no known stage and is not in the chart' chart "$T/far" --pp 2

# A profile that does not say which schedule ran.
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 8 --profile "$T/unnamed" >/dev/null
for db in "$T"/unnamed/*/*/ascend_pytorch_profiler_*.db; do
    sqlite3 "$db" "DELETE FROM META_DATA WHERE name = 'pp_info'"
done
rm "$T"/unnamed/*/profiler_metadata.json
run 'looks like dualpipev: give --pp-type dualpipev' -m pp_chart -d "$T/unnamed"

# Marks of DualPipeV that are lost: the chart and the report, which looks at labels too, count the same ops.
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --drop-marks 1 --profile "$T/lost" >"$T/out"
run "4 ops of the schedule have no mark" chart "$T/lost"
run "4 ops of the schedule have no mark" report "$T/lost"
