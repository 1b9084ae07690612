//! Tables that say what other sections say already: with checksums that fit a lie, `check` finds
//! them, and names the section.

#[allow(dead_code)]
#[path = "golden/decode.rs"]
mod decode;
#[allow(dead_code)]
#[path = "golden/forge.rs"]
mod forge;

use std::path::Path;

use decode::Decoded;
use forge::forge;
use outercore_graph::{
    BuildOptions, Fault, Order, Silent, build, check,
    input::{self, Input, InputOptions},
};
use outercore_storage::Disk;

/// Vertices with edges: a ring with a chord from each, in an order that mixes degrees and ids.
const RING: u64 = 300;

struct Scene {
    place: tempfile::TempDir,
    graph: Decoded,
}

impl Scene {
    fn new(id: &dyn Fn(u64) -> String, options: BuildOptions) -> Self {
        let place = tempfile::tempdir().unwrap();
        let edges: String = (0..RING)
            .flat_map(|at| [(at, (at + 1) % RING), (at, at * at % RING), (7, at * 5 % RING)])
            .map(|(from, to)| format!("{} {}\n", id(from), id(to)))
            .collect();
        // Isolated vertices.
        let more: String = (RING..RING + 9).map(|at| format!("{}\n", id(at))).collect();
        let (text, vertices) = (place.path().join("e.txt"), place.path().join("v.txt"));
        std::fs::write(&text, edges).unwrap();
        std::fs::write(&vertices, more).unwrap();
        let input = InputOptions { vertices: vec![vertices], ..InputOptions::default() };
        let source = input::open(&Disk::new(), &[Input::from(text)], &input).unwrap();
        let path = place.path().join("graph.oc");
        let options = BuildOptions { memory: 96 << 20, threads: 2, ..options };
        build(&Disk::new(), source.as_ref(), &path, &options, &Silent).unwrap();
        let graph = Decoded::open(&path);
        let scene = Self { place, graph };
        assert_eq!(scene.check(), []);
        scene
    }

    fn path(&self) -> std::path::PathBuf {
        self.place.path().join("graph.oc")
    }

    fn check(&self) -> Vec<Fault> {
        check(&Disk::new(), &self.path(), &Silent).unwrap()
    }

    /// `check` names `section`, and no other, once that is changed and sealed again.
    fn found(&self, section: &str, what: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let sound = self.graph.section(section);
        let mut other = sound.clone();
        change(&mut other);
        assert_ne!(sound, other, "{section}: {what}");
        forge(&self.graph, &self.path(), section, other);
        let faults = self.check();
        assert!(!faults.is_empty(), "{section}: {what}: check found nothing");
        let named = |fault: &Fault| fault.path.file_name() == Path::new(section).file_name();
        assert!(faults.iter().any(named), "{section}: {what}: {faults:?}");
        forge(&self.graph, &self.path(), section, sound);
        assert_eq!(self.check(), []);
    }

    /// Every byte of a table in turn, some bits of each.
    fn every_byte(&self, section: &str) {
        let sound = self.graph.section(section);
        for at in (0..sound.len()).step_by(7).chain([sound.len() - 1]) {
            forge(&self.graph, &self.path(), section, {
                let mut other = sound.clone();
                other[at] ^= 1 << (at % 8);
                other
            });
            assert!(!self.check().is_empty(), "{section}: byte {at}: check found nothing");
        }
        forge(&self.graph, &self.path(), section, sound);
    }
}

fn number(id: u64) -> String {
    (id * 7919 % 100_003 + 3).to_string()
}

fn name(id: u64) -> String {
    format!("v{:x}", id * 7919 % 100_003)
}

#[test]
fn first_neighbors_are_those_of_the_lists() {
    let orders = [Order::Degree, Order::Original].into_iter();
    for (order, directed) in orders.flat_map(|order| [(order, true), (order, false)]) {
        let scene = Scene::new(
            &number,
            BuildOptions { directed: Some(directed), order, ..BuildOptions::default() },
        );
        let section = if directed { "in.heads" } else { "out.heads" };
        if order == Order::Degree {
            // In other orders a bit may turn it into another neighbor, which does as well.
            scene.every_byte(section);
        }
        scene.found(section, "all empty", |heads| heads.fill(0xff));
        scene.found(section, "the last entry", |heads| {
            let last = heads.len() - 1;
            heads[last] ^= 1;
        });
    }
}

#[test]
fn ids_that_are_numbers() {
    for order in [Order::Degree, Order::Original] {
        let scene = Scene::new(&number, BuildOptions { order, ..BuildOptions::default() });
        scene.found("ids.keys", "two ids exchanged", |keys| {
            let (one, other) = keys.split_at_mut(8);
            one.swap_with_slice(&mut other[..8]);
        });
        scene.found("ids.keys", "an id twice", |keys| keys.copy_within(8..16, 16));
        for section in ["ids.rank", "ids.vertex"] {
            scene.every_byte(section);
            // The sums are of both tables; what is wrong is said of the one that leads back.
            scene.found("ids.rank", "out of range", |table| table[1] = 0xff);
        }
    }
}

#[test]
fn ids_that_are_names() {
    let scene = Scene::new(&name, BuildOptions::default());
    scene.found("ids.keys", "no text", |keys| keys[0] = 0xff);
    scene.found("ids.keys", "out of order", |keys| keys[1] = b'~');
    scene.found("ids.ends", "beyond the names", |ends| ends[7] = 1);
    scene.found("ids.ends", "an end before the last", |ends| ends[16..24].fill(0));
    scene.found("ids.ends", "names are left over", |ends| {
        let last = ends.len() - 8;
        ends[last] -= 1;
    });
    scene.every_byte("ids.rank");
}
