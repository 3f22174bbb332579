#!/usr/bin/env python3
"""`pipescope record` labels frameworks in programs that have no line of pipescope: by stand-ins, and by PyTorch's own schedules where
PIPESCOPE_PYTHON has them (tests/python/test_megatron.py does it with Megatron-LM, test_deepspeed.py with DeepSpeed)."""
import json
import os
import subprocess
import sys

import recording

MEGATRON = """
from megatron.core.pipeline_parallel import schedules
for _ in range(2):
    schedules.get_forward_backward_func()(forward_step_func=lambda *a: None, data_iterator=None, model=None, num_microbatches=2)
"""
STEP = [str({"name": "forward_step", "current_microbatch": k, "stage": 0}) for k in range(2)]
STEP = [STEP[0], "{'name': 'backward_step'}", STEP[1], "{'name': 'backward_step'}"]


class Patch(recording.Case):
    def record(self, program, *options, python=sys.executable, path=(), **env):
        """stdout and stderr of a program text, launched by pipescope record."""
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(program)
        places = os.pathsep.join([os.path.join(recording.SCRIPTS, "stand_in"), *path])
        env = recording.clean_environment(PYTHONPATH=places, RANK="0", WORLD_SIZE="1", **env)
        done = subprocess.run([recording.PROGRAM, "record", "-o", self.path("runs"), *options, "--", python, self.path("program.py")],
                              cwd=self.folder, env=env, text=True, capture_output=True, timeout=recording.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_megatron(self):
        """As if megatron.record() had been called; each step of the pipeline is one."""
        self.record(MEGATRON)
        db = self.database("runs")
        self.assertEqual(db.names(), STEP * 2)
        self.assertEqual(db.steps(), [0, 1])
        self.assertEqual(json.loads(db.metadata()["pp_info"]), {"pp_type": "1f1b", "microbatch_num": 2})

    def test_not_twice(self):
        """The one-line call stays, and the steps are those that the program counts."""
        self.record("import pipescope\npipescope.megatron.record()\npipescope.step()\n" + MEGATRON, path=[recording.PACKAGE])
        db = self.database("runs")
        self.assertEqual(db.names(), STEP * 2)
        self.assertEqual(db.steps(), [0])

    def test_evaluations_are_no_steps(self):
        """They are labelled, and belong to no step."""
        evaluates = MEGATRON + """
    schedules.get_forward_backward_func()(forward_step_func=lambda *a: None, data_iterator=None, model=None, num_microbatches=2,
                                          forward_only=True)
"""
        self.record(evaluates.replace("\n\n", "\n"))
        db = self.database("runs")
        self.assertEqual(db.names(), (STEP + STEP[::2]) * 2)
        self.assertEqual(db.steps(), [0, 1])
        times = db.rows("SELECT startNs, endNs FROM STEP_TIME")
        inside = [r[0] for r in db.ranges() if r[0] in STEP and any(start <= r[2] < end for start, end in times)]
        self.assertEqual(inside, STEP * 2)

    def test_window(self):
        self.record(MEGATRON, "--window", "1:2")
        db = self.database("runs")
        self.assertEqual((db.names(), db.steps()), (STEP, [1]))

    def test_no_patch(self):
        out, _ = self.record(MEGATRON + "import os; print(os.environ['PYTHONPATH'])", "--no_patch")
        self.assertEqual(self.folders("runs"), [])
        self.assertNotIn("_startup", out)

    def test_a_program_without_a_framework(self):
        """Nothing of pipescope is imported, and nothing is found differently."""
        with open(self.path("sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nprint('theirs', __name__, sys.modules[__name__].__file__ == __file__)\n")
        out, _ = self.record("import sys, sitecustomize\n"
                             "print([m for m in sys.modules if m.startswith('pipescope')])\n"
                             "print([p for p in sys.path if '_startup' in p], sitecustomize.__file__)\n", path=[self.folder])
        self.assertEqual(out.splitlines(), ["theirs sitecustomize True", "[]", "[] " + self.path("sitecustomize.py")])

    def test_what_goes_wrong_is_said(self):
        """A release that looks otherwise runs as it is."""
        folder = self.path("torch", "distributed", "pipelining")
        os.makedirs(folder)
        for place in (self.path("torch"), self.path("torch", "distributed"), folder):
            with open(os.path.join(place, "__init__.py"), "w", encoding="utf-8"):
                pass
        with open(os.path.join(folder, "schedules.py"), "w", encoding="utf-8") as file:
            file.write("class Schedule: pass\n")
        out, err = self.record("import torch.distributed.pipelining.schedules as s; print(s.Schedule.__name__, s.__loader__)",
                               path=[self.folder])
        self.assertIn("Schedule <_frozen_importlib_external.SourceFileLoader", out)
        self.assertIn("pipescope: torch.distributed.pipelining.schedules is not labelled: AttributeError", err)

    def test_pytorch(self):
        """torchrun, and a script that knows nothing of this: the labels are what ran, evaluations among them, which are in no step."""
        python = recording.torch_python()
        if python is None:
            self.skipTest("no Python with torch.distributed.pipelining (name one in PIPESCOPE_PYTHON)")
        for name, lie, evaluates in (("Schedule1F1B", "plain", "1"), ("ScheduleInterleavedZeroBubble", "loop", "")):
            with self.subTest(name):
                runs = self.path(name)
                env = recording.clean_environment(PYTHONPATH="", FOLDER=runs, SCHEDULE=name, LIE=lie, EVALUATES=evaluates)
                done = subprocess.run([recording.PROGRAM, "record", "-o", runs, "--", python, "-m", "torch.distributed.run",
                                       "--standalone", "--nproc-per-node", "2", os.path.join(recording.SCRIPTS, "plain_pipeline.py")],
                                      cwd=self.folder, env=env, text=True, capture_output=True, timeout=recording.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                databases = self.databases(name)
                self.assertEqual(len(databases), 2)
                for db in databases:
                    self.assertEqual(db.names(), self.ran(runs, db))
                    self.assertEqual(db.steps(), [0, 1])


if __name__ == "__main__":
    recording.main()
