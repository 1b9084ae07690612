//! Every file of the corpus, and mutations of them, go through their targets.
//! `OUTERCORE_TEST_ALL` makes it many more; a failure prints the bytes.

use std::{fs, panic::catch_unwind, path::PathBuf, sync::Mutex};

use outercore_fuzzing::{TARGETS, Target, with_planted_fault};
use outercore_testing::{Random, thorough};

/// Mutations for each target.
fn mutations() -> u64 {
    if thorough() { 5_000 } else { 400 }
}

/// The files of a target, by name.
fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// Another input like this one.
fn mutated(random: &mut Random, files: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    let mut any = || files[random.below(files.len() as u64) as usize].1.clone();
    let (mut bytes, other) = (any(), any());
    for _ in 0..=random.below(4u32) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let end = (at + random.below(16u64) as usize).min(bytes.len());
        match random.below(6u32) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8u32),
            1 if at < bytes.len() => bytes[at] = random.bits() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            4 => {
                let from = random.below(other.len() as u64 + 1) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.splice(at..end, random.bits().to_le_bytes()).for_each(drop),
        }
    }
    bytes
}

/// Runs the target; a failure says on which bytes.
fn run(target: &Target, bytes: &[u8], what: &str) {
    let run = target.run;
    if catch_unwind(|| run(bytes)).is_err() {
        panic!("{} is wrong about {what}: b\"{}\"", target.name, bytes.escape_ascii());
    }
}

#[test]
fn the_corpus_and_mutations_of_it() {
    let next = Mutex::new(TARGETS.iter());
    let work = || {
        loop {
            let Some(target) = next.lock().unwrap().next() else { return };
            let files = corpus(target);
            assert!(files.len() >= 8, "{} has a corpus", target.name);
            for (path, bytes) in &files {
                run(target, bytes, &path.display().to_string());
            }
            let mut random = Random::new(15);
            for number in 0..mutations() {
                let bytes = mutated(&mut random, &files);
                run(target, &bytes, &format!("mutation {number}"));
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
}

/// As if Outercore lost an edge, or `check` said the contrary: every target finds it.
#[test]
fn a_planted_fault_is_found_by_every_target() {
    std::panic::set_hook(Box::new(|info| {
        if !info.payload().is::<&str>() {
            eprintln!("{info}");
        }
    }));
    for target in &TARGETS {
        let run = target.run;
        let finds = |(_, bytes): &(PathBuf, Vec<u8>)| {
            catch_unwind(|| with_planted_fault(|| run(bytes))).is_err()
        };
        assert!(corpus(target).iter().any(finds), "{} finds nothing", target.name);
    }
}
