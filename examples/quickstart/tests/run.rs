//! Runs the example as a process.
#![allow(clippy::unwrap_used, reason = "a failed assertion panics")]

use std::process::Command;

#[test]
fn the_quickstart_recalls_in_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quickstart"));
        let output = command.arg(folder.path().join("memory.db")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown = String::from_utf8(output.stdout).unwrap();
        let expected =
            "海鲜可以吃吗？ 我对海鲜过敏，别带我去吃虾\nWhen is the interview? My interview has moved to Friday\n";
        assert_eq!(
            shown, expected,
            "the output of the README, also in a second run: forgotten texts can be remembered again"
        );
    }
}
