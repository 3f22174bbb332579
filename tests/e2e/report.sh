#!/bin/sh
# report: every output on a simulated cluster with a slow stage, the same bytes from any number of threads, inputs untouched.
# threads: ranks in any number of threads
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

status_of() {
    set +e
    "$PIPESCOPE_BIN" "$@" >"$T/out" 2>"$T/err"
    status=$?
    set -e
}

expect() {
    status_of "$@"
    [ "$status" = "$want" ] || fail "$* ended with $status instead of $want: $(cat "$T/err")"
}

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --steps 2 --slow-stage 1:1.5 --filler 2000 \
    --profile "$T/in" --quiet >/dev/null
sum() { find "$T/in" -type f | sort | xargs cat | cksum; }
before=$(sum)

want=0
expect report "$T/in" -j 1
cp "$T/out" "$T/one"
expect report "$T/in" -j 4
cmp "$T/one" "$T/out" || fail "threads change the report"
grep -q 'Stage 1 is busy 360 ms in a step, 33.3 % more' "$T/one" || fail "no slow stage in: $(cat "$T/one")"

for end in html json txt; do
    expect report "$T/in" -o "$T/report.$end"
    grep -qx "wrote $T/report.$end" "$T/out" || fail "not told: report.$end"
    cp "$T/report.$end" "$T/first.$end"
    expect report "$T/in" -j 3 -o "$T/report.$end"
    cmp "$T/first.$end" "$T/report.$end" || fail "threads change report.$end"
done
if sed 's|http://www.w3.org/2000/svg||g' "$T/report.html" | grep -q 'http:\|https:\|<script\|src='; then
    fail "the page wants something from elsewhere"
fi
[ "$(grep -c '<svg' "$T/report.html")" -ge 2 ] || fail "the page has no picture for light and dark"

python3 - "$T/report.json" <<'PY'
import json
import sys

report = json.load(open(sys.argv[1]))
# Who is slow stands before those that wait for it, and those by their gains.
assert report["findings"][0]["rule"] == "stage-imbalance", report["findings"][0]
gains = [f["gain_ns"] or 0 for f in report["findings"][1:]]
assert gains == sorted(gains, reverse=True) and gains[0] > report["findings"][0]["gain_ns"], gains
rules = {f["rule"]: f for f in report["findings"]}
slow = rules["stage-imbalance"]
assert slow["stage"] == 1 and slow["rank"] == 1
# 420 ms as it ran, 11 (8 + 3) of 1.125 (10 + 20) with all stages equal
assert abs(slow["gain_ns"] - (420_000_000 - 371_250_000)) < 1000, slow["gain_ns"]
assert slow["gain_from"] == "replay" and report["step_without_ns"] == 371_250_000, report["step_without_ns"]
assert report["verdict"].startswith(f"Stage 1 computes longer than the others (finding {slow['finding']})"), report["verdict"]
for f in report["findings"]:
    assert f["what"] and f["fires_when"], f
    assert f["evidence"] or f["rule"] in ("idle-device", "launch-delay"), f
    for e in f["evidence"]:
        if e["at_ns"] is not None:
            assert e["from_start_ns"] >= 0 and e["duration_ns"] > 0, e
assert [r["stage"] for r in report["overview"]] == [0, 1, 2, 3]
PY

[ "$before" = "$(sum)" ] || fail "the input changed"

want=2
expect report "$T/in" -o "$T/no/such/folder/report.html"
expect report "$T/in" -o "$T/report.svg"
expect report "$T/in" --threshold free=1
want=3
mkdir "$T/empty"
expect report "$T/empty"
# One rank lost: the rest is told, and the status says so.
for db in "$T"/in/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db; do
    printf 'SQLite format 3' >"$db"
done
want=4
expect report "$T/in"
grep -q 'rank 3' "$T/err" || fail "nothing is said of rank 3: $(cat "$T/err")"

# Places are by the clock of their rank, also where the chart takes clocks off: the last pass of rank 3 ends when it ended.
want=0
for clock in align no-align; do
    expect report tests/data/paddle_logs/pp4_1f1b_2x2 --$clock -o "$T/$clock.json"
done
python3 - "$T/align.json" "$T/no-align.json" <<'PY'
import json
import sys

places = [{(e["rank"], e["step"], e["name"]): e["at_ns"] for f in json.load(open(path))["findings"] for e in f["evidence"]
           if e["name"] == "cool-down" and e["at_ns"] is not None} for path in sys.argv[1:]]
both = [key for key in places[0] if key in places[1]]
assert any(key[0] == 3 for key in both), places
assert all(places[0][key] == places[1][key] for key in both), places
PY
