"""What a finding names as evidence is in the trace: a slice of that name at that time on that rank, or a gap in which nothing ran, copies neither."""
GAPS = ("before the first work", "after the last work", "idle after the last work")
BUBBLE = ("stall", "warm-up", "cool-down", "warm up", "cool down")
SHORTEST = 8  # of a name that was cut short


def alike(told, slice_):
    """Names are cut at their end; kernels may be told by their type, which is an argument."""
    name, args = slice_[2], slice_[4]
    return name == told or told.startswith(name) or (len(told) >= SHORTEST and name.startswith(told)) or \
        any(value == told for value in args.values())


def overlapping(slices, start, end):
    return [s for s in slices if s[0] < end and s[1] > start or start <= s[0] < max(end, start + 1)]


def ranks_of(finding, item, traces):
    rank = item["rank"] if item["rank"] is not None else finding["rank"]
    return [traces[rank]] if rank in traces else list(traces.values())


def fault_of_gap(item, trace):
    """A gap is one of a device: where a rank has several, that of any of them."""
    faults = [fault_of_gap_on(item, busy) for busy in trace.busy_by_device() or [[]]]
    return None if None in faults else faults[0]


def fault_of_gap_on(item, busy):
    at, end = int(item["at_ns"]), int(item["at_ns"]) + item["duration_ns"]
    inside = [s for s in busy if s[0] < end and s[1] > at]
    if inside:
        s = inside[0]
        return "%s %s of it runs from %d to %d" % (s[3], s[2][:60], max(s[0], at), min(s[1], end))
    if item["name"].startswith("idle before ") and not item["name"].endswith(" ?"):
        told = item["name"][len("idle before "):]
        # What the host is to blame for ends with the launch: the work itself comes a little later. A copy whose launch is not known
        # does not tell what the host was about: then the work behind it does.
        behind = sorted((s for s in busy if s[0] >= end), key=lambda s: (s[0], not alike(told, s), s[3] != "copy"))
        found = next((s for s in behind if s[3] != "copy" or alike(told, s)), None)
        if found is None or not alike(told, found):
            return "the next work is no %s" % told[:60]
    return None


def fault_of(finding, item, capture):
    traces = capture.traces()
    if item["name"] in BUBBLE:
        chart = capture.chart()
        origin = int(chart["origin_ns"]) if chart else 0
        spans = [(origin + b["start_ns"], origin + b["end_ns"]) for b in (chart or {}).get("bubble", [])]
        at = int(item["at_ns"])
        if not any(a <= at and at + item["duration_ns"] <= b for a, b in spans):
            return "no bubble of the chart lies there"
        return None
    candidates = ranks_of(finding, item, traces)
    if item["name"].startswith("idle before ") or item["name"] in GAPS:
        faults = [fault_of_gap(item, trace) for trace in candidates]
        return None if None in faults else faults[0]
    at, end = int(item["at_ns"]), int(item["at_ns"]) + (item["duration_ns"] or 0)
    for trace in candidates:
        if any(alike(item["name"], s) for s in overlapping(trace.slices, at, end)):
            return None
    return "no slice of that name is there"


def evidence(capture):
    report = capture.report()
    if not report or not report["findings"]:
        return None
    faults = []
    for finding in report["findings"]:
        for item in finding["evidence"]:
            if item.get("at_ns") is None or item.get("duration_ns") is None:
                continue
            fault = fault_of(finding, item, capture)
            if fault:
                faults.append("finding %s, rank %s: %s at %s for %s ns: %s" % (
                    finding["rule"], item["rank"], item["name"][:70], item["at_ns"], item["duration_ns"], fault))
    return faults


CHECKS = [("evidence is in the trace", evidence)]
