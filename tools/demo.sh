#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make demo: record examples/indexer and show who held its memory; then with the mistake mended, and
# what that changed.
#
#   tools/demo.sh [BUILD]      the directory with tidemark in it; the example is built there too
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
show cc -g -O2 examples/indexer/indexer.c -o "$build/indexer" -lpthread
show "$build/tidemark" run -f -o "$build/before.tide" "$build/indexer"
printf '\nThe queue of documents has no limit. With one of 64 documents:\n'
show "$build/tidemark" run -f -o "$build/after.tide" "$build/indexer" 12000 64
show "$build/tidemark" diff "$build/before.tide" "$build/after.tide"
if [ -s "$build/ui/page.html" ]; then
  printf '\nThe same as a page:  %s view %s\n' "$build/tidemark" "$build/before.tide"
else
  echo 'The page was left out: "make" adds it where npm is installed and reaches its registry.'
fi
