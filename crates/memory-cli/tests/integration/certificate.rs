//! `memory forget --certificate`, `memory certificate-key` and `memory verify-certificate`.

use std::fs;

use serde_json::Value;

use crate::cli_fixture::CliFixture;

const EN: &str = "My locker code is 31-7-88, and the spare key is behind the atlas.";
const ZH: &str = "保险箱的密码写在书架最上面那本地图册的扉页，别告诉别人。";

impl CliFixture {
    fn add(&self, text: &str) -> String {
        let added = self.run(&["add", text, "--user", "lin", "--json"]).json();
        let id = added.get("id").or_else(|| added.get("ids").and_then(|ids| ids.get(0)));
        id.unwrap_or_else(|| panic!("{added}")).as_str().unwrap().to_owned()
    }

    fn exit_code(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.command(arguments).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap(), text)
    }

    fn certificate(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }
}

#[test]
fn a_key_is_private_and_never_overwritten() {
    let cli = CliFixture::new();
    let shown = cli.run(&["certificate-key", "key.pem"]).ok();
    let (private, public) = (cli.path("key.pem"), cli.path("key.pem.pub"));
    let text = fs::read_to_string(&private).unwrap();
    assert!(
        text.starts_with("-----BEGIN PRIVATE KEY-----\n") && !shown.contains(text.lines().nth(1).unwrap()),
        "{shown}"
    );
    assert!(fs::read_to_string(&public).unwrap().starts_with("-----BEGIN PUBLIC KEY-----\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o600);
    }
    cli.run(&["certificate-key", "key.pem"]).assert_fails(&["key.pem.pub exists", "never overwritten"]);
    fs::remove_file(&public).unwrap();
    cli.run(&["certificate-key", "key.pem"]).assert_fails(&["key.pem exists", "never overwritten"]);
    assert_eq!(fs::read_to_string(&private).unwrap(), text);
    cli.run(&["certificate-key", "no/such/folder/key"]).assert_fails(&["cannot be written"]);
}

#[test]
fn a_deletion_is_certified_and_verified() {
    let cli = CliFixture::new();
    let ids = [cli.add(EN), cli.add(ZH)];
    cli.add("I like tea in the morning.");
    fs::copy(cli.path("memory.db"), cli.path("before.db")).unwrap();
    cli.run(&["certificate-key", "key.pem"]).ok();
    let forget = ["forget", &ids[0], &ids[1], "--user", "lin", "--yes", "--certificate", "c.json"];
    let shown = cli.run(&[&forget[..], &["--certificate-key", "key.pem"]].concat()).ok();
    assert!(shown.contains("2 records forgotten") && shown.contains("no trace of the deleted records"), "{shown}");
    let certificate = cli.certificate("c.json");
    assert_eq!(certificate["records"].as_array().unwrap().len(), 2);
    assert!(!certificate.to_string().contains("atlas") && !certificate.to_string().contains("地图册"));

    // The signature alone, with the store, and with the known key.
    let verify = ["verify-certificate", "c.json", "--public-key", "key.pem.pub"];
    let (code, shown) = cli.exit_code(&verify);
    assert!(code == 0 && shown.contains("no store was searched"), "{shown}");
    let with_store = [&verify[..], &["--db", "memory.db"]].concat();
    let (code, shown) = cli.exit_code(&with_store);
    assert!(code == 0 && shown.contains("all 2 deleted records have a tombstone"), "{shown}");
    let report = cli.run(&[&with_store[..], &["--json"]].concat()).json();
    assert_eq!((&report["passed"], &report["records"]), (&true.into(), &2.into()));
    cli.write("empty.db", "");
    let verify_empty = ["verify-certificate", "c.json", "--db", "empty.db"];
    cli.run(&verify_empty).assert_fails(&["empty.db is an empty file and no store"]);
    assert!(fs::read(cli.path("empty.db")).unwrap().is_empty());
    // A copy from before the deletion.
    let (code, shown) = cli.exit_code(&["verify-certificate", "c.json", "--db", "before.db"]);
    assert!(
        code == 3 && shown.contains("FAILED") && shown.contains("2 of 2 deleted records have no tombstone"),
        "{shown}"
    );
    // Another key, and a changed file.
    cli.run(&["certificate-key", "other.pem"]).ok();
    let (code, shown) = cli.exit_code(&["verify-certificate", "c.json", "--public-key", "other.pem.pub"]);
    assert!(code == 3 && shown.contains("another key has signed"), "{shown}");
    let changed = fs::read_to_string(cli.path("c.json")).unwrap().replacen("\"turn\": 2", "\"turn\": 1", 1);
    cli.write("changed.json", changed);
    let (code, shown) = cli.exit_code(&["verify-certificate", "changed.json"]);
    assert!(code == 3 && shown.contains("changed after signing"), "{shown}");
}

#[test]
fn a_record_that_was_imported_again_fails_the_verification() {
    let cli = CliFixture::new();
    let id = cli.add(ZH);
    cli.run(&["certificate-key", "key.pem"]).ok();
    let exported = cli.run(&["export", "--user", "lin"]).ok();
    cli.write("lin.jsonl", &exported);
    let forget = ["forget", &id, "--user", "lin", "--yes", "--certificate", "c.json", "--certificate-key", "key.pem"];
    cli.run(&forget).ok();
    // The store refuses it, another one does not.
    cli.run(&["import", "lin.jsonl", "--user", "lin"]);
    let (code, shown) = cli.exit_code(&["verify-certificate", "c.json", "--db", "memory.db"]);
    assert_eq!(code, 0, "{shown}");
    cli.run(&["import", "lin.jsonl", "--user", "lin", "--db", "other.db"]).ok();
    let (code, shown) = cli.exit_code(&["verify-certificate", "c.json", "--db", "other.db"]);
    assert!(code == 3 && shown.contains("another store"), "{shown}");
}

#[test]
fn traces_are_reported_with_their_own_exit_code() {
    let cli = CliFixture::new();
    let id = cli.add(EN);
    cli.run(&["certificate-key", "key.pem"]).ok();
    cli.write("memory.db-left", EN);
    let forget = ["forget", &id, "--user", "lin", "--yes", "--certificate", "c.json", "--certificate-key", "key.pem"];
    let (code, shown) = cli.exit_code(&forget);
    assert!(code == 3 && shown.contains("traces remain") && shown.contains("memory.db-left"), "{shown}");
    assert!(cli.certificate("c.json")["residue"].as_u64().unwrap() > 0);
    let (code, shown) = cli.exit_code(&["verify-certificate", "c.json"]);
    assert!(code == 3 && shown.contains("remained when the records were deleted"), "{shown}");
    // After the file is removed, the same request gives a clean certificate.
    fs::remove_file(cli.path("memory.db-left")).unwrap();
    let again = ["forget", &id, "--user", "lin", "--yes", "--certificate", "d.json", "--certificate-key", "key.pem"];
    let report = cli.run(&[&again[..], &["--json"]].concat()).json();
    assert_eq!((&report["forgotten"], &report["certificate"]["clean"]), (&0.into(), &true.into()), "{report}");
}

#[test]
fn nothing_is_deleted_without_a_key_or_a_new_file() {
    let cli = CliFixture::new();
    let id = cli.add(EN);
    let forget = ["forget", &id, "--user", "lin", "--yes", "--certificate", "c.json"];
    let with = |options: &[&'static str]| -> Vec<String> {
        forget.iter().map(|part| (*part).to_owned()).chain(options.iter().map(|part| (*part).to_owned())).collect()
    };
    let run = |options: &[&'static str]| {
        let arguments = with(options);
        cli.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    run(&[]).assert_fails(&["memory certificate-key FILE", "MEMORY_CERTIFICATE_KEY"]);
    run(&["--certificate-key", "none.pem"]).assert_fails(&["none.pem cannot be read"]);
    cli.write("bad.pem", "hunter2");
    run(&["--certificate-key", "bad.pem"]).assert_fails(&["bad.pem", "PKCS#8"]);
    cli.run(&["certificate-key", "key.pem"]).ok();
    run(&["--certificate-key", "key.pem.pub"]).assert_fails(&["PKCS#8"]);
    cli.write("c.json", "kept");
    run(&["--certificate-key", "key.pem"]).assert_fails(&["c.json exists", "never overwritten"]);
    assert_eq!(fs::read_to_string(cli.path("c.json")).unwrap(), "kept");
    fs::remove_file(cli.path("c.json")).unwrap();
    cli.run(&["forget", &id, "--user", "lin", "--yes", "--certificate-key", "key.pem"])
        .assert_fails(&["--certificate"]);
    let unknown =
        ["forget", "nobody", "--user", "lin", "--yes", "--certificate", "c.json", "--certificate-key", "key.pem"];
    cli.run(&unknown).assert_fails(&["nobody not within", "nothing was forgotten"]);
    assert!(!cli.path("c.json").exists());
    assert_eq!(cli.run(&["stats", "--user", "lin", "--json"]).json()["records"], 1);
    // The key can be in a variable.
    let key = fs::read_to_string(cli.path("key.pem")).unwrap();
    cli.run_with(&[("MEMORY_CERTIFICATE_KEY", key.trim())], &forget).ok();
    cli.run(&["verify-certificate", "c.json", "--public-key", "key.pem.pub"]).ok();
    // Files that are no certificates.
    cli.run(&["verify-certificate", "key.pem"]).assert_fails(&["key.pem", "not a deletion certificate"]);
    cli.run(&["verify-certificate", "none.json"]).assert_fails(&["none.json cannot be read"]);
    cli.run(&["verify-certificate", "c.json", "--db", "none.db"]).assert_fails(&["none.db does not exist"]);
    cli.run(&["verify-certificate", "c.json", "--public-key", "bad.pem"]).assert_fails(&["bad.pem", "public key"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_certificate_that_cannot_be_written_is_printed() {
    let cli = CliFixture::new();
    let ids = [cli.add(EN), cli.add(ZH)];
    cli.run(&["certificate-key", "key.pem"]).ok();
    let forget = ["forget", "--user", "lin", "--yes", "--certificate", "/dev/full", "--certificate-key", "key.pem"];
    let output = cli.command(&forget).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("keep that"), "{stderr}");
    let certificate: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = certificate["records"].to_string();
    assert!(ids.iter().all(|id| records.contains(id)), "{records}");
    fs::write(cli.path("printed.json"), &output.stdout).unwrap();
    cli.run(&["verify-certificate", "printed.json", "--public-key", "key.pem.pub"]).ok();
}
