#!/bin/sh
# The libraries show what tests/abi lists and nothing else; a program built against the headers of an older version links with them and runs.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
: "${PIPESCOPE_ANALYSIS_LIBRARY:?}" "${PIPESCOPE_RECORD_LIBRARY:?}"

if grep -q '__asan_init\|__tsan_init' "$PIPESCOPE_RECORD_LIBRARY"; then
    skip 'sanitizers add symbols, and programs without them do not link'
fi
folder=$(dirname "$PIPESCOPE_RECORD_LIBRARY")
for name in libpipescope libpipescope-record; do
    nm -D --defined-only "$folder/$name.so" | awk '$2 ~ /^[TDBRVW]$/ { sub(/@.*/, "", $3); print $3 }' | grep -v '^__\(gcov\|llvm\)' |
        sort -u >"$T/visible"
    gone=$(grep -vxF -f "$T/visible" "tests/abi/$name.txt" || true)
    new=$(grep -vxF -f "tests/abi/$name.txt" "$T/visible" || true)
    [ -z "$gone" ] || fail "$name.so.0 has no longer: $gone: programs that call it fail (docs/versions.md)"
    [ -z "$new" ] || fail "$name shows what tests/abi/$name.txt does not list: $new"
    objdump -p "$folder/$name.so" | grep -q "SONAME *$name.so.0\$" || fail "the number of $name"
done

profile=$DATA/torch_pipeline/gpipe
version=$(pipescope version | sed -n 's/^pipescope \([0-9.]*\) .*/\1/p')
rows=$(pipescope --quiet query "$profile" 'SELECT count(*) FROM slice' --as csv | tail -n 1 | tr -d '\r')
for headers in tests/abi/*/include; do
    cc -std=c11 -Wall -Wextra -Werror -I"$headers" tests/e2e/lib/consumer/consumer.c -o "$T/old" -L"$folder" -lpipescope -lpipescope-record ||
        fail "a program of $headers does not link"
    (cd "$T" && PIPESCOPE_QUIET=1 LD_LIBRARY_PATH=$folder ./old "$OLDPWD/$profile") >"$T/stdout" || fail "a program of $headers"
    says_out "$version $version $rows rows, range recorded"
done
