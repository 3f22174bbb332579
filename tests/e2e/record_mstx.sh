#!/bin/sh
# mstx programs without change: attached by the environment, loaded before the program, linked; headers of two releases;
# several shared objects; what is refused and counted.
# threads: mstx from several threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/record.sh

# --- by the environment, with a second library ---
record_run "$T/a" env MSTX_INJECTION_PATH="$PIPESCOPE_RECORD_LIBRARY" \
    "$PIPESCOPE_PROGRAMS/mstx_client" "$PIPESCOPE_PROGRAMS/lib_mstx_second.so" >"$T/out"
cat >"$T/want" <<TEXT
attached 1
tool 1100
ids 1
domains 1 1
destroyed 0
heap 1
second 0
TEXT
diff -u "$T/want" "$T/out"
db=$(record_database "$T/a")
marks() {
    sqlite3 "$1" "SELECT eventType, substr(m.value, 1, 20), length(m.value), d.value FROM MSTX_EVENTS
        JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId ORDER BY connectionId"
}
marks "$db" >"$T/rows"
cat >"$T/want" <<TEXT
3|a mark|6|default
3|on a stream|11|default
2|outer|5|default
2|inner|5|default
3|xxxxxxxxxxxxxxxxxxxx|200|default
3|xxxxxxxxxxxxxxxxxxxx|4095|default
3|in one|6|one
2|in two|6|two
2|ended elsewhere|15|two
3|two again|9|two
2|second library|14|one
TEXT
diff -u "$T/want" "$T/rows"
# events on a stream have a row of the device
same "$(sqlite3 "$db" "SELECT count(*) FROM TASK JOIN MSTX_EVENTS USING (connectionId)")" 3
record_drop "$db" bad_message 7
record_drop "$db" long_message 2
record_drop "$db" bad_domain 2
record_drop "$db" domain_mismatch 2
record_drop "$db" unknown_range 1

# --- strict: messages as the reference tool takes them ---
record_run "$T/strict" env MSTX_INJECTION_PATH="$PIPESCOPE_RECORD_LIBRARY" PIPESCOPE_MSTX_STRICT=1 \
    "$PIPESCOPE_PROGRAMS/mstx_client" >/dev/null
db=$(record_database "$T/strict")
same "$(marks "$db" | grep -c xxxx)" 0
record_drop "$db" bad_message 9

# --- an older header ---
record_run "$T/old" env MSTX_INJECTION_PATH="$PIPESCOPE_RECORD_LIBRARY" \
    "$PIPESCOPE_PROGRAMS/mstx_old" >"$T/out"
line 'attached 1' "$T/out"
line 'no memory module' "$T/out"
if grep -q tool "$T/out"; then fail "an older header has no mstxGetToolId"; fi
marks "$(record_database "$T/old")" | line '3|in one|6|one'

# --- loaded before the program ---
record_run "$T/preload" record_preload "$PIPESCOPE_PROGRAMS/mstx_client" >"$T/out"
line 'attached 1' "$T/out"
marks "$(record_database "$T/preload")" | line '2|outer|5|default'

# --- linked ---
record_run "$T/linked" "$PIPESCOPE_PROGRAMS/mstx_linked" >"$T/out"
line 'tool 1100' "$T/out"
marks "$(record_database "$T/linked")" >"$T/rows"
cat >"$T/want" <<TEXT
3|linked mark|11|default
2|linked range|12|default
3|domain mark|11|linked
2|domain range|12|linked
TEXT
diff -u "$T/want" "$T/rows"

# --- by `pipescope record`, which sets the environment ---
pipescope record -o "$T/cli" -- "$PIPESCOPE_PROGRAMS/mstx_client" >"$T/out" 2>"$T/err"
line 'attached 1' "$T/out"
marks "$(record_database "$T/cli")" | line '2|outer|5|default'

# --- only some domains; nothing at all ---
record_run "$T/one" env MSTX_INJECTION_PATH="$PIPESCOPE_RECORD_LIBRARY" PIPESCOPE_DOMAIN_INCLUDE=one \
    "$PIPESCOPE_PROGRAMS/mstx_client" >/dev/null
marks "$(record_database "$T/one")" >"$T/rows"
same "$(cat "$T/rows")" '3|in one|6|one'
PIPESCOPE_OUTPUT_DIR=$T/off MSTX_INJECTION_PATH=$PIPESCOPE_RECORD_LIBRARY "$PIPESCOPE_PROGRAMS/mstx_client" >"$T/out"
line 'ids 0' "$T/out"
test ! -e "$T/off"
