//! Caches of a fixed size: what they save, in bytes, and that answers stay what they are.

use std::path::Path;

use outercore_algorithms::{Request, Source};
use outercore_caches::{Runs, Saved, Select, SelectOptions, SelectSettings, select};
use outercore_engine::{
    Figure, MemoryModel, ReadPolicy, Resources, RunConfig, RunReport, SearchDirection,
};
use outercore_graph::{BuildOptions, Graph, Order, Silent, generate::Rmat};
use outercore_testing::{
    Edges, Random, Recipe, build, config, folder, generate, request, run, shapes,
};

/// An RMAT graph in the order of its ids.
fn graph(folder: &Path) -> Graph {
    let options = BuildOptions {
        memory: 128 << 20,
        threads: 2,
        order: Order::Original,
        ..BuildOptions::default()
    };
    generate(folder.join("graph.oc"), Rmat::new(16, 16), options)
}

/// Bytes of the lists of a direction.
fn lists(graph: &Graph) -> u64 {
    graph.manifest().arcs * u64::from(graph.manifest().neighbor_bytes)
}

/// Selects lists of `size` bytes, which are saved beside the graph.
fn select_some(graph: &Graph, size: u64, rounds: u64) {
    let usual = SelectSettings::default().options(graph, &Resources::default()).unwrap();
    let asked = SelectOptions { size, rounds, threads: 2, ..usual };
    select(graph, &asked, &Silent).unwrap();
}

/// The paper's configuration: lists are pushed, in pages of 8 KiB, and nothing is read along.
fn paper(page_cache: u64, static_cache: Option<u64>) -> RunConfig {
    RunConfig {
        direction: SearchDirection::Push,
        block: 8192,
        max_gap: Some(0),
        page_cache: Some(page_cache),
        static_cache,
        ..config()
    }
}

fn report(graph: &Graph, name: &str, config: &RunConfig) -> RunReport {
    run(graph, name, &request(name, &[Source::MaxDegree]), config).report
}

fn answer(report: &RunReport) -> Vec<(&'static str, u64)> {
    let whole = |(&name, figure): (&&'static str, &Figure)| match figure {
        Figure::Integer(number) => Some((name, *number)),
        _ => None,
    };
    report.summary.iter().filter_map(whole).collect()
}

#[test]
fn a_page_cache_saves_what_it_has_room_for_and_nothing_else_keeps_lists() {
    let folder = folder();
    let graph = graph(folder.path());
    let lists = lists(&graph);
    for name in ["bfs", "multi-source"] {
        let plain = answer(&report(&graph, name, &config()));
        let mut last = u64::MAX;
        for percent in [1, 60, 150] {
            let report = report(&graph, name, &paper(lists * percent / 100, None));
            assert_eq!(answer(&report), plain, "{name}");
            assert_eq!(report.memory_model, MemoryModel::SemiExternal);
            let pages = report.cache.pages.unwrap();
            assert!(report.cache.page_hits == 0 && report.bytes_read <= last, "{report:?}");
            assert!(pages.utilization > 0.2 && pages.utilization <= 1.0, "{pages:?}");
            last = report.bytes_read;
            let saved = lists * 2;
            match percent {
                1 => assert!(last > saved && pages.hit_ratio < 0.1, "{last} {pages:?}"),
                150 => assert!(last < lists * 5 / 4 && pages.hit_ratio > 0.5, "{last} {pages:?}"),
                _ => {}
            }
        }
    }
}

/// The effect of greedy selection, against a page cache of the same memory and against others.
#[test]
fn selected_lists_save_more_than_pages_in_the_same_memory() {
    let folder = folder();
    let graph = graph(folder.path());
    let [small, rest, whole] = [5, 10, 15].map(|percent| lists(&graph) * percent / 100);
    let usual = SelectSettings::default().options(&graph, &Resources::default()).unwrap();
    let pages: u64 = ["bfs", "multi-source"]
        .map(|name| report(&graph, name, &paper(whole, None)).bytes_read)
        .iter()
        .sum();
    let read = |how: Select| -> u64 {
        let asked = SelectOptions { select: how, size: rest, threads: 2, ..usual };
        select(&graph, &asked, &Silent).unwrap();
        let reports = ["bfs", "multi-source"].map(|name| {
            let one = report(&graph, name, &paper(small, Some(rest)));
            assert_eq!(answer(&one), answer(&report(&graph, name, &config())), "{name} {how}");
            let selected = one.cache.selected.unwrap();
            assert!(one.cache.static_hits > 0 && selected.bytes <= rest, "{name} {how}");
            assert!(selected.load_bytes_read > 0 && selected.load_seconds > 0.0);
            one.bytes_read
        });
        reports.iter().sum()
    };
    let gvs = read(Select::Gvs);
    assert!(gvs * 100 < pages * 85, "{gvs} of {pages}");
    for how in [Select::HighDegree, Select::Random] {
        assert!(gvs * 20 < read(how) * 19, "{how}");
    }
    // Nearly the same lists here; what two threads find in the pages differs from run to run.
    let low = read(Select::LowDegree);
    assert!(gvs * 100 <= low * 104, "{gvs} of {low}");
}

/// Sums of betweenness depend on the order of the lists: what a cache has comes between the others.
#[test]
fn selected_lists_come_in_their_order() {
    let folder = folder();
    let graph = graph(folder.path());
    let [small, rest, whole] = [5, 10, 15].map(|percent| lists(&graph) * percent / 100);
    select_some(&graph, rest, 20);
    for method in ["lists", "batches"] {
        let request = Request {
            method: Some(method.to_owned()),
            ..request("betweenness", &[Source::MaxDegree, Source::Random(3), Source::Random(4)])
        };
        let report = |config: RunConfig| {
            let (direction, read) = (SearchDirection::Auto, ReadPolicy::OnDemand);
            let config = RunConfig { direction, read, threads: 1, ..config };
            run(&graph, "betweenness", &request, &config).report
        };
        let (pages, both) = (report(paper(whole, None)), report(paper(small, Some(rest))));
        assert_eq!(pages.summary, both.summary, "{method}");
        assert_eq!(pages.memory_model, MemoryModel::SemiExternal);
        let selected = both.cache.selected.unwrap();
        assert!(both.cache.static_hits > 0 && selected.bytes <= rest, "{method} {selected:?}");
        let [saved, all] = [both.bytes_read, pages.bytes_read];
        assert!(saved * 100 < all * 90, "{method}: {saved} of {all}");
    }
}

#[test]
fn searches_from_both_sides_find_lists_of_both_directions() {
    let folder = folder();
    let graph = graph(folder.path());
    let size = 400 << 10;
    select_some(&graph, size, 3);
    for (page_cache, threads) in [(None, 1), (Some(64 << 10), 3)] {
        for model in [MemoryModel::SemiExternal, MemoryModel::FullyExternal] {
            let asked = RunConfig {
                page_cache,
                threads,
                static_cache: Some(size),
                model: Some(model),
                ..config()
            };
            let report = report(&graph, "bfs", &asked);
            let plain = self::report(&graph, "bfs", &config());
            assert_eq!(answer(&report), answer(&plain));
            let selected = report.cache.selected.unwrap();
            assert!(report.cache.static_hits > 0 && selected.bytes <= size, "{selected:?}");
        }
    }
}

/// What runs on one opened graph load, and what a run that wants none gives back.
#[test]
fn runs_on_one_graph_share_what_was_loaded() {
    let folder = folder();
    let graph = graph(folder.path());
    let size = 300 << 10;
    select_some(&graph, size, 2);
    let selected = |graph: &Graph, static_cache| {
        let report = report(graph, "bfs", &paper(100 << 10, static_cache));
        assert_eq!(report.cache.static_hits > 0, static_cache.is_some());
        report.cache.selected
    };
    let first = selected(&graph, Some(size)).unwrap();
    assert!(!first.is_shared && first.load_bytes_read > 0);
    for handle in [graph.clone(), graph.counted_apart()] {
        let again = selected(&handle, Some(size)).unwrap();
        assert!(again.is_shared && again.load_bytes_read == 0, "{again:?}");
        assert_eq!((again.lists, again.bytes), (first.lists, first.bytes));
    }
    assert!(!selected(&graph, Some(size / 2)).unwrap().is_shared, "another size");
    assert!(selected(&graph, Some(size / 2)).unwrap().is_shared);
    assert!(selected(&graph, None).is_none() && graph.shared().is_none(), "it is given back");
    assert!(!selected(&graph, Some(size)).unwrap().is_shared);
    report(&graph, "kcore", &config());
    assert!(graph.shared().is_none(), "making a view has all of the budget");
    select_some(&graph, size, 3);
    assert!(!selected(&graph, Some(size)).unwrap().is_shared, "another selection");
}

/// A run takes the lists that were selected for its kind; and they are more bytes than it has.
#[test]
fn each_kind_of_run_has_its_own_lists() {
    let mut random = Random::new(31);
    let edges = Edges::of(&shapes::skewed(20_000, 200_000, &mut random), false);
    let recipe = Recipe { order: Order::Original, lists: true, ..Recipe::default() };
    let built = build(&edges, &recipe);
    let (graph, size) = (&built.graph, 100 << 10);
    select_some(graph, size, 5);
    let sides = Saved::of(graph).unwrap().about.sides;
    assert_eq!(sides.len(), 3);
    let some = [Source::MaxDegree, Source::Random(1)];
    for (name, runs, sources) in [
        ("bfs", Runs::Search, &some[..1]),
        ("multi-source", Runs::Search, &some[..1]),
        ("multi-source", Runs::Many, &some[..]),
        ("components", Runs::Spreading, &some[..]),
    ] {
        let asked = RunConfig {
            static_cache: Some(size),
            model: Some(MemoryModel::SemiExternal),
            read: ReadPolicy::OnDemand,
            ..config()
        };
        let method = (name == "components").then(|| "program".to_owned());
        let request = Request { method, ..request(name, sources) };
        let report = run(graph, name, &request, &asked).report;
        let selected = report.cache.selected.unwrap();
        let side = sides.iter().find(|side| side.runs == runs).unwrap();
        assert_eq!((selected.lists, selected.bytes), (side.lists, side.packed), "{name}");
        assert!(report.cache.static_hits > 0 && selected.bytes <= size, "{name} {selected:?}");
        assert!(side.bytes[0] * 4 > selected.bytes * 5, "{side:?}");
    }
}

/// A ring of which a search wants what it has just read: lists are worth nothing beside pages.
#[test]
fn what_lists_are_not_worth_is_page_cache() {
    let edges: Vec<(u32, u32)> =
        (0..60_000u32).flat_map(|v| (1..9).map(move |step| (v, (v + step) % 60_000))).collect();
    let recipe = Recipe { order: Order::Original, lists: true, ..Recipe::default() };
    let built = build(&Edges::of(&edges, false), &recipe);
    select_some(&built.graph, 24 << 10, 20);
    let pages = report(&built.graph, "bfs", &paper(36 << 10, None));
    let both = report(&built.graph, "bfs", &paper(12 << 10, Some(24 << 10)));
    let selected = both.cache.selected.unwrap();
    assert_eq!((selected.lists, selected.left_to_pages), (0, 24 << 10));
    assert!(both.bytes_read * 100 <= pages.bytes_read * 102, "{both:?} {pages:?}");
    assert_eq!(answer(&both), answer(&pages));
}
