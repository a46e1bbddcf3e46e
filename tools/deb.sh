#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tools/deb.sh BUILD     the Debian package, of the tarball in BUILD/dist; it is left in BUILD/deb
#
# With TIDEMARK_STAGED (debian/rules) nothing is compiled.
set -eu
build=$(cd "$1" && pwd)
rm -rf "$build/deb"
mkdir "$build/deb"
tar -C "$build/deb" -xzf "$build"/dist/tidemark-*.tar.gz
cd "$build"/deb/tidemark-*
dpkg-buildpackage --build=binary --no-sign
ls "$build"/deb/*.deb
