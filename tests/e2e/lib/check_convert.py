#!/usr/bin/env python3
"""Checks timelines that `pipescope convert` wrote: check_convert.py FILE.json[.gz] FILE.pftrace

The JSON file by Python's own parser and the rules of the trace-event format; the Perfetto file by a wire decoder that
knows field numbers and types and nothing of our writer. Then both must hold the same slices, flows and values.
Prints what was counted; exit status 1 with a line for the first fault.
"""
import collections
import gzip
import json
import re
import struct
import sys

NESTED_LIMIT = 512


def fail(text, *values):
    sys.exit("check_convert: " + text % values)


# --- trace events -----------------------------------------------------------------------------------------------------

TIME = re.compile(r'"(ts|dur)":(-?\d+)\.(\d{3})(?=[,}])')
ANY_TIME = re.compile(r'"(?:ts|dur)":')


def ns_of(text):
    whole, part = text.split(".")
    if len(part) != 3:
        fail("a time with %d decimals: %s", len(part), text)
    return int(whole) * 1000 + (-int(part) if whole.startswith("-") else int(part))


def check_nesting(slices, where):
    """slices: (start, end) of one thread, in the order of the file."""
    open_ends = []
    for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            fail("%s: a slice at %d ns crosses another one", where, start)
        open_ends.append(end)
        if len(open_ends) > NESTED_LIMIT:
            fail("%s: slices are nested deeper than %d", where, NESTED_LIMIT)


def read_events(path):
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        text = file.read().decode("utf-8", "strict")
    # Times as their text: a double would hide lost digits. Other reals stay exact enough.
    document = json.loads(text, parse_float=str, parse_constant=lambda x: fail("%s is no JSON", x))
    if len(ANY_TIME.findall(text)) != len(TIME.findall(text)):
        fail("%s: a time without exactly three decimals", path)
    return document


def check_json(path):
    document = read_events(path)
    base = document["baseTimeNanoseconds"]
    events = document["traceEvents"]
    if not isinstance(base, int) or document["displayTimeUnit"] != "ns":
        fail("%s: no base", path)
    by_thread = collections.defaultdict(list)
    found = collections.Counter()
    flows = collections.defaultdict(list)
    values = collections.Counter()
    named = set()
    for event in events:
        phase = event["ph"]
        if phase == "M":
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
            continue
        time = ns_of(event["ts"]) + base
        if phase in "Xi":
            duration = ns_of(event["dur"]) if phase == "X" else 0
            thread = (event["pid"], event["tid"])
            if thread not in named:
                fail("%s: thread %s has no name before its slices", path, thread)
            if phase == "X":
                by_thread[thread].append((time, time + duration))
            elif event["s"] != "t":
                fail("%s: an instant of scope %s", path, event["s"])
            found[(time, duration, event["name"], event["cat"], len(event.get("args", {})))] += 1
        elif phase in "sf":
            flows[event["id"]].append((phase, time))
            if phase == "f" and event["bp"] != "e":
                fail("%s: a flow end that does not bind to its slice", path)
        elif phase == "C":
            (value,) = event["args"].values()
            if value is not None:
                values[(time, float(value))] += 1
        else:
            fail("%s: an event of phase %s", path, phase)
    for thread, slices in by_thread.items():
        check_nesting(slices, "%s %s" % (path, thread))
    for number, ends in flows.items():
        if [phase for phase, _ in ends] != ["s", "f"]:
            fail("%s: flow %s has ends %s", path, number, ends)
    pairs = collections.Counter(tuple(sorted(time for _, time in ends)) for ends in flows.values())
    return found, pairs, values


# --- Perfetto ---------------------------------------------------------------------------------------------------------

VARINT, FIXED64, BYTES = 0, 1, 2
# message -> field -> (name, wire type or the message inside)
SCHEMA = {
    "Trace": {1: ("packet", "Packet")},
    "Packet": {8: ("timestamp", VARINT), 10: ("sequence", VARINT), 11: ("event", "Event"), 12: ("interned", "Interned"),
               13: ("flags", VARINT), 59: ("defaults", "Defaults"), 60: ("track", "Track"), 87: ("first", VARINT)},
    "Defaults": {58: ("clock", VARINT)},
    "Track": {1: ("uuid", VARINT), 2: ("name", BYTES), 3: ("process", "Process"), 4: ("thread", "Thread"),
              5: ("parent", VARINT), 8: ("counter", "Counter"), 11: ("child_ordering", VARINT), 12: ("rank", VARINT),
              15: ("merge", VARINT), 19: ("process_ordering", VARINT), 20: ("thread_ordering", VARINT)},
    "Process": {1: ("pid", VARINT), 6: ("name", BYTES), 8: ("labels", BYTES)},
    "Thread": {1: ("pid", VARINT), 2: ("tid", VARINT), 5: ("name", BYTES)},
    "Counter": {3: ("unit", VARINT), 6: ("unit_name", BYTES)},
    "Interned": {1: ("categories", "Entry"), 2: ("names", "Entry"), 3: ("keys", "Entry"), 29: ("values", "Entry")},
    "Entry": {1: ("iid", VARINT), 2: ("text", BYTES)},
    "Event": {3: ("category", VARINT), 4: ("annotation", "Annotation"), 9: ("type", VARINT), 10: ("name", VARINT),
              11: ("track", VARINT), 23: ("name_text", BYTES), 30: ("int_value", VARINT), 44: ("double_value", FIXED64),
              47: ("flow", FIXED64), 48: ("last_flow", FIXED64)},
    "Annotation": {1: ("name", VARINT), 2: ("bool", VARINT), 3: ("uint", VARINT), 4: ("int", VARINT),
                   5: ("double", FIXED64), 6: ("text", BYTES), 9: ("json", BYTES), 10: ("name_text", BYTES),
                   17: ("interned", VARINT)},
}
REPEATED = {"packet", "categories", "names", "keys", "values", "annotation", "flow", "last_flow", "labels"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if shift > 0 and byte == 0:
                fail("a varint that is longer than it need be")
            return value, at
        shift += 7
        if shift > 63:
            fail("a varint of more than ten bytes")


def decode(kind, data, at, end):
    message = {}
    while at < end:
        key, at = varint(data, at)
        field, wire = key >> 3, key & 7
        if field not in SCHEMA[kind]:
            fail("%s has no field %d", kind, field)
        name, wanted = SCHEMA[kind][field]
        if wire != (wanted if isinstance(wanted, int) else BYTES):
            fail("field %d of %s has wire type %d", field, kind, wire)
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == FIXED64:
            (value,) = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            length, at = varint(data, at)
            if at + length > end:
                fail("%s: field %d is longer than its message", kind, field)
            if isinstance(wanted, str):
                value = decode(wanted, data, at, at + length)
            else:
                value = data[at:at + length].decode("utf-8", "strict")
            at += length
        if name in REPEATED:
            message.setdefault(name, []).append(value)
        elif name in message:
            fail("field %d of %s stands twice", field, kind)
        else:
            message[name] = value
    if at != end:
        fail("%s: a message that ends in the middle of a field", kind)
    return message


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Perfetto:
    def __init__(self):
        self.tracks = {}
        self.pids = {}
        self.tids = set()
        self.tables = {}
        self.events = collections.defaultdict(list)
        self.flows = collections.defaultdict(list)

    def take(self, packet):
        sequence = packet.get("sequence", 0)
        if sequence == 0:
            fail("a packet without a sequence")
        if sequence not in self.tables:
            if packet.get("flags") != 1 or packet.get("first") != 1 or packet.get("defaults") != {"clock": 6}:
                fail("sequence %d does not begin with its state", sequence)
            self.tables[sequence] = {"categories": {}, "names": {}, "keys": {}, "values": {}}
            return
        tables = self.tables[sequence]
        for table, entries in packet.get("interned", {}).items():
            for entry in entries:
                if entry["iid"] < 1 or entry["iid"] in tables[table]:
                    fail("%s: id %d is given twice", table, entry["iid"])
                tables[table][entry["iid"]] = entry["text"]
        if "track" in packet:
            self.take_track(packet["track"])
        if "event" in packet:
            if packet.get("flags") != 2:
                fail("an event that does not say that it needs the state")
            self.take_event(packet["timestamp"], packet["event"], tables)

    def take_track(self, track):
        uuid = track["uuid"]
        if uuid in self.tracks:
            fail("track %d is described twice", uuid)
        self.tracks[uuid] = track
        if uuid == 0:
            return
        if "process" in track:
            pid = track["process"]["pid"]
            if not 0 < pid < 1 << 31 or pid in self.pids:
                fail("process number %d is no good", pid)
            self.pids[pid] = uuid
        elif "thread" in track:
            thread = track["thread"]
            if thread["pid"] not in self.pids or thread["tid"] in self.tids or not 0 < thread["tid"] < 1 << 31:
                fail("thread %s is no good", thread)
            self.tids.add(thread["tid"])
        elif track.get("parent") not in self.tracks or track.get("merge") != 2:
            fail("track %d has no parent before it, or may be merged", uuid)

    def take_event(self, time, event, tables):
        uuid = event["track"]
        if uuid not in self.tracks:
            fail("an event on track %d, which is not described before it", uuid)
        is_value = event["type"] == 4
        if is_value != ("counter" in self.tracks[uuid]):
            fail("track %d has events of a kind that it is not for", uuid)
        event["time"] = time
        if event["type"] in (1, 3):
            if "name" in event:
                event["name_text"] = tables["names"][event["name"]]
                event["category_text"] = tables["categories"][event["category"]]
            for annotation in event.get("annotation", []):
                if ("name" in annotation) == ("name_text" in annotation) or len(annotation) != 2:
                    fail("annotation %s has not one name and one value", annotation)
                if "name" in annotation:
                    annotation["name_text"] = tables["keys"][annotation["name"]]
                if "interned" in annotation:
                    _ = tables["values"][annotation["interned"]]
                if "json" in annotation:
                    json.loads(annotation["json"])
            for flow in event.get("flow", []):
                self.flows[flow].append((time, "on"))
            for flow in event.get("last_flow", []):
                self.flows[flow].append((time, "last"))
        self.events[uuid].append(event)

    def finish(self):
        found = collections.Counter()
        values = collections.Counter()
        for uuid, events in self.events.items():
            stack = []
            name = self.tracks[uuid].get("name", "")
            own = name in ("steps", "metadata") or name.startswith("Not in it: ")
            for event in sorted(events, key=lambda e: e["time"]):  # stable: equal times as in the file
                if event["type"] == 1:
                    stack.append(event)
                    if len(stack) >= NESTED_LIMIT:
                        fail("track %d is nested deeper than %d", uuid, NESTED_LIMIT)
                elif event["type"] == 4:
                    value = struct.unpack("<d", struct.pack("<Q", event["double_value"]))[0] \
                        if "double_value" in event else float(signed(event["int_value"]))
                    values[(event["time"], value)] += 1
                    continue
                elif event["type"] == 2 and not stack:
                    fail("track %d: an end without a begin", uuid)
                if event["type"] in (2, 3):
                    begin = stack.pop() if event["type"] == 2 else event
                    if not own:
                        found[(begin["time"], event["time"] - begin["time"], begin["name_text"], begin["category_text"],
                               len(begin.get("annotation", [])))] += 1
            if stack:
                fail("track %d: %d slices never end", uuid, len(stack))
        for number, ends in self.flows.items():
            kinds = [kind for _, kind in sorted(ends)]
            if len(ends) != 2 or kinds not in (["on", "last"], ["on", "on"], ["last", "on"]):
                fail("flow %d has ends %s", number, ends)
            if kinds == ["last", "on"] and ends[0][0] != ends[1][0]:
                fail("flow %d ends before it begins", number)
        pairs = collections.Counter(tuple(sorted(time for time, _ in ends)) for ends in self.flows.values())
        return found, pairs, values


def check_perfetto(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:1] != b"\x0a":
        fail("%s does not begin with a packet", path)
    trace = Perfetto()
    for packet in decode("Trace", data, 0, len(data))["packet"]:
        trace.take(packet)
    return trace.finish()


# --- both -------------------------------------------------------------------------------------------------------------

def text_only(found):
    """Categories are unique texts per kind in JSON only: the part before the comma."""
    out = collections.Counter()
    for (start, duration, name, category, n_args), n in found.items():
        out[(start, duration, name, n_args)] += n
        _ = category
    return out


def compare(what, a, b):
    if a != b:
        fail("%s differ: %s", what, list(((a - b) + (b - a)).items())[:3])


def main(json_path, perfetto_path):
    a = check_json(json_path)
    b = check_perfetto(perfetto_path)
    compare("slices", text_only(a[0]), text_only(b[0]))
    compare("flows", a[1], b[1])
    compare("values", a[2], b[2])
    print("%d slices, %d flows, %d values" % tuple(sum(part.values()) for part in a))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
