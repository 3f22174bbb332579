#!/bin/sh
# plan: the split it prints is the best there is, and the job run with it takes what was predicted.
set -eu
python3 "$(dirname "$0")/lib/plan_cases.py" "$PIPESCOPE_BIN" "$T"

expect() {
    status=$1 && words=$2 && shift 2
    code=0
    "$PIPESCOPE_BIN" "$@" > "$T/text" 2>&1 || code=$?
    if [ "$code" -ne "$status" ] || ! grep -q -e "$words" "$T/text"; then
        echo "FAILED: $*: exit $code, wanted $status with '$words':"
        cat "$T/text"
        exit 1
    fi
}
job=$DATA/ndtimeline/two-by-two.json
expect 2 "layers is missing" plan "$job"
expect 2 "the job has 2 stages" plan "$job" --layers 1,2,3
expect 2 "give the layers of each stage" plan "$job" --layers four
expect 2 "do not fit on 2 stages of at most 2" plan "$job" --layers 8 --max-layers 2
expect 0 "pipeline-model-parallel-layout \"Et\*" plan "$job" --layers 8
# A slow machine is no matter of layers.
expect 0 "Mend the slow machine first" plan "$job" --layers 8

# Marks, and several chunks of a stage.
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --jitter 2 --profile "$T/marks" --slow-stage 3:1.5 --quiet > /dev/null
expect 0 "A better split" plan "$T/marks" --layers 32
rm -rf "$T/marks"
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 8 --chunks 2 --profile "$T/marks" --quiet > /dev/null
expect 0 "No lines to paste" plan "$T/marks" --layers 32
