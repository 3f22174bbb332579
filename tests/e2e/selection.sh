#!/bin/sh
# --rank_list and --step_id: what is not chosen is left alone.
# threads: ranks that are chosen
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
snapshot "$T/in" >"$T/before"
run 0 -m pp_chart -d "$T/in" -o "$T/all"

# names of the databases that have labels
labelled() {
    databases "$1" | while read -r path; do
        sql "$path" "SELECT 1 FROM sqlite_master WHERE name = 'StepTaskInfo'" |
            sed "s/.*/$(basename "$path" .db | sed 's/.*_//')/"
    done | tr '\n' ' '
}

cp -R "$T/in" "$T/some"
run 0 -m pp_chart -d "$T/some" --rank_list 2,0
[ "$(labelled "$T/some")" = '0 2 ' ] || fail "labelled: $(labelled "$T/some")"
cmp "$(database "$T/some" 1)" "$(database "$T/in" 1)"
cmp "$(database "$T/some" 3)" "$(database "$T/in" 3)"
says '96 send or receive operators have no counterpart in the ranks read'

run 4 -m pp_chart -d "$T/some" --rank_list 3,3,77
says 'rank 77 is not among the 4 ranks of'
[ "$(labelled "$T/some")" = '0 2 3 ' ] || fail "labelled: $(labelled "$T/some")"
run 2 -m pp_chart -d "$T/in" --rank_list 77
says 'rank 77: no such rank; there are: 0-3'
for list in x 0,x 1.5 '0 1' ',' '' -- 99999999999999999999; do
    run 2 -m pp_chart -d "$T/in" "--rank_list=$list"
done
unchanged "$T/in" "$T/before"

# One step: the labels that lie in it, equal to those of a run over all.
run 0 -m pp_chart -d "$T/in" -o "$T/step" --step_id 6
for rank in 0 1 2 3; do
    start=$(sql "$(database "$T/in" $rank)" 'SELECT startNs FROM STEP_TIME WHERE id = 6')
    sql "$(database "$T/all" $rank)" "SELECT * FROM StepTaskInfo WHERE startNs >= $start" >"$T/want"
    [ "$(wc -l <"$T/want")" -eq 16 ]
    sql "$(database "$T/step" $rank)" 'SELECT * FROM StepTaskInfo' | cmp - "$T/want"
done
python3 - "$T/step" <<'PY'
import collections, pathlib, sqlite3, sys
ends = collections.Counter()
for path in pathlib.Path(sys.argv[1]).rglob("*_profiler_*.db"):
    ends.update(row[0] for row in sqlite3.connect(path).execute(
        "SELECT opConnectionId FROM COMMUNICATION_OP WHERE opConnectionId IS NOT NULL"))
assert len(ends) == 48 and set(ends.values()) == {2}, ends
PY

run 2 -m pp_chart -d "$T/in" --step_id 7
[ "$(grep -c 'step 7: no such step; there are: 5-6' "$T/stderr")" -eq 1 ] || fail "$(cat "$T/stderr")"
# -1 is all of them, as in msprof-analyze.
run 0 -m pp_chart -d "$T/in" -o "$T/minus" --step_id -1
for rank in 0 1 2 3; do
    sql "$(database "$T/all" $rank)" 'SELECT * FROM StepTaskInfo' >"$T/want"
    sql "$(database "$T/minus" $rank)" 'SELECT * FROM StepTaskInfo' | cmp - "$T/want"
done
for step in x 1.5 -2 '' 9223372036854775808; do
    run 2 -m pp_chart -d "$T/in" --step_id "$step"
done
unchanged "$T/in" "$T/before"
