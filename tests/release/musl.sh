#!/bin/sh
# The recorder on another C library: all C files compile by musl-gcc without warnings, libpipescope-record.so is linked with it, and a
# program that it runs records ranges, which the program of build/release reads.
set -eu
cd "$(dirname "$0")/../.."
command -v musl-gcc >/dev/null 2>&1 || {
    echo 'musl: no musl-gcc here (musl-tools): not checked'
    exit 0
}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
version=$(sed -n 's/.*PS_VERSION "\(.*\)".*/\1/p' src/base/version.h)
# Headers of the kernel and of libraries are those of this machine, behind musl's own.
triplet=$(gcc -print-multiarch)
set -- -std=c17 -O1 -fPIC -fvisibility=hidden -D_GNU_SOURCE "-DPIPESCOPE_VERSION=\"$version\"" -Wall -Wextra -Werror -Isrc -Iinclude \
    -idirafter /usr/include -idirafter "/usr/include/$triplet"

# shellcheck disable=SC2046 # words
{
    find src -name '*.c' ! -path 'src/mpi/*' ! -name '*_avx*.c' -print0 | xargs -0 -n 40 -P "$(nproc)" musl-gcc "$@" -fsyntax-only
    musl-gcc "$@" -shared -Wl,-z,nodelete -Wl,-z,now -pthread -o "$T/libpipescope-record.so" \
        $(find src/record -name '*.c') $(sed 's#^#src/base/#' src/record/base_files.txt) -ldl -lm
    musl-gcc "$@" -o "$T/job" tests/programs/record_control.c -L"$T" -lpipescope-record -Wl,-rpath,"$T"
} || {
    echo 'musl: it does not build'
    exit 1
}
# There is no SQLite for musl here: raw files stay, and who has it writes the databases.
PIPESCOPE_OUTPUT_DIR="$T/runs" "$T/job" start range 4 stop export >"$T/said" 2>&1 || {
    cat "$T/said"
    echo 'musl: the job failed'
    exit 1
}
program=${PIPESCOPE_BIN:-build/release/pipescope}
"$program" --quiet record --recover "$T/runs" >"$T/recovered" 2>&1 || {
    cat "$T/said" "$T/recovered"
    echo 'musl: what was recorded is not recovered'
    exit 1
}
n=$("$program" query "$T/runs" "SELECT count(*) FROM slice WHERE name = 'work' AND kind = 'mark'" --as csv | tail -n 1 | tr -d '\r')
[ "$n" = 4 ] || {
    echo "musl: $n ranges instead of 4"
    exit 1
}
echo 'musl: all files compile, the recorder runs, its 4 ranges are read'
