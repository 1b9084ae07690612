"""Random edge lists: hostile ids, every text format, and the bytes of other formats."""

import gzip

LARGEST = (1 << 64) - 1
NASTY = ["0", "00", "+5", "5", "-7", "max-degree", "random:1", "a,b", 'say "x"', " padded ", "line\ttab", "é", "日本語", "#hash", "%percent", "source", "id", "NaN", "1e3", "null", "'", "\\", "-", "--", "x" * 3000]
WEIGHTS = {"none": lambda rng: 1, "u32": lambda rng: rng.choice([0, 1, 1, 2, 7, 255, 256, 65_536, rng.randrange(1 << 32)]), "f64": lambda rng: rng.randrange(1 << 20) / 64}


class List:
    """Edges as they are written, and the options that a build of them needs."""

    def __init__(self, edges, weights, directed, words):
        self.edges, self.weights, self.directed = edges, weights, directed
        self.words = [*words, "--directed" if directed else "--undirected"]
        if weights != "none":
            self.words += ["--weights", weights]


def ends(rng, kind, count):
    """Ids of a kind."""
    if kind == "dense":
        return [str(id + rng.choice([0, 1])) for id in range(count)]
    if kind == "sparse":
        return [str(rng.choice([0, 1, LARGEST, LARGEST - 1, (1 << 32) - 1, 1 << 32, 1 << 53, rng.randrange(1 << 64), rng.randrange(1000)])) for _ in range(count)]
    if kind == "names":
        return [f"v{rng.randrange(10 * count):x}" for _ in range(count)]
    return rng.sample(NASTY, min(count, rng.randint(2, len(NASTY)))) + [f"{rng.choice(NASTY)}{id}" for id in range(rng.randrange(3))]


def edges(rng, kind, weights):
    """Random edges: a few or thousands, with hubs, loops and duplicates."""
    vertices = rng.choice([1, 2, 3, 10, 60, 64, 65, 500])
    names = ends(rng, kind, vertices)
    count = rng.choice([1, 2, vertices, 4 * vertices, rng.randint(1, 3000)])
    skew = rng.choice([1, 1, 2, 4])
    end = lambda: names[int(len(names) * rng.random() ** skew)]
    return [(end(), end(), WEIGHTS[weights](rng)) for _ in range(count)]


def quoted(field):
    return '"' + field.replace('"', '""') + '"'


def source_of(id):
    """An id as `--source` takes it, whatever it has in it."""
    return quoted(id)


def lines(rng, edges, form, weights):
    """The text of edges."""
    def row(edge):
        fields = [edge[0], edge[1]] + ([repr(edge[2]) if isinstance(edge[2], float) else str(edge[2])] if weights else [])
        if form == "csv":
            return ",".join(quoted(field) if any(mark in field for mark in ',"\n\r\t #%') or field != field.strip() or rng.random() < 0.05 else field for field in fields)
        return {"tabs": "\t", "spaces": " "}[form].join(fields)

    end = rng.choice(["\n", "\n", "\r\n"])
    rows = [row(edge) for edge in edges]
    if form == "csv":
        rows.insert(0, rng.choice(["source,target", "src,dst", "from,to"]) + (",weight" if weights else ""))
    else:
        rows = [more for row in rows for more in ([rng.choice(["# a comment", ""]), row] if rng.random() < 0.02 else [row])]
    return (end.join(rows) + rng.choice([end, end, ""])).encode()


def edge_list(rng, place):
    """Writes random edges as files. Returns them with the words of a build."""
    kind, weights = rng.choice(["dense", "sparse", "names", "nasty"]), rng.choice(["none", "none", "u32", "f64"])
    directed = rng.random() < 0.5
    drawn = edges(rng, kind, weights)
    form = "csv" if kind == "nasty" else rng.choice(["csv", "tabs", "spaces"])
    parts = rng.choice([1, 1, 1, 2, 3])
    packed = rng.random() < 0.2
    names = []
    for part in range(parts):
        some = drawn[part::parts]
        if some:
            names.append(f"part-{part}.{'csv' if form == 'csv' else 'txt'}{'.gz' if packed else ''}")
            text = lines(rng, some, form, weights != "none")
            middle = rng.randrange(len(text))
            place.path(names[-1]).write_bytes(gzip.compress(text[:middle]) + gzip.compress(text[middle:]) if packed else text)
    words = [*names, "--ids", {"dense": "u64", "sparse": "u64"}.get(kind, "string")]
    return List(drawn, weights, directed, words)


def making(rng):
    """Options that do not change the graph."""
    words = ["--memory", f"{rng.choice([64, 65, 80, 200])}M", "--threads", rng.randint(1, 4)]
    words += ["--order", rng.choice(["degree", "original"])] if rng.random() < 0.5 else []
    words += ["--layout", rng.choice(["hybrid", "row", "grid"])] if rng.random() < 0.4 else []
    return words + ([word for at in range(rng.randint(1, 3)) for word in ("--stripe", f"device-{at}")] if rng.random() < 0.15 else [])


def ways(rng):
    """Options that do not change an answer, for every algorithm."""
    words = ["--threads", rng.randint(1, 4)]
    words += ["--io", rng.choice(["blocking", "auto"])] if rng.random() < 0.3 else []
    return words + (["--huge-pages", "off"] if rng.random() < 0.2 else [])
