"""Timelines of workers, as NDTimeline writes them, of jobs that are simulated here: a second simulator, written
independently of the program's, so that tests can plant a cause and know the step that follows.

    job = Job(orders, n_replicas)          orders[stage] = [(kind, microbatch, chunk), ...], kind F, B or W
    job = Job(orders, n_replicas, is_v=True)   microbatches go up the stages and down again, not round in a circle
    job.duration = lambda op: ...          milliseconds of an op: op.kind, stage, replica, microbatch, step
    job.delay = lambda op: ...             launch delay of a computing op
    job.write(path, steps)
"""
import json
import os
import subprocess
from collections import defaultdict, namedtuple

Op = namedtuple("Op", "kind stage replica microbatch step chunk")
NAMES = {"F": "forward-compute", "B": "backward-compute", "W": "backward-wgrad-compute", "G": "gc", "O": "optimizer",
         "A": "params-all-gather", "R": "grads-reduce-scatter", "FS": "forward-send", "FR": "forward-recv",
         "BS": "backward-send", "BR": "backward-recv"}
LANES = {"A": "dp-comm", "R": "dp-comm", "FS": "pp-comm", "FR": "pp-comm", "BS": "pp-comm", "BR": "pp-comm"}
KINDS = ("compute", "pp-comm", "tp-comm", "dp-comm", "misc")


class Job:
    def __init__(self, orders, n_replicas, is_v=False):
        self.orders = orders
        self.is_v = is_v
        self.n_chunks = 1 + max(c for order in orders for _, _, c in order)
        self.n_replicas = n_replicas
        self.duration = lambda op: {"F": 10, "B": 20, "W": 10, "O": 5}.get(op.kind, 0)
        self.delay = lambda op: 0

    def behind(self, s, c):
        """The stage and chunk that take what those give; None at the end, and where it stays on the stage."""
        p = len(self.orders)
        if self.is_v:
            to = s + 1 if c % 2 == 0 else s - 1
            return (to, c) if 0 <= to < p else None
        to, there = (s + 1, c) if s + 1 < p else (0, c + 1)
        return (to, there) if there < self.n_chunks else None

    def ops(self, step):
        """{op: [ops it waits for]} and the groups of ops that start together."""
        waits, groups = {}, []
        p = len(self.orders)
        for d in range(self.n_replicas):
            for s, order in enumerate(self.orders):
                self.worker(step, s, d, order, waits)
            for s in range(p):
                for m, c in sorted({(m, c) for k, m, c in self.orders[s] if k == "F"}):
                    if self.behind(s, c) is not None:
                        to, there = self.behind(s, c)
                        groups.append([Op("FS", s, d, m, step, c), Op("FR", to, d, m, step, there)])
                        groups.append([Op("BS", to, d, m, step, there), Op("BR", s, d, m, step, c)])
        for s in range(p):
            for k in "AR":
                groups.append([Op(k, s, d, -1, step, -1) for d in range(self.n_replicas)])
        return waits, groups

    def worker(self, step, s, d, order, waits):
        def op(kind, m, c=-1):
            return Op(kind, s, d, m, step, c)

        p = len(self.orders)
        chain = [op(*o) for o in order]
        gather, reduce, optimizer = op("A", -1), op("R", -1), op("O", -1)
        waits[gather] = []
        for i, o in enumerate(chain):
            waits[o] = [chain[i - 1]] if i else []
        waits[next(o for o in chain if o.kind == "F")].append(gather)
        passed_on = {c for c in range(self.n_chunks) if self.behind(s, c) is not None}
        passed_to = {there for stage in range(p) for c in range(self.n_chunks)
                     for to, there in [self.behind(stage, c) or (None, None)] if to == s}
        for kind, send, receive, takes, gives in (("F", "FS", "FR", passed_to, passed_on),
                                                  ("B", "BS", "BR", passed_on, passed_to)):
            line = [o for o in chain if o.kind == kind]
            taken = [o for o in line if o.chunk in takes]
            given = [o for o in line if o.chunk in gives]
            for i, o in enumerate(taken):
                r = op(receive, o.microbatch, o.chunk)
                before = taken[i - 1]
                waits[o].append(r)
                waits[r] = [before, op(receive, before.microbatch, before.chunk)] if i else []
            for i, o in enumerate(given):
                before = given[i - 1]
                waits[op(send, o.microbatch, o.chunk)] = [o] + ([op(send, before.microbatch, before.chunk)] if i else [])
        waits[reduce] = [chain[-1]]
        waits[optimizer] = [reduce]

    def run(self, step):
        """{op: (start, end)} in ms from the step's begin, and its end."""
        waits, groups = self.ops(step)
        group_of = {o: g for g in groups for o in g}
        in_order = sorted(waits)
        duration = {o: self.duration(o) for o in in_order}
        delay = {o: self.delay(o) for o in in_order}
        unit = {o: tuple(group_of.get(o, (o,))) for o in waits}
        left = {u: sum(len(waits[o]) for o in u) for u in set(unit.values())}
        after = defaultdict(list)
        for o, on in waits.items():
            for w in on:
                after[w].append(unit[o])
        times = {}
        ready = [u for u, n in left.items() if n == 0]
        while ready:
            u = ready.pop()
            begin = max(max([times[w][1] for w in waits[o]], default=0) + delay[o] for o in u)
            for o in u:
                times[o] = (begin, begin + duration[o])
                for v in after[o]:
                    left[v] -= 1
                    if left[v] == 0:
                        ready.append(v)
        assert len(times) == len(waits)
        return times, max(end for o, (_, end) in times.items() if o.kind == "O")

    def events(self, steps):
        out = []
        begin = 0.0
        tid = {}
        for step in steps:
            times, end = self.run(step)
            count = defaultdict(int)
            for o, (a, b) in sorted(times.items(), key=lambda item: (item[1], item[0])):
                lane = LANES.get(o.kind, "compute")
                thread = tid.setdefault((o.stage, o.replica, lane), len(tid))
                number = count[o.kind, o.stage, o.replica]
                count[o.kind, o.stage, o.replica] += 1
                out.append({"name": NAMES[o.kind], "cat": NAMES[o.kind], "pid": o.replica, "tid": thread,
                            "ts": begin + a * 1000, "dur": (b - a) * 1000, "ph": "X",
                            "args": {"step": step, "model_chunk": o.chunk if o.kind in "FBW" else -1,
                                     "mb_id": o.microbatch, "seq_id": number}})
            begin += 1.1 * end * 1000
        for (stage, replica, lane), thread in tid.items():
            out.append({"name": "thread_name", "pid": replica, "tid": thread, "ph": "M",
                        "args": {"name": f"PP rank {stage}, TP rank 0, {lane}"}})
        for d in range(self.n_replicas):
            out.append({"name": "process_name", "pid": d, "ph": "M", "args": {"name": f"DP rank [{d}]"}})
        return out

    def write(self, path, steps):
        with open(path, "w") as file:
            # json.dump goes by the encoder in Python, many times slower.
            file.write(json.dumps(self.events(steps), separators=(",", ":")))


def one_f_one_b(p, m):
    """Orders of 1F1B."""
    orders = []
    for s in range(p):
        warm = min(p - 1 - s, m)
        line = [("F", k, 0) for k in range(warm)]
        for k in range(m):
            if warm + k < m:
                line.append(("F", warm + k, 0))
            line.append(("B", k, 0))
        orders.append(line)
    return orders


def orders_of(program, folder, schedule, p, m, chunks):
    """Orders of a schedule, as the program simulates it; `chunks` where the schedule lets one choose."""
    path = f"{folder}/{schedule}-{p}-{m}-{chunks}.json"
    if not os.path.exists(path):
        subprocess.run([program, "simulate", schedule, "--pp", str(p), "--microbatches", str(m), "-o", path,
                        *(["--chunks", str(chunks)] if schedule in ("interleaved", "interleaved-zb", "looped-bfs") else [])],
                       check=True, stdout=subprocess.DEVNULL)
    chart = json.load(open(path))
    kinds = {"F": "F", "B": "B", "BI": "B", "BW": "W"}
    orders = [[] for _ in range(p)]
    for op in sorted(chart["ops"], key=lambda o: (o["stage"], o["start_ns"])):
        orders[op["stage"]].append((kinds[op["kind"]], op["microbatch"], op["chunk"]))
    return orders
