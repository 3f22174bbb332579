#!/bin/sh
# Every kind of flow of a capture of the PyTorch profiler with fwdbwd ends on the slices that its files say, in a real browser.
# Skips without Chromium, node, web/node_modules or the sample data.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
command -v python3 >/dev/null 2>&1 || skip "no python3"
shared kineto/nccl
data=$PIPESCOPE_SHARED_DATA/kineto/nccl
python3 -B tests/e2e/lib/flow_truth.py "$data" >"$T/truth.json"
serve "$data"
node web/test/parity_flows.mjs "$chromium" "$url" "$T/truth.json"
