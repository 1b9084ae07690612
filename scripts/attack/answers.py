"""Right answers: hostile texts against references, changed bytes against each other."""

from cases import expect, generated, result
from inputs import edge_list, making, source_of, ways
from place import MODELS, Miss, near
from references import Reference

# The sum of the differences of scores is at most this.
PROMISED = 1e-6


def texts(rng, place):
    """Hostile edge lists: every algorithm that has a reference answers for the ids as they were written."""
    written = edge_list(rng, place)
    place.run("build", *written.words, *making(rng), "-o", "g.oc", codes=(0,))
    truth = Reference(written.edges, written.directed)
    ids = truth.vertices
    source = rng.choice(ids)
    model = ["--model", rng.choice(MODELS), *ways(rng)]
    if rng.random() < 0.3:
        model += ["--memory", place.run("plan", "bfs", "g.oc", f"--source={source_of(source)}", *model, "--json", codes=(0,)).json()["smallest_budget_bytes"]]
    rows = result(place, ["run", "bfs", "g.oc", f"--source={source_of(source)}", *model])
    levels = truth.levels(source)
    expect("levels", {row[0]: row[1] for row in rows}, {id: str(levels.get(id, "")) for id in ids})
    for id, level, parent in rows:
        if level and not (parent == id == source or levels.get(parent) == int(level) - 1 and any(end == id for end, _ in truth.out[parent])):
            raise Miss(f"{parent} is no parent of {id}")
    model = ["--model", rng.choice(MODELS), *ways(rng)]
    for check in rng.sample([components, cores, scores, distances, exported, triangles], 2):
        check(place, truth, written, model, source)


def components(place, truth, written, model, source):
    named = dict(result(place, ["run", "components", "g.oc", *model]))
    truly = truth.components()
    expect("vertices of components", sorted(named), truth.vertices)
    pairs = {(truly[id], name) for id, name in named.items()}
    if not len(pairs) == len(set(truly.values())) == len(set(named.values())) or any(truly[name] != component for component, name in pairs):
        raise Miss(f"components: {sorted(pairs)[:5]}")


def cores(place, truth, written, model, source):
    found = result(place, ["run", "kcore", "g.oc", *model])
    expect("cores", dict(found), {id: str(core) for id, core in truth.cores().items()})


def triangles(place, truth, written, model, source):
    expect("triangles", place.run("run", "triangles", "g.oc", *model, "--json", codes=(0,)).json()["summary"]["triangles"], truth.triangles())


def scores(place, truth, written, model, source):
    # What a loop without direction counts is a matter of taste.
    if not written.directed and any(edge[0] == edge[1] for edge in written.edges):
        return
    wanted = truth.scores(5)
    found = dict(result(place, ["run", "pagerank", "g.oc", "--iterations", 5, *model]))
    expect("vertices of scores", sorted(found), truth.vertices)
    difference = sum(abs(float(score) - wanted[id]) for id, score in found.items())
    if not difference <= PROMISED:
        raise Miss(f"scores differ by {difference}")


def distances(place, truth, written, model, source):
    if written.weights == "none":
        return
    wanted = truth.distances(source)
    for id, distance, *_ in result(place, ["run", "sssp", "g.oc", f"--source={source_of(source)}", *model]):
        if not near(distance, wanted.get(id, "")):
            raise Miss(f"distance of {id}: {distance} instead of {wanted.get(id)}")


def exported(place, truth, written, model, source):
    rows = result(place, ["export", "g.oc"], "e.csv")
    ordered = lambda a, b: (a, b) if written.directed else (min(a, b), max(a, b))
    weight = lambda row: float(row[2]) if written.weights != "none" else 1
    expect("edges", sorted((*ordered(row[0], row[1]), weight(row)) for row in rows), sorted((*ordered(a, b), float(w)) for a, b, w in written.edges))


def mutated(rng, place):
    """Changed bytes of inputs in every format: refused, or a graph that is whole and answers alike in every model."""
    graph = generated(rng, place, scale=(3, 8))
    form = rng.choice(["csv", "parquet", "mtx"])
    place.run("export", graph, "-o", f"seed.{form}", codes=(0,))
    data = bytearray(place.path(f"seed.{form}").read_bytes())
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        at, some = rng.randrange(len(data) + 1), rng.choice([1, 2, 8, 100])
        # Most changes of lengths are refused: those that may pass are as many.
        change = rng.choice([0, 0, 1, 2, 3, 4, 5, 5, 5, 5])
        if change == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif change == 5:
            digits = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
            if digits:
                data[rng.choice(digits)] = ord(rng.choice("0123456789"))
        elif change == 1:
            data[at:at] = rng.choice([rng.randbytes(some), b"\n", b",", b"18446744073709551616", b"nan", b"-", b"\0", b'"', b"\xff\xfe", b"PAR1"])
        elif change == 2:
            del data[at:at + some]
        elif change == 3:
            data[at:at] = data[max(0, at - some):at]
        elif len(data) > 10:
            del data[rng.randrange(len(data) // 2, len(data)):]
        data = data or bytearray(b"\n")
    place.path(f"in.{form}").write_bytes(data)
    words = ["--undirected"] if rng.random() < 0.3 else []
    words += ["--weights", rng.choice(["u32", "f32", "f64", "none"])] if rng.random() < 0.6 else []
    words += ["--ids", rng.choice(["u64", "string", "dense"])] if rng.random() < 0.4 else []
    done = place.run("build", f"in.{form}", *words, "--memory", "64M", "-o", "h.oc", codes=(0, 2, 3, 7))
    if done.code == 0:
        place.run("check", "h.oc", codes=(0,))
        one, other = rng.sample(MODELS, 2)
        first = result(place, ["run", "components", "h.oc", "--model", one, "--threads", 1])
        second = result(place, ["run", "components", "h.oc", "--model", other])
        expect("components in two models", first, second)
    elif place.path("h.oc").exists():
        raise Miss("a refused build left a graph")
