#!/bin/sh
# The page in a real browser: hover, zoom, pan, theme, steps, frames. Skips without Chromium, node or web/node_modules.
set -eu

skip() {
    echo "skipped: $*"
    exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
command -v node >/dev/null 2>&1 || skip "no node"
[ -d web/node_modules/playwright-core ] || skip "no playwright-core: run ./dev web-test once"

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 -o "$T/small.html" >/dev/null
"$PIPESCOPE_BIN" simulate dualpipev --pp 8 --microbatches 32 -o "$T/pairs.html" >/dev/null
"$PIPESCOPE_BIN" simulate 1f1b --pp 64 --microbatches 512 -o "$T/large.html" >/dev/null
HOME=$T node web/test/browser.mjs "$chromium" "$T/small.html" "$T/pairs.html" "$T/large.html"
