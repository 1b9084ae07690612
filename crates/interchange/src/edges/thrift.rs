//! As much of Thrift's compact protocol as it takes to see what a Parquet file claims, before
//! anything is allocated for it.

/// Types of fields and elements.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
/// A struct.
pub(super) const STRUCT: u8 = 12;
/// Structs inside of structs are not followed further.
const DEEPEST: u32 = 32;

/// A place in some bytes. Everything returns `None` where they end too early, or are no Thrift.
pub(super) struct Thrift<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Thrift<'b> {
    /// At the beginning of `bytes`.
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Reads a struct: hands the number and the type of each field to `field`, which reads it and
    /// returns `Some(true)`, or leaves it alone and returns `Some(false)`.
    pub(super) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, i64, u8) -> Option<bool>,
    ) -> Option<()> {
        let mut number = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = if head >> 4 == 0 { self.integer()? } else { number + i64::from(head >> 4) };
            if !field(self, number, head & 15)? {
                self.skip(head & 15, true, 0)?;
            }
        }
    }

    /// An integer of any width.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let both = self.varint()?;
        Some((both >> 1) as i64 ^ -((both & 1) as i64))
    }

    /// The beginning of a list: how many elements, and of which type.
    pub(super) fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((len, head & 15))
    }

    /// Passes over an element of a list.
    pub(super) fn element(&mut self, kind: u8) -> Option<()> {
        self.skip(kind, false, 0)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// Passes over a value. The type of a field says which truth value it is; an element has a
    /// byte.
    fn skip(&mut self, kind: u8, is_field: bool, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            TRUE | FALSE if is_field => Some(()),
            TRUE | FALSE | BYTE => self.pass(1),
            4..=6 => self.varint().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let len = self.varint()?;
                self.pass(len)
            }
            LIST | SET => {
                let (len, kind) = self.list()?;
                (0..len).try_for_each(|_| self.skip(kind, false, depth + 1))
            }
            MAP => {
                let len = self.varint()?;
                let kinds = if len == 0 { 0 } else { self.byte()? };
                (0..len).try_for_each(|_| {
                    self.skip(kinds >> 4, false, depth + 1)?;
                    self.skip(kinds & 15, false, depth + 1)
                })
            }
            STRUCT => loop {
                let head = self.byte()?;
                if head == 0 {
                    return Some(());
                }
                if head >> 4 == 0 {
                    self.varint()?;
                }
                self.skip(head & 15, true, depth + 1)?;
            },
            _ => None,
        }
    }
}
