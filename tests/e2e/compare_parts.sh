#!/bin/sh
# Parts of a capture compared like two captures: ranks and steps of one, and of each side. What each side says is what its ranks and steps say
# by themselves, and what is lost is the difference.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

run 0 simulate 1f1b --pp 2 --microbatches 4 --filler 40 --steps 2 --jitter 5 --slow-stage 1:1.3 --profile "$T/job"
run 0 simulate 1f1b --pp 2 --microbatches 4 --filler 40 --steps 2 --jitter 5 --profile "$T/old"

run 0 compare "$T/job" --rank_list 1 --base_rank_list 0 -o "$T/ranks.json"
run 0 compare "$T/job" --step 2 --base_step 1 -o "$T/steps.json"
run 0 compare "$T/job" "$T/job" --rank 0 --step 2 --base_rank 0 --base_step_id 1 -o "$T/both.json"
run 0 compare "$T/job" "$T/old" --comparison_step 1 --base_step 2 -o "$T/old.json"
run 0 query "$T/job" "SELECT rank, step, kind, name, dur_ns FROM slice WHERE kind IN ('kernel', 'communication')" -o "$T/slices.json"
python3 - "$T" <<'PYTHON'
import collections, json, sys

def load(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))

slices = load("slices")
slices = slices["rows"] if isinstance(slices, dict) else slices
value = lambda s, key: s[key] if isinstance(s, dict) else s[["rank", "step", "kind", "name", "dur_ns"].index(key)]

def sums(wanted):
    out = collections.Counter()
    for s in slices:
        if value(s, "kind") == "kernel" and wanted(value(s, "rank"), value(s, "step")):
            out[value(s, "name")] += value(s, "dur_ns")
    return out

def check(name, now, base, n_steps):
    tables = load(name)["tables"]
    sides = {"new_ns": sums(now), "base_ns": sums(base)}
    rows = tables["KernelCompare"]
    assert {r["name"] for r in rows} == set(sides["new_ns"]) | set(sides["base_ns"]), name
    for side, wanted in sides.items():
        got = collections.Counter()
        for r in rows:
            got[r["name"]] += r[side]
        for kernel, ns in wanted.items():
            assert abs(got[kernel] - ns / n_steps) <= len(rows), (name, side, kernel, got[kernel], ns / n_steps)
    assert all(r["lost_ns"] == r["new_ns"] - r["base_ns"] for table in tables.values() for r in table if "lost_ns" in r and r["lost_ns"] is not None)

check("ranks", lambda rank, step: rank == 1, lambda rank, step: rank == 0, 2)
check("steps", lambda rank, step: step == 2, lambda rank, step: step == 1, 2)  # of two ranks each
check("both", lambda rank, step: rank == 0 and step == 2, lambda rank, step: rank == 0 and step == 1, 1)
ranks = load("ranks")
assert ranks["new_part"] == {"rank_list": "1"} and ranks["base_part"] == {"rank_list": "0"}, ranks
assert load("both")["new_part"] == {"rank_list": "0", "step_id": 2}
row = load("old")["tables"]["StepCompare"]
assert [(r["step new"], r["step base"]) for r in row] == [(1, 2)], row
PYTHON

run 0 compare "$T/job" --rank_list 1 --base_rank_list 0
says_out "new   $T/job, rank 1: 1 rank, 2 steps"
says_out "base  $T/job, rank 0: 1 rank, 2 steps"
run 0 compare "$T/job" --rank_list 1 --base_rank_list all
says_out "base  $T/job: 2 ranks, 2 steps"

# What is asked wrongly says what to ask.
run 2 compare "$T/job" --rank_list 1
says 'base_rank_list'
run 2 compare "$T/job" --rank_list 1 --base_rank_list 1
says 'both sides are the same ranks and steps of one capture: give another --base_rank_list or --base_step'
run 2 compare "$T/job" "$T/old/../job" --step 1 --base_step 1
says 'both sides are the same'
run 2 compare "$T/job" --rank_list 7 --base_rank_list 0
says 'rank 7: no such rank; there are: 0-1'
run 2 compare "$T/job" --rank_list 1 --base_rank_list 7
says 'baseline: rank 7: no such rank; there are: 0-1'
run 2 compare "$T/job" --step 9 --base_step 1
says 'step 9: no such step; there are: 1-2'
run 2 compare "$T/job" --step 1 --base_step 9
says 'baseline: step 9: no such step; there are: 1-2'
run 2 compare "$T/job" --rank_list one --base_rank_list 0
says "pipescope: --rank_list: 'one' is not a rank"
run 2 compare "$T/job" --rank_list 1 --base_rank_list one
says "baseline: --base_rank_list: 'one' is not a rank"
