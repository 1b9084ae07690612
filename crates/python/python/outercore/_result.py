"""What a run gives back."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import UsageError

if TYPE_CHECKING:
    from . import _outercore as native


class Result:
    """The result of a run: a value for each vertex, in ascending order of original id.

    Columns are NumPy arrays, made when they are first asked for and then kept. No value (a vertex that was not reached) is

    - -1 in a column of whole numbers, whose type is always ``int64``;
    - NaN in a column of other numbers;
    - in a column of vertices (``parents``) -1 where ids are numbers below 2^63, and ``None`` where they are larger or strings.

    ``to_arrow`` and ``to_pandas`` have true nulls. A result is an Arrow stream itself (``__arrow_c_stream__``), so
    ``polars.DataFrame(r)``, ``pyarrow.table(r)`` and DuckDB's ``FROM r`` work; it streams, in little memory. It needs neither
    the graph nor the ``Graph`` any more, but for ``top`` beyond the rows of the summary.
    """

    def __init__(self, outcome: native.NativeOutcome) -> None:
        self._outcome = outcome
        self._columns = dict(outcome.columns)
        self._cache: dict[str, npt.NDArray[Any]] = {}

    @cached_property
    def report(self) -> dict[str, Any]:
        """What the run did: the JSON of the command line, as a dictionary."""
        report: dict[str, Any] = json.loads(self._outcome.report)
        return report

    @property
    def summary(self) -> dict[str, Any]:
        """The answer's figures."""
        summary: dict[str, Any] = self.report["summary"]
        return summary

    @cached_property
    def ids(self) -> npt.NDArray[Any]:
        """The original ids, ascending: ``uint64``, or an array of Python strings."""
        ids = self._outcome.ids()
        return _objects(ids) if isinstance(ids, list) else ids

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; the first is the algorithm's main one."""
        return tuple(self._columns)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The main column."""
        return self[self._main("values")]

    def _main(self, attribute: str) -> str:
        if not self._columns:
            raise AttributeError(f"the result of {self.report['algorithm']} has no {attribute}: it has no columns, but a summary")
        return self.columns[0]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"{name}; the result of {self.report['algorithm']} has {', '.join(self._columns)}")
        if name not in self._cache:
            values = self._outcome.values(name)
            self._cache[name] = self._as_ids(values) if self._columns[name] else values
        return self._cache[name]

    def _as_ids(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Original ids for their places among all of them."""
        ids = self.ids
        missing = places < 0
        if not missing.any():
            return ids[places]
        if ids.dtype == object:
            chosen = ids[places]
            chosen[missing] = None
            return chosen
        if len(ids) and ids[-1] > np.iinfo(np.int64).max:
            return _objects([None if place < 0 else int(ids[place]) for place in places])
        chosen = ids[places].astype(np.int64)
        chosen[missing] = -1
        return chosen

    def _named(self, column: str, attribute: str) -> npt.NDArray[Any]:
        if column not in self._columns:
            has = ", ".join(self._columns) or "none"
            raise AttributeError(f"the result of {self.report['algorithm']} has no {attribute}; its columns: {has}")
        return self[column]

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The scores of ``pagerank``, ``pagerank_delta`` and ``betweenness``."""
        return self._named("betweenness" if "betweenness" in self._columns else "score", "scores")

    @property
    def levels(self) -> npt.NDArray[np.int64]:
        """The levels of ``bfs``: edges from the source; -1 where it was not reached."""
        return self._named("level", "levels")

    @property
    def parents(self) -> npt.NDArray[Any]:
        """The parents of ``bfs``, and of ``sssp`` with ``parents=True``, as original ids."""
        return self._named("parent", "parents")

    @property
    def distances(self) -> npt.NDArray[Any]:
        """The distances of ``sssp``: ``int64`` with -1 for no path where weights are whole numbers, else floats with NaN."""
        return self._named("distance", "distances")

    @property
    def components(self) -> npt.NDArray[Any]:
        """The component of each vertex, as the original id of one of its members."""
        return self._named("component", "components")

    @property
    def cores(self) -> npt.NDArray[np.int64]:
        """The core numbers of ``kcore``."""
        return self._named("core", "cores")

    @property
    def reached(self) -> npt.NDArray[np.int64]:
        """How many sources of ``multi_source`` reach each vertex."""
        return self._named("reached", "reached")

    @property
    def distance_sums(self) -> npt.NDArray[np.int64]:
        """The sums of the distances from those sources of ``multi_source``."""
        return self._named("distance_sum", "distance_sums")

    @property
    def products(self) -> npt.NDArray[np.float64]:
        """The values of ``spmv``."""
        return self._named("value", "products")

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """The local coefficients of ``clustering``."""
        return self._named("clustering", "coefficients")

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The labels of ``label_propagation``: each an original id."""
        return self._named("label", "labels")

    def top(self, count: int = 10) -> list[tuple[int | str, float]]:
        """The ``count`` vertices with the largest values, best first, with their values."""
        name = self._main("top")
        if self._columns[name]:
            raise UsageError(f"the {name} is a vertex, and has no rank")
        if count < 0:
            raise UsageError(f"top takes a count of at least 0, not {count}")
        known = self.summary.get("top", [])
        # The summary's rows were found when the run ended; a shorter list than asked for has to be found anew.
        if count <= len(known):
            return [(key, value) for key, value in known[:count]]
        integral = self[name].dtype.kind == "i"
        return [(key, int(value) if integral else value) for key, value in self._outcome.top(name, count)]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._outcome.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` if pyarrow is installed, else an object that any Arrow library reads (``__arrow_c_stream__``)."""
        try:
            import pyarrow
        except ModuleNotFoundError:
            return self._outcome
        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the columns ``id``, and those of the result. Whole numbers with gaps are of the type ``Int64``."""
        import pandas as pd

        return pd.DataFrame({"id": self.ids, **{name: self._series(name) for name in self._columns}})

    def _series(self, name: str) -> Any:
        import pandas as pd

        values = self[name]
        if values.dtype == np.int64 and (missing := values < 0).any():
            return pd.arrays.IntegerArray(values, missing)
        return values

    def __len__(self) -> int:
        return int(self.report["vertices"])

    def __repr__(self) -> str:
        report = self.report
        figures = ", ".join(f"{name} {value}" for name, value in self.summary.items() if not isinstance(value, list))
        return f"<outercore.Result of {report['algorithm']} on {report['graph']}: {figures}; {report['seconds']:.2f} s>"


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    # Not `np.array`, which would make strings of a fixed width.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
