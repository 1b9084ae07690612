"""Graph analytics on one machine, with the graph on SSD and a hard memory budget.

    import outercore as oc

    g = oc.build("edges.parquet", "web.oc", memory="2G")
    r = g.pagerank(memory="512M", iterations=20)
    r.top(10)

Names and defaults are those of the command line. ``build`` makes a graph, ``open`` opens one; ``Graph`` has a method
for each algorithm; a ``Result`` has its columns as NumPy arrays, and is an Arrow stream for pandas, Polars, DuckDB.

``memory`` bounds what Outercore itself takes. The interpreter, your own data, and the arrays that a result hands out
come on top of it.
"""

from __future__ import annotations

from ._errors import (
    CorruptGraphError,
    InputError,
    LockedError,
    MemoryBudgetError,
    NoSpaceError,
    OutercoreError,
    StorageError,
    UsageError,
)
from ._graph import Graph, build, open
from ._outercore import ALGORITHMS, __version__
from ._plan import Plan
from ._result import Result

__all__ = [
    "ALGORITHMS",
    "CorruptGraphError",
    "Graph",
    "InputError",
    "LockedError",
    "MemoryBudgetError",
    "NoSpaceError",
    "OutercoreError",
    "Plan",
    "Result",
    "StorageError",
    "UsageError",
    "__version__",
    "build",
    "open",
]
