#!/bin/sh
# mstx_sum, freq_analysis and ep_load_balance on databases: the sample pipeline (forward 10 ms, backward 20 ms, 8
# microbatches, 2 steps, 4 ranks), with two markers, a clock and a grouped product put into rank 0.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

sample "$T/in"
path=$(database "$T/in" 0)
sql "$path" "
INSERT INTO STRING_IDS VALUES (901, 'optimizer_start'), (902, 'optimizer_stop'), (903, 'GroupedMatmul'),
    (904, '\"96,8;32,8;4,8,8;4\"'), (905, 'AI_CORE');
INSERT INTO MSTX_EVENTS SELECT endNs - 5000000, endNs - 5000000, 3, 0, 4294967295, 901, 4294967297000, 4294967297000,
    65535, 4100000001 FROM STEP_TIME WHERE id = 5;
INSERT INTO MSTX_EVENTS SELECT endNs - 2000000, endNs - 2000000, 3, 0, 4294967295, 902, 4294967297000, 4294967297000,
    65535, 4100000002 FROM STEP_TIME WHERE id = 5;
INSERT INTO TASK SELECT endNs - 1000000, endNs - 1000000, 0, 4100000001, 900001, 1000, 1, 4294967295, 2, 1, 4294967295
    FROM STEP_TIME WHERE id = 5;
INSERT INTO TASK SELECT endNs + 3000000, endNs + 3000000, 0, 4100000002, 900002, 1000, 1, 4294967295, 2, 1, 4294967295
    FROM STEP_TIME WHERE id = 5;
INSERT INTO TASK SELECT endNs - 900000, endNs - 800000, 0, 77, 900003, 1000, 1, 4294967295, 2, 1, 4294967295
    FROM STEP_TIME WHERE id = 5;
INSERT INTO COMPUTE_TASK_INFO (name, globalTaskId, opType, taskType, inputShapes) VALUES (903, 900003, 903, 905, 904);
CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs INTEGER, freq INTEGER);
INSERT INTO AICORE_FREQ SELECT 0, startNs, 1800 FROM STEP_TIME;
INSERT INTO AICORE_FREQ SELECT 0, startNs + 100000000, 800 FROM STEP_TIME WHERE id = 6;
UPDATE META_DATA SET value = '{\"e\": {\"group_name\": \"exp\", \"global_ranks\": [0, 1]}}'
    WHERE name = 'parallel_group_info'"

# Three ranks have no clock and no grouped product, and say so; what the others have is written.
run 0 -m mstx_sum -d "$T/in" -o "$T/out"
db=$T/out/cluster_analysis_output/cluster_analysis.db
[ "$(sql "$db" 'SELECT count(*), count(DISTINCT Rank), count(DISTINCT Name) FROM MSTXMarkStats')" = '129|4|17' ] ||
    fail "$(sql "$db" 'SELECT * FROM MSTXMarkStats')"
[ "$(sql "$db" "SELECT StepId, FrameworkDurationNs, CannDurationNs, DeviceDurationNs, Rank FROM MSTXMarkStats
    WHERE Name = 'optimizer'")" = '5|3000000.0|3000000.0|4000000.0|0' ] || fail "optimizer"
[ "$(sql "$db" "SELECT DISTINCT substr(Name, 1, 15), Count, SumNs, MinRank FROM MSTXAllDeviceStats
    WHERE Name LIKE '{%' ORDER BY 1")" = "{'name': 'backw|4|80000000.0|0
{'name': 'forwa|4|40000000.0|0" ] || fail "$(sql "$db" 'SELECT * FROM MSTXAllDeviceStats')"
run 0 -m mstx_sum -d "$T/in" -o "$T/step" --step_id 6
[ "$(sql "$T/step/cluster_analysis_output/cluster_analysis.db" \
    'SELECT DISTINCT StepId, count(*) FROM MSTXMarkStats')" = '6|64' ] || fail "step 6"

run 4 -m freq_analysis,ep_load_balance -d "$T/in" -o "$T/out"
[ "$(sql "$db" 'SELECT * FROM FreeFrequencyRanks')" = '0|[800, 1800]' ] || fail "free frequencies"
[ "$(sql "$db" 'SELECT * FROM EPTokensSummary')" = '0|0,1|128' ] || fail "$(sql "$db" 'SELECT * FROM EPTokensSummary')"
[ "$(sql "$db" 'SELECT * FROM TopEPTokensInfo')" = '0,1|0' ] || fail "tokens"
[ "$(sql "$db" 'SELECT count(*) FROM MSTXMarkStats')" = 129 ] || fail "tables of other modes are kept"
