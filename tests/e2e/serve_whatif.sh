#!/bin/sh
# The What-if page over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --slow-stage 2:1.5 --profile "$T/job" >/dev/null
printf '{"traceEvents":[{"ph":"X","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5,"cat":"cpu_op"}]}\n' >"$T/alone.json"
"$PIPESCOPE_BIN" whatif "$T/job" --json --without stage=2 >"$T/whatif.json"
"$PIPESCOPE_BIN" plan "$T/job" --layers 8,8,8,8 --json >"$T/plan.json"
serve "$T/job"
job=$url
"$PIPESCOPE_BIN" simulate interleaved --chunks 2 --pp 2 --microbatches 4 --steps 2 --slow-stage 1:1.5 --profile "$T/chunks" >/dev/null
serve "$T/chunks"
chunks=$url
serve "$T/alone.json"
node web/test/whatif_page.mjs "$chromium" "$job" "$url" "$chunks" "$T/whatif.json" "$T/plan.json"
