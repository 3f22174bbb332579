#!/bin/sh
# Programs that know nothing of pipescope: one in C with NVTX's own headers, one in Python with the package nvtx. Both come from
# the Python package index; what cannot be had is named and left out.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
# shellcheck disable=SC1091
. tests/e2e/lib/record.sh
# shellcheck disable=SC1091
. tests/e2e/lib/packages.sh
command -v python3 >/dev/null || skip 'needs python3'
record_sanitized && skip 'programs without a sanitizer cannot load a library that has one'
NVTX_INJECTION64_PATH=$PIPESCOPE_RECORD_LIBRARY
export NVTX_INJECTION64_PATH
done=0

events() {
    sqlite3 "$1" "SELECT eventType, category, m.value, d.value FROM MSTX_EVENTS
        JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId ORDER BY connectionId"
}
payloads() {
    sqlite3 "$1" "SELECT m.value, form, color, payload FROM PIPESCOPE_NVTX JOIN MSTX_EVENTS USING (connectionId)
        JOIN STRING_IDS m ON m.id = message WHERE payload IS NOT NULL ORDER BY connectionId"
}

# --- a program in C ---
if ! command -v cc >/dev/null; then
    echo 'left out: the program with the official headers (no C compiler)'
elif headers=$(package nvidia-nvtx 13.4.92 60); then
    include=$(find "$headers" -type d -name nvtx3)
    cc -O1 -o "$T/official" -I"$(dirname "$include")" tests/e2e/lib/nvtx_official.c -ldl
    record_run "$T/c" "$T/official" >"$T/out"
    printf 'push 0 1 pop 1 0\nenabled 1\n' | diff -u - "$T/out"
    cat >"$T/want" <<TEXT
3|4294967295|mark|default
2|4294967295|outer|default
2|4294967295|inner|default
2|4294967295|wide é|default
3|4|registered|official
2|4294967295|with payload|official
3|4294967295|(no message)|official
TEXT
    events "$(record_database "$T/c")" | diff -u "$T/want" -
    cat >"$T/want" <<TEXT
with payload|1|0|{"bytes":4096,"peer":3,"label":"abc"}
(no message)|3|0|{"bytes":4096,"peer":3,"label":"abc"}
TEXT
    payloads "$(record_database "$T/c")" | diff -u "$T/want" -
    done=$((done + 1))
    # the same headers from C++: guards for a scope, categories by type, registered strings
    if command -v c++ >/dev/null; then
        cat >"$T/scopes.cpp" <<'TEXT'
#include <nvtx3/nvtx3.hpp>

struct library {
    static constexpr char const *name{"a library"};
};
struct kind {
    static constexpr char const *name{"a kind"};
    static constexpr uint32_t id{7};
};
struct text {
    static constexpr char const *message{"registered by type"};
};

static void function() {
    NVTX3_FUNC_RANGE_IN(library);
    nvtx3::mark_in<library>("mark in a library", nvtx3::payload{std::int32_t{-5}});
}

int main() {
    nvtx3::scoped_range outer{"scope"};
    nvtx3::scoped_range_in<library> inner{nvtx3::registered_string_in<library>::get<text>(),
                                          nvtx3::named_category_in<library>::get<kind>(),
                                          nvtx3::rgb{1, 2, 3}};
    nvtx3::unique_range unique{"unique"};
    function();
}
TEXT
        c++ -std=c++14 -o "$T/scopes" -I"$(dirname "$include")" "$T/scopes.cpp" -ldl
        record_run "$T/cpp" "$T/scopes"
        cat >"$T/want" <<TEXT
2|4294967295|scope|default
2|7|registered by type|a library
2|4294967295|unique|default
2|4294967295|function|a library
3|4294967295|mark in a library|a library
TEXT
        events "$(record_database "$T/cpp")" | diff -u "$T/want" -
        echo 'mark in a library|3|0|-5' >"$T/payload"
        payloads "$(record_database "$T/cpp")" | diff -u "$T/payload" -
    else
        echo 'left out: the program in C++ (no compiler)'
    fi
else
    echo 'left out: the program with the official headers (the package nvidia-nvtx cannot be had)'
fi

# --- Python ---
if python=$(package nvtx 0.2.17 60) && PYTHONPATH=$python python3 -c 'import nvtx' 2>/dev/null; then
    cat >"$T/program.py" <<'TEXT'
import nvtx

@nvtx.annotate("decorated", color="red", category="a kind")
def decorated():
    pass

with nvtx.annotate("outer", domain="mine", payload=12.5):
    with nvtx.annotate("inner"):
        decorated()
nvtx.mark("a mark", payload=3)
nvtx.end_range(nvtx.start_range("started"))
nvtx.push_range("pushed")
nvtx.pop_range()
TEXT
    record_run "$T/python" env PYTHONPATH="$python" python3 -B "$T/program.py"
    cat >"$T/want" <<TEXT
2|4294967295|outer|mine
2|4294967295|inner|default
2|1|decorated|default
3|4294967295|a mark|default
2|4294967295|started|default
2|4294967295|pushed|default
TEXT
    events "$(record_database "$T/python")" | diff -u "$T/want" -
    payloads "$(record_database "$T/python")" | cut -d'|' -f1,2,4 >"$T/got"
    printf 'outer|1|12.5\na mark|3|3\n' | diff -u - "$T/got"
    done=$((done + 1))
else
    echo 'left out: the package nvtx of Python (it cannot be had for this Python)'
fi
[ "$done" != 0 ] || skip 'neither nvidia-nvtx nor nvtx can be had'
