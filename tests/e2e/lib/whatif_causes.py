"""Plants one cause in each of many jobs and asks whatif for it: whatif_causes.py PROGRAM FOLDER CASES. Prints how often which
cause was named first for which, and fails when any is not the one that was planted. One case in three is a timeline of
workers; the others are marks of `simulate`, under all schedules."""
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from worker_timeline import Job, orders_of

CAUSES = ("none", "worker", "stage split", "links", "sequence lengths", "host")
# simulate plants no pauses of the host.
OF_MARKS = CAUSES[:-1]
ALL_SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "interleaved-zb", "dualpipe", "dualpipev", "looped-bfs")
# Schedules whose stages pass their results on in order, as timelines of workers do.
SCHEDULES = ("1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "interleaved-zb")


def noisy(rng, cache, op, share):
    if op not in cache:
        cache[op] = max(0.5, rng.gauss(1, share))
    return cache[op]


def plant(rng, job, cause, p, d):
    """Changes the job's durations; what is usual has a noise of 2 %."""
    noise, lengths, pauses = {}, {}, {}
    place = (rng.randrange(p), rng.randrange(d))
    link = rng.randrange(p - 1)
    factor = rng.uniform(1.6, 3)
    base = {"F": 10, "B": 20, "W": 10, "O": 3, "A": 1, "R": 2}

    def duration(op):
        ms = base.get(op.kind, 0.2) * noisy(rng, noise, op, 0.02)
        computes = op.kind in "FBW"
        if cause == "worker" and computes and (op.stage, op.replica) == place:
            ms *= factor
        if cause == "stage split" and computes and op.stage == place[0]:
            ms *= factor
        if cause == "sequence lengths" and computes:
            key = (op.step, op.replica, op.microbatch)
            ms *= lengths.setdefault(key, rng.lognormvariate(0, 0.4))
        if cause == "links" and op.kind in ("FS", "BS", "FR", "BR") and op.replica == place[1]:
            sender = op.stage if op.kind in ("FS", "BR") else op.stage - 1
            ms *= 60 * factor if sender == link else 1
        return ms

    def delay(op):
        if cause != "host" or op.kind not in "FBW":
            return 0
        if op not in pauses:
            pauses[op] = rng.uniform(10, 30) if rng.random() < 0.15 else 0
        return pauses[op]

    job.duration, job.delay = duration, delay


def make_timeline(program, folder, case):
    """The cause, a description of the job, and its path."""
    rng = random.Random(case)
    cause = CAUSES[case % len(CAUSES)]
    schedule = SCHEDULES[case // len(CAUSES) % len(SCHEDULES)]
    p, d = rng.choice((3, 4, 6)), rng.choice((3, 4, 5))
    m = rng.choice((2 * p, 3 * p))
    job = Job(orders_of(program, folder, schedule, p, m, 2), d)
    plant(rng, job, cause, p, d)
    path = f"{folder}/case.json"
    job.write(path, range(10, 13))
    return cause, ("timeline", schedule, p, d, m), path


def make_marks(program, folder, case):
    rng = random.Random(case)
    cause = OF_MARKS[case % len(OF_MARKS)]
    schedule = ALL_SCHEDULES[case // len(OF_MARKS) % len(ALL_SCHEDULES)]
    p, d = 4, rng.choice((3, 4))
    m = rng.choice((2 * p, 3 * p))
    rank, factor = rng.randrange(p * d), rng.uniform(1.6, 3)
    planted = {"worker": ["--slow-rank", f"{rank}:{factor:.3f}"],
               "stage split": ["--slow-stage", f"{rank // d}:{factor:.3f}"],
               "links": ["--slow-link", f"{rank % (p * d - d)}:{10000 * factor:.0f}"],
               "sequence lengths": ["--lengths", "60"]}
    path = f"{folder}/marks"
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run([program, "simulate", schedule, "--pp", str(p), "--dp", str(d), "--microbatches", str(m), "--steps", "2",
                    "--jitter", "3", "--p2p-us", "200", "--seed", str(case), "--profile", path, "--quiet",
                    *(["--chunks", "2"] if "interleaved" in schedule else []), *planted.get(cause, [])],
                   check=True, stdout=subprocess.DEVNULL)
    return cause, ("marks", schedule, p, d, m), path


def main():
    program, folder, cases = sys.argv[1], sys.argv[2], int(sys.argv[3])
    named = {}
    wrong = []
    for case in range(cases):
        make = make_timeline if case % 3 == 0 else make_marks
        cause, job, path = make(program, folder, case // 3 if case % 3 == 0 else case - case // 3 - 1)
        out = json.loads(subprocess.run([program, "whatif", path, "--json", "--quiet"], check=True,
                                        stdout=subprocess.PIPE).stdout)
        holds = [c["cause"] for c in out["causes"] if c["holds"] == "yes"] or ["none"]
        named[cause, holds[0]] = named.get((cause, holds[0]), 0) + 1
        if holds[0] != cause:
            wrong.append((case, cause, *job, out["slowdown"], [(c["cause"], c["figure"]) for c in out["causes"]]))
    print(f"{'planted':18}" + "".join(f"{c:>18}" for c in CAUSES))
    for a in CAUSES:
        print(f"{a:18}" + "".join(f"{named.get((a, b), 0):18}" for b in CAUSES))
    for w in wrong[:10]:
        print(*w)
    sys.exit(1 if wrong else 0)


main()
