#!/usr/bin/env python3
"""Captures that come and go while the server runs: what may be opened, what becomes of their ranks and of who looks at them; and whose
memory it is that comparisons take."""
import os
import subprocess
import threading
import time

import serving


class Open(serving.Case):
    def job(self, *parts, ranks=2, **more):
        os.makedirs(self.path(*parts))
        for i in range(ranks):
            serving.trace(self.path(*parts, "rank%d.json" % i), rank=i, **more)
        return self.path(*parts)

    def open(self, s, path):
        return s.post("/api/open", {"path": path})

    def events_until(self, s, seq, wanted):
        """All that events tell after `seq`, by key, until `wanted` says so."""
        seen = {}
        end = time.monotonic() + serving.PATIENCE
        while not wanted(seen):
            self.assertLess(time.monotonic(), end, seen)
            events = s.get("/api/events?after=%d" % seq).json()
            seen.update((r["key"], r) for r in events["ranks"])
            seq = events["seq"]
        return seen

    def test_one_more_and_one_less(self):
        runs = self.path("runs")
        old, new = self.job("runs", "old"), self.job("runs", "new", ranks=3)
        with serving.Server(new, args=["--captures", runs]) as s:
            s.wait_for(["ready"], 3)
            self.assertEqual({r["label"] for r in s.ranks()}, {"rank 0", "rank 1", "rank 2"})
            seq = s.get("/api/ranks").json()["seq"]
            reply = self.open(s, "old")
            self.assertEqual((reply.status, reply.json()), (200, {"cluster": 1}))
            self.assertEqual([c["path"] for c in s.get("/api/session").json()["clusters"]], [new, old])
            news = self.events_until(s, seq, lambda n: sum(r["state"] == "ready" for r in n.values()) == 5)
            self.assertEqual({r["label"] for r in news.values()},
                             {"rank %d in new" % i for i in range(3)} | {"rank %d in old" % i for i in range(2)})
            mine = [r for r in s.ranks() if r["cluster"] == 1]
            self.assertEqual([s.get("/api/lanes?rank=" + r["key"]).status for r in mine], [200, 200])
            seq = s.get("/api/ranks").json()["seq"]
            self.assertEqual(s.post("/api/close", {"cluster": 1}).status, 200)
            news = self.events_until(s, seq, lambda n: len(n) >= 2)
            self.assertEqual({k: r["state"] for k, r in news.items()}, {r["key"]: "closed" for r in mine})
            self.assertEqual(len(s.ranks()), 3)
            self.assertEqual(s.get("/api/lanes?rank=" + mine[0]["key"]).status, 409)
            self.assertEqual(s.get("/api/session").json()["clusters"][1].get("closed"), True)
            for address in ("/api/mode?name=step_trace_time&cluster=1", "/api/chart?cluster=1", "/api/summary?cluster=1"):
                self.assertEqual(s.get(address).status, 404, address)
            self.assertEqual(s.post("/api/close", {"cluster": 1}).status, 404)
            self.assertEqual(s.post("/api/close", {"cluster": 0}).status, 400, "the last one stays")
            # Again, under another number; and the first one may go.
            self.assertEqual(self.open(s, old).json(), {"cluster": 2})
            self.assertEqual(s.post("/api/close", {"cluster": 0}).status, 200)
            s.wait_for(["ready"], 2)
            self.assertEqual(s.get("/api/summary").json()["ranks"], 2, "of the first that is open")

    def test_nothing_outside(self):
        runs, other = self.path("runs"), self.job("other")
        self.job("runs", "a")
        os.symlink(other, self.path("runs", "link"))
        os.mkdir(self.path("runs2"))
        serving.trace(self.path("runs2", "rank0.json"))
        with serving.Server(runs) as s:
            said = set()
            for path in (other, "link", "../other", self.path("runs", "..", "other"), self.path("runs2"), "../runs2", "/etc",
                         "/", "/proc/self/cwd", "nowhere", "../nowhere"):
                for reply in (self.open(s, path), s.get("/api/folder?path=" + path)):
                    self.assertEqual(reply.status, 404, (path, reply))
                    said.add(reply.json()["error"].replace(path, "X"))
            self.assertEqual(len(said), 1, "the same words for what is there and what is not")
            self.assertEqual(len(s.get("/api/session").json()["clusters"]), 1)
            for body in ({}, {"path": ""}, {"path": 3}, [], {"path": None}):
                self.assertEqual(s.post("/api/open", body).status, 400, body)
            for body in ({}, {"cluster": -1}, {"cluster": "0"}):
                self.assertEqual(s.post("/api/close", body).status, 400, body)
            self.assertEqual(s.ask("POST", "/api/open", '{"path":"a"}', token=None).status, 403)
        file = self.path("runs2", "rank0.json")
        with serving.Server(file) as s:  # its folder is not served
            self.assertEqual(self.open(s, self.path("runs2")).status, 404)
            self.assertEqual(s.get("/api/folder").json()["entries"], [])

    def test_folders(self):
        runs = self.path("runs")
        self.job("runs", "a")
        os.mkdir(self.path("runs", ".hidden"))
        os.mkdir(self.path("runs", "empty"))
        with serving.Server(self.path("runs", "a"), args=["--captures", runs]) as s:
            top = s.get("/api/folder").json()["entries"]
            self.assertEqual([e["path"] for e in top], [self.path("runs", "a"), runs])
            inside = s.get("/api/folder?path=" + runs).json()
            self.assertEqual([(e["name"], e["folder"]) for e in inside["entries"]], [("a", True), ("empty", True)])
            files = s.get("/api/folder?path=a").json()["entries"]
            self.assertEqual([(e["name"], e["folder"]) for e in files], [("rank0.json", False), ("rank1.json", False)])
            reply = self.open(s, "empty")
            self.assertEqual(reply.status, 409, reply)
            self.assertEqual(len(s.get("/api/session").json()["clusters"]), 1)
        self.assertEqual(subprocess.run([serving.PROGRAM, "serve", runs, "--captures", self.path("nowhere")],
                                        capture_output=True, check=False).returncode, 2)

    def test_many_at_once(self):
        runs = self.path("runs")
        for i in range(4):
            self.job("runs", "job%d" % i, n=2000)
        with serving.Server(self.path("runs", "job0"), args=["--captures", runs]) as s:
            wrong = []

            def turn(i):
                for _ in range(4):
                    reply = self.open(s, "job%d" % i)
                    wrong.extend([reply] if reply.status != 200 else [])
                    for r in s.ranks():
                        status = s.get("/api/lanes?rank=" + r["key"]).status
                        wrong.extend([status] if status not in (200, 409) else [])
                    reply = s.post("/api/close", {"cluster": reply.json()["cluster"]})
                    wrong.extend([reply] if reply.status != 200 else [])

            threads = [threading.Thread(target=turn, args=(i,)) for i in range(1, 4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])
            self.assertEqual(len(s.wait_for(["ready"])), 2)  # one that is being read when it is closed is there until its reader sees that
            self.assertEqual(s.stop(), 0)

    def test_a_comparison_is_within_the_memory(self):
        simulate = [serving.PROGRAM, "simulate", "1f1b", "--pp", "2", "--microbatches", "4", "--quiet", "--profile"]
        new, old = self.path("new"), self.path("old")
        subprocess.run([*simulate, new], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*simulate, old, "--filler", "20000"], check=True, stdout=subprocess.DEVNULL)
        address = "/api/mode?name=compare&baseline=1"
        with serving.Server(new, args=["--baseline", old]) as s:
            self.assertEqual(s.get(address).status, 200)
        with serving.Server(new, args=["--baseline", old, "--memory", "8M"]) as s:
            reply = s.get(address)
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("--memory allows 8.0 MiB", reply.json()["error"])
            self.assertIn("old", reply.json()["error"])

    def test_ranks_make_room_for_a_comparison(self):
        job = self.path("job")
        subprocess.run([serving.PROGRAM, "simulate", "1f1b", "--pp", "2", "--microbatches", "4", "--quiet", "--filler", "20000",
                        "--profile", job], check=True, stdout=subprocess.DEVNULL)
        with serving.Server(job) as s:
            bytes_of = [sum(r["bytes"].values()) for r in s.wait_for(["ready"], 2)]
        size = max(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(job) for f in names)
        limit = size * 5 + (1 << 20) + min(bytes_of) // 2  # what one takes that is read (run_memory.c), and half a rank
        self.assertGreater(limit, sum(bytes_of))
        with serving.Server(job, args=["--memory", str(limit)]) as s:
            s.wait_for(["ready"], 2)
            # Ranks whose rows are still made stay: the next mode finds them idle.
            went = False
            for mode in ("step_trace_time", "cluster_time_summary", "communication_time_sum", "free_analysis", "cann_api_sum"):
                self.assertEqual(s.get("/api/mode?name=" + mode).status, 200)
                went = went or "waiting" in {r["state"] for r in s.ranks()}
            self.assertTrue(went)


if __name__ == "__main__":
    serving.main()
