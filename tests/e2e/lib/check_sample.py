"""check_sample.py DIR EXPECTED: compares the databases below DIR with what msprof-analyze writes."""

import collections
import json
import pathlib
import sqlite3
import sys


def columns(db, table):
    return [(name, kind) for _, name, kind, *_ in db.execute(f'PRAGMA table_info("{table}")')]


def main(root, expected_path):
    expected = json.loads(pathlib.Path(expected_path).read_text())
    faults = []
    ends = collections.defaultdict(list)
    for rank, want in expected.items():
        found = list(pathlib.Path(root).rglob(f"ascend_pytorch_profiler_{rank}.db"))
        assert len(found) == 1, f"rank {rank}: {found}"
        db = sqlite3.connect(f"file:{found[0]}?mode=ro", uri=True)
        model = sqlite3.connect(":memory:")
        for statement in want["schema"]:
            model.execute(statement)
        rows = {
            "StepTaskInfo": [list(row) for row in db.execute("SELECT * FROM StepTaskInfo")],
            "opConnectionId": [
                list(row)
                for row in db.execute(
                    "SELECT value, opConnectionId FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName ORDER BY value"
                )
            ],
        }
        for what, got in rows.items():
            wanted = want[what] if what == "StepTaskInfo" else sorted(want[what])
            if got != wanted:
                first = next((pair for pair in zip(got, wanted) if pair[0] != pair[1]), (len(got), len(wanted)))
                faults.append(f"rank {rank}: {what}: got {first[0]}, expected {first[1]}")
        for table in ("StepTaskInfo", "COMMUNICATION_OP"):
            if columns(db, table) != columns(model, table):
                faults.append(f"rank {rank}: {table} has columns {columns(db, table)}")
        for name, pair in rows["opConnectionId"]:
            ends[pair].append((name.split("_")[1], rank))
    for pair, both in ends.items():
        if sorted(kind for kind, _ in both) != ["receive", "send"]:
            faults.append(f"{pair} joins {both}")
    print("\n".join(faults) if faults else f"{len(expected)} ranks as expected, {len(ends)} pairs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
