"""The captures of the project, by group: those under tests/data, those beside the checkout, and simulated ones."""
import os

from program import ROOT, Broken, run

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


# group: [(name of the capture, how to get its path)]
GROUPS = {
    "kineto": [("two_ranks", shared("kineto", "two_ranks")), ("nccl", shared("kineto", "nccl")),
               ("launches", data("kineto", "rank-3-launches.json"))] +
              [(name, data("kineto", "idle", name + ".json")) for name in ("compile-worker", "copies", "data-loader", "deep-queue")],
    "ascend_db": [("db-level0", shared("ascend", "db", "level0")), ("db-level1", shared("ascend", "db", "level1")),
                  ("pp2_dp4", shared("cluster", "pp2_dp4", "input"))],
    "ascend_text": [("text-level1", shared("ascend", "text", "level1")), ("rank3_ascend_pt", data("ascend_text", "rank3_ascend_pt"))],
    "modules": [("toy", shared("module_statistic", "toy", "input")), ("mfu", shared("module_statistic", "mfu", "input"))],
    "pipelines": [("1f1b_pp4_mb8", shared("pp_chart", "1f1b_pp4_mb8", "input")), ("gpipe", data("torch_pipeline", "gpipe")),
                  ("dualpipev", data("torch_pipeline", "dualpipev")), ("kineto_dualpipe", data("kineto_dualpipe")),
                  ("convert", data("convert", "everything.json"))],
    "paddle": [(name, data("paddle_logs", name)) for name in ("pp4_1f1b_2x2", "pir_1f1b_pp2", "pp2_vpp2_1x2", "default_job", "odd_names")],
    # Also a capture without a rank.
    "paddle_more": [(name, shared("paddle_logs", name)) for name in ("appended_runs", "legacy_2023_nvtx", "pp2_fthenb_1x2", "pp4_zbh1_1x4")] +
                   [("timeline-ST", shared("whatif", "timeline-ST.json.gz"))],
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
