# Sourced by the scripts that run what docs/scale.md tells people to run.
# shellcheck shell=sh

scale_doc=$PWD/docs/scale.md

# recipe HEADING LANGUAGE [N]: the first or N-th block of that language below the heading, given with its "#"
recipe() {
    awk -v heading="$1" -v fence="\`\`\`$2" -v wanted="${3:-1}" '
        $0 == heading { below = 1 }
        inside && $0 == "```" { exit }
        inside { print }
        below && $0 == fence && ++n == wanted { inside = 1 }' "$scale_doc"
}
