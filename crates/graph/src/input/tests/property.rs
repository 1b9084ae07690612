//! Random edges, written in every form of text, read back as the same edges.

use proptest::prelude::*;

use super::*;

/// How a list is written.
#[derive(Clone, Debug)]
struct Style {
    separator: &'static str,
    end: &'static str,
    finished: bool,
    header: bool,
    comments: bool,
    bom: bool,
    quoted: bool,
}

fn styles() -> impl Strategy<Value = Style> {
    let separators = prop::sample::select(vec![" ", "\t", ",", ";", ", ", "   "]);
    let ends = prop::sample::select(vec!["\n", "\r\n"]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (separators, ends, flags).prop_map(
        |(separator, end, (finished, header, comments, bom, quoted))| Style {
            separator,
            end,
            finished,
            header,
            comments,
            bom,
            quoted: quoted && separator.contains([',', ';']),
        },
    )
}

fn write(style: &Style, rows: &[Vec<String>]) -> String {
    let mut text = String::from(if style.bom { "\u{feff}" } else { "" });
    if style.comments {
        text += &format!("# comment{}{}% another{}", style.end, style.end, style.end);
    }
    if style.header {
        text += &["source", "target", "weight"][..rows[0].len()].join(style.separator);
        text += style.end;
    }
    for (index, row) in rows.iter().enumerate() {
        let quote = |column: &String| {
            if style.quoted {
                format!("\"{}\"", column.replace('"', "\"\""))
            } else {
                column.clone()
            }
        };
        text += &row.iter().map(quote).collect::<Vec<_>>().join(style.separator);
        if style.comments && index % 3 == 0 {
            text += &format!("{}// {index}", style.end);
        }
        if index + 1 < rows.len() || style.finished {
            text += style.end;
        }
    }
    text
}

/// Ids of every length.
fn ids() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(id, shift)| id >> shift)
}

/// Weights that a file can have.
fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |weight| weight.is_finite())
}

/// Bytes that mean something to some format.
const BYTES: &[u8] = b"0123456789 \t\n\r,;\"#%/.-+eanc\0p\xe9";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn numbers(style in styles(), mut edges in prop::collection::vec([ids(), ids()], 1..200)) {
        let row = |edge: &[u64; 2]| edge.iter().map(u64::to_string).collect();
        let rows: Vec<Vec<String>> = edges.iter().map(row).collect();
        let read = read("e.txt", write(&style, &rows)).unwrap();
        edges.sort_unstable();
        prop_assert_eq!(read.edges, edges);
    }

    #[test]
    fn weighted(
        style in styles(),
        edges in prop::collection::vec(([ids(), ids()], finite()), 1..100),
        whole: bool,
    ) {
        let whole_of = |weight: f64| f64::from(weight.to_bits() as u32);
        let edges: Vec<([u64; 2], f64)> = edges
            .into_iter()
            .map(|(pair, weight)| (pair, if whole { whole_of(weight) } else { weight }))
            .collect();
        // Without an exponent, a whole number of these is meant to the last digit.
        let text = |weight: f64| match weight.abs() {
            size if (2f64.powi(53)..2f64.powi(64)).contains(&size) => format!("{weight:e}"),
            _ => weight.to_string(),
        };
        let row = |&([source, target], weight): &([u64; 2], f64)| {
            vec![source.to_string(), target.to_string(), text(weight)]
        };
        let rows: Vec<Vec<String>> = edges.iter().map(row).collect();
        let sample = Sample::new("e.txt", write(&style, &rows));
        let kind = if whole { WeightKind::U32 } else { WeightKind::F64 };
        let read = sample.read(&options(None, Some(kind))).unwrap();
        let expected = Read { weighted: edges, ..Read::default() }.sorted();
        prop_assert_eq!(read.weighted, expected.weighted);
    }

    #[test]
    fn names(
        style in styles(),
        mut edges in prop::collection::vec(
            ["[a-zA-Zа-я][a-zA-Z0-9а-я_.-]{0,12}", "[a-z][a-z0-9:@/]{0,30}"],
            2..100,
        ),
    ) {
        let rows: Vec<Vec<String>> = edges.iter().map(|edge| edge.to_vec()).collect();
        let sample = Sample::new("e.txt", write(&style, &rows));
        let read = sample.read(&options(Some(IdKind::Names), Some(WeightKind::None))).unwrap();
        edges.sort_unstable();
        prop_assert_eq!(read.named, edges);
    }

    #[test]
    fn any_bytes_end_somehow(
        content in prop::collection::vec(prop::sample::select(BYTES), 0..300),
        ids in prop::option::of(prop::sample::select(vec![IdKind::Numbers, IdKind::Names])),
        format in prop::sample::select(<Format as outercore_storage::Named>::ALL),
    ) {
        let said = InputOptions { ids, format, ..InputOptions::default() };
        // An error or a graph, but no panic, and the same whether or not it comes compressed.
        let plain = Sample::new("e", &content).read(&said);
        let packed = Sample::new("e", zstd::encode_all(&content[..], 1).unwrap()).read(&said);
        match (plain, packed) {
            (Ok(plain), Ok(packed)) => prop_assert_eq!(plain, packed),
            (Err(GraphError::Input(plain)), Err(GraphError::Input(packed))) => {
                prop_assert_eq!((plain.line, plain.offset), (packed.line, packed.offset))
            }
            (Err(_), Err(_)) => {}
            (plain, packed) => prop_assert!(false, "{plain:?} {packed:?}"),
        }
    }
}
