"""check_chart.py FILE.svg|FILE.json...: well-formed, references nothing outside, indices and orders as documented."""
import json
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
KINDS = "F B BI BW FB LOGITS SEND RECV OTHER".split()


def check_svg(path):
    root = ET.parse(path).getroot()
    assert root.tag == SVG + "svg", root.tag
    width, height = float(root.get("width")), float(root.get("height"))
    for node in root.iter():
        assert not any(name.endswith("href") for name in node.attrib), "refers to something outside"
        if node.tag == SVG + "rect":
            x, y = float(node.get("x")), float(node.get("y"))
            w, h = float(node.get("width")), float(node.get("height"))
            assert w >= 0 and h >= 0 and x >= 0 and y >= 0, node.attrib
            assert x + w <= width + 0.2 and y + h <= height + 0.2, node.attrib
    # No two texts of a line may touch: 0.5 em a character is less than any of them takes.
    lines = {}
    for node in root.iter(SVG + "text"):
        size = float(node.get("font-size"))
        half = 0.25 * size * len(node.text or "")
        x = float(node.get("x")) + {"middle": 0, "end": -half}.get(node.get("text-anchor"), half)
        lines.setdefault(node.get("y"), []).append((x - half, x + half, node.text))
    for line in lines.values():
        line.sort()
        for before, after in zip(line, line[1:]):
            assert before[1] <= after[0] + 0.5, "%r and %r overlap" % (before, after)


def check_json(path):
    with open(path, encoding="utf-8") as file:
        chart = json.load(file)
    assert chart["format"] == "pipescope-chart" and chart["version"] == 1
    int(chart["origin_ns"])
    order = [rank["rank"] for rank in chart["ranks"]]
    assert order == sorted(set(order)), "ranks are not in order"
    ops = chart["ops"]
    keys = [(order.index(op["rank"]), op["start_ns"]) for op in ops]
    assert keys == sorted(keys), "ops are not grouped by rank, in start order"
    for op in ops:
        assert op["kind"] in KINDS and op["end_ns"] >= op["start_ns"], op
        assert None not in op.values()
        assert ("microbatch2" in op) <= (op["kind"] == "FB"), op
    for link in chart["links"]:
        assert 0 <= link["from"] < len(ops) and 0 <= link["to"] < len(ops), link
    for bubble in chart["bubble"]:
        assert bubble["cause"] in ("warm-up", "stall", "cool-down"), bubble
        assert bubble["end_ns"] >= bubble["start_ns"], bubble
        assert 0 <= bubble.get("waits_for", 0) < len(ops), bubble


for name in sys.argv[1:]:
    try:
        (check_svg if name.endswith(".svg") else check_json)(name)
    except AssertionError as error:
        sys.exit("%s: %s" % (name, error))
