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
PY
