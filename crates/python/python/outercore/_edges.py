"""What kind of edges was given, and which of the native module's ways in takes it."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _outercore as native
from ._errors import InputError, UsageError

_SOURCES = ("src", "source", "from", "row")
_TARGETS = ("dst", "target", "to", "dest", "destination", "col")
_WEIGHTS = ("weight", "w", "data")


def build(edges: Any, arguments: dict[str, Any], callback: Any) -> native.NativeGraph:
    """Builds from whatever ``edges`` is."""
    if isinstance(edges, (str, bytes, os.PathLike)):
        return native.build_files([os.fsdecode(edges)], arguments, callback)
    if isinstance(edges, (list, tuple)) and edges and all(isinstance(edge, (str, os.PathLike)) for edge in edges):
        return native.build_files([os.fspath(edge) for edge in edges], arguments, callback)
    if hasattr(edges, "__arrow_c_stream__") or hasattr(edges, "__arrow_c_array__"):
        return native.build_stream(edges, arguments, callback)
    if _is_sparse(edges):
        return _sparse(edges, arguments, callback)
    # NetworkX's views of edges are mappings too, from pairs.
    if isinstance(edges, Mapping) and isinstance(next(iter(edges), ""), str):
        edges = _columns(edges)
    if isinstance(edges, np.ndarray):
        edges = _table(edges)
    if isinstance(edges, (list, tuple)) and len(edges) in (2, 3):
        _refuse_either(edges)
        if all(_is_array(part) for part in edges):
            return _arrays(edges, arguments, callback)
    if callable(getattr(edges, "is_directed", None)) and hasattr(edges, "adj"):
        return _networkx(edges, arguments, callback)
    if hasattr(edges, "collect_batches"):
        # A LazyFrame of Polars: it has no capsule of its own, and need not be whole in memory.
        return native.build_batches(edges.collect_batches(), arguments, callback)
    return _iterable(edges, arguments, callback)


def _refuse_either(edges: list[Any] | tuple[Any, ...]) -> None:
    """Refuses what may be two or three edges as well as their columns."""
    lists = isinstance(edges, tuple) and all(isinstance(part, list) for part in edges)
    arrays = isinstance(edges, list) and all(_is_array(part) and np.size(part) in (2, 3) for part in edges)
    if lists or arrays:
        raise InputError(
            f"a {type(edges).__name__} of {len(edges)} {'lists' if lists else 'short arrays'} may be edges or columns; "
            "give a tuple of arrays (sources, targets), or a list of tuples, one for each edge"
        )


def _is_sparse(edges: Any) -> bool:
    # Whoever has a sparse matrix has imported the module.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(edges))


def _is_array(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return True
    # A column of pandas, Polars or pyarrow; not a whole table.
    return hasattr(part, "__array__") and hasattr(part, "__len__") and not hasattr(part, "columns")


def _columns(edges: Mapping[str, Any]) -> tuple[Any, ...]:
    def find(names: tuple[str, ...]) -> Any:
        return next((edges[name] for name in names if name in edges), None)

    source, target, weight = find(_SOURCES), find(_TARGETS), find(_WEIGHTS)
    if source is None or target is None:
        raise InputError(f"a mapping of edges has the keys src, dst and perhaps weight, not {', '.join(map(str, edges))}")
    ends = (_ids(source), _ids(target))
    return ends if weight is None else (*ends, _unmasked(weight))


def _ids(column: Any) -> np.ndarray[Any, Any]:
    """A column of ids. NumPy would make one type of values that have several, and round large ones."""
    array = _unmasked(column)
    if isinstance(column, (list, tuple)) and array.dtype.kind not in "iu":
        return np.array(column, dtype=object)
    return array


def _unmasked(part: Any) -> np.ndarray[Any, Any]:
    """An array, all of whose values are there."""
    if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
        row = int(np.flatnonzero(np.ma.getmaskarray(part).reshape(len(part), -1).any(axis=1))[0])
        raise InputError(f"edge {row + 1}: a value is masked; leave such edges out")
    return np.asarray(part)


def _table(edges: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        raise InputError(f"an array of edges has 2 or 3 columns, and this one has the shape {edges.shape}; or give (sources, targets)")
    edges = _unmasked(edges)
    if edges.shape[1] == 3 and edges.dtype.kind == "f":
        ids = edges[:, :2]
        exact = 2.0 ** min(np.finfo(edges.dtype).nmant + 1, 53)
        if (np.abs(ids) >= exact).any():
            raise InputError(f"some ids in the first two columns are {exact:.0f} or more, which {edges.dtype} may have rounded; give (sources, targets, weights)")
        if not np.isfinite(ids).all() or not np.array_equal(np.trunc(ids), ids):
            raise InputError("some ids in the first two columns are no whole numbers")
        ends = ids.astype(np.int64)
        return ends[:, 0], ends[:, 1], edges[:, 2]
    return tuple(edges[:, column] for column in range(edges.shape[1]))


def _arrays(edges: Any, arguments: dict[str, Any], callback: Any) -> native.NativeGraph:
    parts = [_unmasked(part) for part in edges]
    if any(part.ndim != 1 for part in parts):
        raise InputError("sources, targets and weights are arrays of one dimension")
    if any(part.dtype.kind in "OUST" for part in parts[:2]):
        if len({len(part) for part in parts}) > 1:
            raise InputError("sources, targets and weights have different lengths")
        return native.build_pairs(zip(*map(_values, parts)), None, arguments, callback)
    weights = _reals(parts[2]) if len(parts) == 3 else None
    return native.build_arrays(_numbers(parts[0]), _numbers(parts[1]), weights, None, arguments, callback)


def _values(part: np.ndarray[Any, Any]) -> Iterator[Any]:
    """The values as Python's own, a few thousand at a time."""
    step = 1 << 14
    return itertools.chain.from_iterable(part[start : start + step].tolist() for start in range(0, len(part), step))


def _numbers(array: Any) -> Any:
    """Whole numbers in a type that the native module reads where they are; others are converted."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu":
        raise InputError(f"ids are whole numbers or strings, not {array.dtype}")
    wide = array.dtype.itemsize == 8
    kind = {"i": np.int64 if wide else np.int32, "u": np.uint64 if wide else np.uint32}[array.dtype.kind]
    return np.ascontiguousarray(array, dtype=kind)


def _reals(array: Any) -> Any:
    array = np.asarray(array)
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array, dtype=np.uint32)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, dtype=np.float32 if array.dtype.itemsize <= 4 else np.float64)
    if array.dtype.kind in "iu":
        return _numbers(array)
    raise InputError(f"weights are numbers, not {array.dtype}")


def _sparse(matrix: Any, arguments: dict[str, Any], callback: Any) -> native.NativeGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a matrix of edges is square, and this one is {' x '.join(map(str, matrix.shape))}")
    if matrix.format not in ("coo", "csr", "csc"):
        matrix = matrix.tocoo()
    pattern = matrix.data.dtype.kind == "b" and arguments["weights"] is None
    weights = None if pattern else _reals(matrix.data)
    if matrix.format == "coo":
        # Arrays of any dimension have `coords`; `row` and `col` are those of matrices, and of older versions.
        row, col = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        return native.build_arrays(_numbers(row), _numbers(col), weights, matrix.shape[0], arguments, callback)
    # What lies behind the last entry is spare room.
    entries = int(matrix.indptr[-1])
    others = _numbers(matrix.indices[:entries])
    weights = weights if weights is None else weights[:entries]
    return native.build_compressed(_numbers(matrix.indptr), others, weights, matrix.format == "csc", arguments, callback)


def _networkx(graph: Any, arguments: dict[str, Any], callback: Any) -> native.NativeGraph:
    if arguments["directed"] is None:
        arguments = {**arguments, "directed": graph.is_directed()}
    weighted = arguments["weights"] != "none" and any("weight" in data for *_, data in graph.edges(data=True))
    # An edge without a weight counts 1, as NetworkX has it.
    edges = graph.edges(data="weight", default=1) if weighted else graph.edges()
    alone = (vertex for vertex, degree in graph.degree() if degree == 0)
    first = next(alone, None)
    vertices = None if first is None else itertools.chain([first], alone)
    return native.build_pairs(edges, vertices, arguments, callback)


def _without_keys(edges: Any) -> Any:
    """A view of a multigraph's edges without the keys of parallel ones, which are no weights."""
    networkx = sys.modules.get("networkx")
    views = getattr(getattr(networkx, "classes", None), "reportviews", None)
    if views is None:
        return edges
    if isinstance(edges, views.OutMultiEdgeView):
        return edges()
    if isinstance(edges, views.OutMultiEdgeDataView) and edges.keys:
        raise InputError('keys of parallel edges are no weights; give edges() or edges(data="weight", default=1)')
    return edges


def _iterable(edges: Iterable[Any], arguments: dict[str, Any], callback: Any) -> native.NativeGraph:
    edges = _without_keys(edges)
    try:
        iterator = iter(edges)
    except TypeError:
        raise UsageError(
            f"{type(edges).__name__} is not a kind of edges; give a path, an Arrow table, (sources, targets) arrays, a sparse matrix, "
            "a NetworkX graph, or an iterable of pairs"
        ) from None
    first = next(iterator, None)
    if first is None:
        raise InputError("there is no edge in it")
    whole = itertools.chain([first], iterator)
    if hasattr(first, "__arrow_c_stream__") or hasattr(first, "__arrow_c_array__"):
        return native.build_batches(whole, arguments, callback)
    return native.build_pairs(whole, None, arguments, callback)
