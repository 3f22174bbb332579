"""Predictions that come true: predict.py PIPESCOPE EXAMPLE FOLDER.

The example pipeline runs with an uneven split of its layers, or with one slow device. pipescope plan (or whatif) predicts the
step of another split (or of the device mended) from that recording; then the program runs so, and the step is compared. Devices
sleep for what they compute, so that four processes do not fight over few processors. Steps are medians of whatif's
measured ones, the first step left out.
"""
import json
import shutil
import statistics
import subprocess
import sys

STEPS = 9
DEVICE = ["--device-gflops", "1", "--width", "128", "--rows", "32", "--microbatches", "8", "--steps", str(STEPS)]
SCHEDULES = ("1f1b", "gpipe", "zb-h1")
SPLITS = ((2, 4, 4, 6), (6, 4, 3, 3), (1, 5, 5, 5), (4, 2, 6, 4))
SLOW = (1, 1.6)


def ask(program, *args):
    return json.loads(subprocess.run([program, *args, "--json", "--quiet"], check=True, stdout=subprocess.PIPE).stdout)


class Bench:
    def __init__(self, program, example, folder):
        self.program, self.example, self.folder = program, example, folder
        self.n = 0

    def run(self, schedule, split, *more):
        self.n += 1
        path = f"{self.folder}/{self.n}"
        shutil.rmtree(path, ignore_errors=True)
        command = [self.example, "--schedule", schedule, "--split", ",".join(map(str, split)), *DEVICE, "--output", path]
        subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
        steps = ask(self.program, "whatif", path)
        measured = sorted(steps["step_time_measured_s"].items(), key=lambda kv: int(kv[0]))[1:]
        return path, statistics.median(1000 * v for _, v in measured), steps

    def planned(self, schedule, split):
        path, before, steps = self.run(schedule, split)
        _, again, _ = self.run(schedule, split)
        plan = ask(self.program, "plan", path, "--layers", ",".join(map(str, split)))["plan"][0]
        best = [int(n) for n in plan["num_layer_list"].split(",")]
        _, after, _ = self.run(schedule, best)
        change = plan["step_planned_ns"] / plan["step_now_ns"]
        self.row(f"{schedule}, {','.join(map(str, split))} -> {','.join(map(str, best))}", before, again, before * change, after)

    def mended(self, schedule):
        stage, factor = SLOW
        even = (4, 4, 4, 4)
        path, before, _ = self.run(schedule, even, "--slow-stage", f"{stage}:{factor}")
        _, again, _ = self.run(schedule, even, "--slow-stage", f"{stage}:{factor}")
        out = ask(self.program, "whatif", path, "--scale", f"stage={stage}:{1 / factor:.3f}")
        real = statistics.mean(out["step_time_no_delay_s"].values()) * 1e9
        _, after, _ = self.run(schedule, even)
        self.row(f"{schedule}, device {stage} {factor} x slow -> mended", before, again,
                 before * out["answer"][0]["step_ns"] / real, after)

    errors, signs = [], []

    def row(self, what, before, again, predicted, after):
        error = 100 * (predicted / after - 1)
        noise = 100 * abs(again / before - 1)
        told, came = predicted - before, after - before
        Bench.errors.append(abs(error))
        Bench.signs.append(told * came > 0 or abs(100 * came / before) <= max(noise, 0.5))
        print(f"  {what:42} {before:8.1f} {noise:6.1f} {predicted:10.1f} {after:9.1f} {error:+7.1f}")


def main():
    bench = Bench(*sys.argv[1:4])
    print(f"  {'run -> change':42} {'ms':>8} {'noise':>6} {'predicted':>10} {'measured':>9} {'error %':>7}")
    for schedule in SCHEDULES:
        for split in SPLITS:
            bench.planned(schedule, split)
        bench.mended(schedule)
    print(f"  {len(bench.errors)} pairs: mean error {statistics.mean(bench.errors):.1f} %, worst {max(bench.errors):.1f} %, "
          f"sign of the change wrong beyond the noise: {bench.signs.count(False)}")


main()
