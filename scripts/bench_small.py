#!/usr/bin/env python3
"""Small graphs in memory: every algorithm against igraph's and NetworKit's. A table in Markdown, on standard output. Python 3.9 or newer with igraph, networkit and numpy (`pip install igraph networkit numpy`); with the package `outercore` too, its calls on an opened graph are a column.

Milliseconds, least of --times runs, as processors that are shared only ever add. The command: the whole process, from its start to its end, with opening the graph and all reading. The others: the call alone, in one process, on a graph that is in their own form already. Where both libraries have it, ratios are against the faster.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

#: Name, parameters of the generator, direction.
MADE = [
    ("rmat13", ["--scale", 13, "--edge-factor", 8]),
    ("rmat15", ["--scale", 15, "--edge-factor", 16]),
    ("rmat16", ["--scale", 16, "--edge-factor", 16]),
]
REAL = ["snap/facebook_combined.txt.gz", "snap/soc-Epinions1.txt.gz", "road/USA-road-d.NY.gr.gz"]


def least(times, call):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return min(took) * 1e3


def graphs(given):
    """Name and path of each graph, undirected and simple; made where they are not there."""
    given.folder.mkdir(parents=True, exist_ok=True)
    more = ["--undirected", "--simple", "--progress", "none"]
    wanted = [(name, ["generate", "rmat", *what, "--seed", 1, "--weights", "uniform:1:100"]) for name, what in MADE]
    wanted += [(path.name.split(".")[0], ["build", path]) for path in (given.data / name for name in REAL) if path.exists()] if given.data else []
    for name, words in wanted:
        path = given.folder / f"small-{name}.oc"
        if not path.exists():
            subprocess.run([given.binary, *map(str, [*words, *more, "-o", path])], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        yield name, path


def edges(given, path):
    """Ends of all edges, as numbers from 0, and weights."""
    out = given.folder / "edges.csv"
    subprocess.run([given.binary, "export", path, "-o", out, "--progress", "none"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with out.open() as lines:
        rows = [[float(cell) for cell in row] for row in list(csv.reader(lines))[1:]]
    numbers, pairs, weights = {}, [], []
    for source, target, *weight in rows:
        pairs.append([numbers.setdefault(end, len(numbers)) for end in (source, target)])
        weights.append(weight[0] if weight else 1.0)
    return len(numbers), pairs, weights


def rivals(size, pairs, weights):
    """Name of the algorithm, and a call of igraph and of NetworKit, or none."""
    import igraph
    import networkit
    import numpy

    ends = numpy.array(pairs)
    ours = igraph.Graph(n=size, edges=pairs)
    plain = networkit.GraphFromCoo((ends[:, 0], ends[:, 1]), n=size)
    weighted = networkit.GraphFromCoo((numpy.array(weights), (ends[:, 0], ends[:, 1])), n=size, weighted=True)
    hub = max(range(size), key=ours.degree)
    run = lambda algorithm: algorithm.run()
    signal = numpy.ones(size)
    matrix = networkit.algebraic.adjacencyMatrix(plain, matrixType="sparse")
    return {
        "bfs": (lambda: ours.distances(hub), lambda: run(networkit.distance.BFS(plain, hub, storePaths=False))),
        "sssp": (lambda: ours.distances(hub, weights=weights), lambda: run(networkit.distance.Dijkstra(weighted, hub, storePaths=False))),
        "components": (lambda: ours.connected_components().membership, lambda: run(networkit.components.ConnectedComponents(plain))),
        "pagerank": (lambda: ours.pagerank(), lambda: run(networkit.centrality.PageRank(plain, 0.85, 1e-6))),
        "kcore": (lambda: ours.coreness(), lambda: run(networkit.centrality.CoreDecomposition(plain))),
        "spmv": (None, lambda: matrix @ signal),
        "triangles": (lambda: ours.transitivity_undirected(), lambda: networkit.globals.ClusteringCoefficient.exactGlobal(plain)),
        "clustering": (lambda: ours.transitivity_local_undirected(mode="zero"), lambda: run(networkit.centrality.LocalClusteringCoefficient(plain))),
        "label-propagation": (lambda: ours.community_label_propagation(), lambda: run(networkit.community.PLP(plain, maxIterations=10))),
        "betweenness": (lambda: ours.betweenness(sources=[hub]), None),
        "diameter": (None, lambda: run(networkit.distance.Diameter(plain, networkit.distance.DiameterAlgo.EXACT))),
    }


PARAMETERS = {
    "bfs": {"source": "max-degree"},
    "sssp": {"source": "max-degree"},
    "pagerank": {"tolerance": 1e-6},
    "label-propagation": {"iterations": 10},
    "betweenness": {"sources": ["max-degree"]},
}


def words(parameters):
    text = lambda value: ",".join(value) if isinstance(value, list) else str(value)
    return [word for name, value in parameters.items() for word in (f"--{name}", text(value))]


def rows(given, name, path, opened):
    """A row for each algorithm."""
    calls = rivals(*edges(given, path))
    for algorithm, others in calls.items():
        if given.only and given.only != algorithm:
            continue
        parameters = PARAMETERS.get(algorithm, {})
        command = [given.binary, "run", algorithm, str(path), *words(parameters), "--model", "in-memory", "--json", "--progress", "none"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"- {name}, {algorithm}: {done.stderr.strip()[-100:]}")
            continue
        process = least(given.times, lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True))
        call = least(given.times, lambda: getattr(opened, algorithm.replace("-", "_"))(**parameters)) if opened is not None else None
        took = [least(given.times, other) if other else None for other in others]
        best = min(time for time in took if time is not None)
        show = lambda value: "-" if value is None else f"{value:.1f}"
        ratios = [None if ours is None else ours / best for ours in (process, call)]
        print(f"| {name} | {algorithm} | {show(process)} | {show(call)} | {show(took[0])} | {show(took[1])} | {show(ratios[0])} | {show(ratios[1])} | {json.loads(done.stdout)['seconds'] * 1e3:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True, type=Path, help="where graphs are kept")
    parser.add_argument("--data", type=Path, help="a folder of real graphs")
    parser.add_argument("--times", type=int, default=15, help="runs of which the least counts [default: 15]")
    parser.add_argument("--only", help="one algorithm")
    parser.add_argument("--graph", help="graphs whose name has this in it")
    given = parser.parse_args()
    try:
        import igraph  # noqa: F401
        import networkit
        import numpy  # noqa: F401
    except ImportError as missing:
        print(f"SKIPPED: small graphs against igraph and NetworKit ({missing})")
        return
    networkit.setNumberOfThreads(2)
    try:
        import outercore
    except ImportError:
        outercore = None
    print("| graph | algorithm | command | call | igraph | NetworKit | command / best | call / best | of it the run |\n|---|---|---|---|---|---|---|---|---|")
    for name, path in graphs(given):
        if not given.graph or given.graph in name:
            rows(given, name, path, outercore.open(path) if outercore else None)


if __name__ == "__main__":
    sys.exit(main())
