//! LDBC Graphalytics: edges in `NAME.e`, vertices in `NAME.v`, perhaps `NAME.properties`, which
//! says whether edges have directions and weights.

use std::path::{Path, PathBuf};

use outercore_storage::Disk;

use super::{
    Format, InputOptions, WeightKind, fault,
    reader::{Reader, describe},
    source::InputBytes,
    text, vertices,
};
use crate::error::Result;

/// The largest properties file that is read.
const LARGEST_PROPERTIES: u64 = 1 << 20;

/// What a properties file says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Properties {
    directed: Option<bool>,
    /// `Some(WeightKind::None)`: edges have no weights.
    weights: Option<WeightKind>,
}

/// Whether this is the edge file of a graph: there is a vertex file beside it.
pub(super) fn recognize(source: &InputBytes) -> bool {
    source.extension() == "e" && beside(source, "v").is_some()
}

/// Graphs from these sources.
pub(super) fn plan(
    disk: &Disk,
    sources: Vec<InputBytes>,
    options: &InputOptions,
    vertices: &[InputBytes],
) -> Result<Reader> {
    let mut listed = Vec::new();
    let mut said = Properties::default();
    for source in &sources {
        match beside(source, "v") {
            Some(path) => listed.push(InputBytes::open(disk, &path, None)?),
            None if !vertices.is_empty() => {}
            None => {
                let missing = source.bare_name().with_extension("v");
                let advice = "name it with --vertices, or read the edges alone with --format text";
                return Err(fault(&missing, "the vertex file is missing", advice));
            }
        }
        if let Some(path) = beside(source, "properties") {
            let content = disk.read_all(&path, LARGEST_PROPERTIES)?;
            let properties = parse(&String::from_utf8_lossy(&content));
            said.directed = said.directed.or(properties.directed);
            said.weights = said.weights.or(properties.weights);
        }
    }
    let options = InputOptions {
        format: Format::Graphalytics,
        weights: options.weights.or(said.weights),
        ..options.clone()
    };
    let more = if said == Properties::default() { "" } else { "with properties" };
    let description = describe("LDBC Graphalytics edges and vertices".to_owned(), &sources, more);
    let known = if vertices.is_empty() { &listed } else { vertices };
    let mut reader = text::plan(sources, &options, known)?;
    let rest = reader.info.description.split_once(" ids").map_or("", |(_, rest)| rest).to_owned();
    reader.info.description = format!("{description}, {} ids{rest}", reader.info.ids.name());
    reader.info.format = "graphalytics";
    reader.info.directed = said.directed;
    vertices::add(reader, listed, &options)
}

/// The file of the same name with another extension, perhaps compressed.
fn beside(source: &InputBytes, extension: &str) -> Option<PathBuf> {
    let path = source.bare_name().with_extension(extension);
    let compressed = |suffix: &str| PathBuf::from(format!("{}.{suffix}", path.display()));
    [path.clone(), compressed("gz"), compressed("zst")].into_iter().find(|path| Path::is_file(path))
}

fn parse(text: &str) -> Properties {
    let mut properties = Properties::default();
    let mut kind = WeightKind::F64;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!'])) {
        let Some((key, value)) = line.split_once(['=', ':']) else { continue };
        let (key, value) = (key.trim_end(), value.trim());
        if key.ends_with(".directed") {
            properties.directed = value.parse().ok();
        } else if key.ends_with(".edge-properties.names") {
            properties.weights =
                Some(if value.is_empty() { WeightKind::None } else { WeightKind::F64 });
        } else if key.ends_with(".edge-properties.types") && value.starts_with("int") {
            kind = WeightKind::U32;
        }
    }
    if properties.weights == Some(WeightKind::F64) {
        properties.weights = Some(kind);
    }
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read() {
        let text = "# directed\ngraph.g.directed = false\n\
                    graph.g.edge-properties.names = weight\n\
                    graph.g.edge-properties.types = real\n";
        assert_eq!(
            parse(text),
            Properties { directed: Some(false), weights: Some(WeightKind::F64) }
        );
        let text = "graph.g.directed=true\r\n\
                    graph.g.edge-properties.types = integer\r\n\
                    graph.g.edge-properties.names = w\r\n";
        assert_eq!(
            parse(text),
            Properties { directed: Some(true), weights: Some(WeightKind::U32) }
        );
        assert_eq!(
            parse("graph.g.edge-properties.names ="),
            Properties { directed: None, weights: Some(WeightKind::None) }
        );
        assert_eq!(parse("graph.g.edge-file = g.e"), Properties::default());
    }
}
