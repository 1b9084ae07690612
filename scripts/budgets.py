#!/usr/bin/env python3
"""Budgets of memory, from the smallest that is refused to ample: is each kept, and is more memory never slower? Tables in Markdown, on standard output. Python 3.9 or newer, no packages.

held: every algorithm, model and shape of graph, with layouts and threads in turn (--all: each with each), in ten budgets. The peak of the process, by the kernel's count and by its own report, must be
below the budget; or the command ends with exit code 7 and names a budget, which then must work and be kept. As root each run is in a control group that allows little more than the budget.
faster: every algorithm in budgets in steps of 1.5, each the median of three runs. What is slower than a smaller budget by more than 5 % is named.
truth: what the plans said of memory, of bytes read and written, against what those runs did.

With --share 2/5 only the second fifth of the cases is run, with --minutes only so many as are begun by then. The exit code is 1 where a budget was not kept or a figure did not work.
"""

import itertools
import json
import os
import re
import select
import signal
import sys
import time
from pathlib import Path

MIB = 1 << 20
MODELS = ["in-memory", "semi-external", "fully-external"]
LAYOUTS = ["grid", "row", "hybrid"]
THREADS = [1, 2, 8]
SOURCES = ",".join(f"random:{seed}" for seed in range(1, 18))
#: Caches of a fixed size: one that holds a share of the lists, and one that holds a share of what was selected.
PAGES, LISTS = ["--page-cache", "512K"], ["--static-cache", "1M"]
#: Name of the row, algorithm, parameters. Seventeen sources are whole batches and one that is left.
ALGORITHMS = [
    ("bfs", "bfs", ["--source", "max-degree"]),
    ("bfs, random source", "bfs", ["--source", "random:3"]),
    ("bfs, program", "bfs", ["--source", "max-degree", "--method", "program"]),
    ("sssp", "sssp", ["--source", "max-degree"]),
    ("components", "components", []),
    ("pagerank", "pagerank", ["--iterations", 5]),
    ("pagerank-delta", "pagerank-delta", ["--tolerance", "1e-4"]),
    ("kcore", "kcore", []),
    ("betweenness, 1 source", "betweenness", ["--sources", "random:1"]),
    ("betweenness", "betweenness", ["--sources", SOURCES]),
    ("multi-source", "multi-source", ["--sources", SOURCES]),
    ("spmv", "spmv", []),
    ("triangles", "triangles", []),
    ("clustering", "clustering", []),
    ("label-propagation", "label-propagation", ["--iterations", 3]),
    ("diameter", "diameter", []),
    ("bfs, page cache", "bfs", ["--source", "max-degree", *PAGES]),
    ("bfs, static cache", "bfs", ["--source", "max-degree", *LISTS]),
    ("bfs, both caches", "bfs", ["--source", "max-degree", *PAGES, *LISTS]),
    ("sssp, static cache", "sssp", ["--source", "max-degree", *LISTS]),
]


def text(edges):
    """Edges as an input for `build`, with weights."""
    return "".join(f"{source} {target} {1 + (source ^ target) % 7}\n" for source, target in edges)


def isolated(size):
    """Few vertices have edges; the list of vertices names all of them."""
    return text((64 * at, 64 * (at * 7919 % size)) for at in range(size)), "".join(f"{at}\n" for at in range(64 * size))


def shapes(scale):
    """Name, and the text of edges and of vertices; or what `generate` makes. The path is short: a search takes a step for each of its vertices."""
    size = 1 << scale
    yield "star", (text((0, at) for at in range(1, size)), None)
    yield "path", (text((at, at + 1) for at in range(size >> 7)), None)
    yield "rmat", ["rmat", "--scale", scale, "--edge-factor", 8, "--seed", 3, "--weights", "uniform:1:100", "--simple"]
    yield "duplicates", ("17 4 1\n" * (4 * size), None)
    yield "isolated", isolated(size >> 4)
    scattered = ((at, (at * 2654435761 * turn >> 9) % size) for at in range(size) for turn in (1, 3))
    yield "huge id", (text(itertools.chain(scattered, [(1, (1 << 64) - 2)])), None)


class Group:
    """A control group of memory for one run at a time; without root, none."""

    def __init__(self):
        root = Path("/sys/fs/cgroup")
        self.name, self.path = "no control group (needs root and a writable /sys/fs/cgroup)", None
        places = [(root / "memory", "memory.limit_in_bytes"), (root, "memory.max")]
        for place, limit in places:
            path = place / f"outercore-budgets-{os.getpid()}"
            try:
                path.mkdir()
                (path / limit).write_text(str(1 << 40))
            except OSError:
                if path.is_dir():
                    path.rmdir()
                continue
            self.name, self.path, self.limit = f"control group {place}", path, limit
            return

    def enter(self, allowed):
        """The words that a command begins with: a shell enters the group, and becomes the command."""
        if self.path is None:
            return []
        (self.path / self.limit).write_text(str(allowed))
        return ["/bin/sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]

    def close(self):
        if self.path is not None:
            self.path.rmdir()


class Starter:
    """A process that starts others. The kernel's count of a process's peak begins with that of the process that it was started by: this one is made while there is little in memory, and stays so."""

    def __init__(self):
        (mine, to), (back, theirs) = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(to), os.close(back)
            with os.fdopen(mine) as asked, os.fdopen(theirs, "w") as answers:
                for line in asked:
                    print(json.dumps(self.start(**json.loads(line))), file=answers, flush=True)
            os._exit(0)
        os.close(mine), os.close(theirs)
        self.asked, self.answers = os.fdopen(to, "w"), os.fdopen(back)

    @staticmethod
    def start(words, out, err, seconds):
        """Exit code and peak of a command that writes to two files, and is killed after some seconds."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600), (os.POSIX_SPAWN_OPEN, 2, err, flags, 0o600)]
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
        watch = os.pidfd_open(pid)
        if not select.select([watch], [], [], seconds)[0]:
            os.kill(pid, signal.SIGKILL)
        os.close(watch)
        _, status, usage = os.wait4(pid, 0)
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), usage.ru_maxrss * 1024

    def run(self, **what):
        print(json.dumps(what), file=self.asked, flush=True)
        return json.loads(self.answers.readline())


def median(values):
    return sorted(values)[len(values) // 2]


class Bench:
    def __init__(self, given, starter):
        self.binary, self.folder, self.given, self.group, self.starter = str(given.binary.resolve()), given.folder, given, Group(), starter
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, *words, budget=None):
        """Exit code, report or message, and the kernel's count of the peak."""
        words = [self.binary, *map(str, words), "--json", "--progress", "none"]
        # What the kernel keeps of the graph in its cache makes way: the group only holds what is far too much.
        before = self.group.enter(budget + 64 * MIB) if budget else []
        out, err = (self.folder / name for name in ("out.txt", "err.txt"))
        code, peak = self.starter.run(words=before + words, out=str(out), err=str(err), seconds=self.given.seconds)
        return code, json.loads(out.read_text()) if code == 0 else err.read_text().strip(), peak

    def selected(self, path, parameters):
        """The graph, with a selection beside it where a static cache is asked for."""
        if "--static-cache" in parameters and not path.with_name(path.name + ".cache").exists():
            code, said, _ = self.run("cache", path, "--size", "2M", "--rounds", 5, "--memory", "512M")
            if code:
                sys.exit(f"{path}: {said}")
        return path

    def graph(self, shape, made, direction, layout):
        path = self.folder / f"{shape.replace(' ', '-')}-{self.given.scale}-{direction}-{layout}.oc"
        if path.exists():
            return path
        more = [f"--{direction}", "--layout", layout, "--memory", "512M", "-o", path]
        if isinstance(made, list):
            words = ["generate", *made, *more]
        else:
            edges, vertices = made
            files = [self.folder / "edges.txt", self.folder / "vertices.txt"]
            files[0].write_text(edges)
            files[1].write_text(vertices or "")
            words = ["build", files[0], *(["--vertices", files[1]] if vertices else []), "--weights", "u32", *more]
        code, said, _ = self.run(*words)
        if code:
            sys.exit(f"{path}: {said}")
        return path


def named(message):
    """The budget that a refusal names, in bytes."""
    found = re.search(r"give --memory (\d+)M", message)
    return int(found[1]) * MIB if found else None


def budgets(refused, ample, count=10):
    """From the largest that is refused to ample, in equal steps by factor."""
    step = (max(ample, 2 * refused) / refused) ** (1 / (count - 1))
    return [round(refused * step**at) for at in range(count)]


class Held:
    """The table of budgets that were kept, and what was not."""

    def __init__(self, bench):
        self.bench, self.rows, self.wrong, self.plans = bench, {}, [], []

    def note(self, row, what, budget, said, peak):
        cases = self.rows.setdefault(row, {"runs": 0, "refused": 0, "over": 0, "worst": -1.0, "failed": 0})
        cases["runs"] += 1
        peak = max(peak, said["peak_rss_bytes"])
        cases["worst"] = max(cases["worst"], peak / budget - 1)
        self.plans.append((row, said))
        if peak > budget:
            cases["over"] += 1
            self.wrong.append(f"{what} --memory {budget}: peak {peak / MIB:.1f} of {budget / MIB:.1f} MiB, planned {said['planned']['memory_bytes'] / MIB:.1f}")

    def fail(self, row, what, budget, code, said):
        self.rows.setdefault(row, {"runs": 0, "refused": 0, "over": 0, "worst": -1.0, "failed": 0})["failed"] += 1
        about = f"not done in {self.bench.given.seconds} s" if code == -signal.SIGKILL else f"exit {code}: {str(said)[-160:]}"
        self.wrong.append(f"{what} --memory {budget}: {about}")

    def one(self, row, words, budget, known):
        """A run; where it is refused, another with the budget that is named. `known`: budgets that were run."""
        what = " ".join(map(str, words))
        if (what, budget) in known:
            return
        known.add((what, budget))
        code, said, peak = self.bench.run(*words, "--memory", budget, budget=budget)
        if code == 0:
            return self.note(row, what, budget, said, peak)
        needed = named(said) if code == 7 else None
        if needed is None or needed <= budget:
            return self.fail(row, what, budget, code, said)
        self.rows.setdefault(row, {"runs": 0, "refused": 0, "over": 0, "worst": -1.0, "failed": 0})["refused"] += 1
        if (what, needed) in known:
            return
        known.add((what, needed))
        code, said, peak = self.bench.run(*words, "--memory", needed, budget=needed)
        if code:
            return self.fail(row, what + " (named by a refusal)", needed, code, said)
        self.note(row, what, needed, said, peak)

    def case(self, row, words, known):
        """Ten budgets of a case; `None` where the algorithm has no such run."""
        code, plan, _ = self.bench.run("plan", *words[1:], "--memory", 1 << 40)
        if code:
            return
        refused, ample = plan["smallest_budget_bytes"] - 1, plan["in_memory_budget_bytes"] * 5 // 4
        for budget in budgets(refused, ample):
            self.one(row, words, budget, known)

    def table(self):
        print("| algorithm | runs | refused, with a figure | over | worst, against the budget | figures or runs that did not work |\n|---|---|---|---|---|---|")
        for row, cases in self.rows.items():
            print(f"| {row} | {cases['runs']} | {cases['refused']} | {cases['over']} | {cases['worst']:+.1%} | {cases['failed']} |")
        for line in self.wrong:
            print(f"- {line}")
        sys.stdout.flush()


def cases(bench):
    """All cases: row, words of the command."""
    given, ways = bench.given, list(itertools.product(LAYOUTS, THREADS))
    turn = 0
    for shape, made in shapes(given.scale):
        for (row, algorithm, parameters), model in itertools.product(ALGORITHMS, [None, *MODELS]):
            turn += 1
            # Each way comes by in turn, and with each algorithm and shape some others: 9 and the number of these have no common divisor with 7.
            for layout, threads in ways if given.all else [ways[turn * 7 % len(ways)]]:
                for direction in ["undirected", "directed"] if given.all else [["undirected", "directed"][turn % 2]]:
                    if (given.only and given.only not in row) or (given.shape and given.shape != shape):
                        continue
                    asked = ["--model", model] if model else []
                    make = (shape, made, direction, layout)
                    yield row, make, [algorithm, *parameters, "--threads", threads, *asked]


def held(bench):
    table, known = Held(bench), set()
    part, parts = map(int, bench.given.share.split("/"))
    mine = list(itertools.islice(cases(bench), part - 1, None, parts))
    end, done = time.monotonic() + 60 * bench.given.minutes, 0
    # In an order in which the first cases have something of everything.
    for number in range(len(mine)):
        if time.monotonic() > end:
            break
        row, make, (algorithm, *more) = mine[number * 101 % len(mine)] if len(mine) % 101 else mine[number]
        table.case(row, ["run", algorithm, bench.selected(bench.graph(*make), more), *more], known)
        done += 1
    print(f"\n### Budgets that are kept\n\nScale {bench.given.scale}, {done} of the {len(mine)} cases of share {bench.given.share}; {bench.group.name}\n")
    table.table()
    return table


def faster(bench):
    """Times by budget: in no step may they rise."""
    made = dict(shapes(bench.given.scale))["rmat"]
    graph = bench.graph("rmat", made, "undirected", "grid")
    print("\n### More memory is never slower\n\nSeconds by budget, medians of 3\n")
    for row, algorithm, parameters in ALGORITHMS:
        if bench.given.only and bench.given.only not in row:
            continue
        bench.selected(graph, parameters)
        code, plan, _ = bench.run("plan", algorithm, graph, *parameters, "--memory", 1 << 40)
        if code:
            print(f"- {row}: {plan[-120:]}")
            continue
        budget, ample, cells, best, slower = plan["smallest_budget_bytes"], plan["in_memory_budget_bytes"] * 3 // 2, [], None, []
        while True:
            runs = [bench.run("run", algorithm, graph, *parameters, "--memory", budget, budget=budget) for _ in range(3)]
            if any(code for code, _, _ in runs):
                cells.append(f"{budget >> 20}M: exit {runs[0][0]}")
            else:
                seconds = median([report["seconds"] for _, report, _ in runs])
                cells.append(f"{budget >> 20}M {seconds:.3f}")
                # Runs of some milliseconds differ by more than that.
                if best is not None and seconds > max(1.05 * best, best + 0.005):
                    slower.append(f"{budget >> 20}M {seconds / best - 1:+.0%}")
                best = seconds if best is None else min(best, seconds)
            if budget >= ample:
                break
            budget = min(round(budget * 1.5), ample)
        print(f"- {row}: {', '.join(cells)}. " + (f"Slower: {', '.join(slower)}" if slower else "Never slower"), flush=True)


def truth(table):
    """How far plans were from what runs did, over all runs that were kept."""
    print("\n### Plans against runs\n")
    large = [said["peak_rss_bytes"] / said["planned"]["memory_bytes"] for _, said in table.plans if said["peak_rss_bytes"] > 64 * MIB]
    near = sum(0.8 <= ratio <= 1.2 for ratio in large)
    print(f"Peak within 20 % of the plan in {near} of the {len(large)} runs above 64 MiB\n")
    print("| algorithm | runs | with an estimate of bytes read | read / planned: least, median, most | scratch planned, MB, most | written, MB, most |\n|---|---|---|---|---|---|")
    for row in table.rows:
        runs = [said for name, said in table.plans if name == row]
        ratios = sorted(said["bytes_read"] / said["planned"]["bytes_read"] for said in runs if said["planned"]["bytes_read"])
        shown = f"{ratios[0]:.2f}, {median(ratios):.2f}, {ratios[-1]:.2f}" if ratios else "-"
        scratch, written = (max((value / 1e6 for value in values), default=0) for values in ([said["planned"]["disk_bytes"] for said in runs], [said["bytes_written"] for said in runs]))
        print(f"| {row} | {len(runs)} | {len(ratios)} | {shown} | {scratch:.1f} | {written:.1f} |")


def main():
    starter = Starter()
    import argparse  # Not before: it is more than the starter needs.

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path, help="where graphs are kept")
    parser.add_argument("--scale", type=int, default=18, help="vertices of the graphs, about, as a power of two [default: 18]")
    parser.add_argument("--seconds", type=float, default=60, help="what a run may take [default: 60]")
    parser.add_argument("--all", action="store_true", help="every layout with every number of threads and direction, not one of them in turn")
    parser.add_argument("--share", default="1/1", help="the part of the cases that is run, as in 2/5 [default: 1/1]")
    parser.add_argument("--minutes", type=float, default=1000, help="when no further case of `held` is begun [default: when all were]")
    parser.add_argument("--only", help="rows whose name has this in it")
    parser.add_argument("--shape", help="graphs of this shape")
    parser.add_argument("--skip", default="", help="what is left out: held, faster")
    given = parser.parse_args()
    bench, begun, wrong = Bench(given, starter), time.monotonic(), False
    try:
        if "held" not in given.skip:
            table = held(bench)
            truth(table)
            wrong = bool(table.wrong)
        if "faster" not in given.skip:
            faster(bench)
    finally:
        bench.group.close()
    print(f"\n{time.monotonic() - begun:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
