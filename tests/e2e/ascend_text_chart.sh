#!/bin/sh
# The chart of a text export is the chart of the database of the same recording: marks, sends and receives, steps.
set -eu
. tests/e2e/lib/common.sh

for what in '1f1b --pp 4' 'dualpipev --pp 4'; do
    rm -rf "$T/db" "$T/text" "$T/one" "$T/two"
    mkdir -p "$T/one" "$T/two"
    # shellcheck disable=SC2086 # a schedule and its options
    run 0 simulate $what --microbatches 8 --steps 2 --profile "$T/db"
    python3 tests/support/db_to_text.py "$T/db" "$T/text"
    mv "$T/db" "$T/one/profile"
    mv "$T/text" "$T/two/profile"
    run 0 chart "$T/one/profile" -o "$T/one/chart.json"
    run 0 chart "$T/two/profile" -o "$T/two/chart.json"
    grep -q '"kind":"SEND"' "$T/two/chart.json"
    cmp "$T/one/chart.json" "$T/two/chart.json"
done
