#!/bin/sh
# Every number on every page of simulated jobs is that of the command line. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/numbers.sh
. tests/e2e/lib/numbers.sh

browser
simulate() { "$PIPESCOPE_BIN" simulate "$@" --steps 2 --filler 20 --jitter 5 --quiet >/dev/null; }
simulate dualpipev --pp 4 --microbatches 8 --profile "$T/dualpipev"
simulate 1f1b --pp 4 --microbatches 6 --dp 2 --slow-stage 2:1.3 --profile "$T/stage"
simulate 1f1b --pp 2 --microbatches 6 --dp 2 --tp 2 --slow-rank 5:1.4 --profile "$T/rank"
simulate 1f1b --pp 2 --microbatches 6 --dp 2 --tp 2 --seed 2 --profile "$T/base"
numbers DualPipeV "$T/dualpipev"
numbers 'slow stage' "$T/stage"
numbers 'slow rank' "$T/rank" "$T/base"
numbers PyTorch tests/data/torch_pipeline/gpipe
numbers_end
