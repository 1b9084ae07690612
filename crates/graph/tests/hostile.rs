//! Inputs, places and folders that nobody means well with: each ends in an error that says what is
//! wrong, and leaves everything as it was.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_graph::build::SMALLEST_BUDGET;
use outercore_graph::format::Manifest;
use outercore_graph::input::{self, IdKind, Input, InputOptions};
use outercore_graph::{BuildOptions, BuildProgress, Graph, GraphError, Silent, WeightKind, check};
use outercore_storage::Disk;
use outercore_testing::{
    Ids, build_file, contents, essence, folder, names, options, random_text, small_graph,
};

/// Writes `content` and builds from it as `options` say; the place must stay empty when that fails.
fn attempt(
    content: &[u8],
    inputs: &InputOptions,
    options: &BuildOptions,
) -> Result<Manifest, GraphError> {
    let folder = folder();
    let input = folder.path().join("edges.txt");
    std::fs::write(&input, content).unwrap();
    let output = folder.path().join("place/graph.oc");
    std::fs::create_dir(folder.path().join("place")).unwrap();
    let source = input::open(&Disk::new(), &[Input::from(&input)], inputs)?;
    let result = outercore_graph::build(&Disk::new(), source.as_ref(), &output, options, &Silent);
    let left = names(&folder.path().join("place"));
    match &result {
        Ok(_) => assert_eq!(left, ["graph.oc"]),
        Err(error) => assert!(left.is_empty(), "{error} left {left:?}"),
    }
    result
}

/// The error of a build that must fail because of its input.
fn complaint(content: &[u8], inputs: &InputOptions) -> outercore_graph::InputError {
    match attempt(content, inputs, &options()) {
        Err(GraphError::Input(error)) => error,
        Err(other) => panic!("not an error of the input: {other}"),
        Ok(manifest) => {
            panic!("{} edges were built of {:?}", manifest.edges, String::from_utf8_lossy(content))
        }
    }
}

fn weighted(kind: WeightKind) -> InputOptions {
    InputOptions { weights: Some(kind), ..InputOptions::default() }
}

#[test]
fn budgets_that_are_too_small() {
    for ids in [Ids::Zero, Ids::Sparse, Ids::Names] {
        let content = random_text(ids, 200, 1000, 1);
        for memory in [0, 1, 1 << 20, SMALLEST_BUDGET - 1] {
            let result = attempt(
                content.as_bytes(),
                &InputOptions::default(),
                &BuildOptions { memory, ..options() },
            );
            let Err(GraphError::Memory { needed, budget, .. }) = result else {
                panic!("{memory} bytes are enough")
            };
            assert_eq!(budget, memory);
            attempt(
                content.as_bytes(),
                &InputOptions::default(),
                &BuildOptions { memory: needed, ..options() },
            )
            .expect("what is said to be enough is enough");
        }
        // Many threads in the smallest budget: built, or refused with the budget that would do.
        for threads in [8, 64] {
            match attempt(
                content.as_bytes(),
                &InputOptions::default(),
                &BuildOptions { threads, ..options() },
            ) {
                Ok(_) => {}
                Err(GraphError::Memory { needed, budget, .. }) => assert!(needed > budget),
                Err(other) => panic!("{threads} threads: {other}"),
            }
        }
    }
}

#[test]
fn weights_that_are_no_numbers() {
    for weight in
        ["NaN", "nan", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "", "x", "0x10", "1,5"]
    {
        for kind in [WeightKind::F32, WeightKind::F64, WeightKind::U32] {
            let error = complaint(
                format!("1\t2\t1\n3\t4\t{weight}\n5\t6\t7\n").as_bytes(),
                &weighted(kind),
            );
            assert_eq!(error.line, Some(2), "{weight:?} as {kind:?}: {error}");
        }
    }
    for weight in ["-1", "1.5", "4294967296", "1e3"] {
        assert_eq!(
            complaint(format!("1\t2\t{weight}\n").as_bytes(), &weighted(WeightKind::U32)).line,
            Some(1),
            "{weight}"
        );
    }
    for (weight, negative) in
        [("-1.5", true), ("1e-310", false), ("1.7976931348623157e308", false), ("-0", false)]
    {
        let manifest =
            attempt(format!("1\t2\t{weight}\n").as_bytes(), &weighted(WeightKind::F64), &options())
                .unwrap();
        assert_eq!(manifest.negative_weights, negative, "{weight}");
    }
    // Finite as a double, but not in single precision: refused, or kept as something finite.
    match attempt(b"1\t2\t1e300\n", &weighted(WeightKind::F32), &options()) {
        Err(GraphError::Input(error)) => assert_eq!(error.line, Some(1)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("1e300 became infinite"),
    }
}

#[test]
fn ids_that_are_no_ids() {
    let numbers = InputOptions { ids: Some(IdKind::Numbers), ..InputOptions::default() };
    for id in [
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        &"9".repeat(400),
        "-1",
        "+1",
        "1e3",
        "1.0",
        "0x10",
        "one",
    ] {
        assert_eq!(
            complaint(format!("1 2\n2 3\n{id} 4\n").as_bytes(), &numbers).line,
            Some(3),
            "{id}"
        );
    }
    // The largest id, and ids with nothing between them: no array over their range.
    for ids in [
        &b"0 18446744073709551615\n"[..],
        b"0 1099511627776\n",
        b"18446744073709551614 18446744073709551615\n",
        b"4294967295 4294967296\n",
    ] {
        let manifest = attempt(ids, &numbers, &options()).unwrap();
        assert_eq!((manifest.vertices, manifest.edges), (2, 1));
    }
}

#[test]
fn bytes_that_are_no_edges() {
    let all: Vec<u8> = (0..=255).collect();
    for content in [
        &b""[..],
        b"\n\n",
        b"# nothing\n",
        b"\0\0\0\0\0\0\0\0",
        &all,
        b"\x7fELF\x02\x01\x01\0\0\0",
        b"1\n2\n",
        b"a\n",
    ] {
        let error = complaint(content, &InputOptions::default());
        assert!(!error.what.is_empty() && !error.advice.is_empty(), "{error}");
    }
}

#[test]
fn compressed_files_that_end_early_or_lie() {
    let text = random_text(Ids::Zero, 500, 30_000, 2).into_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_slice(), 1).unwrap();
    assert_eq!(attempt(&gzip, &InputOptions::default(), &options()).unwrap().edges, 30_000);
    assert_eq!(attempt(&zstd, &InputOptions::default(), &options()).unwrap().edges, 30_000);
    for whole in [&gzip, &zstd] {
        for cut in [1, 7, 9, whole.len() / 2, whole.len() - 1] {
            complaint(&whole[..whole.len() - cut], &InputOptions::default());
        }
        for place in [whole.len() / 3, whole.len() / 2] {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x55;
            match attempt(&damaged, &InputOptions::default(), &options()) {
                Err(GraphError::Input(_)) => {}
                Err(other) => panic!("{other}"),
                // zstd has no checksum unless one was asked for.
                Ok(_) => assert!(whole == &zstd, "gzip's checksum was not compared"),
            }
        }
    }
    let mut wrong_sum = gzip.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    complaint(&wrong_sum, &InputOptions::default());
    let twice = [gzip.as_slice(), &gzip].concat();
    assert_eq!(
        attempt(&twice, &InputOptions::default(), &options()).unwrap().edges,
        60_000,
        "members one after the other"
    );
}

#[test]
fn folders_that_are_no_graphs() {
    let folder = folder();
    let disk = Disk::new();
    let refused = |path: &Path| {
        assert!(
            matches!(Graph::open(&disk, path).err(), Some(GraphError::NotAGraph { .. })),
            "{}",
            path.display()
        );
        assert!(check(&disk, path, &Silent).is_err());
    };
    refused(folder.path());
    refused(&folder.path().join("missing"));
    let file = folder.path().join("file");
    std::fs::write(&file, "1 2\n").unwrap();
    refused(&file);
    for content in [
        &b""[..],
        b"{}",
        b"{}\n# crc32c 00000000\n",
        b"\n# crc32c ",
        &[0xff; 100],
        &b"{".repeat(1 << 20),
    ] {
        std::fs::write(folder.path().join("manifest.json"), content).unwrap();
        assert!(matches!(
            Graph::open(&disk, folder.path()).err(),
            Some(GraphError::Corrupt { .. })
        ));
        assert!(!check(&disk, folder.path(), &Silent).unwrap().is_empty());
    }
    // Larger than a manifest can be; mostly a hole.
    let huge = std::fs::File::create(folder.path().join("manifest.json")).unwrap();
    huge.set_len(1 << 40).unwrap();
    assert!(Graph::open(&disk, folder.path()).is_err());
    std::fs::remove_file(folder.path().join("manifest.json")).unwrap();
    std::fs::create_dir(folder.path().join("manifest.json")).unwrap();
    assert!(Graph::open(&disk, folder.path()).is_err());
}

#[test]
fn places_that_are_taken() {
    let (folder, graph) = small_graph();
    let input = folder.path().join("edges.txt");
    let before = contents(&graph);
    let disk = Disk::new();
    assert!(matches!(
        build_file(&disk, &input, &graph, &options()),
        Err(GraphError::Exists { .. })
    ));
    assert!(contents(&graph) == before);
    // What is no graph is not replaced, not even with --force.
    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("letter.txt"), "dear").unwrap();
    let force = BuildOptions { force: true, ..options() };
    for place in [&mine, &input] {
        assert!(
            build_file(&disk, &input, place, &BuildOptions { force: true, ..options() }).is_err(),
            "{} was replaced",
            place.display()
        );
    }
    assert_eq!(std::fs::read_to_string(mine.join("letter.txt")).unwrap(), "dear");
    // A link to a graph is replaced itself; what it led to stays.
    let link = folder.path().join("link.oc");
    std::os::unix::fs::symlink(&graph, &link).unwrap();
    if build_file(&disk, &input, &link, &force).is_ok() {
        assert!(essence(&link) == essence(&graph));
    }
    assert!(contents(&graph) == before);
    // A damaged graph is replaced.
    std::fs::write(graph.join("manifest.json"), "{").unwrap();
    build_file(&disk, &input, &graph, &force).unwrap();
    assert!(check(&disk, &graph, &Silent).unwrap().is_empty());
    for impossible in [
        Path::new("/"),
        &input.join("below/a/file.oc"),
        Path::new("/proc/graph.oc"),
        Path::new(".."),
    ] {
        assert!(
            build_file(&disk, &input, impossible, &options()).is_err(),
            "{}",
            impossible.display()
        );
    }
    assert_eq!(names(folder.path()).iter().filter(|name| name.contains("building")).count(), 0);
}

/// Stops at the `n`-th time it is asked.
struct Stops(AtomicU64, u64);

impl BuildProgress for Stops {
    fn stage(&self, _: &'static str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_add(1, Relaxed) >= self.1
    }
}

#[test]
fn interrupted_by_the_user_at_any_moment() {
    for ids in [Ids::Zero, Ids::Sparse, Ids::Names] {
        let folder = folder();
        let input = folder.path().join("edges.txt");
        std::fs::write(&input, random_text(ids, 300, 3000, 4)).unwrap();
        let output = folder.path().join("place/graph.oc");
        std::fs::create_dir(folder.path().join("place")).unwrap();
        let mut interrupted = 0;
        for n in 0.. {
            let source =
                input::open(&Disk::new(), &[Input::from(&input)], &InputOptions::default())
                    .unwrap();
            match outercore_graph::build(
                &Disk::new(),
                source.as_ref(),
                &output,
                &BuildOptions { threads: 2, ..options() },
                &Stops(AtomicU64::new(0), n),
            ) {
                Ok(_) => break,
                Err(GraphError::Cancelled) => interrupted += 1,
                Err(other) => panic!("{ids:?}, asked {n} times: {other}"),
            }
            assert!(names(output.parent().unwrap()).is_empty());
        }
        assert!(interrupted > 3, "{ids:?}: asked {interrupted} times only");
    }
}

/// Several builds of the same graph at the same time: whoever comes late is refused or replaces;
/// nobody is mixed.
#[test]
fn builds_at_the_same_time() {
    let folder = folder();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let output = place.join("graph.oc");
    let inputs: Vec<_> = (0..4).map(|seed| folder.path().join(format!("{seed}.txt"))).collect();
    let mut all = Vec::new();
    for (seed, input) in inputs.iter().enumerate() {
        std::fs::write(input, random_text(Ids::Sparse, 300, 3000, seed as u64)).unwrap();
        let alone = folder.path().join(format!("alone-{seed}.oc"));
        build_file(&Disk::new(), input, &alone, &options()).unwrap();
        all.push(essence(&alone));
    }
    for force in [false, true] {
        for _ in 0..5 {
            let _ = std::fs::remove_dir_all(&output);
            let built: usize = std::thread::scope(|scope| {
                let (output, force) = (&output, force);
                let handles: Vec<_> = inputs
                    .iter()
                    .map(|input| {
                        scope.spawn(move || {
                            build_file(
                                &Disk::new(),
                                input,
                                output,
                                &BuildOptions { force, ..options() },
                            )
                        })
                    })
                    .collect();
                handles.into_iter().map(|handle| usize::from(handle.join().unwrap().is_ok())).sum()
            });
            assert!(
                built >= 1 && (force || built == 1),
                "{built} builds succeeded, force: {force}"
            );
            assert!(
                all.contains(&essence(&output)),
                "what is there is none of those that were built"
            );
        }
    }
    build_file(&Disk::new(), &inputs[0], &output, &BuildOptions { force: true, ..options() })
        .unwrap();
    assert_eq!(names(&place), ["graph.oc"]);
}
