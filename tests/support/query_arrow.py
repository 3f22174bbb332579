"""Rows of a query as Arrow against the same rows as JSON, read by pyarrow: query_arrow.py PATH SQL..."""
import json
import math
import os
import subprocess
import sys
import tempfile

import pyarrow
import pyarrow.ipc


def run(*words):
    return subprocess.run(("pipescope", *words), capture_output=True, check=True).stdout


def same(a, b):
    return math.isclose(a, b, rel_tol=1e-12) if isinstance(a, float) and isinstance(b, (int, float)) else a == b


def main():
    path = sys.argv[1]
    n_rows = n_batches = 0
    for sql in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.arrow")
            run("query", path, sql, "-o", file)
            reader = pyarrow.ipc.open_file(pyarrow.memory_map(file))
            table = reader.read_all()
            table.validate(full=True)
            rows = json.loads(run("query", path, sql, "--as", "json"))
            if run("query", path, sql, "--as", "arrow") != open(file, "rb").read():
                sys.exit("%s: onto standard output come other bytes" % sql)
        got = table.to_pylist()
        if len(got) != len(rows):
            sys.exit("%s: %d rows, of JSON %d" % (sql, len(got), len(rows)))
        for row, wanted in zip(got, rows):
            for key, cell in wanted.items():
                text = pyarrow.types.is_large_string(table.schema.field(key).type)
                cell = str(cell) if text and cell is not None else cell
                if not same(row[key], cell):
                    sys.exit("%s: %s is %r, in JSON %r" % (sql, key, row[key], cell))
        units = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}
        for name, unit in {"start_ns": "ns since 1970", "dur_ns": "ns", "total_ns": "ns"}.items():
            if units.get(name, unit) != unit:
                sys.exit("%s: %s has the unit %r" % (sql, name, units[name]))
        n_rows += len(rows)
        n_batches += reader.num_record_batches
    print("%d rows in %d batches" % (n_rows, n_batches))


if __name__ == "__main__":
    main()
