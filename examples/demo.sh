#!/bin/sh
# What pipescope shows, on two simulated clusters: 1F1B, and DualPipeV with one lost mark on each rank.
# Called by `./dev demo`; writes below build/demo and nowhere else.
set -eu
: "${PIPESCOPE:=build/release/pipescope}"
out=build/demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n$ pipescope %s\n\n' "$*"; }

run() {
    say "$@"
    "$PIPESCOPE" "$@"
}

run simulate 1f1b --pp 4 --microbatches 8 --steps 2 --jitter 5 --filler 2000 --seed 7 --profile "$out/1f1b"
run cluster -m pp_chart -d "$out/1f1b"
run simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --drop-marks 1 --filler 2000 --seed 7 \
    --profile "$out/dualpipev"
run cluster -m pp_chart -d "$out/dualpipev"

printf '\nNow on your own data: %s info DIR, then %s cluster -m pp_chart -d DIR -o COPIES\n' "$PIPESCOPE" "$PIPESCOPE"
