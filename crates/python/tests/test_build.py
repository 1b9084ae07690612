"""Every kind of edges makes the same graph."""

from __future__ import annotations

import gzip

import numpy as np
import outercore as oc
import pytest
from conftest import random_edges

PAIRS = [(1, 2), (2, 3), (3, 1), (3, 4), (10, 1)]


def check(graph, pairs=PAIRS, source=10):
    assert graph.edges == len(pairs)
    assert graph.vertices == len({end for pair in pairs for end in pair})
    assert graph.directed and not graph.weighted
    result = graph.bfs(source)
    assert dict(zip(result.ids.tolist(), result.levels.tolist())) == {1: 1, 2: 2, 3: 3, 4: 4, 10: 0}


def text(pairs, separator="\t"):
    return "".join(separator.join(map(str, pair)) + "\n" for pair in pairs)


@pytest.mark.parametrize("layout", ["grid", "row", "hybrid"])
def test_layouts(layout, path):
    graph = oc.build(PAIRS, path, layout=layout)
    check(graph)
    info = graph.info()
    assert info["layout"] == layout
    assert info["shares"]["row_arcs"] == (0 if layout == "grid" else len(PAIRS))


@pytest.mark.parametrize("kind", ["str", "path", "bytes", "list", "gzip"])
def test_files(kind, tmp_path, path):
    file = tmp_path / "edges.txt"
    file.write_text(text(PAIRS))
    given = {"str": str(file), "path": file, "bytes": str(file).encode()}.get(kind)
    if kind == "list":
        other = tmp_path / "more.txt"
        file.write_text(text(PAIRS[:2]))
        other.write_text(text(PAIRS[2:]))
        given = [file, str(other)]
    if kind == "gzip":
        given = tmp_path / "edges.gz"
        given.write_bytes(gzip.compress(text(PAIRS).encode()))
    check(oc.build(given, path))
    check(oc.open(path))
    check(oc.open(str(path)))


@pytest.mark.parametrize("dtype", ["u4", "u8", "i4", "i8", "i2", "u1", ">i4"])
def test_arrays(dtype, path):
    sources, targets = (np.array(column, dtype=dtype) for column in zip(*PAIRS))
    check(oc.build((sources, targets), path))


def test_other_arrays(tmp_path):
    table = np.array(PAIRS)
    check(oc.build(table, tmp_path / "table.oc"))
    check(oc.build({"src": table[:, 0], "dst": table[:, 1]}, tmp_path / "mapping.oc"))
    check(oc.build((table[::-1, 0], table[::-1, 1]), tmp_path / "strided.oc"))
    check(oc.build((table[:, 0].astype("u4"), table[:, 1]), tmp_path / "mixed.oc"))
    check(oc.build([table[:, 0], table[:, 1]], tmp_path / "list.oc"))


def test_weighted_arrays(tmp_path):
    sources, targets = np.array([0, 0, 1], "u4"), np.array([1, 2, 2], "u4")
    kinds = {"u4": "u32", "i8": "u32", "f4": "f32", "f8": "u32"}
    for dtype, kind in kinds.items():
        graph = oc.build((sources, targets, np.array([1, 5, 2], dtype)), tmp_path / f"{dtype}.oc")
        assert graph.info()["weights"] == kind
        assert graph.sssp(0).distances.tolist() == [0, 1, 3]
    graph = oc.build((sources, targets, np.array([0.5, 5, 2.25])), tmp_path / "real.oc")
    assert graph.sssp(0).distances.tolist() == [0, 0.5, 2.75]
    graph = oc.build(np.array([[0, 1, 0.5], [0, 2, 5], [1, 2, 2.25]]), tmp_path / "table.oc")
    assert graph.sssp(0).distances.tolist() == [0, 0.5, 2.75]
    graph = oc.build((sources, targets, np.ones(3)), tmp_path / "none.oc", weights="none")
    assert not graph.weighted


def test_large_ids(path):
    big = 2**64 - 1
    result = oc.build((np.array([big, 5], "u8"), np.array([5, 2**63], "u8")), path).bfs(big)
    assert result.ids.tolist() == [5, 2**63, big] and result.ids.dtype == np.uint64
    assert result.levels.tolist() == [1, 2, 0]
    assert result.parents.tolist() == [big, 5, big]
    alone = oc.open(path).bfs(5)
    assert alone.parents.tolist() == [5, 5, None]


def test_pairs(tmp_path):
    check(oc.build(PAIRS, tmp_path / "list.oc"))
    check(oc.build((pair for pair in PAIRS), tmp_path / "generator.oc"))
    check(oc.build([list(pair) for pair in PAIRS], tmp_path / "lists.oc"))
    check(oc.build(iter([np.array(pair) for pair in PAIRS]), tmp_path / "arrays.oc"))
    check(oc.build([(np.int64(a), b) for a, b in PAIRS], tmp_path / "numpy.oc"))
    graph = oc.build([(0, 1, 2.5), (1, 2, 1)], tmp_path / "weighted.oc")
    assert graph.sssp(0).distances.tolist() == [0, 2.5, 3.5]


def test_many_pairs(path):
    pairs = random_edges(1000, 100_000, 1)
    graph = oc.build(iter(pairs), path)
    assert graph.edges == len(pairs)
    arrays = oc.build(tuple(np.array(pairs).T), path, force=True)
    assert np.array_equal(arrays.components().components, graph_components(pairs))


def graph_components(pairs):
    import networkx as nx

    graph = nx.Graph(pairs)
    order = sorted(graph)
    names = {}
    for component in nx.connected_components(graph):
        # Each is named by its vertex of the highest degree, counted with duplicates, the smallest among equals.
        degree = {vertex: 0 for vertex in component}
        for pair in pairs:
            for end in pair:
                if end in degree:
                    degree[end] += 1
        name = min(component, key=lambda vertex: (-degree[vertex], vertex))
        names.update(dict.fromkeys(component, name))
    return np.array([names[vertex] for vertex in order])


@pytest.mark.parametrize("as_array", [False, True])
def test_strings(as_array, path):
    pairs = [("home", "a"), ("a", "b"), ("ü", "home"), ("far", "ü")]
    given = tuple(np.array(pairs).T) if as_array else pairs
    result = oc.build(given, path).bfs("home")
    assert result.ids.tolist() == ["a", "b", "far", "home", "ü"]
    assert result.levels.tolist() == [1, 2, -1, 0, -1]
    assert result.parents.tolist() == ["home", "a", None, "home", None]


def test_digits_as_strings(path):
    graph = oc.build([("007", "7"), ("7", "1")], path, ids="string")
    assert graph.bfs("007").levels.tolist() == [0, 2, 1]
    assert graph.bfs("7").levels.tolist() == [-1, 1, 0]
    numbers = oc.build((np.array([7, 8]), np.array([8, 10])), path, ids="string", force=True)
    assert numbers.bfs("7").ids.tolist() == ["10", "7", "8"]


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
@pytest.mark.parametrize("new", [False, True])
def test_sparse(form, new, tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.zeros((6, 6))
    dense[0, 1] = dense[0, 2] = dense[2, 4] = dense[4, 0] = 1
    make = getattr(sparse, f"{form}_{'array' if new else 'matrix'}")
    graph = oc.build(make(dense), tmp_path / "ones.oc")
    assert (graph.vertices, graph.edges, graph.weighted, graph.directed) == (6, 4, False, True)
    assert graph.bfs(0).levels.tolist() == [0, 1, 1, -1, 2, -1]
    assert not oc.build(make(dense.astype(bool)), tmp_path / "bool.oc").weighted
    assert oc.build(make(dense), tmp_path / "asked.oc", weights="f64").weighted
    dense[2, 4] = 2.5
    graph = oc.build(make(dense), tmp_path / "weighted.oc")
    assert graph.weighted
    distances = graph.sssp(0).distances
    assert distances[[0, 1, 2, 4]].tolist() == [0, 1, 1, 3.5] and np.isnan(distances[[3, 5]]).all()


def test_large_sparse(path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random_array((3000, 3000), density=0.05, format="csr", rng=np.random.default_rng(3))
    graph = oc.build(matrix, path)
    assert (graph.vertices, graph.edges) == (3000, matrix.nnz)
    expected = matrix.sum(axis=0)
    sums = graph.run("spmv").values
    assert sums.shape == expected.shape


def test_networkx(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph.add_node("alone")
    built = oc.build(graph, tmp_path / "undirected.oc")
    assert (built.vertices, built.edges, built.directed, built.weighted) == (4, 2, False, False)
    assert built.bfs("c").levels.tolist() == [2, -1, 1, 0]
    assert oc.build(graph.edges(), tmp_path / "view.oc", directed=False).edges == 2
    assert oc.build(graph.edges, tmp_path / "property.oc").directed
    multi = nx.MultiDiGraph()
    multi.add_edge(0, 1, weight=3)
    multi.add_edge(0, 1)
    multi.add_edge(1, 2, weight=0.5)
    built = oc.build(multi, tmp_path / "multi.oc")
    assert (built.edges, built.directed, built.weighted) == (3, True, True)
    assert built.sssp(0).distances.tolist() == [0, 1, 1.5]
    # Keys of parallel edges are no weights.
    view = oc.build(multi.edges, tmp_path / "keys.oc")
    assert (view.edges, view.weighted) == (3, False)
    with pytest.raises(oc.InputError, match="keys"):
        oc.build(multi.edges(keys=True, data="weight"), tmp_path / "no.oc")
    assert oc.build(multi.edges(data="weight", default=1), tmp_path / "data.oc").weighted
    alone = oc.build(nx.empty_graph(5), tmp_path / "alone.oc")
    assert (alone.vertices, alone.edges, alone.directed) == (5, 0, False)
    named = nx.Graph()
    named.add_nodes_from("ba")
    assert oc.build(named, tmp_path / "named.oc").components().ids.tolist() == ["a", "b"]


def test_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"src": [a for a, _ in PAIRS], "dst": [b for _, b in PAIRS]})
    check(oc.build(table, tmp_path / "table.oc"))
    check(oc.build(table.to_batches()[0], tmp_path / "batch.oc"))
    check(oc.build(table.to_reader(), tmp_path / "reader.oc"))
    check(oc.build(iter([table.slice(0, 2), table.slice(2)]), tmp_path / "batches.oc"))
    lazily = pa.RecordBatchReader.from_batches(table.schema, (batch for batch in table.to_batches(max_chunksize=2)))
    check(oc.build(lazily, tmp_path / "generator.oc"))
    names = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.5, 2]})
    assert oc.build(names, tmp_path / "names.oc").sssp("a").distances.tolist() == [0, 1.5, 3.5]


def test_data_frames(tmp_path):
    columns = {"src": [a for a, _ in PAIRS], "dst": [b for _, b in PAIRS]}
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns)
    check(oc.build(frame, tmp_path / "pandas.oc"))
    check(oc.build((frame.src, frame.dst), tmp_path / "series.oc"))
    pl = pytest.importorskip("polars")
    check(oc.build(pl.DataFrame(columns), tmp_path / "polars.oc"))
    check(oc.build(pl.DataFrame(columns).lazy(), tmp_path / "lazy.oc"))
    names = pl.DataFrame({"src": ["a", "b"], "dst": ["b", "c"]})
    assert oc.build(names, tmp_path / "view.oc").bfs("a").levels.tolist() == [0, 1, 2]


def test_duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(f"SELECT * FROM (VALUES {', '.join(map(str, PAIRS))}) AS edges(src, dst)")
    check(oc.build(relation, path))


def test_parquet(tmp_path, path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"src": [a for a, _ in PAIRS], "dst": [b for _, b in PAIRS]})
    parquet.write_table(table, tmp_path / "edges.parquet")
    check(oc.build(tmp_path / "edges.parquet", path, memory="2G"))


def test_options(tmp_path):
    pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (1, 2)]
    plain = oc.build(pairs, tmp_path / "plain.oc")
    assert plain.edges == 5
    assert oc.build(pairs, tmp_path / "simple.oc", simple=True).edges == 3
    undirected = oc.build(pairs, tmp_path / "undirected.oc", directed=False, order="original", memory="128M", threads=1)
    assert not undirected.directed and undirected.info()["order"] == "original"
    # Found in a graph, which is built first.
    norder = oc.build(pairs, tmp_path / "norder.oc", order="norder", memory="128M", threads=1)
    assert norder.info()["order"] == "norder" and norder.edges == undirected.edges
    assert oc.build(pairs, tmp_path / "single.oc", transpose=False).info()["transpose"] is False
    listed = tmp_path / "vertices.txt"
    listed.write_text("0\n1\n2\n77\n")
    file = tmp_path / "edges.txt"
    file.write_text(text(pairs))
    assert oc.build(file, tmp_path / "listed.oc", vertices=listed).vertices == 4
    stripes = [tmp_path / "one", tmp_path / "two"]
    for stripe in stripes:
        stripe.mkdir()
    striped = oc.build(pairs, tmp_path / "striped.oc", stripes=stripes)
    assert len(striped.info()["stripes"]) == 2 and striped.bfs(0).levels.tolist() == [0, 1, 2]
    assert striped.path == str(tmp_path / "striped.oc")


def test_what_may_be_edges_or_columns_is_refused(path):
    for either in (([1, 2, 3], [2, 3, 4]), [np.array([1, 5]), np.array([2, 7])]):
        with pytest.raises(oc.InputError, match="may be edges or columns"):
            oc.build(either, path)
    assert oc.build([(1, 5), (2, 7)], path).edges == 2


def test_ids_are_as_they_were_given(path):
    with pytest.raises(oc.InputError, match="9007199254740992 or more"):
        oc.build(np.array([[2.0**53 + 2, 2, 0.5]]), path)
    with pytest.raises(oc.InputError, match="no whole numbers"):
        oc.build(np.array([[1.5, 2, 0.5]]), path)
    with pytest.raises(oc.InputError, match="edge 2: a value is masked"):
        oc.build((np.ma.array([1, 2], mask=[0, 1]), np.array([2, 3])), path)
    with pytest.raises(oc.InputError, match="not a string|others are"):
        oc.build({"src": [1, "a"], "dst": ["b", "c"]}, path)
    large = oc.build({"src": [1, 2**63], "dst": [2**64 - 1, 3]}, path)
    assert large.bfs(1).ids.tolist() == [1, 3, 2**63, 2**64 - 1]
    named = oc.build({"src": ["a\0", "a"], "dst": ["b", "b"]}, path, force=True)
    assert named.vertices == 3


@pytest.mark.parametrize("kind, large", [(None, 2**53 + 1), ("f32", 2**24 + 1)])
def test_whole_weights_are_exact_or_refused(path, kind, large):
    pa = pytest.importorskip("pyarrow")

    def refused(edges):
        with pytest.raises(oc.InputError, match=f"{large}.*exactly"):
            oc.build(edges, path, weights=kind)

    ends = (np.array([1, 2]), np.array([2, 3]))
    refused([(1, 2, 1), (2, 3, large)])
    refused([(1, 2, 1), (2, 3, np.int64(large))])
    refused((*ends, np.array([1, large])))
    refused(pa.table({"src": [1, 2], "dst": [2, 3], "weight": [1, large]}))
    oc.build((*ends, np.array([1, 2**53])), path)


def test_columns_are_those_that_are_named(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"left": [1, 2], "score": [0.5, 2.5], "right": [2, 3]})
    with pytest.raises(oc.InputError, match="left, score, right"):
        oc.build(table, path)
    g = oc.build(table, path, columns={"source": "left", "target": 3, "weight": "score"})
    assert g.sssp(1).summary["max_distance"] == 3.0
    with pytest.raises(oc.UsageError, match="columns"):
        oc.build([(1, 2)], path, columns={"source": 1, "target": 2}, force=True)
