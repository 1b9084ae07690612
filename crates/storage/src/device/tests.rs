//! Tests of profiles. What a device can do is printed, not judged: it is another one everywhere.

use super::*;
use crate::backend::IoBackend;
use std::time::{Duration, SystemTime};

fn quick() -> MeasureOptions {
    let (point, best) = (Duration::from_millis(15), Duration::from_millis(60));
    MeasureOptions { bytes: 64 << 20, point, best, backend: IoBackend::Auto }
}

#[test]
fn measures_stores_and_loads() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    assert_eq!(load_profile(&disk, folder.path()).unwrap(), None);
    let profile = measure(&disk, folder.path(), &quick()).unwrap();
    let best = profile.best_stream().unwrap();
    println!(
        "{}: {:.2} GB/s in requests of {} KiB x {}, {:.0} random reads of 4 KiB/s, \
         break-even {} KiB",
        profile.device,
        profile.sequential_bytes_per_second / 1e9,
        best.request_bytes >> 10,
        best.depth,
        profile.random_4k_iops,
        profile.break_even_request_bytes >> 10,
    );
    assert!(profile.is_sane());
    assert_eq!(best.bytes_per_second, profile.sequential_bytes_per_second);
    assert!(profile.table.iter().any(|point| !point.huge_pages));
    assert!(disk.list(folder.path()).unwrap().is_empty(), "the temporary file is gone");
    // Twice: the second one replaces the first.
    store_profile(&disk, folder.path(), &DeviceProfile::default()).unwrap();
    store_profile(&disk, folder.path(), &profile).unwrap();
    assert_eq!(load_profile(&disk, folder.path()).unwrap(), Some(profile));
    assert_eq!(disk.list(folder.path()).unwrap(), [folder.path().join(PROFILE_NAME)]);
}

#[test]
fn other_devices_and_damage_are_noticed() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let device = device_of(&disk, folder.path()).unwrap();
    assert!(device.split(' ').next().is_some_and(|number| number.contains(':')), "{device}");
    assert_eq!(device, device_of(&disk, folder.path()).unwrap());
    let here = DeviceProfile { device, ..DeviceProfile::default() };
    store_profile(&disk, folder.path(), &here).unwrap();
    assert_eq!(load_profile(&disk, folder.path()).unwrap().as_ref(), Some(&here));
    let elsewhere = DeviceProfile { device: "8:16 sdb 1 bytes".into(), ..here.clone() };
    let useless = DeviceProfile { random_4k_iops: 0.0, ..here };
    for profile in [elsewhere, useless] {
        store_profile(&disk, folder.path(), &profile).unwrap();
        assert_eq!(load_profile(&disk, folder.path()).unwrap(), None);
    }
    for text in ["", "{", "[1]", "{\"device\": 3}"] {
        std::fs::write(folder.path().join(PROFILE_NAME), text).unwrap();
        assert_eq!(load_profile(&disk, folder.path()).unwrap(), None, "{text}");
    }
    assert!(device_of(&disk, &folder.path().join("absent")).is_err());
}

#[test]
fn a_profile_holds_for_the_folders_below() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let here = DeviceProfile {
        device: device_of(&disk, folder.path()).unwrap(),
        ..DeviceProfile::default()
    };
    store_profile(&disk, folder.path(), &here).unwrap();
    assert_eq!(find_profile(&disk, &below).unwrap(), Some(here.clone()));
    let nearer = DeviceProfile { random_4k_iops: 7.0, ..here };
    store_profile(&disk, &below, &nearer).unwrap();
    assert_eq!(find_profile(&disk, &below).unwrap(), Some(nearer));
}

#[test]
fn a_profile_adds_up() {
    let point = |pattern, request_bytes, iops: f64, huge_pages| DevicePoint {
        pattern,
        request_bytes,
        depth: 8,
        bytes_per_second: iops * request_bytes as f64,
        iops,
        huge_pages,
    };
    let table = vec![
        point(Pattern::Sequential, 1 << 20, 1000.0, false),
        point(Pattern::Sequential, 1 << 19, 5000.0, true),
        point(Pattern::Random, 4096, 80e3, true),
        point(Pattern::Random, 1 << 16, 60e3, true),
    ];
    let profile = DeviceProfile::of_table(table.clone()).unwrap();
    assert_eq!(profile.sequential_bytes_per_second, 5000.0 * 524288.0);
    assert_eq!((profile.random_4k_iops, profile.request_seconds), (80e3, 1.0 / 80e3));
    assert_eq!((profile.break_even_request_bytes, profile.request_bytes()), (32768, Some(1 << 19)));
    assert_eq!(DeviceProfile::of_table(table[..2].to_vec()), None);
    assert_eq!(DeviceProfile::of_table(table[2..].to_vec()), None);
    let json = serde_json::to_string(&profile).unwrap();
    assert!(
        json.contains("\"pattern\":\"sequential\"") && json.contains("\"pattern\":\"random\""),
        "{json}"
    );
}

#[test]
fn full_file_systems_are_told_from_broken_ones() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
    let tiny = MeasureOptions { bytes: 1 << 20, ..quick() };
    assert!(matches!(measure(&disk, folder.path(), &tiny), Err(StorageError::Full { .. })));
}

#[test]
fn dates_are_right() {
    let at = |seconds| measure::utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(at(0), "1970-01-01T00:00:00Z");
    assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
    assert_eq!(at(1_767_225_599), "2025-12-31T23:59:59Z");
    assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
}
