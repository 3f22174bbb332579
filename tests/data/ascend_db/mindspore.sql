-- ascend_mindspore_profiler_0.db: the database of msprof under another name. No PYTORCH_ tables, no steps, rank -1;
-- newer columns (blockNum; blockDim and gridDim mean something else), an operator with its own device.
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO STRING_IDS VALUES (0, 'KERNEL_AICORE'), (1, 'MatMul_1'), (2, 'AI_CORE'), (3, 'MatMul'), (4, 'N/A'), (5, 'launch'),
    (6, 'hcom_send_'), (7, 'group'), (8, 'hcom_send__007_0_1'), (9, 'dynamic'), (10, 'NO'), (11, 'SDMA'), (12, '2;1;1');
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY,
    name INTEGER);
INSERT INTO CANN_API VALUES (10, 20, 10000, 4294967297, 100, 5), (30, 40, 5500, 4294967297, 101, 6);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
    globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
INSERT INTO TASK VALUES (100, 200, 3, 100, 1, 1, 0, 4294967295, 2, 1, 4294967295),
    (220, 230, 3, 101, 2, 1, 11, 4294967295, 4, 2, 4294967295);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockNum INTEGER, mixBlockNum INTEGER,
    taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
    outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER,
    hf32Eligible INTEGER, gridDim INTEGER, blockDim INTEGER);
INSERT INTO COMPUTE_TASK_INFO VALUES (1, 1, 24, 0, 2, 3, 4, 4, 4, 4, 4, 4, 4, 9, 10, NULL, 12);
-- Level 0: a plane without a number, tasks without a type.
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,
    groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,
    size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER, isMaster INTEGER, bandwidth NUMERIC);
INSERT INTO COMMUNICATION_TASK_INFO VALUES
    (8, 2, 4, 4294967295, 7, 9223372036854775807, 65534, 4294967295, 4294967295, 65534, 0, 65534, 65534, 1, 1, 12.5);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
    opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER,
    deviceId INTEGER, rankSize INTEGER);
INSERT INTO COMMUNICATION_OP VALUES (8, 210, 240, 101, 7, 1, 0, 0, 3, 4, 8, 6, 3, 2);
CREATE TABLE NPU_OP_MEM (operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER,
    globalTid INTEGER, totalAllocate NUMERIC, totalReserve NUMERIC, component INTEGER, deviceId INTEGER);
INSERT INTO NPU_OP_MEM VALUES (1, 4096, 9, 512, 90, 4294967297, 512, 1024, 77, 3);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
INSERT INTO TASK_PMU_INFO VALUES (1, 3, 12.5), (1, 3, 7);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
INSERT INTO RANK_DEVICE_MAP VALUES (-1, 3);
CREATE TABLE META_DATA (name TEXT, value TEXT);
INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.2.0');
