#!/usr/bin/env python3
"""profile(), windows and plain recordings with the real library: folders, databases, files beside them, and what other parts
of pipescope make of them."""
import json
import os
import re
import subprocess
import sys

import recording

HEAD = """
import json, os, sys, time
import pipescope
from pipescope import mstx
def train(i):
    with mstx.annotate("step %d" % i, stream=1): pass
"""


class Profile(recording.Case):
    def test_cycles(self):
        self.run_python(HEAD + """
ready = []
def on_ready(prof):
    pipescope.tensorboard_trace_handler("out", "w")(prof)
    ready.append(prof.step_num)
with pipescope.profile(schedule=pipescope.schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=on_ready) as prof:
    prof.add_metadata("who", "me")
    prof.add_metadata_json("pp_info", json.dumps({"pp_type": "1f1b", "microbatch_num": 4}))
    for i in range(12):
        train(i); prof.step()
assert ready == [4, 8], ready
assert [os.path.dirname(f) for f in prof.folders] == ["out"] * 2, prof.folders
""", RANK="3")
        first, second = self.databases("out")
        self.assertEqual(first.names(), ["step 2", "step 3"])
        self.assertEqual(second.names(), ["step 6", "step 7"])
        self.assertEqual((first.steps(), second.steps()), ([2, 3], [6, 7]))
        for db in (first, second):
            self.assertTrue(db.path.endswith("ascend_pytorch_profiler_3.db"))
            self.assertEqual(json.loads(db.metadata()["who"]), "me")
            self.assertEqual(json.loads(db.metadata()["pp_info"])["microbatch_num"], 4)
            steps = [r[0] for r in db.ranges() if r[0].startswith("ProfilerStep#")]
            self.assertEqual(len(steps), 2)
        self.assertEqual(len(self.folders()), 0, "nothing is left where it was recorded")

    def test_what_is_said(self):
        program = HEAD + """
with pipescope.profile(on_trace_ready=pipescope.tensorboard_trace_handler("out")) as prof:
    for i in range(3):
        train(i); prof.step()
"""
        said = self.run_python(program)[1].splitlines()
        self.assertEqual(len(said), 2, said)
        self.assertRegex(said[0], r"^pipescope: without a schedule step\(\) tells no steps apart.*schedule=")
        self.assertRegex(said[1], r"^pipescope: 3 ranges, 0 marks recorded in \S*out/\S+_ascend_pt$")
        self.assertEqual([db.steps() for db in self.databases("out")], [[]])
        self.assertEqual(self.run_python(program, PIPESCOPE_QUIET="1")[1], "")

    def test_handler_of_the_profile(self):
        self.run_python(HEAD + """
handler = pipescope.tensorboard_trace_handler("out", worker_name="w", async_mode=True)
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
    for i in range(6):
        train(i); prof.step()
""")
        self.assertEqual([db.names() for db in self.databases("out")], [["step 1"], ["step 3"], ["step 5"]])
        for folder in self.folders("out"):
            self.assertRegex(os.path.basename(folder), r"^w_\d{17}_ascend_pt$")
            self.assertFalse(os.path.exists(os.path.join(folder, "FRAMEWORK")))
            with open(os.path.join(folder, "profiler_info.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["config"]["common_config"]["schedule"]["warmup"], 1)

    def test_written_in_their_order(self):
        """In the background, also when all are recorded before the first is written; each is the one it was stopped as."""
        out, _ = self.run_python(HEAD + """
import time
lib, numbers = pipescope._library.functions(), []
real = lib.export_recording
def slow(number, path):
    if not numbers:
        while lib.last() < 3: time.sleep(0.001)
    numbers.append(number)
    return real(number, path)
lib.export_recording = slow
handler = pipescope.tensorboard_trace_handler("out", async_mode=True)
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
    for i in range(6):
        train(i); prof.step()
pipescope._profile._wait_for_writers()
print(numbers, [os.path.basename(f) for f in prof.folders] == sorted(os.path.basename(f) for f in prof.folders))
""")
        self.assertEqual(out.strip(), "[1, 2, 3] True")
        databases = self.databases("out")
        self.assertEqual([db.names() for db in databases], [["step 1"], ["step 3"], ["step 5"]])
        times = [os.stat(db.path).st_mtime_ns for db in databases]
        self.assertEqual(times, sorted(times))
        for folder in self.folders("out"):
            with open(os.path.join(folder, "profiler_info.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["config"]["common_config"]["schedule"]["warmup"], 1)

    def test_info(self):
        self.run_python(HEAD + """
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1, repeat=1), options={"rank": 5}) as prof:
    for i in range(3):
        train(i); prof.step()
""")
        info = self.info()
        self.assertEqual(info["config"]["common_config"]["schedule"]["active"], 1)
        self.assertEqual(info["rank_id"], 5)
        self.assertEqual(info["collector"]["backend"], "host")

    def test_analysis_later(self):
        self.run_python(HEAD + """
handler = pipescope.tensorboard_trace_handler("out", analyse_flag=False)
with pipescope.profile(on_trace_ready=handler):
    train(0)
from glob import glob
assert not glob("out/*/ASCEND_PROFILER_OUTPUT/*.db")
""")
        self.assertEqual(self.database("out").names(), ["step 0"], "written when the process ended")

    def test_stopped_by_the_end_of_the_process(self):
        self.run_python(HEAD + """
prof = pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=5),
                         on_trace_ready=pipescope.tensorboard_trace_handler("out"))
prof.start(); train(0); prof.step(); train(1)
raise SystemExit(3)
""", status=3)
        self.assertEqual(self.database("out").names(), ["step 0", "step 1"])

    def test_nothing_is_left_of_a_warm_up(self):
        self.run_python(HEAD + """
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=2, active=1),
                       on_trace_ready=pipescope.tensorboard_trace_handler("out")) as prof:
    train(0)
""")
        self.assertEqual(self.folders("out"), [])

    def test_what_waits_outlives_a_warm_up(self):
        """A warm-up that leads nowhere is thrown away, not the recording before it, which is still to be written."""
        self.run_python(HEAD + """
handler = pipescope.tensorboard_trace_handler("out", analyse_flag=False)
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
    for i in range(2):
        train(i); prof.step()
""")
        self.assertEqual([db.names() for db in self.databases("out")], [["step 1"]])
        self.assertEqual(len(self.folders("out")), 1)

    def test_a_program_that_records_already(self):
        self.run_python(HEAD + """
pipescope.start()
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=1)) as prof:
    for i in range(3):
        train(i); prof.step()
assert pipescope.is_recording()
pipescope.stop()
assert pipescope.stats()["n_ranges"] >= 3
pipescope.export("elsewhere")
""")
        db = self.database("elsewhere")
        self.assertEqual((db.names(), db.steps()), (["step 0", "step 1", "step 2"], [0, 1, 2, 3]))

    def test_directory_that_cannot_be_written(self):
        out, _ = self.run_python(HEAD + """
open("file", "w").close()
for name in ("file", "file/below"):
    with pipescope.profile(on_trace_ready=pipescope.tensorboard_trace_handler(name)):
        train(0)
    with pipescope.profile(on_trace_ready=lambda p: pipescope.tensorboard_trace_handler(name)(p)):
        train(0)
print("alive")
""")
        self.assertEqual(out, "alive\n")


class Window(recording.Case):
    def test_range(self):
        self.run_python(HEAD + """
for i in range(10):
    with pipescope.job_schedule_profiler_range(i, 3, 6):
        train(i)
print("not reached")
""")
        db = self.database()
        self.assertEqual((db.names(), db.steps()), (["step 3", "step 4", "step 5"], [3, 4, 5]))

    def test_without_code(self):
        program = HEAD + """
import argparse
args = pipescope.add_window_arguments(argparse.ArgumentParser()).parse_args()
for i in range(8):
    with pipescope.job_schedule_profiler_range(i, args.job_schedule_profiler_start, args.job_schedule_profiler_end, False):
        train(i)
"""
        self.run_python(program, PIPESCOPE_WINDOW="1:3", PIPESCOPE_OUTPUT_DIR="a")
        self.assertEqual(self.database("a").names(), ["step 1", "step 2"])
        self.run_python(program, arguments=["--job_schedule_profiler_start=4", "--job_schedule_profiler_end=5"],
                        PIPESCOPE_OUTPUT_DIR="b")
        self.assertEqual(self.database("b").names(), ["step 4"])
        self.run_python(program)
        self.assertEqual(self.folders(), [])

    def test_of_a_profile_and_of_plain_steps(self):
        self.run_python(HEAD + """
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1)) as prof:
    for i in range(8):
        train(i); prof.step()
""", PIPESCOPE_WINDOW="5:7", PIPESCOPE_OUTPUT_DIR="a")
        self.assertEqual((self.database("a").names(), self.database("a").steps()), (["step 5", "step 6"], [5, 6]))
        self.run_python(HEAD + """
for i in range(8):
    pipescope.step(); train(i)
""", PIPESCOPE_WINDOW="5:7", PIPESCOPE_OUTPUT_DIR="b")
        self.assertEqual(self.database("b").names(), ["step 5", "step 6"])

    def test_log_is_read_by_timeline(self):
        """Paddle's lines, through pipescope's reader of them: the window's steps, all jobs, no malformed line."""
        _, err = self.run_python(HEAD + """
forward = pipescope.step_wrapper(lambda: time.sleep(0.001), "forward_step")
backward = pipescope.step_wrapper(lambda: time.sleep(0.001), "backward_step")
for i in range(8):
    with pipescope.job_schedule_profiler_range(i, 4, 6):
        forward(); forward(); backward(); backward()
        with pipescope.job("optimizer", 0): time.sleep(0.001)
""", PIPESCOPE_PADDLE_LOG="1")
        os.mkdir(self.path("log"))
        with open(self.path("log", "workerlog.0"), "w", encoding="utf-8") as file:
            file.write(err)
        self.pipescope("timeline", "--log_dir", self.path("log"))
        with open(self.path("log", "pipeline_profile.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        jobs = [e["name"] for e in events if e.get("cat") in ("forward", "backward", "optimizer") and e["ph"] != "E"]
        self.assertEqual(jobs, ["forward_0", "forward_1", "backward_0", "backward_1", "optimizer_0"] * 2)
        steps = {e["name"] for e in events if e.get("cat") == "step" or str(e.get("name", "")).startswith("step")}
        self.assertEqual({re.sub(r"\D", "", s) for s in steps}, {"4", "5"})


class Launched(recording.Case):
    def test_record(self):
        """Under `pipescope record` nothing has to be said in the program."""
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HEAD + "for i in range(3): train(i)\n")
        env = recording.clean_environment()
        del env["PIPESCOPE_LIBRARY"]  # found in the process itself
        done = subprocess.run([recording.PROGRAM, "record", "-o", self.path("out"), "--", sys.executable, script], env=env,
                              cwd=self.folder, text=True, capture_output=True, timeout=recording.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.database("out").names(), ["step 0", "step 1", "step 2"])

    def test_profile_inside(self):
        """The program's own profile ends the recording that the command began, and makes its own, where it likes: that is
        what the command names."""
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HEAD + """
train(0)
with pipescope.profile(schedule=pipescope.schedule(wait=1, warmup=0, active=1, repeat=1),
                       on_trace_ready=pipescope.tensorboard_trace_handler("runs")) as prof:
    for i in range(1, 5):
        train(i); prof.step()
""")
        done = subprocess.run([recording.PROGRAM, "record", "-o", self.path("out"), "--", sys.executable, script],
                              env=recording.clean_environment(), cwd=self.folder, text=True, capture_output=True,
                              timeout=recording.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([db.names() for db in self.databases("runs")], [["step 2"]])
        self.assertEqual(self.folders("out"), [])
        self.assertIn("2 events) is left out", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^next: pipescope [a-z]+ runs/\S+_ascend_pt$")
        self.assertNotIn("recorded in", done.stderr, "said once, in the table")

    def test_killed(self):
        """What a killed process recorded is made whole by --recover."""
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HEAD + """
with pipescope.profile(on_trace_ready=pipescope.tensorboard_trace_handler("out")):
    for i in range(100): train(i)
    print("ready", flush=True)
    time.sleep(60)
""")
        process = subprocess.Popen([sys.executable, script], env=recording.clean_environment(), cwd=self.folder,
                                   stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.wait()
        process.stdout.close()
        self.pipescope("record", "--recover", self.folders("out")[0])
        self.assertEqual(len(self.database("out").names()), 100)


if __name__ == "__main__":
    recording.main()
