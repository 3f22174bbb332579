#!/bin/sh
# One thread or several: the same tables, the same text, the same files.
# threads: ranks of every analysis in 1, 2 and 7 threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

pipescope simulate 1f1b --pp 4 --dp 2 --microbatches 8 --steps 2 --jitter 10 --drop-marks 2 --profile "$T/classic" >"$T/log"
pipescope simulate dualpipev --pp 4 --microbatches 10 --steps 2 --drop-marks 1 --profile "$T/dualpipev" >"$T/log"
sample "$T/sample"

for input in classic dualpipev sample; do
    for jobs in 1 2 7; do
        rm -rf "$T/in"
        cp -R "$T/$input" "$T/in"
        run 0 -m pp_chart -d "$T/in" -j $jobs --json-summary "$T/summary"
        {
            dump "$T/in"
            cat "$T/stdout" "$T/stderr" "$T/summary"
        } >"$T/$input.$jobs"
        run 0 -m pp_chart -d "$T/in" -j $jobs --export_type csv -o "$T/files"
        run 0 -m pp_chart -d "$T/in" -j $jobs --export_type json -o "$T/files"
        (cd "$T/files" && find . -type f | sort | while read -r name; do
            echo "$name"
            cat "$name"
        done) >"$T/$input.$jobs.files"
        [ -s "$T/$input.$jobs.files" ]
        rm -rf "$T/files"
        cmp "$T/$input.$jobs" "$T/$input.1"
        cmp "$T/$input.$jobs.files" "$T/$input.1.files"
        # Ranks in another order on the command line are the same ranks.
        run 0 -m pp_chart -d "$T/in" -j $jobs --rank_list 3,1,2,0
        dump "$T/in" >"$T/again"
        [ $input = classic ] || head -c "$(wc -c <"$T/again")" "$T/$input.1" | cmp - "$T/again"
    done
done
