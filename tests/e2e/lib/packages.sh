# Packages that only some tests need: fetched once, kept below build/cache, absent where they cannot be had.
# shellcheck shell=sh

# package NAME VERSION SECONDS: prints the folder with the package's content; fails within the time otherwise. A second test that
# wants it at the same moment waits for the first.
package() {
    package_dir=$PWD/build/cache/$1-$2
    mkdir -p "$PWD/build/cache"
    (
        flock -w "$3" 9 || exit 1
        test -e "$package_dir/complete" && exit 0
        rm -rf "$package_dir"
        mkdir -p "$package_dir/wheel"
        timeout "$3" python3 -m pip download -q --disable-pip-version-check --no-input --retries 1 --timeout 10 --no-deps \
            --only-binary :all: -d "$package_dir/wheel" "$1==$2" >"$package_dir/log" 2>&1 &&
            python3 -m zipfile -e "$package_dir"/wheel/*.whl "$package_dir" &&
            rm -r "$package_dir/wheel" && : >"$package_dir/complete"
    ) 9>"$package_dir.lock" || return 1
    printf '%s\n' "$package_dir"
}
