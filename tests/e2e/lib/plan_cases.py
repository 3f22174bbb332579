"""Splits of layers that plan prints, against every split there is and against the job run with them: plan_cases.py PROGRAM FOLDER."""
import itertools
import json
import random
import subprocess
import sys
import os

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from worker_timeline import Job, one_f_one_b, orders_of


def job_of(split, m, replicas, extra):
    """Forward: a ms a layer; backward twice that; embedding and head on top of the ends."""
    job = Job(one_f_one_b(len(split), m), replicas)

    def duration(op):
        if op.kind not in "FB":
            return {"A": 1, "R": 2, "O": 3}.get(op.kind, 0.05)
        ms = split[op.stage] + (extra[0] if op.stage == 0 else 0) + (extra[1] if op.stage == len(split) - 1 else 0)
        return ms * (1 if op.kind == "F" else 2)

    job.duration = duration
    return job


def step_of(*args):
    return job_of(*args).run(1)[1]


def splits(layers, stages):
    for cuts in itertools.combinations(range(layers + stages - 1), stages - 1):
        edges = (-1,) + cuts + (layers + stages - 1,)
        yield tuple(b - a - 1 for a, b in zip(edges, edges[1:]))


def plan(program, path, split, *more):
    text = subprocess.run([program, "plan", path, "--layers", ",".join(map(str, split)), "--json", "--quiet", *more],
                          check=True, stdout=subprocess.PIPE).stdout
    out = json.loads(text)
    best = out["plan"][0]["num_layer_list"]
    return out["plan"][0], [int(n) for n in best.split(",")] if best is not None else None, out


# --- the same model under other schedules -----------------------------------------------------------------------------------

EXTRA = {"first": (0.4, 0.3, 0), "last": (1.5, 2, 0.5)}
KINDS = "FBW"


def scheduled(orders, layers, splits_backward, replicas):
    """A job of those orders whose pieces have `layers`: a layer takes 1 ms forward, 1.2 ms input gradient, 0.8 ms weights."""
    p = len(orders)
    job = Job(orders, replicas)

    def duration(op):
        if op.kind not in KINDS:
            return {"A": 1, "R": 2, "O": 3}.get(op.kind, 0.05)
        piece = op.chunk * p + op.stage
        each = [layers[piece] * t for t in (1, 1.2, 0.8)]
        for at, extra in ((0, EXTRA["first"]), (len(layers) - 1, EXTRA["last"])):
            each = [a + (b if piece == at else 0) for a, b in zip(each, extra)]
        whole = each[1] + (0 if splits_backward else each[2])
        return {"F": each[0], "B": whole, "W": each[2]}[op.kind]

    job.duration = duration
    return job


def read_layout(text):
    """Layers of the stages that Megatron-LM makes of --pipeline-model-parallel-layout, by its grammar."""
    import re
    while "(" in text:
        text = re.sub(r"\(([^()]*)\)\*(\d+)", lambda g: g[1] * int(g[2]), text)
    text = re.sub(r"([EtmL])\*(\d+)", lambda g: g[1] * int(g[2]), text.replace(",", ""))
    assert re.fullmatch("E[t|]*L", text), text
    return [stage.count("t") for stage in text.split("|")]


def read_lines(lines, layers, p):
    """Each line to paste tells the split again. Frameworks."""
    told = {row["framework"]: row["line"] for row in lines}
    for name in ("Megatron-LM", "MindSpeed"):
        line = told.get(name, "")
        if "layout" in line:
            assert read_layout(line.split('"')[1]) == layers, line
        elif "--num-layers-per-virtual" in line:
            assert layers == [int(line.split()[1])] * len(layers), line
        elif "--num-layer-list" in line:
            assert [int(n) for n in line.split()[1].split(",")] == layers and len(layers) == p, line
    if "torchtitan" in told:
        values = dict(line.split(" = ", 1) for line in told["torchtitan"].split("\n"))
        parts = json.loads(values["module_fqns_per_model_part"])
        assert [sum(n.startswith("layers.") for n in part) for part in parts] == layers, told
        names = [n for part in parts for n in part]
        assert names == ["tok_embeddings", *(f"layers.{i}" for i in range(sum(layers))), "norm", "output"], told
        schedule, points = told["PyTorch"].split(", split at ")
        assert points.split(",") == [parts[i][0] for i in range(1, len(parts))], told
        assert schedule == "Schedule" + json.loads(values["pipeline_parallel_schedule"]), told
    return set(told)


ALL_CASES = 6
N_CASES = int(os.environ.get("PLAN_CASES", ALL_CASES))
FRAMEWORKS = {"Megatron-LM", "MindSpeed", "torchtitan", "PyTorch"}


def other_schedules(program, folder):
    """A zb-h1 that was measured; each plan that it asks for, run: the step that was predicted."""
    p, m, layers = 4, 8, 20
    path = f"{folder}/zb.json"
    scheduled(orders_of(program, folder, "zb-h1", p, m, 0), [5] * p, True, 2).write(path, [1, 2])
    _, _, out = plan(program, path, [5] * p)
    seen, frameworks = set(), set()
    for row in out["schedules"]:
        split = [int(n) for n in row["layers"].split(",")]
        assert sum(split) == layers, row
        name = row["schedule"]
        # With fewer cases the lines to paste are read until each framework had some.
        if row["number"] > 0 and (N_CASES >= ALL_CASES or frameworks != FRAMEWORKS):
            _, _, one = plan(program, path, [5] * p, "--row", str(row["number"]))
            assert {s["number"] for s in one["schedule_stages"]} == {row["number"]}, one["schedule_stages"]
            frameworks |= read_lines(one["schedule_lines"], split, p)
        if name.startswith("dualpipe") or name == "zb-v":
            continue  # the second simulator has no V
        seen.add(name)
        orders = orders_of(program, folder, name, p, m, row["chunks"])
        _, ran = scheduled(orders, split, "zb" in name, 2).run(1)
        predicted = row["step_ns"] / 1e6
        print(f"{name} x {row['chunks']}: {split}: predicted {predicted:.1f}, ran {ran:.1f} ms")
        # What transfers take here adds up where no op of another piece fills their time.
        assert abs(predicted - ran) < (0.02 if name == "looped-bfs" else 0.01) * ran, row
    assert seen == {"1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "interleaved-zb", "looped-bfs"}, seen
    assert frameworks == FRAMEWORKS, frameworks
    # A list of Pareto: whoever is not beaten is beaten by nobody.
    keys = ("step_ns", "layers_held", "weights")
    plans = [[row[k] for k in keys] for row in out["schedules"] if row["number"] > 0]
    for row, mine in zip(out["schedules"][1:], plans):
        better = any(all(a <= b for a, b in zip(other, mine)) and other != mine for other in plans)
        assert better == (row["beaten_by"] is not None), row


def under_limits(program, folder):
    """What is said of memory holds, and less memory is never faster."""
    path = f"{folder}/zb.json"
    sizes = ["--activation-bytes", "1GiB", "--layer-bytes", "2GiB", "--embedding-bytes", "1GiB", "--head-bytes", "1GiB"]
    before = 0
    for memory in (200, 60, 40, 30):
        _, _, out = plan(program, path, [5] * 4, "--memory", f"{memory}GiB", *sizes)
        rows = [r for r in out["schedules"] if r["number"] > 0]
        assert rows and all(r["memory_bytes"] <= memory << 30 for r in rows), (memory, rows)
        assert rows[0]["step_ns"] >= before, (memory, rows[0])
        before = rows[0]["step_ns"]
        stages = out["schedule_stages"]
        assert max(s["memory_bytes"] for s in stages) == rows[0]["memory_bytes"], stages
        assert len(rows) + len(out["left_out"]) >= 9 if "left_out" in out else True
    _, _, out = plan(program, path, [5] * 4, "--max-activations", "4")
    assert all(r["activations"] <= 4 for r in out["schedules"]), out["schedules"]
    assert "gpipe" in {r["schedule"] for r in out["left_out"]}, out["left_out"]


def main():
    program, folder = sys.argv[1], sys.argv[2]
    other_schedules(program, folder)
    under_limits(program, folder)
    path = f"{folder}/job.json"
    for case in range(N_CASES):
        rng = random.Random(case)
        p = rng.choice((3, 4))
        m = rng.choice((4, 6, 8))
        layers = rng.choice((8, 9, 10)) if case < 4 else 20
        extra = (rng.choice((0, 0.5)), rng.choice((0.5, 1.5, 3)))
        base = layers // p
        split = [base] * (p - 1) + [layers - base * (p - 1)]
        job_of(split, m, 2, extra).write(path, [1, 2])
        row, best, _ = plan(program, path, split)
        assert sum(best) == layers and row["proven"] == 1, (case, row)
        ran = step_of(best, m, 2, extra)
        predicted = row["step_planned_ns"] / 1e6
        assert abs(predicted - ran) < 1e-3 * ran, (case, "predicted", predicted, "ran", ran)
        least = min(step_of(s, m, 1, extra) for s in splits(layers, p) if min(s) > 0)
        assert ran <= least * 1.0001, (case, "ran", ran, "best of all", least, split, best)
        print(f"case {case}: {p} stages, {layers} layers, {m} microbatches, extra {extra}: {split} -> {best}, "
              f"{step_of(split, m, 2, extra):.1f} -> {ran:.1f} ms, best of all {least:.1f}")
        most = max(best) - 1
        if most * p >= layers:
            _, limited, _ = plan(program, path, split, "--max-layers", str(most))
            assert max(limited) <= most and sum(limited) == layers, (case, limited)


main()
