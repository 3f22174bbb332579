"""What the page shows is what the commands write: tables of modes, the findings of report, the chart."""
import json
import os
import sys
from decimal import Decimal

from program import ROOT, number
import tables

sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
from serving import Server  # noqa: E402  # the same real server as in tests/serve

# mode: {table of the page: table of the files}
MODES = {
    "step_trace_time": {"ClusterStepTraceTime": "StepTraceTime/cluster_step_trace_time"},
    "cluster_time_summary": {"ClusterTimeSummary": "ClusterTimeSummary/cluster_time_summary"},
    "free_analysis": {"FreeAnalysis": "FreeAnalysis/free_analysis", "FreeSummary": "FreeAnalysis/free_summary"},
    "slow_rank": {"SlowRankLateness": "SlowRank/rank_lateness"},
}
REPORT = ("overview", "kernels", "PipelineStep", "PipelineBubble", "PipelineWaits", "PipelineReplay")
UNITS = {"ns": "_ns", "%": "_percent", "percent": "_percent"}  # how the report's file names columns
MOST = 5000  # rows of one reply


def page_tables(server, mode):
    """{name: rows as objects}; None where the mode has nothing to say of this capture."""
    reply = server.get("/api/mode?name=%s&limit=%d" % (mode, MOST))
    if reply.status != 200:
        return None
    found = {}
    for table in json.loads(reply.body, parse_float=Decimal)["tables"]:
        names = [column[0].replace(" ", "_") + UNITS.get(column[2], "") if mode == "report" else column[0] for column in table["columns"]]
        found[table["name"]] = [dict(zip(names, row)) for row in table["rows"]]
    return found


def told_alike(page, file):
    a, b = number(page), number(file)
    return page == file or (a is not None and b is not None and abs(a - b) <= Decimal("1e-6") * max(1, abs(a)))


def row_faults(name, page, file):
    if len(page) != len(file) and len(page) < MOST:
        return ["%s: %d rows on the page, %d in the file" % (name, len(page), len(file))]
    faults = []
    for n, (one, two) in enumerate(zip(page, file)):
        for column in one:
            other = two.get(column)
            if not told_alike(one[column], other):
                faults.append("%s: %s is %s on the page, %s in the file" % (tables.place(name, n, one), column, one[column], other))
    return faults


def page_and_commands(capture):
    written, report = capture.tables(), capture.report()
    if written is None and report is None:
        return None
    faults = []
    with Server(capture.path) as server:
        server.post("/api/load", {"all": True})
        server.wait_for(("ready", "failed"))
        for mode, names in MODES.items():
            shown = page_tables(server, mode)
            for name, file in names.items():
                if (written or {}).get(file):
                    if shown is None or name not in shown:
                        faults.append("%s: in the files, not on the page" % name)
                    else:
                        faults += row_faults(name, shown[name], written[file])
        shown = page_tables(server, "report") if report else None
        if report and shown is None:
            faults.append("report: there is one, but none on the page")
        for name in REPORT:
            page = next((rows for key, rows in (shown or {}).items() if key.lower() in (name.lower(), "report" + name.lower())), None)
            if page is not None and report.get(name):
                faults += row_faults("report/" + name, page, report[name])
        findings = next((rows for key, rows in (shown or {}).items() if "finding" in key.lower()), None)
        view = server.get("/api/view?name=cluster_advice&limit=%d" % MOST)
        told = view.json()["total"] if view.status == 200 else 0
        if report and told != len(report["findings"]):
            faults.append("report: %d findings on the page of the job, %d by the command" % (told, len(report["findings"])))
        if findings is not None and len(findings) != len(report["findings"]):
            faults.append("report: %d findings on the page, %d by the command" % (len(findings), len(report["findings"])))
    return faults


# Columns of the page's overview, each the mean of a rank's steps: those of step_trace_time.
OVERVIEW = {"pure computing": ("computing", "-overlapped"), "overlapped": ("overlapped",),
            "not overlapped": ("communication_not_overlapped",), "computing": ("computing",), "communication": ("communication",)}


def mean_of(rows, columns):
    cells = [(number(row[c.lstrip("-")]), c[0] == "-") for row in rows for c in columns]
    if any(value is None for value, _ in cells):
        return None
    return sum(-value if is_minus else value for value, is_minus in cells) * 1000 / len(rows)  # us; the page has ns


def overview_faults(shown, written):
    faults = []
    for row in shown:
        mine = [r for r in written if r["type"] == "rank" and r["index"] == str(row["rank_id"])]
        for column, parts in OVERVIEW.items():
            told, want = number(row.get(column)), mean_of(mine, parts) if mine else None
            if column not in row or (told is None) != (want is None) or (told is not None and abs(told - want) > 1):
                faults.append("overview of the page: rank %s: %s is %s, the mean of its steps %s" % (row["rank_id"], column, told, want))
    return faults


def view_rows(server, name):
    reply = server.get("/api/view?name=%s&limit=%d" % (name, MOST))
    if reply.status != 200:
        return None
    table = json.loads(reply.body, parse_float=Decimal)
    return [dict(zip([column[0] for column in table["columns"]], row)) for row in table["rows"]]


def summary_and_commands(capture):
    """The page's Summary: its overview is the mean of step_trace_time; the tables of steps are those that the commands write."""
    written = capture.tables()
    steps = (written or {}).get("StepTraceTime/cluster_step_trace_time")
    if not steps:
        return None
    faults = []
    with Server(capture.path) as server:
        server.post("/api/load", {"all": True})
        server.wait_for(("ready", "failed"))
        overview = view_rows(server, "overview")
        faults += ["overview: not on the page"] if overview is None else overview_faults(overview, steps)
        for view, file in (("step_times", "StepTraceTime/cluster_step_trace_time"), ("time_summary", "ClusterTimeSummary/cluster_time_summary")):
            rows = view_rows(server, view)
            if written.get(file):
                faults += ["%s: not on the page" % view] if rows is None else row_faults(view, rows, written[file])
    return faults


CHECKS = [("the page's Summary shows what the commands write", summary_and_commands), ("the page shows what the commands write", page_and_commands)]
