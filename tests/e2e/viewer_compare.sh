#!/bin/sh
# Two captures side by side, over a real server in a real browser. Skips without Chromium, node or web/node_modules.
set -eu

# shellcheck source=tests/e2e/lib/browser.sh
. tests/e2e/lib/browser.sh

browser
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 6 --steps 2 --filler 20 --profile "$T/old" >/dev/null
"$PIPESCOPE_BIN" simulate 1f1b --pp 2 --microbatches 6 --steps 2 --filler 20 --slow-stage 1:1.5 --profile "$T/new" >/dev/null
"$PIPESCOPE_BIN" compare "$T/new" "$T/old" -o "$T/compare.json" >/dev/null 2>&1
mkdir "$T/both"
mv "$T/new" "$T/old" "$T/both"
links=
if [ -e "$PIPESCOPE_SHARED_DATA/ascend/db/level1" ]; then
    # A real capture with a matrix of links, and the same with links twice as fast, operators of twice the memory, and all numbered anew.
    cp -r "$PIPESCOPE_SHARED_DATA/ascend/db/level1" "$T/slow"
    cp -r "$T/slow" "$T/fast"
    chmod -R u+w "$T/fast"
    python3 - "$T/fast" <<'PY'
import glob, sqlite3, sys

for path in glob.glob(sys.argv[1] + "/*/*/*.db"):
    db = sqlite3.connect(path)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if "CommAnalyzerMatrix" in tables:
        db.execute("UPDATE CommAnalyzerMatrix SET transit_time = transit_time / 2, bandwidth = bandwidth * 2")
        db.execute("UPDATE CommAnalyzerTime SET hccl_op_name = replace(hccl_op_name, '__210_', '__777_')")
    if "OP_MEMORY" in tables:
        db.execute("UPDATE OP_MEMORY SET size = size * 2")
    if "STRING_IDS" in tables:
        db.execute("UPDATE STRING_IDS SET value = replace(value, '__210_', '__777_')")
    db.commit()
PY
    serve "$T/slow" --baseline "$T/fast"
    links=$url
fi
serve "$T/both/new" --baseline "$T/both/old"
node web/test/compare_page.mjs "$chromium" "$url" "$T/compare.json" "$links"
