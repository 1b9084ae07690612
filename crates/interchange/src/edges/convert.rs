//! Columns as numbers and texts, whatever their type. An error is the first row whose value has no
//! counterpart. Columns have no nulls, except those that their dictionary makes.

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, StringArray, StringViewArray,
    cast::AsArray,
    downcast_integer_array,
    types::{
        Decimal32Type, Decimal64Type, Decimal128Type, DecimalType, Float16Type, Float32Type,
        Float64Type,
    },
};
use arrow_schema::DataType;
use arrow_select::take::take;
use outercore_graph::{Key, WeightKind};

/// The values themselves, where the array is of keys into a dictionary.
pub(super) fn plain(array: &ArrayRef) -> ArrayRef {
    let values =
        array.as_any_dictionary_opt().map(|keyed| take(keyed.values(), keyed.keys(), None));
    values.and_then(Result::ok).unwrap_or_else(|| array.clone())
}

/// Unsigned 64-bit numbers.
// One line serves arrays of every width.
#[allow(clippy::unnecessary_fallible_conversions, clippy::useless_conversion)]
pub(super) fn numbers(array: &ArrayRef) -> Result<Vec<u64>, usize> {
    downcast_integer_array!(
        array => each(array.values().iter().map(|&value| u64::try_from(value).ok())),
        _ => {
            let texts = Texts::new(array).ok_or(0usize)?;
            each((0..array.len()).map(|row| Key::Name(texts.text(row)?.to_owned()).as_number()))
        }
    )
}

/// Floating-point numbers.
pub(super) fn reals(array: &ArrayRef) -> Result<Vec<f64>, usize> {
    Ok(downcast_integer_array!(
        array => array.values().iter().map(|&value| value as f64).collect(),
        DataType::Float16 => array
            .as_primitive::<Float16Type>()
            .values()
            .iter()
            .map(|value| value.to_f64())
            .collect(),
        DataType::Float32 => array
            .as_primitive::<Float32Type>()
            .values()
            .iter()
            .map(|&value| f64::from(value))
            .collect(),
        DataType::Float64 => array.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Decimal32(_, scale) => {
            decimals::<Decimal32Type>(array.as_primitive(), *scale)
        }
        DataType::Decimal64(_, scale) => {
            decimals::<Decimal64Type>(array.as_primitive(), *scale)
        }
        DataType::Decimal128(_, scale) => {
            decimals::<Decimal128Type>(array.as_primitive(), *scale)
        }
        _ => return Err(0)
    ))
}

/// The first row with a whole number that weights of this kind cannot be, and the number.
pub(super) fn inexact(array: &ArrayRef, kind: WeightKind) -> Option<(usize, String)> {
    let misfit = |whole: i128| (!kind.holds(whole)).then_some(whole);
    downcast_integer_array!(
        array => {
            let mut misfits = array.values().iter().map(|&value| misfit(value.into()));
            misfits.position(|misfit| misfit.is_some())
                .map(|row| (row, array.value(row).to_string()))
        },
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            let row = values.iter().position(|&value| kind.rounds_whole(value))?;
            Some((row, values[row].to_string()))
        },
        DataType::Decimal32(_, scale) => {
            inexact_decimal::<Decimal32Type>(array.as_primitive(), *scale, misfit)
        }
        DataType::Decimal64(_, scale) => {
            inexact_decimal::<Decimal64Type>(array.as_primitive(), *scale, misfit)
        }
        DataType::Decimal128(_, scale) => {
            inexact_decimal::<Decimal128Type>(array.as_primitive(), *scale, misfit)
        }
        _ => None
    )
}

fn inexact_decimal<T: DecimalType>(
    array: &PrimitiveArray<T>,
    scale: i8,
    misfit: impl Fn(i128) -> Option<i128>,
) -> Option<(usize, String)>
where
    T::Native: Into<i128>,
{
    let mut wholes = array.values().iter().map(|&value| whole(value.into(), scale));
    let row = wholes.position(|whole| whole.and_then(&misfit).is_some())?;
    Some((row, array.value_as_string(row)))
}

/// The whole number that a decimal is; none where it has a fraction.
fn whole(value: i128, scale: i8) -> Option<i128> {
    let unit = 10i128.checked_pow(scale.unsigned_abs().into())?;
    if scale < 0 { value.checked_mul(unit) } else { (value % unit == 0).then(|| value / unit) }
}

fn decimals<T: DecimalType>(array: &PrimitiveArray<T>, scale: i8) -> Vec<f64>
where
    T::Native: Into<i128>,
{
    let unit = 10f64.powi(i32::from(scale));
    let real = |value: i128| match whole(value, scale) {
        // One rounding, and not two.
        Some(whole) => whole as f64,
        None => value as f64 / unit,
    };
    array.values().iter().map(|&value| real(value.into())).collect()
}

/// A column of texts. A dictionary stays one: what is in it once is not copied for each row.
pub(super) enum Texts {
    Short(StringArray),
    Long(LargeStringArray),
    View(StringViewArray),
    Bytes(BinaryArray),
    LongBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    /// The key of each row, and the dictionary.
    Keyed(Vec<usize>, Box<Texts>),
}

impl Texts {
    /// Texts; numbers as they are written. `None`: values are neither.
    pub(super) fn new(array: &ArrayRef) -> Option<Self> {
        if let Some(keyed) = array.as_any_dictionary_opt() {
            return Some(Self::Keyed(
                keyed.normalized_keys(),
                Box::new(Self::new(keyed.values())?),
            ));
        }
        Some(downcast_integer_array!(
            array => {
                let written = array.values().iter().map(|value| value.to_string());
                Self::Short(StringArray::from_iter_values(written))
            },
            DataType::Utf8 => Self::Short(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Long(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            DataType::Binary => Self::Bytes(array.as_binary().clone()),
            DataType::LargeBinary => Self::LongBytes(array.as_binary().clone()),
            DataType::BinaryView => Self::BytesView(array.as_binary_view().clone()),
            _ => return None
        ))
    }

    /// The text of a row, as bytes.
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
        match self {
            Self::Short(array) => array.value(row).as_bytes(),
            Self::Long(array) => array.value(row).as_bytes(),
            Self::View(array) => array.value(row).as_bytes(),
            Self::Bytes(array) => array.value(row),
            Self::LongBytes(array) => array.value(row),
            Self::BytesView(array) => array.value(row),
            Self::Keyed(keys, values) => values.bytes(keys[row]),
        }
    }

    /// The text of a row; `None`: it is not UTF-8.
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes(row)).ok()
    }
}

/// All values, or the first row without one.
fn each<T>(values: impl ExactSizeIterator<Item = Option<T>>) -> Result<Vec<T>, usize> {
    let mut kept = Vec::with_capacity(values.len());
    for (row, value) in values.enumerate() {
        kept.push(value.ok_or(row)?);
    }
    Ok(kept)
}

/// The value of a row, for complaints.
pub(super) fn shown(array: &ArrayRef, row: usize) -> String {
    let one = array.slice(row, 1);
    let texts = Texts::new(&one);
    let text = texts.as_ref().map_or("".into(), |texts| String::from_utf8_lossy(texts.bytes(0)));
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
