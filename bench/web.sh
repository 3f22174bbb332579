#!/bin/sh
# The viewer in Chromium on a trace of BENCH_WEB_MB (1000) megabytes: bench/web.sh WORK. The trace is made from the sample next
# to the repository where it is there, else made up.
set -eu
: "${PIPESCOPE:=build/release/pipescope}"
work=$1/web
mb=${BENCH_WEB_MB:-1000}
mkdir -p "$work"
trace=$work/kineto-$mb.json
sample=../shared/data/kineto/nccl/nccl_data.json.gz
if [ ! -f "$trace" ]; then
    if [ -f "$sample" ]; then
        python3 bench/json_input.py kineto "$mb" "$trace.part" "$sample"
    else
        python3 bench/json_input.py kineto "$mb" "$trace.part"
    fi
    mv "$trace.part" "$trace"
fi
node bench/web.mjs "$(command -v chromium)" "$PIPESCOPE" "$trace" "${BENCH_RUNS:-5}"
node web/test/timeline_bench.mjs "$(command -v chromium)"
