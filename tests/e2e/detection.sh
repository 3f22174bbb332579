#!/bin/sh
# Every sample is claimed by one reader by its content: also renamed, and text also packed with gzip.
set -eu
. tests/e2e/lib/common.sh

# claims FORMAT FILE
claims() {
    cp "$2" "$T/unknown"
    run 0 info --json "$T/unknown"
    says_out "\"format\": \"$1\""
    rm -f "$T/unknown"
}

# claims_packed FORMAT FILE: as it is, and packed
claims_packed() {
    claims "$1" "$2"
    gzip -c "$2" >"$T/packed"
    claims "$1" "$T/packed"
}

n=0
for file in tests/data/paddle_logs/*/workerlog.* tests/data/paddle_profile/*/profile_record_*; do
    [ -f "$file" ] || continue
    claims_packed paddle-log "$file"
    n=$((n + 1))
done
for file in tests/data/torch_pipeline/*.json.gz; do
    [ -f "$file" ] || continue
    claims kineto "$file"
    n=$((n + 1))
done
shared=$PIPESCOPE_SHARED_DATA
if [ -d "$shared" ]; then
    claims_packed ascend-text "$shared/ascend/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
    claims ascend-db "$shared/ascend/db/level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
    claims kineto "$shared/kineto/nccl/nccl_data.json.gz"
    claims kineto "$shared/kineto/two_ranks/sampled_rank-1.json.gz"
    claims paddle-log "$shared/paddle_logs/pp2_vpp2_1x2/workerlog.1"
    n=$((n + 5))
fi

# What is no profile is nobody's.
printf '[[1, 2, 3, 4], [5, 6, 7, 8]]\n' >"$T/memory.json"
run 3 info "$T/memory.json"
says 'not a profile that pipescope knows'
printf 'hello\n' >"$T/hello.json"
run 3 info "$T/hello.json"

# A directory of several formats: what can be read is read, and a note says what was chosen.
mkdir "$T/mixed"
cp tests/data/torch_pipeline/*rank-0*.json.gz "$T/mixed/a.json.gz" 2>/dev/null || true
for file in tests/data/paddle_logs/*/workerlog.0; do
    cp "$file" "$T/mixed/workerlog.0"
done
printf 'hello\n' >"$T/mixed/notes.txt"
run 0 info "$T/mixed"
says_out paddle-log
[ ! -f "$T/mixed/a.json.gz" ] || {
    says_out kineto
    says 'several profilers side by side'
}
run 2 info --format nsigt "$T/mixed"
says "unknown format 'nsigt'"
[ "$n" -gt 0 ]
