#!/bin/sh
# Captures of every format for tests of queries: query_captures.sh DIR makes those that are not in the repository and prints the paths of all,
# a line each. Between them they have every table of every mode and view. QUERY_SHARE=N: the first three, then every N-th.
set -eu
out=$1
mkdir -p "$out"
sh tests/data/pp_chart/1f1b_pp4_mb8/make.sh "$out/marks" >"$out/log"
sh tests/data/comm_marks/make.sh "$out/comm_marks" >"$out/log"
pipescope simulate zb-h1 --pp 4 --microbatches 8 --steps 2 --jitter 5 --slow-stage 2:1.3 --profile "$out/made" >"$out/log"
database() { # NAME FILE.sql [STATEMENTS]
    mkdir -p "$out/$1"
    sqlite3 "$out/$1/ascend_pytorch_profiler_0.db" <"$2" >"$out/log"
    sqlite3 "$out/$1/ascend_pytorch_profiler_0.db" "${3-}"
    echo "$out/$1"
}
{
    printf '%s\n' "$out/marks" "$out/comm_marks" "$out/made" tests/data/torch_pipeline/dualpipev tests/data/torch_pipeline/gpipe \
        tests/data/ndtimeline/two-by-two.json tests/data/kineto/rank-3-launches.json tests/data/kineto/no-steps.json tests/data/kineto/idle \
        tests/data/kineto_dualpipe/rank-3.json tests/data/cookbook tests/data/comm_waits/rank.json tests/data/convert/everything.json \
        tests/data/paddle_logs/pp4_1f1b_2x2 tests/data/paddle_logs/pp2_vpp2_1x2 tests/data/ascend_text/rank3_ascend_pt
    for file in tests/data/chrome/*.json tests/data/ascend_text/*.json; do
        echo "$file"
    done
    for source in tests/data/ascend_db/*.sql; do
        name=$(basename "$source" .sql)
        [ "$name" = msmonitor-crashed ] || database "$name" "$source"
    done
    # Grouped products of an expert-parallel group.
    database tokens tests/data/ascend_db/pytorch.sql "UPDATE META_DATA SET value = replace(value, '\"tp\"', '\"exp\"');
        INSERT INTO STRING_IDS VALUES (9001, 'GroupedMatmul'), (9002, '100,64;8,64,32;8');
        UPDATE COMPUTE_TASK_INFO SET opType = 9001, inputShapes = 9002"
} >"$out/captures"
awk -v share="${QUERY_SHARE:-1}" 'NR <= 3 || NR % share == 0' "$out/captures"
