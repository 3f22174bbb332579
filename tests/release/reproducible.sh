#!/bin/sh
# Two builds of the last commit by one generator (another one links objects in another order), in folders with names of different lengths,
# one below its source and one beside it, give the same bytes: the program and both libraries. REPRODUCIBLE_BUILD_TYPE: Debug compiles
# quicker, and has the paths that give such things away.
set -eu
cd "$(dirname "$0")/../.."
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset CMAKE_C_COMPILER_LAUNCHER # a cache would give back what the first build made

# make_build SOURCE BUILD
make_build() {
    mkdir -p "$1"
    git archive HEAD | tar -x -C "$1"
    {
        cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE="${REPRODUCIBLE_BUILD_TYPE:-RelWithDebInfo}"
        cmake --build "$2" --target pipescope pipescope-library pipescope-record
    } >"$T/log" 2>&1 || {
        tail -n 20 "$T/log"
        echo 'reproducible: it does not build'
        exit 1
    }
}

make_build "$T/a" "$T/a/build"
make_build "$T/another folder/with/source" "$T/elsewhere"
bad=0
for file in pipescope libpipescope.so libpipescope-record.so; do
    if ! cmp -s "$T/a/build/$file" "$T/elsewhere/$file"; then
        echo "reproducible: $file differs"
        bad=1
    fi
    if strings -n 6 "$T/a/build/$file" | grep -qF "$T"; then
        echo "reproducible: $file names the folder where it was built"
        bad=1
    fi
done
[ $bad = 1 ] || echo "reproducible: $(cd "$T/a/build" && sha256sum pipescope libpipescope.so libpipescope-record.so | cut -c 1-16 | tr '\n' ' ')from both"
exit $bad
