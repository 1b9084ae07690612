mod limits;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use ::parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int32Array, Int64Array, LargeStringArray, RecordBatch, RecordBatchIterator, StringArray,
    StringViewArray, UInt32Array, UInt64Array, types::Int32Type,
};
use outercore_graph::{
    WeightKind,
    input::{DeclaredVertices, EdgeBatch, Ends, IdKind, Item, Names, NoProgress, VertexBatch},
};
use outercore_storage::{Fault, FaultPlan};

use super::*;

/// Source, target, weight; as text.
type Edge = (String, String, Option<f64>);

fn parquet_file(dir: &Path, name: &str, columns: Vec<(&str, ArrayRef)>, group: usize) -> PathBuf {
    let path = dir.join(name);
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(&path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn texts(names: &Names) -> Vec<String> {
    (0..names.len()).map(|index| String::from_utf8(names.get(index).to_vec()).unwrap()).collect()
}

/// Everything that a source has, in order.
fn read(source: &dyn EdgeSource, threads: usize) -> Result<(Vec<Edge>, Vec<String>)> {
    let (edges, vertices) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    source.read(threads, 64 << 20, &NoProgress, &|item| {
        match item {
            Item::Vertices(VertexBatch::Numbers(ids)) => {
                vertices.lock().unwrap().extend(ids.iter().map(u64::to_string))
            }
            Item::Vertices(VertexBatch::Names(names)) => {
                vertices.lock().unwrap().extend(texts(&names))
            }
            Item::Edges(batch) => {
                let ends: Vec<[String; 2]> = match batch.ends {
                    Ends::Numbers(pairs) => {
                        pairs.iter().map(|pair| pair.map(|id| id.to_string())).collect()
                    }
                    Ends::Names(names) => texts(&names)
                        .chunks(2)
                        .map(|pair| [pair[0].clone(), pair[1].clone()])
                        .collect(),
                };
                let weight = |row: usize| batch.weights.as_ref().map(|weights| weights[row]);
                edges.lock().unwrap().extend(
                    ends.into_iter()
                        .enumerate()
                        .map(|(row, [source, target])| (source, target, weight(row))),
                );
            }
        }
        Ok(())
    })?;
    let (mut edges, mut vertices) = (edges.into_inner().unwrap(), vertices.into_inner().unwrap());
    edges.sort_by(|a, b| a.partial_cmp(b).unwrap());
    vertices.sort();
    Ok((edges, vertices))
}

fn opened(path: &Path, options: &InputOptions) -> Result<Box<dyn EdgeSource>> {
    open(&Disk::new(), &[path.into()], EdgeFormat::default(), options)
}

fn numbers(values: &[u64]) -> ArrayRef {
    Arc::new(UInt64Array::from(values.to_vec()))
}

fn edge(source: &str, target: &str, weight: Option<f64>) -> Edge {
    (source.to_owned(), target.to_owned(), weight)
}

#[test]
fn integers_of_any_kind() {
    let dir = tempfile::tempdir().unwrap();
    let sources: [ArrayRef; 4] = [
        numbers(&[1, 2, 3]),
        Arc::new(UInt32Array::from(vec![1, 2, 3])),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
        Arc::new(Int32Array::from(vec![1, 2, 3])),
    ];
    for (names, source) in [["src", "dst"], ["source", "target"], ["FROM", "To"], ["src", "dst"]]
        .into_iter()
        .zip(sources)
    {
        let path = parquet_file(
            dir.path(),
            "e.parquet",
            vec![
                ("extra", numbers(&[0, 0, 0])),
                (names[1], numbers(&[u64::MAX, 3, 1])),
                (names[0], source),
            ],
            2,
        );
        let source = opened(&path, &InputOptions::default()).unwrap();
        assert_eq!(
            (source.info().ids, source.info().weights, source.info().directed),
            (IdKind::Numbers, None, None)
        );
        let (edges, _) = read(&*source, 3).unwrap();
        assert_eq!(
            edges,
            [edge("1", "18446744073709551615", None), edge("2", "3", None), edge("3", "1", None)]
        );
    }
}

#[test]
fn strings_of_any_kind() {
    let dir = tempfile::tempdir().unwrap();
    let words = vec!["x", "", "a,\u{e9}"];
    let sources: [ArrayRef; 5] = [
        Arc::new(StringArray::from(words.clone())),
        Arc::new(LargeStringArray::from(words.clone())),
        Arc::new(StringViewArray::from(words.clone())),
        Arc::new(words.iter().copied().collect::<DictionaryArray<Int32Type>>()),
        Arc::new(BinaryArray::from_iter_values(words.iter())),
    ];
    for source in sources {
        let path = parquet_file(
            dir.path(),
            "e.parquet",
            vec![("src", source.clone()), ("dst", source)],
            10,
        );
        let source = opened(&path, &InputOptions::default()).unwrap();
        assert_eq!(source.info().ids, IdKind::Names);
        assert_eq!(
            read(&*source, 1).unwrap().0,
            [edge("", "", None), edge("a,\u{e9}", "a,\u{e9}", None), edge("x", "x", None)]
        );
    }
}

#[test]
fn the_user_decides_on_ids() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet_file(
        dir.path(),
        "e.parquet",
        vec![("src", Arc::new(StringArray::from(vec!["7"])) as _), ("dst", numbers(&[8]))],
        10,
    );
    for ids in [IdKind::Names, IdKind::Numbers] {
        let source =
            opened(&path, &InputOptions { ids: Some(ids), ..InputOptions::default() }).unwrap();
        assert_eq!(source.info().ids, ids);
        assert_eq!(read(&*source, 1).unwrap().0, [edge("7", "8", None)]);
    }
}

#[test]
fn weights_are_read_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let write = |weights: ArrayRef| {
        parquet_file(
            dir.path(),
            "e.parquet",
            vec![("src", numbers(&[1, 2])), ("dst", numbers(&[2, 3])), ("weight", weights)],
            10,
        )
    };
    let with = |kind| InputOptions { weights: Some(kind), ..InputOptions::default() };
    let hundredths = Decimal128Array::from(vec![500, 600]).with_precision_and_scale(5, 2).unwrap();
    let keys = Int32Array::from(vec![1, 0]);
    let keyed = DictionaryArray::new(keys, Arc::new(Float64Array::from(vec![6.0, 5.0])));
    let kinds: [(ArrayRef, WeightKind); 7] = [
        (Arc::new(hundredths), WeightKind::F64),
        (Arc::new(keyed), WeightKind::F64),
        (Arc::new(Int8Array::from(vec![5, 6])), WeightKind::F64),
        (Arc::new(UInt32Array::from(vec![5, 6])), WeightKind::U32),
        (Arc::new(Int64Array::from(vec![5, 6])), WeightKind::F64),
        (Arc::new(Float32Array::from(vec![5.0, 6.0])), WeightKind::F32),
        (Arc::new(Float64Array::from(vec![5.0, 6.0])), WeightKind::F64),
    ];
    for (array, kind) in kinds {
        let source = opened(&write(array), &InputOptions::default()).unwrap();
        assert_eq!(source.info().weights, Some(kind));
        assert_eq!(
            read(&*source, 1).unwrap().0,
            [edge("1", "2", Some(5.0)), edge("2", "3", Some(6.0))]
        );
    }
    let path = write(Arc::new(Float64Array::from(vec![1.0, f64::NAN])));
    let error =
        read(&*opened(&path, &InputOptions::default()).unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("e.parquet: row 2: the weight NaN is not finite"), "{error}");
    assert_eq!(read(&*opened(&path, &with(WeightKind::None)).unwrap(), 1).unwrap().0.len(), 2);
    let path = write(Arc::new(Float64Array::from(vec![1.5, 1.0])));
    let error = read(&*opened(&path, &with(WeightKind::U32)).unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("row 1: the weight 1.5 is not an unsigned"), "{error}");
    let path = write(Arc::new(StringArray::from(vec!["1", "2"])));
    assert!(
        opened(&path, &InputOptions::default())
            .err()
            .unwrap()
            .to_string()
            .contains("weights are numbers")
    );
}

#[test]
fn the_first_bad_row_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut targets: Vec<Option<i64>> = (0..1000).map(Some).collect();
    (targets[777], targets[900]) = (None, Some(-5));
    let sources: Vec<u64> = (0..1000).collect();
    let path = parquet_file(
        dir.path(),
        "e.parquet",
        vec![("src", numbers(&sources)), ("dst", Arc::new(Int64Array::from(targets)))],
        100,
    );
    for threads in [1, 4] {
        let error = read(&*opened(&path, &InputOptions::default()).unwrap(), threads).unwrap_err();
        assert!(matches!(error, GraphError::Input(_)));
        assert!(error.to_string().contains("row 778: column dst has no value"), "{error}");
    }
    let path = parquet_file(
        dir.path(),
        "n.parquet",
        vec![("src", numbers(&[1])), ("dst", Arc::new(Int64Array::from(vec![-5])))],
        100,
    );
    let error =
        read(&*opened(&path, &InputOptions::default()).unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("row 1: column dst: -5 is not an unsigned"), "{error}");
    let names = BinaryArray::from_vec(vec![b"good", b"b\xffd"]);
    let path = parquet_file(
        dir.path(),
        "b.parquet",
        vec![("src", Arc::new(names)), ("dst", numbers(&[1, 2]))],
        100,
    );
    let error =
        read(&*opened(&path, &InputOptions::default()).unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("row 2: column src: b\u{fffd}d is not UTF-8 text"), "{error}");
}

#[test]
fn tables_that_are_no_edges_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let say = |columns| {
        let path = parquet_file(dir.path(), "e.parquet", columns, 10);
        opened(&path, &InputOptions::default()).err().unwrap().to_string()
    };
    let error = say(vec![("a", numbers(&[1])), ("dst", numbers(&[1]))]);
    assert!(error.contains("no column src or source or from; the columns are a, dst"), "{error}");
    let error =
        say(vec![("src", Arc::new(Float64Array::from(vec![1.0])) as _), ("dst", numbers(&[1]))]);
    assert!(error.contains("ids are integers or strings"), "{error}");
    let error = say(vec![("src", numbers(&[])), ("dst", numbers(&[]))]);
    assert!(error.contains("there is no edge"), "{error}");
}

#[test]
fn vertices_come_from_a_table_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let edges = parquet_file(
        dir.path(),
        "e.parquet",
        vec![("src", numbers(&[1])), ("dst", numbers(&[2]))],
        10,
    );
    let vertices = parquet_file(dir.path(), "v.parquet", vec![("id", numbers(&[2, 9]))], 10);
    let source =
        opened(&edges, &InputOptions { vertices: vec![vertices], ..InputOptions::default() })
            .unwrap();
    assert_eq!(source.info().declared_vertices, Some(DeclaredVertices::Listed));
    assert_eq!(
        read(&*source, 2).unwrap(),
        (vec![edge("1", "2", None)], vec!["2".to_owned(), "9".to_owned()])
    );
}

#[test]
fn damage_is_the_inputs_fault_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let many: Vec<u64> = (0..300).map(|number| number * 31).collect();
    let words: ArrayRef =
        Arc::new(StringArray::from_iter_values(many.iter().map(|number| format!("w{number}"))));
    let path =
        parquet_file(dir.path(), "e.parquet", vec![("src", words), ("dst", numbers(&many))], 100);
    let whole = std::fs::read(&path).unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut random = 1u64;
    for round in 0..3000 {
        let mut bytes = whole.clone();
        if round < 600 {
            bytes.truncate(whole.len() * round / 600);
        } else {
            for _ in 0..1 + round % 3 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let at = (random >> 33) as usize % bytes.len();
                bytes[at] = (random >> 20) as u8;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let done = opened(&path, &InputOptions::default()).and_then(|source| read(&*source, 2));
        assert!(
            matches!(done, Ok(_) | Err(GraphError::Input(_) | GraphError::Memory { .. })),
            "round {round}: {:?}",
            done.err()
        );
    }
    std::panic::set_hook(hook);
}

#[test]
fn a_failing_device_is_not_the_inputs_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = parquet_file(
        dir.path(),
        "e.parquet",
        vec![("src", numbers(&[1])), ("dst", numbers(&[2]))],
        10,
    );
    let count = Arc::new(FaultPlan::count_only());
    let run = |disk: Disk| {
        open(&disk, &[path.clone().into()], EdgeFormat::Parquet, &InputOptions::default())
            .and_then(|source| read(&*source, 1))
    };
    run(Disk::with_faults(count.clone())).unwrap();
    for number in 0..count.operations() {
        // EIO
        let done = run(Disk::with_faults(Arc::new(FaultPlan::nth(number, Fault::Error(5)))));
        assert!(
            matches!(done, Ok(_) | Err(GraphError::Storage(_))),
            "operation {number}: {:?}",
            done.err()
        );
    }
}

fn stream(batches: Vec<RecordBatch>, options: &InputOptions) -> Result<ArrowEdges> {
    let schema = batches[0].schema();
    ArrowEdges::new(
        Box::new(RecordBatchIterator::new(batches.into_iter().map(Ok), schema)),
        options,
    )
}

#[test]
fn arrow_streams_are_edges() {
    let batch = |from: u64, to: u64| {
        let ids: Vec<u64> = (from..to).collect();
        RecordBatch::try_from_iter(vec![
            ("src", numbers(&ids)),
            ("dst", numbers(&ids)),
            ("weight", Arc::new(Float64Array::from(vec![0.5; ids.len()])) as _),
        ])
        .unwrap()
    };
    for threads in [1, 3] {
        let source =
            stream(vec![batch(0, 5), batch(5, 5), batch(5, 200_000)], &InputOptions::default())
                .unwrap();
        assert_eq!(source.info().weights, Some(WeightKind::F64));
        let (edges, _) = read(&source, threads).unwrap();
        assert_eq!(edges.len(), 200_000);
        assert!(
            edges.iter().all(|(source, target, weight)| source == target && *weight == Some(0.5))
        );
        assert!(read(&source, 1).unwrap_err().to_string().contains("once only"));
    }
}

#[test]
fn a_stream_names_its_first_bad_row() {
    let values: Vec<Option<i64>> =
        (0..300_000).map(|number| (number % 100_000 != 99_999).then_some(number)).collect();
    let array: ArrayRef = Arc::new(Int64Array::from(values));
    let batch = RecordBatch::try_from_iter(vec![("src", array.clone()), ("dst", array)]).unwrap();
    for threads in [1, 4] {
        let error = read(&stream(vec![batch.clone()], &InputOptions::default()).unwrap(), threads)
            .unwrap_err()
            .to_string();
        assert!(error.contains("Arrow stream: row 100000: column src has no value"), "{error}");
    }
}

#[test]
fn formats_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let parquet = parquet_file(
        dir.path(),
        "no_extension",
        vec![("src", numbers(&[1])), ("dst", numbers(&[2]))],
        10,
    );
    let text = dir.path().join("e.txt");
    std::fs::write(&text, "1 2\n").unwrap();
    assert_eq!(opened(&parquet, &InputOptions::default()).unwrap().info().format, "parquet");
    assert_eq!(opened(&text, &InputOptions::default()).unwrap().info().format, "text");
    let both = open(
        &Disk::new(),
        &[parquet.into(), text.clone().into()],
        EdgeFormat::default(),
        &InputOptions::default(),
    );
    assert!(both.err().unwrap().to_string().contains("is Parquet"));
    let fake = dir.path().join("e.parquet");
    std::fs::copy(text, &fake).unwrap();
    assert!(
        opened(&fake, &InputOptions::default())
            .err()
            .unwrap()
            .to_string()
            .contains("not a whole Parquet file")
    );
    assert_eq!("parquet".parse(), Ok(EdgeFormat::Parquet));
    assert!("xml".parse::<EdgeFormat>().unwrap_err().ends_with("parquet"));
}
