"""What goes wrong, as exceptions."""

from __future__ import annotations

import errno
import fcntl
import os
import pickle

import numpy as np
import outercore as oc
import pytest


def test_hierarchy():
    assert issubclass(oc.InputError, (oc.OutercoreError, ValueError)) and issubclass(oc.UsageError, ValueError)
    assert issubclass(oc.StorageError, OSError) and issubclass(oc.NoSpaceError, OSError) and issubclass(oc.LockedError, OSError)
    assert issubclass(oc.MemoryBudgetError, MemoryError)
    codes = {cls.exit_code for cls in vars(oc).values() if isinstance(cls, type) and issubclass(cls, oc.OutercoreError)}
    assert codes == set(range(1, 9))


@pytest.mark.parametrize("negative", [0, 70_000])
def test_negative_ids(negative, path):
    sources = np.arange(100_000)
    sources[negative:] = -3
    with pytest.raises(oc.InputError, match=rf"row {negative + 1} \(index {negative}\).*negative"):
        oc.build((sources, np.arange(100_000)), path)
    assert not path.exists() and not list(path.parent.iterdir())
    with pytest.raises(oc.InputError, match=r"row 2 \(index 1\): the id -3 is negative"):
        oc.build([(1, 2), (1, -3)], path)


@pytest.mark.parametrize(
    ("edges", "what"),
    [
        ([], "no edge"),
        (iter([]), "no edge"),
        ((np.array([], "u4"), np.array([], "u4")), "no edge"),
        ((np.array([1, 2]), np.array([1])), "2 sources and 1 targets"),
        ((np.array([1, 2]), np.array([1, 2]), np.array([1.0])), "1 weights and 2 edges"),
        ((np.array([1, 2]), np.array([1, 2]), np.array([1.0, np.nan])), r"row 2 .*not finite"),
        ((np.array([1.0, 2]), np.array([1, 2])), "whole numbers or strings"),
        ((np.array([[1]]), np.array([[1]])), "one dimension"),
        (np.zeros((4, 5), int), "2 or 3 columns"),
        ({"a": [1], "b": [2]}, "src, dst"),
        ([(1, 2), (1, 2, 3)], r"row 2 .*3 parts"),
        ([(1,)], r"row 1 .*1 part"),
        ([(1, 2), 5], r"row 2 .*5 is not a pair"),
        ([(1, 2), "ab"], r"row 2 .*'ab' is not a pair"),
        ([(1, 2), (1, "a")], r"row 2 .*'a' is a string, and others are numbers"),
        ([("a", "b"), ("a", 1)], r"row 2 .*1 is not a string"),
        ([(1, 2.5)], "2.5 is not a whole number"),
        ([(1, 2**64)], "too large"),
        ([(1, 2, "x")], "'x' is not a number"),
        ([(1, 2, float("inf"))], "not finite"),
    ],
)
def test_bad_edges(edges, what, path):
    with pytest.raises(oc.InputError, match=what):
        oc.build(edges, path)
    assert not list(path.parent.iterdir())


def test_bad_sparse(path):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(oc.InputError, match="square"):
        oc.build(sparse.coo_array((2, 3)), path)
    damaged = sparse.csr_array(np.eye(3))
    damaged.indices[1] = 7
    with pytest.raises(oc.InputError, match="outside of the matrix"):
        oc.build(damaged, path)
    damaged = sparse.csr_array(np.eye(3))
    damaged.indptr[1] = 9
    with pytest.raises(oc.InputError, match="indptr"):
        oc.build(damaged, path)


def test_bad_files(tmp_path, path):
    with pytest.raises(oc.InputError, match="no such file") as caught:
        oc.build(tmp_path / "absent.txt", path)
    assert caught.value.path == str(tmp_path / "absent.txt")
    file = tmp_path / "bad.txt"
    file.write_text("1 2\n2 3\n3 x\n")
    with pytest.raises(oc.InputError) as caught:
        oc.build(file, path, ids="u64")
    assert caught.value.line == 3 and caught.value.path == str(file) and str(file) in str(caught.value)


def test_errors_of_iterables_are_theirs(path):
    def broken():
        for number in range(40_000):
            yield number, number + 1
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="the database is gone"):
        oc.build(broken(), path)
    assert not list(path.parent.iterdir())


def test_errors_of_arrow_batches_are_theirs(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"src": [1], "dst": [2]})

    def broken():
        yield table
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="the database is gone"):
        oc.build(broken(), path)
    with pytest.raises(ValueError, match="same columns"):
        oc.build([table, pa.table({"src": [1.5], "dst": [2]})], path)
    with pytest.raises(oc.InputError, match="null"):
        oc.build(pa.table({"src": [1, None], "dst": [2, 3]}), path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"memory": "lots"}, "is not a size"),
        ({"memory": "0%"}, "is not a size"),
        ({"order": "best"}, "degree, original"),
        ({"weights": "u8"}, "none, u32, f32, f64"),
        ({"weights": "f64"}, "has none"),
        ({"ids": "guid"}, "dense, u64, string"),
        ({"format": "docx"}, "known: auto"),
        ({"threads": 0}, "1 to 1024"),
        ({"layout": "column"}, "grid, row, hybrid"),
    ],
)
def test_bad_options_of_a_build(options, what, path):
    with pytest.raises(oc.UsageError, match=what):
        oc.build([(1, 2)], path, **options)


def test_no_edges_at_all(path):
    with pytest.raises(oc.UsageError, match="kind of edges"):
        oc.build(42, path)


def test_an_existing_graph_stays(path):
    oc.build([(1, 2)], path)
    with pytest.raises(oc.UsageError, match="force=True") as caught:
        oc.build([(1, 2), (2, 3)], path)
    assert "--" not in str(caught.value) and caught.value.path == str(path)
    assert oc.open(path).edges == 1
    assert oc.build([(1, 2), (2, 3)], path, force=True).edges == 2


@pytest.mark.parametrize(
    ("algorithm", "options", "what"),
    [
        ("bfs", {}, "needs source"),
        ("bfs", {"source": 99}, "no vertex 99"),
        ("bfs", {"source": -1}, "no vertex -1"),
        ("bfs", {"source": "home"}, "no vertex home"),
        ("bfs", {"source": 1, "iterations": 3}, "has no iterations"),
        ("pagerank", {"damping": 2.0}, "out of range"),
        ("pagerank", {"model": "cloud"}, "in-memory, semi-external"),
        ("pagerank", {"read": "never"}, "auto, iteration, full, active, on-demand"),
        ("pagerank", {"io": "tape"}, "auto, uring, blocking"),
        ("pagerank", {"block": 3}, "512, 4096, 8192"),
        ("pagerank", {"max_gap": "wide"}, "is not a size"),
        ("pagerank", {"sub_blocks": "some"}, "sub_blocks cannot be"),
        ("page", {}, "there is no algorithm page"),
    ],
)
def test_bad_runs(algorithm, options, what, path):
    graph = oc.build([(1, 2)], path)
    for method in (graph.run, graph.plan):
        if method == graph.plan and "99" in what:
            continue
        try:
            method(algorithm, **options)
        except oc.UsageError as error:
            assert what in str(error) and "--" not in str(error)
        else:
            # A plan does not look for the source.
            assert method == graph.plan and "source" in options


def test_wrong_types(path):
    graph = oc.build([(1, 2)], path)
    with pytest.raises(TypeError, match="a source is an int, a str or bytes"):
        graph.bfs(1.5)
    with pytest.raises(TypeError, match="sauce"):
        graph.run("bfs", sauce=1)
    with pytest.raises(TypeError):
        graph.pagerank(iterations="many")
    with pytest.raises(TypeError, match="threads is a number"):
        graph.pagerank(threads="2")
    with pytest.raises(TypeError, match="sources"):
        graph.multi_source("12")
    with pytest.raises(TypeError):
        graph.pagerank(progress=7)


def test_too_little_memory(path):
    with pytest.raises(oc.MemoryBudgetError, match=r'memory="\d+M"') as caught:
        oc.build([(1, 2)], path, memory="1M")
    assert caught.value.needed > caught.value.budget == 1 << 20
    graph = oc.build([(1, 2)], path)
    with pytest.raises(oc.MemoryBudgetError) as caught:
        graph.pagerank(memory=1 << 20)
    assert graph.pagerank(memory=caught.value.needed).report["memory_budget_bytes"] == caught.value.needed


def test_no_graph(tmp_path):
    with pytest.raises(oc.CorruptGraphError, match="no such folder") as caught:
        oc.open(tmp_path / "absent.oc")
    assert caught.value.path == str(tmp_path / "absent.oc") and "outercore.build(" in str(caught.value)


def test_a_damaged_graph(path):
    oc.build([(number, number + 1) for number in range(1000)], path)
    for name in ("grid.words", "ids.vertex"):
        file = path / name
        content = bytearray(file.read_bytes())
        content[5] ^= 1
        file.write_bytes(content)
        with pytest.raises(oc.CorruptGraphError) as caught:
            oc.open(path).pagerank().scores  # noqa: B018
        assert caught.value.path == str(file)
        content[5] ^= 1
        file.write_bytes(content)
    os.truncate(path / "manifest.json", 10)
    with pytest.raises(oc.CorruptGraphError):
        oc.open(path)


def test_a_locked_graph(path):
    oc.build([(1, 2)], path)
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(oc.LockedError) as caught:
            oc.open(path)
    finally:
        os.close(folder)
    assert caught.value.errno == errno.EWOULDBLOCK and caught.value.path == str(path)


def test_storage_errors_have_their_number(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught:
        oc.build([(1, 2)], tmp_path / "file" / "g.oc")
    assert isinstance(caught.value, oc.StorageError) and caught.value.errno in (errno.ENOTDIR, errno.EEXIST)


def test_too_little_disk(path):
    with pytest.raises(oc.NoSpaceError) as caught:
        oc.build((np.arange(1 << 20), np.arange(1 << 20)), path, disk="1M")
    assert caught.value.errno == errno.ENOSPC and caught.value.needed > 1 << 20
    assert not list(path.parent.iterdir())


def test_pickling(path):
    with pytest.raises(oc.MemoryBudgetError) as caught:
        oc.build([(1, 2)], path, memory="1M")
    for error in (caught.value, oc.StorageError("gone", errno=5, path="x")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error) and copy.__dict__ == error.__dict__
    assert copy.errno == 5
