#!/bin/sh
# Real threads, ranges and numbers of autograd's nodes, by PyTorch on CPU: what the thread of the backward pass runs belongs
# to the modules of the forward pass, and to the range that waits where the forward pass was not recorded.
# $PIPESCOPE_PYTHON names a Python that has PyTorch; else python3 is tried.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python=${PIPESCOPE_PYTHON:-python3}
"$python" -c 'import torch._C._profiler as p; p._ExperimentalConfig(profile_all_threads=True)' >"$T/import" 2>&1 ||
    skip "$python has no PyTorch that profiles all threads (name one that has it in PIPESCOPE_PYTHON)"
"$python" tests/e2e/lib/torch_modules.py "$T/in" >"$T/times" 2>"$T/log" || {
    tail -n 30 "$T/log" >&2
    fail "torch_modules.py did not run"
}

# modules NAME: kernels count once, and what the backward thread launched is backward time; sums of gradients behind the last
# operator that has a forward one are outside where no range waits.
modules() {
    run 0 cluster -m module_statistic -d "$T/in/$1" -o "$T/$1"
    db=$T/$1/cluster_analysis_output/cluster_analysis.db
    all=$(awk -v name="$1" '$1 == name { print $2 }' "$T/times")
    behind=$(awk -v name="$1" '$1 == name { print $3 }' "$T/times")
    [ "$behind" -gt 0 ] || fail "$1: nothing ran on the backward thread"
    [ "$(sql "$db" "SELECT sum(kernelTime) FROM ModuleCoverage WHERE name = ''")" = "$all" ] || fail "$1: parts and whole"
    outside=$(sql "$db" "SELECT kernelTime FROM ModuleCoverage WHERE part = 'outside modules' AND name = ''")
    [ "$(sql "$db" "SELECT sum(backwardTime) + $outside FROM ModuleTree WHERE depth = 1")" = "$behind" ] ||
        fail "$1: backward time"
}
# with_backward: the modules that have backward time.
with_backward() {
    sql "$db" "SELECT group_concat(module, ' ') FROM ModuleTree WHERE backwardTime > 0 AND module != 'attn(B)'"
}

modules both
[ "$outside $(with_backward)" = "0 fc1 act fc2" ] || fail "both: $outside $(with_backward)"
modules backward
[ "$outside $(sql "$db" "SELECT DISTINCT module FROM ModuleStatistic")" = "0 [Backward]attn(B)" ] || fail "backward"
modules frames
[ "$(with_backward)" = "Linear_0 ReLU_0 Linear_1" ] || fail "frames: $(with_backward)"
