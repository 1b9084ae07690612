#!/usr/bin/env bash
# A tour in under a minute: a real graph with names, then one that is larger than its memory budget. Everything is made under target/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

make --no-print-directory build
target=${CARGO_TARGET_DIR:-target}
demo=$target/demo
rm -rf "$demo"
mkdir -p "$demo"
PATH=$(cd "$target/release" && pwd):$PATH

say() { printf '\n%s\n' "$*"; }
# Shows a command as one would type it, then runs it.
run() { printf '\n$ %s\n' "$*"; "$@"; }

say "== 1. The packages of Debian 12: an edge from each package to each one that it depends on =="
run outercore build data/debian-depends.tsv.gz -o "$demo/debian.oc" --ids string --progress none
say "Which packages does everything lean on?"
run outercore run pagerank "$demo/debian.oc" --top 10 -o "$demo/ranks.csv"
say "Does it hang together?"
run outercore run components "$demo/debian.oc" -o "$demo/components.parquet"
say "What does the image editor need, and through how many others?"
run outercore run bfs "$demo/debian.oc" --source gimp -o "$demo/gimp.csv"
printf '\n  steps  packages\n'
tail -n +2 "$demo/gimp.csv" | awk -F, '$2 != "" { count[$2]++ } END { for (level in count) printf "  %5d  %8d\n", level, count[level] }' | sort -n

say "== 2. A graph larger than its memory: RMAT, 2^20 vertices, 16.8 million edges; 64 MiB for everything =="
run outercore generate rmat --scale 20 -o "$demo/rmat20.oc" --memory 512M --progress none
run outercore plan pagerank "$demo/rmat20.oc" --memory 64M --iterations 10
run outercore run pagerank "$demo/rmat20.oc" --memory 64M --iterations 10 --top 3 --progress none
printf '\n  %s on disk; see "read" and "peak memory" above for what went through memory, and how much of it was held at once.\n' \
    "$(du -sh --apparent-size "$demo/rmat20.oc" | cut -f1)"

say "== Results =="
for file in ranks.csv components.parquet gimp.csv; do
    printf '  %8s  %s\n' "$(du -h --apparent-size "$demo/$file" | cut -f1)" "$demo/$file"
done
printf '\nNext: %s/release/outercore --help, or build a graph of your own edge list.\n' "$target"
