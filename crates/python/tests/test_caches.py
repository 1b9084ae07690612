"""Static caches that runs share, and graphs in another order."""

from __future__ import annotations

import random

import numpy as np
import outercore as oc
import pytest


@pytest.fixture
def graph(path):
    draw = random.Random(3)
    edges = [(draw.randrange(4000), draw.randrange(4000)) for _ in range(40000)]
    return oc.build(edges, path, order="original")


def selected(graph, **options):
    options = {"model": "semi-external", "direction": "push", "memory": "64M", **options}
    result = graph.bfs("max-degree", **options)
    return result, result.report["cache"].get("selected")


def test_runs_on_one_graph_share_what_is_loaded(graph):
    plain, nothing = selected(graph)
    assert nothing is None
    about = graph.cache("20K", rounds=3, sample=2)
    assert about["select"] == "gvs" and [(side["direction"], side["runs"]) for side in about["sides"]] == [("out", "search"), ("out", "many"), ("in", "search"), ("in", "many")]
    result, first = selected(graph, static_cache="20K")
    assert np.array_equal(result.levels, plain.levels)
    assert not first["is_shared"] and first["load_bytes_read"] > 0 and result.report["cache"]["static_hits"] > 0
    for _ in range(2):
        result, again = selected(graph, static_cache="20K")
        assert again["is_shared"] and again["load_bytes_read"] == 0 and again["lists"] == first["lists"]
        assert result.report["cache"]["static_hits"] > 0
    assert not selected(graph, static_cache="10K")[1]["is_shared"], "of another size"
    assert selected(graph, static_cache="10K")[1]["is_shared"]
    graph.plan("pagerank")
    assert selected(graph, static_cache="10K")[1]["is_shared"], "a plan leaves it where it is"
    assert selected(graph)[1] is None
    assert not selected(graph, static_cache="10K")[1]["is_shared"], "a run without it has given it back"
    graph.cache("10K", select="low-degree")
    assert not selected(graph, static_cache="10K")[1]["is_shared"], "another selection"
    other = oc.open(graph.path)
    assert not selected(other, static_cache="10K")[1]["is_shared"], "of another opened graph"


def test_what_a_selection_cannot_use_is_refused(graph):
    with pytest.raises(oc.UsageError, match="rounds"):
        graph.cache("10K", select="random", rounds=3)
    with pytest.raises(oc.UsageError):
        graph.cache("much")
    with pytest.raises(oc.MemoryBudgetError):
        graph.cache("10K", memory="1M")


def test_a_graph_in_another_order_gives_the_same_answers(graph, tmp_path):
    plain, _ = selected(graph)
    other = graph.order("norder", tmp_path / "norder.oc")
    assert other.info()["order"] == "norder" and other.edges == graph.edges
    assert np.array_equal(selected(other)[0].levels, plain.levels)
    with pytest.raises(oc.OutercoreError, match="norder.oc"):
        graph.order("degree", tmp_path / "norder.oc")
    assert graph.order("random", tmp_path / "norder.oc", seed=3, force=True).info()["order"] == "random"
    with pytest.raises(oc.UsageError, match="window"):
        graph.order("norder", tmp_path / "more.oc", window=3)
    with pytest.raises(oc.UsageError):
        graph.order("best", tmp_path / "more.oc")
    assert not (tmp_path / "more.oc").exists()
