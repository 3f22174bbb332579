#!/usr/bin/env python3
"""Hooks of PyTorch's modules, loaders and files; Megatron's functions, on a small module of the same names."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

import recording

HEAD = """
import json, os, sys
import pipescope
from pipescope import mstx
"""
MEGATRON = HEAD + """
import types
from megatron.core.pipeline_parallel import schedules
taken = types.ModuleType("megatron.training")
taken.forward_step = schedules.forward_step
sys.modules["megatron.training"] = taken
plain = (schedules.forward_step, schedules.backward_step, schedules.forward_backward_pipelining_without_interleaving)
"""


class Torch(recording.Case):
    def setUp(self):
        super().setUp()
        if recording.torch_python() is None:
            self.skipTest("no PyTorch: name a Python that has it in PIPESCOPE_PYTHON")

    def test_hooks(self):
        self.run_python(HEAD + """
import torch
from torch.utils.data import DataLoader, TensorDataset
call = torch.nn.Module.__call__
save, next_batch = torch.save, torch.utils.data.dataloader._BaseDataLoaderIter.__next__
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
x = torch.randn(2, 4)
pipescope.start()
pipescope.hook_modules(); pipescope.hook_modules()
model(x)
pipescope.hook_modules(include=["Linear", torch.nn.ReLU], domain="some")
model(x)
class Fails(torch.nn.Module):
    def forward(self): raise ValueError("body")
pipescope.hook_modules(include=["Fails"])
try: Fails()()
except ValueError: pass
pipescope.unhook()
model(x)
assert torch.nn.Module.__call__ is call
with pipescope.patch_dataloader(), pipescope.patch_save():
    assert len(list(DataLoader(TensorDataset(x), batch_size=1))) == 2
    torch.save(model.state_dict(), "model.pt")
assert torch.save is save and torch.utils.data.dataloader._BaseDataLoaderIter.__next__ is next_batch
assert os.path.exists("model.pt")
with pipescope.record_ops(shapes=True):
    torch.mm(torch.ones(2, 3), torch.ones(3, 4)).t()
    y = torch.ones(3, requires_grad=True)
    (y * y).sum().backward()
torch.ones(1) + 1
pipescope.stop(); pipescope.export()
""", python=recording.torch_python())
        db = self.database()
        self.assertEqual(db.names("Module"), ["Sequential", "Linear", "ReLU", "Fails"])
        self.assertEqual(db.names("some"), ["Linear", "ReLU"])
        self.assertEqual(db.names("default"), ["dataloader"] * 3 + ["save_checkpoint"])
        ops = db.rows("""SELECT s.value, i.value FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name
                         LEFT JOIN STRING_IDS i ON i.id = p.inputShapes ORDER BY p.startNs""")
        self.assertIn(("aten::mm", "2,3;3,4"), ops)
        self.assertNotIn("aten::t", [name for name, _ in ops], "a view computes nothing")
        self.assertEqual([name for name, _ in ops].count("aten::mul"), 3, "one forward, two backward")

    def test_attention_of_the_cpu(self):
        """Causal calls of 2 x 4 x 128 x 128 x 64: 4 n / 2 = 16,777,216 FLOPs each, backwards 2.5 times that; but for those whose mark
        was more than 3 ms before them."""
        self.run_python(HEAD + """
import torch
pipescope.patch_attention()
pipescope.start()
with pipescope.record_ops():
    for _ in range(8):
        q = torch.randn(2, 4, 128, 64, requires_grad=True)
        torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
pipescope.stop(); pipescope.export()
""", python=recording.torch_python())
        self.pipescope("cluster", "-m", "operator_mfu", "-d", self.folder, "-o", self.path("out"), "--peak-tflops", "1")
        tables = recording.Database(self.path("out", "cluster_analysis_output", "cluster_analysis.db"))
        name = "aten::_scaled_dot_product_flash_attention_for_cpu"
        self.assertEqual(tables.rows("SELECT kernel_name, flops / kernel_count FROM KernelFlops WHERE source = 'shapes' ORDER BY flops"),
                         [(name, 16777216.0), (name + "_backward", 41943040.0)])
        tables.db.close()

    def test_without_recording(self):
        self.run_python(HEAD + """
import torch
pipescope.hook_modules()
with pipescope.record_ops(), pipescope.patch_attention():
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
pipescope.unhook()
""", python=recording.torch_python())
        self.assertEqual(self.folders(), [])

    def test_rank_and_groups(self):
        self.run_python(HEAD + """
import torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo", rank=0, world_size=1, init_method="file://" + os.path.abspath("meeting"))
for desc in ("PIPELINE_MODEL_PARALLEL_GROUP", "mesh_dp", "my own"):
    dist.new_group([0], group_desc=desc)
pipescope.start(); mstx.mark("m"); pipescope.stop(); pipescope.export()
dist.destroy_process_group()
""", python=recording.torch_python())
        db = self.database()
        self.assertEqual(os.path.basename(db.path), "ascend_pytorch_profiler_0.db")
        groups = json.loads(db.metadata()["parallel_group_info"])
        self.assertEqual([g["group_name"] for g in groups.values()], ["default_group", "pp", "dp", "my own"])


class NoTorch(recording.Case):
    def test_hooks_do_nothing(self):
        out, err = self.run_python(HEAD + """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch": raise ImportError("no torch here")
sys.meta_path.insert(0, Finder())
for hook in (pipescope.hook_modules, pipescope.patch_dataloader, pipescope.patch_save, pipescope.patch_attention,
             pipescope.record_ops):
    with hook(): pass
pipescope.unhook()
pipescope.pipelining.record(object())
pipescope.megatron.record()
assert pipescope.parallel_group_info() == {}
print("alive")
""")
        self.assertEqual(out, "alive\n")
        self.assertIn("no torch here", err)


class Said(recording.Case):
    """What is told of a recording."""

    def test_quiet(self):
        """By the option as by the variable, and with every word that the library knows."""
        body = HEAD + """
pipescope.set_option("first option", 1)
pipescope.set_option("quiet", 1)
pipescope.set_option("second option", 1)
pipescope.set_option("quiet", None)
pipescope.set_option("third option", 1)
"""
        _, err = self.run_python(body)
        self.assertEqual([line.split()[2] for line in err.splitlines()], ["first", "third"], err)
        for word in ("1", "true", "yes", "on", "True"):
            self.assertEqual(self.run_python(body, PIPESCOPE_QUIET=word)[1], "")

    def test_two_copies(self):
        """Python's copy of the library and the one that NVTX will load: said, unless they are one file."""
        copy, link = self.path("copy", "libpipescope-record.so"), self.path("libpipescope-record.so")
        os.mkdir(self.path("copy"))
        shutil.copyfile(recording.LIBRARY, copy)
        os.symlink(recording.LIBRARY, link)
        _, err = self.run_python(HEAD, NVTX_INJECTION64_PATH=copy)
        self.assertIn("this process has two copies of the recorder, %s (which Python uses) and %s" % (recording.LIBRARY, copy), err)
        self.assertEqual(self.run_python(HEAD, NVTX_INJECTION64_PATH=link)[1], "")
        _, err = self.run_python("import ctypes\nctypes.CDLL(%r)\nctypes.CDLL(%r)\n" % (copy, recording.LIBRARY) + HEAD)
        self.assertIn("two copies", err)

    def test_fused_attention_is_marked_once(self):
        """Where PyTorch's attention, which is marked too, does its work."""
        self.run_python("""
import sys, types
for name in ("torch", "torch.nn", "torch.nn.functional"):
    sys.modules[name] = types.ModuleType(name)
torch = sys.modules["torch"]
torch.nn, torch.nn.functional = sys.modules["torch.nn"], sys.modules["torch.nn.functional"]
torch.nn.functional.scaled_dot_product_attention = lambda query, *args, **kwargs: query
class Tensor: shape = (1, 2, 4, 8)
""" + HEAD + """
from pipescope.torch_npu._attention import npu_fusion_attention
pipescope.start()
pipescope.patch_attention()
npu_fusion_attention(Tensor(), Tensor(), Tensor(), 2, "BNSD")
torch.nn.functional.scaled_dot_product_attention(Tensor(), Tensor(), Tensor(), is_causal=True)
pipescope.stop(); pipescope.export()
""")
        marks = [json.loads(message) for message, domain in self.database().marks() if domain == "flash_attn_args"]
        self.assertEqual([mark.get("input_layout", mark.get("is_causal")) for mark in marks], ["BNSD", True])

    def test_no_modules(self):
        """A pipeline's ranges are no modules."""
        self.run_python(HEAD + """
pipescope.start()
with pipescope.job("forward", 0): pass
pipescope.stop(); pipescope.export()
""")
        done = subprocess.run([recording.PROGRAM, "cluster", "-m", "module_statistic", "-d", self.folder], text=True, capture_output=True,
                              timeout=recording.PATIENCE, check=False)
        self.assertIn("no modules are marked, only ranges outside of the domain Module: call pipescope.hook_modules() beside "
                      "pipescope.record_ops()", done.stderr)

    def test_next(self):
        """What `pipescope record` says to type next has something to show."""
        module = """with mstx.annotate("Linear", domain="Module"):
    %s
"""
        for name, body, words in (
                ("modules", module % "pass", ["serve", "cluster -m mstx_sum -d"]),
                ("operators", 'with pipescope.op("aten::mm", "64,128;128,32"): pass\n',
                 ["cluster -m operator_mfu -d", "serve"]),
                ("both", module % 'with pipescope.op("aten::mm", "64,128;128,32"): pass',
                 ["cluster -m module_statistic -d", "serve"]),
                ("labels", 'with pipescope.job("forward", 0): pass\n' + module % "pass", ["chart", "serve"])):
            script = self.path("program.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write(HEAD + body)
            done = subprocess.run([recording.PROGRAM, "record", "-o", self.path(name), "--", sys.executable, script], text=True,
                                  capture_output=True, env=recording.clean_environment(), timeout=recording.PATIENCE, check=False)
            found = re.findall(r"(?m)^(?:next|  or): pipescope (.*) (\S+)$", done.stderr)
            self.assertEqual([command for command, _ in found], words, done.stderr)
            for command, folder in found:
                if command != "serve":
                    self.pipescope(*command.split(), folder)

    def test_remedies(self):
        """They are of the recorder, not of another profiler."""
        self.run_python(HEAD + """
pipescope.start()
with mstx.annotate("Linear", domain="Module"): pass
pipescope.stop(); pipescope.export()
""")
        done = subprocess.run([recording.PROGRAM, "cluster", "-m", "module_statistic", "-d", self.folder], text=True, capture_output=True,
                              timeout=recording.PATIENCE, check=False)
        self.assertIn("modules are marked, and what they ran was not recorded: record operators with pipescope.record_ops()", done.stderr)
        self.assertNotIn("Ascend", done.stderr)


class Megatron(recording.Case):
    def megatron(self, body, n=1, **more):
        env = {"RANK": "0", "WORLD_SIZE": str(n), "JOB_BEGIN": str(time.time()), **more}
        env["PYTHONPATH"] = recording.PACKAGE + os.pathsep + os.path.join(recording.SCRIPTS, "stand_in")
        return self.run_python(MEGATRON + body, **env)

    def test_record(self):
        _, err = self.megatron("""
pipescope.megatron.record()
again = pipescope.megatron.record()
assert taken.forward_step is schedules.forward_step is not plain[0], "also where the name was taken before"
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=1, repeat=1)) as prof:
    schedules.get_forward_backward_func()(forward_step_func=lambda *a: None, data_iterator=None, model=None, num_microbatches=3)
    prof.step()
""", PIPESCOPE_PADDLE_LOG="1")
        db = self.database()
        step = ["{'name': 'forward_step', 'current_microbatch': %d, 'stage': 0}" % k for k in range(3)]
        back = "{'name': 'backward_step'}"
        self.assertEqual(db.names(), [step[0], back, step[1], back, step[2], back])
        metadata = db.metadata()
        self.assertEqual(json.loads(metadata["pp_info"]), {"pp_type": "1f1b", "microbatch_num": 3})
        self.assertEqual(json.loads(metadata["distributed_args"]),
                         {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "data_parallel_size": 1})
        jobs = [line.split("job_start")[0] for line in err.splitlines() if line.startswith("Profiler Info")]
        self.assertEqual(len(jobs), 6)
        self.assertEqual(jobs[3], "Profiler Info: Job (1), type = backward, micro_batch_id = 1, ")

    def test_some_ranks_are_complete(self):
        """A chart has the ranks whose marks say stage and microbatch, and names those whose marks do not, however many they are."""
        program = """
pipescope.add_metadata_json("distributed_args", json.dumps({"pipeline_model_parallel_size": 3}))
pipescope.start()
stage = int(os.environ["RANK"])
for step in range(2):
    pipescope.step()
    for kind in ("forward_step", "backward_step"):
        for k in range(4):
            said = {"name": kind, "current_microbatch": k}
            if stage != 1: said["stage"] = stage
            with pipescope.job(kind, k, message=str(said)): pass
pipescope.stop(); pipescope.export()
"""
        for rank in range(3):
            self.run_python(HEAD + program, RANK=str(rank), WORLD_SIZE="3")
        done = subprocess.run([recording.PROGRAM, "chart", self.folder, "-o", self.path("chart.json")], text=True, capture_output=True,
                              timeout=recording.PATIENCE, check=False)
        with open(self.path("chart.json"), encoding="utf-8") as file:
            chart = json.load(file)
        self.assertEqual([row["rank"] for row in chart["ranks"]], [0, 2])
        self.assertEqual({(op["stage"], op["microbatch"]) for op in chart["ops"]}, {(s, k) for s in (0, 2) for k in range(4)})
        self.assertIn("other labels than the rest", done.stderr)

    def test_remove(self):
        self.megatron("""
with pipescope.megatron.record(): pass
assert plain == (schedules.forward_step, schedules.backward_step, schedules.forward_backward_pipelining_without_interleaving)
assert taken.forward_step is plain[0]
""")

    def test_mindspeed(self):
        """DualPipeV's functions and WeightGradStore, in a module of one's own."""
        self.megatron("""
module = types.ModuleType("mine")
class WeightGradStore:
    cache = [1, 2]
    @classmethod
    def pop(cls): return cls.cache.pop()
def forward_step_with_model_graph(extra_block_kwargs=None, current_microbatch=None): return 1
def backward_step_with_model_graph(): raise RuntimeError("body")
def combined_forward_backward_step(f_model, b_model): return 2
for f in (WeightGradStore, forward_step_with_model_graph, backward_step_with_model_graph, combined_forward_backward_step):
    setattr(module, f.__name__, f)
recording = pipescope.megatron.record(module)
pipescope.start()
module.forward_step_with_model_graph(current_microbatch=0)
module.forward_step_with_model_graph(extra_block_kwargs={}, current_microbatch=1)
try: module.backward_step_with_model_graph()
except RuntimeError: pass
module.combined_forward_backward_step(f_model=None, b_model=1)
module.combined_forward_backward_step(f_model=1, b_model=None)
module.combined_forward_backward_step(f_model=1, b_model=1)
module.combined_forward_backward_step(None, 1)
module.combined_forward_backward_step(1, None)
module.combined_forward_backward_step(1, 1)
assert (WeightGradStore.pop(), WeightGradStore.pop()) == (2, 1)
try: WeightGradStore.pop()
except IndexError: pass
recording.remove()
WeightGradStore.cache.append(3)
WeightGradStore.pop()
pipescope.stop(); pipescope.export()
""")
        self.assertEqual([eval(name) for name in self.database().names()], [
            {"name": "forward_step_with_model_graph", "current_microbatch": 0},
            {"name": "forward_backward_overlaping", "current_microbatch": 1}, {"name": "backward_step_with_model_graph"},
            *[{"name": "backward_step"}, {"name": "forward_step"}, {"name": "forward_backward_overlapping"}] * 2,
            {"name": "WeightGradStore.pop"}, {"name": "WeightGradStore.pop"}])

    def test_mindspeed_carries(self):
        """Parameters as MindSpeed's schedules name them, passed by position as those do: a backward is of the microbatch that gave its output."""
        self.run_python("""
import types, pipescope
module = types.ModuleType("dualpipev_schedules")
class Tensor: pass
class Graph: __slots__ = ()
def forward_step_with_model_graph(forward_step_func, model_chunk_id, data_iterator, model, num_microbatches, input_tensor, forward_data_store,
                                  config, collect_non_loss_data=False, checkpoint_activations_microbatch=None, is_first_microbatch=False,
                                  current_microbatch=None, extra_block_kwargs=None):
    return [Tensor(), Graph()], 13
def backward_step_with_model_graph(input_tensor, output_tensor, output_tensor_grad, model_type, config, model_graph=None): return None
module.forward_step_with_model_graph = forward_step_with_model_graph
module.backward_step_with_model_graph = backward_step_with_model_graph
pipescope.megatron.record(module)
pipescope.start()
outputs = [module.forward_step_with_model_graph(None, i % 2, None, None, 2, None, [], None, current_microbatch=i)[0] for i in range(2)]
for output in reversed(outputs): module.backward_step_with_model_graph(None, output, None, None, None, output[1])
pipescope.stop(); pipescope.export()
""")
        self.assertEqual([eval(name) for name in self.database().names()],
                         [{"name": "forward_step_with_model_graph", "current_microbatch": i} for i in (0, 1)]
                         + [{"name": "backward_step_with_model_graph", "current_microbatch": i} for i in (1, 0)])

    def test_replaced(self):
        """MindSpeed puts functions of its own in the place of Megatron's when these are marked already; others wrap what is there."""
        self.megatron("""
recording = pipescope.megatron.record()
own = schedules.backward_step
def forward_step(forward_step_func, data_iterator, model, num_microbatches, input_tensor, forward_data_store, config=None,
                 current_microbatch=None):
    return "theirs"
def wrapped(*args, **kwargs): return own(*args, **kwargs)
wrapped.__dict__.update(own.__dict__)  # as functools.wraps does
schedules.forward_step, schedules.backward_step = forward_step, wrapped
assert schedules.forward_step(None, None, None, 1, None, []) == "theirs"
pipescope.start()
schedules.get_forward_backward_func()(forward_step_func=None, data_iterator=None, model=None, num_microbatches=2)
pipescope.stop(); pipescope.export()
recording.remove()
assert (schedules.forward_step, schedules.backward_step) == plain[:2] and type(schedules) is types.ModuleType
""")
        self.assertEqual([eval(name)["name"] for name in self.database().names()], ["forward_step", "backward_step"] * 2)

    def test_carried(self):
        """Chunk and microbatch go from a forward to its backward with the tensors, also where both are in one call, and where an output is
        a dict of modules; a tensor that carries nothing leaves them out."""
        self.megatron("""
module = types.ModuleType("mine")
class Tensor: pass
def forward_step(forward_step_func, model, current_microbatch=None): return [Tensor()], 1
def combined_forward_backward_step(f, f_model, b_model, b_output_tensor, current_microbatch=None): return Tensor(), 1, None
def backward_step(input_tensor, output_tensor, output_tensor_grad): return None
def backward_step_multimodule(input_tensor, output_tensor, output_tensor_grad): return None
def forward_backward_pipelining_with_interleaving(*, model, num_microbatches):
    first = module.forward_step(None, model[1], current_microbatch=0)[0]
    second = module.combined_forward_backward_step(None, model[0], model[1], first, current_microbatch=5)[0]
    third = module.combined_forward_backward_step(None, model[1], None, None, current_microbatch=6)[0]
    module.combined_forward_backward_step(None, None, model[1], third)
    module.backward_step_multimodule({}, {"vision": None, "language": second}, None)
    module.backward_step(None, Tensor(), None)
for f in (forward_step, combined_forward_backward_step, backward_step, backward_step_multimodule,
          forward_backward_pipelining_with_interleaving):
    setattr(module, f.__name__, f)
pipescope.megatron.record(module)
pipescope.start()
module.forward_backward_pipelining_with_interleaving(model=[object(), object()], num_microbatches=8)
pipescope.stop(); pipescope.export()
""", n=4)
        name, microbatch, stage = "name", "current_microbatch", "stage"
        self.assertEqual([eval(text) for text in self.database().names()], [  # rank 0 of 4: its pieces are stages 0 and 4
            {name: "forward_step", microbatch: 0, stage: 4},
            {name: "forward_backward_overlapping", microbatch: 5, stage: 0, "backward_microbatch": 0, "backward_stage": 4},
            {name: "forward_step", microbatch: 6, stage: 4}, {name: "backward_step", microbatch: 6, stage: 4},
            {name: "backward_step", microbatch: 5, stage: 0}, {name: "backward_step"}])


if __name__ == "__main__":
    recording.main()
