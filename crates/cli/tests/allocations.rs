//! Memory that the system refuses at the n-th request, once or from then on, and a limit of address
//! space: the command ends with a code that says so, what was there before is there or what was
//! asked for is, whole, and the next command puts everything right.

mod place;
mod scene;

use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Output},
};

use place::{command, library};
use scene::{End, Scene, VERBS, words};

/// Refused by the system, or a budget that is too small. Without memory a process cannot go on, so
/// that it may end when all but its last words is done.
const END: End = End::Sudden(&[5, 7]);

/// Numbers of requests that are met in each command.
fn most() -> u64 {
    if std::env::var_os("OUTERCORE_TEST_ALL").is_some() { 80 } else { 8 }
}

/// Runs a command whose request for memory of this number (or from that on) is refused.
fn refused(scene: &Scene, library: &Path, verb: &str, which: &str) -> Output {
    let mut refused = command();
    refused.args(words(verb)).current_dir(scene.place.path(""));
    refused.env_remove("RUST_BACKTRACE").env("LD_PRELOAD", library);
    refused.env("OUTERCORE_REFUSE", which).env("OUTERCORE_REFUSED", library.with_file_name("n"));
    refused.output().unwrap()
}

#[test]
fn requests_for_memory_that_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), "malloc.rs");
    let scene = Scene::new();
    let (mut cases, mut ended) = (0, 0);
    for verb in VERBS {
        let output = refused(&scene, &library, verb.0, "0");
        scene.judge(verb, &output, END).unwrap();
        let all = fs::read_to_string(folder.path().join("n")).unwrap();
        let all: u64 = all.parse().unwrap();
        assert!(all > 500, "{verb:?} asks {all} times for memory");
        let most = most().min(all);
        for number in (0..most).map(|at| 1 + at * all / most) {
            for which in [format!("{number}"), format!("{number}+")] {
                let output = refused(&scene, &library, verb.0, &which);
                match scene.judge(verb, &output, END) {
                    Ok(code) => ended += u64::from(code != Some(0)),
                    Err(what) => panic!("{verb:?} without request {which} of {all}: {what}"),
                }
                cases += 1;
            }
        }
    }
    eprintln!("{cases} refused requests for memory, {ended} of which ended the command");
    assert!(ended > 40, "{ended} of {cases}");
}

#[test]
fn address_space_that_is_short() {
    let scene = Scene::new();
    let (mut cases, mut ended) = (0, 0);
    let step = 128 / most().min(16);
    for verb in VERBS {
        for mib in (48..320).step_by(step as usize * 4) {
            let limit = move || {
                let limit = libc::rlimit { rlim_cur: mib << 20, rlim_max: mib << 20 };
                // SAFETY: the limit outlives the call.
                match unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            };
            let mut short = command();
            short
                .args(words(verb.0))
                .current_dir(scene.place.path(""))
                .env_remove("RUST_BACKTRACE");
            // SAFETY: the limit is set by a single system call.
            unsafe { short.pre_exec(limit) };
            let output = short.output().unwrap();
            match scene.judge(verb, &output, END) {
                Ok(code) => ended += u64::from(code != Some(0)),
                Err(what) => panic!("{verb:?} in {mib} MiB of addresses: {what}"),
            }
            cases += 1;
        }
    }
    eprintln!("{cases} limits of address space, {ended} of which ended the command");
    assert!(ended > 5, "{ended} of {cases}");
}

/// A command that ends as if it had failed although it has done its work, one that says it is done
/// and has done half of it, one that is killed by a signal, and one that leaves something.
#[test]
fn what_must_not_be_is_found() {
    let scene = Scene::new();
    let verb = VERBS[2];
    for (planted, why) in [
        (
            "cp g.oc/manifest.json ranks.csv; echo outercore: no memory >&2; exit 5",
            "what was there",
        ),
        ("echo half > ranks.csv", "not right"),
        ("kill -ABRT $$", "another end"),
        ("exit 1", "another code"),
        ("exit 5", "no message"),
        ("touch left; echo outercore: no memory >&2; exit 5", "left behind"),
    ] {
        let mut command = Command::new("sh");
        let output = command.args(["-c", planted]).current_dir(scene.place.path("")).output();
        let found = scene.judge(verb, &output.unwrap(), End::InOrder(&[5]));
        assert!(found.as_ref().is_err_and(|what| what.contains(why)), "{planted}: {found:?}");
        scene.put_back(verb.1);
        let _ = fs::remove_file(scene.place.path("left"));
    }
}
