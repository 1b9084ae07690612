"""What families of an attack share: graphs, runs, and comparisons."""

import os

from inputs import making, ways
from place import MODELS, Miss

RUNS = ("bfs --source max-degree", "sssp --source max-degree", "components", "pagerank --iterations 3", "kcore", "betweenness --sources max-degree", "multi-source --sources max-degree,random:1",
        "spmv", "clustering", "label-propagation --iterations 2", "diameter", "pagerank-delta")


def result(place, words, name="x.csv", codes=(0,)):
    """Runs a command that writes `name`: its rows, or its exit code."""
    place.remove(name)
    done = place.run(*words, "-o", name, codes=codes)
    if done.code and os.path.lexists(place.path(name)):
        raise Miss(f"exit {done.code}, and a result all the same")
    return done.code or place.rows(name)


def expect(what, found, wanted):
    if found != wanted:
        raise Miss(f"{what}: {str(found)[:300]} instead of {str(wanted)[:300]}")


def generated(rng, place, name="g.oc", scale=(4, 11)):
    """A random graph with weights, undirected."""
    words = ["rmat", "--scale", rng.randint(*scale), "--edge-factor", rng.choice([1, 4, 8, 16]), "--seed", rng.randrange(1 << 30), "--undirected", "--weights", "uniform:1:9"]
    words += ["--simple"] if rng.random() < 0.5 else []
    place.run("generate", *words, *making(rng), "-o", name, codes=(0,))
    return name


def random_run(rng, graph="g.oc", models=MODELS):
    name, *more = rng.choice(RUNS).split()
    return ["run", name, graph, *more, "--model", rng.choice(models), *ways(rng)]
