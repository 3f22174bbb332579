#!/bin/sh
# chart: the worked example of docs/bubble.md to the digit, every output, the labels of an earlier run, and errors.
# threads: ranks that are read side by side, rounds of pp_chart
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

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --steps 2 --profile "$T/in" --quiet >/dev/null
sum() { find "$T/in" -type f | sort | xargs cat | cksum; }
before=$(sum)

want=0
expect chart "$T/in"
# stage, rank, busy, bubble, idle, warm-up, stall, cool-down, own
tr -s ' ' <"$T/out" >"$T/words"
for row in ' 0 0 240 90.0 27.3 0.0 90.0 0.0 27.3' ' 1 1 240 90.0 27.3 10.0 60.0 20.0 20.0' \
    ' 2 2 240 90.0 27.3 20.0 30.0 40.0 11.1' ' 3 3 240 90.0 27.3 30.0 0.0 60.0 0.0'; do
    grep -qx -- "$row" "$T/words" || fail "no row '$row' in: $(cat "$T/out")"
done
grep -q '^zb-h1 270 ' "$T/words" || fail "ZB-H1 should take 270 ms"
grep -q '1f1b (replayed) 330 ' "$T/words" || fail "1F1B replayed should take 330 ms"

expect chart "$T/in" -o "$T/chart.svg" --against zb-h1
expect chart "$T/in" -o "$T/chart.html" --against 1f1b
expect chart "$T/in" -o "$T/chart.json"
python3 - "$T" <<'PY'
import json, sys, xml.dom.minidom
folder = sys.argv[1]
xml.dom.minidom.parse(f"{folder}/chart.svg")
chart = json.load(open(f"{folder}/chart.json"))
assert chart["format"] == "pipescope-chart" and chart["version"] == 1, chart.keys()
compute = [op for op in chart["ops"] if op["kind"] in ("F", "B")]
assert len(compute) == 4 * 16 * 2, len(compute)
assert sorted({op["microbatch"] for op in compute}) == list(range(8))
idle = sum(b["end_ns"] - b["start_ns"] for b in chart["bubble"])
assert idle == 4 * 90_000_000 * 2, idle
page = open(f"{folder}/chart.html").read()
assert page.lstrip().lower().startswith("<!doctype html") and "http://" not in page.replace("http://www.w3.org", "")
PY
[ "$before" = "$(sum)" ] || fail "the input was changed"

# Without metadata the schedule is recognised; without marks the labels of an earlier run are drawn.
cp -r "$T/in" "$T/bare"
for db in "$T"/bare/*/*/*.db; do
    sqlite3 "$db" "DELETE FROM META_DATA WHERE name = 'pp_info'"
done
for file in "$T"/bare/*/profiler_metadata.json; do
    python3 -c "import json,sys; p=sys.argv[1]; d=json.load(open(p)); d.pop('pp_info'); json.dump(d, open(p,'w'))" "$file"
done
expect chart "$T/bare"
grep -q '1f1b' "$T/out" || fail "1F1B was not recognised"
"$PIPESCOPE_BIN" cluster -m pp_chart -d "$T/bare" --quiet >/dev/null
for db in "$T"/bare/*/*/*.db; do
    sqlite3 "$db" "DROP TABLE MSTX_EVENTS"
done
expect chart "$T/bare"
grep -q 'warm-up' "$T/out" || fail "no chart from StepTaskInfo"

# Figures of irregular profiles against sums over the marks themselves: jitter, a slow stage, a lost mark, a missing rank.
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 6 --steps 3 --jitter 20 --slow-stage 1:1.5 --drop-marks 1 --seed 3 \
    --profile "$T/odd" >/dev/null
rm -r "$T"/odd/*_1003_*
"$PIPESCOPE_BIN" cluster -m pp_chart -d "$T/odd" -o "$T/figures" --export_type csv --quiet >/dev/null
python3 - "$T" <<'PY'
import csv, glob, re, sqlite3, sys
folder = sys.argv[1]
marks = {}  # (step, stage) -> [(start, end)]
for path in glob.glob(f"{folder}/odd/*/*/*.db"):
    stage = int(re.search(r"_(\d+)\.db$", path).group(1))
    db = sqlite3.connect(path)
    for row in db.execute("SELECT s.id, t.startNs, t.endNs FROM MSTX_EVENTS m JOIN TASK t USING (connectionId) "
                          "JOIN STEP_TIME s ON m.startNs >= s.startNs AND m.endNs <= s.endNs"):
        marks.setdefault((row[0], stage), []).append(row[1:])
rows = {(int(r["step"]), int(r["stage"])): r
        for r in csv.DictReader(open(f"{folder}/figures/cluster_analysis_output/PPChart/PipelineBubble.csv"))}
assert rows.keys() == marks.keys() and len(rows) == 9, (rows.keys(), marks.keys())
for (step, stage), spans in marks.items():
    all_spans = [s for (other, _), spans in marks.items() if other == step for s in spans]
    start, end = min(s for s, _ in all_spans), max(e for _, e in all_spans)
    busy = sum(e - s for s, e in spans)  # marks of one stage do not overlap
    first, last = min(s for s, _ in spans), max(e for _, e in spans)
    want = {"busy_ns": busy, "bubble_ns": end - start - busy, "warm-up_ns": first - start,
            "cool-down_ns": end - last, "stall_ns": last - first - busy}
    got = {key: int(rows[step, stage][key]) for key in want}
    assert got == want, (step, stage, got, want)
PY

# A chart's own durations give the same step again.
expect simulate 1f1b --pp 4 --microbatches 8 --durations "$T/chart.json"
grep -q 'bubble 27.3 %' "$T/out" || fail "the chart's durations give another step"

want=2
expect chart "$T/in" --against nothing
expect chart "$T/in" -o "$T/chart.png"
expect chart "$T/in" --step 77
expect chart "$T/nowhere"
expect chart "$T/in" --against zb-v --max-activations 1 -o "$T/no/such/folder.svg"
want=3
mkdir "$T/empty"
expect chart "$T/empty"
