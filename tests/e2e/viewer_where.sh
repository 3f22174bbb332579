#!/bin/sh
# The grid of ranks over a real server in a real browser: its figures are those of queries. Skips without Chromium, node or
# web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --microbatches 8 --dp 2 --tp 2 --steps 2 --filler 20 --jitter 5 --slow-rank 9:1.4 --profile "$T/job" >/dev/null
cp -r "$T/job" "$T/whole"
# One rank of the job is not there: nothing may be said of it.
rm -r "$T"/job/node0_1006_*

python3 - "$PIPESCOPE_BIN" "$T" >"$T/figures.json" <<'PY'
import json, subprocess, sys

program, folder = sys.argv[1:]


def rows(sql):
    done = subprocess.run([program, "query", folder + "/job", sql, "--as", "json"], capture_output=True, text=True, check=True)
    return [list(row.values()) for row in json.loads(done.stdout)]


steps = '"index", avg(%s) * 1000 FROM ClusterStepTraceTime WHERE type = \'rank\' GROUP BY "index"'
summary = "rank, avg(%s) * 1000 FROM ClusterTimeSummary GROUP BY rank"
bubble = "rank, avg(%s) FROM PipelineBubble GROUP BY rank"
late = "rankId, sum(%s) FROM SlowRankLateness GROUP BY rankId"
launch = "rank, avg(%s) * 1000 FROM ClusterTimeSummaryExtra GROUP BY rank"
share = "rank_id, %s_ratio_percent FROM overview" # of the step, with what lies behind its last work
# All figures of the page (METRICS in web/src/pages/where_model.ts) but those of the replay and of experts.
asked = {
    "computing": steps % "computing",
    "communication": steps % "communication",
    "pure_computing": steps % "computing - overlapped",
    "overlapped": steps % "overlapped",
    "exposed": steps % "communication_not_overlapped",
    "free": steps % "free",
    "preparing": steps % "preparing",
    "exposed_no_receive": steps % "communication_not_overlapped_and_exclude_receive",
    "stage": steps % "stage",
    "receives": steps % "bubble",
    "after": "rank_id, after_ns FROM overview",
    "computing_share": share % "computing",
    "exposed_share": share % "communication",
    "free_share": share % "free",
    "step_time": summary % "stepTime",
    "copies": summary % "memory",
    "launch_delay": launch % "taskLaunchDelayAvgTime",
    "waiting": summary % "communicationWaitStageTime",
    "transmitting": summary % "communicationTransmitStageTime",
    "busy": bubble % "busy_ns",
    "idle": bubble % "bubble_ns",
    "idle_share": bubble % "idle_percent",
    "warm_up": bubble % "warm_up_ns",
    "stall": bubble % "stall_ns",
    "cool_down": bubble % "cool_down_ns",
    "own_share": bubble % "own_percent",
    "late": late % '"lateTime_us" * 1000',
    "waited": late % '"waitTime_us" * 1000',
    "came_last": late % "cameLast",
}
figures = {name: [[int(rank), value] for rank, value in rows("SELECT " + sql) if value is not None] for name, sql in asked.items()}
assert all(len(known) >= 8 for known in figures.values()), figures
json.dump(figures, sys.stdout)
PY
"$PIPESCOPE_BIN" whatif "$T/whole" --json >"$T/whatif.json" 2>/dev/null
serve "$T/whole"
whole=$url
serve "$T/job"
node web/test/where_page.mjs "$chromium" "$url" "$T/figures.json" "$whole" "$T/whatif.json"
