#!/bin/sh
# One Nsight Systems export of two processes on two GPUs, through the commands: what info counts, what convert writes, and
# the chart of its NVTX ranges. GPipe of two stages and two microbatches; both processes count their launches from 1.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 - "$T/report" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("""
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT(name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
    textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.16.1');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1760000000123456789, '', '');
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 1, 'node7');
""")
# Device times in us of F0 F1 B0 B1; F takes 10, B 20.
TIMES = [[(0, 10), (10, 20), (50, 70), (70, 90)], [(10, 20), (20, 30), (30, 50), (50, 70)]]
for rank in (0, 1):
    pid = 501 - rank
    key = pid << 24
    db.execute("INSERT INTO PROCESSES VALUES (?, ?, 'python')", (key, pid))
    db.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, 0, ?, '')", (rank, pid))
    for i, (start, end) in enumerate(TIMES[rank]):
        name = ("Forward %d", "Backward %d")[i // 2] % (i % 2)
        host = 1000 + 10 * i
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, NULL)", (host, host + 8, name, key | pid))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 2, 0)", (host + 1, host + 3, key | pid, i + 1))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1)",
                   (5000 + 1000 * start, 5000 + 1000 * end, i + 1, key))
db.commit()
PY

run 0 info "$T/report"
says_out '2 ranks'
run 0 convert "$T/report" -o "$T/out.json"
python3 - "$T/out.json" <<'PY' || fail "the converted file is not what the export says"
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = collections.Counter(e["name"] for e in events if e["ph"] == "X")
assert names == {"gemm": 8, "cudaLaunchKernel_v7000": 8, "Forward 0": 2, "Forward 1": 2, "Backward 0": 2, "Backward 1": 2}, names
flows = collections.Counter(e["ph"] for e in events if e["ph"] in "sf")
assert flows == {"s": 8, "f": 8}, flows
PY
run 0 chart "$T/report"
says_out 'Schedule gpipe: recognised, 100.0 % of ops agree.'
says_out '33.3 %' # (p - 1)(F + B) of 90 us
