#!/usr/bin/env python3
"""pipescope.paddle: by an engine of its form, and by Paddle's own pipelines on the CPU where PIPESCOPE_PADDLE_PYTHON names a Python that
has Paddle (pip install paddlepaddle)."""
import json
import os
import subprocess

import recording

ENGINE = """
import types, pipescope
module = types.ModuleType("engine")
class Tensor: pass
class PipelineParallel:
    num_stages, stage_id, accumulate_steps = 4, 1, 3
    def _forward_step(self, input_tensor, micro_dataset, chunk_id=None, step_id=None): return Tensor(), None, None
    def _backward_step(self, input_tensor, output_tensor, output_tensor_grad, chunk_id=None, step_id=None): return None
    def train_batch(self, data=None):
        first, second = self._forward_step(None, data)[0], self._forward_step(None, data)[0]
        self._backward_step(None, first, None)
        third = self._forward_step(None, data)[0]
        self._backward_step(None, output_tensor=(third, Tensor()), output_tensor_grad=None)
        self._backward_step(None, second, None)
    def eval_batch(self, data=None):
        self._forward_step(None, data)
class PipelineParallelWithInterleave(PipelineParallel):
    num_model_chunks = 2
    def train_batch(self, data=None):
        first = self._forward_step(None, data, chunk_id=0)[0]
        second = self._forward_step(None, data, 1)[0]
        self._backward_step(None, second, None)
        self._backward_step(None, first, None)
module.PipelineParallel, module.PipelineParallelWithInterleave = PipelineParallel, PipelineParallelWithInterleave
before = dict(vars(PipelineParallel))
"""
STEP = ["PP:1F0", "PP:1F1", "PP:1B0", "PP:1F2", "PP:1B2", "PP:1B1"]


class Paddle(recording.Case):
    def test_steps(self):
        """Microbatches by the order of forwards, a backward by the output it is given; an evaluation is no step."""
        self.run_python(ENGINE + """
recording = pipescope.paddle.record(module)
pipescope.paddle.record(module)  # once is enough
pipescope.start()
engine = PipelineParallel()
engine.train_batch()
engine.eval_batch()
engine.train_batch()
recording.remove()
assert dict(vars(PipelineParallel)) == before
engine.train_batch()
pipescope.stop(); pipescope.export()
""")
        db = self.database()
        self.assertEqual(db.names(), STEP + ["PP:1F0"] + STEP)
        self.assertEqual(json.loads(db.metadata()["pp_info"]), {"pp_type": "1f1b", "microbatch_num": 3})
        self.assertEqual(json.loads(db.metadata()["distributed_args"]), {"pipeline_model_parallel_size": 4})

    def test_interleaved(self):
        self.run_python(ENGINE + """
pipescope.paddle.record(module)
pipescope.start()
PipelineParallelWithInterleave().train_batch()
pipescope.stop(); pipescope.export()
""")
        self.assertEqual(self.database().names(), ["PP:1F0", "PP:5F0", "PP:5B0", "PP:1B0"])
        self.assertEqual(json.loads(self.database().metadata()["pp_info"])["pp_type"], "interleaved")

    def test_paddle(self):
        """No line added: the labels are what ran, in the order that the hooks of Paddle saw."""
        python = os.environ.get("PIPESCOPE_PADDLE_PYTHON")
        if not python:
            self.skipTest("no Python with Paddle (name one in PIPESCOPE_PADDLE_PYTHON)")
        for ranks, chunks, schedule in ((2, 1, "1f1b"),):
            with self.subTest(schedule):
                runs = self.path("runs-%d" % chunks)
                done = subprocess.run([recording.PROGRAM, "record", "-o", runs, "--", python, "-m", "paddle.distributed.launch",
                                       "--nproc_per_node", str(ranks), "--log_dir", self.path("log"),
                                       os.path.join(recording.SCRIPTS, "paddle_real.py"), str(chunks)], cwd=self.folder,
                                      env=recording.clean_environment(PYTHONPATH="", FOLDER=runs), text=True, capture_output=True,
                                      timeout=recording.PATIENCE * 2, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                databases = self.databases("runs-%d" % chunks)
                self.assertEqual(len(databases), ranks)
                for rank, db in enumerate(sorted(databases, key=lambda db: db.path[-4])):
                    said = [(name[4], int(name[3]) // ranks) for name in db.names()]
                    ran = self.ran(runs, db)
                    self.assertEqual([kind for kind, _ in said], [action[0] for action in ran])
                    self.assertEqual([chunk for kind, chunk in said if kind == "F"], [action[1] for action in ran if action[0] == "F"])
                    self.assertTrue(all(int(name[3]) % ranks == rank for name in db.names()))
                    for kind in "FB":  # each microbatch of each piece once a step
                        own = [name[3:] for name in db.names() if name[4] == kind]
                        self.assertEqual(len(set(own[:len(own) // 2])), 2 * ranks * chunks)
                    self.assertEqual(db.steps(), [0, 1])
                self.assertIn(schedule, self.pipescope("chart", runs).splitlines()[0])


if __name__ == "__main__":
    recording.main()
