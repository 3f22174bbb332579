#!/usr/bin/env python3
"""Checks the two files of `pipescope timeline`: check_timeline.py DIR [EXPECTED.json] [key=value ...]

Both are JSON with one member, hold the same events, nest well in each row, name every row, and count in integers. Jobs
equal the expected events; steps span them; bubbles fill what the jobs leave free of the steps. key=value pairs compare
counts: jobs=154 rows=GPU4,GPU5 steps=3,4,5 processes=2.
"""
import collections
import json
import sys


def fail(text):
    sys.exit("check_timeline: " + text)


def no_float(text):
    fail("a number that is no integer: " + text)


def load(path):
    with open(path, encoding="utf-8") as file:
        doc = json.load(file, parse_float=no_float)
    if list(doc) not in (["traceEvents"], ["traceEvents", "lacks"]):
        fail("%s has members %s" % (path, list(doc)))
    return doc["traceEvents"]


def check_nesting(events, name):
    rows = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            rows[e["pid"], e["tid"]].append((e["ts"], -e["dur"], e["name"]))
    for row, slices in rows.items():
        ends = []
        for start, minus, what in sorted(slices):
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and start - minus > ends[-1]:
                fail("%s: %s in row %s is not nested" % (name, what, row))
            ends.append(start - minus)
    return rows


def union(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def check_same(chrome, perfetto):
    def rest(e):
        return {k: v for k, v in e.items() if k != "tid"}

    slices = [[e for e in events if e["ph"] == "X"] for events in (chrome, perfetto)]
    if [rest(e) for e in slices[0]] != [rest(e) for e in slices[1]]:
        fail("the files hold different events")
    tids = {}
    for a, b in zip(*slices):
        if not isinstance(a["tid"], str) or not isinstance(b["tid"], int):
            fail("row %r, %r" % (a["tid"], b["tid"]))
        if tids.setdefault((a["pid"], a["tid"]), b["tid"]) != b["tid"]:
            fail("row %s has two numbers" % a["tid"])
    if len(set(tids.values())) != len(tids):
        fail("two rows have one number")
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in perfetto if e["name"] == "thread_name"}
    for (pid, text), number in tids.items():
        want = "STEP" if text == "Step" else text.replace("GPU", "GPU:", 1)
        if names.get((pid, number)) != want:
            fail("row %s is named %s" % (text, names.get((pid, number))))
    for events in (chrome, perfetto):
        order = [(e["pid"], e["args"]["sort_index"]) for e in events if e["name"] == "thread_sort_index"]
        if len(set(order)) != len(order):
            fail("two rows of a process have one place")
    return tids


def worker_of(e):
    """(machine, worker) from a text such as GPU4(machine:1) stage"""
    text = e["tid"].split(" ")[0][3:]
    worker, _, machine = text.partition("(machine:")
    return int(machine.rstrip(")")) if machine else 0, int(worker)


def check_jobs(jobs, expected):
    runs = any(e.get("run") for e in expected["events"])
    want = collections.Counter()
    got = collections.Counter()
    for e in expected["events"]:
        want[e["machine"], e["worker"], "%s_%d" % (e["type"], e["job_id"]), e["type"], e["micro_batch"],
             e.get("run", 0), None if runs else e["step"], e["start_us"], e["end_us"] - e["start_us"]] += 1
    for e in jobs:
        a = e["args"]
        got[worker_of(e) + (e["name"], e["cat"], a["microbatch"], a.get("run", 0),
                            None if runs else a["step"], e["ts"], e["dur"])] += 1
        if a["duration_us"] != e["dur"] or "cname" not in e:
            fail("job %s" % e)
    if want != got:
        fail("jobs differ: missing %s, too many %s" % (list(want - got)[:3], list(got - want)[:3]))


def check_bubbles(slices, steps):
    jobs = collections.defaultdict(list)
    idle = collections.defaultdict(list)
    has = collections.defaultdict(set)
    for e in slices:
        if e["cat"] in ("step", "stage"):
            continue
        if e["cat"] == "bubble":
            idle[worker_of(e)].append((e["ts"], e["ts"] + e["dur"], e["args"]["step"]))
        else:
            jobs[worker_of(e)].append((e["ts"], e["ts"] + e["dur"]))
            has[worker_of(e)].add(e["args"]["step"])
    for worker, spans in jobs.items():
        want = []
        for e in steps:
            if e["args"]["step"] not in has[worker]:
                continue
            at = e["ts"]
            for start, end in union(spans):
                if end > at and start < e["ts"] + e["dur"]:
                    if start > at:
                        want.append((at, start, e["args"]["step"]))
                    at = max(at, end)
            if at < e["ts"] + e["dur"]:
                want.append((at, e["ts"] + e["dur"], e["args"]["step"]))
        if want != idle[worker]:
            fail("bubbles of %s: %s, not %s" % (worker, idle[worker][:3], want[:3]))


def main(folder, rest):
    chrome = load(folder + "/pipeline_profile.json")
    perfetto = load(folder + "/pipeline_profile_perfetto.json")
    tids = check_same(chrome, perfetto)
    check_nesting(chrome, "chrome")
    check_nesting(perfetto, "perfetto")
    slices = [e for e in chrome if e["ph"] == "X"]
    steps = [e for e in slices if e["cat"] == "step"]
    jobs = [e for e in slices if e["cat"] not in ("step", "stage", "bubble")]
    for k in {e["args"]["step"] for e in jobs}:
        mine = [e for e in jobs if e["args"]["step"] == k]
        step = [e for e in steps if e["args"]["step"] == k]
        start, end = min(e["ts"] for e in mine), max(e["ts"] + e["dur"] for e in mine)
        if len(step) != 1 or step[0]["name"] != "step%d" % k or step[0]["tid"] != "Step":
            fail("step %d" % k)
        drawn = step[0]["args"]
        if (drawn.get("start_us", step[0]["ts"]), drawn.get("end_us", step[0]["ts"] + step[0]["dur"])) != (start, end):
            fail("step %d spans %s, not %s" % (k, step[0], (start, end)))
    check_bubbles(slices, steps)
    for word in rest:
        if word.endswith(".json"):
            with open(word, encoding="utf-8") as file:
                check_jobs(jobs, json.load(file))
            continue
        key, _, value = word.partition("=")
        got = {"jobs": lambda: str(len(jobs)),
               "steps": lambda: ",".join(str(e["args"]["step"]) for e in steps),
               "stages": lambda: ",".join("%d:%s" % (worker_of(e)[1], e["name"]) for e in slices
                                          if e["cat"] == "stage" and e["args"]["step"] == steps[0]["args"]["step"]),
               "rows": lambda: ",".join(t for _, t in tids if " " not in t and t != "Step"),
               "processes": lambda: str(len({p for p, _ in tids}))}[key]()
        if got != value:
            fail("%s %s, not %s" % (key, got, value))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
