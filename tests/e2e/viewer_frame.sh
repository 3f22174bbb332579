#!/bin/sh
# The frame of the viewer and its tables in a real browser, over a real server. Skips without Chromium, node or web/node_modules.
set -eu

skip() {
    echo "skipped: $*"
    exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
command -v node >/dev/null 2>&1 || skip "no node"
[ -d web/node_modules/playwright-core ] || skip "no playwright-core: run ./dev web-test once"

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --profile "$T/cluster" >/dev/null
HOME=$T node web/test/frame.mjs "$chromium" "$PIPESCOPE_BIN" "$T/cluster"
