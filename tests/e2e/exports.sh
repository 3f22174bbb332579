#!/bin/sh
# --export_type: text, csv and json write files and no database; db is the default.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
run 0 -m pp_chart -d "$T/in" -o "$T/db" --export_type db
snapshot "$T/in" >"$T/before"

for type in csv text json; do
    run 0 -m pp_chart -d "$T/in" -o "$T/$type" --export_type $type
    unchanged "$T/in" "$T/before"
    says_out "Files of 4 ranks are in $T/$type/cluster_analysis_output/PPChart"
    [ "$(find "$T/$type" -type f | wc -l)" -eq 10 ] || fail "$type: $(find "$T/$type" -type f)"
done
diff -r "$T/csv" "$T/text"
python3 - "$T" <<'PY'
import csv, json, pathlib, sqlite3, sys
root = pathlib.Path(sys.argv[1])
for rank in range(4):
    db = sqlite3.connect(next((root / "db").rglob(f"*_profiler_{rank}.db")))
    for name, query in (
        ("StepTaskInfo", "SELECT name, startNs, endNs, type FROM StepTaskInfo"),
        ("COMMUNICATION_OP_connection", "SELECT rowid, opConnectionId FROM COMMUNICATION_OP WHERE opConnectionId NOT NULL"),
    ):
        want = sorted(list(row) for row in db.execute(query))
        header, *rows = csv.reader(open(root / f"csv/cluster_analysis_output/PPChart/{name}_{rank}.csv"))
        assert sorted(rows) == sorted([str(cell) for cell in row] for row in want), (rank, name)
        objects = json.load(open(root / f"json/cluster_analysis_output/PPChart/{name}_{rank}.json"))
        assert sorted(list(row.values()) for row in objects) == want, (rank, name)
        assert all(list(row) == header for row in objects), (rank, name)
PY

# Without -o they go below -d, beside the databases, which stay as they are. Later runs pass them by.
cp -R "$T/in" "$T/below"
run 0 -m pp_chart -d "$T/below" --export_type csv
diff -r "$T/below/cluster_analysis_output" "$T/csv/cluster_analysis_output"
run 0 -m pp_chart -d "$T/below" --export_type csv
rm -r "$T/below/cluster_analysis_output"
diff -r "$T/below" "$T/in"

# A rank that two profilers know gives two files.
mkdir "$T/two"
cp -R "$T/in/." "$T/two"
cp "$(database "$T/in" 0)" "$T/two/msmonitor_1_20250109012610000_0.db"
run 0 -m pp_chart -d "$T/two" -o "$T/two_out" --export_type csv
for profiler in PyTorch msMonitor; do
    cmp "$T/two_out/cluster_analysis_output/PPChart/StepTaskInfo_${profiler}_0.csv" \
        "$T/csv/cluster_analysis_output/PPChart/StepTaskInfo_0.csv"
done

# Workbooks: the same bytes one at a time and several at once, and with a progress line on a terminal, whose thread has ended before
# processes that make them begin (debug builds count threads there).
run 0 -m pp_chart -d "$T/in" -o "$T/one" --export_type xlsx --jobs 1
run 0 -m pp_chart -d "$T/in" -o "$T/many" --export_type xlsx --jobs 4
diff -r "$T/one" "$T/many"
python3 - "$PIPESCOPE_BIN" "$T" <<'PY'
import os
import pty
import subprocess
import sys

program, T = sys.argv[1:]
ours, its = pty.openpty()
child = subprocess.Popen(
    [program, "cluster", "-m", "pp_chart", "-d", f"{T}/in", "-o", f"{T}/shown", "--export_type", "xlsx"],
    stdin=its, stdout=subprocess.DEVNULL, stderr=its, env=dict(os.environ, TERM="xterm"))
os.close(its)
said = b""
try:
    while piece := os.read(ours, 4096):
        said += piece
except OSError:  # nobody has the other end any more
    pass
assert child.wait() == 0, (child.returncode, said)
PY
diff -r "$T/one" "$T/shown"

# Files of others in the output folder are kept.
echo mine >"$T/csv/cluster_analysis_output/PPChart/notes.csv"
run 0 -m pp_chart -d "$T/in" -o "$T/csv" --export_type csv
[ "$(cat "$T/csv/cluster_analysis_output/PPChart/notes.csv")" = mine ]

run 2 -m pp_chart -d "$T/in" --export_type notebook
says '--export_type notebook: no notebooks are written; take db, csv, json or xlsx'
run 2 -m pp_chart -d "$T/in" --export_type cvs
says "did you mean 'csv'?"
unchanged "$T/in" "$T/before"
