//! Which device a folder is on: something to recognize it by, and to notice that it is another one
//! now.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::disk::Disk;
use crate::error::{Result, StorageError};

/// Descriptions of devices by the kernel are one short line each; the table of mounts is longer.
const MAX_DESCRIPTION: u64 = 1 << 20;

/// The block device that holds a folder: number, name, size in bytes and model, as far as the
/// system tells. For file systems without one (in memory, over a network) the number, the type and
/// the source of the mount.
pub fn device_of(disk: &Disk, dir: &Path) -> Result<String> {
    let metadata =
        std::fs::metadata(dir).map_err(|error| StorageError::io("lookup", dir, 0, error))?;
    let number = metadata.dev();
    let number = format!("{}:{}", libc::major(number), libc::minor(number));
    let described = described_block(disk, &number).or_else(|| described_mount(disk, &number));
    Ok(described.map_or(number.clone(), |description| format!("{number} {description}")))
}

/// A description that may be missing: not a reason to fail.
fn text(disk: &Disk, path: &Path) -> Option<String> {
    let bytes = disk.read_all(path, MAX_DESCRIPTION).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn described_block(disk: &Disk, number: &str) -> Option<String> {
    let link = Path::new("/sys/dev/block").join(number);
    let folder = std::fs::canonicalize(link).ok()?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let sectors: Option<u64> = text(disk, &folder.join("size")).and_then(|size| size.parse().ok());
    // A partition's model is its disk's.
    let detail = |file: &str| {
        let whole = folder.parent();
        text(disk, &folder.join(file))
            .or_else(|| whole.and_then(|whole| text(disk, &whole.join(file))))
    };
    let mut words = vec![name];
    words.extend(sectors.map(|sectors| format!("{} bytes", sectors * 512)));
    words.extend(
        [detail("device/model"), detail("serial"), detail("device/serial")].into_iter().flatten(),
    );
    Some(words.join(" "))
}

fn described_mount(disk: &Disk, number: &str) -> Option<String> {
    let table = text(disk, Path::new("/proc/self/mountinfo"))?;
    table.lines().find_map(|line| {
        // Mount, parent, number, root, place, options, optional fields, "-", type, source, ...
        let (place, system) = line.split_once(" - ")?;
        let mut words = system.split(' ');
        (place.split(' ').nth(2) == Some(number))
            .then(|| Some(format!("{} {}", words.next()?, words.next()?)))?
    })
}
