#!/bin/sh
# pipescope timeline: both files say what the logs say, whatever logs are there, and the exit status tells what is missing.
# threads: logs that are read side by side
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
command -v python3 >/dev/null || skip 'no python3'

logs=$DATA/paddle_logs
check() { python3 tests/e2e/lib/check_timeline.py "$@" || fail "check_timeline.py $*"; }

# sets FOLDER: every sample set against its expected events
sets() {
    for expected in "$1"/*.expected.json; do
        set=${expected%.expected.json}
        [ "$(basename "$set")" != broken ] || continue
        rm -rf "$T/out"
        run 0 timeline --log_dir "$set" -o "$T/out"
        check "$T/out" "$expected"
        # One thread writes the same bytes.
        run 0 timeline --log_dir "$set" -o "$T/one" -j 1
        cmp "$T/out/pipeline_profile.json" "$T/one/pipeline_profile.json"
        cmp "$T/out/pipeline_profile_perfetto.json" "$T/one/pipeline_profile_perfetto.json"
    done
}
sets "$logs"
[ ! -d "$PIPESCOPE_SHARED_DATA/paddle_logs" ] || sets "$PIPESCOPE_SHARED_DATA/paddle_logs"

# The usual place is the log directory; two machines are two processes beside that of the steps.
cp -r "$logs/pp4_1f1b_2x2" "$T/two"
run 0 timeline --log_dir "$T/two" --multi_machine
says '2 log records are malformed: machine 1: workerlog.0 line 43'
check "$T/two" jobs=154 steps=3,4,5 processes=3 \
    'rows=GPU0(machine:0),GPU1(machine:0),GPU0(machine:1),GPU1(machine:1)' \
    stages=0:stage0,1:stage1,0:stage2,1:stage3
run 0 timeline --log_dir "$T/two" -o "$T/out" --verbose --devices=1
says 'workerlog.1:56 (byte '
check "$T/out" jobs=77 'rows=GPU1(machine:0),GPU1(machine:1)'
run 3 timeline --log_dir "$logs/odd_names" --multi_machine
says 'no directory machine*'

# Devices 4 and 5 are rows 4 and 5; what is asked for and not there makes it partial.
mkdir "$T/four"
cp "$logs/pp2_vpp2_1x2/workerlog.0" "$T/four/workerlog.4"
cp "$logs/pp2_vpp2_1x2/workerlog.1" "$T/four/workerlog.5"
run 0 timeline --log_dir "$T/four" --devices 4,5
check "$T/four" jobs=36 rows=GPU4,GPU5 stages=4:stage0,5:stage1 processes=1
run 4 timeline --log_dir "$T/four" --devices 4,5,6
says 'workerlog.6: there is no such log'
check "$T/four" jobs=36
run 0 timeline --log_dir "$T/four"
says 'no workerlog.0, though there is workerlog.4'
check "$T/four" jobs=36 rows=GPU4,GPU5
run 3 timeline --log_dir "$T/four" --devices 0
says 'workerlog.0: there is no such log'
for list in '' ',' '4,' ',4' '4,,5' four -4 4.5 '4 5' 99999999999999999999; do
    run 2 timeline --log_dir "$T/four" --devices "$list"
done
run 0 timeline --log_dir "$T/four" --devices ' 5 , 4,5'
check "$T/four" rows=GPU5,GPU4

# A gap between two numbers is a missing log; packed logs are read; mistakes are told before the work.
run 4 timeline --log_dir "$logs/broken/gap_in_workers" -o "$T/gap"
says 'no workerlog.1, though there is workerlog.2'
cp -r "$T/four" "$T/packed"
gzip "$T/packed/workerlog.5"
run 0 timeline --log_dir "$T/packed" -o "$T/packed_out"
check "$T/packed_out" jobs=36 rows=GPU4,GPU5
run 0 timeline --log_dir "$T/four" -o "$T/plain_out"
cmp "$T/packed_out/pipeline_profile.json" "$T/plain_out/pipeline_profile.json" || fail "a packed log reads differently"
run 1 timeline --log_dir "$T/four" -o "$T/four/workerlog.4/out"
[ ! -s "$T/stdout" ] || fail "a table before the target was looked at"
run 2 timeline "$T/four"
says "give the directory as --log_dir $T/four"

# Machines by the numbers in their names, not by the order of the names.
run 0 timeline --log_dir "$logs/broken/machines_ten" -o "$T/out"
check "$T/out" jobs=2 'rows=GPU0(machine:2),GPU0(machine:10)'
mkdir -p "$T/named/machine_b" "$T/named/machine_a" "$T/named/machine7"
for machine in a b; do cp "$logs/default_job/workerlog.0" "$T/named/machine_$machine"; done
cp "$logs/default_job/workerlog.0" "$T/named/machine7"
run 0 timeline --log_dir "$T/named"
check "$T/named" 'rows=GPU0(machine:7),GPU0(machine:8),GPU0(machine:9)'
mkdir -p "$T/same/machine7" "$T/same/machine-7" "$T/same/machine07"
for machine in 7 -7 07; do cp "$logs/default_job/workerlog.0" "$T/same/machine$machine"; done
run 0 timeline --log_dir "$T/same" -o "$T/same"
check "$T/same" 'rows=GPU0(machine:7),GPU0(machine:8),GPU0(machine:9)'

# Workers that are numbered through all machines: what counts is how many logs there are.
worker=0
while [ $worker -lt 800 ]; do
    [ $((worker % 8)) -ne 0 ] || mkdir -p "$T/many/machine$((worker / 8))"
    echo "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1701771693000.000000, job_end_time = 1701771693010.000000" \
        >"$T/many/machine$((worker / 8))/workerlog.$worker"
    worker=$((worker + 1))
done
run 0 timeline --log_dir "$T/many" -o "$T/many"
check "$T/many" jobs=800

# A worker that lost its first step keeps company with the others by time; a clock that is off, by number.
mkdir "$T/lost"
cp "$logs/pp2_vpp2_1x2/workerlog.0" "$T/lost"
tail -n +10 "$logs/pp2_vpp2_1x2/workerlog.1" >"$T/lost/workerlog.1"
run 0 timeline --log_dir "$T/lost"
says '1 step is numbered as that of the other workers'
check "$T/lost" jobs=27 steps=0,1
cp "$logs/pp2_vpp2_1x2/workerlog.0" "$T/lost"
sed 's/time = 17017/time = 17018/g' "$logs/pp2_vpp2_1x2/workerlog.1" >"$T/lost/workerlog.1"
run 0 timeline --log_dir "$T/lost"
check "$T/lost" jobs=36 steps=0,1

# Two jobs at once, as a clock that steps back makes them: a row of its own, nothing is moved or lost.
mkdir "$T/across"
sed 's/start_time = 1701771693013/start_time = 1701771693009/' "$logs/pp2_vpp2_1x2/workerlog.0" >"$T/across/workerlog.0"
run 0 timeline --log_dir "$T/across"
says '1 slice overlaps another'
check "$T/across" jobs=18
grep -q '"tid":"GPU0 overlap 1"' "$T/across/pipeline_profile.json"

# Names that JSON must escape.
mkdir "$T/names"
printf '%s\n' 'Profiler Info: Job (0), type = a"b\c(d)é, micro_batch_id = 0, job_start_time = 1701771693000.000000, job_end_time = 1701771693001.000000' \
    >"$T/names/workerlog.0"
run 0 timeline --log_dir "$T/names"
check "$T/names" jobs=1

# Nothing, nothing at all, and something that cannot be read.
for set in empty no_records negative_mb; do
    run 3 timeline --log_dir "$logs/broken/$set" -o "$T/none"
    says 'no record of the job profiler'
done
[ ! -e "$T/none" ] || fail "an output folder without output"
mkdir "$T/bare"
run 3 timeline --log_dir "$T/bare"
run 2 timeline --log_dir "$T/nowhere"
run 2 timeline
run 2 timeline --log_dir "$logs/default_job/workerlog.0"
cp "$logs/broken/no_records/workerlog.0" "$T/four/workerlog.6"
run 4 timeline --log_dir "$T/four"
mkdir "$T/odd"
mkfifo "$T/odd/workerlog.0"
run 1 timeline --log_dir "$T/odd"
cp "$logs/default_job/workerlog.0" "$T/odd/workerlog.1"
run 4 timeline --log_dir "$T/odd"
check "$T/odd" jobs=4 rows=GPU1

# Inputs stay as they are, and a folder that cannot be written is an error.
snapshot "$logs/default_job" >"$T/before"
run 0 timeline --log_dir "$logs/default_job" -o "$T/deep/er"
unchanged "$logs/default_job" "$T/before"
check "$T/deep/er" jobs=4 steps=0,1,2,3
echo file >"$T/file"
run 1 timeline --log_dir "$logs/default_job" -o "$T/file"
