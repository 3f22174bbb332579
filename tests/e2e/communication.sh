#!/bin/sh
# The modes of communication on a cluster of eight ranks, against what msprof-analyze writes for it, row by row; and on
# captures of real training of every format.
# threads: ranks of the modes of communication
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

shared=$PIPESCOPE_SHARED_DATA
[ -d "$shared/cluster/pp2_dp4/expected" ] || skip "no shared data cluster/pp2_dp4"
expected=$shared/cluster/pp2_dp4/expected
db=$T/out/cluster_analysis_output/cluster_analysis.db

run 0 -m communication_group_map,communication_time_sum,communication_matrix_sum,hccl_sum,slow_rank,slow_link,communication_bottleneck,computational_op_masking \
    -d "$shared/cluster/pp2_dp4/input" -o "$T/out"
same() {
    python3 tests/support/compare_tables.py "$db" "$@" >"$T/said" || fail "$(cat "$T/said")"
}
same "$expected"/communication_group_map/*.tsv "$expected"/communication_time_sum/*.tsv \
    "$expected"/communication_matrix_sum/*.tsv "$expected"/computational_op_masking/*.tsv
same "$expected"/all/CommunicationGroupMapping.tsv "$expected"/all/ClusterCommunication*.tsv
# Ranks are in order here, and in that of a set there.
same --list HcclGroupNameMap.Ranks "$expected"/hccl_sum/*.tsv
# Columns in Ns are ns here, and us there.
same --scale SlowOpStats.Ns=1000 "$expected"/slow_rank/*.tsv
# There all ten "[Failed] Insufficient data"; here a reason.
same --but CommunicationBottleneck.reason "$expected"/communication_bottleneck/*.tsv
[ "$(sql "$db" "SELECT count(*) FROM CommunicationBottleneck WHERE reason LIKE '[Completed] rank 2 began 3__ us after rank 3: %'")" = 10 ] ||
    fail "$(sql "$db" 'SELECT reason FROM CommunicationBottleneck')"
# What the sample was made with: rank 2 is late to every all-reduce by some 330 us, and the link from 6 to 7 is slow.
[ "$(sql "$db" 'SELECT rankId, operators, cameLast, "lateTime(us)" FROM SlowRankLateness LIMIT 1')" = '2|10|10|3345.98' ] ||
    fail "$(sql "$db" 'SELECT * FROM SlowRankLateness')"
[ "$(sql "$db" 'SELECT srcRank, dstRank FROM SlowLinkMatrix')" = '6|7' ] || fail "$(sql "$db" 'SELECT * FROM SlowLinkMatrix')"

# The older names, and the same bytes whatever the threads.
run 0 -m communication_time,communication_matrix -d "$shared/cluster/pp2_dp4/input" -o "$T/older" --export_type csv
for table in time bandwidth; do
    [ -s "$T/older/cluster_analysis_output/CommunicationTimeSum/cluster_communication_$table.csv" ] || fail "no $table"
done
[ -s "$T/older/cluster_analysis_output/CommunicationMatrixSum/cluster_communication_matrix.csv" ] || fail "no matrix"
run 0 -m slow_rank,slow_link,hccl_sum,communication_time_sum -d "$shared/cluster/pp2_dp4/input" -o "$T/one" --export_type csv -j 1
run 0 -m slow_rank,slow_link,hccl_sum,communication_time_sum -d "$shared/cluster/pp2_dp4/input" -o "$T/four" --export_type csv -j4
diff -r "$T/one" "$T/four" >"$T/said" || fail "$(head -n 5 "$T/said")"

# Without statistics: groups, elapsed times, and what these were made of by the tasks.
run 0 -m communication_time_sum,slow_rank -d "$shared/ascend/db/level0" -o "$T/level0"
db=$T/level0/cluster_analysis_output/cluster_analysis.db
says 'carry no statistics of communication'
[ "$(sql "$db" 'SELECT rank_id, round(elapsed_time, 3), round(transit_time, 3), round(wait_time, 3), round(idle_time, 3) FROM ClusterCommunicationTime
    WHERE hccl_op_name = '"'hcom_allReduce__576_0_1'"' ORDER BY 1')" = '0|75.074|0.287|74.779|0.009
1|79.189|0.291|78.872|0.027' ] || fail "$(sql "$db" 'SELECT * FROM ClusterCommunicationTime')"
run 3 -m communication_matrix_sum -d "$shared/ascend/db/level0" -o "$T/none"
says 'no matrix of links'

# Level 1 as a database and as text; PyTorch.
for from in ascend/db/level1 ascend/text/level1; do
    run 0 -m communication_group_map,communication_time_sum,communication_matrix_sum,slow_rank -d "$shared/$from" -o "$T/level1"
    db=$T/level1/cluster_analysis_output/cluster_analysis.db
    [ "$(sql "$db" "SELECT count(*) FROM ClusterCommunicationTime")|$(sql "$db" "SELECT count(*) FROM ClusterCommunicationMatrix")" = '10|28' ] ||
        fail "$from: $(sql "$db" 'SELECT * FROM ClusterCommunicationTime')"
    [ "$(sql "$db" "SELECT type, rank_set FROM CommunicationGroupMapping")" = 'collective|(0,1)' ] || fail "$from: groups"
    [ "$(sql "$db" 'SELECT count(*) FROM SlowRankLateness WHERE operators = 4')" = 2 ] || fail "$from: lateness"
    rm -r "$T/level1"
done
run 4 -m hccl_sum,slow_rank,communication_group_map -d "$shared/kineto/nccl" -o "$T/nccl"
db=$T/nccl/cluster_analysis_output/cluster_analysis.db
[ "$(sql "$db" 'SELECT OpType, Count FROM HcclAllRankStats')" = 'allreduce|15
broadcast|6' ] || fail "$(sql "$db" 'SELECT * FROM HcclAllRankStats')"
[ "$(sql "$db" 'SELECT * FROM CommunicationGroupMapping')" = 'collective|(0,1)|0|0|default_pg' ] || fail "groups of PyTorch"
