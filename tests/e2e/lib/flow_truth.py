"""flow_truth.py PATH: the flows that the files below PATH hold, worked out from the files alone.

Prints {"flows":[{"kind","from":END,"to":END},...]}; END is {"rank":0,"at":["17364..."],"name":["aten::mm"]}: the start in ns since
1970 as text, and the names of all slices that begin there in that thread (a flow of a text file ends on a time, not on a slice).
Ascend databases, Ascend text and Kineto traces; rules as in the specification of each, see docs/formats.
"""
import collections
import decimal
import gzip
import json
import os
import re
import sqlite3
import sys

NO_CONNECTION = 4294967295


def end(rank, at, names):
    return {"rank": rank, "at": str(at), "names": sorted(set(names))}


def flow(kind, source, target):
    return {"kind": kind, "from": source, "to": target}


# --- Ascend databases -------------------------------------------------------------------------------------------------


def database(path, rank):
    """Flows inside one rank, and its communication operators."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    text = dict(db.execute("SELECT id, value FROM STRING_IDS"))
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(table, columns):
        return db.execute(f"SELECT {columns} FROM {table}").fetchall() if table in tables else []

    framework = collections.defaultdict(list)  # id of CONNECTION_IDS -> rows
    for start, connection, name in rows("PYTORCH_API", "startNs, connectionId, name"):
        framework[connection].append((int(start), text[name]))
    by_value = collections.defaultdict(list)
    for key, value in rows("CONNECTION_IDS", "id, connectionId"):
        by_value[value].extend(framework.get(key, []))
    compute = {task: text[name] for task, name in rows("COMPUTE_TASK_INFO", "globalTaskId, name")}
    device = collections.defaultdict(list)  # connection -> what ran
    of_communication = {task for task, in rows("COMMUNICATION_TASK_INFO", "globalTaskId")}
    for start, connection, task, kind in rows("TASK", "startNs, connectionId, globalTaskId, taskType"):
        if task in compute:
            device[connection].append((start, compute[task]))
        elif text[kind].startswith("MEMCPY") and task not in of_communication:
            device[connection].append((start, text[kind]))
    operators = rows("COMMUNICATION_OP", "startNs, connectionId, opName, groupName, opId")
    for start, connection, name, _, _ in operators:
        device[connection].append((start, text[name]))

    flows = []
    for value, calls in by_value.items():
        for call in calls if value in device else []:
            flows += [flow("async_npu", end(rank, call[0], [call[1]]), end(rank, to, [name])) for to, name in device[value]]
        if value not in device and len(calls) > 1:
            calls = sorted(calls)
            kind = "async_task_queue" if calls[0][1].startswith("Enqueue") else "fwdbwd"
            flows += [flow(kind, end(rank, *first(calls[0])), end(rank, *first(other))) for other in calls[1:]]
    for start, connection, name in rows("CANN_API", "startNs, connectionId, name"):
        flows += [flow("HostToDevice", end(rank, start, [text[name]]), end(rank, to, [other])) for to, other in device.get(connection, [])]
    tasks = collections.defaultdict(list)
    for start, connection in rows("TASK", "startNs, connectionId"):
        tasks[connection].append(start)
    for start, connection, message in rows("MSTX_EVENTS", "startNs, connectionId, message"):
        if connection != NO_CONNECTION:
            flows += [flow("MsTx", end(rank, start, [text[message]]), end(rank, to, [text[message]])) for to in tasks.get(connection, [])]

    peers = collections.defaultdict(set)
    for op, source, target in rows("COMMUNICATION_TASK_INFO", "opId, srcRank, dstRank"):
        peers[op] |= {source, target} - {NO_CONNECTION}
    met = [{"at": start, "name": text[name], "group": text[group], "peers": peers[op]} for start, _, name, group, op in sorted(operators)]
    return flows, met


def first(call):
    return call[0], [call[1]]


# --- traces as JSON ---------------------------------------------------------------------------------------------------


def nanoseconds(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def load(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return json.load(file, parse_float=decimal.Decimal)


class Slices:
    """Slices of a trace by thread."""

    def __init__(self, events, base):
        self.base = base
        self.of = collections.defaultdict(list)
        for e in events:
            if e.get("ph") == "X":
                self.of[(e["pid"], e["tid"])].append((self.at(e["ts"]), nanoseconds(e.get("dur", 0)), e["name"]))

    def at(self, us):
        return self.base + nanoseconds(us)

    def where(self, rank, e):
        """The slices that begin at an event, else the innermost one around it."""
        here = self.of[(e["pid"], e["tid"])]
        at = self.at(e["ts"])
        exact = [s for s in here if s[0] == at]
        around = exact or sorted((s for s in here if s[0] <= at <= s[0] + s[1]), key=lambda s: (s[1], -s[0]))[:1]
        return end(rank, around[0][0], [s[2] for s in around]) if around else None


def joined(events, slices, rank, kinds):
    """Flows told as pairs of events."""
    starts = {(e["cat"], str(e["id"])): e for e in events if e.get("ph") == "s" and e.get("cat") in kinds}
    for e in events:
        if e.get("ph") == "f" and (e.get("cat"), str(e["id"])) in starts:
            source = slices.where(rank, starts[(e["cat"], str(e["id"]))])
            target = slices.where(rank, e)
            if source is not None and target is not None:
                yield flow(e["cat"], source, target)


def ascend_text(path, rank):
    events = load(path)
    slices = Slices(events, 0)
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("ph") == "M" and e["name"] == "thread_name"}
    flows = list(joined(events, slices, rank, {"async_task_queue", "fwdbwd", "async_npu", "HostToDevice"}))
    met = [{"at": at, "name": name, "group": threads[thread], "peers": set()}
           for thread, all_of in slices.of.items() if threads.get(thread, "").startswith("Group ") for at, _, name in sorted(all_of)]
    return flows, met


def kineto(path, rank):
    trace = load(path)
    events = trace["traceEvents"]
    slices = Slices(events, int(trace.get("baseTimeNanoseconds", 0)))
    flows = list(joined(events, slices, rank, {"fwdbwd"}))
    calls = {}
    for e in events:
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e["args"]:
            calls[e["args"]["correlation"]] = e
    met = []
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            call = calls.get(e["args"].get("correlation"))
            if call is not None:
                flows.append(flow("ac2g", end(rank, slices.at(call["ts"]), [call["name"]]), end(rank, slices.at(e["ts"]), [e["name"]])))
            if e["name"].startswith("nccl"):
                met.append({"at": slices.at(e["ts"]), "name": e["name"], "group": str(e["tid"]), "peers": set()})
    return flows, sorted(met, key=lambda m: m["at"])


# --- across ranks -----------------------------------------------------------------------------------------------------


def members(path, rank):
    """Global ranks of each communicator, by its name, as the profiler's metadata says."""
    folder = os.path.dirname(os.path.dirname(path))
    try:
        groups = load(os.path.join(folder, "profiler_metadata.json"))["parallel_group_info"]
    except (OSError, KeyError):
        return {}
    return {name: g["global_ranks"] for name, g in groups.items() if rank in g["global_ranks"]}


def across(ranks):
    """The n-th send from one rank to another with the n-th receive there; the n-th collective of a name in all ranks."""
    pairs = collections.defaultdict(lambda: ([], []))
    collectives = collections.defaultdict(dict)
    for rank, (path, met) in ranks.items():
        groups = members(path, rank)
        seen = collections.Counter()
        for op in met:
            here = end(rank, op["at"], [op["name"]])
            p2p = re.match("hcom_(send|receive)_", op["name"])
            if p2p is None:
                key = (op["group"], op["name"])
                seen[key] += 1
                collectives[key + (seen[key],)][rank] = (op["at"], here)
                continue
            of = groups[op["group"]]
            (peer,) = {of[i] for i in op["peers"]} - {rank}
            is_send = p2p.group(1) == "send"
            pairs[(op["group"], rank if is_send else peer, peer if is_send else rank)][0 if is_send else 1].append(here)
    for sends, receives in pairs.values():
        assert len(sends) == len(receives)
        yield from (flow("send-recv", s, r) for s, r in zip(sends, receives))
    for of in collectives.values():
        last = max(of, key=lambda rank: of[rank][0])
        yield from (flow("collective", of[last][1], of[rank][1]) for rank in of if rank != last)


def main():
    flows, ranks = [], {}
    for folder, _, files in sorted(os.walk(sys.argv[1])):
        for name in sorted(files):
            found = re.fullmatch(r"ascend_pytorch_profiler_(\d+)\.db", name)
            path = os.path.join(folder, name)
            if found is not None:
                rank, (own, met) = int(found.group(1)), database(path, int(found.group(1)))
            elif name == "trace_view.json":
                rank = int(re.search(r"rank(\d+)", folder).group(1))
                own, met = ascend_text(path, rank)
            elif name.endswith(".json.gz"):
                rank = int((re.search(r"rank-(\d+)", name) or re.search("()", "0"))[1] or 0)
                own, met = kineto(path, rank)
            else:
                continue
            flows += own
            ranks[rank] = (path, met)
    flows += across(ranks)
    json.dump({"flows": flows}, sys.stdout)


if __name__ == "__main__":
    main()
