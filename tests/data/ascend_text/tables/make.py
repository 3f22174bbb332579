"""Two ranks of a text export of two steps, with trace_view.json or with the tables alone.

    make.py OUT [--no-trace]

The host runs ahead: the last kernels of step 10 run when step 11 has begun on the host, so only their Step Id says whose they
are. Durations of communication are finer than kernel_details.csv has them.
"""

import json
import os
import sys

T0 = 1736408883000000000  # ns
GROUP = "4711000000000000586"


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def kernels(rank):
    """(step, stream, name, type, core, start, duration in ns): starts count from T0."""
    late = 7000 * rank
    rows = []
    for k, step in enumerate((10, 11)):
        at = 200_000 + 700_000 * k + late
        rows.append((step, 2, "MatMul1", "MatMulV2", "AI_CORE", at, 90_500))
        rows.append((step, 3, "Cast2", "Cast", "AI_VECTOR_CORE", at + 60_000, 41_020))
        rows.append((step, None, f"hcom_allReduce__586_{2 * k}_1", "hcom_allReduce_", "HCCL", at + 120_000, 150_000 - late))
        rows.append((step, None, f"hcom_receive__586_{2 * k + 1}_1", "hcom_receive_", "HCCL", at + 300_000, 20_001))
        rows.append((step, 2, "MatMul3", "MatMulV2", "MIX_AIC", at + 430_000, 200_100))
    return rows


STEPS = {10: (0, 500_000), 11: (500_000, 1_600_000)}  # host windows


def trace(rank):
    pid = 1000 + rank
    hardware = pid << 10 | 13 << 5 | rank
    comm = pid << 10 | 15 << 5 | rank
    events = []

    def meta(p, what, args, tid=0):
        events.append({"ph": "M", "name": what, "pid": p, "tid": tid, "args": args})

    def slice_(name, p, tid, start, dur, **more):
        events.append({"ph": "X", "name": name, "pid": p, "tid": tid, "ts": us(T0 + start), "dur": dur / 1000} | more)

    meta(pid, "process_name", {"name": "Python"})
    meta(hardware, "process_name", {"name": "Ascend Hardware"})
    meta(comm, "process_name", {"name": "Communication"})
    meta(comm, "thread_name", {"name": "Group 0 Communication"})
    for stream in (2, 3):
        meta(hardware, "thread_name", {"name": f"Stream {stream}"}, stream)
    for step, (start, end) in STEPS.items():
        slice_(f"ProfilerStep#{step}", pid, pid, start, end - start, cat="cpu_op", args={"Sequence number": -1})
    n = {10: 0, 11: 0}
    for i, (step, stream, name, _, core, start, dur) in enumerate(kernels(rank)):
        at = STEPS[step][0] + 20_000 + 30_000 * n[step]
        n[step] += 1
        slice_("aten::op", pid, pid, at, 10_000, cat="cpu_op", args={"Sequence number": -1})
        p, tid = (hardware, stream) if stream else (comm, 0)
        args = {"Model Id": 4294967295, "Task Type": core, "Physic Stream Id": stream, "Task Id": i} if stream else {}
        slice_(name, p, tid, start, dur if stream else dur + 0.25, args=args)
        for ph, where, ts in (("s", (pid, pid), at), ("f", (p, tid), start)):
            events.append({"ph": ph, "bp": "e", "name": "torch_to_npu", "cat": "async_npu", "id": T0 + start,
                           "pid": where[0], "tid": where[1], "ts": us(T0 + ts)})
    return json.dumps(events)


def kernel_details(rank):
    head = ("Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
            "Wait Time(us),Block Dim,Input Shapes\n")
    lines = []
    for i, (step, stream, name, type_, core, start, dur) in enumerate(kernels(rank)):
        ids = f"4294967295,{i},{stream}" if stream else "4294967295,N/A,N/A"
        state, shapes = ("dynamic", '"""4,8;8,2"""') if stream else ("N/A", "N/A")
        lines.append(f"{step},{ids},{name},{type_},{state},{core},{us(T0 + start)}\t,{dur / 1000},0,16,{shapes}\n")
    return head + "".join(lines)


def step_trace_time(rank):
    head = ("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
            "Communication(Not Overlapped and Exclude Receive),Preparing\n")
    lines = []
    for step, (begin, _) in STEPS.items():
        rows = [r for r in kernels(rank) if r[0] == step]
        comm = sum(r[6] for r in rows if r[1] is None)
        receive = sum(r[6] for r in rows if "receive" in r[2])
        computing = 101_020 + 200_100
        whole = rows[-1][5] + rows[-1][6] - rows[0][5]
        free = whole - computing - comm
        told = (computing, comm, 0, comm, free, whole - receive, receive, comm - receive, rows[0][5] - begin)
        lines.append(f"{step}," + ",".join(str(ns / 1000) for ns in told) + "\n")
    return head + "".join(lines)


def communication(rank):
    out = {}
    for step in STEPS:
        ops = {"p2p": {}, "collective": {}}
        for row in kernels(rank):
            if row[0] == step and row[1] is None:
                kind = "p2p" if "receive" in row[2] else "collective"
                ops[kind][f"{row[2]}@{GROUP}"] = {
                    "Communication Time Info": {"Start Timestamp(us)": round((T0 + row[5]) / 1000, 1),
                                                "Elapse Time(ms)": (row[6] + 0.25) / 1e6, "Transit Time(ms)": 0.01,
                                                "Wait Time(ms)": 0.002, "Synchronization Time(ms)": 0.001,
                                                "Idle Time(ms)": 0.1},
                    "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 2.0, "Transit Time(ms)": 0.01,
                                                              "Bandwidth(GB/s)": 200.0, "Large Packet Ratio": 0.0,
                                                              "Size Distribution": {"2.0": [1, 0.01]}}}}
        out[f"step{step}"] = ops
    return json.dumps(out)


def matrix(rank):
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 2.0, "Transit Time(ms)": 0.01, "Bandwidth(GB/s)": 200.0,
            "Op Name": "hcom_allReduce__586_0_1"}
    own = link | {"Transport Type": "LOCAL"}
    links = {f"{rank}-{rank}": own, f"{rank}-{1 - rank}": link}
    return json.dumps({"step10": {"p2p": {}, "collective": {f"allreduce-top1@{GROUP}": links}}})


def main(out, has_trace):
    for rank in (0, 1):
        top = os.path.join(out, f"host_{1000 + rank}_20250109074443_ascend_pt")
        folder = os.path.join(top, "ASCEND_PROFILER_OUTPUT")
        os.makedirs(folder, exist_ok=True)
        info = {"rank_id": rank, "config": {"common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]},
                                            "experimental_config": {"_profiler_level": "Level0"}}}
        write(os.path.join(top, f"profiler_info_{rank}.json"), json.dumps(info))
        for name, text in (("kernel_details.csv", kernel_details(rank)), ("step_trace_time.csv", step_trace_time(rank)),
                           ("communication.json", communication(rank)), ("communication_matrix.json", matrix(rank))):
            write(os.path.join(folder, name), text)
        write(os.path.join(folder, "memory_record.csv"),
              "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
              f"APP,{us(T0)}\t,,2109.5,,,NPU:{rank}\n")
        if has_trace:
            write(os.path.join(folder, "trace_view.json"), trace(rank))


main(sys.argv[1], "--no-trace" not in sys.argv[2:])
