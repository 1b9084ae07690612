//! Which columns of a table are the ends and the weight of its edges, and a batch of them as edges.

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use outercore_graph::{
    WeightKind,
    input::{
        EdgeBatch, EdgeColumns, Ends, IdKind, InputOptions, Item, Picked, VertexBatch, long_name,
    },
};

use super::{
    convert::{self, Texts},
    outlet::{Outlet, RowError, RowFault},
};

const SOURCES: [&str; 3] = ["src", "source", "from"];
const TARGETS: [&str; 5] = ["dst", "target", "to", "dest", "destination"];
const WEIGHTS: [&str; 2] = ["weight", "w"];
const IDS: [&str; 4] = ["id", "vertex", "node", "src"];

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
        let asked = options.columns.as_ref().map(|asked| picked(schema, asked)).transpose()?;
        let (source, target) = match asked {
            Some(Picked { source, target, .. }) => (source, target),
            None => (find(schema, &SOURCES)?, find(schema, &TARGETS)?),
        };
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
            asked.map_or_else(|| find(schema, &WEIGHTS).ok(), |picked| picked.weight)
        };
        if weight.is_none() && options.weights.is_some_and(|kind| kind != WeightKind::None) {
            let have = list(schema);
            return Err((
                format!("there is no column weight or w; the columns are {have}"),
                "say which it is with --columns source=NAME,target=NAME,weight=NAME",
            ));
        }
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

    /// Adds a batch of rows to what goes to the sink.
    pub(super) fn edges(
        &self,
        schema: &Schema,
        [source, target]: [&ArrayRef; 2],
        weight: Option<&ArrayRef>,
        out: &mut Outlet,
    ) -> Result<(), RowError> {
        let name = |column: usize| schema.field(column).name().as_str();
        let weights = match (weight, self.weight) {
            (Some(array), Some(column)) => Some(weights(array, name(column), self.weights)?),
            _ => None,
        };
        match self.ids {
            IdKind::Names => {
                let sources = NameColumn::new(source, name(self.source))?;
                let targets = NameColumn::new(target, name(self.target))?;
                for row in 0..source.len() {
                    let weight = weights.as_ref().map(|weights| weights[row]);
                    out.edge(sources.name(row)?, targets.name(row)?, weight)?;
                }
                Ok(())
            }
            IdKind::Dense | IdKind::Numbers => {
                let sources = numbers(source, name(self.source))?;
                let targets = numbers(target, name(self.target))?;
                let pairs =
                    sources.into_iter().zip(targets).map(|(source, target)| [source, target]);
                let ends = Ends::Numbers(pairs.collect());
                Ok(out.send(Item::Edges(EdgeBatch { ends, weights }))?)
            }
        }
    }
}

/// The column of a table of vertices.
pub(super) fn vertex_column(schema: &Schema) -> Result<usize, Misfit> {
    let column = find(schema, &IDS)?;
    is_name(schema.field(column))?;
    Ok(column)
}

/// Adds a batch of rows, which are vertices, to what goes to the sink.
pub(super) fn vertices(
    ids: IdKind,
    array: &ArrayRef,
    name: &str,
    out: &mut Outlet,
) -> Result<(), RowError> {
    match ids {
        IdKind::Names => {
            let names = NameColumn::new(array, name)?;
            (0..array.len()).try_for_each(|row| Ok(out.vertex(names.name(row)?)?))
        }
        IdKind::Dense | IdKind::Numbers => {
            Ok(out.send(Item::Vertices(VertexBatch::Numbers(numbers(array, name)?)))?)
        }
    }
}

fn find(schema: &Schema, names: &[&str]) -> Result<usize, Misfit> {
    let matches = |name: &str| {
        schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))
    };
    names.iter().find_map(|name| matches(name)).ok_or_else(|| {
        let what = format!(
            "there is no column {}; the columns are {}",
            names[..names.len().min(3)].join(" or "),
            list(schema)
        );
        (
            what,
            "name the columns of the edges src, dst and weight, or say which they are with \
             --columns source=NAME,target=NAME,weight=NAME",
        )
    })
}

/// The columns that the user names.
fn picked(schema: &Schema, asked: &EdgeColumns) -> Result<Picked, Misfit> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    Picked::asked(asked, &names, names.len()).map_err(|name| {
        let what = format!("there is no column {name}; the columns are {}", list(schema));
        (what, "give --columns names of the table, or numbers from 1")
    })
}

/// The names of the first columns.
fn list(schema: &Schema) -> String {
    let names: Vec<_> =
        schema.fields().iter().take(20).map(|field| field.name().as_str()).collect();
    names.join(", ")
}

fn value_type(field: &Field) -> &DataType {
    match field.data_type() {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

/// The type of a column of texts when it is read as views; `None`: it is no such column.
pub(super) fn view_of(field: &Field) -> Option<DataType> {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    match value_type(field) {
        Utf8 | LargeUtf8 | Utf8View => Some(Utf8View),
        Binary | LargeBinary | BinaryView => Some(BinaryView),
        _ => None,
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

/// The first row without a value complains.
fn check_nulls(array: &ArrayRef, name: &str) -> Result<(), RowFault> {
    let nulls = array.logical_nulls();
    match nulls.and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row))) {
        Some(row) => Err(RowFault {
            row,
            what: format!("column {name} has no value (null)"),
            advice: "drop such rows, or fill them in",
        }),
        None => Ok(()),
    }
}

/// The values of a column, without a dictionary. The first row without one complains.
fn values(array: &ArrayRef, name: &str) -> Result<ArrayRef, RowFault> {
    check_nulls(array, name)?;
    Ok(convert::plain(array))
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

/// A column of names.
struct NameColumn<'a> {
    array: &'a ArrayRef,
    column: &'a str,
    texts: Texts,
}

impl<'a> NameColumn<'a> {
    fn new(array: &'a ArrayRef, column: &'a str) -> Result<Self, RowFault> {
        check_nulls(array, column)?;
        let texts = Texts::new(array).ok_or_else(|| wrong(array, column, 0, "UTF-8 text"))?;
        Ok(Self { array, column, texts })
    }

    fn name(&self, row: usize) -> Result<&str, RowFault> {
        let bytes = self.texts.bytes(row).len();
        if let Some((what, advice)) = long_name(bytes) {
            return Err(RowFault { row, what, advice });
        }
        self.texts.text(row).ok_or_else(|| wrong(self.array, self.column, row, "UTF-8 text"))
    }
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
    let exact = match kind {
        WeightKind::F32 | WeightKind::F64 => convert::inexact(&array, kind),
        WeightKind::None | WeightKind::U32 => None,
    };
    let misfit = weights.iter().position(|&weight| !fits(weight));
    if let Some((row, weight)) = exact.filter(|(row, _)| misfit.is_none_or(|misfit| *row < misfit))
    {
        let what = format!("the weight {weight} is a whole number that {kind} cannot hold exactly");
        let advice = "scale the weights down, or give --weights none to ignore the column";
        return Err(RowFault { row, what, advice });
    }
    let Some(row) = misfit else { return Ok(weights) };
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
