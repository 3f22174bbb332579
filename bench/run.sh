#!/bin/sh
# The benchmarks behind the figures in the documentation; called by `./dev bench [NAME...]` after a release build. Without names
# all of them, in this order.
#
#   scan      table scanner against sqlite3_step, in one process
#   intervals unions of sorted spans, beside a plain loop and Python
#   steps     step time of a rank of 10 million kernels, in one step and in eight (BENCH_TASKS sets the number)
#   simulate  plan and run of large schedules; 64 stages x 1024 microbatches of DualPipeV within 50 ms
#   plan      the best split of 128 layers on 16 stages with up to 4 chunks, under all schedules: within 2 s on one processor
#   whatif    what if on jobs of up to 9 million ops: time, processors and memory for each op (BENCH_WHATIF adds a job)
#   page      frames of the page of `chart -o FILE.html`: 64 stages, 4 steps, 512 microbatches
#   web       the viewer: lanes of a trace of 1 GB, the first within 1.5 s of the start of `serve`, all within 3 s
#   json      trace-event JSON of 500 MB, plain and gzipped, into sealed columns; python3 json.load beside it
#   paddle    worker logs, 1 GB with 2 million jobs: into traces, and with both files of `timeline`
#   query     SQL over 10 million slices in memory: groups by name, a range of time; from a file to the answer beside pandas (BENCH_PEERS_MB)
#   module    module_statistic on 430,000 operators, 270,000 tasks and 50,000 modules within 0.8 s and 200 MB
#   record    the recorder: calls, NVTX, Python, export, a step of 100 ms with 500 ranges within 0.5 %
#   every     all analyses of -m every over 8 ranks of that size, within 6 s on 2 processors and 800 MB
#   growth    commands over jobs of 64, 256 and 1,024 ranks (BENCH_RANKS), with the exponents of their growth
#   predict   plan and whatif on the example pipeline: predicted steps against the runs that follow
#   pp_chart  8 ranks at 1x, 2x, 4x (growth must be linear), and against msprof-analyze when it is installed
#
# Data is generated below build/bench and kept for the next run (about 13 GB; delete build/bench to be rid of it).
# BENCH_ROWS sets the size of 1x (filler kernels a rank, default 1000000), BENCH_RUNS the runs (default 5).
set -eu
cd "$(dirname "$0")/.."
: "${PIPESCOPE:=build/release/pipescope}"
work=$PWD/build/bench
all='scan intervals steps simulate plan whatif page web json paddle query module record every growth predict pp_chart'
mkdir -p "$work"

# compile NAME [LIBRARY...]: a program of this folder over the library
compile() {
    name=$1
    shift
    gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc "bench/$name.c" -o "$work/$name" build/release/libpipescope_core.a \
        -lsqlite3 -lisal -lpthread -lm "$@"
}

has_browser() { command -v chromium >/dev/null && command -v node >/dev/null && [ -d web/node_modules/playwright-core ]; }
no_browser() { echo "left out: needs Chromium, node and web/node_modules (./dev web-test)"; }

bench_scan() {
    echo "== table scanner"
    compile scan
    "$work/scan"
}
bench_intervals() {
    echo "== unions of spans"
    compile intervals
    "$work/intervals"
    python3 bench/intervals.py
}
bench_steps() {
    echo "== step time"
    python3 bench/steps.py "$PIPESCOPE" "$work"
}
bench_predict() {
    echo "== predictions: the example pipeline, run as plan and whatif say"
    mkdir -p "$work/predict"
    python3 bench/predict.py "$PIPESCOPE" build/release/examples/example-pipeline "$work/predict"
}
bench_simulate() {
    echo "== simulator"
    compile simulate
    "$work/simulate"
}
bench_plan() {
    echo "== plans over schedules"
    compile plan
    "$work/plan"
}
bench_whatif() {
    echo "== what if: merged timelines of growing jobs"
    compile whatif_job
    sh bench/whatif.sh "$PIPESCOPE" "$work"
}
bench_page() {
    echo "== page: 64 stages, 4 steps, 512 microbatches"
    has_browser || {
        no_browser
        return 0
    }
    page="$work/page"
    [ -d "$page" ] || "$PIPESCOPE" simulate 1f1b --pp 64 --microbatches 512 --steps 4 --profile "$page" >/dev/null
    "$PIPESCOPE" chart "$page" -o "$work/large.html"
    "$PIPESCOPE" simulate 1f1b --pp 4 --microbatches 8 -o "$work/small.html" >/dev/null
    "$PIPESCOPE" simulate dualpipev --pp 8 --microbatches 32 -o "$work/pairs.html" >/dev/null
    node web/test/browser.mjs "$(command -v chromium)" "$work/small.html" "$work/pairs.html" "$work/large.html" | grep frames
}
bench_web() {
    echo "== viewer"
    if has_browser; then
        sh bench/web.sh "$work"
    else
        no_browser
    fi
}
bench_json() {
    echo "== trace-event JSON"
    sh bench/json.sh "$work"
}
bench_paddle() {
    echo "== worker logs of Paddle"
    sh bench/paddle.sh "$work"
}
bench_query() {
    echo "== query: 10 million slices"
    compile queries -lpcre2-8 -lxlsxwriter
    (cd bench && BENCH_TASKS=5000000 python3 -B -c "
import os, steps, sys
path = sys.argv[1] + '/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db'
os.path.exists(path) or steps.make(path, 8)" "$work/query")
    "$work/queries" "$work/query"
    # From the file to the answer, beside pandas and trace_processor where they are installed.
    mb=${BENCH_PEERS_MB:-200}
    [ -f "$work/peers-$mb.json" ] || python3 bench/json_input.py kineto "$mb" "$work/peers-$mb.json"
    python3 bench/query_peers.py "$PIPESCOPE" "$work/peers-$mb.json"
}
bench_module() {
    echo "== module_statistic"
    sh bench/module.sh "$work"
}
bench_record() {
    echo "== recorder"
    sh bench/record.sh "$work"
}
bench_every() {
    echo "== every"
    sh bench/every.sh "$work"
}
bench_growth() {
    echo "== growth with ranks"
    sh bench/growth.sh "$work"
}
bench_pp_chart() {
    echo "== pp_chart"
    python3 bench/pp_chart.py "$PIPESCOPE" "$work"
}

for name in "$@"; do
    case " $all " in
        *" $name "*) ;;
        *)
            echo "bench: there is no '$name'; there are: $all" >&2
            exit 2
            ;;
    esac
done
[ $# -gt 0 ] || eval "set -- $all"
for name in "$@"; do
    "bench_$name"
    echo
done
