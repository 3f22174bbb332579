"""The captures of the project, by group: those under tests/data, those that golden cases make, those beside the checkout, and
simulated ones."""
import glob
import os
import sqlite3
import subprocess
import sys

from program import PROGRAM, ROOT, Broken, run

DATA = os.path.join(ROOT, "tests", "data")
SHARED = os.environ.get("PIPESCOPE_SHARED_DATA") or os.path.join(ROOT, "..", "shared", "data")


def data(*parts):
    return lambda folder: os.path.join(DATA, *parts)


def shared(*parts):
    return lambda folder: os.path.join(SHARED, *parts)


def simulated(name, *options):
    def make(folder):
        out = os.path.join(folder, name)
        status, _, errors = run("--quiet", "simulate", *options, "--profile", out)
        if status:
            raise Broken("simulate %s: %s" % (name, errors))
        return out

    return make


def golden(case):
    """What the setup of a golden case makes in $T/in."""
    def make(folder):
        work = os.path.join(folder, case.replace("/", "-"))
        os.makedirs(work)
        setup = os.path.join(ROOT, "tests", "golden", case, "setup")
        path = os.path.dirname(os.path.abspath(PROGRAM)) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(["sh", "-eu", setup], cwd=work, check=False, capture_output=True,
                              env={**os.environ, "T": work, "DATA": DATA, "PATH": path})
        if done.returncode:
            raise Broken("%s: %s" % (setup, done.stderr.decode(errors="replace")[-300:]))
        return os.path.join(work, "in")

    return make


def database(name, file_name):
    """tests/data/ascend_db/NAME.sql under the name that its profiler gives."""
    def make(folder):
        work = os.path.join(folder, name)
        os.makedirs(work)
        with open(os.path.join(DATA, "ascend_db", name + ".sql"), encoding="utf-8") as file:
            db = sqlite3.connect(os.path.join(work, file_name))
            db.executescript(file.read())
            db.close()
        return work

    return make


def written(name, *script):
    """What a script of tests/data writes into the file that it is given."""
    def make(folder):
        path = os.path.join(folder, name)
        done = subprocess.run([sys.executable, "-B", os.path.join(DATA, *script), path], check=False, capture_output=True)
        if done.returncode:
            raise Broken("%s: %s" % (script[-1], done.stderr.decode(errors="replace")[-300:]))
        return path

    return make


def files(*pattern):
    """Each file is a capture."""
    return [(os.path.splitext(os.path.basename(path))[0], lambda folder, path=path: path)
            for path in sorted(glob.glob(os.path.join(DATA, *pattern)))]


# group: [(name of the capture, how to get its path)]
GROUPS = {
    "kineto": [("two_ranks", shared("kineto", "two_ranks")), ("nccl", shared("kineto", "nccl")),
               ("launches", data("kineto", "rank-3-launches.json"))] +
              [("no-steps", data("kineto", "no-steps.json"))] + files("kineto", "idle", "*.json"),
    "ascend_db": [("db-level0", shared("ascend", "db", "level0")), ("db-level1", shared("ascend", "db", "level1")),
                  ("pp2_dp4", shared("cluster", "pp2_dp4", "input"))],
    "ascend_text": [("text-level1", shared("ascend", "text", "level1")), ("rank3_ascend_pt", data("ascend_text", "rank3_ascend_pt")),
                    ("PROF_000001", data("ascend_text", "PROF_000001"))] +
                   files("ascend_text", "*.json"),
    "modules": [("toy", shared("module_statistic", "toy", "input")), ("mfu", shared("module_statistic", "mfu", "input"))],
    "pipelines": [("1f1b_pp4_mb8", shared("pp_chart", "1f1b_pp4_mb8", "input")), ("gpipe", data("torch_pipeline", "gpipe")),
                  ("dualpipev", data("torch_pipeline", "dualpipev")), ("kineto_dualpipe", data("kineto_dualpipe")),
                  ("convert", data("convert", "everything.json"))],
    "paddle": [(name, data("paddle_logs", name)) for name in ("pp4_1f1b_2x2", "pir_1f1b_pp2", "pp2_vpp2_1x2", "default_job", "odd_names")],
    # Also a capture without a rank.
    "paddle_more": [(name, shared("paddle_logs", name)) for name in ("appended_runs", "legacy_2023_nvtx", "pp2_fthenb_1x2", "pp4_zbh1_1x4")] +
                   [("timeline-ST", shared("whatif", "timeline-ST.json.gz")), ("timeline-AR", shared("whatif", "timeline-AR.json.gz")),
                    ("ndtimeline", data("ndtimeline"))],
    "databases": [("mindspore", database("mindspore", "ascend_mindspore_profiler_0.db")),
                  ("msmonitor", database("msmonitor", "msmonitor_7_20250109012610000_-1.db")),
                  ("msmonitor-crashed", database("msmonitor-crashed", "msmonitor_7_20250109012610000_-1.db")),
                  ("old", database("old", "ascend_pytorch_profiler_0.db")), ("pytorch", database("pytorch", "ascend_pytorch_profiler_0.db")),
                  ("counters", database("counters", "ascend_pytorch_profiler_0.db")),
                  ("nsight", written("nsight.sqlite", "nsight", "gpipe.py"))],
    "made": [(case.replace("/", "-"), golden(case)) for case in
             ("report/absent-rank", "report/absent-rank-level0", "report/absent-rank-text", "report/slow-stage", "report/quiet-pipeline",
              "cluster/communication-from-marks", "cluster/communication-marks-of-nccl", "cluster/range-around-backward",
              "cluster/analysis-database-alone", "info/tables-without-timeline", "info/many-clocks",
              "modes/freq_analysis", "pp_chart/host-ranges", "pp_chart/lost-mark-of-dualpipev", "pp_chart/one-rank-without-marks")],
    "chrome": files("chrome", "*.json"),
    "simulated": [
        ("sim-1f1b", simulated("1f1b", "1f1b", "--pp", "4", "--microbatches", "8", "--p2p-us", "500", "--steps", "2", "--jitter", "5",
                               "--filler", "40", "--dp", "2", "--slow-stage", "2:1.3")),
        ("sim-interleaved", simulated("interleaved", "interleaved", "--pp", "2", "--microbatches", "4", "--filler", "40")),
        ("sim-zb-h1", simulated("zb-h1", "zb-h1", "--pp", "3", "--microbatches", "6", "--steps", "2", "--filler", "20")),
        ("sim-dualpipev", simulated("dualpipev", "dualpipev", "--pp", "4", "--microbatches", "10", "--jitter", "3")),
        ("sim-other-work", simulated("other-work", "dualpipev", "--pp", "2", "--microbatches", "6", "--tp", "2", "--filler", "10")),
        ("sim-zb-jitter", simulated("zb-jitter", "zb-h1", "--pp", "4", "--microbatches", "8", "--p2p-us", "900", "--jitter", "10",
                                    "--steps", "3")),
        ("sim-tp2", simulated("tp2", "gpipe", "--pp", "2", "--tp", "2", "--microbatches", "4", "--filler", "30", "--drop-marks", "2")),
    ],
}


def of_group(group, folder):
    """(name, path, why it is missing) of each capture of the group."""
    for name, find in GROUPS[group]:
        path = find(folder)
        yield name, path, None if os.path.exists(path) else "no %s here" % os.path.relpath(path, ROOT)
