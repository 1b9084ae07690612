#!/usr/bin/env python3
"""The techniques of GraphSD (ICPP'22) and Seraph (FAST'24), each on and off: tables in Markdown, on standard output. Python 3.9 or newer, no packages.

Every run is cold (the page cache is dropped, which needs root) and fully external, with 3.1 bytes of memory for each vertex and 32 MiB. The ways of a table are measured in turn,
--repeats times each; figures are medians. Real graphs are read from --data, where it is given.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from devices import MIB, Loops, Throttle, drop_caches


def run(binary, *arguments, enter=None):
    """One cold run: its report; none where a switch cannot act in such a run, and is refused."""
    drop_caches()
    done = subprocess.run([binary, "run", *map(str, arguments), "--json"], capture_output=True, text=True, preexec_fn=enter)
    if done.returncode in (2, 7) and " cannot act " in done.stderr:
        return None
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
        if runs[0] is None:
            print(f"| {name} | cannot act | | | | | | |", flush=True)
            continue
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


class Bench:
    """Where graphs are, and how they are run."""

    def __init__(self, options):
        self.binary, self.folder, self.scale, self.repeats, self.data = options.binary, options.folder, options.scale, options.repeats, options.data
        self.memory = max(int(3.1 * 2**self.scale) // MIB + 32, 48)
        self.budget = ["--memory", f"{self.memory}M", "--model", "fully-external"]

    def table(self, title, arguments, ways):
        table(title, self.binary, self.repeats, arguments, ways)

    def rmat(self, scale, name, *more):
        return self.make(f"rmat{scale}{name}.oc", "generate", "rmat", "--scale", str(scale), "--seed", "1", *more)

    def make(self, name, *command):
        path = self.folder / name
        if not path.exists():
            subprocess.run([self.binary, *map(str, command), "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path


def techniques(bench):
    """What the papers compare with plain streaming."""
    plain = bench.rmat(bench.scale, "")
    bench.table("PageRank, 10 iterations", ["pagerank", plain, "--iterations", 10, *bench.budget],
                [(way, ["--cross-iteration", way]) for way in ("off", "fciu", "on")])
    presets = [("streaming", ["--preset", "streaming"]), ("graphsd", ["--preset", "graphsd"]), ("seraph", ["--preset", "seraph"]), ("best", [])]
    bench.table("BFS", ["bfs", plain, "--source", "max-degree", *bench.budget], presets)
    # Streamed labels travel along outgoing edges: in an undirected graph those are all.
    undirected = bench.rmat(bench.scale, "u", "--undirected")
    bench.table("Components, undirected", ["components", undirected, *bench.budget], presets)
    weighted = bench.rmat(bench.scale - 2, "w", "--weights", "uniform:1:255")
    models = [("semi-external", ["--model", "semi-external", "--memory", f"{4 * bench.memory}M"]), ("fully-external", bench.budget)]
    bench.table("Shortest paths, two scales below", ["sssp", weighted, "--source", "max-degree"], models)


def ablations(bench):
    """GraphSD's b1 to b4, and its buffer."""
    plain = bench.rmat(bench.scale - 2, "")
    ways = [
        ("graphsd", []),
        ("b1: no cross-iteration", ["--cross-iteration", "off"]),
        ("b2: no selective reading", ["--read", "full"]),
        ("b3: always full, of what is active", ["--read", "active"]),
        ("b4: always on-demand", ["--read", "on-demand"]),
        ("a buffer of all chunks", ["--sub-blocks", "on"]),
        ("no sub-block buffer", ["--sub-blocks", "off"]),
    ]
    ways = [(name, ["--preset", "graphsd", *switches]) for name, switches in ways]
    bench.table("GraphSD's ablations: PageRank-delta, two scales below", ["pagerank-delta", plain, *bench.budget], ways)
    bench.table("GraphSD's ablations: 3 sources at once, two scales below", ["multi-source", plain, "--sources", "max-degree,random:1,random:2", *bench.budget], ways)


def layouts(bench):
    """Seraph's formats, with and without vertices computed early."""
    scale = bench.scale - 2
    for algorithm, more in (("bfs", ["--source", "max-degree"]), ("components", []), ("pagerank", ["--iterations", "4"])):
        for layout in ("grid", "row", "hybrid"):
            graph = bench.rmat(scale, f"u-{layout}", "--undirected", "--layout", layout)
            early = ["off"] if algorithm == "pagerank" else ["off", "gap", "on"]
            ways = [(f"seraph, --precompute {way}", ["--preset", "seraph", "--precompute", way]) for way in early]
            bench.table(f"{algorithm}, layout {layout}, two scales below, undirected", [algorithm, graph, *more, *bench.budget], ways)


def real(bench):
    """A graph of thousands of nearly empty iterations, and a road network."""
    if bench.data is None:
        print("\n### Real graphs\n\nNot measured: --data was not given.")
        return
    crates = bench.make("crates.oc", "build", bench.data / "gitdag" / "gitdag-crates.u32.zst", "--format", "pairs-u32", "--directed")
    roads = bench.make("ny.oc", "build", bench.data / "road" / "USA-road-d.NY.gr.gz")
    budget = ["--memory", "40M", "--model", "fully-external"]
    presets = [(preset, ["--preset", preset]) for preset in ("streaming", "seraph", "best")]
    bench.table("BFS, gitdag-crates", ["bfs", crates, "--source", "0", *budget], presets[2:])
    print(f"\nStreaming would read the grid, {(crates / 'grid.words').stat().st_size / 1e6:,.1f} MB, in each of these iterations: hours, so it was not run.")
    bench.table("Components, gitdag-crates", ["components", crates, *budget], presets[2:])
    bench.table("BFS, USA-road-d.NY", ["bfs", roads, "--source", "1", *budget], presets)
    models = [("semi-external", ["--model", "semi-external", "--memory", "64M"]), ("fully-external", budget)]
    bench.table("Shortest paths, USA-road-d.NY", ["sssp", roads, "--source", "1"], models)


class Slow:
    """A device of 100 MB and 200 requests a second, with copies of graphs; none where loop devices cannot be made."""

    def __init__(self, bench):
        self.folder, self.loops, self.throttle = bench.folder / "devices", None, None
        self.folder.mkdir(exist_ok=True)
        try:
            self.loops = Loops(self.folder, 1, 3 << 30)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"\nThe throttled device was not measured: loop devices cannot be made here ({error}).")
            return
        self.throttle = Throttle(self.loops.devices, 100 * 10**6, 200)
        self.enter = self.throttle.enter
        subprocess.run([bench.binary, "bench", "device", self.loops.mounts[0]], check=True, capture_output=True, preexec_fn=self.enter)

    def copy(self, graph):
        there = Path(self.loops.mounts[0]) / graph.name
        if not there.exists():
            shutil.copytree(graph, there)
        return there

    def close(self):
        if self.throttle:
            self.throttle.close()
            self.loops.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def small_graphs(bench, *more):
    """An RMAT graph, and real ones where there are some: names, and paths. Of RMAT and the road network, with weights."""
    name = "-".join(["", *(word.strip("-") for word in more)])
    graphs = {"RMAT": bench.rmat(bench.scale - 6, f"w{name}", "--weights", "uniform:1:255", *more)}
    if bench.data is not None:
        graphs["NY"] = bench.make(f"ny{name}.oc", "build", bench.data / "road" / "USA-road-d.NY.gr.gz", *more)
        for real in ("web-NotreDame", "soc-Epinions1"):
            graphs[real] = bench.make(f"{real}{name}.oc", "build", bench.data / "snap" / f"{real}.txt.gz", *more)
    return graphs


UNWEIGHTED = ("web-NotreDame", "soc-Epinions1")
# Streaming them takes minutes on the slow device: gigabytes, in small requests.
LONG = {
    *((graph, "kcore") for graph in ("RMAT", "NY", *UNWEIGHTED)),
    *(("NY", algorithm) for algorithm in ("pagerank-delta", "components", "sssp", "bfs")),
    ("web-NotreDame", "pagerank-delta"),
}

PRESETS = {
    "graphsd": ((), {"pagerank": ["--iterations", 10], "pagerank-delta": [], "components": ["--method", "program"], "sssp": ["--method", "program", "--source", "max-degree"]}),
    "seraph": (
        ("--undirected", "--simple"),
        {"pagerank": ["--iterations", 10], "bfs": ["--method", "program", "--source", "max-degree"], "components": ["--method", "program"], "kcore": ["--method", "program"]},
    ),
}


def presets(bench):
    """GraphSD and Seraph against plain streaming and the default, on this device and on one with a disk's character."""
    slow = Slow(bench)
    try:
        for preset, (shape, algorithms) in PRESETS.items():
            print(f"\n### `--preset {preset}` against `--preset streaming`\n\n| device | graph | algorithm | streaming, s | MB | {preset}, s | MB | faster | fewer bytes | default, s | MB |"
                  "\n|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
            plain = small_graphs(bench, *shape)
            own = small_graphs(bench, *shape, "--layout", "hybrid") if preset == "seraph" else plain
            for device, enter in [("this device", None)] + ([("100 MB/s, 200 requests/s", slow.enter)] if slow.throttle else []):
                faster = []
                for name, graph in plain.items():
                    at = slow.copy if enter else (lambda path: path)
                    for algorithm, more in algorithms.items():
                        if algorithm == "sssp" and name in UNWEIGHTED or enter and (name, algorithm) in LONG:
                            continue
                        ways = [(graph, ["--preset", "streaming"]), (own[name], ["--preset", preset]), (graph, [])]
                        asked = ["--model", "fully-external", "--memory", "40M"]
                        more = [word for word in more if word not in ("--method", "program")], more
                        if algorithm == "components":
                            # A directed graph's undirected view is made once.
                            run(bench.binary, algorithm, at(graph), *asked, *more[1])
                        runs = [run(bench.binary, algorithm, at(path), *more[bool(switches)], *asked, *switches, enter=enter) for path, switches in ways]
                        (one, other, usual) = [(each["seconds"], each["bytes_read"] / 1e6) for each in runs]
                        faster.append(one[0] / other[0])
                        cells = [device, name, algorithm, *(f"{figure:,.3f}" for figure in (*one, *other)), f"{faster[-1]:.2f}", f"{one[1] / other[1]:.2f}", *(f"{figure:,.3f}" for figure in usual)]
                        print(f"| {' | '.join(cells)} |", flush=True)
                print(f"\nHarmonic mean on {device}: {statistics.harmonic_mean(faster):.2f} times as fast; the least {min(faster):.2f}.\n", flush=True)
    finally:
        slow.close()


def right_choices(bench, graph, algorithm, budget, cost, enter=None):
    """In how many iterations the choice between passes and lists was the faster one: each is run both ways. A pass that was chosen counts as it was made, by parts of chunks; one that was not as it would be without, whole."""
    fixed = [*budget, "--cross-iteration", "off", "--sub-blocks", "off"]
    ways = {way: [] for way in ("iteration", "full", "on-demand")}
    for _ in range(bench.repeats):
        for way, runs in ways.items():
            costs = ["--cost", cost] if way == "iteration" else []
            done = run(bench.binary, *algorithm, graph, *fixed, "--read", way, *costs, enter=enter)
            if done is None:
                return None
            runs.append(done["per_iteration"])
    modes = [iteration["read_mode"] for iteration in ways["iteration"][0]]
    seconds = {way: [statistics.median(run[index]["seconds"] for run in runs) for index in range(len(modes))] for way, runs in ways.items()}
    taken = {"full": seconds["iteration"], "on-demand": seconds["on-demand"]}
    right = near = 0
    for index, mode in enumerate(modes):
        chosen, other = taken[mode][index], seconds["full" if mode == "on-demand" else "on-demand"][index]
        right += chosen <= other
        near += chosen <= 1.1 * other + 0.001
    best = sum(min(full, lists) for full, lists in zip(seconds["full"], seconds["on-demand"]))
    chosen = sum(taken[mode][index] for index, mode in enumerate(modes))
    return len(modes), modes.count("on-demand"), right, near, best, chosen, sum(seconds["full"]), sum(seconds["on-demand"])


CHOICES = {
    "multi-source": ["--sources", "max-degree,random:1,random:2"],
    "pagerank-delta": ["--method", "differences"],
    "bfs": ["--method", "program", "--source", "max-degree"],
    "components": ["--method", "program"],
    "kcore": ["--method", "program"],
    "betweenness": ["--method", "batches", "--sources", "max-degree,random:1,random:2"],
    "sssp": ["--method", "program", "--source", "max-degree"],
}


def choice(bench):
    """GraphSD's state-aware choice (section 4.1) against both ways, on this device and on one with a disk's character, by measured costs and by the paper's formula."""
    print("\n### The choice of passes or lists, by iteration\n\n| device | graph | algorithm | costs | iterations | by lists | the faster way chosen | or within 10 % and 1 ms | seconds, best of each "
          "| of those chosen | all by passes | all by lists |\n|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    slow = Slow(bench)
    budget = ["--memory", "64M", "--model", "fully-external"]
    total = {}
    try:
        for name, graph in small_graphs(bench, "--undirected", "--simple").items():
            for device, enter in [("this device", None)] + ([("100 MB/s, 200 requests/s", slow.enter)] if slow.throttle and name == "RMAT" else []):
                path = slow.copy(graph) if enter else graph
                for algorithm, more in CHOICES.items():
                    if algorithm == "sssp" and name in UNWEIGHTED or enter and (name, algorithm) in LONG:
                        continue
                    for cost in ("measured", "paper"):
                        found = right_choices(bench, path, [algorithm, *more], budget, cost, enter)
                        if found is None:
                            print(f"| {device} | {name} | {algorithm} | {cost} | cannot act | | | | | | | |", flush=True)
                            continue
                        count, lists, right, near, *seconds = found
                        total[cost] = [one + other for one, other in zip(total.get(cost, [0, 0, 0]), (count, right, near))]
                        cells = [device, name, algorithm, cost, str(count), str(lists), f"{right / count:.0%}", f"{near / count:.0%}", *(f"{each:.2f}" for each in seconds)]
                        print(f"| {' | '.join(cells)} |", flush=True)
    finally:
        slow.close()
    print()
    for cost, (count, right, near) in total.items():
        print(f"`--cost {cost}`: {count} iterations, the faster way in {right / count:.0%}, or within 10 % and 1 ms in {near / count:.0%}.")


SECTIONS = {section.__name__: section for section in (techniques, ablations, layouts, real, presets, choice)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/outercore")
    parser.add_argument("--folder", type=Path, default=Path("target/bench-external"))
    parser.add_argument("--data", type=Path, help="the folder of the real graphs")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    print(f"# Fully external: RMAT scale {bench.scale}, {bench.memory} MiB\n\n{time.strftime('%Y-%m-%d')}; {os.cpu_count()} cores, {platform.machine()}; load {os.getloadavg()[0]:.1f} at the beginning")
    for name, section in SECTIONS.items():
        if not options.only or name in options.only:
            section(bench)


if __name__ == "__main__":
    main()
