"""Splits of layers that plan prints, against every split there is and against the job run with them: plan_cases.py PROGRAM FOLDER."""
import itertools
import json
import random
import subprocess
import sys
import os

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from worker_timeline import Job, one_f_one_b




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
    return out["plan"][0], [int(n) for n in out["plan"][0]["num_layer_list"].split(",")], out


def main():
    program, folder = sys.argv[1], sys.argv[2]
    path = f"{folder}/job.json"
    for case in range(6):
        rng = random.Random(case)
        p = rng.choice((3, 4))
        m = rng.choice((4, 6, 8))
        layers = rng.choice((8, 9, 10)) if case < 4 else 20
        extra = (rng.choice((0, 0.5)), rng.choice((0.5, 1.5, 3)))
        base = layers // p
        split = [base] * (p - 1) + [layers - base * (p - 1)]
        job_of(split, m, 2, extra).write(path, [1, 2])
        row, best, _ = plan(program, path, split)
        assert sum(best) == layers, (case, best)
        ran = step_of(best, m, 2, extra)
        predicted = row["step_planned_ns"] / 1e6
        assert abs(predicted - ran) < 1e-3 * ran, (case, "predicted", predicted, "ran", ran)
        least = min(step_of(s, m, 1, extra) for s in splits(layers, p))
        assert ran <= least * 1.0001, (case, "ran", ran, "best of all", least, split, best)
        print(f"case {case}: {p} stages, {layers} layers, {m} microbatches, extra {extra}: {split} -> {best}, "
              f"{step_of(split, m, 2, extra):.1f} -> {ran:.1f} ms, best of all {least:.1f}")
        most = max(best) - 1
        if most * p >= layers:
            _, limited, _ = plan(program, path, split, "--max-layers", str(most))
            assert max(limited) <= most and sum(limited) == layers, (case, limited)


main()
