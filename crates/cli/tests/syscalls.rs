//! System calls that fail, are slow, or are the last ones: `strace` injects it into the n-th call
//! of each kind. Whatever happens, the command ends with a code that says so, what was there before
//! is there or what was asked for is, whole, and the next command puts everything right.
//!
//! Without `strace`, or where it may not trace, the tests say SKIPPED.

mod place;
mod scene;

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use place::command;
use scene::{End, Scene, VERBS, Verb, words};

/// Calls, and what may become of them.
const CALLS: [(&str, &[&str]); 17] = [
    ("io_uring_setup", &["EPERM", "ENOMEM", "EMFILE"]),
    ("io_uring_enter", &["EINTR", "EAGAIN", "EBUSY", "EIO", "ENOMEM"]),
    ("io_uring_register", &["ENOMEM", "EINVAL", "EIO"]),
    ("openat", &["EMFILE", "EIO", "EINTR", "ENOMEM"]),
    ("pread64", &["EIO", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC", "EINTR"]),
    ("fdatasync", &["EIO", "ENOSPC", "EINTR"]),
    ("renameat2", &["EIO", "ENOSPC", "EINVAL"]),
    ("linkat", &["EIO", "EMLINK"]),
    ("unlinkat", &["EIO", "EINTR"]),
    ("unlink", &["EIO", "EINTR"]),
    ("ftruncate", &["EIO", "ENOSPC", "EINTR"]),
    ("fallocate", &["ENOSPC", "EIO"]),
    ("mkdir", &["EIO", "ENOSPC"]),
    ("mmap", &["ENOMEM", "EAGAIN"]),
    ("clone3", &["EAGAIN", "ENOMEM"]),
];

/// Longer than any of these commands takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The most calls of a kind that are met in one command by one fault; `None`: a few calls, each
/// kind by one fault.
fn most() -> Option<usize> {
    std::env::var_os("OUTERCORE_TEST_ALL").map(|_| 10)
}

/// Says that a test is skipped, and why, if system calls cannot be traced here.
fn is_skipped() -> bool {
    let traced = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let skipped = !traced.is_ok_and(|output| output.status.success());
    if skipped {
        eprintln!("SKIPPED: system calls that fail (strace is not installed, or may not trace)");
    }
    skipped
}

/// Commands under `strace`.
struct Traced(Scene);

impl Traced {
    /// Runs a verb under `strace` with these options.
    fn traced(&self, verb: &str, options: &[&str]) -> Result<Output, String> {
        let mut traced = Command::new("strace");
        traced.args(["-f", "-o", "trace.log"]).args(options).arg(command().get_program());
        traced.args(words(verb)).current_dir(self.0.place.path("")).env_remove("RUST_BACKTRACE");
        let mut child = traced.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > LIMIT {
                child.kill().unwrap();
                return Err("it hangs".to_owned());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        Ok(output)
    }

    /// How many calls of a kind a verb makes before it is ready to be asked, and the most that one
    /// of its threads makes in all.
    fn calls(&self, (verb, target): Verb, call: &str) -> (usize, usize) {
        let trace = format!("trace={call},rt_sigaction");
        assert!(self.traced(verb, &["-e", &trace]).unwrap().status.success());
        self.0.put_back(target);
        let log = fs::read_to_string(self.0.place.path("trace.log")).unwrap();
        let (mut before, mut each) = (0, BTreeMap::<&str, usize>::new());
        for line in log.lines() {
            let Some((thread, called)) = line.split_once(' ') else { continue };
            let called = called.trim_start();
            if called.starts_with("rt_sigaction(SIGABRT") {
                before = each.values().copied().max().unwrap_or(0);
            }
            if called.starts_with(&format!("{call}(")) {
                *each.entry(thread).or_default() += 1;
            }
        }
        (before, each.values().copied().max().unwrap_or(0))
    }

    /// Runs a verb with a fault; says what is wrong with what came of it.
    fn struck(&self, verb: Verb, fault: &str) -> Result<Option<i32>, String> {
        let (call, _) = fault.split_once(':').unwrap();
        let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
        let output = self.traced(verb.0, &["-e", &trace, "-e", &inject])?;
        let killed = fault.contains("signal=KILL");
        fs::remove_file(self.0.place.path("trace.log")).map_err(|error| error.to_string())?;
        let end = if killed { End::Sudden(&[]) } else { End::InOrder(&[5, 6]) };
        self.0.judge(verb, &output, end)
    }
}

/// Some of these numbers, the last among them, or the middle one.
fn some(range: std::ops::RangeInclusive<usize>, most: usize) -> Vec<usize> {
    let all: Vec<usize> = range.collect();
    match all.len() {
        len if len <= most => all,
        len if most == 1 => vec![all[len / 2]],
        len => (0..most).map(|at| all[len - 1 - at * (len - 1) / most]).collect(),
    }
}

/// Does every verb with every fault of this list, several verbs at a time.
fn sweep(faults: &(dyn Fn(&Traced, Verb) -> Vec<String> + Sync)) {
    let (mut cases, mut refused) = (0, 0);
    let done: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let half = |odd: usize| {
            let scene = Traced(Scene::new());
            let (mut cases, mut refused) = (0, 0);
            for verb in VERBS.into_iter().skip(odd).step_by(2) {
                for fault in faults(&scene, verb) {
                    match scene.struck(verb, &fault) {
                        Ok(code) => refused += usize::from(code != Some(0)),
                        Err(what) => panic!("{verb:?} with {fault}: {what}"),
                    }
                    cases += 1;
                }
            }
            (cases, refused)
        };
        let threads = [0, 1].map(|odd| scope.spawn(move || half(odd)));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    done.into_iter().for_each(|(some, of)| (cases, refused) = (cases + some, refused + of));
    eprintln!("{cases} faults in system calls, {refused} of which ended the command");
    assert!(cases > 40 && refused > 20, "{cases} {refused}");
}

#[test]
fn calls_that_fail() {
    if is_skipped() {
        return;
    }
    sweep(&|scene, verb| {
        let mut faults = Vec::new();
        for (number, (call, errors)) in CALLS.into_iter().enumerate() {
            let (before, all) = scene.calls(verb, call);
            let turn = (number + verb.0.len()) % errors.len();
            let errors = if most().is_some() { errors } else { &errors[turn..=turn] };
            for error in errors {
                for at in some(before + 1..=all, most().unwrap_or(1)) {
                    faults.push(format!("{call}:error={error}:when={at}"));
                }
            }
        }
        faults
    });
}

#[test]
fn calls_that_are_the_last_or_slow() {
    if is_skipped() {
        return;
    }
    sweep(&|scene, verb| {
        let mut faults = Vec::new();
        for call in ["openat", "pwrite64", "fdatasync", "fsync", "renameat2", "unlinkat", "mkdir"] {
            let (before, all) = scene.calls(verb, call);
            let kill = |at| format!("{call}:signal=KILL:when={at}");
            faults.extend(some(before + 1..=all, most().unwrap_or(1)).into_iter().map(kill));
        }
        let slow = ["io_uring_enter", "fdatasync"].map(|call| format!("{call}:delay_exit=20000"));
        faults.extend(slow);
        faults
    });
}

/// Writes that say that they are done, and are not: nothing else finds that but what is compared
/// here.
#[test]
fn a_planted_lost_write_is_found() {
    if is_skipped() {
        return;
    }
    let scene = Traced(Scene::new());
    for verb in VERBS {
        let (before, all) = scene.calls(verb, "pwrite64");
        assert!(all > before);
        let log = fs::read_to_string(scene.0.place.path("trace.log")).unwrap();
        let mut each = BTreeMap::<&str, Vec<&str>>::new();
        for line in log.lines().filter(|line| line.contains("pwrite64(") && line.contains(" = ")) {
            let (thread, _) = line.split_once(' ').unwrap();
            each.entry(thread).or_default().push(line.rsplit_once(" = ").unwrap().1.trim());
        }
        let written = each.values().max_by_key(|calls| calls.len()).unwrap();
        let fault = format!("pwrite64:retval={}:when={}", written[all - 1], all);
        let found = scene.struck(verb, &fault);
        assert!(found.is_err(), "{verb:?}: {found:?}");
        scene.0.put_back(verb.1);
    }
}
