#!/bin/sh
# pipescope-mpi over MPICH instead of Open MPI: built anew in build/mpich, and tests/e2e/mpi.sh over it. Part of `./dev release-check`.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/mpich
cmake -S . -B build/mpich -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMPI_C_COMPILER=mpicc.mpich >build/mpich/configure.log
cmake --build build/mpich --target pipescope pipescope-mpi
PIPESCOPE_BIN=$PWD/build/mpich/pipescope PIPESCOPE_MPIRUN=mpirun.mpich sh tests/run_e2e.sh tests/e2e/mpi.sh
