//! What the environment asks of messages: `OUTERCORE_LOG`, which of them there are; `NO_COLOR`,
//! whether a terminal has them in colours.

mod place;

use std::{
    fs::{self, File},
    io::Read,
    os::fd::FromRawFd,
    process::Command,
    ptr,
};

use place::{Place, command};

const SAID: &str = "was selected for an earlier version";

/// A folder with a graph of which a run has something to say.
fn place() -> Place {
    let place = Place::new();
    place.ends(0, &["generate", "rmat", "--scale", "10", "--order", "original", "-o", "g.oc"]);
    place.ends(0, &["cache", "g.oc", "--select", "low-degree"]);
    place.ends(0, &["order", "degree", "g.oc", "-o", "later.oc"]);
    fs::rename(place.path("g.oc.cache"), place.path("later.oc.cache")).unwrap();
    place
}

/// That run, with these variables alone.
fn run(place: &Place, variables: &[(&str, &str)]) -> Command {
    let mut command = command();
    command.args(["run", "bfs", "later.oc", "--source", "max-degree", "--static-cache", "40K"]);
    command.args(["--progress", "none"]).current_dir(place.0.path());
    command.env_remove("NO_COLOR").env_remove("OUTERCORE_LOG").envs(variables.iter().copied());
    command
}

#[test]
fn the_log_says_what_is_asked_for() {
    let place = place();
    for (asked, told) in [
        (None, true),
        (Some("off"), false),
        (Some("error"), false),
        (Some("warn"), true),
        (Some("outercore_caches=error"), false),
        (Some("outercore_caches=warn"), true),
        (Some("outercore_graph=warn"), false),
        (Some("no=such=level"), true),
    ] {
        let variables = Vec::from_iter(asked.map(|asked| ("OUTERCORE_LOG", asked)));
        let output = run(&place, &variables).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{asked:?}: {said}");
        assert_eq!(said.contains(SAID), told, "{asked:?}: {said}");
        assert!(!said.contains('\x1b'), "it is no terminal: {said}");
    }
}

/// What a run says on a terminal.
fn on_a_terminal(mut run: Command) -> String {
    let (mut ours, mut theirs) = (0, 0);
    let (name, settings, size) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: both numbers are written; neither a name, nor settings, nor a size are asked for.
    assert_eq!(unsafe { libc::openpty(&mut ours, &mut theirs, name, settings, size) }, 0);
    // SAFETY: both were opened just now, and nothing else closes them.
    let (mut ours, theirs) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) };
    let mut child = run.stderr(theirs).spawn().unwrap();
    // It has the other end as well, and a terminal ends with the last of them.
    drop(run);
    let mut said = Vec::new();
    // The end of a terminal is an error, behind all that was said.
    let _ = ours.read_to_end(&mut said);
    assert!(child.wait().unwrap().success());
    String::from_utf8(said).unwrap()
}

#[test]
fn a_terminal_has_colours_unless_they_are_declined() {
    let place = place();
    for (variables, colours) in
        [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("NO_COLOR", "")], true)]
    {
        let said = on_a_terminal(run(&place, variables));
        assert!(said.contains(SAID), "{variables:?}: {said:?}");
        assert_eq!(said.contains("\x1b["), colours, "{variables:?}: {said:?}");
    }
}
