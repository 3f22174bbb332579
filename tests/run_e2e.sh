#!/bin/sh
# Runs one end-to-end script: tests/run_e2e.sh tests/e2e/<name>.sh
#
# The script is POSIX sh and starts in the repository root with `pipescope` (also $PIPESCOPE_BIN) as the program under
# test, $T a fresh folder that is removed afterwards, $DATA = tests/data and $PIPESCOPE_SHARED_DATA = a folder of large
# samples that may be absent. Exit status: 0 passed, 77 skipped (the last line printed says why), anything else failed.
set -u

if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    echo "usage: tests/run_e2e.sh tests/e2e/<name>.sh" >&2
    exit 2
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
script=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
PIPESCOPE_BIN=${PIPESCOPE_BIN:-$root/build/release/pipescope}
if [ ! -x "$PIPESCOPE_BIN" ]; then
    echo "no program at $PIPESCOPE_BIN" >&2
    exit 1
fi
bin_dir=$(CDPATH='' cd -- "$(dirname -- "$PIPESCOPE_BIN")" && pwd)
cd "$root" || exit 1

T=$(mktemp -d) || exit 1
T=$(CDPATH='' cd -- "$T" && pwd -P)
cleanup() {
    chmod -R u+w "$T" 2>/dev/null
    rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

PIPESCOPE_BIN=$bin_dir/$(basename -- "$PIPESCOPE_BIN")
PIPESCOPE_SHARED_DATA=${PIPESCOPE_SHARED_DATA:-$root/../shared/data}
DATA=tests/data
PATH=$bin_dir:$PATH
LC_ALL=C
TZ=UTC0
# What recordings of PyTorch build once (python/pipescope/_observer.py).
PIPESCOPE_CACHE_DIR=${PIPESCOPE_CACHE_DIR:-$root/build/cache/observer}
export PIPESCOPE_CACHE_DIR
export T DATA PATH LC_ALL TZ PIPESCOPE_BIN PIPESCOPE_SHARED_DATA
unset NO_COLOR
sh "$script" </dev/null
