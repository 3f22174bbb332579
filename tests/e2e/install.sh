#!/bin/sh
# What `cmake --install` leaves is whole: the program finds its recorder there, programs are built against it with pkg-config and with
# find_package, and run; the manual and the completions are those of the program.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh

build=$(dirname "$PIPESCOPE_BIN")
if [ ! -d "$build/generated/told" ]; then
    skip 'builds with sanitizers are not installed'
fi
cmake --install "$build" --prefix "$T/first" >"$T/log" || fail "cmake --install: $(tail -n 5 "$T/log")"
mv "$T/first" "$T/prefix" # an installation may be moved
prefix=$T/prefix
lib=$(dirname "$(find "$prefix" -name libpipescope.so)")
version=$(pipescope version | cut -d ' ' -f 2)

# --- what is there ---

for name in libpipescope libpipescope-record; do
    [ "$(readlink "$lib/$name.so")" = $name.so.0 ] || fail "$name.so"
    [ "$(readlink "$lib/$name.so.0")" = "$name.so.$version" ] || fail "$name.so.0"
    objdump -p "$lib/$name.so" | grep -q "SONAME *$name.so.0\$" || fail "the name of $name"
    if objdump -p "$lib/$name.so" "$prefix/bin/pipescope" | grep 'R\(UN\)\?PATH' >"$T/paths"; then
        fail "paths of the build: $(cat "$T/paths")"
    fi
done
for file in include/pipescope/arrow.h share/doc/pipescope/LICENSE share/doc/pipescope/THIRD_PARTY.txt \
    share/bash-completion/completions/pipescope share/zsh/site-functions/_pipescope \
    share/fish/vendor_completions.d/pipescope.fish share/pipescope/python/pipescope/__init__.py; do
    [ -s "$prefix/$file" ] || fail "no $file"
done
cmp -s LICENSE "$prefix/share/doc/pipescope/LICENSE" || fail 'another licence'

# --- the program of the installation, with its own recorder ---

"$prefix/bin/pipescope" record -o "$T/recorded" -- env >"$T/stdout" 2>"$T/stderr" ||
    fail "record: $(cat "$T/stderr")"
says_out "PIPESCOPE_LIBRARY=$lib/libpipescope-record.so"
# Where only what runs is there.
rm "$lib/libpipescope-record.so"
"$prefix/bin/pipescope" record -o "$T/recorded" -- env >"$T/stdout" 2>"$T/stderr" || fail "record: $(cat "$T/stderr")"
says_out "PIPESCOPE_LIBRARY=$lib/libpipescope-record.so"
ln -s libpipescope-record.so.0 "$lib/libpipescope-record.so"

# --- programs of others ---

profile=$DATA/torch_pipeline/gpipe
rows=$(pipescope --quiet query "$profile" 'SELECT count(*) FROM slice' --as csv | tail -n 1 | tr -d '\r')
# consumer PROGRAM: says the same as the program
consumer() {
    (cd "$T" && PIPESCOPE_QUIET=1 LD_LIBRARY_PATH=$lib "$1" "$OLDPWD/$profile") >"$T/stdout" 2>"$T/stderr" || fail "$1: $(cat "$T/stderr")"
    says_out "$version $version $rows rows, range recorded"
}
if command -v pkg-config >/dev/null 2>&1; then
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    [ "$(pkg-config --modversion pipescope)" = "$version" ] || fail 'the version of pipescope.pc'
    # shellcheck disable=SC2046 # words
    cc -std=c11 -Wall -Wextra -Werror tests/e2e/lib/consumer/consumer.c -o "$T/by_pkg_config" \
        $(pkg-config --cflags --libs pipescope pipescope-record) || fail 'pkg-config'
    consumer "$T/by_pkg_config"
else
    echo 'left out: no pkg-config here'
fi
{
    cmake -S tests/e2e/lib/consumer -B "$T/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
    cmake --build "$T/consumer"
} >"$T/log" 2>&1 || fail "find_package: $(tail -n 5 "$T/log")"
consumer "$T/consumer/consumer"

# --- the manual ---

pipescope help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' >"$T/verbs"
[ -s "$T/verbs" ] || fail 'no commands'
while read -r verb; do
    page=$prefix/share/man/man1/pipescope-$verb.1
    pipescope help "$verb" --man | cmp -s - "$page" || fail "the page of $verb"
    # Each option of the help is on the page.
    pipescope help "$verb" | grep -o '^  .\{4\}--[a-z0-9_-]*' | sed 's/.*--//; s/-/\\\\-/g' | while read -r option; do
        grep -q "^\(.*, \)\?.fB.-.-$option.fR" "$page" || fail "no $option on the page of $verb"
    done || exit 1
    grep -q "pipescope.-$(echo "$verb" | sed 's/-/.-/g') (1)" "$prefix/share/man/man1/pipescope.1" || fail "no $verb in the list"
done <"$T/verbs"
if command -v groff >/dev/null 2>&1; then
    for page in "$prefix"/share/man/man1/*.1; do
        groff -man -K utf8 -T utf8 -ww "$page" >"$T/page" 2>"$T/stderr" || fail "$page"
        [ ! -s "$T/stderr" ] || fail "$page: $(cat "$T/stderr")"
    done
    groff -man -K utf8 -T utf8 -P -cbou "$prefix/share/man/man1/pipescope-chart.1" >"$T/stdout"
    says_out '--against SCHEDULE'
else
    echo 'left out: no groff here'
fi

# --- completions ---

if command -v zsh >/dev/null 2>&1; then
    # The first word that is completed already counts.
    cat >"$T/zsh.sh" <<'ZSH'
fpath=($1 $fpath)
autoload -Uz compinit && compinit -u -d $2
[[ $_comps[pipescope] == _pipescope ]] || exit 1
autoload -Uz bashcompinit && bashcompinit
_bash_complete() { print -- "asked: $*" }
_pipescope
ZSH
    zsh -f "$T/zsh.sh" "$prefix/share/zsh/site-functions" "$T/dump" >"$T/stdout" 2>"$T/stderr" || fail "zsh: $(cat "$T/stderr")"
    says_out 'asked: -o default -F _pipescope'
fi
