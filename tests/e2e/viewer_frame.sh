#!/bin/sh
# The frame of the viewer and its tables in a real browser, over a real server. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --profile "$T/training_whose_name_has_no_room_0042" >/dev/null
node web/test/frame.mjs "$chromium" "$PIPESCOPE_BIN" "$T/training_whose_name_has_no_room_0042"
