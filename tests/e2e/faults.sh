#!/bin/sh
# A sample of the calls of the operating system that may fail, in every command (tests/faults): the same output, or an error that
# names the file and leaves nothing behind. `./dev faults` runs all of them.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

[ -e "$PIPESCOPE_PROGRAMS/lib_faults.so" ] || skip "no $PIPESCOPE_PROGRAMS/lib_faults.so"
case $PIPESCOPE_BIN in
*/release/*) ;;
*) skip "only in the release build: sanitizers and a preloaded allocator do not go together" ;;
esac
# Files are flushed thousands of times: memory does it at once, whatever else writes to the disk.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
python3 tests/faults/faults.py --each 2 --patience 200 || fail "a call that failed was not told, or left something behind"
