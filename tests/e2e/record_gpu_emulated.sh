#!/bin/sh
# record_gpu.sh itself on the EMULATED driver and CUPTI (tests/programs/lib_cuda.c, lib_cupti.c), so that it is known to work on the day a
# GPU is at hand: what it finds here says nothing of a real one.
# threads: the recorder, its writer and the thread of the device
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
[ -f "${PIPESCOPE_PROGRAMS-}/libcuda.so.1" ] || skip 'no emulated driver in this build'
EMU_DRIFT_PPM=30
PIPESCOPE_GPU_EMULATED=$(realpath "$PIPESCOPE_PROGRAMS")
export EMU_DRIFT_PPM PIPESCOPE_GPU_EMULATED
sh tests/e2e/record_gpu.sh
