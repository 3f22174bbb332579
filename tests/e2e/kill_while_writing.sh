#!/bin/sh
# kill -9 at random moments: each database is as before or complete, and the next run needs no help.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

pipescope simulate 1f1b --pp 2 --microbatches 256 --steps 4 --profile "$T/in" >"$T/log"
# Under the thread sanitizer all is slow, and races are not what is looked for here.
rounds=48
case $PIPESCOPE_BIN in */tsan/*) rounds=12 ;; esac
python3 tests/e2e/lib/kill_writer.py "$T/in" "$T/work" $rounds
