#!/bin/sh
# NVTX programs without change, through an emulation of NVTX's header: all functions, a second library with a table of its
# own, an older header, streams by rules, categories and names, another tool behind.
# threads: NVTX from several threads
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/record.sh
client=$PIPESCOPE_PROGRAMS/nvtx_client
second=$PIPESCOPE_PROGRAMS/lib_nvtx_second.so
NVTX_INJECTION64_PATH=$PIPESCOPE_RECORD_LIBRARY
export NVTX_INJECTION64_PATH

events() {
    sqlite3 "$1" "SELECT eventType, category, m.value, d.value FROM MSTX_EVENTS
        JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId ORDER BY connectionId"
}
meta() { sqlite3 "$1" "SELECT value FROM META_DATA WHERE name = 'collector.$2'"; }

# --- everything ---
record_run "$T/all" "$client" "$second" >"$T/out"
cat >"$T/want" <<TEXT
loaded 1
version 3
ids 1
push 0 1 2
pop 2 1 0, once more negative
domains 1
strings 1
domain push 1 0, other domain 0, pop 1 0 0
bad domain negative
extension 1 memory extension 1
schema 1 enum 1 enabled 1
second 1
TEXT
sed 's/domain push 0 1,/domain push 1 0,/' "$T/out" | diff -u "$T/want" - # arguments in either order
db=$(record_database "$T/all")
events "$db" >"$T/rows"
none=4294967295
cat >"$T/want" <<TEXT
3|$none|mark a|default
3|$none|mark w é 😀|default
3|3|mark ex|default
3|$none|(no message)|default
2|$none|start ex|default
2|$none|start a|default
2|$none|start w|default
2|$none|push ex|default
2|$none|push a|default
2|$none|push w|default
3|9|(no message)|default
3|$none|(no message)|default
3|$none|longer struct|default
2|5|registered|shared domain
2|5|registered|shared domain
2|5|registered|wïde
3|5|domain mark é|wïde
2|$none|domain start|shared domain
2|$none|(no message)|shared domain
2|$none|in the worker|default
2|$none|ncclAllReduce|NCCL
3|$none|(no message)|NCCL
2|$none|second registered|shared domain
2|$none|second push|default
TEXT
diff -u "$T/want" "$T/rows"
sqlite3 "$db" "SELECT m.value, form, color, payload FROM PIPESCOPE_NVTX JOIN MSTX_EVENTS USING (connectionId)
    JOIN STRING_IDS m ON m.id = message WHERE payload IS NOT NULL ORDER BY connectionId" >"$T/rows"
cat >"$T/want" <<TEXT
mark ex|3|4278255360|0.5
ncclAllReduce|1|0|{"communicator":7,"bytes":4096,"operation":"Product"}
(no message)|3|0|{"schema":16781927,"size":24,"hex":"ffffffffffffffffffffffffffffffffffffffffffffffff"}
TEXT
diff -u "$T/want" "$T/rows"
# The short forms, which have nothing but a text, are known as NVTX's too.
same "$(sqlite3 "$db" "SELECT group_concat(m.value || ' ' || form, ', ') FROM (SELECT * FROM PIPESCOPE_NVTX
    ORDER BY connectionId) JOIN MSTX_EVENTS USING (connectionId) JOIN STRING_IDS m ON m.id = message
    WHERE m.value IN ('mark a', 'start a', 'push a')")" 'mark a 3, start a 2, push a 1'
record_drop "$db" unknown_range 1
record_drop "$db" unbalanced_pop 1
record_drop "$db" bad_domain 1
same "$(meta "$db" nvtx_categories)" '{"default":{"3":"three","4":"four"},"shared domain":{"5":"five","6":"sïx"}}'
same "$(sqlite3 "$db" 'SELECT count(*) FROM TASK')" 0 # no stream, no device

# --- push and pop ranges with the type that NVTX's own tools give them ---
record_run "$T/type" env PIPESCOPE_NVTX_PUSHPOP_TYPE=1 "$client" >/dev/null
events "$(record_database "$T/type")" | line "1|$none|push a|default"

# --- an older header: fewer functions, no domains ---
record_run "$T/old" "$PIPESCOPE_PROGRAMS/nvtx_old" >"$T/out"
line 'push 0 1 2' "$T/out"
same "$(events "$(record_database "$T/old")" | wc -l)" 13

# --- streams by rules: a domain, messages, a registered string ---
record_run "$T/streams" env PIPESCOPE_NVTX_STREAM='shared*=legacy,push ?=0x77,in the worker=ptds,nonsense' \
    "$client" "$second" >/dev/null
db=$(record_database "$T/streams")
sqlite3 "$db" "SELECT m.value, count(*) FROM TASK JOIN MSTX_EVENTS USING (connectionId)
    JOIN STRING_IDS m ON m.id = message GROUP BY 1 ORDER BY 1" >"$T/rows"
cat >"$T/want" <<TEXT
(no message)|1
domain start|1
in the worker|1
push a|1
push w|1
registered|2
second registered|1
TEXT
diff -u "$T/want" "$T/rows"
meta "$db" stream_map | grep -q '"handle": "0x77", "context": 0, "name": "compute stream"'
meta "$db" stream_map | grep -q '"handle": "0x1", "context": 0, "name": "default stream"'
meta "$db" stream_map | grep -q '"handle": "0x2"'

# --- names of threads, in the timeline ---
record_run "$T/timeline" env PIPESCOPE_EXPORT_TYPE=db,text "$client" >/dev/null
grep -q '"the worker"' "$(find "$T/timeline" -name trace_view.json)"

# --- only some domains: the program is told ---
record_run "$T/filter" env PIPESCOPE_DOMAIN_EXCLUDE=NCCL,default "$client" >"$T/out"
grep -q 'schema 1 enum 1 enabled 0' "$T/out"
line 'push -2 -2 -2' "$T/out"
same "$(events "$(record_database "$T/filter")" | grep -cE '\|(NCCL|default)$')" 0

# --- another tool behind: both see everything, the program has the handles of that tool ---
record_run "$T/chain" env PIPESCOPE_NVTX_CHAIN="$PIPESCOPE_PROGRAMS/lib_nvtx_tool.so" NVTX_TOOL_LOG="$T/tool" \
    "$client" "$second" >"$T/out"
events "$(record_database "$T/chain")" >"$T/rows"
sed 's/|{.*//' "$T/rows" >"$T/got"
cp "$T/got" "$T/chain.rows"
events "$(record_database "$T/all")" >"$T/want"
diff -u "$T/want" "$T/got"
cat >"$T/want" <<TEXT
init 1
start start a
end 1
end 3
end 100
end 100
push push a
pop
pop
pop
pop
TEXT
sed 's/^end 922[0-9]*$/end ours/; s/^end -*[0-9]\{1,2\}$/end ours/' "$T/tool" | head -11 >"$T/got"
sed -i 's/^end [13]$/end ours/' "$T/want"
diff -u "$T/want" "$T/got"
line 'domain shared domain' "$T/tool"
line 'string 1 registered' "$T/tool"
line 'push 1 string 1' "$T/tool"
line 'extension 2' "$T/tool"
line 'extension 1' "$T/tool"
grep -q '^schema [0-9]* 3$' "$T/tool"
# the tool gave the layout an id of its own, which is also known here
sqlite3 "$(record_database "$T/chain")" "SELECT payload FROM PIPESCOPE_NVTX" |
    line '{"communicator":7,"bytes":4096,"operation":"Product"}'
for tool in /nonexistent.so "$PIPESCOPE_RECORD_LIBRARY" "$second"; do
    rm -rf "$T/bad"
    record_run "$T/bad" env PIPESCOPE_NVTX_CHAIN="$tool" "$client" >/dev/null
    events "$(record_database "$T/bad")" | line "2|$none|push a|default"
done
record_run "$T/refuses" env PIPESCOPE_NVTX_CHAIN="$PIPESCOPE_PROGRAMS/lib_nvtx_tool.so" NVTX_TOOL_REFUSES=1 \
    "$client" >"$T/out"
line 'push 0 1 2' "$T/out"

# --- a tool that is loaded for as long as another thread waits for it: that one goes on, and then nobody has the tool ---
rm -f "$T/tool"
record_run "$T/waits" env PIPESCOPE_NVTX_CHAIN="$PIPESCOPE_PROGRAMS/lib_nvtx_tool.so" NVTX_TOOL_LOG="$T/tool" NVTX_TOOL_WAITS="$T/go" \
    "$PIPESCOPE_PROGRAMS/nvtx_waits" >"$T/out"
line 'second 1' "$T/out"
same "$(cat "$T/tool")" loaded
events "$(record_database "$T/waits")" | line "2|$none|second thread|default"

# --- by `pipescope record`, which sets the environment; the rules by its option ---
(
    unset NVTX_INJECTION64_PATH
    pipescope record -o "$T/cli" --nvtx-stream 'push a=legacy' -- "$client" "$second" >"$T/out" 2>"$T/err"
)
line 'second 1' "$T/out"
db=$(record_database "$T/cli")
same "$(events "$db" | wc -l)" 24
same "$(sqlite3 "$db" 'SELECT count(*) FROM TASK')" 1
record_drop "$db" unbalanced_pop 1

# --- not recording: nothing is written, nothing breaks ---
PIPESCOPE_OUTPUT_DIR=$T/off "$client" "$second" >"$T/out"
line 'push -2 -2 -2' "$T/out"
test ! -e "$T/off"
