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


CHECKS = [("the page shows what the commands write", page_and_commands)]
