"""Compares tables of cluster_analysis.db with expected ones: op_sums.py DATABASE EXPECTED_DIR

EXPECTED_DIR holds <table>.tsv and schema.sql. Rows are compared as sets, since their order differs by design; numbers to
twelve digits. Columns, types and indexes must be those of the schema. And the sums of a capture worked out from its own
tables: op_sums.py DATABASE --from PROFILER_DATABASE RANK ..."""

import math
import pathlib
import re
import sqlite3
import statistics
import sys


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def same(a, b):
    x, y = number(a), number(b)
    if x is None or y is None:
        return a == b
    return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12)


def shown(cell):
    return "" if cell is None else str(cell)


def compare_table(db, path):
    header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    cursor = db.execute(f'SELECT * FROM "{path.stem}"')
    got_header = [column[0] for column in cursor.description]
    assert got_header == header, (path.stem, got_header, header)
    got = sorted(([shown(cell) for cell in row] for row in cursor), key=lambda row: [row[-1], row])
    want = sorted(rows, key=lambda row: [row[-1], row])
    assert len(got) == len(want), (path.stem, len(got), len(want))
    for a, b in zip(got, want):
        assert all(same(x, y) for x, y in zip(a, b)), (path.stem, a, b)


def compare_schema(db, text):
    for name, body in re.findall(r'CREATE TABLE IF NOT EXISTS "(\w+)" \((.*?)\n\);', text, re.S):
        want = re.findall(r'"([^"]+)" (\w+)', body)
        got = [(row[1], row[2]) for row in db.execute(f'PRAGMA table_info("{name}")')]
        assert got == want, (name, got, want)
    want = set(re.findall(r'CREATE INDEX "(\w+)"', text))
    got = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert want <= got, (want, got)


def quantile(values, p):
    at = (len(values) - 1) * p
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def block(values):
    """count, mean, deviation (n - 1), min, quartiles, max, sum"""
    values = sorted(values)
    return [
        len(values),
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else None,
        values[0],
        *(quantile(values, p) for p in (0.25, 0.5, 0.75)),
        values[-1],
        sum(values),
    ]


KERNELS = """
SELECT n.value, o.value, y.value, coalesce(i.value, ''), t.endNs - t.startNs
FROM COMPUTE_TASK_INFO c JOIN TASK t ON t.globalTaskId = c.globalTaskId
LEFT JOIN STRING_IDS n ON n.id = c.name LEFT JOIN STRING_IDS o ON o.id = c.opType
LEFT JOIN STRING_IDS y ON y.id = c.taskType LEFT JOIN STRING_IDS i ON i.id = c.inputShapes"""

CALLS = "SELECT s.value, c.endNs - c.startNs FROM CANN_API c JOIN STRING_IDS s ON s.id = c.name"


def grouped(rows):
    groups = {}
    for *key, value in rows:
        groups.setdefault(tuple(key), []).append(value)
    return groups


def expect(name, got, want):
    assert got.keys() == want.keys(), (name, set(got) ^ set(want))
    for key in want:
        for a, b in zip(got[key], want[key]):
            assert same(shown(a), shown(b)), (name, key, got[key], want[key])


def by_key(db, query, n_keys):
    return {tuple(row[:n_keys]): row[n_keys:] for row in db.execute(query)}


def compare_capture(db, captures):
    kernels, calls = [], []
    for rank, path in captures:
        source = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        kernels += [(*row[:4], rank, row[4]) for row in source.execute(KERNELS)]
        calls += [(row[0], rank, row[1]) for row in source.execute(CALLS)]
    stats = "Count, MeanNs, StdNs, MinNs, Q1Ns, MedianNs, Q3Ns, MaxNs, SumNs"
    for table, keys, groups in (
        ("ComputeOpAllRankStats", "OpType, TaskType", grouped((k[1], k[2], k[5]) for k in kernels)),
        ("ComputeOpPerRankStatsByOpType", "OpType, TaskType, Rank",
         grouped((k[1], k[2], k[4], k[5]) for k in kernels)),
        ("ComputeOpPerRankStatsByOpName", "OpName, OpType, TaskType, InputShapes, Rank", grouped(kernels)),
    ):
        got = by_key(db, f"SELECT {keys}, {stats} FROM {table}", keys.count(",") + 1)
        expect(table, got, {key: block(values) for key, values in groups.items()})
    total = sum(row[2] for row in calls)
    want = {}
    for (name,), values in grouped((row[0], row[2]) for row in calls).items():
        b = block(values)
        numbers = [round(100 * b[8] / total, 2), b[8], b[0]]
        numbers += [round(x, 1) for x in (b[1], b[4], b[5], b[6], b[3], b[7], statistics.pstdev(values))]
        of = [(row[2], row[1]) for row in calls if row[0] == name]
        for pick in (min, max):
            best = pick(value for value, _ in of)
            numbers.append(", ".join(str(r) for r in sorted({r for value, r in of if value == best})))
        want[(name,)] = numbers
    expect("CannApiSum", by_key(db, "SELECT * FROM CannApiSum", 1), want)
    want = {}
    for (name, rank), values in grouped(calls).items():
        b = block(values)
        share = 100 * b[8] / sum(row[2] for row in calls if row[1] == rank)
        numbers = [round(share, 2), b[8], b[0]]
        numbers += [round(x, 1) for x in (b[1], b[3], b[4], b[5], b[6], b[7], statistics.pstdev(values))]
        want[(name, rank)] = numbers
    got = by_key(db, "SELECT name, rank, durationRatio, totalTimeNs, totalCount, averageNs, minNs, Q1Ns, medNs, Q3Ns,"
                     " maxNs, stdev FROM CannApiSumRank", 2)
    expect("CannApiSumRank", got, want)


def main():
    db = sqlite3.connect(sys.argv[1])
    if sys.argv[2] == "--from":
        paths = sys.argv[3:]
        compare_capture(db, [(int(rank), path) for path, rank in zip(paths[::2], paths[1::2])])
        return
    expected = pathlib.Path(sys.argv[2])
    for path in sorted(expected.glob("*.tsv")):
        compare_table(db, path)
    compare_schema(db, (expected / "schema.sql").read_text())


main()
