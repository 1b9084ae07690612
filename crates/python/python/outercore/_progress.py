"""How far the work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Union

#: Called with the stage, how much of it is done, and how much there is to do (``None`` where that is not known).
Callback = Callable[[str, int, Union[int, None]], object]
#: ``True``: a line on standard error, if that is a terminal.
Progress = Union[bool, Callback, None]

_WIDTH = 30


class Line:
    """A line on standard error that is written over and over; leaving the ``with`` block clears it."""

    def __init__(self, progress: Progress) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress is True, False or a function, not {type(progress).__name__}")
        shown = progress is True and sys.stderr is not None and sys.stderr.isatty()
        self.callback: Callback | None = progress if callable(progress) else (self._draw if shown else None)
        self._drawn = 0
        self._begin = time.monotonic()

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        seconds = time.monotonic() - self._begin
        if total:
            share = min(done / total, 1.0)
            bar = "=" * round(share * _WIDTH)
            text = f"{stage:<20} [{bar:<{_WIDTH}}] {share:4.0%}  {seconds:.0f} s"
        else:
            text = f"{stage:<20} {done or ''}  {seconds:.0f} s"
        print("\r" + text.ljust(self._drawn), end="", file=sys.stderr, flush=True)
        self._drawn = len(text)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r" + " " * self._drawn + "\r", end="", file=sys.stderr, flush=True)
