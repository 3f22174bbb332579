"""The same figure from two commands, or on two pages, is the same."""
from decimal import Decimal

from program import number
import tables

STEPS = "StepTraceTime/cluster_step_trace_time"
SUMMARY = "ClusterTimeSummary/cluster_time_summary"


def by_rank_and_step(rows, rank, step):
    """Lists: a step on which several devices worked has a row for each of them."""
    found = {}
    for row in rows:
        if row.get("type", "rank") == "rank":
            found.setdefault((str(row[rank]), str(row[step])), []).append(row)
    return found


def mean(rows, columns):
    """Of the sums of these columns (us), in ns; None where one is not known."""
    if any(row[c] is None for row in rows for c in columns):
        return None
    return sum(number(row[c]) for row in rows for c in columns) * 1000 / len(rows)


def overview_and_steps(capture):
    """report's row of a rank is the mean of the steps of step_trace_time, where copies lie in free and preparing."""
    report, rows = capture.report(), tables.of_capture(capture).get(STEPS)
    if not report or not report.get("overview") or not rows:
        return None
    faults = []
    for row in report["overview"]:
        mine = [r for r in rows if r["type"] == "rank" and r["index"] == str(row["rank"])]
        if not mine:
            faults.append("report/overview rank %s: no row in %s" % (row["rank"], STEPS))
            continue
        for part, column in (("computing_ns", "computing"), ("exposed_ns", "communication_not_overlapped")):
            if abs(mean(mine, [column]) - row[part]) > 1:
                faults.append("report/overview rank %s: %s is %s; the mean of %s in %s is %s"
                              % (row["rank"], part, row[part], column, STEPS, mean(mine, [column])))
        for part, column in (("free_ns", "free"), ("before_ns", "preparing")):
            if row[part] is None or row["copies_ns"] is None:  # nobody says how long
                continue
            least, most = row[part] - 1, row[part] + row["copies_ns"] + 2
            told = mean(mine, [column])
            if told is not None and mine[0]["step"] is not None and not least <= told <= most:
                faults.append("report/overview rank %s: %s is %s, with copies at most %s; the mean of %s in %s is %s"
                              % (row["rank"], part, row[part], row[part] + row["copies_ns"], column, STEPS, told))
    return faults


def overview_and_summary(capture):
    """report's row of a rank is the mean of the steps of cluster_time_summary, which has copies apart, too."""
    report, rows = capture.report(), tables.of_capture(capture).get(SUMMARY)
    if not report or not report.get("overview") or not rows:
        return None
    faults = []
    for row in report["overview"]:
        mine = [r for r in rows if r["rank"] == row["rank"]]
        for part, column in (("step_ns", "stepTime"), ("computing_ns", "computation"), ("exposed_ns", "communicationNotOverlapComputation"),
                             ("free_ns", "free"), ("copies_ns", "memoryNotOverlapComputationCommunication")):
            told = mean(mine, [column]) if mine else None
            if told is not None and abs(told - row[part]) > 1:
                faults.append("report/overview rank %s: %s is %s; the mean of %s in %s is %s" % (row["rank"], part, row[part], column, SUMMARY, told))
    return faults


def steps_and_summary(capture):
    """step_trace_time and cluster_time_summary: the same computing, communication and free time of each rank and step."""
    all_tables = tables.of_capture(capture)
    if not all_tables.get(STEPS) or not all_tables.get(SUMMARY):
        return None
    a = by_rank_and_step(all_tables[STEPS], "index", "step")
    b = by_rank_and_step(all_tables[SUMMARY], "rank", "step")
    faults = ["rank %s step %s: %d rows in %s, %d in %s" % (key + (len(a.get(key, [])), STEPS, len(b.get(key, [])), SUMMARY))
              for key in sorted(set(a) | set(b)) if len(a.get(key, [])) != len(b.get(key, []))]
    pairs = (("computing", "computation"), ("communication", "communication"), ("overlapped", "communicationOverlapComputation"),
             ("communication_not_overlapped", "communicationNotOverlapComputation"))
    for key in sorted(set(a) & set(b)):
        for one, two in zip(a[key], b[key]):
            for mine, other in pairs:
                if number(one[mine]) != number(two[other]):
                    faults.append("rank %s step %s: %s %s is %s, %s %s is %s" % (key + (STEPS, mine, one[mine], SUMMARY, other, two[other])))
            if None not in (one["free"], two["free"]) and number(two["free"]) > number(one["free"]):
                faults.append("rank %s step %s: free without copies %s is above free %s" % (key + (two["free"], one["free"])))
    return faults


def steps_and_free(capture):
    """free_summary has the rows of step_trace_time, and one without a step that is the sum of the rank's."""
    all_tables = tables.of_capture(capture)
    rows = all_tables.get("FreeAnalysis/free_summary")
    if not all_tables.get(STEPS) or not rows:
        return None
    a = by_rank_and_step(all_tables[STEPS], "index", "step")
    b = by_rank_and_step(rows, "rankId", "step")
    faults, all_of = [], {}
    for (rank, _), mine in a.items():
        all_of.setdefault(rank, []).extend(mine)
    for key in sorted(b):
        whole = [all_of.get(key[0], [])] if key[1] == "None" else [[row] for row in a.get(key, [])]
        if len(whole) != len(b[key]):
            faults.append("rank %s step %s: %d rows in %s, %d in free_summary" % (key + (len(whole), STEPS, len(b[key]))))
        for parts, row in zip(whole, b[key]):
            for names, other in ((("free",), "free"), (("preparing",), "preparing"),
                                 (("computing", "communication_not_overlapped"), "busy")):
                cells = [part[name] for part in parts for name in names]
                if None not in cells and row[other] is not None and sum(number(c) for c in cells) != number(row[other]):
                    faults.append("rank %s step %s: %s of %s is %s, free_summary %s is %s"
                                  % (key + (" + ".join(names), STEPS, sum(number(c) for c in cells), other, row[other])))
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
        if row["bubble_ns"] is None:  # not told: then the chart draws none, either
            if key in drawn or row["stall_ns"] is not None or row["idle_percent"] is not None:
                faults.append("rank %s step %s: the bubble is not known, yet the chart's add up to %s, the stall is %s, idle %s %%"
                              % (key + (drawn.get(key, 0), row["stall_ns"], row["idle_percent"])))
            continue
        if drawn.get(key, 0) != row["bubble_ns"]:
            faults.append("rank %s step %s: the chart's bubbles add up to %s, report/PipelineBubble says %s" % (key + (drawn.get(key, 0), row["bubble_ns"])))
    steps = {}
    for row in report["PipelineStep"]:
        steps.setdefault(row["step"], set()).add(row["time_ns"])
    for row, wait in zip(report["PipelineBubble"], report.get("PipelineWaits") or []):
        if row["bubble_ns"] is None:
            continue
        whole = row["busy_ns"] + row["bubble_ns"] + (row.get("other_work_ns") or 0)
        if whole not in steps.get(row["step"], ()):
            faults.append("rank %s step %s: busy + bubble + other work is %s, PipelineStep says %s"
                          % (row["rank"], row["step"], whole, sorted(steps.get(row["step"], ()))))
        told = wait["for_stages_ns"] + wait["for_transfer_ns"] + wait["other_ns"] + (wait.get("not_known_ns") or 0)
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
        # A step of a rank with several devices has a row for each of them in step_trace_time: each counts.
        rows = [r["index"] for r in tables.of_capture(capture).get(STEPS) or [] if r["type"] == "rank"]
        n_of = {row["rank"]: rows.count(str(row["rank"])) or row["steps"] or 1 for row in report["overview"]}
        steps = sum(n_of.values())
        for part, column in (("step", "step_ns"), ("computing", "computing_ns")):
            if part in overall:
                mean = sum(Decimal(row[column]) * n_of[row["rank"]] for row in report["overview"]) / steps
                if abs(mean - overall[part]) > 1:
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
          ("report's overview equals cluster_time_summary", overview_and_summary),
          ("step_trace_time equals cluster_time_summary", steps_and_summary),
          ("step_trace_time equals free_analysis", steps_and_free), ("chart's bubble equals report's", chart_and_report),
          ("compare with itself finds nothing", with_itself), ("info counts what convert writes", info_and_trace)]
