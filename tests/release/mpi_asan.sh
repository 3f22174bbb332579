#!/bin/sh
# pipescope-mpi under the address and undefined-behaviour sanitizers: built anew in build/mpi-asan, and tests/e2e/mpi.sh over it. Part of
# `./dev release-check`. Leaks are not looked for: Open MPI has its own (unit.crew looks for ours).
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/mpi-asan
cmake -S . -B build/mpi-asan -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPIPESCOPE_SANITIZE=address,undefined \
    -DPIPESCOPE_MPI_SANITIZED=ON >build/mpi-asan/configure.log
cmake --build build/mpi-asan --target pipescope pipescope-mpi
export ASAN_OPTIONS="detect_leaks=0:abort_on_error=0:exitcode=99" UBSAN_OPTIONS="halt_on_error=1:exitcode=99:print_stacktrace=1"
PIPESCOPE_BIN=$PWD/build/mpi-asan/pipescope sh tests/run_e2e.sh tests/e2e/mpi.sh
