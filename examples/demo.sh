#!/bin/sh
# What pipescope shows, on a real training that is recorded now: examples/pipeline, four processes that compute and wait for each
# other, under 1F1B with a slow stage and under DualPipeV. Called by `./dev demo`; writes below build/demo and nowhere else.
set -eu
: "${PIPESCOPE:=build/release/pipescope}"
example=$(dirname "$PIPESCOPE")/examples/example-pipeline
out=build/demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

show() { printf '\n$ %s\n\n' "$*"; }

train() {
    show example-pipeline "$@"
    "$example" "$@"
}

run() {
    show pipescope "$@"
    "$PIPESCOPE" "$@" --quiet
}

# Devices of 2 GFLOP/s, so that four of them do not take the processor from each other on a small or busy machine.
speed='--device-gflops 2'
PIPESCOPE_QUIET=1
export PIPESCOPE_QUIET

say '1F1B on four processes; stage 2 computes its products twice. The losses must be those of one process.'
# shellcheck disable=SC2086 # two words
train --schedule 1f1b --microbatches 8 --steps 4 --window 1:4 --slow-stage 2:2 $speed --check --output "$out/1f1b"

say 'The pipeline of a step, its bubble by cause, and the same work under other schedules.'
run chart "$out/1f1b"

say 'What to do about it.'
run report "$out/1f1b"

say 'The model, module by module.'
run cluster -m module_statistic -d "$out/1f1b" -o "$out/modules" --peak-tflops 0.002

say 'The chart that MindStudio Insight draws: labels and pairs of sends and receives, written into copies of the databases.'
run cluster -m pp_chart -d "$out/1f1b" -o "$out/labelled"

say 'DualPipeV: the forward of one half of the model together with the backward of the other.'
# shellcheck disable=SC2086 # two words
train --schedule dualpipev --microbatches 10 --steps 4 --window 1:4 $speed --check --output "$out/dualpipev"
run chart "$out/dualpipev"

say 'Pictures.'
run chart "$out/1f1b" -o "$out/1f1b.svg"
run chart "$out/1f1b" -o "$out/1f1b.html"
run chart "$out/dualpipev" --against dualpipev -o "$out/dualpipev.svg"
run chart "$out/dualpipev" --against dualpipev -o "$out/dualpipev.html"
run report "$out/1f1b" -o "$out/report.html"

program=${PIPESCOPE#"$PWD"/}
cat <<TEXT

Open in a browser:
  $out/1f1b.html        the slow stage
  $out/dualpipev.html   DualPipeV, with the theory below each stage
  $out/report.html      what to do
or look at everything:  $program serve $out/1f1b

Your own program:       $program record -o traces -- COMMAND
Your own data:          $program info DIR, then $program chart DIR
TEXT
