#!/usr/bin/env python3
"""sync(): the estimate by itself, and real exchanges between processes that believe to run on machines of their own, with a clock of
their own (tests/programs/lib_clock_shift.c)."""
import json
import os
import subprocess
import sys

import recording

_sync = None


def setUpModule():
    """Not before: the package loads the library, which with a sanitizer this Python cannot."""
    global _sync
    from pipescope import _sync as module
    _sync = module


SHIFT = os.path.join(os.environ.get("PIPESCOPE_PROGRAMS") or os.path.join(recording.ROOT, "build", "release", "programs"),
                     "lib_clock_shift.so")


class Estimate(recording.Case):
    def test_interval_of_all_trips(self):
        # Ahead by 1000; ways of 10 to 40 that differ: 1000 lies in what all of them allow.
        trips = [(1000 + t, t + there, t + there + 5, 1000 + t + there + 5 + back)
                 for t, there, back in ((0, 10, 40), (100, 40, 10), (200, 20, 20), (300, 30, 30))]
        offset, uncertainty, _ = _sync.estimate(trips)
        self.assertEqual((offset, uncertainty), (1000, 10))

    def test_slowest_are_left_out(self):
        trips = [(t, t + 10, t + 10, t + 20) for t in range(0, 900, 100)]
        trips.append((1000, 1500, 1500, 1700))  # while the clock was set: its bounds would exclude the others
        self.assertEqual(_sync.estimate(trips)[:2], (0, 10))

    def test_contradiction_takes_the_fastest(self):
        trips = [(0, 10, 10, 20), (100, 60, 60, 122)]
        self.assertEqual(_sync.estimate(trips)[:2], (0, 10))

    def test_nothing(self):
        with self.assertRaises(ValueError):
            _sync.estimate([])


class Folder(recording.Case):
    def test_store(self):
        store = _sync.FolderStore(self.path("store"), timeout_s=0.05)
        store.set("a/b", "text")
        store.set("a/b", b"\x00bytes")
        self.assertEqual(store.get("a/b"), b"\x00bytes")
        with self.assertRaises(TimeoutError):
            store.get("none")
        self.assertTrue(store.delete_key("a/b"))
        self.assertFalse(store.delete_key("a/b"))
        self.assertEqual(os.listdir(self.path("store")), [])


class Machines(recording.Case):
    """Each rank a process; those of a machine see its clock and boot id."""

    def setUp(self):
        super().setUp()
        if not os.path.exists(SHIFT):
            self.skipTest("no lib_clock_shift.so")

    def start(self, script, machine, shift_ns, ppm, *arguments, python=sys.executable, **env):
        boot = self.path("boot_%s" % machine)
        with open(boot, "w", encoding="ascii") as file:
            file.write("machine-%s\n" % machine)
        env = recording.clean_environment(LD_PRELOAD=SHIFT, BOOT_ID=boot, CLOCK_SHIFT_NS=str(shift_ns), CLOCK_SHIFT_PPM=str(ppm),
                                          PIPESCOPE_QUIET="1", **env)
        child = subprocess.Popen([python, script, *arguments], cwd=self.folder, env=env, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(self.end, child)
        return child

    def end(self, child):
        if child.poll() is None:
            child.kill()
            child.communicate()

    def results(self, children):
        said = []
        for child in children:
            out, err = child.communicate(timeout=recording.PATIENCE)
            self.assertEqual(child.returncode, 0, out + err)
            said.append(json.loads(out.splitlines()[-1]))
        return said


class Exchange(Machines):
    def stages(self, pause_s, *machines):
        script = os.path.join(recording.SCRIPTS, "clocks.py")
        return self.results([self.start(script, *machine, str(rank), "store", "out", str(pause_s))
                             for rank, machine in enumerate(machines)])

    def clocks(self):
        """collector.clock by rank, with the rows of the exchange."""
        found = {}
        for db in self.databases("out"):
            (rank,), = db.rows("SELECT rankId FROM RANK_DEVICE_MAP")
            found[rank] = json.loads(db.metadata()["collector.clock"])
            found[rank]["rows"] = db.rows("SELECT deviceId, hostNs, otherNs, uncertaintyNs FROM PIPESCOPE_CLOCK_ANCHOR "
                                          "WHERE kind = 'sync' ORDER BY hostNs")
        return found

    def first_of_ranks(self, more):
        """When the first event of each rank begins in what `convert` writes, in us since 1970."""
        path = self.path("whole.json")
        self.pipescope("convert", self.path("out"), "-o", path, *more)
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        rank_of = {e["pid"]: e["args"]["name"].split()[1] for e in whole["traceEvents"] if e["name"] == "process_name"}
        first = {}
        for e in whole["traceEvents"]:
            if e["ph"] == "X":
                rank = rank_of[e["pid"]]
                first[rank] = min(e["ts"], first.get(rank, e["ts"]))
        return [first[rank] + int(whole.get("baseTimeNanoseconds", 0)) / 1000 for rank in sorted(first)]

    def test_two_machines(self):
        shift = 1750000
        said = self.stages(0, ("a", 0, 0), ("b", shift, 0))
        self.assertEqual([r["method"] for r in said[0]], ["reference"] * 2)
        for reading in said[1]:
            self.assertEqual((reading["method"], reading["reference"]), ("exchange", 0))
            self.assertLessEqual(abs(reading["offset_ns"] - shift), reading["uncertainty_ns"])
        clocks = self.clocks()
        self.assertEqual(clocks[0]["method"], "reference")
        self.assertLess(abs(clocks[0]["offset_ns"]), 1000)  # the recording's line of time is not exact to the nanosecond
        self.assertEqual(clocks[1]["readings"], 2)
        self.assertLessEqual(abs(clocks[1]["offset_ns"] - shift), clocks[1]["uncertainty_ns"] + 1000)
        self.assertNotEqual(clocks[0]["machine"], clocks[1]["machine"])
        for row in clocks[1]["rows"]:
            self.assertEqual(row[0], 0)
            self.assertLessEqual(abs(row[1] - row[2] - shift), row[3] + 1000)
        text = self.pipescope("chart", self.path("out"))
        self.assertRegex(text, r"Clock of machine 1: 17\d\d\.\d us .* by messages exchanged while recording.*; taken off here")
        self.assertRegex(self.pipescope("chart", self.path("out"), "--no-align"),
                         r"by messages exchanged while recording.*not taken off")
        chart = self.path("chart.json")
        self.pipescope("chart", self.path("out"), "-o", chart)
        with open(chart, encoding="utf-8") as file:
            ranks = json.load(file)["ranks"]
        self.assertEqual([r["machine"] for r in ranks], [0, 1])
        self.assertIn("messages exchanged while recording", ranks[1]["clock_by"])
        self.assertLessEqual(abs(ranks[1]["clock_offset_ns"] - shift), ranks[1]["clock_uncertainty_ns"] + 1000)
        moved, raw = (self.first_of_ranks(more) for more in ((), ("--no-align",)))
        self.assertLess(abs(moved[0] - raw[0]), 1)  # doubles
        self.assertLessEqual(abs(raw[1] - moved[1] - shift / 1000), ranks[1]["clock_uncertainty_ns"] / 1000 + 1)
        info = self.pipescope("info", self.path("out"))
        self.assertRegex(info, r"clock of rank 1 +17\d\d\.\d us .* against rank 0's, by exchange")

    def test_drift(self):
        """Fast by 400 ppm: over half a second that is 200 us, much more than the exchange is unsure of."""
        _, (first, last) = self.stages(0.5, ("a", 0, 0), ("b", -3000000, 400))
        unsure = (first["uncertainty_ns"] + last["uncertainty_ns"]) / (last["at_ns"] - first["at_ns"]) * 1e6
        self.assertLessEqual(abs(last["drift_ppm"] - 400), unsure + 1)
        clock = self.clocks()[1]
        self.assertLessEqual(abs(clock["drift_ppm"] - 400), clock["drift_uncertainty_ppm"] + 1)
        self.assertTrue(clock["from_ns"] < clock["at_ns"] < clock["to_ns"])

    def test_one_machine(self):
        said = self.stages(0, ("a", 0, 0), ("a", 0, 0))
        self.assertEqual([r["method"] for r in said[1]], ["same_host"] * 2)
        self.assertEqual((said[1][1]["offset_ns"], said[1][1]["uncertainty_ns"]), (0, 0))
        clocks = self.clocks()
        self.assertEqual(clocks[0]["machine"], clocks[1]["machine"])
        self.assertNotIn("Clock of", self.pipescope("chart", self.path("out")))

    ONLY_SYNC = """
import json, os, sys
import pipescope
from pipescope import _sync
rank, ranks, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if way == "store":
    _sync._addresses = lambda: []
store = pipescope.FolderStore("store", timeout_s=30)
found = [pipescope.sync(store, rank=rank, world_size=ranks, timeout_s=30) for _ in range(2)]
print(json.dumps([f and f._asdict() for f in found]))
"""

    def only_sync(self, way, *machines):
        script = self.path("only_sync.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.ONLY_SYNC)
        return self.results([self.start(script, *machine, str(rank), str(len(machines)), way)
                             for rank, machine in enumerate(machines)])

    def test_several_ranks_a_machine(self):
        """One rank measures for its machine; the others of it take over what it found."""
        said = self.only_sync("any", ("a", 0, 0), ("b", 9000000, 0), ("a", 0, 0), ("b", 9000000, 0), ("c", -4000000, 0))
        self.assertEqual([r[0]["method"] for r in said], ["reference", "exchange", "same_host", "exchange", "exchange"])
        self.assertEqual([r["offset_ns"] for r in said[1]], [r["offset_ns"] for r in said[3]])
        for rank, shift in ((1, 9000000), (4, -4000000)):
            for reading in said[rank]:
                self.assertLessEqual(abs(reading["offset_ns"] - shift), reading["uncertainty_ns"])
        left = [name for name in os.listdir(self.path("store")) if "%2F0%2F" in name]
        self.assertEqual(left, [], "the keys of the first call are taken away by the second")

    def test_over_the_store(self):
        """Where no connection can be made."""
        said = self.only_sync("store", ("a", 0, 0), ("b", 20000000, 0))
        self.assertEqual(said[1][0]["method"], "store")
        for reading in said[1]:
            self.assertLessEqual(abs(reading["offset_ns"] - 20000000), reading["uncertainty_ns"])

    def test_nobody_comes(self):
        script = self.path("alone.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import pipescope, json\n"
                       "print(json.dumps(pipescope.sync(pipescope.FolderStore('s'), rank=1, world_size=2, timeout_s=0.2)))\n")
        self.assertEqual(self.results([self.start(script, "a", 0, 0)]), [None])

    def test_profile(self):
        """sync_clocks: as each recording starts and before it stops."""
        script = self.path("profiled.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("""
import sys, pipescope
from pipescope import mstx
rank = int(sys.argv[1])
pipescope.set_option("rank", rank)
store = pipescope.FolderStore("store", timeout_s=30)
with pipescope.profile(schedule=pipescope.schedule(wait=1, warmup=0, active=1, repeat=2), sync_clocks=store,
                       on_trace_ready=pipescope.tensorboard_trace_handler("out")) as prof:
    for i in range(4):
        with mstx.annotate("step"): pass
        prof.step()
print("0")
""")
        self.results([self.start(script, name, shift, 0, str(rank), WORLD_SIZE="2", RANK=str(rank))
                      for rank, (name, shift) in enumerate((("a", 0), ("b", 700000)))])
        readings = []
        for db in self.databases("out"):
            clock = json.loads(db.metadata()["collector.clock"])
            readings.append((clock["method"], clock["readings"]))
        self.assertEqual(sorted(readings), [("exchange", 2), ("exchange", 4), ("reference", 2), ("reference", 4)])


class Torch(Machines):
    def test_default_store(self):
        """The store of torch.distributed, without an argument."""
        python = recording.torch_python()
        if python is None:
            self.skipTest("no Python with torch (name one in PIPESCOPE_PYTHON)")
        script = self.path("torch_sync.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("""
import json, sys
import torch.distributed as dist
import pipescope
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=int(sys.argv[1]), world_size=2)
found = [pipescope.sync(timeout_s=30) for _ in range(2)]
print(json.dumps([f and f._asdict() for f in found]))
dist.destroy_process_group()
""")
        said = self.results([self.start(script, name, shift, 0, str(rank), self.path("rendezvous"), python=python)
                             for rank, (name, shift) in enumerate((("a", 0), ("b", 700000)))])
        self.assertEqual([r["method"] for r in said[1]], ["exchange"] * 2)
        for reading in said[1]:
            self.assertLessEqual(abs(reading["offset_ns"] - 700000), reading["uncertainty_ns"])


class Arguments(recording.Case):
    def test_what_is_missing_is_said(self):
        out, err = self.run_python("""
import pipescope
print(pipescope.sync(), pipescope.sync(pipescope.FolderStore("s"), rank=2, world_size=2))
""")
        self.assertEqual(out.strip(), "None None")
        self.assertIn("sync() needs torch.distributed", err)

    def test_alone(self):
        out, _ = self.run_python("""
import pipescope
pipescope.start()
pipescope.mstx.mark("x")
print(pipescope.sync(pipescope.FolderStore("s"), rank=0, world_size=1).method)
""")
        self.assertEqual(out.strip(), "reference")
        self.assertLess(abs(json.loads(self.database().metadata()["collector.clock"])["offset_ns"]), 1000)


if __name__ == "__main__":
    recording.main()
