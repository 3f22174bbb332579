"""What `pipescope query` counts and sums against what the command says that shows it: query_sums.py PATH...

Of each capture: slices by rank and kind, flows by kind, values of counters and steps against `info --json`; ops and links of the chart
against `chart -o FILE.json`, and its bubble against the table of the chart; tables of modes against the database of `cluster -m every`.
"""
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

from asking import Asking


def run(*words, wanted=(0,)):
    done = subprocess.run(("pipescope", *words), capture_output=True, text=True, check=False)
    if done.returncode not in wanted:
        sys.exit("exit %d: %s\n%s" % (done.returncode, " ".join(words), done.stderr))
    return done.stdout


def query(asked, sql):
    return [tuple(row.values()) for row in asked.rows(sql)]


def expect(what, got, wanted):
    if got != wanted:
        sys.exit("%s: the query says %s, the command %s" % (what, got, wanted))


def check_info(path, asked):
    slices, flows = collections.Counter(), collections.Counter()
    steps, values = collections.Counter(), collections.Counter()
    for profile, rank in enumerate(json.loads(run("info", path, "--json"))["ranks"]):
        for kind, n in rank["slices"].items():
            slices[profile, kind] += n
        for kind, n in rank["flows"].items():
            flows[profile, kind] += n
        values[profile] += rank["counters"]["values"]
        for step in rank["steps"]:
            steps[profile, step] += 1
    kinds = "SELECT profile, kind, count(*) FROM %s GROUP BY profile, kind"
    expect(path + ": slices", {r[:2]: r[2] for r in query(asked, kinds % "slice")}, {k: n for k, n in slices.items() if n})
    expect(path + ": flows", {r[:2]: r[2] for r in query(asked, kinds % "flow")}, {k: n for k, n in flows.items() if n})
    counted = {r[0]: r[1] for r in query(asked, "SELECT profile, count(*) FROM counter GROUP BY profile")}
    expect(path + ": values", counted, {k: n for k, n in values.items() if n})
    counted = {r[:2]: r[2] for r in query(asked, "SELECT profile, step, count(*) FROM step GROUP BY profile, step")}
    expect(path + ": steps", counted, dict(steps))
    return sum(slices.values())


def check_chart(path, asked):
    """Whether there is a chart."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "chart.json")
        run("chart", path, "-o", file, wanted=(0, 3))
        if not os.path.exists(file):
            if asked.rows("SELECT 1 FROM op") is not None:
                sys.exit("%s has ops, but no chart" % path)
            return False
        with open(file, encoding="utf-8") as text:
            chart = json.load(text)
    ops = collections.Counter()
    for op in chart["ops"]:
        ops[op["rank"], op["kind"], "n"] += 1
        ops[op["rank"], op["kind"], "ns"] += int(op["end_ns"]) - int(op["start_ns"])
    counted = collections.Counter()
    for rank, kind, n, ns in query(asked, "SELECT rank, kind, count(*), sum(dur_ns) FROM op GROUP BY rank, kind"):
        counted[rank, kind, "n"], counted[rank, kind, "ns"] = n, ns
    expect(path + ": ops", +counted, +ops)
    origin = int(chart["origin_ns"])
    starts = query(asked, "SELECT start_ns - %d FROM op ORDER BY id" % origin)
    expect(path + ": starts", [r[0] for r in starts], [int(op["start_ns"]) for op in chart["ops"]])
    bubble = "SELECT step, rank, sum(dur_ns) FROM bubble GROUP BY step, rank"
    table = "SELECT step, rank, bubble_ns FROM PipelineBubble WHERE bubble_ns > 0 ORDER BY step, rank"
    if query(asked, "SELECT count(bubble_ns) FROM PipelineBubble")[0][0] > 0:
        expect(path + ": bubble", sorted(query(asked, bubble)), sorted(query(asked, table)))
    return True


def check_modes(path, asked):
    """Every table that modes write into the database of the cluster; how many had rows."""
    n_tables = 0
    with tempfile.TemporaryDirectory() as folder:
        run("cluster", "-m", "every", "-d", path, "-o", folder, wanted=(0, 1, 3, 4))
        database = os.path.join(folder, "cluster_analysis_output", "cluster_analysis.db")
        if not os.path.exists(database):
            return 0
        db = sqlite3.connect(database)
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            written = [tuple(row) for row in db.execute('SELECT * FROM "%s"' % table)]
            if written:
                expect("%s: %s" % (path, table), query(asked, "SELECT * FROM %s" % table), written)
                n_tables += 1
        db.close()
    return n_tables


def main():
    n_slices = n_charts = n_tables = 0
    for path in sys.argv[1:]:
        with Asking(path) as asked:
            n_slices += check_info(path, asked)
            n_charts += check_chart(path, asked)
            n_tables += check_modes(path, asked)
    print("%d captures, %d slices, %d charts, %d tables of modes" % (len(sys.argv) - 1, n_slices, n_charts, n_tables))
    if n_slices == 0 or n_charts == 0 or n_tables == 0:
        sys.exit("nothing was compared")


if __name__ == "__main__":
    main()
