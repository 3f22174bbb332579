#!/usr/bin/env python3
"""pipescope.pipelining on real pipelines of PyTorch: the recorded order is the executed one, and the chart knows the schedule."""
import json
import os
import shutil
import subprocess
import tempfile

import recording

RANKS = 2


class Pipelines(recording.Case):
    @classmethod
    def setUpClass(cls):
        """All of them in one process: loading PyTorch takes most of the time."""
        cls.work = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        done = subprocess.run([recording.torch_python(), os.path.join(recording.SCRIPTS, "pipelining.py"), str(RANKS),
                               "1f1b:actions", "gpipe:actions", "interleavedzb:actions", "1f1b:marks", "loopedbfs:actions", "dualpipev:functions",
                               "interleavedzb:functions"], cwd=cls.work,
                              env=recording.clean_environment(PIPESCOPE_PADDLE_LOG="1"), capture_output=True, text=True,
                              timeout=recording.PATIENCE * 3, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.err = done.stderr
        cls.jobs = [job for job in os.listdir(cls.work) if os.path.isdir(os.path.join(cls.work, job))]

    def setUp(self):
        self.folder = self.work

    def ranks(self, job):
        """(database, actions that it ran) of each rank."""
        databases = {os.path.basename(db.path): db for db in self.databases(job)}
        self.assertEqual(sorted(databases), ["ascend_pytorch_profiler_%d.db" % r for r in range(RANKS)],
                         "the rank is that of torch.distributed")
        found = []
        for rank in range(RANKS):
            with open(self.path(job, "ran_%d.json" % rank), encoding="utf-8") as file:
                found.append((databases["ascend_pytorch_profiler_%d.db" % rank], json.load(file)))
        return found

    def check(self, job, schedule):
        for rank, (db, ran) in enumerate(self.ranks(job)):
            self.assertGreaterEqual(len(ran), 8)
            self.assertEqual(db.names(), ran)
            self.assertTrue(all(r[4] for r in db.ranges() if r[0].startswith("PP:")), "each has a device row")
            metadata = db.metadata()
            self.assertEqual(json.loads(metadata["pp_info"]), {"pp_type": schedule, "microbatch_num": 4})
            groups = json.loads(metadata["parallel_group_info"])
            self.assertEqual([(g["group_name"], g["group_rank"], g["global_ranks"]) for g in groups.values()],
                             [("pp", rank, list(range(RANKS)))])
        self.assertIn(schedule, self.pipescope("chart", self.path(job)).splitlines()[0])

    def test_1f1b(self):
        """PyTorch has no labels for it."""
        self.check("1f1b-actions", "1f1b")

    def test_gpipe(self):
        self.check("gpipe-actions", "gpipe")

    def test_interleaved_zero_bubble(self):
        """Two stages a rank, split backwards."""
        self.check("interleavedzb-actions", "interleaved-zb")

    def test_looped_bfs(self):
        self.check("loopedbfs-actions", "looped-bfs")

    def test_functions_of_the_program(self):
        """Actions that a registered function runs; two of them in one are a pair."""
        if not os.path.isdir(self.path("dualpipev-functions")):
            self.skipTest("this release has no register_custom_function")
        self.check("dualpipev-functions", "dualpipev")
        self.check("interleavedzb-functions", "interleaved-zb")
        self.assertTrue(any("OVERLAP_F_B" in name for db, _ in self.ranks("dualpipev-functions") for name in db.names()))

    def test_marks(self):
        names = {"F": "forward_step", "B": "backward_step"}
        for db, ran in self.ranks("1f1b-marks"):
            self.assertEqual(db.names(), [str({"name": names[a[4]], "current_microbatch": int(a[5:])}) for a in ran])
        self.pipescope("cluster", "-m", "pp_chart", "-d", self.path("1f1b-marks"))

    def test_log(self):
        """Paddle's line for each of them."""
        lines = [line for line in self.err.splitlines() if "Profiler Info: Job" in line]
        ran = [len(ran) for job in self.jobs
               for _, ran in self.ranks(job)]
        self.assertEqual(len(lines), sum(ran))
        self.assertTrue(any("type = backward_w1, micro_batch_id = 3" in line for line in lines))


if __name__ == "__main__":
    recording.main(needs_torch=True)
