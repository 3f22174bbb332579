#!/usr/bin/env python3
"""Two captures that are served: the comparison says what `pipescope compare` says, pipelines lie one above the other."""
import json
import subprocess

import serving


class Compare(serving.Case):
    def run_program(self, *args):
        subprocess.run([serving.PROGRAM, *args, "--quiet"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def simulate(self, name, *more):
        self.run_program("simulate", "1f1b", "--pp", "2", "--microbatches", "4", "--filler", "20", *more, "--profile",
                         self.path(name))
        return self.path(name)

    def setUp(self):
        super().setUp()
        self.old = self.simulate("old", "--steps", "2")
        self.new = self.simulate("new", "--steps", "3", "--slow-stage", "1:1.5")

    def test_tables(self):
        out = self.path("compare.json")
        self.run_program("compare", self.new, self.old, "-o", out)
        with open(out, encoding="utf-8") as file:
            expected = json.load(file)["tables"]
        with serving.Server(self.new, args=["--baseline", self.old]) as s:
            session = s.get("/api/session").json()
            self.assertEqual([c["path"] for c in session["clusters"]], [self.new, self.old])
            self.assertEqual(session["baseline"], 1)
            reply = s.get("/api/mode?name=compare&cluster=0&baseline=1")
            self.assertEqual(reply.status, 200, reply)
            tables = {t["name"]: t for t in reply.json()["tables"]}
            self.assertEqual(set(tables), set(expected))
            for name in ("OverallCompare", "KernelCompare", "CommunicationCompare"):
                lost = [c[0] for c in tables[name]["columns"]].index("lost")
                self.assertEqual([row[lost] for row in tables[name]["rows"]], [row["lost_ns"] for row in expected[name]])
            self.assertGreater(expected["OverallCompare"][0]["lost_ns"], 0)
            # The other way round it is the other way round.
            turned = s.get("/api/mode?name=compare&cluster=1&baseline=0&table=OverallCompare").json()
            self.assertEqual(turned["rows"][0][3], -expected["OverallCompare"][0]["lost_ns"])
            for address in ("/api/mode?name=compare", "/api/mode?name=compare&baseline=2"):
                self.assertEqual(s.get(address).status, 400, address)

    def test_pipelines(self):
        with serving.Server(self.new, self.old) as s:
            self.assertNotIn("baseline", s.get("/api/session").json())
            alone = s.get("/api/chart?cluster=0").json()
            self.assertIsNone(alone["against"])
            both = s.get("/api/chart?cluster=0&beside=1")
            self.assertEqual(both.status, 200, both)
            below = both.json()["against"]
            # pipeline, step, start, end: two steps of the old capture below the first two of the new one, each as long as it was.
            old = s.get("/api/chart?cluster=1").json()["chart"]
            self.assertEqual([w[3] - w[2] for w in below["windows"]], [w[3] - w[2] for w in old["windows"]])
            self.assertEqual([w[1] for w in below["windows"]], [w[1] for w in both.json()["chart"]["windows"]][:2])
            turned = s.get("/api/chart?cluster=1&beside=0").json()
            self.assertEqual(len(turned["against"]["windows"]), 2, "a third step has nothing to lie beside")
            self.assertEqual(s.get("/api/chart?cluster=0&beside=7").status, 400)


if __name__ == "__main__":
    serving.main()
