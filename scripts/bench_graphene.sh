#!/usr/bin/env bash
# Graphene's techniques on and off: builds what is measured, then measures it (scripts/bench_graphene.py says what and how).
#   scripts/bench_graphene.sh [--scale N] [--repeats N] [--only SECTION]
# OUTERCORE_BENCH_DIR: where graphs are kept (target/bench).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --locked -p outercore-cli
cargo build --release --locked -p outercore-engine --example random_lists
target=${CARGO_TARGET_DIR:-target}
exec "${PYTHON:-python3}" scripts/bench_graphene.py --binary "$target/release/outercore" --lists "$target/release/examples/random_lists" \
    --dir "${OUTERCORE_BENCH_DIR:-$target/bench}" "$@"
