#!/bin/sh
# packaging/pipescope.spec by rpmbuild, from an archive of the last commit. Where the machine is no RPM distribution its dependencies are not
# looked up. RPM_STAGE=-bp only unpacks; RPM_OPTIONS: of CMake, as -DCMAKE_BUILD_TYPE=Debug, which compiles quicker.
set -eu
cd "$(dirname "$0")/../.."
command -v rpmbuild >/dev/null 2>&1 || {
    echo 'rpm: no rpmbuild here'
    exit 0
}
top=$PWD/build/rpm
version=$(sed -n 's/.*PS_VERSION "\(.*\)".*/\1/p' src/base/version.h)
rm -rf "$top"
mkdir -p "$top/SOURCES"
git archive --prefix="pipescope-$version/" -o "$top/SOURCES/pipescope-$version.tar.gz" HEAD
if ! rpmbuild "${RPM_STAGE:--bb}" --nodeps --define "_topdir $top" --define "version_of_source $version" \
    --define "pipescope_options ${RPM_OPTIONS:--DPIPESCOPE_DEV=OFF}" packaging/pipescope.spec >"$top/log" 2>&1; then
    tail -n 20 "$top/log"
    echo 'rpm: rpmbuild refuses'
    exit 1
fi
for package in "$top"/RPMS/*/*.rpm; do
    [ -f "$package" ] || break
    echo "rpm: $(basename "$package"), $(rpm -qpl "$package" | wc -l) files"
done
echo "rpm: rpmbuild ${RPM_STAGE:--bb} passed"
