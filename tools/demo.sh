#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make demo: record examples/indexer and show who held its memory.
#
#   tools/demo.sh [BUILD]      the directory with tidemark in it; the example is built there too
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}

cc -g -O2 examples/indexer/indexer.c -o "$build/indexer" -lpthread
echo "\$ $build/tidemark run -f -o $build/indexer.tide $build/indexer"
"$build/tidemark" run -f -o "$build/indexer.tide" "$build/indexer"
echo
echo "\$ $build/tidemark report --sort temp -n 3 $build/indexer.tide"
"$build/tidemark" report --sort temp -n 3 "$build/indexer.tide"
