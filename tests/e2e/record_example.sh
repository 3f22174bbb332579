#!/bin/sh
# The training of examples/pipeline, recorded: what the charts say ran is what the processes say they ran, and the analyses
# work on it as on any profile.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip "no python3"
example=${PIPESCOPE_EXAMPLES:-build/release/examples}/example-pipeline
[ -x "$example" ] || fail "no program at $example"

# train FOLDER OPTIONS...: small layers, and the losses must be those of one process.
train() {
    folder=$1
    shift
    "$example" --width 64 --rows 16 --layers 8 --steps 3 --output "$T/$folder" --log "$T/$folder.log" --check "$@" \
        >"$T/$folder.losses" 2>"$T/$folder.stderr" || {
        cat "$T/$folder.losses" "$T/$folder.stderr" >&2
        fail "$folder did not run"
    }
}

# as_executed FOLDER SCHEDULE RANKS FIRST END
as_executed() {
    run 0 chart "$T/$1" -o "$T/$1.json"
    python3 tests/e2e/lib/check_chart.py "$T/$1.json"
    python3 tests/e2e/lib/check_recorded.py "$T/$1.json" "$T/$1.log" "$2" "$3" "$4" "$5" || fail "$1"
}

# --- each schedule ---

for schedule in 1f1b gpipe interleaved zb-h1 dualpipev; do
    train "$schedule" --schedule "$schedule"
    as_executed "$schedule" "$schedule" 4 0 3
    # Without the metadata its order tells.
    for folder in "$T/$schedule"/*_ascend_pt; do
        sql "$(databases "$folder")" "UPDATE META_DATA SET value = '{\"microbatch_num\": 8}' WHERE name = 'pp_info'"
        rm "$folder/profiler_metadata.json"
    done
    run 0 chart "$T/$schedule" -o "$T/$schedule.json"
    python3 -c "
import json, sys
chart = json.load(open(sys.argv[1]))
assert chart['schedule'] == sys.argv[2] and chart['schedule_how'].startswith('recognised'), chart['schedule_how']
" "$T/$schedule.json" "$schedule" || fail "$schedule is not recognised"
done
