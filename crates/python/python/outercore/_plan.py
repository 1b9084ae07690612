"""What a run would do."""

from __future__ import annotations

import json
from typing import Any


class Plan:
    """What a run would keep in memory and read, and why; printed, it reads like a database's EXPLAIN.

    Fields are attributes too: ``algorithm``, ``memory_model``, ``reason``, ``method``, ``memory_budget_bytes``, ``memory``
    (what each part takes), ``smallest_budget_bytes``, ``in_memory_budget_bytes``, ``bytes_per_scan``,
    ``expected_bytes_read``, ``expected_bytes_written``, ``estimated_scans`` (with how many scans of the edges these are
    reckoned, where the course of the run decides; else ``None``), ``tried`` (whether the run was small and was tried
    out: then bytes are those of the trial), ``disk_bytes`` (the most scratch at a time), ``selection`` (what ``cache`` has
    selected, and what it brings; ``None``: nothing, or nothing that the run can use).
    """

    algorithm: str
    memory_model: str
    reason: str
    method: str
    memory_budget_bytes: int
    memory: list[dict[str, Any]]
    smallest_budget_bytes: int
    in_memory_budget_bytes: int
    bytes_per_scan: int
    expected_bytes_read: int
    expected_bytes_written: int
    estimated_scans: int | None
    tried: bool
    disk_bytes: int
    selection: dict[str, Any] | None

    def __init__(self, fields: str, text: str) -> None:
        self._fields: dict[str, Any] = json.loads(fields)
        self._text = text
        self.__dict__.update(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """All fields."""
        return dict(self._fields)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__
