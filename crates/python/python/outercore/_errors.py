"""What can go wrong. The classes mirror the exit codes of the command line."""

from __future__ import annotations

import errno
import re
from typing import Any, ClassVar


class OutercoreError(Exception):
    """Any error of Outercore. Raised itself, it is a bug of ours: please report it.

    ``exit_code`` is what the command line would have ended with. ``path`` is the file or graph at fault, if there is one.
    """

    exit_code: ClassVar[int] = 1
    path: str | None = None

    def __init__(self, message: str, **details: Any) -> None:
        self.message = message
        # OSError keeps errno and strerror itself, and shows them in its own way; our message has both.
        args = (details.pop("errno", None), message) if isinstance(self, OSError) else (message,)
        super().__init__(*args)
        for name, value in details.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.message, getattr(self, "errno", None), self.__dict__)


class UsageError(OutercoreError, ValueError):
    """What was asked makes no sense, or not for this graph; or the output exists already."""

    exit_code = 2


class InputError(OutercoreError, ValueError):
    """The edges are at fault. ``line`` is the line of a text file, ``offset`` the byte of a binary one, from which it is known."""

    exit_code = 3
    line: int | None = None
    offset: int | None = None


class CorruptGraphError(OutercoreError):
    """The graph is damaged, is none, or was written by a newer version."""

    exit_code = 4


class StorageError(OutercoreError, OSError):
    """Reading or writing failed. ``errno`` is the system's number."""

    exit_code = 5
    offset: int | None = None


class NoSpaceError(StorageError):
    """The disk is full, or the disk budget too small. ``needed`` is how many bytes are needed, if known."""

    exit_code = 6
    needed: int | None = None


class MemoryBudgetError(OutercoreError, MemoryError):
    """The memory budget is too small. ``needed`` is the smallest that works, in bytes, ``budget`` the one that was given."""

    exit_code = 7
    needed: int | None = None
    budget: int | None = None


class LockedError(OutercoreError, OSError):
    """Another process uses the graph."""

    exit_code = 8


_CLASSES = {
    cls.__name__: cls
    for cls in (
        OutercoreError,
        UsageError,
        InputError,
        CorruptGraphError,
        StorageError,
        NoSpaceError,
        MemoryBudgetError,
        LockedError,
    )
}
_DEFAULT_ERRNO = {"NoSpaceError": errno.ENOSPC, "LockedError": errno.EWOULDBLOCK, "StorageError": errno.EIO}

# Messages come from the libraries, which name options as the command line does.
_PHRASES = (
    (re.compile(r"--memory (\d+M)"), r'memory="\1"'),
    (re.compile(r"--transpose off"), "transpose=False"),
    (re.compile(r"--force to replace"), "force=True to replace"),
    (re.compile(r"`outercore build EDGES -o ([^`]+)`"), r'outercore.build(edges, "\1")'),
    (re.compile(r"run the command again"), "try again"),
    (re.compile(r"--(weights|ids|order|model|read|io) ([a-z0-9-]+)"), r'\1="\2"'),
    (re.compile(r"--([a-z]+)-([a-z]+)"), r"\1_\2"),
    (re.compile(r"--([a-z]+)"), r"\1"),
)


def _translate(message: str) -> str:
    for pattern, replacement in _PHRASES:
        message = pattern.sub(replacement, message)
    return message


def make(name: str, message: str, details: dict[str, Any]) -> OutercoreError:
    """The exception of that name. The native module calls this."""
    details = {key: value for key, value in details.items() if value is not None}
    if "path" in details:
        details["path"] = str(details["path"])
    if name in _DEFAULT_ERRNO:
        details.setdefault("errno", _DEFAULT_ERRNO[name])
    return _CLASSES[name](_translate(message), **details)


def _unpickle(cls: type[OutercoreError], message: str, number: int | None, details: dict[str, Any]) -> OutercoreError:
    error = cls(message, **({"errno": number} if issubclass(cls, OSError) else {}))
    error.__dict__.update(details)
    return error
