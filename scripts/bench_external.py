#!/usr/bin/env python3
"""The techniques of GraphSD (ICPP'22) and Seraph (FAST'24), each on and off: tables in Markdown, on standard output. Python 3.9 or newer, no packages.

Every run is cold (the page cache is dropped, which needs root) and fully external, with 3.1 bytes of memory for each vertex and 32 MiB. The ways of a table are measured in turn,
--repeats times each; figures are medians.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20


def run(binary, *arguments):
    """One cold run: its report."""
    os.sync()
    with contextlib.suppress(OSError):
        Path("/proc/sys/vm/drop_caches").write_text("3")
    done = subprocess.run([binary, "run", *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def table(title, binary, repeats, arguments, ways):
    """Runs every way in turn, and prints a row for each; ratios are to the first one. Their answers must be the same."""
    reports = {name: [] for name, _ in ways}
    for _ in range(repeats):
        for name, switches in ways:
            reports[name].append(run(binary, *arguments, *switches))
    print(f"\n### {title}\n\n| way | seconds | ratio | read, MB | ratio | written, MB | iterations | peak, MiB |\n|---|---|---|---|---|---|---|---|")
    first = None
    for name, runs in reports.items():
        middle = {key: statistics.median(run[key] for run in runs) for key in ("seconds", "bytes_read", "bytes_written", "peak_rss_bytes")}
        first = first or (middle, runs[0]["summary"])
        if {key: value for key, value in runs[0]["summary"].items() if key not in ("top", "sum", "residual")} != {
            key: value for key, value in first[1].items() if key not in ("top", "sum", "residual")
        }:
            sys.exit(f"{title}: {name} has another answer")
        faster, fewer = (first[0][key] / middle[key] for key in ("seconds", "bytes_read"))
        print(
            f"| {name} | {middle['seconds']:.2f} | {faster:.2f} | {middle['bytes_read'] / 1e6:,.0f} | {fewer:.2f} | {middle['bytes_written'] / 1e6:,.0f} "
            f"| {runs[0]['iterations']} | {middle['peak_rss_bytes'] / MIB:.1f} |",
            flush=True,
        )


def graph(binary, folder, scale, *more):
    path = folder / f"rmat{scale}{'w' if more else ''}.oc"
    if not path.exists():
        subprocess.run([binary, "generate", "rmat", "--scale", str(scale), "--seed", "1", *more, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/outercore")
    parser.add_argument("--folder", type=Path, default=Path("target/bench-external"))
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    binary, scale = options.binary, options.scale
    memory = max(int(3.1 * 2**scale) // MIB + 32, 48)
    print(f"# Fully external: RMAT scale {scale}, {memory} MiB\n\n{time.strftime('%Y-%m-%d')}; {os.cpu_count()} cores, {platform.machine()}; load {os.getloadavg()[0]:.1f} at the beginning")
    plain = graph(binary, options.folder, scale)
    budget = ["--memory", f"{memory}M", "--model", "fully-external"]
    crossing = [(way, ["--cross-iteration", way]) for way in ("off", "fciu", "on")]
    table("PageRank, 10 iterations", binary, options.repeats, ["pagerank", plain, "--iterations", 10, *budget], crossing)
    presets = [("streaming", ["--preset", "streaming"]), ("best", [])]
    table("BFS", binary, options.repeats, ["bfs", plain, "--source", "max-degree", *budget], presets)
    table("Components", binary, options.repeats, ["components", plain, *budget], presets)
    weighted = graph(binary, options.folder, scale - 2, "--weights", "uniform:1:255")
    models = [("semi-external", ["--model", "semi-external", "--memory", f"{4 * memory}M"]), ("fully-external", budget)]
    table("Shortest paths, two scales below", binary, options.repeats, ["sssp", weighted, "--source", "max-degree"], models)


if __name__ == "__main__":
    main()
