-- The first files: no type in PYTORCH_API, times as integers, stacks as plain text, COMMUNICATION_OP without its later
-- columns, no enumerations, no TASK columns beyond those needed.
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO STRING_IDS VALUES (1, 'Enqueue@Add'), (2, 'Dequeue@Add'), (3, 'aten::add'), (4, 'hcom_broadcast__1_0_1'), (5, 'g');
CREATE TABLE PYTORCH_API (startNs INTEGER, endNs INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER,
    callchainId INTEGER);
INSERT INTO PYTORCH_API VALUES (10, 20, 4294967297, 1, 1, NULL), (30, 40, 4294967298, 2, 2, NULL), (5, 50, 4294967297, NULL, 3, 4);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
INSERT INTO CONNECTION_IDS VALUES (1, 8), (2, 8);
CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack TEXT, stackDepth INTEGER);
INSERT INTO PYTORCH_CALLCHAINS VALUES (4, 'a.py(1): f', 0), (4, 'a.py(9): <module>', 1);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, streamId INTEGER);
INSERT INTO TASK VALUES (60, 70, 0, 1, 1, 2), (80, 75, 0, 1, 2, 2);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
    opId INTEGER PRIMARY KEY);
INSERT INTO COMMUNICATION_OP VALUES (4, 90, 95, 3, 5, 0);
