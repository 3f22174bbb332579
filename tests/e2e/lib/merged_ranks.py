"""Files of trace events that hold several ranks: merged_ranks.py PROGRAM FOLDER."""
import gzip
import json
import subprocess
import sys

STAGES, MICROBATCHES = 4, 6


class Merged:
    """A simulated step, written as one Chrome JSON of four processes."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        path = f"{folder}/chart.json"
        subprocess.run([program, "simulate", "1f1b", "--pp", str(STAGES), "--microbatches", str(MICROBATCHES), "-o", path],
                       check=True, stdout=subprocess.DEVNULL)
        self.ops = json.load(open(path))["ops"]

    def events(self, name, kind="process_name", pid=lambda stage: 100 + stage):
        key = {"process_name": "name", "process_labels": "labels"}[kind]
        meta = [{"ph": "M", "name": kind, "pid": pid(s), "tid": 0, "args": {key: name(s)}} for s in range(STAGES)]
        slices = [{"ph": "X", "name": f"PP:{o['stage']}{o['kind']}{o['microbatch']}", "cat": "x", "pid": pid(o["stage"]),
                   "tid": 7, "ts": o["start_ns"] / 1000, "dur": (o["end_ns"] - o["start_ns"]) / 1000, "args": {"brace": "}{"}}
                  for o in sorted(self.ops, key=lambda o: o["start_ns"])]
        return meta, slices

    def write(self, name, events, wrap=False):
        path = f"{self.folder}/{name}"
        text = json.dumps({"displayTimeUnit": "ms", "traceEvents": events, "after": {"a": [1]}} if wrap else events)
        with (gzip.open(path, "wt") if name.endswith(".gz") else open(path, "w")) as file:
            file.write(text)
        return path

    def run(self, *args):
        done = subprocess.run([self.program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout + ("" if "--json" in args else done.stderr)

    def expect_stages(self, path, *more):
        """Four ranks, one on each stage, and the schedule's own bubble."""
        out = f"{self.folder}/out.json"
        code, text = self.run("chart", path, "-o", out, "--quiet", *more)
        assert code == 0, text
        chart = json.load(open(out))
        ranks = sorted((r["rank"], r["stage"]) for r in chart["ranks"])
        assert ranks == [(s, s) for s in range(STAGES)], ranks
        assert len(chart["ops"]) == len(self.ops), (len(chart["ops"]), len(self.ops))
        key = lambda o: (o["stage"], o["kind"], o["microbatch"], o["end_ns"] - o["start_ns"])
        assert sorted(map(key, chart["ops"])) == sorted(map(key, self.ops))
        code, text = self.run("info", path, "--json", *more)
        assert code == 0 and len(json.loads(text)["ranks"]) == STAGES, text


def main():
    m = Merged(sys.argv[1], sys.argv[2])
    # Labels or names, before or behind all events, in an object, gzipped, with pids that are texts.
    meta, slices = m.events(lambda s: f"rank {s}", "process_labels")
    m.expect_stages(m.write("front.json", meta + slices))
    m.expect_stages(m.write("behind.json", slices + meta, wrap=True))
    meta, slices = m.events(lambda s: f"[rank{s}] python3", pid=lambda s: f"r{s}")
    m.expect_stages(m.write("texts.json.gz", slices + meta))
    meta, slices = m.events(lambda s: f"host{s} Rank={s}")
    twice = [dict(e, tid=8, name="other") for e in slices[:3]]
    m.expect_stages(m.write("long.json", slices + [{"ph": "i", "name": "x" * 90, "pid": 100, "tid": 1, "ts": 1}] * 1500 + meta + twice))
    # What tells no rank is left out and counted.
    rest = [{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "loader"}},
            {"ph": "X", "name": "load", "pid": 9, "tid": 1, "ts": 0, "dur": 5}]
    path = m.write("rest.json", meta + slices + rest)
    m.expect_stages(path)
    _, text = m.run("chart", path)
    assert "1 process of a merged file tells no rank: left out" in text, text
    # Workers: refused with the remedy, and read with it.
    meta, slices = m.events(lambda s: f"node-a trainer_{s}")
    path = m.write("workers.json", meta + slices)
    for command in ("chart", "whatif", "report", "info"):
        code, text = m.run(command, path)
        assert code != 0 and "--rank-from" in text, (command, code, text)
    m.expect_stages(path, "--rank-from", r"trainer_(\d+)")
    meta, slices = m.events(lambda s: f"job.7.{s}.x")
    path = m.write("numbers.json", meta + slices)
    m.expect_stages(path, "--rank-from", r"\.(\d+)\.x$")
    code, text = m.run("chart", path, "--rank-from", "(")
    assert code == 2 and "--rank-from" in text, text
    _, text = m.run("info", path, "--rank-from", "nothing([0-9])")
    assert "no two of its processes tell ranks" in text, text
    # One process, or several that are not ranks: a file of one rank as before.
    for name in (lambda s: "python", lambda s: f"GPU {s}", lambda s: "rank 3"):
        meta, slices = m.events(name)
        code, text = m.run("info", m.write("one.json", meta + slices), "--json")
        assert code == 0 and len(json.loads(text)["ranks"]) == 1, text
    # What convert writes of all ranks is read as all ranks.
    profile = f"{m.folder}/profile"
    m.run("simulate", "1f1b", "--pp", "4", "--microbatches", "6", "--profile", profile, "--quiet")
    for name in ("all.json", "all.json.gz"):
        code, text = m.run("convert", profile, "-o", f"{m.folder}/{name}", "--quiet")
        assert code == 0, text
        code, text = m.run("info", f"{m.folder}/{name}", "--json")
        assert code == 0 and [r["rank"] for r in json.loads(text)["ranks"]] == list(range(4)), text
        bubbles = []
        for path in (profile, f"{m.folder}/{name}"):
            code, text = m.run("chart", path, "--quiet")
            assert code == 0, text
            bubbles.append(text[text.index("bubble of each stage"):])
        assert bubbles[0] == bubbles[1]


main()
