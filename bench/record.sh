#!/bin/sh
# The recorder: what a call costs recorded and not, from C, NVTX and Python; how fast it exports; what it costs a step.
# Called by bench/run.sh with the folder for data: bench/record.sh WORK
#
# Each program prints lines "what <tab> measured <tab> bar <tab> comparison", which become one table; other lines of it stand
# above the table. A program that is not there, or lacks something on this machine, is left out by name. It is linked with
# libpipescope-record.so, or, when it includes headers of src/record, with the insides of the program.
set -eu
work=$1/record
build=$PWD/build/release
mkdir -p "$work"
lines=$work/lines
: >"$lines"

compile() { # compile NAME SOURCE
    if grep -q '#include "record/' "$2"; then
        gcc -std=c17 -O2 -D_GNU_SOURCE -DPIPESCOPE_VERSION='"bench"' -Isrc -Iinclude "$2" -o "$work/$1" \
            "$build/libpipescope_core.a" -lsqlite3 -lisal -lpthread -lm -ldl
    else
        gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc -Iinclude "$2" -o "$work/$1" -L"$build" -lpipescope-record \
            -Wl,-rpath,"$build" -lpthread -lm -ldl
    fi
}

# take COMMAND...: runs it in a folder of its own and sorts its lines.
take() {
    rm -rf "$work/out"
    mkdir -p "$work/out"
    status=0
    PIPESCOPE_OUTPUT_DIR=$work/out PIPESCOPE_QUIET=1 "$@" >"$work/printed" || status=$?
    grep -v "$(printf '\t')" "$work/printed" || true
    grep "$(printf '\t')" "$work/printed" >>"$lines" || true
    rm -rf "$work/out"
    case $status in
        0) ;;
        77) echo "left out: $*" ;;
        *) echo "FAILED with $status: $*" ;;
    esac
}

# The last line of record_export: ranges, rows, seconds, at its end rows a second of processor time. Beside it as many rows of
# ten numbers through Python's sqlite3, in processor time too.
export_row() {
    python3 - "$work/printed" "$work/rows.db" >>"$lines" <<'EOF' || echo "left out: the row of record_export"
import os, sqlite3, sys, time
words = open(sys.argv[1]).read().rstrip().split("\n")[-1].split()
n_ranges, n, rate = words[0], int(words[2]), float(words[-1])
if os.path.exists(sys.argv[2]):
    os.remove(sys.argv[2])
db = sqlite3.connect(sys.argv[2])
db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE TABLE t (%s)" % ", ".join("c%d" % i for i in range(10)))
begin = time.process_time()
db.executemany("INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?,?)", ((i,) * 10 for i in range(n)))
db.commit()
took = time.process_time() - begin
db.close()
os.remove(sys.argv[2])
print("export of %s ranges, processor time\t%.0f k rows/s\t>= 500 k rows/s\tPython's sqlite3, ten numbers a row: %.0f k rows/s"
      % (n_ranges, rate / 1e3, n / took / 1e3))
EOF
}

for name in record_calls record_nvtx record_export record_step; do
    source=bench/$name.c
    if [ ! -f "$source" ]; then
        echo "left out: $name, there is no $source"
    elif compile $name "$source"; then
        case $name in
            # The tool is loaded as in a user's program.
            record_nvtx) NVTX_INJECTION64_PATH=$build/libpipescope-record.so take "$work/$name" ;;
            *) take "$work/$name" ;;
        esac
        [ $name != record_export ] || export_row
    else
        echo "left out: $name does not compile"
    fi
done
if [ -f bench/record_python.py ] && command -v python3 >/dev/null; then
    export PYTHONPATH="$PWD/python" PIPESCOPE_LIBRARY="$build/libpipescope-record.so"
    PIPESCOPE_PYTHON_EXTENSION=0 take python3 -B bench/record_python.py
    if [ -f "$build/python/_recorder.so" ]; then
        PIPESCOPE_PYTHON_EXTENSION=$build/python/_recorder.so take python3 -B bench/record_python.py
    else
        echo "left out: Python's extension, there is no Python.h"
    fi
    # Of the Python that PIPESCOPE_PYTHON names, where that has PyTorch.
    take "${PIPESCOPE_PYTHON:-python3}" -B -W ignore bench/record_ops.py
else
    echo "left out: record_python, it needs bench/record_python.py and python3"
fi

echo
printf 'what\tmeasured\tbar\tcomparison\n' | cat - "$lines" | awk -F '\t' '
    { n++; for (i = 1; i <= 4; i++) { cell[n, i] = $i; if (length($i) > wide[i]) wide[i] = length($i) } }
    END {
        for (row = 1; row <= n; row++)
            printf "%-" wide[1] "s  %-" wide[2] "s  %-" wide[3] "s  %s\n", cell[row, 1], cell[row, 2], cell[row, 3], cell[row, 4]
    }'
echo
lscpu 2>/dev/null | sed -n 's/^Model name: */processor: /p' | head -n 1
echo "processors: $(nproc), Linux $(uname -r), $(gcc --version | head -n 1)"
