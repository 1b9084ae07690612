//! Processes that are killed while they write what takes a name in the end: the name is the old
//! file or the new one, and the next writer leaves nothing else.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use outercore_storage::{
    Change, Disk, Observer,
    device::{
        DeviceProfile, PROFILE_NAME, device_of, incompressible_file, load_profile, store_profile,
    },
};

/// What the child does: `WORK CHANGES FOLDER`. It is killed when so many changes were made.
const TASK: &str = "OUTERCORE_TEST_KILLED_WRITER";

/// The smallest file that a device is measured with.
const LEAST: u64 = 64 << 20;

/// Lets a number of changes pass, and kills its process before the next.
#[derive(Debug)]
struct Killer(usize);

impl Observer for Killer {
    fn before(&mut self, _: Change<'_>) -> io::Result<()> {
        if self.0 == 0 {
            // SAFETY: the call takes no memory.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        self.0 -= 1;
        Ok(())
    }

    fn after(&mut self, _: Change<'_>) {}
}

fn profile(folder: &Path, random_4k_iops: f64) -> DeviceProfile {
    let device = device_of(&Disk::new(), folder).unwrap();
    DeviceProfile { device, random_4k_iops, ..DeviceProfile::default() }
}

/// Not a test: the process that is killed.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = task.splitn(3, ' ').collect();
    let [work, changes, folder] = parts[..] else { panic!("{task:?} is no task") };
    let disk = Disk::with_observer(Box::new(Killer(changes.parse().unwrap())));
    let folder = Path::new(folder);
    match work {
        "store" => store_profile(&disk, folder, &profile(folder, 2.0)).unwrap(),
        _ => drop(incompressible_file(&disk, folder, LEAST).unwrap()),
    }
}

/// Does some work in a child that is killed after so many changes.
fn killed(work: &str, changes: usize, folder: &Path) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--test-threads", "1"]);
    let task = format!("{work} {changes} {}", folder.display());
    let output = command.env(TASK, task).output().unwrap();
    let ended = output.status.success() || output.status.signal() == Some(libc::SIGKILL);
    assert!(ended, "{work} {changes}: {output:?}");
    output.status
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names = Disk::new().list(folder).unwrap();
    names.iter_mut().for_each(|path| *path = path.file_name().unwrap().into());
    names
}

#[test]
fn a_profile_is_the_old_or_the_new_one_and_nothing_else_stays() {
    let (disk, mut ways) = (Disk::new(), Vec::new());
    for before in [false, true] {
        for changes in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            let (old, new) = (profile(folder, 1.0), profile(folder, 2.0));
            if before {
                store_profile(&disk, folder, &old).unwrap();
            }
            let status = killed("store", changes, folder);
            let found = load_profile(&disk, folder).unwrap();
            let is_new = found.as_ref() == Some(&new);
            assert!(is_new || found == before.then_some(old), "{before} {changes}: {found:?}");
            assert!(is_new || !status.success());
            ways.push((is_new, names(folder).len()));
            store_profile(&disk, folder, &new).unwrap();
            assert_eq!(names(folder), [PathBuf::from(PROFILE_NAME)], "{before} {changes}");
            if status.success() {
                break;
            }
        }
    }
    // Killed with a hidden file, and when the new one had the name already.
    assert!(ways.contains(&(false, 2)) && ways.contains(&(true, 2)), "{ways:?}");
}

#[test]
fn a_measurement_leaves_nothing_at_any_moment() {
    for changes in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        killed("measure", changes, folder.path());
        assert!(names(folder.path()).is_empty(), "{changes}: {:?}", names(folder.path()));
    }
}
