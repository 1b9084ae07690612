//! Selections by sample searches: what is chosen, that threads and memory do not decide it, and how
//! much of a cache is left to pages.

use std::cmp::Reverse;

use outercore_caches::{
    About, Runs, Saved, SelectOptions, SelectSettings, SelectedLists, Side, path_of, select,
};
use outercore_graph::{Graph, GraphError, Order, Silent};
use outercore_storage::{HugePages, Resources};
use outercore_testing::{
    Built, Edges, Ids, Random, Recipe, build, lists, reference,
    reference::Gvs,
    shapes::{skewed, star_in, uniform},
};

fn built(edges: &[(u32, u32)], directed: bool) -> Built {
    let recipe = Recipe { order: Order::Original, lists: true, ..Recipe::default() };
    build(&Edges::of(edges, directed), &recipe)
}

/// What is usual for a small graph: `room` bytes of lists, pages of few.
fn options(graph: &Graph, room: u64) -> SelectOptions {
    let usual = SelectSettings::default().options(graph, &Resources::default()).unwrap();
    let size = room + SelectedLists::overhead(graph);
    SelectOptions {
        size,
        sample: 4,
        rounds: 4,
        block: 64,
        threads: 2,
        memory: 64 << 20,
        page_cache: 0,
        ..usual
    }
}

/// What is known of a selection, and the vertices of each direction.
fn chosen(graph: &Graph, options: &SelectOptions) -> (About, Vec<Vec<u64>>) {
    let about = select(graph, options, &Silent).unwrap();
    let saved = Saved::of(graph).unwrap();
    let vertices = |side: &outercore_caches::Side| saved.vertices(graph, side).unwrap();
    let vertices = about.sides.iter().map(vertices).collect();
    (about, vertices)
}

#[test]
fn one_search_chooses_what_the_reference_does() {
    let mut random = Random::new(23);
    for directed in [true, false] {
        for edges in [uniform(90, 500, &mut random), skewed(120, 500, &mut random), star_in(50)] {
            let built = built(&edges, directed);
            let graph = &built.graph;
            let width = u64::from(graph.manifest().neighbor_bytes);
            for (room, rounds, page) in [(200, 1, 64), (90, 40, 512), (300, 7, 256)] {
                let asked =
                    SelectOptions { sample: 1, rounds, block: page, ..options(graph, room) };
                let (about, found) = chosen(graph, &asked);
                let of_searches = |(side, _): &(&Side, _)| side.runs == Runs::Search;
                for (side, found) in about.sides.iter().zip(found).filter(of_searches) {
                    let lists = lists(graph, side.direction);
                    let hub = (0..lists.len()).max_by_key(|&v| (lists[v].len(), Reverse(v)));
                    let asked = Gvs { width, page, room, rounds };
                    let expected = reference::gvs_by_levels(&lists, hub.unwrap(), asked);
                    let found: Vec<usize> = found.iter().map(|&vertex| vertex as usize).collect();
                    assert_eq!(found, expected, "{room} {rounds} {page} {directed}");
                }
            }
        }
    }
}

/// No vertex has a list; or one was to have one, and its only edge is a loop, which is dropped.
#[test]
fn where_no_lists_are_none_are_chosen() {
    for (directed, edges) in
        [(false, &[][..]), (true, &[]), (false, &[(0, 0, 1.0)]), (true, &[(0, 0, 1.0)])]
    {
        let recipe = Recipe { simple: true, lists: true, ids: Ids::Names, ..Recipe::default() };
        let built = build(&Edges { n: 1, directed, edges: edges.to_vec() }, &recipe);
        for sample in [0, 1, 4] {
            let asked = SelectOptions { sample, ..options(&built.graph, 300) };
            let (about, vertices) = chosen(&built.graph, &asked);
            assert!(!about.sides.is_empty() && vertices.concat().is_empty(), "{about:?}");
            assert_eq!(load(&built.graph, asked.size, true, Runs::Many).report.lists, 0);
        }
    }
}

/// Lists that are not in memory are read for searches alone.
#[test]
fn neither_threads_nor_memory_decide_what_is_chosen() {
    let mut random = Random::new(7);
    let built = built(&skewed(20_000, 150_000, &mut random), false);
    let graph = &built.graph;
    let usual = options(graph, 40 << 10);
    let asked = SelectOptions { rounds: 30, block: 4096, page_cache: 30 << 10, ..usual };
    let (about, first) = chosen(graph, &asked);
    let kinds: Vec<Runs> = about.sides.iter().map(|side| side.runs).collect();
    assert_eq!(kinds, [Runs::Search, Runs::Many, Runs::Spreading]);
    assert!(first.iter().all(|vertices| vertices.len() > 100));
    assert!(first[0] != first[1] && first[1] != first[2], "each kind has its own");
    let loaded = |runs| load(graph, asked.size, false, runs).report;
    assert!(loaded(Runs::Search) != loaded(Runs::Spreading));
    let (_, again) = chosen(graph, &SelectOptions { threads: 3, ..asked });
    assert!(again == first);
    // Not enough for the lists.
    for threads in [1, 3] {
        let small = SelectOptions { threads, memory: 1 << 20, ..asked };
        let Err(GraphError::Memory { needed, .. }) = select(graph, &small, &Silent) else {
            panic!("a budget of 1 MiB was taken");
        };
        let (_, again) = chosen(graph, &SelectOptions { memory: needed, ..small });
        assert!(again == first[..1], "{threads}");
    }
}

fn load(graph: &Graph, bytes: u64, paged: bool, runs: Runs) -> SelectedLists {
    let sections = ["out.adjacency".to_owned()];
    SelectedLists::load(graph, &sections, bytes, (paged, runs), (2, HugePages::Off)).unwrap()
}

/// Vertices in a ring, each with an edge to the nearest ones: a search wants the pages that it has
/// just read, and lists that are chosen take their room.
#[test]
fn where_pages_are_worth_more_they_have_the_cache() {
    let ring: Vec<(u32, u32)> =
        (0..40_000u32).flat_map(|v| (1..5).map(move |step| (v, (v + step) % 40_000))).collect();
    let ring = built(&ring, false);
    let asked = SelectOptions { block: 4096, page_cache: 0, ..options(&ring.graph, 4 << 10) };
    let about = select(&ring.graph, &asked, &Silent).unwrap();
    assert_eq!(about.sides[0].worth, Some(0));
    assert!(about.sides[0].lists > 100, "it is chosen all the same: runs may have no page cache");
    let report = load(&ring.graph, asked.size, true, Runs::Search).report;
    assert_eq!((report.lists, report.left_to_pages), (0, asked.size));
    let report = load(&ring.graph, asked.size, false, Runs::Search).report;
    assert!(report.lists > 100 && report.left_to_pages == 0);

    // One vertex of each page is wanted, and its list is short.
    let leaves = |v: u32| (0..32).map(move |at| (v, ((v * 7 + at) % 125) * 64));
    let spread = (2..8000u32).filter(|v| v % 64 > 0).flat_map(leaves);
    let hub = (0..125u32).map(|leaf| (1, leaf * 64));
    let far: Vec<(u32, u32)> =
        (1..125).map(|leaf| (leaf * 64, 1)).chain(hub).chain(spread).collect();
    let far = built(&far, true);
    let asked = SelectOptions { block: 4096, page_cache: 0, ..options(&far.graph, 8 << 10) };
    let about = select(&far.graph, &asked, &Silent).unwrap();
    let Some([pages, with]) = about.sides[0].searches else { panic!("{about:?}") };
    assert!(pages > 4096 * 100 && with * 4 < pages, "{about:?}");
    let worth = about.sides[0].worth.unwrap();
    let whole = load(&far.graph, asked.size, true, Runs::Search).report;
    assert!(whole.lists > 100 && whole.bytes < worth, "{whole:?}");
    let used = SelectedLists::overhead(&far.graph) + whole.bytes;
    assert_eq!(whole.left_to_pages, asked.size - used);
    let half = load(&far.graph, asked.size / 2, true, Runs::Search).report;
    assert!(half.bytes < worth / 2 && half.lists < whole.lists, "{half:?}");
    assert!(path_of(far.graph.path()).exists());
}
