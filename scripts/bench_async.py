#!/usr/bin/env python3
"""Asynchronous traversal (SC'10): visitors against serial algorithms in memory, and against levels, windows and scans. Tables in Markdown, on standard output.

Graphs are those of the paper, smaller: RMAT-A and RMAT-B with unique edges, weights UW and LUW, undirected for components. Every run is cold (the page cache is dropped, which needs root).
The ways of a table are measured in turn, --repeats times each; figures are medians. The serial algorithms are those of crates/baselines: their answers must be ours. Python 3.9 or newer, no packages.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from block_trace import BlockTrace
from devices import drop_caches

KINDS = {"A": (0.45, 0.15, 0.15, 0.25), "B": (0.57, 0.19, 0.19, 0.05)}
VISITORS = ["--executor", "async"]
# For each algorithm the ways beside visitors: the same kind of algorithm without priorities first, then the best without visitors.
ROUNDS = {
    "bfs": ("levels, push", ["--executor", "sync", "--direction", "push"]),
    "sssp": ("rounds", ["--executor", "sync", "--method", "program"]),
    "components": ("rounds", ["--executor", "sync", "--method", "program"]),
}
SYNC = {"bfs": "levels", "sssp": "windows", "components": "union-find"}


class Missing(Exception):
    """What is to be measured cannot be run here."""


class Bench:
    def __init__(self, options):
        self.options, self.dir, self.serials = options, options.dir, {}
        self.dir.mkdir(parents=True, exist_ok=True)

    def command(self, program, *words):
        done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0][:200])
        return json.loads(done.stdout)

    def rmat(self, kind, variant):
        """The graph of a kind: `plain`, `uw`, `luw` or `undirected`."""
        a, b, c, d = KINDS[kind]
        path = self.dir / f"rmat{self.options.scale}-{kind}-{variant}.oc"
        if not path.exists():
            print(f"making {path.name} ...", file=sys.stderr)
            shape = {"plain": [], "undirected": ["--undirected"]}.get(variant, ["--weights", variant])
            self.command(self.options.binary, "generate", "rmat", "--scale", self.options.scale, "--edge-factor", 16, "--seed", 1, "--a", a, "--b", b, "--c", c, "--d", d, "--simple", *shape, "-o", path, "--json")
        return path

    def cases(self, algorithm):
        """Graphs for an algorithm, each with the options that say where it begins."""
        variants = {"bfs": ["plain"], "sssp": ["uw", "luw"], "components": ["undirected"]}[algorithm]
        begin = [] if algorithm == "components" else ["--source", "max-degree"]
        made = [(self.rmat(kind, variant), begin) for kind in KINDS for variant in variants]
        return made + [(path, begin and ["--source", source]) for path, source in self.options.graph if self.suits(path, algorithm)]

    def suits(self, path, algorithm):
        info = self.command(self.options.binary, "info", path, "--json")
        if algorithm == "components":
            return not info["directed"]
        return info["directed"] and (algorithm == "bfs" or info["weights"] == "u32")

    def run(self, algorithm, graph, *words):
        drop_caches()
        return self.command(self.options.binary, "run", algorithm, graph, *words, "--json", "--progress", "none")

    def compare(self, ways):
        """Every way in turn, several times: the report of each whose seconds are the median."""
        reports = {name: [] for name in ways}
        for _ in range(self.options.repeats):
            for name, words in ways.items():
                reports[name].append(self.run(*words))
        middle = {name: sorted(found, key=lambda report: report["seconds"])[len(found) // 2] for name, found in reports.items()}
        answers = {json.dumps(report["summary"], sort_keys=True) for report in middle.values()}
        assert len(answers) == 1, answers
        return middle

    def serial(self, algorithm, graph, report):
        """The serial algorithm on the same edges; its answer must be that of the report."""
        if (algorithm, graph) not in self.serials:
            edges = self.dir / f"{graph.stem}.csv"
            try:
                self.command(self.options.binary, "export", graph, "-o", edges, "--json")
                source = ["--source", report["summary"]["source"]] if "source" in report["summary"] else []
                self.serials[algorithm, graph] = self.command(self.options.baselines, "graph", edges, algorithm, "--vertices", report["vertices"], "--repeats", self.options.repeats, *source)
            finally:
                edges.unlink(missing_ok=True)
        found = self.serials[algorithm, graph]
        for key, value in found["summary"].items():
            assert value == int(report["summary"][key]), (graph, algorithm, key, value, report["summary"])
        return found

    def plain(self, graph, requests):
        """These requests (file, offset, bytes), in this order, by a program that only reads."""
        if not requests:
            raise Missing("no requests were seen")
        listed = self.dir / "requests.txt"
        listed.write_text("".join(f"{name} {offset} {size}\n" for name, offset, size in requests))
        drop_caches()
        try:
            return self.command(self.options.baselines, "read", graph, listed)
        finally:
            listed.unlink()


def table(title, head, note=""):
    print(f"\n### {title}\n\n{note + chr(10) + chr(10) if note else ''}| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)


def row(*cells):
    print(f"| {' | '.join(cell if isinstance(cell, str) else figure(cell) for cell in cells)} |", flush=True)


def figure(number):
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:.0f}" if number >= 100 else f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def without_loading(report):
    return report["seconds"] - report["load_seconds"]


def against_serial(bench, algorithm, title):
    rounds, words = ROUNDS[algorithm]
    for model in ("in-memory", "semi-external"):
        inside = model == "in-memory"
        note = "Seconds without loading, as those of the serial program." if inside else "Seconds of the whole run, cold, loading of the index included; the serial program has its lists in memory."
        table(f"{title}, {model}", ["graph", "serial, 32-bit ids", "64-bit", "32-bit, by degree", "visitors", rounds, SYNC[algorithm], "default", "serial / visitors", "serial / default", "visits that read / reached",
                                    f"edges / {rounds}", "MB read", "peak MiB"], note)
        seconds = without_loading if inside else lambda report: report["seconds"]
        for graph, begin in bench.cases(algorithm):
            base = [algorithm, graph, *begin, "--model", model]
            found = bench.compare({"visitors": base + VISITORS, "rounds": base + words, "sync": [*base, "--executor", "sync"], "default": base})
            serial = bench.serial(algorithm, graph, found["visitors"])
            visitors, narrow = found["visitors"], serial["ids_32"]["seconds"]
            reached = visitors["summary"].get("reached", visitors["vertices"])
            row(graph.stem, narrow, serial["ids_64"]["seconds"], serial["ids_32_by_degree"]["seconds"], *(seconds(report) for report in found.values()), f"{narrow / seconds(visitors):.2f}x",
                f"{narrow / seconds(found['default']):.2f}x", visitors["visitors"]["reads"] / reached, visitors["edges_processed"] / max(1, found["rounds"]["edges_processed"]), visitors["bytes_read"] // 10**6,
                visitors["peak_rss_bytes"] >> 20)


def bfs(bench):
    against_serial(bench, "bfs", "Breadth-first search (figures 4 and 7a)")


def sssp(bench):
    against_serial(bench, "sssp", "Shortest paths (figure 5)")


def components(bench):
    against_serial(bench, "components", "Components (figures 6 and 7b)")


def incompressible(bench):
    """A file of a gibibyte that a device cannot shorten."""
    file = bench.dir / "reads.bin"
    if not file.exists():
        with open(file, "wb") as out:
            for _ in range(1024):
                out.write(os.urandom(1 << 20))
    drop_caches()
    return file


def device(bench):
    """Figure 1: random reads of 4 KiB by how many are in flight."""
    points = bench.command(bench.options.baselines, "device", incompressible(bench))["points"]
    table("The device (figure 1): random reads of 4 KiB", ["in flight", "requests/s", "microseconds of one", "against one"])
    for point in points:
        row(point["depth"], round(point["requests_per_second"]), point["microseconds"], f"{point['requests_per_second'] / points[0]['requests_per_second']:.1f}x")


def threads(bench):
    counts = (1, 2, 4)
    table("By threads", ["graph", "algorithm", "model", "serial, 32-bit ids", *(f"visitors, {count}" for count in counts), "gain of 2"],
          f"Seconds in memory without loading, semi-externally of the whole run. The machine has {os.cpu_count()} cores.")
    for algorithm in SYNC:
        for graph, begin in bench.cases(algorithm):
            for model in ("in-memory", "semi-external"):
                found = bench.compare({count: [algorithm, graph, *begin, "--model", model, *VISITORS, "--threads", count] for count in counts})
                serial = bench.serial(algorithm, graph, found[1])["ids_32"]["seconds"]
                took = [without_loading(report) if model == "in-memory" else report["seconds"] for report in found.values()]
                row(graph.stem, algorithm, model, serial, *took, f"{took[0] / took[1]:.2f}x")


def in_flight(bench):
    table("By visitors in flight, semi-external", ["graph", "algorithm", "--in-flight", "seconds", "mean in flight", "most", "requests", "MB read", "visits that read", "corrected"],
          "`--in-flight` is for each thread, of two. A visitor whose list is in memory is not in flight.")
    for algorithm in SYNC:
        for graph, begin in bench.cases(algorithm):
            base = [algorithm, graph, *begin, "--model", "semi-external", *VISITORS]
            found = bench.compare({**{str(count): [*base, "--in-flight", count] for count in (1, 16, 64, 256, 1024, 4096)}, "default": base})
            for count, report in found.items():
                did = report["visitors"]
                row(graph.stem, algorithm, count, report["seconds"], did["mean_in_flight"], did["most_in_flight"], report["requests"], report["bytes_read"] // 10**6, did["reads"], did["corrected"])


def wide(bench):
    """What the device gives to visitors while many wait, against a plain reader of the very same requests."""
    table("While the frontier is wide: visitors against a plain reader", ["graph", "algorithm", "requests", "MB", "mean KiB", "visitors, s", "GB/s", "plain, s", "GB/s", "share", "cores busy"],
          "The requests that the block device got from a run in the shortest time that has 80 % of its bytes; then the same, in the same order, by a program that only reads, with as many threads and 64 reads in "
          "flight for each. The share is that of the plain reader's speed. Cores busy: of all cores, in the whole run.")
    for algorithm in SYNC:
        for graph, begin in bench.cases(algorithm):
            shares = []
            for _ in range(bench.options.repeats):
                with BlockTrace(graph) as trace:
                    report = bench.run(algorithm, graph, *begin, "--model", "semi-external", *VISITORS)
                busy = report["io"]["cpu_seconds"] / report["seconds"] / report["threads"]
                requests, seconds = trace.widest(0.8)
                plain = bench.plain(graph, requests)
                shares.append((plain["seconds"] / seconds, seconds, busy, plain))
            share, seconds, busy, plain = sorted(shares, key=lambda found: found[0])[len(shares) // 2]
            size = plain["bytes"]
            row(graph.stem, algorithm, plain["requests"], size // 10**6, size / plain["requests"] / 1024, seconds, size / seconds / 1e9, plain["seconds"], size / plain["seconds"] / 1e9, f"{share:.0%}", f"{busy:.0%}")


def chain(bench):
    """A deep graph: how long a run takes, and how long its longest chain of reads that wait for each other would alone."""
    latency = bench.command(bench.options.baselines, "device", incompressible(bench), "--depths", 1)["points"][0]["microseconds"] / 1e6
    table("Deep graphs, semi-external breadth-first search: the bound of dependent reads", ["graph", "levels", "longest way, pages", "turns", "bound: turns, s", "bound: a read for each level, s", "read at once, s", "visitors, s",
                                                                                             "in memory, s", "levels, push, s", "serial, 32-bit ids"],
          f"One read of 4 KiB alone takes {latency * 1e6:.0f} microseconds. Turns: reads that wait for each other in a search which reads every page once and waits for nothing else (`baselines chain`). "
          "Read at once: all pages of outgoing lists, by a plain reader, in order.")
    for graph, source in bench.options.graph:
        info = bench.command(bench.options.binary, "info", graph, "--json")
        if not bench.suits(graph, "bfs") or info["order"] != "degree":
            continue
        base = ["bfs", graph, "--source", source]
        ways = {"semi": [*base, "--model", "semi-external", *VISITORS], "inside": [*base, "--model", "in-memory", *VISITORS], "push": [*base, "--model", "semi-external", *ROUNDS["bfs"][1]]}
        found = bench.compare(ways)
        serial = bench.serial("bfs", graph, found["semi"])["ids_32"]["seconds"]
        adjacency = next(section["bytes"] for section in info["sections"] if section["name"] == "out.adjacency")
        edges = bench.dir / f"{graph.stem}.csv"
        try:
            bench.command(bench.options.binary, "export", graph, "-o", edges, "--json")
            bound = bench.command(bench.options.baselines, "chain", edges, "--vertices", info["vertices"], "--source", found["semi"]["summary"]["source"], "--neighbor", adjacency // info["edges"])
        finally:
            edges.unlink(missing_ok=True)
        levels = found["semi"]["summary"]["levels"]
        row(graph.stem, levels, bound["longest_way_pages"], bound["turns"], bound["turns"] * latency, levels * latency, at_once(bench, graph)["seconds"], found["semi"]["seconds"],
            without_loading(found["inside"]), found["push"]["seconds"], serial)


def at_once(bench, graph):
    length, step = (graph / "out.adjacency").stat().st_size, 128 << 10
    return bench.plain(graph, [("out.adjacency", offset, min(step, length - offset)) for offset in range(0, length, step)])


SECTIONS = {f.__name__.replace("_", "-"): f for f in (device, bfs, sssp, components, threads, in_flight, wide, chain)}


def named(text):
    """`GRAPH.oc` or `GRAPH.oc:SOURCE`."""
    path, _, source = text.partition(":")
    return Path(path), source or "max-degree"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path, help="the command")
    parser.add_argument("--baselines", required=True, type=Path, help="the program of crates/baselines")
    parser.add_argument("--dir", required=True, type=Path, help="where graphs are kept")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--graph", type=named, action="append", default=[], metavar="GRAPH[:SOURCE]", help="another graph (repeatable); `chain` is for these alone")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="these sections only (repeatable)")
    options = parser.parse_args()
    options.binary, options.baselines = options.binary.resolve(), options.baselines.resolve()
    bench = Bench(options)
    print(f"# Asynchronous traversal, {time.strftime('%Y-%m-%d')}\n\n{os.cpu_count()} cores, Linux {platform.release()}, RMAT scale {options.scale}, edge factor 16, cold, medians of {options.repeats}.")
    for name, section in SECTIONS.items():
        if not options.only or name in options.only:
            try:
                section(bench)
            except (Missing, PermissionError) as error:
                print(f"\n### {name}\n\nNot measured: {error}")


if __name__ == "__main__":
    main()
