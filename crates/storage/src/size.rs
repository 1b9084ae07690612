//! Sizes as users write them: `4096`, `512M`, `1.5G`, `25%`.

use std::str::FromStr;

/// A size, absolute or as a share of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Percent of what there is.
    Percent(f64),
}

impl Size {
    /// Bytes, where `whole` is what a percentage is of.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Percent(percent) => (whole as f64 * percent / 100.0) as u64,
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = match text.strip_suffix('%') {
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|&percent: &f64| percent > 0.0 && percent <= 100.0)
                .map(Size::Percent),
            None => parse_bytes(text).map(Size::Bytes),
        };
        size.ok_or_else(|| format!("{text:?} is not a size; write 4096, 512M, 2G or 25%"))
    }
}

/// A number of bytes: a [`Size`] that is no percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a size; write 4096, 512K, 512M, 2G or 1T");
        parse_bytes(text).map(Bytes).ok_or_else(wrong)
    }
}

/// A size in bytes, with `K`, `M`, `G` or `T` for powers of 1024.
fn parse_bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let (number, shift) = [('k', 10), ('m', 20), ('g', 30), ('t', 40)]
        .into_iter()
        .find_map(|(unit, shift)| Some((bare.strip_suffix(unit)?, shift)))
        .unwrap_or((bare, 0));
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let plain = shift > 0 && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let real = number.parse::<f64>().ok().filter(|_| plain)? * (1u64 << shift) as f64;
    (real < 9e18).then_some(real as u64)
}

/// `1536` -> `1.5 KiB`.
pub fn human_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = ((63 - (bytes | 1).leading_zeros()) / 10).min(5) as usize;
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let good = [
            ("0", 0),
            ("4096", 4096),
            ("1k", 1024),
            ("512M", 512 << 20),
            ("2G", 2 << 30),
            ("1.5G", 3 << 29),
            ("1T", 1 << 40),
            ("3KiB", 3072),
            ("3MB", 3 << 20),
        ];
        for (text, expected) in good {
            assert_eq!(text.parse(), Ok(Bytes(expected)), "{text}");
            assert_eq!(text.parse(), Ok(Size::Bytes(expected)), "{text}");
        }
        for text in ["", "M", "x", "-1", "1.5", "1e3M", "infM", "nan", "99999999999T", "1 G", "5%"]
        {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!("25%".parse::<Size>().unwrap().of(400), 100);
        assert_eq!("1G".parse::<Size>().unwrap().of(400), 1 << 30);
        for text in ["0%", "101%", "-5%", "%", "nan%"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
