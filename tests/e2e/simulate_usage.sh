#!/bin/sh
# simulate: the chart in text, and usage errors that name the option and the rule.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 > "$T/chart"
grep -q '27.3 %' "$T/chart" || fail "bubble of 1F1B, p = 4, m = 8: 3 / 11"
[ "$(grep -c '^stage ' "$T/chart")" = 4 ] || fail "one row a stage"
"$PIPESCOPE_BIN" simulate DualPipeV --pp 2 --microbatches 4 --fb-us 26000.5 > /dev/null

# refused WORDS... -- options: status 2 and every word of the message
refused() {
    words=$1
    shift
    status=0
    "$PIPESCOPE_BIN" simulate "$@" > "$T/out" 2> "$T/err" || status=$?
    [ $status = 2 ] || fail "simulate $*: status $status"
    [ ! -s "$T/out" ] || fail "simulate $*: printed to stdout"
    for word in $words; do
        grep -q -e "$word" "$T/err" || fail "simulate $*: '$word' is not in: $(cat "$T/err")"
    done
}

refused 'SCHEDULE' --pp 4 --microbatches 8
refused '1f1v 1f1b' 1f1v --pp 4 --microbatches 8
refused '--pp missing' 1f1b --microbatches 8
refused '--microbatches missing' 1f1b --pp 4
refused '--pp 4096' 1f1b --pp 0 --microbatches 8
refused '--pp 4096' 1f1b --pp -3 --microbatches 8
refused '--pp 1e9' 1f1b --pp 1e9 --microbatches 8
refused '--pp 4096' 1f1b --pp 4097 --microbatches 8
refused '--microbatches 65536' 1f1b --pp 4 --microbatches 65537
refused '--microbatches 2p 8' dualpipev --pp 4 --microbatches 7
refused '--f-us' 1f1b --pp 4 --microbatches 8 --f-us -1
refused '--w-us --b-us' dualpipev --pp 4 --microbatches 8 --w-us 20000
refused '--filler --profile' 1f1b --pp 4 --microbatches 8 --filler 5
refused 'many' 1f1b --pp 4096 --microbatches 65536
refused 'drop 17 16' 1f1b --pp 4 --microbatches 8 --drop-marks 17 --profile "$T/new"
refused '--dp 4096' 1f1b --pp 4 --microbatches 8 --dp 2000 --profile "$T/new"
[ ! -e "$T/new" ] || fail "a refused profile left a directory"
