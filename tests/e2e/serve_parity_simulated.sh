#!/bin/sh
# What people do with timelines of other viewers, one by one in a real browser: on a simulated
# cluster. Skips without Chromium, node or web/node_modules.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --filler 200 --profile "$T/job" >/dev/null
serve "$T/job"
node web/test/parity_timeline.mjs "$chromium" "$url"
