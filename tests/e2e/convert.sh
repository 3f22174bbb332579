#!/bin/sh
# Timelines for other viewers: what is written is valid, complete, the same in both forms, and comes back as it was.
# threads: inputs read and written side by side, blocks of large files
set -eu
. tests/e2e/lib/common.sh

# both NAME STATUS IN...: converts into both forms and checks them with decoders that know nothing of the program.
both() {
    name=$1
    status=$2
    shift 2
    run "$status" convert "$@" -o "$T/$name.json"
    run "$status" convert "$@" -o "$T/$name.pftrace"
    python3 tests/e2e/lib/check_convert.py "$T/$name.json" "$T/$name.pftrace" >"$T/$name.counts" ||
        fail "$name is not valid"
    if command -v protoc >/dev/null 2>&1; then
        protoc --decode_raw <"$T/$name.pftrace" >/dev/null || fail "protoc refuses $name.pftrace"
    fi
}

# again NAME: what was written reads as what it was written from.
again() {
    run 0 convert "$T/$1.json" -o "$T/again.json"
    cmp "$T/$1.json" "$T/again.json" || fail "$1 does not come back as it was"
}

# Everything that a trace can hold.
both everything 0 "$DATA/convert/everything.json"
cmp "$DATA/convert/everything.json" "$T/everything.json" || fail "everything.json has changed"
grep -qx '36 slices, 5 flows, 14 values' "$T/everything.counts" || fail "counts: $(cat "$T/everything.counts")"
run 0 convert "$DATA/convert/everything.json" -o "$T/everything.json.gz"
gzip -dc "$T/everything.json.gz" | cmp - "$T/everything.json" || fail "gzip holds something else"
[ "$(od -An -tx1 -N10 "$T/everything.json.gz" | tr -d ' \n')" = 1f8b08000000000000ff ] ||
    fail "the header of gzip says when or what: $(od -An -tx1 -N10 "$T/everything.json.gz")"
cp "$T/everything.json.gz" "$T/unknown"
run 0 convert "$T/unknown" -o "$T/again.json"
cmp "$T/everything.json" "$T/again.json" || fail "a renamed gzip file reads differently"

# A part that the head names twice.
printf '%s' '{"pipescope":{"version":1,"ranks":[{"part":0,"rank":0},{"part":0,"rank":1}]},"traceEvents":[]}' >"$T/parts.json"
run 1 convert "$T/parts.json" -o "$T/again.json"
says 'names part 0 twice'

# Databases of several ranks.
sample "$T/sample"
both sample 0 "$T/sample"
again sample
cp "$T/sample.pftrace" "$T/first.pftrace"
run 0 convert "$T/sample" -o "$T/sample.pftrace"
cmp "$T/first.pftrace" "$T/sample.pftrace" || fail "a second run writes other bytes"
for jobs in 1 2 7; do
    run 0 convert "$T/sample" -j $jobs -o "$T/again.json"
    cmp "$T/sample.json" "$T/again.json" || fail "-j $jobs writes other bytes"
    "$PIPESCOPE_BIN" info -j $jobs "$T/sample" >"$T/info.$jobs"
    cmp "$T/info.1" "$T/info.$jobs" || fail "info -j $jobs says something else"
done
[ "$(grep -c '"pipescope_rank"' "$T/sample.json")" = 4 ] || fail "not four ranks"

# Several inputs with the same ranks keep apart.
cp -r "$T/sample" "$T/twin"
both twins 0 "$T/sample" "$T/twin"
grep -q '"name":"rank 3 of .*twin' "$T/twins.json" || fail "twins are not told apart"

# One rank that cannot be read: the rest is written.
victim=$(database "$T/twin" 2)
head -c 5000 "$victim" >"$T/cut"
cp "$T/cut" "$victim"
both partial 4 "$T/twin"
says 'rank 2'
[ "$(grep -c '"pipescope_rank"' "$T/partial.json")" = 3 ] || fail "not three ranks"

# The output among the inputs is not an input; other files of the folder stay.
run 0 convert "$T/sample" -o "$T/sample/timeline.json"
snapshot "$T/sample" >"$T/before"
run 0 convert "$T/sample" -o "$T/sample/timeline.json"
says 'not read, since it is what will be written'
unchanged_but_times() { snapshot "$1" | grep -v 'timeline.json\|^\. d' | cut -d' ' -f1-4 >"$T/now"; }
unchanged_but_times "$T/sample"
grep -v 'timeline.json\|^\. d' "$T/before" | cut -d' ' -f1-4 | cmp -s - "$T/now" || fail "inputs were changed"
only_databases "$T/sample"

# What is no input, and what it is instead.
printf 'BZh91AY' >"$T/a.json.bz2"
run 3 info "$T/a.json.bz2"
says 'packed with bzip2: unpack it first'
printf '\3757zXZ\000' >"$T/a.json.xz"
run 3 info "$T/a.json.xz"
says 'packed with xz: unpack it first'
printf '\050\265\057\375' >"$T/a.json.zst"
run 3 info "$T/a.json.zst"
says 'packed with zstd: unpack it first'
run 3 info "$T/everything.pftrace"
says 'Perfetto traces are written, not read'
run 2 info -
says 'stdin is not read'
run 2 convert - -o "$T/again.json"
says 'stdin is not read'
cp "$T/everything.json" "$T/same.json"
run 2 convert "$T/same.json" -o "$T/same.json"
says 'is both what to read and -o'
cmp "$T/everything.json" "$T/same.json" || fail "an input was changed"

# Mistakes.
run 2 convert "$T/sample"
says 'say where to'
run 2 convert "$T/sample" -o "$T/x.trace"
says '.json, .json.gz or .pftrace'
run 2 convert "$T/nothing-here" -o "$T/x.json"
run 2 convert -o "$T/x.json"
mkdir "$T/empty"
run 3 convert "$T/empty" -o "$T/x.json"
run 2 convert "$T/sample" -o "$T/no/such/folder/x.json"
[ ! -e "$T/x.json" ] || fail "something was written"
[ -z "$(find "$T" -name '*.tmp')" ] || fail "temporary files: $(find "$T" -name '*.tmp')"

# Samples of other formats.
for name in kineto/two_ranks kineto/nccl ascend/text/level1 ascend/db/level1; do
    if [ -d "$PIPESCOPE_SHARED_DATA/$name" ]; then
        both shared 0 "$PIPESCOPE_SHARED_DATA/$name"
        again shared
    fi
done
command -v protoc >/dev/null 2>&1 || skip "no protoc here: all but its decoding was checked"
