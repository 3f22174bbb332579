#!/bin/sh
# Very many ranks that lack the same are told of in one line. How the work grows with their number says `./dev bench growth`.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

python3 - "$T" <<'PY'
import json, os, subprocess, sys

RANKS = 3000
folder = os.path.join(sys.argv[1], "job")
os.mkdir(folder)
event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "a", "cat": "cpu_op"}
for rank in range(RANKS):
    doc = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": [event]}
    with open(os.path.join(folder, "w%d.pt.trace.json" % rank), "w") as file:
        json.dump(doc, file)
done = subprocess.run([os.environ["PIPESCOPE_BIN"], "chart", folder], capture_output=True, text=True)
assert done.returncode == 3, done
assert "all %d ranks: nothing says what is a forward" % RANKS in done.stderr, done.stderr
assert done.stderr.count("\n") == 2, done.stderr
PY

# A page of many ranks has one pipeline for those that are alike, and those that are not.
"$PIPESCOPE_BIN" simulate 1f1b --pp 4 --dp 32 --microbatches 8 --jitter 2 --slow-stage 2:1.3 --slow-rank 21:1.5 --quiet \
    --profile "$T/job128" >/dev/null
"$PIPESCOPE_BIN" chart "$T/job128" -o "$T/few.html" >"$T/few.out" 2>&1
"$PIPESCOPE_BIN" chart "$T/job128" --all -o "$T/all.html" >"$T/all.out" 2>&1
"$PIPESCOPE_BIN" chart "$T/job128" --pipeline 5 -o "$T/five.html" >"$T/five.out" 2>&1
python3 - "$T" <<'PY'
import json, re, sys

def page(name):
    with open("%s/%s.html" % (sys.argv[1], name)) as file:
        text = file.read()
    return json.loads(re.search(r'id="data">\n(.*?)\n</script>', text, re.S).group(1))

few, every, five = page("few"), page("all"), page("five")
assert "alike" not in every and len(every["chart"]["ranks"]) == 128
shown = few["alike"]["shown"]
assert [members for _, members, _, _ in shown] == ["0-20, 22-31", "21"], shown
# The slow one makes the step as long as it is.
assert len(few["chart"]["ranks"]) == 8 and few["view"]["pipeline"] == 21 and few["view"]["longest"] == [[1, 21, 32]], few["view"]
assert few["alike"]["by"][21] == 21 and set(few["alike"]["by"]) == {21, shown[0][0]}
assert five["view"]["pipeline"] == 5 and five["alike"]["shown"][0][0] == 5
bubble = [t for t in few["tables"] if t["name"] == "PipelineBubble"][0]
assert len(bubble["rows"]) < 20 and "within 5 %" in bubble["note"], bubble
PY
