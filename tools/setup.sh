#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Install what the build, the tests, the linters and the benchmarks need on a Debian 12 machine.
#
#   tools/setup.sh [build] [test] [lint] [bench] [deb]      (no argument: build)
#
# Asks dpkg first: when everything is there it takes no privileges, no network and no time.
# An entry NAME:COMMAND is also satisfied by COMMAND on PATH (a toolchain installed by hand).
# Servers are installed for the tests to start on their own; none is left running by us.
set -eu

case $(uname -m) in
x86_64) other=aarch64 ;;
aarch64) other=x86-64 ;;
*) echo "setup: tidemark supports x86_64 and aarch64, not $(uname -m)" >&2; exit 1 ;;
esac

build="make meson ninja-build pkg-config gcc g++ libc6-dev libdw-dev libelf-dev libiberty-dev
  liblzma-dev libncurses-dev libzstd-dev libzydis-dev zlib1g-dev libmicrohttpd-dev
  libcurl4-openssl-dev scdoc python3"
# A release has its page built already, and builds no tests.
[ -e "$(dirname "$0")/../COMMIT" ] || build="$build libcmocka-dev nodejs:node npm:npm"
test="python3 binutils dwz jq zstd xz-utils procps strace clang libclang-rt-14-dev llvm lld
  qemu-user gcc-$other-linux-gnu g++-$other-linux-gnu
  libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 musl-tools valgrind libc6-dbg bubblewrap:bwrap
  heaptrack massif-visualizer
  google-perftools libgoogle-perftools-dev libjemalloc-dev golang-go:go
  rustc-web:rustc cargo-web:cargo perl git:git chromium:chromium
  sqlite3 redis-server redis-tools postgresql-15 postgresql-client-15 nginx-light:nginx zsh fish
  debuginfod libdebuginfod1 prometheus:prometheus tmux python3-pytest
  cmake:cmake libgtest-dev firefox-esr:firefox-esr"
lint="python3 binutils clang-format clang-tidy"
bench="python3 valgrind libc6-dbg heaptrack gdb libgoogle-perftools4 libjemalloc2 perl sqlite3 jq
  git:git redis-server redis-tools llvm chromium:chromium"
deb="dpkg-dev debhelper fakeroot lintian mmdebstrap"

wanted=
[ $# -gt 0 ] || set -- build
for group in "$@"; do
  case $group in
  build) wanted="$wanted $build" ;;
  test) wanted="$wanted $test" ;;
  lint) wanted="$wanted $lint" ;;
  bench) wanted="$wanted $bench" ;;
  deb) wanted="$wanted $deb" ;;
  *) echo "setup: no group '$group' (build, test, lint, bench, deb)" >&2; exit 2 ;;
  esac
done

# Debian's rustc has no musl target to install; rustup's is asked for it, and may be offline.
case " $* " in
*" test "*)
  if command -v rustup >/dev/null &&
    ! rustup target list --installed 2>/dev/null | grep -q musl; then
    rustup target add "$(uname -m)-unknown-linux-musl" >/dev/null 2>&1 || :
  fi ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; please see tools/setup.sh for what is needed" >&2
  exit 0
fi

names=
for entry in $wanted; do
  case $entry in
  *:*) command -v "${entry#*:}" >/dev/null || names="$names ${entry%:*}" ;;
  *) names="$names $entry" ;;
  esac
done
# shellcheck disable=SC2086  # a list of words
installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $names 2>/dev/null |
  sed -n 's/^ii  *//p' | tr '\n' ' ') "
missing=
for name in $names; do
  case "$installed $missing " in
  *" $name "*) ;;
  *) missing="$missing $name" ;;
  esac
done
[ -n "$missing" ] || exit 0

# The page alone needs these: where they cannot be had, it is left out (tools/build_page.py).
needed=
for name in $missing; do
  case $name in
  nodejs | npm) ;;
  *) needed="$needed $name" ;;
  esac
done
without_page() {
  [ -z "$needed" ] && [ "${CI:-}" != true ] && [ "${TIDEMARK_PAGE:-}" != required ]
}

as_root=
if [ "$(id -u)" != 0 ]; then
  as_root=$(command -v sudo) || {
    without_page && exit 0
    echo "setup: missing:$missing" >&2
    echo "setup: run as root or install sudo" >&2
    exit 1
  }
fi

# Installing a server package starts the server unless policy-rc.d says no.
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
if [ -e $policy ]; then
  trap 'rm -f "$log"' EXIT
else
  trap '$as_root rm -f $policy; rm -f "$log"' EXIT
  printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
  $as_root chmod 755 $policy
fi

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
    -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 || {
    without_page && exit 0
    cat "$log" >&2
    echo "setup: apt-get $1 failed" >&2
    exit 1
  }
}
echo "setup: installing$missing" >&2
apt update
# shellcheck disable=SC2086
apt install --no-install-recommends $missing
