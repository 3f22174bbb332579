#!/bin/sh
# Trace-event JSON of BENCH_JSON_MB (500) megabytes in the layouts of Ascend and of the PyTorch profiler, and gzipped, into sealed
# columns; beside it what a user has: Python's json.load, on a tenth. Files are made from the samples next to the repository where they are there,
# else made up: bench/json.sh WORK
set -eu
work=$1/json
mb=${BENCH_JSON_MB:-500}
shared=../shared/data
mkdir -p "$work"
# make KIND MEGABYTES SAMPLE: prints the file
make() {
    file=$work/$1-$2.json
    if [ ! -f "$file" ]; then
        if [ -f "$3" ]; then
            python3 bench/json_input.py "$1" "$2" "$file" "$3"
        else
            python3 bench/json_input.py "$1" "$2" "$file"
        fi
    fi
    printf '%s\n' "$file"
}
ascend_sample=$shared/ascend/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json
kineto_sample=$shared/kineto/nccl/nccl_data.json.gz
ascend=$(make ascend "$mb" "$ascend_sample")
kineto=$(make kineto "$mb" "$kineto_sample")
small=$(make kineto $((mb / 10)) "$kineto_sample")
[ -f "$kineto.gz" ] || gzip -1 -k "$kineto"
gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/json.c -o "$work/bench" build/release/libpipescope_core.a \
    -lsqlite3 -lisal -lpthread -lm
"$work/bench" "$ascend" "$kineto" "$kineto.gz"
python3 - "$small" <<'PY'
import json, os, resource, sys, time
size = os.path.getsize(sys.argv[1])
begun = time.process_time()
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
seconds = time.process_time() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(f"python3 json.load, {size / 1e6:.0f} MB: {size / seconds / 1e9:.3f} GB per CPU second, memory {peak / size:.1f} x file")
PY
