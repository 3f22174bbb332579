#!/bin/sh
# The wheels of the package index, as ./dev wheel makes them. auditwheel finds that they fit every Linux since glibc 2.17. That of this machine is
# used in a fresh environment of each Python that is here (tests/python/test_wheel_installed.py) and on Debian 11, that of aarch64 under qemu-user,
# where the program says the same bytes. Exit status 77: they cannot be made here.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck disable=SC1091
. tests/release/tree.sh
T=$(mktemp -d)
trap 'tree_end; rm -rf "$T"' EXIT
bad=0
complain() {
    echo "wheels: $*"
    bad=1
}

for machine in x86_64 aarch64; do
    status=0
    ./dev wheel $machine >"$T/$machine.log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        tail -n 20 "$T/$machine.log"
        echo "wheels: none for $machine"
        exit $status
    fi
    wheel=$(tail -n 1 "$T/$machine.log")
    python3 -m zipfile -e "$wheel" "$T/$machine"
    chmod +x "$T/$machine/pipescope/pipescope"
    for auditwheel in build/cache/wheel-3*/bin/auditwheel; do :; done
    "$auditwheel" show "$wheel" >"$T/shown" || complain "auditwheel: $(cat "$T/shown")"
    tr -s '\n ' ' ' <"$T/shown" | grep -q "following platform tag: \"manylinux_2_17_$machine\"" || complain "$(head -n 5 "$T/shown")"
    echo "wheels: $(basename "$wheel"), $(($(wc -c <"$wheel") / 1024)) KiB"
done
[ "$(uname -m)" = x86_64 ] || {
    echo 'wheels: made, and not used on this machine'
    exit $bad
}

PIPESCOPE_WHEEL=$(echo "$PWD"/build/wheel/*_x86_64.whl) WHEEL_PYTHONS=${WHEEL_PYTHONS:-all} PIPESCOPE_BIN=$T/x86_64/pipescope/pipescope \
    python3 -B tests/python/test_wheel_installed.py >"$T/used" 2>&1 || complain "the wheel in use: $(cat "$T/used")"
grep -E '^skipped|^Ran ' "$T/used" | sed 's/^/wheels: /'

# The package unpacked in a Python: it records, by the extension where there is one, SQLite writes its database, which is opened.
cat >"$T/job.py" <<'TEXT'
import sys
from pipescope import _library, mstx
for step in range(2):
    for kind in ("F", "B"):
        with mstx.annotate("PP:0%s%d" % (kind, step), stream="current"):
            sum(range(1000))
assert (mstx._extension is not None) == (sys.version_info >= (3, 10))
assert _library.functions().path.startswith(sys.argv[1])
TEXT
cat >"$T/ask.py" <<'TEXT'
import platform, sys
import pipescope
capture = pipescope.open(sys.argv[1])
n = capture.sql("SELECT count(*) FROM slice WHERE name LIKE 'PP:%' AND kind = 'mark'").scalar()
print(platform.machine(), n, "bubble" in capture.chart().text)
TEXT

# A C library older than that of this machine: the oldest Debian that mirrors have.
if tree_possible bullseye python3; then
    tree_new "$T/old" bullseye
    cp -r "$T/x86_64" "$T/job.py" "$T/ask.py" "$T/old/tmp"
    # shellcheck disable=SC2016 # expanded in there
    tree_run "$T/old" sh -c 'cd /tmp && program=x86_64/pipescope/pipescope && $program --quiet simulate 1f1b --pp 2 --microbatches 4 --profile made &&
        $program chart made && $program --quiet cluster -m all -d made -o tables --export_type xlsx && export PYTHONPATH=/tmp/x86_64 &&
        PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=runs python3 job.py /tmp/x86_64/ && python3 ask.py runs' >"$T/said" 2>&1 ||
        complain "on Debian 11: $(tail -n 5 "$T/said")"
    [ "$(tail -n 1 "$T/said")" = 'x86_64 4 True' ] || complain "on Debian 11: $(tail -n 5 "$T/said")"
    echo "wheels: used with $(tree_run "$T/old" ldd --version | sed -n '1s/.*) /glibc /p')"
else
    echo "wheels: no Debian 11 to use it in ($why)"
fi

if ! command -v qemu-aarch64-static >/dev/null 2>&1 || ! tree_arm64; then
    echo 'wheels: no qemu-user-static, or no packages of aarch64: that wheel is made, and not used'
    exit $bad
fi
# on MACHINE COMMAND...
on() {
    machine=$1
    shift
    case $machine in
        x86_64) "$@" ;;
        aarch64) qemu-aarch64-static -L "$arm64_root" "$@" ;;
    esac
}

for machine in x86_64 aarch64; do
    mkdir "$T/of-$machine"
    (
        cd "$T/of-$machine"
        program=$T/$machine/pipescope/pipescope
        on "$machine" "$program" --quiet simulate 1f1b --pp 4 --microbatches 8 --filler 50 --profile made
        on "$machine" "$program" chart made
        on "$machine" "$program" info made --format json
        on "$machine" "$program" --quiet chart made -o chart.html
        on "$machine" "$program" --quiet report made -o report.html
        on "$machine" "$program" --quiet cluster -m all -d made -o tables --export_type xlsx
    ) >"$T/of-$machine.log" 2>&1 || complain "$machine: $(tail -n 5 "$T/of-$machine.log")"
done
cmp "$T/of-x86_64.log" "$T/of-aarch64.log" || complain 'aarch64 says something else'
diff -r "$T/of-x86_64" "$T/of-aarch64" >"$T/diff" || complain "aarch64 writes something else: $(head -n 5 "$T/diff")"

in_python() { PYTHONHOME=$arm64_root/usr PYTHONPATH=$T/aarch64 on aarch64 "$arm64_root/usr/bin/python3" "$@"; }
PIPESCOPE_RECORD=1 PIPESCOPE_OUTPUT_DIR=$T/runs in_python "$T/job.py" "$T/aarch64/" >"$T/said" 2>&1 || complain "the package of aarch64 records nothing: $(tail -n 5 "$T/said")"
said=$(in_python "$T/ask.py" "$T/runs" 2>&1) || true
[ "$said" = 'aarch64 4 True' ] || complain "the package of aarch64 opens no recording: $said"
[ $bad = 1 ] || echo 'wheels: under qemu-user aarch64 says and writes the same bytes, records, and opens its recording'
exit $bad
