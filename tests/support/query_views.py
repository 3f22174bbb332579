"""Tables of a query against what the commands say that show them, and the examples of docs/sql.md: query_views.py PATH...

Views of ranks and of jobs against /api/view of a server over the same capture; kernels, communication and waits against slices and the
modes that sum them up; every example runs on some capture. `start` and other times of views count from the origin of the rank.
"""
import collections
import math
import os
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "serve"))
from serving import Server  # noqa: E402

from asking import Asking  # noqa: E402

MOMENTS = {"start", "time", "release", "active release"}


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def sql_name(name, unit):
    if unit not in ("", "count"):
        name += "_" + {"%": "percent", "B": "bytes"}.get(unit, unit)
    return re.sub(r"[^A-Za-z0-9\x80-\uffff]+", "_", name).strip("_")


def rows_of(reply):
    table = reply.json()
    return table["columns"], table["rows"], table["total"]


def check_table(what, server, url, asked, sql, origin):
    """Whether there is one."""
    reply = server.get(url)
    rows = asked.rows(sql)
    path = asked.path
    if reply.status == 409:
        if rows:
            sys.exit("%s: %s gives %d rows, the view none: %s" % (path, sql, len(rows), reply.body[:200]))
        return False
    columns, shown, _ = rows_of(reply)
    if rows is None and not shown:
        return False
    if rows is None or len(rows) < len(shown):
        sys.exit("%s: %s gives %s rows, the view %d" % (path, sql, rows and len(rows), len(shown)))
    known = {name.lower(): name for name in (rows[0] if rows else {})}
    for want, got in zip(shown, rows):
        for (name, kind, unit, *_), cell in zip(columns, want):
            key = known.get(sql_name(name, unit).lower())
            if key is None:
                continue  # an argument of the capture
            cell = int(cell) if kind == "int" and cell is not None else cell  # moments from 1970 are texts
            moved = cell + origin if name in MOMENTS and unit == "ns" and cell is not None else cell
            if name != "key" and not same(moved, got[key]):
                sys.exit("%s: %s: %s is %r, the view says %r" % (path, what, key, got[key], moved))
    return True


def check_views(asked):
    n = 0
    with Server(asked.path) as server:
        ranks = server.wait_for({"ready"})
        views = server.get("/api/views").json()["views"]
        for view in views:
            if view["name"] == "base_info":
                continue  # it tells which ranks a server has in memory
            if view["of"] == "cluster":
                n += check_table(view["name"], server, "/api/view?limit=1000&name=%s" % view["name"], asked,
                                 "SELECT * FROM %s" % view["name"], 0)
                continue
            for profile, rank in enumerate(ranks[:2]):
                url = "/api/view?limit=1000&name=%s&rank=%s" % (view["name"], urllib.parse.quote(rank["key"]))
                n += check_table(view["name"], server, url, asked,
                                 "SELECT * FROM %s WHERE profile = %d" % (view["name"], profile), int(rank["origin_ns"]))
    return n


def check_sums(asked):
    """Kernels against slices, waits against the lateness of ranks."""
    path = asked.path
    kernels = asked.rows("SELECT rank, profile, count(*) n, sum(dur_ns) ns FROM kernel GROUP BY profile, rank")
    slices = asked.rows("SELECT rank, profile, count(*) n, sum(dur_ns) ns FROM slice WHERE kind = 'kernel' GROUP BY profile, rank")
    if (kernels or []) != (slices or []):
        sys.exit("%s: kernels %s, slices %s" % (path, kernels, slices))
    flops = asked.rows("SELECT sum(flops) f FROM kernel")
    counted = asked.rows("SELECT sum(flops) f FROM KernelFlops")
    if flops and counted and not same(flops[0]["f"] or 0, counted[0]["f"] or 0):
        sys.exit("%s: FLOPs %s and %s" % (path, flops, counted))
    late = asked.rows("SELECT rankId, kind, sum(waitTime_us) us FROM SlowRankLateness GROUP BY rankId, kind HAVING us > 0")
    if late is None:
        return 0
    waits = collections.Counter()
    for row in asked.rows("SELECT rank, kind, sum(waited_ns) ns FROM wait GROUP BY rank, kind"):
        waits[row["rank"], {"receive": "p2p"}.get(row["kind"], row["kind"])] = row["ns"] / 1e3
    by_rank = {(row["rankId"], row["kind"]): row["us"] for row in late}
    if waits.keys() != by_rank.keys() or not all(same(waits[k], by_rank[k]) for k in waits):
        sys.exit("%s: waits %s, lateness %s" % (path, dict(waits), by_rank))
    matched = asked.rows("SELECT rank, sum(waited_ns) ns FROM comm WHERE waited_ns > 0 GROUP BY rank ORDER BY rank")
    if matched != asked.rows("SELECT rank, sum(waited_ns) ns FROM wait GROUP BY rank ORDER BY rank"):
        sys.exit("%s: comm and wait differ" % path)
    return len(waits)


def check_examples(paths):
    """Each runs on some capture. Between them only all captures have every table."""
    if os.environ.get("QUERY_SHARE"):
        return 1
    with open("docs/sql.md", encoding="utf-8") as page:
        examples = re.findall(r"```sql\n(.*?)\n```", page.read(), re.S)
    left = examples
    for path in paths:
        if left:
            with Asking(path) as asked:
                left = [sql for sql in left if asked.rows(sql) is None]
    if left:
        sys.exit("no capture has what this asks for: %s" % left[0])
    return len(examples)


def check_capture(path):
    """How many views and sums of waits were compared."""
    with Asking(path) as asked:
        return check_views(asked) if "/chrome/" not in path else 0, check_sums(asked)


def main():
    paths = sys.argv[1:]
    compared = [check_capture(path) for path in paths]
    n_views, n_waits = (sum(n) for n in zip(*compared))
    n_examples = check_examples(paths)
    print("%d views, %d sums of waits, %d examples" % (n_views, n_waits, n_examples))
    if n_views == 0 or n_waits == 0 or n_examples == 0:
        sys.exit("nothing was compared")


if __name__ == "__main__":
    main()
