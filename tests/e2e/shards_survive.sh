#!/bin/sh
# kill -9 of a shard, of who reduces and of a run that fills a cache, and a disk that is full for them: named, nothing half-written, and
# the next run goes on.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 2 --dp 2 --microbatches 4 --steps 2 --filler 40 --profile "$T/in" --quiet
rounds=10
case $PIPESCOPE_BIN in */tsan/*) rounds=4 ;; esac
mkdir "$T/killed"
python3 tests/e2e/lib/kill_shards.py "$T/in" "$T/killed" $rounds

# --- no room ---

one() { pipescope cluster -m slow_rank -d "$T/in" -o "$T/out" --export_type csv "$@"; }
one --quiet >"$T/log"
(cd "$T/out" && find . -type f -exec sha256sum {} + | sort) >"$T/whole"
rm -r "$T/out"

# cramped STATUS BLOCKS ARGS...: no file may be larger than so many blocks of 512 bytes; what is said goes through a pipe
cramped() {
    wanted=$1
    blocks=$2
    shift 2
    {
        got=0
        (
            trap '' XFSZ
            ulimit -f "$blocks"
            one "$@" 2>&1 >/dev/null
        ) || got=$?
        echo $got >"$T/status"
    } | cat >"$T/stderr"
    [ "$(cat "$T/status")" = "$wanted" ] ||
        fail "exit $(cat "$T/status") instead of $wanted in $blocks blocks: $* : $(cat "$T/stderr")"
}
nothing_in() {
    [ ! -e "$1" ] || left=$(find "$1" -type f)
    [ -z "${left-}" ] || fail "half-written: $left"
}
whole_out() {
    (cd "$T/out" && find . -type f -exec sha256sum {} + | sort) | cmp -s - "$T/whole" || fail "the next run makes something else"
    rm -r "$T/out"
}

for blocks in 0 1; do
    # A shard cannot leave what it is for.
    rm -rf "$T/parts"
    cramped 1 $blocks --shard 1/1 --partials "$T/parts"
    says "$T/parts/1/rank-00000"
    says 'File too large'
    nothing_in "$T/parts"
    run 0 cluster -m slow_rank -d "$T/in" --shard 1/1 --partials "$T/parts"
    # Who reduces says which result there is no room for.
    cramped 1 0 --reduce "$T/parts"
    says "$T/out/cluster_analysis_output"
    nothing_in "$T/out"
    one --reduce "$T/parts" --quiet >"$T/log"
    whole_out
done
# A cache that cannot keep is none, and no reason to fail; the results are small enough for a file of these.
largest=$(find "$T/parts" -type f -printf '%s\n' | sort -n | tail -n 1)
[ "$largest" -gt 2048 ] || fail "a partial of $largest bytes is too small for this test"
cramped 0 4 --cache "$T/cache"
says "not all could be kept in $T/cache"
nothing_in "$T/cache"
whole_out
one --cache "$T/cache" --quiet >"$T/log"
whole_out

# --- a rank that may be there ---

# A folder that cannot be looked at is no rank that is not there: nothing to compare is a failure then, and a shard says that its ranks
# may not be all.
mkdir "$T/one"
cp -Rp "$(dirname "$(dirname "$(database "$T/in" 0)")")" "$T/one/"
run 3 cluster -m slow_rank -d "$T/one" -o "$T/out"
ln -s loop_ascend_pt "$T/one/loop_ascend_pt"
run 1 cluster -m slow_rank -d "$T/one" -o "$T/out"
says 'loop_ascend_pt'
run 4 cluster -m slow_rank -d "$T/one" --shard 1/1 --partials "$T/one_parts"
says 'loop_ascend_pt'
