#!/bin/sh
# The benchmarks behind the figures in the documentation; called by `./dev bench` after a release build.
#
#   scan      table scanner against sqlite3_step, in one process
#   intervals unions of sorted spans, beside a plain loop and Python
#   steps     step time of a rank of 10 million kernels, in one step and in eight (BENCH_TASKS sets the number)
#   simulate  plan and run of large schedules; 64 stages x 1024 microbatches of DualPipeV within 50 ms
#   viewer    levels of detail of one track (BENCH_SLICES slices, default 5 million; with 100 million, which take 10 GB: a view
#             of 2000 pixels within 1 ms, columns and index within 48 bytes a slice), and tiles over HTTP (p99 within 5 ms)
#   json      trace-event JSON of 500 MB, plain and gzipped, into sealed columns; python3 json.load beside it
#   paddle    worker logs, 1 GB with 2 million jobs: into traces, and with both files of `timeline`
#   module    module_statistic on 430,000 operators, 270,000 tasks and 50,000 modules within 0.8 s and 200 MB
#   every     all analyses of -m every over 8 ranks of that size, within 6 s on 2 processors and 800 MB
#   pp_chart  8 ranks at 1x, 2x, 4x (growth must be linear), and against msprof-analyze when it is installed
#
# Data is generated below build/bench and kept for the next run (about 8 GB; delete build/bench to be rid of it).
# BENCH_ROWS sets the size of 1x (filler kernels a rank, default 1000000), BENCH_RUNS the runs (default 5).
set -eu
cd "$(dirname "$0")/.."
: "${PIPESCOPE:=build/release/pipescope}"
work=$PWD/build/bench
mkdir -p "$work"

echo "== table scanner"
gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/scan.c -o "$work/scan" build/release/libpipescope_core.a \
    -lsqlite3 -lisal -lpthread -lm
"$work/scan"

echo
echo "== unions of spans"
gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/intervals.c -o "$work/intervals" build/release/libpipescope_core.a \
    -lsqlite3 -lisal -lpthread -lm
"$work/intervals"
python3 bench/intervals.py

echo
echo "== step time"
python3 bench/steps.py "$PIPESCOPE" "$work"

echo
echo "== simulator"
gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/simulate.c -o "$work/simulate" build/release/libpipescope_core.a \
    -lsqlite3 -lisal -lpthread -lm
"$work/simulate"

echo
echo "== page: 64 stages, 4 steps, 512 microbatches"
if command -v chromium >/dev/null && command -v node >/dev/null && [ -d web/node_modules/playwright-core ]; then
    page="$work/page"
    [ -d "$page" ] || "$PIPESCOPE" simulate 1f1b --pp 64 --microbatches 512 --steps 4 --profile "$page" >/dev/null
    "$PIPESCOPE" chart "$page" -o "$work/large.html"
    "$PIPESCOPE" simulate 1f1b --pp 4 --microbatches 8 -o "$work/small.html" >/dev/null
    "$PIPESCOPE" simulate dualpipev --pp 8 --microbatches 32 -o "$work/pairs.html" >/dev/null
    node web/test/browser.mjs "$(command -v chromium)" "$work/small.html" "$work/pairs.html" "$work/large.html" | grep frames
else
    echo "left out: needs Chromium, node and web/node_modules (./dev web-test)"
fi

echo
echo "== viewer"
for part in lod tiles; do
    gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc "bench/$part.c" -o "$work/$part" build/release/libpipescope_core.a \
        -lsqlite3 -lisal -lxlsxwriter -lmicrohttpd -lpthread -lm
    "$work/$part" "${BENCH_SLICES:-5000000}"
done

echo
echo "== trace-event JSON"
sh bench/json.sh "$work"

echo
echo "== worker logs of Paddle"
sh bench/paddle.sh "$work"

echo
echo "== module_statistic"
sh bench/module.sh "$work"

echo
echo "== every"
sh bench/every.sh "$work"

echo
echo "== pp_chart"
exec python3 bench/pp_chart.py "$PIPESCOPE" "$work"
