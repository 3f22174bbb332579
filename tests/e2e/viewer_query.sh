#!/bin/sh
# The SQL page over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --steps 2 --profile "$T/job" >/dev/null
"$PIPESCOPE_BIN" query "$T/job" "SELECT rank, name, count(*) AS calls, sum(dur_ns) AS total_ns
    FROM slice WHERE rank IN (1, 2) GROUP BY rank, name ORDER BY rank, name" --as json >"$T/rows.json"
serve "$T/job"
node web/test/query_page.mjs "$chromium" "$url" "$T/rows.json"
