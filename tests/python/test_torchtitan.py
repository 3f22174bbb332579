#!/usr/bin/env python3
"""torchtitan's pipelines under `pipescope record`, no line added: the labels are what ran. The release that PIPESCOPE_PYTHON has; else one
from the Python package index, with the little that its pipelines import, left out by name where it cannot be had for that Python."""
import os
import subprocess

import recording

# The newest; older ones import all that a training needs, and are tested where they are installed.
RELEASE = ("torchtitan", "0.3.0"), ("tyro", "1.0.17"), ("docstring-parser", "0.18.0"), ("typeguard", "4.6.1"), ("spmd-types", "0.2.3")


class Torchtitan(recording.Case):
    def path_of(self, python):
        """What PYTHONPATH must hold."""
        has = [python, "-c", "import importlib.util as u; assert u.find_spec('torchtitan')"]
        if subprocess.run(has, capture_output=True, timeout=recording.PATIENCE, check=False).returncode == 0:
            return ""
        packages = [recording.package(*package) for package in RELEASE]
        path = os.pathsep.join(package or "" for package in packages)
        done = None not in packages and subprocess.run([python, "-c", "import torchtitan.distributed.pipeline_parallel"], capture_output=True,
                                                       env=recording.clean_environment(PYTHONPATH=path), check=False)
        if not done or done.returncode != 0:
            self.skipTest("torchtitan %s cannot be had for this Python" % RELEASE[0][1])
        return path

    def test_pipelines(self):
        python = recording.torch_python()
        path = self.path_of(python)
        for name, schedule in (("1F1B", "1f1b"), ("Interleaved1F1B", "interleaved")):
            with self.subTest(name):
                runs = self.path("runs-%d" % len(name))
                done = subprocess.run([recording.PROGRAM, "record", "-o", runs, "--", python, "-m", "torch.distributed.run", "--standalone",
                                       "--nproc-per-node", "2", os.path.join(recording.SCRIPTS, "torchtitan_real.py"), name],
                                      cwd=self.folder, env=recording.clean_environment(PYTHONPATH=path, FOLDER=runs), text=True,
                                      capture_output=True, timeout=recording.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                databases = self.databases("runs-%d" % len(name))
                self.assertEqual(len(databases), 2)
                for db in databases:
                    self.assertEqual(db.names(), self.ran(runs, db))
                    self.assertEqual(db.steps(), [0, 1])
                self.assertIn(schedule, self.pipescope("chart", runs).splitlines()[0])


if __name__ == "__main__":
    recording.main(needs_torch=True)
