#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A shim, as version managers put before a program: a script that looks about with a few
# processes of its own and then execs the real thing. The real thing must be what is shown.
#
# uses: shim_target
# truth@exe:shim_target: site ^grab: allocations=5000, bytes=5000*1000, live_blocks=5000
# truth@exe:shim_target: total: allocations=5000, peak_bytes=5000000
# truth: capture: images>=2, shown=shim_target
# qemu: no
here=$(dirname "$0")
version=$(echo 3.11 | sed 's/11/12/')
[ "$version" = 3.12 ] || exit 1
exec "$here/shim_target" "$@"
