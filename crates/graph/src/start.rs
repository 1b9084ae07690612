//! [`Source`]: how a start vertex is named, and found.

use outercore_storage::settings::{Kind, Value};

use crate::{
    error::{Result, refuse},
    graph::Graph,
    types::Key,
};

/// How a start vertex is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// By its original id.
    Key(Key),
    /// The vertex with the largest out-degree.
    MaxDegree,
    /// A vertex with edges, drawn by this seed.
    Random(u64),
}

impl From<&str> for Source {
    /// `max-degree`, `random:SEED`, or an original id as it is written.
    fn from(text: &str) -> Self {
        match (text, text.strip_prefix("random:").map(str::parse)) {
            ("max-degree", _) => Source::MaxDegree,
            (_, Some(Ok(seed))) => Source::Random(seed),
            _ => Source::Key(Key::Name(text.to_owned())),
        }
    }
}

impl Value for Source {
    const KIND: Kind = Kind::Text;

    /// As [`Source::from`]; in quotation marks, as in CSV, it is an id whatever it says.
    fn parse(switch: &str, text: &str) -> std::result::Result<Self, String> {
        let Some(inside) = text.strip_prefix('"') else { return Ok(text.into()) };
        let doubled = |inside: &str| {
            let plain = inside.replace("\"\"", "");
            (!plain.contains('"')).then(|| inside.replace("\"\"", "\""))
        };
        match inside.strip_suffix('"').and_then(doubled) {
            Some(id) => Ok(Source::Key(Key::Name(id))),
            None => Err(format!(
                "{switch} cannot be {text}: an id that begins with a quotation mark is written as \
                 in CSV, between two of them, with those inside doubled"
            )),
        }
    }
}

impl Source {
    /// The internal id of the vertex.
    pub fn locate(&self, graph: &Graph) -> Result<u64> {
        match self {
            Source::Key(key) => graph.find(key)?.map_or_else(
                || refuse(format!("there is no vertex {key} in {}", graph.path().display())),
                Ok,
            ),
            _ if graph.connected() == 0 => {
                refuse("the graph has no edges, and so no such start vertex")
            }
            Source::MaxDegree => Ok(graph.manifest().max_out_degree.1),
            Source::Random(seed) => {
                let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Ok((mixed ^ (mixed >> 29)) % graph.connected())
            }
        }
    }

    /// The internal ids of several.
    pub fn locate_all(sources: &[Source], graph: &Graph) -> Result<Vec<u64>> {
        sources.iter().map(|source| source.locate(graph)).collect()
    }
}
