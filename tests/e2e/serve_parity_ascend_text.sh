#!/bin/sh
# What people do with timelines of other viewers, one by one in a real browser: on a real Ascend capture, text.
# Skips without Chromium, node, web/node_modules or the sample data.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
shared ascend/text/level1
serve "$PIPESCOPE_SHARED_DATA/ascend/text/level1"
node web/test/parity_timeline.mjs "$chromium" "$url"
