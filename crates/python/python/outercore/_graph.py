"""Graphs: building, opening, asking."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Union

from . import _edges
from . import _outercore as native
from ._plan import Plan
from ._progress import Line, Progress
from ._result import Result

#: Bytes, or text such as ``"512M"``, ``"2G"``, ``"25%"``.
Size = Union[int, str]
Path = Union[str, "os.PathLike[str]"]
#: An original id, or ``"max-degree"``, or ``"random:SEED"``.
Source = Union[int, str]


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
    simple: bool = False,
    transpose: bool = True,
    order: str = "degree",
    partition: str = "balanced",
    layout: str = "grid",
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
    or ``"string"`` (default: found out); ``simple=True`` drops duplicate edges and self-loops; ``transpose=False`` does not
    keep the incoming edges, which some algorithms need; ``order`` is ``"degree"`` or ``"original"``;
    ``partition`` is ``"balanced"`` or ``"uniform"`` (stripes of the grid with equal edges, or with equal ranges of vertices);
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

    Every algorithm takes ``memory`` (the budget), ``threads``, ``model`` (``"in-memory"``, ``"semi-external"`` or ``"fully-external"``; default:
    chosen from the budget), ``read`` (``"auto"``, ``"full"``, ``"on-demand"``), ``io`` (``"auto"``, ``"uring"``, ``"blocking"``),
    ``progress`` (as in ``build``), and as further keywords ``disk``, ``huge_pages``, ``block``, ``max_gap``,
    ``max_request``, ``io_scheduling``, ``stealing``, ``cross_iteration``, ``sub_blocks``, ``precompute`` and ``preset``. The interpreter is free to run other threads meanwhile.
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

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weights = f", weights {self._graph.weights}" if self.weighted else ""
        return f"<outercore.Graph {self.path!r}: {self.vertices} vertices, {self.edges} {kind} edges{weights}>"

    def bfs(
        self,
        source: Source,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Breadth-first search from ``source``: ``levels`` and ``parents``."""
        return self._run("bfs", memory, threads, model, read, io, progress, source=source, **tuning)

    def sssp(
        self,
        source: Source,
        *,
        delta: float | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Shortest paths from ``source``: ``distances``. ``delta`` is the width of a window of distance."""
        return self._run("sssp", memory, threads, model, read, io, progress, source=source, delta=delta, **tuning)

    def components(
        self,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Connected components (weak ones of a directed graph): ``components``, each named by one of its members."""
        return self._run("components", memory, threads, model, read, io, progress, **tuning)

    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float | None = None,
        top: int | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """PageRank: ``scores``, which sum to 1.

        Exactly ``iterations`` of them (default 20), or until the ranks' L1 change falls below ``tolerance``; ``damping`` is
        0.85 by default. ``top`` is how many rows the summary holds.
        """
        return self._run(
            "pagerank",
            memory,
            threads,
            model,
            read,
            io,
            progress,
            iterations=iterations,
            tolerance=tolerance,
            damping=damping,
            top=top,
            **tuning,
        )

    def kcore(
        self,
        *,
        k: int | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Core numbers in the undirected simple view: ``cores``. With ``k``, the summary has that core's vertices and edges."""
        return self._run("kcore", memory, threads, model, read, io, progress, k=k, **tuning)

    def triangles(
        self,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Triangles of the undirected simple view, in ``summary``; there is no value for each vertex."""
        return self._run("triangles", memory, threads, model, read, io, progress, **tuning)

    def clustering(
        self,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Local clustering coefficients as in LDBC Graphalytics: ``coefficients``."""
        return self._run("clustering", memory, threads, model, read, io, progress, **tuning)

    def label_propagation(
        self,
        *,
        iterations: int | None = None,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """Communities after ``iterations`` rounds (default 10) of label propagation as in LDBC Graphalytics: ``labels``."""
        return self._run("label-propagation", memory, threads, model, read, io, progress, iterations=iterations, **tuning)

    def diameter(
        self,
        *,
        exact: bool = False,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **tuning: Any,
    ) -> Result:
        """The diameter of the largest component, in ``summary``: bounds, or with ``exact`` the proved value."""
        return self._run("diameter", memory, threads, model, read, io, progress, exact=exact, **tuning)

    def run(
        self,
        algorithm: str,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        progress: Progress = None,
        **parameters: Any,
    ) -> Result:
        """Runs any algorithm by the name that it has on the command line; ``outercore.ALGORITHMS`` has them all.

        Parameters: ``source``, ``sources``, ``iterations``, ``tolerance``, ``damping``, ``delta``, ``k``, ``exact``, ``top``. An algorithm
        refuses those that it has not.
        """
        return self._run(algorithm, memory, threads, model, read, io, progress, **parameters)

    def plan(
        self,
        algorithm: str,
        *,
        memory: Size | None = None,
        threads: int | None = None,
        model: str | None = None,
        read: str | None = None,
        io: str | None = None,
        **parameters: Any,
    ) -> Plan:
        """What a run would keep in memory and read, and why; takes what ``run`` takes, and does nothing."""
        arguments = _arguments(memory, threads, model, read, io, parameters)
        return Plan(*self._graph.plan(algorithm, arguments))

    def _run(
        self,
        algorithm: str,
        memory: Size | None,
        threads: int | None,
        model: str | None,
        read: str | None,
        io: str | None,
        progress: Progress,
        **parameters: Any,
    ) -> Result:
        arguments = _arguments(memory, threads, model, read, io, parameters)
        with Line(progress) as line:
            return Result(self._graph.run(algorithm, arguments, line.callback))


_PARAMETERS = frozenset(
    "source sources iterations tolerance damping delta k exact top disk huge_pages block max_gap max_request io_scheduling stealing cross_iteration sub_blocks precompute preset".split()
)


def _arguments(
    memory: Size | None,
    threads: int | None,
    model: str | None,
    read: str | None,
    io: str | None,
    parameters: dict[str, Any],
) -> dict[str, Any]:
    for name in parameters:
        if name not in _PARAMETERS:
            raise TypeError(f"unexpected keyword argument {name!r}; a run takes {', '.join(sorted(_PARAMETERS))}")
    return {**parameters, "memory": memory, "threads": threads, "model": model, "read": read, "io": io}
