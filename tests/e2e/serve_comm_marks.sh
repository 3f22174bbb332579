#!/bin/sh
# A job whose communication is told by marks only, in a real browser: the Communication and Summary pages and the arrows between
# ranks have it at once. Skips without Chromium, node or web/node_modules.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
sh tests/data/comm_marks/make.sh "$T/job"
serve "$T/job"
node web/test/comm_marks.mjs "$chromium" "$url"
