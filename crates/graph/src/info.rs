//! What a graph is, in figures, as the faces show it.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use crate::{
    Graph, GridPartition, Layout, Order, Result, WeightKind,
    format::{Extra, IdTable, SEGMENT_BITS, Shares, Tile},
    view,
};

/// Sizes, degrees, order, ids and sections of a graph.
#[derive(Clone, Debug, Serialize)]
pub struct GraphInfo {
    /// The version of this description.
    pub schema: u32,
    /// Where the graph lies.
    pub graph: String,
    /// The version of its format.
    pub format_version: u32,
    /// Its random name.
    pub uuid: String,
    /// All vertices.
    pub vertices: u64,
    /// Vertices with at least one edge.
    pub connected: u64,
    /// Edges, as the user counts them.
    pub edges: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether incoming edges are kept.
    pub transpose: bool,
    /// Whether duplicates and self-loops were dropped.
    pub simple: bool,
    /// How many there are, if it is known.
    pub extra: Option<Extra>,
    /// The weights' type.
    pub weights: WeightKind,
    /// Whether some weight is below zero.
    pub negative_weights: bool,
    /// The order of the vertices.
    pub order: Order,
    /// How original ids are kept.
    pub ids: IdTable,
    /// The largest out-degree.
    pub max_out_degree: u64,
    /// The original id of the vertex that has it.
    pub max_out_degree_vertex: Option<String>,
    /// The largest in-degree, if it is known.
    pub max_in_degree: Option<u64>,
    /// Bytes of all sections.
    pub bytes: u64,
    /// How the edges lie that full passes read.
    pub layout: Layout,
    /// How many edges are in row format, and how many in grid format.
    pub shares: Shares,
    /// How evenly edges are spread over the tiles of the grid, where it has some.
    pub tiles: Option<TileEdges>,
    /// The directories over which the graph is spread.
    pub stripes: Vec<PathBuf>,
    /// The sections.
    pub sections: Vec<SectionInfo>,
    /// The undirected simple view, if a run has left one.
    pub view: Option<ViewInfo>,
}

/// How edges are spread over the grid (Graphene, FAST'17, section 4.1).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TileEdges {
    /// How the grid was cut.
    pub partition: GridPartition,
    /// Tiles: of a balanced grid those on disk, each of which has edges; of a uniform one every
    /// segment of sources with every interval of targets.
    pub tiles: u64,
    /// Edges of the largest one.
    pub largest: u64,
    /// Edges of a tile on average.
    pub mean: f64,
    /// The columns: intervals of targets.
    pub columns: Spread,
    /// The rows that all columns share: segments of sources.
    pub rows: Spread,
}

/// How evenly edges are spread over parts of the grid.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// How many there are.
    pub parts: u64,
    /// Edges of the largest one.
    pub largest: u64,
    /// Edges of one on average.
    pub mean: f64,
}

impl Spread {
    fn of(parts: u64, edges: impl IntoIterator<Item = u64>) -> Self {
        let (mut sum, mut largest) = (0, 0);
        for edges in edges {
            (sum, largest) = (sum + edges, largest.max(edges));
        }
        Self { parts, largest, mean: sum as f64 / parts.max(1) as f64 }
    }
}

impl TileEdges {
    /// Those of a graph; `None`: its grid has no edges.
    fn of(graph: &Graph) -> Result<Option<Self>> {
        let (grid, manifest) = (graph.grid()?, graph.manifest());
        let Some(behind) = grid.tiles.get(1..) else { return Ok(None) };
        let ends = behind.iter().map(|tile| tile.first_edge).chain([manifest.shares().grid_arcs]);
        let edges = |(tile, end): (&Tile, u64)| end.saturating_sub(tile.first_edge);
        let tiles: Vec<u64> = grid.tiles.iter().zip(ends).map(edges).collect();
        let by = |place: fn(&Tile) -> (u32, u32)| {
            let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for (tile, edges) in grid.tiles.iter().zip(&tiles) {
                *sums.entry(place(tile)).or_default() += edges;
            }
            sums.into_values()
        };
        let segments = graph.connected().div_ceil(1 << SEGMENT_BITS);
        let intervals = grid.intervals.len() as u64 - 1;
        let columns = Spread::of(intervals, by(|tile| (0, tile.interval)));
        let rows = Spread::of(segments, by(|tile| (tile.segment, 0)));
        let places = by(|tile| (tile.segment, tile.interval));
        let Spread { parts, largest, mean } = match manifest.partition {
            GridPartition::Balanced => Spread::of(tiles.len() as u64, tiles),
            // On disk they are cut further, as the builder's memory has it.
            GridPartition::Uniform => Spread::of(segments * intervals, places),
        };
        let partition = manifest.partition;
        Ok(Some(Self { partition, tiles: parts, largest, mean, columns, rows }))
    }
}

/// The view of a graph that a run has left beside it.
#[derive(Clone, Debug, Serialize)]
pub struct ViewInfo {
    /// Its folder, which may be removed at any time.
    pub path: PathBuf,
    /// Bytes of its sections.
    pub bytes: u64,
}

/// A section of a graph.
#[derive(Clone, Debug, Serialize)]
pub struct SectionInfo {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Whether it is spread over the stripe directories.
    pub striped: bool,
}

impl GraphInfo {
    /// What `graph` is.
    pub fn of(graph: &Graph) -> Result<Self> {
        let manifest = graph.manifest();
        let (max_out_degree, hub) = manifest.max_out_degree;
        let hub = if manifest.connected > 0 { Some(graph.key_of(hub)?) } else { None };
        let sections = manifest.sections.iter().map(|section| SectionInfo {
            name: section.name.clone(),
            bytes: section.bytes,
            striped: section.striped,
        });
        let bytes = |graph: &Graph| graph.manifest().sections.iter().map(|part| part.bytes).sum();
        Ok(Self {
            schema: 1,
            graph: graph.path().display().to_string(),
            format_version: manifest.version,
            uuid: manifest.uuid.clone(),
            vertices: manifest.vertices,
            connected: manifest.connected,
            edges: manifest.edges,
            directed: manifest.directed,
            transpose: manifest.transpose,
            simple: manifest.simple,
            extra: manifest.extra,
            weights: manifest.weights,
            negative_weights: manifest.negative_weights,
            order: manifest.order,
            ids: manifest.ids.clone(),
            max_out_degree,
            max_out_degree_vertex: hub.map(|hub| hub.to_string()),
            max_in_degree: (!manifest.directed || manifest.transpose)
                .then_some(manifest.max_in_degree),
            bytes: bytes(graph),
            layout: manifest.layout,
            shares: manifest.shares(),
            tiles: TileEdges::of(graph)?,
            stripes: manifest.stripes.clone(),
            sections: sections.collect(),
            view: view::kept(graph)?
                .map(|view| ViewInfo { path: view.path().to_owned(), bytes: bytes(&view) }),
        })
    }
}
