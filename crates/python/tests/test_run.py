"""Algorithms give what NetworkX gives."""

from __future__ import annotations

import warnings

import numpy as np
import outercore as oc
import pytest

nx = pytest.importorskip("networkx")


@pytest.fixture
def graph(edges, path):
    return oc.build(edges, path)


def by_id(result, values):
    return dict(zip(result.ids.tolist(), values.tolist()))


@pytest.mark.parametrize("model", [None, "in-memory", "semi-external"])
@pytest.mark.parametrize("read", [None, "full", "on-demand"])
def test_bfs(graph, edges, model, read):
    source = edges[0][0]
    result = graph.bfs(source, model=model, read=read, memory="256M", threads=2, io="blocking")
    expected = nx.single_source_shortest_path_length(nx.DiGraph(edges), source)
    levels = by_id(result, result.levels)
    assert {vertex: level for vertex, level in levels.items() if level >= 0} == dict(expected)
    assert result.levels.dtype == np.int64 and -1 in levels.values()
    parents = by_id(result, result.parents)
    for vertex, level in levels.items():
        if level > 0:
            assert levels[parents[vertex]] == level - 1 and (parents[vertex], vertex) in edges
        else:
            assert parents[vertex] == (vertex if level == 0 else -1)
    assert result.summary["reached"] == len(expected)


def test_sssp(edges, path):
    weights = [(number * 7919) % 100 + 0.5 for number in range(len(edges))]
    weighted = nx.MultiDiGraph()
    for (source, target), weight in zip(edges, weights):
        weighted.add_edge(source, target, weight=weight)
    source = edges[0][0]
    result = oc.build([(*edge, weight) for edge, weight in zip(edges, weights)], path).sssp(source)
    distances = {vertex: distance for vertex, distance in by_id(result, result.distances).items() if not np.isnan(distance)}
    assert distances == pytest.approx(nx.single_source_dijkstra_path_length(weighted, source))


@pytest.mark.parametrize("model", ["in-memory", "semi-external", "fully-external"])
@pytest.mark.parametrize("method", ["delta-stepping", "program"])
def test_parents_of_shortest_paths(edges, path, model, method):
    weighted = [(*edge, number % 4) for number, edge in enumerate(edges)]
    source = edges[0][0]
    graph = oc.build(weighted, path)
    result = graph.sssp(source, parents=True, method=method, model=model, memory="256M", threads=2)
    distances, parents = by_id(result, result.distances), by_id(result, result.parents)
    steps = set(weighted)
    for vertex, distance in distances.items():
        parent, way = parents[vertex], [vertex]
        assert (parent == -1) == (distance == -1)
        if vertex == source or distance == -1:
            assert parent == (source if vertex == source else -1)
            continue
        assert (parent, vertex, distance - distances[parent]) in steps
        while way[-1] != source:
            way.append(parents[way[-1]])
            assert len(way) <= len(distances)
    with pytest.raises(AttributeError, match="no parents"):
        graph.sssp(source).parents
    with pytest.raises(oc.UsageError, match="components has no parents"):
        graph.run("components", parents=True)


def test_components(graph, edges):
    result = graph.components()
    groups: dict[int, set[int]] = {}
    for vertex, component in by_id(result, result.components).items():
        groups.setdefault(component, set()).add(vertex)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, nx.weakly_connected_components(nx.DiGraph(edges))))
    assert all(name in members for name, members in groups.items())
    assert result.summary["components"] == len(groups)


def test_pagerank(graph, edges):
    result = graph.pagerank(tolerance=1e-10)
    expected = nx.pagerank(nx.MultiDiGraph(edges), tol=1e-12, max_iter=1000)
    assert by_id(result, result.scores) == pytest.approx(expected, abs=1e-7)
    assert result.scores.sum() == pytest.approx(1)
    best = result.top(5)
    assert [vertex for vertex, _ in best] == [result.ids[at] for at in np.argsort(-result.scores, kind="stable")[:5]]
    assert graph.pagerank(iterations=3, damping=0.5).report["iterations"] == 3


def test_every_algorithm_by_name(edges, path):
    graph = oc.build([(*edge, 2) for edge in edges], path)
    for name in oc.ALGORITHMS:
        needs = {"bfs": {"source": edges[0][0]}, "sssp": {"source": "max-degree"}, "multi-source": {"sources": [edges[0][0]]}}
        needs["betweenness"] = {"source": "random:1"}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = graph.run(name, **needs.get(name, {}))
        assert result.report["algorithm"] == name
        if result.columns:  # A count has no values.
            assert len(result.values) == len(result) == graph.vertices
        assert set(result.columns) == set(result.to_arrow().column_names) - {"id"}


def test_kcore(graph, edges):
    simple = nx.Graph(edges)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    result = graph.run("kcore")
    assert by_id(result, result.cores) == nx.core_number(simple)


def test_pagerank_delta(graph, edges):
    result = graph.pagerank_delta(tolerance=1e-12, iterations=1000, top=3)
    expected = nx.pagerank(nx.MultiDiGraph(edges), tol=1e-12, max_iter=1000)
    assert by_id(result, result.scores) == pytest.approx(expected, abs=1e-9)
    assert len(result.summary["top"]) == 3
    assert graph.pagerank_delta(iterations=2).report["iterations"] == 2


def test_betweenness(edges, path):
    simple = nx.DiGraph(edge for edge in edges if edge[0] != edge[1])
    graph = oc.build(list(simple.edges()), path)
    result = graph.betweenness(top=5)
    expected = nx.betweenness_centrality(simple, normalized=False)
    assert by_id(result, result.scores) == pytest.approx(expected)
    assert len(result.summary["top"]) == 5
    some = sorted(simple.nodes())[:3]
    partly = graph.betweenness(some)
    expected = nx.betweenness_centrality_subset(simple, some, list(simple.nodes()), normalized=False)
    assert by_id(partly, partly.scores) == pytest.approx(expected)
    assert graph.betweenness(source for source in some).scores.tolist() == partly.scores.tolist()


def test_multi_source(graph, edges):
    sources = sorted({source for source, _ in edges})[:5]
    result = graph.multi_source(sources)
    reached, sums = {}, {}
    for source in sources:
        for vertex, distance in nx.single_source_shortest_path_length(nx.DiGraph(edges), source).items():
            reached[vertex] = reached.get(vertex, 0) + 1
            sums[vertex] = sums.get(vertex, 0) + distance
    assert {vertex: count for vertex, count in by_id(result, result.reached).items() if count > 0} == reached
    found = by_id(result, result.distance_sums)
    assert {vertex: found[vertex] for vertex in reached} == sums
    assert result.summary["sources"] == len(sources) and result.summary["reached_pairs"] == sum(reached.values())


def test_multi_source_by_weights(edges, path):
    graph = oc.build([(*edge, number % 9) for number, edge in enumerate(edges)], path)
    sources = [edges[0][0], edges[40][0]]
    alone = [by_id(run, run.distances) for run in map(graph.sssp, sources)]
    result = graph.multi_source(sources, weighted=True)
    found = {key: [row[key] for row in alone if row[key] >= 0] for key in alone[0]}
    assert by_id(result, result.reached) == {key: len(lengths) for key, lengths in found.items()}
    assert by_id(result, result.distance_sums) == {key: sum(lengths) for key, lengths in found.items()}


def test_spmv(edges, path):
    weights = [number % 7 + 1 for number in range(len(edges))]
    result = oc.build([(*edge, weight) for edge, weight in zip(edges, weights)], path).spmv()
    products = dict.fromkeys((vertex for edge in edges for vertex in edge), 0)
    for (_, target), weight in zip(edges, weights):
        products[target] += weight
    assert by_id(result, result.products) == products
    assert result.summary["norm"] == pytest.approx(np.linalg.norm(list(products.values())))


def test_spmv_with_a_vector(tmp_path, edges, path):
    graph = oc.build(edges, path)
    ids = graph.spmv().ids
    vector = np.arange(len(ids), dtype=np.int32) - 3
    number = dict(zip(ids.tolist(), vector.tolist()))
    products = dict.fromkeys(number, 0)
    for source, target in edges:
        products[target] += number[source]
    np.save(tmp_path / "x.npy", vector)
    (tmp_path / "x.csv").write_text("id,value\n" + "".join(f"{key},{value}\n" for key, value in number.items()))
    for given in vector, vector.tolist(), tmp_path / "x.npy", str(tmp_path / "x.csv"):
        result = graph.spmv(given)
        assert by_id(result, result.products) == products
    with pytest.raises(oc.UsageError, match="the graph has"):
        graph.spmv(vector[1:])
    with pytest.raises(oc.UsageError, match="no finite number"):
        graph.spmv(np.full(len(ids), np.nan))
    with pytest.raises(TypeError, match="one dimension"):
        graph.spmv(np.ones((2, 2)))
    (tmp_path / "x.csv").write_text("1\nx\n")
    with pytest.raises(oc.InputError, match="x.csv.*2"):
        graph.spmv(tmp_path / "x.csv")
    with pytest.raises(oc.UsageError, match="vector"):
        graph.run("pagerank", vector=vector)


def test_every_algorithm_has_its_method():
    for name in oc.ALGORITHMS:
        assert callable(getattr(oc.Graph, name.replace("-", "_"))), name


@pytest.mark.parametrize(
    ("algorithm", "methods"),
    [
        ("bfs", ["direction-optimizing", "program"]),
        ("components", ["sampled", "scan", "program"]),
        ("kcore", ["peeling", "program"]),
        ("betweenness", ["batches", "lists"]),
    ],
)
def test_every_method_gives_the_same(edges, path, algorithm, methods):
    graph = oc.build(edges, path, directed=False)
    start = {"bfs": [edges[0][0]], "betweenness": [[edges[0][0]]]}.get(algorithm, [])
    run = getattr(graph, algorithm)
    usual = run(*start).values
    for method in methods:
        assert run(*start, method=method).values == pytest.approx(usual), method
        parameters = {"source": edges[0][0]} if start else {}
        assert f"{method} (as asked)" in graph.plan(algorithm, method=method, **parameters).method
    with pytest.raises(oc.UsageError, match=f"it has {', '.join(methods)}"):
        run(*start, method="magic")


def test_every_option_is_documented():
    from outercore import _options
    from outercore import _outercore as native

    parameters = "source sources iterations tolerance damping delta k exact parents method top vector weighted".split()
    assert set(_options.VisitorOptions.__annotations__) == {name for name, *_ in native.KEYWORDS} - set(parameters) | {"progress"}
    for name in _options.VisitorOptions.__annotations__:
        assert f"``{name}``" in oc.Graph.__doc__


def test_options_are_those_of_the_command_line(graph, edges):
    report = graph.bfs(
        edges[0][0], memory="256M", model="semi-external", read="on-demand", io="blocking", huge_pages="off", block=8192,
        max_gap="32K", max_request=1 << 20, io_scheduling="pluglist", stealing=False, cross_iteration="off", sub_blocks=False,
        precompute="off", preset="streaming", threads=2, disk="50%", queue_depth=8, direction="push", cost="measured",
        io_threads=1,
    ).report
    assert (report["memory_model"], report["io_backend"], report["threads"]) == ("semi-external", "blocking", 2)
    assert {technique["name"]: technique["state"] for technique in report["techniques"]}["fciu"] == "not-applicable"
    assert {technique["name"]: technique["effect"] for technique in report["techniques"]}["io-threads"] > 0


def test_options_that_cannot_act_are_refused(graph, edges):
    with pytest.raises(oc.UsageError, match="cannot act in this run of bfs: it is for"):
        graph.bfs(edges[0][0], cross_iteration="fciu")
    with pytest.raises(oc.UsageError, match="cannot act"):
        graph.plan("pagerank", direction="push")


def test_results_do_not_depend_on_threads(graph):
    one, two = (graph.pagerank(iterations=5, threads=threads).scores for threads in (1, 2))
    assert np.array_equal(one, two)


def test_plan(graph, edges):
    plan = graph.plan("bfs", source=edges[0][0], memory="64M")
    text = str(plan)
    assert text.startswith("bfs: in-memory") and "memory budget      64.0 MiB" in text and repr(plan) == text
    assert plan.memory_model == "in-memory" and plan.memory_budget_bytes == 64 << 20
    assert sum(item["bytes"] for item in plan.memory) <= plan.memory_budget_bytes
    assert plan.to_dict()["smallest_budget_bytes"] == plan.smallest_budget_bytes > 0
    read = graph.bfs(edges[0][0], memory="64M").report["bytes_read"]
    again = graph.plan("bfs", source=edges[0][0], memory="64M")
    assert plan.tried and abs(again.expected_bytes_read - read) <= 0.2 * read


def test_info(graph, edges, path):
    info = graph.info()
    assert (info["vertices"], info["edges"], info["directed"]) == (graph.vertices, len(edges), True)
    assert graph.path == str(path) and str(path) in repr(graph)
    assert sum(section["bytes"] for section in info["sections"]) == info["bytes"]


def test_progress_of_a_run(graph):
    seen = []
    graph.pagerank(iterations=4, progress=lambda *event: seen.append(event))
    assert seen[-1] == ("pagerank", 4, 4)


def test_progress_of_a_build(edges, path):
    seen = []
    oc.build(edges, path, progress=lambda stage, done, total: seen.append(stage))
    assert seen

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        oc.build(edges, path, force=True, progress=stop)
    assert oc.open(path).edges == len(edges)


def test_progress_line_is_for_terminals(graph, capfd):
    graph.pagerank(progress=True)
    assert capfd.readouterr().err == ""


def test_threads_run_meanwhile(graph):
    import threading

    results = []
    threads = [threading.Thread(target=lambda: results.append(graph.pagerank(threads=1).scores)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(np.array_equal(results[0], other) for other in results)


def test_a_source_is_the_id_that_is_written(path):
    names = ["0", "00", "+5", "5", "a,b", "max-degree"]
    g = oc.build(list(zip(names, names[1:] + names[:1])), path)
    for name in names[:-1]:
        assert g.bfs(name).summary["source"] == name
    assert g.bfs(b"max-degree").summary["source"] == "max-degree"
    assert g.bfs(5).summary["source"] == "5"
    assert g.multi_source(["a,b", b"max-degree"]).summary["sources"] == 2
    with pytest.raises(oc.UsageError, match="no vertex 05"):
        g.bfs("05")
