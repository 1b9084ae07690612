//! Compressed files, pipes, chunks, threads, and files that change.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use flate2::{Compression, write::GzEncoder};

use super::*;
use crate::input::Progress;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

/// Lines enough for several chunks.
fn many(lines: u64) -> (String, Vec<[u64; 2]>) {
    let edge = |line: u64| [line * 7919 % 1_000_003, line * line % 99_991];
    let edges: Vec<_> = (0..lines).map(edge).collect();
    let text = edges.iter().map(|edge| format!("{}\t{}\n", edge[0], edge[1])).collect();
    let mut sorted = edges;
    sorted.sort_unstable();
    (text, sorted)
}

#[test]
fn compression_is_found_by_content() {
    let (text, edges) = many(100_000);
    for content in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        assert_eq!(read("e.txt", &content).unwrap().edges, edges);
    }
    let (head, tail) = text.as_bytes().split_at(text.len() / 3);
    assert_eq!(
        read("e.gz", [gzip(head), gzip(b""), gzip(tail), vec![0; 700]].concat()).unwrap().edges,
        edges
    );
    assert_eq!(read("e.zst", [zstd(head), zstd(tail)].concat()).unwrap().edges, edges);
    assert_eq!(read("e.gz", &text).unwrap().edges, edges);
    let pairs: Vec<u8> = edges.iter().flatten().flat_map(|id| (*id as u32).to_le_bytes()).collect();
    assert_eq!(read("e.u32.zst", zstd(&pairs)).unwrap().edges, edges);
    let odd = complaint(read("e.u32.gz", gzip(&pairs[..pairs.len() - 3])));
    assert_eq!(odd.offset, Some(pairs.len() as u64 - 8), "{odd}");
}

#[test]
fn damaged_compression() {
    let (text, _) = many(400_000);
    for (good, name) in [(gzip(text.as_bytes()), "e.gz"), (zstd(text.as_bytes()), "e.zst")] {
        for cut in [good.len() - 1, good.len() - 50, good.len() / 2, 20] {
            let error = complaint(read(name, &good[..cut]));
            assert!(error.what.contains("cut short"), "{cut}: {error}");
        }
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 0x55;
        assert!(read(name, &flipped).is_err());
        assert!(complaint(read(name, [&good[..], b"garbage"].concat())).what.contains("damaged"));
    }
    let cut = complaint(read("trunc.txt.gz", &gzip("1 2\n".repeat(100_000).as_bytes())[..100]));
    assert!(cut.what.contains("after"), "{cut}");
    let mut wrong_sum = gzip(b"1 2\n");
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    assert!(complaint(read("e.gz", wrong_sum)).what.contains("damaged"));
    assert!(complaint(read("e.gz", gzip(&gzip(b"1 2\n")))).what.contains("twice"));
    assert!(complaint(read("e.xz", b"\xfd7zXZ\0\0\0")).advice.contains("xz -dc"));
}

#[test]
fn zstd_windows_are_bounded_by_memory() {
    let sample = Sample::new("e.zst", frame(b"1 2\n3 4\n", 27));
    let source = sample.open(&InputOptions::default()).unwrap();
    assert!(source.is_paged());
    let enough = match drain(source.as_ref(), 1, 64 << 20) {
        Err(GraphError::Memory { needed, budget, .. }) => {
            assert_eq!(budget, 64 << 20);
            needed as usize
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(drain(source.as_ref(), 1, enough).unwrap().edges, [[1, 2], [3, 4]]);
    assert!(drain(source.as_ref(), 1, enough - 8).is_err());
}

/// A frame of zstd with a window of so many bits.
fn frame(text: &[u8], window: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(window).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_frame_of_zstd_has_its_own_window() {
    let stream = [frame(b"1 2\n", 10), frame(b"", 12), frame(b"3 4\n", 27)].concat();
    let sample = Sample::new("e.zst", &stream);
    let source = sample.open(&InputOptions::default()).unwrap();
    let Err(GraphError::Memory { needed, .. }) = drain(source.as_ref(), 1, 8 << 20) else {
        panic!("the last frame needs more")
    };
    assert!((1 << 27..1 << 28).contains(&needed), "{needed}");
    assert_eq!(drain(source.as_ref(), 1, needed as usize).unwrap().edges, [[1, 2], [3, 4]]);
    // A header that asks for more than there is.
    let mut beyond = frame(b"1 2\n", 27);
    beyond[5] = 0xff;
    assert!(complaint(read("beyond.zst", beyond)).what.contains("window"));
}

#[test]
fn chunks_meet_without_loss() {
    let (text, edges) = many(300_000);
    let sample = Sample::new("e.txt", &text);
    let source = sample.open(&InputOptions::default()).unwrap();
    for threads in [1, 2, 5] {
        for memory in [0, 3 << 20, 64 << 20] {
            assert_eq!(
                drain(source.as_ref(), threads, memory).unwrap().edges,
                edges,
                "{threads} {memory}"
            );
        }
    }
    let packed = Sample::new("e.gz", gzip(text.as_bytes()));
    let source = packed.open(&InputOptions::default()).unwrap();
    for threads in [1, 3] {
        assert_eq!(drain(source.as_ref(), threads, 0).unwrap().edges, edges);
    }
    // Lines around the size of a chunk, and longer: comments take any length up to 1 MiB.
    for length in [65_530, 65_535, 65_536, 65_537, 70_000, 1_000_000] {
        let text = format!("1 2\n#{}\n3 4\n#{}\n5 6", "x".repeat(length), "y".repeat(length));
        for content in [text.clone().into_bytes(), gzip(text.as_bytes())] {
            assert_eq!(read("e.txt", content).unwrap().edges, [[1, 2], [3, 4], [5, 6]], "{length}");
        }
    }
}

#[test]
fn the_first_error_is_reported() {
    let (text, _) = many(300_000);
    let lines: Vec<&str> = text.lines().collect();
    for bad in [0, 1, 9_000, 150_000, 299_999] {
        let mut lines = lines.clone();
        // Later ones, too.
        (bad..lines.len()).step_by(50_000).for_each(|line| lines[line] = "1 x");
        let text = lines.join("\n").replace('\t', " ");
        for (name, content) in
            [("e.txt", text.clone().into_bytes()), ("e.gz", gzip(text.as_bytes()))]
        {
            let sample = Sample::new(name, content);
            let source = sample.open(&options(Some(IdKind::Numbers), None)).unwrap();
            for (threads, memory) in [(1, 0), (4, 0), (2, 64 << 20)] {
                let error = complaint(drain(source.as_ref(), threads, memory));
                assert_eq!(error.line, Some(bad as u64 + 1), "{name} {threads} {memory}: {error}");
            }
        }
    }
    let named = format!("{}a b c\n\n\nx\n", "# comment\n".repeat(7));
    assert_eq!(complaint(read("e.txt", named)).line, Some(11));
}

#[test]
fn pipes_are_read_once() {
    let (text, edges) = many(200_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for content in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let writer = {
            let path = path.clone();
            std::thread::spawn(move || std::fs::write(path, content).unwrap())
        };
        let source = open(&Disk::new(), &[Input::from(&path)], &InputOptions::default()).unwrap();
        assert_eq!(source.info().bytes, None);
        assert_eq!(drain(source.as_ref(), 2, 1 << 20).unwrap().edges, edges);
        writer.join().unwrap();
        assert!(matches!(drain(source.as_ref(), 2, 1 << 20), Err(GraphError::Usage(_))));
    }
}

#[test]
fn changed_files_are_noticed() {
    let (text, _) = many(100_000);
    for (name, content) in [("e.txt", text.clone().into_bytes()), ("e.gz", gzip(text.as_bytes()))] {
        let sample = Sample::new(name, &content);
        let source = sample.open(&InputOptions::default()).unwrap();
        sample.add(name, [&content[..], &content[..]].concat());
        assert!(complaint(drain(source.as_ref(), 2, 0)).what.contains("changed"));
        // While it is being read.
        let sample = Sample::new(name, &content);
        let source = sample.open(&InputOptions::default()).unwrap();
        let done = AtomicBool::new(false);
        let result = source.read(2, 0, &NoProgress, &|_| {
            if !done.swap(true, Relaxed) {
                std::fs::OpenOptions::new()
                    .append(true)
                    .open(&sample.path)
                    .unwrap()
                    .write_all(b"1 2\n")
                    .unwrap();
            }
            Ok(())
        });
        assert!(complaint(result.map(|()| Read::default())).what.contains("changed"));
    }
    let sample = Sample::new("e.txt", &text);
    let source = sample.open(&InputOptions::default()).unwrap();
    let result = source.read(1, 0, &NoProgress, &|_| {
        std::fs::OpenOptions::new().write(true).open(&sample.path).unwrap().set_len(10).unwrap();
        Ok(())
    });
    let error = complaint(result.map(|()| Read::default()));
    assert!(error.what.contains("changed"), "{error}");
    let sample = Sample::new("e.txt", &text);
    let source = sample.open(&InputOptions::default()).unwrap();
    std::fs::remove_file(&sample.path).unwrap();
    assert!(complaint(drain(source.as_ref(), 2, 0)).what.contains("no such file"));
}

/// Counts, and cancels after some bytes.
struct Counter {
    bytes: AtomicU64,
    most: u64,
}

impl Progress for Counter {
    fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.bytes.load(Relaxed) > self.most
    }
}

#[test]
fn progress_adds_up_and_cancels() {
    let (text, _) = many(200_000);
    let header = format!("source\ttarget\n{text}");
    for (name, content) in
        [("e.txt", header.clone().into_bytes()), ("e.gz", gzip(header.as_bytes()))]
    {
        let sample = Sample::new(name, &content);
        let source = sample.open(&InputOptions::default()).unwrap();
        assert_eq!(source.info().bytes, Some(content.len() as u64));
        let counter = Counter { bytes: AtomicU64::new(0), most: u64::MAX };
        source.read(2, 0, &counter, &|_| Ok(())).unwrap();
        assert_eq!(counter.bytes.into_inner(), content.len() as u64, "{name}");
        let counter = Counter { bytes: AtomicU64::new(0), most: 100 };
        assert!(matches!(source.read(2, 0, &counter, &|_| Ok(())), Err(GraphError::Cancelled)));
    }
}

#[test]
fn errors_of_the_sink_end_it() {
    let (text, _) = many(200_000);
    for (name, content) in [("e.txt", text.clone().into_bytes()), ("e.gz", gzip(text.as_bytes()))] {
        let source = Sample::new(name, content);
        let source = (source.open(&InputOptions::default()).unwrap(), source);
        let calls = AtomicU64::new(0);
        let result = source.0.read(3, 0, &NoProgress, &|_| {
            calls.fetch_add(1, Relaxed);
            Err(GraphError::Usage("full".to_owned()))
        });
        assert!(matches!(result, Err(GraphError::Usage(what)) if what == "full"));
        // Each worker notices with its own first batch, or before.
        assert!(calls.into_inner() <= 3 * 8);
    }
}
