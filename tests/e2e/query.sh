#!/bin/sh
# Queries: figures are those of the commands that show them, over all captures of the repository; what is hostile ends with an error and
# leaves nothing; docs/sql.md is what the program prints.
# threads: ranks read for a statement, and its deadline
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

pipescope query --schema >"$T/sql.md"
cmp -s "$T/sql.md" docs/sql.md || fail "docs/sql.md is not what 'pipescope query --schema' prints"

# --- the same figures ---

captures=$(sh tests/support/query_captures.sh "$T")
# shellcheck disable=SC2086
python3 tests/support/query_sums.py $captures

# --- hostile queries ---

# Of the last one: nothing on standard output, and an error in words.
refused() {
    run "$1" query "$T/marks" "$2" --timeout "${4:-60}" --memory 8MB
    [ ! -s "$T/stdout" ] || fail "rows of: $2"
    says "$3"
}
ENDLESS='WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)'
refused 1 "$ENDLESS SELECT count(*) FROM c" '--timeout' 1
refused 1 "$ENDLESS SELECT x FROM c ORDER BY x" '--memory'
refused 1 'WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT count(*) FROM c' '--memory'
refused 1 'SELECT count(*) FROM slice a, slice b, slice c, slice d, slice e' '--timeout' 1
refused 1 "SELECT length(replace(hex(zeroblob(30000000)), '0', hex(zeroblob(100))))" '--memory'
refused 1 'SELECT zeroblob(1000000000)' 'too big'
refused 1 "$ENDLESS SELECT length(group_concat(hex(zeroblob(1000000)))) FROM c" '--timeout' 1
refused 1 "$ENDLESS SELECT percentile(x, 50) FROM c" '--memory'
refused 2 "SELECT load_extension('/tmp/x.so')" 'only SELECT'
refused 2 "ATTACH '$T/new.db' AS new" 'only SELECT'
refused 2 "VACUUM INTO '$T/new.db'" 'only SELECT'
refused 2 'PRAGMA writable_schema = ON' 'only SELECT'
refused 2 'SELECT * FROM pragma_database_list' 'only SELECT'
refused 2 'CREATE TABLE t AS SELECT * FROM slice' 'only SELECT'
refused 2 'DELETE FROM slice' ''
refused 2 "SELECT writefile('$T/new.txt', 'x')" 'no such function'
refused 2 'SELECT name FROM slice WHERE' 'incomplete input'
[ ! -e "$T/new.db" ] || fail 'a database was made'
[ ! -e "$T/new.txt" ] || fail 'a file was made'

# 10,000 joins, 10,000 parentheses, a statement that is no text at all.
{
    printf 'SELECT count(*) FROM slice'
    i=0
    while [ "$i" -lt 10000 ]; do
        printf ', slice s%d' "$i"
        i=$((i + 1))
    done
} >"$T/joins.sql"
run 1 query "$T/marks" -f "$T/joins.sql"
says 'too many'
{
    printf 'SELECT '
    head -c 10000 /dev/zero | tr '\0' '('
    printf 1
    head -c 10000 /dev/zero | tr '\0' ')'
} >"$T/deep.sql"
run 1 query "$T/marks" -f "$T/deep.sql"
says 'stack overflow'
{
    printf 'SELECT 1'
    head -c 5000 /dev/zero | tr '\0' '+' | sed 's/+/+1/g'
} >"$T/wide.sql"
run 1 query "$T/marks" -f "$T/wide.sql"
says 'Expression tree is too large'
printf '\377\376{}<>' >"$T/noise.sql"
run 2 query "$T/marks" -f "$T/noise.sql"
says 'syntax error'
{
    printf 'SELECT 1 -- '
    head -c 2000000 /dev/zero | tr '\0' 'x'
} >"$T/long.sql"
run 1 query "$T/marks" -f "$T/long.sql"
says 'larger than 1048576 bytes'
run 1 query "$T/marks" <"$T/long.sql" # not run as far as it was read
says 'larger than 1048576 bytes'

# An answer that is not finished leaves no file, and none beside it.
mkdir "$T/into"
run 1 query "$T/marks" "$ENDLESS SELECT x, hex(zeroblob(1000)) FROM c" --timeout 1 -o "$T/into/rows.csv"
[ -z "$(ls -A "$T/into")" ] || fail "left behind: $(ls -A "$T/into")"

# Whoever reads no further ends it.
pipescope query "$T/marks" "$ENDLESS SELECT x FROM c" --as csv --timeout 60 2>"$T/stderr" | head -n 2 >"$T/stdout"
says_out 'x'
