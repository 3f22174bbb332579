#!/bin/sh
# Recording on a real GPU: accuracy, captures, contexts, CUPTI, what it costs, and PyTorch's profiler at the same time. Skips where there
# is none. Lines with # are figures for docs/recording.md; times are not judged beyond what a clock can be off.
#
# Needs a driver, this build and python3: no toolkit, since the kernels are PTX for the driver. record_gpu_emulated.sh runs this very script
# on the emulated driver, shorter (PIPESCOPE_GPU_EMULATED names the folder with it), so that it is known to work when a GPU comes.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip 'no recorder library in this build'
command -v python3 >/dev/null 2>&1 || skip 'no python3'
emulated=${PIPESCOPE_GPU_EMULATED-}
n_ranges=100 n_kernels=20 n_steps=20 n_rounds=60
unset GPU_DRIVER PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR PIPESCOPE_BACKEND MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD
programs=$(realpath "$PIPESCOPE_PROGRAMS")
lib=$PWD/tests/e2e/lib
if [ -n "$emulated" ]; then
    GPU_DRIVER=$emulated/libcuda.so.1
    PIPESCOPE_CUPTI_PATH=$emulated/libcupti.so.13
    export GPU_DRIVER
    unset PIPESCOPE_PYTHON
    n_ranges=5 n_kernels=3 n_steps=2 n_rounds=5
fi
got=0
"$programs/gpu_ranges" 1 >"$T/probe" 2>&1 || got=$?
[ $got != 77 ] || skip "$(sed -n 's/^skipped: //p' "$T/probe")"
[ $got = 0 ] || fail "gpu_ranges without a recorder: exit $got: $(cat "$T/probe")"
python=${PIPESCOPE_PYTHON-python3}
library=$(realpath "$PIPESCOPE_RECORD_LIBRARY")
cd "$T"
sed -n 's/^\(device\|driver\)/# &/p' probe

# record NAME OPTIONS... -- PROGRAM ARGS...
record() {
    name=$1
    shift
    pipescope record -o "$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" || {
        cat "$T/$name.out" "$T/$name.err" >&2
        fail "$name: exit $?"
    }
}
# check WHAT NAME [BACKEND]
check() {
    echo "-- $2"
    python3 "$lib/record_gpu.py" "$1" "$T/$2" "$T/$2.out" '' "${3-cuda_event}" || {
        cat "$T/$2.err" >&2
        fail "$2"
    }
}

record ranges -- "$programs/gpu_ranges" $n_ranges
check ranges ranges
GPU_LATE=1 record late --backend cuda_event -- "$programs/gpu_ranges" 5
check ranges late
GPU_LATE=1 record late_auto -- "$programs/gpu_ranges" 5
check ranges late_auto
record capture -- "$programs/gpu_capture"
check capture capture
record contexts -- "$programs/gpu_contexts"
check contexts contexts
record overhead -- "$programs/gpu_overhead" $n_steps $n_rounds
check overhead overhead

# CUPTI: as named, or the one of the toolkit, or that of PyTorch's packages.
cupti=${PIPESCOPE_CUPTI_PATH-}
for file in /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so /usr/local/cuda*/lib64/libcupti.so \
    "$("$python" -c 'import nvidia.cuda_cupti as m; print(m.__path__[0])' 2>/dev/null || :)"/lib/libcupti.so*; do
    [ -n "$cupti" ] || [ ! -f "$file" ] || cupti=$file
done
if [ -n "$cupti" ]; then
    PIPESCOPE_CUPTI_PATH=$cupti
    export PIPESCOPE_CUPTI_PATH
    record kernels --backend cupti --level 2 -- "$programs/gpu_ranges" $n_kernels
    check kernels kernels cupti
    # Captures with CUPTI holding the same calls; ranges that it is told of, and graphs as a whole.
    record capture_cupti --backend cupti -- "$programs/gpu_capture"
    check capture capture_cupti cupti
    record told --backend cupti --correlate asks --cuda-graphs whole -- "$programs/gpu_told"
    check told told cupti
    record overhead_cupti --backend cupti -- "$programs/gpu_overhead" $n_steps $n_rounds
    check overhead overhead_cupti cupti
    record overhead_told --backend cupti --correlate '*' -- "$programs/gpu_overhead" $n_steps $n_rounds
    check overhead overhead_told cupti
else
    echo '# no libcupti here: kernels were not looked at'
fi

if [ -n "$emulated" ]; then
    PYTHONPATH=$lib/emulated_torch
    PYTHONDONTWRITEBYTECODE=1
    export PYTHONPATH PYTHONDONTWRITEBYTECODE
fi
if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    for order in before after; do
        echo "-- PyTorch's profiler, begun $order the recorder"
        "$python" "$lib/record_gpu_torch.py" "$library" "$order" "$T/torch_$order" || fail "PyTorch's profiler, $order"
    done
else
    echo '# no PyTorch with CUDA here: its profiler was not looked at'
fi
