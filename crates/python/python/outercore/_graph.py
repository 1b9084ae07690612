"""Graphs: building, opening, asking."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _edges
from . import _outercore as native
from ._options import Options, Path, Size, Source, Vector, VisitorOptions, described
from ._plan import Plan
from ._progress import Line, Progress
from ._result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _paths(given: Path | Iterable[Path] | None) -> list[str]:
    if given is None:
        return []
    return [os.fspath(given)] if isinstance(given, (str, os.PathLike)) else [os.fspath(path) for path in given]


def build(
    edges: Any,
    path: Path,
    *,
    memory: Size | None = None,
    directed: bool | None = None,
    weights: str | None = None,
    ids: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    simple: bool = False,
    transpose: bool = True,
    order: str | None = None,
    partition: str | None = None,
    layout: str | None = None,
    threads: int | None = None,
    force: bool = False,
    progress: Progress = None,
    format: str | None = None,
    vertices: Path | Iterable[Path] | None = None,
    stripes: Path | Iterable[Path] | None = None,
    disk: Size | None = None,
) -> Graph:
    """Makes an on-disk graph, a folder, of ``edges``, and opens it.

    ``edges`` is one of

    - a path, or several: text, CSV, Matrix Market, DIMACS, Graphalytics, binary pairs, Parquet; gzip and zstd are undone;
    - anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, Polars, pandas, DuckDB relations), with columns
      ``src``, ``dst`` and perhaps ``weight``; a Polars ``LazyFrame``; an iterable of such tables;
    - ``(sources, targets)`` or ``(sources, targets, weights)`` of NumPy arrays, a mapping of such, an array of 2 or 3 columns;
    - a sparse matrix of SciPy: every stored entry is an edge from its row to its column, and every row is a vertex. The
      entries are the weights, unless they are all one;
    - a NetworkX graph, with its direction, its isolated vertices, and the weights called ``weight``;
    - an iterable of pairs or triples, with ints or strings as ids.

    Integer arrays of 32 and 64 bits are read where they are; other types, and arrays that are not contiguous, are copied.

    ``memory`` is the budget; ``directed=False`` makes edges lead both ways (default: what the input says, else directed);
    ``weights`` is ``"none"``, ``"u32"``, ``"f32"`` or ``"f64"`` (default: what the input has); ``ids`` is ``"dense"``, ``"u64"``
    or ``"string"`` (default: found out); ``columns`` names those of a text, a Parquet file or a table, as in
    ``{"source": "left_id", "target": "right_id", "weight": 5}``, by name or by number from 1; ``simple=True`` drops duplicate edges and self-loops; ``transpose=False`` does not
    keep the incoming edges, which some algorithms need; ``order`` is ``"degree"``, ``"original"``, ``"in-degree"``,
    ``"pagerank"``, ``"norder"``, ``"gorder"``, ``"bfs"``, ``"random"``, ``"hubs-norder"`` or ``"hubs-bfs"``, of which all but the first two build the graph twice;
    ``partition`` is ``"balanced"`` or ``"uniform"`` (intervals of the grid with equal edges, or with equal ranges of vertices);
    ``layout`` is ``"grid"``, ``"row"`` or ``"hybrid"`` (all edges in tiles for passes over all of them, none, or the dense parts); ``force=True`` replaces a
    graph that exists. ``format`` and ``vertices`` (lists of vertices that exist whether or not they have edges) are of files;
    ``stripes`` are folders, one for each device, over which the edges are spread; ``disk`` bounds what may be written.

    ``progress=True`` shows a line on standard error if that is a terminal; a function is called with stage, amount done and
    total. Ctrl-C raises ``KeyboardInterrupt``, and leaves nothing behind.
    """
    arguments = {
        "path": os.fspath(path),
        "memory": memory,
        "disk": disk,
        "directed": directed,
        "weights": weights,
        "ids": ids,
        "columns": columns and ",".join(f"{role}={name}" for role, name in columns.items()),
        "format": format,
        "vertices": _paths(vertices),
        "simple": simple,
        "transpose": transpose,
        "order": order,
        "partition": partition,
        "layout": layout,
        "stripes": _paths(stripes),
        "threads": threads,
        "force": force,
    }
    with Line(progress) as line:
        return Graph(_edges.build(edges, arguments, line.callback))


def open(path: Path) -> Graph:
    """Opens the graph at ``path``."""
    return Graph(native.NativeGraph.open(os.fspath(path)))


class Graph:
    """An on-disk graph, opened. Made by ``build`` and ``open``.

    There is a method for each algorithm. The interpreter is free to run other threads meanwhile.
    Every algorithm takes ``progress`` (as in ``build``), and these keyword arguments:
    """

    def __init__(self, graph: native.NativeGraph) -> None:
        self._graph = graph

    @property
    def path(self) -> str:
        """Where it lies."""
        return os.fspath(self._graph.path)

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return self._graph.vertices

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return self._graph.edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._graph.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._graph.weights != "none"

    def info(self) -> dict[str, Any]:
        """Sizes, degrees, order, ids and sections: the JSON of ``outercore info``."""
        info: dict[str, Any] = json.loads(self._graph.info())
        return info

    def cache(
        self,
        size: Size | None = None,
        *,
        select: str | None = None,
        rounds: int | None = None,
        block: int | None = None,
        sample: int | None = None,
        page_cache: Size | None = None,
        penalty: str | None = None,
        divided_by: str | None = None,
        seed: int | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Selects the lists that a static cache of ``size`` holds, and saves the selection beside the graph: ``outercore cache``.

        Runs with ``static_cache=SIZE`` load as many of them as fit. Runs on one ``Graph`` share what is loaded: the first one
        loads it, and it stays until a run asks for another static cache, or for none.

        ``select`` is ``"gvs"``, ``"high-degree"``, ``"low-degree"`` or ``"random"``; ``rounds``, ``block``, ``sample``, ``page_cache``,
        ``penalty`` and ``divided_by`` are of ``"gvs"``, ``seed`` is of ``"random"``. What was selected is returned.
        """
        arguments = {
            "size": size,
            "select": select,
            "rounds": rounds,
            "block": block,
            "sample": sample,
            "page_cache": page_cache,
            "penalty": penalty,
            "divided_by": divided_by,
            "seed": seed,
            "memory": memory,
            "threads": threads,
        }
        with Line(progress) as line:
            about: dict[str, Any] = json.loads(self._graph.cache(arguments, line.callback))
        return about

    def order(
        self,
        order: str,
        path: Path,
        *,
        window: int | None = None,
        seed: int | None = None,
        transpose: bool | None = None,
        partition: str | None = None,
        layout: str | None = None,
        stripes: Path | Iterable[Path] | None = None,
        force: bool = False,
        memory: Size | None = None,
        disk: Size | None = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> Graph:
        """Writes the graph at ``path`` with its vertices in another order on disk, and opens it: ``outercore order``.

        ``order`` is one of those of ``build``; ``window`` is of ``"gorder"``, ``seed`` of ``"random"``. Original ids, weights and
        answers stay as they are.
        """
        arguments = {
            "window": window,
            "seed": seed,
            "transpose": transpose,
            "partition": partition,
            "layout": layout,
            "stripes": _paths(stripes),
            "force": force,
            "memory": memory,
            "disk": disk,
            "threads": threads,
        }
        with Line(progress) as line:
            return Graph(self._graph.order((order, os.fspath(path)), arguments, line.callback))

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weights = f", weights {self._graph.weights}" if self.weighted else ""
        return f"<outercore.Graph {self.path!r}: {self.vertices} vertices, {self.edges} {kind} edges{weights}>"

    def bfs(
        self, source: Source, *, method: str | None = None, **options: Unpack[VisitorOptions]
    ) -> Result:
        """Breadth-first search from ``source``: ``levels`` and ``parents``.

        ``method`` is ``"direction-optimizing"`` or ``"program"`` (default: chosen by the plan).
        """
        return self.run("bfs", source=source, method=method, **options)

    def sssp(
        self,
        source: Source,
        *,
        delta: float | None = None,
        method: str | None = None,
        parents: bool = False,
        **options: Unpack[VisitorOptions],
    ) -> Result:
        """Shortest paths from ``source``: ``distances``, and with ``parents`` a tree of them.

        ``method`` is ``"delta-stepping"`` or ``"program"`` (default: chosen by the plan); ``delta``
        is the width of the former's windows of distance.
        """
        return self.run("sssp", source=source, delta=delta, method=method, parents=parents, **options)

    def components(
        self, *, method: str | None = None, **options: Unpack[VisitorOptions]
    ) -> Result:
        """Connected components (weak ones of a directed graph): ``components``.

        Each is named by one of its members. ``method`` is ``"sampled"``, ``"scan"`` or ``"program"``
        (default: chosen by the plan).
        """
        return self.run("components", method=method, **options)

    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        top: int | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """PageRank: ``scores``, which sum to 1.

        Exactly ``iterations`` of them (default 20), or until the ranks' L1 change falls below
        ``tolerance``; ``damping`` is 0.85 by default. ``top`` is how many rows the summary holds.
        """
        return self.run(
            "pagerank",
            iterations=iterations,
            tolerance=tolerance,
            damping=damping,
            top=top,
            **options,
        )

    def pagerank_delta(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        top: int | None = None,
        method: str | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """PageRank by differences: ``scores``, which sum to 1.

        A vertex passes on what its rank has gained or lost, and only when that is worth reading its
        edges, until the residual falls below ``tolerance`` (default 1e-6) or after ``iterations``
        (default 1000); ``damping`` is 0.85 by default. ``top`` is how many rows the summary holds.
        ``method`` is ``"differences"`` or ``"iterations"``, which is PageRank to the same residual
        (default: chosen by the plan).
        """
        return self.run(
            "pagerank-delta",
            iterations=iterations,
            tolerance=tolerance,
            damping=damping,
            top=top,
            method=method,
            **options,
        )

    def kcore(
        self, *, k: int | None = None, method: str | None = None, **options: Unpack[Options]
    ) -> Result:
        """Core numbers in the undirected simple view: ``cores``.

        With ``k``, the summary has that core's vertices and edges, and ``cores`` is ``k`` for its
        vertices and no value for others. ``method`` is ``"peeling"`` or ``"program"`` (default:
        chosen by the plan).
        """
        return self.run("kcore", k=k, method=method, **options)

    def betweenness(
        self,
        sources: Iterable[Source] | None = None,
        *,
        top: int | None = None,
        method: str | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """Betweenness of every vertex: ``scores``.

        Over shortest paths from ``sources``, or from every vertex, which takes long. ``top`` is how
        many rows the summary holds. ``method`` is ``"batches"`` or ``"lists"`` (default: chosen by
        the plan).
        """
        return self.run("betweenness", sources=sources, top=top, method=method, **options)

    def multi_source(
        self, sources: Iterable[Source], *, weighted: bool = False, **options: Unpack[Options]
    ) -> Result:
        """Distances from up to 128 ``sources`` at once, in edges or ``weighted``.

        ``reached`` is how many of them reach a vertex, ``distance_sums`` the sum of its distances
        from those.
        """
        return self.run("multi-source", sources=sources, weighted=weighted, **options)

    def spmv(self, vector: Vector | None = None, **options: Unpack[Options]) -> Result:
        """The product of the transposed adjacency matrix and a vector: ``products``.

        ``vector`` has a number for each vertex, in the order of ``ids`` of a result: an array, or
        the path of a file as results are written. Without it all numbers are 1. An edge without a
        weight counts 1.
        """
        return self.run("spmv", vector=vector, **options)

    def triangles(self, **options: Unpack[Options]) -> Result:
        """Triangles of the undirected simple view, in ``summary``.

        There is no value for each vertex.
        """
        return self.run("triangles", **options)

    def clustering(self, **options: Unpack[Options]) -> Result:
        """Local clustering coefficients as in LDBC Graphalytics: ``coefficients``."""
        return self.run("clustering", **options)

    def label_propagation(
        self, *, iterations: int | None = None, **options: Unpack[Options]
    ) -> Result:
        """Communities by label propagation as in LDBC Graphalytics: ``labels``.

        There are at most ``iterations`` rounds (default 10).
        """
        return self.run("label-propagation", iterations=iterations, **options)

    def diameter(self, *, exact: bool = False, **options: Unpack[Options]) -> Result:
        """The diameter of the largest component, in ``summary``.

        There are bounds of it, or with ``exact`` the proved value.
        """
        return self.run("diameter", exact=exact, **options)

    def run(self, algorithm: str, *, progress: Progress = None, **arguments: Any) -> Result:
        """Runs any algorithm by its name; ``outercore.ALGORITHMS`` has them all.

        Parameters, beside what every run takes: ``source``, ``sources``, ``iterations``,
        ``tolerance``, ``damping``, ``delta``, ``k``, ``exact``, ``parents``, ``method``, ``top``,
        ``vector``, ``weighted``;
        of ``bfs``, ``sssp`` and ``components`` also ``executor``, ``in_flight``, ``peek``,
        ``ownership``. An algorithm refuses those that it has not.
        """
        with Line(progress) as line:
            return Result(self._graph.run(algorithm, arguments, line.callback))

    def plan(self, algorithm: str, **arguments: Any) -> Plan:
        """What a run would keep in memory and read, and why; takes what ``run`` takes."""
        arguments.pop("progress", None)
        return Plan(*self._graph.plan(algorithm, arguments))


# The native module knows what each keyword does.
Graph.__doc__ = (
    (Graph.__doc__ or "")
    + described(Options.__annotations__)
    + "\n    ``bfs``, ``sssp`` and ``components`` also take these:\n    "
    + described(VisitorOptions.__annotations__.keys() - Options.__annotations__.keys())
)
