//! The command as its users call it: exit codes, what goes where, what is left behind.

mod place;

use std::{
    fs,
    io::Write,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use place::{Place, command};
use serde_json::Value;

#[test]
fn builds_informs_checks_and_runs() {
    let place = Place::new();
    place.graph();
    let info = place.json(&["info", "g.oc"]);
    assert_eq!(
        (info["vertices"].as_u64(), info["edges"].as_u64(), info["directed"].as_bool()),
        (Some(5), Some(4), Some(true))
    );
    assert!(place.ends(0, &["info", "g.oc"]).0.contains("5 vertices, 4 directed edges"));
    assert_eq!(place.ends(0, &["check", "g.oc"]).0, "g.oc: no faults\n");
    assert_eq!(place.json(&["check", "g.oc"])["ok"], true);
    let report = place.json(&["run", "components", "g.oc", "--memory", "256M"]);
    assert_eq!(
        (
            report["schema"].as_u64(),
            report["summary"]["components"].as_u64(),
            report["summary"]["largest"].as_u64()
        ),
        (Some(1), Some(2), Some(3))
    );
    assert_eq!(report["memory_budget_bytes"], 256 << 20);
    for key in [
        "peak_rss_bytes",
        "io_backend",
        "seconds",
        "load_seconds",
        "bytes_read",
        "io_utility",
        "requests",
        "cache",
        "per_iteration",
    ] {
        assert!(!report[key].is_null(), "{key}");
    }
}

#[test]
fn what_was_planned_stands_beside_what_was_done() {
    let place = Place::new();
    place.graph();
    place.ends(0, &["generate", "rmat", "--scale", "16", "--seed", "7", "-o", "r.oc"]);
    let ranked =
        place.json(&["run", "pagerank", "r.oc", "--iterations", "4", "--model", "semi-external"]);
    let (planned, read) =
        (ranked["planned"]["bytes_read"].as_f64().unwrap(), ranked["bytes_read"].as_f64().unwrap());
    assert!(
        read > 1e6 && (planned / read - 1.0).abs() < 0.25,
        "{planned} bytes were planned, {read} read"
    );
    assert!(ranked["planned"]["memory_bytes"].as_u64() <= ranked["memory_budget_bytes"].as_u64());
    assert!(
        place.ends(0, &["run", "pagerank", "r.oc", "--iterations", "4"]).0.contains("; planned ")
    );
    let plan = place.json(&["plan", "pagerank", "g.oc"]);
    assert_eq!(plan["algorithm"], "pagerank");
    assert!(place.ends(0, &["plan", "bfs", "g.oc", "--source", "1"]).0.contains("smallest budget"));
}

#[test]
fn layouts_are_built_and_shown() {
    let place = Place::new();
    place.graph();
    assert_eq!(place.json(&["info", "g.oc"])["layout"], "grid");
    for layout in ["grid", "row", "hybrid"] {
        place.ends(0, &["build", "g.txt", "-o", "l.oc", "--layout", layout, "--force"]);
        let info = place.json(&["info", "l.oc"]);
        let (shares, in_rows) = (&info["shares"], if layout == "grid" { 0 } else { 4 });
        assert_eq!(
            (info["layout"].as_str(), shares["row_arcs"].as_u64(), shares["grid_arcs"].as_u64()),
            (Some(layout), Some(in_rows), Some(4 - in_rows))
        );
        assert_eq!(
            shares["row_cells"].as_u64(),
            (layout == "hybrid").then_some(1),
            "the only cell is on the diagonal"
        );
        assert!(
            place.ends(0, &["info", "l.oc"]).0.contains(&format!("layout          {layout}: "))
        );
        assert_eq!(place.ends(0, &["check", "l.oc"]).0, "l.oc: no faults\n");
        assert_eq!(
            place.json(&["run", "components", "l.oc", "--read", "full"])["summary"]["components"],
            2
        );
    }
    place.ends(2, &["build", "g.txt", "-o", "l.oc", "--layout", "column"]);
}

#[test]
fn prints_a_table_and_writes_results() {
    let place = Place::new();
    place.graph();
    let (out, err) =
        place.ends(0, &["run", "bfs", "g.oc", "--source", "1", "-o", "r.csv", "--memory", "256M"]);
    assert!(
        out.starts_with("bfs on g.oc: 5 vertices, 4 edges\n") && out.contains("peak memory"),
        "{out}"
    );
    assert!(err.starts_with("wrote r.csv"), "{err}");
    let text = fs::read_to_string(place.path("r.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..2], ["id", "level"]);
    let levels: Vec<[&str; 2]> = rows[1..].iter().map(|row| [row[0], row[1]]).collect();
    assert_eq!(levels, [["1", "0"], ["2", "1"], ["3", "2"], ["4", ""], ["5", ""]]);
    let (out, _) = place.ends(0, &["run", "pagerank", "g.oc", "--top", "2", "-o", "r.npy"]);
    assert!(
        out.contains("rank  id") && out.trim_end().lines().last().unwrap().trim().starts_with('2'),
        "{out}"
    );
    assert!(fs::read(place.path("r.npy")).unwrap().starts_with(b"\x93NUMPY"));
    place.ends(0, &["run", "components", "g.oc", "-o", "r.parquet"]);
    assert!(fs::read(place.path("r.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn more_rows_than_there_are_vertices_are_all() {
    let place = Place::new();
    place.graph();
    for algorithm in ["pagerank", "betweenness"] {
        let report = place.json(&["run", algorithm, "g.oc", "--top", "9223372036854775807"]);
        assert_eq!(report["summary"]["top"].as_array().map(Vec::len), Some(5), "{algorithm}");
    }
}

#[test]
fn wrong_usage_is_2() {
    let place = Place::new();
    place.graph();
    place.ends(2, &[]);
    place.ends(2, &["nosuch"]);
    place.ends(2, &["build", "g.txt"]);
    place.ends(2, &["run", "nosuch", "g.oc"]);
    place.ends(2, &["run", "components", "g.oc", "--memory", "lots"]);
    place.ends(2, &["run", "components", "g.oc", "--threads", "0"]);
    place.ends(2, &["build", "g.txt", "-o", "h.oc", "--directed", "--undirected"]);
    for (arguments, says) in [
        (&["run", "bfs", "g.oc"][..], "--source"),
        (&["run", "components", "g.oc", "--k", "3"], "--k"),
        (&["run", "bfs", "g.oc", "--source", "99"], "no vertex 99"),
        (&["run", "components", "g.oc", "-o", "r.txt"], ".parquet"),
        (&["run", "components", "g.oc", "-o", "no/r.csv"], "folder does not exist"),
        (&["export", "g.oc", "-o", "e.npy"], ".mtx"),
        (&["build", "g.txt", "-o", "g.oc"], "exists"),
    ] {
        let (out, err) = place.ends(2, arguments);
        assert!(out.is_empty() && err.contains(says), "{arguments:?}: {err}");
    }
    assert_eq!(place.names(), ["g.oc", "g.txt"]);
}

#[test]
fn bad_input_is_3_and_leaves_nothing() {
    let place = Place::new();
    let cases: [(&str, &[u8], &str); 5] = [
        ("bad.txt", b"1 2\nx\n", "line 2"),
        ("one.txt", b"1\n2\n", "line 1"),
        ("empty.txt", b"", "empty.txt"),
        ("fake.parquet", b"PAR1", "Parquet"),
        ("x.gz", b"\x1f\x8b\x08", "x.gz"),
    ];
    for (name, content, says) in cases {
        place.file(name, content);
        let (_, err) = place.ends(3, &["build", name, "-o", "g.oc"]);
        assert!(err.contains(says), "{name}: {err}");
        fs::remove_file(place.path(name)).unwrap();
    }
    place.ends(3, &["build", "missing.txt", "-o", "g.oc"]);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn damage_is_4() {
    let place = Place::new();
    place.graph();
    place.ends(4, &["info", "."]);
    place.ends(4, &["run", "bfs", ".", "--source", "1"]);
    place.ends(4, &["info", "missing.oc"]);
    let section = place.path("g.oc/out.adjacency");
    let mut bytes = fs::read(&section).unwrap();
    bytes[0] ^= 1;
    fs::write(&section, bytes).unwrap();
    let (out, err) = place.ends(4, &["check", "g.oc"]);
    assert!(out.contains("out.adjacency") && err.contains("1 fault"), "{out}{err}");
    let output = place.run(&["check", "g.oc", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), report["faults"].as_array().unwrap().len()), (Some(4), 1));
}

/// The rows on the terminal need a table that a result file does not: where it is damaged, there is
/// no file either.
#[test]
fn an_error_leaves_no_result() {
    let place = Place::new();
    place.file("g.txt", "10 20\n20 30\n30 10\n40 50\n");
    place.ends(0, &["build", "g.txt", "-o", "g.oc"]);
    for file in ["ids.rank", "ids.rank.crc"] {
        let path = place.path("g.oc").join(file);
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[0] ^= 1;
        fs::write(&path, damaged).unwrap();
        for old in [None, Some("old")] {
            old.map(|old| place.file("x.csv", old));
            let (out, err) = place.ends(4, &["run", "clustering", "g.oc", "-o", "x.csv"]);
            assert!(out.is_empty() && !err.contains("wrote"), "{file}: {out}{err}");
            let left = fs::read_to_string(place.path("x.csv")).ok();
            assert_eq!(left.as_deref(), old, "{file}");
        }
        fs::remove_file(place.path("x.csv")).unwrap();
        fs::write(&path, whole).unwrap();
    }
    place.ends(0, &["run", "clustering", "g.oc", "-o", "x.csv"]);
}

#[test]
fn a_budget_that_is_too_small_is_7_and_says_which_works() {
    let place = Place::new();
    place.graph();
    let (_, err) = place.ends(7, &["run", "pagerank", "g.oc", "--memory", "1M"]);
    let at = err.find("--memory ").unwrap() + "--memory ".len();
    let enough = err[at..].split(' ').next().unwrap();
    place.ends(0, &["run", "pagerank", "g.oc", "--memory", enough]);
    place.ends(7, &["build", "g.txt", "-o", "h.oc", "--memory", "1M"]);
}

#[test]
fn a_graph_in_use_is_8() {
    let place = Place::new();
    place.graph();
    let _lock = outercore::Disk::new().lock_exclusive(&place.path("g.oc")).unwrap();
    place.ends(8, &["info", "g.oc"]);
}

#[test]
fn no_space_is_6() {
    let place = Place::new();
    place.graph();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        command().args(["info", "g.oc"]).current_dir(place.0.path()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
    // A limit on the size of files: the signal is ignored, the error told, and nothing left.
    let program = env!("CARGO_BIN_EXE_outercore");
    let script = format!("ulimit -f 1; exec {program} run components g.oc -o r.csv");
    let many: String = (0..40_000).map(|number| format!("{} {}\n", number, number + 1)).collect();
    place.file("g.txt", many);
    place.ends(0, &["build", "g.txt", "-o", "g.oc", "--force"]);
    let output =
        Command::new("sh").args(["-c", &script]).current_dir(place.0.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.names(), ["g.oc", "g.txt"]);
}

#[test]
fn signals_end_a_build_in_order() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let place = Place::new();
        let arguments = ["generate", "rmat", "--scale", "23", "-o", "g.oc", "--memory", "256M"];
        let child = command()
            .args(arguments)
            .current_dir(place.0.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Wait until it is at work.
        let begin = Instant::now();
        while place.names().is_empty() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let begin = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}

/// Whenever it comes, with thousands of reads in flight: the run ends within a second, and leaves
/// nothing.
#[test]
fn a_signal_ends_a_traversal_with_reads_in_flight() {
    let place = Place::new();
    let made = ["generate", "rmat", "--scale", "18", "--weights", "uw", "-o", "g.oc"];
    place.ends(0, &made);
    let mut ends = Vec::new();
    for wait in [20, 50, 100, 200, 400] {
        let flight = ["--model", "semi-external", "--executor", "async", "--in-flight", "4096"];
        let child = command()
            .args(["run", "sssp", "g.oc", "--source", "max-degree", "-o", "r.csv"])
            .args(flight)
            .current_dir(place.0.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        let begin = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(1), "{wait}: {:?}", begin.elapsed());
        let code = output.status.code();
        assert!(
            matches!(code, None | Some(0 | 130)),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        // A run that had ended before has its result; one that has just begun is no longer there.
        let left = if code == Some(0) { &["g.oc", "r.csv"][..] } else { &["g.oc"] };
        assert_eq!(place.names(), left);
        _ = fs::remove_file(place.path("r.csv"));
        ends.push(code);
    }
    assert!(ends.contains(&Some(130)), "{ends:?}");
}

/// Whoever runs the tests may ignore that signal, and children inherit it.
fn heed_hang_ups() -> std::io::Result<()> {
    // SAFETY: the default action is no function of ours.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
    Ok(())
}

#[test]
fn signals_end_a_build_whose_input_is_idle() {
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        for (input, begun) in [("-", ""), ("-", "1 2\n2 3\n"), ("pipe", "")] {
            let place = Place::new();
            // A pipe without anybody who writes.
            let made = Command::new("mkfifo").arg("pipe").current_dir(place.0.path()).status();
            assert!(made.unwrap().success());
            let mut building = command();
            // SAFETY: between fork and exec this calls nothing but an async-signal-safe function.
            unsafe { building.pre_exec(heed_hang_ups) };
            let mut child = building
                .args(["build", input, "-o", "g.oc", "--format", "text"])
                .current_dir(place.0.path())
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut words = child.stdin.take().unwrap();
            words.write_all(begun.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            // SAFETY: the process is our child and has not been waited for.
            unsafe { libc::kill(child.id() as i32, signal) };
            let begin = Instant::now();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{input}: {said}");
            assert!(said.ends_with("nothing is left behind\n"), "{input}: {said}");
            assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
            assert_eq!(place.names(), ["pipe"]);
        }
    }
}

#[test]
fn reads_standard_input() {
    let place = Place::new();
    let mut child = command()
        .args(["build", "-", "-o", "g.oc", "--json"])
        .current_dir(place.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a b\nb c\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["vertices"].as_u64(), report["edges"].as_u64()), (Some(3), Some(2)));
}

#[test]
fn generates_and_exports() {
    let place = Place::new();
    place.ends(
        0,
        &[
            "generate",
            "rmat",
            "--scale",
            "8",
            "--edge-factor",
            "4",
            "--seed",
            "7",
            "--weights",
            "uniform:1:9",
            "-o",
            "r.oc",
        ],
    );
    let report = place.json(&["export", "r.oc", "-o", "e.parquet"]);
    assert_eq!(report["edges"], 1024);
    let again = place.json(&["build", "e.parquet", "-o", "again.oc"]);
    assert_eq!((again["edges"].as_u64(), again["weights"].as_str()), (Some(1024), Some("u32")));
    place.ends(
        0,
        &[
            "generate",
            "uniform",
            "--vertices",
            "50",
            "--edges",
            "200",
            "--undirected",
            "-o",
            "u.oc",
        ],
    );
    place.ends(0, &["export", "u.oc", "-o", "e.mtx"]);
    assert_eq!(place.json(&["build", "e.mtx", "-o", "v.oc"])["directed"], false);
    place.ends(2, &["generate", "rmat", "--scale", "99", "-o", "x.oc"]);
    place.ends(2, &["generate", "rmat", "--scale", "8", "--weights", "heavy", "-o", "x.oc"]);
}

#[test]
fn progress_as_events() {
    let place = Place::new();
    place.graph();
    let (_, err) =
        place.ends(0, &["run", "pagerank", "g.oc", "--iterations", "3", "--progress", "json"]);
    let events: Vec<Value> = err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.iter().filter(|event| event["event"] == "iteration").count(), 3);
    assert_eq!(events[0]["event"], "stage");
}

#[test]
fn bench_measures_a_device() {
    let place = Place::new();
    let report = place.json(&["bench", "device", ".", "--size", "64M"]);
    place.ends(2, &["bench", "device", ".", "--size", "1M"]);
    for key in ["sequential_bytes_per_second", "random_4k_iops", "break_even_request_bytes"] {
        assert!(report[key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert!(report["table"].as_array().unwrap().len() > 5);
    assert_eq!(place.names(), [".outercore-device.json"], "the profile stays, and nothing else");
}

#[test]
fn helps() {
    let place = Place::new();
    for verb in
        ["build", "generate", "info", "check", "plan", "run", "export", "bench", "completions"]
    {
        let (out, _) = place.ends(0, &[verb, "--help"]);
        assert!(out.starts_with("Examples:\n  outercore ") && out.contains("Usage:"), "{out}");
    }
    assert!(place.ends(0, &["--version"]).0.starts_with("outercore "));
    assert!(place.ends(0, &["completions", "bash"]).0.contains("_outercore()"));
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let place = Place::new();
    let (_, err) = place.ends(3, &["build", "no\x1b[31mred.txt", "-o", "g.oc"]);
    assert!(!err.contains('\x1b'), "{err:?}");
}
