#!/bin/sh
# --strict: a rank with counted errors fails before anything is written for it; without, the errors are counted.
# threads: ranks that fail beside others
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
sql "$(database "$T/in" 1)" 'UPDATE MSTX_EVENTS SET message = 99999 WHERE rowid = 3'
cp -R "$T/in" "$T/lenient"
cp "$(database "$T/in" 1)" "$T/rank_1"
message='1 row names a string that STRING_IDS does not have: rank 1: MSTX_EVENTS rowid 3: message 99999'

run 4 -m pp_chart -d "$T/in" --strict
says '1 counted error (--strict makes it fatal)'
says "$message"
says_out 'Wrote into 3 databases'
cmp "$(database "$T/in" 1)" "$T/rank_1"
run 4 -m pp_chart -d "$T/in" --strict -o "$T/copies"
[ "$(databases "$T/copies" | wc -l)" -eq 3 ]
run 1 -m pp_chart -d "$T/in" --strict --rank_list 1
cmp "$(database "$T/in" 1)" "$T/rank_1"

run 0 -m pp_chart -d "$T/lenient"
says "$message"
[ "$(sql "$(database "$T/lenient" 1)" 'SELECT count(*) FROM StepTaskInfo')" -eq 31 ]
