#!/bin/sh
# The pipeline page over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --profile "$T/job" >/dev/null
printf '{"traceEvents":[{"ph":"X","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5,"cat":"cpu_op"}]}\n' >"$T/alone.json"
serve "$T/job"
job=$url
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --profile "$T/overlapping" >/dev/null
serve "$T/overlapping"
overlapping=$url
serve "$T/alone.json"
node web/test/pipeline_page.mjs "$chromium" "$job" "$url" "$overlapping"
