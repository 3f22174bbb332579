"""Writes the marks, communication and steps of simulated rank databases as text exports: db_to_text.py FROM TO.

Only what a chart needs, in the shape of trace_view.json: the same profile in another format, for tests that want the
same answer from both."""
import json
import os
import sqlite3
import sys
from decimal import Decimal

HOST = 4000
CANN, HARDWARE, COMM = (HOST << 10 | layer << 5 for layer in (7, 13, 15))


def slice_of(name, pid, tid, start_ns, end_ns, args, cat=None):
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": format(Decimal(start_ns) / 1000, ".3f"),
             "dur": (end_ns - start_ns) / 1000, "args": args}
    return event | ({"cat": cat} if cat else {})


def flow(ph, number, of):
    event = {"ph": ph, "cat": "MsTx", "name": "MsTx", "id": number, "pid": of["pid"], "tid": of["tid"], "ts": of["ts"]}
    return event | ({"bp": "e"} if ph == "f" else {})


def name_of(what, pid, tid, name):
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def marks_of(db, text, tasks, events):
    for start, end, message, thread, connection in db.execute(
            "SELECT startNs, endNs, message, globalTid, connectionId FROM MSTX_EVENTS"):
        host = slice_of(text[message], CANN, thread & 0xFFFFFFFF, start, end,
                        {"domain": "default", "connection_id": connection})
        events.append(host)
        for task in tasks.pop(connection, []):
            lane = 20000 + task[3]
            device = slice_of(text[message], HARDWARE, lane, task[0], task[1], {"connection_id": connection})
            events += [device, flow("s", connection, host), flow("f", connection, device),
                       name_of("thread_name", HARDWARE, lane, "Stream %d MSTX domain 0" % task[3])]


def operators_of(db, text, by_id, events):
    groups = {}
    for name, start, end, connection, group, op in db.execute(
            "SELECT opName, startNs, endNs, connectionId, groupName, opId FROM COMMUNICATION_OP"):
        lane = 10 * groups.setdefault(text[group], len(groups))
        events.append(slice_of(text[name], COMM, lane, start, end, {"connection_id": connection}))
        for kind, own, peer, task in db.execute(
                "SELECT taskType, srcRank, dstRank, globalTaskId FROM COMMUNICATION_TASK_INFO WHERE opId = ?", (op,)):
            row = by_id[task]
            events.append(slice_of(text[kind], COMM, lane + 1, row[0], row[1],
                                   {"task type": text[kind], "src rank": own, "dst rank": peer,
                                    "stream id": row[3], "task id": row[6]}))
    for group, number in groups.items():
        events += [name_of("thread_name", COMM, 10 * number, "Group %s Communication" % group),
                   name_of("thread_name", COMM, 10 * number + 1, "Plane 0")]


def events_of(db):
    text = dict(db.execute("SELECT id, value FROM STRING_IDS"))
    rows = list(db.execute("SELECT startNs, endNs, connectionId, streamId, globalTaskId, taskType, taskId FROM TASK"))
    tasks = {}
    for row in rows:
        tasks.setdefault(row[2], []).append(row)
    events = [slice_of("ProfilerStep#%d" % step, HOST, HOST, start, end, {}, "cpu_op")
              for step, start, end in db.execute("SELECT id, startNs, endNs FROM STEP_TIME")]
    marks_of(db, text, tasks, events)
    for row in (row for of_call in tasks.values() for row in of_call):
        events.append(slice_of(text[row[5]], HARDWARE, row[3], row[0], row[1],
                               {"Task Type": text[row[5]], "Physic Stream Id": row[3], "Task Id": row[6],
                                "connection_id": row[2]}))
    operators_of(db, text, {row[4]: row for row in rows}, events)
    for pid, name in ((HOST, "Python"), (CANN, "CANN"), (HARDWARE, "Ascend Hardware"), (COMM, "Communication")):
        events.append(name_of("process_name", pid, 0, name))
    return events


def main(source, target):
    for folder in sorted(os.listdir(source)):
        inside = os.path.join(source, folder, "ASCEND_PROFILER_OUTPUT")
        names = [n for n in os.listdir(inside) if n.startswith("ascend_pytorch_profiler") and n.endswith(".db")]
        db = sqlite3.connect("file:%s?mode=ro" % os.path.join(inside, names[0]), uri=True)
        out = os.path.join(target, folder, "ASCEND_PROFILER_OUTPUT")
        os.makedirs(out)
        with open(os.path.join(out, "trace_view.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(events_of(db)))
        for name in os.listdir(os.path.join(source, folder)):
            if name.endswith(".json"):
                with open(os.path.join(source, folder, name), encoding="utf-8") as file:
                    text = file.read()
                with open(os.path.join(target, folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
        metas = {k: json.loads(v) for k, v in db.execute("SELECT name, value FROM META_DATA") if v[:1] in "{["}
        with open(os.path.join(target, folder, "profiler_metadata.json"), "w", encoding="utf-8") as file:
            json.dump(metas, file)


main(*sys.argv[1:])
