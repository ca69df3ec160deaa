//! `memory ui`.

use std::{fs, net::TcpListener, path::Path, process::Output};

use tempfile::TempDir;

use crate::running_server::{RunningServer, memory};

fn ui(folder: &Path, listen: &str) -> (Output, String, String) {
    let output = memory(folder).args(["ui", "--no-open", "--listen", listen]).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output, out, err)
}

#[test]
fn ui_serves_the_page() {
    let folder = TempDir::new().unwrap();
    let served = RunningServer::start_as(&mut memory(folder.path()), &["ui", "--no-open"]);
    let (status, page) = served.request("GET", "/ui/", &[], "");
    assert!(status == 200 && page.contains("app.js"), "{status} {page}");
    let (status, users) = served.request("GET", "/api/inspector/users", &[], "");
    assert!(status == 200 && users.contains("\"users\":[]"), "{status} {users}");
}

#[test]
fn ui_opens_the_page_of_a_running_server() {
    let folder = TempDir::new().unwrap();
    let served = RunningServer::start(&mut memory(folder.path()));
    let (output, out, err) = ui(folder.path(), &served.address);
    assert!(output.status.success(), "{err}");
    assert_eq!(out.trim(), format!("the inspector is at http://{}/ui/", served.address));
}

#[test]
fn an_address_in_use_by_another_program_is_an_error() {
    let folder = TempDir::new().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    // The other program closes each connection without an answer.
    std::thread::spawn(move || other.incoming().for_each(drop));
    let (output, out, err) = ui(folder.path(), &address);
    assert!(!output.status.success() && out.is_empty(), "{out}");
    assert!(err.contains(&format!("another program listens on {address}")) && err.contains("--listen"), "{err}");
}

#[test]
fn a_switched_off_inspector_is_not_served() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("memory.toml"), "[ui]\nenabled = false\n").unwrap();
    let (output, _, err) = ui(folder.path(), "127.0.0.1:0");
    assert!(!output.status.success() && err.contains("ui.enabled"), "{err}");
    let served = RunningServer::start(&mut memory(folder.path()));
    for path in ["/ui/", "/ui", "/ui/app.js", "/api/inspector/users"] {
        assert_eq!(served.request("GET", path, &[], "").0, 404, "{path}");
    }
}
