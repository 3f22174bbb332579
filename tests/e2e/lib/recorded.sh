# Sourced by scripts that run recorded programs, after common.sh.
# shellcheck shell=sh

# forget_options: nothing in the environment that the recorder listens to.
forget_options() {
    for name in $(env | sed -n 's/^\(PIPESCOPE_[A-Z_]*\)=.*/\1/p'); do
        case $name in
            PIPESCOPE_BIN | PIPESCOPE_PROGRAMS | PIPESCOPE_RECORD_LIBRARY | PIPESCOPE_SHARED_DATA | PIPESCOPE_EXAMPLES) ;;
            *) unset "$name" ;;
        esac
    done
    unset RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID PADDLE_TRAINER_ID LD_PRELOAD NVTX_INJECTION64_PATH MSTX_INJECTION_PATH
}

# control FOLDER WORDS...: runs the program with that output folder below $T; the streams are $T/stdout and $T/stderr.
control() {
    PIPESCOPE_OUTPUT_DIR=$T/$1
    export PIPESCOPE_OUTPUT_DIR
    shift
    "$PIPESCOPE_PROGRAMS/record_control" "$@" >"$T/stdout" 2>"$T/stderr" ||
        fail "exit $?: record_control $*: $(cat "$T/stderr")"
}

# said WORDS: what the program printed, in one line.
said() { [ "$(tr '\n' ' ' <"$T/stdout")" = "$1 " ] || fail "printed $(cat "$T/stdout") instead of $1"; }

# recorded FOLDER [RANGES...]: the databases below $T/FOLDER have so many ranges, in ascending order; no raw file is left.
recorded() {
    folder=$1
    shift
    found=''
    [ ! -d "$T/$folder" ] || found=$(databases "$T/$folder" | while read -r path; do
        sql "$path" 'SELECT count(*) FROM MSTX_EVENTS'
    done | sort -n | tr '\n' ' ')
    [ "${found% }" = "$*" ] || fail "in $folder: $found instead of $*; $(cat "$T/stderr")"
    [ -z "$(find "$T/$folder" -name FRAMEWORK 2>/dev/null)" ] || fail "raw files in $folder"
}
