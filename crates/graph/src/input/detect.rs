//! Which format an input is: by its first bytes, its extension and its first lines. What is known
//! to be something else is refused, because most things can be misread as lines of text.

use super::{
    Format, dimacs, fault, graphalytics, head::refuse_binary, matrix_market, source::InputBytes,
};
use crate::error::{GraphError, Result};

/// Extensions of formats that are not read here, with their names.
const OTHERS: [(&str, &str); 27] = [
    ("parquet", "Parquet"),
    ("arrow", "Arrow"),
    ("feather", "Arrow"),
    ("orc", "ORC"),
    ("graph", "METIS"),
    ("metis", "METIS"),
    ("sg", "a GAP serialized graph"),
    ("wsg", "a GAP serialized graph"),
    ("gml", "GML"),
    ("graphml", "GraphML"),
    ("gexf", "GEXF"),
    ("xml", "XML"),
    ("net", "Pajek"),
    ("dot", "Graphviz"),
    ("gv", "Graphviz"),
    ("json", "JSON"),
    ("jsonl", "JSON"),
    ("ndjson", "JSON"),
    ("tntp", "TNTP"),
    ("npy", "NumPy"),
    ("npz", "NumPy"),
    ("mat", "MATLAB"),
    ("tar", "a tar archive"),
    ("tgz", "a tar archive"),
    ("xlsx", "Excel"),
    ("v", "the vertex file of a Graphalytics graph"),
    ("properties", "the properties of a graph"),
];

/// First bytes of formats that are not read here.
const MAGIC: [(&[u8], &str); 8] = [
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"ORC", "ORC"),
    (b"\x93NUMPY", "NumPy"),
    (b"\x89HDF", "HDF5"),
    (b"<?xml", "XML"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"{", "JSON"),
];

/// The format of an input, when the user says `said`.
pub(super) fn format(source: &InputBytes, said: Format) -> Result<Format> {
    if said != Format::Auto {
        return Ok(said);
    }
    let head = &source.head;
    for (magic, name) in MAGIC {
        // Letters alone may begin a name.
        let is_text = matches!(name, "XML" | "JSON");
        if head.starts_with(magic) && (is_text || memchr::memchr(0, head).is_some()) {
            let advice = "convert it to text or CSV, or give --format to read it as something else";
            return Err(refusal(source, name, advice));
        }
    }
    let banner = head.get(..matrix_market::BANNER.len());
    if banner.is_some_and(|start| start.eq_ignore_ascii_case(matrix_market::BANNER)) {
        return Ok(Format::MatrixMarket);
    }
    let extension = source.extension();
    match extension.as_str() {
        "u32" | "el32" => return Ok(Format::PairsU32),
        "u64" | "el64" => return Ok(Format::PairsU64),
        "mtx" => return Ok(Format::MatrixMarket),
        "v" => {
            let name = "the vertex file of a Graphalytics graph";
            return Err(refusal(source, name, "name the edge file, NAME.e"));
        }
        _ => {}
    }
    if let Some((_, name)) = OTHERS.iter().find(|(other, _)| *other == extension) {
        let advice = "convert it to text or CSV, or give --format text if it has edges in lines \
                      all the same";
        return Err(refusal(source, name, advice));
    }
    refuse_binary(source)?;
    if graphalytics::recognize(source) {
        Ok(Format::Graphalytics)
    } else if dimacs::recognize(source) {
        Ok(Format::Dimacs)
    } else {
        Ok(Format::Text)
    }
}

/// The complaint about an input of another kind.
fn refusal(source: &InputBytes, name: &str, advice: &str) -> GraphError {
    fault(&source.path, format!("this is {name}, which is not read as an edge list"), advice)
}
