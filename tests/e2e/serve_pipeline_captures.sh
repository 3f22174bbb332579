#!/bin/sh
# The pipeline page in a real browser, on the sample of a pipeline of four ranks and on logs of a Paddle job. Skips without Chromium,
# node, web/node_modules or the sample data.
set -eu
# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
for sample in pp_chart/1f1b_pp4_mb8/input paddle_logs/pp4_1f1b_2x2; do
    shared $sample
    serve "$PIPESCOPE_SHARED_DATA/$sample"
    echo "$sample"
    node web/test/pipeline_captures.mjs "$chromium" "$url"
done
