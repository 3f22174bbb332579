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

    def test_dualpipev(self):
        """Phases are the two halves of the V; weight gradients come first in, first out, and are timed without what is awaited before."""
        self.run_python(ENGINE + """
class WeightGradStore:
    @classmethod
    def pop(cls): pass
class DualPipeVParallel(PipelineParallel):
    forward_only, overlapped_forward_backward = False, False
    def _forward_compute(self, phase, micro_datasets=None): self.current_f_acc_id[phase] += 1
    def _backward_compute(self, phase, enable_zb=False):
        if not self.forward_only: self.current_b_acc_id[phase] += 1
    def _forward_backward_compute(self, forward_phase, backward_phase, micro_datasets=None):
        if self.forward_only or not self.overlapped_forward_backward:
            self._forward_compute(forward_phase, micro_datasets)
            self._backward_compute(backward_phase)
        else:
            self.current_f_acc_id[forward_phase] += 1
            self.current_b_acc_id[backward_phase] += 1
    def _weight_pass(self): WeightGradStore.pop()
    def run(self):
        self.current_f_acc_id, self.current_b_acc_id = [0, 0], [0, 0]
        self._forward_compute(0)
        self._forward_compute(1, None)
        self._backward_compute(1, True)
        self._forward_backward_compute(0, 1)
        self._weight_pass()
        self._backward_compute(0)
    def train_batch(self, data=None): self.run()
    def eval_batch(self, data=None):
        self.forward_only = True
        self.run()
module.DualPipeVParallel, module.WeightGradStore = DualPipeVParallel, WeightGradStore
before = dict(vars(DualPipeVParallel)), dict(vars(WeightGradStore))
recording = pipescope.paddle.record(module)
pipescope.paddle.record(module)
pipescope.start()
engine = DualPipeVParallel()
engine.train_batch()
engine.overlapped_forward_backward = True
engine.train_batch()
engine.eval_batch()
WeightGradStore.pop()
recording.remove()
assert (dict(vars(DualPipeVParallel)), dict(vars(WeightGradStore))) == before
pipescope.stop(); pipescope.export()
""")
        step = ["PP:1F0", "PP:6F0", "PP:6I0", "PP:1F1", "PP:6B1", "PP:6W0", "PP:1B0"]
        overlapped = ["PP:1F0", "PP:6F0", "PP:6I0", "PP:(1F1;6B1)OVERLAP_F_B", "PP:6W0", "PP:1B0"]
        self.assertEqual(self.database().names(), step + overlapped + ["PP:1F0", "PP:6F0", "PP:1F1"])
        self.assertEqual(json.loads(self.database().metadata()["pp_info"])["pp_type"], "dualpipev")

    def test_paddles_dualpipev(self):
        """Paddle's own passes, on one process that exchanges nothing: two stages of the V are on it."""
        python = os.environ.get("PIPESCOPE_PADDLE_PYTHON")
        if not python:
            self.skipTest("no Python with Paddle (name one in PIPESCOPE_PADDLE_PYTHON)")
        self.run_python("""
import paddle, pipescope
from paddle.distributed.fleet.meta_parallel import dualpipev
pipescope.paddle.record(dualpipev)
class Layers:
    def __init__(self): self.chunks = [paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 4)]
    def forward(self, inputs, chunk_id): return self.chunks[chunk_id](inputs)
engine = object.__new__(dualpipev.DualPipeVParallel)
vars(engine).update(stage_id=0, num_stages=1, group_rank=1, num_ranks=3, forward_only=False, overlapped_forward_backward=False, scaler=None,
                    accumulate_steps=2, _layers=Layers())
engine._reset_states()
engine._commit_and_wait_comm = lambda *args, **kwargs: None
dualpipev.WeightGradStore.clear()
pipescope.start()
for phase in (0, 1):
    data = paddle.ones([2, 4]); data.stop_gradient = False
    engine.input_tensors[phase].append([data])
    engine._layers.forward = lambda inputs, chunk_id: engine._layers.chunks[chunk_id](inputs[0])
    engine._forward_compute(phase)
    engine.output_grad_tensors[phase].append([paddle.ones([2, 4])])
for phase in (1, 0):
    engine._backward_compute(phase, enable_zb=phase == 1)
engine._weight_pass()
pipescope.stop(); pipescope.export()
""", python=python)
        self.assertEqual(self.database().names(), ["PP:0F0", "PP:1F0", "PP:1I0", "PP:0B0", "PP:1W0"])

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
