#!/bin/sh
# module_statistic: one rank of the size in bench/module.py, and 8 ranks; wall time and memory of the whole process.
# Called by bench/run.sh with the folder for data.
set -eu
work=${1:-build/bench}
: "${PIPESCOPE:=build/release/pipescope}"
: "${BENCH_RUNS:=5}"

[ -d "$work/module_1" ] || python3 bench/module.py "$work/module_1"
[ -d "$work/module_8" ] || python3 bench/module.py "$work/module_8" --ranks 8 --scale 0.25

printf '%-28s%10s%10s%12s\n' input 'wall s' 'cpu s' 'peak MB'
for name in module_1 module_8; do
    cat "$work/$name"/*/*/*.db >/dev/null # into the page cache
    for _ in $(seq "$BENCH_RUNS"); do
        /usr/bin/time -f "%e %U %S %M" "$PIPESCOPE" cluster -m module_statistic -d "$work/$name" -o "$work/module_out" \
            2>&1 >/dev/null | tail -n 1
    done | sort -n | awk -v name="$name" -v runs="$BENCH_RUNS" 'NR == int((runs + 1) / 2) {
        printf "%-28s%10.2f%10.2f%12.0f\n", name, $1, $2 + $3, $4 / 1024 }'
    rm -rf "$work/module_out"
done
