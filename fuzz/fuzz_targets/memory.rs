//! Runs the fuzz target that the variable `MEMORY_FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use memory_engine_fuzz::{Target, target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("MEMORY_FUZZ_TARGET").expect("MEMORY_FUZZ_TARGET is not set");
    target(&name).unwrap_or_else(|| panic!("there is no target {name}"))
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
