"""The capture told otherwise: times shifted, threads and ranks renumbered, events in another order, an idle thread more. The verdict
must not change. Written for what people have: traces in Chrome JSON (Kineto) and databases of the Ascend profiler."""
import gzip
import json
import os
import random
import re
import shutil
import sqlite3

from formats import differences
from program import Capture

SHIFT_US = 1234567
HOST = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver", "Operator")
RENUMBER = 100000
MEANT = re.compile(r"nn\.Module|__next__|[Ll]oader|ProfilerStep|backward|forward|optimizer|Optimizer", re.A)


def read_json(path):
    """Numbers with a point stay texts between two marks, so that they come back digit by digit."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return json.load(file, parse_float=lambda text: "\x01" + text + "\x02")


def write_json(path, data):
    text = re.sub(r'"\\u0001([^"\\]*)\\u0002"', r"\1", json.dumps(data))
    opened = gzip.open(path, "wt", encoding="utf-8", compresslevel=1) if path.endswith(".gz") else open(path, "w", encoding="utf-8")
    with opened as file:
        file.write(text)


def is_trace(path):
    if not re.search(r"\.json(\.gz)?$", path):
        return False
    try:
        data = read_json(path)
    except (ValueError, OSError, UnicodeDecodeError):
        return False
    return isinstance(data, dict) and isinstance(data.get("traceEvents"), list) and "pipescope" not in data


def traces_of(path):
    """Paths of Kineto traces below `path`, if that is all there is."""
    if os.path.isfile(path):
        return [path] if is_trace(path) else []
    found = []
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            if not is_trace(os.path.join(folder, name)):
                return []
            found.append(os.path.join(folder, name))
    return found


def shift_text(value, by_us):
    if isinstance(value, str) and value.startswith("\x01"):
        whole, dot, rest = value[1:-1].partition(".")
        return "\x01%d%s%s\x02" % (int(whole) + by_us, dot, rest)
    return value + by_us if isinstance(value, (int, float)) else value


def shifted(data):
    for event in data["traceEvents"]:
        if "ts" in event and event.get("ph") != "M":
            event["ts"] = shift_text(event["ts"], SHIFT_US)
    return data


def host_places(data):
    return {(e.get("pid"), e.get("tid")) for e in data["traceEvents"] if e.get("cat") in HOST}


def renumbered(data):
    """Processes and threads of the host get other numbers; a main thread keeps the number of its process."""
    places = host_places(data)
    pids = {pid for pid, _ in places if isinstance(pid, int) and pid > 1000}
    for event in data["traceEvents"]:
        if event.get("pid") in pids:
            if isinstance(event.get("tid"), int) and (event["pid"], event["tid"]) in places:
                event["tid"] += RENUMBER
            event["pid"] += RENUMBER
    return data


def reordered(data):
    """Threads stand in the file in another order, each thread's events in their own."""
    places = {}
    for event in data["traceEvents"]:
        places.setdefault((str(event.get("pid")), str(event.get("tid"))), []).append(event)
    order = list(places)
    random.Random(7).shuffle(order)
    data["traceEvents"] = [event for place in order for event in places[place]]
    return data


def recased(data):
    """Python functions that no rule knows by name, in capitals."""
    for event in data["traceEvents"]:
        if event.get("cat") == "python_function" and isinstance(event.get("name"), str) and not MEANT.search(event["name"]):
            event["name"] = event["name"].swapcase()
    return data


def numeric(value):
    return float(value[1:-1]) if isinstance(value, str) and value.startswith("\x01") else value


def with_idle_thread(data):
    """One thread more, in one Python frame all the time: it waits for messages that never come."""
    host = sorted((p for p in host_places(data) if isinstance(p[0], int)), key=str)
    spans = [(numeric(e["ts"]), numeric(e.get("dur") or 0)) for e in data["traceEvents"]
             if e.get("ph") == "X" and e.get("cat") in HOST and isinstance(numeric(e.get("ts")), (int, float))]
    if not host or not spans:
        return None
    start, end = min(s for s, _ in spans), max(s + d for s, d in spans)
    data["traceEvents"].append({"ph": "X", "cat": "python_function", "name": "multiprocessing/connection.py(412): _recv_msg",
                                "pid": host[0][0], "tid": 990001, "ts": int(start), "dur": int(end - start) + 1, "args": {}})
    return data


def rank_of(data):
    info = data.get("distributedInfo")
    return info.get("rank") if isinstance(info, dict) else None


def changed(capture, key, change):
    """A capture like this one, each trace changed; None where the change has nothing to change."""
    folder = capture.file("changed-" + key)
    os.makedirs(folder)
    for path in traces_of(capture.path):
        data = change(read_json(path))
        if data is None:
            return None
        name = os.path.basename(path) if os.path.isfile(capture.path) else os.path.relpath(path, capture.path)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        write_json(os.path.join(folder, name), data)
        shutil.copystat(path, os.path.join(folder, name))  # of several profiles of a rank the newest counts
    path = os.path.join(folder, os.path.basename(capture.path)) if os.path.isfile(capture.path) else folder
    return Capture(capture.name + " " + key, path, capture.file("of-" + key))


def same_verdict(key, change):
    def check(capture):
        if not capture.once("kineto", lambda: bool(traces_of(capture.path))):
            return None
        other = changed(capture, key, change)
        return differences(capture.report(), other.report(), "as it is", key) if other else None

    return check


def ranks_reversed(capture):
    """Not where the ranks make a pipeline: a rank's number is its place there."""
    paths = traces_of(capture.path)
    if len(paths) < 2 or capture.chart():
        return None
    data = [read_json(path) for path in paths]
    ranks = [rank_of(d) for d in data]
    if None in ranks or len(set(ranks)) != len(ranks):
        return None
    new = dict(zip(sorted(ranks), sorted(ranks, reverse=True)))
    folder = capture.file("changed-ranks")
    os.makedirs(folder)
    for d in data:
        d["distributedInfo"]["rank"] = new[d["distributedInfo"]["rank"]]
        write_json(os.path.join(folder, "rank-%d.json" % d["distributedInfo"]["rank"]), d)
    other = Capture(capture.name + " ranks reversed", folder, capture.file("of-ranks"))
    return differences(capture.report(), other.report(), "as it is", "ranks reversed", ranks=new)


# --- databases ------------------------------------------------------------------------------------------------------

TIME = re.compile(r"^(start|end|timestamp|startTime|endTime)(_?Ns|_timestamp|_ns)?$", re.I)
LEAST = 10 ** 15  # of a time since 1970 in us; ns are beyond 10 ** 18


def databases_of(path):
    if not os.path.isdir(path):
        return []
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in sorted(names)
            if name.endswith(".db") and os.path.getsize(os.path.join(folder, name)) > 0]


def columns(db, table):
    return [row[1] for row in db.execute('PRAGMA table_info("%s")' % table)]


def each_column(db):
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in names:
        for column in columns(db, table):
            yield table, column


def shift_database(db):
    """Integers, and texts of digits, which some versions of the profiler write."""
    for table, column in each_column(db):
        if TIME.match(column):
            for typed, back in (("integer", "INTEGER"), ("real", "REAL"), ("text", "TEXT")):
                db.execute('UPDATE "{0}" SET "{1}" = CAST(CAST("{1}" AS {2}) + CASE WHEN CAST("{1}" AS {2}) > {3} THEN {4} ELSE {5} END AS {6}) '
                           "WHERE typeof(\"{1}\") = '{7}' AND CAST(\"{1}\" AS {2}) > {8}"
                           .format(table, column, "REAL" if typed == "real" else "INTEGER", 10 ** 17, SHIFT_US * 1000, SHIFT_US, back,
                                   typed, LEAST))


def renumber_database(db):
    for table, column in each_column(db):
        if column in ("globalTid", "globalPid"):
            offset = (RENUMBER << 32) + (RENUMBER if column == "globalTid" else 0)
            db.execute('UPDATE "{0}" SET "{1}" = "{1}" + {2} WHERE "{1}" > {3}'.format(table, column, offset, 1 << 32))


def database_verdict(key, change):
    def check(capture):
        if not capture.once("databases", lambda: databases_of(capture.path)):
            return None
        folder = capture.file("changed-" + key)
        shutil.copytree(capture.path, folder)
        for path in databases_of(folder):
            os.chmod(path, 0o644)
            db = sqlite3.connect(path)
            try:
                with db:
                    change(db)
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.DatabaseError as error:
                return ["%s: %s" % (os.path.basename(path), error)]
            finally:
                db.close()
        other = Capture(capture.name + " " + key, folder, capture.file("of-" + key))
        return differences(capture.report(), other.report(), "as it is", key)

    return check


CHECKS = [("times shifted", same_verdict("shifted", shifted)), ("threads renumbered", same_verdict("renumbered", renumbered)),
          ("threads in another order in the file", same_verdict("reordered", reordered)),
          ("names of Python functions in other case", same_verdict("recased", recased)),
          ("an idle thread more", same_verdict("idle-thread", with_idle_thread)), ("ranks reversed", ranks_reversed),
          ("times of the databases shifted", database_verdict("db-shifted", shift_database)),
          ("threads of the databases renumbered", database_verdict("db-renumbered", renumber_database))]
