#!/bin/sh
# What pipescope shows, on two simulated clusters: 1F1B with a slow stage, and DualPipeV with a lost mark on each rank.
# Called by `./dev demo`; writes below build/demo and nowhere else.
set -eu
: "${PIPESCOPE:=build/release/pipescope}"
out=build/demo
rm -rf "$out"
mkdir -p "$out"

run() {
    printf '\n$ pipescope %s\n\n' "$*"
    "$PIPESCOPE" "$@"
}

run simulate 1f1b --pp 4 --microbatches 8 --steps 2 --jitter 5 --slow-stage 2:1.3 --filler 2000 --seed 7 \
    --profile "$out/1f1b"
run chart "$out/1f1b"
run simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --drop-marks 1 --filler 2000 --seed 7 \
    --profile "$out/dualpipev"
run cluster -m pp_chart -d "$out/dualpipev"
run chart "$out/dualpipev" --against dualpipev -o "$out/chart.svg"
run chart "$out/dualpipev" --against dualpipev -o "$out/chart.html"

printf '\nLook at %s/chart.html in a browser and at %s/chart.svg.\n' "$out" "$out"
printf 'Your own data: %s info DIR, then %s chart DIR\n' "$PIPESCOPE" "$PIPESCOPE"
