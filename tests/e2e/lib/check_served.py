#!/usr/bin/env python3
"""The pages' routes on a recorded job: check_served.py FOLDER RANKS STEPS

Every rank is read and has its lanes: operators, modules, sends and receives, work and ranges on the device. The whole of it
is drawn from tiles, and the pipeline page gets its chart.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "serve"))
from serving import Server  # noqa: E402


def fail(text, *args):
    sys.exit("FAILED: " + text % args)


def answered(reply):
    if reply.status != 200:
        fail("%s", reply)
    return reply


def drawn(server, rank, lanes):
    """How many slices the tiles of a level that holds the whole rank stand for, by lane."""
    level = 0
    while 1024 << level <= rank["end"]:
        level += 1
    address = "/api/tiles?rank=%s&level=%d&tile=0&lanes=%s" % (rank["key"], level, ",".join(map(str, lanes)))
    data = answered(server.get(address)).body
    magic, n_lanes, n, _ = struct.unpack_from("<4I", data, 0)
    if magic != 0x31545350 or n_lanes != len(lanes):
        fail("a tile of %d lanes instead of %d", n_lanes, len(lanes))
    entries = [struct.unpack_from("<2I", data, 16 + 8 * i) for i in range(n_lanes)]
    counts = struct.unpack_from("<%dI" % n, data, 16 + 8 * n_lanes + 16 * n)
    out, at = {}, 0
    for lane, n_entries in entries:
        out[lane] = sum(counts[at:at + n_entries])
        at += n_entries
    return out


def main(folder, n_ranks, n_steps):
    n_ranks, n_steps = int(n_ranks), int(n_steps)
    with Server(folder) as server:
        answered(server.post("/api/load", {"all": True}))
        ranks = server.wait_for({"ready", "failed"})
        if [r["rank"] for r in ranks] != list(range(n_ranks)):
            fail("ranks: %s", [r["label"] for r in ranks])
        for rank in ranks:
            if rank["state"] != "ready" or len(rank["steps"]) != n_steps:
                fail("%s: %s, steps %s", rank["label"], rank["state"], rank.get("steps"))
            nodes = [n for n in answered(server.get("/api/lanes?rank=" + rank["key"])).json()["nodes"] if n["lane"] >= 0]
            kinds = {n["kind"] for n in nodes}
            if not {"host", "marks", "device"} <= kinds:
                fail("%s has only lanes of %s", rank["label"], kinds)
            names = {n["name"] for n in nodes}
            if "Stream 0 (compute)" not in names or not any("(receive)" in name for name in names):
                fail("%s: streams have not their names: %s", rank["label"], names)
            # Recorded ranges are no NVTX, and advice is the recorder's.
            if any("NVTX" in name for name in names) or "Stream 0 (compute) Ranges domain default" not in names:
                fail("%s: names of ranges: %s", rank["label"], names)
            # Sends and receives are operators of their groups, though the recording tells them by marks only.
            if "communication" not in rank["has"] or rank.get("comm_from_marks") != "host":
                fail("%s has no communication: %s, missing %s", rank["label"], rank["has"], rank["missing"])
            if "comm" not in kinds or not {"Group pp Communication", "Group pp_gradients Communication"} <= names:
                fail("%s has no lanes of its groups: %s", rank["label"], names)
            for domain in ("Module", "communication", "default"):
                if not any(n["id"].startswith("host/") and n["id"].endswith("/" + domain) for n in nodes):
                    fail("%s has no lane of domain %s", rank["label"], domain)
            for lane, n in drawn(server, rank, [n["lane"] for n in nodes]).items():
                wanted = next(x["slices"] for x in nodes if x["lane"] == lane)
                if n != wanted:
                    fail("%s: tiles of lane %d hold %d slices of %d", rank["label"], lane, n, wanted)
            arrows = dict(answered(server.get("/api/flows/kinds?rank=" + rank["key"])).json()["kinds"])
            window = "/api/flows/window?rank=%s&kind=send-recv&from=0&to=%d" % (rank["key"], rank["end"])
            arrows_in = answered(server.get(window)).json()
            if not arrows.get("send-recv") or arrows_in["total"] != arrows["send-recv"] or arrows_in["unmatched"] != 0:
                fail("%s receives %s, of which %s have no send", rank["label"], arrows, arrows_in["unmatched"])
        chart = answered(server.get("/api/chart?cluster=0")).json()
        names = {t["name"] for t in chart["tables"]}
        if not {"PipelineBubble", "PipelineWaits", "PipelineStep", "PipelineReplay"} <= names:
            fail("the chart has only the tables %s", names)
        if [place[0] for place in chart["places"]] != [r["key"] for r in ranks]:
            fail("the chart's ranks are not those of the timeline")


main(*sys.argv[1:])
