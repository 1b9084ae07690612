#!/usr/bin/env bash
# The benchmarks: builds what is measured, then measures it (scripts/bench.py says what and how).
#   scripts/bench.sh [--record] [--scale N] [--repeats N] [--only TEXT]
# BENCH_LARGE=1 adds a graph of scale 26 (a billion edges, 13 GB). OUTERCORE_BENCH_DIR: where graphs are kept (target/bench).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked -p outercore-cli
cargo build --release --locked -p outercore-graph --example edge_list
target=${CARGO_TARGET_DIR:-target}
exec "${PYTHON:-python3}" scripts/bench.py --binary "$target/release/outercore" --generator "$target/release/examples/edge_list" \
    --dir "${OUTERCORE_BENCH_DIR:-$target/bench}" "$@"
