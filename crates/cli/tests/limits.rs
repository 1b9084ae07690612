//! What the system refuses, and what is not as it was built: each has its code, and a message.

mod place;

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::Output,
};

use place::{Place, command};

/// What each command may be asked to do with the graph `g.oc`.
const VERBS: [&[&str]; 5] = [
    &["check", "g.oc"],
    &["run", "pagerank", "g.oc", "--threads", "2", "--memory", "256M"],
    &["run", "kcore", "g.oc", "--threads", "2", "--memory", "256M"],
    &["export", "g.oc", "-o", "x.csv"],
    &["build", "e.txt", "-o", "u.oc", "--force", "--threads", "2"],
];

fn graph(place: &Place) {
    let line = |at: u64| format!("{} {}\n", at * 10, at * 7919 % 5000 * 10);
    place.file("e.txt", (0..5000).map(line).collect::<String>());
    place.ends(0, &["build", "e.txt", "-o", "g.oc"]);
}

/// Runs the command in a process that `limit` was called in.
fn limited(place: &Place, arguments: &[&str], limit: fn() -> io::Result<()>) -> Output {
    let mut limited = command();
    limited.args(arguments).current_dir(place.0.path()).env_remove("RUST_BACKTRACE");
    // SAFETY: the limits below are single system calls.
    unsafe { limited.pre_exec(limit) };
    limited.output().unwrap()
}

/// The code and the message.
fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn set_limit<const RESOURCE: u32, const VALUE: u64>() -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: VALUE, rlim_max: VALUE };
    // SAFETY: the limit outlives the call.
    match unsafe { libc::setrlimit(RESOURCE as _, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn parts_that_are_missing_or_odd_are_4() {
    let place = Place::new();
    graph(&place);
    place.ends(0, &["export", "g.oc", "-o", "x.csv"]);
    let right = fs::read(place.path("x.csv")).unwrap();
    let mut used = 0;
    for name in fs::read_dir(place.path("g.oc")).unwrap() {
        let name = name.unwrap().file_name().into_string().unwrap();
        let (part, aside) = (place.path("g.oc").join(&name), place.path("aside"));
        for how in ["missing", "folder", "pipe", "short", "long"] {
            fs::rename(&part, &aside).unwrap();
            let bytes = fs::read(&aside).unwrap();
            match how {
                "missing" => {}
                "folder" => fs::create_dir(&part).unwrap(),
                "pipe" => {
                    let path = std::ffi::CString::new(part.as_os_str().as_bytes()).unwrap();
                    // SAFETY: the name ends in a zero.
                    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
                }
                "short" => fs::write(&part, &bytes[..bytes.len() - 1]).unwrap(),
                _ => fs::write(&part, [&bytes[..], &[0; 4096]].concat()).unwrap(),
            }
            for verb in &VERBS[..4] {
                let (code, message) = said(&place.run(verb));
                // Checksums of sections that are not read are not missed.
                let unread = name.ends_with(".crc") && verb[0] != "check";
                assert!(code == Some(4) || unread && code == Some(0), "{how} {name}: {message}");
                if code == Some(4) && verb[0] != "check" {
                    used += 1;
                    let missing = how == "missing" && name == "manifest.json";
                    assert!(message.contains(&name) || missing, "{how} {name}: {message}");
                } else if verb[0] == "export" && code == Some(0) {
                    assert_eq!(fs::read(place.path("x.csv")).unwrap(), right, "{how} {name}");
                }
            }
            let _ = fs::remove_dir(&part).or_else(|_| fs::remove_file(&part));
            fs::rename(&aside, &part).unwrap();
        }
    }
    assert!(used > 100, "{used}");
    place.ends(0, &["check", "g.oc"]);
}

#[test]
fn limits_of_files_are_6_and_of_open_files_5() {
    let place = Place::new();
    graph(&place);
    // The first is less than the block of a direct write, which then moves nothing.
    for limit in
        [set_limit::<{ libc::RLIMIT_FSIZE }, 1024>, set_limit::<{ libc::RLIMIT_FSIZE }, 8192>]
    {
        let output = limited(&place, &["build", "e.txt", "-o", "u.oc"], limit);
        let (code, message) = said(&output);
        assert_eq!(code, Some(6), "{message}");
        assert!(message.contains("no space left"), "{message}");
        assert!(!place.names().iter().any(|name| name.contains("u.oc")));
    }
    for verb in VERBS {
        let limit = set_limit::<{ libc::RLIMIT_NOFILE }, 8>;
        let (code, message) = said(&limited(&place, verb, limit));
        assert_eq!(code, Some(5), "{verb:?}: {message}");
        assert!(message.contains("ulimit -n"), "{verb:?}: {message}");
    }
    // As many files as it takes to remove what was begun.
    let before = place.names();
    for limit in [set_limit::<{ libc::RLIMIT_NOFILE }, 4>, set_limit::<{ libc::RLIMIT_NOFILE }, 5>]
    {
        let output = limited(&place, VERBS[4], limit);
        assert_eq!(said(&output).0, Some(5), "{output:?}");
        assert_eq!(place.names(), before);
    }
}

#[test]
fn too_little_address_space_is_5() {
    const SPACE: u32 = libc::RLIMIT_AS;
    let place = Place::new();
    graph(&place);
    let mut refused = 0;
    for limit in [
        set_limit::<SPACE, { 64 << 20 }>,
        set_limit::<SPACE, { 72 << 20 }>,
        set_limit::<SPACE, { 80 << 20 }>,
        set_limit::<SPACE, { 96 << 20 }>,
        set_limit::<SPACE, { 128 << 20 }>,
        set_limit::<SPACE, { 300 << 20 }>,
    ] {
        for verb in VERBS {
            let (code, message) = said(&limited(&place, verb, limit));
            match code {
                Some(0) => {}
                Some(5) => {
                    refused += 1;
                    assert!(message.contains("ulimit -v"), "{verb:?}: {message}");
                }
                other => panic!("{verb:?}: {other:?}: {message}"),
            }
        }
    }
    assert!(refused > 3, "{refused}");
}

/// Refuses every thread, as a control group does that has as many as it may.
fn refuse_threads() -> io::Result<()> {
    let refused = libc::SECCOMP_RET_ERRNO | libc::EAGAIN as u32;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let (load, equal, end) = (0x20, 0x15, 0x06);
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 1, 0, libc::SYS_clone3 as u32),
        step(equal, 0, 1, libc::SYS_clone as u32),
        step(end, 0, 0, refused),
        step(end, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program and its steps outlive the calls.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn refused_threads_are_5() {
    let place = Place::new();
    graph(&place);
    for verb in VERBS {
        let (code, message) = said(&limited(&place, verb, refuse_threads));
        assert!(matches!(code, Some(0 | 5)), "{verb:?}: {code:?}: {message}");
        if code == Some(5) {
            assert!(message.contains("pids.max"), "{verb:?}: {message}");
        }
    }
    let (code, message) = said(&limited(&place, VERBS[1], refuse_threads));
    assert_eq!(code, Some(5), "{message}");
    // The export needs no further thread.
    assert_eq!(place.names(), ["e.txt", "g.oc", "x.csv"]);
}

#[test]
fn a_message_is_one_line_and_has_no_colours() {
    let place = Place::new();
    place.graph();
    for odd in [&b"a\nb.oc"[..], b"a\x1b[31mb.oc", b"a\xffb.oc"] {
        let odd = std::ffi::OsStr::from_bytes(odd);
        for verb in [&["run", "components"][..], &["check"], &["info"]] {
            let output =
                command().args(verb).arg(odd).current_dir(place.0.path()).output().unwrap();
            let (code, message) = said(&output);
            assert_eq!((code, message.lines().count()), (Some(4), 1), "{message}");
            assert!(message.is_ascii() && !message.contains('\x1b'), "{message:?}");
        }
        fs::rename(place.path("g.oc"), place.path("").join(odd)).unwrap();
        let output =
            command().args(["info"]).arg(odd).current_dir(place.0.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.lines().next().unwrap().contains(": 5 vertices"), "{text:?}");
        fs::rename(place.path("").join(odd), place.path("g.oc")).unwrap();
    }
    place.file(".outercore-device.json", "odd");
    let (code, warning) = said(&place.run(&["run", "components", "g.oc"]));
    assert_eq!(code, Some(0), "{warning}");
    assert!(warning.contains("not a device profile") && !warning.contains('\x1b'), "{warning:?}");
}

#[test]
fn nothing_is_put_into_a_graph() {
    let place = Place::new();
    graph(&place);
    std::os::unix::fs::symlink("g.oc", place.path("link")).unwrap();
    for words in [
        "run components g.oc -o g.oc/x.csv",
        "run components g.oc -o link/x.parquet",
        "export g.oc -o g.oc/x.mtx",
        "build e.txt -o g.oc/u.oc",
        "build e.txt -o g.oc/sub/u.oc",
        "build e.txt -o u.oc --stripe g.oc/sub",
        "generate rmat --scale 3 -o g.oc/u.oc",
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let (_, message) = place.ends(2, &words);
        assert!(message.contains("is a graph, in whose folder"), "{words:?}: {message}");
    }
    let mut inside = command();
    let inside = inside.args(["run", "kcore", ".", "-o", "x.csv"]).current_dir(place.path("g.oc"));
    let (code, message) = said(&inside.output().unwrap());
    assert_eq!(code, Some(2), "{message}");
    assert_eq!(place.names(), ["e.txt", "g.oc", "link"]);
    place.ends(0, &["check", "g.oc"]);
    // A manifest that is no graph's is anybody's.
    fs::create_dir(place.path("mine")).unwrap();
    place.file("mine/manifest.json", "{}");
    place.ends(0, &["build", "e.txt", "-o", "mine/u.oc"]);
}

#[test]
fn a_link_as_output_is_replaced_and_what_it_leads_to_stays() {
    let place = Place::new();
    place.graph();
    place.file("mine.csv", "mine\n");
    std::os::unix::fs::symlink("mine.csv", place.path("link.csv")).unwrap();
    place.ends(0, &["run", "components", "g.oc", "-o", "link.csv"]);
    assert_eq!(fs::read(place.path("mine.csv")).unwrap(), b"mine\n");
    assert!(fs::read_to_string(place.path("link.csv")).unwrap().starts_with("id,"));
    assert!(fs::symlink_metadata(place.path("link.csv")).unwrap().is_file());
}

/// Places that hold addresses are not mended at each start: there are none in a file to execute
/// that is no shared one.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_command_lies_at_a_fixed_address() {
    let program = fs::read(command().get_program()).unwrap();
    assert_eq!(program[16..18], [2, 0]);
}

/// Exporting holds its budget, or is refused with one that it holds.
fn export_holds_its_budget(place: &Place, graph: &str) {
    for file in ["x.csv", "x.mtx", "x.parquet"] {
        let asked = ["export", graph, "-o", file];
        let (_, said) = place.ends(7, &[&asked[..], &["--memory", "4M"]].concat());
        let needed = said.split("at least ").nth(1).and_then(|said| said.split(' ').next());
        let needed = needed.unwrap_or_else(|| panic!("{said}"));
        for budget in [needed, "100M"] {
            let done = place.json(&[&asked[..], &["--memory", budget]].concat());
            let [peak, budget] =
                ["peak_rss_bytes", "memory_budget_bytes"].map(|key| done[key].as_u64().unwrap());
            assert!(peak <= budget, "{graph} {file}: {peak} of {budget}");
        }
    }
}

#[test]
fn an_export_of_numbers_holds_its_budget() {
    let place = Place::new();
    let made = ["generate", "rmat", "--scale", "15", "--seed", "7", "--weights", "uw"];
    place.ends(0, &[&made[..], &["-o", "n.oc"]].concat());
    export_holds_its_budget(&place, "n.oc");
}

#[test]
fn an_export_of_long_names_holds_its_budget() {
    let place = Place::new();
    let made = ["generate", "rmat", "--scale", "15", "--seed", "7", "--weights", "uw"];
    place.ends(0, &[&made[..], &["-o", "n.oc"]].concat());
    place.ends(0, &["export", "n.oc", "-o", "e.csv"]);
    let text = fs::read_to_string(place.path("e.csv")).unwrap();
    let long = "long".repeat(100);
    let lines = text.lines().skip(1).map(|line| format!("{long}{line}\n"));
    place.file("l.csv", lines.collect::<String>());
    place.ends(0, &["build", "l.csv", "--ids", "string", "-o", "l.oc"]);
    export_holds_its_budget(&place, "l.oc");
}
