#!/bin/sh
# The bubble of torch.profiler's own traces on CPU against what pipescope records of the same run, for every schedule of
# torch.distributed.pipelining; and what must not be inferred.
# $PIPESCOPE_PYTHON names a Python that has PyTorch; else python3 is tried.
set -eu
# shellcheck source=tests/e2e/lib/common.sh
. tests/e2e/lib/common.sh
# shellcheck source=tests/e2e/lib/record.sh
. tests/e2e/lib/record.sh

python=${PIPESCOPE_PYTHON:-python3}
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip "no recorder library in this build"
record_sanitized && skip "Python has no sanitizer"
"$python" -c 'import torch.distributed.pipelining' >"$T/import" 2>&1 ||
    skip "$python has no torch.distributed.pipelining (name one that has it in PIPESCOPE_PYTHON)"

# run_both SCHEDULE RANKS MICROBATCHES: layers that sleep, so that processes need not share cores.
run_both() {
    PIPESCOPE_LIBRARY=$PIPESCOPE_RECORD_LIBRARY "$python" examples/torch_pipeline.py --recorder both --schedule "$1" \
        --ranks "$2" --microbatches "$3" --sleep-ms 30 --width 8 --rows 2 -o "$T/$1" >"$T/log" 2>&1 || {
        tail -n 30 "$T/log" >&2
        fail "$1 did not run"
    }
}

# same_bubble SCHEDULE RANKS MICROBATCHES
same_bubble() {
    run_both "$1" "$2" "$3"
    run 0 chart "$T/$1/torch" -o "$T/torch.json"
    run 0 chart "$T/$1/pipescope" -o "$T/recorded.json"
    "$python" tests/e2e/lib/compare_torch_bubble.py "$T/torch.json" "$T/recorded.json" >"$T/compared" || fail "$1: $(cat "$T/compared")"
    echo "$1: $(cat "$T/compared")"
}

# has CLASS: not every release has all schedules.
has() {
    "$python" -c "from torch.distributed.pipelining.schedules import $1" 2>"$T/import"
}

same_bubble gpipe 3 4
run 0 chart "$T/gpipe/torch"
says_out 'labels cut to the computing inside: '
same_bubble 1f1b 3 4 # without labels: inferred, and as many stages as ranks are tried
run 0 chart "$T/1f1b/torch"
says_out 'as many stages as ranks, in their order: tried'
says_out 'Schedule 1f1b: recognised, 100.0 % of ops agree.'
same_bubble loopedbfs 2 4
same_bubble interleaved1f1b 2 4
same_bubble interleavedzerobubble 3 6
has ScheduleZBVZeroBubble && same_bubble zbv 2 4
has ScheduleDualPipeV && same_bubble dualpipev 2 4

# Input and weight gradients apart, and no labels: what the flows tell is no pipeline.
"$python" - "$T/interleavedzerobubble/torch" "$T/unlabelled" <<'PYTHON'
import glob
import gzip
import json
import os
import sys

os.makedirs(sys.argv[2])
for path in glob.glob(os.path.join(sys.argv[1], "*.gz")):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if not str(e.get("name")).startswith("PP:")]
    with gzip.open(os.path.join(sys.argv[2], os.path.basename(path)), "wt", encoding="utf-8") as file:
        file.write(json.dumps(trace))
PYTHON
for options in "" "--pp 3"; do
    # shellcheck disable=SC2086
    run 3 chart "$T/unlabelled" $options
    says 'forwards cannot be inferred from the flows between operators: on rank 0 backwards run in two parts'
    says 'pipescope.pipelining.record()'
done
