//! What a report says of bytes is what the kernel counted: those that every algorithm reads and
//! writes, in every memory model.
//!
//! The kernel counts by process, so this file has one test. A report leaves out what the file
//! system reads and writes for itself, and the rest of the last page of a file that is read through
//! the page cache. On this graph that is less than 1 %.

use std::{fs::File, io, os::fd::AsRawFd, path::Path};

use outercore_algorithms::{NAMES, Request, Source};
use outercore_engine::{IoBackend, MemoryModel, RunConfig, RunReport};
use outercore_graph::{
    BuildOptions, Graph,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::{Arena, Disk, HugePages};
use outercore_testing::{MODELS, config, generate, request, run, smallest};

/// How often a run may be repeated. The kernel may have to fetch a page of this program again; a
/// miscount is there each time.
const ATTEMPTS: usize = 3;

/// Bytes that were read and written.
#[derive(Clone, Copy, Debug)]
struct Moved {
    read: u64,
    written: u64,
}

impl Moved {
    /// What the kernel has counted of this process.
    fn so_far() -> io::Result<Self> {
        let text = std::fs::read_to_string("/proc/self/io")?;
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().parse().ok()).ok_or(io::ErrorKind::Unsupported)
        };
        Ok(Self { read: count("read_bytes:")?, written: count("write_bytes:")? })
    }

    /// What `act` moves, as the kernel counts it.
    fn by<T>(act: impl FnOnce() -> T) -> io::Result<(Self, T)> {
        let before = Self::so_far()?;
        let value = act();
        let after = Self::so_far()?;
        let (read, written) = (after.read - before.read, after.written - before.written);
        Ok((Self { read, written }, value))
    }

    /// What a report says.
    fn reported(report: &RunReport) -> Self {
        Self { read: report.bytes_read, written: report.bytes_written }
    }

    /// Whether both are the same within 1 %.
    fn is_near(self, kernel: Self) -> bool {
        let near = |said: u64, counted: u64| said.abs_diff(counted) * 100 <= counted;
        near(self.read, kernel.read) && near(self.written, kernel.written)
    }
}

/// Whether the kernel counts what is read and written past the page cache in this folder.
fn is_counted(folder: &Path) -> bool {
    const BYTES: usize = 1 << 20;
    let file = Disk::new().create(&folder.join("probe")).unwrap();
    let mut buffer = Arena::new(BYTES, HugePages::Off).unwrap().buffer(0, BYTES);
    let moved = Moved::by(|| {
        file.write_at(&buffer, 0).unwrap();
        file.read_at(&mut buffer, 0).unwrap();
    });
    let all = |moved: Moved| moved.read.min(moved.written) >= BYTES as u64;
    file.is_direct() && moved.is_ok_and(|(moved, ())| all(moved))
}

/// Has the page cache forget the files of a graph.
fn forget(graph: &Path) {
    for entry in std::fs::read_dir(graph).unwrap() {
        let file = File::open(entry.unwrap().path()).unwrap();
        // SAFETY: the descriptor is open; the call takes no memory.
        let code =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(code, 0);
    }
}

/// Runs it; returns what is wrong with its report.
fn differs(graph: &Graph, name: &str, request: &Request, config: &RunConfig) -> Option<String> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        forget(graph.path());
        let ran = Moved::by(|| run(graph, name, request, config).report);
        let (kernel, report) = ran.expect("the kernel counts");
        let said = Moved::reported(&report);
        assert_eq!(Some(report.memory_model), config.model, "{name}");
        assert!(said.read > 1 << 20, "{name}: {} bytes are too few to compare", said.read);
        if said.is_near(kernel) {
            return None;
        }
        let what = report.memory_model.name();
        last = Some(format!("{name}, {what}: the report says {said:?}, the kernel {kernel:?}"));
    }
    last
}

#[test]
fn reports_say_what_the_kernel_counts() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if !is_counted(folder.path()) {
        eprintln!("SKIPPED: no bytes are counted in {}", folder.path().display());
        return;
    }
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    // Many vertices with few edges: what every run reads of them is large beside rounding.
    let rmat = Rmat { weights, edge_factor: 4, ..Rmat::new(19, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, options);
    let mut wrong = Vec::new();
    for name in NAMES {
        let usual = request(name, &[Source::MaxDegree]);
        let delta = *name == "pagerank-delta";
        let (tolerance, method) = (delta.then_some(1e-2), delta.then(|| "differences".to_owned()));
        let request = Request { tolerance, method, ..usual };
        for model in MODELS {
            let ample = RunConfig { model: Some(model), ..config() };
            let memory = match model {
                MemoryModel::InMemory => ample.memory,
                // Little memory: more is read again, and more is on scratch.
                _ => smallest(&graph, name, &request, &ample),
            };
            wrong.extend(differs(&graph, name, &request, &RunConfig { memory, ..ample }));
        }
    }
    for (io, block) in [(IoBackend::Blocking, 4096), (IoBackend::Auto, 512)] {
        let config = RunConfig { io, block, model: Some(MemoryModel::SemiExternal), ..config() };
        let request = request("bfs", &[Source::MaxDegree]);
        wrong.extend(differs(&graph, "bfs", &request, &config));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
