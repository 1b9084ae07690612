//! What a device can do, measured: how fast it streams, what a random request costs, and from which
//! size on it pays to skip what is not wanted. The numbers are kept beside the data, so that they
//! are measured once.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::error::{Result, Shown, StorageError};
use crate::hidden::write_beside;

mod costs;
mod identity;
mod limits;
mod measure;

pub use costs::{Costs, Mix, Scattered, Streamed};
pub use identity::device_of;
pub use limits::{Asked, LimitSource, Limits};
pub use measure::{Load, MeasureOptions, incompressible_file, measure, time_reads};

/// The profile's name in a folder.
pub const PROFILE_NAME: &str = ".outercore-device.json";

/// A profile has a few kilobytes; anything much larger is something else.
const MAX_PROFILE: u64 = 1 << 20;

/// In which order requests go through a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One after the other, and from the start again at the end.
    Sequential,
    /// Anywhere, at multiples of the request's size.
    Random,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DevicePoint {
    /// The order of the requests.
    pub pattern: Pattern,
    /// The size of each request.
    pub request_bytes: u64,
    /// Requests in flight.
    pub depth: usize,
    /// Bytes that arrived each second.
    pub bytes_per_second: f64,
    /// Requests answered each second.
    pub iops: f64,
    /// Whether the buffers were in huge pages.
    pub huge_pages: bool,
}

/// What a device can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceProfile {
    /// The best rate of a stream.
    pub sequential_bytes_per_second: f64,
    /// The best rate of random reads of 4 KiB.
    pub random_4k_iops: f64,
    /// So many bytes take as long to stream as one more random request: reading over smaller gaps
    /// is the faster way.
    pub break_even_request_bytes: u64,
    /// What a random request costs when enough of them are in flight.
    pub request_seconds: f64,
    /// When it was measured (UTC).
    pub measured: String,
    /// Which device was measured, as [`device_of`] tells.
    pub device: String,
    /// Everything that was measured.
    pub table: Vec<DevicePoint>,
}

impl Default for DeviceProfile {
    /// A modest solid-state disk.
    fn default() -> Self {
        DeviceProfile::new(500e6, 50e3)
    }
}

impl DeviceProfile {
    fn new(sequential: f64, random: f64) -> Self {
        DeviceProfile {
            sequential_bytes_per_second: sequential,
            random_4k_iops: random,
            break_even_request_bytes: (sequential / random) as u64,
            // Nanoseconds, which survive being written as text.
            request_seconds: (1e9 / random).round() / 1e9,
            measured: String::new(),
            device: String::new(),
            table: Vec::new(),
        }
    }

    /// The profile that a table of measurements amounts to; `None` if it has no stream or no random
    /// reads of 4 KiB.
    fn of_table(table: Vec<DevicePoint>) -> Option<Self> {
        let best = |wanted: &dyn Fn(&DevicePoint) -> bool| {
            let points = table.iter().filter(|point| wanted(point));
            points.max_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second))
        };
        let stream = best(&|point| point.pattern == Pattern::Sequential)?.bytes_per_second;
        let random =
            best(&|point| point.pattern == Pattern::Random && point.request_bytes == 4096)?.iops;
        Some(DeviceProfile { table, ..DeviceProfile::new(stream, random) })
            .filter(DeviceProfile::is_sane)
    }

    /// The measurement that [`DeviceProfile::sequential_bytes_per_second`] is from.
    pub fn best_stream(&self) -> Option<&DevicePoint> {
        let streams = self.table.iter().filter(|point| point.pattern == Pattern::Sequential);
        streams.max_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second))
    }

    /// The smallest request that streams at nine tenths of the best rate, at some depth; `None`
    /// where no stream was measured.
    pub fn request_bytes(&self) -> Option<u64> {
        let best = self.best_stream()?.bytes_per_second;
        let streams = self.table.iter().filter(|point| {
            point.pattern == Pattern::Sequential && point.bytes_per_second >= best * 0.9
        });
        streams.map(|point| point.request_bytes).min()
    }

    /// Whether one can calculate with the numbers.
    fn is_sane(&self) -> bool {
        let numbers = [self.sequential_bytes_per_second, self.random_4k_iops, self.request_seconds];
        numbers.iter().all(|number| number.is_finite() && *number > 0.0)
    }
}

/// The profile that holds for a folder: its own, or that of the nearest folder above it on the same
/// device.
pub fn find_profile(disk: &Disk, dir: &Path) -> Result<Option<DeviceProfile>> {
    let dir =
        std::fs::canonicalize(dir).map_err(|error| StorageError::io("lookup", dir, 0, error))?;
    for folder in dir.ancestors() {
        if let Some(profile) = load_profile(disk, folder)?
            && profile.device == device_of(disk, &dir)?
        {
            return Ok(Some(profile));
        }
    }
    Ok(None)
}

/// The profile kept in a folder. `None` if there is none, if it was measured on another device than
/// the folder is on now, or if it cannot be understood: in all these cases the remedy is to
/// measure.
pub fn load_profile(disk: &Disk, dir: &Path) -> Result<Option<DeviceProfile>> {
    let path = dir.join(PROFILE_NAME);
    if !disk.exists(&path)? {
        return Ok(None);
    }
    let text = disk.read_all(&path, MAX_PROFILE)?;
    let Some(profile) = serde_json::from_slice(&text).ok().filter(DeviceProfile::is_sane) else {
        tracing::warn!(path = %Shown(&path), "not a device profile, ignored");
        return Ok(None);
    };
    let device = device_of(disk, dir)?;
    if profile.device != device {
        tracing::info!(
            measured = profile.device,
            now = device,
            "the device profile is another device's, ignored"
        );
        return Ok(None);
    }
    Ok(Some(profile))
}

/// Keeps a profile in a folder, in the place of an earlier one.
pub fn store_profile(disk: &Disk, dir: &Path, profile: &DeviceProfile) -> Result<()> {
    let path = dir.join(PROFILE_NAME);
    let text = serde_json::to_vec_pretty(profile)
        .map_err(|error| StorageError::io("write", &path, 0, std::io::Error::other(error)))?;
    write_beside(disk, &path, |file| {
        file.write_at(&text, 0)?;
        file.sync()
    })
}

#[cfg(test)]
mod tests;
