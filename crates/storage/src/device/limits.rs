//! [`Limits`]: how large on-demand requests are and what they read over, derived from what the
//! device measured (Graphene, FAST'17, section 3): reading over a gap pays while that takes less
//! time than one more request, and a request has no use for more bytes than it takes to stream.

use std::path::Path;

use serde::Serialize;

use super::{DeviceProfile, find_profile};
use crate::{disk::Disk, pages::MergePolicy};

/// What is asked for of requests.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Bytes of a block.
    pub block: u64,
    /// Most bytes between two wanted blocks that are read along; `None`: what suits the device.
    pub max_gap: Option<u64>,
    /// Most bytes of a request; likewise.
    pub max_request: Option<u64>,
}

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// The user.
    Option,
    /// The profile of the graph's device.
    Profile,
    /// Nothing was measured: what suits most solid-state disks.
    Constant,
}

/// How on-demand requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Bytes of a block: every request covers whole ones.
    pub block_bytes: u64,
    /// Most bytes between two wanted blocks that are read along.
    pub max_gap_bytes: u64,
    /// Where that is from.
    pub max_gap_from: LimitSource,
    /// Most bytes of a request.
    pub max_request_bytes: u64,
    /// Where that is from.
    pub max_request_from: LimitSource,
    /// What the device streams in a second.
    pub device_bytes_per_second: f64,
    /// What it could stream in the time that a request takes.
    pub break_even_bytes: u64,
}

/// Without a profile: what a random request costs on a solid-state disk of 2 GB/s with several on
/// their way: 8 microseconds.
const BREAK_EVEN: u64 = 16 << 10;
/// Without a profile: what such a disk streams in a second.
const STREAM: f64 = 2e9;
/// Without a profile: streams are near their best rate at this.
const REQUEST: u64 = 256 << 10;

impl Limits {
    /// What holds for reading files of a folder. A profile that cannot be read is as good as none.
    pub fn of_folder(disk: &Disk, folder: &Path, asked: Asked, buffer_bytes: u64) -> Self {
        let profile = find_profile(disk, folder).unwrap_or_else(|error| {
            tracing::warn!(%error, "no device profile");
            None
        });
        Self::new(asked, profile.as_ref(), buffer_bytes)
    }

    /// What holds for reading into buffers of so many bytes.
    pub fn new(asked: Asked, profile: Option<&DeviceProfile>, buffer_bytes: u64) -> Self {
        let choose =
            |asked: Option<u64>, measured: Option<u64>, constant: u64| match (asked, measured) {
                (Some(bytes), _) => (bytes, LimitSource::Option),
                (_, Some(bytes)) => (bytes, LimitSource::Profile),
                _ => (constant, LimitSource::Constant),
            };
        let block = asked.block;
        // A device that answers a request in no time still has a cost for each in the processor;
        // one that takes ages must not make everything one request.
        let break_even =
            profile.map(|profile| profile.break_even_request_bytes.clamp(8 << 10, 256 << 10));
        let (gap, max_gap_from) = choose(asked.max_gap, break_even, BREAK_EVEN);
        let (request, max_request_from) =
            choose(asked.max_request, profile.and_then(DeviceProfile::request_bytes), REQUEST);
        // Two blocks at least: an entry may lie on the boundary of two.
        let least = (2 * block).max(8 << 10);
        let request = request.clamp(least, buffer_bytes.max(least)) / block * block;
        Self {
            block_bytes: block,
            max_gap_bytes: gap / block * block,
            max_gap_from,
            max_request_bytes: request,
            max_request_from,
            device_bytes_per_second: profile
                .map_or(STREAM, |profile| profile.sequential_bytes_per_second.max(1e6)),
            break_even_bytes: break_even.unwrap_or(BREAK_EVEN),
        }
    }

    /// What a request takes, beside its bytes.
    pub fn request_seconds(&self) -> f64 {
        self.break_even_bytes as f64 / self.device_bytes_per_second
    }

    /// Seconds of reading.
    pub fn seconds(&self, bytes: u64, requests: u64) -> f64 {
        bytes as f64 / self.device_bytes_per_second + requests as f64 * self.request_seconds()
    }

    /// Which blocks are read together.
    pub fn merging(&self) -> MergePolicy {
        MergePolicy {
            max_gap: self.max_gap_bytes / self.block_bytes,
            max_run: self.max_request_bytes / self.block_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_win_over_the_profile_and_the_profile_over_constants() {
        let usual = Asked { block: 4096, max_gap: None, max_request: None };
        let none = Limits::new(usual, None, 768 << 10);
        assert_eq!((none.max_gap_bytes, none.max_gap_from), (BREAK_EVEN, LimitSource::Constant));
        assert_eq!(
            (none.max_request_bytes, none.max_request_from),
            (REQUEST, LimitSource::Constant)
        );
        let slow = DeviceProfile { break_even_request_bytes: 100_000, ..DeviceProfile::default() };
        let measured = Limits::new(usual, Some(&slow), 768 << 10);
        assert_eq!(
            (measured.max_gap_bytes, measured.max_gap_from),
            (100_000 / 4096 * 4096, LimitSource::Profile)
        );
        let asked = Limits::new(
            Asked { max_gap: Some(0), max_request: Some(1 << 30), ..usual },
            Some(&slow),
            768 << 10,
        );
        assert_eq!((asked.max_gap_bytes, asked.max_gap_from), (0, LimitSource::Option));
        assert_eq!(asked.max_request_bytes, 768 << 10, "no request is larger than a buffer");
    }

    #[test]
    fn limits_are_whole_blocks() {
        for block in [512, 4096, 8192] {
            let asked = Asked { block, max_gap: Some(10_000), max_request: Some(1) };
            let limits = Limits::new(asked, None, 768 << 10);
            assert_eq!((limits.max_gap_bytes % block, limits.max_request_bytes % block), (0, 0));
            assert!(limits.max_request_bytes >= 2 * block && limits.max_gap_bytes <= 10_000);
        }
    }
}
