"""What several tests share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a graph can be made."""
    return tmp_path / "g.oc"


def random_edges(vertices: int, edges: int, seed: int) -> list[tuple[int, int]]:
    """Edges with duplicates, self-loops and, mostly, vertices without any edge."""
    draw = random.Random(seed)
    return [(draw.randrange(vertices), draw.randrange(vertices)) for _ in range(edges)]


@pytest.fixture
def edges() -> list[tuple[int, int]]:
    """A directed graph of several components."""
    return random_edges(400, 600, 7)
