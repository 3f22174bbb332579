#!/usr/bin/env python3
"""Work that nobody waits for any more is not done. What is compared is the processor time of the server, not how long it took."""
import json
import os
import random
import urllib.parse

import serving

SAMPLES = 4
GONE = 40


class Abandoned(serving.Case):
    def large(self):
        """Slices whose arguments an expression has to be tried on, each one different."""
        noise = random.Random(1)
        events = [{"ph": "X", "pid": i % 2, "tid": 7, "ts": i * 10, "dur": 8, "name": "op%d" % (i % 7), "cat": ("kernel", "cpu_op")[i % 2],
                   "args": {"note": "%x" % noise.getrandbits(400), "stream": 7, "device": 0}} for i in range(60000)]
        with open(self.path("trace.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return self.path("trace.json")

    def work_of(self, s):
        with open("/proc/%d/stat" % s.process.pid, encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def hang_up(self, s, address):
        with s.connect() as c:
            c.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (address, s.token)).encode())

    def check(self, s, address_of):
        """`address_of(i)`: a different one for each i, all as much work."""
        before = self.work_of(s)
        for i in range(SAMPLES):
            self.assertEqual(s.get(address_of(i)).status, 200)
        whole = self.work_of(s) - before
        self.assertGreater(whole, 0.1, "too little work to compare: make the test's trace larger")
        before = self.work_of(s)
        for i in range(GONE):
            self.hang_up(s, address_of(SAMPLES + i))
        self.assertEqual(s.get(address_of(SAMPLES + GONE)).status, 200)
        self.assertLess(self.work_of(s) - before, whole / SAMPLES * GONE / 2)

    def test_searches(self):
        with serving.Server(self.large()) as s:
            s.wait_for(["ready"])
            self.check(s, lambda i: "/api/search?regex=1&args=1&q=" + urllib.parse.quote("([a-f][0-9])+q%d" % i))

    def test_tables_as_files(self):
        with serving.Server(self.large()) as s:
            key = s.wait_for(["ready"])[0]["key"]
            lane = next(n["lane"] for n in s.get("/api/lanes?rank=" + key).json()["nodes"] if n["lane"] >= 0)
            self.check(s, lambda i: "/api/slices?rank=%s&lanes=%d&sort=note&format=csv&from=%d" % (key, lane, i))

    def test_modes(self):
        with serving.Server(self.large()) as s:
            s.wait_for(["ready"])
            self.check(s, lambda i: "/api/mode?name=compute_op_sum&top_num=%d" % (i + 1))


if __name__ == "__main__":
    serving.main()
