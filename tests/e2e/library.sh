#!/bin/sh
# libpipescope.so through its public header alone: the rows and pictures are those of the commands, numbers have a point in every locale, and
# no symbol but those of the header is visible.
# threads: a library that several threads ask
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
: "${PIPESCOPE_ANALYSIS_LIBRARY:?}"

client=$PIPESCOPE_PROGRAMS/library_client
sample "$T/marks"

# --- what is visible ---

grep -o 'ps_lib_[a-z_]*(' include/pipescope/pipescope.h | tr -d '(' | sort -u >"$T/declared"
nm -D --defined-only "$PIPESCOPE_ANALYSIS_LIBRARY" | awk '$2 ~ /^[TDBRVW]$/ { sub(/@.*/, "", $3); print $3 }' | sort -u >"$T/visible"
grep -qx ps_lib_open "$T/visible" || fail "what the library shows: $(cat "$T/visible")"
if others=$(grep -vxF -f "$T/declared" "$T/visible" | grep -v '^__\(asan\|ubsan\|tsan\|sanitizer\|gcov\|llvm\)'); then
    fail "symbols that are in no header: $others"
fi
while read -r name; do
    grep -qx "$name" "$T/visible" || fail "$name is declared and not there"
done <"$T/declared"
objdump -p "$PIPESCOPE_ANALYSIS_LIBRARY" | grep -q 'SONAME *libpipescope.so.0$' || fail 'its name for programs'
# The headers stand alone, also in C++.
echo '#include <pipescope/pipescope.h>' >"$T/alone.c"
cc -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$T/alone.c"
if command -v c++ >/dev/null 2>&1; then
    c++ -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ "$T/alone.c"
fi

# --- what it says ---

"$client" checks "$T/marks" >"$T/stdout" || fail 'the client'
says_out 'checks'
for sql in 'SELECT rank, kind, count(*) AS n, sum(dur_ns) AS total_ns FROM slice GROUP BY rank, kind ORDER BY 1, 2' \
    'SELECT rank, id, name, start_ns, step FROM slice' 'SELECT * FROM PipelineBubble' 'SELECT name FROM slice WHERE 0'; do
    pipescope query "$T/marks" "$sql" --as csv | tr -d '\r' >"$T/wanted"
    "$client" rows "$T/marks" "$sql" >"$T/got"
    cmp "$T/wanted" "$T/got" || fail "rows of: $sql"
done
for form in svg html json; do
    pipescope chart "$T/marks" -o "$T/chart.$form" >"$T/stdout"
    "$client" form "$T/marks" chart $form >"$T/got"
    cmp "$T/chart.$form" "$T/got" || fail "the chart as $form"
done
pipescope report "$T/marks" -o "$T/report.json" >"$T/stdout"
"$client" form "$T/marks" report json >"$T/got"
cmp "$T/report.json" "$T/got" || fail 'the report'
pipescope whatif "$T/marks" --without stage=last -o "$T/whatif.json" >"$T/stdout"
"$client" form "$T/marks" whatif json without=stage=last >"$T/got"
cmp "$T/whatif.json" "$T/got" || fail 'the question'

# Where decimals have a comma (the locale is made here; without its source this part says so).
if mkdir "$T/locales" && localedef -i de_DE -f UTF-8 "$T/locales/de_DE.UTF-8" >"$T/log" 2>&1; then
    LOCPATH=$T/locales LC_ALL=de_DE.UTF-8 "$client" form "$T/marks" chart svg >"$T/got"
    cmp "$T/chart.svg" "$T/got" || fail 'the chart where decimals have a comma'
else
    echo 'no locale with a decimal comma'
fi
