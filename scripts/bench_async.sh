#!/usr/bin/env bash
# Asynchronous traversal against serial programs: builds what is measured, then measures it (scripts/bench_async.py says what and how).
#   scripts/bench_async.sh [--scale N] [--repeats N] [--only SECTION] [--graph GRAPH[:SOURCE]]
# OUTERCORE_BENCH_DIR: where graphs are kept (target/bench).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked -p outercore-cli -p outercore-baselines
target=${CARGO_TARGET_DIR:-target}
exec "${PYTHON:-python3}" scripts/bench_async.py --binary "$target/release/outercore" --baselines "$target/release/baselines" \
    --dir "${OUTERCORE_BENCH_DIR:-$target/bench}" "$@"
