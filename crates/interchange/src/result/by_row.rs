//! [`ByRow`]: the values of a column that are on scratch, in the order of the rows.
//!
//! They lie by internal id, and rows come by original id. Looked up row by row, all of them would
//! be read for each batch. So each is sent once to the window of its row, by way of a log, and is
//! read from there when the rows of the window come: each is read twice and written once, however
//! small memory is.

use std::ops::Range;

use outercore_engine::{Cell, Column, NumberKind};
use outercore_graph::{Graph, GraphError, Result};
use outercore_storage::{IoBackend, LogShape, Record, RecordLog};

use super::BATCH;
use crate::{WriteOptions, keys::RankLookup};

/// No value: no number has these bits. Of the whole ones it is none, and others are finite.
const NONE: u64 = u64::MAX;
/// Windows, at most: the log has a block for each.
const WINDOWS: u64 = 512;

/// The values on their way to their rows.
pub(super) struct ByRow {
    /// The bits of values, by row.
    log: RecordLog<u64>,
    kind: NumberKind,
    connected: u64,
    /// What the rows of a window have, and which rows these are.
    window: Vec<u64>,
    rows: Range<u64>,
}

impl ByRow {
    /// Whether a column comes this way: it is not in memory, nor in the order of the rows.
    pub(super) fn is_for(graph: &Graph, column: &Column) -> bool {
        graph.manifest().id_bytes > 0 && !column.values.are_in_memory()
    }

    /// The most bytes of scratch of a column.
    pub(super) fn scratch(graph: &Graph) -> u64 {
        let record = <u64 as Record>::BYTES as u64;
        if graph.manifest().id_bytes > 0 { graph.connected() * record } else { 0 }
    }

    /// Sends the values of a column, within some bytes of memory, or what it takes at the least.
    pub(super) fn new(
        graph: &Graph,
        column: &Column,
        memory: u64,
        options: &WriteOptions<'_>,
    ) -> Result<Self> {
        let (vertices, batch) = (graph.vertices(), BATCH as u64);
        let shape = LogShape { threads: 1, parts: WINDOWS as usize, widest: 0 };
        let most =
            memory.saturating_sub(RecordLog::<u64>::bytes(shape, 0)) / size_of::<u64>() as u64;
        let width = most.max(vertices / WINDOWS + 1).next_multiple_of(batch).min(vertices.max(1));
        let mut bounds: Vec<u64> = (0..vertices).step_by(width as usize).collect();
        bounds.push(vertices);
        let how = (graph.disk(), IoBackend::Auto);
        let log = RecordLog::create(how, &graph.scratch_folder(), &bounds, (1, 0))?;
        let (mut ranks, mut sender) = (RankLookup::new(graph, 0)?, log.sender());
        let mut sent = Ok(());
        column.for_each(|vertex, cell| {
            if sent.is_ok() && vertex.is_multiple_of(batch) && (options.cancelled)() {
                sent = Err(GraphError::Cancelled);
            }
            let bits = match cell {
                Cell::Null => return,
                Cell::Integer(number) => number,
                Cell::Float(number) => number.to_bits(),
            };
            if sent.is_ok() {
                sent = ranks.next_rank(graph, vertex).map(|row| log.send(&mut sender, row, bits));
            }
        })?;
        sent?;
        log.collect([sender])?;
        let (kind, connected) = (column.values.kind(), graph.connected());
        Ok(Self { log, kind, connected, window: Vec::new(), rows: 0..0 })
    }

    /// The values of the next rows, which are those of `vertices` and begin with `first`.
    pub(super) fn cells(
        &mut self,
        column: &Column,
        first: u64,
        vertices: &[u64],
    ) -> Result<Vec<Cell>> {
        if first >= self.rows.end {
            self.turn_to(first)?;
        }
        // Isolated vertices have no value that was sent.
        let alone = vertices.iter().copied().filter(|&vertex| vertex >= self.connected);
        let mut alone = column.gather(&alone.collect::<Vec<_>>())?.into_iter();
        let cell = |(row, &vertex): (u64, &u64)| {
            if vertex >= self.connected {
                return alone.next().unwrap_or(Cell::Null);
            }
            let is_real = matches!(self.kind, NumberKind::F32 | NumberKind::F64);
            match self.window[(row - self.rows.start) as usize] {
                NONE => Cell::Null,
                bits if is_real => Cell::Float(f64::from_bits(bits)),
                number => Cell::Integer(number),
            }
        };
        Ok((first..).zip(vertices).map(cell).collect())
    }

    /// Reads the window that begins with this row.
    fn turn_to(&mut self, first: u64) -> Result<()> {
        let part = self.log.bounds().partition_point(|&bound| bound <= first) - 1;
        self.rows = self.log.bounds()[part]..self.log.bounds()[part + 1];
        self.window.clear();
        self.window.resize((self.rows.end - self.rows.start) as usize, NONE);
        let (window, start) = (&mut self.window, self.rows.start);
        self.log.drain(part, |row, bits| window[(row - start) as usize] = bits)?;
        Ok(())
    }
}
