//! The report of a file of cases that is not valid.

use std::process::ExitCode;

use crate::errors;

/// Exit code for a file of cases that is not valid, as for wrong arguments.
const INVALID_FILE: u8 = 2;

/// Reports a file that is not valid.
pub(super) fn invalid_file(error: &anyhow::Error) -> ExitCode {
    report_line!("error: {}", errors::describe(error));
    ExitCode::from(INVALID_FILE)
}
