//! Secrets are masked before they are stored, and `memory scan-secrets` finds and masks those in a store.

use crate::cli_fixture::CliFixture;

const SECRET: &str = "The wifi password is tiger-4711.";

fn texts(cli: &CliFixture) -> String {
    cli.run(&["export"]).ok()
}

#[test]
fn commands_mask_credentials_unless_the_screening_is_off() {
    let cli = CliFixture::new();
    cli.run(&["add", SECRET, "--user", "lin"]).ok();
    cli.run(&["add", "我的手机号是13812345678", "--user", "lin", "--screening", "phone=mask"]).ok();
    assert!(texts(&cli).contains("The wifi password is [redacted: en-password]."));
    assert!(texts(&cli).contains("我的手机号是[redacted: "));
    cli.run(&["add", SECRET, "--user", "lin", "--screening", "off"]).ok();
    assert!(texts(&cli).contains("tiger-4711"));
}

#[test]
fn a_changed_record_is_screened() {
    let cli = CliFixture::new();
    let id = cli.run(&["add", SECRET, "--user", "lin", "--screening", "off"]).ok();
    let set = |arguments: &[&str]| cli.run(&[&["set", id.trim(), "--user", "lin"], arguments].concat()).ok();
    set(&["--pin", "--screening", "off"]);
    assert!(texts(&cli).contains("tiger-4711"));
    set(&["--unpin"]);
    assert!(!texts(&cli).contains("tiger-4711"), "the default policy masks it");
}

#[test]
fn refused_records_and_wrong_policies_are_explained() {
    let cli = CliFixture::new();
    let refused = ["add", SECRET, "--user", "lin", "--screening", "password=refuse"];
    cli.run(&refused).assert_fails(&["its text matches the screening rule en-password", "screening.password"]);
    let wrong = ["add", "hello", "--user", "lin", "--screening", "cards=mask"];
    cli.run(&wrong).assert_fails(&["there is no category \"cards\"", "bank_account"]);
    cli.write("turns.jsonl", format!("{{\"text\": \"hello\"}}\n{{\"text\": \"{SECRET}\"}}\n"));
    let import = ["import", "turns.jsonl", "--user", "lin", "--screening", "password=refuse"];
    let output = cli.run(&import);
    output.assert_fails(&["en-password"]);
}

#[test]
fn a_scan_lists_rules_and_records_and_redacts_on_request() {
    let cli = CliFixture::new();
    cli.run(&["scan-secrets"]).assert_fails(&["memory.db does not exist"]);
    cli.run(&["add", SECRET, "--user", "lin", "--screening", "off"]).ok();
    cli.run(&["add", "It rains", "--user", "lin"]).ok();
    let scan = cli.run(&["scan-secrets"]).ok();
    assert!(scan.contains("2 records scanned; secrets in 1 record; `--redact` masks the findings"), "{scan}");
    assert!(scan.contains("en-password") && !scan.contains("tiger"), "{scan}");
    assert!(texts(&cli).contains("tiger-4711"), "a scan changes nothing");

    let json = cli.run(&["scan-secrets", "--user", "mo", "--json"]).ok();
    assert!(json.contains("\"found\":0"), "another user has no secrets: {json}");
    let redacted = cli.run(&["scan-secrets", "--user", "lin", "--redact", "--json"]).ok();
    let report: serde_json::Value = serde_json::from_str(redacted.lines().last().unwrap()).unwrap();
    assert_eq!((&report["redacted"], &report["rules"]["en-password"]), (&1.into(), &1.into()));
    assert!(texts(&cli).contains("The wifi password is [redacted: en-password]."));
    assert_eq!(cli.run(&["scan-secrets"]).ok().trim(), "2 records scanned; no secrets found");
}
