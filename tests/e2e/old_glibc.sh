#!/bin/sh
# What is built calls nothing that the C library of 2012 (glibc 2.17) lacks: newer versions of a symbol are those of functions that it has,
# too, so that a build on an older system is a matter of that system alone (docs/versions.md).
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

command -v objdump >/dev/null 2>&1 || skip 'no objdump here'
case $(ldd --version 2>&1 | head -n 1) in *GLIBC* | *'GNU libc'*) ;; *) skip 'another C library' ;; esac
here=$(dirname "$PIPESCOPE_BIN")
objdump -T "$PIPESCOPE_BIN" "$here/libpipescope.so" "$here/libpipescope-record.so" >"$T/symbols" 2>/dev/null || skip 'a build without its libraries'
grep -q '__asan_init\|__tsan_init\|__gcov' "$T/symbols" && skip 'a build that calls a runtime of its compiler'

# In another version since: merged into libc (pthread_*, sem_*, dl*, 2.34), real functions instead of macros (stat, 2.33), fewer values of errno
# (log2, pow, exp, log, 2.29; fmod, 2.38), C23's numbers (__isoc23_*, 2.38).
known='pthread_[a-z_]*|sem_[a-z]*|timer_[a-z]*|dladdr|dlerror|dlinfo|dlopen|dlsym|dlclose|stat|fstat|lstat|fstatat|log2|pow|exp|log|fmod|__isoc23_[a-z]*|__libc_start_main|memcpy'
sed -n 's/.*(\{0,1\}GLIBC_2\.\([0-9]*\)[.0-9]*)\{0,1\} *\([A-Za-z_0-9]*\)$/\1 \2/p' "$T/symbols" | sort -u >"$T/versions"
[ "$(wc -l <"$T/versions")" -gt 50 ] || fail 'objdump says something else than it did'
awk '$1 > 17 { print $2 }' "$T/versions" | sort -u | grep -vxE "$known" >"$T/newer" || true
[ ! -s "$T/newer" ] || fail "glibc 2.17 has none of: $(tr '\n' ' ' <"$T/newer")"
