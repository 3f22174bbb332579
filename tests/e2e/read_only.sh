#!/bin/sh
# Databases or directories without write permission: said before anything is written, exit 1; without marks, 3.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# refused DIR COUNT: nothing is changed, and the message tells the way out
refused() {
    snapshot "$1" >"$T/before"
    run 1 -m pp_chart -d "$1"
    says "read-only, which keeps $2 of 4 databases from being written: none was changed; write copies with -o DIR"
    [ "$(wc -l <"$T/stderr")" -eq 1 ] || fail "more than one line: $(cat "$T/stderr")"
    unchanged "$1" "$T/before"
}

sample "$T/file"
chmod a-w "$(database "$T/file" 2)"
refused "$T/file" 1

sample "$T/dir"
chmod a-w "$(dirname "$(database "$T/dir" 1)")" "$(dirname "$(database "$T/dir" 3)")"
refused "$T/dir" 2

sample "$T/all"
chmod -R a-w "$T/all"
refused "$T/all" 4
snapshot "$T/all" >"$T/before"
run 0 info "$T/all"
run 0 -m pp_chart -d "$T/all" -o "$T/copies"
unchanged "$T/all" "$T/before"
run 0 -m pp_chart -d "$T/copies"

# The other ranks may be chosen; --export_type csv does not write there.
run 0 -m pp_chart -d "$T/file" --rank_list 0,1,3
run 0 -m pp_chart -d "$T/all" --export_type csv -o "$T/csv"
unchanged "$T/all" "$T/before"

# Without marks there is nothing to write: 3, and what an earlier run left stays.
sample "$T/bare"
databases "$T/bare" | while read -r path; do
    sql "$path" 'DROP TABLE MSTX_EVENTS; CREATE TABLE StepTaskInfo (name TEXT)'
done
chmod -R a-w "$T/bare"
snapshot "$T/bare" >"$T/before"
run 3 -m pp_chart -d "$T/bare"
unchanged "$T/bare" "$T/before"
if grep -q 'removed' "$T/stderr"; then
    fail "claims to have removed something: $(cat "$T/stderr")"
fi
chmod -R u+w "$T/bare"
run 3 -m pp_chart -d "$T/bare"
says '4 results of an earlier run were removed'
databases "$T/bare" | while read -r path; do
    [ -z "$(sql "$path" "SELECT name FROM sqlite_master WHERE name = 'StepTaskInfo'")" ] || fail "stale in $path"
done || exit 1
if grep -q 'Wrote into' "$T/stdout"; then
    fail "claims results: $(cat "$T/stdout")"
fi

# A rank that only loses what an earlier run left may stay as it is; the others are written.
sample "$T/mixed"
path=$(database "$T/mixed" 2)
sql "$path" 'DROP TABLE MSTX_EVENTS; DROP TABLE COMMUNICATION_OP; CREATE TABLE StepTaskInfo (name TEXT)'
chmod a-w "$path"
run 4 -m pp_chart -d "$T/mixed"
says_out 'Wrote into 3 databases'
[ "$(sql "$(database "$T/mixed" 1)" 'SELECT count(*) FROM StepTaskInfo')" -gt 0 ]
[ "$(sql "$path" 'SELECT count(*) FROM StepTaskInfo')" -eq 0 ]

# All is checked before the copies of another analysis are written.
snapshot "$T/file" >"$T/before"
run 1 -m pp_chart,mstx2commop -d "$T/file"
says 'none was changed'
unchanged "$T/file" "$T/before"

# A read-only place for -o.
mkdir "$T/locked"
chmod a-w "$T/locked"
[ "$(id -u)" = 0 ] || {
    run 1 -m pp_chart -d "$T/dir" -o "$T/locked/out"
    says 'cannot create the directory'
}
