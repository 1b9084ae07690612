//! Undoing compression, recognized by magic bytes: gzip of any number of members, zstd of any
//! number of frames.

use std::{
    io::{self, BufRead, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

/// The largest zstd window there is.
pub(super) const LARGEST_WINDOW: u64 = 1 << 31;
/// The most bytes of a zstd frame's header.
const HEADER: usize = 18;

/// The windows of a zstd stream: each frame says how large a one it needs.
#[derive(Debug)]
pub(super) struct Windows {
    /// The largest that a frame may have.
    pub(super) granted: AtomicU64,
    /// The largest that a frame asked for so far.
    pub(super) asked: AtomicU64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { granted: LARGEST_WINDOW.into(), asked: 0.into() }
    }
}

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Its name, empty for none.
    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// What the first bytes say. Some can be recognized but not undone: then the name and a command
    /// that does it.
    pub(super) fn recognize(head: &[u8]) -> Result<Self, (&'static str, &'static str)> {
        const ZSTD: [u8; 3] = [0xb5, 0x2f, 0xfd];
        match head {
            [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
            [0x28, rest @ ..] if rest.starts_with(&ZSTD) => Ok(Compression::Zstd),
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Compression::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Err(("bzip2", "bzip2 -dc")),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(("xz", "xz -dc")),
            [4, 0x22, 0x4d, 0x18, ..] => Err(("lz4", "lz4 -dc")),
            [b'P', b'K', 3, 4, ..] => Err(("zip", "unzip -p")),
            [b'7', b'z', 0xbc, 0xaf, ..] => Err(("7z", "7z x -so")),
            _ => Ok(Compression::None),
        }
    }

    /// The bytes of `raw` before compression. A frame of zstd that asks for a larger window than is
    /// granted is an error.
    pub(super) fn undo<'a>(
        self,
        raw: Box<dyn BufRead + Send + 'a>,
        windows: &Arc<Windows>,
    ) -> Box<dyn Read + Send + 'a> {
        match self {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(Gzip { member: Some(GzDecoder::new(raw)) }),
            Compression::Zstd => {
                let rest = Some(Peeked { head: Vec::new(), inner: raw });
                Box::new(Zstd { windows: windows.clone(), rest, frame: None })
            }
        }
    }
}

/// The window that the zstd frame at the start of `head` needs, rounded up to what has to be
/// granted; 0 if unknown.
fn zstd_window(head: &[u8]) -> u64 {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = head else { return 0 };
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let Some(&window) = rest.first() else { return 0 };
        let base = 1u64 << (10 + (window >> 3));
        return (base + base / 8 * u64::from(window & 7)).next_power_of_two();
    }
    // No window: the whole content is the window.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let Some(size) = rest.get(dictionary..dictionary + bytes) else { return 0 };
    let size = size.iter().rev().fold(0u64, |size, byte| size << 8 | u64::from(*byte));
    let size = if bytes == 2 { size + 256 } else { size };
    size.checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// A zstd file: frames one after the other.
struct Zstd<R: BufRead> {
    windows: Arc<Windows>,
    /// What no frame has begun to read; absent within a frame, and after the last one.
    rest: Option<Peeked<R>>,
    frame: Option<Decoder<'static, Peeked<R>>>,
}

impl<R: BufRead> Zstd<R> {
    /// The next frame, if there is one, and it may have the window that it asks for.
    fn begin(&self, mut rest: Peeked<R>) -> io::Result<Option<Decoder<'static, Peeked<R>>>> {
        rest.peek()?;
        if rest.head.is_empty() {
            return Ok(None);
        }
        let window = zstd_window(&rest.head);
        self.windows.asked.fetch_max(window, Relaxed);
        if window > self.windows.granted.load(Relaxed) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut frame = Decoder::with_buffer(rest)?.single_frame();
        frame.window_log_max(LARGEST_WINDOW.ilog2())?;
        Ok(Some(frame))
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(rest) = self.rest.take() {
                self.frame = self.begin(rest)?;
            }
            let Some(frame) = &mut self.frame else { return Ok(0) };
            let read = frame.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.rest = self.frame.take().map(Decoder::finish);
        }
    }
}

/// A reader whose next bytes were looked at.
struct Peeked<R> {
    head: Vec<u8>,
    inner: R,
}

impl<R: BufRead> Peeked<R> {
    /// Looks at as many bytes as a frame's header may have; at fewer before the end.
    fn peek(&mut self) -> io::Result<()> {
        let missing = HEADER.saturating_sub(self.head.len()) as u64;
        self.inner.by_ref().take(missing).read_to_end(&mut self.head).map(drop)
    }
}

impl<R: BufRead> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Peeked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.head.is_empty() { self.inner.fill_buf() } else { Ok(&self.head) }
    }

    fn consume(&mut self, bytes: usize) {
        if self.head.is_empty() {
            self.inner.consume(bytes);
        } else {
            self.head.drain(..bytes);
        }
    }
}

/// A gzip file: members one after the other, perhaps padded with zeros.
struct Gzip<R> {
    /// Absent after the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(member) = self.member.take() else { break };
            let mut rest = member.into_inner();
            match rest.fill_buf()?.first() {
                None => {}
                Some(0x1f) => self.member = Some(GzDecoder::new(rest)),
                Some(0) => skip_padding(rest)?,
                Some(_) => return Err(trailing()),
            }
        }
        Ok(0)
    }
}

fn skip_padding(mut rest: impl BufRead) -> io::Result<()> {
    loop {
        let bytes = rest.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(trailing());
        }
        let len = bytes.len();
        rest.consume(len);
    }
}

fn trailing() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "something that is not gzip follows the gzip stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_from_the_header() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(27).unwrap();
        encoder.include_contentsize(false).unwrap();
        std::io::Write::write_all(&mut encoder, b"1 2\n").unwrap();
        let frame = encoder.finish().unwrap();
        assert_eq!(zstd_window(&frame), 1 << 27);
        assert_eq!(zstd_window(b"(\xb5/\xfd"), 0);
        let small = zstd::encode_all(&[7u8; 1000][..], 1).unwrap();
        assert!(zstd_window(&small) >= 1000);
    }

    #[test]
    fn what_cannot_be_undone_is_named() {
        assert_eq!(Compression::recognize(b"BZh91AY&SY").unwrap_err().0, "bzip2");
        assert_eq!(Compression::recognize(b"\xfd7zXZ\0\0").unwrap_err().0, "xz");
        assert_eq!(Compression::recognize(b"BZhang 1\n"), Ok(Compression::None));
        assert_eq!(Compression::recognize(b"\x51\x2a\x4d\x18"), Ok(Compression::Zstd));
        assert_eq!(Compression::recognize(b""), Ok(Compression::None));
    }
}
