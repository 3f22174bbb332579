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

# The pipeline page with 512 stages of 4096 ops: of a capture that has no pipeline it draws what it simulates.
alone=$work/alone.json
printf '{"traceEvents":[{"ph":"X","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5,"cat":"cpu_op"}]}\n' >"$alone"
"$PIPESCOPE" serve "$alone" --port 0 --quiet >"$work/alone.log" &
server=$!
trap 'kill "$server" 2>/dev/null || :' EXIT
tries=0
until url=$(grep -m1 '^http' "$work/alone.log"); do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "the server said no address"; exit 1; }
    sleep 0.1
done
node web/test/pipeline_bench.mjs "$(command -v chromium)" "$url"
