#!/usr/bin/env python3
"""The techniques of Graphene (FAST'17), each on and off: tables in Markdown, on standard output. Python 3.9 or newer, no packages.

Every run is cold (the page cache is dropped, which needs root) and two ways are measured in turn, --repeats times each; figures are medians. Devices are emulated by loop devices on
files, throttled by the block-I/O control group (root again). What cannot be measured here says why.
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


class Bench:
    def __init__(self, options):
        self.options, self.binary, self.lists = options, Path(options.binary).resolve(), Path(options.lists).resolve()
        self.dir = Path(options.dir)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.device = {}

    def make(self, name, *command):
        path = self.dir / name
        if not path.exists():
            print(f"making {name} ...", file=sys.stderr)
            subprocess.run([self.binary, *map(str, command), "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

    def rmat(self, scale, name=None, *extra):
        return self.make(name or f"rmat{scale}.oc", "generate", "rmat", "--scale", scale, "--edge-factor", 16, "--seed", 1, *extra)

    def once(self, command, program=None, enter=None):
        drop_caches()
        done = subprocess.run([program or self.binary, *map(str, command)], capture_output=True, text=True, preexec_fn=enter)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        return json.loads(done.stdout)

    def compare(self, ways, program=None, enter=None):
        """Runs each way in turn, several times; the reports of each, the one with the median seconds first."""
        reports = {name: [] for name in ways}
        for _ in range(self.options.repeats):
            for name, command in ways.items():
                reports[name].append(self.once(command, program, enter))
        return {name: sorted(found, key=lambda r: abs(r["seconds"] - statistics.median(x["seconds"] for x in found)))[0] for name, found in reports.items()}

    def run(self, algorithm, graph, *options):
        return ["run", algorithm, graph, "--json", *options]

    def bfs(self, *options):
        return self.run("bfs", self.rmat(self.options.scale), "--source", "max-degree", "--memory", "512M", "--read", "on-demand", *options)


def table(title, head, rows, note=""):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
    if note:
        print(f"\n{note}")
    sys.stdout.flush()


def size(count):
    return f"{count / MIB:,.0f} MiB" if count >= 10 * MIB else f"{count / 1024:,.0f} KiB"


def request_row(name, report):
    io = report["io"]
    return [name, f"{report['seconds']:.3f}", f"{report['requests']:,}", size(report["bytes_read"]), f"{report['io_utility']:.2f}", size(io["mean_request_bytes"]), f"{io['mean_queue_depth']:.0f}",
            f"{io['prepare_seconds'] * 1e3:.1f}", f"{io['prepare_share'] * 100:.1f} %"]


REQUESTS = ["", "s", "requests", "read", "I/O utility", "mean request", "in flight", "preparation, ms of CPU", "of all CPU"]


def device(bench):
    bench.device = bench.once(["bench", "device", bench.dir, "--json"])
    points = bench.device["table"]
    rows = [[p["pattern"], size(p["request_bytes"]), p["depth"], f"{p['bytes_per_second'] / 1e9:.2f}", f"{p['iops']:,.0f}", "yes" if p["huge_pages"] else "no"] for p in points]
    table("The device, by request and depth", ["order", "request", "depth", "GB/s", "requests/s", "huge pages"], rows)
    best = {huge: max((p["bytes_per_second"] for p in points if p["huge_pages"] == huge and p["pattern"] == "sequential"), default=0) for huge in (True, False)}
    if best[False]:
        print(f"\nHuge pages against ordinary ones, best stream: {best[True] / best[False]:.2f}x.")


def scheduling(bench):
    found = bench.compare({way: bench.bfs("--io-scheduling", way) for way in ("bitmap", "pluglist")})
    table("Bitmap and pluglist, BFS", REQUESTS, [request_row(name, report) for name, report in found.items()])
    lists = bench.compare({way: [bench.rmat(bench.options.scale), 0.5, f"io_scheduling={way}"] if way == "pluglist" else [bench.rmat(bench.options.scale), 0.5] for way in ("bitmap", "pluglist")}, bench.lists)
    rows = [[name, f"{r['seconds']:.3f}", f"{r['requests']:,}", size(r["bytes"]), f"{r['io']['prepare_seconds'] * 1e3:.1f}"] for name, r in lists.items()]
    table("The same, the lists of half of the vertices at random", ["", "s", "requests", "read", "preparation, ms of CPU"], rows)


def gaps(bench):
    ways = {size(gap): bench.bfs("--max-gap", gap) for gap in (0, 4096, 8192, 16384, 32768, 65536)}
    table("The largest gap, BFS", REQUESTS, [request_row(name, report) for name, report in bench.compare(ways).items()])


def blocks(bench):
    ways = {f"{block} B, gap {gap or 'from the profile'}": bench.bfs("--block", block, *(["--max-gap", gap] if gap == "0" else [])) for gap in ("0", "") for block in (512, 4096, 8192)}
    table("The block, BFS", REQUESTS, [request_row(name, report) for name, report in bench.compare(ways).items()])


def iops(profile, size):
    """Random requests of a size that the device answers in a second: between two sizes that were measured, in proportion."""
    best = {}
    for point in profile["table"]:
        if point["pattern"] == "random":
            best[point["request_bytes"]] = max(best.get(point["request_bytes"], 0), point["iops"])
    sizes = sorted(best)
    if size >= sizes[-1]:
        return min(best[sizes[-1]], profile["sequential_bytes_per_second"] / size)
    after = next(at for at in sizes if at > size)
    before = max((at for at in sizes if at <= size), default=after)
    if before == after:
        return best[after]
    part = (size - before) / (after - before)
    # Seconds of a request grow with its bytes.
    return 1 / ((1 - part) / best[before] + part / best[after])


def random_lists(bench):
    graph, rows = bench.rmat(bench.options.scale), []
    limits = bench.device or bench.once(["bench", "device", bench.dir, "--json"])
    for share in (0.01, 0.03, 0.1):
        ways = {"gap 0": [graph, share, "max_gap=0"], "gap from the profile": [graph, share], "pluglist, gap 0": [graph, share, "max_gap=0", "io_scheduling=pluglist"]}
        for name, r in bench.compare(ways, bench.lists).items():
            floor = r["requests"] / iops(limits, r["bytes"] / max(1, r["requests"]))
            rows.append([f"{share:.0%}", name, f"{r['seconds']:.3f}", f"{r['requests']:,}", size(r["bytes"]), f"{r['useful'] / max(1, r['bytes']):.2f}", f"{r['requests'] / r['seconds']:,.0f}",
                         f"{r['bytes'] / r['seconds'] / 1e9:.2f}", f"{floor / r['seconds'] * 100:.0f} %"])
    head = ["vertices", "", "s", "requests", "read", "I/O utility", "requests/s", "GB/s", "of the device"]
    table("Lists of vertices at random", head, rows, "The last column: requests a second, over what the device was measured to answer of random requests of the mean size (interpolated; above 64 KiB its best stream).")


def huge_pages(bench):
    graph, rows = bench.rmat(bench.options.scale), []
    for algorithm, options in (("pagerank", ["--iterations", 5, "--memory", "256M"]), ("components", ["--memory", "256M"]), ("pagerank", ["--iterations", 5, "--memory", "3G"])):
        found = bench.compare({way: bench.run(algorithm, graph, "--huge-pages", way, *options) for way in ("on", "off")})
        on, off = found["on"], found["off"]
        rows.append([algorithm, options[-1], f"{on['seconds']:.2f}", f"{off['seconds']:.2f}", f"{off['seconds'] / on['seconds']:.2f}x", f"{on['io']['cpu_seconds']:.2f}", f"{off['io']['cpu_seconds']:.2f}",
                     size(on["io"]["huge_page_bytes"])])
    table("Huge pages for buffers and vertex arrays", ["algorithm", "memory", "on, s", "off, s", "gain", "on, CPU s", "off, CPU s", "in huge pages"], rows)


def scans(bench):
    r = bench.compare({"": bench.run("pagerank", bench.rmat(bench.options.scale), "--iterations", 5, "--memory", "256M", "--read", "full")})[""]
    speed, device_speed = r["bytes_read"] / r["seconds"], (bench.device or {}).get("sequential_bytes_per_second", 0)
    share = f"{speed / device_speed * 100:.0f} %" if device_speed else "not measured"
    table("Full scans, PageRank", ["s", "read", "GB/s", "of the device", "M edges/s", "CPU s"],
          [[f"{r['seconds']:.2f}", size(r["bytes_read"]), f"{speed / 1e9:.2f}", share, f"{r['edges'] * r['iterations'] / r['seconds'] / 1e6:,.0f}", f"{r['io']['cpu_seconds']:.2f}"]])


def backends(bench):
    found = bench.compare({way: bench.bfs("--io", way) for way in ("uring", "blocking")})
    scan = bench.compare({way: bench.run("pagerank", bench.rmat(bench.options.scale), "--iterations", 3, "--memory", "256M", "--io", way) for way in ("uring", "blocking")})
    rows = [[way, f"{found[way]['seconds']:.3f}", f"{scan[way]['seconds']:.2f}", f"{scan[way]['bytes_read'] / scan[way]['seconds'] / 1e9:.2f}", f"{scan[way]['io']['cpu_seconds']:.2f}"] for way in found]
    table("Asynchronous and blocking reads", ["", "BFS, s", "PageRank, s", "GB/s", "CPU s"], rows)


def io_threads(bench):
    """Figure 14c: a thread that reads beside each that computes, against one that does both."""
    graph, rows, counts = bench.rmat(bench.options.scale), [], (0, 1, os.cpu_count())
    for algorithm, *options in (("bfs", "--source", "max-degree"), ("components",), ("kcore",), ("spmv",), ("pagerank", "--iterations", 5), ("multi-source", "--sources", "max-degree,random:1,random:2")):
        found = bench.compare({count: bench.run(algorithm, graph, *options, "--memory", "256M", "--io-threads", count) for count in counts})
        rows.append([algorithm, *(f"{found[count]['seconds']:.3f}" for count in counts), f"{found[0]['seconds'] / found[counts[-1]]['seconds']:.2f}x", *(f"{found[count]['io']['cpu_seconds']:.2f}" for count in (0, counts[-1]))])
    table("Threads that read, in 256 MiB", ["algorithm", *(f"{count} I/O threads, s" for count in counts), "gain", "CPU s without", "CPU s with"], rows)


def stealing(bench):
    graph, rows = bench.rmat(bench.options.scale), []
    frontiers = {"all vertices": [], "every second range": [f"slices={64 * os.cpu_count()}"]}
    for frontier, extra in frontiers.items():
        found = bench.compare({"on": [graph, 1, *extra], "off": [graph, 1, *extra, "stealing=off"]}, bench.lists)
        for way, r in found.items():
            ratio = max(r["busy"]) / max(min(r["busy"]), 1e-9)
            rows.append([frontier, way, f"{r['seconds']:.3f}", " ".join(f"{seconds:.3f}" for seconds in r["busy"]), f"{ratio:.2f}" if ratio < 100 else "one works alone", r["io"]["stolen"]])
    table("Work stealing, all lists of a frontier", ["frontier", "stealing", "s", "busy CPU s of each worker", "most / least", "ranges taken"], rows)


def partition(bench):
    """Balanced and uniform grids: how even they are, and PageRank by 2 threads and by 16, in memory and semi-externally."""
    rows, spread, ways = [], [], {}
    for way in ("balanced", "uniform"):
        ways[way] = bench.rmat(bench.options.scale, f"unpermuted{bench.options.scale}-{way}.oc", "--no-permute", "--order", "original", "--partition", way)
        info = json.loads(subprocess.run([bench.binary, "info", ways[way], "--json"], capture_output=True, text=True, check=True).stdout)["tiles"]
        parts = [("tiles", {**info, "parts": info["tiles"]}), ("columns", info["columns"]), ("rows", info["rows"])]
        spread += [[way, name, f"{p['parts']:,}", f"{p['mean']:,.0f}", f"{p['largest']:,}", f"{p['largest'] / p['mean']:.2f}"] for name, p in parts]
    table("Edges of the parts of the grid, ids neither permuted nor ordered", ["partition", "", "parts", "mean", "largest", "largest / mean"], spread)
    for memory in ("8G", "512M"):
        for threads in (2, 16):
            options = ["--iterations", 5, "--memory", memory, "--threads", threads]
            found = bench.compare({way: bench.run("pagerank", graph, *options) for way, graph in ways.items()})
            for way, r in found.items():
                edges = r["io"]["worker_edges"]
                busiest = f"{max(edges) / sum(edges):.3f}", f"{max(edges) * len(edges) / sum(edges):.2f}"
                rows.append([r["memory_model"], threads, way, f"{r['seconds']:.2f}", size(r["bytes_read"]), f"{r['edges'] * r['iterations'] / r['seconds'] / 1e6:,.0f}", *busiest])
    head = ["model", "threads", "partition", "s", "read", "M edges/s", "share of the busiest worker", "against the mean"]
    table("PageRank, ids neither permuted nor ordered: the edges of the busiest worker", head, rows)


def devices(bench):
    """One to four emulated devices: the same graph, each time spread over more of them."""
    scale, rate, rows, one = min(bench.options.scale, 22), 100 * MIB, [], None
    for count in (1, 2, 3, 4):
        folder = bench.dir / "devices"
        folder.mkdir(exist_ok=True)
        try:
            loops = Loops(folder, count, 2 << 30)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"\n### Several devices\n\nNot measured: loop devices cannot be made here ({error}).")
            return
        graph = bench.dir / "striped.oc"
        try:
            shutil.rmtree(graph, ignore_errors=True)
            stripes = [word for mount in loops.mounts for word in ("--stripe", mount)]
            bench.rmat(scale, "striped.oc", *stripes)
            held = [sum(f.stat().st_size for f in mount.rglob("*") if f.is_file()) for mount in loops.mounts]
            throttle = Throttle(loops.devices, rate)
            try:
                found = bench.compare({
                    "pagerank": bench.run("pagerank", graph, "--iterations", 3, "--memory", "96M", "--read", "full"),
                    "bfs": bench.run("bfs", graph, "--source", "max-degree", "--memory", "128M", "--read", "on-demand"),
                }, enter=throttle.enter)
            finally:
                throttle.close()
        except (OSError, RuntimeError) as error:
            print(f"\n### Several devices\n\nNot measured: {error}.")
            return
        finally:
            shutil.rmtree(graph, ignore_errors=True)
            loops.close()
        speed = found["pagerank"]["bytes_read"] / found["pagerank"]["seconds"]
        one = one or (found["pagerank"]["seconds"], found["bfs"]["seconds"])
        rows.append([count, f"{found['pagerank']['seconds']:.2f}", f"{speed / MIB:,.0f}", f"{one[0] / found['pagerank']['seconds']:.2f}x", f"{found['bfs']['seconds']:.2f}",
                     f"{one[1] / found['bfs']['seconds']:.2f}x", f"{(max(held) - min(held)) / max(held) * 100:.1f} %"])
    table(f"Several devices, each {size(rate)}/s, scale {scale}", ["devices", "PageRank, s", "MiB/s", "gain", "BFS, s", "gain", "spread of bytes held"], rows)


SECTIONS = {f.__name__.replace("_", "-"): f for f in (device, scans, scheduling, gaps, blocks, random_lists, huge_pages, backends, io_threads, stealing, partition, devices)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the command")
    parser.add_argument("--lists", required=True, help="the example random_lists")
    parser.add_argument("--dir", required=True, help="where graphs are kept")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", choices=SECTIONS, help="these sections only (repeatable)")
    options = parser.parse_args()
    bench = Bench(options)
    print(f"# Graphene's techniques, {time.strftime('%Y-%m-%d')}\n\n{os.cpu_count()} cores, Linux {platform.release()}, RMAT scale {options.scale}, edge factor 16, cold, medians of {options.repeats}.")
    for name, section in SECTIONS.items():
        if options.only and name not in options.only:
            continue
        load = os.getloadavg()[0]
        try:
            section(bench)
            print(f"\nLoad average before: {load:.1f}.")
        except RuntimeError as error:
            print(f"\n### {name}\n\nNot measured: {error}")


if __name__ == "__main__":
    main()
