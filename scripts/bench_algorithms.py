#!/usr/bin/env python3
"""Every algorithm on one RMAT graph, symmetrised: in memory, with a quarter of the graph as budget, with a sixteenth. A table in Markdown, on standard output.

Runs are cold where the page cache can be dropped (root). The planner chooses the memory model, which is named where it is not the one that the column leads to expect; a budget that is too small
shows what the command said. Python 3.9 or newer, no packages.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
from pathlib import Path

BATCH = ",".join(f"random:{seed}" for seed in range(1, 33))
WIDE = ",".join(f"random:{seed}" for seed in range(1, 129))
#: Name of the row, algorithm, parameters, and how many sources share the time.
ROWS = [
    ("bfs", "bfs", ["--source", "max-degree"], 1),
    ("components", "components", [], 1),
    ("kcore", "kcore", [], 1),
    ("triangles", "triangles", [], 1),
    ("clustering", "clustering", [], 1),
    ("label-propagation, 10 rounds", "label-propagation", ["--iterations", "10"], 1),
    ("pagerank, 10 iterations", "pagerank", ["--iterations", "10"], 1),
    ("pagerank-delta, to 1e-6", "pagerank-delta", ["--tolerance", "1e-6"], 1),
    ("betweenness, each of 32 sources", "betweenness", ["--sources", BATCH], 32),
    ("multi-source, 32", "multi-source", ["--sources", BATCH], 1),
    ("multi-source, 128", "multi-source", ["--sources", WIDE], 1),
    ("diameter, exact", "diameter", ["--exact"], 1),
    ("spmv", "spmv", [], 1),
]


def drop_caches():
    os.sync()
    with contextlib.suppress(OSError):
        Path("/proc/sys/vm/drop_caches").write_text("3")


def run(binary, graph, algorithm, options, memory):
    """The report of a run, or the last line of what was said instead."""
    drop_caches()
    command = [binary, "run", algorithm, graph, *options, "--memory", str(memory), "--json", "--progress", "none"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["no message"])[-1]
    return json.loads(done.stdout), ""


def cell(binary, graph, row, model, memory, repeats):
    _, algorithm, options, sources = row
    reports = []
    for _ in range(repeats):
        report, said = run(binary, graph, algorithm, options, memory)
        if report is None:
            return said[:60]
        reports.append(report)
    seconds = statistics.median(report["seconds"] for report in reports) / sources
    read = statistics.median(report["bytes_read"] for report in reports) / 1e9
    other = "" if reports[0]["memory_model"] == model else f", {reports[0]['memory_model']}"
    return f"{seconds:.2f} s, {read:.2f} GB, peak {max(report['peak_rss_bytes'] for report in reports) >> 20} MiB{other}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--dir", required=True, type=Path, help="where the graph is kept")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", help="rows whose name has this in it")
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    graph = given.dir / f"rmat{given.scale}-simple.oc"
    if not graph.exists():
        make = [given.binary, "generate", "rmat", "--scale", str(given.scale), "--edge-factor", "16", "--seed", "1", "--undirected", "--simple", "-o", str(graph)]
        subprocess.run(make, check=True, capture_output=True)
    size = sum(file.stat().st_size for file in graph.iterdir())
    budgets = [("in-memory", 4 << 30), ("semi-external", size // 4), ("fully-external", size // 16)]
    load = f", load {os.getloadavg()[0]:.1f} at the beginning"
    print(f"RMAT of scale {given.scale}, undirected and simple, {size >> 20} MiB; {platform.machine()}, {os.cpu_count()} cores{load}\n")
    print("| algorithm |" + "".join(f" {model}, {budget >> 20} MiB |" for model, budget in budgets) + "\n|---|" + "---|" * len(budgets))
    for row in ROWS:
        if given.only and given.only not in row[0]:
            continue
        cells = [cell(given.binary, graph, row, model, budget, given.repeats) for model, budget in budgets]
        print(f"| {row[0]} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
