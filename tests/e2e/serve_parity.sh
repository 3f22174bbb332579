#!/bin/sh
# The parity list of docs/parity.md in a real browser, on the kinds of captures that are made here or lie in the repository, side by side: each waits
# more than it works. Skips without Chromium, node or web/node_modules.
set -eu
# shellcheck source=tests/e2e/lib/parity.sh
. tests/e2e/lib/parity.sh

browser
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --dp 2 --steps 2 --filler 60 --jitter 3 --profile "$T/dualpipev" >/dev/null
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 8 --tp 2 --steps 2 --filler 20 --profile "$T/many" >/dev/null
parity DualPipeV "$T/dualpipev"
parity '64 ranks' "$T/many"
parity DualPipe "$DATA/kineto_dualpipe"
parity 'PyTorch pipeline' "$DATA/torch_pipeline/gpipe"
parity_end
