#!/bin/sh
# Builds a job whose communication is told by marks only: sh make.sh DIR [FIX.sql]
#
# Two stages, one microbatch, one step of 1000 us, as pipescope records them on processors: ranges of the domain communication
# with device rows of the host's times, operators with kernels. FIX.sql is run on each database afterwards. In us:
#
#   rank 0   computes 0-200 and 600-900   sends activations 200-230       receives gradients 250-600
#   rank 1   computes 230-400, 400-580    receives activations 10-230     sends gradients 580-600
#
# Rank 0: computing 500, communication 30 + 350 = 380, free 20 (230-250), 900 from the first to the last; its receive waits
# 580 - 250 = 330 for the send. Rank 1: computing 350, communication 220 + 20 = 240, free 0, 590 in all; its receive waits
# 200 - 10 = 190.
set -eu

[ $# -ge 1 ] || {
    echo "usage: make.sh DIR [FIX.sql]" >&2
    exit 2
}
out=$1
fix=${2-/dev/null}

# message RANK CALL GROUP FROM TO STREAM
message() {
    printf '{"opName": "%s", "groupName": "%s", "dataType": "fp32", "count": "1000", "streamId": "%s", "srcRank": "%s", "destRank": "%s"}' \
        "$2" "$3" "$6" "$4" "$5"
}

# rows MARK 1|2, HOST START, END, STREAM: both sides; times in us
mark() {
    cat <<SQL
INSERT INTO MSTX_EVENTS VALUES (E + $2 * 1000, E + $3 * 1000, 2, 4294967295, 4294967295, $1, 42, 42, 3, 4000000000 + $1);
INSERT INTO TASK VALUES (E + $2 * 1000, E + $3 * 1000, 0, 4000000000 + $1, $1, 42, 4, 4294967295, $4, $1, 4294967295);
SQL
}

# kernel NUMBER START END
kernel() {
    cat <<SQL
INSERT INTO TASK VALUES (E + $2 * 1000, E + $3 * 1000, 0, $1, $1, 42, 5, 4294967295, 0, $1, 4294967295);
INSERT INTO COMPUTE_TASK_INFO VALUES (6, $1, 5);
SQL
}

for rank in 0 1; do
    dir=$out/vm_100${rank}_2026010901261000${rank}_ascend_pt
    mkdir -p "$dir/ASCEND_PROFILER_OUTPUT"
    if [ "$rank" = 0 ]; then
        first=$(message 0 HcclSend act 0 1 3)
        second=$(message 0 HcclRecv grad 1 0 2)
        rows=$(mark 1 200 230 3 && mark 2 250 600 2 && kernel 101 0 200 && kernel 102 600 900)
    else
        first=$(message 1 HcclRecv act 0 1 2)
        second=$(message 1 HcclSend grad 1 0 3)
        rows=$(mark 1 10 230 2 && mark 2 580 600 3 && kernel 101 230 400 && kernel 102 400 580)
    fi
    {
        cat <<SQL
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO STRING_IDS VALUES (1, '$first'), (2, '$second'), (3, 'communication'), (4, 'MsTx'), (5, 'HOST_OP'), (6, 'mm');
CREATE TABLE META_DATA (name TEXT, value TEXT);
INSERT INTO META_DATA VALUES ('collector.version', '0.1.0'), ('collector.device_time_source', 'host'),
    ('distributed_args', '{"pipeline_model_parallel_size": 2, "world_size": 2}'), ('parallel_group_info',
    '{"act": {"group_name": "pp", "group_rank": $rank, "global_ranks": [0, 1]}, "grad": {"group_name": "pp_grad", "group_rank": $rank, "global_ranks": [0, 1]}}');
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
INSERT INTO HOST_INFO VALUES ('1', 'vm');
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
INSERT INTO STEP_TIME VALUES (1, 1700000000000000000, 1700000000001000000);
CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
    message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
    globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER);
SQL
        printf '%s\n' "$rows" | sed 's/E + /1700000000000000000 + /g'
        cat "$fix"
    } | sqlite3 -batch -bail "$dir/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$rank.db"
done
