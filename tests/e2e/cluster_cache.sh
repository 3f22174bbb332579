#!/bin/sh
# --cache: what a second run takes from there is, byte for byte, what the first one made, and no rank is read. A rank that changed is
# read anew, and so is one whose entry is damaged.
# threads: ranks, and a cache that several fill
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 4 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet
ranks=8
cache=$T/cache

# took READ TAKEN: what the last run said of the cache
took() { says "read $1 rank$([ "$1" = 1 ] || echo s), took $2 from $cache"; }

# files DIR: the results as files, without the texts of workbooks, which name the time
files() { (cd "$1" && find . -type f -name '*.csv' -exec sha256sum {} + | sort); }

# --- the modes of the cluster, and those that write into databases ---

run 0 cluster -m every,pp_chart -d "$T/in" -o "$T/without" --export_type csv
cp "$T/stdout" "$T/shown"
for turn in first second third; do
    run 0 cluster -m every,pp_chart -d "$T/in" -o "$T/$turn" --export_type csv --cache "$cache" --verbose
    [ "$(files "$T/$turn")" = "$(files "$T/without")" ] || fail "$turn: other files than without a cache"
    sed "s|$T/$turn|$T/without|g" "$T/stdout" | cmp -s - "$T/shown" || fail "$turn: shows something else"
    case $turn in
        first) says ", took 0 from $cache" ;;
        *) says "read 0 ranks, took " ;;
    esac
done

# The databases that pp_chart mirrors are the same, too.
run 0 cluster -m pp_chart -d "$T/in" -o "$T/mirror" --cache "$cache" --verbose
took $ranks 0
dump "$T/mirror" >"$T/dumped"
run 0 cluster -m pp_chart -d "$T/in" -o "$T/mirror_again" --cache "$cache" --verbose
took 0 $ranks
same_dump "$T/mirror_again" "$T/dumped"

# --- commands that draw and judge ---

for command in chart report whatif compare; do
    set -- "$T/in"
    if [ $command = compare ]; then
        set -- "$T/in" "$T/in"
    fi
    run 0 $command "$@"
    cp "$T/stdout" "$T/$command"
    run 0 $command "$@" --cache "$cache"
    cmp -s "$T/stdout" "$T/$command" || fail "$command says something else with a cache"
    run 0 $command "$@" --cache "$cache" --verbose
    says "read 0 ranks, took "
    cmp -s "$T/stdout" "$T/$command" || fail "$command says something else out of the cache"
done

# --- what makes another key ---

run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took $ranks 0
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took 0 $ranks
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose --step_id 1
took $ranks 0
cp "$T/stdout" "$T/step"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --step_id 1
cmp -s "$T/stdout" "$T/step" || fail "another step than the one that was asked for"

# One rank has other content, another one another time: both are read, and the results are those of a run without a cache.
path=$(database "$T/in" 3)
sql "$path" "UPDATE TASK SET endNs = endNs + 1000 WHERE rowid = 1"
touch -d '2001-01-01' "$(database "$T/in" 5)"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took 2 6
cp "$T/stdout" "$T/changed"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o"
cmp -s "$T/stdout" "$T/changed" || fail "the changed rank is not what counts"

# --- entries that are none ---

# Every entry loses its end, or has a byte changed in the middle.
n=0
for entry in "$cache"/pipescope-rank-*; do
    n=$((n + 1))
    size=$(stat -c %s "$entry")
    if [ $((n % 2)) = 0 ]; then
        truncate -s $((size - 1)) "$entry"
    else
        printf '\377\376' | dd of="$entry" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
    fi
done
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took $ranks 0
says "$ranks of the cache were damaged: read again and replaced"
cmp -s "$T/stdout" "$T/changed" || fail "damaged entries count"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took 0 $ranks

# --- several at once, and how much is kept ---

rm -r "$cache"
pids=
for i in 1 2 3; do
    pipescope cluster -m slow_rank -d "$T/in" -o "$T/at$i" --cache "$cache" >"$T/at$i.txt" 2>"$T/at$i.err" &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid" || fail "one of several runs with one cache failed"
done
for i in 1 2 3; do
    sed "s|$T/at$i|$T/o|g" "$T/at$i.txt" | cmp -s - "$T/changed" || fail "run $i of several shows something else"
done
[ "$(find "$cache" -type f | wc -l)" = $ranks ] || fail "other files than one a rank: $(ls "$cache")"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --verbose
took 0 $ranks

one=$(stat -c %s "$cache"/* | sort -n | tail -n 1)
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --cache-size $((3 * one))
kept=$(cat "$cache"/* | wc -c) # files differ in size: bytes are what is bounded
[ "$kept" -le $((3 * one)) ] || fail "$kept bytes are kept, $((3 * one)) may be"
echo 'not ours' >"$cache/notes.txt"
echo 'not ours' >"$cache/my-pipescope-rank-notes.bin"
run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache" --cache-size 1
left=$(cd "$cache" && echo *)
[ "$left" = 'my-pipescope-rank-notes.bin notes.txt' ] || fail "not all, or too much, is taken out: $left"
run 2 cluster -m slow_rank -d "$T/in" --cache "$cache" --cache-size much
says "--cache-size wants a size such as 8G"

# Where nothing can be kept, the run does what it does without a cache, and says so.
if [ "$(id -u)" != 0 ]; then
    chmod a-w "$cache"
    run 0 cluster -m slow_rank -d "$T/in" -o "$T/o" --cache "$cache"
    says "not all could be kept in $cache"
    chmod u+w "$cache"
fi

# Which processes are which ranks: another expression makes other ranks of the same file.
python3 - "$T/merged.json" <<'PY'
import json
import sys

events = []
for pid, name, at in ((10, "node0 gpu1", 0), (20, "node1 gpu0", 1500)):
    events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}})
    for i, kind in enumerate(("forward", "backward") * 2):
        events.append({"ph": "X", "name": kind, "cat": "xx", "pid": pid, "tid": 1, "ts": at + 5000 * i, "dur": 1000})
json.dump({"traceEvents": events}, open(sys.argv[1], "w"))
PY
for names in node gpu node; do
    run 0 chart "$T/merged.json" --pp 2 --forward-re ^forward --backward-re ^backward --rank-from "$names([0-9])" \
        --cache "$T/of_merged" --verbose
    grep -o 'read [0-9] ranks, took [0-9]' "$T/stderr" >>"$T/reads"
done
[ "$(paste -sd, "$T/reads")" = 'read 2 ranks, took 0,read 2 ranks, took 0,read 0 ranks, took 2' ] || fail "$(cat "$T/reads")"
