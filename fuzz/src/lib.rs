//! The targets of `outercore-fuzzing` under libFuzzer, one program for each. `make fuzz`.

pub use libfuzzer_sys;

/// A program that gives a target what libFuzzer makes up.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: $crate::heed_panics(),
            |bytes: &[u8]| outercore_fuzzing::run($name, bytes)
        );
    };
}

/// Lets panics pass that Outercore catches: those of other people's parsers over damaged files.
pub fn heed_panics() {
    let aborts = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !outercore_interchange::is_parsing() {
            aborts(panic);
        }
    }));
}
