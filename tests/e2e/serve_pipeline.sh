#!/bin/sh
# The pipeline page over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

skip() {
    echo "skipped: $*"
    exit 77
}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
command -v node >/dev/null 2>&1 || skip "no node"
[ -d web/node_modules/playwright-core ] || skip "no playwright-core: run ./dev web-test once"

pids=
stop() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
    done
}
trap stop EXIT INT TERM

# serve PATH LOG: sets url
serve() {
    "$PIPESCOPE_BIN" serve "$1" --port 0 >"$2" 2>/dev/null &
    pids="$pids $!"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        url=$(grep -m1 '^http' "$2" 2>/dev/null || :)
        [ -z "$url" ] || return 0
        sleep 0.1
    done
    echo "the server said no address"
    exit 1
}

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --profile "$T/job" >/dev/null
printf '{"traceEvents":[{"ph":"X","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5,"cat":"cpu_op"}]}\n' >"$T/alone.json"
serve "$T/job" "$T/job.log"
job=$url
serve "$T/alone.json" "$T/alone.log"
HOME=$T node web/test/pipeline_page.mjs "$chromium" "$job" "$url"
