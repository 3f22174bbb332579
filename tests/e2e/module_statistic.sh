#!/bin/sh
# module_statistic on profiles that msprof-analyze has seen: the same rows but for what docs/differences.md explains, in
# the database and in the sheet; what becomes of ranks without modules.
# threads: workbooks in children beside threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

shared=$PIPESCOPE_SHARED_DATA/module_statistic
[ -d "$shared/toy/input" ] || skip "no shared data module_statistic"

# The program takes recorded FLOPs first (M1); the reference's numbers are those from shapes.
for name in toy mfu; do
    mkdir "$T/$name"
    cp -R "$shared/$name/input/rank0_ascend_pt" "$T/$name/"
    chmod -R u+w "$T/$name"
    run 0 cluster -m module_statistic -d "$T/$name" -o "$T/recorded_$name"
    sql "$(database "$T/$name" 0)" "DELETE FROM MSTX_EVENTS WHERE domainId IN
        (SELECT id FROM STRING_IDS WHERE value = 'mfu_flops')"
    run 0 cluster -m module_statistic -d "$T/$name" -o "$T/out_$name"
    python3 tests/support/module_compare.py "$T/out_$name/cluster_analysis_output/cluster_analysis.db" \
        "$shared/$name/expected/module_statistic_with_mfu.db/ModuleStatistic.tsv" \
        "tests/data/module_statistic/$name.explained" || fail "$name differs"
done

# With the records: the rows are the same ones, and the records say 2 * 1024^3 FLOPs for each matmul of the forward pass.
db=$T/recorded_toy/cluster_analysis_output/cluster_analysis.db
[ "$(sql "$db" "SELECT group_concat(kernelMFU || ' ' || flopsFrom, '; ') FROM ModuleOp WHERE opName = 'aclnnMatmul'")" = \
    "30.28% recorded; -,30.25% recorded; 30.26% recorded" ] || fail "recorded FLOPs"
[ "$(sql "$db" "SELECT modulesFrom || ' ' || part || ' ' || operators || ' ' || kernels FROM ModuleCoverage WHERE name = ''
    AND operators NOTNULL ORDER BY part")" = "ranges of domain Module in modules 132 140
ranges of domain Module outside modules 6 6" ] || fail "coverage: $(sql "$db" 'SELECT * FROM ModuleCoverage')"
[ "$(sql "$db" "SELECT enclosingOp FROM ModuleOp WHERE opName = 'aclnnEmbedding'")" = aten::embedding ] || fail "aten"

# The sheet is the same cell by cell but for these numbers; equal names of different parents are not merged (F10).
run 0 cluster -m module_statistic -d "$T/toy" -o "$T/out_toy" --export_type text
for from in "$T/out_toy/cluster_analysis_output" "$shared/toy/expected/module_statistic_with_mfu.text"; do
    python3 tests/support/xlsx_dump.py "$from/ModuleStatistic/module_statistic_0.xlsx" cells
done >"$T/both"
[ "$(sort "$T/both" | uniq -u | sort)" = "Sheet1!B6 b
Sheet1!B6 t Linear
Sheet1!H25 b
Sheet1!H25 t 12.93%
Sheet1!H4 t 10.34%
Sheet1!H4 t 15.63%" ] || fail "sheet: $(sort "$T/both" | uniq -u)"

# A rank without modules beside one with them, and alone.
mkdir "$T/ranks"
cp -R "$T/toy/rank0_ascend_pt" "$T/ranks/"
cp -R "$T/toy/rank0_ascend_pt" "$T/ranks/rank1_ascend_pt"
mv "$(database "$T/ranks/rank1_ascend_pt" 0)" "$T/ranks/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db"
rm "$T/ranks/rank1_ascend_pt/profiler_info_0.json"
sql "$(database "$T/ranks" 1)" "DELETE FROM MSTX_EVENTS WHERE eventType = 2"
run 4 cluster -m module_statistic -d "$T/ranks" -o "$T/out_ranks"
says "rank 1"
says "no modules are marked"
[ "$(sql "$T/out_ranks/cluster_analysis_output/cluster_analysis.db" 'SELECT DISTINCT rankID FROM ModuleStatistic')" = 0 ] ||
    fail "ranks"
run 3 cluster -m module_statistic -d "$T/ranks" --rank_list 1 -o "$T/out_none"
says "domain Module"

# Whatever the threads, the same bytes.
run 0 cluster -m module_statistic -d "$T/toy" -j 1 -o "$T/one"
run 0 cluster -m module_statistic -d "$T/toy" -j 8 -o "$T/eight"
cmp "$T/one/cluster_analysis_output/cluster_analysis.db" "$T/eight/cluster_analysis_output/cluster_analysis.db"

# --module and --depth.
run 0 cluster -m module_statistic -d "$T/toy" -o "$T/some" --module '*/MLP' --depth 4
[ "$(sql "$T/some/cluster_analysis_output/cluster_analysis.db" 'SELECT DISTINCT module FROM ModuleStatistic ORDER BY 1')" = \
    "MLP
[Backward]MLP" ] || fail "--module"

# A capture of PyTorch with annotations: the losses, collectives and sums of gradients that autograd's thread ran without a
# forward operator belong to the range in which the main thread called backward(), and nothing is outside.
kineto=$PIPESCOPE_SHARED_DATA/kineto/two_ranks
if [ -d "$kineto" ]; then
    run 0 cluster -m module_statistic -d "$kineto" -o "$T/kineto"
    db=$T/kineto/cluster_analysis_output/cluster_analysis.db
    [ "$(sql "$db" "SELECT forwardTime, backwardTime FROM ModuleTree WHERE rankID = 0 AND module = '## backward ##'")" = \
        "12000|119995000" ] || fail "range around backward()"
    [ "$(sql "$db" "SELECT group_concat(kernels, ' ') FROM ModuleCoverage WHERE part = 'outside modules' AND name = ''")" = "0 0" ] ||
        fail "outside of ranges: $(sql "$db" 'SELECT * FROM ModuleCoverage')"
fi
