#!/usr/bin/env python3
"""pipescope.megatron on Megatron-LM's own schedules: what is recorded and charted is what ran. The releases come from the Python package
index; those that cannot be had for the Python at hand are left out by name."""
import json
import os
import subprocess

import recording

RANKS = 2
# An older one and the newest (which needs Python 3.12).
RELEASES = ("0.16.1", "0.19.2")
JOBS = {"1f1b:1": "1f1b", "interleaved:2": "interleaved"}


class Megatron(recording.Case):
    def train(self, release, launcher=(), **env):
        """All jobs, in one process: loading takes most of the time."""
        packages = [recording.package("megatron-core", release), recording.package("packaging", "25.0")]
        if None in packages:
            self.skipTest("megatron-core %s cannot be had for this Python" % release)
        path = os.pathsep.join([recording.PACKAGE, *packages])
        done = subprocess.run([*launcher, recording.torch_python(), os.path.join(recording.SCRIPTS, "megatron_real.py"), str(RANKS),
                               *JOBS], cwd=self.folder, env=recording.clean_environment(PYTHONPATH=path, PYTHONWARNINGS="ignore", **env),
                              capture_output=True, text=True, timeout=recording.PATIENCE * 3, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def check(self):
        for job, schedule in JOBS.items():
            folder = job.replace(":", "-")
            databases = self.databases(folder)
            self.assertEqual(len(databases), RANKS)
            self.pipescope("chart", self.path(folder), "-o", self.path("chart.json"))
            with open(self.path("chart.json"), encoding="utf-8") as file:
                chart = json.load(file)
            self.assertEqual(chart["schedule"], schedule)
            for rank in range(RANKS):
                with open(self.path(folder, "ran_%d.json" % rank), encoding="utf-8") as file:
                    ran = [tuple(action) for action in json.load(file)]
                database = next(db for db in databases if db.path.endswith("_%d.db" % rank))
                said = [eval(name) for name in database.names()]
                self.assertEqual([(s["stage"], "B" if s["name"] == "backward_step" else "F", s["current_microbatch"]) for s in said], ran)
                drawn = sorted((op["start_ns"], op["chunk"] * RANKS + rank, op["kind"], op["microbatch"]) for op in chart["ops"]
                               if op["rank"] == rank and op["kind"] in "FB")
                self.assertEqual([op[1:] for op in drawn], ran)

    def test_older(self):
        self.train(RELEASES[0])
        self.check()

    def test_newest(self):
        self.train(RELEASES[1])
        self.check()

    def test_no_code(self):
        """Patched as it is imported; the call is not made."""
        self.train(RELEASES[0], [recording.PROGRAM, "record", "--quiet", "-o", self.path("launch"), "--"], PATCH="import")
        self.check()


if __name__ == "__main__":
    recording.main(needs_torch=True)
