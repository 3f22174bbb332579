#!/bin/sh
# Debian packages of this source into build/packages: made by CPack, judged by lintian, installed by apt into a Debian of their own (else
# unpacked), used there, removed again.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck disable=SC1091
. tests/release/tree.sh
T=$(mktemp -d)
trap 'tree_end; rm -rf "$T"' EXIT
out=$PWD/build/packages
bad=0

complain() {
    echo "packages: $*"
    bad=1
}

rm -rf "$out"
mkdir -p "$out" build/package
# shellcheck disable=SC2086 # words
if ! cmake -S . -B build/package -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr ${PACKAGE_OPTIONS-} >build/package/log 2>&1 ||
    ! cmake --build build/package --target all >>build/package/log 2>&1 ||
    ! (cd build/package && SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) cpack -B "$out") >>build/package/log 2>&1; then
    tail -n 20 build/package/log
    echo 'packages: not made'
    exit 1
fi
rm -rf "$out/_CPack_Packages"
(cd "$out" && ls -s ./*.deb)
python3 packaging/sbom.py "$out/pipescope.spdx.json"
python3 packaging/sbom.py --linked build/package/pipescope build/package/libpipescope.so build/package/libpipescope-record.so ||
    complain 'a library is in no table'

if command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$out"/*.deb || complain 'lintian'
else
    echo 'packages: no lintian here'
fi

# used TREE PLACE RUN...: the program, writing below PLACE, its recorder and its pages, as installed in the tree.
used() {
    tree=$1
    place=$2
    shift 2
    "$@" pipescope --quiet simulate 1f1b --pp 2 --microbatches 4 --profile "$place/job" >"$T/said" || complain 'simulate'
    "$@" pipescope chart "$place/job" >"$T/said" || complain 'chart'
    grep -q '· 1f1b · step 1 · bubble' "$T/said" || complain "the chart: $(head -n 3 "$T/said")"
    "$@" pipescope --quiet report "$place/job" -o "$place/report.html" >"$T/said" || complain 'report'
    "$@" pipescope --quiet record -o "$place/recorded" -- env >"$T/said" || complain 'record'
    grep -q 'PIPESCOPE_LIBRARY=.*/lib/.*/libpipescope-record.so.0' "$T/said" || complain "its recorder: $(cat "$T/said")"
    for file in man/man1/pipescope.1.gz man/man1/pipescope-chart.1.gz bash-completion/completions/pipescope doc/pipescope/THIRD_PARTY.txt; do
        [ -s "$tree/usr/share/$file" ] || complain "no $file"
    done
}

if tree_possible bookworm; then
    tree_new "$T/tree"
    mkdir "$T/tree/packages"
    cp "$out"/*.deb "$T/tree/packages"
    if tree_run "$T/tree" sh -c 'apt-get -q update && apt-get -q install -y --no-install-recommends /packages/*.deb' >"$T/log" 2>&1; then
        used "$T/tree" /tmp tree_run "$T/tree"
        tree_run "$T/tree" dpkg -V pipescope libpipescope0 libpipescope-record0 libpipescope-dev | grep -v 'missing.*/usr/share/\(doc\|man\)' &&
            complain 'files are not as packed'
        tree_run "$T/tree" apt-get -q purge -y pipescope libpipescope0 libpipescope-record0 libpipescope-dev >"$T/log" 2>&1 || complain 'removal'
        left=$(find "$T/tree/usr" "$T/tree/etc" -name '*pipescope*')
        [ -z "$left" ] || complain "left behind: $left"
        echo 'packages: installed by apt into a Debian of their own, used, removed'
    else
        tail -n 5 "$T/log"
        complain 'apt does not install them'
    fi
else
    echo "packages: no Debian to install into ($why): only unpacked"
    mkdir -p "$T/tree/tmp"
    for deb in "$out"/*.deb; do
        dpkg -x "$deb" "$T/tree"
    done
    used "$T/tree" "$T/tree/tmp" env PATH="$T/tree/usr/bin:$PATH"
fi
exit $bad
