# Sourced: . tests/release/tree.sh: a Debian of its own to install into and to build in, as root with debootstrap.
# shellcheck shell=sh

# tree_base SUITE [PACKAGES]. What the machine's own apt knows of mirrors holds in there, too.
tree_base() {
    base=$PWD/build/cache/debian-$1
    if [ ! -f "$base.done" ]; then
        rm -rf "$base"
        mkdir -p "${base%/*}"
        debootstrap --variant=minbase ${2:+"--include=$2"} "$1" "$base" >"$base.log" 2>&1 || return 1
        touch "$base.done"
    fi
}

# tree_possible SUITE [PACKAGES]: whether one can be made here; says why not.
tree_possible() {
    if [ "$(id -u)" != 0 ]; then
        why='not root'
    elif ! command -v debootstrap >/dev/null 2>&1; then
        why='no debootstrap'
    elif ! tree_base "$@"; then
        # shellcheck disable=SC2034 # for who asked
        why="debootstrap failed: $(tail -n 1 "$base.log")"
    else
        return 0
    fi
    return 1
}

# tree_new FOLDER [SUITE]: a fresh one.
tree_new() {
    cp -a "build/cache/debian-${2:-bookworm}" "$1"
    cp -a /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d/"
    rm -f "$1/etc/apt/apt.conf.d/"*docker*
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    tree_mounted="${tree_mounted-} $1"
    mount -t proc proc "$1/proc" 2>/dev/null || echo "no /proc in $1"
}

# tree_run FOLDER COMMAND...
tree_run() {
    folder=$1
    shift
    chroot "$folder" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# tree_arm64: packages of Debian for aarch64, unpacked and never run as a system: what a cross build needs, and a Python. Its place is $arm64_root.
tree_arm64() {
    arm64_root=$PWD/build/cache/debian-arm64
    [ ! -f "$arm64_root.done" ] || return 0
    rm -rf "$arm64_root"
    mkdir -p "${arm64_root%/*}"
    debootstrap --arch=arm64 --foreign --variant=minbase \
        --include=libc6-dev,libsqlite3-dev,libxxhash-dev,libisal-dev,libxlsxwriter-dev,libmicrohttpd-dev,libpcre2-dev,libedit-dev,libcmocka-dev,python3 \
        bookworm "$arm64_root" >"$arm64_root.log" 2>&1 || {
        tail -n 3 "$arm64_root.log"
        return 1
    }
    for deb in "$arm64_root"/var/cache/apt/archives/*.deb; do
        dpkg -x "$deb" "$arm64_root"
    done
    # Links from the root of a file system are such of this machine for a linker: libm.so leads nowhere.
    find "$arm64_root/usr/lib/aarch64-linux-gnu" -maxdepth 1 -lname '/*' | while read -r link; do
        ln -sfn "../../..$(readlink "$link")" "$link"
    done
    touch "$arm64_root.done"
}

# For a trap: nothing stays mounted.
tree_end() {
    for folder in ${tree_mounted-}; do
        umount "$folder/proc" 2>/dev/null || true
    done
}
