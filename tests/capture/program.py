"""The real program on one capture: each command runs once, its answer is kept. Times become whole nanoseconds."""
import functools
import json
import os
import re
import subprocess
import sys
from decimal import Decimal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("PIPESCOPE_BIN") or os.path.join(ROOT, "build", "release", "pipescope")
PATIENCE = 600
NOTHING = 3  # exit status: nothing to report, no pipeline, no profile
PARTLY = 4


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


class Broken(Exception):
    """A command ended in a way that no capture excuses."""


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)


class Capture:
    """The answers about the capture at `path`; files go below `folder`. `name` is how messages call it."""

    def __init__(self, name, path, folder):
        self.name, self.path, self.folder = name, os.path.abspath(path), folder
        self.kept = {}
        os.makedirs(folder, exist_ok=True)

    def once(self, key, make):
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def file(self, name):
        return os.path.join(self.folder, name)

    def written(self, *arguments, out):
        """What a command wrote to `out`; None where there is nothing of that kind in the capture."""
        status, _, errors = run("--quiet", *arguments, "-o", out)
        if status == NOTHING:
            return None
        if status not in (0, PARTLY):
            raise Broken("%s: status %d: %s" % (" ".join(arguments[:1]), status, errors.strip()[-300:]))
        return load(out) if os.path.isfile(out) else None

    def report(self):
        return self.once("report", lambda: self.written("report", self.path, out=self.file("report.json")))

    def chart(self):
        def make():
            try:
                return self.written("chart", self.path, out=self.file("chart.json"))
            except Broken:
                return None  # no pipeline: says so itself

        return self.once("chart", make)

    def compare(self):
        return self.once("compare", lambda: self.written("compare", self.path, self.path, out=self.file("compare.json")))

    def info(self):
        def make():
            status, out, errors = run("info", self.path, "--json")
            if status not in (0, PARTLY):
                raise Broken("info: status %d: %s" % (status, errors.strip()[-300:]))
            return json.loads(out, parse_float=Decimal)

        return self.once("info", make)

    def tables(self):
        """{"ClusterTimeSummary/cluster_time_summary": rows} of all modes; None: nothing to analyse."""
        return self.once("tables", self.make_tables)

    def make_tables(self):
        out = self.file("every")
        status, _, errors = run("--quiet", "cluster", "-m", "every", "-d", self.path, "--export_type", "json", "-o", out)
        if status == NOTHING:
            return None
        if status not in (0, PARTLY):
            raise Broken("cluster -m every: status %d: %s" % (status, errors.strip()[-300:]))
        found, top = {}, os.path.join(out, "cluster_analysis_output")
        for folder, _, names in os.walk(top):
            for name in names:
                if name.endswith(".json"):
                    path = os.path.join(folder, name)
                    found[os.path.relpath(path, top)[:-5]] = load(path)
        return found

    def converted(self, ending=".json"):
        """The path of the capture as `convert` writes it; None where it has no events."""

        def make():
            out = self.file("converted" + ending)
            status, _, errors = run("--quiet", "convert", self.path, "-o", out)
            if status == NOTHING:
                return None
            if status not in (0, PARTLY):
                raise Broken("convert: status %d: %s" % (status, errors.strip()[-300:]))
            return out

        return self.once("converted" + ending, make)

    def traces(self):
        """{rank: Trace}, the timeline itself."""
        return self.once("traces", lambda: read_traces(self.converted()) if self.converted() else {})


class Trace:
    """The slices of a rank: (start, end, name, kind, values of arguments, device), in ns since 1970."""

    def __init__(self):
        self.slices, self.steps, self.kinds, self.devices = [], [], {}, {}

    def kind(self, event):
        return self.kinds.get((event.get("cat"), event["name"]), self.kinds.get((event.get("cat"), None), event.get("cat")))

    def work(self):
        return [s for s in self.slices if s[3] in ("kernel", "communication", "communication-kernel", "job")]

    def busy(self):
        """What ran on the device at all: work and copies."""
        return self.work() + [s for s in self.slices if s[3] == "copy"]

    def busy_by_device(self):
        """The same, a list for each device. What stands on host threads is no work of a device, where others are known."""
        found = {}
        for s in self.busy():
            found.setdefault(s[5], []).append(s)
        if len(found) > 1:
            found.pop(-1, None)
        return list(found.values())


def ns(value):
    return int((value if isinstance(value, Decimal) else Decimal(value)) * 1000)


def read_traces(path):
    data = load(path)
    base = int(data.get("baseTimeNanoseconds", 0))
    traces, trace = {}, None
    for event in data["traceEvents"]:
        if event["ph"] == "M":
            args = event.get("args", {})
            if event["name"] == "pipescope_rank":
                trace = traces.setdefault(args["rank"], Trace())
            elif event["name"] == "pipescope_step":
                trace.steps.append((args["id"], int(args["start_ns"]), int(args["end_ns"])))
            elif event["name"] == "pipescope_category":
                trace.kinds[args["cat"], args.get("name")] = args["kind"]
            elif event["name"] == "pipescope_track" and "tid" in event:
                trace.devices[event["pid"], event["tid"]] = args["device"]
        elif event["ph"] == "X" and trace is not None:
            start = base + ns(event["ts"])
            trace.slices.append((start, start + ns(event.get("dur", 0)), event["name"], trace.kind(event),
                                 event.get("args") or {}, trace.devices.get((event["pid"], event["tid"]), -1)))
    for trace in traces.values():
        trace.slices.sort(key=lambda s: s[:2])
    return traces


@functools.lru_cache(maxsize=1 << 16)
def number_of_text(text):
    return Decimal(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else None


def number(value):
    """A figure of a cell: Decimal, or None where it is none. By type, so that True is none."""
    kind = type(value)
    if kind is Decimal:
        return value
    if kind is int:
        return Decimal(value)
    return number_of_text(value) if kind is str else None


if not os.access(PROGRAM, os.X_OK):
    sys.exit("no program at %s: ./dev build" % PROGRAM)
