//! How much of a suite runs: a share of it at each change, all of it with `make fault`.

/// Whether OUTERCORE_TEST_ALL asks for every case.
pub fn thorough() -> bool {
    std::env::var_os("OUTERCORE_TEST_ALL").is_some()
}

/// The step from one case to the next: `of`, or 1 where every case is asked for.
pub fn share(of: usize) -> usize {
    if thorough() { 1 } else { of }
}
