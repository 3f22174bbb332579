#!/bin/sh
# --json-summary: valid JSON with what ran, what was written and every count, whatever the outcome.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

# summary STATUS DONE NOTHING FAILED [PYTHON]: the last summary says so
summary() {
    python3 - "$T/summary.json" "$@" <<'PY'
import json, os, sys
path, status, done, nothing, failed, *more = sys.argv[1:]
s = json.load(open(path))
assert (s["format"], s["version"]) == ("pipescope-summary", 1)
assert [s["exit_status"], s["done"], s["nothing"], s["failed"]] == [int(status), int(done), int(nothing), int(failed)], s
kinds = [rank["status"] for rank in s["ranks"]]
assert [kinds.count(kind) for kind in ("done", "nothing", "failed")] == [s["done"], s["nothing"], s["failed"]], kinds
for rank in s["ranks"]:
    assert os.path.isfile(rank["input"]), rank
    assert (rank["message"] is None) == (rank["status"] == "done") or "pp_chart" not in s["modes"][:1], rank
    assert rank["written"] is None or os.path.exists(rank["written"]), rank
    assert rank["written"] is not None or rank["status"] != "done", rank
for condition in more:
    assert eval(condition, {}, {"s": s}), (condition, s)
PY
}

sample "$T/in"
run 0 -m pp_chart -d "$T/in" --json-summary "$T/summary.json"
summary 0 4 0 0 's["modes"] == ["pp_chart"]' 's["search"] == {}' \
    '[rank["rank"] for rank in s["ranks"]] == [0, 1, 2, 3]' \
    'all(rank["written"] == rank["input"] and rank["oddities"] == {} for rank in s["ranks"])'
run 0 -m pp_chart,p2p_pairing -d "$T/in" -o "$T/copies" --json-summary "$T/summary.json"
summary 0 4 0 0 's["modes"] == ["pp_chart", "p2p_pairing"]' 'all("/copies/" in rank["written"] for rank in s["ranks"])'

sql "$(database "$T/in" 1)" 'DROP TABLE MSTX_EVENTS'
: >"$(database "$T/in" 2)"
run 4 -m pp_chart -d "$T/in" --json-summary "$T/summary.json"
summary 4 2 1 1 '"stale-result" in s["ranks"][1]["oddities"]' '"MSTX_EVENTS" in s["ranks"][1]["message"]' \
    '"empty" in s["ranks"][2]["message"]' 's["ranks"][3]["oddities"]["p2p-unpaired"]["severity"] == "info"'

run 3 -m pp_chart -d "$T/in" --rank_list 1 --json-summary "$T/summary.json"
summary 3 0 1 0
run 1 -m pp_chart -d "$T/in" --rank_list 2 --json-summary "$T/summary.json"
summary 1 0 0 1

# Paths with quotes and bytes that are no UTF-8 still make valid JSON.
odd=$T/$(printf 'a "quote" \\ \377')
sample "$odd" 0
run 0 -m pp_chart -d "$odd" --json-summary "$T/summary.json"
python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().decode("utf-8", "strict"))' "$T/summary.json"

# A place that cannot be written is reported, and the exit status tells.
run 1 -m pp_chart -d "$T/in" --rank_list 0,3 --json-summary "$T/no/such/dir/summary.json"
says "$T/no/such/dir/summary.json"
