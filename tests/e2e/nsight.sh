#!/bin/sh
# One Nsight Systems export of two processes on two GPUs, through the commands: what info counts, what convert writes, and
# the chart of its NVTX ranges. GPipe of two stages and two microbatches; both processes count their launches from 1.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 tests/data/nsight/gpipe.py "$T/report"

run 0 info "$T/report"
says_out '2 ranks'
run 0 convert "$T/report" -o "$T/out.json"
python3 - "$T/out.json" <<'PY' || fail "the converted file is not what the export says"
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = collections.Counter(e["name"] for e in events if e["ph"] == "X")
assert names == {"gemm": 8, "cudaLaunchKernel_v7000": 8, "Forward 0": 2, "Forward 1": 2, "Backward 0": 2, "Backward 1": 2}, names
flows = collections.Counter(e["ph"] for e in events if e["ph"] in "sf")
assert flows == {"s": 8, "f": 8}, flows
PY
run 0 chart "$T/report"
says_out 'Schedule gpipe: recognised, 100.0 % of ops agree.'
says_out '33.3 %' # (p - 1)(F + B) of 90 us
