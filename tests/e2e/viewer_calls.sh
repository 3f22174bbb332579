#!/bin/sh
# The page of calls over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 4 --steps 2 --filler 20 --profile "$T/job" >/dev/null
"$PIPESCOPE_BIN" query "$T/job" "SELECT name, level, host_total_ns, device_total_ns, number FROM calls
    WHERE rank = 0 AND level = 1" --as json >"$T/rank.json"
"$PIPESCOPE_BIN" query "$T/job" "SELECT name, hostTotalNs, deviceTotalNs, number FROM CallTree WHERE level = 1" \
    --as json >"$T/all.json"
serve "$T/job"
node web/test/calls_page.mjs "$chromium" "$url" "$T/rank.json" "$T/all.json"
