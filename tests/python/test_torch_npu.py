#!/usr/bin/env python3
"""Scripts written for Ascend's profiler, with only their import line changed, and what pipescope's analyses say of what they
recorded. Scripts that train with PyTorch are left out by name where there is none."""
import csv
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

import recording

IMPORT = "import torch_npu\n"
INSTEAD = "import pipescope.torch_npu as torch_npu\n"


def as_list(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


class Scripts(recording.Case):
    def script(self, name):
        """The script with its import changed, in the test's folder."""
        with open(os.path.join(recording.SCRIPTS, name), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("\n" + IMPORT), 1)
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("\n" + IMPORT, "\n" + INSTEAD))
        return path

    def with_torch(self, name, **env):
        python = recording.torch_python()
        if python is None:
            self.skipTest("no PyTorch: name a Python that has it in PIPESCOPE_PYTHON")
        return self.run_script(self.script(name), python=python, **env)

    def run_ranks(self, path, n):
        """The script as n processes of a job, which wait for one another."""
        messages = self.path("messages")
        os.mkdir(messages)
        env = [recording.clean_environment(RANK=str(r), WORLD_SIZE=str(n), JOB_MESSAGES=messages) for r in range(n)]
        for e in env:
            e["PYTHONPATH"] += os.pathsep + os.path.join(recording.SCRIPTS, "stand_in")
        processes = [subprocess.Popen([sys.executable, path], env=e, cwd=self.folder, stderr=subprocess.PIPE) for e in env]
        for process in processes:
            _, err = process.communicate(timeout=recording.PATIENCE)
            self.assertEqual(process.returncode, 0, err.decode())

    def test_step_wrapper(self):
        """forward_step and backward_step of a 1F1B pipeline of two stages."""
        self.run_ranks(self.script("step_wrapper.py"), 2)
        databases = self.databases("profiling")
        self.assertEqual(len(databases), 2)
        for db in databases:
            names = db.names()
            self.assertEqual(len(names), 2 * 2 * 6)
            self.assertEqual(names.count("{'name': 'forward_step', 'current_microbatch': 5}"), 2)
            self.assertTrue(all(r[4] for r in db.ranges() if r[0] in names), "all have a device row")
            self.assertEqual(json.loads(db.metadata()["pp_info"]), {"pp_type": "1f1b", "microbatch_num": 6})
            self.assertEqual(db.steps(), [1, 2])
        out = self.pipescope("chart", self.path("profiling"), "--pp", "2")
        self.assertIn("1f1b", out.splitlines()[0])
        self.assertRegex(out, r"stage 0  rank 0")
        self.assertRegex(out, r"stage 1  rank 1")
        self.pipescope("cluster", "-m", "pp_chart", "-d", self.path("profiling"), "--pp", "2")
        for db in databases:
            with sqlite3.connect(db.path) as written:
                labels = [r[0] for r in written.execute("SELECT name FROM StepTaskInfo ORDER BY startNs")]
            self.assertEqual(len(labels), 24)
            self.assertEqual(set(re.sub(r"\d", "", name) for name in labels), {"FP", "BP"})

    def test_metadata(self):
        _, err = self.run_script(self.script("metadata.py"))
        db = self.database("profiling")
        self.assertEqual(os.path.basename(self.folders("profiling")[0])[:7], "worker_")
        self.assertEqual(db.marks(), [("kept", "pp")])
        self.assertEqual(db.names(), ["train"])
        metadata = db.metadata()
        self.assertEqual(json.loads(metadata["pp_info"]), {"pp_type": "dualpipev", "microbatch_num": 10})
        self.assertEqual(json.loads(metadata["distributed_args"])["pipeline_model_parallel_size"], 4)
        self.assertEqual(json.loads(metadata["author"]), "somebody")
        warnings = [line for line in err.splitlines() if "without a meaning here" in line]
        self.assertEqual(" ".join(warnings).count("aic_metrics"), 1, err)
        self.assertIn("an_option_of_a_later_release", " ".join(warnings))
        config = self.info("profiling")["config"]
        self.assertEqual(config["common_config"]["an_option_of_a_later_release"], 3)
        self.assertEqual(config["experimental_config"]["_aic_metrics"], "PipeUtilization")
        self.assertEqual(config["experimental_config"]["_profiler_level"], "Level_none")
        trace = os.path.join(self.folders("profiling")[0], "ASCEND_PROFILER_OUTPUT", "trace_view.json")
        with open(trace, encoding="utf-8") as file:
            self.assertIn("train", {e.get("name") for e in as_list(json.load(file))}, "ExportType.Text is a Chrome trace")

    def test_text(self):
        """ExportType.Text: kernels and steps as CSV files, too."""
        self.run_python("""
import pipescope
import pipescope.torch_npu as torch_npu
p = torch_npu.profiler
config = p._ExperimentalConfig(export_type=[p.ExportType.Text], profiler_level=p.ProfilerLevel.Level1)
with p.profile(schedule=p.schedule(wait=0, warmup=0, active=2, repeat=1), experimental_config=config,
               on_trace_ready=p.tensorboard_trace_handler("profiling")) as prof:
    for _ in range(2):
        with pipescope.op("aten::mm", "64,128;128,32"): pass
        prof.step()
""")
        folder = os.path.join(self.folders("profiling")[0], "ASCEND_PROFILER_OUTPUT")
        tables = {}
        for name in ("kernel_details", "op_statistic", "step_trace_time"):
            with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as file:
                tables[name] = list(csv.DictReader(file))
        self.assertEqual([(row["Step Id"], row["Name"], row["Input Shapes"]) for row in tables["kernel_details"]],
                         [(step, "aten::mm", '"64,128;128,32"') for step in ("0", "1")])
        self.assertEqual([row["Count"] for row in tables["op_statistic"]], ["2"])
        self.assertEqual([row["Step"] for row in tables["step_trace_time"]], ["0", "1"])
        self.assertTrue(glob.glob(os.path.join(folder, "*.db")), "the database too")

    def test_module_hook(self):
        self.with_torch("module_hook.py", RANK="0")
        db = self.database("profiling")
        modules = db.names("Module")
        self.assertEqual({m: modules.count(m) for m in set(modules)},
                         {"Sequential": 3, "Block": 2, "Attention": 2, "Linear": 6, "GELU": 2})
        self.assertEqual(db.marks(), [('{"is_causal": true}', "flash_attn_args")] * 2)
        self.pipescope("cluster", "-m", "module_statistic", "-d", self.path("profiling"), "-o", self.path("out"))
        found = [os.path.join(d, f) for d, _, files in os.walk(self.path("out")) for f in files if f.endswith(".db")]
        rows = []
        for path in found:
            with sqlite3.connect(path) as written:
                rows += written.execute("SELECT parentModule, module, opName FROM ModuleStatistic").fetchall()
        by_name = {(parent, module) for parent, module, _ in rows}
        self.assertTrue(any(module == "Linear" and "Attention" in parent for parent, module in by_name), rows)
        self.assertIn(("Sequential/Block/Sequential", "Linear", "aten::addmm"), rows)
        self.assertIn(("Sequential/Block/Sequential", "[Backward]Linear", "aten::mm"), rows)

    def test_complete(self):
        self.with_torch("complete.py")
        databases = self.databases("profiling")
        self.assertEqual([db.steps() for db in databases], [[2, 3], [6, 7]])
        for db in databases:
            self.assertEqual(db.names(), ["train_one_step", "forward", "backward"] * 2)
            ops = [r[0] for r in db.rows("SELECT s.value FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name")]
            self.assertIn("aten::mse_loss_backward", ops)
        self.assertIn("1f1b", self.pipescope("chart", self.path("profiling"), "--pp-type", "1f1b", "--pp", "1").lower())




class Surface(recording.Case):
    def test_names(self):
        out, err = self.run_python("""
import pipescope.torch_npu as torch_npu
from pipescope.torch_npu.profiler import profile, schedule, tensorboard_trace_handler, _ExperimentalConfig
from pipescope.torch_npu.npu import mstx
p = torch_npu.profiler
for names, owner in (("profile schedule tensorboard_trace_handler _ExperimentalConfig ProfilerActivity ProfilerLevel AiCMetrics "
                      "ExportType HostSystem supported_activities supported_profiler_level supported_ai_core_metrics "
                      "supported_export_type analyse _KinetoProfile ProfilerAction", p),
                     ("mark range_start range_end mstx_range range_push range_pop annotate get_tool_id", torch_npu.npu.mstx),
                     ("current_stream default_stream synchronize set_device current_device device_count is_available stream "
                      "empty_cache", torch_npu.npu), ("npu_fusion_attention", torch_npu)):
    for name in names.split():
        getattr(owner, name)
assert p.ProfilerActivity.NPU in p.supported_activities()
assert p.ProfilerLevel.Level1 in p.supported_profiler_level()
assert p.AiCMetrics.PipeUtilization in p.supported_ai_core_metrics()
assert p.ExportType.Db in p.supported_export_type()
npu = torch_npu.npu
assert (npu.is_available(), npu.device_count(), npu.current_device()) == (False, 0, 0)
npu.set_device("npu:1"); npu.synchronize(); npu.empty_cache()
npu.current_stream().synchronize()
assert npu.current_stream().npu_stream == 1
with npu.stream(npu.current_stream()): pass
for wrong in (lambda: npu.no_such_thing, lambda: p.no_such_thing):
    try: wrong(); raise SystemExit(1)
    except AttributeError: pass
c = p._ExperimentalConfig(mstx_domain_include=["a", "b"], mstx_domain_exclude=["c"], profiler_level="x",
                          export_type=p.ExportType.Text)
assert c._options() == {"level": "0", "export_type": "db,text", "domain_include": "a,b"}, c._options()
assert p._ExperimentalConfig(mstx=False)._options()["domain_include"] == "(none)"
assert "domain_include" not in p._ExperimentalConfig(mstx=False, profiler_level=p.ProfilerLevel.Level_none)._options()
assert p.profile(activities=[p.ProfilerActivity.CPU])._options["backend"] == "host"
assert "backend" not in p.profile(activities=[p.ProfilerActivity.NPU])._options
p.profile(experimental_config=3)
import sys
assert "torch" not in sys.modules
""")
        self.assertIn("profiler_level must be", err)

    def test_attention(self):
        python = recording.torch_python()
        if python is None:
            self.skipTest("no PyTorch: name a Python that has it in PIPESCOPE_PYTHON")
        self.run_python("""
import torch
import pipescope
import pipescope.torch_npu as torch_npu
assert torch.npu is torch_npu.npu and torch.ones(1).npu().item() == 1
F = torch.nn.functional.scaled_dot_product_attention
pipescope.start()
torch.manual_seed(0)
B, N, S, D = 2, 4, 6, 8
q, k, v = (torch.randn(B, N, S, D) for _ in range(3))
def same(a, b): assert torch.allclose(a, b, atol=1e-5), (a - b).abs().max()
want = F(q, k, v, scale=0.5)
fa = torch_npu.npu_fusion_attention
same(fa(q, k, v, N, "BNSD", scale=0.5)[0], want)
bsnd = [t.transpose(1, 2) for t in (q, k, v)]
same(fa(*bsnd, N, "BSND", scale=0.5)[0], want.transpose(1, 2))
bsh = [t.transpose(1, 2).reshape(B, S, N * D) for t in (q, k, v)]
same(fa(*bsh, N, "BSH", scale=0.5)[0], want.transpose(1, 2).reshape(B, S, N * D))
sbh = [t.transpose(0, 1) for t in bsh]
same(fa(*sbh, N, "SBH", scale=0.5)[0], want.transpose(1, 2).reshape(B, S, N * D).transpose(0, 1))
causal = F(q, k, v, is_causal=True, scale=0.5)
for mode in (2, 3):
    same(fa(q, k, v, N, "BNSD", scale=0.5, sparse_mode=mode)[0], causal)
mask = torch.ones(S, S, dtype=torch.bool).triu(1)
same(fa(q, k, v, N, "BNSD", scale=0.5, atten_mask=mask)[0], causal)
same(fa(q, k[:, :2], v[:, :2], N, "BNSD", scale=0.5)[0],
     F(q, k[:, :2].repeat_interleave(2, 1), v[:, :2].repeat_interleave(2, 1), scale=0.5))
tnd = [t.transpose(1, 2).reshape(B * S, N, D) for t in (q, k, v)]
ends = [S, 2 * S]
same(fa(*tnd, N, "TND", scale=0.5, actual_seq_qlen=ends, actual_seq_kvlen=torch.tensor(ends), sparse_mode=3)[0],
     causal.transpose(1, 2).reshape(B * S, N, D))
with pipescope.patch_attention():
    torch.nn.functional.scaled_dot_product_attention(q, k, v, None, 0.0, True)
torch.nn.functional.scaled_dot_product_attention(q, k, v)
pipescope.stop(); pipescope.export()
""", python=python)
        marks = self.database().marks()
        self.assertEqual({domain for _, domain in marks}, {"flash_attn_args"})
        self.assertEqual(json.loads(marks[0][0]), {"input_layout": "BNSD", "sparse_mode": 0, "actual_seq_qlen": [],
                                                   "actual_seq_kvlen": []})
        self.assertEqual(json.loads(marks[8][0]), {"input_layout": "TND", "sparse_mode": 3, "actual_seq_qlen": [6, 12],
                                                   "actual_seq_kvlen": [6, 12]})
        self.assertEqual(json.loads(marks[9][0]), {"is_causal": True})
        self.assertEqual(len(marks), 10)


if __name__ == "__main__":
    recording.main()
