#!/usr/bin/env python3
"""pipescope.deepspeed: by an engine of its form, and by DeepSpeed's own where PIPESCOPE_PYTHON has it. Nothing need be compiled for that:
DS_BUILD_OPS=0 pip install --no-build-isolation deepspeed"""
import json
import os
import subprocess

import recording

ENGINE = """
import types, pipescope
class ForwardPass: pass
class BackwardPass: pass
class LoadMicroBatch: pass
module = types.ModuleType("engine")
class PipelineEngine:
    stage_id, num_stages, micro_batches = 1, 4, 3
    def _load(self, buffer_id): pass
    def _forward(self, buffer_id): pass
    def _backward(self, buffer_id): pass
    _INSTRUCTION_MAP = {LoadMicroBatch: _load, ForwardPass: _forward, BackwardPass: _backward}
    def _exec_schedule(self, schedule):
        for instruction, buffer_id in schedule:
            self._INSTRUCTION_MAP[instruction](self, buffer_id=buffer_id)
    def train_batch(self):
        F, B = ForwardPass, BackwardPass
        self._exec_schedule([(LoadMicroBatch, 0), (F, 0), (F, 1), (B, 0), (F, 0), (B, 1), (B, 0)])
module.PipelineEngine = PipelineEngine
before = dict(PipelineEngine._INSTRUCTION_MAP)
"""
STEP = ["PP:1F0", "PP:1F1", "PP:1B0", "PP:1F2", "PP:1B1", "PP:1B2"]


class DeepSpeed(recording.Case):
    def test_instructions(self):
        """Microbatches by the order of forwards and the buffers that they fill, from 0 in each schedule."""
        self.run_python(ENGINE + """
recording = pipescope.deepspeed.record(module)
pipescope.deepspeed.record(module)  # once is enough
pipescope.start()
engine = PipelineEngine()
engine.train_batch()
engine.train_batch()
recording.remove()
assert PipelineEngine._INSTRUCTION_MAP == before
engine.train_batch()
pipescope.stop(); pipescope.export()
""")
        db = self.database()
        self.assertEqual(db.names(), STEP * 2)
        self.assertEqual(json.loads(db.metadata()["pp_info"]), {"pp_type": "1f1b", "microbatch_num": 3})
        self.assertEqual(json.loads(db.metadata()["distributed_args"]), {"pipeline_model_parallel_size": 4})

    def test_deepspeed(self):
        """No line added: the labels are what ran."""
        python = recording.torch_python()
        if python is None or subprocess.run([python, "-c", "import importlib.util as u; assert u.find_spec('deepspeed')"],
                                            capture_output=True, check=False).returncode != 0:
            self.skipTest("no Python with deepspeed (name one in PIPESCOPE_PYTHON)")
        env = recording.clean_environment(PYTHONPATH="", FOLDER=self.path("runs"), DS_ACCELERATOR="cpu")
        done = subprocess.run([recording.PROGRAM, "record", "-o", self.path("runs"), "--", python, "-m", "torch.distributed.run",
                               "--standalone", "--nproc-per-node", "2", os.path.join(recording.SCRIPTS, "deepspeed_real.py")],
                              cwd=self.folder, env=env, text=True, capture_output=True, timeout=recording.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        databases = self.databases("runs")
        self.assertEqual(len(databases), 2)
        for db in databases:
            self.assertEqual(db.names(), self.ran(self.path("runs"), db))
            self.assertEqual(db.steps(), [0, 1])
        self.assertIn("1f1b", self.pipescope("chart", self.path("runs")).splitlines()[0])


if __name__ == "__main__":
    recording.main()
