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

# run_training SCHEDULE [unnamed]: two processes.
run_training() {
    rm -rf "${T:?}/$1"
    PYTHONPATH='' pipescope record --library "$PIPESCOPE_RECORD_LIBRARY" -o "$T/$1/recorded" -- "$python" -m torch.distributed.run \
        --standalone --nproc-per-node 2 tests/e2e/lib/torch_training.py "$1" "$T/$1" >"$T/log" 2>&1 || {
        tail -n 30 "$T/log" >&2
        fail "$1 did not run"
    }
    run 0 chart "$T/$1/recorded" -o "$T/recorded.json"
    run "$([ -n "${2-}" ] && echo 3 || echo 0)" chart "$T/$1/trace" -o "$T/trace.json"
}

# same SCHEDULE [unnamed]: in one of three runs: a process that loses its processor between a label and what is labelled counts as busy there.
same() {
    for again in 1 2 3; do
        run_training "$@"
        # shellcheck disable=SC2046
        if "$python" tests/e2e/lib/compare_executed.py "$T/$1" "$T/recorded.json" $([ -n "${2-}" ] || echo "$T/trace.json") >"$T/compared" 2>&1; then
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
# Not every release has all of these.
for schedule in ScheduleLoopedBFS ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble ScheduleDualPipeV; do
    case $("$python" -c "
from torch.distributed.pipelining import schedules
print(issubclass(getattr(schedules, '$schedule', int), schedules._PipelineScheduleRuntime))" 2>"$T/import") in
        True) same "$schedule" ;;
        *) # A loop of its own writes no names of what it executes: its trace is no pipeline, the recorder names the ops.
            if [ "$schedule" = ScheduleLoopedBFS ] || [ "$schedule" = ScheduleInterleavedZeroBubble ]; then same "$schedule" unnamed; fi ;;
    esac
done
