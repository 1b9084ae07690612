//! Matrix Market, DIMACS, Graphalytics and pairs.

use super::*;

fn directed(directed: bool) -> InputOptions {
    InputOptions { directed: Some(directed), ..InputOptions::default() }
}

#[test]
fn matrix_market_entries() {
    let general = "%%MatrixMarket matrix coordinate real general\n% c\n\n3 3 2\n1 2 0.5\n3 1 -2\n";
    let sample = Sample::new("m.mtx", general);
    let source = sample.open(&InputOptions::default()).unwrap();
    let info = source.info();
    assert_eq!(
        (info.format, info.directed, info.weights),
        ("mtx", Some(true), Some(WeightKind::F64))
    );
    assert_eq!(info.declared_vertices, Some(DeclaredVertices::Range { first: 1, count: 3 }));
    assert_eq!(
        drain(source.as_ref(), 2, 1 << 20).unwrap().weighted,
        [([1, 2], 0.5), ([3, 1], -2.0)]
    );
    assert_eq!(sample.read(&options(None, Some(WeightKind::None))).unwrap().weighted, []);
    let pattern = "%%matrixmarket MATRIX Coordinate Pattern Symmetric\r\n2 2 2\r\n1 1\r\n2 1\r\n";
    let sample = Sample::new("m.txt", pattern);
    assert_eq!(sample.open(&InputOptions::default()).unwrap().info().directed, Some(false));
    assert_eq!(sample.read(&InputOptions::default()).unwrap().edges, [[1, 1], [2, 1]]);
    assert_eq!(sample.read(&directed(true)).unwrap().edges, [[1, 1], [1, 2], [2, 1]]);
    assert!(matches!(
        sample.open(&options(None, Some(WeightKind::F32))),
        Err(GraphError::Usage(_))
    ));
    let integer = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 7\n";
    assert_eq!(
        Sample::new("m.mtx", integer).read(&directed(true)).unwrap().weighted,
        [([1, 2], 7.0), ([2, 1], 7.0)]
    );
    let empty = "%%MatrixMarket matrix coordinate pattern general\n5 5 0\n";
    assert_eq!(read("m.mtx", empty).unwrap(), Read::default());
}

#[test]
fn matrix_market_faults() {
    let banner = "%%MatrixMarket matrix coordinate pattern general\n";
    for (text, line) in [
        (format!("{banner}3 4 1\n1 2\n"), Some(2)),
        (format!("{banner}3 3 0\n1 2\n"), None),
        (format!("{banner}3 3 3\n1 2\n2 3\n"), Some(2)),
        (format!("{banner}3 3 3\n1    2\n2    3\n"), None),
        (format!("{banner}3 3 1\n1 4\n"), Some(3)),
        (format!("{banner}3 3 1\n0 1\n"), Some(3)),
        (format!("{banner}3 3 1\n1 2 3 4\n"), Some(3)),
        (format!("{banner}3 3 -1\n1 2\n"), Some(2)),
        (format!("{banner}3 3 1000000000000000000\n1 2\n"), Some(2)),
        (format!("{banner}3 3\n1 2\n"), Some(2)),
        (banner.to_owned(), Some(1)),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n".to_owned(), Some(1)),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n".to_owned(), Some(1)),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 1\n".to_owned(),
            Some(1),
        ),
        ("%%MatrixMarket matrix coordinate real\n".to_owned(), Some(1)),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n".to_owned(), Some(3)),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n".to_owned(), Some(3)),
        ("1 2\n".to_owned(), Some(1)),
    ] {
        let error = complaint(read("m.mtx", &text));
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

#[test]
fn dimacs_arcs_and_edges() {
    let roads = "c road\np sp 4 3\nc arcs\na 1 2 803\na 2 1 803\r\na  3\t4 0\n";
    let sample = Sample::new("r.gr", roads);
    let source = sample.open(&InputOptions::default()).unwrap();
    let info = source.info();
    assert_eq!(
        (info.format, info.directed, info.weights),
        ("dimacs", Some(true), Some(WeightKind::U32))
    );
    assert_eq!(info.declared_vertices, Some(DeclaredVertices::Range { first: 1, count: 4 }));
    assert_eq!(
        drain(source.as_ref(), 2, 1 << 20).unwrap().weighted,
        [([1, 2], 803.0), ([2, 1], 803.0), ([3, 4], 0.0)]
    );
    let unweighted = options(None, Some(WeightKind::None));
    assert_eq!(sample.read(&unweighted).unwrap().edges.len(), 3);
    for (line, sound) in [("a 1 2 803", true), ("a 1 2 803 7", false), ("a 1 2 803  7 \r", false)] {
        let read = Sample::new("r.gr", format!("p sp 4 1\n{line}\n")).read(&unweighted);
        assert_eq!(read.is_ok(), sound, "{line}: a column too many, also where it is not read");
    }
    let edges = Sample::new("g.col", "c x\np edge 3 2\nn 1 5\ne 1 2\ne 3 2\n");
    let source = edges.open(&InputOptions::default()).unwrap();
    assert_eq!((source.info().directed, source.info().weights), (Some(false), None));
    assert_eq!(drain(source.as_ref(), 2, 1 << 20).unwrap().edges, [[1, 2], [3, 2]]);
    for (text, line) in [
        ("p sp 2 1\na 1 3 1\n", Some(2)),
        ("p sp 2 1\na 1 2\n", Some(2)),
        ("p sp 2 1\na 1 2 -1\n", Some(2)),
        ("p sp 2 2\na 1 2 1\n", None),
        ("p sp 2 1\na 1 2 1\na 2 1 1\n", None),
        ("p sp 2 1\nb 1 2 1\n", Some(2)),
        ("p sp 2 1\na 1 2 1 4\n", Some(2)),
        ("c\np max 2 1\na 1 2 1\n", Some(2)),
        ("p sp x 1\na 1 2 1\n", Some(1)),
    ] {
        let error = complaint(read("g.gr", text));
        assert_eq!(error.line, line, "{text}: {error}");
    }
    let dimacs = InputOptions { format: Format::Dimacs, ..InputOptions::default() };
    assert_eq!(complaint(Sample::new("g", "1 2\n").read(&dimacs)).line, Some(1));
}

#[test]
fn graphalytics_takes_what_is_beside() {
    let sample = Sample::new("g.e", "1 2 0.5\n2 3 1\n");
    sample.add("g.v", "1\n2\n3\n4\n");
    let source = sample.open(&InputOptions::default()).unwrap();
    let info = source.info();
    assert_eq!(
        (info.format, info.directed, info.weights),
        ("graphalytics", None, Some(WeightKind::F64))
    );
    let read = drain(source.as_ref(), 2, 1 << 20).unwrap();
    assert_eq!((read.weighted.len(), read.vertices), (2, vec![1, 2, 3, 4]));
    sample.add(
        "g.properties",
        "graph.g.directed = false\ngraph.g.edge-properties.names = weight\n\
         graph.g.edge-properties.types = real\n",
    );
    assert_eq!(sample.open(&InputOptions::default()).unwrap().info().directed, Some(false));
    assert!(
        complaint(read_files(&[&sample.folder.path().join("g.v")], &InputOptions::default()))
            .what
            .contains("vertex file")
    );
    let alone = Sample::new("h.e", "1 2\n");
    assert_eq!(alone.read(&InputOptions::default()).unwrap().edges, [[1, 2]]);
    let said = InputOptions { format: Format::Graphalytics, ..InputOptions::default() };
    assert!(complaint(alone.read(&said)).path.ends_with("h.v"));
}

#[test]
fn pairs() {
    let edges = [[1u32, 2], [u32::MAX, 0], [7, 7]];
    let bytes: Vec<u8> = edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect();
    let expected = [[1, 2], [7, 7], [u64::from(u32::MAX), 0]];
    assert_eq!(read("p.u32", &bytes).unwrap().edges, expected);
    assert_eq!(read("p.el32", &bytes).unwrap().edges, expected);
    let said = InputOptions { format: Format::PairsU32, ..InputOptions::default() };
    assert_eq!(Sample::new("p.bin", &bytes).read(&said).unwrap().edges, expected);
    let wide: Vec<u8> = [u64::MAX, 1].iter().flat_map(|id| id.to_le_bytes()).collect();
    assert_eq!(read("p.u64", &wide).unwrap().edges, [[u64::MAX, 1]]);
    let error = complaint(read("p.u64", [&wide[..], &[0; 5]].concat()));
    assert_eq!(error.offset, Some(16), "{error}");
    let error = complaint(read("p.bin", &bytes));
    assert!(error.advice.contains("pairs-u32") && error.offset.is_some(), "{error}");
    assert!(complaint(read("p.u32", b"")).what.contains("no edges"));
    let sample = Sample::new("p.u32", &bytes);
    assert!(matches!(sample.open(&options(Some(IdKind::Names), None)), Err(GraphError::Usage(_))));
    assert!(matches!(
        sample.open(&options(None, Some(WeightKind::U32))),
        Err(GraphError::Usage(_))
    ));
}

#[test]
fn julia_graphs() {
    let sample = Sample::new("g.jlg", "4,2,u,graph,2,Int64,simplegraph\n1,2\n1,3\n");
    let source = sample.open(&InputOptions::default()).unwrap();
    assert_eq!(source.info().directed, Some(false));
    assert_eq!(
        source.info().declared_vertices,
        Some(DeclaredVertices::Range { first: 1, count: 4 })
    );
    assert_eq!(drain(source.as_ref(), 1, 1 << 20).unwrap().edges, [[1, 2], [1, 3]]);
}

#[test]
fn what_is_not_read_is_refused() {
    for name in
        ["g.parquet", "g.graph", "g.gml", "g.graphml", "g.json", "g.tntp", "g.sg", "g.parquet.gz"]
    {
        let error = complaint(read(name, "1 2\n"));
        assert!(error.what.contains("not read"), "{error}");
    }
    assert!(complaint(read("x", b"PAR1\0\0")).what.contains("Parquet"));
    let forced = InputOptions { format: Format::Text, ..InputOptions::default() };
    assert_eq!(Sample::new("g.graph", "1 2\n").read(&forced).unwrap().edges, [[1, 2]]);
}

#[test]
fn names_of_formats() {
    assert_eq!("mtx".parse::<Format>(), Ok(Format::MatrixMarket));
    assert_eq!(Format::PairsU64.to_string(), "pairs-u64");
    assert!("parquet".parse::<Format>().is_err());
    assert_eq!("string".parse::<IdKind>().unwrap().name(), "string");
    assert!("u32".parse::<IdKind>().is_err());
}
