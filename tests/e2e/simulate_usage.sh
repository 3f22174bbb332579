#!/bin/sh
# simulate: the chart in text, and usage errors that name the option and the rule.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}

"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 > "$T/chart"
grep -q '27.3 %' "$T/chart" || fail "bubble of 1F1B, p = 4, m = 8: 3 / 11"
[ "$(grep -c '^stage [0-9]' "$T/chart")" = 4 ] || fail "one row a stage"
"$PIPESCOPE_BIN" simulate DualPipeV --pp 2 --microbatches 4 --fb-us 26000.5 > /dev/null

# Each of the others, and what it holds in memory.
for schedule in gpipe zb-h1 zb-h2 zb-v interleaved interleaved-zb looped-bfs vpp dualpipe ZBVZeroBubble; do
    "$PIPESCOPE_BIN" simulate $schedule --pp 4 --microbatches 8 --p2p-us 0.5 > "$T/chart" || fail "$schedule"
    [ "$(grep -c '^stage [0-9]' "$T/chart")" = 4 ] || fail "$schedule: one row a stage"
done
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 | grep -q '^activations held at most: 4 3 2 1 ' || fail "activations"
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 9 --chunks 3 --group 5 > /dev/null
"$PIPESCOPE_BIN" simulate interleaved --pp 4 --microbatches 8 --overlap --fb-us 26000 | grep -q '526 ms' || fail "overlap"
"$PIPESCOPE_BIN" simulate dualpipev --pp 4 --microbatches 10 --b-us 18000 --w-us 8000 --fb-us 24000 --tail full |
    grep -q '618 ms' || fail "the full tail"

# A schedule file: two stages, two microbatches, (m + p - 1)(F + B) = 90 ms; the options may only agree with it.
printf '0F0,0F1,,0B0,0B1\r\n,1F0,1B0,1F1,1B1\r\n' > "$T/own.csv"
"$PIPESCOPE_BIN" simulate "$T/own.csv" --pp 2 --microbatches 2 > "$T/chart"
grep -q 'own.csv, 2 stages, 2 microbatches' "$T/chart" || fail "title of a schedule file"
grep -q '90.0 ms' "$T/chart" || fail "length of a schedule file"
printf '0F0,0B0\n1F0,1B0,1F0\n' > "$T/twice.csv"
status=0
"$PIPESCOPE_BIN" simulate "$T/twice.csv" > "$T/out" 2> "$T/err" || status=$?
[ $status = 1 ] || fail "a wrong schedule file: status $status"
grep -q 'row 2, column 3 (1F0) repeats row 2, column 1 (1F0)' "$T/err" || fail "place in a file: $(cat "$T/err")"

# Durations from a file: F 10 15, B 20 20. Stage 1 from 10 on without a pause: 10 + 2 x 35, then the last B of stage 0.
printf 'stage,kind,ns\n0,F,10000000\n0,B,20000000\n1,F,15000000\n1,B,20000000\n' > "$T/times.csv"
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 2 --durations "$T/times.csv" | grep -q '100 ms' || fail "durations"
status=0
"$PIPESCOPE_BIN" simulate 1f1b --pp 3 --microbatches 2 --durations "$T/times.csv" > "$T/out" 2> "$T/err" || status=$?
[ $status = 1 ] || fail "missing durations: status $status"
grep -q 'times.csv: stage 2 has no duration of kind F' "$T/err" || fail "missing durations: $(cat "$T/err")"

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
refused '2p-1 7' zb-h2 --pp 4 --microbatches 6
refused 'even' dualpipe --pp 3 --microbatches 8
refused 'p.<=.g.<=.m' vpp --pp 4 --microbatches 3
refused 'm.mod.g' interleaved --pp 4 --microbatches 6
refused 'multiple' interleaved-zb --pp 4 --microbatches 9
refused '--chunks interleaved-zb zb-v' zb-v --pp 4 --microbatches 8 --chunks 3
refused '--tail dualpipev dualpipe' dualpipe --pp 4 --microbatches 8 --tail full
refused '--overlap interleaved' 1f1b --pp 4 --microbatches 8 --overlap
refused '--group own.csv' "$T/own.csv" --group 3
refused '--pp 2.rows' "$T/own.csv" --pp 3
refused '--microbatches' "$T/own.csv" --microbatches 3
refused '--profile' "$T/own.csv" --profile "$T/new"
refused 'none.csv' "$T/none.csv"
refused '--durations --f-us' 1f1b --pp 2 --microbatches 2 --durations "$T/times.csv" --f-us 5
[ ! -e "$T/new" ] || fail "a refused profile left a directory"
