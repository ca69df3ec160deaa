//! Prints the public API of the crate whose rustdoc JSON is the first argument, one item per line.

use std::{env, process::ExitCode};

use public_api::Builder;

fn main() -> ExitCode {
    let Some(path) = env::args_os().nth(1) else {
        eprintln!("usage: print-public-api RUSTDOC.json");
        return ExitCode::FAILURE;
    };
    let builder = Builder::from_rustdoc_json(&path).omit_blanket_impls(true).omit_auto_trait_impls(true);
    match builder.omit_auto_derived_impls(true).build() {
        Ok(api) => {
            print!("{api}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
