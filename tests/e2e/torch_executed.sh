#!/bin/sh
# A training with torch.distributed.pipelining to which no line was added: its bubble, from the trace of its own torch.profiler and
# from what `pipescope record` labelled, is that of the times which it noted itself.
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

# run_training SCHEDULE: two processes.
run_training() {
    rm -rf "${T:?}/$1"
    PYTHONPATH='' pipescope record --library "$PIPESCOPE_RECORD_LIBRARY" -o "$T/$1/recorded" -- "$python" -m torch.distributed.run \
        --standalone --nproc-per-node 2 tests/e2e/lib/torch_training.py "$1" "$T/$1" >"$T/log" 2>&1 || {
        tail -n 30 "$T/log" >&2
        fail "$1 did not run"
    }
    run 0 chart "$T/$1/trace" -o "$T/trace.json"
    run 0 chart "$T/$1/recorded" -o "$T/recorded.json"
}

# same SCHEDULE: in one of three runs: a process that loses its processor between a label and what is labelled counts as busy there.
same() {
    for again in 1 2 3; do
        run_training "$1"
        if "$python" tests/e2e/lib/compare_executed.py "$T/$1" "$T/trace.json" "$T/recorded.json" >"$T/compared" 2>&1; then
            echo "$1: $(cat "$T/compared")"
            return
        fi
        echo "$1, run $again: $(cat "$T/compared")"
    done
    fail "$1: $(cat "$T/compared")"
}

same ScheduleGPipe           # PyTorch labels it
same Schedule1F1B            # and this not: inferred from flows
same ScheduleInterleaved1F1B # labelled or not, by the release
# Those of some releases only, or whose loops write no names there: what they execute is named by the recorder alone, and the trace is refused.
for schedule in ScheduleLoopedBFS ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble ScheduleDualPipeV; do
    if "$python" -c "from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime as r, $schedule as s; assert issubclass(s, r)" \
        2>"$T/import"; then
        same "$schedule"
    fi
done
