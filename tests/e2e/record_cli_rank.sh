#!/bin/sh
# Where the rank of a process comes from: the option, then one variable after the other; its folder and its files say it.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
client=${PIPESCOPE_PROGRAMS-none}/record_client
[ -x "$client" ] || skip 'no recorder in this build'
unset PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD PIPESCOPE_LAUNCH
unset PIPESCOPE_RANK RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID PADDLE_TRAINER_ID WORLD_SIZE OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_NTASKS
cd "$T"

# rank_is RANK FOLDER: files and database say it.
rank_is() {
    database=$(databases "$2")
    if [ "$1" = none ]; then
        [ "$(basename "$database")" = ascend_pytorch_profiler.db ] || fail "$2: $database"
        [ "$(sql "$database" 'SELECT rankId FROM RANK_DEVICE_MAP')" = -1 ] || fail "$2: a rank out of nowhere"
        return
    fi
    [ "$(basename "$database")" = "ascend_pytorch_profiler_$1.db" ] || fail "$2: rank $1 is not in $database"
    [ "$(sql "$database" 'SELECT rankId FROM RANK_DEVICE_MAP')" = "$1" ] || fail "$2: the database says another rank"
    [ -f "$(dirname "$(dirname "$database")")/profiler_info_$1.json" ] || fail "$2: no profiler_info_$1.json"
}

run 0 record -o none -- "$client" range 1
rank_is none none
n=1
for name in SLURM_PROCID PMI_RANK OMPI_COMM_WORLD_RANK RANK PIPESCOPE_RANK; do
    # Each wins over those before it.
    export "$name=$n"
    run 0 record -o "by-$name" -- "$client" range 1
    rank_is $n "by-$name"
    n=$((n + 1))
done
run 0 record -o option --rank 9 -- "$client" range 1
rank_is 9 option
# A rank that is none is no rank, and the next source is asked.
unset PIPESCOPE_RANK
RANK=first run 0 record -o nonsense -- "$client" range 1
rank_is 3 nonsense
# The worker's name.
run 0 record -o worker --worker node7 -- "$client" range 1
[ -d "$(find worker -maxdepth 1 -name 'node7_*_ascend_pt')" ] || fail "folders: $(ls worker)"
