#!/bin/sh
# Standard output that is closed, full or read only in part: the databases are right, and lost text is reported.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/want"
run 0 -m pp_chart -d "$T/want"
dump "$T/want" >"$T/want.sql"

# outcome STATUS SH: runs in a shell with `pipescope -m pp_chart -d "$in"` as "$@"
outcome() {
    rm -rf "$T/in"
    sample "$T/in"
    got=0
    sh -c "$2" sh pipescope -m pp_chart -d "$T/in" 2>"$T/stderr" || got=$?
    [ $got = "$1" ] || fail "$2: exit $got instead of $1: $(cat "$T/stderr")"
    same_dump "$T/in" "$T/want.sql"
    only_databases "$T/in"
}
outcome 1 '"$@" >&-'
says 'cannot write to standard output'
outcome 0 '"$@" >/dev/null 2>&-'
outcome 1 '"$@" >&- 2>&-'
outcome 1 '"$@" >&- 2>&- <&-'
if [ -e /dev/full ]; then
    outcome 1 '"$@" >/dev/full'
    says 'cannot write to standard output'
    outcome 0 '"$@" >/dev/null 2>/dev/full'
    run 0 info "$T/in"
    got=0
    pipescope info "$T/in" >/dev/full 2>"$T/stderr" || got=$?
    [ $got = 1 ]
fi
# The same when the pipe breaks while something else is flushed: quiet, with the status of the work. A result that does
# not fit on a disk is still reported (above).
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 4 --steps 2 --filler 20 --profile "$T/pair" >/dev/null
for arguments in "compare $T/pair $T/pair" "-m every -d $T/pair -o $T/pair_out"; do
    # shellcheck disable=SC2086
    { pipescope $arguments 2>"$T/stderr"; echo $? >"$T/status"; } | true
    if grep -q 'cannot write' "$T/stderr"; then fail "a reader that left is reported: $(cat "$T/stderr")"; fi
    [ "$(cat "$T/status")" -eq 0 ] || fail "exit $(cat "$T/status") for $arguments"
done
# A reader that has seen enough is no failure.
# shellcheck disable=SC2016
outcome 0 '{ "$@"; echo $? >"${5%in}status"; } | head -n 1 >/dev/null; read -r s <"${5%in}status"; exit $s'
