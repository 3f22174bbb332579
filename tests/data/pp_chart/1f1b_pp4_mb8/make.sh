#!/bin/sh
# Builds the sample cluster: sh make.sh DIR [RANK...]
#
# A pipeline of 4 stages (ranks 0 to 3) with 8 microbatches under 1F1B, steps 5 and 6. DIR gets one rank directory for
# each rank named (all of them without names), laid out as by the Ascend PyTorch profiler; it must be writable and may
# exist. schema.sql and rank_N.sql hold the tables; expected.json what msprof-analyze writes for them.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ $# -ge 1 ] || {
    echo "usage: make.sh DIR [RANK...]" >&2
    exit 2
}
out=$1
shift
[ $# -gt 0 ] || set -- 0 1 2 3

for rank in "$@"; do
    dir=$out/node0_100${rank}_2025010901261000${rank}_ascend_pt
    mkdir -p "$dir/ASCEND_PROFILER_OUTPUT"
    printf '%s' '{"config": {"common_config": {}, "experimental_config": {"_profiler_level": "Level1",' \
        ' "_msprof_tx": true, "_export_type": ["db"]}}, "rank_id": '"$rank}" >"$dir/profiler_info_$rank.json"
    printf '%s' '{"distributed_args": {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 4,' \
        ' "data_parallel_size": 1, "context_parallel_size": 1, "expert_model_parallel_size": 1,' \
        ' "sequence_parallel": false, "rank": '"$rank"', "world_size": 4}, "parallel_group_info":' \
        ' {"node0%eth0_60000_0_1736410000000000": {"group_name": "pp", "group_rank": '"$rank"', "global_ranks":' \
        ' [0, 1, 2, 3]}}, "pp_info": {"pp_type": "1f1b", "microbatch_num": 8}}' >"$dir/profiler_metadata.json"
    {
        echo 'PRAGMA synchronous = OFF; BEGIN;'
        cat "$here/schema.sql" "$here/rank_$rank.sql"
        echo 'COMMIT;'
    } | sqlite3 -batch -bail "$dir/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$rank.db"
done
