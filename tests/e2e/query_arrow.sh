#!/bin/sh
# Rows of queries as files of Apache Arrow: pyarrow reads them, with the values that JSON has. Skipped by name where pyarrow cannot be had.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/packages.sh

sample "$T/marks"
run 0 query "$T/marks" 'SELECT * FROM slice' -o "$T/rows.arrow"
[ "$(head -c 6 "$T/rows.arrow")" = ARROW1 ] || fail 'the first bytes of an Arrow file'
[ "$(tail -c 6 "$T/rows.arrow")" = ARROW1 ] || fail 'the last bytes of an Arrow file'
run 2 query "$T/marks" --schema --as arrow
run 2 query "$T/marks" -i --as arrow </dev/null
run 1 query "$T/marks" 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c' --timeout 1 -o "$T/none.arrow"
[ ! -e "$T/none.arrow" ] || fail 'a file of a query that did not end'

python=${PIPESCOPE_PYTHON:-python3}
if ! "$python" -c 'import pyarrow' 2>/dev/null; then
    pyarrow=$(package pyarrow 26.0.1 120) || skip 'reading by pyarrow: it cannot be had'
    PYTHONPATH=$pyarrow
    export PYTHONPATH
    "$python" -c 'import pyarrow' 2>/dev/null || skip "reading by pyarrow: it does not load in $python"
fi
"$python" tests/support/query_arrow.py "$T/marks" 'SELECT * FROM slice' 'SELECT rank, name FROM slice WHERE 0' 'SELECT * FROM track' \
    'SELECT name, count(*) AS n, sum(dur_ns) AS total_ns, avg(dur_ns) AS mean FROM slice GROUP BY name' \
    "SELECT CASE WHEN id % 3 THEN id END AS holes, NULL AS nil, CASE WHEN id = 7 THEN 0.5 ELSE id END AS widened FROM slice" \
    "SELECT CASE WHEN id = 1100 THEN 'text' ELSE id END AS mixed, '' AS empty, 'ä' AS wide FROM slice ORDER BY id"
