//! What a file may claim, and how long names may be.

use ::parquet::basic::Compression;
use outercore_graph::input::LONGEST_NAME;

use super::*;

/// Edges between names, from text, Parquet, and an Arrow stream, and vertices of Parquet.
fn by_format(dir: &Path, names: &[String]) -> Vec<Result<Box<dyn EdgeSource>>> {
    let column: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    let keyed: DictionaryArray<Int32Type> = names.iter().map(String::as_str).collect();
    let few: ArrayRef = Arc::new(StringArray::from(vec!["a"; names.len()]));
    let text: String = names.iter().map(|name| format!("{name}\ta\n")).collect();
    std::fs::write(dir.join("e.tsv"), text).unwrap();
    let columns = vec![("src", column.clone()), ("dst", few.clone())];
    let edges = parquet_file(dir, "e.parquet", columns.clone(), 1000);
    let vertices = parquet_file(dir, "v.parquet", vec![("id", column)], 1000);
    let small = parquet_file(dir, "s.parquet", vec![("src", few.clone()), ("dst", few.clone())], 9);
    let keyed = RecordBatch::try_from_iter(vec![("src", Arc::new(keyed) as _), ("dst", few)]);
    let options = InputOptions { ids: Some(IdKind::Names), ..InputOptions::default() };
    let stream = |batch: RecordBatch| -> Result<Box<dyn EdgeSource>> {
        let schema = batch.schema();
        let batches = RecordBatchIterator::new(vec![Ok(batch)], schema);
        Ok(Box::new(ArrowEdges::new(Box::new(batches), &options)?))
    };
    vec![
        opened(&dir.join("e.tsv"), &options),
        opened(&edges, &options),
        opened(&small, &InputOptions { vertices: vec![vertices], ..options.clone() }),
        stream(RecordBatch::try_from_iter(columns).unwrap()),
        stream(keyed.unwrap()),
    ]
}

#[test]
fn names_have_one_limit_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let longest = vec!["b".to_owned(), "n".repeat(LONGEST_NAME)];
    for (format, source) in by_format(dir.path(), &longest).into_iter().enumerate() {
        assert_eq!(read(&*source.unwrap(), 2).unwrap().0.len(), 2, "format {format}");
    }
    let longer = vec!["b".to_owned(), "n".repeat(LONGEST_NAME + 1)];
    for (format, source) in by_format(dir.path(), &longer).into_iter().enumerate() {
        let error = read(&*source.unwrap(), 2).unwrap_err();
        assert!(matches!(error, GraphError::Input(_)), "format {format}: {error}");
        let said = error.to_string();
        let what = "2: a name has 65537 bytes, and the most that one may have is 65536; shorten";
        assert!(said.contains(what), "format {format}: {said}");
    }
}

/// A file of numbers whose pages are as large as `page` bytes.
fn one_page(dir: &Path, values: usize, compression: Compression) -> PathBuf {
    let ids: Vec<u64> =
        (0..values as u64).map(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let batch =
        RecordBatch::try_from_iter(vec![("src", numbers(&ids)), ("dst", numbers(&ids))]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(compression)
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(values)
        .build();
    let path = dir.join("page.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn pages_that_claim_too_much_are_refused_before_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = one_page(dir.path(), 150_000, Compression::SNAPPY);
    let source = opened(&path, &InputOptions::default()).unwrap();
    assert_eq!(read(&*source, 2).unwrap().0.len(), 150_000);
    // The first field of the first page's header is its type, the second how long it is.
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[4..7], [0x15, 0, 0x15]);
    assert!(bytes[7..10].iter().all(|byte| *byte >= 128) && bytes[10] < 128);
    bytes[7..11].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
    std::fs::write(&path, bytes).unwrap();
    let claimed = (1u64 << 27) - 1;
    let source = opened(&path, &InputOptions::default()).unwrap();
    match read(&*source, 2) {
        Err(GraphError::Memory { needed, what, .. }) => {
            assert!(needed > 2 * claimed && needed < 3 * claimed, "{needed}");
            assert!(what.contains(&format!("pages have up to {claimed} bytes")), "{what}");
        }
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn pages_wait_for_room() {
    // Two row groups of one page each; the memory suffices for one at a time.
    let dir = tempfile::tempdir().unwrap();
    let path = one_page(dir.path(), 1_100_000, Compression::UNCOMPRESSED);
    let source = opened(&path, &InputOptions::default()).unwrap();
    let count = Mutex::new(0);
    let add = |item| {
        if let Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), .. }) = item {
            *count.lock().unwrap() += pairs.len();
        }
        Ok(())
    };
    source.read(4, 60 << 20, &NoProgress, &add).unwrap();
    assert_eq!(count.into_inner().unwrap(), 1_100_000);
    let refused = source.read(4, 40 << 20, &NoProgress, &|_| Ok(())).unwrap_err();
    assert!(matches!(refused, GraphError::Memory { needed, .. } if needed <= 60 << 20));
}

#[test]
fn footers_that_claim_too_much_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = one_page(dir.path(), 10, Compression::UNCOMPRESSED);
    let whole = std::fs::read(&path).unwrap();
    let begin = whole.len()
        - 8
        - u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize;
    // Version, then the list of the schema's elements: three structs.
    assert_eq!(whole[begin..begin + 4], [0x15, whole[begin + 1], 0x19, 0x3c]);
    let mut claims = whole[..begin + 3].to_vec();
    claims.extend([0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]);
    claims.extend(&whole[begin + 4..whole.len() - 8]);
    let len = (claims.len() - begin) as u32;
    claims.extend(len.to_le_bytes());
    claims.extend(b"PAR1");
    std::fs::write(&path, &claims).unwrap();
    let error = opened(&path, &InputOptions::default()).err().unwrap().to_string();
    assert!(error.contains("its footer is damaged"), "{error}");
    // A footer may be as long as the file says, and no longer than is sensible.
    let mut long = vec![0; 20 << 20];
    long[..4].copy_from_slice(b"PAR1");
    long.extend((17u32 << 20).to_le_bytes());
    long.extend(b"PAR1");
    std::fs::write(&path, &long).unwrap();
    let error = opened(&path, &InputOptions::default()).err().unwrap().to_string();
    assert!(error.contains("17825792 bytes, and the most that are read are 16777216"), "{error}");
}
