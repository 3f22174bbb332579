#!/bin/sh
# Pictures of simulated steps: SVG that an XML parser takes, whose texts do not overlap; JSON as docs/formats/chart-json.md says.
set -eu

for case in '1f1b 4 8' '1f1b 8 32' '1f1b 64 512' 'dualpipev 4 8' 'dualpipev 8 32' 'zb-h1 4 8'; do
    # shellcheck disable=SC2086 # a schedule and two numbers
    set -- $case
    for kind in svg json html; do
        "$PIPESCOPE_BIN" simulate "$1" --pp "$2" --microbatches "$3" -o "$T/$1-$2-$3.$kind" >/dev/null
    done
done
python3 tests/e2e/lib/check_chart.py "$T"/*.svg "$T"/*.json
