"""What every run takes: the keyword arguments, once."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union

from . import _outercore as native
from ._progress import Progress

if TYPE_CHECKING:
    import numpy.typing as npt

#: Bytes, or text such as ``"512M"``, ``"2G"``, ``"25%"``.
Size = Union[int, str]
Path = Union[str, "os.PathLike[str]"]
#: An original id, or ``"max-degree"``, or ``"random:SEED"``; bytes are an id whatever they say.
Source = Union[int, str, bytes]
#: Numbers, one for each vertex in the order of ids; or the path of a file of them.
Vector = Union[str, "os.PathLike[str]", "Sequence[float]", "npt.NDArray[Any]"]


class Options(TypedDict, total=False):
    """What every algorithm takes beside its parameters; ``None`` is the same as nothing."""

    memory: Size | None
    disk: Size | None
    threads: int | None
    model: str | None
    read: str | None
    io: str | None
    huge_pages: str | None
    block: int | None
    max_gap: Size | None
    max_request: Size | None
    cross_iteration: str | None
    sub_blocks: bool | str | None
    precompute: str | None
    preset: str | None
    io_scheduling: str | None
    stealing: bool | None
    queue_depth: int | None
    io_threads: int | None
    page_cache: Size | None
    static_cache: Size | None
    direction: str | None
    cost: str | None
    progress: Progress


class VisitorOptions(Options, total=False):
    """What ``bfs``, ``sssp`` and ``components`` take beside their parameters."""

    executor: str | None
    in_flight: int | None
    peek: bool | None
    ownership: str | None


def described(names: Container[str]) -> str:
    """The keyword arguments of these names as lines of a docstring."""
    lines = []
    for name, doc, default, choices in native.KEYWORDS:
        if name in names:
            lines.append(f"``{name}``: {doc}" + (f" Default: {default}." if default else ""))
            lines += [f'- ``"{choice}"``: {meaning}' for choice, meaning in choices]
    return "".join(f"\n    {line}" for line in lines) + "\n    "
