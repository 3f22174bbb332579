#!/usr/bin/env python3
"""Big trace-event files for bench/json: json_input.py ascend|kineto MEGABYTES OUT [SAMPLE]

The events of SAMPLE (a trace_view.json, or a Kineto trace, gzipped or not) are repeated, each time at a later time and
under new ids, in the layout in which the profiler wrote them. Without SAMPLE events of the same shapes are made up.
"""
import gzip
import json
import re
import sys

# A number that differs from one repetition to the next: what stands before it, and the number.
TIMES = re.compile(r'("ts": "?)(\d+)')
IDS = re.compile(r'("(?:id|correlation|External id|connection_id|correlation_id|Ev Idx|Python id|Python parent id)": "?'
                 r'|"name": "HostToDevice)(\d+)')


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()


def made_up_ascend():
    stack = ";\r\n".join("/usr/lib/python3/site-packages/torch/nn/modules/module_%d.py(%d): forward" % (i, 40 * i + 7)
                         for i in range(12))
    events = []
    for i in range(4000):
        ts = "%d.%03d" % (1736408883688177 + 50 * i, i * 7 % 1000)
        host = {"pid": 3096504, "tid": 3096504 + i % 3 * 8571, "ts": ts}
        device = {"pid": 3170820512, "tid": 2 + i % 4, "ts": ts}
        events.append(dict({"ph": "X", "name": "aten::op_%d" % (i % 60)}, **host, dur=i % 90 + 0.25, cat="cpu_op",
                           args={"Sequence number": i, "Fwd thread id": 0, "Input Dims": "32,256,13,13;\r\n256",
                                 "Input type": "float;\r\nScalar", "Call stack": stack + str(i % 9)}))
        events.append(dict({"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 10 ** 15 + i}, **host, cat="async_npu"))
        events.append(dict({"ph": "f", "bp": "e", "name": "torch_to_npu", "id": 10 ** 15 + i}, **device, cat="async_npu"))
        events.append(dict({"name": "aclnnMul_%d" % (i % 30)}, **device, dur=i % 70 + 0.38503125,
                           args={"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": i,
                                 "Batch Id": 0, "Subtask Id": 4294967295, "connection_id": i}, ph="X"))
        for series in ("read_bandwidth", "write_band_width", "read_ost", "write_ost"):
            events.append({"name": series, "ts": ts, "pid": 3170820768, "tid": 0,
                           "args": {"value": i % 7, "acc_id": i % 24}, "ph": "C"})
    return json.dumps(events)


def made_up_kineto():
    lines = []
    for i in range(8000):
        ts = "%d.%03d" % (4458676522690 + 11 * i, i * 7 % 1000)
        lines.append('  {\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_%d", "pid": 2910249, "tid": %d,\n'
                     '    "ts": %s, "dur": %d.777,\n    "args": {\n      "External id": %d,"Record function id": 0, '
                     '"Sequence number": %d, "Fwd thread id": 0, "Ev Idx": %d\n    }\n  }'
                     % (i % 80, 2910249 + i % 2 * 9503, ts, i % 90, i, i, i))
        lines.append('  {\n    "ph": "X", "cat": "kernel", "name": "void at::native::kernel_%d<4>(int, float)", "pid": 0, '
                     '"tid": 7,\n    "ts": %s, "dur": %d.376,\n    "args": {\n      "External id": %d,\n'
                     '      "queued": 0, "device": 0, "context": 1,\n      "stream": 7, "correlation": %d,\n'
                     '      "registers per thread": 32,\n      "shared memory": 0,\n      "blocks per SM": 9.481482,\n'
                     '      "warps per SM": 75.851852,\n      "grid": [1024, 1, 1],\n      "block": [256, 1, 1],\n'
                     '      "est. achieved occupancy %%": 100\n    }\n  }' % (i % 80, ts, i % 50, i, i))
        for ph, bp in (("s", ""), ("f", ', "bp": "e"')):
            lines.append('  {\n    "ph": "%s", "id": %d, "pid": 0, "tid": 7, "ts": %s,\n'
                         '    "cat": "ac2g", "name": "ac2g"%s\n  }' % (ph, i, ts, bp))
    return ('{\n  "schemaVersion": 1,\n  "traceEvents": [\n' + ",\n".join(lines) +
            '\n  ],\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": 1711964646000000000\n}')


def pieces(text):
    """The text cut at the numbers that change: [text, (number, kind), text, ...]"""
    found = sorted([(m.start(2), m.end(2), 0) for m in TIMES.finditer(text)] +
                   [(m.start(2), m.end(2), 1) for m in IDS.finditer(text)])
    out = []
    at = 0
    for start, end, kind in found:
        out.append(text[at:start])
        out.append((int(text[start:end]), kind))
        at = end
    out.append(text[at:])
    return out


def repeat(events, n_bytes, write):
    parts = pieces(events)
    times = [p[0] for p in parts[1::2] if p[1] == 0]
    step = (max(times) - min(times) + 1000, 1000003)
    texts = parts[0::2]
    written = 0
    turn = 0
    while written < n_bytes:
        out = [""] * len(parts)
        out[0::2] = texts
        out[1::2] = [str(n + turn * step[kind]) for n, kind in parts[1::2]]
        chunk = "".join(out) if turn == 0 else "," + "".join(out)
        written += write(chunk.encode())
        turn += 1


def main(argv):
    kind, size, path = argv[1], int(argv[2]) * 1000000, argv[3]
    made_up = made_up_ascend if kind == "ascend" else made_up_kineto
    text = read(argv[4]) if len(argv) > 4 else made_up()
    first = text.index("[", text.index('"traceEvents"') if kind == "kineto" else 0) + 1
    last = text.index("\n  ]", first) if kind == "kineto" else text.rindex("]")
    with open(path, "wb") as file:
        file.write(text[:first].encode())
        repeat(text[first:last], size, file.write)
        file.write(text[last:].encode())


if __name__ == "__main__":
    main(sys.argv)
