//! What a Parquet file claims, looked at before memory is taken for it: the footer's lists, and the
//! sizes of pages. Headers of pages are small, and lie where reading passes anyway.

use std::io;

use super::thrift::{STRUCT, Thrift};

/// The longest header of a page that is read: it may hold the least and the largest value.
const LONGEST_HEADER: usize = 1 << 20;
/// What is read of a header at first.
const USUAL_HEADER: usize = 1 << 10;
/// The encoding in which a value may be longer than all its page has of it.
const DELTA_BYTE_ARRAY: i64 = 7;
/// A text of a dictionary beside its bytes, in memory.
const ENTRY: u64 = 16;

/// What the pages of a column of a row group say of themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// Bytes of the dictionary, in memory.
    pub dictionary: u64,
    /// The most bytes of a page of values, decompressed.
    pub largest: u64,
    /// The most bytes of any page in the file.
    pub stored: u64,
    /// The most bytes that a value takes of a page of values: those that come together take no more
    /// than that each, and two pages.
    pub value: u64,
}

/// A page, as its header has it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    /// Bytes of the header itself.
    len: u64,
    decompressed: u64,
    stored: u64,
    is_dictionary: bool,
    values: u64,
    encoding: i64,
}

/// Why pages cannot be read.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file cannot be.
    Damaged(String),
    /// The device failed.
    Device(io::Error),
}

impl Pages {
    /// Reads the headers of the pages of a column: from byte `start` on, `len` bytes. `read` fills
    /// a buffer from an offset on, as far as the file goes, and returns how far.
    pub(super) fn survey(
        (start, len): (u64, u64),
        is_text: bool,
        mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> Result<Self, Trouble> {
        let (mut pages, mut at) = (Self::default(), start);
        let end = start.saturating_add(len);
        let mut buffer = vec![0; USUAL_HEADER];
        while at < end {
            let header = loop {
                let filled = read(at, &mut buffer).map_err(Trouble::Device)?;
                match Header::parse(&buffer[..filled]) {
                    Some(header) => break header,
                    None if filled == buffer.len() && filled < LONGEST_HEADER => {
                        buffer.resize(filled * 4, 0);
                    }
                    None => {
                        let what = format!("there is no header of a page at byte {at}");
                        return Err(Trouble::Damaged(what));
                    }
                }
            };
            pages
                .add(&header, is_text)
                .map_err(|what| Trouble::Damaged(format!("the page at byte {at} {what}")))?;
            at = at.saturating_add(header.len + header.stored);
        }
        Ok(pages)
    }

    fn add(&mut self, header: &Header, is_text: bool) -> Result<(), String> {
        let Header { decompressed, values, .. } = *header;
        self.stored = self.stored.max(header.stored);
        if header.is_dictionary {
            // A text has its length before it.
            let (shortest, entry) = if is_text { (4, ENTRY) } else { (1, 0) };
            if values > decompressed / shortest {
                return Err(format!("claims {values} values in {decompressed} bytes"));
            }
            self.dictionary = self.dictionary.max(decompressed + values * entry);
        } else {
            self.largest = self.largest.max(decompressed);
            let value = if header.encoding == DELTA_BYTE_ARRAY {
                decompressed
            } else {
                decompressed.div_ceil(values.max(1))
            };
            self.value = self.value.max(value);
        }
        Ok(())
    }
}

impl Header {
    /// `None`: the bytes end too early, or are no header.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut thrift = Thrift::new(bytes);
        let mut header = Self::default();
        // Which field of a page's own header is its encoding.
        let inner = |thrift: &mut Thrift, header: &mut Self, encoding: i64| {
            thrift.fields(|thrift, number, kind| {
                if kind == STRUCT || (number != 1 && number != encoding) {
                    return Some(false);
                }
                let value = thrift.integer()?;
                if number == 1 {
                    header.values = u64::try_from(value).ok()?;
                } else {
                    header.encoding = value;
                }
                Some(true)
            })
        };
        thrift.fields(|thrift, number, _| {
            match number {
                1 => header.is_dictionary = thrift.integer()? == 2,
                2 => header.decompressed = u64::try_from(thrift.integer()?).ok()?,
                3 => header.stored = u64::try_from(thrift.integer()?).ok()?,
                5 => inner(thrift, &mut header, 2)?,
                7 => inner(thrift, &mut header, 2)?,
                8 => inner(thrift, &mut header, 4)?,
                _ => return Some(false),
            }
            Some(true)
        })?;
        header.len = thrift.position() as u64;
        Some(header)
    }
}

/// Whether the lists of a footer have no more elements than the footer has bytes, nor structs more
/// children: the reader makes room for as many.
pub(super) fn footer_is_sound(bytes: &[u8]) -> bool {
    let most = bytes.len() as u64;
    let children = |thrift: &mut Thrift| {
        thrift.fields(|thrift, number, kind| {
            if number != 5 || kind == STRUCT {
                return Some(false);
            }
            let children = u64::try_from(thrift.integer()?).ok()?;
            (children <= most).then_some(true)
        })
    };
    let mut thrift = Thrift::new(bytes);
    let walked = thrift.fields(|thrift, number, kind| {
        if !matches!((number, kind), (2 | 4, 9)) {
            return Some(false);
        }
        let (len, kind) = thrift.list()?;
        if len > most {
            return None;
        }
        for _ in 0..len {
            if number == 2 && kind == STRUCT {
                children(thrift)?;
            } else {
                thrift.element(kind)?;
            }
        }
        Some(true)
    });
    walked.is_some()
}
