#!/bin/sh
# Builds without the parts that may be left out: every combination compiles, with warnings as errors; what is left out says so by name
# when it is asked for, and is not linked; the smallest one gives the expected outputs of all golden cases that need none of them.
# One folder for all of them: each is configured from nothing, and compiles anew what its options change.
# MINIMAL_BUILD_TYPE: Debug is the quickest to compile; MINIMAL_OPTIONS: more options of CMake; MINIMAL_ONLY: one combination, as
# OFF-OFF-OFF-OFF (xlsx, serve, editline, isal).
set -eu
cd "$(dirname "$0")/../.."
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0

complain() {
    echo "minimal: $*"
    bad=1
}

# asks BUILD WORD ARGS...: exit 2, and a sentence with the remedy.
asks() {
    program=$1/pipescope
    word=$2
    shift 2
    got=0
    "$program" "$@" >"$T/stdout" 2>"$T/stderr" || got=$?
    [ "$got" = 2 ] || complain "exit $got instead of 2: $*"
    grep -q "this build leaves out .*$word.*-DPIPESCOPE_.*=ON" "$T/stderr" || complain "no remedy: $*: $(cat "$T/stderr")"
}

# check_parts BUILD XLSX SERVE EDITLINE ISAL
check_parts() {
    ldd "$1/pipescope" >"$T/linked"
    "$1/pipescope" version >"$T/version"
    if [ "$2" = OFF ]; then
        ! grep -q xlsxwriter "$T/linked" || complain 'libxlsxwriter is linked'
        grep -qx 'left out of this build: xlsx' "$T/version" || complain 'its version hides that workbooks are left out'
        asks "$1" xlsx cluster -m all -d "$T/job" -o "$T/out" --export_type xlsx
        asks "$1" xlsx cluster -m all -d "$T/job" -o "$T/out" --export_type text
        asks "$1" xlsx compare "$T/job" "$T/job" -o "$T/out.xlsx"
        asks "$1" xlsx compare "$T/job" "$T/job" -o "$T"
        if [ -e "$T/out" ] || [ -e "$T/out.xlsx" ]; then
            complain 'something was written'
        fi
    fi
    if [ "$3" = OFF ]; then
        ! grep -q microhttpd "$T/linked" || complain 'libmicrohttpd is linked'
        grep -qx 'left out of this build: serve' "$T/version" || complain 'its version hides that serve is left out'
        asks "$1" serve serve "$T/job" --port 1
        asks "$1" serve serve
        "$1/pipescope" serve --help >"$T/stdout" || complain 'serve --help'
    fi
    [ "$4" = ON ] || ! grep -q libedit "$T/linked" || complain 'libedit is linked'
    if [ "$5" = OFF ]; then
        ! grep -q libisal "$T/linked" || complain 'ISA-L is linked'
        grep -q libz "$T/linked" || complain 'zlib is not linked'
    fi
    # Its own gzip, read by itself and by another.
    "$1/pipescope" --quiet convert "$T/job" -o "$T/job.json.gz" >"$T/stdout" || complain 'convert'
    gzip -t "$T/job.json.gz" || complain 'its gzip is none'
    "$1/pipescope" --quiet info "$T/job.json.gz" >"$T/stdout" || complain 'its gzip is not read'
    "$1/pipescope" --quiet cluster -m all -d "$T/job" -o "$T/tables" --export_type csv >"$T/stdout" || complain 'cluster'
    "$1/pipescope" --quiet chart "$T/job" -o "$T/chart.html" >"$T/stdout" || complain 'chart'
}

# What is missing is told with its package and what it is for.
if cmake -S . -B "$T/without" -G Ninja -DCMAKE_IGNORE_PATH=/usr/include -DSQLite3_INCLUDE_DIR=/usr/include \
    -DXXHASH_INCLUDE_DIR=/usr/include >"$T/log" 2>&1; then
    complain 'it configures without ISA-L'
else
    tr -s '\n ' ' ' <"$T/log" | grep -q 'igzip_lib.h is missing (Debian: libisal-dev): it reads' || complain "ISA-L: $(tail -n 5 "$T/log")"
fi

build=build/parts
mkdir -p "$build"

# build_parts XLSX SERVE EDITLINE ISAL
build_parts() {
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles/CMakeTmp"
    # shellcheck disable=SC2086 # words
    cmake -S . -B "$build" -G Ninja ${MINIMAL_OPTIONS-} -DCMAKE_BUILD_TYPE="${MINIMAL_BUILD_TYPE:-Debug}" -DPIPESCOPE_DEV=ON -DPIPESCOPE_TESTS=ON \
        -DPIPESCOPE_XLSX="$1" -DPIPESCOPE_SERVE="$2" -DPIPESCOPE_EDITLINE="$3" -DPIPESCOPE_ISAL="$4" >"$build/log" 2>&1 &&
        cmake --build "$build" --target all >>"$build/log" 2>&1
}

# run_tests WHAT REGEX
run_tests() {
    ctest --test-dir "$build" --parallel "$(nproc)" -R "$2" >"$build/tests.log" 2>&1 || {
        tail -n 20 "$build/tests.log"
        complain "$1"
    }
    sed -n "s/^\\([0-9]*% tests passed.*\\)/minimal: $1: \\1/p" "$build/tests.log"
}

# Unit tests are of builds that have all parts: this one has, and another library for gzip.
check_zlib() {
    cmake --build "$build" --target test_input test_kineto test_write_xlsx >>"$build/log" 2>&1 || complain 'the tests of gzip do not build'
    run_tests 'gzip by zlib' '^unit\.(input|kineto|write_xlsx)$'
}

for xlsx in ON OFF; do
    for serve in ON OFF; do
        for editline in ON OFF; do
            for isal in ON OFF; do
                name=$xlsx-$serve-$editline-$isal
                [ "${MINIMAL_ONLY:-$name}" = "$name" ] || continue
                if ! build_parts $xlsx $serve $editline $isal; then
                    tail -n 20 "$build/log"
                    complain "xlsx $xlsx, serve $serve, editline $editline, isal $isal: it does not build"
                    continue
                fi
                [ -d "$T/job" ] || "$build/pipescope" --quiet simulate 1f1b --pp 2 --microbatches 4 --profile "$T/job" >"$T/stdout"
                check_parts "$build" $xlsx $serve $editline $isal
                [ $name != ON-ON-ON-OFF ] || check_zlib
                [ $name != OFF-OFF-OFF-OFF ] || run_tests 'golden cases of the smallest build' '^golden'
                rm -rf "$T/tables" "$T/chart.html" "$T/job.json.gz"
                echo "minimal: xlsx $xlsx, serve $serve, editline $editline, isal $isal: built"
            done
        done
    done
done
exit $bad
