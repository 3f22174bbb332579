#!/usr/bin/env python3
"""Makes Ascend profiles of a training job whose modules are marked, as large as one likes.

usage: module.py DIR [--ranks N] [--scale X] [--steps N] [--analysis-db] [--without PART,...]

At scale 1 a rank has 430,000 rows in PYTORCH_API, 270,000 in TASK, 50,000 ranges of domain Module and 20,000 pairs of
forward and backward operators; besides one collective a layer, transfers between two pipeline stages, a call for each
launch (CANN_API), steps, sizes and groups of the job, and the clock of the cores. PARTs that can be left out: cann,
comm, freq, modules. The same arguments give the same files.
"""
import argparse
import json
import os
import sqlite3

EPOCH = 1760000000000000000
LAYERS_AT_1 = 10000  # layers that run, over all steps and microbatches, at scale 1
NONE = 4294967295

TABLES = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
  sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
  message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,
  taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
  outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
  opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,
  groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,
  size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER);
CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER);
CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs INTEGER, freq INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_MSTX_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_API_TYPE VALUES (5000,'runtime'),(5500,'hccl'),(10000,'node'),(15000,'model'),(20000,'acl'),
  (50001,'op'),(50002,'queue'),(50003,'trace'),(50004,'mstx');
INSERT INTO ENUM_MSTX_EVENT_TYPE VALUES (0,'marker'),(1,'push/pop'),(2,'start/end'),(3,'marker_ex');
INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (0,'INT8'),(3,'FP16'),(4,'FP32'),(11,'BFP16');
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
"""

ANALYSIS = """
CREATE TABLE StepTraceTime (step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC,
  communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,
  communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);
CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,
  transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT);
CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC,
  transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC,
  total_duration NUMERIC, step TEXT, type TEXT);
CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT,
  transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT);
"""

MM = ("MatMulV2", "MIX_AIC", "4096,1024;1024,1024", "4096,1024")
VECTOR = ("Add", "AI_VECTOR_CORE", "4096,1024;4096,1024", "4096,1024")
# (module, ((framework operator, low-level operator, ((kernel, facts, us), ...)), ...))
LAYER = (
    ("Attention", (("aten::linear", "aclnnMatmul", (("aclnnCast_Cast", VECTOR, 3), ("aclnnMatmul_MatMulV2", MM, 40))),
                   ("npu::fusion_attention", "aclnnFlashAttentionScore", (("FlashAttentionScore", VECTOR, 60),)))),
    ("Linear", (("aten::linear", "aclnnMatmul", (("aclnnMatmul_MatMulV2", MM, 40),)),)),
    ("RMSNorm", (("npu::rms_norm", "aclnnRmsNorm", (("RmsNorm", VECTOR, 5),)),)),
    ("MLP", (("aten::linear", "aclnnMatmul", (("aclnnMatmul_MatMulV2", MM, 80),)),
             ("aten::gelu", "aclnnGelu", (("Gelu", VECTOR, 6),)),
             ("aten::linear", "aclnnMatmul", (("aclnnMatmul_MatMulV2", MM, 80),)))),
)
OWN = ("aten::add", "aclnnAdd", (("Add", VECTOR, 3),))
BACKWARD = (("aclnnMm", "aclnnMm_MatMulV2", MM, 80), ("aclnnGeluBackward", "GeluGrad", VECTOR, 6),
            ("aclnnMm", "aclnnMm_MatMulV2", MM, 80), ("aclnnRmsNormGrad", "RmsNormGrad", VECTOR, 8),
            ("aclnnMm", "aclnnMm_MatMulV2", MM, 40), ("aclnnMm", "aclnnMm_MatMulV2", MM, 40),
            ("aclnnFlashAttentionScoreGrad", "FlashAttentionScoreGrad", VECTOR, 120),
            ("aclnnMm", "aclnnMm_MatMulV2", MM, 40), ("aclnnMul", "Mul", VECTOR, 3))
N_WAITS = 8  # tasks of a layer that only wait or record


class Rank:
    def __init__(self, path, rank, args):
        self.rank, self.args = rank, args
        if os.path.exists(path):
            os.remove(path)
        self.db = sqlite3.connect(path)
        self.db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + TABLES)
        self.rows = {}
        self.strings = {}
        self.connection = 0   # numbers that join calls, operators and tasks
        self.local = 0        # CONNECTION_IDS.id
        self.task = 0
        self.op_id = 0
        self.sequence = 0
        self.host = EPOCH
        self.device = EPOCH
        self.main = (4321 << 32) | 4321
        self.autograd = (4321 << 32) | 4400
        self.queue = (4321 << 32) | 4500

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings))

    def add(self, table, *row):
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= 20000:
            self.flush(table)

    def flush(self, table):
        rows = self.rows.pop(table, [])
        if rows:
            self.db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def torch(self, start, end, thread, local, name, kind=50001, sequence=None, forward=None):
        self.add("PYTORCH_API", str(start), str(end), thread, local, self.text(name), sequence, forward, None, None,
                 None, kind)

    def link(self, local=None):
        """A number for one launch, and the id that PYTORCH_API has for it."""
        self.connection += 1
        if local is None:
            self.local += 1
            local = self.local
        self.add("CONNECTION_IDS", local, self.connection)
        return local, self.connection

    def run_task(self, connection, us, stream=2, kind="KERNEL_AICORE"):
        self.task += 1
        start = max(self.device, self.host + 2000)
        end = start + us * 1000 + (self.task * 7919) % 500
        self.device = end + 150
        self.add("TASK", start, end, self.rank, connection, self.task, 4321, self.text(kind), NONE, stream,
                 self.task % 65536, NONE)
        return start, end

    def kernel(self, connection, name, facts, us):
        op_type, core, inputs, output = facts
        _ = self.run_task(connection, us, kind=core)
        nd, bf16 = self.text("ND;ND"), self.text("DT_BF16;DT_BF16")
        self.add("COMPUTE_TASK_INFO", self.text(name), self.task, 24, 0, self.text(core), self.text(op_type), nd, bf16,
                 self.text(f'"{inputs}"'), self.text("ND"), self.text("DT_BF16"), self.text(f'"{output}"'), None)

    def launch(self, name, thread, kernels, sequence=None, forward=None):
        """A low-level operator on a thread, its calls and its kernels; the local id of the operator."""
        start = self.host
        local, first = self.link()
        connections = [first] + [self.link(local)[1] for _ in kernels[1:]]
        for connection, (kernel, facts, us) in zip(connections, kernels):
            if "cann" not in self.args.without:
                self.add("CANN_API", self.host + 200, self.host + 900, 10000, thread, connection,
                         self.text(name))
            self.host += 1000
            self.kernel(connection, kernel, facts, us)
        self.host += 500
        self.torch(start, self.host, thread, local, name, 50001, sequence, forward)
        return local

    def mark(self, name, start):
        if "modules" not in self.args.without:
            self.add("MSTX_EVENTS", start, self.host, 2, 0, 0, self.text(name), self.main, self.main,
                     self.text("Module"), NONE)

    def framework_op(self, op):
        framework, low, kernels = op
        start = self.host
        self.host += 300
        self.launch(low, self.main, kernels)
        self.host += 300
        self.torch(start, self.host, self.main, None, framework)
        self.host += 100

    def queue_pair(self, name):
        local, connection = self.link()
        self.local += 1
        self.add("CONNECTION_IDS", self.local, connection)
        self.torch(self.host, self.host + 200, self.main, local, "Enqueue", 50002)
        self.torch(self.host + 5000, self.host + 6000, self.queue, self.local, "Dequeue@" + name, 50002)
        self.host += 300

    def pair(self, name, shape):
        """A forward operator; returns what its backward needs."""
        self.sequence += 1
        self.local += 1
        start = self.host
        self.host += 400
        self.torch(start, self.host, self.main, self.local, name, 50001, self.sequence)
        return self.local, self.sequence, name, shape

    def layer_forward(self):
        pairs = []
        start = self.host
        self.host += 500
        for module, ops in LAYER:
            begin = self.host
            self.host += 300
            for op in ops:
                self.framework_op(op)
            if module in ("Attention", "MLP"):
                pairs.append(self.pair("aten::matmul", None))
                self.queue_pair("aclnnMatmul")
            self.host += 200
            self.mark(module, begin)
        self.framework_op(OWN)
        self.mark("Layer", start)
        for _ in range(N_WAITS):
            self.run_task(NONE, 1, kind="EVENT_WAIT")
        return pairs

    def layer_backward(self, pairs, step):
        half = len(BACKWARD) // 2 + 1
        for (forward, sequence, name, _), ops in zip(reversed(pairs), (BACKWARD[:half], BACKWARD[half:])):
            self.connection += 1
            self.local += 1
            self.add("CONNECTION_IDS", forward, self.connection)
            self.add("CONNECTION_IDS", self.local, self.connection)
            outer, local = self.host, self.local
            self.host += 300
            for low, kernel, facts, us in ops:
                begin = self.host
                self.host += 200
                self.launch(low, self.autograd, ((kernel, facts, us),))
                self.host += 200
                self.torch(begin, self.host, self.autograd, None, "aten::" + low[5:].lower())
            self.torch(outer, self.host, self.autograd, local, "MatmulBackward0", 50001, sequence, self.main & NONE)
            self.host += 200
        if "comm" not in self.args.without:
            self.collective("hcom_allReduce_", self.dp_group(), 4194304, 150, step)

    def stages(self):
        return 2 if self.args.ranks % 2 == 0 else 1

    def dp_group(self):
        return f"10.0.0.1%eth0_{60000 + self.rank // (self.args.ranks // self.stages())}_0_1700000000000001"

    def pp_group(self):
        width = self.args.ranks // self.stages()
        return f"10.0.0.1%eth0_{60100 + self.rank % width}_0_1700000000000002"

    def collective(self, kind, group, elements, us, step):
        start = self.host
        local, connection = self.link()
        self.op_id += 1
        begin = max(self.device - 100000, self.host + 2000)
        end = begin + us * 1000 + (self.op_id * 104729 + self.rank * 7919) % 20000
        tag = sum(group.encode()) % 1000
        name = f"{kind}_{tag:03d}_{self.op_id}_1"
        self.add("COMMUNICATION_OP", self.text(name), begin, end, connection, self.text(group), self.op_id, 0, 0, 11,
                 self.text("MESH-RING-NHR"), elements, self.text(kind))
        self.task += 1
        self.add("TASK", begin, end, self.rank, connection, self.task, 4321, self.text("NOTIFY_WAIT_SQE"), NONE, 5,
                 self.task % 65536, NONE)
        width = self.args.ranks // self.stages()
        src, dst = ((self.rank // width), 1 - self.rank // width) if "send" in kind or "receive" in kind else (0, 0)
        self.add("COMMUNICATION_TASK_INFO", self.text(name), self.task, self.text("Notify_Wait"), 0, self.text(group),
                 0, 65535, src, dst, 0, elements * 2, 11, 1, self.op_id)
        if "cann" not in self.args.without:
            self.add("CANN_API", self.host + 200, self.host + 900, 5500, self.main, connection,
                     self.text("HcclAllreduce"))
        self.host += 1500
        self.torch(start, self.host, self.main, local, "c10d::allreduce_" if "all" in kind else "c10d::send")
        if self.args.analysis_db:
            self.comm.append((name, group, begin, end, elements * 2, step, "p2p" if src != dst else "collective"))

    def run_step(self, step, layers, microbatches):
        start = self.host
        device = self.device
        for _ in range(microbatches):
            begin = self.host
            stage = self.rank // (self.args.ranks // self.stages())
            if self.stages() == 2 and "comm" not in self.args.without:
                self.collective("hcom_send_" if stage == 0 else "hcom_receive_", self.pp_group(), 1048576, 60, step)
            pairs = [self.layer_forward() for _ in range(layers)]
            self.mark("Model", begin)
            for forward in reversed(pairs):
                self.layer_backward(forward, step)
        self.host = max(self.host, self.device) + 5000
        self.add("STEP_TIME", step, start, self.host)
        if "freq" not in self.args.without:
            for at in range(start, self.host, 1000000):
                self.add("AICORE_FREQ", self.rank, at, 1800 if (at // 1000000) % 50 else 800)
        self.steps.append((step, start, self.host, device))

    def generate(self):
        n_layers = max(1, int(LAYERS_AT_1 * self.args.scale))
        per_step = max(1, n_layers // self.args.steps)
        layers = min(50, per_step)
        self.comm, self.steps = [], []
        for step in range(self.args.steps):
            self.run_step(step + 5, layers, max(1, per_step // layers))
            self.host += 20000
        self.metadata()
        for table in list(self.rows):
            self.flush(table)
        self.db.executemany("INSERT INTO STRING_IDS VALUES (?,?)", [(i, s) for s, i in self.strings.items()])
        self.db.commit()
        self.db.close()

    def metadata(self):
        n, stages = self.args.ranks, self.stages()
        width = n // stages
        groups = {self.dp_group(): {"group_name": "dp", "group_rank": self.rank % width,
                                    "global_ranks": [r for r in range(n) if r // width == self.rank // width]}}
        if stages == 2:
            groups[self.pp_group()] = {"group_name": "pp", "group_rank": self.rank // width,
                                       "global_ranks": [self.rank % width, self.rank % width + width]}
        self.add("META_DATA", "parallel_group_info", json.dumps(groups))
        self.add("META_DATA", "distributed_args", json.dumps(
            {"world_size": n, "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": stages,
             "data_parallel_size": width, "rank": self.rank}))
        self.add("RANK_DEVICE_MAP", self.rank, self.rank)
        self.add("HOST_INFO", "1", "bench")
        self.add("NPU_INFO", self.rank, "Ascend910B3")
        self.add("SESSION_TIME_INFO", EPOCH, self.host)

    def write_analysis(self, path):
        if os.path.exists(path):
            os.remove(path)
        db = sqlite3.connect(path)
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + ANALYSIS)
        for step, start, end, _ in self.steps:
            total = (end - start) / 1000
            db.execute("INSERT INTO StepTraceTime VALUES (?,?,?,?,?,?,?,?,?,?)",
                       (str(step), total * 0.7, total * 0.1, total * 0.1, total * 0.2, total * 0.2, total, 0,
                        total * 0.1, 10))
        time, width, matrix = [], [], []
        for name, group, start, end, size, step, kind in self.comm:
            ms, mb, where = (end - start) / 1e6, size / 1e6, f"step{step}"
            number = str(abs(hash_of(group)))
            time.append((name, number, start / 1000, ms, ms / 2, ms / 4, ms / 8, ms / 8, where, kind))
            width.append((name, number, "HCCS", mb, ms / 2, mb / (ms / 2), 1, mb, 1, ms / 2, where, kind))
            matrix.append((name, number, str(self.rank), str((self.rank + 1) % self.args.ranks), "HCCS", mb, ms / 2,
                           mb / (ms / 2), where, kind, name))
        db.executemany(f"INSERT INTO CommAnalyzerTime VALUES ({','.join('?' * 10)})", time)
        db.executemany(f"INSERT INTO CommAnalyzerBandwidth VALUES ({','.join('?' * 12)})", width)
        db.executemany(f"INSERT INTO CommAnalyzerMatrix VALUES ({','.join('?' * 11)})", matrix)
        db.commit()
        db.close()


def hash_of(text):
    value = 5381
    for byte in text.encode():
        value = (value * 33 + byte) % (1 << 61)
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--analysis-db", action="store_true")
    parser.add_argument("--without", default="", type=lambda s: s.split(","))
    args = parser.parse_args()
    for rank in range(args.ranks):
        folder = os.path.join(args.dir, f"rank{rank}_ascend_pt")
        output = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")
        device = os.path.join(folder, f"PROF_000001_20260101000000000_BENCH{rank:03d}", f"device_{rank}")
        os.makedirs(output, exist_ok=True)
        os.makedirs(device, exist_ok=True)
        with open(os.path.join(folder, f"profiler_info_{rank}.json"), "w", encoding="utf-8") as f:
            json.dump({"rank_id": rank, "config": {"experimental_config": {"_profiler_level": "Level1"}}}, f)
        with open(os.path.join(device, f"info.json.{rank}"), "w", encoding="utf-8") as f:
            json.dump({"DeviceInfo": [{"id": rank, "ai_core_num": 24, "aic_frequency": "1800"}]}, f)
        made = Rank(os.path.join(output, f"ascend_pytorch_profiler_{rank}.db"), rank, args)
        made.generate()
        if args.analysis_db:
            made.write_analysis(os.path.join(output, "analysis.db"))


main()
