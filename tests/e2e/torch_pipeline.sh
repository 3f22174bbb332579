#!/bin/sh
# Real pipelines with PyTorch on CPU: examples/torch_pipeline.py writes traces whose labels are those of the schedules, and
# the chart recognises them.
# $PIPESCOPE_PYTHON names a Python that has PyTorch; else python3 is tried.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python=${PIPESCOPE_PYTHON:-python3}
"$python" -c 'import torch.distributed.pipelining' >"$T/import" 2>&1 ||
    skip "$python has no torch.distributed.pipelining (name one that has it in PIPESCOPE_PYTHON)"

# trace SCHEDULE RANKS MICROBATCHES: runs it small and checks every label.
trace() {
    "$python" examples/torch_pipeline.py --schedule "$1" --ranks "$2" --microbatches "$3" --width 32 --rows 4 --bare \
        -o "$T/$1" >"$T/log" 2>&1 || {
        tail -n 30 "$T/log" >&2
        fail "$1 did not run"
    }
    "$python" tests/e2e/lib/check_torch_labels.py "$T/$1" "$1" "$2" "$3" || fail "$1"
}

# recognised FOLDER SCHEDULE: the chart of the traces names the schedule.
recognised() {
    run 0 chart "$T/$1"
    says_out "Schedule $2: recognised, 100.0 % of ops agree."
}

trace gpipe 2 4
recognised gpipe gpipe
trace interleavedzerobubble 2 4
recognised interleavedzerobubble interleaved-zb
trace interleaved1f1b 2 4
recognised interleaved1f1b interleaved
# What not every release has.
if "$python" -c 'from torch.distributed.pipelining.schedules import ScheduleZBVZeroBubble' 2>"$T/import"; then
    trace zbv 2 4
    recognised zbv zb-v
fi
if "$python" -c 'from torch.distributed.pipelining.schedules import ScheduleDualPipeV' 2>"$T/import"; then
    trace dualpipev 4 8
    recognised dualpipev dualpipev
fi
