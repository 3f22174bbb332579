#!/bin/sh
# Ranks of the baseline that cannot be read are named and make the comparison one in part.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/new"
cp -R "$T/new" "$T/base"
run 0 compare "$T/new" "$T/base"
says_out ': 4 ranks, '
cat "$T/stderr" >"$T/whole"

path=$(database "$T/base" 1)
truncate -s "$(($(stat -c %s "$path") / 2))" "$path"
run 4 compare "$T/new" "$T/base"
says 'baseline: rank 1: '
says_out "new   $T/new: 4 ranks, "
says_out "base  $T/base: 3 ranks, "
run 4 compare "$T/new" "$T/base" -o "$T/c.json"
grep -q '"base_size": {"ranks": 3, ' "$T/c.json" || fail "no size of the baseline: $(head -c 300 "$T/c.json")"
run 4 compare "$T/base" "$T/new"
if grep -q 'baseline: rank' "$T/stderr"; then fail 'the wrong side is blamed'; fi

# The same for modes with --bp, also in the summary.
run 4 -m cluster_time_compare_summary -d "$T/new" --bp "$T/base" -o "$T/out" --json-summary "$T/s.json"
says 'baseline: rank 1: '
python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
assert s["exit_status"] == 4 and s["done"] == 4 and s["baseline"]["done"] == 3 and s["baseline"]["failed"] == 1, s
assert s["baseline"]["ranks"][1]["status"] == "failed" and "message" in s["baseline"]["ranks"][1]' "$T/s.json"

# Nothing of the baseline can be read: damaged is 1, no profile at all is 3.
run 1 compare "$T/new" "$path"
says 'baseline: no rank could be used: '
mkdir "$T/empty"
run 3 compare "$T/new" "$T/empty"
