//! What the tests of building share: small inputs, builds under a plan of faults, and what is in a
//! folder afterwards.

// Each test file is a program of its own and few need everything.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outercore_graph::format::Manifest;
use outercore_graph::input::{self, Input, InputOptions};
use outercore_graph::{BuildOptions, GraphError, Silent};
use outercore_storage::Disk;

/// A folder that is quick to sync, where the system has one: what is tested is the order of
/// operations, not the device.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }
}

/// How vertices are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// 0, 1, 2 ...
    Dense,
    /// Numbers all over 64 bits.
    Sparse,
    /// Words.
    Names,
}

/// Lines of random edges with weights, duplicates and loops among them.
pub fn text(ids: Ids, vertices: u64, edges: u64, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    for _ in 0..edges {
        let mut end = || {
            let vertex = random.below(vertices).min(random.below(vertices));
            match ids {
                Ids::Dense => vertex.to_string(),
                Ids::Sparse => (vertex + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string(),
                Ids::Names => format!("name-{:x}", vertex.wrapping_mul(0x9e37_79b1)),
            }
        };
        let (source, target) = (end(), end());
        writeln!(text, "{source}\t{target}\t{}", random.below(300)).unwrap();
    }
    text
}

/// The smallest budget, one thread: the same operations in the same order each time.
pub fn options() -> BuildOptions {
    BuildOptions { memory: 64 << 20, threads: 1, ..BuildOptions::default() }
}

/// Reads `input` and builds `output` through `disk`.
pub fn build(
    disk: &Disk,
    input: &Path,
    output: &Path,
    options: &BuildOptions,
) -> Result<Manifest, GraphError> {
    let source = input::open(disk, &[Input::from(input)], &InputOptions::default())?;
    outercore_graph::build(disk, source.as_ref(), output, options, &Silent)
}

/// Every file below a folder, with its content.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(
                    path.strip_prefix(folder).unwrap().to_owned(),
                    std::fs::read(&path).unwrap(),
                );
            }
        }
    }
    files
}

/// The names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A graph without what differs from build to build: every file of every section by name, and the
/// manifest without its random name.
pub fn essence(graph: &Path) -> (BTreeMap<String, Vec<u8>>, Manifest) {
    let mut manifest = Manifest::read(&Disk::new(), graph).unwrap();
    let mut files = BTreeMap::new();
    for (place, folder) in
        std::iter::once(graph).chain(manifest.stripes.iter().map(PathBuf::as_path)).enumerate()
    {
        for (path, content) in contents(folder)
            .into_iter()
            .filter(|(path, _)| place > 0 || path != Path::new("manifest.json"))
        {
            files.insert(format!("{place}/{}", path.display()), content);
        }
    }
    manifest.uuid.clear();
    manifest.stripes.clear();
    (files, manifest)
}

/// How often a watchdog looks.
const TICK: Duration = Duration::from_secs(1);

/// Ends the process when one step takes longer than it can: a hang is a failure too.
#[derive(Clone)]
pub struct Watchdog {
    steps: Arc<AtomicU64>,
    what: Arc<Mutex<String>>,
}

impl Watchdog {
    /// Starts to watch; a step may take `limit`.
    pub fn new(limit: Duration) -> Self {
        let dog = Self { steps: Arc::default(), what: Arc::default() };
        let watched = dog.clone();
        std::thread::spawn(move || {
            let (mut last, mut still) = (u64::MAX, Duration::ZERO);
            // Gone when the test is: then nobody else holds it.
            while Arc::strong_count(&watched.steps) > 1 {
                let now = watched.steps.load(Relaxed);
                still = if now == last { still + TICK } else { Duration::ZERO };
                if still >= limit {
                    watched.bark();
                }
                last = now;
                // Ticks are counted, not time: a machine that stood still for a minute has ticked
                // once.
                std::thread::sleep(TICK);
            }
        });
        dog
    }

    /// Ends the process, with a word about each thread. Not by `eprintln`, which the test's runner
    /// keeps to itself and loses with the process.
    fn bark(&self) -> ! {
        let mut text = format!("this hangs: {}\n", self.what.lock().unwrap());
        for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let read = |file| {
                std::fs::read_to_string(thread.path().join(file))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            let state = read("stat")
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .chars()
                .take(3)
                .collect::<String>();
            text += &format!(
                "thread {}:{state}, in {}, {}\n",
                read("comm"),
                read("wchan"),
                read("syscall")
            );
        }
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        std::process::abort();
    }

    /// The next step begins.
    pub fn step(&self, what: impl Into<String>) {
        *self.what.lock().unwrap() = what.into();
        self.steps.fetch_add(1, Relaxed);
    }
}
