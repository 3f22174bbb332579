#!/bin/sh
# The prompt of `query -i`: statements over several lines, errors that do not end it, and on a terminal history, completion, Ctrl-C.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/marks"
printf '%s\n' 'SELECT 41 + 1' 'AS n;' 'SELECT nobody;' '.tables' '.schema wait' '.schema nobody' ';;' 'SELECT 40 + 3 AS last' \
    >"$T/typed"
run 2 query "$T/marks" -i <"$T/typed"
says_out '42'
says_out 'kernel_launch'
says_out 'for_slice'
says_out '43'
says 'no such column: nobody'
says 'no such table'
printf '%s\n' 'SELECT 1 AS one;' '.quit' 'SELECT 2 AS two;' >"$T/typed"
run 0 query "$T/marks" -i <"$T/typed"
says_out 'one'
if grep -q two "$T/stdout"; then fail 'it went on behind .quit'; fi
# The worst of all statements: nothing of the kind, asked wrongly, failed.
printf '%s\n' 'SELECT * FROM ModuleMFU;' 'SELECT 1 AS one;' >"$T/typed"
run 3 query "$T/marks" -i <"$T/typed"
says_out 'one'
printf '%s\n' 'SELECT * FROM ModuleMFU;' "SELECT zeroblob(1000000000);" 'SELECT nobody;' >"$T/typed"
run 1 query "$T/marks" -i <"$T/typed"
run 2 query "$T/marks" -i -o "$T/rows.csv" </dev/null
run 2 query "$T/marks" -i 'SELECT 1' </dev/null

if pipescope query --help | grep -q 'arrows bring back'; then
    python3 tests/support/query_prompt.py "$T/marks"
else
    skip 'history and completion: built without libedit'
fi
