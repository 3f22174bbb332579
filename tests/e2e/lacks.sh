#!/bin/sh
# An output that lacks what failed says so inside: exit 4, the rank and the reason in every file of every form; nothing of it in a whole
# one, and what an earlier run said goes.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 2 --dp 2 --microbatches 4 --steps 2 --filler 8 --profile "$T/whole" --quiet
# One in which a rank cannot be read, and one in which a folder cannot be looked at.
cp -Rp "$T/whole" "$T/part"
truncate -s 50000 "$(database "$T/part" 3)"
cp -Rp "$T/whole" "$T/loop"
ln -s loop_ascend_pt "$T/loop/loop_ascend_pt"

tells() { python3 tests/e2e/lib/lacking.py tells "$@" || fail "tells $1, $2"; }
silent() { python3 tests/e2e/lib/lacking.py silent "$@" || fail silent; }
lists() { python3 tests/e2e/lib/lacking.py lists "$@" || fail lists; }

# --- one file each ---

out=$T/forms
# forms STATUS IN: all of them in a fresh $out; a job that lacks a stage is no question of whatif and plan
forms() {
    rm -rf "$out"
    mkdir "$out"
    for end in svg html json; do
        run "$1" chart "$2" -o "$out/chart.$end"
        [ "$2" = "$T/part" ] || run "$1" plan "$2" --layers 4,4 -o "$out/plan.$end"
    done
    for end in txt html json; do
        run "$1" report "$2" -o "$out/report.$end"
    done
    for end in txt html json svg pftrace json.gz; do
        [ "$2" = "$T/part" ] || run "$1" whatif "$2" -o "$out/whatif.$end"
    done
    for end in json json.gz pftrace; do
        run "$1" convert "$2" -o "$out/trace.$end"
    done
    for end in txt json xlsx; do
        run "$1" compare "$2" "$T/whole" -o "$out/compare.$end"
        # A baseline that could not be searched is refused.
        [ "$2" = "$T/loop" ] || run "$1" compare "$T/whole" "$2" -o "$out/baseline.$end"
    done
    run "$1" chart "$2"
    cp "$T/stdout" "$out/chart.txt"
    for end in txt arrow; do
        run "$1" query "$2" 'SELECT rank, count(*) FROM slice GROUP BY rank' -o "$out/query.$end"
    done
    run "$1" info "$2"
    cp "$T/stdout" "$out/info.txt"
    run "$1" info "$2" --json
    cp "$T/stdout" "$out/info.json"
}

forms 4 "$T/part"
tells 'rank 3' 'cut off in page' "$out"/*
tells 'baseline, rank 3' 'cut off in page' "$out"/baseline.*
# Data are data: one list in all of them.
python3 - "$out" <<'PY' || fail "no list of what is lacking"
import json
import sys

for command in ("chart", "report", "compare", "trace", "info"):
    lacks = json.load(open("%s/%s.json" % (sys.argv[1], command)))["lacks"]
    assert [(row["rank"], row["what"], row["mode"]) for row in lacks] == [(3, "rank 3", None)], (command, lacks)
    assert "cut off in page" in lacks[0]["reason"], (command, lacks)
PY
forms 4 "$T/loop"
tells 'the search' loop_ascend_pt "$out"/*
forms 0 "$T/whole"
silent "$out"/*

# --- rows of a query ---

# What can hold nothing but rows has a file beside it, of the same form.
for end in csv json jsonl; do
    run 4 query "$T/part" 'SELECT rank, count(*) FROM slice GROUP BY rank' -o "$T/rows.$end"
    tells 'rank 3' 'cut off in page' "$T/rows_lacks.$end"
    run 4 query "$T/part" 'SELECT * FROM ClusterStepTraceTime' -o "$T/rows.$end"
    tells 'rank 3' 'cut off in page' "$T/rows_lacks.$end"
    run 0 query "$T/part" 'SELECT rank, count(*) FROM slice WHERE rank < 3 GROUP BY rank' -o "$T/rows.$end"
    [ ! -e "$T/rows_lacks.$end" ] || fail "$end: lacks a rank that the query leaves out"
done
run 4 query "$T/loop" 'SELECT 1' --as csv -o /dev/null
# At the prompt each answer tells what it lacks itself.
printf '%s;\n' 'SELECT count(*) FROM slice' 'SELECT count(*) FROM slice WHERE rank = 0' 'SELECT count(*) AS modes FROM ClusterStepTraceTime' \
    'SELECT count(*) FROM base_info' 'SELECT count(*) AS again FROM ClusterStepTraceTime' 'SELECT count(*) FROM base_info' \
    'SELECT count(*) FROM slice WHERE rank = 1' >"$T/statements"
"$PIPESCOPE_BIN" query "$T/part" -i <"$T/statements" >"$T/answers" 2>/dev/null || [ $? = 4 ] || fail "the prompt: $?"
awk '/^count|^modes|^again/ { n++ } /^Not in it: rank 3/ { printf "%d ", n }' "$T/answers" >"$T/which"
[ "$(cat "$T/which")" = '1 3 4 5 6 ' ] || fail "answers that say what they lack: $(cat "$T/which")"

# A job that lacks a rank has not "nothing", and is none that the user's words do not fit: it failed.
run 1 whatif "$T/part"
run 1 plan "$T/part" --layers 4,4,4
run 2 plan "$T/whole" --layers 4,4,4

# --- tables of the job ---

for type in db csv json xlsx text; do
    out=$T/tables_$type
    run 4 cluster -m slow_rank,step_trace_time -d "$T/part" -o "$out" --export_type $type
    case $type in
        db) tells 'rank 3' 'cut off in page' "$out/cluster_analysis_output/cluster_analysis.db" ;;
        csv | json)
            for mode in slow_rank step_trace_time; do
                tells 'rank 3' 'cut off in page' "$(find "$out" -name "${mode}_lacks.$type")"
            done
            ;;
        *) find "$out" -name '*.xlsx' -exec python3 tests/e2e/lib/lacking.py tells 'rank 3' 'cut off in page' {} + || fail "$type" ;;
    esac
done
# In the database each mode has its own list: one that has been run over the whole lacks nothing, the other still does.
db=$T/tables_db/cluster_analysis_output/cluster_analysis.db
[ "$(sql "$db" "SELECT count(*), min(rank), max(what) FROM slow_rank_lacks")" = '1|3|rank 3' ] || fail "$(sql "$db" .dump)"
run 0 cluster -m slow_rank -d "$T/whole" -o "$T/tables_db"
[ "$(sql "$db" "SELECT group_concat(name) FROM sqlite_master WHERE name LIKE '%_lacks'")" = step_trace_time_lacks ] ||
    fail "$(sql "$db" .tables)"
for type in csv json xlsx; do
    run 0 cluster -m slow_rank,step_trace_time -d "$T/whole" -o "$T/tables_$type" --export_type $type
    [ -z "$(find "$T/tables_$type" -type f -name '*_lacks*')" ] || fail "$type: lists of what is lacking stay"
    find "$T/tables_$type" -type f -exec python3 tests/e2e/lib/lacking.py silent {} + || fail "$type"
done

# --- logs of workers ---

cp -R "$DATA/paddle_logs/pp4_1f1b_2x2" "$T/logs"
run 0 timeline --log_dir "$T/logs" -o "$T/lines"
silent "$T/lines"/*.json
log=$(find "$T/logs" -name 'workerlog.1' | sort | head -n 1)
echo 'nothing of the profiler' >"$log"
run 4 timeline --log_dir "$T/logs" -o "$T/lines"
tells workerlog.1 'no record of the job profiler' "$T/lines"/*.json
lists "$T/lines"/*.json
