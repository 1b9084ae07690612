//! Tables that are read part by part, and what that costs.

use std::sync::atomic::Ordering::Relaxed;

use outercore_storage::PAGE;

use super::{build_graph, config};
use crate::{Silent, edges::table::Parted, session::Session};

#[test]
fn a_page_in_which_parts_meet_is_read_once() {
    let vertices = 9 * PAGE as u64 / 4;
    let folder = tempfile::tempdir().unwrap();
    let graph =
        build_graph(folder.path(), vertices, &[(3, 5), (3, 7), (vertices - 1, 0)], false, 1);
    let settings = config(1);
    let open = || Session::open(&graph, &settings, &Silent, &["out.degrees"]).unwrap();
    let degree =
        |vertex| [(3, 3), (vertices - 1, 2)].iter().find(|at| at.0 == vertex).map_or(1, |at| at.1);
    // Many parts of one page; parts that begin or end a page; one of several pages; a short one.
    for lens in [vec![vertices], vec![100; 93], vec![1024; 9], vec![1500, 24, 5000, 2000, 692]] {
        let (session, mut sections) = open();
        let table = Parted::new(&session, sections.remove(0));
        let before = session.disk.counters().bytes_read.load(Relaxed);
        let mut first = 0;
        for &len in &lens {
            let mut part = vec![0u32; len.min(vertices - first) as usize];
            table.load(0, first, &mut part).unwrap();
            for (vertex, found) in (first..).zip(part) {
                assert_eq!(found, degree(vertex), "{lens:?}: {vertex}");
            }
            first += len;
        }
        assert!(first >= vertices, "the whole table is read");
        let read = session.disk.counters().bytes_read.load(Relaxed) - before;
        assert_eq!(read, 9 * PAGE as u64, "{lens:?}");
    }
}
