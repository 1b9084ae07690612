#!/usr/bin/env python3
"""Measures Outercore: devices, runs and builds, each cold and inside a memory limit. Python 3.9 or newer, no packages.

Graphs and edge lists are made once and kept in --dir (about 15 GB at scale 24). Before each run the page cache is dropped, and the process is put into a
control group of its budget plus 64 MiB; both need root, and where they cannot be had the table says so. Figures are medians of --repeats runs (with
the smallest and the largest); what the run itself reports is used, not the wall clock, except where the wall clock is the figure. The column *rival* is what
other systems took on a machine of this kind on 22 November 2026, in memory unless it says otherwise (docs/benchmarks/2026-11-22-rivals.md).
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20
SLACK = 64 * MIB
REPOSITORY = Path(__file__).resolve().parent.parent


def text_of(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


class Group:
    """A memory control group for one process, version 1 or 2; `kind` is empty where there is none."""

    def __init__(self):
        self.kind, self.path = "", None
        one, two = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
        for kind, root, file in (("v1", one, "memory.limit_in_bytes"), ("v2", two, "memory.max")):
            path = root / f"outercore-bench-{os.getpid()}"
            try:
                if kind == "v2" and "memory" in text_of(root / "cgroup.controllers").split():
                    (root / "cgroup.subtree_control").write_text("+memory")
                if not root.is_dir() or (kind == "v1" and not (root / file).exists()):
                    continue
                path.mkdir()
                if (path / file).exists():
                    self.kind, self.path, self.file = kind, path, file
                    return
                path.rmdir()
            except OSError:
                if path.is_dir():
                    path.rmdir()

    def limit(self, size):
        if self.kind:
            (self.path / self.file).write_text(str(size))
            swap = self.path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")

    def enter(self):
        if self.kind:
            (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        if self.kind:
            self.path.rmdir()


class Bench:
    def __init__(self, options):
        self.options = options
        self.binary, self.generator = Path(options.binary).resolve(), Path(options.generator).resolve()
        self.dir = Path(options.dir)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.group = Group()
        self.cold = self.drop_caches()
        self.rows, self.recipes, self.device = [], {}, {}

    def drop_caches(self):
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3")
            return True
        except OSError:
            return False

    def make(self, name, *command, program=None):
        """Makes a graph or an edge list, unless it is there."""
        path = self.dir / name
        if not path.exists():
            print(f"making {name} ...", flush=True)
            part = self.dir / f"part-{name}"
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
            subprocess.run([program or self.binary, *[str(part) if word == "@" else word for word in command]], check=True, stdout=subprocess.DEVNULL)
            part.rename(path)
        return path

    def once(self, command, budget):
        """One cold run inside its limit, on graphs that are made unless they are there: what it printed as JSON, and the wall clock."""
        for name in self.recipes.keys() & set(command):
            self.make(name, *self.recipes[name])
        shutil.rmtree(self.dir / "built.oc", ignore_errors=True)
        self.drop_caches()
        if budget:
            self.group.limit(budget + SLACK)
        begin = time.monotonic()
        with subprocess.Popen([str(word) for word in (self.binary, *command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir,
                              preexec_fn=self.group.enter if budget else None) as process:
            out, err = process.communicate()
        seconds = time.monotonic() - begin
        if process.returncode:
            said = err.decode(errors="replace").strip().splitlines()[-1:] or ["nothing was said"]
            raise RuntimeError(f"exit {process.returncode}: {said[0]}")
        return json.loads(out), seconds

    def measure(self, title, command, figure, unit, target=None, budget=0, higher=True, note=None, repeats=None, rival="", over=None):
        """Adds a row: `figure(report, wall)` of several runs of `command`; `over`: divided by that of another command, each run right after it."""
        if self.options.only and self.options.only not in title:
            return
        print(f"{title} ...", end=" ", flush=True)
        load = os.getloadavg()[0]
        values, reports = [], []
        try:
            for _ in range(repeats or self.options.repeats):
                share = figure(*self.once(over, budget)) if over else 1
                report, wall = self.once(command, budget)
                values.append(figure(report, wall) / share)
                reports.append(report)
        except (RuntimeError, KeyError, ValueError) as error:
            print(error)
            self.rows.append({"title": title, "failed": str(error), "load": load})
            return
        median = statistics.median(values)
        print(f"{median:.2f} {unit}")
        shown = " ".join(str(word) for word in ("outercore", *command))
        peak = max((report.get("peak_rss_bytes", 0) for report in reports), default=0)
        self.rows.append({
            "title": title, "unit": unit, "median": median, "low": min(values), "high": max(values), "target": target, "higher": higher, "budget": budget, "peak": peak,
            "load": load, "rival": rival, "note": note(reports[-1]) if note else "", "met": target is None or (median >= target if higher else median <= target), "command": shown,
        })
        if over:
            self.rows[-1]["command"] += "\n  beside " + " ".join(str(word) for word in ("outercore", *over))


def rate(report, _):
    """Million edges a second of the whole run, loading included."""
    return report["edges"] * report["iterations"] / report["seconds"] / 1e6


def steady(report, _):
    """Million edges a second of the iterations after the first, which reads the edges from disk."""
    return report["edges"] / statistics.median(step["seconds"] for step in report["per_iteration"][1:]) / 1e6


def seconds(report, _):
    return report["seconds"]


def wall(_, clock):
    return clock


def traffic(report):
    return f"{report['memory_model']}, {report['bytes_read'] / 1e9:.2f} GB read at {report['bytes_read'] / report['seconds'] / 1e9:.2f} GB/s"


def lines(report):
    return f"{report['edges'] / 1e6:.1f} M edges in {report['seconds']:.1f} s"


def suite(bench, scale):
    """Every figure. Targets are those of a 2-core machine with an SSD of 3 GB/s, and of scale 24."""
    small = scale - 2
    target = (lambda value: value) if scale == 24 else (lambda value: None)
    need = lambda text: not bench.options.only or bench.options.only in text

    def rmat(size, name, *more):
        bench.recipes[name] = ["generate", "rmat", "--scale", str(size), "--seed", "1", *more, "-o", "@", "--progress", "none"]
        return name

    def device(report, _):
        bench.device = report
        return report["sequential_bytes_per_second"] / 1e9

    bench.measure("device, streams", ["bench", "device", ".", "--json"], device, "GB/s", target(2.5), repeats=1,
                  note=lambda report: f"{report['random_4k_iops'] / 1e3:.0f} k random reads of 4 KiB a second")
    graph = rmat(scale, f"rmat{scale}.oc")
    run = lambda algorithm, *more: ["run", algorithm, *more, "--json", "--progress", "none"]
    half, big = 512 * MIB, 4096 * MIB
    bench.measure("open and plan", ["plan", "pagerank", graph, "--memory", "512M", "--json"], wall, "s", target(0.05), half, higher=False)
    bench.measure("pagerank, 10 iterations, 512M", run("pagerank", graph, "--iterations", "10", "--memory", "512M"), rate, "M edges/s", target(1700), half, note=traffic,
                  rival="GridGraph 82, out of core")
    bench.measure("pagerank, in memory", run("pagerank", graph, "--iterations", "10", "--memory", "4G"), rate, "M edges/s", target(1600), big, note=traffic, rival="GAPBS 293 (Kronecker)")
    bench.measure("pagerank, 84M", run("pagerank", graph, "--iterations", "10", "--memory", "84M"), rate, "M edges/s", target(900), 84 * MIB, note=traffic)
    original = rmat(scale, f"rmat{scale}-original.oc", "--order", "original")
    bench.measure("pagerank, in memory, order original", run("pagerank", original, "--iterations", "10", "--memory", "4G"), steady, "M edges/s", target(650), big, note=traffic)
    bench.measure("components, 512M", run("components", graph, "--memory", "512M"), seconds, "s", target(0.9), half, higher=False, note=traffic, rival="ACGraph 10.8, out of core")
    hub = lambda on: run("bfs", on, "--source", "max-degree", "--memory", "512M")
    bench.measure("bfs from the largest hub, 512M", hub(graph), seconds, "s", target(0.18), half, higher=False, note=traffic, rival="ACGraph 6.3, out of core; GAPBS .35 (Kronecker)")
    alone = rmat(scale, f"rmat{scale}-no-transpose.oc", "--transpose", "off")
    bench.measure("bfs without a transpose, times with one", hub(alone), seconds, "x", target(2), half, higher=False, over=hub(graph))
    undirected(bench, rmat(small, f"rmat{small}-undirected.oc", "--undirected", "--simple"), target, run)
    weighted = rmat(small, f"rmat{small}-weights.oc", "--weights", "uniform:1:255")
    sssp = lambda memory: run("sssp", weighted, "--source", "max-degree", "--memory", memory)
    bench.measure("sssp, in memory", sssp("4G"), seconds, "s", target(3), big, higher=False, note=traffic)
    bench.measure("sssp, 256M", sssp("256M"), seconds, "s", target(5), 256 * MIB, higher=False, note=traffic)
    built = lambda source, *more: ["build", source, "-o", "built.oc", "--memory", "512M", "--json", "--progress", "none", *more]
    speed = lambda report, _: report["edges"] / report["seconds"] / 1e6
    if need("build from text, 512M"):
        text = bench.make(f"rmat{small}.txt", str(small), "text", "@", program=bench.generator).name
        bench.measure("build from text, 512M", built(text), speed, "M edges/s", target(7.5), half, note=lines)
    if need("build from binary pairs, 512M"):
        pairs = bench.make(f"rmat{scale}.u32", str(scale), "pairs-u32", "@", program=bench.generator).name
        bench.measure("build from binary pairs, 512M", built(pairs, "--format", "pairs-u32"), speed, "M edges/s", target(12), half, note=lines)
    made = ["generate", "rmat", "--scale", str(scale), "--seed", "1", "-o", "built.oc", "--json", "--progress", "none"]
    bench.measure("generate", made, seconds, "s", target(20), half, higher=False, note=lines)
    shutil.rmtree(bench.dir / "built.oc", ignore_errors=True)
    if os.environ.get("BENCH_LARGE"):
        large = rmat(scale + 2, f"rmat{scale + 2}.oc", "--memory", "2G")
        for algorithm, more, figure, unit in (("pagerank", ["--iterations", "10"], rate, "M edges/s"), ("components", [], seconds, "s"),
                                              ("bfs", ["--source", "max-degree"], seconds, "s")):
            bench.measure(f"{algorithm}, scale {scale + 2}, 2G", run(algorithm, large, *more, "--memory", "2G"), figure, unit, None, 2048 * MIB, higher=unit != "s", note=traffic)


def undirected(bench, graph, target, run):
    """Rows of a graph without directions, repetitions and loops, a quarter as large: rivals had Kronecker graphs of that size."""
    big, row = 4096 * MIB, lambda *asked, memory="4G": run(asked[0], graph, *asked[1:], "--memory", memory)
    few = lambda count: ",".join(f"random:{seed}" for seed in range(count))
    worst = lambda title, command, most, rival: bench.measure(title, command, seconds, "s", target(most), big, higher=False, note=traffic, rival=rival)
    for seed in range(4):
        worst(f"bfs from random vertex {seed}, in memory", row("bfs", "--source", f"random:{seed}"), .091, "GAPBS .082 to .090")
    worst("components, in memory", row("components"), .16, "GAPBS .161, NetworKit 1.38")
    worst("kcore, in memory", row("kcore"), 1.31, "GBBS 2.7, NetworKit 3.24")
    worst("one core, 512M", row("kcore", "--k", "10", memory="512M"), 2.5, "ACGraph 3.33, scale 24, out of core")
    bench.measure("betweenness, 16 sources, 128M", row("betweenness", "--sources", few(16), memory="128M"), seconds, "s", target(8), 128 * MIB, higher=False, note=traffic,
                  rival="GAPBS 22.9")
    worst("betweenness, one source, in memory", row("betweenness", "--sources", "max-degree"), .77, "GBBS .77, GAPBS 1.66")
    times = lambda title, command, over, most, higher=False: bench.measure(title, command, seconds, "x", target(most), big, higher=higher, over=over)
    times("betweenness, 4 sources, times 16", row("betweenness", "--sources", few(4)), row("betweenness", "--sources", few(16)), 1.5 / 4)
    times("32 sources, times one search", row("multi-source", "--sources", few(32)), row("bfs", "--source", "random:1"), 8)
    times("pagerank-delta, times pagerank", row("pagerank-delta", "--tolerance", "1e-6"), row("pagerank", "--tolerance", "1e-6"), 1)
    for name, most in (("components", 1.6), ("kcore", 1.6), ("bfs", 1.7)):
        words = [name] + (["--source", "max-degree"] if name == "bfs" else [])
        times(f"{name}, one thread, times two", row(*words, "--threads", "1"), row(*words, "--threads", "2"), most, higher=True)
    worst("label propagation, 10 rounds, in memory", row("label-propagation", "--iterations", "10"), 4.3, "NetworKit as Outercore then, 6.4")


def table(rows):
    head = ["figure", "median", "range", "target", "rival", "peak of budget", "load", ""]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        if "failed" in row:
            lines.append([row["title"], "failed", "", "", "", "", f"{row['load']:.1f}", row["failed"]])
            continue
        digits = 2 if row["median"] < 100 else 0
        number = lambda value: f"{value:,.{digits}f}"
        sign = "≥" if row["higher"] else "≤"
        goal = "" if row["target"] is None else f"{sign} {row['target']:,g} {'met' if row['met'] else '**missed**'}"
        peak = f"{row['peak'] / MIB:,.0f} of {row['budget'] / MIB:,.0f} MiB" if row["peak"] and row["budget"] else ""
        spread = f"{number(row['low'])} .. {number(row['high'])}"
        lines.append([row["title"], f"{number(row['median'])} {row['unit']}", spread, goal, row["rival"], peak, f"{row['load']:.1f}", row["note"]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    fill = lambda cell, width: "-" * width if cell == "---" else cell.ljust(width)
    return "\n".join("| " + " | ".join(fill(cell, width) for cell, width in zip(line, widths)) + " |" for line in lines)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in text_of("/proc/cpuinfo").splitlines() if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return model, len(os.sched_getaffinity(0)), round(memory / (1 << 30))


def conditions(bench):
    model, cores, memory = machine()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=REPOSITORY, capture_output=True, text=True).stdout.strip()
    version = subprocess.run([bench.binary, "--version"], capture_output=True, text=True).stdout.strip()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    device = bench.device.get("device", "")
    return [
        f"- {version}{f', commit {commit}' if commit else ''}",
        f"- {model}, {cores} cores, {memory} GiB; {platform.system()} {platform.release()}{f'; {device}' if device else ''}",
        f"- page cache {'dropped before each run' if bench.cold else 'NOT dropped (that needs root): runs may be warm'}; "
        + (f"each run in a control group ({bench.group.kind}) of its budget plus 64 MiB" if bench.group.kind else "NO memory control group (that needs root): budgets are not enforced from outside"),
        f"- medians of {bench.options.repeats} runs; load averages at the end {load}; the load column is the one-minute average before each figure, our own work included",
    ]


def record(bench):
    _, cores, memory = machine()
    date = datetime.date.today().isoformat()
    path = REPOSITORY / "docs" / "benchmarks" / f"{date}-{cores}core-{memory}GiB.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    commands = "\n".join(row["command"] for row in bench.rows if "command" in row)
    text = [f"# Benchmarks of {date}", "", "Made by `make bench RECORD=1`.", "", *conditions(bench), "", table(bench.rows), "", "```", commands, "```", ""]
    path.write_text("\n".join(text))
    print(f"\nkept in {path.relative_to(REPOSITORY)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--generator", required=True, help="the example edge_list")
    parser.add_argument("--dir", required=True, help="where graphs and edge lists are kept")
    parser.add_argument("--scale", type=int, default=24, help="log 2 of the vertices of the main graph; targets are for 24")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="only the figures whose name holds this text")
    parser.add_argument("--record", action="store_true", help="keep the table in docs/benchmarks")
    bench = Bench(parser.parse_args())
    try:
        suite(bench, bench.options.scale)
    finally:
        bench.group.close()
    print("\n" + "\n".join(conditions(bench)) + "\n\n" + table(bench.rows))
    if bench.options.record:
        record(bench)
    if any("failed" in row for row in bench.rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
