#!/bin/sh
# The options of a recording stand in one list: the page and the help of the command say the same.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip 'needs python3'

python3 -B tests/e2e/lib/record_options.py || fail 'docs/recording/options.md'
pipescope help record >"$T/help"
sed -n 's/^X(\([a-z_]*\),.*/\1/p' src/record/ring/options.def | while read -r name; do
    [ "$name" != quiet ] || continue # one of all commands
    grep -q -- "--$name" "$T/help" || fail "help does not tell of --$name"
done
