use super::*;
use crate::PAGE;
use crate::arena::{Arena, HugePages};
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// Not a whole number of pages.
const LEN: usize = 5 * PAGE + 1234;

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 4096 + i / 251) as u8).collect()
}

fn a_file() -> (TempDir, PathBuf, Vec<u8>) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, bytes(LEN)).unwrap();
    (dir, path, bytes(LEN))
}

fn planned(plan: FaultPlan) -> Disk {
    Disk::with_faults(Arc::new(plan))
}

#[test]
fn any_range_can_be_read_in_either_way() {
    let (_dir, path, content) = a_file();
    let disk = Disk::new();
    let arena = Arena::new(LEN + PAGE, HugePages::Auto).unwrap();
    let mut memory = arena.buffer(0, LEN + PAGE);
    for file in [disk.open(&path).unwrap(), disk.open_buffered(&path).unwrap()] {
        for (skew, offset, len) in [
            (0, 0, PAGE),
            (0, PAGE, 4 * PAGE),
            (0, 0, LEN),
            (3, 0, LEN),
            (0, 1, PAGE),
            (0, 4095, 2),
            (9, LEN - 1, 1),
            (0, 7, 0),
        ] {
            file.read_at(&mut memory[skew..skew + len], offset as u64).unwrap();
            assert!(
                memory[skew..skew + len] == content[offset..offset + len],
                "{skew} {offset} {len}"
            );
        }
        for (offset, len) in [(0, LEN + 1), (LEN, 1), (LEN + PAGE, PAGE), (5 * PAGE, PAGE)] {
            let error = file.read_at(&mut memory[..len], offset as u64).unwrap_err();
            assert!(matches!(error, StorageError::Truncated { .. }), "{error}");
        }
        assert_eq!(file.read_some_at(&mut memory[..PAGE], LEN as u64 + 1).unwrap(), 0);
        assert_eq!(file.len().unwrap(), LEN as u64);
    }
}

#[test]
fn large_unaligned_reads_need_several_scratches() {
    let dir = tempdir().unwrap();
    let (path, content) = (dir.path().join("file"), bytes(5 << 19));
    std::fs::write(&path, &content).unwrap();
    let mut read = vec![0; content.len() - 5];
    Disk::new().open(&path).unwrap().read_at(&mut read, 5).unwrap();
    assert!(read == content[5..]);
}

#[test]
fn writes_count_and_last() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    let disk = Disk::new();
    let file = disk.create(&path).unwrap();
    let arena = Arena::new(4 * PAGE, HugePages::Auto).unwrap();
    let mut memory = arena.buffer(0, 4 * PAGE);
    memory.copy_from_slice(&bytes(4 * PAGE));
    file.write_at(&memory, PAGE as u64).unwrap();
    file.sync().unwrap();
    assert_eq!(file.len().unwrap(), 5 * PAGE as u64);
    file.read_at(&mut memory[..PAGE], 0).unwrap();
    assert!(memory[..PAGE].iter().all(|&b| b == 0));
    file.set_len(PAGE as u64).unwrap();
    assert!(!file.is_empty().unwrap());
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(
        (count(&disk.counters().bytes_written), count(&disk.counters().write_requests)),
        (4 * PAGE as u64, 1)
    );
    assert_eq!(
        (count(&disk.counters().bytes_read), count(&disk.counters().read_requests)),
        (PAGE as u64, 1)
    );
}

#[test]
fn what_exists_is_not_overwritten_and_links_are_not_followed() {
    let (dir, path, content) = a_file();
    let disk = Disk::new();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
    for taken in [&path, &link] {
        assert!(disk.create(taken).is_err());
        assert!(disk.create_buffered(taken).is_err());
        assert!(disk.write_all_new(taken, b"x").is_err());
        assert!(disk.exists(taken).unwrap());
    }
    assert!(!disk.exists(&dir.path().join("nowhere")).unwrap());
    assert!(!disk.exists(&path.join("below a file")).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), content);
}

#[test]
fn only_files_are_files() {
    let dir = tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let name = c_string(&pipe).unwrap();
    // SAFETY: the name ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for path in [dir.path(), &pipe, Path::new("/dev/zero")] {
        assert!(matches!(Disk::new().open(path), Err(StorageError::Io { .. })));
        assert!(matches!(Disk::new().read_all(path, 10), Err(StorageError::Io { .. })));
    }
}

#[test]
fn whole_files_are_limited() {
    let (dir, path, content) = a_file();
    let disk = Disk::new();
    assert_eq!(disk.read_all(&path, LEN as u64).unwrap(), content);
    assert!(disk.read_all(&path, LEN as u64 - 1).is_err());
    let new = dir.path().join("new");
    disk.write_all_new(&new, &content).unwrap();
    assert_eq!(disk.read_all(&new, u64::MAX).unwrap(), content);
    disk.remove_file(&new).unwrap();
    assert!(disk.remove_file(&new).is_err());
}

#[test]
fn folders_are_made_listed_renamed_and_removed() {
    let dir = tempdir().unwrap();
    let disk = Disk::new();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    disk.create_dir(&a).unwrap();
    assert!(disk.create_dir(&a).is_err());
    disk.create_dir_all(&b.join("c/d")).unwrap();
    disk.write_all_new(&a.join("file"), b"content").unwrap();
    assert_eq!(disk.list(dir.path()).unwrap(), [a.clone(), b.clone()]);
    assert!(disk.rename_noreplace(&a, &b).is_err());
    disk.exchange(&a, &b).unwrap();
    assert_eq!(disk.list(&b).unwrap(), [b.join("file")]);
    disk.rename_noreplace(&b, &dir.path().join("e")).unwrap();
    disk.sync_dir(dir.path()).unwrap();
    disk.remove_dir_all(&a).unwrap();
    assert_eq!(disk.list(dir.path()).unwrap(), [dir.path().join("e")]);
    assert!(disk.free_space(dir.path()).unwrap() > 0);
    assert!(disk.free_space(&a).is_err());
}

#[test]
fn locks_exclude_each_other() {
    let dir = tempdir().unwrap();
    let disk = Disk::new();
    let exclusive = disk.lock_exclusive(dir.path()).unwrap();
    assert!(matches!(disk.lock_exclusive(dir.path()), Err(StorageError::Locked { .. })));
    assert!(matches!(disk.lock_shared(dir.path()), Err(StorageError::Locked { .. })));
    drop(exclusive);
    let shared = (disk.lock_shared(dir.path()).unwrap(), disk.lock_shared(dir.path()).unwrap());
    assert!(matches!(disk.lock_exclusive(dir.path()), Err(StorageError::Locked { .. })));
    drop(shared);
    disk.lock_exclusive(dir.path()).unwrap();
}

/// Uses every operation once; returns whether what it read is what it wrote.
fn everything(disk: &Disk, dir: &Path) -> Result<bool> {
    let (a, b) = (dir.join("a"), dir.join("b"));
    disk.create_dir(&a)?;
    disk.create_dir_all(&b.join("c"))?;
    let _lock = disk.lock_exclusive(&a)?;
    let arena = Arena::new(8 * PAGE, HugePages::Auto)?;
    let mut memory = arena.buffer(0, 8 * PAGE);
    memory.copy_from_slice(&bytes(8 * PAGE));
    let file = disk.create(&a.join("direct"))?;
    file.write_at(&memory, 0)?;
    file.sync()?;
    disk.write_all_new(&b.join("buffered"), &memory[..LEN])?;
    disk.sync_dir(&a)?;
    disk.exchange(&a, &b)?;
    disk.rename_noreplace(&a, &dir.join("d"))?;
    memory.fill(0);
    let direct = disk.open(&b.join("direct"))?;
    direct.read_at(&mut memory, 0)?;
    let mut tail = vec![0; 3 * PAGE];
    direct.read_at(&mut tail, 4 * PAGE as u64 + 5)?;
    let right =
        memory[..] == bytes(8 * PAGE) && tail == bytes(8 * PAGE)[4 * PAGE + 5..7 * PAGE + 5];
    let right = right && disk.read_all(&dir.join("d/buffered"), 1 << 20)? == bytes(LEN);
    let right =
        right && direct.len()? == 8 * PAGE as u64 && disk.exists(&b)? && disk.free_space(&b)? > 0;
    file.set_len(0)?;
    disk.remove_file(&b.join("direct"))?;
    let right = right && disk.list(&b)?.is_empty();
    disk.remove_dir_all(&b)?;
    Ok(right)
}

fn attempt(plan: FaultPlan) -> (Result<bool>, u64) {
    let (dir, plan) = (tempdir().unwrap(), Arc::new(plan));
    (everything(&Disk::with_faults(plan.clone()), dir.path()), plan.operations())
}

#[test]
fn every_operation_can_fail_in_every_way() {
    let (right, operations) = attempt(FaultPlan::count_only());
    assert!(right.unwrap() && operations > 20, "{operations}");
    for n in 0..operations {
        for fault in [Fault::Short, Fault::Stall(Duration::from_millis(1))] {
            assert!(attempt(FaultPlan::nth(n, fault)).0.unwrap(), "{n} {fault:?}");
        }
        let error = attempt(FaultPlan::nth(n, Fault::Error(libc::EIO))).0.unwrap_err();
        let StorageError::Io { source, .. } = &error else { panic!("{n} {error}") };
        assert_eq!(source.raw_os_error(), Some(libc::EIO), "{n} {error}");
        let error = attempt(FaultPlan::nth(n, Fault::Error(libc::ENOSPC))).0.unwrap_err();
        assert!(
            matches!(error, StorageError::Full { .. } | StorageError::Io { operation: "read", .. }),
            "{n} {error}"
        );
        match attempt(FaultPlan::nth(n, Fault::Interrupted)).0 {
            Ok(right) => assert!(right, "{n}"),
            Err(error) => {
                assert!(matches!(error, StorageError::Io { operation: "sync", .. }), "{n} {error}")
            }
        }
    }
    assert!(attempt(FaultPlan::from(0, Fault::Short)).0.unwrap());
    assert!(matches!(
        attempt(FaultPlan::from(0, Fault::Interrupted)).0,
        Err(StorageError::Interrupted)
    ));
}

#[test]
fn a_failed_sync_is_not_repeated() {
    let dir = tempdir().unwrap();
    let plan = Arc::new(FaultPlan::nth(2, Fault::Interrupted));
    let disk = Disk::with_faults(plan.clone());
    let error = disk.write_all_new(&dir.path().join("file"), b"x").unwrap_err();
    assert!(matches!(error, StorageError::Io { operation: "sync", .. }), "{error}");
    assert_eq!(plan.operations(), 3);
}

#[test]
fn a_refused_lock_is_not_an_io_error() {
    let dir = tempdir().unwrap();
    let disk = planned(FaultPlan::nth(0, Fault::Error(libc::EWOULDBLOCK)));
    assert!(matches!(disk.lock_shared(dir.path()), Err(StorageError::Locked { .. })));
    assert!(disk.lock_shared(dir.path()).is_ok());
}

#[test]
fn direct_access_is_optional() {
    // Where it is not supported, files work all the same; where it is, the flag says so.
    for dir in [tempdir(), tempfile::tempdir_in("/dev/shm")].into_iter().flatten() {
        let disk = Disk::new();
        let file = disk.create(&dir.path().join("file")).unwrap();
        let arena = Arena::new(PAGE, HugePages::Auto).unwrap();
        let mut memory = arena.buffer(0, PAGE);
        memory.fill(9);
        file.write_at(&memory, 0).unwrap();
        // Turned off behind its back, as a file system may do that refuses the first request.
        set_direct_off(&file);
        file.read_at(&mut memory[..100], 50).unwrap();
        assert!(memory[..100].iter().all(|&b| b == 9));
        let path = dir.path().join("file");
        assert!(!disk.open_buffered(&path).unwrap().is_direct());
        assert!(!disk.open(&path).unwrap().is_direct(), "it is small");
        file.set_len(SMALL).unwrap();
        assert_eq!(disk.open(&path).unwrap().is_direct(), file.is_direct());
    }
}

fn set_direct_off(file: &DiskFile) {
    // SAFETY: the descriptor is open; the call takes no memory.
    assert_eq!(unsafe { libc::fcntl(file.fd(), libc::F_SETFL, 0) }, 0);
}

#[test]
fn a_file_counts_for_the_disk_of_its_handle() {
    let (_dir, path, content) = a_file();
    let (opener, run) = (Disk::new(), Disk::new());
    let file = opener.open_buffered(&path).unwrap();
    let mut bytes = vec![0; 100];
    file.counted_by(&run).read_at(&mut bytes, 50).unwrap();
    assert!(bytes == content[50..150]);
    let read = |disk: &Disk| disk.counters().bytes_read.load(Ordering::Relaxed);
    assert_eq!((read(&opener), read(&run)), (0, 100));
    file.read_at(&mut bytes[..7], 0).unwrap();
    assert_eq!((read(&opener), read(&run)), (7, 100));
}

#[test]
fn names_of_new_folders_are_durable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    let count = Arc::new(FaultPlan::count_only());
    let disk = Disk::with_faults(count.clone());
    disk.create_dir_all(&path).unwrap();
    // The folder that was there, and the two between: each has a new name in it.
    assert_eq!(count.operations(), 1 + 3);
    disk.create_dir_all(&path).unwrap();
    assert_eq!(count.operations(), 1 + 3 + 1, "nothing was made");
    let plan = Arc::new(FaultPlan::nth(3, Fault::Error(libc::EIO)));
    let failed = Disk::with_faults(plan).create_dir_all(&dir.path().join("x/y/z"));
    assert!(matches!(failed, Err(StorageError::Io { operation: "sync", .. })), "{failed:?}");
}

#[test]
fn scratch_counts_as_long_as_it_is_there() {
    let dir = tempdir().unwrap();
    let disk = Disk::new();
    let scratch = || {
        let counters = disk.counters();
        let [now, peak] = [&counters.scratch_bytes, &counters.peak_scratch_bytes];
        [now, peak].map(|bytes| bytes.load(Ordering::Relaxed) / PAGE as u64)
    };
    let memory = Arena::new(2 * PAGE, HugePages::Off).unwrap().buffer(0, 2 * PAGE);
    let first = disk.create_unnamed(dir.path(), "scratch").unwrap();
    first.write_at(&memory, 3 * PAGE as u64).unwrap();
    first.write_at(&memory, 0).unwrap();
    let second = disk.create_unnamed(dir.path(), "scratch").unwrap();
    second.write_at(&memory, 0).unwrap();
    assert_eq!(scratch(), [7, 7], "up to the last byte, however often what lies before is written");
    drop(first);
    assert_eq!(scratch(), [2, 7]);
    // What has a name is no scratch.
    disk.create(&dir.path().join("named")).unwrap().write_at(&memory, 0).unwrap();
    second.counted_by(&Disk::new()).write_at(&memory, 2 * PAGE as u64).unwrap();
    assert_eq!(scratch(), [4, 7]);
}

#[test]
fn scratch_ends_where_it_may_not_grow() {
    let dir = tempdir().unwrap();
    let disk = Disk::new();
    let memory = Arena::new(2 * PAGE, HugePages::Off).unwrap().buffer(0, 2 * PAGE);
    let first = disk.create_unnamed(dir.path(), "scratch").unwrap();
    first.write_at(&memory, 0).unwrap();
    disk.allow_scratch(5 * PAGE as u64);
    let second = disk.create_unnamed(dir.path(), "scratch").unwrap();
    second.write_at(&memory, 0).unwrap();
    for _ in 0..2 {
        let full = second.write_at(&memory, PAGE as u64 * 2);
        assert!(matches!(full, Err(StorageError::Full { needed: 8192, .. })), "{full:?}");
        second.write_at(&memory, 0).unwrap();
    }
    disk.counted_apart().create_unnamed(dir.path(), "x").unwrap().write_at(&memory, 0).unwrap();
    drop(first);
    second.write_at(&memory, PAGE as u64 * 2).unwrap();
    disk.create(&dir.path().join("named")).unwrap().write_at(&memory, 0).unwrap();
}
