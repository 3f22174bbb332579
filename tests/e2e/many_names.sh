#!/bin/sh
# Very many names: members of the document and kinds of flows are counted under their names, in order.
set -eu
. tests/e2e/lib/common.sh

python3 - "$T/many.json" <<'PY'
import json, sys
events = [{"ph": "X", "name": "a", "cat": "c", "pid": 1, "tid": tid, "ts": 0, "dur": 100000} for tid in (1, 2)]
for i in range(20000):
    events.append({"ph": "s", "id": i, "name": "f", "cat": "flow %05d" % i, "pid": 1, "tid": 1, "ts": 2 * i})
    events.append({"ph": "f", "bp": "e", "id": i, "name": "f", "cat": "flow %05d" % i, "pid": 1, "tid": 2, "ts": 2 * i + 1})
doc = {"traceEvents": events}
doc.update(("member %05d" % i, i) for i in range(40000))
open(sys.argv[1], "w").write(json.dumps(doc))
PY
run 0 info --json "$T/many.json"
says_out '"flow 00000": 1, "flow 00001": 1,'
says_out '"flow 19999": 1}'
says_out '"member 39999": "39999"'
