#!/usr/bin/env python3
"""Traversals by visitors against those in levels, windows and scans, in memory and semi-externally. A table in Markdown, on standard output.

The graphs: RMAT-A and RMAT-B of one scale with weights UW and LUW, generated once; and any others that are named with --graph. Runs are cold where the page cache can be dropped (root). For each
case: seconds (median) of both executors, and what the visitors did. Answers must be the same. Python 3.9 or newer, no packages.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
from pathlib import Path

KINDS = {"A": (0.45, 0.15, 0.15, 0.25), "B": (0.57, 0.19, 0.19, 0.05)}
CASES = [("bfs", ["--source", "max-degree"]), ("sssp", ["--source", "max-degree"]), ("components", [])]


def drop_caches():
    os.sync()
    with contextlib.suppress(OSError):
        Path("/proc/sys/vm/drop_caches").write_text("3")


def run(given, algorithm, graph, options):
    reports = []
    for _ in range(given.repeats):
        drop_caches()
        command = [given.binary, "run", algorithm, graph, *options, "--json", "--progress", "none"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["no message"])[0][:70]
        reports.append(json.loads(done.stdout))
    return statistics.median(report["seconds"] for report in reports), reports[-1]


def generated(given):
    for kind, (a, b, c, d) in KINDS.items():
        for weights in ("uw", "luw"):
            path = given.dir / f"rmat{given.scale}-{kind}-{weights}.oc"
            if not path.exists():
                shape = ["--a", a, "--b", b, "--c", c, "--d", d, "--weights", weights]
                make = [given.binary, "generate", "rmat", "--scale", given.scale, "--edge-factor", 16, "--seed", 1, *shape, "-o", path]
                subprocess.run([str(part) for part in make], check=True, capture_output=True)
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--dir", required=True, type=Path, help="where generated graphs are kept")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--graph", type=Path, action="append", default=[], help="another graph (repeatable)")
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    print("| graph | algorithm | model | sync s | async s | faster | reads | corrected | visits | sent | in flight |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for graph in [*given.graph, *generated(given)]:
        for algorithm, options in CASES:
            for model in ("in-memory", "semi-external"):
                ways = [run(given, algorithm, graph, [*options, "--model", model, "--executor", way]) for way in ("sync", "async")]
                if None in (ways[0][0], ways[1][0]):
                    print(f"| {graph.stem} | {algorithm} | {model} | {ways[0][1] if ways[0][0] is None else ways[1][1]} |")
                    continue
                (sync, usual), (visiting, report) = ways
                assert usual["summary"] == report["summary"], (graph, algorithm, model)
                did = report["visitors"]
                counts = " | ".join(f"{did[name]:,}" for name in ("reads", "corrected", "visits", "sent"))
                print(f"| {graph.stem} | {algorithm} | {model} | {sync:.3f} | {visiting:.3f} | {sync / visiting:.2f}x | {counts} | {did['mean_in_flight']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
