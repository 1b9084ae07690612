#!/usr/bin/env bash
# Writes the golden graphs of the format's newest version, whose number is given, into crates/graph/tests/golden: once for each version, before it is released.
# Graphs that are there stay as they are. The test `the_builder_writes_the_same_bytes` holds the builder to them from then on.
#   scripts/golden.sh VERSION [FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?the number of the format\'s version}
golden=crates/graph/tests/golden
output=${2:-$golden/v$version}
mkdir -p "$output"

build() {
    local name=$1
    shift
    [ -e "$output/$name" ] && { echo "$output/$name is there already" >&2; return 1; }
    local vertices=$golden/inputs/$name.vertices.txt
    [ -e "$vertices" ] && set -- "$@" --vertices "$vertices"
    "${CARGO_TARGET_DIR:-target}/release/outercore" build "$golden/inputs/$name.txt" -o "$output/$name" --memory 96M --threads 1 --progress none "$@"
}

build undirected --undirected --weights none
build directed --directed --weights f32
build hybrid --directed --weights u32 --transpose off --order original --layout hybrid
build plain --directed --weights u32 --transpose off --order original --layout row
