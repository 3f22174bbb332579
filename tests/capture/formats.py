"""One capture in several formats: what report, chart and the tables say of it must not depend on how it was written."""
import json

from program import Capture


def verdict(report, ranks=None):
    """What a report says, without times since 1970 and without what belongs to the file."""
    ranks = ranks or {}
    return [(f["rule"], f["severity"], str(ranks.get(f["rank"], f["rank"])), str(f["stage"]), str(f["gain_ns"]), f["value"])
            for f in report["findings"]]


def differences(a, b, title_a="before", title_b="after", ranks=None):
    """Sentences that say where two reports differ."""
    if (a is None) != (b is None):
        return ["%s has a report: %s; %s: %s" % (title_a, a is not None, title_b, b is not None)]
    if a is None:
        return []
    faults = []
    if a["step_ns"] != b["step_ns"]:
        faults.append("step_ns: %s %s, %s %s" % (title_a, a["step_ns"], title_b, b["step_ns"]))
    mine, others = verdict(a, ranks), verdict(b)
    for f in mine:
        if f not in others:
            other = [o for o in others if o[0] == f[0]]
            faults.append("finding %s: %s %s, %s %s" % (f[0], title_a, f[1:], title_b, other[0][1:] if other else "has none"))
    for f in others:
        if f[0] not in [m[0] for m in mine]:
            faults.append("finding %s: %s has none, %s %s" % (f[0], title_a, title_b, f[1:]))
    if not faults and mine != others:
        faults.append("the order of findings: %s %s, %s %s" % (title_a, [f[0] for f in mine], title_b, [f[0] for f in others]))
    ranks = ranks or {}
    rows = {str(row["rank"]): row for row in b.get("overview", [])}
    for row in a.get("overview", []):
        other = rows.get(str(ranks.get(row["rank"], row["rank"])))
        for column in row:
            if column != "rank" and (other is None or row[column] != other.get(column)):
                faults.append("report/overview rank %s: %s: %s %s, %s %s" % (
                    row["rank"], column, title_a, row[column], title_b, None if other is None else other.get(column)))
    return faults


# The name of the file itself (rank_device_map).
COLUMNS_OF_FILES = ("profilePath",)


def rows_of(rows):
    return sorted(json.dumps({k: v for k, v in row.items() if k not in COLUMNS_OF_FILES}, sort_keys=True, default=str) for row in rows)


def told(row):
    return row if len(row) < 300 else row[:300] + "..."


def table_differences(a, b, title_a="before", title_b="after"):
    faults = []
    for name in sorted(set(a) | set(b)):
        if repr(a.get(name, [])) == repr(b.get(name, [])):
            continue
        one, two = rows_of(a.get(name, [])), rows_of(b.get(name, []))
        if one != two:
            left = [r for r in one if r not in set(two)]
            right = [r for r in two if r not in set(one)]
            faults.append("%s: %d rows %s, %d %s; first that differ: %s | %s" % (
                name, len(one), title_a, len(two), title_b, told(left[0]) if left else "-", told(right[0]) if right else "-"))
    return faults


def again(capture, ending):
    def make():
        path = capture.converted(ending)
        return Capture(capture.name + " as " + ending, path, capture.file("as" + ending)) if path else None

    return capture.once("again" + ending, make)


def report_again(capture):
    other = again(capture, ".json")
    return differences(capture.report(), other.report(), "as it is", "as JSON") if other else None


def tables_again(capture):
    other = again(capture, ".json")
    if not other or capture.tables() is None:
        return None
    return table_differences(capture.tables(), other.tables() or {}, title_a="as it is", title_b="as JSON")


def chart_again(capture):
    other = again(capture, ".json")
    if not other or capture.chart() is None:
        return None
    one, two = capture.chart(), other.chart()
    if two is None:
        return ["as it is there is a chart, as JSON none"]
    return [("chart %s: %s as it is, %s as JSON" % (key, str(one[key])[:100], str(two[key])[:100]))
            for key in one if key not in ("title", "schedule_how") and one[key] != two.get(key)]


def bytes_again(capture):
    other = again(capture, ".json")
    if not other:
        return None
    path = other.converted()
    with open(capture.converted(), "rb") as a, open(path, "rb") as b:
        one, two = a.read().split(b"\n"), b.read().split(b"\n")
    if one == two:
        return []
    at = next((i for i, (x, y) in enumerate(zip(one, two)) if x != y), min(len(one), len(two)))
    return ["line %d: %s | %s" % (at + 1, one[at][:150] if at < len(one) else "-", two[at][:150] if at < len(two) else "-")]


def packed_again(capture):
    plain, packed = again(capture, ".json"), again(capture, ".json.gz")
    if not plain:
        return None
    return differences(plain.report(), packed.report(), "plain", "packed")


CHECKS = [("convert of convert writes the same bytes", bytes_again), ("report of the converted capture is the same", report_again),
          ("tables of the converted capture are the same", tables_again), ("chart of the converted capture is the same", chart_again),
          ("report of the packed capture is the same", packed_again)]
