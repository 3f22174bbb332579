#!/bin/sh
# What people do with timelines of other viewers, one by one in a real browser: on a real capture of the PyTorch profiler.
# Skips without Chromium, node, web/node_modules or the sample data.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
shared kineto/two_ranks
serve "$PIPESCOPE_SHARED_DATA/kineto/two_ranks"
node web/test/parity_timeline.mjs "$chromium" "$url"
