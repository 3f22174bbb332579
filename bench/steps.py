"""Step time of a large rank: steps.py PIPESCOPE WORK

Makes below WORK, once, the database of a rank with BENCH_TASKS (10 million) kernels on two streams, each launched by a
call, and a collective every thousand kernels, in one step and in eight; then times `cluster -m step_trace_time` over it,
best of three, with the largest memory of the process.
"""
import os
import resource
import sqlite3
import subprocess
import sys
import time

N = int(os.environ.get("BENCH_TASKS", "10000000"))
EPOCH = 1760000000000000000
KERNEL_NS, GAP_NS, BATCH = 3000, 500, 1000


def make(path, n_steps):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    db = sqlite3.connect(path + ".part")
    db.executescript(
        """
        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
        CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
          globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
        CREATE TABLE COMPUTE_TASK_INFO(name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER,
          mixBlockDim INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER,
          inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER);
        CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
          groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,
          count INTEGER, opType INTEGER, deviceId INTEGER);
        CREATE TABLE CANN_API(startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER,
          name INTEGER);
        CREATE TABLE STEP_TIME(id INTEGER, startNs INTEGER, endNs INTEGER);
        CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE META_DATA(name TEXT, value TEXT);
        CREATE TABLE RANK_DEVICE_MAP(rankId INTEGER, deviceId INTEGER);
        INSERT INTO RANK_DEVICE_MAP VALUES (0, 0);
        INSERT INTO STRING_IDS VALUES (0, 'MatMul'), (1, 'AI_CORE'), (2, 'launch'), (3, 'group'), (4, 'FLOAT'), (5, '8,8');
        """
    )
    per_step = N // n_steps

    def start(i):
        return EPOCH + 1000000 + i * KERNEL_NS + i // BATCH * GAP_NS

    db.executemany(
        "INSERT INTO TASK VALUES (?,?,0,?,?,1,1,4294967295,?,?,4294967295)",
        ((start(i), start(i) + KERNEL_NS - 100 + i % 7 * 50, i, i, 2 + i % 2, i % 65536) for i in range(N)),
    )
    db.executemany(
        "INSERT INTO COMPUTE_TASK_INFO VALUES (0,?,32,0,1,0,4,4,5,4,4,5,4)", ((i,) for i in range(N))
    )
    db.executemany(
        "INSERT INTO CANN_API VALUES (?,?,0,1,?,2)",
        ((start(i) - 500000, start(i) - 498000, i) for i in range(N)),
    )
    n_ops = N // BATCH
    db.executemany("INSERT INTO STRING_IDS VALUES (?,?)", ((6 + k, f"hcom_allReduce__1_{k}_1") for k in range(n_ops)))
    db.executemany(
        "INSERT INTO COMMUNICATION_OP VALUES (?,?,?,?,3,?,0,0,1,4,1024,2,0)",
        ((6 + k, start(k * BATCH) - 400, start(k * BATCH) + 600000, N + k, k) for k in range(n_ops)),
    )
    db.executemany(
        "INSERT INTO CANN_API VALUES (?,?,0,1,?,2)",
        ((start(k * BATCH) - 500400, start(k * BATCH) - 498400, N + k) for k in range(n_ops)),
    )
    db.executemany(
        "INSERT INTO STEP_TIME VALUES (?,?,?)",
        ((s, start(s * per_step) - 500400, start((s + 1) * per_step) - 500401) for s in range(n_steps)),
    )
    db.commit()
    db.close()
    os.rename(path + ".part", path)


def measure(pipescope, directory):
    best, memory = None, 0
    for _ in range(3):
        began = time.perf_counter()
        child = subprocess.Popen(
            [pipescope, "cluster", "-m", "step_trace_time", "-d", directory, "--export_type", "csv", "-o", directory + "_out"],
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(child.pid, 0)
        took = time.perf_counter() - began
        if status != 0:
            sys.exit("steps.py: pipescope failed")
        best = took if best is None or took < best else best
        memory = max(memory, usage.ru_maxrss)
    return best, memory


def main():
    pipescope, work = sys.argv[1:3]
    print(f"{'steps':>5} {'kernels':>10} {'seconds':>8} {'M kernels/s':>12} {'MiB':>7}")
    for n_steps in (1, 8):
        directory = os.path.join(work, f"steps{n_steps}_{N}")
        path = os.path.join(directory, "rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db")
        if not os.path.exists(path):
            make(path, n_steps)
        took, memory = measure(pipescope, directory)
        print(f"{n_steps:>5} {N:>10} {took:>8.2f} {N / took / 1e6:>12.1f} {memory / 1024:>7.0f}")


if __name__ == "__main__":
    main()
