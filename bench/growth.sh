#!/bin/sh
# What commands take over jobs of more and more ranks: processor time, memory, lines on the terminal, and how fast they grow. Called by
# bench/run.sh with the folder for data. The jobs are `pipescope simulate --profile` of 16 stages and a step, with 4, 16 and 64 pipelines
# (BENCH_RANKS, by default "64 256 1024"; 4096 takes half a gigabyte). The median of BENCH_RUNS runs (3) counts.
set -eu
work=${1:-build/bench}
: "${PIPESCOPE:=build/release/pipescope}"
: "${BENCH_RUNS:=3}"
: "${BENCH_RANKS:=64 256 1024}"
table=$work/growth.txt

for ranks in $BENCH_RANKS; do
    job=$work/growth_$ranks
    [ -d "$job" ] || "$PIPESCOPE" simulate 1f1b --pp 16 --dp $((ranks / 16)) --microbatches 16 --jitter 2 --slow-stage 9:1.2 \
        --slow-rank 37:1.5 --quiet --profile "$job" >/dev/null
done

measure() { # name ranks command...
    name=$1
    ranks=$2
    shift 2
    for _ in $(seq "$BENCH_RUNS"); do
        rm -rf "$work/growth_out"
        /usr/bin/time -o "$work/growth.time" -f "%U %S %M" "$@" >"$work/growth.text" 2>/dev/null
        echo "$(tail -n 1 "$work/growth.time") $(wc -l <"$work/growth.text")"
    done | sort -n | awk -v name="$name" -v ranks="$ranks" -v runs="$BENCH_RUNS" 'NR == int((runs + 1) / 2) {
        print name, ranks, $1 + $2, $3 / 1024, $4 }' >>"$table"
}

: >"$table"
for ranks in $BENCH_RANKS; do
    job=$work/growth_$ranks
    cat "$job"/*/*/*.db >/dev/null # into the page cache
    for command in info chart report whatif; do
        measure "$command" "$ranks" "$PIPESCOPE" "$command" "$job"
    done
    for mode in pp_chart slow_rank all every; do
        measure "$mode" "$ranks" "$PIPESCOPE" cluster -m "$mode" -d "$job" -o "$work/growth_out"
    done
done
rm -rf "$work/growth_out"
python3 bench/growth.py "$table"
