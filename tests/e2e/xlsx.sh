#!/bin/sh
# --export_type xlsx: LibreOffice reads the same cells from the workbooks as stand in the csv files.
# threads: workbooks in children beside threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# compare DIR: cell by cell. LibreOffice shows numbers with fewer digits, so those are compared as numbers.
compare() {
    (cd "$T/$1" && find . -name '*.xlsx' | sort) >"$T/books"
    [ -s "$T/books" ] || fail "no workbook in $1"
    mkdir "$T/numbered" "$T/read"
    n=0 # names may repeat over folders
    while read -r book; do
        n=$((n + 1))
        cp "$T/$1/$book" "$T/numbered/$n.xlsx"
    done <"$T/books"
    timeout 120 soffice "-env:UserInstallation=file://$T/office" --headless \
        --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76' --outdir "$T/read" "$T"/numbered/*.xlsx \
        >"$T/office.log" 2>&1 || fail "soffice: $(cat "$T/office.log")"
    python3 - "$T/books" "$T/read" "$T/$1_csv" <<'PY'
import csv, math, pathlib, sys
books, read, plain = map(pathlib.Path, sys.argv[1:])

def same(a, b):
    if a == b:
        return True
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return False

n = 0
for number, book in enumerate(books.read_text().splitlines(), 1):
    got = list(csv.reader(open(read / f"{number}.csv", newline="", encoding="utf-8")))
    want = list(csv.reader(open((plain / book).with_suffix(".csv"), newline="", encoding="utf-8")))
    assert len(got) == len(want), (book, len(got), len(want))
    for row, (g, w) in enumerate(zip(got, want)):
        assert len(g) == len(w) and all(map(same, g, w)), (book, row, g, w)
        n += len(w)
print(n, "cells")
assert n > 0
PY
}

command -v soffice >/dev/null 2>&1 || skip "no LibreOffice (soffice)"
sample "$T/in" 0 1
run 0 -m pp_chart -d "$T/in" -o "$T/small" --export_type xlsx
says_out "PPChart/PPChart.xlsx"
run 0 -m pp_chart -d "$T/in" -o "$T/small_csv" --export_type csv
compare small
rm -r "$T/numbered" "$T/read"

# Tables of modes, with merged cells, names of operators and sums.
input=$PIPESCOPE_SHARED_DATA/cluster/pp2_dp4/input
[ -d "$input" ] || exit 0
run 0 -m compute_op_sum,cann_api_sum -d "$input" -o "$T/large" --export_type xlsx
run 0 -m compute_op_sum,cann_api_sum -d "$input" -o "$T/large_csv" --export_type csv
compare large
