#!/bin/sh
# The parity list of docs/parity.md in a real browser, on real captures, side by side. Skips without Chromium, node, web/node_modules or the
# sample data.
set -eu
# shellcheck source=tests/e2e/lib/parity.sh
. tests/e2e/lib/parity.sh

browser
shared ascend/db/level1
shared ascend/text/level1
shared kineto/two_ranks
parity 'Ascend db' "$PIPESCOPE_SHARED_DATA/ascend/db/level1"
parity 'Ascend text' "$PIPESCOPE_SHARED_DATA/ascend/text/level1"
parity HTA "$PIPESCOPE_SHARED_DATA/kineto/two_ranks"
parity_end
