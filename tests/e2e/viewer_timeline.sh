#!/bin/sh
# The timeline in a real browser, on a recording that is made up: window, selection, boxes, markers, lanes, offsets, address.
# Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
node web/test/timeline_browser.mjs "$chromium"
