//! Parquet files and Arrow batches: tables of any columns are the edges that they were made of, and
//! files of which some bytes were changed are edges or a complaint.

use std::{fs, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int16Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, StringViewArray, UInt64Array, types::Int32Type,
};
use outercore::{ArrowEdges, EdgeFormat, input::InputOptions};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::{WriterProperties, WriterVersion},
};

use crate::{
    choices::Choices,
    reading::{ALONE, Means, Read, Refused, drain, file, place, read, refused},
};

const MEANS: Means = Means { threads: 3, memory: 64 << 20 };

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let place = place();
    let options = InputOptions::default();
    if choices.below(4) == 0 {
        // Any bytes, between the marks of a file.
        let content = [b"PAR1", choices.0, b"PAR1"].concat();
        let path = file(&place, "e.parquet", &content);
        drop(read(&path, EdgeFormat::Parquet, &options, MEANS));
        return;
    }
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1 + choices.below(40)))
        .set_data_page_row_count_limit(1 + choices.below(40))
        .set_write_batch_size(1 + choices.below(8))
        .set_dictionary_enabled(choices.below(2) == 1)
        .set_writer_version(choices.of(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_compression(choices.of(&[
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::ZSTD(ZstdLevel::default()),
        ]))
        .build();
    let flips: Vec<(u16, u8)> = (0..choices.below(6).saturating_sub(2))
        .map(|_| (choices.short(), choices.byte()))
        .collect();
    let kinds = [choices.byte(), choices.byte(), choices.byte()];
    let table = Table::of(choices, kinds);
    let (batch, naive) = (table.batch(kinds), table.edges());
    let path = place.path().join("e.parquet");
    write(&path, &batch, properties);
    let found = |means| read(&path, EdgeFormat::Parquet, &options, means);
    compare(found(MEANS), &naive, "a file");
    compare(from_batches(&batch), &naive, "batches");
    if !flips.is_empty() {
        let mut content = fs::read(&path).expect("a file");
        for (at, bits) in flips {
            // The end, where the file says what is in it, is met as often as all else.
            let at = usize::from(at >> 1) % content.len() / (1 + usize::from(at & 1) * 3);
            let last = content.len() - 1;
            content[last - at] ^= bits;
        }
        fs::write(&path, content).expect("room");
        if let (Ok(one), Ok(other)) = (found(MEANS), found(ALONE)) {
            assert_eq!(one, other, "the same file on three threads and on one");
        }
    }
}

fn compare(found: Result<Read, Refused>, naive: &Result<Read, ()>, how: &str) {
    match (found, naive) {
        (Ok(found), Ok(naive)) => assert_eq!(found, *naive, "{how}"),
        (Err(_), Err(())) => {}
        (found, naive) => panic!("{how}: {found:?} {naive:?}"),
    }
}

fn from_batches(batch: &RecordBatch) -> Result<Read, Refused> {
    let halves = [batch.slice(0, batch.num_rows() / 2), {
        let half = batch.num_rows() / 2;
        batch.slice(half, batch.num_rows() - half)
    }];
    let batches = RecordBatchIterator::new(halves.map(Ok), batch.schema());
    let source = ArrowEdges::new(Box::new(batches), &InputOptions::default());
    source.and_then(|source| drain(&source, MEANS)).map_err(refused)
}

fn write(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let out = fs::File::create(path).expect("room for a file");
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("rows");
    writer.close().expect("a file");
}

/// What a table says: of each row its ends and its weight, any of which may be missing.
struct Table {
    names: bool,
    rows: Vec<[Option<i64>; 2]>,
    weights: Option<Vec<Option<f64>>>,
}

impl Table {
    fn of(mut choices: Choices, kinds: [u8; 3]) -> Self {
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        while !choices.0.is_empty() && rows.len() < 300 {
            let mut value = || match choices.byte() {
                0xff => None,
                0xfe => Some(-1),
                0xfd => Some(i64::from(choices.short()) << 40),
                small => Some(small.into()),
            };
            rows.push([value(), value()]);
            weights.push(value().map(|whole| whole as f64 / 2.0));
        }
        // Columns of a kind that cannot be missing values have none.
        let names = kinds[..2].iter().any(|kind| kind % 8 >= 4);
        Self { names, rows, weights: (!kinds[2].is_multiple_of(3)).then_some(weights) }
    }

    fn batch(&self, kinds: [u8; 3]) -> RecordBatch {
        let end = |at: usize| column(self.rows.iter().map(|row| row[at]), kinds[at]);
        let mut columns = vec![("src", end(0), true), ("dst", end(1), true)];
        if kinds[2] & 4 != 0 {
            columns.insert(
                0,
                ("other", Arc::new(StringArray::from(vec!["x"; self.rows.len()])), true),
            );
        }
        if let Some(weights) = &self.weights {
            columns.push(("weight", Arc::new(Float64Array::from(weights.clone())), true));
        }
        RecordBatch::try_from_iter_with_nullable(columns).expect("a table")
    }

    /// The edges, if every row is one.
    fn edges(&self) -> Result<Read, ()> {
        let mut read = Read::default();
        for (row, ends) in self.rows.iter().enumerate() {
            let end = |value: Option<i64>| match value {
                Some(value) if self.names || value >= 0 => Ok(value.to_string()),
                _ => Err(()),
            };
            let weight = match &self.weights {
                Some(weights) => Some(weights[row].ok_or(())?.to_bits()),
                None => None,
            };
            read.edges.push(([end(ends[0])?, end(ends[1])?], weight));
        }
        read.edges.sort_unstable();
        if read.edges.is_empty() { Err(()) } else { Ok(read) }
    }
}

/// A column of numbers, or of the texts that write them.
fn column(values: impl Iterator<Item = Option<i64>> + Clone, kind: u8) -> ArrayRef {
    let texts = || values.clone().map(|value| value.map(|value| value.to_string()));
    match kind % 8 {
        0 | 1 => Arc::new(Int64Array::from_iter(values)),
        2 if values.clone().all(|value| value.is_none_or(|value| value >= 0)) => {
            Arc::new(UInt64Array::from_iter(values.map(|value| value.map(|value| value as u64))))
        }
        3 if values.clone().flatten().all(|value| i16::try_from(value).is_ok()) => {
            Arc::new(Int16Array::from_iter(values.map(|value| value.map(|value| value as i16))))
        }
        2 | 3 => Arc::new(Int64Array::from_iter(values)),
        4 => Arc::new(StringArray::from_iter(texts())),
        5 => Arc::new(StringViewArray::from_iter(texts())),
        6 => Arc::new(BinaryArray::from_iter(texts().map(|text| text.map(String::into_bytes)))),
        _ => {
            let texts: Vec<Option<String>> = texts().collect();
            let texts = texts.iter().map(Option::as_deref);
            Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
        }
    }
}
