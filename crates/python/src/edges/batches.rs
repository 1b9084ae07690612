//! An iterable of Arrow tables or record batches (a `LazyFrame`'s batches, a list of data frames)
//! as one stream.
//!
//! As with pairs, the thread that called fetches the tables; what is in them is read by the build's
//! threads.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use crossbeam_channel::Receiver;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyIterator};
use pyo3_arrow::input::AnyRecordBatch;

/// What an object with an Arrow capsule holds.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// Takes tables out of a Python iterable, all of one schema.
pub struct BatchFeed<'py> {
    tables: Bound<'py, PyIterator>,
    schema: SchemaRef,
}

impl<'py> BatchFeed<'py> {
    /// Looks at the first table; returns the feed and that table.
    pub fn begin(tables: &Bound<'py, PyAny>) -> PyResult<(Self, Reader)> {
        let mut tables = tables.try_iter()?;
        let first =
            tables.next().ok_or_else(|| PyValueError::new_err("there is no table in it"))??;
        let reader = first.extract::<AnyRecordBatch>()?.into_reader()?;
        Ok((Self { tables, schema: reader.schema() }, reader))
    }

    /// The schema of all tables.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next table.
    pub fn next(&mut self) -> PyResult<Option<Reader>> {
        let Some(table) = self.tables.next() else { return Ok(None) };
        let reader = table?.extract::<AnyRecordBatch>()?.into_reader()?;
        let same = reader.schema().fields() == self.schema.fields();
        if same {
            Ok(Some(reader))
        } else {
            Err(PyValueError::new_err("the tables do not all have the same columns"))
        }
    }
}

/// The tables as they arrive, as one stream.
pub struct FedBatches {
    schema: SchemaRef,
    receiver: Receiver<Option<Reader>>,
    current: Option<Reader>,
    ended: bool,
}

impl FedBatches {
    /// Tables that come through `receiver`.
    pub fn new(schema: SchemaRef, receiver: Receiver<Option<Reader>>) -> Self {
        Self { schema, receiver, current: None, ended: false }
    }
}

impl Iterator for FedBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            match self.receiver.recv() {
                Ok(Some(reader)) => self.current = Some(reader),
                Ok(None) => self.ended = true,
                // The feed broke off before its end: its thread knows why.
                Err(_) => {
                    self.ended = true;
                    return Some(Err(ArrowError::ExternalError("interrupted".into())));
                }
            }
        }
        None
    }
}

impl RecordBatchReader for FedBatches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
