#!/bin/sh
# Recording on an EMULATED CUDA driver (tests/programs/lib_cuda.c): programs that use a GPU, from `pipescope record` to the
# database. What a real GPU does is looked at by record_gpu.sh, where there is one.
# threads: the recorder, its writer and the thread of the device
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip 'no recorder library in this build'
command -v python3 >/dev/null 2>&1 || skip 'no python3'
unset PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR PIPESCOPE_BACKEND MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD
checks=$PWD/tests/e2e/lib/record_gpu.py
programs=$(realpath "$PIPESCOPE_PROGRAMS")
GPU_DRIVER=$programs/libcuda.so.1
EMU_DRIFT_PPM=30
export GPU_DRIVER EMU_DRIFT_PPM
cd "$T"

# record NAME STATUS OPTIONS... -- PROGRAM ARGS...
record() {
    name=$1
    status=$2
    shift 2
    got=0
    EMU_TRUTH=$T/$name.truth pipescope record -o "$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" || got=$?
    [ "$got" = "$status" ] || {
        cat "$T/$name.out" "$T/$name.err" >&2
        fail "$name: exit $got"
    }
}
# check WHAT NAME [BACKEND]
check() {
    echo "-- $2"
    python3 "$checks" "$1" "$T/$2" "$T/$2.out" "$T/$2.truth" "${3-cuda_event}" || {
        cat "$T/$2.err" >&2
        fail "$2"
    }
}

# Found by itself; and when it is loaded only after the recording has begun.
record ranges 0 -- "$programs/gpu_ranges" 10
check ranges ranges
export GPU_LATE=1
record late 0 --backend cuda_event -- "$programs/gpu_ranges" 3
record late_auto 0 -- "$programs/gpu_ranges" 3
unset GPU_LATE
check ranges late
check ranges late_auto

record capture 0 -- "$programs/gpu_capture"
check capture capture
record contexts 0 -- "$programs/gpu_contexts"
check contexts contexts

# An error that stays: the program goes on as it would have, the host's part is recorded.
got=0
EMU_FAIL=cuEventRecord:700:0 pipescope record -o "$T/fault" -- "$programs/gpu_ranges" 2 >"$T/fault.out" 2>"$T/fault.err" || got=$?
[ $got = 1 ] || fail "an error of the device: exit $got"
grep -q 'error 700 of the driver' "$T/fault.err" || fail "the program did not see its error: $(cat "$T/fault.err")"

# The host, when it is asked for.
record host 0 --backend host -- "$programs/gpu_ranges" 1
grep -q emulated "$T/host.err" && fail 'the host needs no driver'
[ "$(sql "$(find host -name '*.db')" "SELECT value FROM META_DATA WHERE name = 'collector.backend'")" = host ] ||
    fail 'backend host'

# Options of CUPTI without it: said.
record unused 0 --correlate '*' --cuda-graphs whole -- "$programs/gpu_ranges" 1
[ "$(grep -c 'needs backend cupti' "$T/unused.err")" = 2 ] || fail "not said: $(cat "$T/unused.err")"

# CUPTI: kernels beside the ranges; held by another tool; not there.
PIPESCOPE_CUPTI_PATH=$programs/libcupti.so.13
export PIPESCOPE_CUPTI_PATH
record kernels 0 --backend cupti -- "$programs/gpu_ranges" 5
check kernels kernels cupti
record told 0 --backend cupti --correlate asks --cuda-graphs whole -- "$programs/gpu_told"
check told told cupti
EMU_CUPTI_BUSY=1
export EMU_CUPTI_BUSY
record busy 0 --backend cupti -- "$programs/gpu_ranges" 2
check ranges busy
grep -q 'another tool holds CUPTI' "$T/busy.err" || fail "not said: $(cat "$T/busy.err")"
[ "$(sql "$(find busy -name '*.db')" "SELECT sum(count) FROM PIPESCOPE_DROPS WHERE kind = 'cupti_busy'")" = 1 ] ||
    fail 'cupti_busy was not counted'
unset EMU_CUPTI_BUSY
PIPESCOPE_CUPTI_PATH=$T/none.so
record missing 0 --backend cupti -- "$programs/gpu_ranges" 2
check ranges missing
grep -q 'PIPESCOPE_CUPTI_PATH' "$T/missing.err" || fail "not said: $(cat "$T/missing.err")"
unset PIPESCOPE_CUPTI_PATH

# A driver that is no driver: asked for, said, and the host's times.
GPU_DRIVER=$T/none
record none 77 --backend cuda_event -- "$programs/gpu_ranges" 1
