//! The example as a process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;

#[test]
fn the_ten_lines_run_and_find_what_was_said_in_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quickstart"));
        let ran = command.arg(folder.path().join("memory.db")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let shown = String::from_utf8(ran.stdout).unwrap();
        let expected =
            "海鲜可以吃吗？ 我对海鲜过敏，别带我去吃虾\nWhen is the interview? My interview has moved to Friday\n";
        assert_eq!(
            shown, expected,
            "as the README says, and the second time, too: what was forgotten may be said again"
        );
    }
}
