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
        let wrong = || format!("{text:?} is not a size; write 4096, 512M, 2G or 25%");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 100.0 {
                Ok(Size::Percent(percent))
            } else {
                Err(wrong())
            };
        }
        bytes(text).map(Size::Bytes).map_err(|_| wrong())
    }
}

/// A size in bytes, with `K`, `M`, `G` or `T` for powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write 4096, 512K, 512M, 2G or 1T");
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let (number, unit) = match bare.as_bytes().last() {
        Some(b'k') => (&bare[..bare.len() - 1], 10),
        Some(b'm') => (&bare[..bare.len() - 1], 20),
        Some(b'g') => (&bare[..bare.len() - 1], 30),
        Some(b't') => (&bare[..bare.len() - 1], 40),
        _ => (bare, 0),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << unit).ok_or_else(wrong);
    }
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match number.parse::<f64>() {
        Ok(number) if plain && unit > 0 && number * ((1u64 << unit) as f64) < 9e18 => {
            Ok((number * (1u64 << unit) as f64) as u64)
        }
        _ => Err(wrong()),
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
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "x", "-1", "1.5", "1e3M", "infM", "nan", "99999999999T", "1 G", "5%"]
        {
            assert!(bytes(text).is_err(), "{text}");
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
