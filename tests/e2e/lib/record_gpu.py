"""Checks a recording of one of the tests/programs/gpu_*.c programs: record_gpu.py WHAT FOLDER OUTPUT [TRUTH [BACKEND]]

OUTPUT is what the program printed. TRUTH, of the emulated driver only: where its kernels lay, in ns of CLOCK_MONOTONIC.
Prints figures as `# ...` lines; fails with an assertion that says what differs.
"""
import glob
import json
import sqlite3
import sys


def database(folder):
    found = glob.glob(f"{folder}/**/ascend_pytorch_profiler*.db", recursive=True)
    assert len(found) == 1, f"{len(found)} databases below {folder}"
    return sqlite3.connect(found[0])


class Recording:
    def __init__(self, folder):
        db = database(folder)
        strings = dict(db.execute("SELECT id, value FROM STRING_IDS"))
        self.meta = dict(db.execute("SELECT name, value FROM META_DATA"))
        self.devices = db.execute("SELECT id, name FROM NPU_INFO").fetchall()
        tasks = {c: (s, e, d, stream) for s, e, d, c, stream in db.execute(
            "SELECT startNs, endNs, deviceId, connectionId, streamId FROM TASK")}
        self.events = [
            (strings[m], s, e, tasks.get(c)) for m, s, e, c in db.execute(
                "SELECT message, startNs, endNs, connectionId FROM MSTX_EVENTS ORDER BY startNs")]
        self.anchors = db.execute(
            "SELECT kind, hostNs, otherNs, uncertaintyNs FROM PIPESCOPE_CLOCK_ANCHOR").fetchall()
        self.drops = dict(db.execute("SELECT kind, sum(count) FROM PIPESCOPE_DROPS GROUP BY kind"))
        self.kernels, self.work = [], []
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'COMPUTE_TASK_INFO'").fetchone():
            self.kernels = [(strings[n], s, e) for n, s, e in db.execute(
                "SELECT c.name, t.startNs, t.endNs FROM COMPUTE_TASK_INFO c "
                "JOIN TASK t ON t.globalTaskId = c.globalTaskId ORDER BY t.startNs")]
            self.sizes = db.execute("SELECT gridDim, blockDim, deviceId FROM COMPUTE_TASK_INFO c JOIN TASK t USING (globalTaskId) "
                                    "JOIN STRING_IDS n ON n.id = c.name WHERE n.value LIKE '%spin%'").fetchall()
            # (host time of the call, its thread, name, start and end on the device), where calls were recorded
            self.work = [(a, tid, strings[n], s, e) for a, tid, n, s, e in db.execute(
                "SELECT a.startNs, a.globalTid, c.name, t.startNs, t.endNs FROM COMPUTE_TASK_INFO c "
                "JOIN TASK t USING (globalTaskId) JOIN CANN_API a USING (connectionId) ORDER BY a.startNs")]
            self.ranges = [(strings[m], tid, s, e, c) for m, tid, s, e, c in db.execute(
                "SELECT message, globalTid, startNs, endNs, connectionId FROM MSTX_EVENTS")]
            self.tasks = tasks

    def named(self, message):
        return [e for e in self.events if e[0] == message]

    def backend(self, wanted):
        assert self.meta["collector.backend"] == wanted, self.meta["collector.backend"]

    def uncertainty(self):
        """Of device times, ns: the widest bracket."""
        return max(u for kind, _, _, u in self.anchors if kind == "device")

    def near(self):
        """How far two moments of one stream may seem out of order, ns: between them an anchor may have come, which moves all
        later times by as much as it knows better; and twice the resolution of events."""
        return self.uncertainty() + 1000

    def unix_of_mono(self):
        host = [(h, m) for kind, h, m, _ in self.anchors if kind == "host"]
        assert host, "no anchors of the host"
        return host[0][0] - host[0][1]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def check_ranges(recording, output, truth):
    rows = [line.split() for line in open(output) if line.startswith("range ")]
    assert rows, "the program printed no ranges"
    errors = {}
    slack = recording.uncertainty() + 50_000  # two ways to Unix time, one of them a plain clock_gettime
    for _, name, reference, before, after in rows:
        message = name.replace("_", " ")
        (found,) = recording.named(message)
        assert found[3] is not None, f"no device time for {message}"
        start, end = found[3][:2]
        assert int(before) - slack <= start <= end <= int(after) + slack, (message, before, start, end, after)
        errors.setdefault(message.split()[1], []).append(end - start - float(reference))
    for us, values in sorted(errors.items(), key=lambda item: int(item[0])):
        print(f"# {us} us ranges: {percentile(values, 0.5):+.0f} ns median, {percentile(values, 0.99):+.0f} ns p99 "
              f"of the program's own events, {len(values)} ranges")
        # Ours lie around the program's: not shorter but for the resolution of events, and longer by two of them.
        assert min(values) > -2_000, (us, min(values))
    check_steps(recording, [name.replace("_", " ") for _, name, *_ in rows if name.startswith("side_")])
    outer, inner, between = (recording.named(m) for m in ("outer", "inner", "between"))
    assert len(outer) == len(inner) == len(between) > 0
    near = recording.near()
    for o, i, b in zip(outer, inner, between):
        assert o[3] and i[3] and b[3], "a range without a device time"
        assert o[3][0] - near <= i[3][0] and i[3][1] <= b[3][0] + near and b[3][0] <= o[3][1] + near, (o, i, b)
    check_spread(recording)
    print(f"# anchors: {sum(a[0] == 'device' for a in recording.anchors)}, uncertainty at most "
          f"{recording.uncertainty()} ns")
    if truth:
        check_truth(recording, rows, truth)


def check_steps(recording, names):
    """Steps are on the side stream: each holds what it put there, on the device."""
    steps = [e for e in recording.events if e[0].startswith("ProfilerStep#")]
    assert steps and len(names) == 4 * len(steps), (len(names), len(steps))
    for i, name in enumerate(names):
        (found,), step = recording.named(name), steps[i // 4]
        assert step[0] == f"ProfilerStep#{name.split()[-1]}" and step[3], (step, name)
        assert step[3][0] <= found[3][0] + recording.near() and found[3][1] <= step[3][1] + recording.near(), (step, found)
        assert step[3][3] == found[3][3], "another stream"


def check_spread(recording):
    """Streams that work at the same time: each a lane of its own, in its own order."""
    lanes = {}
    for name, _, _, task in recording.events:
        if name.startswith("spread "):
            assert task, f"no device time for {name}"
            lanes.setdefault(name, []).append(task)
    assert len(lanes) == 4, sorted(lanes)
    assert len({tasks[0][3] for tasks in lanes.values()}) == 4, "streams share a lane"
    for name, tasks in lanes.items():
        assert len({t[3] for t in tasks}) == 1, (name, tasks)
        assert all(a[1] <= b[0] + recording.near() for a, b in zip(tasks, tasks[1:])), (name, tasks)
    spans = [(tasks[0][0], tasks[-1][1]) for tasks in lanes.values()]
    together = min(s[1] for s in spans) - max(s[0] for s in spans)
    print(f"# 4 streams, {len(tasks)} ranges each: {max(0, together) / 1000:.0f} us of {max(s[1] - s[0] for s in spans) / 1000:.0f} us "
          "at the same time")


def true_ranges(truth, stream, count, last):
    """On one stream: the event two before and the event two behind each of the first or last kernels."""
    calls = [line.split() for line in truth if line.split()[1] == stream]
    kernels = [i for i, call in enumerate(calls) if call[0] == "kernel"]
    chosen = kernels[-count:] if last else kernels[:count]
    for i in chosen:
        assert [c[0] for c in calls[i - 2:i + 3]] == ["event", "event", "kernel", "event", "event"], calls[i - 2:i + 3]
    return [(int(calls[i - 2][2]), int(calls[i + 2][2])) for i in chosen]


def check_truth(recording, rows, truth):
    """Emulation only: the recorder's events, by their true times. The program waits for each range, so that its calls on a stream
    are: our start, its own event, the kernel, its own event, our end. Before that it calibrates on the default stream."""
    offset = recording.unix_of_mono()
    lines = open(truth).readlines()
    side = next(line.split()[1] for line in lines if line.startswith("kernel") and len(line.split()[1]) > 3)
    allowed = recording.uncertainty() + 2_000  # and two roundings of clocks
    worst = 0
    for where, stream in (("side", side), ("legacy", "0x1"), ("own", "0x2")):
        names = [r[1].replace("_", " ") for r in rows if r[1].startswith(where)]
        for name, (start, end) in zip(names, true_ranges(lines, stream, len(names), where == "legacy")):
            (found,) = recording.named(name)
            off = max(abs(found[3][0] - start - offset), abs(found[3][1] - end - offset))
            worst = max(worst, off)
            assert off <= allowed, f"{name} is {off} ns off, {allowed} were promised"
    print(f"# emulated: at most {worst} ns off, {allowed} were promised")


def check_capture(recording, output, _truth):
    results = [line.split() for line in open(output) if line.startswith("capture ")]
    assert [r[2] for r in results] == ["0", "0", "0"], f"captures were broken: {results}"
    assert all(e[3] is None for e in recording.named("captured")), "an event was recorded into a graph"
    assert all(e[3] for e in recording.named("replay")), "a replay without a device time"
    assert all(e[3] for e in recording.named("side stream")), "a side stream without device times"
    replays = [float(line.split()[2]) for line in open(output) if line.startswith("replay ")]
    for reference, found in zip(replays, recording.named("replay")):
        assert found[3][1] - found[3][0] > reference - 2_000, (reference, found)
    assert recording.drops.get("capturing", 0) >= 60, recording.drops
    print(f"# captures kept whole; {recording.drops['capturing']} events without device times, as they should be")


def check_contexts(recording, _output, _truth):
    assert all(e[3] for e in recording.named("first")), "the first context lost times"
    assert all(e[3] for e in recording.named("last")), "the last range has none"
    across = recording.named("across")
    print(f"# {sum(bool(e[3]) for e in across)} of {len(across)} ranges on a stream of a context that is not current have times")
    seconds = recording.named("second")
    print(f"# {sum(bool(e[3]) for e in seconds)} of {len(seconds)} ranges of a context destroyed later have times; "
          f"drops {json.dumps(recording.drops)}")


def check_kernels(recording, output, truth):
    check_ranges(recording, output, truth)
    spins = [k for k in recording.kernels if "spin" in k[0]]
    rows = [line.split() for line in open(output) if line.startswith("range ")]
    assert len(spins) >= len(rows), f"{len(spins)} kernels for {len(rows)} ranges"
    slack = recording.uncertainty() + 20_000
    inside = 0
    for _, name, *_ in rows:
        (found,) = recording.named(name.replace("_", " "))
        start, end = found[3][:2]
        inside += any(start - slack <= k[1] and k[2] <= end + slack for k in spins)
    print(f"# {inside} of {len(rows)} ranges hold a kernel of CUPTI's")
    assert inside == len(rows)
    sizes = sorted(set(recording.sizes))
    print(f"# {len(spins)} kernels, {min(k[2] - k[1] for k in spins)} to {max(k[2] - k[1] for k in spins)} ns; (blocks, threads, device): {sizes}")
    assert sizes in ([(1, 1, 0)], [(0, 0, 0)]), "not where the records of this CUPTI have them"  # 0: a CUPTI newer than known


def check_told(recording, output, _truth):
    """Ranges that ask for their kernels have the extent of just those that they launched; others have no device row."""
    counts = {}
    for name, tid, start, end, connection in recording.ranges:
        kind = name.split()[0]
        if kind not in ("outer", "inner", "replay", "empty"):
            assert name == "ready" or connection not in recording.tasks, f"{name} has a device row"
            continue
        inside = [w for w in recording.work if w[1] == tid and start <= w[0] < end]
        counts.setdefault(kind, set()).add(len(inside))
        task = recording.tasks.get(connection)
        if inside:
            assert task and task[:2] == (min(w[3] for w in inside), max(w[4] for w in inside)), (name, task, inside)
        else:
            assert task is None, (name, task)
    for line in open(output):
        if line.startswith("told "):
            _, kind, n = line.split()
            assert kind in counts, kind
            print(f"# {kind}: {sorted(counts[kind])} kernels in each, {n} were launched")
            assert kind == "replay" or counts[kind] == {int(n)}, (kind, counts[kind])
    assert not recording.drops.get("not_correlated"), recording.drops
    replays = [w for w in recording.work if w[2].startswith("CUDA graph #")]
    print(f"# graphs: {len(replays)} replays as a whole, {sorted({w[2] for w in replays})}")
    assert len(replays) == 3, "no rows of graphs"


def check_nothing(recording, _output, _truth):
    assert all(e[3] is None for e in recording.events), "device times after an error that stays"
    assert recording.drops.get("device_fault", 0) > 0, recording.drops


def check_overhead(_recording, output, _truth):
    for line in open(output):
        if line.startswith(("cost", "steps", "device", "driver")):
            print(f"# {line.strip()}")


def main():
    what, folder, output = sys.argv[1:4]
    recording = Recording(folder)
    recording.backend(sys.argv[5] if len(sys.argv) > 5 else "cuda_event")
    {"ranges": check_ranges, "capture": check_capture, "contexts": check_contexts,
     "overhead": check_overhead, "kernels": check_kernels, "nothing": check_nothing, "told": check_told}[what](recording, output, sys.argv[4] if len(sys.argv) > 4 else "")


main()
