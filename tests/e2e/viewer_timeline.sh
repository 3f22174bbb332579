#!/bin/sh
# The timeline in a real browser, on a recording that is made up: window, selection, boxes, markers, lanes, offsets, address.
# Skips without Chromium, node or web/node_modules.
set -eu

skip() {
    echo "skipped: $*"
    exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
command -v node >/dev/null 2>&1 || skip "no node"
[ -d web/node_modules/playwright-core ] || skip "no playwright-core: run ./dev web-test once"

HOME=$T node web/test/timeline_browser.mjs "$chromium"
