#!/bin/sh
# Every kind of flow of a simulated cluster ends on the slices that its files say, in a real browser.
# Skips without Chromium, node or web/node_modules.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
command -v python3 >/dev/null 2>&1 || skip "no python3"
data=$T/job
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --profile "$data" >/dev/null
python3 -B tests/e2e/lib/flow_truth.py "$data" >"$T/truth.json"
serve "$data"
node web/test/parity_flows.mjs "$chromium" "$url" "$T/truth.json"
