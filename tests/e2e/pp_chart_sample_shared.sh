#!/bin/sh
# The same as pp_chart_sample.sh on the databases of the shared data folder, which other software wrote.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

shared=$PIPESCOPE_SHARED_DATA/pp_chart/1f1b_pp4_mb8
[ -d "$shared/input" ] || skip "no shared data pp_chart/1f1b_pp4_mb8"
cp -R "$shared/input" "$T/in"
chmod -R u+w "$T/in"

run 0 -m pp_chart -d "$T/in"
python3 tests/e2e/lib/check_sample.py "$T/in" "$shared/expected.json"
only_databases "$T/in"

# What tests/data/pp_chart/1f1b_pp4_mb8 rebuilds from text is this sample.
cp -R "$shared/input" "$T/shared"
sample "$T/ours"
chmod -R u+w "$T/shared"
dump "$T/shared" >"$T/shared.sql"
same_dump "$T/ours" "$T/shared.sql"
