#!/bin/sh
# The fifteen tasks of docs/viewer.md, done with the keys and clicks that stand there in a real browser. Skips without Chromium, node or
# web/node_modules.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --filler 200 --profile "$T/job" >/dev/null
serve "$T/job"
node web/test/tasks.mjs "$chromium" "$url"
