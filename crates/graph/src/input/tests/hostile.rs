//! Texts that nobody should write, and things that are no texts.

use super::*;

fn numbers() -> InputOptions {
    options(Some(IdKind::Numbers), None)
}

/// Where numbers are wanted, the line of the first fault.
fn faulty_line(text: impl AsRef<[u8]>) -> Option<u64> {
    let error = complaint(Sample::new("e.txt", text).read(&numbers()));
    assert!(!error.what.is_empty());
    error.line
}

#[test]
fn ids_that_are_none() {
    let far = "9".repeat(400);
    for bad in [
        "18446744073709551616",
        &far,
        "+1",
        "-1",
        "-0",
        "1e3",
        "1.0",
        "0x10",
        "\u{661}\u{662}",
        "1_000",
        "1a",
        "\"1",
        "１",
    ] {
        assert_eq!(faulty_line(format!("1 2\n{bad} 5\n7 8\n")), Some(2), "{bad}");
        assert_eq!(faulty_line(format!("1 2\n5 {bad}\n")), Some(2), "{bad}");
        assert_eq!(faulty_line(format!("1 2\n5 {bad}")), Some(2), "{bad}");
    }
    assert_eq!(faulty_line("1 99999999999999999999999\n"), Some(1));
    for good in [
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775808",
        "18446744073709551615",
        "007",
        "1099511627776",
    ] {
        let read = Sample::new("e.txt", format!("{good} 1\n")).read(&numbers()).unwrap();
        assert_eq!(read.edges, [[good.parse().unwrap(), 1]]);
    }
}

#[test]
fn lines_that_are_none() {
    assert_eq!(faulty_line("1\n2\n"), Some(1));
    assert_eq!(faulty_line("1 2\nx\n"), Some(2));
    assert_eq!(faulty_line("1,2\n3,\n"), Some(2));
    assert_eq!(faulty_line("1,2\n,3\n"), Some(2));
    assert_eq!(faulty_line("1\t2\n1\t\t3\n3\t4\n\t5\n").map(|_| ()), Some(()));
    assert_eq!(faulty_line("1,2\n3 4\n"), Some(2));
    assert_eq!(faulty_line("1;2;0,5\n1;2;3\n"), Some(1));
    for text in ["1 2\r3 4\r", "1 2\r3 4\n5 6\n", "# c\r1 2\r"] {
        let error = complaint(read("e.txt", text));
        assert!(
            error.what.contains("carriage return") && error.line == Some(1),
            "{text:?}: {error}"
        );
    }
    // Mixed line ends are no fault.
    assert_eq!(read("e.txt", "1 2\r\n3 4\n5 6\r\r\n").unwrap().edges.len(), 3);
}

#[test]
fn bytes_that_are_no_text() {
    for (content, offset) in
        [(&b"1 2\n3\x004\n"[..], 5), (b"\0\0\0\0", 0), (b"1 2\n3 4\n\0", 8), (b"# \0\n1 2\n", 2)]
    {
        for name in ["e.txt", "e.csv", "e"] {
            let error = complaint(read(name, content));
            assert_eq!(error.offset, Some(offset), "{error}");
            assert!(error.what.contains("binary"), "{error}");
        }
    }
    // Beyond what is looked at when it is opened.
    for tail in ["3\u{0}4\n", "3 4 \u{0}\n", "#\u{0}\n"] {
        let text = format!("{}{tail}", "1 2\n".repeat(500_000));
        let at = text.find('\0').unwrap() as u64;
        for ids in [IdKind::Numbers, IdKind::Names] {
            let weights = if tail.starts_with("3 4") { Some(WeightKind::None) } else { None };
            let error = complaint(Sample::new("e.txt", &text).read(&options(Some(ids), weights)));
            assert_eq!(error.offset, Some(at), "{error}");
        }
    }
    assert!(complaint(read("e.txt", b"\xff\xfe1\0 \x002\0\n\0")).what.contains("UTF-16"));
    assert!(complaint(read("e.txt", b"\xfe\xff\x001\0 \x002\0\n")).what.contains("UTF-16"));
    let all: Vec<u8> = (0..=255).collect();
    complaint(read("e.txt", all.repeat(40)));
    assert_eq!(faulty_line(b"1 2\n\xff\xfe 3\n"), Some(2));
}

#[test]
fn nothing_at_all() {
    for text in ["", "\n", "   \n\t\n", "# c\n", "# c", "\u{feff}", "source,target\n", "\r\n\r\n"] {
        let error = complaint(read("e.txt", text));
        assert!(error.what.contains("no edges"), "{text:?}: {error}");
        assert_eq!(error.line, None);
    }
}

#[test]
fn lines_that_never_end() {
    for start in ["1 2\n3 4 ", "1 2\n#", "1 2\n", "1 2\n3 "] {
        for fill in ["5", "x", " ", "5 "] {
            let text = format!("{start}{}", fill.repeat((3 << 20) / fill.len()));
            if text.trim_ascii_end().len() < 1000 {
                continue;
            }
            for weights in [None, Some(WeightKind::None)] {
                let sample = Sample::new("e.txt", &text);
                let error = complaint(sample.read(&options(Some(IdKind::Numbers), weights)));
                assert_eq!(error.line, Some(2), "{start:?} {fill:?}: {error}");
                assert!(error.what.contains("longer than 1 MiB"), "{error}");
            }
            let error = complaint(
                Sample::new("e.txt", text + "\n7 8\n")
                    .read(&options(Some(IdKind::Names), Some(WeightKind::None))),
            );
            assert_eq!(error.line, Some(2), "{start:?} {fill:?}: {error}");
        }
    }
    // The first fault is reported even so.
    let text = format!("1 2\nx 4\n#{}", "x".repeat(3 << 20));
    assert_eq!(faulty_line(text), Some(2));
}

#[test]
fn many_columns_many_comments_many_copies() {
    let wide = format!("1 2{}\n", " 3".repeat(998));
    assert_eq!(
        Sample::new("e", wide).read(&options(None, Some(WeightKind::None))).unwrap().edges,
        [[1, 2]]
    );
    let comments = format!("{}\n1,2\n", "# c\n\n".repeat(600_000));
    assert_eq!(read("e.txt", comments).unwrap().edges, [[1, 2]]);
    let copies = read("e.txt", "5 5\n".repeat(1_000_000)).unwrap();
    assert_eq!(copies.edges.len(), 1_000_000);
}

#[test]
fn things_that_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        complaint(read_files(&[folder.path()], &InputOptions::default())).what.contains("folder")
    );
    let missing = folder.path().join("none\n\u{1b}[31m.txt");
    let error = complaint(read_files(&[&missing], &InputOptions::default()));
    assert!(error.what.contains("no such file") && error.path == missing, "{error}");
    complaint(read_files(&[&folder.path().join("x/y")], &InputOptions::default()));
    assert!(
        complaint(read_files(&[Path::new("/dev/zero")], &InputOptions::default()))
            .what
            .contains("binary")
    );
    assert!(
        complaint(read_files(&[Path::new("/dev/null")], &InputOptions::default()))
            .what
            .contains("no edges")
    );
    let twice = [Input::from("-"), Input::from("-")];
    assert!(matches!(
        open(&Disk::new(), &twice, &InputOptions::default()),
        Err(GraphError::Usage(_))
    ));
    assert!(matches!(open(&Disk::new(), &[], &InputOptions::default()), Err(GraphError::Usage(_))));
    use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe.txt"));
    std::fs::write(&odd, "1 2\n").unwrap();
    assert_eq!(read_files(&[&odd], &InputOptions::default()).unwrap().edges, [[1, 2]]);
    std::fs::set_permissions(&odd, std::fs::Permissions::from_mode(0o000)).unwrap();
    match read_files(&[&odd], &InputOptions::default()) {
        // Root may read everything.
        Ok(_) => {}
        Err(GraphError::Input(error)) => assert!(error.what.contains("permission"), "{error}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_failing_operation_is_an_error() {
    use outercore_storage::{Fault, FaultPlan};
    let text = "1 2\n".repeat(100_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    for content in [
        text.clone().into_bytes(),
        gzip.finish().unwrap(),
        zstd::encode_all(text.as_bytes(), 1).unwrap(),
    ] {
        let sample = Sample::new("e.txt", content);
        let attempt = |plan: FaultPlan| {
            let plan = std::sync::Arc::new(plan);
            let disk = Disk::with_faults(plan.clone());
            let result = open(&disk, &[Input::from(&sample.path)], &InputOptions::default());
            (result.and_then(|source| drain(source.as_ref(), 1, 1 << 20)), plan.operations())
        };
        let (good, operations) = attempt(FaultPlan::count_only());
        let good = good.unwrap();
        assert!(operations > 4);
        for n in 0..=operations {
            for fault in [Fault::Short, Fault::Interrupted] {
                let (result, _) = attempt(FaultPlan::nth(n, fault));
                assert_eq!(result.unwrap(), good);
            }
            match attempt(FaultPlan::nth(n, Fault::Error(libc::EIO))) {
                (Ok(read), _) => assert_eq!(read, good),
                (Err(error), _) => assert!(matches!(error, GraphError::Storage(_)), "{error}"),
            }
            assert!(
                n == operations || attempt(FaultPlan::from(n, Fault::Error(libc::EIO))).0.is_err()
            );
        }
    }
}
