#!/bin/sh
# The sample cluster gets the labels and the pairing that msprof-analyze gives it; a second run changes nothing.
# threads: databases written side by side
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
run 0 -m pp_chart -d "$T/in"
python3 tests/e2e/lib/check_sample.py "$T/in" "$DATA/pp_chart/1f1b_pp4_mb8/expected.json"
says_out 'Wrote into 4 databases'
[ ! -s "$T/stderr" ] || fail "said on stderr: $(cat "$T/stderr")"
only_databases "$T/in"

dump "$T/in" >"$T/first"
cp "$T/stdout" "$T/first_out"
run 0 -m pp_chart -d "$T/in"
same_dump "$T/in" "$T/first"
cmp "$T/stdout" "$T/first_out"

# A stale table of another tool is replaced, whatever its shape.
path=$(database "$T/in" 2)
sql "$path" "DROP TABLE StepTaskInfo; CREATE TABLE StepTaskInfo (a, b); INSERT INTO StepTaskInfo VALUES (1, 2);
    UPDATE COMMUNICATION_OP SET opConnectionId = 'stale' WHERE opId % 3 = 0"
run 0 -m pp_chart -d "$T/in"
same_dump "$T/in" "$T/first"
