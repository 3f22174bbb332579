#!/bin/sh
# cluster_analysis.db and files of the cluster: sets of modes, kinds of export, what is kept, what is refused, and what a
# run says about it.
# threads: every mode in one read, tables and files written side by side
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

content() { sqlite3 -batch "$1/cluster_analysis_output/cluster_analysis.db" .dump; }

sample "$T/in"
snapshot "$T/in" >"$T/before"

# The same content every time, whatever the threads; tables of others stay.
run 0 -m all -d "$T/in" -o "$T/out" -j 1
unchanged "$T/in" "$T/before"
says_out "into $T/out/cluster_analysis_output/cluster_analysis.db"
says_out "  CommunicationGroupMapping"
content "$T/out" >"$T/first"
run 0 -m all -d "$T/in" -o "$T/out" -j 3
content "$T/out" >"$T/second"
cmp "$T/first" "$T/second"
sql "$T/out/cluster_analysis_output/cluster_analysis.db" \
    "CREATE TABLE Mine (x); INSERT INTO Mine VALUES (1); DELETE FROM CommunicationGroupMapping"
run 0 -m communication_group_map -d "$T/in" -o "$T/out"
[ "$(sql "$T/out/cluster_analysis_output/cluster_analysis.db" "SELECT x FROM Mine")" = 1 ]
[ "$(sql "$T/out/cluster_analysis_output/cluster_analysis.db" "SELECT count(*) > 0 FROM CommunicationGroupMapping")" = 1 ]
only_databases "$T/out"

# Without -o: below the input; later runs pass it by.
cp -R "$T/in" "$T/below"
run 0 -m every -d "$T/below"
says_out "into $T/below/cluster_analysis_output/cluster_analysis.db"
run 0 -m every -d "$T/below"
rm -r "$T/below/cluster_analysis_output"
diff -r "$T/in" "$T/below"

# Files.
run 0 -m communication_group_map -d "$T/in" -o "$T/csv" --export_type csv
says_out "Wrote 1 file into $T/csv/cluster_analysis_output"
says_out "  CommunicationGroupMap/communication_group_mapping.csv"
grep -q '^type,rank_set,group_name' "$T/csv/cluster_analysis_output/CommunicationGroupMap/communication_group_mapping.csv"
run 0 -m every -d "$T/in" -o "$T/xlsx" --export_type xlsx
run 0 -m every -d "$T/in" -o "$T/xlsx2" --export_type xlsx -j 1
diff -r "$T/xlsx" "$T/xlsx2"

# A summary for scripts.
run 0 -m every -d "$T/in" -o "$T/out" --json-summary "$T/summary.json"
python3 - "$T/summary.json" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
tables = {t["name"]: t for t in s["tables"]}
t = tables["CommunicationGroupMapping"]
assert t["mode"] == "communication_group_map" and t["rows"] > 0 and t["path"].endswith("/cluster_analysis.db")
for m in s["missing"]:
    assert m["mode"] in s["modes"] and m["message"] and m["ranks"]
assert s["failed_modes"] == [] and s["notes"] == []
PY

# Refused before the first byte.
mkdir -p "$T/no/cluster_analysis_output"
echo "something else" >"$T/no/cluster_analysis_output/cluster_analysis.db"
run 1 -m all -d "$T/in" -o "$T/no"
says "is no SQLite database"
[ "$(cat "$T/no/cluster_analysis_output/cluster_analysis.db")" = "something else" ]
mkdir "$T/locked"
chmod a-w "$T/locked"
for type in db csv xlsx; do
    run 1 -m all -d "$T/in" -o "$T/locked/below" --export_type $type
    says "read-only"
done
[ -z "$(ls "$T/locked")" ]

# Modes of databases refuse other data, whatever else is asked for; the others read it.
mkdir "$T/trace"
cat >"$T/trace/rank0.pt.trace.json" <<'JSON'
{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
 "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7}}]}
JSON
run 0 -m compute_op_sum -d "$T/trace" -o "$T/other"
run 3 -m pp_chart,compute_op_sum -d "$T/trace" -o "$T/other2"
says "pipescope chart and convert read every format"
[ ! -e "$T/other2" ]

# Options.
run 2 -m evry -d "$T/in"
says "did you mean 'every'?"
run 2 -m all -d "$T/in" --peak-tflops many
says "--peak-tflops: 'many' is not a decimal number"
run 2 -m all -d "$T/in" --peak-tflops 0
says '--peak-tflops 0: give a number above 0'
run 2 report "$T/in" --peak-tflops 0.0
run 2 -m all -d "$T/in" --fuzzy_threshold 0
run 2 -m all -d "$T/in" --fuzzy_threshold 1.5
says "out of range (0 to 1)"
run 2 -m all -d "$T/in" --top-nun 5
says "did you mean '--top_num'?"
run 0 -m communication_group_map -d "$T/in" -o "$T/out" --force --parallel_mode concurrent
! grep -q 'accepted' "$T/stderr" || fail "said without --verbose"
run 0 -m communication_group_map -d "$T/in" -o "$T/out" --baseline_profiling_path "$T/in"
says "none of these modes compares: --bp is not looked at"
run 0 -m communication_group_map -d "$T/in" -o "$T/out" --force --verbose --peak-tflops 353.9 --top_num 5
says "--force is accepted and does nothing"
unchanged "$T/in" "$T/before"
