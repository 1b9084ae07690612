#!/usr/bin/env python3
"""Random graphs, each run in every way that must not change the answer. Python 3.9 or newer, no packages.

For each graph: it is checked; each algorithm runs in memory on one thread, and then within the smallest budget that its plan names, with other threads, backends,
read modes and pages: the files of results must be equal byte for byte (scores from passes over the grid: but for rounding). The graph is exported and built again in another order and budget: the figures
must be equal. Peak memory must stay below each budget. Each difference is printed with its seed and the commands that show it again, and its files are kept.
"""

import argparse
import json
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MIB = 1 << 20


class Difference(Exception):
    pass


class Place:
    """A folder, and the commands that were run in it."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.commands, self.runs = binary, Path(folder), [], 0

    def run(self, *words):
        words = [str(word) for word in words]
        self.commands.append(" ".join(["outercore", *words]))
        self.runs += 1
        done = subprocess.run([self.binary, *words, "--json"], cwd=self.folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise Difference(f"exit {done.returncode}: {done.stderr.strip()[-400:]}")
        report = json.loads(done.stdout)
        budget, peak = report.get("memory_budget_bytes"), report.get("peak_rss_bytes")
        if budget and peak and peak > budget:
            raise Difference(f"peak memory {peak} is over the budget {budget}")
        return report


def shape(rng):
    """The arguments of `generate`, with weights or without, directed or not."""
    weighted = rng.random() < 0.5
    if rng.random() < 0.7:
        a = rng.uniform(0.25, 0.7)
        b = c = round((1 - a) * rng.uniform(0.1, 0.45), 3)
        words = ["rmat", "--scale", rng.randint(2, 17), "--edge-factor", rng.choice([1, 2, 8, 16, 40]), "--a", round(a, 3), "--b", b, "--c", c]
    else:
        vertices = rng.choice([1, 2, 63, 64, 65, 255, 256, 257, 65535, 65536, 65537, rng.randint(3, 300_000)])
        words = ["uniform", "--vertices", vertices, "--edges", rng.choice([1, vertices, 4 * vertices, 20 * vertices])]
    words += ["--seed", rng.randint(0, 1 << 30), rng.choice(["--directed", "--undirected"])]
    if weighted:
        words += ["--weights", rng.choice(["uw", "luw", "uniform:0:1", "uniform:1:255", "uniform:1:100000"])]
    if rng.random() < 0.25:
        words.append("--simple")
    return words, weighted


def making(rng, place, name):
    """What does not change the graph."""
    words = ["--memory", f"{rng.choice([96, 128, 256, 512])}M", "--threads", rng.randint(1, 4)]
    if rng.random() < 0.3:
        words += [word for index in range(rng.randint(1, 3)) for word in ("--stripe", place.folder / f"device-{name}-{index}")]
    return words


def ways(rng):
    """What does not change an answer."""
    words = ["--model", "semi-external", "--threads", rng.randint(1, 4), "--io", rng.choice(["auto", "blocking"]), "--read", rng.choice(["auto", "full", "active", "on-demand"])]
    words += ["--huge-pages", rng.choice(["auto", "off"]), "--block", rng.choice([512, 4096, 8192])]
    return words + (["--max-gap", rng.choice([0, 4096, 65536])] if rng.random() < 0.5 else [])


def acting(place, name, more, way):
    """A way less the switches that cannot act in such a run, which are refused."""
    while True:
        try:
            place.run("plan", name, "a.oc", *more, *way)
            return way
        except Difference as refusal:
            found = re.search(r"--([a-z-]+)(?: [a-z-]+)? cannot act", str(refusal))
            if not found:
                raise
            at = way.index(f"--{found[1]}")
            way = way[:at] + way[at + 2:]


def algorithms(rng, weighted, directed):
    source = rng.choice(["max-degree", f"random:{rng.randint(0, 99)}"])
    yield "bfs", ["--source", source]
    yield "components", []
    yield "pagerank", ["--iterations", rng.randint(1, 12)]
    yield "kcore", rng.choice([[], ["--k", rng.randint(1, 8)]])
    if weighted:
        yield "sssp", ["--source", source]


def figures(report):
    """The summary without what depends on the order of the vertices: a source among equals, and scores' last digits."""
    kept = {key: value for key, value in report["summary"].items() if key not in ("source", "top", "residual")}
    return {key: round(value, 9) if isinstance(value, float) else value for key, value in kept.items()}


def same(one, other):
    return one.keys() == other.keys() and all(
        math.isclose(one[key], other[key], rel_tol=1e-9) if isinstance(one[key], float) else one[key] == other[key] for key in one)


def near(one, other):
    """Whether two files of results have the same rows, scores being equal but for rounding."""
    rows = [[line.split(",") for line in path.read_text().splitlines()] for path in (one, other)]
    return len(rows[0]) == len(rows[1]) and all(
        a[0] == b[0] and (a == b or all(math.isclose(float(x), float(y), rel_tol=1e-12) for x, y in zip(a[1:], b[1:]))) for a, b in zip(*rows))


def round_of(rng, place):
    words, weighted = shape(rng)
    order = rng.choice(["degree", "original"])
    graph = place.run("generate", *words, *making(rng, place, "a"), "--order", order, "-o", "a.oc")
    if not place.run("check", "a.oc")["ok"]:
        raise Difference("check finds faults")
    if graph["edges"] == 0:
        return
    place.run("export", "a.oc", "-o", "a.parquet")
    direction = "--directed" if graph["directed"] else "--undirected"
    again = place.run("build", "a.parquet", direction, *(["--weights", "u32"] if weighted else []), *making(rng, place, "b"), "--order", "original" if order == "degree" else "degree", "-o", "b.oc")
    # An export has no isolated vertices, nor those whose only edges --simple dropped.
    if graph["edges"] != again["edges"] or ("--simple" not in words and graph["connected"] != again["connected"]):
        raise Difference(f"built again, {graph} became {again}")
    for name, more in algorithms(rng, weighted, graph["directed"]):
        first = place.run("run", name, "a.oc", *more, "--model", "in-memory", "--memory", "2G", "--threads", 1, "-o", "first.csv")
        ample = place.run("plan", name, "a.oc", *more, "--model", "in-memory", "--memory", "2G", "--threads", 1)
        way = acting(place, name, more, ways(rng))
        smallest = place.run("plan", name, "a.oc", *more, *way)["smallest_budget_bytes"]
        # With less memory another way may be taken, in which a switch cannot act.
        way = acting(place, name, more, [*way, "--memory", smallest])[:-2]
        plan = place.run("plan", name, "a.oc", *more, *way, "--memory", smallest)
        other = place.run("run", name, "a.oc", *more, *way, "--memory", smallest, "-o", "other.csv")
        # Passes add up what comes from before, from near and from after a vertex apart: scores have other last digits.
        if "passes" in plan["method"] + ample["method"]:
            if not same(figures(first), figures(other)) or not near(place.folder / "first.csv", place.folder / "other.csv"):
                raise Difference(f"{name}: the results are not near each other, or {figures(first)} and {figures(other)}")
        elif (place.folder / "first.csv").read_bytes() != (place.folder / "other.csv").read_bytes():
            raise Difference(f"{name}: the results differ")
        elif first["summary"] != other["summary"]:
            raise Difference(f"{name}: {first['summary']} and {other['summary']}")
        # Isolated vertices are vertices of their own to these two, and only the first graph has them.
        counts = graph["vertices"] == graph["connected"] == again["vertices"]
        if name in ("bfs", "sssp"):
            more = ["--source", first["summary"]["source"]]
        elif name in ("components", "pagerank") and not counts:
            continue
        if graph["vertices"] == again["vertices"] or name == "kcore":
            rebuilt = place.run("run", name, "b.oc", *more)
            if not same(figures(first), figures(rebuilt)):
                raise Difference(f"{name}, built again: {figures(first)} became {figures(rebuilt)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="the first seed [default: from the clock]; the next ones follow")
    options = parser.parse_args()
    binary = str(Path(options.binary).resolve())
    seed = options.seed if options.seed is not None else int(time.time())
    end = time.monotonic() + 60 * options.minutes
    graphs = runs = differences = 0
    while graphs == 0 or time.monotonic() < end:
        folder = tempfile.mkdtemp(prefix="outercore-soak-")
        place = Place(binary, folder)
        try:
            round_of(random.Random(seed), place)
        except (Difference, subprocess.TimeoutExpired, KeyError, ValueError) as found:
            print(f"seed {seed}: {found}\nin {folder}, after:\n  " + "\n  ".join(place.commands), flush=True)
            differences += 1
        else:
            shutil.rmtree(folder)
        graphs, runs, seed = graphs + 1, runs + place.runs, seed + 1
        if graphs % 20 == 0:
            print(f"{graphs} graphs, {runs} commands, seed {seed}", flush=True)
    print(f"soak result: {'FAILED' if differences else 'ok'}. {graphs} graphs, {runs} commands, {differences} differences; the next seed is {seed}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
