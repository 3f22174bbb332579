#!/bin/sh
# Every number on every page of real captures is that of the command line. Skips without Chromium, node, web/node_modules or the sample data.
set -eu

# shellcheck source=tests/e2e/lib/numbers.sh
. tests/e2e/lib/numbers.sh

browser
sample() {
    if [ -e "$PIPESCOPE_SHARED_DATA/$2" ]; then
        numbers "$1" "$PIPESCOPE_SHARED_DATA/$2"
    else
        absent="${absent-} $2"
    fi
}
sample 'Ascend db' ascend/db/level1
sample 'Ascend text' ascend/text/level1
sample Kineto kineto/two_ranks
[ -n "$numbers_asked" ] || skip "no sample data:${absent-}"
[ -z "${absent-}" ] || echo "not looked at, no sample data:$absent"
numbers_end
