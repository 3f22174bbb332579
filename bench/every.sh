#!/bin/sh
# All analyses that need no further input (-m every) over 8 ranks of the size in bench/module.py: wall time, processor time
# and memory of the whole process. Beside it module_statistic alone over the same ranks, and what Python needs to fetch the
# rows of the same tables without looking at them. Called by bench/run.sh with the folder for data.
set -eu
work=${1:-build/bench}
: "${PIPESCOPE:=build/release/pipescope}"
: "${BENCH_RUNS:=5}"
input=$work/every_8
out=$work/every_out

[ -d "$input" ] || python3 bench/module.py "$input" --ranks 8 --analysis-db
cat "$input"/*/*/*.db >/dev/null # into the page cache

cat >"$work/fetch.py" <<'EOF'
import pathlib, sqlite3, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*/*.db")):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for (name,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
        db.execute(f'select * from "{name}"').fetchall()
EOF

measure() { # name command...
    name=$1
    shift
    for _ in $(seq "$BENCH_RUNS"); do
        rm -rf "$out"
        /usr/bin/time -f "%e %U %S %M" "$@" 2>&1 >/dev/null | tail -n 1
    done | sort -n | awk -v name="$name" -v runs="$BENCH_RUNS" 'NR == int((runs + 1) / 2) {
        printf "%-28s%10.2f%10.2f%12.0f\n", name, $1, $2 + $3, $4 / 1024 }'
    rm -rf "$out"
}

printf '%-28s%10s%10s%12s\n' '8 ranks' 'wall s' 'cpu s' 'peak MB'
measure every "$PIPESCOPE" cluster -m every -d "$input" -o "$out"
measure module_statistic "$PIPESCOPE" cluster -m module_statistic -d "$input" -o "$out"
measure 'python3 fetchall' python3 "$work/fetch.py" "$input"
