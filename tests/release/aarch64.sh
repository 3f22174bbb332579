#!/bin/sh
# Builds for aarch64 with Debian's cross compiler and its packages for that machine, and runs unit tests and golden cases under qemu-user:
# what is expected of them is the same bytes as elsewhere. unit.trace_events compares the NEON paths with the plain ones, record_* test the
# recorder on the counter of ARM. AARCH64_LEFT_OUT: unit tests with a case that the emulator cannot run: it has no process_vm_readv
# (record_nvtx_payload) and no madvise for forks (record_ring, record_life), and starts no file of that machine by execve (record_threads).
# AARCH64_OPTIONS: more options of CMake, as -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1, which compiles quicker; CFLAGS=-DNDEBUG with it:
# assertions would find the emulator's own thread.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck disable=SC1091
. tests/release/tree.sh
for word in aarch64-linux-gnu-gcc qemu-aarch64-static debootstrap; do
    command -v $word >/dev/null 2>&1 || {
        echo "aarch64: no $word here (gcc-aarch64-linux-gnu, qemu-user-static, debootstrap): not checked"
        exit 0
    }
done
bad=0
complain() {
    echo "aarch64: $*"
    bad=1
}

tree_arm64 || {
    echo 'aarch64: its packages cannot be had: not checked'
    exit 0
}

# configure FOLDER OPTIONS...
configure() {
    folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DAARCH64_ROOT="$arm64_root" "$@"
}

# A machine of the other byte order is refused, with the reason.
big=$(mktemp -d)
trap 'rm -rf "$big"' EXIT
if configure "$big" -DCMAKE_C_FLAGS=-mbig-endian -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >"$big/log" 2>&1; then
    complain 'big-endian is not refused'
else
    grep -q 'does not work on big-endian machines' "$big/log" || complain "big-endian is refused for another reason: $(tail -n 3 "$big/log")"
fi

build=build/aarch64
mkdir -p $build
# shellcheck disable=SC2086 # words
if ! configure $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPIPESCOPE_DEV=ON -DPIPESCOPE_TESTS=ON -DPIPESCOPE_MPI=OFF ${AARCH64_OPTIONS-} >$build/log 2>&1 ||
    ! cmake --build $build --target all tests >>$build/log 2>&1; then
    tail -n 20 $build/log
    echo 'aarch64: it does not build'
    exit 1
fi
ctest --test-dir $build --parallel "$(nproc)" --timeout 1500 --output-on-failure -R '^(unit|golden)\.' \
    -E "^unit\.(${AARCH64_LEFT_OUT:-record_nvtx_payload|record_ring|record_life|record_threads})\$" >$build/tests.log 2>&1 || {
    sed -n '/tests passed/,$p' $build/tests.log
    complain 'tests under qemu-user'
}
sed -n 's/^\([0-9]*% tests passed.*\)/aarch64: under qemu-user: \1/p' $build/tests.log
exit $bad
