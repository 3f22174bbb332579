"""Every arrow ends on the right slice: what the server says of flows, against the files themselves, by the rules that each
format has for them. Reads ../shared/data (skips by name where it is not there) and a cluster that the program simulates.

A flow is compared as its kind and, of both ends, the start (since 1970, in ns) and the row or event of the file.
"""
import gzip
import http.client
import json
import os
import sqlite3
import subprocess
import unittest
from collections import Counter, defaultdict
from urllib.parse import urlencode

from serving import PROGRAM, ROOT, Case, Server, main

DATA = os.environ.get("PIPESCOPE_SHARED_DATA") or os.path.join(os.path.dirname(ROOT), "shared", "data")
NO_CONNECTION = (4294967295, -1, None)


def data(*names):
    path = os.path.join(DATA, *names)
    if not os.path.exists(path):
        raise unittest.SkipTest("no %s" % path)
    return path


class Rank:
    """One rank of a server, as a script sees it."""

    def __init__(self, server, rank):
        self.server, self.rank, self.key = server, rank, rank["key"]
        self.origin = int(rank["origin_ns"])
        self.known = {}
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def get(self, route, **params):
        """Over one connection: thousands of slices are asked for."""
        self.connection.request("GET", "/api/%s?%s" % (route, urlencode({"rank": self.key, **params})),
                                headers={"Authorization": "Bearer " + self.server.token})
        reply = self.connection.getresponse()
        body = reply.read()
        assert reply.status == 200, (route, params, body)
        return json.loads(body)

    def kinds(self):
        return dict(self.get("flows/kinds")["kinds"])

    def window(self, kind, **more):
        reply = self.get("flows/window", kind=kind, limit=100000, **more)
        assert reply["total"] == len(reply["flows"]), kind
        return reply["flows"]

    def slice(self, number):
        if number not in self.known:
            self.known[number] = self.get("slice", slice=number)
        return self.known[number]

    def end(self, number):
        """Start since 1970 and row in the file."""
        s = self.slice(number)
        return (self.origin + s["start"], int(s["source"].rsplit(":", 1)[1]))

    def ends(self, kind):
        return Counter((self.end(f[0]), self.end(f[1])) for f in self.window(kind))


class Flows(Case):
    def serve(self, path):
        server = Server(path)
        server.__enter__()
        self.addCleanup(server.__exit__)
        found = server.wait_for(("ready", "failed"))
        self.assertEqual({r["state"] for r in found}, {"ready"})
        ranks = [Rank(server, r) for r in found]
        for rank in ranks:
            self.addCleanup(rank.connection.close)
        return server, ranks

    def check_counts(self, path, ranks):
        """Kinds and their numbers are those of `pipescope info`, where flows between marks have no name of their own."""
        told = json.loads(subprocess.run([PROGRAM, "info", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
        for rank, expected in zip(ranks, told["ranks"]):
            wanted = {"MsTx" if k == "mark" else k: n for k, n in expected["flows"].items()}
            got = {k: n for k, n in rank.kinds().items() if k not in ("send-recv", "collective")}
            self.assertEqual(got, wanted)
            for kind, n in wanted.items():
                self.assertEqual(rank.get("flows/window", kind=kind, limit=1)["total"], n)

    def check_both_ways(self, rank, kind):
        """What the window tells stands in the details of both slices, and in the flows of both."""
        for f in rank.window(kind)[:40]:
            out = {(x["kind"], x["ref"]["slice"]) for x in rank.slice(f[0])["links"] if x["direction"] == "to"}
            back = {(x["kind"], x["ref"]["slice"]) for x in rank.slice(f[1])["links"] if x["direction"] == "from"}
            self.assertIn((kind, f[1]), out)
            self.assertIn((kind, f[0]), back)
            for end in f[:2]:
                reply = rank.get("flows/of", slice=end)
                pairs = {(x["kind"], x["from"]["slice"], x["to"]["slice"]) for x in reply["flows"]}
                self.assertTrue((kind, f[0], f[1]) in pairs or reply["more"])
            ref = rank.slice(f[0])
            self.assertEqual([ref["lane"], ref["row"], ref["start"]], f[2:5])
            ref = rank.slice(f[1])
            self.assertEqual([ref["lane"], ref["row"], ref["start"]], f[5:8])

    # --- databases of Ascend profilers

    def database_flows(self, path):
        """Kind -> Counter of ((start, row), (start, row)) by the rules of the tables."""
        db = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
        tables = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        on_device = defaultdict(list)
        for row, start, connection in db.execute(
                "SELECT t.rowid, t.startNs, t.connectionId FROM TASK t JOIN COMPUTE_TASK_INFO c USING (globalTaskId)"):
            on_device[connection].append((int(start), row))
        for row, start, connection in db.execute(
                "SELECT t.rowid, t.startNs, t.connectionId FROM TASK t JOIN STRING_IDS s ON s.id = t.taskType"
                " WHERE s.value LIKE 'MEMCPY%' AND t.globalTaskId NOT IN (SELECT globalTaskId FROM COMMUNICATION_TASK_INFO)"):
            on_device[connection].append((int(start), row))
        if "COMMUNICATION_OP" in tables:
            for row, start, connection in db.execute("SELECT rowid, startNs, connectionId FROM COMMUNICATION_OP"):
                on_device[connection].append((int(start), row))
        flows = defaultdict(Counter)
        for row, start, connection in db.execute("SELECT rowid, startNs, connectionId FROM CANN_API"):
            if connection not in NO_CONNECTION:
                for end in on_device[connection]:
                    flows["HostToDevice"][((int(start), row), end)] += 1
        numbers = defaultdict(list)
        for row, start, name, sequence, number in db.execute(
                "SELECT p.rowid, p.startNs, s.value, p.sequenceNumber, c.connectionId FROM PYTORCH_API p"
                " JOIN CONNECTION_IDS c ON c.id = p.connectionId JOIN STRING_IDS s ON s.id = p.name"):
            numbers[number].append((int(start), row, name, sequence))
        for number, rows in numbers.items():
            rows.sort()
            operators = [r for r in rows if not r[2].startswith(("Enqueue", "Dequeue"))]
            for a in rows:
                if a[2].startswith("Enqueue"):
                    for b in rows:
                        if b[2].startswith("Dequeue"):
                            flows["async_task_queue"][(a[:2], b[:2])] += 1
            pairs = [r for r in operators[1:] if r[3] == operators[0][3]] if operators else []
            for b in pairs:
                flows["fwdbwd"][(operators[0][:2], b[:2])] += 1
            for a in operators if not pairs else ():
                for end in on_device[number]:
                    flows["async_npu"][(a[:2], end)] += 1
        db.close()
        return flows

    def check_database(self, folder):
        server, ranks = self.serve(folder)
        self.check_counts(folder, ranks)
        for rank in ranks:
            expected = self.database_flows(os.path.join(folder, rank.rank["file"]))
            for kind in rank.kinds():
                if kind not in ("send-recv", "collective", "MsTx"):
                    self.assertEqual(rank.ends(kind), expected.pop(kind), kind)
                    self.check_both_ways(rank, kind)
            self.assertEqual({k: n for k, n in expected.items() if n}, {})
        return server, ranks

    def test_ascend_database_level1(self):
        _, ranks = self.check_database(data("ascend", "db", "level1"))
        self.check_chain(ranks[0])
        self.check_collectives(ranks)

    def test_ascend_database_level0(self):
        self.check_database(data("ascend", "db", "level0"))

    def check_chain(self, rank):
        """A kernel shows its whole launch: operator, enqueue and dequeue, call."""
        n_whole = 0
        for f in rank.window("async_npu"):
            kinds = Counter(x["kind"] for x in rank.get("flows/of", slice=f[1])["flows"])
            n_whole += all(kinds[k] == 1 for k in ("async_npu", "HostToDevice", "async_task_queue"))
        self.assertGreater(n_whole, 100)

    def check_collectives(self, ranks):
        """The same operator of both ranks: equal names, told once in all."""
        n = 0
        for rank in ranks:
            for f in rank.window("collective"):
                other = next(r for r in ranks if r.key == f[8])
                a, b = other.slice(f[0]), rank.slice(f[1])
                self.assertEqual((a["name"], a["kind"]), (b["name"], b["kind"]))
                self.assertEqual((a["lane"], a["start"], b["lane"], b["start"]), (f[2], f[4], f[5], f[7]))
                told = rank.get("flows/of", slice=f[1])
                self.assertEqual(told["collective"]["n"], 2)
                self.assertEqual(told["collective"]["last"]["slice"], f[0])
                n += 1
        self.assertEqual(n, 4)

    # --- trace_view.json

    @staticmethod
    def ns(text):
        whole, _, part = str(text).partition(".")
        return int(whole) * 1000 + int((part + "000")[:3])

    def text_flows(self, path):
        """Kind -> Counter of (start, start): a point belongs to the slice that begins there, else to the innermost around."""
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        threads = defaultdict(list)
        for e in events:
            if e["ph"] == "X":
                start = self.ns(e["ts"])
                threads[(e["pid"], e["tid"])].append((start, start + self.ns(e["dur"])))
        points = defaultdict(lambda: ([], []))
        for e in events:
            if e["ph"] in "sf":
                at = self.ns(e["ts"])
                around = [s for s in threads[(e["pid"], e["tid"])] if s[0] <= at <= s[1]]
                start = at if any(s[0] == at for s in around) else max(s[0] for s in around)
                points[(e["cat"], e["id"])][e["ph"] == "f"].append(start)
        flows = defaultdict(Counter)
        for (kind, _), (starts, ends) in points.items():
            for a in starts:
                for b in ends:
                    flows[kind][(a, b)] += 1
        return flows

    def test_ascend_text(self):
        folder = data("ascend", "text", "level1")
        _, ranks = self.serve(folder)
        self.check_counts(folder, ranks)
        for rank in ranks:
            expected = self.text_flows(os.path.join(folder, rank.rank["file"]))
            for kind in rank.kinds():
                if kind not in ("send-recv", "collective", "MsTx"):
                    got = Counter((rank.origin + f[4], rank.origin + f[7]) for f in rank.window(kind))
                    self.assertEqual(got, expected.pop(kind), kind)
                    self.check_both_ways(rank, kind)
            self.assertEqual(expected, {})
        self.check_chain(ranks[0])

    # --- Kineto

    def check_kineto(self, folder):
        """A launch and its kernel have one correlation; a forward operator and its backward one sequence number."""
        _, ranks = self.serve(folder)
        self.check_counts(folder, ranks)
        n = Counter()
        for rank in ranks:
            for kind, key in (("ac2g", "correlation"), ("fwdbwd", "Sequence number")):
                for f in rank.window(kind):
                    numbers = [{k: v for k, v in rank.slice(s)["args"]}.get(key) for s in f[:2]]
                    self.assertIsNotNone(numbers[0])
                    self.assertEqual(numbers[0], numbers[1], (kind, f))
                    n[kind] += 1
                if kind in rank.kinds():
                    self.check_both_ways(rank, kind)
            self.check_correlations(os.path.join(folder, rank.rank["file"]), rank)
        return n

    def check_correlations(self, path, rank):
        """No launch with a kernel is without its flow. Older files have no flow events: one correlation is enough."""
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        ends, starts = Counter(), Counter()
        for e in events:
            if e.get("cat") == "ac2g" and e["ph"] in "sf":
                (starts if e["ph"] == "s" else ends)[e["id"]] += 1
        if not starts:
            for e in events:
                number = e.get("args", {}).get("correlation")
                if number and e.get("ph") == "X":
                    (ends if "stream" in e["args"] else starts)[number] += 1
        self.assertEqual(len(rank.window("ac2g")), sum((ends & starts).values()))

    def test_kineto_two_ranks(self):
        self.assertGreater(self.check_kineto(data("kineto", "two_ranks"))["ac2g"], 2000)

    def test_kineto_nccl(self):
        n = self.check_kineto(data("kineto", "nccl"))
        self.assertGreater(n["fwdbwd"], 500)

    # --- marks, sends and receives of a cluster that is simulated

    def test_simulated_pipeline(self):
        folder = self.path("cluster")
        subprocess.run([PROGRAM, "simulate", "1f1b", "--pp", "4", "--microbatches", "8", "--profile", folder],
                       stdout=subprocess.DEVNULL, check=True)
        _, ranks = self.serve(folder)
        self.check_counts(folder, ranks)
        n_pairs = 0
        for rank in ranks:
            if "MsTx" in rank.kinds():
                for f in rank.window("MsTx"):
                    a, b = rank.slice(f[0]), rank.slice(f[1])
                    self.assertEqual((a["kind"], b["kind"]), ("mark", "device-mark"))
                    self.assertEqual(a["name"], b["name"])
                self.check_both_ways(rank, "MsTx")
            for f in rank.window("send-recv"):
                other = next(r for r in ranks if r.key == f[8])
                a, b = other.slice(f[0]), rank.slice(f[1])
                self.assertIn("send", a["name"].lower())
                self.assertIn("rec", b["name"].lower())
                self.assertEqual(abs(other.rank["rank"] - rank.rank["rank"]), 1)  # stages side by side
                # told alike from both ends
                for one, number in ((rank, f[1]), (other, f[0])):
                    told = [x for x in one.get("flows/of", slice=number)["flows"] if x["kind"] == "send-recv"]
                    self.assertEqual([(x["from"]["rank"], x["from"]["slice"], x["to"]["rank"], x["to"]["slice"]) for x in told],
                                     [(other.key, f[0], rank.key, f[1])])
                n_pairs += 1
        # 8 microbatches go forth and back over 3 borders, in each step
        self.assertGreater(n_pairs, 0)
        self.assertEqual(n_pairs % (2 * 8 * 3), 0)

    # --- windows

    def test_thinning(self):
        _, ranks = self.serve(data("kineto", "nccl"))
        rank = ranks[0]
        every = rank.window("ac2g")
        times = sorted(min(f[4], f[7]) for f in every)
        middle = times[len(times) // 2]
        inside = [f for f in every if max(f[4], f[7]) <= middle]
        self.assertEqual(rank.get("flows/window", kind="ac2g", to=middle, limit=1)["total"], len(inside))
        thin = rank.get("flows/window", kind="ac2g", limit=100)
        self.assertEqual(thin["total"], len(every))
        self.assertLessEqual(len(thin["flows"]), 100)
        self.assertGreater(len(thin["flows"]), 50)
        self.assertTrue({tuple(f) for f in thin["flows"]} <= {tuple(f) for f in every})
        lanes = sorted({f[2] for f in every})
        got = rank.window("ac2g", lanes="%d,%d" % (lanes[0], every[0][5]))
        self.assertEqual(len(got), sum(f[2] in (lanes[0], every[0][5]) and f[5] in (lanes[0], every[0][5]) for f in every))


if __name__ == "__main__":
    main()
