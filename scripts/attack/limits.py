"""Budgets and limits: kept, and refused with a figure that works; no leavings."""

import os
import resource

from cases import RUNS, expect, generated, random_run, result
from inputs import ways
from place import MIB, MODELS, UNITS, Miss, figure, same


def budgets(rng, place):
    """Runs in any budget: the answer within it, or a refusal whose figure is enough."""
    generated(rng, place, scale=(4, 14))
    for _ in range(3):
        name, *more = rng.choice(RUNS).split()
        free = ["run", name, "g.oc", *more]
        if rng.random() < 0.6:
            free += ["--model", rng.choice(MODELS)]
        if name not in ("kcore", "components") and rng.random() < 0.2:
            free += ["--block", rng.choice([512, 8192])]
        free += ways(rng)
        answer = result(place, free, codes=(0, 2))
        if answer == 2:
            continue
        low = place.run("run", name, "g.oc", *more, *free[3 + len(more):], "--memory", f"{rng.choice([1, 4, 9, 14, 16, 18, 20, 22, 24, 26, 30, 40])}M", codes=(0, 7))
        if low.code == 7:
            found = result(place, [*free, "--memory", figure(low)])
            if not same(found, answer):
                raise Miss(f"another answer in {figure(low)}")


def builds(rng, place):
    """Inputs that ask much of a builder: copies, hubs, long names, many names, vertices without edges."""
    kind, words = rng.choice(["copies", "pairs", "hub", "long names", "names", "vertices"]), []
    count = rng.choice([20_000, 200_000, 1_000_000])
    if kind == "copies":
        text = b"7 9\n" * (3 * count)
    elif kind == "pairs":
        text = b"7 9\n9 8\n" * count
    elif kind == "hub":
        text = b"".join(b"5 %d\n" % rng.randrange(1 << 40) for _ in range(count // 2))
    elif kind == "long names":
        words, long = ["--ids", "string"], rng.choice([1000, 60_000, 500_000])
        text = b"".join(b"%s%d %s\n" % (b"n" * (long + rng.randrange(50)), rng.randrange(40), b"m" * long) for _ in range(min(count, 40_000_000 // long)))
    elif kind == "names":
        words, text = ["--ids", "string"], b"".join(b"name%x other%x\n" % (rng.randrange(1 << 30), rng.randrange(1 << 30)) for _ in range(count // 4))
    else:
        words, text = ["--vertices", "more.txt"], b"1 2\n2 3\n"
        place.path("more.txt").write_bytes(b"".join(b"%d\n" % rng.randrange(1 << rng.choice([20, 60])) for _ in range(count // 2)))
    place.path("in.txt").write_bytes(text)
    words += rng.choice([[], ["--undirected"], ["--undirected", "--simple"], ["--transpose", "off"]]) + ["--threads", rng.randint(1, 4)]
    done = place.run("build", "in.txt", *words, "--memory", "64M", "-o", "g.oc", codes=(0, 3, 7))
    if done.code == 7:
        place.run("build", "in.txt", *words, "--memory", figure(done), "-o", "g.oc", codes=(0,))
    if done.code != 3:
        edges = place.run("info", "g.oc", "--json", codes=(0,)).json()["edges"]
        written = text.count(b"\n")
        if "--simple" not in words:
            expect("edges", edges + (place.lie == "answer"), written)


def refused(rng, place):
    """Limits of the system: the right answer, or an error of its code; what was there stays, and nothing is left."""
    generated(rng, place)
    place.path("e.txt").write_bytes(b"".join(b"%d %d\n" % (rng.randrange(5000), rng.randrange(5000)) for _ in range(20_000)))
    verb = rng.choice([random_run(rng), ["export", "g.oc"], ["build", "e.txt", "--force"]])
    build = verb[0] == "build"
    name = "x.oc" if build else "x.csv"
    place.run(*verb, "-o", name, codes=(0,))
    contents = lambda: place.run("info", name, "--json", codes=(0,)).json() if build else place.rows(name)
    before, here = contents(), sorted(os.listdir(place.folder))
    # The system cannot even load a program that is larger.
    space = max(rng.randint(20, 400) * MIB, os.path.getsize(place.binary))
    kind, limit = rng.choice([(resource.RLIMIT_FSIZE, rng.choice([0, 1, 100, 1024, 4096, 65_536])), (resource.RLIMIT_NOFILE, rng.randint(4, 40)), (resource.RLIMIT_AS, space)])
    done = place.run(*verb, "-o", name, limits=[(kind, limit)], codes=(0, 5, 6, 7, 127, -6) if kind == resource.RLIMIT_AS else (0, 5, 6))
    place.commands[-1] += f" (with limit {kind} of {limit})"
    if place.lie == "removal":
        place.remove("e.txt")
    # Below some size not even the loader of programs has the space that it needs.
    if done.code in (127, -6) and limit > 60 * MIB:
        raise Miss(f"exit {done.code} with {limit} bytes of address space: {done.err[-200:]}")
    after = contents()
    if build:
        before["uuid"] = after["uuid"] = None
    if not (after == before if build else same(after, before)):
        raise Miss(f"exit {done.code}, and another {name}")
    expect("files", sorted(os.listdir(place.folder)), here)
