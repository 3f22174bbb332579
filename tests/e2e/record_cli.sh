#!/bin/sh
# `pipescope record` around commands that record nothing: exit statuses, streams, environment, the library, other tools.
set -eu
# shellcheck disable=SC1091
. tests/e2e/lib/common.sh
[ -f "${PIPESCOPE_RECORD_LIBRARY-}" ] || skip 'no recorder library in this build'
unset PYTHONPATH PIPESCOPE_LIBRARY PIPESCOPE_OUTPUT_DIR MSTX_INJECTION_PATH NVTX_INJECTION64_PATH LD_PRELOAD PIPESCOPE_LAUNCH
root=$PWD
library=$(realpath "$PIPESCOPE_RECORD_LIBRARY")
cd "$T"

# The command's exit status; 128 + N for a signal; what shells say of commands that cannot be run.
run 0 record -- true
says 'nothing was recorded'
says 'add --preload'
says 'trains no pipeline of a framework that is known'
says 'pipescope.hook_modules() records calls of modules, pipescope.record_ops() operators'
says 'started with -I, -E or -S, or the program replaces PYTHONPATH'
run 0 record --no_patch -- true
says '--no_patch leaves pipelines of frameworks without labels'
run 0 record -- "$PIPESCOPE_PROGRAMS/forks"
says 'it forked, and forked processes record only with --follow_fork'
run 0 record -o followed --follow_fork -- "$PIPESCOPE_PROGRAMS/forks"
if grep -q "nothing was recorded" "$T/stderr"; then fail "the child did not record: $(cat "$T/stderr")"; fi
run 7 record -- sh -c 'exit 7'
says 'the command failed, with status 7, before it recorded anything'
run 137 record -- sh -c 'kill -KILL $$'
says 'the command was ended by signal 9 (Killed) before it recorded anything'
run 143 record -- sh -c 'kill -TERM $$'
run 127 record -- no-such-program
says "cannot run 'no-such-program': there is no such program in PATH"
run 127 record -- ./no-such-program
says 'No such file or directory'
printf '#!/no/such/interpreter\n' >script
run 126 record -- ./script
says 'Permission denied'
chmod +x script
run 127 record -- ./script
says 'interpreter or loader that it names is missing'
run 126 record -- "$T"
printf 'exit 5\n' >script # no first line: a script of sh, as for shells
run 5 record -- ./script

# The words behind the command are its own, also without --.
run 0 record sh -c 'printf "%s|" "$@"' name --quiet -o x --
says_out '--quiet|-o|x|--|'

# The standard streams are the command's; --quiet leaves nothing of ours.
printf 'in\n' | pipescope record --quiet -- sh -c 'cat; echo err >&2' >out 2>err
[ "$(cat out)" = in ] || fail "stdout: $(cat out)"
[ "$(cat err)" = err ] || fail "stderr: $(cat err)"
run 0 record -- sh -c 'test ! -e /dev/fd/0 && echo closed' <&-
says_out closed
pipescope record --quiet -- sh -c 'ls -l /proc/self/fd | wc -l' >out
sh -c 'ls -l /proc/self/fd | wc -l' >plain
cmp out plain || fail 'the command has files open that are ours'

# What it finds in its environment.
pipescope record --quiet -o 'out dir' --window 3:7 --keep-raw --domain_include a,b --rank 5 -- env >out
for line in "MSTX_INJECTION_PATH=$library" "NVTX_INJECTION64_PATH=$library" "PIPESCOPE_LIBRARY=$library" \
    PIPESCOPE_RECORD=1 "PIPESCOPE_OUTPUT_DIR=$T/out dir" PIPESCOPE_WINDOW=3:7 PIPESCOPE_KEEP_RAW=1 PIPESCOPE_RANK=5 \
    PIPESCOPE_DOMAIN_INCLUDE=a,b PIPESCOPE_QUIET=1; do
    grep -qxF "$line" out || fail "not in the environment: $line"
done
if grep -q '^LD_PRELOAD=\|^PIPESCOPE_BACKEND=' out; then
    fail "too much in the environment: $(cat out)"
fi
# Python's startup file, first and once, whatever is launched inside; not with --no_patch, where the variable is left alone.
startup=$(sed -n 's/^PYTHONPATH=//p' out)
[ -f "$startup/sitecustomize.py" ] || fail "no sitecustomize.py in PYTHONPATH=$startup"
[ "$(PYTHONPATH=a:b pipescope record --quiet -- pipescope record --quiet -- printenv PYTHONPATH)" = "$startup:a:b" ] ||
    fail 'PYTHONPATH of a launch in a launch'
[ "$(PYTHONPATH=a:b pipescope record --quiet --no_patch -- printenv PYTHONPATH)" = a:b ] || fail 'PYTHONPATH with --no_patch'
[ -d 'out dir' ] || fail 'the output folder was not made'
first=$(pipescope record --quiet -- printenv PIPESCOPE_LAUNCH)
second=$(pipescope record --quiet -- printenv PIPESCOPE_LAUNCH)
[ "$first" != "$second" ] || fail "two launches are called '$first'"
inner=$(pipescope record --quiet --launch job7 -- pipescope record --quiet -- printenv PIPESCOPE_LAUNCH)
case $inner in job7+*+*) ;; *) fail "an inner launch is called '$inner'" ;; esac
PIPESCOPE_OUTPUT_DIR=given pipescope record --quiet -- printenv PIPESCOPE_OUTPUT_DIR >out
[ "$(cat out)" = "$T/given" ] || fail "PIPESCOPE_OUTPUT_DIR became $(cat out)"

# Other tools.
NVTX_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so run 2 record -- true
says 'NVTX_INJECTION64_PATH names another tool already (/opt/nsys/libToolsInjection64.so)'
says '--chain'
NVTX_INJECTION64_PATH=/opt/tool.so run 0 record --chain -- env
says_out "NVTX_INJECTION64_PATH=$library"
says_out PIPESCOPE_NVTX_CHAIN=/opt/tool.so
NVTX_INJECTION64_PATH=/opt/tool.so PIPESCOPE_NVTX_CHAIN=/opt/tool.so run 0 record -- env
says_out "NVTX_INJECTION64_PATH=$library"
ln -s "$library" same.so
NVTX_INJECTION64_PATH=$T/same.so MSTX_INJECTION_PATH=$T/same.so run 0 record -- true
MSTX_INJECTION_PATH=/opt/tool.so run 2 record -- true
says 'MSTX_INJECTION_PATH names another tool already'

# The library: named, beside the program, in ../lib of it, nowhere.
printf 'no library\n' >text.so
run 1 record --library text.so -- true
says 'cannot load the library'
run 0 record --library same.so -- env
says_out "PIPESCOPE_LIBRARY=$library"
PIPESCOPE_LIBRARY=$T/same.so run 0 record -- env
says_out "PIPESCOPE_LIBRARY=$library"
mkdir -p tree/bin tree/lib
cp "$PIPESCOPE_BIN" tree/bin/pipescope
got=0
tree/bin/pipescope record -- true 2>err || got=$?
[ "$got" = 1 ] || fail "exit $got without a library"
grep -q -- '--library FILE' err || fail "no remedy: $(cat err)"
cp "$library" tree/lib/libpipescope-record.so
tree/bin/pipescope record -- env >out 2>err
grep -qxF "PIPESCOPE_LIBRARY=$T/tree/lib/libpipescope-record.so" out || fail "not found in ../lib: $(cat err)"
mv tree/lib/libpipescope-record.so tree/elsewhere.so
mkdir path && mv tree/elsewhere.so path/libpipescope-record.so
LD_LIBRARY_PATH=$T/path tree/bin/pipescope record -- env >out 2>err
grep -qxF "PIPESCOPE_LIBRARY=$T/path/libpipescope-record.so" out || fail "not found by the loader: $(cat err)"

# Before all libraries. Sanitizers do not let themselves be loaded into a program that has none.
if ! grep -q '__asan_init\|__tsan_init' "$library"; then
    LD_PRELOAD=$library run 0 record --preload -- env
    says_out "LD_PRELOAD=$library:$library"
    mkdir 'a b'
    cp "$library" "a b/libpipescope-record.so"
    run 2 record --preload --library 'a b/libpipescope-record.so' -- true
    says 'takes no blanks or colons'
fi

# A folder that cannot be written to is told before the program runs.
echo file >not-a-folder
run 1 record -o not-a-folder -- touch ran
[ ! -e ran ] || fail 'the command ran although nothing could be kept'

pipescope help record >out
grep -q -- '--domain_exclude' out || fail 'help does not list the options'
cd "$root"
