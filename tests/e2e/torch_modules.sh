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

# modules NAME: the modules with their backward time, all below the time of the backward thread, and what is outside.
modules() {
    run 0 cluster -m module_statistic -d "$T/in/$1" -o "$T/$1"
    db=$T/$1/cluster_analysis_output/cluster_analysis.db
    all=$(awk -v name="$1" '$1 == name { print $2 }' "$T/times")
    behind=$(awk -v name="$1" '$1 == name { print $3 }' "$T/times")
    [ "$behind" -gt 0 ] || fail "$1: nothing ran on the backward thread"
    [ "$(sql "$db" "SELECT sum(kernelTime) FROM ModuleCoverage WHERE name = ''")" = "$all" ] || fail "$1: parts and whole"
    [ "$(sql "$db" "SELECT sum(backwardTime) FROM ModuleTree WHERE depth = 1")" = "$behind" ] || fail "$1: backward time"
}

modules both
[ "$(sql "$db" "SELECT group_concat(module || (backwardTime > 0), ' ') FROM ModuleTree")" = "fc11 act1 fc21 attn(B)0" ] ||
    fail "both: $(sql "$db" "SELECT module, backwardTime FROM ModuleTree")"
modules backward
[ "$(sql "$db" "SELECT DISTINCT module FROM ModuleStatistic")" = "[Backward]attn(B)" ] || fail "backward"
modules frames
[ "$(sql "$db" "SELECT group_concat(module || (backwardTime > 0), ' ') FROM ModuleTree")" = "Linear_01 ReLU_01 Linear_11" ] ||
    fail "frames: $(sql "$db" "SELECT module, backwardTime FROM ModuleTree")"
