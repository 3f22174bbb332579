#!/bin/sh
# packaging/Dockerfile, by a builder of images where there is one, else step by step in trees of Debian: FROM, COPY and RUN as they stand there.
# IMAGE_BUILD_TYPE: of the steps in trees, Debug compiles quicker.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck disable=SC1091
. tests/release/tree.sh
for builder in docker podman; do
    if command -v $builder >/dev/null 2>&1 && $builder info >/dev/null 2>&1; then
        $builder build -q -f packaging/Dockerfile -t pipescope-check . && $builder run --rm pipescope-check version
        exit
    fi
done
tree_possible bookworm || {
    echo "image: neither a builder nor a tree ($why): not checked"
    exit 0
}
T=$(mktemp -d)
trap 'tree_end; rm -rf "$T"' EXIT
echo 'image: no builder here: its steps in trees'

# The lines of the file with continued ones joined.
sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}' -e '/^#/d' -e '/^$/d' packaging/Dockerfile |
    sed "s/RelWithDebInfo/${IMAGE_BUILD_TYPE:-RelWithDebInfo}/" >"$T/steps"
stage=''
user=root
while read -r word rest; do
    case $word in
        FROM)
            case $rest in *' AS '*) name=${rest##* AS } ;; *) name=last ;; esac
            stage=$T/$name
            user=root
            tree_new "$stage"
            ;;
        COPY)
            case $rest in
                --from=*)
                    from=${rest#--from=}
                    from=${from%% *}
                    rest=${rest#* }
                    cp -a "$T/$from/${rest%% *}." "$stage/${rest##* }"
                    ;;
                '. '*) # what .dockerignore leaves: what git knows
                    mkdir -p "$stage/${rest##* }"
                    git archive HEAD | tar -x -C "$stage/${rest##* }"
                    ;;
                *)
                    echo "image: an unknown COPY: $rest"
                    exit 1
                    ;;
            esac
            ;;
        RUN)
            tree_run "$stage" sh -c "$rest" >"$T/log" 2>&1 </dev/null || {
                tail -n 10 "$T/log"
                echo "image: failed: $rest"
                exit 1
            }
            ;;
        USER) user=$rest ;;
        WORKDIR) mkdir -p "$stage$rest" ;;
        ENTRYPOINT) entry=$(printf '%s' "$rest" | tr -d '[]" ') ;;
        *)
            echo "image: an unknown step: $word"
            exit 1
            ;;
    esac
done <"$T/steps"
tree_run "$stage" su "$user" -c "$entry version && $entry --quiet simulate 1f1b --pp 2 --microbatches 4" >"$T/said" || {
    cat "$T/said"
    echo 'image: the program does not run as its user'
    exit 1
}
du -sm --exclude=proc "$stage" | sed 's/\t.*/ MB/; s/^/image: the steps pass; the last stage has /'
