#!/bin/sh
# Charts of recordings whose rank nobody says, or only the launcher: run again, alone, of several, with ranges without a stream.
# threads: the recorder and its writer
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
client=${PIPESCOPE_PROGRAMS-none}/record_client
[ -x "$client" ] || skip 'no recorder in this build'
unset PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD PIPESCOPE_LAUNCH
unset PIPESCOPE_RANK RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID PADDLE_TRAINER_ID
unset WORLD_SIZE OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_NTASKS
cd "$T"

# A program run twice is one rank: the second run is read, also when the first was killed.
run 137 record -o again -- "$client" step 2 die 9
run 0 record -o again -- "$client" step 3
run 0 chart again
says 'the newest is read, from again/'
says '1 other is left out'
says_out 'One of 3 steps'
# Two at the same time are two.
PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=both "$client" step 1 touch one wait two &
first=$!
PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=both "$client" step 1 wait one touch two
wait $first
run 0 info both
says '2 ascend-db files tell no rank'

# Rank 0 with a launcher that says how many there are.
RANK=0 WORLD_SIZE=1 run 0 record -o alone -- "$client" step 3
grep -q '"world_size": 1' alone/*/profiler_info_0.json || fail 'no world_size in profiler_info'
[ "$(sql "$(databases alone)" "SELECT value FROM META_DATA WHERE name = 'collector.world_size'")" = 1 ] || fail 'no world_size'
run 0 chart alone
says_out 'stage 0  rank 0 '
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 run 0 record -o many -- "$client" step 3
done
run 3 chart many
says 'give --pp N'
says 'distributed_args'
run 0 chart many --pp 2

# Forwards and backwards without a stream, beside a range that has one: times are the host's in any case.
run 0 record -o host -- "$client" range 1 forwards 3
run 0 chart host
says_out 'host times'
says_out 'one process, one stage'

# People read "?" where programs read -1.
run 0 info host
says_out '   ?  ascend-db'
says_out '.db (ascend-db) holds'
run 0 cluster -m pp_chart -d again
if grep -q -- ' -1 ' "$T/stdout"; then
    fail "a rank -1: $(cat "$T/stdout")"
fi
