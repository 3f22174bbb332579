#!/bin/sh
# `pipescope record` around programs that record: what is found, recovered and said. Several processes, killed ones, those that
# go on, two launches into one folder, a launch in a launch; `--recover`.
# threads: the recorder and its writer
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
client=${PIPESCOPE_PROGRAMS-none}/record_client
[ -x "$client" ] || skip 'no recorder in this build'
unset PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD PIPESCOPE_LAUNCH PIPESCOPE_RANK
cd "$T"

# row PATTERN: one line of the table on stderr or stdout; blanks count as one.
row() { cat stderr stdout | tr -s ' ' | grep -qE -- "$1" || fail "no line '$1': $(cat stderr stdout)"; }
folders() { find "$1" -mindepth 1 -maxdepth 1 -name '*_ascend_pt' | sort; }
n_folders() { folders "$1" | wc -l; }
n_raw() { find "$1" -name events.spool | wc -l; }

# One process: its counts, the table on stderr, stdout untouched, what to type next works.
run 0 record -o one --rank 0 -- "$client" started meta pp_info '{"pp_type": "1f1b", "microbatch_num": 1}' \
    meta distributed_args '{"pipeline_model_parallel_size": 1, "tensor_model_parallel_size": 1, "data_parallel_size": 1}' \
    step 4 mark 5 host 6 op 2
[ "$(cat stdout)" = 1 ] || fail "stdout: $(cat stdout)"
[ "$(n_folders one):$(n_raw one)" = 1:0 ] || fail "folders: $(find one)"
row '^ 0 [0-9]+ 14 5 2 4 15 0 one/[^ ]+_ascend_pt$'
next=$(sed -n 's/^next: //p' stderr)
case $next in 'pipescope chart one/'*_ascend_pt) ;; *) fail "next is '$next'" ;; esac
run 0 info "$(folders one)"
sh -c "$next" >chart 2>&1 || fail "'$next' gives $?: $(cat chart)"

# The status of the command wins, and what was recorded is there all the same.
run 9 record -o nine -- "$client" range 10 exit 9
[ "$(n_folders nine)" = 1 ] || fail 'nothing of a command that failed'
row ' 10 0 0 0 10 0 nine/'

# Each process alone says what it recorded; the launch says it for all of them, once.
[ "$(grep -c 'recorded in' stderr)" = 0 ] || fail "said twice: $(cat stderr)"

# A program that writes to a folder of its own: what it recorded there is named, and only that. What came before its own
# recording is left out, in one line, unless raw files are to be kept.
control=$PIPESCOPE_PROGRAMS/record_control
TMPDIR=$T/tmp
export TMPDIR
mkdir "$TMPDIR"
run 0 record -o own -- "$control" range 2 set output_dir runs start range 7 stop export
[ "$(n_folders own):$(n_folders runs)" = 0:1 ] || fail "folders: $(find own runs)"
row '^ - [0-9]+ 7 0 0 0 7 0 runs/[^ ]+_ascend_pt$'
row 'made recordings of its own: what was recorded before them \(2 events\) is left out; --keep_raw keeps it$'
row "^next: pipescope [a-z]+ $(folders runs)$"
run 0 record -o own_two -- "$control" set output_dir runs2 start range 3 stop export start range 1 stop
row '^next: pipescope serve runs2$'
run 0 record -o own_kept --keep_raw -- "$control" range 2 set output_dir runs3 start range 7 stop export
[ "$(n_folders own_kept):$(n_folders runs3)" = 1:1 ] || fail "folders: $(find own_kept runs3)"
row '^next: pipescope [a-z]+ runs3$'
run 0 record -o own_none -- "$control" range 2 set output_dir runs4 start stop
row ' 2 0 0 0 2 0 own_none/'
# Killed there: recovered. A launch in a launch: both know.
run 137 record -o own_killed -- sh -c "PIPESCOPE_OUTPUT_DIR='$T/runs5' exec '$client' range 20 die 9"
row ' 20 0 0 0 20 0 runs5/'
run 0 record -o own_outer -- "$PIPESCOPE_BIN" record -o own_inner -- "$control" set output_dir runs6 start range 7 stop
[ "$(grep -c '^ *- .* runs6/' stderr)" = 2 ] || fail "not named twice: $(cat stderr)"
[ -z "$(ls "$TMPDIR")" ] || fail "left: $(ls -R "$TMPDIR")"
unset TMPDIR

# --quiet says nothing.
run 0 record --quiet -o quiet -- "$client" range 3
[ ! -s stderr ] || fail "said: $(cat stderr)"
[ "$(n_folders quiet)" = 1 ] || fail 'nothing recorded'

# Several processes, of which one kills itself, one is killed and one replaces itself by another program.
cat >several.sh <<EOF
RANK=0 '$client' range 10 &
RANK=1 '$client' range 20 die 9 &
RANK=2 '$client' range 30 touch '$T/killme' wait '$T/never' &
victim=\$!
RANK=3 '$client' range 40 &
RANK=4 '$client' range 50 exec /bin/true &
while [ ! -e '$T/killme' ]; do sleep 0.05; done
kill -9 \$victim
wait
exit 4
EOF
run 4 record -o several -- sh several.sh
[ "$(n_folders several)" = 5 ] || fail "folders: $(folders several)"
[ "$(n_raw several)" = 0 ] || fail 'raw files were left'
for rank in 0 1 2 3 4; do row "^ $rank [0-9]+ $(((rank + 1) * 10)) 0 0 0 $(((rank + 1) * 10)) 0 several/"; done
row '^pipescope: ended before the recording was stopped \(killed, by a signal, _exit, exec\), between ranges: rank 1, rank 2, rank 4;'
row '^next: pipescope serve several$'
row '^ or: pipescope chart several --pp N'
[ "$(databases several | wc -l)" = 5 ] || fail "databases: $(databases several)"

# Open ranges, raw files that are to be kept, a killed command.
run 137 record -o kept --keep-raw -- "$client" range 5 open 3 die 9
row ' 5 0 0 0 5 0 '
row '^open 3 ranges had no end'
row 'by a signal, _exit, exec\), in the middle of a range: process [0-9]+; recovered up to the last event$'
"$PIPESCOPE_BIN" info kept 2>&1 | grep -Eq '^pipescope: 1 process ended before its recording was stopped .*: last event at [0-9:.]+ UTC, in the middle of a range$' ||
    fail "info does not say that it was killed: $("$PIPESCOPE_BIN" info kept 2>&1)"
run 3 chart kept
[ "$(sed -n 1p stderr | grep -c 'the process ended (killed, by a signal, _exit) before a forward or backward was done; 5 marks')" = 1 ] ||
    fail "chart does not say first that it was killed: $(cat stderr)"
[ "$(n_raw kept)" = 1 ] || fail 'raw files were not kept'
run 3 record --recover kept
says 'has its database already'
find kept -name '*.db' -exec rm {} +
run 0 record --recover kept
row ' 5 0 0 0 5 0 '
[ "$(n_raw kept)" = 0 ] || fail 'raw files were left'

# A grandchild that goes on when the command ends is named, not touched; it is recovered later.
cat >goes-on.sh <<EOF
'$client' range 7 touch '$T/going' wait '$T/stop' range 1 die 9 >/dev/null 2>&1 &
while [ ! -e '$T/going' ]; do sleep 0.05; done
'$client' range 8
EOF
run 0 record -o going-on -- sh goes-on.sh
says 'goes on recording'
row ' 8 0 0 0 8 0 '
run 3 record --recover going-on
says 'goes on recording'
run 0 info going-on
says 'going-on: 1 process is still being recorded'
touch stop
for _ in $(seq 100); do
    run_status=0
    pipescope record --recover going-on >stdout 2>stderr || run_status=$?
    [ "$run_status" = 3 ] || break
    sleep 0.1
done
[ "$run_status" = 0 ] || fail "status $run_status: $(cat stderr)"
row ' 8 0 0 0 8 0 '

# Two launches into one folder at the same time: each tells its own.
pipescope record -o shared -- "$client" range 11 touch "$T/a" wait "$T/b" >first.out 2>first.err &
first=$!
run 0 record -o shared -- "$client" range 12 touch "$T/b" wait "$T/a"
wait $first
row ' 12 0 0 0 12 0 '
if cat stderr first.err | tr -s ' ' | grep -c ' 1[12] 0 0 0 ' | grep -qvx 2; then
    fail "rows: $(cat stderr first.err)"
fi
[ "$(n_folders shared)" = 2 ] || fail "folders: $(folders shared)"
# A third one does not tell of the earlier ones.
run 0 record -o shared -- true
says 'nothing was recorded'

# A launch in a launch: both tell of it.
run 0 record -o nested -- pipescope record -- "$client" range 13
[ "$(tr -s ' ' <stderr | grep -c ' 13 0 0 0 ')" = 2 ] || fail "rows: $(cat stderr)"

# --recover over a folder of several: all of them; a damaged one among them is partial, and kept.
for n in 1 2 3; do
    got=0
    PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$T/left PIPESCOPE_RANK=$n "$client" range ${n}0 die 9 >/dev/null 2>&1 || got=$?
    [ "$got" = 137 ] || fail "the client ended with $got"
done
[ "$(n_raw left)" = 3 ] || fail "raw files: $(find left)"
# Whoever reads before says what is missing and how it comes; where others have a database, too.
for command in info chart report 'cluster -m all -d' 'cluster -m pp_chart -d'; do
    # shellcheck disable=SC2086
    run 3 $command left
    says 'left: raw files of 3 processes that ended without writing a database: pipescope record --recover left'
done
damaged=$(find left -name events.spool | sort | head -n 1)
find "$(dirname "$damaged")" -type f -exec sh -c 'for f; do printf damaged >"$f"; done' sh {} +
run 4 record --recover left
row '^ 2 [0-9]+ 20 0 0 0 20 0 left/'
row '^ 3 [0-9]+ 30 0 0 0 30 0 left/'
says 'not recovered'
run 0 info left
says 'left: raw files of 1 process that ended without writing a database: pipescope record --recover left'
[ -e "$damaged" ] || fail 'damaged raw files were removed'
run 1 record --recover left
[ "$(n_raw left)" = 1 ] || fail 'raw files of what was recovered are still there'

# Damage in the middle: what is whole is there, the rest is named, and the raw files stay.
# Three times 3000 slots through a ring of 4096, each when the writer has taken out what was before: the first 4904 slots stand in the
# spool alone.
got=0
PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$T/middle PIPESCOPE_RING_SLOTS=4096 "$client" \
    range 1500 touch "$T/begun1" wait "$T/go1" range 1500 touch "$T/begun2" wait "$T/go2" \
    range 1500 touch "$T/begun3" wait "$T/go3" die 9 >/dev/null 2>&1 &
pid=$!
for part in 1 2 3; do
    rounds=0
    until [ -e "$T/begun$part" ] &&
        [ "$(stat -c %s "$(find middle -name events.spool)")" -ge $((part * 96000)) ]; do
        rounds=$((rounds + 1))
        [ $rounds -lt 400 ] || fail 'the writer wrote nothing in 20 s'
        sleep 0.05
    done
    : >"$T/go$part"
done
wait $pid || got=$?
spool=$(find middle -name events.spool)
head -c 40000 /dev/urandom | dd of="$spool" bs=1 seek=50000 conv=notrunc 2>/dev/null
run 4 record --recover middle
says 'could not be understood'
[ -e "$spool" ] || fail 'damaged raw files were removed'
run 3 record --recover middle

# A process whose raw files say nothing any more fails the launch that did well.
cat >spoilt.sh <<EOF
'$client' range 4 die 9
find '$T/spoilt' -type f -exec sh -c 'for f; do printf damaged >"\$f"; done' sh {} +
EOF
run 1 record -o spoilt -- sh spoilt.sh
says 'not recovered'

# A process that ended and that nobody has waited for is no process that runs.
if command -v python3 >/dev/null; then
    PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$T/zombie python3 - "$client" "$PIPESCOPE_BIN" >stdout <<'EOF' || fail 'a zombie was taken for alive'
import os, subprocess, sys, time
child = os.spawnv(os.P_NOWAIT, sys.argv[1], [sys.argv[1], "range", "6", "die", "9"])
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
sys.exit(subprocess.call([sys.argv[2], "record", "--recover", os.environ["PIPESCOPE_OUTPUT_DIR"]]))
EOF
    row ' 6 0 0 0 6 0 '
fi

# A folder of one process by its own name.
got=0
PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$T/single "$client" range 4 die 9 >/dev/null 2>&1 || got=$?
run 0 record --recover "$(folders single)"
row ' 4 0 0 0 4 0 '

# Reasons why there is nothing, as far as they can be known.
run 0 record -o reasons --window 5:7 -- "$client" step 3
says 'no step of the window 5:7 began'
run 0 record -o reasons --domain_include Module -- "$client" range 3
says 'domain_include and domain_exclude leave nothing over'
run 0 record -o reasons --record 0 -- "$client" started range 3
[ "$(cat stdout)" = 0 ] || fail 'recorded although the program was to begin'
says 'with --record 0'
# A window of steps.
run 0 record -o window --window 2:4 -- "$client" step 8
row ' 4 0 0 2 4 0 window/'
