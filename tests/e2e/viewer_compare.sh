#!/bin/sh
# Two captures side by side, over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 4 --steps 2 --filler 20 --profile "$T/old" >/dev/null
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 4 --steps 2 --filler 20 --slow-stage 1:1.5 --profile "$T/new" >/dev/null
"$PIPESCOPE_BIN" compare "$T/new" "$T/old" -o "$T/compare.json" >/dev/null 2>&1
mkdir "$T/both"
mv "$T/new" "$T/old" "$T/both"
serve "$T/both/new" --baseline "$T/both/old"
node web/test/compare_page.mjs "$chromium" "$url" "$T/compare.json"
