#!/bin/sh
# The tables that one mode writes about a small job made for it: two stages, two tensor ranks each, two steps, the second
# stage slower, the durations uneven.
#
#   sh tests/golden/mode.sh MODE [OPTIONS OF cluster...]
#
# Tables of one rank alone are shown for rank 0.
set -eu
mode=$1
shift
[ -d "$T/in" ] || pipescope simulate 1f1b --pp 2 --tp 2 --microbatches 2 --steps 2 --filler 3 --jitter 5 --slow-stage 1:1.4 \
    --seed 3 --profile "$T/in" --quiet >"$T/made"
status=0
pipescope cluster -m "$mode" -d "$T/in" -o "$T/out" --export_type csv --quiet "$@" | sed "s|Wrote .* files* into|Wrote into|" || status=$?
cd "$T/out/cluster_analysis_output"
find . -name '*.csv' | sed 's|^\./||' | grep -vE '(_|/)[1-9][0-9]*(\.csv|/)' | LC_ALL=C sort | while read -r table; do
    printf '\n%s\n' "$table"
    cat "$table"
done
exit $status
