//! Edge lists as users write them.

use super::*;

const EDGES: [[u64; 2]; 3] = [[1, 2], [2, 3], [30_000_000_000, 18_446_744_073_709_551_615]];

#[test]
fn all_separators_and_line_ends() {
    let big = "30000000000";
    for (from, to) in [
        (" ", "\n"),
        ("\t", "\n"),
        (",", "\n"),
        (";", "\n"),
        ("  ", "\r\n"),
        ("\t\t", "\r\n"),
        (" \t ", "\n"),
        (", ", "\r\n"),
        (" , ", "\n"),
    ] {
        let text = format!("1{from}2{to}2{from}3{to}{big}{from}{}{to}", u64::MAX);
        assert_eq!(read("edges.txt", &text).unwrap().edges, EDGES, "{text:?}");
        let unfinished = text.trim_end();
        assert_eq!(read("edges.txt", unfinished).unwrap().edges, EDGES, "{unfinished:?}");
        let marked = format!("\u{feff}{text}");
        assert_eq!(read("edges.txt", &marked).unwrap().edges, EDGES, "{marked:?}");
    }
}

#[test]
fn comments_blank_lines_and_blanks_are_skipped() {
    let text =
        "# c\n% d\n// e\n\n   \n1\t2\n#3 4\n 2 3 \n\r\n\t# x\n30000000000 18446744073709551615";
    assert_eq!(read("edges.txt", text).unwrap().edges, EDGES);
    assert_eq!(read("e.txt", "# c\n% d\n1\t2\n").unwrap().edges, [[1, 2]]);
}

#[test]
fn headers_are_skipped() {
    for header in [
        "source,target",
        "u,v",
        ":START_ID,:END_ID",
        "FromNodeId,ToNodeId",
        "\"source\",\"target\"",
    ] {
        let text = format!("# {header}\n{header}\n1,2\n2,3\n");
        assert_eq!(read("e.csv", &text).unwrap().edges, [[1, 2], [2, 3]], "{header}");
    }
    assert_eq!(read("e.txt", "FromNodeId ToNodeId\n1 2\n").unwrap().edges, [[1, 2]]);
    let weighted = read("e.csv", "source,target,weight\n1,2,0.5\n").unwrap();
    assert_eq!(weighted.weighted, [([1, 2], 0.5)]);
    let names = read("e.csv", "src,dst,dist\na,b,8\nc,d,9\n").unwrap();
    assert_eq!(names.named_weighted.len(), 2);
    assert_eq!(
        read("e.csv", "from,to\nalice,bob\n").unwrap().named,
        [["alice".to_owned(), "bob".to_owned()]]
    );
    // The first line of names is not lost only because it looks different.
    assert_eq!(read("e.csv", "alice,bob\n1,2\nbob,carol\n").unwrap().named.len(), 3);
    // Nor is a first line that is a mistake rather than a header.
    for first in ["-1 2", "1.5 2", "0x10 3", "x 2 3 4"] {
        let sample = Sample::new("e.txt", format!("{first}\n1 2\n3 4\n"));
        let error = complaint(sample.read(&options(Some(IdKind::Numbers), Some(WeightKind::None))));
        assert_eq!(error.line, Some(1), "{first}");
    }
}

#[test]
fn ids_are_found_out() {
    let kind =
        |text: &str| Sample::new("e.txt", text).open(&InputOptions::default()).unwrap().info().ids;
    assert_eq!(kind("1 2\n"), IdKind::Numbers);
    assert_eq!(kind("1 2\na 3\n"), IdKind::Names);
    assert_eq!(kind("# nothing\n"), IdKind::Numbers);
    // A number that is no id is a mistake rather than a name.
    for bad in ["-1", "+1", "1.0", "1e3", "18446744073709551616", "-0"] {
        let text = format!("1 2\n3 {bad}\n");
        assert_eq!(kind(&text), IdKind::Numbers, "{bad}");
        let error = complaint(read("e.txt", &text));
        assert_eq!(error.line, Some(2), "{error}");
        assert!(error.advice.contains("--ids string"), "{error}");
        let named = Sample::new("e.txt", &text).read(&options(Some(IdKind::Names), None)).unwrap();
        assert!(named.named.contains(&["3".to_owned(), bad.to_owned()]));
    }
    let dense = Sample::new("e.txt", "007 2\n");
    let source = dense.open(&options(Some(IdKind::Dense), None)).unwrap();
    assert_eq!(source.info().ids, IdKind::Dense);
    assert_eq!(drain(source.as_ref(), 1, 1 << 20).unwrap().edges, [[7, 2]]);
}

#[test]
fn names_of_every_kind() {
    let named = |name: &str, text: &str| read(name, text).unwrap().named;
    let pair = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
    assert_eq!(named("e.txt", "alice bob\n"), [pair("alice", "bob")]);
    assert_eq!(named("e.txt", "\"New York\" Rio\n"), [pair("New York", "Rio")]);
    assert_eq!(named("e.tsv", "New York\tRio de Janeiro\n"), [pair("New York", "Rio de Janeiro")]);
    assert_eq!(named("e.csv", "\"a, \"\"b\"\"\" , c \n"), [pair("a, \"b\"", "c")]);
    assert_eq!(named("e.txt", "жук слон\r\n"), [pair("жук", "слон")]);
    assert_eq!(named("e.csv", "http://a/?x=1,http://b\n"), [pair("http://a/?x=1", "http://b")]);
    let weighted = read("e.txt", "alice bob 2.5\nbob carol -1\n").unwrap();
    assert_eq!(
        weighted.named_weighted,
        [(pair("alice", "bob"), 2.5), (pair("bob", "carol"), -1.0)]
    );
    for (text, line) in [("a,b\nc,\n", 2), ("a,b\nc\n", 2), ("a,b\n\"c,d\n", 2), ("a,b\n,d\n", 2)] {
        assert_eq!(complaint(read("e.csv", text)).line, Some(line), "{text:?}");
    }
    let latin = complaint(read("e.csv", b"a,b\nc,\xe9\n"));
    assert_eq!((latin.line, latin.what.contains("UTF-8")), (Some(2), true), "{latin}");
}

#[test]
fn weights_are_found_out() {
    let weights = |text: &str| {
        Sample::new("e.txt", text).open(&InputOptions::default()).unwrap().info().weights
    };
    assert_eq!(weights("1 2\n"), None);
    assert_eq!(weights("1 2 3\n2 3 4294967295\n"), Some(WeightKind::U32));
    assert_eq!(weights("1 2 3\n2 3 4294967296\n"), Some(WeightKind::F64));
    assert_eq!(weights("1 2 3\n2 3 -0.5\n"), Some(WeightKind::F64));
    assert_eq!(weights("1 2 x\n2 3 y\n"), None);
    assert_eq!(weights("1 2 x\n2 3 4\n"), Some(WeightKind::U32));
    let read = read("e.txt", "1 2 -0.5\n3 4 1e3\n5 6 7\r\n").unwrap();
    assert_eq!(read.weighted, [([1, 2], -0.5), ([3, 4], 1000.0), ([5, 6], 7.0)]);
}

/// A weight that is none ends the reading with its line: the column is not left out silently, and a
/// decimal comma separates nothing.
#[test]
fn a_column_with_a_number_has_weights() {
    for text in [
        "1 2 0.5\n2 3 NA\n",
        "1 2 0.5abc\n2 3 1\n",
        "1 2 4\n2 3 0x10\n",
        "1;2;0,5\n2;3;1,25\n",
        "1 2 1,000\n2 3 1,001\n",
        "1,2,3\n2,3,-\n",
    ] {
        let error = complaint(read("e.txt", text));
        assert!(error.line.is_some() && error.what.contains("weight"), "{text:?}: {error}");
    }
    assert_eq!(read("e.txt", "1 2 knows\n2 3 likes\n").unwrap().edges, [[1, 2], [2, 3]]);
    // What no name says of a column is not guessed, wherever the column begins.
    for more in ["1 2 5", "1 2 5 6 7"] {
        let error = complaint(read("e.txt", format!("{}{more}\n", "1 2\n".repeat(3000))));
        assert_eq!((error.line, error.what.contains("columns")), (Some(3001), true), "{error}");
    }
    let weighted = read("e.csv", "1;2;0.5\n2;3;1\n").unwrap().weighted;
    assert_eq!(weighted, [([1, 2], 0.5), ([2, 3], 1.0)]);
}

#[test]
fn weights_are_validated() {
    let with = |text: &str, kind| Sample::new("e.txt", text).read(&options(None, Some(kind)));
    assert_eq!(with("1 2 3\n", WeightKind::None).unwrap().weighted, []);
    assert_eq!(with("1 2 3\n", WeightKind::U32).unwrap().weighted, [([1, 2], 3.0)]);
    for bad in ["nan", "NaN", "inf", "-inf", "1e999", "x", "", "-nan"] {
        for kind in [WeightKind::F32, WeightKind::F64] {
            let error = complaint(with(&format!("1 2 1\n1 2 {bad}\n"), kind));
            assert_eq!(error.line, Some(2), "{bad}: {error}");
        }
    }
    for bad in ["-1", "4294967296", "1.0", "1e3"] {
        assert_eq!(
            complaint(with(&format!("1 2 1\n1 2 {bad}\n"), WeightKind::U32)).line,
            Some(2),
            "{bad}"
        );
    }
    assert_eq!(complaint(with("1 2 1\n1 2 1e39\n", WeightKind::F32)).line, Some(2));
    assert_eq!(with("1 2 1e39\n", WeightKind::F64).unwrap().weighted, [([1, 2], 1e39)]);
    // Found out by the first lines, and broken later.
    let error = complaint(read("e.txt", format!("{}1 2 0.5\n", "1 2 3\n".repeat(2000))));
    assert_eq!(error.line, Some(2001));
    assert!(error.advice.contains("--weights f64"), "{error}");
    assert_eq!(complaint(read("e.txt", "1 2 3\n1 2\n")).line, Some(2));
}

#[test]
fn columns_beyond_the_third() {
    let konect = "% asym unweighted\n1 2 1 1082008561\n2 3 1 1082008562\n";
    let sample = Sample::new("out.konect", konect);
    let source = sample.open(&InputOptions::default()).unwrap();
    assert_eq!(source.info().directed, Some(true));
    assert_eq!(drain(source.as_ref(), 2, 1 << 20).unwrap().weighted.len(), 2);
    let ragged = "1 2 3 4\n5 6\n7 8 9 10 11\n";
    let sample = Sample::new("e.txt", ragged);
    assert_eq!(sample.read(&options(None, Some(WeightKind::None))).unwrap().edges.len(), 3);
    assert!(complaint(sample.read(&InputOptions::default())).what.contains("adjacency"));
    for text in ["1\n2\n", "1 2\nx\n", "1 2\n3\n"] {
        let error = complaint(read("e.txt", text));
        assert_eq!(error.line, Some(if text.starts_with("1\n") { 1 } else { 2 }), "{error}");
    }
}

#[test]
fn directions_in_comments() {
    let directed = |text: &str| {
        Sample::new("e.txt", text).open(&InputOptions::default()).unwrap().info().directed
    };
    assert_eq!(directed("# Undirected graph: x.txt\n1 2\n"), Some(false));
    assert_eq!(
        directed("# Directed graph (each unordered pair of nodes is saved once): x\n1 2\n"),
        Some(true)
    );
    assert_eq!(directed("# my graph\n1 2\n"), None);
    assert_eq!(directed("% sym weighted\n1 2\n"), Some(false));
    let said = InputOptions { directed: Some(true), ..InputOptions::default() };
    assert_eq!(
        Sample::new("e.txt", "% sym\n1 2\n").open(&said).unwrap().info().directed,
        Some(true)
    );
}

#[test]
fn csv_is_separated_by_commas_even_in_one_line() {
    let csv = InputOptions { format: Format::Csv, ..InputOptions::default() };
    assert_eq!(
        Sample::new("e", "a b,c d\n").read(&csv).unwrap().named,
        [["a b".to_owned(), "c d".to_owned()]]
    );
    assert_eq!(Sample::new("e", "1;2\n").read(&csv).unwrap().edges, [[1, 2]]);
    assert_eq!(complaint(Sample::new("e", "1 2\n").read(&csv)).line, Some(1));
    assert_eq!(read("e.csv", "\"1\",\"2\"\n\"3\",\"4\"\n").unwrap().edges, [[1, 2], [3, 4]]);
}

#[test]
fn vertex_files() {
    let sample = Sample::new("e.txt", "1 2\n");
    let options = |path| InputOptions { vertices: vec![path], ..InputOptions::default() };
    let numbers = options(sample.add("v.txt", "# all\n1\n2\n99\n"));
    assert_eq!(
        sample.open(&numbers).unwrap().info().declared_vertices,
        Some(DeclaredVertices::Listed)
    );
    assert_eq!(sample.read(&numbers).unwrap().vertices, [1, 2, 99]);
    let table = options(sample.add("v.csv", "id,age\n5,30\n"));
    assert_eq!(sample.read(&table).unwrap().vertices, [5]);
    let names = options(sample.add("n.txt", "1\nNew York\n"));
    let read = sample.read(&names).unwrap();
    assert_eq!(
        (read.named.len(), read.named_vertices),
        (1, vec!["1".to_owned(), "New York".to_owned()])
    );
    let wrong = InputOptions { ids: Some(IdKind::Numbers), ..names };
    assert_eq!(complaint(sample.read(&wrong)).line, Some(2));
    let lonely = Sample::new("e.txt", "");
    let vertices = options(lonely.add("v.txt", "7"));
    assert_eq!(lonely.read(&vertices).unwrap().vertices, [7]);
}

#[test]
fn several_files() {
    let sample = Sample::new("a.txt", "1 2\n");
    let (csv, other, pairs) = (
        sample.add("b.csv", "3,4\n5,6"),
        sample.add("c.txt", "a b\n"),
        sample.add("d.u32", [0u8; 8]),
    );
    let weighted = sample.add("w.txt", "1 2 3\n");
    let all = |paths: &[&Path]| read_files(paths, &InputOptions::default());
    assert_eq!(all(&[&sample.path, &csv]).unwrap().edges, [[1, 2], [3, 4], [5, 6]]);
    assert_eq!(all(&[&sample.path, &other]).unwrap().named.len(), 2);
    assert_eq!(complaint(all(&[&sample.path, &pairs])).path, pairs);
    assert_eq!(complaint(all(&[&sample.path, &weighted])).path, weighted);
    // So many that their beginnings are not kept.
    let many: Vec<PathBuf> = (0..20)
        .map(|index| sample.add(&format!("{index}.csv"), format!("source,target\n{index},1\n")))
        .collect();
    let many: Vec<&Path> = many.iter().map(PathBuf::as_path).collect();
    assert_eq!(all(&many).unwrap().edges.len(), 20);
    let empty = sample.add("empty.txt", "");
    assert_eq!(all(&[&weighted, &empty]).unwrap().weighted.len(), 1);
    assert_eq!(complaint(all(&[&sample.path, &sample.add("bad.txt", "1 2\n3\n")])).line, Some(2));
}
