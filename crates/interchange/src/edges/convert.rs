//! Columns as numbers and texts, whatever their type. An error is the first row whose value has no
//! counterpart. Columns have no nulls, except those that their dictionary makes.

use arrow_array::{
    Array, ArrayRef, BinaryArray, PrimitiveArray, StringArray,
    cast::AsArray,
    downcast_integer_array,
    types::{
        Decimal32Type, Decimal64Type, Decimal128Type, DecimalType, Float16Type, Float32Type,
        Float64Type,
    },
};
use arrow_schema::DataType;
use arrow_select::take::take;

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
        _ => each(texts(array)?.iter().map(|text| text?.parse().ok()))
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
            decimals::<Decimal32Type>(array.as_primitive(), *scale, f64::from)
        }
        DataType::Decimal64(_, scale) => {
            decimals::<Decimal64Type>(array.as_primitive(), *scale, |value| value as f64)
        }
        DataType::Decimal128(_, scale) => {
            decimals::<Decimal128Type>(array.as_primitive(), *scale, |value| value as f64)
        }
        _ => return Err(0)
    ))
}

fn decimals<T: DecimalType>(
    array: &PrimitiveArray<T>,
    scale: i8,
    real: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    let unit = 10f64.powi(i32::from(scale));
    array.values().iter().map(|&value| real(value) / unit).collect()
}

/// Texts; numbers as they are written.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray, usize> {
    Ok(downcast_integer_array!(
        array => {
            StringArray::from_iter_values(array.values().iter().map(|value| value.to_string()))
        },
        DataType::Utf8 => array.as_string::<i32>().clone(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::Binary => return utf8(array.as_binary::<i32>().clone()),
        DataType::LargeBinary => return utf8(array.as_binary::<i64>().iter().collect()),
        DataType::BinaryView => return utf8(array.as_binary_view().iter().collect()),
        _ => return Err(0)
    ))
}

fn utf8(array: BinaryArray) -> Result<StringArray, usize> {
    let wrong = |bytes: Option<&[u8]>| std::str::from_utf8(bytes.unwrap_or_default()).is_err();
    StringArray::try_from_binary(array.clone())
        .map_err(|_| array.iter().position(wrong).unwrap_or(0))
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
    let text = match one.data_type() {
        DataType::Binary => String::from_utf8_lossy(one.as_binary::<i32>().value(0)).into_owned(),
        _ => texts(&one).map(|texts| texts.value(0).to_owned()).unwrap_or_default(),
    };
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
