#!/usr/bin/env python3
"""How true plans are: of runs of every algorithm in every model on graphs of many shapes, the share whose peak of memory, bytes read, bytes written and peak of scratch are within 20 % of what `plan` said. A table in Markdown, on standard output. Python 3.9 or newer, no packages.

Each algorithm runs in each model on each graph: at the smallest budget of the model, at half as much again and at three times as much, and, in memory, with a fourth more than all takes. --data FOLDER adds the real graphs that lie there. --worst 20 lists the runs that were farthest from their plans.
A figure of which the plan and the run both say that it is less than 64 KiB is true: it is a page here or there.
`plan` tries small runs out; the report of a run has what is reckoned without that. Tables have the one and the other.
"""

import json
import sys
from collections import defaultdict

from budgets import ALGORITHMS, MIB, MODELS, Bench, Starter, median, shapes, text

#: Files of real graphs that `build` reads as they are.
REAL = ["snap/*.txt.gz", "snap/*.jlg", "road/*.gr.gz", "gitdag/*bazel*.zst"]
FIGURES = ["peak memory", "bytes read", "bytes written", "peak scratch"]


def disconnected(size):
    """Many small trees, and cycles of some hundred vertices."""
    trees = ((at, at - at % 16 + (at % 16 - 1) // 2) for at in range(size // 2) if at % 16)
    cycles = ((at, at + 1 if at % 100 != 99 else at - 99) for at in range(size // 2, size // 2 + size // 800 * 100))
    return text(trees) + text(cycles), None


def graphs(bench, given):
    """Name and path of each graph."""
    wanted = lambda name: not given.graph or given.graph in name
    made = [(f"rmat{scale}", ["rmat", "--scale", scale, "--edge-factor", 16, "--seed", 7, "--weights", "uniform:1:100", *more], direction) for scale in range(14, given.scale + 1) for direction, more in [[("directed", []), ("undirected", ["--simple"])][scale % 2]]]
    made += [("star", dict(shapes(16))["star"], "undirected"), ("path", (text((at, at + 1) for at in range(512)), None), "undirected"), ("disconnected", disconnected(1 << 16), "undirected")]
    for name, what, direction in made:
        if wanted(name):
            yield name, bench.graph(name, what, direction, "grid")
    for path in sorted(found for pattern in REAL for found in given.data.glob(pattern)) if given.data else []:
        name = path.name.split(".")[0]
        graph = bench.folder / f"{path.name}.oc"
        if not wanted(name):
            continue
        if not graph.exists():
            weights = [] if path.name.endswith(".gr.gz") else ["--undirected", "--simple"] if "facebook" in name else []
            code, said, _ = bench.run("build", path, *weights, "--memory", "512M", "-o", graph)
            if code:
                sys.exit(f"{graph}: {said}")
        yield name, graph


def pair(plan, report):
    """What was planned, and what was, of each figure: by `plan`, and by what is reckoned alone."""
    planned = report["planned"]
    said = [sum(item["bytes"] for item in plan["memory"]), plan["expected_bytes_read"], plan["expected_bytes_written"], plan["disk_bytes"]]
    reckoned = [planned["memory_bytes"], planned["bytes_read"], planned["bytes_written"], planned["disk_bytes"]]
    # The kernel's count of the peak begins with that of this script: a small run has less.
    was = [report["peak_rss_bytes"], report["bytes_read"], report["bytes_written"], report["peak_disk_bytes"]]
    pairs = [list(zip(which, was)) for which in (said, reckoned)]
    return dict(zip(FIGURES, pairs[0])), dict(zip(FIGURES, pairs[1])), plan["tried"]


def is_true(planned, was):
    if planned is None or was is None:
        return False
    return abs(planned - was) <= 0.2 * was or max(planned, was) < 64 << 10


def measure(bench, given):
    runs = []
    for (name, graph), (row, algorithm, parameters), model in ((g, a, m) for g in graphs(bench, given) for a in ALGORITHMS for m in MODELS):
        if given.only and given.only not in row or given.model and given.model != model:
            continue
        words = [algorithm, graph, *parameters, "--model", model]
        code, ample, _ = bench.run("plan", *words, "--memory", 1 << 40)
        if code:
            continue
        least = ample["smallest_budget_bytes"]
        for times in [1.25] if model == "in-memory" else [1, 1.5, 3]:
            budget = int(least * times) + MIB
            plan = bench.run("plan", *words, "--memory", budget)[1]
            code, report, _ = bench.run("run", *words, "--memory", budget)
            if code:
                print(f"- {' '.join(map(str, words))} --memory {budget}: exit {code} {str(report)[-100:]}")
                continue
            runs.append((row, model, name, budget, *pair(plan, report)))
    return runs


def table(title, groups, at=4):
    print(f"\n| {title} | runs | " + " | ".join(f"{figure}: true, median of run / plan" for figure in FIGURES) + " |\n|---|---|" + "---|" * len(FIGURES))
    for name, group in groups.items():
        cells = []
        for figure in FIGURES:
            pairs = [run[at][figure] for run in group]
            good = sum(is_true(*both) for both in pairs)
            ratios = [was / planned for planned, was in pairs if planned and was is not None]
            cells.append(f"{good / len(pairs):.0%}, " + (f"{median(ratios):.2f}" if ratios else "-"))
        print(f"| {name} | {len(group)} | " + " | ".join(cells) + " |")


def main():
    starter = Starter()
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path, help="where graphs are kept")
    parser.add_argument("--data", type=Path, help="a folder of real graphs")
    parser.add_argument("--scale", type=int, default=18, help="the largest RMAT graph; the smallest is of scale 14 [default: 18]")
    parser.add_argument("--seconds", type=float, default=60, help="what a run may take [default: 60]")
    parser.add_argument("--only", help="rows whose name has this in it")
    parser.add_argument("--graph", help="graphs whose name has this in it")
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--worst", type=int, default=0, help="how many of the runs farthest from their plans are listed, of each figure")
    parser.add_argument("--keep", type=Path, help="a file for all figures, as JSON")
    given = parser.parse_args()
    bench = Bench(given, starter)
    try:
        runs = measure(bench, given)
    finally:
        bench.group.close()
    by = lambda key: {name: [run for run in runs if key(run) == name] for name in dict.fromkeys(map(key, runs))}
    table("model", {"all": runs, **by(lambda run: run[1]), **by(lambda run: "tried out" if run[6] else "not tried out")})
    table("model, as it is reckoned before it is tried out", {"all": runs, **by(lambda run: run[1])}, 5)
    table("algorithm, as it is reckoned before it is tried out", by(lambda run: f"{run[0]}, {run[1]}"), 5)
    table("algorithm", by(lambda run: f"{run[0]}, {run[1]}"))
    table("graph", by(lambda run: run[2]))
    if given.keep:
        given.keep.write_text(json.dumps(runs))
    for figure in FIGURES if given.worst else []:
        print(f"\n{figure}: run / plan")
        far = lambda run: abs(run[4][figure][0] / max(run[4][figure][1] or 1, 1) - 1) if run[4][figure][0] is not None else 9e9
        for row, model, name, budget, figures, *_ in sorted((run for run in runs if not is_true(*run[4][figure])), key=far, reverse=True)[: given.worst]:
            planned, was = figures[figure]
            print(f"- {row}, {model}, {name}, {budget >> 20}M: {was} / {planned}")


if __name__ == "__main__":
    main()
