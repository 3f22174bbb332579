#!/bin/sh
# Every query of docs/cookbook.md prints what stands there, and its Python line asks the same.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# Python itself has no sanitizer: a library that has one is not loaded.
case $(dirname "$PIPESCOPE_BIN") in
*/release) package='' ;;
*/build/*) package=--no-package ;;
*) package='' ;;
esac
# shellcheck disable=SC2086
python3 -B tests/support/cookbook.py "$PIPESCOPE_BIN" docs/cookbook.md $package >"$T/log" || fail "docs/cookbook.md: $(cat "$T/log")"

# What a page says that is not so is found.
sed 's/^   0  Computing  /   0  Computing X/' docs/cookbook.md >"$T/wrong.md"
if python3 -B tests/support/cookbook.py "$PIPESCOPE_BIN" "$T/wrong.md" >"$T/log" 2>&1; then
    fail 'a wrong answer on the page passes'
fi
grep -q '^recipe 1 prints' "$T/log" || fail "not told apart: $(cat "$T/log")"
