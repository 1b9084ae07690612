//! The command is linked to a fixed address. It has forty thousand places that hold addresses of
//! its own: to mend them at each start, and to have their pages for it, takes half a millisecond,
//! as long as a run on a small graph.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |what: &str, wanted: &str| std::env::var(what).is_ok_and(|is| is == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
