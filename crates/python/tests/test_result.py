"""The forms of a result."""

from __future__ import annotations

import shutil

import numpy as np
import outercore as oc
import pytest

PAIRS = [(1, 2), (2, 3), (7, 7)]


@pytest.fixture
def result(path):
    return oc.build(PAIRS, path).bfs(1)


@pytest.fixture
def named(tmp_path):
    return oc.build([("a", "b"), ("c", "d")], tmp_path / "named.oc").bfs("a")


def test_columns(result):
    assert result.columns == ("level", "parent")
    assert result.values is result.levels is result["level"]
    assert result.parents.tolist() == [1, 1, 2, -1] and result.parents.dtype == np.int64
    with pytest.raises(AttributeError, match="level, parent"):
        result.scores
    with pytest.raises(KeyError, match="level"):
        result["score"]
    assert not hasattr(result, "distances")
    assert "bfs" in repr(result)


def test_report(result):
    report = result.report
    assert report["schema"] == 1 and report["algorithm"] == "bfs" and report["graph"] == "g.oc"
    assert report["summary"] == result.summary and result.summary["source"] == 1
    assert len(report["per_iteration"]) == report["iterations"]


def test_top(path):
    graph = oc.build([(0, 9), (1, 9), (2, 9), (9, 3)], path)
    result = graph.pagerank()
    assert [vertex for vertex, _ in result.top(2)] == [3, 9]
    assert len(result.top()) == len(result.top(100)) == 5 and result.top(0) == []
    assert result.top(5) == sorted(result.top(5), key=lambda row: -row[1])
    assert graph.run("kcore").top(1) == [(9, 1)]
    with pytest.raises(oc.UsageError, match="is a vertex"):
        graph.components().top()


def test_arrow(result, named):
    pa = pytest.importorskip("pyarrow")
    table = result.to_arrow()
    assert table.schema == pa.schema(
        [pa.field("id", pa.uint64(), False), ("level", pa.uint32()), ("parent", pa.uint64())]
    )
    assert table.to_pydict() == {"id": [1, 2, 3, 7], "level": [0, 1, 2, None], "parent": [1, 1, 2, None]}
    assert pa.table(result) == table
    assert named.to_arrow().to_pydict() == {
        "id": ["a", "b", "c", "d"],
        "level": [0, 1, None, None],
        "parent": ["a", "a", None, None],
    }
    wide = pa.table(result, schema=pa.schema([("id", pa.int64()), ("level", pa.int64()), ("parent", pa.int64())]))
    assert wide.column("level").to_pylist() == [0, 1, 2, None]


def test_arrow_of_many_batches(path):
    pa = pytest.importorskip("pyarrow")
    count = 200_000
    graph = oc.build((np.arange(count), np.arange(1, count + 1)), path)
    result = graph.pagerank(iterations=2)
    reader = pa.RecordBatchReader.from_stream(result)
    batches = list(reader)
    assert len(batches) > 1
    table = pa.Table.from_batches(batches)
    assert np.array_equal(table["id"].to_numpy(), result.ids)
    assert np.array_equal(table["score"].to_numpy(), result.scores)
    components = graph.components()
    assert np.array_equal(components.to_arrow()["component"].to_numpy(), components.components)


def test_pandas(result, named):
    pd = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert frame.columns.tolist() == ["id", "level", "parent"] and frame.level.dtype == "Int64"
    assert frame.level.isna().tolist() == [False, False, False, True]
    assert frame.parent.tolist()[:3] == [1, 1, 2] and frame.parent[3] is pd.NA
    assert named.to_pandas().id.tolist() == ["a", "b", "c", "d"]


def test_polars_and_duckdb(result):
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(result)["level"].to_list() == [0, 1, 2, None]
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("SELECT count(level), sum(id) FROM result").fetchall() == [(3, 13)]


def test_results_outlive_the_graph(path):
    result = oc.build([(5, 6), (6, 8)], path).bfs(5)
    oc.build([(8, 5)], path, force=True)
    assert (result.ids.tolist(), result.levels.tolist()) == ([5, 6, 8], [0, 1, 2])
    result = oc.open(path).components()
    shutil.rmtree(path)
    assert (result.ids.tolist(), result.components.tolist()) == ([5, 8], [5, 5])


def test_a_replaced_graph_is_noticed(path):
    graph = oc.build([(5, 6), (6, 8)], path)
    oc.build([(8, 5)], path, force=True)
    with pytest.raises(oc.UsageError, match="replaced"):
        graph.bfs(5)
    with pytest.raises(oc.UsageError, match="replaced"):
        graph.info()


def test_isolated_vertices(tmp_path, path):
    edges, vertices = tmp_path / "e.txt", tmp_path / "v.txt"
    edges.write_text("1 2\n")
    vertices.write_text("1\n2\n3\n4\n")
    graph = oc.build(edges, path, vertices=vertices)
    assert graph.bfs(3).levels.tolist() == [-1, -1, 0, -1]
    assert graph.components().components.tolist() == [1, 1, 3, 4]
    assert graph.pagerank().scores.sum() == pytest.approx(1)
