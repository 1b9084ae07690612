use std::{path::PathBuf, sync::atomic::Ordering::Relaxed};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, UInt32Type, UInt64Type},
};
use outercore_engine::{
    Activity, Context, Isolated, IterationEnd, Job, MemoryModel, Next, Preset, RunConfig, Silent,
    Start, Values, VertexArray, VertexProgram, execute,
};
use outercore_graph::Key;
use outercore_storage::{HugePages, HugeVec, Min, Pod};

use super::*;
use crate::testing::{Fixture, built};

fn huge<T: Pod + Copy>(values: &[T]) -> VertexArray<T> {
    let mut huge = HugeVec::zeroed(values.len(), HugePages::Off).unwrap();
    huge.copy_from_slice(values);
    VertexArray::from(huge)
}

fn column(name: &'static str, values: Values, isolated: Isolated, meaning: Meaning) -> Column {
    Column { name, values, isolated, meaning, exceptions: Vec::new() }
}

/// A chain 10 -> 20 -> 30 with an edge back, and 40 without edges; values are listed by original
/// id.
fn chain(names: bool) -> Fixture {
    let id = |number: u64| if names { format!("v{number}") } else { number.to_string() };
    let text = format!("{} {}\n{} {}\n{} {}\n", id(10), id(20), id(20), id(30), id(30), id(20));
    built(&text, Some(&format!("{}\n{}\n", id(40), id(10))))
}

/// A column by original id for the connected vertices.
fn by_id<T: Pod + Copy + Default>(
    graph: &Graph,
    values: &[(u64, T)],
    names: bool,
) -> VertexArray<T> {
    let mut sorted = vec![T::default(); graph.connected() as usize];
    for &(id, value) in values {
        let key = if names { Key::Name(format!("v{id}")) } else { Key::Number(id) };
        sorted[graph.find(&key).unwrap().unwrap() as usize] = value;
    }
    huge(&sorted)
}

fn internal(graph: &Graph, id: u64, names: bool) -> u32 {
    let key = if names { Key::Name(format!("v{id}")) } else { Key::Number(id) };
    graph.find(&key).unwrap().unwrap() as u32
}

fn columns(graph: &Graph, names: bool) -> Vec<Column> {
    let label = internal(graph, 20, names);
    vec![
        column(
            "level",
            Values::U32(by_id(graph, &[(10, 0), (20, 1), (30, u32::MAX)], names)),
            Isolated::Null,
            Meaning::Number,
        ),
        column(
            "score",
            Values::F64(by_id(graph, &[(10, 0.1), (20, 1e-9), (30, f64::INFINITY)], names)),
            Isolated::Value(0.25),
            Meaning::Number,
        ),
        column(
            "single",
            Values::F32(by_id(graph, &[(10, 0.1), (20, 2.0), (30, f32::NAN)], names)),
            Isolated::Null,
            Meaning::Number,
        ),
        column(
            "component",
            Values::U32(by_id(graph, &[(10, label), (20, label), (30, u32::MAX)], names)),
            Isolated::Own,
            Meaning::Vertex,
        ),
    ]
}

fn write_text(fixture: &Fixture, name: &str, columns: &[Column]) -> String {
    let path = fixture.dir.path().join(name);
    write_result(&path, &fixture.graph, columns).unwrap();
    std::fs::read_to_string(path).unwrap()
}

fn read_parquet(path: &PathBuf) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap())
        .unwrap()
        .build()
        .unwrap();
    reader.map(|batch| batch.unwrap()).collect()
}

#[test]
fn csv_of_numbers() {
    let fixture = chain(false);
    let text = write_text(&fixture, "r.csv", &columns(&fixture.graph, false));
    assert_eq!(
        text,
        "id,level,score,single,component\n10,0,0.1,0.1,20\n20,1,1e-9,2.0,20\n30,,,,\n40,,0.25,,40\n"
    );
}

#[test]
fn csv_of_names() {
    let fixture = chain(true);
    let text = write_text(&fixture, "r.csv", &columns(&fixture.graph, true));
    assert_eq!(
        text,
        "id,level,score,single,component\n\
         v10,0,0.1,0.1,v20\nv20,1,1e-9,2.0,v20\nv30,,,,\nv40,,0.25,,v40\n"
    );
}

#[test]
fn tabs_and_objects_say_what_csv_says() {
    for names in [false, true] {
        let fixture = chain(names);
        let columns = columns(&fixture.graph, names);
        let csv = write_text(&fixture, "a.csv", &columns);
        assert_eq!(write_text(&fixture, "a.tsv", &columns), csv.replace(',', "\t"));
        let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let value = |value: &str| match value {
            "" => "null".to_owned(),
            name if name.starts_with('v') => format!("\"{name}\""),
            number => number.to_owned(),
        };
        let object = |row: Vec<&str>| {
            let cells = row.into_iter().enumerate();
            let of = |(at, cell)| format!("\"{}\":{}", header[at], value(cell));
            format!("{{{}}}\n", cells.map(of).collect::<Vec<_>>().join(","))
        };
        assert_eq!(write_text(&fixture, "a.jsonl", &columns), rows.map(object).collect::<String>());
    }
}

#[test]
fn an_isolated_source_has_its_own_value() {
    let fixture = chain(false);
    let mut columns = columns(&fixture.graph, false);
    columns.truncate(1);
    columns[0].exceptions = vec![(u64::from(internal(&fixture.graph, 40, false)), 0.0)];
    assert!(write_text(&fixture, "r.csv", &columns).ends_with("40,0\n"));
}

#[test]
fn parquet_has_types_and_nulls() {
    for names in [false, true] {
        let fixture = chain(names);
        let path = fixture.dir.path().join("r.parquet");
        write_result(&path, &fixture.graph, &columns(&fixture.graph, names)).unwrap();
        let batches = read_parquet(&path);
        let schema = batches[0].schema();
        let types: Vec<_> =
            schema.fields().iter().map(|field| field.data_type().to_string()).collect();
        let id = if names { "Utf8" } else { "UInt64" };
        assert_eq!(types, [id, "UInt32", "Float64", "Float32", id]);
        let levels: Vec<_> = batches[0].column(1).as_primitive::<UInt32Type>().iter().collect();
        assert_eq!(levels, [Some(0), Some(1), None, None]);
        let scores: Vec<_> = batches[0].column(2).as_primitive::<Float64Type>().iter().collect();
        assert_eq!(scores, [Some(0.1), Some(1e-9), None, Some(0.25)]);
        let vertices = batches[0].column(4);
        if names {
            let vertices: Vec<_> = vertices.as_string::<i32>().iter().collect();
            assert_eq!(vertices, [Some("v20"), Some("v20"), None, Some("v40")]);
        } else {
            let vertices: Vec<_> = vertices.as_primitive::<UInt64Type>().iter().collect();
            assert_eq!(vertices, [Some(20), Some(20), None, Some(40)]);
        }
        assert!(batches[0].column(1).is_null(2) && batches[0].column(0).null_count() == 0);
    }
}

#[test]
fn npy_is_whole_or_real() {
    let fixture = chain(false);
    let path = fixture.dir.path().join("r.npy");
    let read = |columns: &[Column]| {
        write_result(&path, &fixture.graph, columns).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            bytes.starts_with(b"\x93NUMPY\x01\x00") && bytes.len() == 128 + 4 * 8,
            "{}",
            bytes.len()
        );
        let kind = String::from_utf8_lossy(&bytes[10..128]).into_owned();
        assert!(kind.ends_with(" \n") && kind.contains("'shape': (4,)"));
        let words: Vec<u64> = bytes[128..]
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        (kind.contains("<u8"), words)
    };
    let (whole, words) = read(&columns(&fixture.graph, false));
    let reals: Vec<f64> = words.into_iter().map(f64::from_bits).collect();
    assert!(!whole && reals[..2] == [0.0, 1.0] && reals[2..].iter().all(|value| value.is_nan()));
    let core = column(
        "core",
        Values::U32(by_id(&fixture.graph, &[(10, 1), (20, 2), (30, 3)], false)),
        Isolated::Value(0.0),
        Meaning::Number,
    );
    assert_eq!(read(&[core]), (true, vec![1, 2, 3, 0]));
    let large = column(
        "x",
        Values::U64(by_id(&fixture.graph, &[(10, EXACT + 1)], false)),
        Isolated::Null,
        Meaning::Number,
    );
    assert!(
        write_result(&path, &fixture.graph, &[large]).unwrap_err().to_string().contains("2^53")
    );
}

/// The largest whole number that f64 has all below of.
const EXACT: u64 = 1 << 53;

#[test]
fn nothing_is_left_when_stopped() {
    let fixture = chain(false);
    let path = fixture.dir.path().join("r.csv");
    let options = WriteOptions { cancelled: &|| true, ..WriteOptions::default() };
    let error = write_result_with(&path, &fixture.graph, &columns(&fixture.graph, false), &options)
        .unwrap_err();
    assert!(matches!(error, GraphError::Cancelled));
    let left: Vec<_> = std::fs::read_dir(fixture.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("r.csv")), "{left:?}");
}

#[test]
fn extensions_decide() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ResultFormat::of(&dir.path().join("a.CSV")).unwrap(), ResultFormat::Csv);
    assert!(
        ResultFormat::of(&dir.path().join("a.txt")).unwrap_err().to_string().contains(".parquet")
    );
}

#[test]
fn packed_text_says_the_same() {
    let fixture = chain(false);
    let columns = columns(&fixture.graph, false);
    let packed = |name: &str| {
        let path = fixture.dir.path().join(name);
        write_result(&path, &fixture.graph, &columns).unwrap();
        std::fs::File::open(path).unwrap()
    };
    for name in ["a.csv", "a.tsv", "a.jsonl", "a.graphalytics"] {
        let plain = write_text(&fixture, name, &columns);
        let gzip = flate2::read::GzDecoder::new(packed(&format!("{name}.gz")));
        assert_eq!(std::io::read_to_string(gzip).unwrap(), plain, "{name}");
        let zstd = zstd::Decoder::new(packed(&format!("{name}.ZST"))).unwrap();
        assert_eq!(std::io::read_to_string(zstd).unwrap(), plain, "{name}");
    }
    for name in ["a.parquet.gz", "a.npy.zst", "a.gz", "gz", "a.csv.gz.gz"] {
        let path = fixture.dir.path().join(name);
        assert!(write_result(&path, &fixture.graph, &columns).is_err() && !path.exists(), "{name}");
    }
}

#[test]
fn awkward_names_are_quoted() {
    let mut text = Vec::new();
    let read_otherwise = ["#a", "%", "//", " a", "a ", "a\tb"];
    for name in ["plain", "a,b", "say \"x\"", "", "two\nlines"].into_iter().chain(read_otherwise) {
        csv::put_name(&mut text, name);
        text.push(b';');
    }
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "plain;\"a,b\";\"say \"\"x\"\"\";\"\";\"two\nlines\";\
         \"#a\";\"%\";\"//\";\" a\";\"a \";\"a\tb\";"
    );
}

#[test]
fn any_name_is_a_string_of_json() {
    let mut text = Vec::new();
    for name in ["", "a,b", "say \"x\"\\", "two\nlines\u{1}", "é\u{7f}"] {
        csv::put_string(&mut text, name);
        text.push(b';');
    }
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "\"\";\"a,b\";\"say \\\"x\\\"\\\\\";\"two\\u000alines\\u0001\";\"é\u{7f}\";"
    );
}

#[test]
fn the_best_rows_come_first() {
    let fixture = chain(false);
    let column = column(
        "core",
        Values::U32(by_id(&fixture.graph, &[(10, 1), (20, 5), (30, u32::MAX)], false)),
        Isolated::Value(9.0),
        Meaning::Number,
    );
    let rows = outercore_engine::top_rows(&fixture.graph, &column, 10).unwrap();
    assert_eq!(
        rows,
        [
            outercore_engine::TopRow(Key::Number(20), 5.0),
            outercore_engine::TopRow(Key::Number(10), 1.0)
        ]
    );
    assert_eq!(outercore_engine::top_rows(&fixture.graph, &column, 1).unwrap().len(), 1);
}

/// Every vertex's value is the vertex with the next id: as diverse as values get.
#[test]
fn many_distinct_values_in_any_memory() {
    for names in [false, true] {
        let count = 150_000u64;
        let id = |number: u64| {
            if names {
                format!("v{:07}", number * 7)
            } else {
                (number * 7 + (number / 3)).to_string()
            }
        };
        let mut text = String::new();
        for number in 0..count {
            text.push_str(&format!("{} {}\n", id(number), id((number * number + 1) % count)));
        }
        let fixture = built(&text, None);
        let mut order = vec![0u64; count as usize];
        let mut ids = Vec::new();
        let mut row = 0;
        fixture
            .graph
            .for_each_key(1000, &mut |keys, vertices| {
                for (at, &vertex) in vertices.iter().enumerate() {
                    order[row] = vertex;
                    ids.push(keys.get(at).to_string());
                    row += 1;
                }
                Ok(())
            })
            .unwrap();
        let mut next = vec![0u32; count as usize];
        (0..count as usize).for_each(|row| {
            next[order[row] as usize] = order[(row + 77_777) % count as usize] as u32
        });
        let columns = [column("next", Values::U32(huge(&next)), Isolated::Null, Meaning::Vertex)];
        for memory in [0, 100_000, 64 << 20] {
            let path = fixture.dir.path().join("r.csv");
            let options = WriteOptions { memory, ..WriteOptions::default() };
            write_result_with(&path, &fixture.graph, &columns, &options).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            for (row, line) in text.lines().skip(1).enumerate() {
                assert_eq!(line, format!("{},{}", ids[row], ids[(row + 77_777) % count as usize]));
            }
            assert_eq!(text.lines().count() as u64, count + 1);
        }
    }
}

#[test]
fn graphalytics_has_its_own_words_for_no_value() {
    let fixture = chain(false);
    let columns = columns(&fixture.graph, false);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.graphalytics");
    let written = |column: &Column| {
        write_result(&path, &fixture.graph, std::slice::from_ref(column)).unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    assert_eq!(
        written(&columns[0]),
        "10 0\n20 1\n30 9223372036854775807\n40 9223372036854775807\n"
    );
    assert_eq!(written(&columns[1]), "10 0.1\n20 1e-9\n30 infinity\n40 0.25\n");
    assert_eq!(written(&columns[3]).lines().take(2).collect::<Vec<_>>(), ["10 20", "20 20"]);
    let named = chain(true);
    let refused = write_result(&path, &named.graph, &[])
        .and_then(|()| write_result(&path, &named.graph, &columns))
        .unwrap_err();
    assert!(refused.to_string().contains("strings"), "{refused}");
}

/// A number for each vertex; some have none.
struct Numbers;

impl VertexProgram for Numbers {
    type Value = u64;
    type Signal = u64;
    type Message = Min<u64>;
    const ACTIVITY: Activity = Activity::AllSend;

    fn start(&self) -> Start {
        Start::All
    }
    fn init(&self, vertex: u64, _: u32) -> u64 {
        if vertex.is_multiple_of(5) { u64::MAX } else { (vertex as f64 / 3.0).to_bits() }
    }
    fn scatter(&self, _: u64, value: &u64, _: u32) -> Option<u64> {
        Some(*value)
    }
    fn carry(&self, value: u64, _: f64) -> Min<u64> {
        Min(value)
    }
    fn apply(&self, _: &Context, _: u64, _: &mut u64, _: Min<u64>) -> bool {
        false
    }
    fn end_iteration(&mut self, _: &IterationEnd) -> Next {
        Next::End
    }
}

/// Columns on scratch, of whole and of real numbers; one isolated vertex has a value.
fn on_scratch(graph: &Graph, isolated: u64) -> [Column; 2] {
    let smallest = |memory: u64| {
        let (model, preset) = (Some(MemoryModel::FullyExternal), Preset::Streaming);
        let config = RunConfig { memory, model, preset, threads: 1, ..Default::default() };
        execute(&mut Numbers, "numbers", Job::new(graph, &config, &Silent), Some(1)).ok()
    };
    let (values, _) = (12..60).find_map(|mib| smallest(mib << 20)).unwrap();
    let columns = [
        Column::new("whole", values.map(|&bits| bits >> 1).unwrap()),
        Column::new("real", values.into_floats()).except([(isolated, 7.5)]),
    ];
    assert!(columns.iter().all(|column| !column.values.are_in_memory()));
    columns
}

/// Values on scratch go to their rows once, whatever the memory: they are not looked up batch by
/// batch, each of which would read all of them.
#[test]
fn values_on_scratch_are_read_once_and_sent_to_their_rows() {
    const VERTICES: u64 = 700_000;
    // The last ids have most edges, and so come first on disk. Some vertices have none.
    let edges = (0..VERTICES).map(|at| format!("{at} {}\n", VERTICES - 1 - at / 2));
    let alone = (VERTICES..VERTICES + 9).map(|at| format!("{at}\n"));
    let fixture = built(&edges.collect::<String>(), Some(&alone.collect::<String>()));
    let graph = &fixture.graph;
    let columns = on_scratch(graph, VERTICES);
    let path = fixture.dir.path().join("rows.csv");
    let write = |columns: &[Column], memory| {
        let read = || graph.disk().counters().bytes_read.load(Relaxed);
        let (options, before) = (WriteOptions { memory, ..WriteOptions::default() }, read());
        write_result_with(&path, graph, columns, &options).unwrap();
        (std::fs::read_to_string(&path).unwrap(), read() - before)
    };
    let written = [0, 12 << 20].map(|memory| write(&columns, memory));
    let columns = columns.map(|column| column.into_memory().unwrap());
    let (expected, tables) = write(&columns, 0);
    assert_eq!(expected.lines().count() as u64, VERTICES + 10);
    for (text, read) in written {
        assert!(text == expected, "another text");
        // Of each column a number and a record, and the table of rows once more.
        let most = tables + VERTICES * 2 * (8 + 12 + 4);
        assert!(read <= most + (1 << 20), "{read} bytes read, {most} at most");
    }
}

#[test]
fn values_of_a_small_graph_on_scratch_need_no_memory() {
    let fixture = built("1 9\n2 9\n3 9\n9 3\n", Some("7\n"));
    let columns = on_scratch(&fixture.graph, 4);
    let path = fixture.dir.path().join("rows.csv");
    let write = |columns: &[Column]| {
        let options = WriteOptions { memory: 0, ..WriteOptions::default() };
        write_result_with(&path, &fixture.graph, columns, &options).unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let text = write(&columns);
    assert_eq!(text, write(&columns.map(|column| column.into_memory().unwrap())));
    assert_eq!(text.lines().count(), 6);
}
