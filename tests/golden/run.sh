#!/bin/sh
# Runs one golden case and compares what the program prints, byte for byte.
#
#   PIPESCOPE_BIN=build/release/pipescope tests/golden/run.sh [--update] tests/golden/<area>/<case>
#
# A case is a folder with
#   cmd         shell command line(s), run in the repository root; `pipescope` is the program under test,
#               $T a fresh folder that is removed afterwards, $DATA is tests/data
#   expect.txt  what cmd prints on stdout and stderr together, then a line `exit N`; the path of $T reads `$T`
#   setup       optional: shell lines run before cmd; their output is not compared
#   needs       optional: paths (from the repository root, one a line) without which the case is skipped
# Exit status: 0 equal (or updated), 1 different, 77 skipped.
set -u

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -ne 1 ] || [ ! -f "$1/cmd" ]; then
    echo "usage: tests/golden/run.sh [--update] tests/golden/<area>/<case>" >&2
    exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
case_dir=$(CDPATH='' cd -- "$1" && pwd)
name=${case_dir#"$here"/}

program=${PIPESCOPE_BIN:-$root/build/release/pipescope}
if [ ! -x "$program" ]; then
    echo "$name: no program at $program" >&2
    exit 1
fi
bin_dir=$(CDPATH='' cd -- "$(dirname -- "$program")" && pwd)
cd "$root" || exit 1

if [ -f "$case_dir/needs" ]; then
    while read -r path; do
        case $path in '' | '#'*) continue ;; esac
        if [ ! -e "$path" ]; then
            echo "skipped: $name needs $path"
            exit 77
        fi
    done <"$case_dir/needs"
fi

scratch=$(mktemp -d) || exit 1
scratch=$(CDPATH='' cd -- "$scratch" && pwd -P)
cleanup() {
    chmod -R u+w "$scratch" 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# $T is a folder of its own inside the scratch folder, so that what the runner writes is not in the way.
T=$scratch/t
DATA=tests/data
PATH=$bin_dir:$PATH
LC_ALL=C
TZ=UTC0
export T DATA PATH LC_ALL TZ
unset NO_COLOR
mkdir "$T" || exit 1

if [ -f "$case_dir/setup" ] && ! sh -e "$case_dir/setup" >"$scratch/setup.log" 2>&1 </dev/null; then
    echo "$name: setup failed:" >&2
    cat "$scratch/setup.log" >&2
    exit 1
fi
sh "$case_dir/cmd" >"$scratch/raw" 2>&1 </dev/null
status=$?

# The path of $T as a pattern: it comes from TMPDIR and may hold anything.
pattern=$(printf '%s\n' "$T" | sed 's/[][\\.*^$|]/\\&/g')
sed "s|$pattern|\$T|g" "$scratch/raw" >"$scratch/got"
if [ -s "$scratch/got" ] && [ -n "$(tail -c 1 "$scratch/got" | tr -d '\n\0')" ]; then
    printf '\n\\ no newline at the end of the output\n' >>"$scratch/got"
fi
echo "exit $status" >>"$scratch/got"

expect=$case_dir/expect.txt
if cmp -s "$expect" "$scratch/got"; then
    exit 0
fi
if [ $update = yes ]; then
    cat "$scratch/got" >"$expect" || exit 1
    echo "updated $name"
    exit 0
fi
if [ ! -f "$expect" ]; then
    echo "$name: no expect.txt (./dev golden-update $name writes it); the program printed:" >&2
    cat "$scratch/got" >&2
    exit 1
fi
echo "$name: the output differs (- expected, + printed); ./dev golden-update $name accepts it" >&2
diff -a -u "$expect" "$scratch/got" | tail -n +3 >&2
exit 1
