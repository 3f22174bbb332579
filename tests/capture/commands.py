"""The same figure from two commands, or on two pages, is the same."""
from decimal import Decimal

from program import number
import tables

STEPS = "StepTraceTime/cluster_step_trace_time"
SUMMARY = "ClusterTimeSummary/cluster_time_summary"


def by_rank_and_step(rows, rank, step):
    return {(str(row[rank]), str(row[step])): row for row in rows if row.get("type", "rank") == "rank"}


def mean_ns(rows, column):
    return sum(number(r[column]) for r in rows) * 1000 / len(rows)


def overview_and_steps(capture):
    """report's row of a rank is the mean of the steps of step_trace_time."""
    report, rows = capture.report(), tables.of_capture(capture).get(STEPS)
    if not report or not report.get("overview") or not rows:
        return None
    faults = []
    for row in report["overview"]:
        mine = [r for r in rows if r["type"] == "rank" and r["index"] == str(row["rank"])]
        if not mine:
            faults.append("report/overview rank %s: no row in %s" % (row["rank"], STEPS))
            continue
        for told, column in (("computing_ns", "computing"), ("exposed_ns", "communication_not_overlapped")):
            mean = mean_ns(mine, column)
            if abs(mean - row[told]) > 1:
                faults.append("report/overview rank %s: %s is %s; the mean of %s in %s is %s"
                              % (row["rank"], told, row[told], column, STEPS, mean))
        # The profiler's Free holds the copies between the first and the last work; copies of the overview may lie outside, too.
        free = mean_ns(mine, "free")
        if not row["free_ns"] - 1 <= free <= row["free_ns"] + row["copies_ns"] + 2:
            faults.append("report/overview rank %s: free is %s, copies %s; the mean of free in %s is %s"
                          % (row["rank"], row["free_ns"], row["copies_ns"], STEPS, free))
    return faults


def steps_and_summary(capture):
    """step_trace_time and cluster_time_summary: the same computing, communication and free time of each rank and step."""
    all_tables = tables.of_capture(capture)
    if not all_tables.get(STEPS) or not all_tables.get(SUMMARY):
        return None
    a = by_rank_and_step(all_tables[STEPS], "index", "step")
    b = by_rank_and_step(all_tables[SUMMARY], "rank", "step")
    faults = ["%s: rank %s step %s is only in one of %s and %s" % (("row",) + key + (STEPS, SUMMARY)) for key in set(a) ^ set(b)]
    pairs = (("computing", "computation"), ("communication", "communication"), ("overlapped", "communicationOverlapComputation"),
             ("communication_not_overlapped", "communicationNotOverlapComputation"))
    for key in sorted(set(a) & set(b)):
        for mine, other in pairs:
            if number(a[key][mine]) != number(b[key][other]):
                faults.append("rank %s step %s: %s %s is %s, %s %s is %s"
                              % (key + (STEPS, mine, a[key][mine], SUMMARY, other, b[key][other])))
        if number(b[key]["free"]) > number(a[key]["free"]):
            faults.append("rank %s step %s: free without copies %s is above free %s" % (key + (b[key]["free"], a[key]["free"])))
    return faults


def steps_and_free(capture):
    all_tables = tables.of_capture(capture)
    rows = all_tables.get("FreeAnalysis/free_summary")
    if not all_tables.get(STEPS) or not rows:
        return None
    a = by_rank_and_step(all_tables[STEPS], "index", "step")
    b = by_rank_and_step(rows, "rankId", "step")
    faults = []
    for key in sorted(set(a) & set(b)):
        for mine, other in (("free", "free"), ("preparing", "preparing")):
            if a[key][mine] is not None and b[key][other] is not None and number(a[key][mine]) != number(b[key][other]):
                faults.append("rank %s step %s: %s %s is %s, free_summary %s is %s" % (key + (STEPS, mine, a[key][mine], other, b[key][other])))
        busy = number(a[key]["computing"]) + number(a[key]["communication_not_overlapped"])
        if busy != number(b[key]["busy"]):
            faults.append("rank %s step %s: computing + not overlapped is %s, free_summary busy is %s" % (key + (busy, b[key]["busy"])))
    return faults


def chart_and_report(capture):
    """The bubble that the chart draws is the one that report's table tells."""
    report, chart = capture.report(), capture.chart()
    if not chart or not (report or {}).get("PipelineBubble"):
        return None
    faults, drawn = [], {}
    for b in chart["bubble"]:
        key = b["rank"], b["step"]
        drawn[key] = drawn.get(key, 0) + b["end_ns"] - b["start_ns"]
    for row in report["PipelineBubble"]:
        key = row["rank"], row["step"]
        if row["bubble_ns"] is None:  # not told: too much work that no op explains
            if drawn.get(key, 0) != 0:
                faults.append("rank %s step %s: report tells no bubble, the chart draws %s" % (key + (drawn[key],)))
            continue
        if drawn.get(key, 0) != row["bubble_ns"]:
            faults.append("rank %s step %s: the chart's bubbles add up to %s, report/PipelineBubble says %s" % (key + (drawn.get(key, 0), row["bubble_ns"])))
    steps = {}
    for row in report["PipelineStep"]:
        steps.setdefault(row["step"], set()).add(row["time_ns"])
    for row, wait in zip(report["PipelineBubble"], report.get("PipelineWaits") or []):
        if row["bubble_ns"] is None:
            continue
        parts = row["busy_ns"] + (row.get("other_work_ns") or 0) + row["bubble_ns"]
        if parts not in steps.get(row["step"], ()):
            faults.append("rank %s step %s: busy + other work + bubble is %s, PipelineStep says %s"
                          % (row["rank"], row["step"], parts, sorted(steps.get(row["step"], ()))))
        told = wait["for_stages_ns"] + wait["for_transfer_ns"] + wait["other_ns"]
        if (wait["step"], wait["stage"]) == (row["step"], row["stage"]) and told != row["stall_ns"]:
            faults.append("rank %s step %s: waits add up to %s, its stall is %s" % (row["rank"], row["step"], told, row["stall_ns"]))
    return faults


def with_itself(capture):
    """compare of a capture with itself finds nothing; its step is that of the overview."""
    compared = capture.compare()
    if not compared:
        return None
    faults = []
    for name, rows in compared["tables"].items():
        for n, row in enumerate(rows):
            if number(row.get("lost_ns")) not in (None, 0):
                faults.append("compare/%s row %d (%s): lost_ns is %s" % (name, n, next(iter(row.values())), row["lost_ns"]))
            if number(row.get("new / base")) not in (None, 1):
                faults.append("compare/%s row %d (%s): new / base is %s" % (name, n, next(iter(row.values())), row["new / base"]))
    report = capture.report()
    overall = {row["part of a step"].strip(): row["new_ns"] for row in compared["tables"].get("OverallCompare", [])}
    if report and report.get("overview"):
        steps = sum(row["steps"] or 1 for row in report["overview"])
        for part, column in (("step", "step_ns"), ("computing", "computing_ns")):
            if part in overall:
                mean = sum(Decimal(row[column]) * (row["steps"] or 1) for row in report["overview"]) / steps
                # the overview's step is the sum of its six parts, each a mean rounded down
                if abs(mean - overall[part]) > (6 if part == "step" else 1):
                    faults.append("compare/OverallCompare %s is %s, the mean of report/overview %s is %s" % (part, overall[part], column, mean))
    return faults


def info_and_trace(capture):
    """info counts what convert writes; report speaks of the same ranks and steps."""
    info = capture.info()
    traces = capture.traces()
    if not info or not info.get("ranks") or not traces:
        return None
    faults, told, ranks = [], 0, set()
    for rank in info["ranks"]:
        told += sum(rank.get("slices", {}).values())
        ranks.add(rank["rank"])
    written = sum(len(trace.slices) for trace in traces.values())
    instants = sum(rank.get("slices", {}).get("instant", 0) for rank in info["ranks"])
    if not told - instants <= written <= told:
        faults.append("info counts %s slices, convert wrote %s" % (told, written))
    report = capture.report()
    if report and report.get("n_ranks") not in (None, len(info["ranks"])):
        faults.append("info has %s ranks, report %s" % (len(info["ranks"]), report["n_ranks"]))
    return faults


CHECKS = [("report's overview equals step_trace_time", overview_and_steps),
          ("step_trace_time equals cluster_time_summary", steps_and_summary),
          ("step_trace_time equals free_analysis", steps_and_free), ("chart's bubble equals report's", chart_and_report),
          ("compare with itself finds nothing", with_itself), ("info counts what convert writes", info_and_trace)]
