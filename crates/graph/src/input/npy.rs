//! The header of an NPY file, and the numbers behind it: an array of one dimension in the
//! little-endian numbers that NumPy writes by itself.

use std::{
    io::{self, Read},
    path::Path,
};

use super::fault;
use crate::error::Result;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The numbers of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NpyKind {
    F64,
    F32,
    I64,
    U64,
    I32,
    U32,
}

const KINDS: [(&str, NpyKind); 6] = [
    ("'<f8'", NpyKind::F64),
    ("'<f4'", NpyKind::F32),
    ("'<i8'", NpyKind::I64),
    ("'<u8'", NpyKind::U64),
    ("'<i4'", NpyKind::I32),
    ("'<u4'", NpyKind::U32),
];

/// What comes before the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NpyHeader {
    /// Bytes of it.
    pub bytes: usize,
    kind: NpyKind,
}

impl NpyHeader {
    /// Reads it from the beginning of a file; `None`: it is none.
    pub(super) fn of(path: &Path, head: &[u8]) -> Result<Option<Self>> {
        let Some(rest) = head.strip_prefix(MAGIC) else { return Ok(None) };
        let advice = "save an array of one dimension with numpy.save, of numbers of 64 or 32 bits";
        let text = match rest {
            [1, _, low, high, text @ ..] => {
                text.get(..usize::from(u16::from_le_bytes([*low, *high])))
            }
            [2 | 3, _, a, b, c, d, text @ ..] => {
                text.get(..u32::from_le_bytes([*a, *b, *c, *d]) as usize)
            }
            _ => None,
        };
        let Some(text) = text else {
            return Err(fault(
                path,
                "the header of NPY is cut short or of another version",
                advice,
            ));
        };
        let (bytes, text) = (
            head.len() - rest.len() + text.as_ptr() as usize - rest.as_ptr() as usize + text.len(),
            String::from_utf8_lossy(text),
        );
        let kind = KINDS.iter().find(|(name, _)| text.contains(&format!("'descr': {name}")));
        let shape = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
        let one = shape.is_some_and(|(shape, _)| {
            let sizes = shape.split(',').filter(|size| !size.trim().is_empty());
            sizes.count() == 1
        });
        match kind {
            Some((_, kind)) if one => Ok(Some(Self { bytes, kind: *kind })),
            _ => Err(fault(path, format!("NPY with {}", text.trim()), advice)),
        }
    }

    /// The next number; `None` at the end of the file. One that is cut short is no number.
    pub(super) fn next(&self, bytes: &mut impl Read) -> io::Result<Option<f64>> {
        let mut read = [0; 8];
        let size = match self.kind {
            NpyKind::F64 | NpyKind::I64 | NpyKind::U64 => 8,
            NpyKind::F32 | NpyKind::I32 | NpyKind::U32 => 4,
        };
        let mut filled = 0;
        while filled < size {
            match bytes.read(&mut read[filled..size]) {
                Ok(0) => return Ok((filled > 0).then_some(f64::NAN)),
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let half = [read[0], read[1], read[2], read[3]];
        Ok(Some(match self.kind {
            NpyKind::F64 => f64::from_le_bytes(read),
            NpyKind::F32 => f32::from_le_bytes(half).into(),
            NpyKind::I64 => i64::from_le_bytes(read) as f64,
            NpyKind::U64 => u64::from_le_bytes(read) as f64,
            NpyKind::I32 => i32::from_le_bytes(half).into(),
            NpyKind::U32 => u32::from_le_bytes(half).into(),
        }))
    }
}
