#!/bin/sh
# The libraries that a wheel takes along, built from the distribution's own sources for MACHINE (x86_64, aarch64) and each C library since glibc
# 2.17 of 2012 (manylinux2014): packaging/wheel_libraries.sh MACHINE FOLDER.
# FOLDER gets bin/{cc,ar,ranlib}, which compile for them (cmake/wheel.cmake), and of each source package a folder with include, lib, version and copyright. The
# compiler is zig's clang, from the package index: it links with the C library of any year, for any machine. Exit status 77: compiler or sources
# cannot be had here.
set -eu
machine=$1
case $2 in /*) folder=$2 ;; *) folder=$PWD/$2 ;; esac
cd "$(dirname "$0")/.."
root=$PWD
cache=$root/build/cache
sources=$cache/wheel-sources
jobs=${PIPESCOPE_JOBS:-$(nproc)}

cannot() {
    echo "skipped: $*" >&2
    exit 77
}

# What was made is kept while this file stays as it is; what was broken off goes on.
made_by=$(cksum <packaging/wheel_libraries.sh)
[ "$(cat "$folder/made_by" 2>/dev/null)" = "$made_by" ] || rm -rf "$folder"
[ ! -f "$folder/complete" ] || exit 0
rm -rf "$folder/work"
mkdir -p "$folder/bin" "$folder/work"
echo "$made_by" >"$folder/made_by"

# --- the compiler ----------------------------------------------------------------------------------------------------------

zig=$cache/zig
if [ ! -f "$zig/complete" ]; then
    rm -rf "$zig"
    python3 -m venv "$zig" || cannot 'python3 has no venv (Debian: python3-venv)'
    "$zig/bin/pip" install -q --disable-pip-version-check --retries 1 --only-binary :all: 'ziglang>=0.17,<0.18' || cannot 'ziglang cannot be had'
    touch "$zig/complete"
fi
binary=$(echo "$zig"/lib/python3*/site-packages/ziglang/zig)

# tool NAME WORDS: a command of its own, as makefiles want one
tool() {
    # shellcheck disable=SC2016 # expanded when it runs
    printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR="%s" ZIG_LOCAL_CACHE_DIR="%s"\nexec "%s" %s "$@"\n' "$cache/zig-objects" "$cache/zig-objects" "$binary" \
        "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}
echo "$machine" >"$folder/machine"
tool cc "cc -target $machine-linux-gnu.2.17 -s -ffile-prefix-map=$folder/work=."
tool ar ar
tool ranlib ranlib
CC=$folder/bin/cc AR=$folder/bin/ar RANLIB=$folder/bin/ranlib CFLAGS='-O2 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2'
PKG_CONFIG_LIBDIR=$folder/none # nothing of this machine
export CC AR RANLIB CFLAGS PKG_CONFIG_LIBDIR

# --- sources ---------------------------------------------------------------------------------------------------------------

# Whatever mirror apt uses here, with lists of its own: those of the machine stay as they are.
from_apt() {
    command=$1
    shift
    "$command" -o Dir::Etc::sourcelist="$sources/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$sources/lists" \
        -o Dir::Cache="$sources/cache" -o APT::Sandbox::User= "$@"
}
for word in apt-get dpkg-source; do
    command -v $word >/dev/null 2>&1 || cannot "no $word here: sources are fetched with Debian's tools (dpkg-dev)"
done
if [ ! -s "$sources/sources.list" ]; then
    mkdir -p "$sources/lists/partial" "$sources/cache/archives/partial"
    distribution=$(sed -n 's/^ID=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format "\$(ORIGIN) deb-src [signed-by=/usr/share/keyrings/$distribution-archive-keyring.gpg] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
        'Created-By: Packages' | grep -i "^$distribution " | cut -d ' ' -f 2- | awk '!seen[$0]++' >"$sources/sources.list"
    [ -s "$sources/sources.list" ] || cannot 'apt has no lists of packages: apt-get update'
fi

# fetch PACKAGE: unpacked and patched, the newest that the mirror has.
fetch() {
    [ ! -d "$sources/$1" ] || return 0
    [ -n "${updated-}" ] || from_apt apt-get -q update >"$sources/update.log" 2>&1 || cannot "sources: $(tail -n 1 "$sources/update.log")"
    updated=yes
    rm -rf "$sources/new"
    mkdir "$sources/new"
    for version in $(from_apt apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -ruV); do
        if (cd "$sources/new" && from_apt apt-get -q source "$1=$version") >"$sources/$1.log" 2>&1; then
            mv "$sources"/new/*/ "$sources/$1"
            return 0
        fi
        echo "the sources of $1 $version cannot be had"
    done
    cannot "the sources of $1 cannot be had"
}

# --- building --------------------------------------------------------------------------------------------------------------

# in_source PACKAGE COMMAND...: in a copy of its source; what the command says is shown when it fails.
in_source() {
    place=$folder/work/$1
    package=$1
    shift
    [ -d "$place" ] || cp -a "$sources/$package" "$place"
    (cd "$place" && "$@") >>"$place.log" 2>&1 || {
        tail -n 20 "$place.log"
        echo "$package does not build for $machine"
        exit 1
    }
}

by_cmake() {
    package=$1
    shift
    in_source "$package" cmake -B of-wheel -DCMAKE_TOOLCHAIN_FILE="$root/cmake/wheel.cmake" -DWHEEL_LIBRARIES="$folder" -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX="$folder/$package" -DCMAKE_INSTALL_LIBDIR=lib "$@"
    in_source "$package" cmake --build of-wheel --parallel "$jobs" --target install
}

by_configure() {
    package=$1
    shift
    in_source "$package" ./configure --host="$machine-linux-gnu" --prefix="$folder/$package" --disable-static --enable-shared "$@"
    in_source "$package" make -j "$jobs" install
}

# One file, from Tcl as its authors make it; with what the distribution switches on.
build_sqlite3() {
    in_source sqlite3 env CC=cc CFLAGS= ./configure --disable-tcl # the same for each machine
    in_source sqlite3 make sqlite3.c
    switches=$(sed -n 's/.*\(-DSQLITE_[A-Z0-9_]*\(=[0-9]*\)\{0,1\}\).*/\1/; /^-D/p' "$sources/sqlite3/debian/rules")
    mkdir -p "$folder/sqlite3/lib" "$folder/sqlite3/include"
    # shellcheck disable=SC2086 # words
    in_source sqlite3 "$CC" $CFLAGS $switches -shared -Wl,-soname,libsqlite3.so.0 sqlite3.c -o "$folder/sqlite3/lib/libsqlite3.so.0" -lm -ldl -lpthread
    ln -s libsqlite3.so.0 "$folder/sqlite3/lib/libsqlite3.so"
    in_source sqlite3 cp sqlite3.h "$folder/sqlite3/include"
}

# The parts that inflate and deflate. Their assembly is written for these assemblers; the kernel's headers are zig's.
build_libisal() {
    case $machine in
        x86_64) set -- arch= AS=nasm ;;
        aarch64) set -- arch=aarch64 AS="aarch64-linux-gnu-gcc -D__ASSEMBLY__ -isystem ${binary%/*}/lib/libc/include/aarch64-linux-any" ;;
    esac
    in_source libisal make -f Makefile.unx -j "$jobs" units='crc igzip' host_cpu="$machine" CC="$CC" "$@" slib
    mkdir -p "$folder/libisal/lib" "$folder/libisal/include/isa-l"
    in_source libisal cp bin/libisal.so "$folder/libisal/lib/libisal.so.2"
    ln -s libisal.so.2 "$folder/libisal/lib/libisal.so"
    in_source libisal sh -c "cp include/*.h '$folder/libisal/include/isa-l'"
}

build_xxhash() {
    mkdir -p "$folder/xxhash/include"
    in_source xxhash cp xxhash.h "$folder/xxhash/include"
}

# Into libxlsxwriter.
build_zlib() {
    in_source zlib ./configure --static --prefix="$folder/zlib"
    in_source zlib make -j "$jobs" install
}
build_libxlsxwriter() { by_cmake libxlsxwriter; }
build_pcre2() {
    by_cmake pcre2 -DPCRE2_SUPPORT_JIT=ON -DPCRE2_BUILD_TESTS=OFF -DPCRE2_BUILD_PCRE2GREP=OFF
    rm "$folder"/pcre2/lib/libpcre2-posix.* # nobody's
}
build_libmicrohttpd() { by_configure libmicrohttpd --disable-https --disable-doc --disable-examples --disable-curl --disable-nls; }
# Of it only what finds out about terminals.
build_ncurses() {
    in_source ncurses sed -i 's/,-stats,-lc//' configure # an option of another linker
    in_source ncurses ./configure --host="$machine-linux-gnu" --prefix="$folder/ncurses" --with-build-cc=cc --with-shared --without-normal --without-debug \
        --without-cxx --without-ada --without-progs --without-tests --without-manpages --disable-db-install \
        --with-default-terminfo-dir=/usr/share/terminfo --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo
    for part in include ncurses; do
        in_source ncurses make -j "$jobs" -C $part install
    done
}
# The distribution takes five functions from libbsd, which libedit has, too.
build_libedit() {
    CPPFLAGS="-I$folder/ncurses/include/ncurses -I$folder/ncurses/include" LDFLAGS="-L$folder/ncurses/lib" LIBBSD_CFLAGS=-O2 LIBBSD_LIBS=-lc \
        by_configure libedit --disable-examples
}

for package in zlib sqlite3 libisal xxhash pcre2 libxlsxwriter libmicrohttpd ncurses libedit; do
    [ ! -f "$folder/$package/version" ] || continue
    fetch $package
    build_$package
    dpkg-parsechangelog -l "$sources/$package/debian/changelog" -S Version >"$folder/$package/version"
    cp "$sources/$package/debian/copyright" "$folder/$package/copyright"
    echo "$package $(cat "$folder/$package/version") for $machine"
done
rm -rf "$folder/work"
touch "$folder/complete"
