//! Faults of memory that are planted, each in a process of its own: the address sanitizer that this
//! was compiled with sees them, and so does the program that `OUTERCORE_TEST_WRAPPER` names.

use std::{
    hint::black_box,
    process::{Command, Output},
};

use outercore_storage::{Arena, HugePages, HugeVec};

/// Names the fault that the test `child` is to make.
const FAULT: &str = "OUTERCORE_TEST_FAULT";

/// The exit code of what the wrapper has found.
const FOUND: i32 = 99;

struct Fault {
    name: &'static str,
    /// Reads a byte that it must not read.
    read: fn() -> u8,
    /// What the sanitizer calls it, if it is its business.
    sanitizer: Option<&'static str>,
    /// What valgrind calls it.
    valgrind: Option<&'static str>,
}

const FAULTS: [Fault; 6] = [
    Fault {
        name: "none",
        read: || byte_at(black_box(vec![7; 100]).as_ptr(), 99),
        sanitizer: None,
        valgrind: None,
    },
    Fault {
        name: "behind the end",
        read: || byte_at(black_box(vec![7; 100]).as_ptr(), 100),
        sanitizer: Some("heap-buffer-overflow"),
        valgrind: Some("Invalid read"),
    },
    Fault {
        name: "after it was freed",
        read: || {
            let items = black_box(vec![7; 100]);
            let start = items.as_ptr();
            drop(items);
            byte_at(black_box(start), 0)
        },
        sanitizer: Some("heap-use-after-free"),
        valgrind: Some("Invalid read"),
    },
    Fault {
        name: "behind the end of a mapped array",
        read: || {
            let items = HugeVec::<u32>::zeroed(25, HugePages::Off).unwrap();
            byte_at(items.as_ptr().cast(), 100)
        },
        sanitizer: Some("use-after-poison"),
        valgrind: None,
    },
    Fault {
        name: "a buffer that was given back",
        read: || {
            let arena = Arena::new(1 << 16, HugePages::Off).unwrap();
            let start = arena.buffer(4096, 4096).as_mut_ptr();
            byte_at(start, 4095)
        },
        sanitizer: Some("use-after-poison"),
        valgrind: None,
    },
    Fault {
        name: "never written",
        read: || {
            let bytes = black_box(Vec::<u8>::with_capacity(100));
            byte_at(bytes.as_ptr(), 50)
        },
        sanitizer: None,
        valgrind: Some("uninitialised"),
    },
];

fn byte_at(start: *const u8, at: usize) -> u8 {
    // SAFETY: there is none; that is what must be seen.
    unsafe { start.wrapping_add(at).read_volatile() }
}

/// Does nothing unless it is asked for a fault.
#[test]
fn child() {
    let asked = std::env::var(FAULT).unwrap_or_default();
    if let Some(fault) = FAULTS.iter().find(|fault| fault.name == asked) {
        // Valgrind heeds what decides something.
        if (fault.read)() == 7 {
            println!("lucky");
        }
    }
}

/// This program with a fault, run by `wrapper`.
fn with(fault: &Fault, wrapper: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let mut words = wrapper.split_ascii_whitespace().map(str::to_owned);
    let first = words.next();
    let mut command = Command::new(first.as_deref().unwrap_or(this.to_str().unwrap()));
    command.args(words).args(first.map(|_| &this));
    command.args(["--exact", "child", "--nocapture"]).env(FAULT, fault.name);
    command.output().unwrap()
}

/// What whoever watches says of a fault must be what is expected, and nothing if that is none.
fn is_seen(fault: &Fault, output: &Output, code: Option<i32>, expected: Option<&str>) {
    let said = String::from_utf8_lossy(&output.stderr);
    let Some(expected) = expected else {
        assert!(output.status.success(), "{}: {said}", fault.name);
        return;
    };
    assert!(!output.status.success(), "{} was not seen: {said}", fault.name);
    assert!(code.is_none_or(|code| output.status.code() == Some(code)), "{:?}", output.status);
    assert!(said.contains(expected), "{} is no {expected}: {said}", fault.name);
}

#[test]
fn planted_faults_are_seen() {
    let wrapper = std::env::var("OUTERCORE_TEST_WRAPPER").unwrap_or_default();
    for fault in &FAULTS {
        if cfg!(outercore_asan) {
            is_seen(fault, &with(fault, ""), None, fault.sanitizer);
        } else if !wrapper.is_empty() {
            is_seen(fault, &with(fault, &wrapper), Some(FOUND), fault.valgrind);
        } else if fault.name == "none" {
            is_seen(fault, &with(fault, ""), None, None);
            eprintln!("SKIPPED: planted faults of memory (nobody watches: make sanitize)");
        }
    }
}
