#!/bin/sh
# Paddle's worker logs: bench/paddle.sh WORK_DIR (called by bench/run.sh)
#
# Four logs with 2 million jobs in 1 GB, made once. Bars: into traces within 1 s a core, both files within 4 s. The
# reference's figures are quoted from its measurement on 2 cores, page cache warm; they are not taken anew, since one run
# of it takes 18 minutes. grep -c, which only searches, is measured beside them in the same run.
set -eu
work=$1/paddle
: "${PIPESCOPE:=build/release/pipescope}"
mkdir -p "$work"
gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/paddle.c -o "$work/paddle" build/release/libpipescope_core.a \
    -lsqlite3 -lisal -lpthread -lm
if [ ! -f "$work/logs/done" ]; then
    mkdir -p "$work/logs"
    "$work/paddle" --make "$work/logs"
    : >"$work/logs/done"
fi

now() { date +%s.%N; }
# Processor time of all commands so far, in the two numbers of the second line of `times`.
cpu() { sed -n 2p "$1" | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }'; }
# took NAME COMMAND...: the best of three, and the processor time of that run
took() {
    name=$1
    shift
    best='9999 0'
    for _ in 1 2 3; do
        times >"$work/before"
        begin=$(now)
        "$@" >"$work/printed" 2>&1 || [ $? -eq 1 ]
        end=$(now)
        times >"$work/after"
        best=$(printf '%s %s %s %s %s\n' "$begin" "$end" "$(cpu "$work/before")" "$(cpu "$work/after")" "$best" |
            awk '{ s = $2 - $1; if (s < $5) printf "%.2f %.2f", s, $4 - $3; else print $5, $6 }')
    done
    # shellcheck disable=SC2086 # two numbers
    printf '%-44s %8s s %8s s of processors\n' "$name" $best
}

cat "$work/logs"/workerlog.* >/dev/null # warm
du -chL "$work/logs"/workerlog.* | tail -n 1
took 'grep -c of the literal' grep -c 'Profiler Info: Job (' "$work/logs"/workerlog.*
"$work/paddle" "$work/logs"/workerlog.*
took 'timeline, both files' "$PIPESCOPE" timeline --log_dir "$work/logs" -o "$work/out"
took 'timeline, both files, one thread' "$PIPESCOPE" timeline --log_dir "$work/logs" -o "$work/out" -j 1
rm -rf "$work/out"
printf '%-44s %8s s\n' 'reference script, quoted' 1071 'the same, its quadratic pattern mended, quoted' 37
