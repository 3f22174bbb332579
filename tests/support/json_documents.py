#!/usr/bin/env python3
"""Trace-event documents at random, and what Python's json makes of them, for tests/unit/test_trace_events_python.c.

    json_documents.py make SEED COUNT DIR    DIR/0.json, DIR/1.json ...
    json_documents.py check COUNT DIR        compares DIR/N.txt, the dump of tests/support/events_dump.h
"""
import json
import os
import random
import struct
import sys
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

KEYS = ["k", "Task Type", "a key that is rather longer than thirty-two bytes", "é", "quo\"te", "", "External id", "n\tl"]
WORDS = ["aten::add", "", "{[\"}]", "},{\"ph\":\"X\"", "back\\slash", "é€😀", "tab\tnew\nline\r\x01", "x" * 70, "/", "\u2028", "0"]
NUMBERS = ["0", "-0", "17", "-1", "4294967295", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
           "123456789012345678901234567890", "0.1", "-0.0", "1e3", "1E-7", "2.1500000000000004", "3.14159265358979",
           "1.7976931348623157e308", "5e-324", "12345678.12345678", "1e400", "0.30000000000000004"]


class Writer:
    """JSON text in one of many layouts."""

    def __init__(self, rng):
        self.rng = rng
        self.indent = rng.choice([None, None, 0, 1, 4])
        self.comma = rng.choice([",", ", ", " , "])
        self.colon = rng.choice([":", ": ", " :\t"])
        self.ascii = rng.random() < 0.5

    def string(self, text):
        out = json.dumps(text, ensure_ascii=self.ascii)
        return out.replace("/", "\\/") if self.rng.random() < 0.2 else out

    def lines(self, parts, ends, level):
        if self.indent is None or not parts:
            return ends[0] + self.comma.join(parts) + ends[1]
        pad = "\n" + " " * (self.indent * (level + 1))
        return ends[0] + pad + ("," + pad).join(parts) + "\n" + " " * (self.indent * level) + ends[1]

    def object(self, members, level):
        return self.lines([self.string(k) + self.colon + v for k, v in members], "{}", level)

    def value(self, level):
        kind = self.rng.randrange(9 if level < 5 else 6)
        if kind < 2:
            return self.string(self.rng.choice(WORDS))
        if kind < 4:
            return self.rng.choice(NUMBERS)
        if kind < 6:
            return self.rng.choice(["true", "false", "null"])
        n = self.rng.randrange(4)
        if kind == 6:
            return self.object([(self.rng.choice(KEYS), self.value(level + 1)) for _ in range(n)], level)
        return self.lines([self.value(level + 1) for _ in range(n)], "[]", level)

    def time(self):
        digits = self.rng.choice([0, 1, 2, 3, 3, 3, 4, 6, 8, 9, 17])
        text = str(self.rng.randrange(10 ** self.rng.choice([1, 4, 13, 15])))
        if digits:
            text += "." + "".join(self.rng.choice("0123459") for _ in range(digits))
        if self.rng.random() < 0.1:
            text += "e" + str(self.rng.randrange(-5, 2))
        return '"%s"' % text if self.rng.random() < 0.4 else text

    def event(self):
        rng = self.rng
        number = lambda: rng.choice([str(rng.randrange(-5, 10 ** 6)), self.string("t%d" % rng.randrange(3))])
        members = [("ph", self.string(rng.choice("XBEiCMsf"))), ("name", self.string(rng.choice(WORDS)))]
        members += [("ts", self.time())] if rng.random() < 0.9 else []
        members += [("dur", self.time())] if rng.random() < 0.7 else []
        members += [("pid", number())] if rng.random() < 0.9 else []
        members += [("tid", number())] if rng.random() < 0.9 else []
        members += [("cat", self.string(rng.choice(WORDS)))] if rng.random() < 0.6 else []
        members += [("cname", self.value(2))] if rng.random() < 0.2 else []
        if rng.random() < 0.8:
            n = rng.randrange(7)
            members.append(("args", self.object([(rng.choice(KEYS), self.value(2)) for _ in range(n)], 2)))
        rng.shuffle(members)
        return self.object(members, 1)

    def document(self):
        events = self.lines([self.event() for _ in range(self.rng.randrange(30))], "[]", 0)
        if self.rng.random() < 0.5:
            return events
        before = [("v", self.value(1))] if self.rng.random() < 0.7 else []
        after = [("w", self.value(1))] if self.rng.random() < 0.7 else []
        return self.object(before + [("traceEvents", events)] + after, 0)


class Number(str):
    """The text of a number."""


def quoted(text):
    return '"' + "".join(chr(c) if 0x20 < c < 0x7F and c not in b'"%' else "%%%02x" % c for c in text.encode()) + '"'


def unquoted(text):
    data = text.encode()
    out = bytearray()
    i = 0
    while i < len(data):
        if data[i:i + 1] == b"%":
            out.append(int(data[i + 1:i + 3], 16))
            i += 3
        else:
            out.append(data[i])
            i += 1
    return out.decode()


def time_ns(value):
    if value is None:
        return 0
    ns = int((Decimal(str(value)) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN))
    return ns if abs(ns) < 2 ** 63 else 0


def owner(value):
    return quoted(value) if isinstance(value, str) and not isinstance(value, Number) else str(int(value or "0"))


def argument(key, value):
    """The line of the dump; a nested value is given back to be compared as a value."""
    head = "  arg key=%s" % quoted(key)
    if isinstance(value, Number):
        if not any(c in value for c in ".eE"):
            fits = -2 ** 63 <= int(value) < 2 ** 63
            return head + (" int=%d" % int(value) if fits else " number=" + quoted(value))
        real = float(value)
        if real in (float("inf"), float("-inf")):
            return head + " number=" + quoted(value)
        return head + " real=%016x" % struct.unpack("<Q", struct.pack("<d", real))[0]
    if value is None or isinstance(value, bool):
        return head + (" null" if value is None else " bool=%d" % value)
    if isinstance(value, str):
        return head + " str=" + quoted(value)
    return head + " json="


def numbers(value):
    """Values that compare by what they are, not by how they are written."""
    if isinstance(value, Number):
        return ("number", Fraction(value))
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    return [numbers(v) for v in value] if isinstance(value, list) else value


def load(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def check_one(text, dumped):
    document = load(text)
    events = document["traceEvents"] if isinstance(document, dict) else document
    lines = dumped.split("\n")
    at = 0
    for event in events:
        while lines[at].startswith("member "):
            at += 1
        want = (" ts=%d dur=%d pid=%s tid=%s " % (time_ns(event.get("ts")), time_ns(event.get("dur")),
                                                  owner(event.get("pid")), owner(event.get("tid"))))
        names = " name=%s cat=%s " % (quoted(event["name"]), quoted(event.get("cat", "")))
        assert lines[at].startswith("event ") and " ph=%d " % ord(event["ph"]) in lines[at], lines[at]
        assert want in lines[at] and names in lines[at], (want, names, lines[at])
        at += 1
        for key, value in event.get("args", {}).items():
            line = argument(key, value)
            if line.endswith(" json="):
                assert lines[at].startswith(line), (line, lines[at])
                nested = load(unquoted(lines[at][len(line) + 1:-1]))
                assert numbers(nested) == numbers(value), (line, lines[at])
            else:
                assert lines[at] == line, (line, lines[at])
            at += 1
    assert not any(line.startswith(("event ", "  arg")) for line in lines[at:]), lines[at]
    assert "odd bad-json" not in dumped and "cut=0" in dumped


def main(argv):
    folder = argv[-1]
    if argv[1] == "make":
        rng = random.Random(int(argv[2]))
        for i in range(int(argv[3])):
            with open(os.path.join(folder, "%d.json" % i), "w", encoding="utf-8", newline="") as file:
                file.write(Writer(rng).document())
        return 0
    for i in range(int(argv[2])):
        with open(os.path.join(folder, "%d.json" % i), encoding="utf-8", newline="") as file:
            text = file.read()
        with open(os.path.join(folder, "%d.txt" % i), encoding="utf-8", newline="") as file:
            check_one(text, file.read())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
