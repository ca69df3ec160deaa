//! Regression tests of a memory: cases in a TOML file, run on a store.

pub(crate) mod case;
mod case_clock;
pub(crate) mod case_file;
pub(crate) mod evaluation;
pub(crate) mod expectation;
pub(crate) mod observation;
pub(crate) mod outcome;
pub(crate) mod runner;
