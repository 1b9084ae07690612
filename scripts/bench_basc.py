#!/usr/bin/env python3
"""The static cache and the orders of BASC (ATC'19) against a page cache of the same memory. Tables in Markdown, on standard output.

The paper's configuration: lists are pushed, in pages of 8 KiB, and nothing is read along. Graphs are in the order of their ids: RMAT, and the real ones of --data that are there.
Bytes and requests are those of the runs' own reports, without loading; a share below 1 is a saving. Means of shares are means, and so their inverses are harmonic means of speeds.
Seconds on the throttled device need root, loop devices and control groups. Python 3.9 or newer, no packages.
"""

import argparse
import array
import gzip
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devices import MIB, Loops, Throttle, drop_caches

PAPER = ["--block", "8192", "--max-gap", "0", "--model", "semi-external", "--memory", "400M"]
SELECTIONS = {
    "gvs": [],
    "gvs, neighbors": ["--sample", "0"],
    "... by own degree": ["--sample", "0", "--divided-by", "own-degree"],
    "... by in-degree": ["--sample", "0", "--divided-by", "arriving-degree"],
    "... lowest": ["--sample", "0", "--penalty", "lowest", "--divided-by", "arriving-degree"],
    "low-degree": ["--select", "low-degree"],
    "high-degree": ["--select", "high-degree"],
    "random": ["--select", "random"],
}
REAL = {
    "cnr-2000": "webgraph/java2006/cnr-2000.graph-txt.gz",
    "web-NotreDame": "snap/web-NotreDame.txt.gz",
    "soc-Epinions1": "snap/soc-Epinions1.txt.gz",
    "gitdag-crates": "gitdag/gitdag-crates.u32.zst",
    "USA-road-d.NY": "road/USA-road-d.NY.gr.gz",
}
ANY = "bfs, any source"
# The window of the paper is the lists of a page.
ORDERS = ["gorder", "gorder, window 5", "random", "pagerank", "degree", "norder", "hubs-norder", "bfs", "hubs-bfs"]
# A disk's character, as in bench_external.
RATE, REQUESTS = 100 * 10**6, 200


class Bench:
    def __init__(self, options):
        self.options, self.dir, self.infos = options, options.dir, {}
        self.dir.mkdir(parents=True, exist_ok=True)
        asked = lambda name: not options.graph or name in options.graph
        self.rmats = [name for name in (f"RMAT {options.scale}, seed {seed}" for seed in (1, 2, 3)) if asked(name)]
        self.reals = [name for name, path in REAL.items() if asked(name) and options.data and (options.data / path).exists()]

    def command(self, *words, before=None):
        quiet = [] if words[0] == "info" else ["--progress", "none"]
        done = subprocess.run([str(word) for word in (self.options.binary, *words, "--json", *quiet)], capture_output=True, text=True, check=False, preexec_fn=before)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()[:300]}")
        return json.loads(done.stdout)

    def graph(self, name, undirected=False):
        """The graph of a name, in the order of its ids."""
        path = self.dir / f"{name.replace(' ', '-').replace(',', '').lower()}{'-undirected' if undirected else ''}.oc"
        if path.exists():
            return path
        print(f"making {path.name} ...", file=sys.stderr)
        if undirected:
            edges = self.dir / f"{path.stem}.parquet"
            self.command("export", self.graph(name), "-o", edges)
            self.command("build", edges, "-o", path, "--order", "original", "--undirected", "--simple")
            edges.unlink()
        elif name.startswith("RMAT"):
            self.command("generate", "rmat", "--scale", name.split()[1].strip(","), "--seed", name.split()[-1], "--order", "original", "-o", path)
        else:
            self.real(name, path)
        return path

    def real(self, name, path):
        source, more = self.options.data / REAL[name], []
        if name == "cnr-2000":
            source, more = self.pairs(cnr(source)), ["--format", "pairs-u32", "--ids", "dense"]
        elif source.suffix == ".zst":
            (self.dir / "pairs.u32").write_bytes(subprocess.run(["zstd", "-qdc", "--long=27", source], check=True, capture_output=True).stdout)
            source, more = self.dir / "pairs.u32", ["--format", "pairs-u32"]
        self.command("build", source, "-o", path, "--order", "original", *more)
        (self.dir / "pairs.u32").unlink(missing_ok=True)

    def pairs(self, edges):
        file = self.dir / "pairs.u32"
        file.write_bytes(edges.tobytes())
        return file

    def lists(self, graph):
        """Bytes of the lists of a direction."""
        return next(section["bytes"] for section in self.command("info", graph)["sections"] if section["name"] == "out.adjacency")

    def runs(self, name):
        """The runs on a graph: what each is called, on what, and its words."""
        plain = self.graph(name)
        vertices, rng = self.command("info", plain)["vertices"], random.Random(1)
        source, other = (self.source(plain, asked) for asked in ("0" if name == "gitdag-crates" else "max-degree", "random:7"))
        sources = ",".join(str(1 + rng.randrange(vertices - 1)) for _ in range(self.options.sources))
        yield "bfs", plain, ["bfs", "--source", source, "--direction", "push"]
        yield ANY, plain, ["bfs", "--source", other, "--direction", "push"]
        yield "components", self.graph(name, undirected=True), ["components", "--method", "program"]
        yield "multi-source", plain, ["multi-source", "--sources", sources]

    def others(self, name):
        """The same of the paper's other algorithms: betweenness reads lists of both directions, in order."""
        graph = self.graph(name, undirected=True)
        yield "diameter", graph, ["diameter", "--direction", "push"]
        yield "betweenness", graph, ["betweenness", "--method", "lists", "--sources", ",".join(f"random:{seed}" for seed in range(self.options.sources))]

    def source(self, graph, asked):
        """The original id of a source: which one is meant by name may depend on the order."""
        levels = self.dir / f"{graph.stem}-levels.csv"
        self.command("run", "bfs", graph, "--source", asked, "-o", levels)
        with open(levels, encoding="utf-8") as lines:
            found = next(line.split(",")[0] for line in lines if line.rstrip().split(",")[1] == "0")
        levels.unlink()
        return found

    def ordered(self, name, order):
        """The graph in an order, and the seconds that it took to write it."""
        plain, (order, *more) = self.graph(name), order.split(", window ")
        if order == "gorder" and not more:
            more = [max(5, round(8192 / (self.lists(plain) / self.command("info", plain)["connected"])))]
        path = self.dir / f"{plain.stem}-{'-'.join(map(str, (order, *more)))}.oc"
        seconds = 0.0
        if not path.exists():
            begun = time.monotonic()
            self.command("order", order, plain, "-o", path, *(("--window", more[0]) if more else ()))
            seconds = time.monotonic() - begun
        return path, seconds

    def run(self, graph, words, pages, lists=0, more=PAPER, before=None):
        static = ["--static-cache", lists] if lists else []
        return self.command("run", words[0], graph, *words[1:], *more, "--page-cache", pages, *static, before=before)

    def select(self, graph, size, *words):
        return self.command("cache", graph, "--size", size, *words)["about"]


def cnr(file):
    """The edges of an adjacency list in text, two numbers each."""
    edges = array.array("I")
    with gzip.open(file, "rt") as lines:
        for vertex in range(int(next(lines))):
            for neighbor in next(lines).split():
                edges.extend((vertex, int(neighbor)))
    return edges


def table(title, head, note=""):
    print(f"\n### {title}\n\n{note + chr(10) + chr(10) if note else ''}| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)


def row(*cells):
    print(f"| {' | '.join(cell if isinstance(cell, str) else figure(cell) for cell in cells)} |", flush=True)


def figure(number):
    return f"{number:,}" if isinstance(number, int) else f"{number:.3f}" if number < 10 else f"{number:.1f}"


def mean(values):
    return sum(values) / len(values)


def compared(bench, title, names, selections, shares, more=PAPER, block=(), runs=Bench.runs):
    """A row of shares of bytes for each run, and what they are all over; the same of requests below."""
    pages, lists = shares
    table(title, ["graph", "run", "pages alone, MB", *selections], f"Page cache of {pages + lists:.0%} of the lists' bytes; or {pages:.0%}, and a static cache of {lists:.0%}. Bytes read, of those with pages alone.")
    bytes_read, requests = {name: [] for name in selections}, {name: [] for name in selections}
    for name in names:
        for kind, graph, words in runs(bench, name):
            size = bench.lists(graph)
            alone = bench.run(graph, words, int(size * (pages + lists)), more=more)
            for selection, how in selections.items():
                beside = [] if how else ["--page-cache", int(size * pages)]
                bench.select(graph, int(size * lists), *how, *beside, *(block if how[:1] != ["--select"] else ()))
                found = bench.run(graph, words, int(size * pages), int(size * lists), more=more)
                assert found["summary"] == alone["summary"], (name, kind, selection)
                bytes_read[selection].append(found["bytes_read"] / alone["bytes_read"])
                requests[selection].append(found["requests"] / alone["requests"])
            row(name, kind, alone["bytes_read"] / 1e6, *(found[-1] for found in bytes_read.values()))
    row("all", "mean", "", *map(mean, bytes_read.values()))
    row("all", "worst", "", *map(max, bytes_read.values()))
    row("all", "mean of requests", "", *map(mean, requests.values()))
    row("all", "worst of requests", "", *map(max, requests.values()))


def selections(bench):
    compared(bench, "Selections, pages of 8 KiB (figure 6)", bench.rmats[:1] + bench.reals, SELECTIONS, (0.05, 0.10))


def others(bench):
    some = {name: SELECTIONS[name] for name in ("gvs", "low-degree", "high-degree", "random")}
    compared(bench, f"Selections: diameter, and betweenness from {bench.options.sources} sources", bench.rmats[:1] + bench.reals, some, (0.05, 0.10), runs=Bench.others)


def default(bench):
    """The engine as it comes: a budget between what values need and what all lists would, with a part of it static or not."""
    table("The default engine", ["graph", "run", "budget, MiB", "without, MB", "share", "share of requests", "seconds", "share"],
          "The budget is the least in which a static cache of 10 % of the lists' bytes fits. Bytes and requests of runs with it, of those without; seconds are medians of five cold runs, without loading.")
    shares = []
    for name in bench.rmats[:1] + bench.reals:
        for kind, graph, words in bench.runs(name):
            words = [*(word for word in words if word not in ("--direction", "push")), "--model", "semi-external"]
            lists = int(bench.lists(graph) * 0.10)
            bench.select(graph, lists)
            budget = least(bench, [words[0], graph, *words[1:], "--static-cache", lists])
            both = [timed(bench, graph, words, budget, more) for more in ([], ["--static-cache", lists])]
            (alone, seconds), (found, less) = both
            assert found["summary"] == alone["summary"], (name, kind)
            shares.append([found["bytes_read"] / alone["bytes_read"], found["requests"] / alone["requests"], less / seconds])
            row(name, kind, round(budget / MIB), alone["bytes_read"] / 1e6, *shares[-1][:2], seconds, shares[-1][2])
    row("all", "mean", "", "", *map(mean, list(zip(*shares))[:2]), "", mean([each[2] for each in shares]))


def least(bench, words):
    """The least budget of a run, in bytes: that which a refusal of one MiB names."""
    refused = subprocess.run([str(word) for word in (bench.options.binary, "plan", *words, "--memory", "1M", "--json")], capture_output=True, text=True, check=False)
    return int(re.search(r"at least (\d+) bytes", refused.stderr)[1])


def timed(bench, graph, words, budget, more):
    """The last report of five cold runs, and the median of their seconds, without loading."""
    seconds = []
    for _ in range(5):
        drop_caches()
        report = bench.command("run", words[0], graph, *words[1:], "--memory", budget, *more)
        seconds.append(report["seconds"] - (report["cache"].get("selected") or {"load_seconds": 0.0})["load_seconds"])
    return report, sorted(seconds)[2]


def larger(bench):
    some = {name: SELECTIONS[name] for name in ("gvs", "gvs, neighbors", "low-degree")}
    names = bench.rmats[:1] + bench.reals[:3]
    for lists in (0.2, 0.4):
        compared(bench, f"Selections, a static cache of {lists:.0%} (figure 6)", names, some, (0.05, lists))
    small = ["--block", "512", *PAPER[2:]]
    compared(bench, "Selections, pages of 512 bytes (figure 13)", names, some, (0.10, 0.20), small, ("--block", "512"))


def orders(bench):
    table("Orders (figure 11, table 3)", ["graph", "run", "original, MB", *ORDERS], "Page cache of 25 % of the lists' bytes. Bytes read, of those in the order `original`; below, seconds to write the graph in the order.")
    both = {name: [] for name in ORDERS}
    for name in [*bench.rmats[:1], *bench.reals]:
        plain, seconds, made = bench.graph(name), [], {}
        for order in ORDERS:
            made[order], took = bench.ordered(name, order)
            seconds.append(took)
        for kind, graph, words in bench.runs(name):
            if graph != plain:
                continue
            pages = int(bench.lists(graph) * 0.25)
            base = bench.run(graph, words, pages)["bytes_read"]
            for order in ORDERS:
                both[order].append(bench.run(made[order], words, pages)["bytes_read"] / base)
            row(name, kind, base / 1e6, *(found[-1] for found in both.values()))
        words = {order: next(s["bytes"] for s in bench.command("info", made[order])["sections"] if s["name"] == "grid.words") for order in ORDERS}
        row(name, "words of the tiles, bytes an edge", "", *(count / bench.command("info", plain)["edges"] for count in words.values()))
        row(name, "seconds", "", *seconds)
    row("all", "mean", "", *map(mean, both.values()))
    for own in ("norder", "hubs-bfs"):
        by = {order: mean([a / b for a, b in zip(both[own], both[order])]) for order in ORDERS if order != own}
        print(f"\nBytes of {own}, of those of " + ", ".join(f"{order}: {share:.3f}" for order, share in by.items()) + " (means of shares).")


WAYS = {"gorder, pages": ("gorder", None), "norder, pages": ("norder", None), "norder, gvs": ("norder", []), "hubs-bfs, pages": ("hubs-bfs", None), "hubs-bfs, gvs": ("hubs-bfs", [])}


def together(bench):
    ways = {**WAYS, "gorder, gvs": ("gorder", []), "norder, low-degree": ("norder", ["--select", "low-degree"])}
    table("Both together (figure 12)", ["graph", "run", *ways], "A page cache of 25 %; or 5 %, and a static cache of 20 %. Bytes read, of those by Gorder with pages alone.")
    shares = {way: [] for way in ways}
    for name in [*bench.rmats[:1], *bench.reals]:
        plain = bench.graph(name)
        for kind, graph, words in bench.runs(name):
            if graph != plain:
                continue
            size, read = bench.lists(graph), {}
            for way, (order, how) in ways.items():
                other, _ = bench.ordered(name, order)
                if how is None:
                    read[way] = bench.run(other, words, int(size * 0.25))["bytes_read"]
                else:
                    beside = [] if how else ["--page-cache", int(size * 0.05)]
                    bench.select(other, int(size * 0.20), *how, *beside)
                    read[way] = bench.run(other, words, int(size * 0.05), int(size * 0.20))["bytes_read"]
                shares[way].append(read[way] / read["gorder, pages"])
            row(name, kind, *(found[-1] for found in shares.values()))
    row("all", "mean", *map(mean, shares.values()))


def throttled(bench):
    """Seconds where the device is the limit, loading counted and not: by selections, and by orders. A device for each graph, all at once."""
    head = f"{RATE // 10**6} MB and {REQUESTS} requests a second, cold. The paper's configuration. "
    rows = on_devices(bench, selected_on)
    table("Seconds on a throttled device, by GVS", ["graph", "run", "pages alone, s", "gvs, s", "share", "share of bytes", "share with loading", "select, s", "load, s", "runs to break even"],
          head + "15 % pages; or 5 %, and 10 % lists. Seconds of gvs are without loading; runs to break even pay for selecting (at full speed) and for loading once each.")
    for cells in rows:
        row(*cells)
    row("all", "mean", "", "", *(mean([cells[at] for cells in rows]) for at in (4, 5, 6)), "", "", "")
    rows = on_devices(bench, ordered_on)
    table("Seconds on a throttled device, by orders", ["graph", "run", *WAYS], head + "25 % pages; or 5 %, and 20 % lists, without loading.")
    for cells in rows:
        row(*cells)
    row("all", "mean of shares of the first", *(mean([cells[at + 2] / cells[2] for cells in rows]) for at in range(len(WAYS))))


def on_devices(bench, measure):
    names = [*bench.rmats[:1], *bench.reals]
    loops = Loops(bench.dir, len(names), 640 * MIB)
    throttle = None
    try:
        throttle = Throttle(loops.devices, RATE, REQUESTS)
        with ThreadPoolExecutor(len(names)) as pool:
            done = [pool.submit(lambda *on: list(measure(bench, *on)), name, mount, throttle) for name, mount in zip(names, loops.mounts)]
            return [cells for future in done for cells in future.result()]
    finally:
        if throttle:
            throttle.close()
        loops.close()


def slow(bench, graph, words, caches, on):
    """A cold run on a device: its seconds without loading the static cache, those of loading, and its bytes."""
    mount, throttle = on
    copy = mount / graph.name
    shutil.copytree(graph, copy)
    if caches[1]:
        shutil.copy(f"{graph}.cache", mount)
    drop_caches()
    found = bench.run(copy, words, *caches, before=throttle.enter)
    shutil.rmtree(copy)
    load = (found["cache"].get("selected") or {"load_seconds": 0.0})["load_seconds"]
    return found["seconds"] - load, load, found["bytes_read"]


def selected_on(bench, name, *on):
    # Those of the road network would take an hour, and are those with pages alone.
    roads = name == "USA-road-d.NY"
    for kind, graph, words in bench.runs(name):
        if roads and kind in ("components", "multi-source"):
            continue
        size = bench.lists(graph)
        about = bench.select(graph, int(size * 0.10), "--page-cache", int(size * 0.05))
        full, _, all_bytes = slow(bench, graph, words, (int(size * 0.15), 0), on)
        bare, load, read = slow(bench, graph, words, (int(size * 0.05), int(size * 0.10)), on)
        # Each run of a process loads the lists; one process with many runs does so once.
        runs = "never" if bare >= full else figure((about["seconds"] + load) / (full - bare))
        yield name, kind, full, bare, bare / full, read / all_bytes, (bare + load) / full, about["seconds"], load, runs


def ordered_on(bench, name, *on):
    for kind, graph, words in bench.runs(name):
        if graph != bench.graph(name) or kind == "multi-source":
            continue
        size, seconds = bench.lists(graph), []
        for order, how in WAYS.values():
            other, _ = bench.ordered(name, order)
            if how is not None:
                bench.select(other, int(size * 0.20), *how, "--page-cache", int(size * 0.05))
            caches = (int(size * 0.25), 0) if how is None else (int(size * 0.05), int(size * 0.20))
            seconds.append(slow(bench, other, words, caches, on)[0])
        yield name, kind, *seconds


def rounds(bench):
    table("Seconds to select, by rounds (table 2, figure 10)", ["graph", "how", *(f"K = {k}" for k in (1, 10, 100, 1000)), "against 1, of 1.5 sqrt(K)"], "A static cache of 20 % of the lists' bytes. The last column: the time by the one for K = 1, at most, in the bound of the paper: 1.5 times the square root of K.")
    for name in [*bench.rmats[:1], *bench.reals]:
        graph = bench.graph(name)
        for label, how in (("searches", []), ("neighbors", ["--sample", "0"])):
            took = [min(bench.select(graph, "20%", "--rounds", k, *how)["seconds"] for _ in range(2)) for k in (1, 10, 100, 1000)]
            row(name, label, *took, max(seconds / took[0] / (1.5 * k**0.5) for seconds, k in zip(took[1:], (10, 100, 1000))))
    if not bench.rmats:
        return
    big = bench.graph(f"RMAT {bench.options.scale + 2}, seed 1")
    scan = min(plain_scan(big) for _ in range(3))
    for label, how in (("searches", []), ("neighbors", ["--sample", "0"])):
        took = bench.select(big, "20%", "--rounds", 1, *how)["seconds"]
        print(f"\nRMAT {bench.options.scale + 2}, K = 1, {label}: {took:.2f} s; one reading of the lists of both directions takes {scan:.2f} s: {took / scan:.1f} of these.")


def plain_scan(graph):
    """Seconds to read the lists of both directions, cold, by a program that does nothing with them."""
    drop_caches()
    begun = time.monotonic()
    for section in graph.glob("*.adjacency"):
        with open(section, "rb", buffering=0) as file:
            while file.read(4 * MIB):
                pass
    return time.monotonic() - begun


def shuffled(vertices, part, block, rng):
    """Other ids for vertices: a part of them change places, and blocks of ids are shuffled within."""
    ids = list(range(vertices))
    some = rng.sample(range(vertices), int(vertices * part))
    for one, other in zip(some, rng.sample(some, len(some))):
        ids[one] = other
    for start in range(0, vertices if block else 0, block or 1):
        within = ids[start : start + block]
        rng.shuffle(within)
        ids[start : start + block] = within
    return ids


def correlation(xs, ys):
    mx, my = mean(xs), mean(ys)
    cross = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    return cross * cross / max(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys), 1e-300)


def model(bench):
    table("The cost model (equation 1, figure 5): 20 orders of the ids", ["graph", "run", "r-squared with bytes", "with requests", "with seconds", "cost, least / most", "bytes, least / most"],
          "The order of the ids, of which 0 to 100 % change places, or which are shuffled within blocks of 4 to 262,144. A page cache of 15 % of the lists' bytes. "
          f"Seconds of searches are those on a device of {RATE // 10**6} MB and {REQUESTS} requests a second.")
    loops = Loops(bench.dir, 1, 640 * MIB)
    throttle = Throttle(loops.devices, RATE, REQUESTS)
    try:
        modelled(bench, (loops.mounts[0], throttle))
    finally:
        throttle.close()
        loops.close()


def modelled(bench, on):
    for name in [real for real in bench.reals if real in ("cnr-2000", "web-NotreDame", "soc-Epinions1")]:
        edges, vertices = numbers(bench, name)
        costs, bytes_read, requests, seconds = [], {}, {}, []
        parts = [(part / 100, 0) for part in (0, 1, 2, 5, 10, 20, 35, 50, 75, 100)] + [(0, 4 ** k) for k in range(1, 10)] + [(0.5, 4096)]
        for part, block in parts:
            ids = shuffled(vertices, part, block, random.Random(5))
            pairs, other = bench.pairs(array.array("I", [ids[id] for id in edges])), bench.dir / "shuffled.oc"
            bench.command("build", pairs, "-o", other, "--order", "original", "--format", "pairs-u32", "--force")
            pages = int(bench.lists(other) * 0.15)
            costs.append(bench.command("info", other, "--io-cost")["io_cost"])
            for kind, words in {"bfs": ["bfs", "--source", "max-degree", "--direction", "push"], "diameter": ["diameter", "--direction", "push"]}.items():
                report = bench.run(other, words, pages)
                bytes_read.setdefault(kind, []).append(report["bytes_read"])
                requests.setdefault(kind, []).append(report["requests"])
                if kind == "bfs":
                    seconds.append(slow(bench, other, words, (pages, 0), on)[0])
        for kind in bytes_read:
            read = bytes_read[kind]
            row(name, kind, correlation(costs, read), correlation(costs, requests[kind]), correlation(costs, seconds) if kind == "bfs" else "", min(costs) / max(costs), min(read) / max(read))


def numbers(bench, name):
    """The edges of a graph, two numbers each: places among the ids that have edges."""
    text = bench.dir / "edges.csv"
    bench.command("export", bench.graph(name), "-o", text)
    edges = array.array("I")
    with open(text, encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(",")[:2]
            if fields[0].isdigit():
                edges.extend(map(int, fields))
    text.unlink()
    places = {id: place for place, id in enumerate(sorted(set(edges)))}
    return array.array("I", (places[id] for id in edges)), len(places)


def changed(bench):
    """Figure 9: a selection after 6 % of the edges changed: of ten changes eight are new edges between ends of any edges, two go."""
    table("A selection after 6 % of the edges changed (figure 9)", ["graph", "selection", "bfs", "multi-source", "lists as they were", "lists found in it"], "5 % pages, 20 % lists, on the changed graph. Bytes read, of those with pages alone.")
    for name in [f"RMAT {bench.options.scale - 4}, seed 1", *(real for real in bench.reals if real in ("cnr-2000", "web-NotreDame", "soc-Epinions1"))]:
        edges, vertices = numbers(bench, name)
        count, rng = len(edges) // 2, random.Random(9)
        graphs = [bench.dir / "before.oc", bench.dir / "after.oc"]
        for graph, part in zip(graphs, (0, 0.06)):
            gone = set(rng.sample(range(count), int(count * part * 0.2)))
            kept = array.array("I", (id for at in range(count) if at not in gone for id in edges[2 * at : 2 * at + 2]))
            # The end of any edge has a vertex as often as it has edges: preferential attachment.
            kept.extend(edges[2 * rng.randrange(count) + end] for _ in range(int(count * part * 0.8)) for end in (0, 1))
            bench.command("build", bench.pairs(kept), "-o", graph, "--order", "original", "--format", "pairs-u32", "--force")
        size = bench.lists(graphs[1])
        runs = {"bfs": ["bfs", "--source", "max-degree", "--direction", "push"], "multi-source": ["multi-source", "--sources", ",".join(str(edges[2 * rng.randrange(count)]) for _ in range(64))]}
        alone = {kind: bench.run(graphs[1], words, int(size * 0.25))["bytes_read"] for kind, words in runs.items()}
        for label in ("of before", "anew"):
            bench.select(graphs[label == "anew"], int(size * 0.20))
            if label == "of before":
                shutil.copy(f"{graphs[0]}.cache", f"{graphs[1]}.cache")
            found = {kind: bench.run(graphs[1], words, int(size * 0.05), int(size * 0.20)) for kind, words in runs.items()}
            selected = found["bfs"]["cache"]["selected"]
            row(name, label, *(found[kind]["bytes_read"] / alone[kind] for kind in runs), f"{selected['valid_share']:.1%}", selected["lists"])


SECTIONS = {f.__name__: f for f in (selections, others, default, larger, orders, together, throttled, rounds, model, changed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path, help="the command")
    parser.add_argument("--dir", required=True, type=Path, help="where graphs are kept")
    parser.add_argument("--data", type=Path, help="a folder with real graphs")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--sources", type=int, default=128, help="of betweenness and of many searches at once")
    parser.add_argument("--graph", action="append", metavar="NAME", help="these graphs only, as tables name them (repeatable)")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="these sections only (repeatable)")
    options = parser.parse_args()
    options.binary, bench = options.binary.resolve(), Bench(options)
    print(f"# Static cache and orders, {time.strftime('%Y-%m-%d')}\n\n{os.cpu_count()} cores, Linux {platform.release()}, two threads.")
    for name, section in SECTIONS.items():
        if not options.only or name in options.only:
            begun = time.monotonic()
            try:
                section(bench)
            except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                print(f"\n### {name}\n\nNot measured: {error}")
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
