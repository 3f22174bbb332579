#!/bin/sh
# --shard, --reduce: a run that is shared out to processes makes, byte for byte, what one process makes, in however many parts and
# threads. What is missing, damaged or foreign is named, and nothing is written.
# threads: shards and reduces in 1, 2 and more threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 4 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet
modes=every,pp_chart

# results DIR: tables as files, and databases of ranks as text
results() {
    (cd "$1" && find . -type f -name '*.csv' -exec sha256sum {} + | sort)
    dump "$1"
}

# sharded N TYPE OUT: the job in N parts, in a folder of their own
sharded() {
    parts=$T/parts$1
    rm -rf "$parts"
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        shard=0
        pids=
        while [ $shard -lt "$1" ]; do
            shard=$((shard + 1))
            pipescope cluster -m $modes -d "$T/in" --shard $shard/"$1" --partials "$parts" --quiet &
            pids="$pids $!"
        done
        for pid in $pids; do
            wait "$pid" || fail "a shard of $1 failed in round $round"
        done
        run 0 cluster -m $modes -d "$T/in" -o "$3" --export_type "$2" --reduce "$parts"
        [ $round = "$rounds" ] || says "round $((round + 1)) of at most $rounds reads ranks once more"
        [ $round = "$rounds" ] || [ ! -e "$3" ] || fail "something is written in the middle"
    done
}

run 0 cluster -m $modes --rounds
rounds=$(cat "$T/stdout")
[ "$rounds" = 2 ] || fail "$rounds rounds"
run 0 cluster -m slow_rank,pp_chart --rounds
[ "$(cat "$T/stdout")" = 1 ] || fail "modes that read ranks once"

# --- the same bytes ---

for threads in 1 2 8; do
    run 0 cluster -m $modes -d "$T/in" -o "$T/out" --export_type csv -j $threads
    results "$T/out" >"$T/whole$threads"
    cp "$T/stdout" "$T/shown"
    rm -r "$T/out"
    cmp -s "$T/whole1" "$T/whole$threads" || fail "$threads threads make something else"
done
run 0 cluster -m $modes -d "$T/in" -o "$T/out"
results "$T/out" >"$T/databases"
rm -r "$T/out"

for shards in 1 3 7; do
    sharded $shards csv "$T/out"
    results "$T/out" >"$T/sharded"
    cmp -s "$T/whole1" "$T/sharded" || fail "$shards shards make something else"
    cmp -s "$T/stdout" "$T/shown" || fail "the end of $shards shards says something else"
    rm -r "$T/out"
done
sharded 3 db "$T/out"
results "$T/out" >"$T/sharded"
cmp -s "$T/databases" "$T/sharded" || fail "shards write other databases"
rm -r "$T/out"

# A mode that compares: the baseline is read by who reduces.
modes=cluster_time_compare_summary
rounds=1
run 0 cluster -m $modes -d "$T/in" -o "$T/out" --bp "$T/in" --export_type csv
results "$T/out" >"$T/compared"
rm -r "$T/out" "$T/parts3"
for shard in 1 2 3; do
    run 0 cluster -m $modes -d "$T/in" --bp "$T/in" --shard $shard/3 --partials "$T/parts3"
    says "round 1 of at most 1: the partials of"
done
run 0 cluster -m $modes -d "$T/in" -o "$T/out" --bp "$T/in" --export_type csv --reduce "$T/parts3"
results "$T/out" | cmp -s - "$T/compared" || fail "shards compare otherwise"
rm -r "$T/out"

# --- what cannot be reduced ---

modes=slow_rank
parts=$T/parts
refused() {
    run 1 cluster -m $modes -d "$T/in" -o "$T/out" --reduce "$parts"
    says "$1"
    [ ! -e "$T/out" ] || fail "something is written"
}
refused 'partials of 8 of 8 ranks are missing in round 1: 0, 1, 2, 3, 4, 5, 6, 7'
for shard in 1 3; do
    run 0 cluster -m $modes -d "$T/in" --shard $shard/3 --partials "$parts"
done
refused 'partials of 3 of 8 ranks are missing in round 1: 1, 4, 7'
run 0 cluster -m $modes -d "$T/in" --shard 2/3 --partials "$parts"

cp "$parts/1/rank-000003" "$T/kept"
truncate -s -1 "$parts/1/rank-000003"
refused "$parts/1/rank-000003: it is cut"
cp "$T/kept" "$parts/1/rank-000003"
printf '\377' | dd of="$parts/1/rank-000003" bs=1 seek=100 conv=notrunc 2>/dev/null
refused "$parts/1/rank-000003: it is damaged"
# The shard makes that one again, and no other.
run 0 cluster -m $modes -d "$T/in" --shard 1/3 --partials "$parts"
cmp -s "$T/kept" "$parts/1/rank-000003" || fail "the damaged partial is not what it was"

cp "$parts/1/rank-000003" "$parts/1/rank-000008"
refused 'rank-000008 is of another capture: this one has 8 ranks'
rm "$parts/1/rank-000008"
cp "$parts/1/rank-000004" "$parts/1/rank-000003"
refused 'it was made from another capture'
cp "$T/kept" "$parts/1/rank-000003"
for other in "-m slow_rank,slow_link" "-m slow_rank --step_id 1"; do
    # shellcheck disable=SC2086
    run 1 cluster $other -d "$T/in" -o "$T/out" --reduce "$parts"
    says 'it was made with other modes or options'
done
touch -d '2001-01-01' "$(database "$T/in" 5)"
refused 'it was made from another capture: the rank or its files are others'
run 0 cluster -m $modes -d "$T/in" --shard 1/1 --partials "$parts"
run 0 cluster -m $modes -d "$T/in" -o "$T/out" --reduce "$parts"

# A rank that cannot be read is one of the result, as ever.
printf 'no database' >"$(database "$T/in" 2)"
run 4 cluster -m $modes -d "$T/in" -o "$T/out"
cp "$T/stderr" "$T/failed"
rm -r "$parts"
run 4 cluster -m $modes -d "$T/in" --shard 1/2 --partials "$parts"
says 'rank 2 failed'
run 0 cluster -m $modes -d "$T/in" --shard 2/2 --partials "$parts"
run 4 cluster -m $modes -d "$T/in" -o "$T/out" --reduce "$parts"
cmp -s "$T/stderr" "$T/failed" || fail "$(diff "$T/stderr" "$T/failed")"

# What failed is tried again, though nothing tells that it is another file.
cp -p "$(database "$T/in" 2)" "$T/stamp"
cat "$(database "$T/in" 3)" >"$(database "$T/in" 2)"
touch -r "$T/stamp" "$(database "$T/in" 2)"
run 0 cluster -m $modes -d "$T/in" --shard 1/2 --partials "$parts"
run 0 cluster -m $modes -d "$T/in" -o "$T/out" --reduce "$parts" --json-summary "$T/summary"
rm -r "$T/out"

# A partial that somebody took away after the reduce in the middle is made again.
modes=communication_bottleneck
run 0 simulate 1f1b --pp 2 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/fresh" --quiet
rm -r "$parts"
run 0 cluster -m $modes -d "$T/fresh" --shard 1/1 --partials "$parts" --json-summary "$T/shard_summary"
[ -s "$T/shard_summary" ] || fail "a shard writes no summary"
run 0 cluster -m $modes -d "$T/fresh" -o "$T/out" --reduce "$parts"
says 'reads ranks once more'
rm "$parts/1/rank-000001"
run 0 cluster -m $modes -d "$T/fresh" --shard 1/1 --partials "$parts"
says 'round 1 of at most 2'
run 0 cluster -m $modes -d "$T/fresh" -o "$T/out" --reduce "$parts"
run 0 cluster -m $modes -d "$T/fresh" --shard 1/1 --partials "$parts"
says 'round 2 of at most 2'
run 0 cluster -m $modes -d "$T/fresh" -o "$T/out" --reduce "$parts"
[ -e "$T/out" ] || fail "nothing is written in the end"
modes=slow_rank

# --- wrong words ---

run 2 cluster -m $modes -d "$T/in" --shard 1/2
says '--shard I/N and --partials DIR go together'
run 2 cluster -m $modes -d "$T/in" --shard 3/2 --partials "$parts"
says "--shard: '3/2' is none"
run 2 cluster -m $modes -d "$T/in" --shard 1/2 --partials "$parts" --reduce "$parts"
