#!/bin/sh
# module_statistic on ranks that bench/module.py makes: 2 ranks, 2 steps of 10 layers each. What a layer runs stands in
# that file: forward Attention 2 operators with 3 kernels, Linear 1, RMSNorm 1, MLP 3, Layer itself 1; backward 5 operators
# for MLP and 4 for Attention.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip "no python3"

python3 bench/module.py "$T/in" --ranks 2 --scale 0.002 --steps 2
run 0 cluster -m module_statistic -d "$T/in" -o "$T/out"
says_out "ranges of domain Module"
db=$T/out/cluster_analysis_output/cluster_analysis.db
rows() { sql "$db" "$1"; }

[ "$(rows "SELECT parentModule, module, count(*), min(opCount), max(opCount) FROM ModuleStatistic WHERE rankID = 1
    GROUP BY 1, 2 ORDER BY 1, 2")" = "|Model|1|2|2
Model|Layer|1|20|20
Model/Layer|Attention|2|20|20
Model/Layer|Linear|1|20|20
Model/Layer|MLP|3|20|20
Model/Layer|RMSNorm|1|20|20
Model/Layer|[Backward]Attention|4|20|20
Model/Layer|[Backward]MLP|5|20|20" ] || fail "rows: $(rows "SELECT * FROM ModuleStatistic")"
[ "$(rows "SELECT DISTINCT kernelList FROM ModuleStatistic WHERE module = 'Attention' AND opName = 'aclnnMatmul'")" = \
    "aclnnCast_Cast, aclnnMatmul_MatMulV2" ] || fail "kernels of an operator"
[ "$(rows "SELECT DISTINCT enclosingOp FROM ModuleOp WHERE opName = 'aclnnGelu'")" = aten::gelu ] || fail "aten::gelu"

# Every kernel of a marked layer is in a module: 20 layers with 9 forward and 9 backward ones, and the transfer of each
# step; collectives run outside.
[ "$(rows "SELECT kernels FROM ModuleCoverage WHERE rankID = 0 AND part = 'in modules'")" = 362 ] || fail "coverage"
[ "$(rows "SELECT kernels FROM ModuleCoverage WHERE rankID = 0 AND part = 'launch not known' AND name = ''")" = 0 ] ||
    fail "coverage"

# What the tree holds is what the rows hold, and steps add up to it.
[ "$(rows "SELECT CAST(sum(\"totalKernelDuration(ns)\") AS INTEGER) - (SELECT sum(kernelTime) FROM ModuleTree WHERE depth = 1)
    FROM ModuleStatistic")" = 0 ] || fail "tree and rows differ"
[ "$(rows "SELECT count(*) FROM (SELECT sum(s.kernelTime) AS steps, t.kernelTime AS total FROM ModuleTree t JOIN ModuleStep s
    USING (rankID, parentModule, module) GROUP BY t.rowid) WHERE steps != total")" = 0 ] || fail "steps and tree differ"
[ "$(rows "SELECT count(*) FROM ModuleTree WHERE busyTime > kernelTime OR exposedCommunication > busyTime")" = 0 ] ||
    fail "busy"

# 20 products of 4096x1024 by 1024x1024 on 24 cores at 1800 MHz, 8192 FLOP a cycle: 353.8944 TFLOPS.
[ "$(rows "SELECT count(*) FROM ModuleTree WHERE module = 'Linear' AND
    abs(mfu - 100.0 * 20 * 2 * 4096 * 1024 * 1024 / (kernelTime * 1e-9 * 353.8944e12)) < 1e-9")" = 2 ] || fail "mfu"

# One step is half of it.
run 0 cluster -m module_statistic -d "$T/in" -o "$T/step" --step_id 6
[ "$(sql "$T/step/cluster_analysis_output/cluster_analysis.db" "SELECT DISTINCT opCount FROM ModuleStatistic WHERE module != 'Model'")" = 10 ] ||
    fail "--step_id"

# Files: a sheet for each rank.
run 0 cluster -m module_statistic -d "$T/in" -o "$T/files" --export_type text
for rank in 0 1; do
    [ "$(python3 tests/support/xlsx_dump.py "$T/files/cluster_analysis_output/ModuleStatistic/module_statistic_$rank.xlsx" \
        cells | sed -n 's/Sheet1!A1 //p')" = "t Parent Module" ] || fail "sheet of rank $rank"
done
[ -f "$T/files/cluster_analysis_output/ModuleStatistic/ModuleTree.csv" ] || fail "ModuleTree.csv"

# Without the marks there is nothing to do.
python3 bench/module.py "$T/bare" --scale 0.0005 --steps 1 --without modules
run 3 cluster -m module_statistic -d "$T/bare" -o "$T/none"
says "no modules are marked"
