#!/bin/sh
# kill -9 at random moments: each database is as before or complete, and the next run needs no help.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

pipescope simulate 1f1b --pp 2 --microbatches 256 --steps 4 --profile "$T/in" >"$T/log"
python3 tests/e2e/lib/kill_writer.py "$T/in" "$T/work" 48
