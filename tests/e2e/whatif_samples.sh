#!/bin/sh
# The two production jobs published with arXiv 2505.05713: every figure agrees with the published one.
set -eu

data=${PIPESCOPE_SHARED_DATA:-../shared/data}
if [ ! -f "$data/whatif/timeline-ST.json.gz" ]; then
    echo "skipped: no $data/whatif"
    exit 77
fi
for job in ST AR; do
    "$PIPESCOPE_BIN" whatif "$data/whatif/timeline-$job.json.gz" -o "$T/$job.json" --quiet > /dev/null
    "$PIPESCOPE_BIN" report "$data/whatif/timeline-$job.json.gz" -o "$T/report-$job.json" --quiet > /dev/null
done
python3 - "$data/whatif" "$T" <<'PY'
import json
import sys

data, out = sys.argv[1:]


def compare(want, got, path):
    if isinstance(want, dict):
        for key in want:
            assert key in got, (path, key)
            compare(want[key], got[key], f"{path}.{key}")
    else:
        assert abs(want - got) <= 1e-5 * abs(want), (path, want, got)


for job, cause in (("ST", "stage split"), ("AR", "worker")):
    want = json.load(open(f"{data}/expected-{job}.json"))
    got = json.load(open(f"{out}/{job}.json"))
    sizes = want.pop("job")
    assert all(got["job"][k] == sizes[k] for k in ("pp_size", "dp_size")), (sizes, got["job"])
    compare(want, got, job)
    assert [c["cause"] for c in got["causes"] if c["holds"] == "yes"] == [cause], got["causes"]

# The report bounds nothing that the replay tells: one answer.
slow = json.load(open(f"{out}/AR.json"))["repairs"]
slow = next(r for r in slow if r["repair"] == "rank 0 (stage 0, replica 0)")
report = json.load(open(f"{out}/report-AR.json"))
found = next(f for f in report["findings"] if f["rule"] == "slow-rank")
assert found["rank"] == 0 and abs(found["gain_ns"] - slow["gain_ns"]) <= 1, (found["gain_ns"], slow)
assert report["finding"] == found["finding"] and report["verdict"].startswith("Rank 0 (stage 0, replica 0)"), report
assert json.load(open(f"{out}/report-ST.json"))["verdict"].startswith("Stage 3 (the last) computes longer"), report
PY
