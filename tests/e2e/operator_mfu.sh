#!/bin/sh
# FLOPs and MFU of the shared samples: as recorded, from shapes alone, and what the facts of the device change.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

shared=$PIPESCOPE_SHARED_DATA/module_statistic
[ -d "$shared/toy/input" ] || skip "no shared data module_statistic/toy"
check=tests/e2e/lib/check_operator_mfu.py
result=cluster_analysis_output/cluster_analysis.db

run 0 -m operator_mfu -d "$shared/toy/input" -o "$T/toy"
python3 "$check" toy "$T/toy/$result" "$shared/toy/expected/operator_mfu.db"

run 0 -m operator_mfu -d "$shared/toy/input" -o "$T/text" --export_type text
for name in operator_mfu_kernel_0.xlsx operator_mfu_module_0.xlsx; do
    [ -s "$T/text/cluster_analysis_output/OperatorMfu/$name" ] || fail "no $name"
done

cp -R "$shared/mfu/input" "$T/in"
chmod -R u+w "$T/in"
python3 "$check" drop "$T/in/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
run 0 -m operator_mfu -d "$T/in" -o "$T/shapes"
python3 "$check" shapes "$T/shapes/$result" "$shared/mfu/expected/module_statistic_with_mfu.db/ModuleStatistic.tsv"

# A malformed file is counted; without it there are FLOPs, and MFU only with a peak that the user gives.
info=$(find "$T/in" -name 'info.json.0')
echo '{"DeviceInfo": [{"ai_core_num": 0, "aic_frequency": "1800"}]}' >"$info"
run 0 -m operator_mfu -d "$T/in" -o "$T/odd" --json-summary "$T/odd.json"
grep -q 'bad-metadata' "$T/odd.json" || fail "info.json.0 without cores was not counted"
echo '{' >"$info"
run 0 -m operator_mfu -d "$T/in" -o "$T/bad" --json-summary "$T/bad.json"
grep -q 'bad-metadata' "$T/bad.json" || fail "a malformed info.json.0 was not counted"
rm "$info"
run 0 -m operator_mfu -d "$T/in" -o "$T/none"
count() {
    python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(
        "select count(*), count(mfu) from OperatorMFU").fetchone())' "$1/$result"
}
[ "$(count "$T/none")" = "(30, 0)" ] || fail "without a peak: $(count "$T/none")"
run 0 -m operator_mfu -d "$T/in" -o "$T/given" --peak-tflops 353.8944
[ "$(count "$T/given")" = "(30, 29)" ] || fail "with a peak: $(count "$T/given")"
