"""step_time.py DATABASE EXPECTED INPUT: the tables of step time against those of the public tool, and a second computation.

What is right on purpose where that tool is not: rows by step, type and rank; NULL for NA; paths below the input directory;
gaps between neighbours of communication as well, and at the edges of the steps.
"""
import collections
import csv
import pathlib
import sqlite3
import sys

database, expected, source = sys.argv[1:4]
db = sqlite3.connect(database)
expected = pathlib.Path(expected)


def table(path):
    with open(path, newline="") as f:
        return list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {set(map(str, got)) ^ set(map(str, want))}")


def number(text):
    return None if text == "NA" else float(text)


# The same rows, whatever their order.
got = [tuple(r) for r in db.execute("SELECT * FROM ClusterStepTraceTime")]
want = [tuple(r[:3]) + tuple(number(c) for c in r[3:]) for r in table(expected / "all/ClusterStepTraceTime.tsv")]
check("ClusterStepTraceTime", sorted(map(str, (tuple(r[:3]) + tuple(None if c is None else float(c) for c in r[3:]) for r in got))),
      sorted(map(str, want)))
order = [(int(r[0]), r[1], int(r[2].strip("()").split(",")[0])) for r in got]
check("order", order, sorted(order))
for name in ("HostInfo", "ClusterBaseInfo"):
    check(name, [list(r) for r in db.execute(f"SELECT * FROM {name}")], table(expected / f"all/{name}.tsv"))
check("RankDeviceMap", [[str(c) for c in r] for r in db.execute("SELECT * FROM RankDeviceMap")],
      [r[:3] + [r[3].removeprefix("DIR/")] for r in table(expected / "all/RankDeviceMap.tsv")])

# Gaps: ours are those of the public tool, but for shorter ones that the edges of the steps have displaced.
gaps = collections.defaultdict(list)
for rank, start, end, us, reason in db.execute('SELECT rankId, "startTime(us)", "endTime(us)", "duration(us)", reason FROM FreeAnalysis'):
    gaps[str(rank)].append((start, end, us, reason))
public = collections.defaultdict(set)
for row in table(expected / "free_analysis/FreeAnalysis.tsv"):
    public[row[0]].add((row[1], row[2], float(row[3])))
check("ranks of gaps", sorted(gaps), sorted(public))
for rank, rows in gaps.items():
    check(f"order of gaps of rank {rank}", [r[2] for r in rows], sorted((r[2] for r in rows), reverse=True))
    inner = [r[:3] for r in rows if "of the step" not in r[3]]
    check(f"gaps of rank {rank}", [r for r in inner if r not in public[rank]], [])
    shortest = rows[-1][2]
    check(f"gaps of rank {rank} that are missing", [r for r in public[rank] if r[2] > shortest and r not in inner], [])

# Wait and transmission of collectives, from the operators themselves: names are unique in a step here.
durations = collections.defaultdict(dict)
for path in sorted(pathlib.Path(source).glob("rank*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db")):
    rank = int(path.stem.rsplit("_", 1)[1])
    own = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    steps = own.execute("SELECT id, startNs, endNs FROM STEP_TIME").fetchall()
    for op, group, ns, launch in own.execute(
        "SELECT s.value, g.value, o.endNs - o.startNs, c.startNs FROM COMMUNICATION_OP o JOIN STRING_IDS s ON s.id = o.opName"
        " JOIN STRING_IDS g ON g.id = o.groupName JOIN CANN_API c ON c.connectionId = o.connectionId"
    ):
        if "send" in op.lower() or "receive" in op.lower():
            continue
        step = next(i for i, a, b in steps if a <= launch < b)
        durations[(op, group, step)][rank] = ns
waits = collections.Counter()
transmits = collections.Counter()
for (_, _, step), ranks in durations.items():
    if len(ranks) == 4:  # data parallel groups
        for rank, ns in ranks.items():
            waits[rank, step] += ns - min(ranks.values())
            transmits[rank, step] += min(ranks.values())
rows = db.execute("SELECT rank, step, communicationWaitStageTime, communicationTransmitStageTime FROM ClusterTimeSummary").fetchall()
check("rows of the summary", [r[:2] for r in rows], sorted((r, s) for r in range(8) for s in (3, 4)))
check("waits", [r[2:] for r in rows], [(waits[r[:2]] / 1000, transmits[r[:2]] / 1000) for r in rows])
