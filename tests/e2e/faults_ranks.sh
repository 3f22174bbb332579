#!/bin/sh
# Where ranks are looked for, and where the heads of traces say which they are: each call of the operating system fails once (tests/faults).
# A rank that could not be looked at is not one that is not there.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

[ -e "$PIPESCOPE_PROGRAMS/lib_faults.so" ] || skip "no $PIPESCOPE_PROGRAMS/lib_faults.so"
case $PIPESCOPE_BIN in
*/release/*) ;;
*) skip "only in the release build: sanitizers and a preloaded allocator do not go together" ;;
esac
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm # as in faults.sh
for kind in opendir readdir open; do
    python3 tests/faults/faults.py --patience 200 --command info-text --kind $kind || fail "a call of $kind that failed was not told"
done
python3 tests/faults/faults.py --patience 200 --command chart-json --kind read || fail "a read that failed was not told"
