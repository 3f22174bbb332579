#!/usr/bin/env python3
"""Ranks while they are served: read in the background, some cannot be, files vanish and change."""
import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import time

import serving

AUTO = 16  # ranks that are read unasked


class Ranks(serving.Case):
    def many(self, n_ranks, **more):
        os.mkdir(self.path("job"))
        for i in range(n_ranks):
            serving.trace(self.path("job", "rank%d.json" % i), rank=i, **more)
        return self.path("job")

    def load(self, s, keys):
        reply = s.post("/api/load", {"keys": keys})
        self.assertEqual(reply.status, 200, reply)
        return reply.json()["queued"]

    def test_events_tell_what_changes(self):
        with serving.Server(self.many(4, n=3000)) as s:
            seq, seen = 0, {}
            end = time.monotonic() + serving.PATIENCE
            while len(seen) < 4 or any(r["state"] != "ready" for r in seen.values()):
                self.assertLess(time.monotonic(), end)
                reply = s.get("/api/events?after=%d" % seq)
                self.assertEqual(reply.status, 200)
                events = reply.json()
                self.assertGreaterEqual(events["seq"], seq)
                for r in events["ranks"]:
                    seen[r["key"]] = r
                seq = events["seq"]
            ranks = {r["key"]: r for r in s.ranks()}
            for r in [*seen.values(), *ranks.values()]:
                del r["bytes"]  # more is kept as more is asked
            self.assertEqual(seen, ranks)
            self.assertEqual(sorted(r["slices"] for r in seen.values()), [3000] * 4)

    def test_operators_of_a_kind_have_one_tint(self):
        names = ["hcom_send__860_3_1", "hcom_send__12_0_1", "hcom_send__860_4_1", "hcom_send", "aten::mm", "Conv2D_10", "x__"]
        for i, name in enumerate(names):
            os.makedirs(self.path("job"), exist_ok=True)
            serving.trace(self.path("job", "rank%d.json" % i), rank=i, name=name + "\x00")
            with open(self.path("job", "rank%d.json" % i), encoding="utf-8") as file:
                text = file.read()
            with open(self.path("job", "rank%d.json" % i), "w", encoding="utf-8") as file:
                file.write(re.sub(r"\\u0000\d", "", text))
        with serving.Server(self.path("job")) as s:
            tints = []
            for r in sorted(s.wait_for(["ready"], len(names)), key=lambda r: r["rank"]):
                ref = s.get("/api/slice?rank=%s&slice=0" % r["key"]).json()
                self.assertEqual(ref["name"], names[r["rank"]])
                tints.append(ref["tint"])
            self.assertEqual(len(set(tints[:4])), 1, tints)
            self.assertGreater(len(set(tints)), 1)

    def test_a_slice_says_whether_it_is_communication(self):
        job = os.path.join(serving.ROOT, "tests", "data", "torch_pipeline", "gpipe")
        with serving.Server(job) as s:
            s.wait_for(["ready"], 4)
            for part, expected in (("gloo:send", True), ("aten::", None)):
                ref = s.get("/api/search/list?q=%s&limit=1" % part).json()["rows"][0]
                told = s.get("/api/slice?rank=%s&slice=%d" % (ref["rank"], ref["slice"])).json()
                self.assertEqual(told.get("communication"), expected, told["name"])

    def test_a_damaged_rank_hinders_no_other(self):
        job = self.many(3)
        with open(self.path("job", "rank1.json"), "r+", encoding="utf-8") as file:
            file.truncate(os.path.getsize(file.name) // 2)
        with open(self.path("job", "rank2.json"), "w", encoding="utf-8") as file:
            file.write('{"schemaVersion": 1, "traceEvents": [{"ph": "X"} nonsense')
        with serving.Server(job) as s:
            ranks = s.wait_for(["ready", "failed"])
            states = {r["file"]: r["state"] for r in ranks}
            self.assertEqual(states["rank0.json"], "ready")
            for r in ranks:
                status = s.get("/api/lanes?rank=" + r["key"]).status
                self.assertEqual(status, 200 if r["state"] == "ready" else 409)
                if r["state"] == "failed":
                    self.assertIn(r["file"], r["error"])

    def test_files_that_vanish_and_change(self):
        job = self.many(AUTO + 4)
        with serving.Server(job) as s:
            ranks = s.wait_for(["ready"], AUTO)
            later = [r for r in ranks if r["state"] == "waiting"]
            self.assertEqual(len(later), 4)
            ready = next(r for r in ranks if r["state"] == "ready")
            os.remove(self.path("job", ready["file"]))  # in memory by now
            gone, cut, emptied, good = later
            os.remove(self.path("job", gone["file"]))
            for r, size in ((cut, os.path.getsize(self.path("job", cut["file"])) // 2), (emptied, 0)):
                os.truncate(self.path("job", r["file"]), size)
            self.load(s, [r["key"] for r in later])
            ranks = {r["key"]: r for r in s.wait_for(["ready", "failed"])}
            self.assertEqual(ranks[gone["key"]]["state"], "failed")
            self.assertIn(gone["file"], ranks[gone["key"]]["error"])
            self.assertEqual(ranks[emptied["key"]]["state"], "failed")
            self.assertEqual(ranks[good["key"]]["state"], "ready")
            self.assertEqual(s.get("/api/lanes?rank=" + gone["key"]).status, 409)
            self.assertEqual(s.get("/api/lanes?rank=" + ready["key"]).status, 200)
            self.assertEqual(s.get("/api/search?q=op").status, 200)
            self.assertEqual(s.stop(), 0)

    def test_files_cut_while_they_are_read(self):
        job = self.many(6, n=8000)
        with serving.Server(job, args=["-j", "1"]) as s:
            for i in range(6):
                os.truncate(self.path("job", "rank%d.json" % i), 1000 + i)
            ranks = s.wait_for(["ready", "failed"])
            self.assertEqual(len(ranks), 6)
            for r in ranks:
                s.get("/api/lanes?rank=" + r["key"])
            self.assertEqual(s.get("/", token=None).status, 200)
            self.assertEqual(s.stop(), 0)

    def test_a_table_says_what_was_left_out_of_it(self):
        job = self.path("job")
        subprocess.run([serving.PROGRAM, "simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--profile", job, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        folder = next(path for path, _, files in os.walk(job) if "ascend_pytorch_profiler_0.db" in files)
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "analysis.db"))) as db, db:
            db.execute("CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, "
                       "transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, "
                       "op_name TEXT)")
            row = ("allreduce-total", "17", "HCCS", 4.0, 2.0, 2.0, "step1", "collective", "")
            for to in "012":  # of a group that nothing else tells of: only its own place is known
                db.execute("INSERT INTO CommAnalyzerMatrix VALUES (?, ?, '0', ?, ?, ?, ?, ?, ?, ?, ?)", (*row[:2], to, *row[2:]))
        with serving.Server(job) as s:
            s.wait_for(["ready"])
            reply = s.get("/api/view?name=communication_matrix").json()
            self.assertEqual([r[3:5] for r in reply["rows"] if r[1] == "allreduce-total"], [[0, 0]], reply)
            self.assertEqual(reply["notes"],
                             ["note: 2 links lead to a place of a group whose global rank is not known: not in ClusterCommunicationMatrix"])
            mode = s.get("/api/mode?name=communication_matrix_sum&table=LinksOfUnknownRanks").json()
            table = next(t for t in mode["tables"] if t["name"] == "LinksOfUnknownRanks") if "tables" in mode else mode
            names = [c[0] for c in table["columns"]]
            ends = [[row[names.index(n)] for n in ("src_rank", "dst_rank", "src_place", "dst_place")]
                    for row in table["rows"] if row[names.index("hccl_op_name")] == "allreduce-total"]
            self.assertEqual(ends, [[0, None, None, 1], [0, None, None, 2]], table)

    def test_a_copy_elsewhere_has_the_same_ids(self):
        job = self.path("job")
        subprocess.run([serving.PROGRAM, "simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--profile", job, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(job, self.path("elsewhere", "copy"))
        with serving.Server(job) as s, serving.Server(self.path("elsewhere", "copy")) as copy:
            ids, others = ({r["rank"]: r["id"] for r in server.ranks()} for server in (s, copy))
            self.assertEqual(ids, others)
            self.assertEqual(len(set(ids.values())), 2)
            self.assertFalse({r["key"] for r in s.ranks()} & {r["key"] for r in copy.ranks()})
        # Nothing tells them apart but their place: counted.
        os.mkdir(self.path("same"))
        for name in ("a.json", "b.json"):
            serving.trace(self.path("same", name), rank=0)
        with serving.Server(self.path("same", "a.json"), args=[self.path("same", "b.json")]) as s:
            self.assertEqual(len({r["id"] for r in s.ranks()}), 2)

    def test_asking_for_a_rank_has_it_read(self):
        with serving.Server(self.many(AUTO + 2)) as s:
            ranks = s.wait_for(["ready"], AUTO)
            late = next(r for r in ranks if r["state"] == "waiting")
            self.assertEqual(s.get("/api/lanes?rank=" + late["key"]).status, 409)
            s.wait_for(["ready"], AUTO + 1)
            self.assertEqual(s.get("/api/lanes?rank=" + late["key"]).status, 200)
            self.assertEqual(self.load(s, []), 0)
            self.assertEqual(s.post("/api/load", {"all": True}).json()["queued"], 1)
            s.wait_for(["ready"])


if __name__ == "__main__":
    serving.main()
