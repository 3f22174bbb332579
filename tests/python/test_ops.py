#!/usr/bin/env python3
"""Operators of PyTorch as record_ops records them, by the observer in C++ and by the dispatch mode in Python."""
import collections
import json
import sqlite3
import subprocess

import recording

# Attention with permute and unbind, a layer without bias (whose forward ends in _unsafe_view), a residual, and the loss: all work is
# in modules, but for the gradient that backward() begins with. HEAD leaves `net`, `x` and `y` behind.
HEAD = """
import os, sys, threading
import torch, pipescope
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
    def forward(self, x):
        q, k, v = self.qkv(x).reshape(2, 8, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(2, 8, 32)).permute(0, 2, 1)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention, self.narrow = nn.LayerNorm(32), Attention(), nn.Linear(32, 32, bias=False)
    def forward(self, x):
        return x + self.narrow(self.attention(self.norm(x)).permute(0, 2, 1))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks, self.head = nn.Embedding(16, 32), nn.ModuleList(Block() for _ in range(2)), nn.Linear(32, 16)
    def forward(self, x, y):
        x = self.embed(x)
        for block in self.blocks: x = block(x)
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), y.flatten())
net = Net()
x, y = torch.randint(0, 16, (2, 8)), torch.randint(0, 16, (2, 8))
def train(n=2, net=net):
    for _ in range(n): net(x, y).backward()
"""
END = "\npipescope.stop(); pipescope.export()\n"
COMPUTES = "p.connectionId IN (SELECT c.id FROM CONNECTION_IDS c JOIN TASK t ON t.connectionId = c.connectionId)"


class Case(recording.Case):
    def setUp(self):
        super().setUp()
        if recording.torch_python() is None:
            self.skipTest("no PyTorch: name a Python that has it in PIPESCOPE_PYTHON")

    def torch(self, body, observer="1", **env):
        """What the program says besides that it builds the observer."""
        out, err = self.run_python(HEAD + body, python=recording.torch_python(), PIPESCOPE_TORCH_OBSERVER=observer, **env)
        return out, "".join(line + "\n" for line in err.splitlines() if "building the observer" not in line and line.startswith("pipescope"))

    def observed(self, body, **env):
        """Skips where this machine cannot build the observer."""
        out, err = self.torch(body, **env)
        if "there is no C++ compiler" in err or "has no headers" in err:
            self.skipTest(err)
        self.assertEqual(err, "")
        return out

    def operators(self, where=COMPUTES):
        """(name, shapes) of operators with a kernel, by start."""
        return self.database().rows("""SELECT n.value, s.value FROM PYTORCH_API p JOIN STRING_IDS n ON n.id = p.name
                                       LEFT JOIN STRING_IDS s ON s.id = p.inputShapes WHERE %s ORDER BY p.startNs""" % where)

    def names(self, where=COMPUTES):
        return [name for name, _ in self.operators(where)]

    def modules(self, query):
        """A query of what module_statistic makes of the recording."""
        self.pipescope("cluster", "-m", "module_statistic", "-d", self.folder, "-o", self.path("out"))
        with sqlite3.connect(self.path("out", "cluster_analysis_output", "cluster_analysis.db")) as db:
            return db.execute(query).fetchall()


class Observer(Case):
    def test_as_in_python(self):
        """Operators and shapes are those of the dispatch mode; under which autograd adds gradients into a new tensor, never in place."""
        body = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x * 2
    @staticmethod
    def backward(context, gradient): return gradient * 2
def all_of_it():
    train()
    z = Double.apply(torch.ones(3, requires_grad=True))
    z.register_hook(lambda gradient: gradient * 3)
    (z.sum() + 1).backward()
    torch.stack([torch.ones(2), torch.zeros(2)])
    torch._foreach_add([torch.ones(2), torch.ones(3)], 1.0)
    torch.add(torch.ones(2), torch.ones(2), out=torch.empty(2))
    torch.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2))
    with torch.no_grad(): net(x, y)
for shapes in (True, False):
    pipescope.start()
    with pipescope.record_ops(shapes): all_of_it()
    pipescope.stop(); pipescope.export()
"""
        self.torch(body, observer="0", PIPESCOPE_OUTPUT_DIR=self.path("mode"))
        self.observed(body, PIPESCOPE_OUTPUT_DIR=self.path("observer"))
        found = [collections.Counter((name.replace("add_", "add"), shapes) for name, shapes in db.rows(
            """SELECT n.value, s.value FROM PYTORCH_API p JOIN STRING_IDS n ON n.id = p.name
               LEFT JOIN STRING_IDS s ON s.id = p.inputShapes WHERE """ + COMPUTES)) for db in self.databases("mode") + self.databases("observer")]
        self.assertEqual(found[0] - found[2], collections.Counter())
        self.assertEqual(found[2] - found[0], collections.Counter())
        self.assertEqual(found[1], found[3])
        self.assertGreater(sum(found[0].values()), 100)

    def test_backward_is_in_its_module(self):
        """That of views, too: of permute (clone), unbind (stack) and _unsafe_view. Outside is what backward() begins with, alone."""
        self.observed("pipescope.hook_modules()\npipescope.start()\nwith pipescope.record_ops(): train()" + END)
        self.assertEqual(self.modules("SELECT name, kernels FROM ModuleCoverage WHERE part = 'outside modules' AND name != ''"),
                         [("aten::ones_like", 2)])
        inside, outside = (count for (count,) in self.modules(
            "SELECT kernels FROM ModuleCoverage WHERE name = '' AND part IN ('in modules', 'outside modules') ORDER BY part"))
        self.assertEqual(outside, 2)
        self.assertEqual(inside + outside, len(self.operators()))

    def test_recomputed(self):
        """Checkpoints of both kinds: what runs again is a recomputation, its backward that of the module."""
        for reentrant in ("False", "True"):
            self.observed("""
from torch.utils.checkpoint import checkpoint
class Saves(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.LayerNorm(8), nn.Linear(8, 8)
    def forward(self, x): return self.two(checkpoint(lambda x: self.one(x).sin(), x, use_reentrant=%s)).sum()
net = Saves()
x = torch.ones(4, 8, requires_grad=True)
pipescope.hook_modules()
pipescope.start()
with pipescope.record_ops(): net(x).backward()
""" % reentrant + END)
            self.assertEqual(self.modules("SELECT name FROM ModuleCoverage WHERE part = 'outside modules' AND name != ''"),
                             [("aten::ones_like",)])
            tree = self.modules("SELECT module, depth, calls, recomputedCalls, backwardTime > 0 FROM ModuleTree ORDER BY rowid")
            self.assertEqual(tree, [("Saves", 1, 1, 0, 1), ("LayerNorm", 2, 1, 1, 1), ("Linear", 2, 1, 0, 1)])
            for folder in (*self.folders(), self.path("out")):
                recording.shutil.rmtree(folder)

    def test_failures(self):
        """Exceptions of operators, functions and hooks end what they were in."""
        self.observed("""
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x + 1
    @staticmethod
    def backward(context, gradient): raise ValueError("body")
pipescope.start()
with pipescope.record_ops():
    try: torch.mm(torch.ones(2, 3), torch.ones(2, 3))
    except RuntimeError: pass
    try: Fails.apply(torch.ones(2, requires_grad=True)).sum().backward()
    except ValueError: pass
    train(1)
""" + END)
        self.assertIn(("aten::mm", "2,3;2,3"), self.operators())
        self.assertEqual(self.names().count("aten::nll_loss_backward"), 1)
        self.assertEqual(recording.json.loads(self.database().metadata()["collector.incomplete_ranges"])["open"], 0)

    def test_threads(self):
        """Of this thread and its backward passes; numbers of nodes are those of each thread."""
        self.observed("""
weight = torch.ones(4, 4, requires_grad=True)
def other():
    for _ in range(50): torch.erf(weight)
thread = threading.Thread(target=other)
pipescope.start()
hook = pipescope.record_ops()
thread.start(); thread.join()
a = torch.sin(weight)
def of_thread():
    with_it = pipescope.record_ops()    # is on already, elsewhere: nothing
    torch.exp(weight)
thread = threading.Thread(target=of_thread)
thread.start(); thread.join()
thread = threading.Thread(target=hook.remove)
thread.start(); thread.join()
torch.tan(weight)
with pipescope.record_ops(): torch.mm(a, a).sum().backward()
torch.tan(weight)
""" + END)
        self.assertEqual(self.names()[:3], ["aten::sin", "aten::mm", "aten::sum"])
        for name in ("aten::erf", "aten::exp", "aten::tan"):
            self.assertNotIn(name, self.names())

    def test_not_observed(self):
        """Nodes made while record_ops was off are no operator's."""
        self.observed("""
weight = torch.ones(3, requires_grad=True)
pipescope.start()
with pipescope.record_ops(): weight.sin()
product = weight.exp() * 2
with pipescope.record_ops():
    weight.cos()
    product.sum().backward()
""" + END)
        forward = self.database().rows("""SELECT n.value, p.fwdThreadId != 0 FROM PYTORCH_API p JOIN STRING_IDS n ON n.id = p.name
                                          WHERE n.value IN ('aten::mul', 'aten::sin', 'aten::cos', 'SumBackward0')""")
        self.assertEqual(forward, [("aten::sin", 0), ("aten::cos", 0), ("SumBackward0", 1), ("aten::mul", 0), ("aten::mul", 0)])

    def test_start_and_stop_within(self):
        """Recordings that end and begin in the middle of operators, in both passes."""
        self.observed("""
class Restart(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        pipescope.stop(); pipescope.export(); pipescope.start()
        return x + 1
    @staticmethod
    def backward(context, gradient):
        pipescope.stop(); pipescope.export(); pipescope.start()
        return gradient * 1
pipescope.start()
weight = torch.ones(4, 4, requires_grad=True)
with pipescope.record_ops():
    Restart.apply(weight.sin()).cos().sum().backward()
    train(1)
    pipescope.stop(); pipescope.export()
    train(1)
    pipescope.start()
    train(1)
""" + END)
        first, second, third, fourth = self.databases()
        names = [set(name for (name,) in db.rows("SELECT value FROM STRING_IDS")) for db in (first, second, third, fourth)]
        self.assertTrue("aten::sin" in names[0] and "aten::cos" not in names[0])
        self.assertIn("aten::cos", names[1])
        self.assertTrue({"aten::nll_loss_backward", "aten::cos"} <= names[2], "the gradient of sin")
        self.assertIn("aten::nll_loss_backward", names[3])
        # What began in the recording before is nothing that an operator could belong to.
        self.assertEqual(third.rows("""SELECT count(*) FROM PYTORCH_API p JOIN STRING_IDS n ON n.id = p.name WHERE n.value = 'aten::cos'
                                       AND p.sequenceNumber != p.connectionId AND p.fwdThreadId != 0"""), [(0,)])

    def test_nothing_recorded(self):
        """The observer is out of PyTorch's way then, and back in time whoever begins a recording."""
        out = self.observed("""
from pipescope import _library, _observer
pipescope.record_ops()
awake = _observer.observer()._lib.ps_observer_wake
train(1)
print("before", awake())
pipescope.start()
torch.sin(x.float())
print("recording", awake())
pipescope.stop(); pipescope.export()
train(1)
print("after", awake())
threading.Thread(target=pipescope.start).start()
while not _library.functions().enabled(): pass
torch.cos(x.float())
with torch.profiler.record_function("step"): torch.tan(x.float())
pipescope.stop(); pipescope.export()
for step in range(4):
    with pipescope.job_schedule_profiler_range(step, 2, 3, exit_after_prof=False):
        train(1)
        (torch.sin, torch.cos, torch.erf, torch.exp)[step](x.float())
""", PIPESCOPE_QUIET="1")
        self.assertEqual(out.split(), ["before", "0", "recording", "1", "after", "0"])
        first, second, window = [set(name for (name,) in db.rows("SELECT value FROM STRING_IDS")) for db in self.databases()]
        looked_for = {"aten::sin", "aten::cos", "aten::tan", "aten::erf", "aten::exp"}
        self.assertEqual(first & looked_for, {"aten::sin"})
        self.assertIn("aten::tan", second)
        self.assertEqual(window & looked_for, {"aten::erf"})

    def test_cost(self):
        """What `pipescope record` says of the cost has that of the observer in it, or says that it lacks that of the dispatch mode."""
        body = "\npipescope.record_ops(); train(200)\n"
        self.observed("pipescope.record_ops()")
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HEAD + body)
        for observer, words in (("1", "the recorder's own test, and that of record_ops with PyTorch's part of it; without first events and "
                                      "what the device's times take"),
                                ("0", "the recorder's own test; without first events and what the dispatch mode of record_ops and the "
                                      "device's times take")):
            done = subprocess.run([recording.PROGRAM, "record", "-o", self.path(observer), "--library", recording.LIBRARY, "--",
                                   recording.torch_python(), script], text=True, capture_output=True, timeout=recording.PATIENCE,
                                  env=recording.clean_environment(PIPESCOPE_TORCH_OBSERVER=observer), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("(%s)" % words, done.stderr)
        # Each operator some hundreds of nanoseconds or more.
        cost = json.loads(self.database("1").metadata()["record_ops"])
        self.assertTrue(100 < cost["operator_ns"] < 1000000, cost)

    def test_fork(self):
        self.observed("""
pipescope.start()
hook = pipescope.record_ops()
torch.sin(x.float())
child = os.fork()
torch.cos(x.float())
if child: assert os.waitpid(child, 0)[1] == 0
""" + END, PIPESCOPE_FOLLOW_FORK="1")
        names = [[name for (name,) in db.rows("SELECT n.value FROM PYTORCH_API p JOIN STRING_IDS n ON n.id = p.name")]
                 for db in self.databases()]
        self.assertEqual(sorted([name for name in found if name in ("aten::sin", "aten::cos")] for found in names),
                         [["aten::cos"], ["aten::sin", "aten::cos"]])


if __name__ == "__main__":
    recording.main()
