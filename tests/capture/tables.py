"""Every table: nothing negative, shares of 0 to 100, parts that add up, nothing above the step, sums over ranks (relations.py)."""
import fnmatch
import functools
import re
from decimal import Decimal

from program import number
import relations

DURATION = re.compile(r"(_ns|Ns|\(ns\)|\(us\)|\(ms\)|[tT]ime|[dD]uration|_ms|[cC]ount|calls)$")
SHARE = re.compile(r"(_percent|\(%\)|Share)$")


def of_capture(capture):
    """{name: rows} of all tables of report, cluster, compare and chart."""

    def make():
        found = dict(capture.tables() or {})
        for command, answer in (("report", capture.report()), ("chart", capture.chart())):
            for name, rows in (answer or {}).items():
                if isinstance(rows, list) and rows and isinstance(rows[0], dict):
                    found["%s/%s" % (command, name)] = rows
        for name, rows in ((capture.compare() or {}).get("tables") or {}).items():
            found["compare/%s" % name] = rows
        return found

    return capture.once("all tables", make)


def place(name, n, row):
    keys = [str(row[k]) for k in ("rank", "rankId", "rankID", "Rank", "index", "rule", "step", "stage", "module", "OpType") if row.get(k) is not None]
    return "%s row %d (%s)" % (name, n, " ".join(keys))


@functools.lru_cache(maxsize=None)
def is_never_negative(column):
    return is_duration(column) or (bool(SHARE.search(column)) and column not in relations.SIGNED)


@functools.lru_cache(maxsize=None)
def is_at_most_all(column):
    return bool(SHARE.search(column)) and column not in relations.ABOVE_ALL


def is_duration(column):
    return bool(DURATION.search(column)) and column not in relations.SIGNED and \
        not any(word in column.lower() for word in relations.MOMENTS)


def signs(capture):
    faults = []
    for name, rows in sorted(of_capture(capture).items()):
        for n, row in enumerate(rows):
            for column, value in row.items():
                value = number(value) if is_never_negative(column) else None
                if value is not None and value < 0:
                    faults.append("%s: %s is %s" % (place(name, n, row), column, value))
    return faults


def shares(capture):
    faults = []
    for name, rows in sorted(of_capture(capture).items()):
        for n, row in enumerate(rows):
            for column, value in row.items():
                value = number(value) if is_at_most_all(column) else None
                if value is not None and value > Decimal("100.001"):
                    faults.append("%s: %s is %s" % (place(name, n, row), column, value))
    for pattern, groups, column, total, slack in relations.SHARES:
        for name, rows in matching(capture, pattern):
            rows = [row for row in rows if not row.get("name") or "part" not in row]  # parts, not the names within a part
            for key, value in sums(rows, groups, column).items():
                if value and abs(value - total) > Decimal(slack):
                    faults.append("%s (%s): %s adds up to %s, not %s" % (name, key, column, value, total))
    return faults


def matching(capture, pattern):
    return [(name, rows) for name, rows in sorted(of_capture(capture).items()) if fnmatch.fnmatch(name, pattern)]


def side(row, terms):
    """The sum of the terms; None where a value is not known or a column is not there."""
    total = Decimal(0)
    for term in terms:
        column = term.lstrip("?")
        if column not in row and term != column:
            continue
        value = number(row.get(column))
        if value is None:
            return None
        total += value
    return total


def rows_add_up(capture):
    faults = []
    for pattern, left, sign, right, slack in relations.ROWS:
        needed = {term for term in (*left, *right) if not term.startswith("?")}
        for name, rows in matching(capture, pattern):
            # Of a stage each column is the largest over its ranks (docs/modes/step_trace_time.md).
            for n, row in enumerate(rows):
                if not needed <= row.keys() or row.get("type") == "stage":
                    continue
                a, b = side(row, left), side(row, right)
                if a is None or b is None:
                    continue
                slop = Decimal(slack) + (Decimal("1e-6") if a != a.to_integral() or b != b.to_integral() else 0)
                if (a - b > slop) if sign == "<=" else abs(a - b) > slop:
                    faults.append("%s: %s is %s, want %s %s = %s" % (place(name, n, row), " + ".join(left), a, sign, " + ".join(right), b))
    return faults


def sums(rows, groups, column, where=None):
    found = {}
    for row in rows:
        if where and any(row.get(k) != v for k, v in where.items()):
            continue
        value = number(row.get(column))
        if value is not None:
            key = tuple(str(row.get(g)) for g in groups)
            found[key] = found.get(key, 0) + value
    return found


def sums_add_up(capture):
    faults, all_tables = [], of_capture(capture)
    for part, part_where, part_groups, part_column, whole, where, groups, column in relations.SUMS:
        if not all_tables.get(part) or not all_tables.get(whole):
            continue
        a = sums(all_tables[part], part_groups, part_column, part_where)
        b = sums(all_tables[whole], groups, column, where)
        for key in sorted(set(a) | set(b)):
            if a.get(key, 0) != b.get(key, 0):
                faults.append("%s %s: %s of the parts add up to %s; %s says %s" % (part, key, part_column, a.get(key, 0), whole, b.get(key, 0)))
    return faults


def within_step(capture):
    faults, all_tables = [], of_capture(capture)
    for name, columns, step in relations.WITHIN_STEP:
        for n, row in enumerate(all_tables.get(name, [])):
            for column in columns:
                value, most = number(row.get(column)), number(row.get(step))
                if value is not None and most is not None and value > most:
                    faults.append("%s: %s %s is above %s %s" % (place(name, n, row), column, value, step, most))
    report = capture.report()
    for finding in (report or {}).get("findings", []):
        if finding["gain_ns"] is not None and finding["gain_ns"] > report["step_ns"]:
            faults.append("report: finding %s: gain_ns %s is above step_ns %s" % (finding["rule"], finding["gain_ns"], report["step_ns"]))
        if finding["gain_ns"] is not None and report["step_ns"]:
            share = Decimal(finding["gain_ns"]) * 100 / report["step_ns"]
            if finding["gain_share_percent"] is not None and abs(share - finding["gain_share_percent"]) > Decimal("0.01"):
                faults.append("report: finding %s: gain_share_percent %s, but gain_ns %s of step_ns %s is %.4f"
                              % (finding["rule"], finding["gain_share_percent"], finding["gain_ns"], report["step_ns"], share))
    for row in (report or {}).get("overview", []):
        if row["step_ns"] is not None and row["step_ns"] > report["step_ns"]:
            faults.append("report/overview rank %s: step_ns %s is above the report's %s" % (row["rank"], row["step_ns"], report["step_ns"]))
    return faults


CHECKS = [("nothing is negative", signs), ("shares are of 0 to 100", shares), ("parts of a row add up", rows_add_up),
          ("sums of ranks and parts equal the whole", sums_add_up), ("nothing is above the step", within_step)]
