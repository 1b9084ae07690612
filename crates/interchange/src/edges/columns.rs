//! Which columns of a table are the ends and the weight of its edges, and a batch of them as edges.

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, Field, Schema};
use outercore_graph::{
    WeightKind,
    input::{EdgeBatch, Ends, IdKind, InputOptions, Names, VertexBatch},
};

use super::convert;

const SOURCES: [&str; 3] = ["src", "source", "from"];
const TARGETS: [&str; 5] = ["dst", "target", "to", "dest", "destination"];
const WEIGHTS: [&str; 2] = ["weight", "w"];
const IDS: [&str; 4] = ["id", "vertex", "node", "src"];

/// A row that cannot be an edge: counted from 0 within its batch.
#[derive(Debug)]
pub(super) struct RowFault {
    pub row: usize,
    pub what: String,
    pub advice: &'static str,
}

/// Why a table's columns cannot be edges, and what to do.
pub(super) type Misfit = (String, &'static str);

/// The columns of the edges, as positions in the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub source: usize,
    pub target: usize,
    pub weight: Option<usize>,
    /// Numbers or names.
    pub ids: IdKind,
    /// What weights must be; [`WeightKind::None`] where they are not read.
    pub weights: WeightKind,
}

impl Columns {
    /// Finds the columns by their names.
    pub(super) fn find(schema: &Schema, options: &InputOptions) -> Result<Self, Misfit> {
        let source = find(schema, &SOURCES)?;
        let target = find(schema, &TARGETS)?;
        let ends = [(source, schema.field(source)), (target, schema.field(target))];
        let names = ends
            .iter()
            .map(|(_, field)| is_name(field))
            .collect::<Result<Vec<_>, _>>()?
            .contains(&true);
        let ids = options.ids.unwrap_or(if names { IdKind::Names } else { IdKind::Numbers });
        let weight = if options.weights == Some(WeightKind::None) {
            None
        } else {
            find(schema, &WEIGHTS).ok()
        };
        let weights = match weight.map(|weight| weight_kind(schema.field(weight))).transpose()? {
            None => WeightKind::None,
            Some(found) => options.weights.unwrap_or(found),
        };
        Ok(Self { source, target, weight, ids, weights })
    }

    /// In words: `u64 ids in src and dst, weights in weight`.
    pub(super) fn describe(&self, schema: &Schema) -> String {
        let name = |column: usize| schema.field(column).name().as_str();
        let mut text =
            format!("{} ids in {} and {}", self.ids.name(), name(self.source), name(self.target));
        if let Some(weight) = self.weight {
            text.push_str(&format!(", weights in {}", name(weight)));
        }
        text
    }

    /// The weights that batches carry, as [`outercore_graph::input::SourceInfo`] has it.
    pub(super) fn weight_kind(&self) -> Option<WeightKind> {
        (self.weights != WeightKind::None).then_some(self.weights)
    }

    /// A batch of rows as edges.
    pub(super) fn edges(
        &self,
        schema: &Schema,
        source: &ArrayRef,
        target: &ArrayRef,
        weight: Option<&ArrayRef>,
    ) -> Result<EdgeBatch, RowFault> {
        let name = |column: usize| schema.field(column).name().as_str();
        let ends = match self.ids {
            IdKind::Names => {
                let (sources, targets) =
                    (strings(source, name(self.source))?, strings(target, name(self.target))?);
                Ends::Names(join(&sources, &targets))
            }
            IdKind::Dense | IdKind::Numbers => {
                let (sources, targets) =
                    (numbers(source, name(self.source))?, numbers(target, name(self.target))?);
                Ends::Numbers(
                    sources
                        .into_iter()
                        .zip(targets)
                        .map(|(source, target)| [source, target])
                        .collect(),
                )
            }
        };
        let weights = match (weight, self.weight) {
            (Some(array), Some(column)) => Some(weights(array, name(column), self.weights)?),
            _ => None,
        };
        Ok(EdgeBatch { ends, weights })
    }
}

/// The column of a table of vertices.
pub(super) fn vertex_column(schema: &Schema) -> Result<usize, Misfit> {
    let column = find(schema, &IDS)?;
    is_name(schema.field(column))?;
    Ok(column)
}

/// A batch of rows as vertices.
pub(super) fn vertices(ids: IdKind, array: &ArrayRef, name: &str) -> Result<VertexBatch, RowFault> {
    Ok(match ids {
        IdKind::Names => VertexBatch::Names(single(&strings(array, name)?)),
        IdKind::Dense | IdKind::Numbers => VertexBatch::Numbers(numbers(array, name)?),
    })
}

fn find(schema: &Schema, names: &[&str]) -> Result<usize, Misfit> {
    let matches = |name: &str| {
        schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))
    };
    names.iter().find_map(|name| matches(name)).ok_or_else(|| {
        let have: Vec<_> =
            schema.fields().iter().take(20).map(|field| field.name().as_str()).collect();
        let what = format!(
            "there is no column {}; the columns are {}",
            names[..names.len().min(3)].join(" or "),
            have.join(", ")
        );
        (what, "name the columns of the edges src, dst and weight")
    })
}

fn value_type(field: &Field) -> &DataType {
    match field.data_type() {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

/// Whether a column of ids holds names.
fn is_name(field: &Field) -> Result<bool, Misfit> {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    match value_type(field) {
        kind if kind.is_integer() => Ok(false),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => Ok(true),
        kind => Err((
            format!("column {} has type {kind}, and ids are integers or strings", field.name()),
            "convert the column",
        )),
    }
}

fn weight_kind(field: &Field) -> Result<WeightKind, Misfit> {
    match value_type(field) {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Ok(WeightKind::U32),
        DataType::Float16 | DataType::Float32 => Ok(WeightKind::F32),
        // Signed columns mostly hold numbers that a narrower kind holds too; the build finds out.
        kind if kind.is_integer() || kind.is_floating() => Ok(WeightKind::F64),
        DataType::Decimal128(..) | DataType::Decimal64(..) | DataType::Decimal32(..) => {
            Ok(WeightKind::F64)
        }
        kind => Err((
            format!("column {} has type {kind}, and weights are numbers", field.name()),
            "convert the column, or give --weights none to ignore it",
        )),
    }
}

/// The values of a column, without a dictionary. The first row without one complains.
fn values(array: &ArrayRef, name: &str) -> Result<ArrayRef, RowFault> {
    let nulls = array.logical_nulls();
    match nulls.and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row))) {
        Some(row) => Err(RowFault {
            row,
            what: format!("column {name} has no value (null)"),
            advice: "drop such rows, or fill them in",
        }),
        None => Ok(convert::plain(array)),
    }
}

/// A row whose value is not what it has to be.
fn wrong(array: &ArrayRef, name: &str, row: usize, what: &str) -> RowFault {
    let what = format!("column {name}: {} is not {what}", convert::shown(array, row));
    RowFault { row, what, advice: "" }
}

fn numbers(array: &ArrayRef, name: &str) -> Result<Vec<u64>, RowFault> {
    let array = values(array, name)?;
    convert::numbers(&array).map_err(|row| wrong(&array, name, row, "an unsigned 64-bit number"))
}

fn strings(array: &ArrayRef, name: &str) -> Result<StringArray, RowFault> {
    let array = values(array, name)?;
    convert::texts(&array).map_err(|row| wrong(&array, name, row, "UTF-8 text"))
}

fn weights(array: &ArrayRef, name: &str, kind: WeightKind) -> Result<Vec<f64>, RowFault> {
    let array = values(array, name)?;
    let weights = convert::reals(&array).map_err(|row| wrong(&array, name, row, "a number"))?;
    let whole = |weight: f64| weight.trunc() == weight && (0.0..4_294_967_296.0).contains(&weight);
    let fits = |weight: f64| match kind {
        WeightKind::U32 => whole(weight),
        WeightKind::F32 => (weight as f32).is_finite(),
        WeightKind::None | WeightKind::F64 => weight.is_finite(),
    };
    let Some(row) = weights.iter().position(|&weight| !fits(weight)) else { return Ok(weights) };
    let weight = weights[row];
    let (what, advice) = match kind {
        _ if !weight.is_finite() => {
            ("is not finite", "drop or mend such rows, or give --weights none to ignore the column")
        }
        WeightKind::U32 => (
            "is not an unsigned integer below 2^32",
            "give --weights f64 if weights may be other numbers",
        ),
        _ => ("is too large for f32", "give --weights f64"),
    };
    Err(RowFault { row, what: format!("the weight {weight} {what}"), advice })
}

fn join(sources: &StringArray, targets: &StringArray) -> Names {
    let mut names = Names {
        bytes: Vec::with_capacity(sources.value_data().len().min(1 << 22) * 2),
        ends: Vec::with_capacity(sources.len() * 2),
    };
    for (source, target) in sources.iter().zip(targets) {
        for name in [source, target].into_iter().flatten() {
            names.bytes.extend_from_slice(name.as_bytes());
            names.ends.push(names.bytes.len() as u32);
        }
    }
    names
}

fn single(array: &StringArray) -> Names {
    let mut names = Names::default();
    for name in array.iter().flatten() {
        names.bytes.extend_from_slice(name.as_bytes());
        names.ends.push(names.bytes.len() as u32);
    }
    names
}
